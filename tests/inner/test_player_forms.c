/*
 * Players with a form each: dense, through J J', matrix-free and the automatic choice are the same
 * step on a game of two networks and a small stack; several dampings at one J; what is counted.
 */
#include "support/models.h"
#include "support/rig.h"

typedef struct setup {
  hvi_model *m;
  double *theta, *target, *weights;
} setup;

static const model_case *players(void) {
  for (size_t i = 0; i < MODEL_CASES; i++)
    if (strstr(model_cases[i].name, "a network and a small stack")) return &model_cases[i];
  fail_msg("the case is gone");
  return NULL;
}

static setup set_up(const model_case *c) {
  setup x = {.m = make_model(c)};
  x.theta = malloc(x.m->dim * sizeof *x.theta);
  x.target = malloc(x.m->out * sizeof *x.target);
  x.weights = malloc(x.m->out * sizeof *x.weights);
  fill_normal(x.theta, x.m->dim, 1);
  fill_normal(x.target, x.m->out, 2);
  for (size_t i = 0; i < x.m->out; i++) x.weights[i] = 0.5 + (double)(i % 7) / 3.0;
  return x;
}

static void tear_down(setup *x) {
  free(x->theta), free(x->target), free(x->weights);
  hvi_model_free(x->m);
}

static double *step_of(const setup *x, const char *name, const double *w, hvi_solve_form linear,
                       double damping, hvi_counts *counts) {
  rig r;
  rig_init(&r, x->m, w, x->theta, x->target);
  r.settings.linear = linear;
  r.settings.damping = damping;
  r.settings.rank_tol = 1e-7;
  r.settings.linear_tol = 1e-13;
  rig_use(&r, name);
  assert_true(rig_step(&r));
  double *theta = malloc(x->m->dim * sizeof *theta);
  memcpy(theta, r.l.now->theta, x->m->dim * sizeof *theta);
  if (counts) *counts = r.counts;
  rig_free(&r);
  return theta;
}

static void check_damped(const setup *x, const double *w, double damping) {
  double *exact = step_of(x, "lm", w, HVI_SOLVE_DENSE, damping, NULL);
  static const hvi_solve_form forms[] = {HVI_SOLVE_AUTO, HVI_SOLVE_MATRIX_FREE};
  for (size_t k = 0; k < 2; k++) {
    double *theta = step_of(x, "lm", w, forms[k], damping, NULL);
    check_relative(theta, exact, x->m->dim, 1e-8);
    free(theta);
  }
  free(exact);
}

static void damped_forms_agree(void **state) {
  (void)state;
  setup x = set_up(players());
  for (int weighted = 0; weighted < 2; weighted++) {
    check_damped(&x, weighted ? x.weights : NULL, 1.0);
    check_damped(&x, weighted ? x.weights : NULL, 1e-3);
  }
  tear_down(&x);
}

/* A network alone through J J', a step without damping beside the pseudo-inverse. */
static void undamped_forms_agree(void **state) {
  (void)state;
  model_case one = *players();
  one.player_count = 1;
  one.players[0].rows = 8;
  one.players[0].layers[1].activation = HVI_IDENTITY; /* softmax has no full rank */
  one.players[0].layers[0].out = 80;
  setup x = set_up(&one);
  assert_non_null(x.m->ops->outer_gram);
  double *dense = step_of(&x, "gn", NULL, HVI_SOLVE_DENSE, 1.0, NULL);
  double *gram = step_of(&x, "gn", NULL, HVI_SOLVE_GRAM, 1.0, NULL);
  double *chosen = step_of(&x, "gn", NULL, HVI_SOLVE_AUTO, 1.0, NULL);
  check_relative(gram, dense, x.m->dim, 1e-6);
  check_same_bits(chosen, dense, x.m->dim); /* which knows smaller singular values */
  free(dense), free(gram), free(chosen);
  tear_down(&x);
}

/* Players share a pass: what counts is the one that takes most products. */
static void the_automatic_choice_is_by_player(void **state) {
  (void)state;
  setup x = set_up(players());
  hvi_counts by_form, dense;
  free(step_of(&x, "lm", NULL, HVI_SOLVE_AUTO, 1.0, &by_form));
  free(step_of(&x, "lm", NULL, HVI_SOLVE_DENSE, 1.0, &dense));
  /* three rows of J for the small stack; J J' and a product for a network */
  assert_int_equal(by_form.grad_evals, 3);
  assert_true(dense.grad_evals > 30);
  tear_down(&x);
}

/* The step that adaptive damping ends with is the one of a fixed lambda as large. */
static void dampings_share_a_matrix(void **state) {
  (void)state;
  setup x = set_up(players());
  static const hvi_solve_form forms[] = {HVI_SOLVE_AUTO, HVI_SOLVE_DENSE};
  for (size_t k = 0; k < 2; k++) {
    rig r;
    rig_init(&r, x.m, x.weights, x.theta, x.target);
    for (size_t i = 0; i < x.m->out; i++) r.l.target[i] = 40.0 * x.target[i];
    hvi_surrogate_freeze(&r.l);
    r.settings.linear = forms[k];
    r.settings.adapt_damping = true;
    r.settings.damping = 1e-9;
    rig_use(&r, "lm");
    const size_t passes = r.counts.model_passes;
    assert_true(rig_step(&r));
    const size_t tries = r.counts.model_passes - passes;
    assert_true(tries > 2);
    double lambda = 1e-9, nu = 2.0;
    for (size_t t = 1; t < tries; t++, nu *= 2.0) lambda *= nu;
    setup far = x;
    far.target = malloc(x.m->out * sizeof *far.target);
    for (size_t i = 0; i < x.m->out; i++) far.target[i] = 40.0 * x.target[i];
    double *expected = step_of(&far, "lm", x.weights, forms[k], lambda, NULL);
    check_same_bits(r.l.now->theta, expected, x.m->dim);
    free(far.target), free(expected);
    rig_free(&r);
  }
  tear_down(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damped_forms_agree),
      cmocka_unit_test(undamped_forms_agree),
      cmocka_unit_test(the_automatic_choice_is_by_player),
      cmocka_unit_test(dampings_share_a_matrix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
