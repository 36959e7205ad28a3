/* The surrogate: loss and gradient by their definitions, and what each call costs. */
#include "support/models.h"
#include "support/rig.h"

static const model_case *const some_case = &model_cases[14]; /* trainable between fixed layers */

typedef struct fixture {
  hvi_model *m;
  double theta[64], target[16], weights[16];
  rig r;
} fixture;

static void set_up(fixture *x, bool weighted) {
  x->m = make_model(some_case);
  assert_true(x->m->dim <= 64);
  assert_true(x->m->out <= 16);
  fill_normal(x->theta, x->m->dim, 1);
  fill_normal(x->target, x->m->out, 2);
  for (size_t i = 0; i < x->m->out; i++) x->weights[i] = 0.5 + (double)i;
  rig_init(&x->r, x->m, weighted ? x->weights : NULL, x->theta, x->target);
}

static void tear_down(fixture *x) {
  rig_free(&x->r);
  hvi_model_free(x->m);
}

static void loss_and_gradient_are_their_definitions(void **state) {
  (void)state;
  for (int weighted = 0; weighted < 2; weighted++) {
    fixture x;
    double g[64];
    set_up(&x, weighted);
    hvi_surrogate *l = &x.r.l;
    const double loss = gradient_of(x.m, x.theta, x.target, weighted ? x.weights : NULL, g);
    check_near(l->loss0, loss, 1e-14 * loss);
    check_near(l->now->loss, loss, 1e-14 * loss);
    check_relative(hvi_surrogate_gradient(l), g, x.m->dim, 1e-13);
    tear_down(&x);
  }
}

static void the_gradient_matches_differences_of_the_loss(void **state) {
  (void)state;
  const double h = 1e-5;
  for (int weighted = 0; weighted < 2; weighted++) {
    fixture x;
    set_up(&x, weighted);
    hvi_surrogate *l = &x.r.l;
    double slope[64];
    for (size_t i = 0; i < x.m->dim; i++) {
      memcpy(l->next->theta, x.theta, x.m->dim * sizeof *x.theta);
      l->next->theta[i] = x.theta[i] + h;
      const double up = hvi_surrogate_probe(l);
      l->next->theta[i] = x.theta[i] - h;
      slope[i] = (up - hvi_surrogate_probe(l)) / (2 * h);
    }
    check_relative(hvi_surrogate_gradient(l), slope, x.m->dim, 1e-8);
    tear_down(&x);
  }
}

/* Freezing a new target needs no pass: z is known. */
static void each_call_costs_what_it_says(void **state) {
  (void)state;
  fixture x;
  set_up(&x, false);
  hvi_surrogate *l = &x.r.l;
  assert_int_equal(x.r.counts.model_passes, 1);
  hvi_surrogate_freeze(l);
  assert_int_equal(x.r.counts.model_passes, 1);
  hvi_surrogate_gradient(l);
  assert_int_equal(x.r.counts.model_passes, 1);
  assert_int_equal(x.r.counts.grad_evals, 1);
  memcpy(l->next->theta, x.theta, x.m->dim * sizeof *x.theta);
  hvi_surrogate_probe(l);
  assert_int_equal(x.r.counts.model_passes, 2);
  hvi_surrogate_accept(l);
  assert_int_equal(x.r.counts.model_passes, 2);
  assert_int_equal(x.r.counts.grad_evals, 1);
  assert_int_equal(x.r.counts.f_evals, 0);
  tear_down(&x);
}

static void accepting_changes_places_and_probing_does_not(void **state) {
  (void)state;
  fixture x;
  set_up(&x, false);
  hvi_surrogate *l = &x.r.l;
  hvi_point *here = l->now, *there = l->next;
  for (size_t i = 0; i < x.m->dim; i++) there->theta[i] = x.theta[i] + 0.5;
  const double loss = hvi_surrogate_probe(l), loss0 = l->loss0;
  assert_true(l->now == here);
  assert_true(loss != loss0);
  check_same_bits(here->theta, x.theta, x.m->dim);
  hvi_surrogate_accept(l);
  assert_true(l->now == there);
  assert_true(l->next == here);
  check_same_bits(&l->now->loss, &loss, 1);
  check_same_bits(&l->loss0, &loss0, 1); /* until the next freeze */
  hvi_surrogate_freeze(l);
  check_same_bits(&l->loss0, &loss, 1);
  tear_down(&x);
}

/* A step in place comes to what a probe that is accepted comes to, at the same cost. */
static void moving_is_probing_and_accepting(void **state) {
  (void)state;
  fixture a, b;
  set_up(&a, false), set_up(&b, false);
  hvi_surrogate *l = &a.r.l, *other = &b.r.l;
  const hvi_point *here = l->now;
  for (size_t i = 0; i < a.m->dim; i++) l->now->theta[i] = other->next->theta[i] = a.theta[i] + 0.5;
  const double loss = hvi_surrogate_moved(l), probed = hvi_surrogate_probe(other);
  hvi_surrogate_accept(other);
  assert_true(l->now == here);
  check_same_bits(&loss, &probed, 1);
  check_same_bits(&l->now->loss, &loss, 1);
  check_same_bits(l->now->z, other->now->z, a.m->out);
  check_same_bits(l->now->residual, other->now->residual, a.m->out);
  check_same_bits(hvi_surrogate_gradient(l), hvi_surrogate_gradient(other), a.m->dim);
  assert_int_equal(a.r.counts.model_passes, b.r.counts.model_passes);
  tear_down(&a), tear_down(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loss_and_gradient_are_their_definitions),
      cmocka_unit_test(the_gradient_matches_differences_of_the_loss),
      cmocka_unit_test(each_call_costs_what_it_says),
      cmocka_unit_test(accepting_changes_places_and_probing_does_not),
      cmocka_unit_test(moving_is_probing_and_accepting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
