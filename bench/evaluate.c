/*
 * What is measured: an outer step of hvi_evaluation, next to its parts done bare, in turn, on the
 * same problem: the draw with the values it needs, the inner steps on one surrogate, and the
 * products that these consist of,
 *
 *   forward A_{l-1} W_l',   backward D_l W_l (but for the first layer),   gradient D_l' A_{l-1},
 *
 * as one cblas_sgemm each. What the loop takes beyond the bare parts is its overhead. Then seeds
 * run side by side, one on each core: what a step takes more there is lost to what cores share. The
 * fastest of several repeats counts, for each alone, by the thread's own clock.
 */
#include "evaluate.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "num/vec.h"
#include "peak.h"
#include "surrogate/surrogate.h"

#include <hvi/evaluate.h>

#include <cblas.h>
#include <math.h>
#include <string.h>

enum { HIDDEN = 256, LAYERS = 3, STATES = 1000, OUTER = 4 };

static void keep_least(double *seconds, double start) {
  *seconds = fmin(*seconds, hvi_clock_work(1) - start);
}

typedef struct work {
  const bench_options *options;
  size_t done, total; /* ticks of all rows, for the progress */
  bool stopped;
  hvi_env *env;
  hvi_policy *policy;
  hvi_collector *collector;
  hvi_evaluation_spec spec;
  hvi_settings settings;
  hvi_evaluation *evaluation;
  /* the bare parts */
  hvi_problem *value;
  hvi_surrogate l;
  hvi_counts counts;
  double *memory, *state, *f;
  void *sample;
  size_t widths[LAYERS + 1];
  float *a[LAYERS + 1], *d[LAYERS + 1], *weights, *gradient;
} work;

/* Before each part that takes up to a second; false: stop. */
static bool go_on(work *w) {
  const bench_options *o = w->options;
  w->stopped = w->stopped || (o->progress && !o->progress(o->context, w->done++, w->total));
  return !w->stopped;
}

static void free_work(work *w) {
  for (size_t l = 0; l <= LAYERS; l++) {
    hvi_free(w->a[l]);
    hvi_free(w->d[l]);
  }
  hvi_free(w->weights);
  hvi_free(w->gradient);
  hvi_free(w->memory);
  hvi_free(w->sample);
  hvi_problem_free(w->value);
  hvi_evaluation_free(w->evaluation);
  hvi_collector_free(w->collector);
  hvi_policy_free(w->policy);
  hvi_env_free(w->env);
}

static hvi_status make_policy(work *w, hvi_error *err) {
  double *gain = hvi_alloc_doubles(w->env->act * w->env->obs), *std;
  std = hvi_alloc_doubles(w->env->act);
  hvi_status status = gain && std ? HVI_OK : hvi_error_memory(err, "a policy");
  for (size_t i = 0; !status && i < w->env->act; i++) std[i] = 0.3;
  if (!status) {
    status = hvi_env_lqr(w->env)
                 ? hvi_policy_of_env(&w->policy, w->env, err)
                 : hvi_policy_linear(&w->policy, w->env->obs, w->env->act, gain, std, err);
  }
  hvi_free(gain);
  hvi_free(std);
  return status;
}

static hvi_status make_evaluation(work *w, size_t repeats, hvi_error *err) {
  const size_t rows = (repeats * OUTER + 2) * EVALUATE_BATCH;
  hvi_status status = hvi_collector_new(&w->collector, w->env, w->policy, 1, 1, rows, err);
  if (status) return status;
  w->settings = hvi_evaluation_settings();
  w->settings.inner_steps = EVALUATE_INNER;
  w->settings.max_outer = repeats * OUTER + 1;
  w->spec = hvi_evaluation_defaults();
  w->spec.settings = &w->settings;
  w->spec.value.hidden[0] = w->spec.value.hidden[1] = HIDDEN;
  w->spec.value.hidden_count = 2;
  w->spec.value.data = hvi_collector_data(w->collector);
  w->spec.value.batch = EVALUATE_BATCH;
  w->spec.value.lambda = 0.0; /* as its peers have it */
  w->spec.normalise = HVI_NORMALISE_NONE;
  w->spec.schedule = (hvi_schedule){0};
  for (size_t n = EVALUATE_BATCH; n <= rows && !status && go_on(w); n += EVALUATE_BATCH)
    status = hvi_collector_need(w->collector, n, err);
  if (w->stopped) return status;
  if (!status) status = hvi_evaluation_new(&w->evaluation, &w->spec, err);
  if (!status) status = hvi_value_new(&w->value, &w->spec.value, 1, err);
  return status;
}

