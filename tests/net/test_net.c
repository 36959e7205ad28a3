/*
 * Passes through a network, with every build of the kernels: outputs, gradients, derivatives by the
 * inputs and tangents against plain loops in double precision; gradients that are added or written;
 * batches, whose slices stand alone.
 */
#include "builds.h"

#include "net/batch.h"

enum { IN = 5, ROWS = 37, X_ROW = 16, LAYERS = 3, MOST = 64 };

static const size_t widths[LAYERS] = {19, 33, 2};

static const hvi_activation kinds[] = {HVI_IDENTITY, HVI_RELU,    HVI_LEAKY_RELU, HVI_TANH,
                                       HVI_CELU,     HVI_SIGMOID, HVI_GELU,       HVI_SOFTPLUS};

typedef struct setup {
  hvi_net *net;
  number *weights, *x, *trace, *deltas;
  number dy[ROWS * 2];
} setup;

static number *normal_numbers(size_t n, uint64_t index, double sd) {
  number *x = calloc(n + HVI_NET_SLACK, sizeof *x);
  assert_non_null(x);
  hvi_rng rng = hvi_rng_new(9, "net", index);
  for (size_t i = 0; i < n; i++) x[i] = (number)(sd * hvi_rng_normal(&rng));
  return x;
}

static setup set_up(hvi_activation hidden, hvi_activation head, const hvi_net_kernels *kernels) {
  const hvi_net_spec spec = {
      .in = IN, .layer_count = LAYERS, .widths = widths, .hidden = hidden, .head = head};
  setup s = {0};
  hvi_error err;
  check_ok(hvi_net_new(&s.net, &spec, &err), &err);
  s.net->kernels = kernels;
  s.weights = normal_numbers(s.net->weights, 1, 0.4);
  s.x = normal_numbers(ROWS * X_ROW, 2, 1.0);
  s.trace = normal_numbers(hvi_net_trace(s.net, ROWS), 3, 1.0);
  s.deltas = normal_numbers(hvi_net_trace(s.net, ROWS), 4, 1.0);
  number *dy = normal_numbers(ROWS * 2, 5, 1.0);
  memcpy(s.dy, dy, sizeof s.dy);
  free(dy);
  hvi_net_prepare(s.net, s.weights);
  hvi_net_forward(s.net, s.weights, ROWS, s.x, X_ROW, s.trace);
  return s;
}

static void tear_down(setup *s) {
  free(s->weights), free(s->x), free(s->trace), free(s->deltas);
  hvi_net_free(s->net);
}

/* Outputs of one row for parameters p and inputs x, by plain loops. */
static void plain(double *out, const hvi_net *net, const double *p, const double *x) {
  double y[MOST], a[MOST];
  memcpy(y, x, IN * sizeof *x);
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *layer = &net->layers[l];
    double sum = 0.0;
    for (size_t i = 0; i < layer->out; i++)
      a[i] = p[layer->bias + i] + dot(p + layer->weight + i * layer->in, y, layer->in);
    for (size_t i = 0; i < layer->out; i++) {
      y[i] =
          layer->activation == HVI_SOFTMAX ? exp(a[i]) : (double)activated(layer->activation, a[i]);
      sum += y[i];
    }
    for (size_t i = 0; layer->activation == HVI_SOFTMAX && i < layer->out; i++) y[i] /= sum;
  }
  memcpy(out, y, net->out * sizeof *out);
}

/* sum over rows of <dy, outputs>, where parameters go by s along `dp` and inputs along `dx` */
static double total(const setup *s, double t, const double *dp, const double *dx) {
  double *p = malloc(s->net->dim * sizeof *p), sum = 0.0;
  for (size_t i = 0; i < s->net->dim; i++) p[i] = (double)s->weights[i] + (dp ? t * dp[i] : 0.0);
  for (size_t r = 0; r < ROWS; r++) {
    double x[IN], y[2];
    for (size_t j = 0; j < IN; j++)
      x[j] = (double)s->x[r * X_ROW + j] + (dx ? t * dx[r * IN + j] : 0.0);
    plain(y, s->net, p, x);
    sum += (double)s->dy[2 * r] * y[0] + (double)s->dy[2 * r + 1] * y[1];
  }
  free(p);
  return sum;
}

