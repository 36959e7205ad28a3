/*
 * The stochastic theorem: F_xi(z) = A (z - z*) + xi, E xi = 0, E |xi|^2 = sigma^2. Then
 *
 *   E |F_xi(z)|^2 = |A (z - z*)|^2 + sigma^2 <= (L_A^2 / mu) <F(z), z - z*> + sigma^2
 *
 * so the theorem's assumption holds with L = max(L_A, L_A^2 / 2 mu). With c = 2 (1 + alpha^2) and
 * eta <= 1 / (2 (1 + c) L) it bounds e_t = E 1/2 |z_t - z*|^2 by
 *
 *   e_{t+1} <= (1 - eta mu + alpha^2) e_t + eta^2 (1 + c) sigma^2
 *
 * whose fixed point is eta^2 (1 + c) sigma^2 / (eta mu - alpha^2) when alpha^2 < eta mu. Inner
 * errors are of exactly alpha and point away from the solution.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "num/stats.h"
#include "report/csv.h"

#include <math.h>

enum { N = 8, SIGMAS = 4, ETAS = 3, ALPHAS = 2 };

static const hvi_lab_shape shape = {N, 1.0, 2.0, 0.7, false};
static const double sigmas[SIGMAS] = {0.0, 0.1, 1.0, 10.0};
static const double eta_shares[ETAS] = {1.0, 0.5, 0.25}; /* of the largest allowed */
static const double alpha_shares[ALPHAS] = {0.0, 0.5};   /* of eta mu, for alpha^2 */

typedef struct noisy {
  hvi_problem base;
  hvi_problem *quadratic;
  double sigma;
} noisy;

static void noisy_operate(const hvi_problem *p, const void *sample, const double *theta,
                          const double *z, double *f) {
  const noisy *q = (const noisy *)p;
  q->quadratic->ops->operate(q->quadratic, NULL, theta, z, f);
  for (size_t i = 0; sample && i < N; i++) f[i] += ((const double *)sample)[i];
}

static void noisy_draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)theta;
  const noisy *q = (const noisy *)p;
  hvi_rng_fill_normal(rng, 0.0, q->sigma / sqrt((double)N), N, sample);
}

static const hvi_problem_ops noisy_ops = {
    .name = "noisy", .operate = noisy_operate, .draw = noisy_draw};

/* One sigma, eta and alpha. */
typedef struct cell {
  double sigma, eta, alpha, c;
  size_t steps, seeds;
  double *halves; /* [steps + 1][seeds] 1/2 |z_t - z*|^2 */
  size_t seed;    /* of the run under way */
  double observed, interval, limit;
  double over_recursion, quiet_end;
} cell;

static bool observe(void *context, const hvi_record *row) {
  cell *c = context;
  c->halves[row->outer * c->seeds + c->seed] = 0.5 * row->dist2;
  return true;
}

static hvi_status run_seeds(cell *c, hvi_problem *quadratic, hvi_error *err) {
  const noisy q = {.base = {.ops = &noisy_ops,
                            .sample_bytes = N * sizeof(double),
                            .model = quadratic->model,
                            .theta0 = quadratic->theta0,
                            .solution = quadratic->solution,
                            .set_count = quadratic->set_count,
                            .sets = quadratic->sets},
                   .quadratic = quadratic,
                   .sigma = c->sigma};
  const hvi_placement place = {.problem = &q.base, .direct = true, .alpha = c->alpha};
  hvi_settings s = hvi_lab_settings(&place, c->eta, c->steps);
  s.observe = observe;
  s.observer_context = c;
  for (c->seed = 0; c->seed < c->seeds; c->seed++) {
    hvi_solver *solver;
    s.seed = 1 + c->seed;
    hvi_status status = hvi_solver_new(&solver, &q.base, &s, err);
    if (status) return status;
    hvi_solver_run(solver);
    hvi_solver_free(solver);
  }
  return HVI_OK;
}

/* Compares the mean over seeds, with its interval, to the recursion, step by step. */
static void compare(cell *c) {
  const double shrink = 1.0 - c->eta * shape.mu + c->alpha * c->alpha;
  const double add = c->eta * c->eta * (1.0 + c->c) * c->sigma * c->sigma;
  double bound = hvi_stats_mean(c->halves, c->seeds), first = bound, tail = 0.0, spread = 0.0;
  size_t tail_count = 0;
  for (size_t t = 1; t <= c->steps; t++) {
    const double *row = c->halves + t * c->seeds;
    const double mean = hvi_stats_mean(row, c->seeds);
    const double interval = c->sigma > 0.0 ? hvi_stats_interval95(row, c->seeds) : 0.0;
    bound = shrink * bound + add;
    c->over_recursion = fmax(c->over_recursion, (mean + interval) / bound);
    c->quiet_end = mean / first;
    if (t <= c->steps - c->steps / 4) continue;
    tail += mean;
    spread += interval;
    tail_count++;
  }
  c->limit = add / (c->eta * shape.mu - c->alpha * c->alpha);
  c->observed = tail / (double)tail_count;
  c->interval = spread / (double)tail_count;
}

/*
 * alpha^2 = share eta mu, and c = 2 (1 + alpha^2) with it: the largest eta then solves a quadratic
 * equation, and this stays just below its root.
 */
