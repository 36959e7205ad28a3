/*
 * Ensembles: chunks of HVI_LANES instances, handed to threads. A chunk runs side by side in lanes
 * where it can, and otherwise one instance after another through the ordinary solver.
 *
 * A chunk writes only the columns of its own instances, and what it computes depends on its number
 * alone.
 */
#include <hvi/ensemble.h>

#include "base/base.h"
#include "base/cpu.h"
#include "base/parallel.h"
#include "ensemble/lanes.h"

#include <pthread.h>

typedef struct job {
  hvi_ensemble *out;
  hvi_instance_fn make;
  void *context;
  const hvi_settings *method;
  const hvi_ensemble_settings *settings;
  hvi_lanes_plan *plan; /* NULL: the ordinary solver */

  pthread_mutex_t lock; /* of what follows, of sums in `out`, and of the progress function */
  size_t done;
  _Atomic(bool) stopped;
} job;

typedef struct chunk {
  const job *job;
  size_t first, count;
  double seconds;
  bool lanes; /* whether it ran in lanes */
  /* in lanes */
  const hvi_lanes_plan *plan;
  hvi_lane *slots;
  size_t left;      /* instances that have not ended */
  size_t iteration; /* t */
} chunk;

/* A problem and its solver, which knows the settings that are right and the step size in force. */
typedef struct instance {
  hvi_problem *problem;
  hvi_solver *solver;
} instance;

static void drop(instance *i) {
  hvi_solver_free(i->solver);
  hvi_problem_free(i->problem);
}

static hvi_status make(const job *j, size_t index, const hvi_settings *method, instance *out,
                       hvi_error *err) {
  hvi_error cause = {0};
  hvi_status status = j->make(j->context, index, &out->problem, &cause);
  if (status)
    out->problem = NULL;
  else
    status = hvi_solver_new(&out->solver, out->problem, method, &cause);
  if (!status) return HVI_OK;
  const char *text = cause.text[0] ? cause.text : hvi_status_text(status);
  return hvi_error_set(err, status, "instance %zu: %s", index, text);
}

/* In lanes: load, iterate, write rows, and end each instance where the solver would. */

/* c->lanes is false when the instances do not all have the plan's shape. Lanes beyond the last
 * instance repeat it and are never active. */
static hvi_status load(chunk *c, hvi_error *err) {
  c->lanes = true;
  for (size_t i = 0; i < c->count && c->lanes; i++) {
    HVI_OWN_BY(drop) instance one = {0};
    HVI_TRY(make(c->job, c->job->settings->first + c->first + i, c->job->method, &one, err));
    const double eta = hvi_solver_info(one.solver).eta;
    HVI_TRY(hvi_lanes_load(c->plan, c->slots, i, one.problem, eta, &c->lanes, err));
  }
  for (size_t i = c->count; i < HVI_LANES; i++) {
    for (size_t k = 0; k < c->plan->slots; k++) c->slots[k].at[i] = c->slots[k].at[c->count - 1];
    c->slots[HVI_SLOT_ACTIVE].at[i] = 0.0;
  }
  return HVI_OK;
}

