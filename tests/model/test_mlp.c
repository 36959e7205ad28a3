/*
 * Networks in single precision: values and both products against the same network in double
 * precision, against differences and each other; the same bits every time; inputs bound to samples;
 * rows of the Jacobian, and J J'.
 */
#include "model/mlp.h"
#include "support/networks.h"

#include <float.h>

/* Relative rounding of sums of a few dozen floats, through a few layers. */
static const double tolerance = 3e-6;

static void for_every_network(void (*check)(const network_case *c)) {
  for (size_t i = 0; i < NETWORK_CASES; i++) {
    print_message("%s\n", network_cases[i].name);
    check(&network_cases[i]);
  }
}

static void check_against_doubles(const network_case *c) {
  hvi_model *mlp = make_network(c, 1, true), *stack = make_reference(c);
  assert_int_equal(mlp->dim, stack->dim);
  assert_int_equal(mlp->out, stack->out);
  for (uint64_t round = 0; round < 3; round++) {
    desk a = desk_at(mlp, mlp, round), b = desk_at(stack, mlp, round);
    desk_use(&a);
    desk_use(&b);
    check_relative(a.z, b.z, mlp->out, tolerance);
    check_relative(a.back, b.back, mlp->dim, tolerance);
    check_relative(a.forth, b.forth, mlp->out, tolerance);
    desk_free(&a);
    desk_free(&b);
  }
  hvi_model_free(mlp);
  hvi_model_free(stack);
}

static void networks_match_double_precision(void **state) {
  (void)state;
  for_every_network(check_against_doubles);
}

static void check_adjoint(const network_case *c) {
  hvi_model *m = make_network(c, 1, true);
  for (uint64_t round = 0; round < 5; round++) {
    desk b = desk_at(m, m, round);
    desk_use(&b);
    const double forth = dot(b.u, b.forth, m->out), back = dot(b.back, b.v, m->dim);
    const double size = sqrt(dot(b.u, b.u, m->out) * dot(b.forth, b.forth, m->out)) +
                        sqrt(dot(b.v, b.v, m->dim) * dot(b.back, b.back, m->dim));
    check_near(back, forth, tolerance * size);
    desk_free(&b);
  }
  hvi_model_free(m);
}

static void products_are_adjoint(void **state) {
  (void)state;
  for_every_network(check_adjoint);
}

/* (g(theta + h v) - g(theta - h v)) / 2h: with floats inside, h is large and the match coarse; for
 * smooth activations. */
static void products_match_central_differences(void **state) {
  (void)state;
  const double h = 4e-3;
  for (size_t k = 0; k < NETWORK_CASES; k++) {
    const network_case *c = &network_cases[k];
    if (c->hidden == HVI_RELU || c->hidden == HVI_LEAKY_RELU) continue;
    hvi_model *m = make_network(c, 1, true);
    desk b = desk_at(m, m, 1), other = desk_at(m, m, 1);
    double *slope = calloc(m->out, sizeof *slope);
    desk_use(&b);
    const double length = sqrt(dot(b.v, b.v, m->dim));
    for (int side = -1; side <= 1; side += 2) {
      for (size_t i = 0; i < m->dim; i++) other.theta[i] = b.theta[i] + side * h / length * b.v[i];
      m->ops->eval(m, other.cache, other.theta, other.z);
      for (size_t i = 0; i < m->out; i++) slope[i] += side * other.z[i] * length / (2.0 * h);
    }
    check_relative(b.forth, slope, m->out, 5e-3);
    free(slope);
    desk_free(&b);
    desk_free(&other);
    hvi_model_free(m);
  }
}

/* Another cache, full of rubbish and used elsewhere before. */
static void check_bits(const network_case *c) {
  hvi_model *m = make_network(c, 1, true);
  desk a = desk_at(m, m, 0), b = desk_at(m, m, 1);
  desk_use(&a);
  for (size_t i = 0; i < m->cache; i++) b.cache[i] = -1e30;
  desk_use(&b);
  memcpy(b.theta, a.theta, m->dim * sizeof *a.theta);
  memcpy(b.u, a.u, m->out * sizeof *a.u);
  memcpy(b.v, a.v, m->dim * sizeof *a.v);
  desk_use(&b);
  m->ops->vjp(m, b.cache, b.theta, b.u, b.back); /* products leave the cache as it was */
  check_same_bits(a.z, b.z, m->out);
  check_same_bits(a.back, b.back, m->dim);
  check_same_bits(a.forth, b.forth, m->out);
  desk_free(&a), desk_free(&b);
  hvi_model_free(m);
}

static void evaluation_is_deterministic(void **state) {
  (void)state;
  for_every_network(check_bits);
}

typedef struct collection {
  double *g;
  size_t count, pieces;
} collection;

