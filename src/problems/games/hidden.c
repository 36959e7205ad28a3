/*
 * The paper's games.
 *
 * Hidden matching pennies:
 *
 *   z_i = sigmoid(a_i2 CELU(a_i1 theta_i))
 *   F(z) = [ -2 (2 z_2 - 1) + w (z_1 - 1/2),  2 (2 z_1 - 1) + w (z_2 - 1/2) ],   z* = (1/2, 1/2)
 *
 * The objective as printed gives both players' regularisers the same sign. Then the second
 * component ends in - w (z_2 - 1/2), the symmetric part of F is diag(w, -w), and no method can
 * converge; signs=printed shows it.
 *
 * CELU reaches (-1, inf), so z_i reaches everything between sigmoid(-a_i2) and the limit 0 or 1
 * that the sign of a_i2 picks, and nothing but 1/2 when a constant is zero.
 *
 * Hidden rock-paper-scissors, its sign mended likewise:
 *
 *   z_i = softmax(A_i2 CELU(A_i1 theta_i)),  theta_i in R^5,  A_i1 4x5,  A_i2 3x4
 *   F(z) = [ A z_2 + w (z_1 - 1/3),  -A' z_1 + w (z_2 - 1/3) ],   z* = 1/3 throughout
 *
 * The paper does not print its matrices. Instance 0 is problems/rps.yaml; the others draw every
 * entry from U[-1, 1] and theta from N(0, I).
 *
 * The counterexample: F(z) = [[1, 1], [-1, 1]] z with mu = 1, L = sqrt(2) and the identity as
 * model. mu / L = 1/sqrt(2), so alpha = 1/sqrt(2) is just not covered: an inner solver that ends at
 * z - eta (z_2, -z_1) halves the loss of every surrogate and yet grows |z| by sqrt(1 + eta^2).
 */
#include "base/base.h"
#include "base/embedded.h"
#include "problems/document.h"
#include "problems/games/game.h"
#include "problems/options.h"

typedef struct pennies_options {
  double a[4]; /* a1, a2, b1, b2: the first rows of the table */
  double weight;
  int signs; /* 1: as printed */
} pennies_options;

typedef struct rps_options {
  double weight;
  int signs;
} rps_options;

#define AT(member) .offset = offsetof(pennies_options, member)
HVI_TABLE(const hvi_setting_table hvi_pennies_options, "pennies", pennies_options,
    {"a1", HVI_SETTING_REAL, AT(a[0]), .range = "[-100,100]", .fallback = "0.5", .help = "player 1: sigmoid(a2 CELU(a1 theta))"},
    {"a2", HVI_SETTING_REAL, AT(a[1]), .range = "[-100,100]", .fallback = "1", .help = "player 1: outer constant"},
    {"b1", HVI_SETTING_REAL, AT(a[2]), .range = "[-100,100]", .fallback = "0.7", .help = "player 2: sigmoid(b2 CELU(b1 theta))"},
    {"b2", HVI_SETTING_REAL, AT(a[3]), .range = "[-100,100]", .fallback = "1", .help = "player 2: outer constant"},
    {"weight", HVI_SETTING_REAL, AT(weight), .range = "[0,100]", .fallback = "0.75", .help = "of the regulariser, which is mu"},
    {"signs", HVI_SETTING_CHOICE, AT(signs), .choices = "mended|printed", .fallback = "mended",
     .help = "of the regulariser; as printed, F is not monotone"},
    {0});
HVI_TABLE(const hvi_setting_table hvi_rps_options, "rps", rps_options,
    {"weight", HVI_SETTING_REAL, .range = "[0,100]", .fallback = "0.2", .help = "of the regulariser, which is mu"},
    {"signs", HVI_SETTING_CHOICE, .offset = offsetof(rps_options, signs), .choices = "mended|printed",
     .fallback = "mended", .help = "of the regulariser; as printed, F is not monotone"},
    {0});
const hvi_setting_table hvi_counterexample_options = {"counterexample", 0,
                                                      (const hvi_setting[]){{0}}};

/* Two players, each s(A_2 CELU(A_1 theta_i)) with theta_i in R^in, who pay each other by A_12 and
 * A_21. */
static hvi_status make_pair(hvi_problem **problem, hvi_player players[2], const hvi_layer layers[4],
                            size_t in, const hvi_payoff payoffs[2], const double *solution,
                            hvi_error *err) {
  for (size_t k = 0; k < 2; k++) {
    const hvi_stack_spec stack = {.in = in, .rows = 1, .layer_count = 2, .layers = layers + 2 * k};
    const hvi_status status = hvi_stack_new(&players[k].model, &stack, err);
    if (status) hvi_model_free(players[0].model);
    if (status) return status;
  }
  return hvi_game_new(problem, &(hvi_game_spec){2, players, 2, payoffs, solution}, err);
}