static void take(work *w, hvi_arena *arena) {
  const hvi_settings *s = &w->settings;
  hvi_surrogate_place(&w->l, w->value->model, w->value->weights, &w->counts, arena);
  w->state = hvi_arena_take(
      arena, s->optimizer->state ? s->optimizer->state(&s->inner, w->value->model) : 0);
  w->f = hvi_arena_take(arena, w->value->model->out);
}

static hvi_status make_bare(work *w, hvi_error *err) {
  hvi_arena arena = {0};
  take(w, &arena);
  arena = (hvi_arena){.size = arena.used};
  arena.base = w->memory = hvi_alloc_doubles(arena.size);
  w->sample = hvi_alloc(1, w->value->sample_bytes);
  if (!w->memory || !w->sample) return hvi_error_memory(err, "the benchmark");
  take(w, &arena);
  hvi_vec_copy(w->l.now->theta, w->value->theta0, w->value->model->dim);
  return HVI_OK;
}

static float *some_floats(size_t n) {
  float *x = hvi_alloc(n, sizeof *x);
  hvi_rng rng = hvi_rng_new(1, "bench", n);
  for (size_t i = 0; x && i < n; i++) x[i] = (float)hvi_rng_range(&rng, -1.0, 1.0);
  return x;
}

static hvi_status make_products(work *w, hvi_error *err) {
  const size_t widths[LAYERS + 1] = {w->env->obs, HIDDEN, HIDDEN, 1};
  bool good = true;
  for (size_t l = 0; l <= LAYERS; l++) {
    w->widths[l] = widths[l];
    w->a[l] = some_floats(EVALUATE_BATCH * widths[l]);
    w->d[l] = some_floats(EVALUATE_BATCH * widths[l]);
    good = good && w->a[l] && w->d[l];
  }
  w->weights = some_floats(HIDDEN * (HIDDEN + w->env->obs));
  w->gradient = some_floats(HIDDEN * (HIDDEN + w->env->obs));
  return good && w->weights && w->gradient ? HVI_OK : hvi_error_memory(err, "the benchmark");
}

static void multiply(const work *w) {
  const int rows = EVALUATE_BATCH;
  for (size_t l = 0; l < LAYERS; l++) {
    const int in = (int)w->widths[l], out = (int)w->widths[l + 1];
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1.0F, w->a[l], in,
                w->weights, in, 0.0F, w->a[l + 1], out);
  }
  for (size_t l = LAYERS; l-- > 0;) {
    const int in = (int)w->widths[l], out = (int)w->widths[l + 1];
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, out, in, rows, 1.0F, w->d[l + 1], out,
                w->a[l], in, 0.0F, w->gradient, in);
    if (l == 0) break;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, in, out, 1.0F, w->d[l + 1], out,
                w->weights, in, 0.0F, w->d[l], in);
  }
}

/* Of all the inner steps. */
static double flops_of(const work *w) {
  double products = -(double)(w->widths[0] * w->widths[1]);
  for (size_t l = 0; l < LAYERS; l++) products += 3.0 * (double)(w->widths[l] * w->widths[l + 1]);
  return 2.0 * EVALUATE_INNER * EVALUATE_BATCH * products;
}

/* A draw, the model at it, F, and the target. */
static void bare_targets(work *w, hvi_rng *rng) {
  hvi_surrogate *l = &w->l;
  const hvi_problem *p = w->value;
  p->ops->draw(p, l->now->theta, w->sample, rng);
  hvi_surrogate_start(l, NULL, w->sample);
  p->ops->operate(p, w->sample, l->now->theta, l->now->z, w->f);
  for (size_t i = 0; i < p->model->out; i++) l->target[i] = l->now->z[i] - w->f[i] / l->weights[i];
  hvi_surrogate_freeze(l);
}

static void bare_steps(work *w) {
  const hvi_settings *s = &w->settings;
  if (s->optimizer->reset) s->optimizer->reset(&s->inner, w->value->model, w->state);
  for (size_t i = 0; i < EVALUATE_INNER; i++) s->optimizer->step(&s->inner, w->state, &w->l);
}

