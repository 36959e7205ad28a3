#include "theory/watch.h"

#include "base/error.h"
#include "base/memory.h"
#include "num/stats.h"
#include "num/vec.h"
#include "theory/rate_fit.h"
#include "theory/steps.h"

#include <math.h>

/* Residual at which the run ends: no iterate comes closer than this and means it. */
static const double tiny_residual = 1e-14;

typedef struct log_book {
  hvi_steps steps;
  bool plain, known; /* the theorem's loop; z* is known */
  size_t rows;       /* row 0 included */
  double floor;      /* what counts as rounding in x */
  double *x;         /* [steps + 1] dist2, or the squared residual */
  double *alpha;     /* [steps] of the steps before rounding, in order */
  double *share;     /* [steps] */
  size_t measured;   /* how many of these */
  double *scratch;   /* [steps + 1] */
  double *memory;
} log_book;

bool hvi_watch_is_plain(const hvi_problem *p, const hvi_settings *s) {
  return !p->ops->draw && !s->baseline && !s->alternating && s->target == HVI_TARGET_PLAIN &&
         s->eta_decay == 0.0;
}

/* The alpha test of the solver may use another floor than the true one, so plain steps are measured
 * afresh. */
static void enter_step(log_book *b, const hvi_record *row) {
  if (!b->plain) {
    b->alpha[b->measured] = row->alpha;
    b->share[b->measured++] = NAN;
    return;
  }
  const hvi_step step = hvi_steps_measure(&b->steps, row->z);
  b->alpha[b->measured] = step.alpha;
  b->share[b->measured++] = step.taken / step.exact;
}

static bool observe(void *context, const hvi_record *row) {
  log_book *b = context;
  const double residual2 = row->residual * row->residual;
  if (row->outer == 0) {
    const double size = hvi_vec_norm2(row->z, b->steps.problem->model->out);
    b->floor = hvi_rate_rounding * (1.0 + size);
  } else if (b->x[b->rows - 1] > b->floor) {
    enter_step(b, row);
  }
  b->x[b->rows++] = b->known ? row->dist2 : residual2;
  if (b->plain) hvi_steps_stand(&b->steps, row->theta, row->z);
  return true;
}

static size_t keep_numbers(double *out, const double *x, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (isfinite(x[i])) out[kept++] = x[i];
  }
  return kept;
}

static double median(const double *x, size_t n, double *scratch) {
  return hvi_stats_quantile(scratch, keep_numbers(scratch, x, n), 0.5);
}

static double largest(const double *x, size_t from, size_t to) {
  double most = x[from];
  for (size_t i = from; i < to; i++) most = x[i] > most ? x[i] : most;
  return most;
}

static void sum_up(hvi_watch *w, const log_book *b) {
  const size_t late = b->measured - b->measured / 4, n = b->rows;
  w->alpha_median = median(b->alpha, b->measured, b->scratch);
  w->alpha_late = median(b->alpha + late, b->measured - late, b->scratch);
  w->step_share = median(b->share, b->measured, b->scratch);
  const size_t kept = keep_numbers(b->scratch, b->alpha, b->measured);
  w->alpha_worst = kept ? largest(b->scratch, 0, kept) : NAN;
  w->rate = hvi_rate_fit(b->x, n, b->floor, b->scratch);
  w->drop = n < 4 ? NAN : largest(b->x, n - n / 4, n) / largest(b->x, n / 4, n / 2);
  w->arrived = n > 0 && b->x[n - 1] <= b->floor;
}

static hvi_status book_new(log_book *b, const hvi_problem *p, const hvi_settings *s, size_t steps,
                           hvi_error *err) {
  *b = (log_book){.plain = hvi_watch_is_plain(p, s), .known = p->solution || p->ops->dist2};
  b->memory = hvi_alloc_doubles(4 * (steps + 1));
  if (!b->memory) return hvi_error_memory(err, "watching a run");
  b->x = b->memory;
  b->alpha = b->x + steps + 1;
  b->share = b->alpha + steps + 1;
  b->scratch = b->share + steps + 1;
  return HVI_OK;
}

static hvi_status run(hvi_watch *w, log_book *b, const hvi_problem *p, const hvi_settings *s,
                      hvi_error *err) {
  hvi_solver *solver;
  hvi_status status = hvi_solver_new(&solver, p, s, err);
  if (status) return status;
  w->eta = hvi_solver_info(solver).eta;
  status = hvi_steps_new(&b->steps, p, s, w->eta, err);
  if (!status) {
    hvi_solver_run(solver);
    const hvi_info info = hvi_solver_info(solver);
    w->outcome = info.outcome;
    w->outer = info.last.outer;
    w->dist2 = info.last.dist2;
    w->residual = info.last.residual;
    sum_up(w, b);
    hvi_steps_free(&b->steps);
  }
  hvi_solver_free(solver);
  return status;
}

hvi_status hvi_watch_run(hvi_watch *w, const hvi_problem *p, const hvi_settings *s, size_t steps,
                         hvi_error *err) {
  *w = (hvi_watch){.eta = NAN};
  log_book b;
  hvi_status status = book_new(&b, p, s, steps, err);
  if (status) return status;
  hvi_settings own = *s;
  own.max_outer = steps;
  own.max_f_evals = 0;
  own.tol = p->ops->draw ? 0.0 : tiny_residual;
  own.observe = observe;
  own.observer_context = &b;
  status = run(w, &b, p, &own, err);
  hvi_free(b.memory);
  return status;
}