static double slope(const setup *s, const double *dp, const double *dx) {
  const double h = 1e-6;
  return (total(s, h, dp, dx) - total(s, -h, dp, dx)) / (2.0 * h);
}

static void check_outputs(const setup *s) {
  double *p = malloc(s->net->dim * sizeof *p);
  const number *y = hvi_net_output(s->net, s->trace, ROWS, LAYERS - 1);
  for (size_t i = 0; i < s->net->dim; i++) p[i] = (double)s->weights[i];
  for (size_t r = 0; r < ROWS; r++) {
    double x[IN], expected[2];
    for (size_t j = 0; j < IN; j++) x[j] = (double)s->x[r * X_ROW + j];
    plain(expected, s->net, p, x);
    for (size_t j = 0; j < 2; j++) check_near((double)y[2 * r + j], expected[j], 200.0 * UNIT);
  }
  free(p);
}

static void check_gradients(const setup *s) {
  const size_t d = s->net->dim;
  number *grad = calloc(d, sizeof *grad), dx[ROWS * 3];
  double dp[2048], move[ROWS * IN] = {0}, along = 0.0, by_x = 0.0;
  assert_true(d <= 2048);
  const hvi_net_pull pull = {
      .dy = s->dy, .deltas = s->deltas, .grad = grad, .dx = dx, .dx_first = 1, .dx_count = 3};
  hvi_net_backward(s->net, s->weights, ROWS, s->x, X_ROW, s->trace, &pull);
  fill_normal(dp, d, 6);
  for (size_t i = 0; i < d; i++) along += (double)grad[i] * dp[i];
  check_near(along, slope(s, dp, NULL), (1e-7 + 4e3 * UNIT) * (1.0 + fabs(along)));
  fill_normal(dp, ROWS * 3, 7);
  for (size_t r = 0; r < ROWS; r++) {
    for (size_t j = 0; j < 3; j++) {
      move[r * IN + 1 + j] = dp[3 * r + j];
      by_x += dp[3 * r + j] * (double)dx[3 * r + j];
    }
  }
  check_near(by_x, slope(s, NULL, move), (1e-7 + 4e3 * UNIT) * (1.0 + fabs(by_x)));
  free(grad);
}

static void check_tangent(const setup *s) {
  const size_t d = s->net->dim;
  number *direction = normal_numbers(s->net->weights, 8, 1.0);
  double dp[2048], along = 0.0;
  for (size_t i = 0; i < d; i++) dp[i] = (double)direction[i];
  hvi_net_prepare(s->net, direction);
  hvi_net_tangent(s->net, s->weights, ROWS, s->x, X_ROW, s->trace, direction, s->deltas);
  const number *t = hvi_net_output(s->net, s->deltas, ROWS, LAYERS - 1);
  for (size_t i = 0; i < ROWS * 2; i++) along += (double)t[i] * (double)s->dy[i];
  check_near(along, slope(s, dp, NULL), (1e-7 + 4e3 * UNIT) * (1.0 + fabs(along)));
  free(direction);
}

static void for_every_build(void (*check)(const setup *s)) {
  const hvi_net_kernels *const *builds = KERNEL_LIST();
  for (size_t b = 0; builds[b]; b++) {
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      setup s = set_up(kinds[k], HVI_IDENTITY, builds[b]);
      check(&s);
      tear_down(&s);
      s = set_up(HVI_TANH, k == 0 ? HVI_SOFTMAX : kinds[k], builds[b]);
      check(&s);
      tear_down(&s);
    }
  }
}

static void outputs_match_plain_loops(void **state) {
  (void)state;
  for_every_build(check_outputs);
}

static void gradients_match_differences(void **state) {
  (void)state;
  for_every_build(check_gradients);
}

