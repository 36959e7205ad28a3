/* The parts of `reproduce theory`: their claims hold, and would not if a bound were violated. */
#include "report/folder.h"

#include "experiments/theory.h"

#include <math.h>

static hvi_judgement judged(const hvi_claims *claims, const char *id) {
  const hvi_claim *c = hvi_claims_find(claims, id);
  if (!c) fail_msg("there is no claim '%s'", id);
  assert_true(c->measure_count > 0);
  return c->judgement;
}

static void holds(const hvi_claims *claims, const char *id, bool expected) {
  if (judged(claims, id) != (expected ? HVI_HOLDS : HVI_HOLDS_NOT))
    fail_msg("'%s' is judged '%s'", id, hvi_judgement_name(judged(claims, id)));
}

/* Runs a part in the test's folder; its claims have to hold and its CSV to be there. */
static void check_part(void **state, hvi_status (*run)(const hvi_theory_part *, hvi_error *),
                       const char *csv, const char *const *ids) {
  hvi_claims claims = {0};
  hvi_error err = {HVI_OK, ""};
  const hvi_theory_part part = {.folder = *state, .claims = &claims, .seed = 1};
  if (run(&part, &err) != HVI_OK) fail_msg("%s", err.text);
  for (size_t i = 0; ids[i]; i++) holds(&claims, ids[i], true);
  assert_true(exists(in(*state, csv)));
  hvi_claims_clear(&claims);
}

#define PART(name, csv, ...)                                                                       \
  static void name##_holds(void **state) {                                                         \
    static const char *const ids[] = {__VA_ARGS__, NULL};                                          \
    check_part(state, hvi_theory_##name, csv, ids);                                                \
  }

PART(rate, "rate.csv", "rate", "rate-theorem-step")
PART(printed, "printed.csv", "step-bound", "signs")
PART(counter, "counterexample.csv", "counterexample", "counterexample-mended")
PART(scalar, "scalar.csv", "scalar-descent", "scalar-convergence")
PART(lemma, "lemma.csv", "lemma")
PART(vanish, "vanishing.csv", "vanishing-errors")
PART(noise, "noise.csv", "neighbourhood", "neighbourhood-sigma")
PART(pl, "pl.csv", "pl")
PART(alpha, "alpha-rps-best.csv", "alpha-covered", "alpha-damping")

static void a_folder_that_cannot_be_written(void **state) {
  hvi_claims claims = {0};
  hvi_error err;
  const hvi_theory_part part = {
      .folder = in(*state, "missing/folder"), .claims = &claims, .seed = 1};
  assert_int_equal(hvi_theory_counter(&part, &err), HVI_ERROR_IO);
  assert_int_equal(hvi_theory_noise(&part, &err), HVI_ERROR_IO);
  assert_int_equal(claims.count, 0);
}

/* Every judge accepts good figures, and none with a single bound violated. */
static void a_rate_above_the_bound_is_seen(void **state) {
  (void)state;
  const hvi_theory_rate_worst good = {10, 100, 0.99, 0.98, 1.0, 0.99};
  hvi_theory_rate_worst bad = good, none = good;
  hvi_claims a = {0}, b = {0}, c = {0};
  bad.over_rho = 1.0 + 1e-6;
  bad.over_theorem = 1.001;
  none.steps = 0;
  hvi_theory_rate_judge(&a, &good);
  hvi_theory_rate_judge(&b, &bad);
  hvi_theory_rate_judge(&c, &none);
  holds(&a, "rate", true);
  holds(&a, "rate-theorem-step", true);
  holds(&b, "rate", false);
  holds(&b, "rate-theorem-step", false);
  holds(&c, "rate", false);
  hvi_claims_clear(&a);
  hvi_claims_clear(&b);
  hvi_claims_clear(&c);
}

