#include "check.h"

#include "base/base.h"

#include <stdarg.h>

enum { TOLD = 5 }; /* failures of a group that are printed */

bool check_begin(check *c, const char *group) {
  c->group = group;
  c->count = c->failed = c->left_out = 0;
  c->error = 0.0;
  c->limit = 1.0;
  return !c->options->only || strcmp(c->options->only, group) == 0;
}

void check_end(check *c) {
  printf("%-12s %s %6zu comparisons", c->group, c->failed ? "FAILED" : "ok    ", c->count);
  if (c->error != 0.0) printf(", largest error %.2g of %.2g", c->error, c->limit);
  if (c->left_out) printf(", %zu too close to tell", c->left_out);
  if (c->failed) printf(", %zu failed", c->failed);
  if (!c->count) printf(" (nothing was compared)");
  printf("\n");
  fflush(stdout);
  c->groups_failed += c->failed > 0 || c->count == 0;
}

static void fail_with(check *c, const char *format, va_list list) {
  if (c->failed++ >= TOLD) return;
  printf("  %s: ", c->group);
  vprintf(format, list);
  printf("\n");
}

void check_that(check *c, bool good, const char *format, ...) {
  va_list list;
  va_start(list, format);
  c->count++;
  if (!good) fail_with(c, format, list);
  va_end(list);
}

void check_error(check *c, double error, double limit, const char *format, ...) {
  va_list list;
  va_start(list, format);
  c->count++;
  const bool good = error <= limit; /* a NaN is not */
  if (!isnan(c->error) && !(error / limit <= c->error / c->limit))
    c->error = error, c->limit = limit;
  if (!good) fail_with(c, format, list);
  va_end(list);
}

bool check_call(check *c, hvi_status status, const hvi_error *err) {
  if (status) check_that(c, false, "%s", err->text);
  return !status;
}

size_t check_pick(check *c, size_t low, size_t high) {
  return low + hvi_rng_u64(&c->rng) % (high - low + 1);
}

static const hvi_activation activations[] = {HVI_RELU,    HVI_TANH,     HVI_CELU,    HVI_LEAKY_RELU,
                                             HVI_SIGMOID, HVI_SOFTPLUS, HVI_IDENTITY};
const size_t check_activation_count = sizeof activations / sizeof *activations;
hvi_activation check_activation(size_t i) { return activations[i % check_activation_count]; }

hvi_device_shape check_shape(check *c, size_t layers, size_t widest, hvi_activation activation) {
  hvi_device_shape s = {.layer_count = layers, .activation = activation};
  for (size_t l = 0; l < layers; l++) s.width[l] = check_pick(c, 1, widest);
  s.width[layers] = 1;
  return s;
}

/* Weights that keep the size of what passes through; padding stays zero. */
static void fill_theta(check *c, const hvi_device_shape *s, float *theta, double size) {
  for (size_t l = 0; l < s->layer_count; l++) {
    const size_t in = s->width[l], row = hvi_device_padded(in);
    const double sd = size * sqrt((s->activation == HVI_SIGMOID ? 8.0 : 2.0) / (double)in);
    float *w = theta + hvi_device_weight(s, l), *b = theta + hvi_device_bias(s, l);
    for (size_t o = 0; o < s->width[l + 1]; o++) {
      for (size_t i = 0; i < in; i++) w[o * row + i] = (float)(sd * hvi_rng_normal(&c->rng));
      b[o] = (float)(0.2 * size * hvi_rng_normal(&c->rng));
    }
  }
}

bool check_has_kink(hvi_activation a) { return a == HVI_RELU || a == HVI_LEAKY_RELU; }

/* Inputs; where units have a kink, rows that come too near to one are drawn again: there the gradient
 * is one of two that differ by more than rounding. */
static void fill_rows(check *c, const learner *l, reference *r, const double *theta, size_t first) {
  const double near = c->options->precision == HVI_DEVICE_FP16 ? 2e-3 : 1e-5;
  const size_t in = l->shape->width[0], row = hvi_device_padded(in);
  const size_t left = l->rows - first, count = left < REFERENCE_LANES ? left : REFERENCE_LANES;
  float *x = l->x + first * row;
  double margin[REFERENCE_LANES] = {0};
  for (int tries = 0; tries < 20; tries++) {
    bool good = true;
    for (size_t i = 0; i < count; i++) {
      if (margin[i] > near) continue;
      good = false;
      for (size_t j = 0; j < in; j++) x[i * row + j] = (float)hvi_rng_normal(&c->rng);
    }
    if (good || !check_has_kink(l->shape->activation)) return;
    reference_margin(r, theta, count, x, margin);
  }
}

