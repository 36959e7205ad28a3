/* Networks on an emulated device: what members compute against networks of doubles here, descents
 * against the optimizers, many threads against one alone, a device that is lost, and one that is too small
 * for all. */
#include "support/emulated_device.h"
#include "support/networks.h"

#include "base/memory.h"
#include "inner/optimizers.h"
#include "model/mlp.h"
#include "surrogate/surrogate.h"

#include <pthread.h>

/* clang-format off */
static const network_case cases[] = {
  {"linear", 3, 1, {1}, HVI_IDENTITY, HVI_IDENTITY, 4},
  {"relu", 5, 3, {17, 9, 1}, HVI_RELU, HVI_IDENTITY, 33},
  {"leaky relu", 8, 3, {16, 8, 1}, HVI_LEAKY_RELU, HVI_IDENTITY, 40},
  {"tanh", 4, 3, {20, 31, 1}, HVI_TANH, HVI_IDENTITY, 300},
  {"sigmoid", 9, 2, {10, 1}, HVI_SIGMOID, HVI_IDENTITY, 1},
  {"celu", 6, 4, {3, 11, 24, 1}, HVI_CELU, HVI_IDENTITY, 17},
  {"softplus", 2, 2, {12, 1}, HVI_SOFTPLUS, HVI_IDENTITY, 21},
};
/* clang-format on */
enum { CASES = sizeof cases / sizeof *cases };

static hvi_gang *open_gang(emulation e) {
  hvi_gang *g = NULL;
  hvi_error err;
  emulated = e;
  check_ok(hvi_gang_open_with(&g, emulated_device(), HVI_DEVICE_FP32, &err), &err);
  assert_string_equal(hvi_gang_about(g)->name, "emulated");
  return g;
}

static hvi_model *join(hvi_gang *g, const network_case *c) {
  hvi_model *m = make_network(c, 1, true);
  hvi_error err;
  assert_true(hvi_gang_fits(hvi_mlp_of(m)->net));
  check_ok(hvi_mlp_join(m, g, &err), &err);
  return m;
}

static void products_are_those_of_doubles(void **state) {
  (void)state;
  hvi_gang *g = open_gang((emulation){0});
  for (size_t k = 0; k < CASES; k++) {
    hvi_model *models[] = {make_reference(&cases[k]), join(g, &cases[k])};
    desk a = desk_new(models[0]), b = desk_new(models[1]);
    const size_t d = a.m->dim, n = a.m->out;
    assert_int_equal(d, b.m->dim);
    fill_parameters(b.m, b.theta, k);
    memcpy(a.theta, b.theta, d * sizeof *a.theta);
    fill_normal(b.u, n, 1), fill_normal(b.v, d, 2);
    hvi_mlp_rescale(models[1], 0.5, -2.0);
    a.m->ops->eval(a.m, a.cache, a.theta, a.z);
    a.m->ops->vjp(a.m, a.cache, a.theta, b.u, a.back);
    a.m->ops->jvp(a.m, a.cache, a.theta, b.v, a.forth);
    for (size_t i = 0; i < n; i++) a.z[i] = 0.5 - 2.0 * a.z[i], a.forth[i] *= -2.0;
    for (size_t i = 0; i < d; i++) a.back[i] *= -2.0;
    for (int again = 0; again < 2; again++) {
      b.m->ops->eval(b.m, b.cache, b.theta, b.z);
      b.m->ops->vjp(b.m, b.cache, b.theta, b.u, b.back);
      b.m->ops->jvp(b.m, b.cache, b.theta, b.v, b.forth);
      check_relative(b.z, a.z, n, 1e-6);
      check_relative(b.back, a.back, d, 1e-6);
      check_relative(b.forth, a.forth, n, 1e-6);
    }
    assert_true(hvi_member_seconds(hvi_mlp_member(b.m)) > 5.9e-6 &&
                hvi_member_seconds(hvi_mlp_member(b.m)) < 6.1e-6);
    for (int i = 0; i < 2; i++) hvi_model_free(models[i]);
    free(a.memory), free(b.memory);
  }
  double busy, idle;
  hvi_gang_seconds(g, &busy, &idle);
  assert_true(busy > 0.0 && idle > 0.0);
  hvi_gang_close(g);
  assert_int_equal(emulated.sent, CASES);    /* once each: theta did not change, */
  assert_int_equal(emulated.brought, CASES); /* nor did the inputs */
}

