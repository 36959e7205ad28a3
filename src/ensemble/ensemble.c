/*
 * Ensembles: chunks of HVI_LANES instances, handed to threads. A chunk runs side by side in lanes
 * where it can, and otherwise one instance after another through the ordinary solver.
 *
 * A chunk writes only the columns of its own instances, and what it computes depends on its number
 * alone; so do the sums over chunks, taken in their order.
 */
#include <hvi/ensemble.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/parallel.h"
#include "ensemble/lanes.h"

#include <pthread.h>

/* What a chunk tells besides its rows. */
typedef struct chunk_note {
  double seconds;
  bool lanes;
} chunk_note;

/* An ensemble under way. */
typedef struct job {
  hvi_ensemble *out;
  hvi_instance_fn make;
  void *context;
  const hvi_settings *method;
  const hvi_ensemble_settings *settings;
  hvi_lanes_plan *plan;           /* NULL: the ordinary solver */
  const hvi_lanes_kernel *kernel; /* with a plan */
  chunk_note *notes;              /* [chunks] */

  pthread_mutex_t lock; /* of what follows, and of the progress function */
  size_t done;
  bool stopped;
} job;

typedef struct chunk {
  const job *job;
  size_t first, count;
  /* in lanes */
  const hvi_lanes_plan *plan;
  hvi_lane *slots;
  size_t left;      /* instances that have not ended */
  size_t iteration; /* t */
} chunk;

static hvi_status with_instance(hvi_error *err, const hvi_error *cause, hvi_status status,
                                size_t index) {
  const char *text = cause->text[0] ? cause->text : hvi_status_text(status);
  return hvi_error_set(err, status, "instance %zu: %s", index, text);
}

/* Makes instance `index`. */
static hvi_status make(const job *j, size_t index, hvi_problem **problem, hvi_error *err) {
  hvi_error cause = {0};
  hvi_status status = j->make(j->context, index, problem, &cause);
  return status ? with_instance(err, &cause, status, index) : HVI_OK;
}

/* Makes it and checks the method on it; *eta is the step size in force. */
static hvi_status make_checked(const job *j, size_t index, hvi_problem **problem, double *eta,
                               hvi_error *err) {
  hvi_error cause = {0};
  HVI_TRY(make(j, index, problem, err));
  /* the solver knows which settings are right and what the step rule comes to */
  hvi_solver *solver;
  hvi_status status = hvi_solver_new(&solver, *problem, j->method, &cause);
  if (status) {
    hvi_problem_free(*problem);
    return with_instance(err, &cause, status, index);
  }
  *eta = hvi_solver_info(solver).eta;
  hvi_solver_free(solver);
  return HVI_OK;
}

/* In lanes: load, iterate, write rows, and end each instance where the solver would. */

/* *fits is false when the instances do not all have the plan's shape. */
static hvi_status load(const chunk *c, bool *fits, hvi_error *err) {
  *fits = true;
  for (size_t i = 0; i < c->count && *fits; i++) {
    hvi_problem *p;
    double eta;
    HVI_TRY(make_checked(c->job, c->first + i, &p, &eta, err));
    *fits = hvi_lanes_load(c->plan, c->slots, i, p, c->job->method, eta);
    hvi_problem_free(p);
  }
  return HVI_OK;
}

/* Lanes beyond the last instance repeat it and are never active. */
static void pad(const chunk *c) {
  for (size_t i = c->count; i < HVI_LANES; i++) {
    for (size_t k = 0; k < c->plan->slots; k++) c->slots[k].at[i] = c->slots[k].at[c->count - 1];
    c->slots[c->plan->active].at[i] = 0.0;
  }
}

static void set_bounds(const chunk *c) {
  const hvi_lane *residual2 = &c->slots[c->plan->residual2];
  hvi_lane *bound2 = &c->slots[c->plan->bound2];
  for (size_t i = 0; i < HVI_LANES; i++) {
    const double bound = c->plan->growth_bound * (1.0 + sqrt(residual2->at[i]));
    bound2->at[i] = bound * bound;
  }
}