static bool fill_x(check *c, const learner *l) {
  double *theta = widen(l->theta, l->numbers);
  reference r;
  if (!theta || !reference_new(&r, l->shape)) return hvi_free(theta), false;
  for (size_t i = 0; i < l->rows; i += REFERENCE_LANES) fill_rows(c, l, &r, theta, i);
  reference_free(&r);
  hvi_free(theta);
  return true;
}

static bool fill(check *c, learner *l) {
  fill_theta(c, l->shape, l->theta, 1.0);
  fill_theta(c, l->shape, l->v, 0.5);
  for (size_t i = 0; i < l->rows; i++) {
    l->u[i] = hvi_rng_normal(&c->rng);
    l->target[i] = hvi_rng_normal(&c->rng);
    l->weight[i] = hvi_rng_range(&c->rng, 0.5, 1.5) / (double)l->rows;
    l->linear[i] = 0.1 * hvi_rng_normal(&c->rng) / (double)l->rows;
  }
  return fill_x(c, l);
}

bool learner_new(check *c, learner *l, const hvi_device_shape *shape, size_t rows) {
  const size_t n = hvi_device_numbers(shape), row = hvi_device_padded(shape->width[0]);
  hvi_error err;
  *l = (learner){.shape = shape, .rows = rows, .numbers = n};
  const size_t even = rows + rows % 2; /* arrays begin at multiples of 16 bytes */
  l->x = c->f->host_alloc(rows * row * sizeof *l->x);
  l->theta = c->f->host_alloc((3 * n + rows) * sizeof *l->theta);
  l->u = c->f->host_alloc(4 * even * sizeof *l->u);
  const bool room = l->x && l->theta && l->u;
  if (room) {
    memset(l->x, 0, rows * row * sizeof *l->x);
    memset(l->theta, 0, 3 * n * sizeof *l->theta);
    l->v = l->theta + n;
    l->result = l->v + n;
    l->y = l->result + n;
    l->target = l->u + even;
    l->weight = l->target + even;
    l->linear = l->weight + even;
  }
  if (room && fill(c, l) && check_call(c, c->f->net_new(&l->net, c->device, shape, &err), &err))
    return true;
  if (!room) check_that(c, false, "the host is out of memory");
  learner_free(c, l);
  return false;
}

void learner_free(check *c, learner *l) {
  if (l->net) c->f->net_free(l->net);
  if (l->x) c->f->host_free(l->x);
  if (l->theta) c->f->host_free(l->theta);
  if (l->u) c->f->host_free(l->u);
  *l = (learner){0};
}

learner *learners_new(check *c, size_t count, const hvi_device_shape *shape, size_t most_rows) {
  learner *all = hvi_alloc(count, sizeof *all);
  for (size_t i = 0; all && i < count; i++)
    if (!learner_new(c, &all[i], shape, i == 0 ? most_rows : check_pick(c, 1, most_rows))) {
      learners_free(c, all, i);
      return NULL;
    }
  return all;
}

void learners_free(check *c, learner *all, size_t count) {
  for (size_t i = 0; all && i < count; i++) learner_free(c, &all[i]);
  hvi_free(all);
}

/* The curvature is about |J|^2, the sum of the squares of all units: of the order of their number. */
static double rate_of(const hvi_device_shape *s, hvi_device_rule rule) {
  double units = 0.0;
  for (size_t l = 0; l <= s->layer_count; l++) units += (double)s->width[l];
  return rule == HVI_DEVICE_ADAM ? fmin(1e-3, 0.3 / units)
                                 : (rule == HVI_DEVICE_GD ? 0.1 : 0.02) / units;
}

hvi_device_descent learner_descent(const learner *l, hvi_device_rule rule, size_t most) {
  return (hvi_device_descent){.target = l->target,
                              .weight = l->weight,
                              .scale = 1.0,
                              .rule = rule,
                              .lr = rate_of(l->shape, rule),
                              .lr_factor = 1.0,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .epsilon = 1e-8,
                              .decay = 0.01,
                              .forget = true,
                              .least_wanted = true,
                              .most = most,
                              .goal = -INFINITY};
}

