/*
 * kind: theory-lemma. The lemma under the theorem: for a monotone F and a solution in the relative
 * interior of Z
 *
 *   l_t(theta_t) - l_t^* <= eta^2 / 2 |F(z_t) - F(z*)|^2
 *   |z_{t+1} - z_t^*|    <= alpha eta |F(z_t) - F(z*)|
 *
 * with alpha as reached.
 */
#include "study/kinds.h"
#include "study/theory_lab.h"

#include <math.h>

/* Smaller steps and alphas are rounding. So are losses above their floor that are this small
 * against the target's distance from Z, which they are differences of. */
static const double resolved_change = 1e-7, resolved_alpha = 1e-6, resolved_gap = 1e-9;

typedef struct tally {
  size_t steps, outside; /* outside: the target lay outside Z */
  double error, gap;     /* largest, over their bounds */
} tally;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  (void)row;
  tally *t = context;
  if (!(step->change > resolved_change)) return true;
  t->steps++;
  t->gap = fmax(t->gap, step->gap0 / (0.5 * step->change * step->change));
  t->outside += step->outside > 1e-9;
  if (step->alpha > resolved_alpha && step->gap > resolved_gap * step->outside)
    t->error = fmax(t->error, step->error / (step->alpha * step->change));
  return true;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_lab lab;
  tally t = {0};
  hvi_status status = hvi_lab_open(&lab, c, err);
  if (!status) status = hvi_lab_run(lab.problem, &lab.settings, see, &t, err);
  const double row[] = {lab.eta, (double)t.steps, (double)t.outside, t.error, t.gap};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_lab_close(&lab);
  return status;
}

static const hvi_column columns[] = {{.name = "eta"},   {.name = "steps"}, {.name = "outside"},
                                     {.name = "error"}, {.name = "gap"},   {NULL}};
static const hvi_kind_table tables[] = {{"", columns, NULL}, {NULL}};

const hvi_kind hvi_kind_theory_lemma = {.name = "theory-lemma",
                                        .summary = "inner errors and losses against the lemma's",
                                        .tables = tables,
                                        .run = run,
                                        .describe = hvi_lab_describe};
