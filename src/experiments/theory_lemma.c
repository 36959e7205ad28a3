/*
 * The lemma under the theorem: for a monotone F and a solution in the relative interior of Z
 *
 *   l_t(theta_t) - l_t^* <= eta^2 / 2 |F(z_t) - F(z*)|^2
 *   |z_{t+1} - z_t^*|    <= alpha eta |F(z_t) - F(z*)|
 *
 * with alpha as reached. Errors are placed on a box and on a simplex where F(z*) is not zero, and
 * real inner solvers run on the hidden games and on a subspace.
 */
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "report/csv.h"

#include <math.h>
#include <stdio.h>

/* Smaller steps and alphas are rounding. So are losses above their floor that are this small
 * against the target's distance from Z, which they are differences of. */
static const double resolved_change = 1e-7, resolved_alpha = 1e-6, resolved_gap = 1e-9;

typedef struct tally {
  size_t steps, outside;
  double error, gap;
} tally;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  (void)row;
  tally *t = context;
  if (!(step->change > resolved_change)) return true;
  t->steps++;
  t->gap = fmax(t->gap, step->gap0 / (0.5 * step->change * step->change));
  t->outside += step->outside > 1e-9;
  if (step->alpha > resolved_alpha && step->gap > resolved_gap * step->outside) {
    t->error = fmax(t->error, step->error / (step->alpha * step->change));
  }
  return true;
}

static hvi_status run(hvi_theory_lemma_worst *w, size_t *outside, hvi_csv *csv, const char *name,
                      const hvi_problem *p, const hvi_settings *s, hvi_error *err) {
  tally t = {0};
  hvi_status status = hvi_lab_run(p, s, see, &t, err);
  if (status) return status;
  w->runs++;
  w->steps += t.steps;
  *outside += t.outside;
  w->error = fmax(w->error, t.error);
  w->gap = fmax(w->gap, t.gap);
  hvi_csv_text(csv, name);
  hvi_csv_number(csv, s->eta);
  hvi_csv_count(csv, t.steps);
  hvi_csv_count(csv, t.outside);
  hvi_csv_number(csv, t.error);
  hvi_csv_number(csv, t.gap);
  hvi_csv_end(csv);
  return HVI_OK;
}

/* Placed errors over a box or a simplex. */
static hvi_status run_placed(hvi_theory_lemma_worst *w, size_t *outside, hvi_csv *csv,
                             hvi_set_kind set, const hvi_theory_part *part, hvi_error *err) {
  static const hvi_lab_shape shape = {8, 1.0, 5.0, 1.0, false};
  static const double alphas[] = {0.05, 0.15, 0.5, 0.9}, etas[] = {0.04, 0.2, 1.0};
  const size_t instances = part->full ? 20 : 3;
  char name[64];
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < instances * HVI_BIAS_COUNT * 12 && !status; k++) {
    hvi_problem *p;
    status = hvi_lab_constrained(&p, &shape, set, part->seed, 1 + k % instances, err);
    if (status) return status;
    const size_t c = k / instances;
    const hvi_placement place = {.problem = p,
                                 .direct = true,
                                 .bias = (hvi_bias)(c / 12),
                                 .alpha = alphas[c % 4],
                                 .seed = k};
    const hvi_settings s = hvi_lab_settings(&place, etas[c / 4 % 3], 200);
    snprintf(name, sizeof name, "%s %s alpha %g", set == HVI_SET_BOX ? "box" : "simplex",
             hvi_bias_name(place.bias), place.alpha);
    status = run(w, outside, csv, name, p, &s, err);
    hvi_problem_free(p);
  }
  return status;
}

/* A real inner solver on a built-in problem. */
typedef struct real_case {
  const char *name, *problem, *method;
  size_t inner;
  double eta;
  hvi_option options[4];
  size_t option_count;
} real_case;

static const real_case real_cases[] = {
    {"pennies gd 10", "pennies", "gd", 10, 0.1, {{NULL, NULL}}, 0},
    {"pennies lm", "pennies", "lm", 1, 0.1, {{NULL, NULL}}, 0},
    {"rps gd 10", "rps", "gd", 10, 0.1, {{NULL, NULL}}, 0},
    {"rps lm", "rps", "lm", 1, 0.1, {{NULL, NULL}}, 0},
    {"tanh box lm", "quadratic", "lm", 2, 0.04, {{"g", "tanh"}}, 1},
    {"subspace gd 5",
     "quadratic",
     "gd",
     5,
     0.04,
     {{"g", "linear"}, {"d", "4"}, {"normal", "1"}},
     3},
};

static hvi_status run_real(hvi_theory_lemma_worst *w, size_t *outside, hvi_csv *csv,
                           const real_case *c, const hvi_theory_part *part, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t instance = 0; instance < (part->full ? 20u : 3u) && !status; instance++) {
    hvi_problem *p;
    status =
        hvi_builtin_new(&p, c->problem, c->options, c->option_count, part->seed, instance, err);
    if (status) return status;
    hvi_settings s = hvi_settings_defaults();
    hvi_method_find(c->method)->apply(&s);
    s.inner_steps = c->inner;
    s.eta = c->eta;
    if (p->model->block_count == 1) s.inner.lr = 0.2;
    s.max_outer = 300;
    if (p->solution) status = run(w, outside, csv, c->name, p, &s, err);
    hvi_problem_free(p);
  }
  return status;
}

void hvi_theory_lemma_judge(hvi_claims *claims, const hvi_theory_lemma_worst *w) {
  hvi_claim *c =
      hvi_claims_add(claims, "lemma", "lemma, bound on the step error",
                     "The inner error is at most alpha eta |F(z_t) - F(z*)|, and the surrogate's "
                     "loss above its floor at most half the square of eta |F(z_t) - F(z*)|, also "
                     "where the target lies outside Z.");
  hvi_claim_measure(c, "largest error / (alpha eta |F - F*|)", w->error);
  hvi_claim_measure(c, "largest (l - l*) / (eta^2 / 2 |F - F*|^2)", w->gap);
  hvi_claim_measure(c, "share of steps with a target outside Z", w->outside);
  hvi_claim_measure(c, "runs", (double)w->runs);
  hvi_claim_measure(c, "steps", (double)w->steps);
  hvi_claim_judge(c, w->steps > 0 && w->error <= 1.0 + 1e-6 && w->gap <= 1.0 + 1e-6);
}

hvi_status hvi_theory_lemma(const hvi_theory_part *part, hvi_error *err) {
  hvi_theory_lemma_worst w = {0};
  size_t outside = 0;
  hvi_csv csv;
  hvi_status status =
      hvi_lab_csv(&csv, part->folder, "lemma", "case,eta,steps,outside,error,gap", err);
  if (status) return status;
  status = run_placed(&w, &outside, &csv, HVI_SET_BOX, part, err);
  if (!status) status = run_placed(&w, &outside, &csv, HVI_SET_SIMPLEX, part, err);
  for (size_t i = 0; i < sizeof real_cases / sizeof *real_cases && !status; i++) {
    status = run_real(&w, &outside, &csv, &real_cases[i], part, err);
  }
  if (!status) status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  w.outside = w.steps ? (double)outside / (double)w.steps : NAN;
  if (!status) hvi_theory_lemma_judge(part->claims, &w);
  return status;
}