static bool finite_lane(const chunk *c, size_t lane, size_t slot, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(c->slots[slot + i].at[lane])) return false;
  return true;
}

/* As the solver decides, in the same order. */
static hvi_outcome judge(const chunk *c, size_t lane) {
  const hvi_lanes_plan *plan = c->plan;
  const double residual2 = c->slots[plan->residual2].at[lane];
  if (!finite_lane(c, lane, plan->theta, plan->d) || !finite_lane(c, lane, plan->z, plan->n) ||
      !finite_lane(c, lane, plan->f, plan->n) || residual2 > c->slots[plan->bound2].at[lane])
    return HVI_DIVERGED;
  if (residual2 <= plan->tol2) return HVI_CONVERGED;
  if (c->slots[plan->still].at[lane] >= plan->stall_window) return HVI_STALLED;
  return c->iteration >= c->job->method->max_outer ? HVI_LIMIT : HVI_RUNNING;
}

static void end_lanes(chunk *c) {
  for (size_t i = 0; i < c->count; i++) {
    double *active = &c->slots[c->plan->active].at[i];
    if (*active == 0.0) continue;
    const hvi_outcome outcome = judge(c, i);
    if (outcome == HVI_RUNNING) continue;
    c->job->out->outcome[c->first + i] = outcome;
    *active = 0.0;
    c->left--;
  }
}

/* `alive` holds the lanes that took part in this iteration: the others have no loss ratio. */
static void write_lanes(const chunk *c, size_t row, const hvi_lane *alive) {
  const hvi_ensemble *out = c->job->out;
  const hvi_lane *slots = c->slots;
  const size_t at = row * out->count + c->first;
  for (size_t i = 0; i < c->count; i++) {
    const bool diverged = out->outcome[c->first + i] == HVI_DIVERGED;
    const double loss0 = slots[c->plan->loss0].at[i], loss = slots[c->plan->loss].at[i];
    out->dist2[at + i] = diverged ? INFINITY : slots[c->plan->dist2].at[i];
    out->residual[at + i] = diverged ? INFINITY : sqrt(slots[c->plan->residual2].at[i]);
    out->ratio[at + i] = row > 0 && alive->at[i] != 0.0 ? loss / loss0 : NAN;
  }
}

static size_t inner_steps(const chunk *c) {
  const hvi_settings *s = c->job->method;
  const double grown = s->inner_growth * (double)(c->iteration - 1);
  return s->inner_steps + (size_t)fmin(grown, 1e15);
}

static void iterate(chunk *c) {
  const hvi_lanes_kernel *kernel = c->job->kernel;
  const hvi_ensemble *out = c->job->out;
  const size_t last = c->job->method->max_outer;
  const hvi_lane *active = &c->slots[c->plan->active];
  size_t row = 0;
  kernel->start(c->plan, c->slots);
  set_bounds(c);
  if (kernel->ended(c->plan, c->slots)) end_lanes(c);
  write_lanes(c, row++, active);
  while (c->left > 0) {
    const bool record = ++c->iteration == out->outer[row];
    const hvi_lane alive = *active;
    kernel->step(c->plan, c->slots, inner_steps(c), record);
    if (c->iteration == last || kernel->ended(c->plan, c->slots)) end_lanes(c);
    if (record) write_lanes(c, row++, &alive);
  }
  /* rows that no instance reached: their values as they ended */
  if (row == out->rows) return;
  const hvi_lane nobody = {{0.0}};
  kernel->start(c->plan, c->slots);
  for (; row < out->rows; row++) write_lanes(c, row, &nobody);
}

/* note->lanes is false, and nothing has been done, when lanes cannot. */
static hvi_status run_lanes(chunk *c, chunk_note *note, hvi_error *err) {
  c->slots = hvi_alloc(c->plan->slots, sizeof *c->slots);
  if (!c->slots) return hvi_error_memory(err, "a chunk of an ensemble");
  hvi_status status = load(c, &note->lanes, err);
  if (!status && note->lanes) {
    const double start = hvi_clock_now();
    pad(c);
    iterate(c);
    note->seconds = hvi_clock_now() - start;
  }
  hvi_free(c->slots);
  return status;
}

