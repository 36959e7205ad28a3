/* mu and L: known answers, affine operators passed off as unknown ones, weights. */
#include "support/toy.h"

#include <hvi/builtin.h>

static void check_builtin(const char *name, uint64_t instance, double mu, double lipschitz) {
  hvi_problem *p;
  hvi_constants c;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, name, NULL, 0, 1, instance, &err), &err);
  check_ok(hvi_problem_constants(&c, p, &err), &err);
  check_near(c.mu, mu, 1e-13);
  check_near(c.lipschitz, lipschitz, 1e-13 * lipschitz);
  assert_true(c.exact);
  hvi_problem_free(p);
}

static void the_games_have_the_constants_of_the_paper(void **state) {
  (void)state;
  check_builtin("pennies", 0, 0.75, sqrt(16.5625));
  check_builtin("pennies", 5, 0.75, sqrt(16.5625));
  check_builtin("rps", 1, 0.2, sqrt(3.04));
  check_builtin("counterexample", 0, 1.0, sqrt(2.0));
}

static void printed_signs_are_not_monotone(void **state) {
  (void)state;
  const hvi_option printed = {"signs", "printed"};
  hvi_problem *p;
  hvi_constants c;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, "pennies", &printed, 1, 1, 0, &err), &err);
  check_ok(hvi_problem_constants(&c, p, &err), &err);
  check_near(c.mu, -0.75, 1e-13);
  hvi_problem_free(p);
}

static const double rotation[] = {0.5, 2.0, -0.3, -2.0, 0.8, 1.0, 0.3, -1.0, 1.5};
static const double zero[9];

/* Quotients of one direction d = x - y in the norm of w: <A d, d> / |d|^2 and |P Xi^-1 A d| / |d|,
 * P the projection onto the directions of Z. */
static void quotients(const double *d, const double *w, bool simplex, double *mu, double *lip) {
  double Ad[3], g[3], size2 = 0.0, inner = 0.0, image2 = 0.0, shift = 0.0, scale = 0.0;
  for (size_t i = 0; i < 3; i++) {
    Ad[i] = dot(rotation + 3 * i, d, 3);
    g[i] = Ad[i] / w[i];
    size2 += w[i] * d[i] * d[i];
    inner += Ad[i] * d[i];
    shift += g[i];
    scale += 1.0 / w[i];
  }
  /* onto sum d = 0 in the norm of w: subtract a multiple of 1 / w */
  for (size_t i = 0; simplex && i < 3; i++) g[i] -= shift / scale / w[i];
  for (size_t i = 0; i < 3; i++) image2 += w[i] * g[i] * g[i];
  *mu = inner / size2;
  *lip = sqrt(image2 / size2);
}

/* The constants bound every quotient and are reached by some. */
static void check_weighted(bool simplex, const double *w) {
  const double ones[] = {1, 1, 1};
  toy t;
  hvi_constants c;
  hvi_error err;
  toy_init(&t, identity_model(3), rotation, zero, zero);
  if (simplex) t.sets[0].kind = HVI_SET_SIMPLEX;
  t.base.weights = w;
  check_ok(hvi_problem_constants(&c, &t.base, &err), &err);
  double least = INFINITY, most = 0.0;
  for (uint64_t round = 0; round < 20000; round++) {
    double d[3], mu, lip;
    fill_normal(d, 3, round);
    if (simplex) d[2] = -d[0] - d[1];
    quotients(d, w ? w : ones, simplex, &mu, &lip);
    least = fmin(least, mu);
    most = fmax(most, lip);
  }
  assert_true(c.mu <= least + 1e-12 && c.lipschitz >= most - 1e-12);
  check_near(c.mu, least, 1e-2 * fabs(least));
  check_near(c.lipschitz, most, 1e-2 * most);
  hvi_problem_free(&t.base);
}

static void constants_bound_every_direction(void **state) {
  (void)state;
  check_weighted(false, NULL);
  check_weighted(true, NULL);
}

static void weights_change_the_norm(void **state) {
  (void)state;
  const double w[] = {1.0, 4.0, 0.25};
  check_weighted(false, w);
  check_weighted(true, w);
}

/* z = Q theta with a subspace of two directions: C = Q'AQ by hand. */
static void a_subspace_sees_its_own_directions(void **state) {
  (void)state;
  const double r = sqrt(0.5), basis[] = {r, 0, r, 0, 0, 1};
  toy t;
  hvi_constants c;
  hvi_error err;
  toy_init(&t, identity_model(3), rotation, zero, zero);
  t.sets[0] = (hvi_set){.kind = HVI_SET_SUBSPACE, .len = 3, .basis = basis, .rank = 2};
  check_ok(hvi_problem_constants(&c, &t.base, &err), &err);
  /* Q'AQ = [[(.5 + 2 - 2 + .8) / 2, (-.3 + 1) r], [(.3 - 1) r, 1.5]] = [[.65, s], [-s, 1.5]] */
  const double s = 0.7 * r;
  check_near(c.mu, 0.65, 1e-13);
  const double trace = 0.65 * 0.65 + 1.5 * 1.5 + 2 * s * s, det = 0.65 * 1.5 + s * s;
  check_near(c.lipschitz, sqrt(0.5 * (trace + sqrt(trace * trace - 4 * det * det))), 1e-13);
  hvi_problem_free(&t.base);
}

