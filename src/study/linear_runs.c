/*
 * The runs of the linear experiment: batches of trajectories over threads, each run with its own
 * generator.
 *
 * Run i sees exactly the transitions that the solver with seed + i sees. A batch's result depends
 * on its number alone, so the bits do not depend on the number of threads; nor do they depend on
 * the instruction set.
 *
 * Where the residual gradient ends: minimisers of two squared Bellman errors, and how far their
 * values are from those of the projected fixed point.
 *
 *   single    E (r(s) + gamma <phi', x> - <phi, x>)^2 over transitions: what the single-sample
 *             method descends. With G = (D - C) / gamma its normal equations are
 *             ((1 + gamma^2) D - gamma (G + G')) x = Phi' (I - gamma P') Xi r
 *   Bellman   |Phi x - T Phi x|^2_Xi: with B = Phi - gamma P Phi,   B' Xi B x = B' Xi r
 *
 * They differ by gamma^2 times the variance of <phi', x> given s: the double-sampling problem.
 */
#include "base/base.h"
#include "base/cpu.h"
#include "base/parallel.h"
#include "num/dense.h"
#include "problems/mdp/trajectory.h"
#include "study/linear.h"

#include <pthread.h>

enum { BATCH = HVI_LINEAR_BATCH };

const size_t hvi_linear_inner[HVI_SURR_COUNT] = {1, 5, 10, 50, 100};

hvi_linear_step_fn *const *hvi_linear_steps(void) {
  static hvi_linear_step_fn *const all[] = HVI_CPU_BUILDS(hvi_linear);
  return all + hvi_cpu_builds_skipped();
}

typedef struct job {
  const hvi_trajectory *t;
  hvi_linear_step_fn *step;
  hvi_linear_result *out;
  pthread_mutex_t lock;
  size_t done;
} job;

/* One batch under way; the solver's own sample and state serve LSTD when a row is due. */
typedef struct work {
  job *job;
  hvi_linear_batch batch;
  hvi_rng rng[BATCH];
  size_t state[BATCH]; /* where the chains stand */
  hvi_trajectory_sample *sample;
  double *lstd_state, *x, *exact; /* x, exact: [d] */
  size_t first, count;            /* runs */
} work;

static bool tell(job *j, size_t runs) {
  const hvi_linear_settings *s = &j->out->of;
  pthread_mutex_lock(&j->lock);
  j->done += runs;
  if (!j->out->stopped && s->progress && !s->progress(s->context, j->done)) j->out->stopped = true;
  const bool go_on = !j->out->stopped;
  pthread_mutex_unlock(&j->lock);
  return go_on;
}

size_t hvi_linear_batch_place(hvi_linear_batch *b, double *memory) {
  const size_t row = b->d * BATCH, square = b->d * row;
  hvi_arena arena = {.base = memory, .size = SIZE_MAX};
  b->now = hvi_arena_take(&arena, row);
  b->next = hvi_arena_take(&arena, row);
  b->reward = hvi_arena_take(&arena, BATCH);
  b->D = hvi_arena_take(&arena, square);
  b->C = hvi_arena_take(&arena, square);
  b->r = hvi_arena_take(&arena, row);
  b->theta = hvi_arena_take(&arena, HVI_LEARNER_COUNT * row);
  b->second = hvi_arena_take(&arena, 2 * row);
  b->power = hvi_arena_take(&arena, HVI_LINEAR_POWERS * square);
  b->inverse = hvi_arena_take(&arena, square);
  b->error = hvi_arena_take(&arena, 2 * row);
  return arena.used;
}