/* A surrogate with targets, and weights of which some are zero. */
typedef struct bench {
  hvi_model *m;
  hvi_surrogate l;
  hvi_counts counts;
  double *memory, *weights, *state;
} bench;

static void bench_open(bench *b, hvi_model *m, const double *theta, bool linear) {
  hvi_arena arena = {0};
  *b = (bench){.m = m, .weights = malloc(m->out * sizeof(double))};
  for (size_t i = 0; i < m->out; i++)
    b->weights[i] = linear && i % 3 == 1 ? 0.0 : 1.0 / (double)m->out;
  hvi_surrogate_place(&b->l, m, b->weights, &b->counts, &arena);
  b->memory = calloc(arena.used, sizeof *b->memory);
  arena = (hvi_arena){.base = b->memory, .size = arena.used};
  hvi_surrogate_place(&b->l, m, b->weights, &b->counts, &arena);
  b->state = calloc(2 + 2 * m->dim, sizeof *b->state);
  fill_normal(b->l.target, m->out, 3);
  for (size_t i = 0; b->l.linear && i < m->out; i++)
    b->l.linear[i] = b->weights[i] > 0.0 ? 0.0 : 0.02;
  hvi_surrogate_start(&b->l, theta, NULL);
  hvi_surrogate_freeze(&b->l);
}

static void bench_close(bench *b) {
  hvi_model_free(b->m);
  free(b->memory), free(b->weights), free(b->state);
}

typedef struct inner_loop {
  const hvi_optimizer *optimizer;
  size_t most, at_least;
  double share, factor; /* goal / loss0, 0: none; of the rate */
} inner_loop;

/* The steps here, one by one; returns their number, and the least loss. */
static size_t descend_here(bench *b, const inner_loop *t, hvi_optimizer_settings s, double *least) {
  size_t steps = 0;
  *least = INFINITY;
  if (t->optimizer->reset) t->optimizer->reset(&s, b->m, b->state);
  while (steps < t->most &&
         (t->share == 0.0 || steps < t->at_least || b->l.now->loss > t->share * b->l.loss0)) {
    assert_true(t->optimizer->step(&s, b->state, &b->l));
    *least = fmin(*least, b->l.now->loss);
    s.lr *= t->factor;
    steps++;
  }
  return steps;
}

static void check_descent(hvi_gang *g, const network_case *c, const inner_loop *t, bool linear) {
  bench here, there;
  hvi_model *on_device = join(g, c);
  double *theta = calloc(on_device->dim, sizeof *theta), least;
  fill_parameters(on_device, theta, 9);
  bench_open(&here, make_reference(c), theta, linear);
  bench_open(&there, on_device, theta, linear);
  hvi_optimizer_settings s = hvi_optimizer_defaults();
  s.lr = 0.01;
  hvi_device_descent d;
  assert_true(hvi_optimizer_descent(&d, t->optimizer, &s));
  d.forget = d.least_wanted = true;
  d.most = t->most;
  d.at_least = t->at_least;
  d.lr_factor = t->factor;
  if (t->share > 0.0) d.goal = t->share * here.l.loss0;
  hvi_surrogate_descend(&there.l, &d);
  const size_t steps = descend_here(&here, t, s, &least);
  assert_int_equal(d.steps, steps);
  assert_int_equal(there.counts.grad_evals, here.counts.grad_evals);
  assert_int_equal(there.counts.model_passes, here.counts.model_passes);
  check_relative(there.l.now->theta, here.l.now->theta, here.m->dim, 1e-5);
  check_relative(there.l.now->z, here.l.now->z, here.m->out, 1e-5);
  check_relative(there.l.now->residual, here.l.now->residual, here.m->out, 1e-5);
  check_relative(&there.l.now->loss, &here.l.now->loss, 1, 1e-5);
  check_relative(&d.loss, &here.l.now->loss, 1, 1e-5);
  if (steps > 0) check_relative(&d.least, &least, 1, 1e-5);
  bench_close(&here), bench_close(&there);
  free(theta);
}

