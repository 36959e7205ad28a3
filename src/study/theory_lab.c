/*
 * An inner solver that errs on purpose. From the exact point p = Pi(v) it goes along a direction d
 * that stays in Z until the loss above its floor is exactly alpha^2 of what it was:
 *
 *   l(p + s d) - l* = 1/2 s^2 |d|^2 + s <d, p - v> = alpha^2 (l(z_t) - l*)
 *
 * with <d, p - v> >= 0 for every d that stays in Z. d comes from projecting a longer step, so it
 * is right for every Z; where Z ends before the loss is used up, the error ends there too.
 */
#include "study/theory_lab.h"

#include "base/base.h"
#include "inner/least_squares.h"
#include "num/vec.h"
#include "report/text.h"
#include "study/kinds.h"

#include <hvi/game.h>

/* {outer step, delta[d], exact[n], direction[n], aim[n], gap[n] | linear} */
static size_t placed_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  return 1 + m->dim + 4 * m->out + hvi_least_squares_state(s, m);
}

static void placed_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m;
  state[0] = 0.0;
}

static void subtract(double *out, const double *x, const double *y, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = x[i] - y[i];
}

/* The direction before it is fitted into Z. */
static void choose(double *d, double *scratch, const hvi_placement *place, const hvi_surrogate *l,
                   const double *exact, size_t outer) {
  const size_t n = l->model->out;
  hvi_rng rng = hvi_rng_new(place->seed, "placement", outer);
  if (place->bias == HVI_BIAS_AWAY) subtract(d, exact, place->problem->solution, n);
  if (place->bias == HVI_BIAS_SHORT) subtract(d, l->now->z, exact, n);
  if (place->bias == HVI_BIAS_OVER) subtract(d, exact, l->now->z, n);
  if (place->bias == HVI_BIAS_ASIDE || place->bias == HVI_BIAS_RANDOM)
    hvi_rng_fill_normal(&rng, 0.0, 1.0, n, d);
  if (place->bias != HVI_BIAS_ASIDE) return;
  subtract(scratch, l->now->z, exact, n);
  const double along = hvi_vec_norm2(scratch, n);
  if (along > 0.0) hvi_vec_add(d, -hvi_vec_dot(d, scratch, n) / along, scratch, n);
}

/* Gives d the length, then the shape that stays in Z from exact on. aim is scratch. */
static void fit(double *d, double *aim, const hvi_problem *p, const double *exact, double length) {
  const size_t n = p->model->out;
  const double norm = hvi_vec_norm(d, n);
  for (size_t i = 0; i < n; i++) aim[i] = exact[i] + (norm > 0.0 ? d[i] * (length / norm) : 0.0);
  hvi_problem_project(p, aim, d);
  for (size_t i = 0; i < n; i++) d[i] -= exact[i];
}

/* s with 1/2 s^2 |d|^2 + s slope = gap, at most 1. */
static double share_for_gap(const double *d, double slope, double gap, size_t n) {
  const double square = hvi_vec_norm2(d, n);
  const double root = slope + sqrt(slope * slope + 2.0 * square * gap);
  return root > 0.0 ? fmin(1.0, 2.0 * gap / root) : 0.0;
}

static void find_place(double *aim, double *exact, double *d, const hvi_placement *place,
                       const hvi_surrogate *l, size_t outer) {
  const size_t n = l->model->out;
  double gap = 0.0, slope = 0.0, share = 1.0;
  hvi_problem_project(place->problem, l->target, exact);
  for (size_t i = 0; i < n; i++) {
    const double back = l->now->z[i] - exact[i];
    gap += 0.5 * back * back + back * (exact[i] - l->target[i]);
  }
  gap *= place->alpha * place->alpha;
  if (place->chance > 0.0 && place->chance < 1.0) {
    hvi_rng rng = hvi_rng_new(place->seed, "chance", outer);
    gap = hvi_rng_range(&rng, 0.0, 1.0) < place->chance ? gap / place->chance : 0.0;
  }
  const double length = place->length ? place->length(outer) : 2.0 * sqrt(2.0 * fmax(gap, 0.0));
  choose(d, aim, place, l, exact, outer);
  fit(d, aim, place->problem, exact, length);
  for (size_t i = 0; i < n; i++) slope += d[i] * (exact[i] - l->target[i]);
  if (!place->length) share = share_for_gap(d, fmax(slope, 0.0), fmax(gap, 0.0), n);
  for (size_t i = 0; i < n; i++) aim[i] = exact[i] + share * d[i];
}

