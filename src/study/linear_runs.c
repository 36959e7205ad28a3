/*
 * The runs of the linear experiment: batches of trajectories over threads, each run with its own
 * generator.
 *
 * Run i sees exactly the transitions that the solver with seed + i sees. A batch's result depends
 * on its number alone, so the bits do not depend on the number of threads; nor do they depend on
 * the instruction set.
 */
#include "base/base.h"
#include "base/cpu.h"
#include "base/parallel.h"
#include "num/vec.h"
#include "problems/mdp/trajectory.h"
#include "study/linear.h"

#include <pthread.h>

enum { BATCH = HVI_LINEAR_BATCH };

const size_t hvi_linear_inner[HVI_SURR_COUNT] = {1, 5, 10, 50, 100};

const hvi_linear_build *const *hvi_linear_builds(void) {
  static const hvi_linear_build *const all[] = HVI_CPU_BUILDS(hvi_linear);
  return all + hvi_cpu_builds_skipped();
}

typedef struct job {
  const hvi_trajectory *t;
  const hvi_problem *problem;
  const hvi_linear_settings *settings;
  hvi_linear_step_fn *step;
  hvi_linear_result *out;
  pthread_mutex_t lock;
  size_t done;
} job;

/* One batch under way; the solver's own sample and state serve LSTD when a row is due. */
typedef struct work {
  job *job;
  hvi_linear_batch batch;
  double *memory; /* of the batch */
  hvi_rng rng[BATCH];
  size_t state[BATCH]; /* where the chains stand */
  hvi_trajectory_sample *sample;
  double *lstd_state, *x, *exact; /* x, exact: [d] */
  size_t first, count;            /* runs */
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

size_t hvi_linear_batch_place(hvi_linear_batch *b, double *memory) {
  const size_t row = b->d * BATCH, square = b->d * row;
  const struct {
    double **array;
    size_t size;
  } all[] = {{&b->now, row},
             {&b->next, row},
             {&b->reward, BATCH},
             {&b->D, square},
             {&b->C, square},
             {&b->r, row},
             {&b->theta, HVI_LEARNER_COUNT * row},
             {&b->second, 2 * row},
             {&b->power, HVI_LINEAR_POWERS * square},
             {&b->inverse, square},
             {&b->error, 2 * row}};
  size_t used = 0;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    *all[k].array = memory ? memory + used : NULL;
    used += all[k].size;
  }
  return used;
}

static hvi_status allocate(work *w, hvi_error *err) {
  const job *j = w->job;
  w->memory = hvi_alloc_doubles(hvi_linear_batch_place(&w->batch, NULL));
  w->sample = hvi_alloc(1, j->problem->sample_bytes);
  w->lstd_state = hvi_alloc_doubles(hvi_trajectory_lstd.state(j->problem));
  w->x = hvi_alloc_doubles(2 * j->t->d);
  if (!w->memory || !w->sample || !w->lstd_state || !w->x)
    return hvi_error_memory(err, "a batch of trajectories");
  w->exact = w->x + j->t->d;
  hvi_linear_batch_place(&w->batch, w->memory);
  return HVI_OK;
}

static void release(work *w) {
  hvi_free(w->memory);
  hvi_free(w->sample);
  hvi_free(w->lstd_state);
  hvi_free(w->x);
}

static void start(work *w) {
  const hvi_trajectory *t = w->job->t;
  for (size_t l = 0; l < BATCH; l++) {
    w->rng[l] = hvi_rng_new(w->job->settings->seed + w->first + l, "solver", 0);
    w->state[l] = hvi_trajectory_start(t, &w->rng[l]);
    for (size_t m = 0; m < HVI_LEARNER_COUNT; m++)
      for (size_t i = 0; i < t->d; i++)
        hvi_linear_theta(&w->batch, m)[i * BATCH + l] = t->one.base.theta0[i];
  }
}

/* The next transition of every run. */
static void transit(work *w) {
  const hvi_trajectory *t = w->job->t;
  hvi_linear_batch *b = &w->batch;
  for (size_t l = 0; l < BATCH; l++) {
    const size_t from = w->state[l], to = hvi_trajectory_next(t, from, &w->rng[l]);
    const double *now = hvi_trajectory_row(t, from), *next = hvi_trajectory_row(t, to);
    for (size_t i = 0; i < t->d; i++) {
      b->now[i * BATCH + l] = now[i];
      b->next[i * BATCH + l] = next[i];
    }
    b->reward[l] = t->reward[from];
    w->state[l] = to;
  }
  b->count++;
}

/* |Phi x|_Xi */
static double value_norm(const hvi_trajectory *t, const double *x) {
  const double *D = hvi_sample_D(t->mean);
  double sum = 0.0;
  for (size_t i = 0; i < t->d; i++) sum += x[i] * hvi_vec_dot(D + i * t->d, x, t->d);
  return sqrt(fmax(sum, 0.0));
}

