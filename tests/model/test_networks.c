/*
 * Stacks of fixed inputs on the kernels of networks, in double and in single precision, against the
 * same stacks in plain loops: outputs, products, Jacobian and J J', over odd sizes and all
 * activations; rows that do not know each other; going over to another precision.
 */
#include "support/models.h"

#include "model/mlp.h"
#include "model/stack.h"

#include <float.h>

/* Two hidden layers of that width, biases trained, fixed and none, and a head of `out`. */
static hvi_model *make_case(size_t rows, size_t width, size_t out, hvi_activation s,
                            hvi_activation head, hvi_precision precision) {
  enum { IN = 3, MOST = 70 };
  double input[MOST * IN], bias[MOST];
  fill_normal(input, rows * IN, 1);
  fill_normal(bias, width, 2);
  const hvi_layer layers[] = {{.out = width, .train_bias = true, .activation = s},
                              {.out = width, .bias = bias, .activation = s},
                              {.out = out, .activation = head}};
  const hvi_stack_spec spec = {.in = IN,
                               .input = input,
                               .rows = rows,
                               .layer_count = 3,
                               .layers = layers,
                               .precision = precision};
  hvi_model *m;
  hvi_error err;
  check_ok(hvi_stack_new(&m, &spec, &err), &err);
  return m;
}

/* On the kernels, however small it is. */
static hvi_model *make_kernels(size_t rows, size_t width, size_t out, hvi_activation s,
                               hvi_activation head) {
  hvi_model *m = make_case(rows, width, out, s, head, HVI_PRECISION_DOUBLE), *network;
  const hvi_stack *stack = hvi_stack_of(m);
  hvi_layer layers[3];
  hvi_error err;
  for (size_t l = 0; l < 3; l++)
    layers[l] = (hvi_layer){stack->layers[l].out, stack->layers[l].matrix, stack->layers[l].bias,
                            stack->layers[l].train_bias, stack->layers[l].activation};
  const hvi_stack_spec spec = {
      .in = 3, .input = stack->input, .rows = rows, .layer_count = 3, .layers = layers};
  check_ok(hvi_network_new(&network, &spec, &err), &err);
  hvi_model_free(m);
  return network;
}

static void use(const bench *b, double sd) {
  for (size_t i = 0; i < b->m->dim; i++) b->theta[i] *= sd;
  b->m->ops->eval(b->m, b->cache, b->theta, b->z);
  b->m->ops->vjp(b->m, b->cache, b->theta, b->u, b->back);
  b->m->ops->jvp(b->m, b->cache, b->theta, b->v, b->forth);
}

/* J and J J' against those of the plain loops */
static void check_matrices(const bench *a, const bench *b, double tolerance) {
  const size_t n = a->m->out, d = a->m->dim;
  double *J = calloc(2 * n * d, sizeof *J), *exact = J + n * d, *K = calloc(n * n, sizeof *K);
  double *scratch = calloc(n + d, sizeof *scratch), *work = calloc(a->m->outer_work, sizeof *work);
  double largest = 0.0;
  hvi_model_jacobian(a->m, a->cache, a->theta, 0, J, scratch);
  hvi_model_jacobian(b->m, b->cache, b->theta, 0, exact, scratch);
  check_relative(J, exact, n * d, tolerance);
  a->m->ops->outer_gram(a->m, a->cache, a->theta, K, work);
  for (size_t i = 0; i < n; i++) largest = fmax(largest, dot(exact + i * d, exact + i * d, d));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      check_near(K[i * n + j], dot(exact + i * d, exact + j * d, d), tolerance * largest);
  free(J), free(K), free(scratch), free(work);
}

static void check_case(hvi_model *network, hvi_model *reference, double tolerance) {
  bench a = bench_new(network, 7), b = bench_new(reference, 7);
  assert_int_equal(network->dim, reference->dim);
  assert_non_null(network->ops->outer_gram);
  assert_null(reference->ops->outer_gram);
  use(&a, 0.4), use(&b, 0.4);
  check_relative(a.z, b.z, network->out, tolerance);
  check_relative(a.back, b.back, network->dim, tolerance);
  check_relative(a.forth, b.forth, network->out, tolerance);
  check_matrices(&a, &b, tolerance);
  bench_free(&a), bench_free(&b);
  hvi_model_free(network), hvi_model_free(reference);
}

static void kernels_are_the_plain_loops(void **state) {
  (void)state;
  const size_t widths[] = {1, 3, 17, 64}, rows[] = {1, 2, 7, 8, 33, 70}, outs[] = {1, 2, 5};
  for (size_t w = 0; w < 4; w++)
    for (size_t r = 0; r < 6; r++) {
      const size_t out = outs[(w + r) % 3];
      check_case(make_kernels(rows[r], widths[w], out, HVI_TANH, HVI_SOFTMAX),
                 make_case(rows[r], widths[w], out, HVI_TANH, HVI_SOFTMAX, HVI_PRECISION_REFERENCE),
                 1e-13);
    }
}

