/*
 * Ensembles: chunks of HVI_LANES instances, handed to threads.
 *
 * A chunk writes only the columns of its own instances, and what it computes depends on its number
 * alone; so do the sums over chunks, taken in their order.
 */
#include <hvi/ensemble.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "ensemble/run.h"

#include <math.h>

static hvi_status with_instance(hvi_error *err, const hvi_error *cause, hvi_status status,
                                size_t index) {
  const char *text = cause->text[0] ? cause->text : hvi_status_text(status);
  return hvi_error_set(err, status, "instance %zu: %s", index, text);
}

hvi_status hvi_ensemble_make(const hvi_ensemble_job *job, size_t index, hvi_problem **problem,
                             double *eta, hvi_error *err) {
  hvi_error cause = {0};
  hvi_status status = job->make(job->context, index, problem, &cause);
  if (status) return with_instance(err, &cause, status, index);
  if (!eta) return HVI_OK;
  /* the solver knows which settings are right and what the step rule comes to */
  hvi_solver *solver;
  status = hvi_solver_new(&solver, *problem, job->method, &cause);
  if (status) {
    hvi_problem_free(*problem);
    return with_instance(err, &cause, status, index);
  }
  *eta = hvi_solver_info(solver).eta;
  hvi_solver_free(solver);
  return HVI_OK;
}

/* Reports a finished chunk; false: no further one is wanted. */
static bool tell(hvi_ensemble_job *job, size_t count) {
  const hvi_ensemble_settings *s = job->settings;
  pthread_mutex_lock(&job->lock);
  job->done += count;
  if (count > 0 && s->progress && !job->stopped) {
    job->stopped = !s->progress(s->progress_context, job->done);
  }
  const bool go_on = !job->stopped;
  pthread_mutex_unlock(&job->lock);
  return go_on;
}

/* Instances that were never run: outcome stopped, no numbers. */
static void leave_out(const hvi_ensemble_job *job, size_t first, size_t count) {
  hvi_ensemble *out = job->out;
  for (size_t i = first; i < first + count; i++) {
    out->outcome[i] = HVI_STOPPED;
    for (size_t row = 0; row < out->rows; row++) {
      const size_t at = row * out->count + i;
      out->dist2[at] = out->residual[at] = out->ratio[at] = NAN;
    }
  }
}

static hvi_status run_chunk(void *context, size_t number, size_t worker, hvi_error *err) {
  (void)worker;
  hvi_ensemble_job *job = context;
  hvi_chunk_note *note = &job->notes[number];
  const size_t first = number * HVI_LANES, rest = job->out->count - first;
  const size_t count = rest < HVI_LANES ? rest : HVI_LANES;
  hvi_status status = HVI_OK;
  if (!tell(job, 0)) {
    leave_out(job, first, count);
    return HVI_OK;
  }
  if (job->plan) {
    status = hvi_ensemble_run_lanes(job, first, count, &note->seconds, &note->lanes, err);
  }
  if (!status && !note->lanes) {
    status = hvi_ensemble_run_scalar(job, first, count, &note->seconds, err);
  }
  if (!status) tell(job, count);
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
static hvi_status make_plan(hvi_ensemble_job *job, hvi_lanes_plan **plan, hvi_error *err) {
  hvi_problem *p;
  double eta;
  hvi_status status = hvi_ensemble_make(job, 0, &p, &eta, err);
  if (status) return status;
  *plan = NULL;
  if (!job->settings->scalar) status = hvi_lanes_plan_new(plan, p, job->method, err);
  hvi_problem_free(p);
  job->plan = *plan;
  job->kernel = hvi_lanes_kernels()[0];
  return status;
}

static void sum_up(hvi_ensemble *out, const hvi_chunk_note *notes, size_t chunks) {
  out->lanes = true;
  for (size_t i = 0; i < chunks; i++) {
    out->seconds += notes[i].seconds;
    out->lanes = out->lanes && notes[i].lanes;
  }
}

static hvi_status run(hvi_ensemble_job *job, hvi_error *err) {
  hvi_lanes_plan *plan;
  hvi_status status = make_plan(job, &plan, err);
  if (status) return status;
  const size_t count = job->settings->count, chunks = (count + HVI_LANES - 1) / HVI_LANES;
  job->out = ensemble_new(count, job->method->max_outer, job->every);
  job->notes = hvi_alloc(chunks, sizeof *job->notes);
  if (job->out && job->notes) {
    status = hvi_parallel_run(chunks, job->settings->threads, run_chunk, job, err);
    sum_up(job->out, job->notes, chunks);
  } else {
    status = hvi_error_memory(err, "an ensemble's rows");
  }
  hvi_free(job->notes);
  hvi_lanes_plan_free(plan);
  return status;
}

hvi_status hvi_ensemble_run(hvi_ensemble **ensemble, hvi_instance_fn make, void *context,
                            const hvi_settings *method, const hvi_ensemble_settings *s,
                            hvi_error *err) {
  *ensemble = NULL;
  if (!make || !method || !s) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "an ensemble needs instances, a method and settings");
  }
  if (s->count == 0 || method->max_outer == 0) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "an ensemble needs %s",
                         s->count == 0 ? "at least one instance" : "an iteration limit");
  }
  if (method->observe) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "an ensemble has no observer of single rows: use its progress function");
  }
  hvi_ensemble_job job = {.make = make,
                          .context = context,
                          .method = method,
                          .settings = s,
                          .every = s->record_every ? s->record_every : 1};
  if (pthread_mutex_init(&job.lock, NULL) != 0) return hvi_error_memory(err, "a lock");
  hvi_status status = run(&job, err);
  pthread_mutex_destroy(&job.lock);
  if (status) {
    hvi_ensemble_free(job.out);
    return status;
  }
  *ensemble = job.out;
  return HVI_OK;
}
