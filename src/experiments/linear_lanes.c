/*
 * The engine behind the linear experiment: chunks of runs over threads, each run with its own
 * generator.
 *
 * Run i sees exactly the transitions that the solver with seed + i sees: draw 0 of its generator
 * picks the first state, draw t the successor of transition t. A chunk's result depends on its
 * number alone, so the bits do not depend on the number of threads.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ensemble/lanes.h"
#include "experiments/linear.h"
#include "num/vec.h"
#include "problems/bellman/trajectory.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

const size_t hvi_linear_inner[HVI_SURR_COUNT] = {1, 5, 10, 50, 100};

const hvi_linear_kernel *hvi_linear_kernel_best(void) {
#if defined(__x86_64__)
  const char *best = hvi_lanes_kernels()[0]->name;
  if (strcmp(best, hvi_linear_avx512.name) == 0) return &hvi_linear_avx512;
  if (strcmp(best, hvi_linear_avx2.name) == 0) return &hvi_linear_avx2;
#endif
  return &hvi_linear_baseline;
}

typedef struct job {
  const hvi_trajectory *t;
  const hvi_problem *problem;
  const hvi_linear_settings *settings;
  const hvi_linear_kernel *kernel;
  void (*step)(hvi_linear_chunk *c);
  const hvi_rule *lstd;
  hvi_linear_result *out;
  pthread_mutex_t lock;
  size_t done;
} job;

/* One chunk under way; the solver's own sample and state serve LSTD when a row is due. */
typedef struct work {
  job *job;
  hvi_linear_chunk *lanes;
  hvi_trajectory_sample *sample;
  double *lstd_state;
  size_t first, count; /* runs */
} work;

static bool tell(job *j, size_t runs) {
  const hvi_linear_settings *s = j->settings;
  pthread_mutex_lock(&j->lock);
  j->done += runs;
  if (!j->out->stopped && s->progress && !s->progress(s->context, j->done)) j->out->stopped = true;
  const bool go_on = !j->out->stopped;
  pthread_mutex_unlock(&j->lock);
  return go_on;
}

static void set_up(work *w) {
  const hvi_trajectory *t = w->job->t;
  const hvi_linear_settings *s = w->job->settings;
  hvi_linear_chunk *c = w->lanes;
  c->d = t->d;
  c->gamma = t->gamma;
  c->ridge = t->settings.ridge;
  c->wait = t->settings.wait;
  c->rate = s->rate;
  c->decay = s->decay;
  c->second_rate = s->second_rate;
  for (size_t l = 0; l < HVI_LINEAR_LANES; l++) {
    const hvi_rng rng = hvi_rng_new(s->seed + w->first + l, "solver", 0);
    c->key[0][l] = rng.key[0];
    c->key[1][l] = rng.key[1];
    for (size_t m = 0; m < HVI_MOVER_COUNT; m++)
      for (size_t i = 0; i < t->d; i++) c->theta[m][i].at[l] = t->base.theta0[i];
  }
}

/* Draw number `draw` of every run is in c->uniform[draw % 2] afterwards. */
static const double *draw(work *w, size_t number) {
  if (number % 2 == 0) w->job->kernel->uniforms(w->lanes, number / 2);
  return w->lanes->uniform[number % 2].at;
}

static void start(work *w) {
  const double *u = draw(w, 0), n = (double)w->job->t->states;
  for (size_t l = 0; l < HVI_LINEAR_LANES; l++) w->lanes->state[l] = (uint32_t)(u[l] * n);
}

/* The next transition of every run, into the lanes. */
static void transit(work *w, size_t number) {
  const hvi_trajectory *t = w->job->t;
  hvi_linear_chunk *c = w->lanes;
  const double *u = draw(w, number);
  for (size_t l = 0; l < HVI_LINEAR_LANES; l++) {
    const size_t from = c->state[l], to = hvi_alias_next(&t->alias, from, u[l]);
    const double *now = hvi_trajectory_row(t, from), *next = hvi_trajectory_row(t, to);
    for (size_t i = 0; i < t->d; i++) {
      c->now[i].at[l] = now[i];
      c->next[i].at[l] = next[i];
    }
    c->reward.at[l] = t->reward[from];
    c->state[l] = (uint32_t)to;
  }
  c->count = number;
}

/* |Phi x|_Xi */
static double value_norm(const hvi_trajectory *t, const double *x) {
  const double *D = hvi_sample_D(t->mean);
  double sum = 0.0;
  for (size_t i = 0; i < t->d; i++) sum += x[i] * hvi_vec_dot(D + i * t->d, x, t->d);
  return sqrt(fmax(sum, 0.0));
}

static void lstd_point(work *w, size_t l, double *theta) {
  const hvi_trajectory *t = w->job->t;
  const hvi_linear_chunk *c = w->lanes;
  const hvi_rule_settings none = {0};
  double *C = hvi_sample_C(w->sample, t->d), *r = hvi_sample_r(w->sample, t->d);
  w->sample->count = c->count;
  for (size_t i = 0; i < t->d; i++) {
    for (size_t j = 0; j < t->d; j++) C[i * t->d + j] = c->C[i * t->d + j].at[l];
    r[i] = c->r[i].at[l];
  }
  hvi_vec_copy(theta, t->base.theta0, t->d);
  w->job->lstd->step(&none, w->job->problem, w->sample, 1.0, w->lstd_state, theta);
}

