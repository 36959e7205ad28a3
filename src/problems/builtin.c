/* The registry of built-in problems. */
#include <hvi/builtin.h>

#include "base/base.h"
#include "problems/options.h"
#include "problems/single.h"
#include "vi/sets.h"

#define ABOUT(name, summary, stem) {name, summary, &hvi_##stem##_options, hvi_##stem##_new},
static const hvi_builtin builtins[] = {HVI_BUILTINS(ABOUT){0}};

enum { BUILTIN_COUNT = sizeof builtins / sizeof builtins[0] - 1 };

const hvi_builtin *hvi_builtin_list(void) { return builtins; }

const hvi_builtin *hvi_builtin_find(const char *name) {
  const hvi_builtin *b = builtins;
  while (b->name && strcmp(b->name, name) != 0) b++;
  return b->name ? b : NULL;
}

hvi_setting_table hvi_builtin_table(const hvi_builtin *b) {
  static const hvi_setting none = {0};
  return b->options ? *b->options : (hvi_setting_table){b->name, 0, &none};
}

/* Defaults, then what was given. Refusals begin with the table's name. */
static hvi_status parse(void *values, bool *given, const hvi_setting_table *table,
                        const hvi_option *options, size_t count, hvi_error *err) {
  hvi_setting_defaults(table, values);
  for (size_t i = 0; i < count; i++) {
    const char *key = options[i].key, *value = options[i].value;
    if (!key || !value)
      return hvi_error_argument(err, "%s: option %zu is a null pointer", table->name, i);
    const hvi_setting *row = hvi_setting_find(table, key);
    if (!row) return hvi_setting_set(table, values, key, value, err); /* refuses */
    char where[96];
    snprintf(where, sizeof where, "%s: %s", table->name, row->name);
    HVI_TRY(hvi_setting_parse(row, values, value, where, err));
    given[row - table->rows] = true;
  }
  return HVI_OK;
}

/* A maker from outside may forget a part of its problem, or the text of its error. */
static hvi_status make(hvi_problem **problem, const hvi_builtin *b, const hvi_options *o,
                       hvi_error *err) {
  hvi_error why = {HVI_OK, ""};
  hvi_status status = b->make(problem, o, &why);
  if (!status && !*problem)
    status = hvi_error_input(&why, "%s: what makes it left no problem", b->name);
  if (!status && hvi_problem_structure(*problem, &why)) status = HVI_ERROR_INPUT;
  if (!status) return HVI_OK;
  if ((unsigned)status >= HVI_STATUS_COUNT) status = HVI_ERROR_INPUT;
  hvi_error_set(err, status, "%s%s%s", *why.text ? "" : b->name, *why.text ? "" : ": ",
                *why.text ? why.text : hvi_status_text(status));
  return hvi_problem_settle(problem, *problem, status);
}

hvi_status hvi_builtin_make(hvi_problem **problem, const hvi_builtin *b, const hvi_option *options,
                            size_t option_count, uint64_t seed, uint64_t instance, hvi_error *err) {
  if (!problem || !b || (option_count && !options))
    return hvi_error_argument(err, "hvi_builtin_make: a null pointer");
  const hvi_setting_table table = hvi_builtin_table(b);
  size_t count = 0;
  *problem = NULL;
  while (table.rows[count].name) count++;
  HVI_OWN void *values = hvi_alloc(1, table.size);
  HVI_OWN bool *given = hvi_alloc(count, sizeof *given);
  if (!values || !given) return hvi_error_memory(err, b->name);
  HVI_TRY(parse(values, given, &table, options, option_count, err));
  const hvi_options o = {values, given, seed, instance};
  return make(problem, b, &o, err);
}

hvi_status hvi_builtin_new(hvi_problem **problem, const char *name, const hvi_option *options,
                           size_t option_count, uint64_t seed, uint64_t instance, hvi_error *err) {
  if (!problem || !name) return hvi_error_argument(err, "hvi_builtin_new: a null pointer");
  const hvi_builtin *b = hvi_builtin_find(name);
  *problem = NULL;
  if (b) return hvi_builtin_make(problem, b, options, option_count, seed, instance, err);
  const char *names[BUILTIN_COUNT + 2] = {[BUILTIN_COUNT] = "and files: YAML, .c, .so"};
  for (size_t i = 0; i < BUILTIN_COUNT; i++) names[i] = builtins[i].name;
  return hvi_suggest_refuse(err, NULL, "problem", name, names);
}
