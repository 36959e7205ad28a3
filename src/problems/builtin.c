/* The registry of built-in problems. */
#include <hvi/builtin.h>

#include "base/base.h"
#include "base/suggest.h"
#include "problems/options.h"
#include "problems/single.h"

/* Name, summary, and the stem of its options and of what makes it. */
#define BUILTINS(ROW)                                                                              \
  ROW("pennies", "hidden matching pennies: two players, one parameter each", pennies)              \
  ROW("rps", "hidden rock-paper-scissors: two players, five parameters each", rps)                 \
  ROW("quadratic", "random strongly monotone F with given constants and a known solution",         \
      quadratic)                                                                                   \
  ROW("counterexample", "a rotation on which alpha = 1/sqrt(2) is not enough for any step size",   \
      counterexample)                                                                              \
  ROW("chain", "projected Bellman error of a Markov chain with linear values", chain)              \
  ROW("performative-linear", "targets that answer linearly to a network's predictions",            \
      performative_linear)                                                                         \
  ROW("performative-mean", "estimating a mean that answers to its estimate", performative_mean)    \
  ROW("credit", "logistic regression on borrowers who answer to the model", credit)                \
  ROW("credit-rir", "a network on borrowers who come back changed when refused", credit_rir)

#define ABOUT(name, summary, stem) {name, summary, &hvi_##stem##_options},
#define MAKER(name, summary, stem) hvi_##stem##_new,
static const hvi_builtin builtins[] = {BUILTINS(ABOUT){NULL, NULL, NULL}};
static hvi_builtin_fn *const makers[] = {BUILTINS(MAKER)};

enum { BUILTIN_COUNT = sizeof makers / sizeof makers[0] };

const hvi_builtin *hvi_builtin_list(void) { return builtins; }

/* Defaults, then what was given. Refusals begin with the table's name. */
static hvi_status parse(hvi_options *o, const hvi_setting_table *table, const hvi_option *options,
                        size_t count, hvi_error *err) {
  hvi_setting_defaults(table, o->values);
  for (size_t i = 0; i < count; i++) {
    const char *key = options[i].key, *value = options[i].value;
    if (!key || !value)
      return hvi_error_argument(err, "%s: option %zu is a null pointer", table->name, i);
    const hvi_setting *row = hvi_setting_find(table, key);
    if (!row) return hvi_setting_set(table, o->values, key, value, err); /* refuses */
    char where[96];
    snprintf(where, sizeof where, "%s: %s", table->name, row->name);
    HVI_TRY(hvi_setting_parse(row, o->values, value, where, err));
    o->given[row - table->rows] = true;
  }
  return HVI_OK;
}

hvi_status hvi_builtin_new(hvi_problem **problem, const char *name, const hvi_option *options,
                           size_t option_count, uint64_t seed, uint64_t instance, hvi_error *err) {
  if (!problem || !name || (option_count && !options))
    return hvi_error_argument(err, "hvi_builtin_new: a null pointer");
  *problem = NULL;
  size_t k = 0;
  while (k < BUILTIN_COUNT && strcmp(builtins[k].name, name) != 0) k++;
  if (k == BUILTIN_COUNT) {
    const char *names[BUILTIN_COUNT + 2] = {[BUILTIN_COUNT] = "and YAML files"};
    for (size_t i = 0; i < BUILTIN_COUNT; i++) names[i] = builtins[i].name;
    return hvi_suggest_refuse(err, NULL, "problem", name, names);
  }
  hvi_options o = {.seed = seed, .instance = instance};
  hvi_status status = parse(&o, builtins[k].options, options, option_count, err);
  if (!status) status = makers[k](problem, &o, err);
  return hvi_problem_settle(problem, *problem, status);
}