hvi_status hvi_pennies_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  static const double half[2] = {0.5, 0.5}, row[1] = {-4.0}, column[1] = {4.0};
  static const double linear[2] = {2.0, -2.0};
  const pennies_options *v = (const void *)o->values;
  double theta0[2] = {1.25, 2.25}, a[4], lower[2], upper[2];
  memcpy(a, v->a, sizeof a);
  if (o->instance > 0) {
    hvi_rng rng = hvi_rng_new(o->seed, "pennies", o->instance);
    hvi_rng_fill_normal(&rng, 0.0, 4.0, 2, theta0);
    for (size_t i = 0; i < 4; i++) {
      double drawn = hvi_rng_range(&rng, -1.0, 1.0);
      if (!o->given[i]) a[i] = drawn;
    }
  }
  hvi_player players[2];
  hvi_layer layers[4];
  for (size_t k = 0; k < 2; k++) {
    const double outer = a[2 * k + 1], end = 1.0 / (1.0 + exp(outer));
    const bool still = a[2 * k] == 0.0 || outer == 0.0;
    lower[k] = still ? 0.5 : outer > 0.0 ? end : 0.0;
    upper[k] = still ? 0.5 : outer > 0.0 ? 1.0 : end;
    double sign = k == 1 && v->signs ? -1.0 : 1.0;
    players[k] = (hvi_player){.name = k == 0 ? "even" : "odd",
                              .theta0 = &theta0[k],
                              .set = HVI_SET_BOX,
                              .lower = &lower[k],
                              .upper = &upper[k],
                              .weight = sign * v->weight,
                              .centre = half,
                              .linear = &linear[k]};
    layers[2 * k] = (hvi_layer){.out = 1, .matrix = &a[2 * k], .activation = HVI_CELU};
    layers[2 * k + 1] = (hvi_layer){.out = 1, .matrix = &a[2 * k + 1], .activation = HVI_SIGMOID};
  }
  const hvi_payoff payoffs[2] = {{0, 1, row}, {1, 0, column}};
  return make_pair(problem, players, layers, 1, payoffs, half, err);
}

static hvi_status draw_rps(hvi_problem **problem, const double weights[2], const hvi_options *o,
                           hvi_error *err) {
  enum { IN = 5, HIDDEN = 4, OUT = 3 };
  /* A is skew, so -A' is A itself */
  static const double A[] = {0, -1, 1, 1, 0, -1, -1, 1, 0};
  static const double third[] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
  double theta0[2][IN], first[2][HIDDEN * IN], second[2][OUT * HIDDEN];
  hvi_player players[2];
  hvi_layer layers[4];
  hvi_rng rng = hvi_rng_new(o->seed, "rps", o->instance);
  for (size_t k = 0; k < 2; k++) {
    hvi_rng_fill_normal(&rng, 0.0, 1.0, IN, theta0[k]);
    hvi_rng_fill_uniform(&rng, -1.0, 1.0, HIDDEN * IN, first[k]);
    hvi_rng_fill_uniform(&rng, -1.0, 1.0, OUT * HIDDEN, second[k]);
    players[k] = (hvi_player){.name = k == 0 ? "row" : "column",
                              .theta0 = theta0[k],
                              .set = HVI_SET_SIMPLEX,
                              .weight = weights[k],
                              .centre = third};
    layers[2 * k] = (hvi_layer){.out = HIDDEN, .matrix = first[k], .activation = HVI_CELU};
    layers[2 * k + 1] = (hvi_layer){.out = OUT, .matrix = second[k], .activation = HVI_SOFTMAX};
  }
  const hvi_payoff payoffs[2] = {{0, 1, A}, {1, 0, A}};
  return make_pair(problem, players, layers, IN, payoffs, third, err);
}

hvi_status hvi_rps_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  const rps_options *v = (const void *)o->values;
  const double weights[2] = {v->weight, v->signs ? -v->weight : v->weight};
  if (o->instance > 0) return draw_rps(problem, weights, o, err);
  const char *file = hvi_embedded_find(hvi_embedded_problems, "rps");
  hvi_status status = hvi_game_parse(problem, file, "rps.yaml", NULL, 0, 0, err);
  if (status || !(o->given[0] || v->signs)) return status;
  hvi_game *game = (hvi_game *)*problem;
  for (size_t k = 0; k < 2; k++) game->weight[k] = weights[k];
  for (size_t i = 0; i < 6; i++) game->constant[i] = -weights[i / 3] * (1.0 / 3.0);
  return HVI_OK;
}

hvi_status hvi_counterexample_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  static const double identity[] = {1.0, 0.0, 0.0, 1.0}, rotation[] = {0.0, 1.0, -1.0, 0.0};
  static const double zero[2] = {0.0, 0.0};
  double theta0[2] = {1.0, 0.0};
  if (o->instance > 0) {
    hvi_rng rng = hvi_rng_new(o->seed, "counterexample", o->instance);
    hvi_rng_fill_normal(&rng, 0.0, 1.0, 2, theta0);
  }
  hvi_player player = {.theta0 = theta0, .set = HVI_SET_FREE, .weight = 1.0, .centre = zero};
  HVI_TRY(hvi_affine_new(&player.model, 2, 2, identity, NULL, err));
  const hvi_payoff payoff = {0, 0, rotation};
  return hvi_game_new(problem, &(hvi_game_spec){1, &player, 1, &payoff, zero}, err);
}
