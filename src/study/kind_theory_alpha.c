/*
 * kind: theory-alpha. How much alpha matters on a game: gradient descent as inner solver, stopped as
 * soon as l - l* <= alpha^2 (l_0 - l*); outer iterations, inner steps and gradient computations
 * until |z - z*|^2 <= 1e-6. The factor `step` is best (mu / L^2), theorem (2 mu / 5 L^2) or a number.
 */
#include "base/error.h"
#include "base/memory.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

#include <math.h>
#include <string.h>

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

/* The step size, and what the theorem says at it. */
static hvi_status choose_step(double *eta, hvi_rates *r, const hvi_problem *p, const hvi_cell *c,
                              hvi_error *err) {
  const char *step = hvi_cell_word(c, "step");
  hvi_constants k;
  const hvi_status status = hvi_problem_constants(&k, p, err);
  if (status) return status;
  *r = hvi_theory_rates(k.mu, k.lipschitz, 0.0, 0.0);
  *eta = hvi_cell_number(c, "step");
  if (step && strcmp(step, "best") == 0) *eta = r->eta_best;
  if (step && strcmp(step, "theorem") == 0) *eta = r->eta_theorem;
  *r = hvi_theory_rates(k.mu, k.lipschitz, *eta, 0.0);
  return HVI_OK;
}

static hvi_status solve(hvi_rows *rows, const hvi_problem *p, const hvi_cell *c, tally *t,
                        hvi_error *err) {
  hvi_settings s = hvi_settings_defaults();
  hvi_rates r;
  hvi_status status = choose_step(&s.eta, &r, p, c, err);
  s.alpha = hvi_cell_number(c, "alpha");
  s.floor = HVI_FLOOR_KNOWN;
  s.inner_steps = CAP;
  s.max_outer = c->part->scale.iterations;
  if (!status) status = hvi_lab_run(p, &s, see, t, err);
  if (status) return status;
  const double row[] = {s.eta,
                        (double)t->outer,
                        (double)t->inner,
                        (double)t->grad_evals,
                        t->reached,
                        t->capped,
                        hvi_stats_quantile(t->alphas, t->count, 0.5),
                        t->alpha_worst,
                        t->reached ? (double)t->outer : NAN,
                        t->reached ? (double)t->grad_evals : NAN,
                        r.alpha_max,
                        r.alpha_eta,
                        r.kappa2};
  return hvi_rows_add(rows, 0, row, err);
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_problem *p = NULL;
  tally t = {.alphas = hvi_alloc_doubles(c->part->scale.iterations)};
  hvi_status status = t.alphas ? HVI_OK : hvi_error_memory(err, "a run");
  if (!status) status = hvi_cell_problem(&p, c, 0, err);
  if (!status) status = solve(rows, p, c, &t, err);
  hvi_free(t.alphas);
  hvi_problem_free(p);
  return status;
}

static const hvi_column columns[] = {{.name = "eta"},           {.name = "outer"},
                                     {.name = "inner"},         {.name = "grad_evals"},
                                     {.name = "reached"},       {.name = "capped"},
                                     {.name = "alpha_median"},  {.name = "alpha_worst"},
                                     {.name = "outer_reached"}, {.name = "grads_reached"},
                                     {.name = "alpha_max"},     {.name = "alpha_eta"},
                                     {.name = "kappa2"},        {NULL}};
static const hvi_kind_table tables[] = {{"", columns, "problem step"}, {NULL}};

const hvi_kind hvi_kind_theory_alpha = {.name = "theory-alpha",
                                        .summary = "what an accuracy of the inner solves costs",
                                        .tables = tables,
                                        .run = run};
