/* The registry of built-in problems. */
#include <hvi/builtin.h>

#include "base/error.h"
#include "base/suggest.h"
#include "problems/games/builtins.h"
#include "problems/mdp/mdp.h"
#include "problems/performative/builtins.h"

#include <stdio.h>
#include <string.h>

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
static const hvi_builtin_fn makers[] = {BUILTINS(MAKER)};

enum { BUILTIN_COUNT = sizeof makers / sizeof makers[0] };

const hvi_builtin *hvi_builtin_list(void) { return builtins; }

static hvi_status complain_name(const char *name, hvi_error *err) {
  const char *names[BUILTIN_COUNT + 1] = {NULL};
  for (size_t k = 0; k < BUILTIN_COUNT; k++) names[k] = builtins[k].name;
  const char *near = hvi_suggest(name, names);
  if (near) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "unknown problem '%s'; did you mean '%s'?", name,
                         near);
  }
  char list[256] = "";
  for (size_t k = 0; k < BUILTIN_COUNT; k++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", names[k]);
  }
  return hvi_error_set(err, HVI_ERROR_INPUT, "unknown problem '%s'; there are %s, and YAML files",
                       name, list);
}

hvi_status hvi_builtin_new(hvi_problem **problem, const char *name, const hvi_option *options,
                           size_t option_count, uint64_t seed, uint64_t instance, hvi_error *err) {
  if (!problem || !name || (option_count && !options))
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "hvi_builtin_new: a null pointer");
  *problem = NULL;
  size_t k = 0;
  while (k < BUILTIN_COUNT && strcmp(builtins[k].name, name) != 0) k++;
  if (k == BUILTIN_COUNT) return complain_name(name, err);
  hvi_options o;
  hvi_status status = hvi_options_parse(&o, builtins[k].options, options, option_count, err);
  return status ? status : makers[k](problem, &o, seed, instance, err);
}
