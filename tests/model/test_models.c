/*
 * Every model of the registry: both products against the dense Jacobian; the same bits every time;
 * sense at the far ends. Differences, adjoint and blocks are the checker's: test_check.c.
 */
#include "support/models.h"

static void evaluate(const bench *b) { b->m->ops->eval(b->m, b->cache, b->theta, b->z); }

static void products(const bench *b) {
  b->m->ops->vjp(b->m, b->cache, b->theta, b->u, b->back);
  b->m->ops->jvp(b->m, b->cache, b->theta, b->v, b->forth);
}

/* Row i of the whole Jacobian by vjp, column j by jvp, both against the blocks. */
static void check_jacobian(const hvi_model *m) {
  bench b = bench_new(m, 200);
  evaluate(&b);
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *block = &m->blocks[k];
    double *J = calloc(block->out * block->dim, sizeof *J);
    double *scratch = calloc(block->out + block->dim, sizeof *scratch);
    hvi_model_jacobian(m, b.cache, b.theta, k, J, scratch);
    for (size_t i = 0; i < block->out; i++) {
      memset(b.u, 0, m->out * sizeof *b.u);
      b.u[block->z + i] = 1.0;
      m->ops->vjp(m, b.cache, b.theta, b.u, b.back);
      check_relative(b.back + block->theta, J + i * block->dim, block->dim, 1e-13);
      /* nothing of another player's */
      check_near(dot(b.back, b.back, m->dim),
                 dot(b.back + block->theta, b.back + block->theta, block->dim), 0.0);
    }
    for (size_t j = 0; j < block->dim; j++) {
      memset(b.v, 0, m->dim * sizeof *b.v);
      b.v[block->theta + j] = 1.0;
      m->ops->jvp(m, b.cache, b.theta, b.v, b.forth);
      for (size_t i = 0; i < block->out; i++)
        check_near(b.forth[block->z + i], J[i * block->dim + j], 1e-13 * (1.0 + fabs(b.forth[i])));
    }
    free(scratch);
    free(J);
  }
  bench_free(&b);
}

/* A second cache, filled with rubbish and used for something else before, changes nothing. */
static void check_determinism(const hvi_model *m) {
  bench a = bench_new(m, 300), b = bench_new(m, 301);
  for (size_t i = 0; i < m->cache; i++) b.cache[i] = -1e30;
  evaluate(&b);
  products(&b);
  memcpy(b.theta, a.theta, m->dim * sizeof *a.theta);
  memcpy(b.u, a.u, m->out * sizeof *a.u);
  memcpy(b.v, a.v, m->dim * sizeof *a.v);
  evaluate(&a);
  products(&a);
  evaluate(&b);
  products(&b);
  products(&b); /* and products leave the cache as they found it */
  check_same_bits(a.z, b.z, m->out);
  check_same_bits(a.back, b.back, m->dim);
  check_same_bits(a.forth, b.forth, m->out);
  bench_free(&a);
  bench_free(&b);
}

static void check_far_ends(const hvi_model *m) {
  static const double ends[] = {1e3, -1e3, 0.0, 1e-300};
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    bench b = bench_new(m, 400);
    for (size_t j = 0; j < m->dim; j++) b.theta[j] = ends[i];
    evaluate(&b);
    products(&b);
    check_finite(b.z, m->out);
    check_finite(b.back, m->dim);
    check_finite(b.forth, m->out);
    bench_free(&b);
  }
}

static void for_every_model(void (*check)(const hvi_model *m)) {
  for (size_t i = 0; i < MODEL_CASES; i++) {
    print_message("%s\n", model_cases[i].name);
    hvi_model *m = make_model(&model_cases[i]);
    check(m);
    hvi_model_free(m);
  }
}

static void the_jacobian_matches_both_products(void **state) {
  (void)state;
  for_every_model(check_jacobian);
}

static void evaluation_is_deterministic(void **state) {
  (void)state;
  for_every_model(check_determinism);
}

static void saturation_is_finite(void **state) {
  (void)state;
  for_every_model(check_far_ends);
}

static void an_affine_model_is_its_formula(void **state) {
  (void)state;
  const double A[] = {1, 2, 3, 4, 5, 6}, b[] = {0.5, -0.5}, theta[] = {1, -1, 2};
  const double expected[] = {1 - 2 + 6 + 0.5, 4 - 5 + 12 - 0.5};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_affine_new(&m, 2, 3, A, b, &err), &err);
  bench w = bench_new(m, 0);
  memcpy(w.theta, theta, sizeof theta);
  evaluate(&w);
  check_close(w.z, expected, 2, 0.0);
  double J[6], scratch[5];
  hvi_model_jacobian(m, w.cache, w.theta, 0, J, scratch);
  check_close(J, A, 6, 0.0);
  bench_free(&w);
  hvi_model_free(m);
}

/* The order of theta is part of the interface: input, then each layer's W and b. */
static void theta_is_laid_out_as_documented(void **state) {
  (void)state;
  const hvi_layer layers[] = {{.out = 2, .train_bias = true, .activation = HVI_IDENTITY},
                              {.out = 1, .activation = HVI_IDENTITY}};
  const hvi_stack_spec spec = {.in = 2, .rows = 1, .layer_count = 2, .layers = layers};
  /*                    x       W1          b1        W2 */
  const double theta[] = {2, 3, 1, 10, 5, 7, 0.5, 0.25, 100, 1000};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  assert_int_equal(m->dim, 10);
  bench w = bench_new(m, 0);
  memcpy(w.theta, theta, sizeof theta);
  evaluate(&w);
  check_near(w.z[0], 100 * (2 + 30 + 0.5) + 1000 * (10 + 21 + 0.25), 0.0);
  bench_free(&w);
  hvi_model_free(m);
}

/* One player side by side with nobody is that player. */
static void one_player_is_the_player(void **state) {
  (void)state;
  hvi_model *alone = make_model(&model_cases[12]), *inside = make_model(&model_cases[12]), *joint;
  hvi_error err;
  check_ok(hvi_players_new(&joint, 1, &inside, &err), &err);
  assert_int_equal(joint->block_count, 1);
  bench a = bench_new(alone, 5), b = bench_new(joint, 5);
  evaluate(&a), products(&a);
  evaluate(&b), products(&b);
  check_same_bits(a.z, b.z, alone->out);
  check_same_bits(a.back, b.back, alone->dim);
  check_same_bits(a.forth, b.forth, alone->out);
  bench_free(&a);
  bench_free(&b);
  hvi_model_free(alone);
  hvi_model_free(joint);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_jacobian_matches_both_products),
      cmocka_unit_test(evaluation_is_deterministic),
      cmocka_unit_test(saturation_is_finite),
      cmocka_unit_test(an_affine_model_is_its_formula),
      cmocka_unit_test(theta_is_laid_out_as_documented),
      cmocka_unit_test(one_player_is_the_player),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