static void collect(void *context, size_t first, const double *g, size_t n) {
  collection *c = context;
  assert_int_equal(first, c->count);
  memcpy(c->g + first, g, n * sizeof *g);
  c->count += n;
  c->pieces++;
}

/* In order, without gaps, and with the same bits. */
static void pieces_of_a_gradient_make_the_whole(void **state) {
  (void)state;
  const network_case wide = {"wide", 30, 3, {100, 50, 1}, HVI_RELU, HVI_IDENTITY, 20};
  hvi_model *m = make_network(&wide, 1, true);
  hvi_mlp_rescale(m, 1.0, 2.5);
  desk b = desk_at(m, m, 1);
  desk_use(&b);
  collection c = {.g = calloc(m->dim, sizeof *c.g)};
  assert_non_null(c.g);
  hvi_mlp_pull_by(m, b.cache, b.u, collect, &c);
  assert_int_equal(c.count, m->dim);
  assert_true(c.pieces > 6); /* a matrix and a bias of each layer, and large ones in several */
  check_same_bits(c.g, b.back, m->dim);
  free(c.g);
  desk_free(&b);
  hvi_model_free(m);
}

/* Bound to the inputs that another model has fixed, it is that model; each cache for itself. */
static void inputs_are_bound_to_samples(void **state) {
  (void)state;
  const network_case *c = &network_cases[13];
  hvi_model *fixed = make_network(c, 1, true), *m = make_network(c, 2, false);
  assert_null(fixed->ops->bind);
  assert_non_null(m->ops->bind);
  double *wide = network_input(c);
  float *x = malloc(c->rows * c->in * sizeof *x);
  for (size_t i = 0; i < c->rows * c->in; i++) x[i] = (float)wide[i];
  const hvi_mlp_batch batch = {x, c->rows}, few = {x, 3};
  desk a = desk_at(fixed, fixed, 2), b = desk_at(m, m, 2), other = desk_at(m, m, 2);
  desk_use(&a);
  m->ops->bind(m, b.cache, &batch);
  m->ops->bind(m, other.cache, &few);
  memset(x, 0xff, c->rows * c->in * sizeof *x); /* they were copied */
  desk_use(&b);
  desk_use(&other);
  check_same_bits(a.z, b.z, m->out);
  check_same_bits(a.back, b.back, m->dim);
  check_same_bits(a.forth, b.forth, m->out);

  /* three rows of the same: their outputs, zeros after them, and gradients of those three */
  const size_t some = 3 * c->widths[c->layer_count - 1];
  check_same_bits(other.z, a.z, some);
  for (size_t i = some; i < m->out; i++) {
    assert_true(other.z[i] == 0.0);
    assert_true(other.forth[i] == 0.0);
  }
  memset(a.u + some, 0, (m->out - some) * sizeof *a.u);
  fixed->ops->vjp(fixed, a.cache, a.theta, a.u, a.back);
  check_relative(other.back, a.back, m->dim, tolerance);

  /* unbound, all inputs are zero and all rows alike */
  m->ops->bind(m, b.cache, NULL);
  memset(other.cache, 0, m->cache * sizeof *other.cache);
  desk_use(&b);
  desk_use(&other);
  check_same_bits(b.z, other.z, m->out);
  check_same_bits(b.z, b.z + m->out - 2, 2);
  desk_free(&a), desk_free(&b), desk_free(&other);
  free(x);
  free(wide);
  hvi_model_free(fixed);
  hvi_model_free(m);
}

static void check_jacobian(const network_case *c) {
  hvi_model *m = make_network(c, 1, true);
  desk b = desk_at(m, m, 0);
  desk_use(&b);
  const size_t out = m->out / c->rows, first = c->rows > 250 ? 250 : 0;
  const size_t count = c->rows - first < 12 ? c->rows - first : 12;
  double *J = malloc(m->out * m->dim * sizeof *J);
  m->ops->jacobian(m, b.cache, b.theta, J);
  for (size_t i = 0; i < count * out; i++) {
    memset(b.u, 0, m->out * sizeof *b.u);
    b.u[first * out + i] = 1.0;
    m->ops->vjp(m, b.cache, b.theta, b.u, b.back);
    check_relative(J + (first * out + i) * m->dim, b.back, m->dim, tolerance);
  }
  free(J);
  desk_free(&b);
  hvi_model_free(m);
}

static void rows_of_the_jacobian_are_gradients(void **state) {
  (void)state;
  for_every_network(check_jacobian);
}

