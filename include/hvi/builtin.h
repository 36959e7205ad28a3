/*
 * Built-in problems by name, with their constants as options, and random instances of them.
 */
#ifndef HVI_BUILTIN_H
#define HVI_BUILTIN_H

#include <hvi/problem.h>
#include <hvi/setting.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An option as the user wrote it. */
typedef struct hvi_option {
  const char *key, *value;
} hvi_option;

typedef struct hvi_builtin {
  const char *name;
  const char *summary;              /* one line */
  const hvi_setting_table *options; /* of a struct of its own, which hvi_builtin_new fills */
} hvi_builtin;

/* The built-in problems, ending in a NULL name. */
HVI_API const hvi_builtin *hvi_builtin_list(void);

/*
 * Makes a built-in problem. Instance 0 is the fixed one of the paper; instances 1, 2, ... draw
 * start and constants from streams of (seed, instance). Unknown names and keys, and values out of
 * range, give HVI_ERROR_INPUT with the nearest right name.
 */
HVI_API hvi_status hvi_builtin_new(hvi_problem **problem, const char *name,
                                   const hvi_option *options, size_t option_count, uint64_t seed,
                                   uint64_t instance, hvi_error *err);

/* A problem from a YAML file: a game (docs/game-files.md) or a Markov process (docs/mdp-files.md),
 * as its keys say. Instance 0 starts where the file says, instances 1, 2, ... at random. */
HVI_API hvi_status hvi_problem_load(hvi_problem **problem, const char *path, uint64_t seed,
                                    uint64_t instance, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