static void gap(double *x, const work *w, size_t mover, size_t l, const double *from) {
  for (size_t i = 0; i < w->job->t->d; i++) x[i] = w->lanes->theta[mover][i].at[l] - from[i];
}

static void record(work *w, size_t row) {
  const hvi_trajectory *t = w->job->t;
  const hvi_linear_result *out = w->job->out;
  double *to = out->value + row * HVI_LINEAR_CURVES * out->runs + w->first;
  for (size_t l = 0; l < w->count; l++) {
    double x[HVI_LINEAR_MOST], exact[HVI_LINEAR_MOST];
    for (size_t i = 0; i < t->d; i++) exact[i] = w->lanes->theta[HVI_MOVER_LSPE][i].at[l];
    for (size_t m = 0; m < HVI_SURR_COUNT; m++) {
      gap(x, w, m, l, exact);
      to[(HVI_LINEAR_THETA + m) * out->runs + l] = hvi_vec_norm(x, t->d);
      to[(HVI_LINEAR_VALUE + m) * out->runs + l] = value_norm(t, x);
    }
    for (size_t m = 0; m < HVI_MOVER_COUNT; m++) {
      gap(x, w, m, l, t->fixed_point);
      to[(HVI_LINEAR_GOAL + m) * out->runs + l] = value_norm(t, x);
    }
    lstd_point(w, l, x);
    hvi_vec_add(x, -1.0, t->fixed_point, t->d);
    to[HVI_LINEAR_LSTD * out->runs + l] = value_norm(t, x);
  }
}

static void walk(work *w) {
  const hvi_linear_settings *s = w->job->settings;
  size_t row = 0;
  start(w);
  for (size_t t = 1; t <= s->steps && row < s->rows; t++) {
    transit(w, t);
    w->job->step(w->lanes);
    if (t == s->time[row]) record(w, row++);
  }
}

static hvi_status run_chunk(void *context, size_t number, size_t worker, hvi_error *err) {
  (void)worker;
  job *j = context;
  const size_t first = number * HVI_LINEAR_LANES, rest = j->settings->runs - first;
  work w = {.job = j,
            .first = first,
            .count = rest < HVI_LINEAR_LANES ? rest : HVI_LINEAR_LANES,
            .lanes = hvi_alloc(1, sizeof *w.lanes),
            .sample = hvi_alloc(1, j->problem->sample_bytes),
            .lstd_state = hvi_alloc_doubles(j->lstd->state(j->problem))};
  hvi_status status = HVI_OK;
  if (!w.lanes || !w.sample || !w.lstd_state) {
    status = hvi_error_memory(err, "a chunk of trajectories");
  } else if (tell(j, 0)) {
    set_up(&w);
    walk(&w);
    tell(j, w.count);
  }
  hvi_free(w.lanes);
  hvi_free(w.sample);
  hvi_free(w.lstd_state);
  return status;
}

static const hvi_rule *find_rule(const char *name) {
  const hvi_rule *const *rule = hvi_trajectory_rules();
  while (*rule && strcmp((*rule)->name, name) != 0) rule++;
  return *rule;
}

static hvi_status check(const hvi_trajectory *t, const hvi_linear_settings *s, hvi_error *err) {
  if (!t || t->settings.scale != HVI_SCALE_TRACE || (t->d != 3 && t->d != 5))
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "trajectories in lanes need a chain with 3 or 5 features and scale=trace");
  if (!s->runs || !s->rows)
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "there is nothing to run or to record");
  return HVI_OK;
}

hvi_status hvi_linear_simulate(hvi_linear_result *out, const hvi_problem *p,
                               const hvi_linear_settings *s, hvi_error *err) {
  *out = (hvi_linear_result){.rows = s->rows, .runs = s->runs};
  job j = {.t = hvi_trajectory_of(p),
           .problem = p,
           .settings = s,
           .kernel = hvi_linear_kernel_best(),
           .lstd = find_rule("lstd"),
           .out = out};
  hvi_status status = check(j.t, s, err);
  if (status) return status;
  j.step = j.t->d == 3 ? j.kernel->step_3 : j.kernel->step_5;
  size_t cells;
  if (hvi_multiply_sizes(s->rows * HVI_LINEAR_CURVES, s->runs, &cells))
    out->value = hvi_alloc_doubles(cells);
  if (!out->value) return hvi_error_memory(err, "the rows of trajectories");
  if (pthread_mutex_init(&j.lock, NULL) != 0) return hvi_error_memory(err, "a lock");
  const size_t chunks = (s->runs + HVI_LINEAR_LANES - 1) / HVI_LINEAR_LANES;
  status = hvi_parallel_run(chunks, s->threads, run_chunk, &j, err);
  pthread_mutex_destroy(&j.lock);
  if (status) hvi_linear_result_free(out);
  return status;
}

void hvi_linear_result_free(hvi_linear_result *r) {
  hvi_free(r->value);
  *r = (hvi_linear_result){0};
}