void learner_set(learner *l, const hvi_device_descent *d) {
  l->job = (hvi_device_job){.net = l->net,
                            .rows = l->rows,
                            .x = l->x,
                            .theta = l->theta,
                            .u = l->u,
                            .v = l->v,
                            .y = l->y,
                            .result = l->result};
  if (d) l->job.descent = *d;
  memset(l->y, 0xff, l->rows * sizeof *l->y); /* NaN: what is not written shows */
  memset(l->result, 0xff, l->numbers * sizeof *l->result);
}

bool learners_run(check *c, hvi_device_kind kind, learner *all, size_t count, size_t steps) {
  hvi_device_job **jobs = hvi_alloc(count, sizeof(hvi_device_job *));
  hvi_error err;
  bool good = jobs != NULL;
  size_t left = 0, most = 0;
  for (size_t i = 0; good && i < count; i++) {
    jobs[left++] = &all[i].job;
    if (kind == HVI_DEVICE_DESCEND && all[i].job.descent.most > most)
      most = all[i].job.descent.most;
  }
  for (size_t round = 0; good && left > 0; round++) {
    good = check_call(c, c->f->run(c->device, kind, jobs, left, steps, &err), &err);
    size_t kept = 0;
    for (size_t i = 0; i < left; i++)
      if (!jobs[i]->done) jobs[kept++] = jobs[i];
    left = kept;
    if (good && left > 0 && round > 2 * most + 2) {
      check_that(c, false, "%zu jobs are not done after %zu rounds", left, round);
      good = false;
    }
  }
  hvi_free(jobs);
  return good;
}

double *widen(const float *x, size_t n) {
  double *wide = hvi_alloc_doubles(n);
  for (size_t i = 0; wide && i < n; i++) wide[i] = (double)x[i];
  return wide;
}

double distance(const float *x, const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
  return sqrt(sum);
}

double length(const double *y, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += y[i] * y[i];
  return sqrt(sum);
}

bool answer_new(answer *a, const learner *l, const hvi_device_descent *d) {
  double *u, *gradient, *m, *v;
  const size_t n = l->numbers;
  reference r;
  *a = (answer){.descent = *d};
  if (!hvi_alloc_arrays({&a->block, n}, {&gradient, n}, {&m, n}, {&v, n}, {&a->y, l->rows},
                        {&u, l->rows}, {&a->losses, d->most + 1}))
    return false;
  a->theta = a->block;
  if (!reference_new(&r, l->shape)) return answer_free(a), false;
  for (size_t i = 0; i < n; i++) a->theta[i] = (double)l->theta[i];
  reference_descend(&r,
                    &(reference_run){.rows = l->rows,
                                     .x = l->x,
                                     .theta = a->theta,
                                     .y = a->y,
                                     .u = u,
                                     .gradient = gradient,
                                     .losses = a->losses,
                                     .state = &(reference_state){.m = m, .v = v}},
                    &a->descent);
  reference_free(&r);
  return true;
}

void answer_free(answer *a) { hvi_free(a->block); }

static check_limits limits_of(hvi_device_precision p) {
  if (p == HVI_DEVICE_FP16) return (check_limits){2e-3, 2e-2, 2e-2};
  return (check_limits){2e-6, 1e-5, 1e-5};
}

static const char *const names[] = {
    [HVI_DEVICE_FP16X3] = "fp16x3", [HVI_DEVICE_FP32] = "fp32", [HVI_DEVICE_FP16] = "fp16"};

int check_run(const check_options *options) {
  check c = {.options = options,
             .f = options->functions,
             .limits = limits_of(options->precision),
             .rng = hvi_rng_new(options->seed, "gpu check", 0)};
  hvi_device_about about;
  hvi_error err;
  if (c.f->open(&c.device, options->precision, &err)) return printf("%s\n", err.text), 1;
  if (c.f->describe(c.device, &about, &err)) return printf("%s\n", err.text), 1;
  printf("device       %s, %zu processors, %.1f GB, driver and run-time %s\n", about.name,
         about.processors, 1e-9 * (double)about.memory, about.driver);
  printf("precision    %s (%s), seed %llu%s\n", names[options->precision], about.level,
         (unsigned long long)options->seed, options->quick ? ", quick" : "");
  check_kernels(&c);
  check_large(&c);
  check_bits(&c);
  check_thresholds(&c);
  check_memory(&c);
  c.f->close(c.device);
  check_methods(&c);
  check_sac(&c);
  printf("%s\n", c.groups_failed ? "FAILED" : "all good");
  return c.groups_failed > 0;
}