static void descents_are_those_of_the_optimizers(void **state) {
  (void)state;
  const inner_loop loops[] = {
      {&hvi_optimizer_gd, 25, 0, 0.0, 1.0},     {&hvi_optimizer_momentum, 25, 0, 0.0, 1.0},
      {&hvi_optimizer_adam, 10, 0, 0.0, 1.0},   {&hvi_optimizer_adamw, 25, 0, 0.0, 1.0},
      {&hvi_optimizer_adamw, 1, 0, 0.0, 1.0},   {&hvi_optimizer_adamw, 30, 0, 0.0, 0.9},
      {&hvi_optimizer_adamw, 200, 0, 0.8, 1.0}, {&hvi_optimizer_adamw, 200, 0, 2.0, 1.0},
      {&hvi_optimizer_adamw, 200, 1, 2.0, 1.0}, {&hvi_optimizer_gd, 0, 0, 0.0, 1.0},
  };
  hvi_gang *g = open_gang((emulation){0});
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    check_descent(g, &cases[3], &loops[i], false);
    check_descent(g, &cases[5], &loops[i], false);
    if (loops[i].share == 0.0) check_descent(g, &cases[3], &loops[i], true);
  }
  hvi_optimizer_settings s = hvi_optimizer_defaults();
  hvi_device_descent d;
  assert_false(hvi_optimizer_descent(&d, &hvi_optimizer_lm, &s));
  assert_false(hvi_optimizer_descent(&d, NULL, &s));
  hvi_gang_close(g);
}

/* What one thread does with its network, and what comes of it. */
typedef struct learner {
  hvi_model *m;
  size_t index, rounds;
  double *results;
  size_t count;
  double seconds;
} learner;

static void keep(learner *a, const double *x, size_t n) {
  a->results = realloc(a->results, (a->count + n) * sizeof *x);
  assert_non_null(a->results);
  memcpy(a->results + a->count, x, n * sizeof *x);
  a->count += n;
}

/* More rows than a batch has, as a test set: they are gathered in place. */
enum { MANY_ROWS = 4 };
static void look_at_many(learner *a, const double *theta) {
  hvi_member *member = hvi_mlp_member(a->m);
  const size_t in = hvi_mlp_of(a->m)->net->in, rows = MANY_ROWS * a->m->out;
  double *y = calloc(rows, sizeof *y);
  size_t row;
  float *x = hvi_member_inputs(member, HVI_DEVICE_OWN, rows, &row);
  for (size_t i = 0; x && i < rows * in; i++)
    x[i / in * row + i % in] = 0.01F * (float)((i * 37 + a->index) % 200);
  hvi_member_eval(member, theta, &(hvi_inputs){.rows = rows}, y);
  keep(a, y, rows);
  free(y);
}

static void *learn(void *context) {
  learner *a = context;
  hvi_model *m = a->m;
  double *theta = calloc(m->dim, sizeof *theta), *v = calloc(2 * m->dim, sizeof *v), power[2];
  fill_parameters(m, theta, a->index);
  bench b;
  bench_open(&b, m, theta, false);
  hvi_optimizer_settings s = hvi_optimizer_defaults();
  for (size_t round = 0; round < a->rounds; round++) {
    hvi_device_descent d;
    hvi_optimizer_descent(&d, &hvi_optimizer_adamw, &s);
    d.most = (a->index * 7 + round * 5) % 40;
    hvi_surrogate_descend(&b.l, &d);
    keep(a, b.l.now->z, m->out);
    keep(a, hvi_surrogate_gradient(&b.l), m->dim);
    m->ops->jvp(m, b.l.now->cache, b.l.now->theta, b.l.gradient, b.l.weighted);
    keep(a, b.l.weighted, m->out);
    if (round % 4 == a->index % 4) look_at_many(a, b.l.now->theta);
  }
  hvi_member_move_state(hvi_mlp_member(m), power, v, v + m->dim, false);
  keep(a, power, 2);
  keep(a, v, 2 * m->dim);
  keep(a, b.l.now->theta, m->dim);
  a->seconds = hvi_member_seconds(hvi_mlp_member(m));
  bench_close(&b);
  free(theta), free(v);
  return NULL;
}

