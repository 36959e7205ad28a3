/* Options of a built-in problem, checked and turned into numbers. */
#ifndef HVI_PROBLEMS_OPTIONS_H
#define HVI_PROBLEMS_OPTIONS_H

#include <hvi/builtin.h>

enum { HVI_OPTIONS_MAX = 16 };

/* In the order of the keys. A choice is its place among the choices. */
typedef struct hvi_values {
  double number[HVI_OPTIONS_MAX];
  bool given[HVI_OPTIONS_MAX];       /* by the user */
  const char *text[HVI_OPTIONS_MAX]; /* of keys that are text, as the user wrote it */
} hvi_values;

/* Defaults, then the options. `problem` is named in error texts. */
hvi_status hvi_options_parse(hvi_values *values, const char *problem, const hvi_key *keys,
                             const hvi_option *options, size_t count, hvi_error *err);

typedef hvi_status (*hvi_builtin_fn)(hvi_problem **problem, const hvi_values *values, uint64_t seed,
                                     uint64_t instance, hvi_error *err);

#endif
