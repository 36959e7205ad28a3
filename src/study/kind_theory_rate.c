/*
 * kind: theory-rate. The deterministic theorem: with inner errors of alpha, wherever they point, each
 * step on a strongly monotone F contracts the squared distance by
 *
 *   rho = 1 - 2 eta (mu - alpha L) + (1 + alpha^2) eta^2 L^2   or less.
 *
 * kind: theory-counterexample. F(z) = [[1, 1], [-1, 1]] z, and an inner solver that ends at
 * v + alpha Q (z_t - v), alpha = 1/sqrt(2), Q the rotation by 45 degrees, which turns every step
 * into z - eta (z_2, -z_1). So |z| grows by sqrt(1 + eta^2) whatever eta is.
 */
#include "study/kinds.h"
#include "study/theory_lab.h"

#include <math.h>

/* Below this squared distance a contraction is rounding. */
static const double resolved = 1e-12;

typedef struct span {
  double least, most;             /* of the contraction */
  double alpha_least, alpha_most; /* as reached */
  size_t steps;
} span;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  (void)row;
  span *s = context;
  if (!(step->dist2 > resolved)) return true;
  s->least = fmin(s->least, step->contraction);
  s->most = fmax(s->most, step->contraction);
  s->alpha_least = fmin(s->alpha_least, step->alpha);
  s->alpha_most = fmax(s->alpha_most, step->alpha);
  s->steps++;
  return true;
}

static hvi_status measure(span *s, hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  *s = (span){.least = INFINITY, .alpha_least = INFINITY};
  const hvi_status status = hvi_lab_open(lab, c, err);
  return status ? status : hvi_lab_run(lab->problem, &lab->settings, see, s, err);
}

static const hvi_column rate_columns[] = {
    {.name = "alpha"},       {.name = "eta"},   {.name = "rho"}, {.name = "rho_sharp"},
    {.name = "contraction"}, {.name = "steps"}, {NULL}};
static const hvi_kind_table rate_tables[] = {{"", rate_columns, NULL}, {NULL}};

static hvi_status run_rate(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_lab lab;
  span s;
  hvi_status status = measure(&s, &lab, c, err);
  const double row[] = {lab.alpha,           lab.eta, lab.rates.rho,
                        lab.rates.rho_sharp, s.most,  (double)s.steps};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_lab_close(&lab);
  return status;
}

/* Growths are less one: that is what is left of them at small eta. */
static const hvi_column growth_columns[] = {{.name = "eta"},
                                            {.name = "least_growth"},
                                            {.name = "largest_growth"},
                                            {.name = "expected"},
                                            {.name = "error"},
                                            {.name = "alpha_error"},
                                            {NULL}};
static const hvi_kind_table growth_tables[] = {{"", growth_columns, NULL}, {NULL}};

static hvi_status run_growth(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_lab lab;
  span s;
  hvi_status status = measure(&s, &lab, c, err);
  const double expected = sqrt(1.0 + lab.eta * lab.eta), least = sqrt(s.least), most = sqrt(s.most);
  const double row[] = {lab.eta,
                        least - 1.0,
                        most - 1.0,
                        expected - 1.0,
                        fmax(fabs(least / expected - 1.0), fabs(most / expected - 1.0)),
                        fmax(fabs(s.alpha_least - lab.alpha), fabs(s.alpha_most - lab.alpha))};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_lab_close(&lab);
  return status;
}

const hvi_kind hvi_kind_theory_rate = {.name = "theory-rate",
                                       .summary = "contraction of each step against the theorem's",
                                       .tables = rate_tables,
                                       .run = run_rate,
                                       .describe = hvi_lab_describe};
const hvi_kind hvi_kind_theory_counterexample = {.name = "theory-counterexample",
                                                 .summary = "growth under the adversary",
                                                 .tables = growth_tables,
                                                 .run = run_growth,
                                                 .describe = hvi_lab_describe};