enum { THREADS = 24, ROUNDS = 12 };

/* Learners of two shapes, each in a thread of its own. */
static void learn_together(learner *many, hvi_gang *g) {
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    many[i] = (learner){join(g, &cases[i % 2 ? 1 : 5]), .index = i, .rounds = ROUNDS};
  for (size_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, learn, &many[i]), 0);
  for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* Frees what they have learned. */
static void check_against_alone(learner *many) {
  for (size_t i = 0; i < THREADS; i++) {
    hvi_gang *g = open_gang((emulation){0});
    learner alone = {join(g, &cases[i % 2 ? 1 : 5]), .index = i, .rounds = ROUNDS};
    learn(&alone);
    hvi_gang_close(g);
    assert_int_equal(emulated.most_jobs, 1);
    assert_int_equal(many[i].count, alone.count);
    check_same_bits(many[i].results, alone.results, alone.count);
    check_near(many[i].seconds, alone.seconds, 1e-9);
    free(many[i].results), free(alone.results);
  }
}

static void many_threads_compute_what_one_does_alone(void **state) {
  (void)state;
  learner many[THREADS] = {{0}};
  hvi_gang *g = open_gang((emulation){0});
  learn_together(many, g);
  hvi_gang_close(g);
  assert_true(emulated.most_jobs > 1 && emulated.joined > 0 && emulated.most_nets == THREADS);
  check_against_alone(many);
}

/* Bytes that one learner needs at most. */
static size_t bytes_of(const network_case *c) {
  hvi_device_shape s = {.layer_count = c->layer_count, .width = {c->in}};
  memcpy(s.width + 1, c->widths, c->layer_count * sizeof *s.width);
  const size_t rows = MANY_ROWS * c->rows;
  return emulated_net_bytes(&s) + emulated_row_bytes(&s, rows) + emulated_step_bytes(&s, rows);
}

static size_t bytes_of_one(void) {
  const size_t a = bytes_of(&cases[1]), b = bytes_of(&cases[5]);
  return a > b ? a : b;
}

/* From room for one alone to room for nearly all: the same bits, in turns. */
static void members_take_turns_where_memory_is_short(void **state) {
  (void)state;
  const double shares[] = {1.0, 1.2, 1.5, 2.0, 3.0, 4.5};
  for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
    learner many[THREADS] = {{0}};
    hvi_error err;
    const size_t memory = (size_t)(shares[k] * (double)bytes_of_one());
    hvi_gang *g = open_gang((emulation){.memory = memory});
    learn_together(many, g);
    check_ok(hvi_gang_failure(g, &err), &err);
    hvi_gang_close(g);
    assert_true(emulated.refused > 0);
    assert_true(emulated.most_jobs > 1 || shares[k] < 1.5); /* together where there is room */
    check_against_alone(many);
  }
}

