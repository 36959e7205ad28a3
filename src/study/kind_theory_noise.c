/*
 * kind: theory-noise. The stochastic theorem: F_xi(z) = A (z - z*) + xi, E xi = 0, E |xi|^2 =
 * sigma^2. Then
 *
 *   E |F_xi(z)|^2 = |A (z - z*)|^2 + sigma^2 <= (L_A^2 / mu) <F(z), z - z*> + sigma^2
 *
 * so the theorem's assumption holds with L = max(L_A, L_A^2 / 2 mu). With c = 2 (1 + alpha^2) and
 * eta <= 1 / (2 (1 + c) L) it bounds e_t = E 1/2 |z_t - z*|^2 by
 *
 *   e_{t+1} <= (1 - eta mu + alpha^2) e_t + eta^2 (1 + c) sigma^2
 *
 * whose fixed point is eta^2 (1 + c) sigma^2 / (eta mu - alpha^2) when alpha^2 < eta mu. Inner
 * errors are of exactly alpha and point away from the solution. The factors are `sigma`,
 * `eta_share` of the largest eta allowed and `alpha_share`, alpha^2 = alpha_share eta mu.
 */
#include "base/base.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

typedef struct noisy {
  hvi_problem base;
  const hvi_problem *quadratic;
  double sigma;
} noisy;

static void noisy_operate(const hvi_problem *p, const void *sample, const double *theta,
                          const double *z, double *f) {
  const noisy *q = (const noisy *)p;
  q->quadratic->ops->operate(q->quadratic, NULL, theta, z, f);
  for (size_t i = 0; sample && i < p->model->out; i++) f[i] += ((const double *)sample)[i];
}

static void noisy_draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)theta;
  const size_t n = p->model->out;
  hvi_rng_fill_normal(rng, 0.0, ((const noisy *)p)->sigma / sqrt((double)n), n, sample);
}

static const hvi_problem_ops noisy_ops = {
    .name = "noisy", .operate = noisy_operate, .draw = noisy_draw};

/* One sigma, eta and alpha. */
typedef struct course {
  double mu, sigma, eta, alpha, c;
  size_t steps, seeds;
  double *halves; /* [steps + 1][seeds] 1/2 |z_t - z*|^2 */
  size_t seed;    /* of the run under way */
  double observed, interval, limit;
  double over_recursion, last_over_first;
} course;

static bool observe(void *context, const hvi_record *row) {
  course *c = context;
  c->halves[row->outer * c->seeds + c->seed] = 0.5 * row->dist2;
  return true;
}

static hvi_status run_seeds(course *c, const hvi_problem *quadratic, hvi_error *err) {
  const noisy q = {.base = {.ops = &noisy_ops,
                            .sample_bytes = quadratic->model->out * sizeof(double),
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
    HVI_TRY(hvi_solver_new(&solver, &q.base, &s, err));
    hvi_solver_run(solver);
    hvi_solver_free(solver);
  }
  return HVI_OK;
}

/* Compares the mean over seeds, with its interval, to the recursion, step by step. */
static void compare(course *c) {
  const double shrink = 1.0 - c->eta * c->mu + c->alpha * c->alpha;
  const double add = c->eta * c->eta * (1.0 + c->c) * c->sigma * c->sigma;
  double bound = hvi_stats_mean(c->halves, c->seeds), first = bound, tail = 0.0, spread = 0.0;
  size_t tail_count = 0;
  for (size_t t = 1; t <= c->steps; t++) {
    const double *row = c->halves + t * c->seeds;
    const double mean = hvi_stats_mean(row, c->seeds);
    const double interval = c->sigma > 0.0 ? hvi_stats_interval95(row, c->seeds) : 0.0;
    bound = shrink * bound + add;
    c->over_recursion = fmax(c->over_recursion, (mean + interval) / bound);
    c->last_over_first = mean / first;
    if (t <= c->steps - c->steps / 4) continue;
    tail += mean;
    spread += interval;
    tail_count++;
  }
  c->limit = add / (c->eta * c->mu - c->alpha * c->alpha);
  c->observed = tail / (double)tail_count;
  c->interval = spread / (double)tail_count;
}

/* The largest eta solves a quadratic equation, as c has alpha in it: this stays just below its root. */
static hvi_status choose_steps(course *c, const hvi_cell *cell, hvi_error *err) {
  const double L_A = hvi_cell_number(cell, "L"), share = hvi_cell_number(cell, "alpha_share");
  c->mu = hvi_cell_number(cell, "mu");
  c->sigma = hvi_cell_number(cell, "sigma");
  c->seeds = cell->part->scale.instances;
  const double L = fmax(L_A, L_A * L_A / (2.0 * c->mu));
  const double exact = 1.0 / (6.0 * L); /* the largest for alpha = 0 */
  c->eta = hvi_cell_number(cell, "eta_share") * exact / (1.0 + 2.0 / 3.0 * share * exact * c->mu);
  c->alpha = sqrt(share * c->eta * c->mu);
  c->c = 2.0 * (1.0 + c->alpha * c->alpha);
  const double steps = 16.0 / (c->eta * c->mu - c->alpha * c->alpha);
  if (!(steps >= 4.0 && steps <= 1e6 && c->sigma >= 0.0))
    return hvi_error_input(
        err, "%s: kind theory-noise needs mu, L, sigma, eta_share and alpha_share < 1",
        cell->study->origin);
  c->steps = (size_t)steps;
  return HVI_OK;
}

static hvi_status run(const hvi_cell *cell, hvi_rows *rows, hvi_error *err) {
  course c = {0};
  hvi_problem *quadratic = NULL;
  hvi_status status = choose_steps(&c, cell, err);
  if (!status) status = hvi_cell_problem(&quadratic, cell, 1, err);
  if (!status) c.halves = hvi_alloc_doubles((c.steps + 1) * c.seeds);
  if (!status && !c.halves) status = hvi_error_memory(err, "the noisy runs");
  if (!status) status = run_seeds(&c, quadratic, err);
  if (!status) compare(&c);
  const double row[] = {c.eta,   c.alpha,          c.observed,        c.interval,
                        c.limit, c.over_recursion, c.last_over_first, (double)c.seeds};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_free(c.halves);
  hvi_problem_free(quadratic);
  return status;
}

static const hvi_column columns[] = {
    {.name = "eta alpha observed interval limit over_recursion last_over_first seeds"}, {0}};
static const hvi_kind_table tables[] = {{"", columns, "eta_share alpha_share"}, {0}};

const hvi_kind hvi_kind_theory_noise = {.name = "theory-noise",
                                        .summary = "the neighbourhood of the stochastic case",
                                        .tables = tables,
                                        .run = run};