static hvi_status compare(evaluate_row *row, work *w, size_t repeats, hvi_error *err) {
  hvi_rng rng = hvi_rng_new(1, "bench", 0);
  const hvi_dataset *data = w->spec.value.data;
  double *values = hvi_alloc_doubles(STATES);
  hvi_status status = values ? HVI_OK : hvi_error_memory(err, "values");
  hvi_score score;
  row->fma = flops_of(w) / bench_peak(true);
  for (size_t r = 0; r < repeats * OUTER && !status && go_on(w); r++) {
    double start = hvi_clock_work(1);
    status = hvi_evaluation_step(w->evaluation, err);
    keep_least(&row->step, start);
    start = hvi_clock_work(1);
    bare_targets(w, &rng);
    keep_least(&row->targets, start);
    start = hvi_clock_work(1);
    bare_steps(w);
    keep_least(&row->inner, start);
    start = hvi_clock_work(1);
    for (size_t i = 0; i < EVALUATE_INNER; i++) multiply(w);
    keep_least(&row->sgemm, start);
    start = hvi_clock_work(1);
    if (!status)
      status = hvi_value_predict(w->value, w->l.now->theta, data->observation, STATES, values, err);
    if (!status) status = hvi_score_values(&score, STATES, values, values, NULL, err);
    keep_least(&row->measure, start);
  }
  hvi_free(values);
  return status;
}

/* Evaluations of several seeds, on data that they share. */
typedef struct crowd {
  size_t count;
  hvi_evaluation **seeds;
  double *seconds; /* the least of each */
  size_t *worker;  /* that took its last step */
} crowd;

static hvi_status step_seed(void *context, size_t chunk, size_t worker, hvi_error *err) {
  const crowd *c = context;
  const double start = hvi_clock_work(1);
  const hvi_status status = hvi_evaluation_step(c->seeds[chunk], err);
  keep_least(&c->seconds[chunk], start);
  c->worker[chunk] = worker;
  return status;
}

/* All take each step at the same time, so that every step that is timed has company. */
static hvi_status step_together(crowd *c, work *w, size_t steps, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < c->count && !status; i++) {
    hvi_evaluation_spec spec = w->spec;
    spec.seed = 2 + i;
    c->seconds[i] = INFINITY;
    status = hvi_evaluation_new(&c->seeds[i], &spec, err);
  }
  for (size_t r = 0; r < steps && !status && go_on(w); r++)
    status = hvi_parallel_run(c->count, c->count, step_seed, c, err);
  return status;
}

static hvi_status side_by_side(evaluate_row *row, work *w, size_t steps, hvi_error *err) {
  const size_t n = hvi_parallel_cores();
  crowd c = {.count = n,
             .seeds = hvi_alloc(n, sizeof *c.seeds),
             .seconds = hvi_alloc_doubles(n),
             .worker = hvi_alloc(n, sizeof *c.worker)};
  hvi_status status = c.seeds && c.seconds && c.worker ? step_together(&c, w, steps, err)
                                                       : hvi_error_memory(err, "the benchmark");
  row->cores = 1;
  for (size_t i = 0; i < n && !status; i++) {
    row->together = fmax(row->together, c.seconds[i]);
    if (c.worker[i] >= row->cores) row->cores = c.worker[i] + 1;
  }
  for (size_t i = 0; c.seeds && i < n; i++) hvi_evaluation_free(c.seeds[i]);
  hvi_free(c.seeds);
  hvi_free(c.seconds);
  hvi_free(c.worker);
  return status;
}

static hvi_status measure(evaluate_row *row, work *w, size_t repeats, hvi_error *err) {
  hvi_status status = hvi_env_new(&w->env, row->env, err);
  if (!status) status = make_policy(w, err);
  if (!status) status = make_evaluation(w, repeats, err);
  if (!status && !w->stopped) status = make_bare(w, err);
  if (!status && !w->stopped) status = make_products(w, err);
  if (status || w->stopped) return status;
  const hvi_collector_cost cost = hvi_collector_spent(w->collector);
  row->obs = w->env->obs;
  row->collect = cost.seconds / (double)cost.steps * EVALUATE_BATCH;
  status = compare(row, w, repeats, err);
  return status ? status : side_by_side(row, w, repeats * OUTER, err);
}

hvi_status bench_evaluate_run(void *measured, size_t *done, const bench_options *o,
                              hvi_error *err) {
  evaluate_row *rows = measured;
  static const char *const names[EVALUATE_ROWS] = {"lqr", "half_cheetah", "ant"};
  const size_t repeats = (o->repeats + OUTER - 1) / OUTER, ticks = 3 * repeats * OUTER + 2;
  hvi_status status = HVI_OK;
  for (*done = 0; !status && *done < EVALUATE_ROWS; ++*done) {
    work w = {.options = o, .done = *done * ticks, .total = EVALUATE_ROWS * ticks};
    evaluate_row *row = &rows[*done];
    *row = (evaluate_row){.env = names[*done], .available = !hvi_env_available(names[*done], NULL)};
    if (!row->available) continue;
    row->targets = row->inner = row->sgemm = row->step = row->measure = INFINITY;
    status = measure(row, &w, repeats, err);
    free_work(&w);
    if (w.stopped) break;
  }
  return status;
}
