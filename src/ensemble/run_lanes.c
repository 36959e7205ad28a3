/* A chunk in lanes: load, iterate, write rows, and end each instance where the solver would. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "ensemble/run.h"

#include <math.h>

typedef struct chunk {
  const hvi_ensemble_job *job;
  const hvi_lanes_plan *plan;
  hvi_lane *slots;
  size_t first, count;
  size_t left;      /* instances that have not ended */
  size_t iteration; /* t */
} chunk;

static hvi_status load(const chunk *c, bool *fits, hvi_error *err) {
  *fits = true;
  for (size_t i = 0; i < c->count && *fits; i++) {
    hvi_problem *p;
    double eta;
    hvi_status status = hvi_ensemble_make(c->job, c->first + i, &p, &eta, err);
    if (status) return status;
    *fits = hvi_lanes_load(c->plan, c->slots, i, p, c->job->method, eta);
    hvi_problem_free(p);
  }
  return HVI_OK;
}

/* Lanes beyond the last instance repeat it and are never active. */
static void pad(const chunk *c) {
  for (size_t i = c->count; i < HVI_LANES; i++) {
    for (size_t k = 0; k < c->plan->slots; k++) {
      c->slots[k].at[i] = c->slots[k].at[c->count - 1];
    }
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
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(c->slots[slot + i].at[lane])) return false;
  }
  return true;
}

/* As the solver decides, in the same order. */
static hvi_outcome judge(const chunk *c, size_t lane) {
  const hvi_lanes_plan *plan = c->plan;
  const double residual2 = c->slots[plan->residual2].at[lane];
  if (!finite_lane(c, lane, plan->theta, plan->d) || !finite_lane(c, lane, plan->z, plan->n) ||
      !finite_lane(c, lane, plan->f, plan->n) || residual2 > c->slots[plan->bound2].at[lane]) {
    return HVI_DIVERGED;
  }
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
static void write_row(const chunk *c, size_t row, const hvi_lane *alive) {
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
  const size_t last = c->job->method->max_outer;
  const hvi_lane *active = &c->slots[c->plan->active];
  size_t row = 0;
  kernel->start(c->plan, c->slots);
  set_bounds(c);
  if (last == 0 || kernel->ended(c->plan, c->slots)) end_lanes(c);
  write_row(c, row++, active);
  while (c->left > 0) {
    const bool record = ++c->iteration == c->job->out->outer[row];
    const hvi_lane alive = *active;
    kernel->step(c->plan, c->slots, inner_steps(c), record);
    if (c->iteration == last || kernel->ended(c->plan, c->slots)) end_lanes(c);
    if (record) write_row(c, row++, &alive);
  }
  /* rows that no instance reached: their values as they ended */
  if (row == c->job->out->rows) return;
  const hvi_lane nobody = {{0.0}};
  kernel->start(c->plan, c->slots);
  for (; row < c->job->out->rows; row++) write_row(c, row, &nobody);
}

hvi_status hvi_ensemble_run_lanes(const hvi_ensemble_job *job, size_t first, size_t count,
                                  double *seconds, bool *fits, hvi_error *err) {
  chunk c = {.job = job, .plan = job->plan, .first = first, .count = count, .left = count};
  c.slots = hvi_alloc(job->plan->slots, sizeof *c.slots);
  if (!c.slots) return hvi_error_memory(err, "a chunk of an ensemble");
  hvi_status status = load(&c, fits, err);
  if (!status && *fits) {
    const double start = hvi_clock_now();
    pad(&c);
    iterate(&c);
    *seconds = hvi_clock_now() - start;
  }
  hvi_free(c.slots);
  return status;
}
