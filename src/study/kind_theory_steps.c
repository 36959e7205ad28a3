/*
 * Each step of a run against what the theorem, its lemma and the counterexample say of it.
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
 * kind: theory-counterexample. F(z) = [[1, 1], [-1, 1]] z, and an inner solver that ends at
 * v + alpha Q (z_t - v), alpha = 1/sqrt(2), Q the rotation by 45 degrees, which turns every step
 * into z - eta (z_2, -z_1). So |z| grows by sqrt(1 + eta^2) whatever eta is.
 */
#include "base/base.h"
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
  size_t steps;
  size_t changes, outside; /* outside: the target lay outside Z */
  double error, gap;       /* largest, over their bounds */
} tally;

static void see_change(tally *t, const hvi_step *step) {
  t->changes++;
  t->gap = fmax(t->gap, step->gap0 / (0.5 * step->change * step->change));
  t->outside += step->outside > 1e-9;
  if (step->alpha > resolved_alpha && step->gap > resolved_gap * step->outside)
    t->error = fmax(t->error, step->error / (step->alpha * step->change));
}

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  (void)row;
  tally *t = context;
  if (step->change > resolved_change) see_change(t, step);
  if (!(step->dist2 > resolved_dist2)) return true;
  t->least = fmin(t->least, step->contraction);
  t->most = fmax(t->most, step->contraction);
  t->alpha_least = fmin(t->alpha_least, step->alpha);
  t->alpha_most = fmax(t->alpha_most, step->alpha);
  t->steps++;
  return true;
}

static hvi_status measure(tally *t, hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  *t = (tally){.least = INFINITY, .alpha_least = INFINITY};
  const hvi_status status = hvi_lab_open(lab, c, err);
  return status ? status : hvi_lab_run(lab->problem, &lab->settings, see, t, err);
}

/* Contraction, error and gap are the largest, the latter two over their bounds; steps is how many
 * there were of which the contraction, and changes of which the change of F is more than rounding. */
static const hvi_column step_columns[] = {
    {.name = "alpha eta rho rho_sharp contraction steps changes outside error gap"}, {0}};
static const hvi_kind_table step_tables[] = {{"", step_columns, NULL}, {0}};

static hvi_status run_steps(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_lab lab;
  tally t;
  hvi_status status = measure(&t, &lab, c, err);
  const double row[] = {lab.alpha,
                        lab.eta,
                        lab.rates.rho,
                        lab.rates.rho_sharp,
                        t.most,
                        (double)t.steps,
                        (double)t.changes,
                        (double)t.outside,
                        t.error,
                        t.gap};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_problem_free(lab.problem);
  return status;
}

/* Growths are less one: that is what is left of them at small eta. */
static const hvi_column growth_columns[] = {
    {.name = "eta least_growth largest_growth expected error alpha_error"}, {0}};
static const hvi_kind_table growth_tables[] = {{"", growth_columns, NULL}, {0}};

static hvi_status run_growth(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_lab lab;
  tally t;
  hvi_status status = measure(&t, &lab, c, err);
  const double expected = sqrt(1.0 + lab.eta * lab.eta), least = sqrt(t.least), most = sqrt(t.most);
  const double row[] = {lab.eta,
                        least - 1.0,
                        most - 1.0,
                        expected - 1.0,
                        fmax(fabs(least / expected - 1.0), fabs(most / expected - 1.0)),
                        fmax(fabs(t.alpha_least - lab.alpha), fabs(t.alpha_most - lab.alpha))};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_problem_free(lab.problem);
  return status;
}

const hvi_kind hvi_kind_theory_steps = {.name = "theory-steps",
                                        .summary = "each step against the theorem and its lemma",
                                        .tables = step_tables,
                                        .run = run_steps,
                                        .describe = hvi_lab_describe};
const hvi_kind hvi_kind_theory_counterexample = {.name = "theory-counterexample",
                                                 .summary = "growth under the adversary",
                                                 .tables = growth_tables,
                                                 .run = run_growth,
                                                 .describe = hvi_lab_describe};