/* x of run l out of an array [count][BATCH] */
static void read_run(double *x, const double *from, size_t count, size_t l) {
  for (size_t i = 0; i < count; i++) x[i] = from[i * BATCH + l];
}

static void lstd_point(work *w, size_t l, double *theta) {
  const hvi_trajectory *t = w->job->t;
  const hvi_rule_settings none = {0};
  w->sample->count = w->batch.count;
  read_run(hvi_sample_C(w->sample, t->d), w->batch.C, t->d * t->d, l);
  read_run(hvi_sample_r(w->sample, t->d), w->batch.r, t->d, l);
  hvi_vec_copy(theta, t->one.base.theta0, t->d);
  hvi_trajectory_lstd.step(&none, w->job->problem, w->sample, 1.0, w->lstd_state, theta);
}

static void record(work *w, size_t row) {
  const hvi_trajectory *t = w->job->t;
  const hvi_linear_result *out = w->job->out;
  double *to = out->value + row * HVI_LINEAR_CURVES * out->runs + w->first, *x = w->x;
  for (size_t l = 0; l < w->count; l++) {
    read_run(w->exact, hvi_linear_theta(&w->batch, HVI_LEARNER_LSPE), t->d, l);
    for (size_t m = 0; m < HVI_SURR_COUNT; m++) {
      read_run(x, hvi_linear_theta(&w->batch, m), t->d, l);
      hvi_vec_add(x, -1.0, w->exact, t->d);
      to[(HVI_LINEAR_THETA + m) * out->runs + l] = hvi_vec_norm(x, t->d);
      to[(HVI_LINEAR_VALUE + m) * out->runs + l] = value_norm(t, x);
    }
    for (size_t m = 0; m <= HVI_LEARNER_COUNT; m++) {
      if (HVI_LINEAR_GOAL + m == HVI_LINEAR_LSTD)
        lstd_point(w, l, x);
      else
        read_run(x, hvi_linear_theta(&w->batch, m), t->d, l);
      hvi_vec_add(x, -1.0, t->fixed_point, t->d);
      to[(HVI_LINEAR_GOAL + m) * out->runs + l] = value_norm(t, x);
    }
  }
}

static void walk(work *w) {
  const hvi_linear_settings *s = w->job->settings;
  start(w);
  for (size_t t = 1, row = 0; t <= s->steps && row < s->rows; t++) {
    transit(w);
    w->job->step(&w->batch);
    if (t == s->time[row]) record(w, row++);
  }
}

static hvi_status run_batch(void *context, size_t number, size_t worker, hvi_error *err) {
  (void)worker;
  job *j = context;
  const hvi_trajectory *t = j->t;
  const hvi_linear_settings *s = j->settings;
  const size_t first = number * BATCH, rest = s->runs - first;
  work w = {.job = j,
            .batch = {.d = t->d,
                      .gamma = t->gamma,
                      .ridge = t->settings.ridge,
                      .wait = t->settings.wait,
                      .rate = s->rate,
                      .decay = s->decay,
                      .second_rate = s->second_rate},
            .first = first,
            .count = rest < BATCH ? rest : BATCH};
  hvi_status status = allocate(&w, err);
  if (!status && tell(j, 0)) {
    walk(&w);
    tell(j, w.count);
  }
  release(&w);
  return status;
}

static hvi_status check(const hvi_trajectory *t, const hvi_linear_settings *s, hvi_error *err) {
  if (!t || t->settings.scale != HVI_TRAJECTORY_SCALE_TRACE || !(t->settings.ridge > 0.0))
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "the linear experiment needs a chain with data=trajectory, scale=trace "
                         "and a ridge above 0");
  if (!s->runs || !s->rows) return hvi_error_argument(err, "there is nothing to run or to record");
  return HVI_OK;
}

hvi_status hvi_linear_simulate(hvi_linear_result *out, const hvi_problem *p,
                               const hvi_linear_settings *s, hvi_error *err) {
  *out = (hvi_linear_result){.rows = s->rows, .runs = s->runs};
  job j = {.t = hvi_trajectory_of(p),
           .problem = p,
           .settings = s,
           .step = hvi_linear_builds()[0]->step,
           .out = out};
  HVI_TRY(check(j.t, s, err));
  size_t cells;
  if (hvi_multiply_sizes(s->rows * HVI_LINEAR_CURVES, s->runs, &cells))
    out->value = hvi_alloc_doubles(cells);
  if (!out->value) return hvi_error_memory(err, "the rows of trajectories");
  if (pthread_mutex_init(&j.lock, NULL) != 0) return hvi_error_memory(err, "a lock");
  const size_t batches = (s->runs + BATCH - 1) / BATCH;
  hvi_status status = hvi_parallel_run(batches, s->threads, run_batch, &j, err);
  pthread_mutex_destroy(&j.lock);
  if (status) hvi_linear_result_free(out);
  return status;
}

void hvi_linear_result_free(hvi_linear_result *r) {
  hvi_free(r->value);
  *r = (hvi_linear_result){0};
}
