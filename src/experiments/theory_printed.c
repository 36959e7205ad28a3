/*
 * Three misprints, each shown by what it does.
 *
 * The proof of the theorem lets the exact step contract for eta < 2 mu / L; kappa^2 =
 * 1 - 2 eta mu + eta^2 L^2 < 1 asks for eta < 2 mu / L^2. An F = mu I + rotation of norm L attains
 * kappa, so just above the latter its exact step expands, and far below the former too.
 *
 * Both games are printed with a plus before player 2's regulariser, so that F loses
 * 2 w (z_2 - c_2): its symmetric part is then diag(w, -w), and the exact step expands for every
 * eta.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "report/csv.h"
#include "theory/exact.h"

#include <math.h>

/* Long enough for several turns around the solution. */
enum { STEPS = 20000 };

/* A mended game with the printed signs put back. */
typedef struct misprint {
  hvi_problem base;
  hvi_problem *game;
  double weight;
} misprint;

static void misprint_operate(const hvi_problem *p, const void *sample, const double *theta,
                             const double *z, double *f) {
  const misprint *m = (const misprint *)p;
  const hvi_block *second = &p->model->blocks[1];
  m->game->ops->operate(m->game, sample, theta, z, f);
  for (size_t i = second->z; i < second->z + second->out; i++) {
    f[i] -= 2.0 * m->weight * (z[i] - p->solution[i]);
  }
}

static void misprint_affine(const hvi_problem *p, double *A, double *b) {
  const misprint *m = (const misprint *)p;
  const hvi_block *second = &p->model->blocks[1];
  m->game->ops->affine(m->game, A, b);
  for (size_t i = second->z; i < second->z + second->out; i++) {
    A[i * p->model->out + i] -= 2.0 * m->weight;
    b[i] += 2.0 * m->weight * p->solution[i];
  }
}

static void misprint_free(hvi_problem *p) {
  hvi_problem_free(((misprint *)p)->game);
  hvi_free(p);
}

static const hvi_problem_ops misprint_ops = {.name = "misprint",
                                             .operate = misprint_operate,
                                             .affine = misprint_affine,
                                             .free = misprint_free};

static hvi_status misprint_new(hvi_problem **p, const char *name, double weight, uint64_t seed,
                               hvi_error *err) {
  misprint *m = hvi_alloc(1, sizeof *m);
  *p = NULL;
  if (!m) return hvi_error_memory(err, "a game");
  hvi_status status = hvi_builtin_new(&m->game, name, NULL, 0, seed, 0, err);
  if (status) {
    hvi_free(m);
    return status;
  }
  m->base = *m->game;
  m->base.ops = &misprint_ops;
  m->weight = weight;
  *p = &m->base;
  return HVI_OK;
}

static hvi_status exact_rate(double *rate, hvi_csv *csv, const char *name, const hvi_problem *p,
                             double eta, hvi_error *err) {
  const hvi_settings s = hvi_settings_defaults();
  hvi_status status = hvi_exact_rate(rate, p, &s, eta, STEPS, err);
  if (status) return status;
  hvi_csv_text(csv, name);
  hvi_csv_number(csv, eta);
  hvi_csv_number(csv, *rate);
  hvi_csv_end(csv);
  return HVI_OK;
}

static hvi_status run_bound(hvi_theory_printed_worst *w, hvi_csv *csv, const hvi_theory_part *part,
                            hvi_error *err) {
  static const hvi_lab_shape shape = {8, 1.0, 5.0, 1.0, false};
  const double mended = 2.0 * shape.mu / (shape.lipschitz * shape.lipschitz);
  const double etas[] = {0.9 * mended, 1.1 * mended, 0.9 * 2.0 * shape.mu / shape.lipschitz};
  hvi_status status = HVI_OK;
  w->below = 0.0;
  w->above = w->printed = INFINITY;
  for (size_t instance = 1; instance <= (part->full ? 20u : 3u) && !status; instance++) {
    hvi_problem *p;
    double rates[3] = {0};
    status = hvi_lab_quadratic(&p, &shape, part->seed, instance, err);
    if (status) return status;
    for (size_t i = 0; i < 3 && !status; i++) {
      status = exact_rate(&rates[i], csv, "quadratic", p, etas[i], err);
    }
    w->below = fmax(w->below, rates[0]);
    w->above = fmin(w->above, rates[1]);
    w->printed = fmin(w->printed, rates[2]);
    hvi_problem_free(p);
  }
  return status;
}

static hvi_status run_game(hvi_theory_printed_worst *w, hvi_csv *csv, size_t game, uint64_t seed,
                           hvi_error *err) {
  static const char *const names[] = {"pennies", "rps"};
  static const double weights[] = {0.75, 0.2}, etas[] = {0.01, 0.03, 0.1, 0.3};
  hvi_problem *p = NULL;
  hvi_constants constants = {0};
  hvi_status status = misprint_new(&p, names[game], weights[game], seed, err);
  if (status) return status;
  status = hvi_problem_constants(&constants, p, err);
  w->mu[game] = constants.mu;
  w->exact[game] = INFINITY;
  for (size_t i = 0; i < sizeof etas / sizeof *etas && !status; i++) {
    double rate = NAN;
    status = exact_rate(&rate, csv, names[game], p, etas[i], err);
    w->exact[game] = fmin(w->exact[game], rate);
  }
  hvi_problem_free(p);
  return status;
}

void hvi_theory_printed_judge(hvi_claims *claims, const hvi_theory_printed_worst *w) {
  hvi_claim *c = hvi_claims_add(claims, "step-bound", "proof of the deterministic theorem, mended",
                                "The exact step contracts for eta < 2 mu / L^2. (The proof prints "
                                "2 mu / L, which is too large.)");
  hvi_claim_measure(c, "slowest rate at 0.9 times 2 mu / L^2", w->below);
  hvi_claim_measure(c, "fastest rate at 1.1 times 2 mu / L^2", w->above);
  hvi_claim_measure(c, "fastest rate at 0.9 times 2 mu / L", w->printed);
  hvi_claim_judge(c, w->below < 1.0 && w->above > 1.0 && w->printed > 1.0);
  c = hvi_claims_add(claims, "signs", "min-max experiments, mended",
                     "With the regularisers' signs as printed neither game is monotone, and the "
                     "exact step expands for every step size; player 2's takes a minus sign.");
  hvi_claim_measure(c, "mu of pennies as printed", w->mu[0]);
  hvi_claim_measure(c, "mu of rps as printed", w->mu[1]);
  hvi_claim_measure(c, "slowest growth, pennies", w->exact[0]);
  hvi_claim_measure(c, "slowest growth, rps", w->exact[1]);
  hvi_claim_judge(c, w->mu[0] < 0.0 && w->mu[1] < 0.0 && w->exact[0] > 1.0 && w->exact[1] > 1.0);
}

hvi_status hvi_theory_printed(const hvi_theory_part *part, hvi_error *err) {
  hvi_theory_printed_worst w = {0};
  hvi_csv csv;
  hvi_status status = hvi_lab_csv(&csv, part->folder, "printed", "problem,eta,exact_rate", err);
  if (status) return status;
  status = run_bound(&w, &csv, part, err);
  for (size_t game = 0; game < 2 && !status; game++) {
    status = run_game(&w, &csv, game, part->seed, err);
  }
  if (!status) status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  if (!status) hvi_theory_printed_judge(part->claims, &w);
  return status;
}