static void tangents_match_differences(void **state) {
  (void)state;
  for_every_build(check_tangent);
}

/* Added to zeros, written over anything, and added to itself. */
static void gradients_are_added_or_written(void **state) {
  (void)state;
  setup s = set_up(HVI_TANH, HVI_IDENTITY, KERNEL_LIST()[0]);
  const size_t d = s.net->dim;
  number *added = calloc(d, sizeof *added), *written = normal_numbers(d, 11, 1.0);
  hvi_net_pull pull = {.dy = s.dy, .deltas = s.deltas, .grad = added};
  hvi_net_backward(s.net, s.weights, ROWS, s.x, X_ROW, s.trace, &pull);
  pull.grad = written;
  pull.fresh = true;
  hvi_net_backward(s.net, s.weights, ROWS, s.x, X_ROW, s.trace, &pull);
  for (size_t i = 0; i < d; i++) assert_true(added[i] == written[i]);
  pull.fresh = false;
  hvi_net_backward(s.net, s.weights, ROWS, s.x, X_ROW, s.trace, &pull);
  for (size_t i = 0; i < d; i++) assert_true(written[i] == 2 * added[i]);
  free(added), free(written);
  tear_down(&s);
}

/* A batch of two slices is its slices: outputs row by row, and the sum of their gradients. */
static void a_batch_is_its_slices(void **state) {
  (void)state;
  enum { MANY = HVI_NET_ROWS + ROWS };
  setup s = set_up(HVI_GELU, HVI_IDENTITY, KERNEL_LIST()[0]);
  const size_t d = s.net->dim;
  number *x = normal_numbers(MANY * X_ROW, 12, 1.0),
         *trace = normal_numbers(hvi_batch_trace(s.net, MANY), 0, 0.0);
  number *scratch = normal_numbers(hvi_batch_scratch(s.net, MANY, 2), 0, 0.0);
  number *grad = normal_numbers(d, 13, 1.0), *parts = calloc(d, sizeof *parts);
  double y[MANY * 2], u[MANY * 2];
  memcpy(x + HVI_NET_ROWS * X_ROW, s.x, ROWS * X_ROW * sizeof *x);
  fill_normal(u, MANY * 2, 14);
  for (size_t i = 0; i < ROWS * 2; i++) u[HVI_NET_ROWS * 2 + i] = (double)s.dy[i];
  const hvi_batch b = {.net = s.net,
                       .weights = s.weights,
                       .rows = MANY,
                       .x = x,
                       .x_row = X_ROW,
                       .threads = 2,
                       .trace = trace,
                       .scratch = scratch};
  hvi_batch_forward(&b, y);
  const number *last = hvi_net_output(s.net, s.trace, ROWS, LAYERS - 1);
  for (size_t i = 0; i < ROWS * 2; i++) assert_true(y[HVI_NET_ROWS * 2 + i] == (double)last[i]);
  hvi_batch_backward(&b, u, grad);
  const hvi_batch first = {.net = s.net,
                           .weights = s.weights,
                           .rows = HVI_NET_ROWS,
                           .x = x,
                           .x_row = X_ROW,
                           .threads = 1,
                           .trace = trace,
                           .scratch = scratch};
  hvi_batch_forward(&first, y);
  hvi_batch_backward(&first, u, parts);
  const hvi_net_pull pull = {.dy = s.dy, .deltas = s.deltas, .grad = parts};
  hvi_net_backward(s.net, s.weights, ROWS, s.x, X_ROW, s.trace, &pull);
  for (size_t i = 0; i < d; i++) assert_true(grad[i] == parts[i]);
  free(x), free(trace), free(scratch), free(grad), free(parts);
  tear_down(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(outputs_match_plain_loops),
      cmocka_unit_test(gradients_match_differences),
      cmocka_unit_test(tangents_match_differences),
      cmocka_unit_test(gradients_are_added_or_written),
      cmocka_unit_test(a_batch_is_its_slices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