static void choose_steps(cell *c, double eta_share, double alpha_share) {
  const double L = fmax(shape.lipschitz, shape.lipschitz * shape.lipschitz / (2.0 * shape.mu));
  const double exact = 1.0 / (6.0 * L); /* the largest for alpha = 0 */
  c->eta = eta_share * exact / (1.0 + 2.0 / 3.0 * alpha_share * exact * shape.mu);
  c->alpha = sqrt(alpha_share * c->eta * shape.mu);
  c->c = 2.0 * (1.0 + c->alpha * c->alpha);
  c->steps = (size_t)(16.0 / (c->eta * shape.mu - c->alpha * c->alpha));
}

static hvi_status run_cell(cell *c, hvi_problem *quadratic, hvi_error *err) {
  c->halves = hvi_alloc_doubles((c->steps + 1) * c->seeds);
  if (!c->halves) return hvi_error_memory(err, "the noisy runs");
  hvi_status status = run_seeds(c, quadratic, err);
  if (!status) compare(c);
  hvi_free(c->halves);
  return status;
}

static void count_cell(hvi_theory_noise_worst *w, const cell *c) {
  w->cells++;
  w->seeds = c->seeds;
  w->over_recursion = fmax(w->over_recursion, c->over_recursion);
  if (c->sigma == 0.0) {
    w->quiet_end = fmax(w->quiet_end, c->quiet_end);
    return;
  }
  w->over_limit = fmax(w->over_limit, (c->observed + c->interval) / c->limit);
  w->least_over = fmin(w->least_over, c->observed / c->limit);
}

/* A row for each cell, and for the figure a row for each sigma with all step sizes in it. */
static hvi_status write_cells(const char *folder, cell cells[SIGMAS][ETAS][ALPHAS],
                              hvi_error *err) {
  hvi_csv csv;
  hvi_status status =
      hvi_lab_csv(&csv, folder, "noise", "sigma,eta,alpha,observed,interval,limit", err);
  if (status) return status;
  for (size_t i = 0; i < SIGMAS * ETAS * ALPHAS; i++) {
    const cell *c = &cells[0][0][0] + i;
    const double row[] = {c->sigma, c->eta, c->alpha, c->observed, c->interval, c->limit};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) hvi_csv_number(&csv, row[k]);
    hvi_csv_end(&csv);
  }
  status = hvi_csv_close(&csv, err);
  if (!status) {
    status = hvi_lab_csv(&csv, folder, "noise-curves",
                         "sigma,observed1,limit1,observed2,limit2,observed3,limit3", err);
  }
  if (status) return status;
  for (size_t s = 1; s < SIGMAS; s++) {
    hvi_csv_number(&csv, sigmas[s]);
    for (size_t e = 0; e < ETAS; e++) {
      hvi_csv_number(&csv, cells[s][e][1].observed);
      hvi_csv_number(&csv, cells[s][e][1].limit);
    }
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

void hvi_theory_noise_judge(hvi_claims *claims, const hvi_theory_noise_worst *w) {
  hvi_claim *c =
      hvi_claims_add(claims, "neighbourhood", "theorem, stochastic case",
                     "With sampled F and alpha^2 < eta mu the mean of 1/2 |z - z*|^2 stays below "
                     "the theorem's recursion, and so ends in a neighbourhood of size "
                     "eta^2 (1 + c) sigma^2 / (eta mu - alpha^2).");
  hvi_claim_measure(c, "largest mean / recursion, any step", w->over_recursion);
  hvi_claim_measure(c, "largest mean / neighbourhood, at the end", w->over_limit);
  hvi_claim_measure(c, "smallest mean / neighbourhood, at the end", w->least_over);
  hvi_claim_measure(c, "combinations of sigma, eta and alpha", (double)w->cells);
  hvi_claim_measure(c, "seeds", (double)w->seeds);
  hvi_claim_note(c, "each mean is taken at the upper end of its 95 %% interval");
  hvi_claim_judge(c, w->cells > 0 && w->over_recursion <= 1.0 + hvi_theory_slack &&
                         w->over_limit <= 1.0);
  c = hvi_claims_add(claims, "neighbourhood-sigma", "theorem, stochastic case",
                     "The neighbourhood grows with sigma^2, and is a point without noise.");
  hvi_claim_measure(c, "slope of log mean over log sigma", w->sigma_slope);
  hvi_claim_measure(c, "mean without noise, last / first", w->quiet_end);
  hvi_claim_judge(c, fabs(w->sigma_slope - 2.0) < 0.1 && w->quiet_end < 1e-2);
}

hvi_status hvi_theory_noise(const hvi_theory_part *part, hvi_error *err) {
  cell cells[SIGMAS][ETAS][ALPHAS];
  hvi_theory_noise_worst w = {.least_over = INFINITY};
  hvi_problem *quadratic;
  hvi_status status = hvi_lab_quadratic(&quadratic, &shape, part->seed, 1, err);
  if (status) return status;
  for (size_t i = 0; i < SIGMAS * ETAS * ALPHAS && !status; i++) {
    const size_t s = i / (ETAS * ALPHAS), e = i / ALPHAS % ETAS, a = i % ALPHAS;
    cell *c = &cells[s][e][a];
    *c = (cell){.sigma = sigmas[s], .seeds = part->full ? 400 : 40};
    choose_steps(c, eta_shares[e], alpha_shares[a]);
    status = run_cell(c, quadratic, err);
    if (!status) count_cell(&w, c);
  }
  hvi_problem_free(quadratic);
  if (!status) status = write_cells(part->folder, cells, err);
  if (status) return status;
  w.sigma_slope = log(cells[3][0][1].observed / cells[1][0][1].observed) / log(100.0);
  hvi_theory_noise_judge(part->claims, &w);
  return HVI_OK;
}