/* Through the ordinary solver, rows taken by an observer. */

typedef struct column {
  const job *job;
  size_t index;
  size_t row;             /* the next to be written */
  double dist2, residual; /* of the last record */
} column;

static void write_row(column *c, double ratio) {
  const hvi_ensemble *out = c->job->out;
  const size_t at = c->row++ * out->count + c->index;
  out->dist2[at] = c->dist2;
  out->residual[at] = c->residual;
  out->ratio[at] = ratio;
}

static bool observe(void *context, const hvi_record *record) {
  column *c = context;
  c->dist2 = record->dist2;
  c->residual = record->residual;
  if (record->outer == c->job->out->outer[c->row]) write_row(c, record->ratio);
  return true;
}

/* A diverged instance has no distance any more, from the row on in which that was seen. */
static void finish(column *c, const hvi_info *info) {
  hvi_ensemble *out = c->job->out;
  out->outcome[c->index] = info->outcome;
  if (info->outcome == HVI_DIVERGED) {
    c->dist2 = c->residual = INFINITY;
    if (c->row > 0 && out->outer[c->row - 1] == info->last.outer) {
      c->row--;
      write_row(c, info->last.ratio);
    }
  }
  while (c->row < out->rows) write_row(c, NAN);
}

static hvi_status run_one(const job *j, size_t index, double *seconds, hvi_error *err) {
  column c = {.job = j, .index = index};
  hvi_settings s = *j->method;
  hvi_problem *p;
  hvi_solver *solver;
  HVI_TRY(make(j, index, &p, err));
  s.observe = observe;
  s.observer_context = &c;
  hvi_status status = hvi_solver_new(&solver, p, &s, err);
  if (!status) {
    const double start = hvi_clock_now();
    hvi_solver_run(solver);
    *seconds += hvi_clock_now() - start;
    const hvi_info info = hvi_solver_info(solver);
    finish(&c, &info);
    hvi_solver_free(solver);
  }
  hvi_problem_free(p);
  return status;
}

/* Reports a finished chunk; false: no further one is wanted. */
static bool tell(job *j, size_t count) {
  const hvi_ensemble_settings *s = j->settings;
  pthread_mutex_lock(&j->lock);
  j->done += count;
  if (count > 0 && s->progress && !j->stopped)
    j->stopped = !s->progress(s->progress_context, j->done);
  const bool go_on = !j->stopped;
  pthread_mutex_unlock(&j->lock);
  return go_on;
}

/* Instances that were never run: outcome stopped, no numbers. */
static void leave_out(const chunk *c) {
  hvi_ensemble *out = c->job->out;
  for (size_t i = c->first; i < c->first + c->count; i++) {
    out->outcome[i] = HVI_STOPPED;
    for (size_t row = 0; row < out->rows; row++) {
      const size_t at = row * out->count + i;
      out->dist2[at] = out->residual[at] = out->ratio[at] = NAN;
    }
  }
}

static hvi_status run_chunk(void *context, size_t number, size_t worker, hvi_error *err) {
  (void)worker;
  job *j = context;
  chunk_note *note = &j->notes[number];
  const size_t first = number * HVI_LANES, rest = j->out->count - first;
  const size_t count = rest < HVI_LANES ? rest : HVI_LANES;
  chunk c = {.job = j, .plan = j->plan, .first = first, .count = count, .left = count};
  hvi_status status = HVI_OK;
  if (!tell(j, 0)) {
    leave_out(&c);
    return HVI_OK;
  }
  if (j->plan) status = run_lanes(&c, note, err);
  for (size_t i = 0; i < count && !note->lanes && !status; i++)
    status = run_one(j, first + i, &note->seconds, err);
  if (!status) tell(j, count);
  return status;
}