static void set_bounds(const chunk *c) {
  for (size_t i = 0; i < HVI_LANES; i++) {
    const double residual = sqrt(c->slots[HVI_SLOT_RESIDUAL2].at[i]);
    const double bound = c->plan->growth_bound * (1.0 + residual);
    c->slots[HVI_SLOT_BOUND2].at[i] = bound * bound;
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
  const double residual2 = c->slots[HVI_SLOT_RESIDUAL2].at[lane];
  if (!finite_lane(c, lane, plan->theta, plan->d) || !finite_lane(c, lane, plan->z, plan->n) ||
      !finite_lane(c, lane, plan->f, plan->n) || residual2 > c->slots[HVI_SLOT_BOUND2].at[lane])
    return HVI_DIVERGED;
  if (residual2 <= plan->tol2) return HVI_CONVERGED;
  if (c->slots[HVI_SLOT_STILL].at[lane] >= plan->stall_window) return HVI_STALLED;
  return c->iteration >= c->job->method->max_outer ? HVI_LIMIT : HVI_RUNNING;
}

static void end_lanes(chunk *c) {
  for (size_t i = 0; i < c->count; i++) {
    double *active = &c->slots[HVI_SLOT_ACTIVE].at[i];
    if (*active == 0.0) continue;
    const hvi_outcome outcome = judge(c, i);
    if (outcome == HVI_RUNNING) continue;
    c->job->out->outcome[c->first + i] = outcome;
    *active = 0.0;
    c->left--;
  }
}

static void write_row(const hvi_ensemble *out, size_t row, size_t index, double dist2,
                      double residual, double ratio) {
  const size_t at = row * out->count + index;
  out->dist2[at] = dist2;
  out->residual[at] = residual;
  out->ratio[at] = ratio;
}

/* `alive` holds the lanes that took part in this iteration: the others have no loss ratio. */
static void write_lanes(const chunk *c, size_t row, const hvi_lane *alive) {
  const hvi_ensemble *out = c->job->out;
  const hvi_lane *s = c->slots;
  for (size_t i = 0; i < c->count; i++) {
    const bool diverged = out->outcome[c->first + i] == HVI_DIVERGED;
    const double loss0 = s[HVI_SLOT_LOSS0].at[i], loss = s[HVI_SLOT_LOSS].at[i];
    write_row(out, row, c->first + i, diverged ? INFINITY : s[HVI_SLOT_DIST2].at[i],
              diverged ? INFINITY : sqrt(s[HVI_SLOT_RESIDUAL2].at[i]),
              row > 0 && alive->at[i] != 0.0 ? loss / loss0 : NAN);
  }
}

static void iterate(chunk *c) {
  const hvi_lanes_kernel *kernel = hvi_lanes_kernels()[0];
  const hvi_ensemble *out = c->job->out;
  const hvi_settings *method = c->job->method;
  const hvi_lane *active = &c->slots[HVI_SLOT_ACTIVE];
  hvi_lane alive = {{0.0}};
  size_t row = 0;
  kernel->start(c->plan, c->slots);
  set_bounds(c);
  if (kernel->ended(c->plan, c->slots)) end_lanes(c);
  write_lanes(c, row++, active);
  while (c->left > 0) {
    const bool record = ++c->iteration == out->outer[row];
    if (record) alive = *active;
    const double grown = method->inner_growth * (double)(c->iteration - 1);
    const size_t inner = method->inner_steps + (size_t)fmin(grown, 1e15);
    kernel->step(c->plan, c->slots, inner, record);
    if (c->iteration == method->max_outer || kernel->ended(c->plan, c->slots)) end_lanes(c);
    if (record) write_lanes(c, row++, &alive);
  }
  /* rows that no instance reached: their values as they ended */
  if (row == out->rows) return;
  const hvi_lane nobody = {{0.0}};
  kernel->start(c->plan, c->slots);
  for (; row < out->rows; row++) write_lanes(c, row, &nobody);
}

/* c->lanes is false, and nothing has been done, when lanes cannot. */
static hvi_status run_lanes(chunk *c, hvi_error *err) {
  HVI_OWN hvi_lane *slots = c->slots = hvi_alloc(c->plan->slots, sizeof *slots);
  if (!slots) return hvi_error_memory(err, "a chunk of an ensemble");
  HVI_TRY(load(c, err));
  const double start = hvi_clock_now();
  if (c->lanes) iterate(c);
  c->seconds = hvi_clock_now() - start;
  return HVI_OK;
}

/* Through the ordinary solver, rows taken by an observer. */

typedef struct column {
  const hvi_ensemble *out;
  size_t index;
  size_t row;             /* the next to be written */
  double dist2, residual; /* of the last record */
} column;

static bool observe(void *context, const hvi_record *record) {
  column *c = context;
  c->dist2 = record->dist2;
  c->residual = record->residual;
  if (record->outer == c->out->outer[c->row])
    write_row(c->out, c->row++, c->index, c->dist2, c->residual, record->ratio);
  return true;
}

/* A diverged instance has no distance any more, from the row on in which that was seen. */
static void finish(column *c, const hvi_info *info) {
  const hvi_ensemble *out = c->out;
  out->outcome[c->index] = info->outcome;
  if (info->outcome == HVI_DIVERGED) {
    c->dist2 = c->residual = INFINITY;
    if (c->row > 0 && out->outer[c->row - 1] == info->last.outer)
      write_row(out, c->row - 1, c->index, INFINITY, INFINITY, info->last.ratio);
  }
  while (c->row < out->rows) write_row(out, c->row++, c->index, c->dist2, c->residual, NAN);
}

static hvi_status run_one(chunk *part, size_t index, hvi_error *err) {
  const job *j = part->job;
  column c = {.out = j->out, .index = index};
  hvi_settings s = *j->method;
  HVI_OWN_BY(drop) instance one = {0};
  s.observe = observe;
  s.observer_context = &c;
  HVI_TRY(make(j, j->settings->first + index, &s, &one, err));
  const double start = hvi_clock_now();
  hvi_solver_run(one.solver);
  part->seconds += hvi_clock_now() - start;
  const hvi_info info = hvi_solver_info(one.solver);
  finish(&c, &info);
  return HVI_OK;
}

static hvi_status run_chunk(void *context, size_t number, size_t worker, hvi_error *err) {
  (void)worker;
  job *j = context;
  const hvi_ensemble_settings *s = j->settings;
  const size_t first = number * HVI_LANES, rest = j->out->count - first;
  const size_t count = rest < HVI_LANES ? rest : HVI_LANES;
  chunk c = {.job = j, .plan = j->plan, .first = first, .count = count, .left = count};
  if (j->stopped) return HVI_OK;
  if (j->plan) HVI_TRY(run_lanes(&c, err));
  for (size_t i = 0; i < count && !c.lanes; i++) HVI_TRY(run_one(&c, first + i, err));
  pthread_mutex_lock(&j->lock);
  j->done += count;
  j->out->seconds += c.seconds;
  j->out->lanes = j->out->lanes && c.lanes;
  if (s->progress && !j->stopped) j->stopped = !s->progress(s->progress_context, j->done);
  pthread_mutex_unlock(&j->lock);
  return HVI_OK;
}

/* In one block. Until an instance has run, its outcome is "stopped" and it has no numbers. */
hvi_ensemble *hvi_ensemble_new(size_t count, size_t max_outer, size_t every) {
  const size_t rows = 1 + max_outer / every + (max_outer % every != 0);
  size_t cells;
  if (!hvi_multiply_sizes(rows, count, &cells) || cells > SIZE_MAX / 128) return NULL;
  hvi_ensemble *e = hvi_alloc(1, sizeof *e + 3 * cells * sizeof(double) + rows * sizeof(size_t) +
                                     count * sizeof(hvi_outcome));
  if (!e) return NULL;
  *e = (hvi_ensemble){.count = count, .rows = rows, .lanes = true};
  e->dist2 = (void *)(e + 1);
  e->residual = e->dist2 + cells;
  e->ratio = e->residual + cells;
  e->outer = (void *)(e->ratio + cells);
  e->outcome = (void *)(e->outer + rows);
  for (size_t i = 0; i < 3 * cells; i++) e->dist2[i] = NAN;
  for (size_t i = 0; i < count; i++) e->outcome[i] = HVI_STOPPED;
  for (size_t i = 0; i < rows; i++) e->outer[i] = i * every < max_outer ? i * every : max_outer;
  return e;
}

void hvi_ensemble_free(hvi_ensemble *e) { hvi_free(e); }

const hvi_lanes_kernel *const *hvi_lanes_kernels(void) {
  static const hvi_lanes_kernel *const all[] = HVI_CPU_BUILDS(hvi_lanes);
  return all + hvi_cpu_builds_skipped();
}

/* Instance 0 shows what the others look like. */
static hvi_status make_plan(job *j, hvi_error *err) {
  HVI_OWN_BY(drop) instance one = {0};
  HVI_TRY(make(j, 0, j->method, &one, err));
  if (j->settings->scalar || j->method->automatic) return HVI_OK;
  return hvi_lanes_plan_new(&j->plan, one.problem, j->method, err);
}

static hvi_status run(job *j, hvi_ensemble **ensemble, hvi_error *err) {
  const hvi_ensemble_settings *s = j->settings;
  HVI_TRY(make_plan(j, err));
  HVI_OWN hvi_lanes_plan *plan = j->plan;
  HVI_OWN
  hvi_ensemble *out = j->out =
      hvi_ensemble_new(s->count, j->method->max_outer, s->record_every ? s->record_every : 1);
  if (!out) return hvi_error_memory(err, "an ensemble's rows");
  const size_t chunks = (s->count + HVI_LANES - 1) / HVI_LANES;
  HVI_TRY(hvi_parallel_run(chunks, s->threads, run_chunk, j, err));
  out->lanes = out->lanes && j->done == s->count;
  HVI_GIVE(ensemble, out);
}

hvi_status hvi_ensemble_run(hvi_ensemble **ensemble, hvi_instance_fn make_instance, void *context,
                            const hvi_settings *method, const hvi_ensemble_settings *s,
                            hvi_error *err) {
  if (!ensemble) return hvi_error_argument(err, "hvi_ensemble_run: nowhere to put the ensemble");
  *ensemble = NULL;
  if (!make_instance || !method || !s)
    return hvi_error_argument(err, "an ensemble needs instances, a method and settings");
  if (s->count == 0 || method->max_outer == 0)
    return hvi_error_argument(err, "an ensemble needs %s",
                              s->count == 0 ? "at least one instance" : "an iteration limit");
  if (method->observe)
    return hvi_error_argument(
        err, "an ensemble has no observer of single rows: use its progress function");
  hvi_settings own = *method;
  own.rounding = false; /* instances end together, as those in lanes do */
  hvi_settings_give(&own, "iters");
  job j = {.make = make_instance, .context = context, .method = &own, .settings = s};
  if (pthread_mutex_init(&j.lock, NULL) != 0) return hvi_error_memory(err, "a lock");
  const hvi_status status = run(&j, ensemble, err);
  pthread_mutex_destroy(&j.lock);
  return status;
}