/* What does not fit alone is told, and lets all go: the network itself, its rows, values of a step. */
static void what_does_not_fit_alone_is_a_failure(void **state) {
  (void)state;
  const network_case *c = &cases[5];
  hvi_error err;
  hvi_member *none;
  hvi_model *m = make_network(c, 1, true);
  hvi_gang *g = open_gang((emulation){.memory = 100});
  check_error(hvi_member_new(&none, g, hvi_mlp_of(m)->net, &err), HVI_ERROR_MEMORY, &err,
              "the emulated device has no memory for a network, with no other network there");
  check_error(hvi_gang_failure(g, &err), HVI_ERROR_MEMORY, &err, "with no other network there");
  hvi_gang_close(g);
  hvi_model_free(m);
  for (size_t less = 1; less < bytes_of_one() / 2; less += bytes_of_one() / 5) {
    learner many[THREADS] = {{0}};
    g = open_gang((emulation){.memory = bytes_of_one() - less});
    learn_together(many, g);
    check_error(hvi_gang_failure(g, &err), HVI_ERROR_MEMORY, &err, "with no other network there");
    hvi_gang_close(g);
    for (size_t i = 0; i < THREADS; i++) free(many[i].results);
  }
}

/* Wherever it is lost while members come and go. */
static void a_small_device_is_lost(void **state) {
  (void)state;
  for (size_t at = 150; at < 900; at += 95) { /* 24 have joined by then */
    learner many[THREADS] = {{0}};
    hvi_error err;
    hvi_gang *g = open_gang((emulation){.memory = 2 * bytes_of_one(), .fail_call = at});
    learn_together(many, g);
    check_error(hvi_gang_failure(g, &err), HVI_ERROR_IO, &err, "lost");
    hvi_gang_close(g);
    for (size_t i = 0; i < THREADS; i++) free(many[i].results);
  }
}

/* 20 steps are 13 and 7, and the 7 may be another network's that was given the state. */
static void the_state_moves_with_a_network(void **state) {
  (void)state;
  const hvi_optimizer *const optimizers[] = {&hvi_optimizer_adamw, &hvi_optimizer_momentum};
  hvi_gang *g = open_gang((emulation){0});
  for (size_t k = 0; k < 2; k++) {
    bench whole, first, second;
    hvi_model *m = join(g, &cases[1]);
    double *theta = calloc(m->dim, sizeof *theta), *v = calloc(2 * m->dim, sizeof *v), power[2];
    fill_parameters(m, theta, 4);
    bench_open(&whole, m, theta, false);
    bench_open(&first, join(g, &cases[1]), theta, false);
    hvi_optimizer_settings s = hvi_optimizer_defaults();
    hvi_device_descent d;
    hvi_optimizer_descent(&d, optimizers[k], &s);
    d.most = 20;
    hvi_surrogate_descend(&whole.l, &d);
    d.most = 13;
    hvi_surrogate_descend(&first.l, &d);
    assert_int_equal(d.steps, 13);
    double *two = k == 0 ? v + m->dim : NULL;
    hvi_member_move_state(hvi_mlp_member(first.m), k == 0 ? power : NULL, v, two, false);
    bench_open(&second, join(g, &cases[1]), first.l.now->theta, false);
    hvi_member_move_state(hvi_mlp_member(second.m), k == 0 ? power : NULL, v, two, true);
    d.most = 7;
    hvi_surrogate_descend(&second.l, &d);
    assert_memory_equal(second.l.now->theta, whole.l.now->theta, m->dim * sizeof *theta);
    d.forget = true;
    hvi_surrogate_descend(&first.l, &d); /* which matters */
    assert_memory_not_equal(first.l.now->theta, whole.l.now->theta, m->dim * sizeof *theta);
    bench_close(&whole), bench_close(&first), bench_close(&second);
    free(theta), free(v);
  }
  hvi_gang_close(g);
}

static void check_nan(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) assert_true(isnan(x[i]));
}

