#include "study/theory_lab.h"

#include "base/base.h"
#include "num/vec.h"
#include "report/text.h"

#include <hvi/game.h>

typedef struct view {
  hvi_steps steps;
  hvi_lab_see see;
  void *context;
} view;

static bool observe(void *context, const hvi_record *row) {
  view *v = context;
  bool more = true;
  if (row->outer > 0) {
    const hvi_step step = hvi_steps_measure(&v->steps, row->z);
    more = v->see(v->context, &step, row);
  }
  hvi_steps_stand(&v->steps, row->theta, row->z);
  return more;
}

hvi_status hvi_lab_run(const hvi_problem *p, const hvi_settings *s, hvi_lab_see see, void *context,
                       hvi_error *err) {
  view v = {.see = see, .context = context};
  hvi_settings own = *s;
  hvi_solver *solver;
  own.observe = observe;
  own.observer_context = &v;
  HVI_TRY(hvi_solver_new(&solver, p, &own, err));
  hvi_status status = hvi_steps_new(&v.steps, p, &own, hvi_solver_info(solver).eta, err);
  if (!status) hvi_solver_run(solver);
  hvi_steps_free(&v.steps);
  hvi_solver_free(solver);
  return status;
}

/* A point of the set's relative interior: at least a third of the way from the boundary to the
 * middle. */
static void draw_inside(double *z, hvi_set_kind set, size_t n, hvi_rng *rng) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += z[i] = hvi_rng_range(rng, 0.5, 1.5);
  for (size_t i = 0; i < n; i++) z[i] = set == HVI_SET_SIMPLEX ? z[i] / sum : z[i] / 2.0;
}

hvi_status hvi_lab_constrained(hvi_problem **p, const hvi_problem *affine, hvi_set_kind set,
                               uint64_t seed, uint64_t instance, hvi_error *err) {
  const size_t n = affine->model->out;
  const bool simplex = set == HVI_SET_SIMPLEX;
  double *A = hvi_alloc_doubles(2 * n * n + 6 * n); /* [n][n], and what follows */
  *p = NULL;
  if (!A) return hvi_error_memory(err, "a constrained problem");
  double *identity = A + n * n; /* [n][n] */
  double *b = identity + n * n, *solution = b + n, *linear = solution + n, *lower = linear + n,
         *upper = lower + n, *start = upper + n; /* [n] */
  hvi_rng rng = hvi_rng_new(seed, "constrained", instance);
  affine->ops->affine(affine, A, b);
  draw_inside(solution, set, n, &rng);
  draw_inside(start, set, n, &rng);
  for (size_t i = 0; i < n; i++) {
    /* from near a corner, so that targets leave Z */
    start[i] = 0.02 * start[i] + 0.98 * (i == 0 || !simplex ? 1.0 : 0.0);
    upper[i] = identity[i * n + i] = 1.0;
    /* F(z*) - A z*, F(z*) being normal to Z: a multiple of (1, ..., 1) on the simplex */
    linear[i] = (simplex ? 1.0 : 0.0) - hvi_vec_dot(A + i * n, solution, n);
  }
  hvi_player player = {
      .theta0 = start, .set = set, .lower = lower, .upper = upper, .linear = linear};
  const hvi_payoff payoff = {0, 0, A};
  const hvi_game_spec spec = {1, &player, 1, &payoff, solution};
  hvi_status status = hvi_affine_new(&player.model, n, n, identity, NULL, err);
  if (!status) status = hvi_game_new(p, &spec, err);
  hvi_free(A);
  return status;
}

static uint64_t instance_of(const hvi_cell *c) {
  const double given = hvi_cell_number(c, "instance");
  return given >= 0.0 ? (uint64_t)given : 0;
}

static hvi_status make_problem(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  static const char *const sets[] = {"box", "simplex", NULL};
  const uint64_t instance = instance_of(c);
  size_t set;
  hvi_status status = hvi_cell_problem(&lab->problem, c, instance, err);
  if (status || !hvi_cell_word(c, "set")) return status;
  HVI_TRY(hvi_cell_choice(&set, c, "set", sets, err));
  if (!lab->problem->ops->affine)
    return hvi_error_input(err, "%s: a set needs an affine F", c->study->origin);
  hvi_problem *whole = lab->problem;
  status = hvi_lab_constrained(&lab->problem, whole, set ? HVI_SET_SIMPLEX : HVI_SET_BOX,
                               c->part->seed, instance, err);
  hvi_problem_free(whole);
  return status;
}

