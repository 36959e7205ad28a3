/*
 * The counterexample F(z) = [[1, 1], [-1, 1]] z: an inner solver that ends at
 * v + alpha Q (z_t - v), alpha = 1/sqrt(2), Q the rotation by 45 degrees, turns every step into
 * z - eta (z_2, -z_1). So |z| grows by sqrt(1 + eta^2) whatever eta is. With alpha below
 * mu / L = 1/sqrt(2) and the theorem's eta the same solver, and one that pushes straight away from
 * the solution, both converge.
 */
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "report/csv.h"

#include <hvi/theory.h>

#include <math.h>

static const double mu = 1.0, lipschitz = 1.41421356237309504880, alpha = 0.70710678118654752440;
static const double small_alphas[] = {0.1, 0.3, 0.5, 0.65, 0.7};

enum { STEPS = 80, SMALL = sizeof small_alphas / sizeof *small_alphas };

/* Growth per step over one run. */
typedef struct span {
  double least, most;             /* of the contraction */
  double alpha_least, alpha_most; /* as reached */
} span;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  (void)row;
  span *s = context;
  s->least = fmin(s->least, step->contraction);
  s->most = fmax(s->most, step->contraction);
  s->alpha_least = fmin(s->alpha_least, step->alpha);
  s->alpha_most = fmax(s->alpha_most, step->alpha);
  return true;
}

static hvi_settings adversary(double eta, double error) {
  hvi_settings s = hvi_settings_defaults();
  hvi_method_find("adversary")->apply(&s);
  s.inner.error_alpha = error;
  s.eta = eta;
  s.max_outer = STEPS;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  return s;
}

static hvi_status run(span *out, const hvi_problem *p, const hvi_settings *s, hvi_error *err) {
  *out = (span){INFINITY, 0.0, INFINITY, 0.0};
  return hvi_lab_run(p, s, see, out, err);
}

/* Any eta, alpha = 1/sqrt(2). */
static hvi_status diverge(hvi_theory_counter_worst *w, hvi_csv *csv, const hvi_problem *p,
                          double eta, hvi_error *err) {
  span s;
  const hvi_settings settings = adversary(eta, alpha);
  hvi_status status = run(&s, p, &settings, err);
  if (status) return status;
  const double expected = sqrt(1.0 + eta * eta), least = sqrt(s.least), most = sqrt(s.most);
  const double error = fmax(fabs(least / expected - 1.0), fabs(most / expected - 1.0));
  w->etas++;
  w->growth_error = fmax(w->growth_error, error);
  w->alpha_error =
      fmax(w->alpha_error, fmax(fabs(s.alpha_least - alpha), fabs(s.alpha_most - alpha)));
  w->least_growth = fmin(w->least_growth, least);
  const double row[] = {eta, least - 1.0, most - 1.0, expected - 1.0, error};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) hvi_csv_number(csv, row[i]);
  hvi_csv_end(csv);
  return HVI_OK;
}

/* alpha below mu / L, eta in the middle of what the theorem allows. */
static hvi_status converge(hvi_theory_counter_worst *w, const hvi_problem *p, double error,
                           hvi_error *err) {
  const double eta = 0.5 * hvi_theory_rates(mu, lipschitz, 0.0, error).eta_alpha;
  const double rho = hvi_theory_rates(mu, lipschitz, eta, error).rho;
  const hvi_placement place = {.problem = p, .direct = true, .alpha = error};
  const hvi_settings turned = adversary(eta, error), away = hvi_lab_settings(&place, eta, STEPS);
  span a, b;
  hvi_status status = run(&a, p, &turned, err);
  if (!status) status = run(&b, p, &away, err);
  if (status) return status;
  const double slowest = fmax(a.most, b.most);
  w->alphas++;
  w->small_over_rho = fmax(w->small_over_rho, slowest / rho);
  w->small_slowest = fmax(w->small_slowest, slowest);
  return HVI_OK;
}

void hvi_theory_counter_judge(hvi_claims *claims, const hvi_theory_counter_worst *w) {
  hvi_claim *c =
      hvi_claims_add(claims, "counterexample", "proposition, divergence with alpha < 1",
                     "alpha = 1/sqrt(2) is not enough: on a strongly monotone F an inner solver "
                     "that satisfies alpha-descent diverges for every eta.");
  hvi_claim_measure(c, "step sizes", (double)w->etas);
  hvi_claim_measure(c, "smallest growth of |z| per step", w->least_growth);
  hvi_claim_measure(c, "largest relative error against sqrt(1 + eta^2)", w->growth_error);
  hvi_claim_measure(c, "largest error of alpha against 1/sqrt(2)", w->alpha_error);
  hvi_claim_judge(c, w->etas > 0 && w->least_growth > 1.0 && w->growth_error <= 1e-12 &&
                         w->alpha_error <= 1e-9);
  c = hvi_claims_add(claims, "counterexample-mended", "theorem, deterministic case",
                     "On the same F every alpha < mu / L converges with a step size that the "
                     "theorem allows.");
  hvi_claim_measure(c, "alphas", (double)w->alphas);
  hvi_claim_measure(c, "largest contraction", w->small_slowest);
  hvi_claim_measure(c, "largest contraction / rho", w->small_over_rho);
  hvi_claim_judge(c, w->alphas > 0 && w->small_slowest < 1.0 &&
                         w->small_over_rho <= 1.0 + hvi_theory_slack);
}

hvi_status hvi_theory_counter(const hvi_theory_part *part, hvi_error *err) {
  const size_t etas = part->full ? 81 : 21;
  hvi_theory_counter_worst w = {.least_growth = INFINITY};
  hvi_problem *p;
  hvi_csv csv = {0};
  hvi_status status = hvi_builtin_new(&p, "counterexample", NULL, 0, part->seed, 0, err);
  if (status) return status;
  status = hvi_lab_csv(&csv, part->folder, "counterexample",
                       "eta,least_growth,largest_growth,expected,error", err);
  for (size_t i = 0; i < etas && !status; i++) {
    const double eta = pow(10.0, -3.0 + 4.0 * (double)i / (double)(etas - 1));
    status = diverge(&w, &csv, p, eta, err);
  }
  for (size_t i = 0; i < SMALL && !status; i++) status = converge(&w, p, small_alphas[i], err);
  if (!status) status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  hvi_problem_free(p);
  if (!status) hvi_theory_counter_judge(part->claims, &w);
  return status;
}
