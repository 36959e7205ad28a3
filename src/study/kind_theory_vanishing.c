/*
 * kind: theory-vanishing. Inner errors that only tend to zero. With kappa the contraction of the
 * exact step,
 *
 *   |z_{t+1} - z*| <= kappa |z_t - z*| + |z_{t+1} - z_t^*|
 *
 * so the distance follows the errors to zero, whatever alpha is. The factor `errors` is how long
 * they are: 1/(t+1), 1/sqrt(t+1), or in bursts, one in a hundred steps: then alpha is far above one
 * again and again. Errors of a constant length are the control.
 */
#include "base/base.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

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
  size_t steps, total, next;
  hvi_rows *rows;
  hvi_status status;
  hvi_error *err;
} trail;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  trail *t = context;
  const double now = sqrt(step->dist2);
  if (t->steps == 0) t->first = t->last = sqrt(step->dist2 / step->contraction);
  const double bound = t->kappa * t->last + step->error;
  t->last = now;
  t->steps++;
  /* near the solution only rounding is left of the distance */
  if (bound > 1e-7) t->recursion = fmax(t->recursion, now / bound);
  if (row->outer > t->total / 2 && bound > 1e-7) t->alpha_late = fmax(t->alpha_late, step->alpha);
  /* about two hundred rows, evenly on a logarithmic axis */
  if (t->steps < t->next) return true;
  t->next = 1 + (size_t)((double)t->steps * 1.04);
  t->status = hvi_rows_add(t->rows, 1, (double[]){(double)t->steps, now}, t->err);
  return !t->status;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  static const char *const names[] = {"harmonic", "root", "bursts", "constant", NULL};
  static double (*const lengths[])(size_t) = {harmonic, root, bursts, constant};
  hvi_lab lab;
  size_t errors;
  hvi_status status = hvi_lab_open(&lab, c, err);
  if (!status) status = hvi_cell_choice(&errors, c, "errors", names, err);
  if (!status) lab.place.length = lengths[errors];
  trail t = {.kappa = sqrt(lab.rates.kappa2),
             .total = c->part->scale.iterations,
             .next = 1,
             .rows = rows,
             .err = err};
  if (!status) status = hvi_lab_run(lab.problem, &lab.settings, see, &t, err);
  if (!status) status = t.status;
  const double row[] = {lab.eta, t.last / t.first, t.recursion, t.alpha_late, lab.rates.alpha_max};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_problem_free(lab.problem);
  return status;
}

static const hvi_column columns[] = {{.name = "eta last_over_first recursion alpha_late mu_over_L"},
                                     {0}};
static const hvi_column path_columns[] = {{.name = "step distance"}, {0}};
static const hvi_kind_table tables[] = {{"", columns, NULL}, {"path", path_columns, "errors"}, {0}};

const hvi_kind hvi_kind_theory_vanishing = {.name = "theory-vanishing",
                                            .summary = "inner errors that tend to zero",
                                            .tables = tables,
                                            .run = run,
                                            .describe = hvi_lab_describe};
