/*
 * kind: theory-alpha. How much alpha matters on a game: gradient descent as inner solver, stopped as
 * soon as l - l* <= alpha^2 (l_0 - l*); outer iterations, inner steps and gradient computations
 * until |z - z*|^2 <= 1e-6.
 */
#include "base/base.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

enum { CAP = 100000, MOST_GRADIENTS = 2000000 };

static const double goal = 1e-6;

typedef struct tally {
  double *alphas; /* [iterations] */
  size_t count, outer, inner, grad_evals;
  double alpha_worst;
  bool reached, capped; /* the goal; the cap on inner steps, at least once */
} tally;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  tally *t = context;
  t->alphas[t->count++] = step->alpha;
  t->alpha_worst = fmax(t->alpha_worst, step->alpha);
  t->outer = row->outer;
  t->inner += row->inner;
  t->grad_evals = row->counts.grad_evals;
  t->capped = t->capped || row->inner >= CAP;
  t->reached = row->dist2 <= goal;
  return !t->reached && t->grad_evals < MOST_GRADIENTS;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_lab lab;
  tally t = {.alphas = hvi_alloc_doubles(c->part->scale.iterations)};
  hvi_status status = hvi_lab_open(&lab, c, err);
  if (!status && !t.alphas) status = hvi_error_memory(err, "a run");
  lab.settings.alpha = lab.alpha;
  lab.settings.floor = HVI_FLOOR_KNOWN;
  lab.settings.inner_steps = CAP;
  if (!status) status = hvi_lab_run(lab.problem, &lab.settings, see, &t, err);
  const double row[] = {lab.eta,
                        (double)t.outer,
                        (double)t.inner,
                        (double)t.grad_evals,
                        t.reached,
                        t.capped,
                        status ? NAN : hvi_stats_quantile(t.alphas, t.count, 0.5),
                        t.alpha_worst,
                        t.reached ? (double)t.outer : NAN,
                        t.reached ? (double)t.grad_evals : NAN,
                        lab.rates.alpha_max,
                        lab.rates.alpha_eta,
                        lab.rates.kappa2};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_free(t.alphas);
  hvi_problem_free(lab.problem);
  return status;
}

static const hvi_column columns[] = {
    {.name = "eta outer inner grad_evals reached capped alpha_median alpha_worst outer_reached "
             "grads_reached alpha_max alpha_eta kappa2"},
    {0}};
static const hvi_kind_table tables[] = {{"", columns, "problem step"}, {0}};

const hvi_kind hvi_kind_theory_alpha = {.name = "theory-alpha",
                                        .summary = "what an accuracy of the inner solves costs",
                                        .tables = tables,
                                        .run = run};