static void every_activation_is_the_plain_one(void **state) {
  (void)state;
  for (int s = 0; s < HVI_ACTIVATION_COUNT; s++)
    for (int head = 0; head < HVI_ACTIVATION_COUNT; head++) {
      const hvi_activation a = (hvi_activation)s, b = (hvi_activation)head;
      check_case(make_kernels(9, 17, 3, a, b), make_case(9, 17, 3, a, b, HVI_PRECISION_REFERENCE),
                 1e-13);
      check_case(make_case(9, 17, 3, a, b, HVI_PRECISION_SINGLE),
                 make_case(9, 17, 3, a, b, HVI_PRECISION_REFERENCE), 2e-5);
    }
}

/* In the tails, where 1 - y^2 and y (1 - y) have no digits left, steps divide by the slopes. */
static void slopes_keep_their_digits(void **state) {
  (void)state;
  const hvi_activation kinds[] = {HVI_TANH, HVI_SIGMOID, HVI_CELU};
  for (size_t k = 0; k < 3; k++) {
    hvi_model *a = make_kernels(5, 2, 2, HVI_IDENTITY, kinds[k]);
    hvi_model *b = make_case(5, 2, 2, HVI_IDENTITY, kinds[k], HVI_PRECISION_REFERENCE);
    bench x = bench_new(a, 3), y = bench_new(b, 3);
    use(&x, 5.0), use(&y, 5.0);
    for (size_t i = 0; i < a->out; i++)
      check_near(x.forth[i], y.forth[i], 1e-10 * fabs(y.forth[i]) + 1e-300);
    bench_free(&x), bench_free(&y);
    hvi_model_free(a), hvi_model_free(b);
  }
}

/* The first rows alone, and among others: the same bits. */
static void rows_do_not_know_each_other(void **state) {
  (void)state;
  for (int single = 0; single < 2; single++) {
    const hvi_precision p = single ? HVI_PRECISION_SINGLE : HVI_PRECISION_DOUBLE;
    hvi_model *all = make_case(70, 64, 4, HVI_TANH, HVI_SOFTMAX, p);
    bench a = bench_new(all, 1);
    use(&a, 0.4);
    for (size_t rows = 1; rows < 70; rows += rows < 12 ? 1 : 13) {
      hvi_model *few = make_case(rows, 64, 4, HVI_TANH, HVI_SOFTMAX, p);
      assert_non_null(few->ops->outer_gram);
      bench b = bench_new(few, 1);
      memcpy(b.v, a.v, few->dim * sizeof *b.v);
      use(&b, 0.4);
      check_same_bits(b.z, a.z, few->out);
      check_same_bits(b.forth, a.forth, few->out);
      bench_free(&b);
      hvi_model_free(few);
    }
    bench_free(&a);
    hvi_model_free(all);
  }
}

static void precision_can_be_changed(void **state) {
  (void)state;
  hvi_model *players[3], *m;
  hvi_error err;
  const double one = 1.0;
  players[0] = make_case(9, 17, 3, HVI_TANH, HVI_SOFTMAX, HVI_PRECISION_DOUBLE);
  check_ok(hvi_affine_new(&players[1], 1, 1, &one, NULL, &err), &err);
  players[2] = make_case(2, 3, 2, HVI_CELU, HVI_IDENTITY, HVI_PRECISION_DOUBLE);
  check_ok(hvi_players_new(&m, 3, players, &err), &err);
  assert_true(m->noise == 0.0);
  bench before = bench_new(m, 1);
  use(&before, 0.4);
  size_t changed = 0;
  check_ok(hvi_model_set_precision(m, HVI_PRECISION_SINGLE, &changed, &err), &err);
  assert_int_equal(changed, 2);
  assert_true(m->noise == FLT_EPSILON);
  assert_int_equal(m->dim, before.m->dim);
  bench single = bench_new(m, 1);
  use(&single, 0.4);
  check_relative(single.z, before.z, m->out, 1e-5);
  check_relative(single.back, before.back, m->dim, 1e-5);
  assert_true(memcmp(single.z, before.z, m->out * sizeof *before.z) != 0);
  check_ok(hvi_model_set_precision(m, HVI_PRECISION_DOUBLE, NULL, &err), &err);
  assert_true(m->noise == 0.0);
  bench after = bench_new(m, 1);
  use(&after, 0.4);
  check_same_bits(after.z, before.z, m->out);
  check_same_bits(after.back, before.back, m->dim);
  check_error(hvi_model_set_precision(m, (hvi_precision)9, NULL, &err), HVI_ERROR_ARGUMENT, &err,
              "unknown precision 9");
  check_error(hvi_model_set_precision(NULL, HVI_PRECISION_SINGLE, NULL, &err), HVI_ERROR_ARGUMENT,
              &err, "null");
  bench_free(&before), bench_free(&single), bench_free(&after);
  hvi_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_are_the_plain_loops),
      cmocka_unit_test(every_activation_is_the_plain_one),
      cmocka_unit_test(slopes_keep_their_digits),
      cmocka_unit_test(rows_do_not_know_each_other),
      cmocka_unit_test(precision_can_be_changed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