static bool placed_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  const hvi_placement *place = s->context;
  const size_t d = l->model->dim, n = l->model->out;
  double *delta = state + 1, *exact = delta + d, *direction = exact + n, *aim = direction + n;
  double *gap = aim + n;
  find_place(aim, exact, direction, place, l, (size_t)state[0]);
  state[0] += 1.0;
  if (place->direct) {
    hvi_vec_copy(l->next->theta, aim, n);
  } else {
    subtract(gap, l->now->z, aim, n);
    if (!hvi_least_squares_solve(delta, s, 0.0, false, gap + n, l, gap)) return false;
    for (size_t i = 0; i < d; i++) l->next->theta[i] = l->now->theta[i] - delta[i];
  }
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

static const hvi_optimizer placed = {.name = "placed",
                                     .summary = "errs by exactly alpha where it hurts",
                                     .state = placed_state,
                                     .reset = placed_reset,
                                     .step = placed_step};

hvi_settings hvi_lab_settings(const hvi_placement *placement, double eta, size_t steps) {
  hvi_settings s = hvi_settings_to_end("gd", eta, steps);
  s.optimizer = &placed;
  s.inner.context = placement;
  s.keep_state = true; /* counts the outer steps */
  return s;
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
  *p = NULL;
  HVI_NEW(double, A, 2 * n * n + 6 * n, "a constrained problem",
          err);                 /* [n][n], and what follows */
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
  HVI_TRY(hvi_affine_new(&player.model, n, n, identity, NULL, err));
  return hvi_game_new(p, &spec, err);
}

static hvi_status make_problem(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  static const char *const sets[] = {"box", "simplex", NULL};
  HVI_OWN_BY(hvi_problem_release) hvi_problem *whole = NULL;
  size_t set;
  HVI_TRY(hvi_cell_problem(&lab->problem, c, hvi_cell_instance(c), err));
  if (!hvi_cell_word(c, "set")) return HVI_OK;
  HVI_TRY(hvi_cell_choice(&set, c, "set", sets, err));
  if (!lab->problem->ops->affine)
    return hvi_error_input(err, "%s: a set needs an affine F", c->study->origin);
  whole = lab->problem;
  return hvi_lab_constrained(&lab->problem, whole, set ? HVI_SET_SIMPLEX : HVI_SET_BOX,
                             c->part->seed, hvi_cell_instance(c), err);
}

static hvi_status choose_step(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  const double alpha_share = hvi_cell_number(c, "alpha_share");
  const double eta_share = hvi_cell_number(c, "eta_share");
  const char *step = hvi_cell_word(c, "step");
  hvi_constants k = {.mu = hvi_cell_number(c, "mu"), .lipschitz = hvi_cell_number(c, "L")};
  if (step && isnan(k.mu + k.lipschitz)) HVI_TRY(hvi_problem_constants(&k, lab->problem, err));
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
  return HVI_OK;
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
                               .seed = hvi_cell_instance(c)};
  if (hvi_cell_word(c, "stream")) lab->place.seed = stream >= 0.0 ? (uint64_t)stream : c->index;
  lab->settings = hvi_lab_settings(&lab->place, lab->eta, c->part->scale.iterations);
  return HVI_OK;
}

/* A method, and those levels that are settings of it. */
static hvi_status choose_method(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  hvi_settings *s = &lab->settings;
  *s = hvi_settings_to_end("gd", lab->eta, c->part->scale.iterations);
  HVI_TRY(hvi_cell_apply_method(s, c, err));
  HVI_TRY(hvi_cell_hand_on(s, c, "alpha eta", err));
  if (!isnan(lab->alpha)) s->inner.error_alpha = lab->alpha;
  return HVI_OK;
}

hvi_status hvi_lab_open(hvi_lab *lab, const hvi_cell *c, hvi_error *err) {
  HVI_TRY(make_problem(lab, c, err));
  HVI_TRY(choose_step(lab, c, err));
  return hvi_cell_word(c, "bias") ? place_errors(lab, c, err) : choose_method(lab, c, err);
}

void hvi_lab_close(hvi_lab *lab) { hvi_problem_free(lab->problem); }

hvi_status hvi_lab_run(const hvi_lab *lab, hvi_steps_see see, void *context, hvi_error *err) {
  hvi_info info;
  return hvi_steps_run(&info, lab->problem, &lab->settings, true, see, context, err);
}

void hvi_lab_describe(const hvi_cell *c, hvi_text *text) {
  if (hvi_cell_word(c, "stream")) hvi_text_add(text, "; cell %zu", c->index);
}