static void a_lost_device_gives_nothing(void **state) {
  (void)state;
  hvi_error err;
  hvi_gang *g = open_gang((emulation){.fail_at = 4});
  hvi_model *m = join(g, &cases[1]);
  desk b = desk_new(m);
  double *before = calloc(m->dim, sizeof *before);
  fill_parameters(m, b.theta, 1);
  bench l;
  bench_open(&l, m, b.theta, false);
  m->ops->eval(m, b.cache, b.theta, b.z);
  hvi_device_descent d;
  const hvi_optimizer_settings s = hvi_optimizer_defaults();
  hvi_optimizer_descent(&d, &hvi_optimizer_adamw, &s);
  d.most = 100; /* the second piece of it fails */
  memcpy(before, b.theta, m->dim * sizeof *before);
  check_ok(hvi_gang_failure(g, &err), &err);
  hvi_surrogate_descend(&l.l, &d);
  check_error(hvi_gang_failure(g, &err), HVI_ERROR_IO, &err, "the emulated device is lost");
  assert_memory_equal(l.l.now->theta, before, m->dim * sizeof *before);
  check_nan(l.l.now->z, m->out);
  assert_true(isnan(d.loss) && isnan(d.least) && d.steps == 0);
  m->ops->eval(m, b.cache, b.theta, b.z);
  m->ops->vjp(m, b.cache, b.theta, b.u, b.back);
  m->ops->jvp(m, b.cache, b.theta, b.v, b.forth);
  check_nan(b.z, m->out), check_nan(b.back, m->dim), check_nan(b.forth, m->out);
  hvi_member_move_state(hvi_mlp_member(m), NULL, b.v, NULL, false);
  for (size_t i = 0; i < m->dim; i++) assert_true(b.v[i] == 0.0); /* as it was */
  hvi_member_move_state(hvi_mlp_member(m), NULL, before, NULL, true);
  size_t row;
  assert_null(hvi_member_inputs(hvi_mlp_member(m), HVI_DEVICE_OWN, 100000, &row));
  hvi_member *other;
  check_error(hvi_member_new(&other, g, hvi_mlp_of(m)->net, &err), HVI_ERROR_IO, &err, "lost");
  bench_close(&l);
  hvi_gang_close(g);
  free(before), free(b.memory);
}

/* A device that is lost while many wait for it. */
static void a_lost_device_lets_all_go(void **state) {
  (void)state;
  learner many[THREADS] = {{0}};
  hvi_error err;
  hvi_gang *g = open_gang((emulation){.fail_at = 40});
  learn_together(many, g);
  check_error(hvi_gang_failure(g, &err), HVI_ERROR_IO, &err, "lost");
  hvi_gang_close(g);
  for (size_t i = 0; i < THREADS; i++) free(many[i].results);
}

static void not_every_network_fits(void **state) {
  (void)state;
  static const struct {
    network_case c;
    bool fits;
  } some[] = {{{"two outputs", 3, 2, {5, 2}, HVI_RELU, HVI_IDENTITY, 4}, false},
              {{"gelu", 3, 2, {5, 1}, HVI_GELU, HVI_IDENTITY, 4}, false},
              {{"tanh head", 3, 2, {5, 1}, HVI_RELU, HVI_TANH, 4}, false},
              {{"relu", 3, 2, {5, 1}, HVI_RELU, HVI_IDENTITY, 4}, true}};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    hvi_model *m = make_network(&some[i].c, 1, true);
    assert_int_equal(hvi_gang_fits(hvi_mlp_of(m)->net), some[i].fits);
    hvi_model_free(m);
  }
  hvi_gang *g = NULL;
  hvi_error err;
  const hvi_status status = hvi_gang_open(&g, HVI_DEVICE_FP16X3, &err);
  if (status) check_error(status, HVI_ERROR_UNSUPPORTED, &err, "");
  hvi_gang_close(g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_those_of_doubles),
      cmocka_unit_test(descents_are_those_of_the_optimizers),
      cmocka_unit_test(many_threads_compute_what_one_does_alone),
      cmocka_unit_test(members_take_turns_where_memory_is_short),
      cmocka_unit_test(what_does_not_fit_alone_is_a_failure),
      cmocka_unit_test(a_small_device_is_lost),
      cmocka_unit_test(the_state_moves_with_a_network),
      cmocka_unit_test(a_lost_device_gives_nothing),
      cmocka_unit_test(a_lost_device_lets_all_go),
      cmocka_unit_test(not_every_network_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
