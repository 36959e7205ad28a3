/* Options of a built-in problem: a struct of its own, filled from its table and what was given. */
#ifndef HVI_PROBLEMS_OPTIONS_H
#define HVI_PROBLEMS_OPTIONS_H

#include <hvi/builtin.h>

#include <stddef.h>

enum { HVI_OPTIONS_MAX = 16, HVI_OPTIONS_BYTES = 256 };

typedef struct hvi_options {
  _Alignas(max_align_t) unsigned char values[HVI_OPTIONS_BYTES]; /* the problem's struct */
  bool given[HVI_OPTIONS_MAX]; /* by the user; in the order of the rows */
} hvi_options;

/* Defaults, then what was given. Refusals begin with the table's name. */
hvi_status hvi_options_parse(hvi_options *o, const hvi_setting_table *table,
                             const hvi_option *options, size_t count, hvi_error *err);

typedef hvi_status (*hvi_builtin_fn)(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                                     uint64_t instance, hvi_error *err);

#endif