/* One block for all rows, so that a failed allocation leaves nothing behind. */
static hvi_ensemble *ensemble_new(size_t count, size_t max_outer, size_t every) {
  hvi_ensemble *e = hvi_alloc(1, sizeof *e);
  if (!e) return NULL;
  const size_t rows = 1 + max_outer / every + (max_outer % every != 0);
  size_t cells;
  e->count = count;
  e->rows = rows;
  if (hvi_multiply_sizes(rows, count, &cells)) {
    e->dist2 = hvi_alloc_doubles(cells);
    e->residual = hvi_alloc_doubles(cells);
    e->ratio = hvi_alloc_doubles(cells);
    e->outer = hvi_alloc(rows, sizeof *e->outer);
    e->outcome = hvi_alloc(count, sizeof *e->outcome);
  }
  if (!e->dist2 || !e->residual || !e->ratio || !e->outer || !e->outcome) {
    hvi_ensemble_free(e);
    return NULL;
  }
  for (size_t i = 0; i < rows; i++) e->outer[i] = i * every < max_outer ? i * every : max_outer;
  return e;
}

void hvi_ensemble_free(hvi_ensemble *e) {
  if (!e) return;
  hvi_free(e->dist2);
  hvi_free(e->residual);
  hvi_free(e->ratio);
  hvi_free(e->outer);
  hvi_free(e->outcome);
  hvi_free(e);
}

const hvi_lanes_kernel *const *hvi_lanes_kernels(void) {
  static const hvi_lanes_kernel *const all[] = HVI_CPU_BUILDS(hvi_lanes);
  return all + hvi_cpu_builds_skipped();
}

/* Instance 0 shows what the others look like. */
static hvi_status make_plan(job *j, hvi_error *err) {
  hvi_problem *p;
  double eta;
  hvi_status status = make_checked(j, 0, &p, &eta, err);
  if (status) return status;
  if (!j->settings->scalar) status = hvi_lanes_plan_new(&j->plan, p, j->method, err);
  hvi_problem_free(p);
  j->kernel = hvi_lanes_kernels()[0];
  return status;
}

static hvi_status run(job *j, hvi_error *err) {
  const hvi_ensemble_settings *s = j->settings;
  const size_t chunks = (s->count + HVI_LANES - 1) / HVI_LANES;
  hvi_status status = make_plan(j, err);
  if (status) return status;
  hvi_ensemble *out = j->out =
      ensemble_new(s->count, j->method->max_outer, s->record_every ? s->record_every : 1);
  j->notes = hvi_alloc(chunks, sizeof *j->notes);
  if (out && j->notes) {
    status = hvi_parallel_run(chunks, s->threads, run_chunk, j, err);
    out->lanes = true;
    for (size_t i = 0; i < chunks; i++) {
      out->seconds += j->notes[i].seconds;
      out->lanes = out->lanes && j->notes[i].lanes;
    }
  } else {
    status = hvi_error_memory(err, "an ensemble's rows");
  }
  hvi_free(j->notes);
  hvi_lanes_plan_free(j->plan);
  return status;
}

hvi_status hvi_ensemble_run(hvi_ensemble **ensemble, hvi_instance_fn make_instance, void *context,
                            const hvi_settings *method, const hvi_ensemble_settings *s,
                            hvi_error *err) {
  *ensemble = NULL;
  if (!make_instance || !method || !s)
    return hvi_error_argument(err, "an ensemble needs instances, a method and settings");
  if (s->count == 0 || method->max_outer == 0) {
    return hvi_error_argument(err, "an ensemble needs %s",
                              s->count == 0 ? "at least one instance" : "an iteration limit");
  }
  if (method->observe) {
    return hvi_error_argument(
        err, "an ensemble has no observer of single rows: use its progress function");
  }
  job j = {.make = make_instance, .context = context, .method = method, .settings = s};
  if (pthread_mutex_init(&j.lock, NULL) != 0) return hvi_error_memory(err, "a lock");
  hvi_status status = run(&j, err);
  pthread_mutex_destroy(&j.lock);
  if (status) {
    hvi_ensemble_free(j.out);
    return status;
  }
  *ensemble = j.out;
  return HVI_OK;
}