static void nan_is_never_a_success(void **state) {
  (void)state;
  hvi_claims claims = {0};
  const double x = NAN;
  hvi_theory_rate_judge(&claims, &(hvi_theory_rate_worst){1, 1, x, x, x, x});
  hvi_theory_printed_judge(&claims, &(hvi_theory_printed_worst){x, x, x, {x, x}, {x, x}});
  hvi_theory_counter_judge(&claims, &(hvi_theory_counter_worst){1, 1, x, x, x, x, x});
  hvi_theory_scalar_judge(&claims, &(hvi_theory_scalar_worst){1, x, x, x, x});
  hvi_theory_lemma_judge(&claims, &(hvi_theory_lemma_worst){1, 1, x, x, x});
  hvi_theory_vanish_judge(&claims, &(hvi_theory_vanish_worst){x, x, x, x, x});
  hvi_theory_noise_judge(&claims, &(hvi_theory_noise_worst){1, 1, x, x, x, x, x});
  hvi_theory_pl_judge(&claims, &(hvi_theory_pl_worst){1, x, x});
  assert_int_equal(hvi_claims_tally(&claims, HVI_HOLDS_NOT), claims.count);
  hvi_claims_clear(&claims);
}

static void other_violations_are_seen(void **state) {
  (void)state;
  hvi_claims claims = {0};
  hvi_theory_printed_judge(&claims,
                           &(hvi_theory_printed_worst){0.9, 0.99, 2.0, {-0.75, 0.2}, {1.1, 1.1}});
  hvi_theory_counter_judge(&claims, &(hvi_theory_counter_worst){9, 5, 1e-11, 0.0, 1.1, 0.9, 1.0});
  hvi_theory_scalar_judge(&claims, &(hvi_theory_scalar_worst){9, 1e-9, 1e-9, 1e-3, 0.9});
  hvi_theory_lemma_judge(&claims, &(hvi_theory_lemma_worst){9, 9, 1.01, 1.0, 0.5});
  hvi_theory_vanish_judge(&claims, &(hvi_theory_vanish_worst){1.01, 0.01, 9.0, 0.5, 0.3});
  hvi_theory_noise_judge(&claims, &(hvi_theory_noise_worst){9, 9, 1.2, 0.5, 0.1, 1.0, 0.0});
  hvi_theory_pl_judge(&claims, &(hvi_theory_pl_worst){9, 0.9, 0.1});
  for (size_t i = 0; i < claims.count; i++) holds(&claims, claims.items[i]->id, false);
  hvi_claims_clear(&claims);
}

/* A covered run that does not arrive, and a loose alpha that does not help. */
static void the_judge_of_alpha(void **state) {
  (void)state;
  hvi_theory_alpha_curve curve = {
      .game = "pennies",
      .eta = 0.1,
      .alpha_max = 0.2,
      .alpha_eta = 0.15,
      .kappa2 = 1.01,
      .count = 2,
      .runs = {
          {.alpha = 0.1, .alpha_worst = 0.1},
          {.alpha = 0.7, .alpha_worst = 0.7, .outer = 50, .grad_evals = 100, .reached = true}}};
  hvi_claims claims = {0}, other = {0};
  hvi_theory_alpha_judge(&claims, &curve, 1);
  holds(&claims, "alpha-covered", false);
  holds(&claims, "alpha-cost", true);
  holds(&claims, "alpha-damping", true);
  curve.runs[0].reached = true;
  curve.runs[0].outer = 20;
  curve.runs[0].grad_evals = 10;
  hvi_theory_alpha_judge(&other, &curve, 1);
  holds(&other, "alpha-covered", true);
  holds(&other, "alpha-cost", false);
  holds(&other, "alpha-damping", false);
  hvi_claims_clear(&claims);
  hvi_claims_clear(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rate_holds),
      cmocka_unit_test(printed_holds),
      cmocka_unit_test(counter_holds),
      cmocka_unit_test(scalar_holds),
      cmocka_unit_test(lemma_holds),
      cmocka_unit_test(vanish_holds),
      cmocka_unit_test(noise_holds),
      cmocka_unit_test(pl_holds),
      cmocka_unit_test(alpha_holds),
      cmocka_unit_test(a_folder_that_cannot_be_written),
      cmocka_unit_test(a_rate_above_the_bound_is_seen),
      cmocka_unit_test(nan_is_never_a_success),
      cmocka_unit_test(other_violations_are_seen),
      cmocka_unit_test(the_judge_of_alpha),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
