/*
 * A program of somebody else's: sees the installed headers and the installed library, nothing else.
 * It makes a game of its own, plugs in an inner optimizer of its own, and solves.
 */
#include <hvi/hvi.h>

#include <math.h>
#include <stdio.h>

static int version_agrees(void) {
  char headers[32];
  snprintf(headers, sizeof headers, "%d.%d.%d", HVI_VERSION_MAJOR, HVI_VERSION_MINOR,
           HVI_VERSION_PATCH);
  printf("hvi %s\n", headers);
  for (int i = 0; headers[i] || hvi_version()[i]; i++)
    if (headers[i] != hvi_version()[i]) return 0;
  return 1;
}

/* One player of matching pennies: z = sigmoid(CELU(a theta)). */
static hvi_model *player(double a) {
  const double one = 1.0;
  const hvi_layer layers[2] = {{.out = 1, .matrix = &a, .activation = HVI_CELU},
                               {.out = 1, .matrix = &one, .activation = HVI_SIGMOID}};
  const hvi_stack_spec spec = {.in = 1, .rows = 1, .layer_count = 2, .layers = layers};
  hvi_model *model = NULL;
  hvi_stack_new(&model, &spec, NULL);
  return model;
}

static hvi_status make_game(hvi_problem **game, hvi_error *err) {
  static const double start[2] = {1.25, 2.25}, low = 0.0, high = 1.0, half = 0.5;
  static const double linear[2] = {2.0, -2.0}, minus = -4.0, plus = 4.0, solution[2] = {0.5, 0.5};
  hvi_player players[2];
  for (int i = 0; i < 2; i++) {
    players[i] = (hvi_player){.model = player(i ? 0.7 : 0.5),
                              .theta0 = &start[i],
                              .set = HVI_SET_BOX,
                              .lower = &low,
                              .upper = &high,
                              .weight = 0.75,
                              .centre = &half,
                              .linear = &linear[i]};
  }
  const hvi_payoff payoffs[2] = {{0, 1, &minus}, {1, 0, &plus}};
  const hvi_game_spec spec = {.player_count = 2,
                              .players = players,
                              .payoff_count = 2,
                              .payoffs = payoffs,
                              .solution = solution};
  return hvi_game_new(game, &spec, err);
}

static size_t no_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s, (void)m;
  return 0;
}

static void forget(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m, (void)state;
}

/* Gradient descent with a step of its own, half of lr. */
static bool half_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  (void)state;
  const double *g = hvi_surrogate_gradient(l);
  for (size_t i = 0; i < l->model->dim; i++)
    l->next->theta[i] = l->now->theta[i] - 0.5 * s->lr * g[i];
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

static const hvi_optimizer halves = {
    .name = "halves", .state = no_state, .reset = forget, .step = half_step};

int main(void) {
  hvi_problem *game;
  hvi_solver *solver;
  hvi_error err;
  if (!version_agrees()) return 1;
  if (make_game(&game, &err)) return puts(err.text), 1;
  hvi_settings s = hvi_method_settings("gd");
  s.optimizer = &halves;
  s.inner_steps = 20;
  s.tol = 1e-9;
  s.max_outer = 10000;
  if (hvi_solver_new(&solver, game, &s, &err)) return puts(err.text), 1;
  const hvi_outcome outcome = hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  printf("%s after %zu steps, |z - z*|^2 = %.1e\n", hvi_outcome_name(outcome), info.last.outer,
         info.last.dist2);
  const int good = outcome == HVI_CONVERGED && info.last.dist2 < 1e-18;
  hvi_solver_free(solver);
  hvi_problem_free(game);
  return !good;
}
