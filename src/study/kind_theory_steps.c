/*
 * Each step of a run against what the theorem, its lemma and the propositions say of it.
 *
 * kind: theory-steps. With inner errors of alpha, wherever they point, a step on a strongly monotone
 * F contracts the squared distance by
 *
 *   rho = 1 - 2 eta (mu - alpha L) + (1 + alpha^2) eta^2 L^2   or less;
 *
 * and by the lemma, for a monotone F and a solution in the relative interior of Z,
 *
 *   l_t(theta_t) - l_t^* <= eta^2 / 2 |F(z_t) - F(z*)|^2
 *   |z_{t+1} - z_t^*|    <= alpha eta |F(z_t) - F(z*)|,   alpha as reached.
 *
 * The counterexample is F(z) = [[1, 1], [-1, 1]] z, and an inner solver that ends at
 * v + alpha Q (z_t - v), alpha = 1/sqrt(2), Q the rotation by 45 degrees, which turns every step
 * into z - eta (z_2, -z_1). So |z| grows by sqrt(1 + eta^2) whatever eta is. For any alpha it grows
 * by sqrt((1 - eta k)^2 + eta^2), k = 1 - sqrt(2) alpha. With alpha < 1/sqrt(2) = mu / L a small eta
 * shrinks it, from there on none does: the theorem's bound on alpha is sharp.
 *
 * kind: theory-vanishing. Inner errors that only tend to zero. With kappa the contraction of the
 * exact step,
 *
 *   |z_{t+1} - z*| <= kappa |z_t - z*| + |z_{t+1} - z_t^*|
 *
 * so the distance follows the errors to zero, whatever alpha is. The factor `errors` is how long
 * they are: 1/(t+1), 1/sqrt(t+1), or in bursts, one in a hundred steps: then alpha is far above one
 * again and again. Errors of a constant length are the control.
 *
 * kind: theory-alpha. How much alpha matters on a game: gradient descent as inner solver, stopped as
 * soon as l - l* <= alpha^2 (l_0 - l*); outer iterations, inner steps and gradient computations
 * until |z - z*|^2 <= 1e-6.
 */
#include "base/base.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

/* Below this squared distance a contraction is rounding. */
static const double resolved_dist2 = 1e-12;
/* So are smaller changes of F and alphas, and losses above their floor that are this small against
 * the target's distance from Z, which they are differences of. */
static const double resolved_change = 1e-7, resolved_alpha = 1e-6, resolved_gap = 1e-9;

typedef struct tally {
  double least, most;             /* of the contraction */
  double alpha_least, alpha_most; /* as reached */
  double steps, changes, outside; /* how many; outside: the target lay outside Z */
  double error, gap;              /* largest, over their bounds */
} tally;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  tally *t = context;
  if (row->outer == 0) return true;
  if (step->change > resolved_change) {
    t->changes++;
    t->gap = fmax(t->gap, step->gap0 / (0.5 * step->change * step->change));
    t->outside += step->outside > 1e-9;
    if (step->alpha > resolved_alpha && step->gap > resolved_gap * step->outside)
      t->error = fmax(t->error, step->error / (step->alpha * step->change));
  }
  if (!(step->dist2 > resolved_dist2)) return true;
  t->least = fmin(t->least, step->contraction);
  t->most = fmax(t->most, step->contraction);
  t->alpha_least = fmin(t->alpha_least, step->alpha);
  t->alpha_most = fmax(t->alpha_most, step->alpha);
  t->steps++;
  return true;
}

static hvi_status run_steps(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  HVI_OWN_BY(hvi_lab_close) hvi_lab lab = {0};
  tally t = {.least = INFINITY, .alpha_least = INFINITY};
  hvi_constants k;
  HVI_TRY(hvi_lab_open(&lab, c, err));
  HVI_TRY(hvi_problem_constants(&k, lab.problem, err));
  HVI_TRY(hvi_lab_run(&lab, see, &t, err));
  const hvi_rates *r = &lab.rates;
  const double least = sqrt(t.least) - 1.0, most = sqrt(t.most) - 1.0;
  return hvi_rows_put(rows, 0, err, lab.alpha, lab.eta, r->rho, r->rho_sharp, t.most, t.steps,
                      t.changes, t.outside, t.error, t.gap, least, most, most / lab.eta,
                      fmax(lab.alpha - t.alpha_least, t.alpha_most - lab.alpha),
                      k.mu / k.lipschitz);
}

/* Contraction, error and gap are the largest, the latter two over their bounds; steps is how many
 * there were of which the contraction, and changes of which the change of F is more than rounding.
 * Growths are of the distance and less one, which is what is left of them at small eta; drift is the
 * largest over eta. */
const hvi_kind hvi_kind_theory_steps = {
    .name = "theory-steps",
    .summary = "each step against the theorem and its lemma",
    HVI_LAB_FACTORS(""),
    .tables = {{"",
                {{.name = "alpha eta rho rho_sharp contraction steps changes outside error gap "
                          "least_growth largest_growth drift alpha_error mu_over_L"}},
                NULL}},
    .run = run_steps};
enum { PERIOD = 100 };

