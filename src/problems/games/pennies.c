/*
 * Hidden matching pennies.
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
 */

#include "problems/options.h"

#include <hvi/game.h>

#include <math.h>

typedef struct pennies_options {
  double a[4]; /* a1, a2, b1, b2: the first rows of the table */
  double weight;
  int signs; /* 1: as printed */
} pennies_options;

#define AT(member) .offset = offsetof(pennies_options, member)
/* clang-format off */
static const hvi_setting rows[] = {
    {"a1", HVI_SETTING_REAL, AT(a[0]), .range = "[-100,100]", .fallback = "0.5",
     .help = "player 1: sigmoid(a2 CELU(a1 theta))"},
    {"a2", HVI_SETTING_REAL, AT(a[1]), .range = "[-100,100]", .fallback = "1",
     .help = "player 1: outer constant"},
    {"b1", HVI_SETTING_REAL, AT(a[2]), .range = "[-100,100]", .fallback = "0.7",
     .help = "player 2: sigmoid(b2 CELU(b1 theta))"},
    {"b2", HVI_SETTING_REAL, AT(a[3]), .range = "[-100,100]", .fallback = "1",
     .help = "player 2: outer constant"},
    {"weight", HVI_SETTING_REAL, AT(weight), .range = "[0,100]", .fallback = "0.75",
     .help = "of the regulariser, which is mu"},
    {"signs", HVI_SETTING_CHOICE, AT(signs), .choices = "mended|printed", .fallback = "mended",
     .help = "of the regulariser; as printed, F is not monotone"},
    {0},
};
/* clang-format on */
#undef AT

const hvi_setting_table hvi_pennies_options = {"pennies", sizeof(pennies_options), rows};

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

static void reach(double *lower, double *upper, double inner, double outer) {
  *lower = *upper = 0.5;
  if (inner == 0.0) return;
  if (outer > 0.0) {
    *lower = sigmoid(-outer);
    *upper = 1.0;
  } else if (outer < 0.0) {
    *lower = 0.0;
    *upper = sigmoid(-outer);
  }
}

static hvi_status make_model(hvi_model **model, const double a[2], hvi_error *err) {
  hvi_layer layers[] = {{.out = 1, .matrix = &a[0], .activation = HVI_CELU},
                        {.out = 1, .matrix = &a[1], .activation = HVI_SIGMOID}};
  hvi_stack_spec spec = {.in = 1, .rows = 1, .layer_count = 2, .layers = layers};
  return hvi_stack_new(model, &spec, err);
}

hvi_status hvi_pennies_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                           uint64_t instance, hvi_error *err) {
  static const double half[2] = {0.5, 0.5}, row[1] = {-4.0}, column[1] = {4.0};
  static const double linear[2] = {2.0, -2.0};
  const pennies_options *v = (const void *)o->values;
  double theta0[2] = {1.25, 2.25}, a[4], lower[2], upper[2];
  for (size_t i = 0; i < 4; i++) a[i] = v->a[i];
  if (instance > 0) {
    hvi_rng rng = hvi_rng_new(seed, "pennies", instance);
    hvi_rng_fill_normal(&rng, 0.0, 4.0, 2, theta0);
    for (size_t i = 0; i < 4; i++) {
      double drawn = hvi_rng_range(&rng, -1.0, 1.0);
      if (!o->given[i]) a[i] = drawn;
    }
  }
  hvi_player players[2];
  for (size_t k = 0; k < 2; k++) {
    reach(&lower[k], &upper[k], a[2 * k], a[2 * k + 1]);
    double sign = k == 1 && v->signs ? -1.0 : 1.0;
    players[k] = (hvi_player){.theta0 = &theta0[k],
                              .set = HVI_SET_BOX,
                              .lower = &lower[k],
                              .upper = &upper[k],
                              .weight = sign * v->weight,
                              .centre = half,
                              .linear = &linear[k]};
  }
  hvi_status status = make_model(&players[0].model, &a[0], err);
  if (status) return status;
  status = make_model(&players[1].model, &a[2], err);
  if (status) {
    hvi_model_free(players[0].model);
    return status;
  }
  hvi_payoff payoffs[2] = {{0, 1, row}, {1, 0, column}};
  hvi_game_spec spec = {2, players, 2, payoffs, half};
  return hvi_game_new(problem, &spec, err);
}
