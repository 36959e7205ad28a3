/*
 * Inner errors that only tend to zero. With kappa the contraction of the exact step,
 *
 *   |z_{t+1} - z*| <= kappa |z_t - z*| + |z_{t+1} - z_t^*|
 *
 * so the distance follows the errors to zero, whatever alpha is. Errors point away from the
 * solution and have lengths 1/(t+1), 1/sqrt(t+1), or come in bursts, one in a hundred steps: then
 * alpha is far above one again and again. Errors of a constant length are the control.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "report/csv.h"

#include <hvi/theory.h>

#include <math.h>

enum { PERIOD = 100, COURSES = 4 };

static double harmonic(size_t t) { return 1.0 / (double)(t + 1); }
static double root(size_t t) { return 1.0 / sqrt((double)(t + 1)); }
static double bursts(size_t t) { return t % PERIOD ? 0.0 : 1.0 / (double)(t / PERIOD + 1); }
static double constant(size_t t) {
  (void)t;
  return 0.1;
}

static double (*const courses[COURSES])(size_t) = {harmonic, root, bursts, constant};

typedef struct trail {
  double kappa;
  double *dist; /* [steps + 1] |z_t - z*| */
  size_t steps;
  double recursion;
  double alpha_late; /* in the later half */
  size_t total;
} trail;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  trail *t = context;
  const double now = sqrt(step->dist2);
  if (t->steps == 0) t->dist[0] = sqrt(step->dist2 / step->contraction);
  const double bound = t->kappa * t->dist[t->steps] + step->error;
  t->dist[++t->steps] = now;
  /* near the solution only rounding is left of the distance */
  if (bound > 1e-7) t->recursion = fmax(t->recursion, now / bound);
  if (row->outer > t->total / 2 && bound > 1e-7) t->alpha_late = fmax(t->alpha_late, step->alpha);
  return true;
}

/* About two hundred rows, evenly on a logarithmic axis. */
static hvi_status write_trails(const char *folder, const trail *t, hvi_error *err) {
  hvi_csv csv;
  hvi_status status =
      hvi_lab_csv(&csv, folder, "vanishing", "step,harmonic,root,bursts,constant", err);
  if (status) return status;
  size_t next = 1;
  for (size_t i = 1; i <= t[0].steps; i++) {
    if (i < next) continue;
    hvi_csv_count(&csv, i);
    for (size_t k = 0; k < COURSES; k++) hvi_csv_number(&csv, t[k].dist[i]);
    hvi_csv_end(&csv);
    next = 1 + (size_t)((double)i * 1.04);
  }
  status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  return status;
}

static hvi_status run_course(trail *t, const hvi_problem *p, double (*length)(size_t), double eta,
                             hvi_error *err) {
  const hvi_placement place = {
      .problem = p, .direct = true, .bias = HVI_BIAS_AWAY, .length = length};
  const hvi_settings s = hvi_lab_settings(&place, eta, t->total);
  return hvi_lab_run(p, &s, see, t, err);
}

static void sum_up(hvi_theory_vanish_worst *w, const trail *t) {
  for (size_t k = 0; k < COURSES; k++) {
    const double end = t[k].dist[t[k].steps] / t[k].dist[0];
    w->recursion = fmax(w->recursion, t[k].recursion);
    if (courses[k] == constant)
      w->control_end = end;
    else
      w->end = fmax(w->end, end);
    if (courses[k] == bursts) w->alpha_late = t[k].alpha_late;
  }
}

void hvi_theory_vanish_judge(hvi_claims *claims, const hvi_theory_vanish_worst *w) {
  hvi_claim *c =
      hvi_claims_add(claims, "vanishing-errors", "proposition, vanishing inner errors",
                     "Where the exact step contracts, inner errors that tend to zero are enough "
                     "for convergence; no bound on alpha is needed.");
  hvi_claim_measure(c, "largest |z - z*|, last / first", w->end);
  hvi_claim_measure(c, "the same with errors of constant length", w->control_end);
  hvi_claim_measure(c, "largest |z_t+1 - z*| / (kappa |z_t - z*| + error)", w->recursion);
  hvi_claim_measure(c, "largest alpha in the later half, bursts", w->alpha_late);
  hvi_claim_measure(c, "mu / L", w->alpha_max);
  hvi_claim_note(c, "errors away from the solution, of length 1/(t+1), 1/sqrt(t+1), and in bursts");
  hvi_claim_judge(c, w->recursion <= 1.0 + hvi_theory_slack && w->end <= 0.1 &&
                         w->end <= 0.5 * w->control_end && w->alpha_late > w->alpha_max);
}

hvi_status hvi_theory_vanish(const hvi_theory_part *part, hvi_error *err) {
  static const hvi_lab_shape shape = {8, 1.0, 2.0, 1.0, false};
  const size_t steps = part->full ? 50000 : 5000;
  const hvi_rates best = hvi_theory_rates(shape.mu, shape.lipschitz, 0.25, 0.0);
  hvi_theory_vanish_worst w = {.alpha_max = best.alpha_max};
  trail t[COURSES] = {{0}};
  hvi_problem *p;
  hvi_status status = hvi_lab_quadratic(&p, &shape, part->seed, 1, err);
  if (status) return status;
  double *dist = hvi_alloc_doubles(COURSES * (steps + 1));
  if (!dist) status = hvi_error_memory(err, "vanishing errors");
  for (size_t k = 0; k < COURSES && !status; k++) {
    t[k] = (trail){.kappa = sqrt(best.kappa2), .dist = dist + k * (steps + 1), .total = steps};
    status = run_course(&t[k], p, courses[k], best.eta_best, err);
  }
  if (!status) status = write_trails(part->folder, t, err);
  if (!status) sum_up(&w, t);
  hvi_free(dist);
  hvi_problem_free(p);
  if (!status) hvi_theory_vanish_judge(part->claims, &w);
  return status;
}
