/* Built-in problems from inside, and what a name says about a problem. */
#pragma once

#include <hvi/builtin.h>

#include <stddef.h>

/* The list of them: name, summary, and the stem of its options and of what makes it. */
#define HVI_BUILTINS(ROW)                                                                          \
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
#define HVI_BUILTIN_DECLARE(name, summary, stem)                                                   \
  extern const hvi_setting_table hvi_##stem##_options;                                             \
  hvi_builtin_fn hvi_##stem##_new;
HVI_BUILTINS(HVI_BUILTIN_DECLARE)

/* The table of its options; where it has none, one without rows. */
hvi_setting_table hvi_builtin_table(const hvi_builtin *b);

/* Whether a name is that of code: NAME.c or NAME.so. */
bool hvi_names_code(const char *name);
