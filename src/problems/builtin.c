/* The registry of built-in problems. */
#include <hvi/builtin.h>

#include "base/error.h"
#include "base/suggest.h"
#include "problems/games/builtins.h"
#include "problems/mdp/mdp.h"
#include "problems/performative/builtins.h"

#include <stdio.h>
#include <string.h>

static const hvi_builtin builtins[] = {
    {"pennies", "hidden matching pennies: two players, one parameter each", hvi_pennies_keys},
    {"rps", "hidden rock-paper-scissors: two players, five parameters each", hvi_rps_keys},
    {"quadratic", "random strongly monotone F with given constants and a known solution",
     hvi_quadratic_keys},
    {"counterexample", "a rotation on which alpha = 1/sqrt(2) is not enough for any step size",
     hvi_counterexample_keys},
    {"chain", "projected Bellman error of a Markov chain with linear values", hvi_chain_keys},
    {"performative-linear", "targets that answer linearly to a network's predictions",
     hvi_performative_linear_keys},
    {"performative-mean", "estimating a mean that answers to its estimate",
     hvi_performative_mean_keys},
    {"credit", "logistic regression on borrowers who answer to the model", hvi_credit_keys},
    {"credit-rir", "a network on borrowers who come back changed when refused",
     hvi_credit_rir_keys},
    {NULL, NULL, NULL},
};

/* In the same order. */
static const hvi_builtin_fn makers[] = {
    hvi_pennies_new,           hvi_rps_new,    hvi_quadratic_new,
    hvi_counterexample_new,    hvi_chain_new,  hvi_performative_linear_new,
    hvi_performative_mean_new, hvi_credit_new, hvi_credit_rir_new};

enum { BUILTIN_COUNT = sizeof makers / sizeof makers[0] };
_Static_assert(sizeof builtins / sizeof builtins[0] == BUILTIN_COUNT + 1, "one maker per problem");

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
  hvi_values values;
  hvi_status status =
      hvi_options_parse(&values, name, builtins[k].keys, options, option_count, err);
  return status ? status : makers[k](problem, &values, seed, instance, err);
}