static hvi_status choose_step(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  const double alpha_share = hvi_cell_number(c, "alpha_share");
  const double eta_share = hvi_cell_number(c, "eta_share");
  const char *step = hvi_cell_word(c, "step");
  hvi_constants k = {.mu = hvi_cell_number(c, "mu"), .lipschitz = hvi_cell_number(c, "L")};
  const hvi_status status =
      step && isnan(k.mu + k.lipschitz) ? hvi_problem_constants(&k, lab->problem, err) : HVI_OK;
  lab->alpha = hvi_cell_number(c, "alpha");
  if (!isnan(alpha_share)) lab->alpha = alpha_share * k.mu / k.lipschitz;
  const hvi_rates r = hvi_theory_rates(k.mu, k.lipschitz, 0.0, lab->alpha);
  lab->eta = hvi_cell_number(c, step ? "step" : "eta");
  if (!isnan(eta_share)) lab->eta = eta_share * r.eta_alpha;
  if (step && strcmp(step, "best") == 0) lab->eta = r.eta_best;
  if (step && strcmp(step, "theorem") == 0) {
    lab->eta = r.eta_theorem;
    if (isnan(lab->alpha)) lab->alpha = r.alpha_theorem;
  }
  lab->rates = hvi_theory_rates(k.mu, k.lipschitz, lab->eta, lab->alpha);
  return status;
}

static hvi_status place_errors(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  static const char *const names[] = {
      [HVI_BIAS_AWAY] = "away",   [HVI_BIAS_ASIDE] = "aside", [HVI_BIAS_RANDOM] = "random",
      [HVI_BIAS_SHORT] = "short", [HVI_BIAS_OVER] = "over",   [HVI_BIAS_COUNT] = NULL};
  const double stream = hvi_cell_number(c, "stream");
  const char *g = hvi_cell_word(c, "g");
  const bool direct = hvi_cell_word(c, "set") || (g && strcmp(g, "identity") == 0);
  size_t bias;
  HVI_TRY(hvi_cell_choice(&bias, c, "bias", names, err));
  if (!lab->problem->solution || (direct && lab->problem->model->dim != lab->problem->model->out))
    return hvi_error_input(err, "%s: errors are placed where the solution is known",
                           c->study->origin);
  lab->place = (hvi_placement){.problem = lab->problem,
                               .direct = direct,
                               .bias = (hvi_bias)bias,
                               .alpha = lab->alpha,
                               .seed = instance_of(c)};
  if (hvi_cell_word(c, "stream")) lab->place.seed = stream >= 0.0 ? (uint64_t)stream : c->index;
  lab->settings = hvi_lab_settings(&lab->place, lab->eta, c->part->scale.iterations);
  return HVI_OK;
}

/* A method, and those levels that are settings of it. */
static hvi_status choose_method(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  const char *method = hvi_cell_word(c, "method");
  hvi_settings *s = &lab->settings;
  hvi_status status = HVI_OK;
  *s = hvi_settings_defaults();
  if (method && !hvi_method_apply(s, method, NULL))
    return hvi_error_input(err, "%s: unknown method '%.60s'", c->study->origin, method);
  for (size_t i = 0; i < c->part->factor_count; i++)
    for (size_t k = 0; k < c->part->factors[i].keys && !status; k++) {
      const char *key = c->part->factors[i].key[k], *text = hvi_cell_word(c, key);
      const hvi_setting *row = text ? hvi_setting_find(hvi_settings_table(), key) : NULL;
      if (row && strcmp(key, "alpha") != 0 && strcmp(key, "eta") != 0)
        status = hvi_setting_parse(row, s, text, NULL, err);
    }
  if (!isnan(lab->alpha)) s->inner.error_alpha = lab->alpha;
  s->eta = lab->eta;
  s->max_outer = c->part->scale.iterations;
  s->stall_window = 0;
  s->growth_bound = 0.0;
  return status;
}

hvi_status hvi_lab_open(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  *lab = (hvi_lab){0};
  hvi_status status = make_problem(lab, c, err);
  if (!status) status = choose_step(lab, c, err);
  if (status) return status;
  return hvi_cell_word(c, "bias") ? place_errors(lab, c, err) : choose_method(lab, c, err);
}

void hvi_lab_describe(const hvi_cell *c, hvi_text *text) {
  if (hvi_cell_word(c, "stream")) hvi_text_add(text, "; cell %zu", c->index);
}