static void start(work *w) {
  const hvi_trajectory *t = w->job->t;
  for (size_t l = 0; l < BATCH; l++) {
    w->rng[l] = hvi_rng_new(w->job->out->of.seed + w->first + l, "solver", 0);
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
  hvi_trajectory_lstd.step(&none, &t->one.base, w->sample, 1.0, w->lstd_state, theta);
}

static void record(work *w, size_t row) {
  const hvi_trajectory *t = w->job->t;
  const hvi_linear_result *out = w->job->out;
  const size_t runs = out->of.runs;
  double *to = hvi_linear_values(out, row, 0) + w->first, *x = w->x;
  for (size_t l = 0; l < w->count; l++) {
    read_run(w->exact, hvi_linear_theta(&w->batch, HVI_LEARNER_LSPE), t->d, l);
    for (size_t m = 0; m < HVI_SURR_COUNT; m++) {
      read_run(x, hvi_linear_theta(&w->batch, m), t->d, l);
      hvi_vec_add(x, -1.0, w->exact, t->d);
      to[(HVI_LINEAR_THETA + m) * runs + l] = hvi_vec_norm(x, t->d);
      to[(HVI_LINEAR_VALUE + m) * runs + l] = value_norm(t, x);
    }
    for (size_t m = 0; m <= HVI_LEARNER_COUNT; m++) {
      if (HVI_LINEAR_GOAL + m == HVI_LINEAR_LSTD)
        lstd_point(w, l, x);
      else
        read_run(x, hvi_linear_theta(&w->batch, m), t->d, l);
      hvi_vec_add(x, -1.0, t->fixed_point, t->d);
      to[(HVI_LINEAR_GOAL + m) * runs + l] = value_norm(t, x);
    }
  }
}

static void walk(work *w) {
  const hvi_linear_settings *s = &w->job->out->of;
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
  const hvi_linear_settings *s = &j->out->of;
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
  const size_t lstd = hvi_trajectory_lstd.state(&t->one.base);
  HVI_OWN hvi_trajectory_sample *sample = w.sample = hvi_alloc(1, t->one.base.sample_bytes);
  HVI_OWN double *memory =
      hvi_alloc_doubles(hvi_linear_batch_place(&w.batch, NULL) + lstd + 2 * t->d);
  if (!memory || !sample) return hvi_error_memory(err, "a batch of trajectories");
  w.lstd_state = memory + hvi_linear_batch_place(&w.batch, memory);
  w.x = w.lstd_state + lstd;
  w.exact = w.x + t->d;
  if (!tell(j, 0)) return HVI_OK;
  walk(&w);
  tell(j, w.count);
  return HVI_OK;
}

hvi_status hvi_linear_simulate(hvi_linear_result *out, const hvi_problem *p,
                               const hvi_linear_settings *s, hvi_error *err) {
  *out = (hvi_linear_result){.of = *s};
  job j = {.t = hvi_trajectory_of(p), .step = hvi_linear_steps()[0], .out = out};
  if (!j.t || j.t->settings.scale != HVI_TRAJECTORY_SCALE_TRACE || !(j.t->settings.ridge > 0.0))
    return hvi_error_unsupported(
        err, "the linear experiment needs a chain with data=trajectory, scale=trace "
             "and a ridge above 0");
  out->value = hvi_alloc(s->rows * HVI_LINEAR_CURVES + 1, s->runs * sizeof(double));
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

/* B[n][d] = Phi - gamma P Phi, column by column; z and Tz are [n] */
static void differences(double *B, const hvi_trajectory *t, double *z, double *Tz) {
  for (size_t j = 0; j < t->d; j++) {
    for (size_t s = 0; s < t->states; s++) z[s] = hvi_trajectory_row(t, s)[j];
    hvi_mdp_bellman(t->mdp, z, Tz);
    for (size_t s = 0; s < t->states; s++) B[s * t->d + j] = z[s] - (Tz[s] - t->reward[s]);
  }
}

/* b = B' Xi r; A = B' Xi B */
static void bellman_equations(double *A, double *b, const double *B, const hvi_trajectory *t) {
  const double *xi = hvi_mdp_law(t->mdp);
  for (size_t s = 0; s < t->states; s++) {
    const double *row = B + s * t->d;
    hvi_vec_add(b, xi[s] * t->reward[s], row, t->d);
    for (size_t i = 0; i < t->d; i++) hvi_vec_add(A + i * t->d, xi[s] * row[i], row, t->d);
  }
}

/* (1 + gamma^2) D - gamma (G + G') = C + C' - (1 - gamma^2) D; the right-hand side is the same. */
static void single_equations(double *A, const hvi_trajectory *t) {
  const double *D = hvi_sample_D(t->mean), *C = hvi_sample_C(t->mean, t->d);
  for (size_t i = 0; i < t->d; i++)
    for (size_t j = 0; j < t->d; j++)
      A[i * t->d + j] =
          C[i * t->d + j] + C[j * t->d + i] - (1.0 - t->gamma * t->gamma) * D[i * t->d + j];
}

hvi_status hvi_linear_limits(double *single, double *bellman, const hvi_problem *p,
                             hvi_error *err) {
  const hvi_trajectory *t = hvi_trajectory_of(p);
  const size_t n = t->states, d = t->d;
  HVI_OWN double *B = hvi_alloc_doubles(n * d + 2 * n + d * d + 2 * d);
  if (!B) return hvi_error_memory(err, "the residual gradient's limit");
  double *z = B + n * d, *A = z + 2 * n, *b = A + d * d, *x = b + d;
  differences(B, t, z, z + n);
  bellman_equations(A, b, B, t);
  HVI_TRY(hvi_dense_solve(x, A, b, d, err));
  *bellman = sqrt(p->ops->dist2(p, x));
  single_equations(A, t);
  HVI_TRY(hvi_dense_solve(x, A, b, d, err));
  *single = sqrt(p->ops->dist2(p, x));
  return HVI_OK;
}
