/*
 * The deterministic theorem: inner errors of exactly alpha, pushed away from the solution, aside
 * and anywhere, on strongly monotone affine F; each step's contraction against
 *
 *   rho = 1 - 2 eta (mu - alpha L) + (1 + alpha^2) eta^2 L^2.
 */
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "report/csv.h"

#include <hvi/theory.h>

#include <math.h>

const double hvi_theory_slack = 1e-9;

/* Below this squared distance a contraction is rounding. */
static const double resolved = 1e-12;

static const hvi_lab_shape shapes[] = {{8, 1.0, 2.0, 1.0, false}, {8, 1.0, 5.0, 0.5, false},
                                       {8, 1.0, 5.0, 1.0, true},  {8, 0.2, 2.0, 1.0, false},
                                       {9, 1.0, 1.5, 0.3, true},  {20, 1.0, 10.0, 1.0, false}};

static const double alpha_shares[] = {0.5, 0.0, 0.25, 0.75, 0.95, 0.1, 0.4, 0.6, 0.9, 0.99};
static const double eta_shares[] = {0.1, 0.3, 0.5, 0.75, 0.95, 0.02, 0.2, 0.4, 0.6, 0.9};
static const hvi_bias biases[] = {HVI_BIAS_AWAY, HVI_BIAS_ASIDE, HVI_BIAS_RANDOM};

/* How much of the lists above, and how long. */
typedef struct grid {
  size_t shapes, shares, seeds, steps;
} grid;

typedef struct cell {
  hvi_placement place;
  double mu, lipschitz, eta;
  hvi_rates rates;
  double largest; /* contraction */
  size_t steps;
} cell;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  (void)row;
  cell *c = context;
  if (!(step->dist2 > resolved)) return true;
  c->largest = fmax(c->largest, step->contraction);
  c->steps++;
  return true;
}

static hvi_status run_cell(cell *c, size_t steps, hvi_error *err) {
  c->rates = hvi_theory_rates(c->mu, c->lipschitz, c->eta, c->place.alpha);
  c->largest = 0.0;
  c->steps = 0;
  const hvi_settings s = hvi_lab_settings(&c->place, c->eta, steps);
  return hvi_lab_run(c->place.problem, &s, see, c, err);
}

static void write_cell(hvi_csv *csv, const cell *c) {
  const double numbers[] = {c->mu,  c->lipschitz, c->place.alpha,
                            c->eta, c->rates.rho, c->rates.rho_sharp};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) hvi_csv_number(csv, numbers[i]);
  for (size_t b = 0; b < 3; b++) {
    hvi_csv_number(csv, biases[b] == c->place.bias ? c->largest : NAN);
  }
  hvi_csv_end(csv);
}

static void count_cell(hvi_theory_rate_worst *w, const cell *c) {
  w->runs++;
  w->steps += c->steps;
  w->over_rho = fmax(w->over_rho, c->largest / c->rates.rho);
  if (!(c->place.alpha > 0.0)) return;
  w->over_rho_erring = fmax(w->over_rho_erring, c->largest / c->rates.rho);
  w->over_sharp = fmax(w->over_sharp, c->largest / c->rates.rho_sharp);
}

/* The grid of one problem and one direction. */
static hvi_status run_grid(hvi_theory_rate_worst *w, hvi_csv *csv, cell *c, const grid *g,
                           hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t a = 0; a < g->shares && !status; a++) {
    c->place.alpha = alpha_shares[a] * c->mu / c->lipschitz;
    const hvi_rates r = hvi_theory_rates(c->mu, c->lipschitz, 0.0, c->place.alpha);
    for (size_t e = 0; e < g->shares && !status; e++) {
      c->eta = eta_shares[e] * r.eta_alpha;
      status = run_cell(c, g->steps, err);
      if (status) break;
      count_cell(w, c);
      write_cell(csv, c);
    }
  }
  if (status) return status;
  /* the theorem's own pair */
  const hvi_rates r = hvi_theory_rates(c->mu, c->lipschitz, 0.0, 0.0);
  c->eta = r.eta_theorem;
  c->place.alpha = r.alpha_theorem;
  status = run_cell(c, g->steps, err);
  w->over_theorem = fmax(w->over_theorem, c->largest / r.rho_theorem);
  return status;
}

static hvi_status run_shape(hvi_theory_rate_worst *w, hvi_csv *csv, const hvi_lab_shape *shape,
                            const hvi_theory_part *part, const grid *g, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t seed = 1; seed <= g->seeds && !status; seed++) {
    hvi_problem *p;
    status = hvi_lab_quadratic(&p, shape, part->seed, seed, err);
    if (status) return status;
    for (size_t b = 0; b < 3 && !status; b++) {
      cell c = {.place = {.problem = p, .direct = !shape->linear, .bias = biases[b], .seed = seed},
                .mu = shape->mu,
                .lipschitz = shape->lipschitz};
      status = run_grid(w, csv, &c, g, err);
    }
    hvi_problem_free(p);
  }
  return status;
}

void hvi_theory_rate_judge(hvi_claims *claims, const hvi_theory_rate_worst *w) {
  hvi_claim *c =
      hvi_claims_add(claims, "rate", "theorem, deterministic case",
                     "With rho < 1 the squared distance to the solution shrinks by rho or more in "
                     "every step, whatever the inner errors are, as long as they respect alpha.");
  hvi_claim_measure(c, "largest contraction / rho", w->over_rho);
  hvi_claim_measure(c, "the same where alpha > 0", w->over_rho_erring);
  hvi_claim_measure(c, "there, against (kappa + alpha eta L)^2", w->over_sharp);
  hvi_claim_measure(c, "runs", (double)w->runs);
  hvi_claim_measure(c, "steps", (double)w->steps);
  hvi_claim_note(c, "errors of exactly alpha, placed away from the solution, aside and at random; "
                    "(kappa + alpha eta L)^2 is the bound before the proof rounds kappa up to 1");
  hvi_claim_judge(c, w->steps > 0 && w->over_rho <= 1.0 + hvi_theory_slack);
  c = hvi_claims_add(claims, "rate-theorem-step", "theorem, deterministic case",
                     "alpha = mu / 2L and eta = 2 mu / 5 L^2 give a rate of 1 - mu^2 / 5 L^2.");
  hvi_claim_measure(c, "largest contraction / (1 - mu^2 / 5 L^2)", w->over_theorem);
  hvi_claim_judge(c, w->over_theorem > 0.0 && w->over_theorem <= 1.0 + hvi_theory_slack);
}

hvi_status hvi_theory_rate(const hvi_theory_part *part, hvi_error *err) {
  const grid quick = {4, 5, 2, 100}, full = {6, 10, 5, 200}, *g = part->full ? &full : &quick;
  hvi_theory_rate_worst w = {0};
  hvi_csv csv;
  hvi_status status = hvi_lab_csv(&csv, part->folder, "rate",
                                  "mu,L,alpha,eta,rho,rho_sharp,away,aside,random", err);
  if (status) return status;
  for (size_t i = 0; i < g->shapes && !status; i++) {
    status = run_shape(&w, &csv, &shapes[i], part, g, err);
  }
  if (!status) status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  if (!status) hvi_theory_rate_judge(part->claims, &w);
  return status;
}
