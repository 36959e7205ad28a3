/* A chunk through the ordinary solver: one instance after another, rows taken by an observer. */
#include "base/clock.h"
#include "ensemble/run.h"

#include <math.h>

typedef struct tap {
  const hvi_ensemble_job *job;
  size_t index;
  size_t row;   /* the next to be written */
  double dist2; /* of the last record */
  double residual;
} tap;

static void write_row(tap *t, double ratio) {
  const hvi_ensemble *out = t->job->out;
  const size_t at = t->row++ * out->count + t->index;
  out->dist2[at] = t->dist2;
  out->residual[at] = t->residual;
  out->ratio[at] = ratio;
}

static bool observe(void *context, const hvi_record *record) {
  tap *t = context;
  t->dist2 = record->dist2;
  t->residual = record->residual;
  if (record->outer == t->job->out->outer[t->row]) write_row(t, record->ratio);
  return true;
}

/* A diverged instance has no distance any more, from the row on in which that was seen. */
static void finish(tap *t, const hvi_info *info) {
  hvi_ensemble *out = t->job->out;
  out->outcome[t->index] = info->outcome;
  if (info->outcome == HVI_DIVERGED) {
    t->dist2 = t->residual = INFINITY;
    if (t->row > 0 && out->outer[t->row - 1] == info->last.outer) {
      t->row--;
      write_row(t, info->last.ratio);
    }
  }
  while (t->row < out->rows) write_row(t, NAN);
}

static hvi_status run_one(const hvi_ensemble_job *job, size_t index, double *seconds,
                          hvi_error *err) {
  tap t = {.job = job, .index = index};
  hvi_settings s = *job->method;
  hvi_problem *p;
  hvi_solver *solver;
  hvi_status status = hvi_ensemble_make(job, index, &p, NULL, err);
  if (status) return status;
  s.observe = observe;
  s.observer_context = &t;
  status = hvi_solver_new(&solver, p, &s, err);
  if (!status) {
    const double start = hvi_clock_now();
    hvi_solver_run(solver);
    *seconds += hvi_clock_now() - start;
    const hvi_info info = hvi_solver_info(solver);
    finish(&t, &info);
    hvi_solver_free(solver);
  }
  hvi_problem_free(p);
  return status;
}

hvi_status hvi_ensemble_run_scalar(const hvi_ensemble_job *job, size_t first, size_t count,
                                   double *seconds, hvi_error *err) {
  hvi_status status = HVI_OK;
  *seconds = 0.0;
  for (size_t i = 0; i < count && !status; i++) status = run_one(job, first + i, seconds, err);
  return status;
}