static double harmonic(size_t t) { return 1.0 / (double)(t + 1); }
static double root(size_t t) { return 1.0 / sqrt((double)(t + 1)); }
static double bursts(size_t t) { return t % PERIOD ? 0.0 : 1.0 / (double)(t / PERIOD + 1); }
static double constant(size_t t) {
  (void)t;
  return 0.1;
}

typedef struct trail {
  double kappa;
  double first, last; /* |z_t - z*| */
  double recursion;   /* largest |z_{t+1} - z*| over its bound */
  double alpha_late;  /* largest in the later half */
  size_t total, next;
  hvi_rows *rows;
  hvi_status status;
  hvi_error *err;
} trail;

static bool follow(void *context, const hvi_step *step, const hvi_record *row) {
  trail *t = context;
  if (!step) return true;
  const double now = sqrt(step->dist2);
  if (row->outer == 1) t->first = t->last = sqrt(step->dist2 / step->contraction);
  const double bound = t->kappa * t->last + step->error;
  t->last = now;
  /* near the solution only rounding is left of the distance */
  if (bound > 1e-7) t->recursion = fmax(t->recursion, now / bound);
  if (row->outer > t->total / 2 && bound > 1e-7) t->alpha_late = fmax(t->alpha_late, step->alpha);
  /* about two hundred rows, evenly on a logarithmic axis */
  if (row->outer < t->next) return true;
  t->next = 1 + (size_t)((double)row->outer * 1.04);
  t->status = hvi_rows_add(t->rows, 1, (double[]){(double)row->outer, now}, t->err);
  return !t->status;
}

static hvi_status run_vanishing(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  static const char *const names[] = {"harmonic", "root", "bursts", "constant", NULL};
  static double (*const lengths[])(size_t) = {harmonic, root, bursts, constant};
  HVI_OWN_BY(hvi_lab_close) hvi_lab lab = {0};
  size_t errors;
  HVI_TRY(hvi_lab_open(&lab, c, err));
  HVI_TRY(hvi_cell_choice(&errors, c, "errors", names, err));
  lab.place.length = lengths[errors];
  trail t = {.kappa = sqrt(lab.rates.kappa2),
             .total = c->part->scale.iterations,
             .rows = rows,
             .err = err};
  HVI_TRY(hvi_lab_run(&lab, follow, &t, err));
  HVI_TRY(t.status);
  return hvi_rows_put(rows, 0, err, lab.eta, t.last / t.first, t.recursion, t.alpha_late,
                      lab.rates.alpha_max);
}

const hvi_kind hvi_kind_theory_vanishing = {
    .name = "theory-vanishing",
    .summary = "inner errors that tend to zero",
    HVI_LAB_FACTORS(" errors"),
    .tables = {{"", {{.name = "eta last_over_first recursion alpha_late mu_over_L"}}, NULL},
               {"path", {{.name = "step distance"}}, "errors"}},
    .run = run_vanishing};

enum { CAP = 100000, MOST_GRADIENTS = 2000000 };

static const double goal = 1e-6;

typedef struct bill {
  double *alphas; /* [iterations] */
  size_t count;
  double inner, grad_evals, alpha_worst;
  bool reached, capped; /* the goal; the cap on inner steps, at least once */
} bill;

static bool add_up(void *context, const hvi_step *step, const hvi_record *row) {
  bill *b = context;
  if (!step) return true;
  b->alphas[b->count++] = step->alpha;
  b->alpha_worst = fmax(b->alpha_worst, step->alpha);
  b->inner += (double)row->inner;
  b->grad_evals = (double)row->counts.grad_evals;
  b->capped = b->capped || row->inner >= CAP;
  b->reached = row->dist2 <= goal;
  return !b->reached && row->counts.grad_evals < MOST_GRADIENTS;
}

static hvi_status run_alpha(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  HVI_OWN_BY(hvi_lab_close) hvi_lab lab = {0};
  HVI_NEW(double, alphas, c->part->scale.iterations, "a run", err);
  bill b = {.alphas = alphas};
  HVI_TRY(hvi_lab_open(&lab, c, err));
  lab.settings.alpha = lab.alpha;
  lab.settings.floor = HVI_FLOOR_KNOWN;
  lab.settings.inner_steps = CAP;
  HVI_TRY(hvi_lab_run(&lab, add_up, &b, err));
  const double outer = (double)b.count, median = hvi_stats_quantile(alphas, b.count, 0.5);
  const hvi_rates *r = &lab.rates;
  return hvi_rows_put(rows, 0, err, lab.eta, outer, b.inner, b.grad_evals, b.reached, b.capped,
                      median, b.alpha_worst, b.reached ? outer : NAN,
                      b.reached ? b.grad_evals : NAN, r->alpha_max, r->alpha_eta, r->kappa2);
}

const hvi_kind hvi_kind_theory_alpha = {
    .name = "theory-alpha",
    .summary = "what an accuracy of the inner solves costs",
    HVI_LAB_FACTORS(""),
    .tables = {{"",
                {{.name = "eta outer inner grad_evals reached capped alpha_median alpha_worst "
                          "outer_reached grads_reached alpha_max alpha_eta kappa2"}},
                "problem step"}},
    .run = run_alpha};