/* A sampled mu is never below the true one, a sampled L never above, and both are near. */
static void sampled_constants_bracket_the_exact_ones(void **state) {
  (void)state;
  const double theta0[] = {0.1, -0.2, 0.3}, w[] = {1.0, 4.0, 0.25};
  for (int weighted = 0; weighted < 2; weighted++) {
    toy t;
    hvi_constants exact, sampled;
    hvi_error err;
    toy_init(&t, identity_model(3), rotation, zero, theta0);
    t.base.weights = weighted ? w : NULL;
    check_ok(hvi_problem_constants(&exact, &t.base, &err), &err);
    t.base.ops = &toy_opaque_ops;
    check_ok(hvi_problem_constants(&sampled, &t.base, &err), &err);
    assert_true(exact.exact && !sampled.exact && sampled.pairs > 1000);
    assert_true(sampled.mu >= exact.mu - 1e-10 && sampled.mu <= exact.mu + 0.1);
    assert_true(sampled.lipschitz <= exact.lipschitz * (1 + 1e-10));
    assert_true(sampled.lipschitz >= 0.98 * exact.lipschitz);
    hvi_problem_free(&t.base);
  }
}

/* The same on the simplex, where F is read along the simplex only. */
static void sampling_reads_F_along_the_set(void **state) {
  (void)state;
  hvi_problem *p;
  hvi_constants exact, sampled;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, "rps", NULL, 0, 1, 1, &err), &err);
  check_ok(hvi_problem_constants(&exact, p, &err), &err);
  hvi_problem_ops opaque = *p->ops;
  const hvi_problem_ops *own = p->ops;
  opaque.affine = NULL;
  p->ops = &opaque;
  check_ok(hvi_problem_constants(&sampled, p, &err), &err);
  p->ops = own;
  assert_true(sampled.mu >= exact.mu - 1e-10);
  assert_true(sampled.lipschitz <= exact.lipschitz * (1 + 1e-10));
  assert_true(sampled.lipschitz >= 0.9 * exact.lipschitz);
  hvi_problem_free(p);
}

/* F(z) = z + z^3 has mu = 1 and no finite L: samples must see some of both. */
static void a_curved_operator_is_sampled(void **state) {
  (void)state;
  const double one[] = {1.0};
  toy t;
  hvi_constants c;
  hvi_error err;
  toy_init(&t, identity_model(1), one, zero, zero);
  t.base.ops = &toy_opaque_ops;
  t.cubic = 1.0;
  check_ok(hvi_problem_constants(&c, &t.base, &err), &err);
  assert_true(c.mu > 1.0 && c.mu < 1.01);
  assert_true(c.lipschitz > 10.0);
  hvi_problem_free(&t.base);
}

static void sampling_is_deterministic(void **state) {
  (void)state;
  toy t;
  hvi_constants a, b;
  toy_init(&t, identity_model(3), rotation, zero, zero);
  t.base.ops = &toy_opaque_ops;
  assert_int_equal(hvi_problem_constants(&a, &t.base, NULL), HVI_OK);
  assert_int_equal(hvi_problem_constants(&b, &t.base, NULL), HVI_OK);
  check_same_bits(&a.mu, &b.mu, 1);
  check_same_bits(&a.lipschitz, &b.lipschitz, 1);
  hvi_problem_free(&t.base);
}

static void a_single_point_has_no_constants(void **state) {
  (void)state;
  const double lower[] = {1, 1, 1};
  toy t;
  hvi_constants c;
  hvi_error err;
  toy_init(&t, identity_model(3), rotation, zero, zero);
  t.sets[0] = (hvi_set){.kind = HVI_SET_BOX, .len = 3, .lower = lower, .upper = lower};
  check_error(hvi_problem_constants(&c, &t.base, &err), HVI_ERROR_INPUT, &err,
              "the outputs cannot move");
  hvi_problem_free(&t.base);
}

/* Outputs that do not answer to theta: relu far below zero. */
static void outputs_that_do_not_move_have_no_constants(void **state) {
  (void)state;
  const double one[] = {1.0}, low[] = {-1e6};
  const hvi_layer layer = {.out = 1, .matrix = one, .activation = HVI_RELU};
  const hvi_stack_spec spec = {.in = 1, .rows = 1, .layer_count = 1, .layers = &layer};
  hvi_model *m;
  toy t;
  hvi_constants c;
  hvi_error err;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  toy_init(&t, m, one, zero, low);
  t.base.ops = &toy_opaque_ops;
  check_error(hvi_problem_constants(&c, &t.base, &err), HVI_ERROR_INPUT, &err,
              "the outputs do not move around the start");
  hvi_problem_free(&t.base);
}

static void sampling_needs_a_start(void **state) {
  (void)state;
  toy t;
  hvi_constants c;
  hvi_error err;
  toy_init(&t, identity_model(3), rotation, zero, NULL);
  t.base.ops = &toy_opaque_ops;
  assert_int_not_equal(hvi_problem_constants(&c, &t.base, &err), HVI_OK);
  assert_non_null(strstr(err.text, "start"));
  hvi_problem_free(&t.base);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_games_have_the_constants_of_the_paper),
      cmocka_unit_test(printed_signs_are_not_monotone),
      cmocka_unit_test(constants_bound_every_direction),
      cmocka_unit_test(weights_change_the_norm),
      cmocka_unit_test(a_subspace_sees_its_own_directions),
      cmocka_unit_test(sampled_constants_bracket_the_exact_ones),
      cmocka_unit_test(sampling_reads_F_along_the_set),
      cmocka_unit_test(a_curved_operator_is_sampled),
      cmocka_unit_test(sampling_is_deterministic),
      cmocka_unit_test(a_single_point_has_no_constants),
      cmocka_unit_test(outputs_that_do_not_move_have_no_constants),
      cmocka_unit_test(sampling_needs_a_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