/* J J' of the double-precision network, multiplied out */
static void check_outer(const network_case *c) {
  hvi_model *mlp = make_network(c, 1, true), *stack = make_reference(c);
  const size_t n = mlp->out, d = mlp->dim;
  desk a = desk_at(mlp, mlp, 0), b = desk_at(stack, mlp, 0);
  desk_use(&a);
  desk_use(&b);
  double *K = malloc(n * n * sizeof *K), *work = malloc(mlp->outer_work * sizeof *work);
  double *J = malloc(n * d * sizeof *J), *scratch = malloc((n + d) * sizeof *scratch);
  double largest = 0.0;
  mlp->ops->outer_gram(mlp, a.cache, a.theta, K, work);
  hvi_model_jacobian(stack, b.cache, b.theta, 0, J, scratch);
  for (size_t i = 0; i < n; i++) largest = fmax(largest, K[i * n + i]);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      check_near(K[i * n + j], dot(J + i * d, J + j * d, d), tolerance * largest);
  free(scratch), free(J), free(work), free(K);
  desk_free(&a), desk_free(&b);
  hvi_model_free(mlp), hvi_model_free(stack);
}

static void the_gram_matrix_of_outputs_needs_no_jacobian(void **state) {
  (void)state;
  for (size_t i = 0; i < NETWORK_CASES; i++) {
    const network_case *c = &network_cases[i];
    hvi_model *m = make_network(c, 1, true);
    const bool check = c->rows <= 300;
    hvi_model_free(m);
    if (check) check_outer(c);
  }
}

/* Far outside, values may be large but are numbers. */
static void saturation_is_finite(void **state) {
  (void)state;
  for (size_t k = 0; k < NETWORK_CASES; k++) {
    hvi_model *m = make_network(&network_cases[k], 1, true);
    for (int end = -1; end <= 1; end++) {
      desk b = desk_at(m, m, 0);
      for (size_t i = 0; i < m->dim; i++) b.theta[i] = 1e3 * end;
      desk_use(&b);
      check_finite(b.z, m->out);
      check_finite(b.back, m->dim);
      check_finite(b.forth, m->out);
      desk_free(&b);
    }
    hvi_model_free(m);
  }
}

/* What the header says about memory. */
static void a_cache_has_the_stated_size(void **state) {
  (void)state;
  const size_t widths[] = {256, 256, 1};
  const hvi_mlp_spec spec = {
      .in = 27, .layer_count = 3, .widths = widths, .hidden = HVI_RELU, .rows = 4096};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_mlp_new(&m, &spec, &err), &err);
  assert_true(m->cache * sizeof(double) > 10000000);
  assert_true(m->cache * sizeof(double) < 11500000);
  assert_true(m->noise == FLT_EPSILON);
  hvi_model_free(m);
}

static void refused(hvi_mlp_spec spec, hvi_status status, const char *words) {
  hvi_model *m = (hvi_model *)(void *)&spec;
  hvi_error err;
  check_error(hvi_mlp_new(&m, &spec, &err), status, &err, words);
  assert_null(m);
}

static void bad_shapes_are_refused(void **state) {
  (void)state;
  const size_t widths[] = {4, 1}, empty[] = {4, 0}, huge[] = {100000, 100000};
  const double bad[] = {1.0, NAN};
  const hvi_mlp_spec good = {.in = 2, .layer_count = 2, .widths = widths, .rows = 1};
  hvi_mlp_spec s = good;
  s.in = 0;
  refused(s, HVI_ERROR_ARGUMENT, "an input");
  s = good, s.layer_count = 0;
  refused(s, HVI_ERROR_ARGUMENT, "at least one layer");
  s = good, s.rows = 0;
  refused(s, HVI_ERROR_ARGUMENT, "at least one row");
  s = good, s.rows = (size_t)1 << 60;
  refused(s, HVI_ERROR_ARGUMENT, "too many");
  s = good, s.widths = empty;
  refused(s, HVI_ERROR_ARGUMENT, "layer 2 has no units");
  s = good, s.widths = huge;
  refused(s, HVI_ERROR_ARGUMENT, "too many");
  s = good, s.hidden = HVI_SOFTMAX;
  refused(s, HVI_ERROR_ARGUMENT, "softmax");
  s = good, s.head = HVI_ACTIVATION_COUNT;
  refused(s, HVI_ERROR_ARGUMENT, "unknown activation");
  s = good, s.threads = 100000;
  refused(s, HVI_ERROR_ARGUMENT, "threads");
  s = good, s.input = bad;
  refused(s, HVI_ERROR_INPUT, "not finite");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(networks_match_double_precision),
      cmocka_unit_test(products_are_adjoint),
      cmocka_unit_test(products_match_central_differences),
      cmocka_unit_test(evaluation_is_deterministic),
      cmocka_unit_test(pieces_of_a_gradient_make_the_whole),
      cmocka_unit_test(inputs_are_bound_to_samples),
      cmocka_unit_test(rows_of_the_jacobian_are_gradients),
      cmocka_unit_test(the_gram_matrix_of_outputs_needs_no_jacobian),
      cmocka_unit_test(saturation_is_finite),
      cmocka_unit_test(a_cache_has_the_stated_size),
      cmocka_unit_test(bad_shapes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
