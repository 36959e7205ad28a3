/*
 * A constant, tall Jacobian: steps through its Gram matrix against the dense and the matrix-free
 * ones, of full rank and not.
 */
#include "support/rig.h"

enum { D = 4, N = (1 << 20) / D + 1 }; /* just too large to be decomposed */

/* z = X theta, X[N][D] */
typedef struct regression {
  hvi_model base;
  hvi_block block;
  double *X;
} regression;

static size_t grams;

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  (void)cache;
  const double *X = ((const regression *)m)->X;
  for (size_t i = 0; i < N; i++) z[i] = dot(X + i * D, theta, D);
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  (void)cache, (void)theta;
  const double *X = ((const regression *)m)->X;
  memset(out, 0, D * sizeof *out);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < D; j++) out[j] += X[i * D + j] * u[i];
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  (void)theta;
  eval(m, cache, v, out);
}

static void gram(const hvi_model *m, const double *w, double *G) {
  const double *X = ((const regression *)m)->X;
  grams++;
  memset(G, 0, D * D * sizeof *G);
  for (size_t i = 0; i < N; i++) {
    for (size_t a = 0; a < D; a++)
      for (size_t b = 0; b < D; b++) G[a * D + b] += X[i * D + a] * (w ? w[i] : 1.0) * X[i * D + b];
  }
}

static const hvi_model_ops tall_ops = {
    .name = "regression", .eval = eval, .vjp = vjp, .jvp = jvp, .gram = gram};

typedef struct setup {
  regression m;
  double *target, *weights, theta[D];
} setup;

/* With a deficient rank the last column is the sum of the first two. */
static void set_up(setup *x, bool deficient) {
  *x = (setup){.m = {.base = {.ops = &tall_ops, .dim = D, .out = N, .block_count = 1}}};
  x->m.block = (hvi_block){.dim = D, .out = N};
  x->m.base.blocks = &x->m.block;
  x->m.X = malloc((size_t)N * D * sizeof *x->m.X);
  x->target = malloc(N * sizeof *x->target);
  x->weights = malloc(N * sizeof *x->weights);
  hvi_rng rng = hvi_rng_new(2, "regression", 0);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, (size_t)N * D, x->m.X);
  hvi_rng_fill_normal(&rng, 1.0, 1.0, N, x->target);
  hvi_rng_fill_uniform(&rng, 0.5, 2.0, N, x->weights);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, D, x->theta);
  for (size_t i = 0; deficient && i < N; i++) {
    double *row = x->m.X + i * D;
    row[D - 1] = row[0] + row[1];
  }
}

static void tear_down(setup *x) {
  free(x->m.X);
  free(x->target);
  free(x->weights);
}

/* Where one step of `name` ends. */
static void step_to(double *theta, const setup *x, const char *name, const double *w,
                    hvi_solve_form linear, hvi_counts *counts) {
  rig r;
  rig_init(&r, &x->m.base, w, x->theta, x->target);
  r.settings.linear = linear;
  r.settings.rank_tol = 1e-6;
  r.settings.damping = 1000.0;
  rig_use(&r, name);
  assert_true(rig_step(&r));
  memcpy(theta, r.l.now->theta, D * sizeof *theta);
  *counts = r.counts;
  rig_free(&r);
}

static void check_step(const char *name, bool deficient, bool weighted) {
  double by_gram[D], dense[D], free_of_matrix[D];
  hvi_counts counts, other;
  setup x;
  set_up(&x, deficient);
  const double *w = weighted ? x.weights : NULL;
  grams = 0;
  step_to(by_gram, &x, name, w, HVI_SOLVE_AUTO, &counts);
  assert_int_equal(grams, 1);
  assert_int_equal(counts.grad_evals, 1);
  step_to(dense, &x, name, w, HVI_SOLVE_DENSE, &other);
  step_to(free_of_matrix, &x, name, w, HVI_SOLVE_MATRIX_FREE, &other);
  assert_int_equal(grams, 1); /* only the automatic choice goes this way */
  check_relative(by_gram, dense, D, 1e-9);
  check_relative(free_of_matrix, dense, D, 1e-9);
  tear_down(&x);
}

static void gauss_newton_through_the_gram_matrix(void **state) {
  (void)state;
  check_step("gn", false, false);
  check_step("gn", false, true);
}

static void the_cut_off_is_on_singular_values(void **state) {
  (void)state;
  check_step("gn", true, false);
  check_step("gn", true, true);
}

static void damped_through_the_gram_matrix(void **state) {
  (void)state;
  check_step("lm", false, false);
  check_step("lm", true, true);
}

/* G is formed once, however many steps and targets follow. */
static void it_is_formed_once(void **state) {
  (void)state;
  setup x;
  rig r;
  set_up(&x, false);
  rig_init(&r, &x.m.base, NULL, x.theta, x.target);
  rig_use(&r, "gn");
  grams = 0;
  for (int k = 0; k < 3; k++) {
    if (r.optimizer->reset) r.optimizer->reset(&r.settings, &x.m.base, r.state);
    assert_true(rig_step(&r));
  }
  assert_int_equal(grams, 1);
  tear_down(&x);
  rig_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gauss_newton_through_the_gram_matrix),
      cmocka_unit_test(the_cut_off_is_on_singular_values),
      cmocka_unit_test(damped_through_the_gram_matrix),
      cmocka_unit_test(it_is_formed_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
