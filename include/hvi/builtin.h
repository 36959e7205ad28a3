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

/* What a problem is made of. It is gone when the problem is made, texts among the values too. */
typedef struct hvi_options {
  const void *values;      /* the struct that the table describes: defaults, and what was given */
  const bool *given;       /* [rows] by the user; in the order of the rows */
  uint64_t seed, instance; /* instance 0 is fixed; 1, 2, ... are drawn from (seed, instance) */
} hvi_options;

/* Makes a problem, in any thread. err is never NULL. Where it fails it leaves NULL, or an
 * unfinished problem that is then freed for it. */
typedef hvi_status hvi_builtin_fn(hvi_problem **problem, const hvi_options *o, hvi_error *err);

typedef struct hvi_builtin {
  const char *name;
  const char *summary;              /* one line */
  const hvi_setting_table *options; /* of a struct of its own; NULL: none */
  hvi_builtin_fn *make;
} hvi_builtin;

/* The built-in problems, ending in a NULL name; the one of that name, or NULL. */
HVI_API const hvi_builtin *hvi_builtin_list(void);
HVI_API const hvi_builtin *hvi_builtin_find(const char *name);

/*
 * Makes a built-in problem. Instance 0 is the fixed one of the paper; instances 1, 2, ... draw
 * start and constants from streams of (seed, instance). Unknown names and keys, and values out of
 * range, give HVI_ERROR_INPUT with the nearest right name.
 */
HVI_API hvi_status hvi_builtin_new(hvi_problem **problem, const char *name,
                                   const hvi_option *options, size_t option_count, uint64_t seed,
                                   uint64_t instance, hvi_error *err);

/* The same of a row of the list, or of one that hvi_plugin_load found (plugin.h). */
HVI_API hvi_status hvi_builtin_make(hvi_problem **problem, const hvi_builtin *b,
                                    const hvi_option *options, size_t option_count, uint64_t seed,
                                    uint64_t instance, hvi_error *err);

/* A problem from a file. YAML: a game (docs/game-files.md) or a Markov process (docs/mdp-files.md),
 * as its keys say. Instance 0 starts where the file says, instances 1, 2, ... at random. A shared
 * library, NAME.so: the problem of its own code, without options (plugin.h). */
HVI_API hvi_status hvi_problem_load(hvi_problem **problem, const char *path, uint64_t seed,
                                    uint64_t instance, hvi_error *err);
/* The same of a text, YAML or JSON, for programs and bindings that have it in memory. `name` is what
 * errors call it; other files that it names are looked for from `folder`, NULL: there can be none. */
HVI_API hvi_status hvi_problem_parse(hvi_problem **problem, const char *text, const char *name,
                                     const char *folder, uint64_t seed, uint64_t instance,
                                     hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
