/*
 * Hidden rock-paper-scissors.
 *
 *   z_i = softmax(A_i2 CELU(A_i1 theta_i)),  theta_i in R^5,  A_i1 4x5,  A_i2 3x4
 *   F(z) = [ A z_2 + w (z_1 - 1/3),  -A' z_1 + w (z_2 - 1/3) ],   z* = 1/3 throughout
 *
 * The paper does not print its matrices. Instance 0 is problems/rps.yaml; the others draw every
 * entry from U[-1, 1] and theta from N(0, I). The sign of player 2's regulariser is mended as in
 * pennies.c.
 */
#include "base/embedded.h"
#include "base/error.h"
#include "problems/games/file.h"
#include "problems/games/game.h"
#include "problems/options.h"

#include <string.h>

typedef struct rps_options {
  double weight;
} rps_options;

enum { IN = 5, HIDDEN = 4, OUT = 3 };

#define AT(member) .offset = offsetof(rps_options, member)
/* clang-format off */
static const hvi_setting rows[] = {
    {"weight", HVI_SETTING_REAL, AT(weight), .range = "[0,100]", .fallback = "0.2",
     .help = "of the regulariser, which is mu"},
    {0},
};
/* clang-format on */
#undef AT

const hvi_setting_table hvi_rps_options = {"rps", sizeof(rps_options), rows};

/* One player's numbers. */
typedef struct hand {
  double theta0[IN], first[HIDDEN * IN], second[OUT * HIDDEN];
} hand;

static hvi_status make_model(hvi_model **model, const hand *h, hvi_error *err) {
  hvi_layer layers[] = {{.out = HIDDEN, .matrix = h->first, .activation = HVI_CELU},
                        {.out = OUT, .matrix = h->second, .activation = HVI_SOFTMAX}};
  hvi_stack_spec spec = {.in = IN, .rows = 1, .layer_count = 2, .layers = layers};
  return hvi_stack_new(model, &spec, err);
}

static void draw(hand hands[2], uint64_t seed, uint64_t instance) {
  hvi_rng rng = hvi_rng_new(seed, "rps", instance);
  for (size_t k = 0; k < 2; k++) {
    hvi_rng_fill_normal(&rng, 0.0, 1.0, IN, hands[k].theta0);
    hvi_rng_fill_uniform(&rng, -1.0, 1.0, HIDDEN * IN, hands[k].first);
    hvi_rng_fill_uniform(&rng, -1.0, 1.0, OUT * HIDDEN, hands[k].second);
  }
}

static hvi_status make_random(hvi_problem **problem, double weight, uint64_t seed,
                              uint64_t instance, hvi_error *err) {
  /* A is skew, so -A' is A itself */
  static const double A[] = {0, -1, 1, 1, 0, -1, -1, 1, 0};
  static const double third[] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
  hand hands[2];
  draw(hands, seed, instance);
  hvi_player players[2];
  for (size_t k = 0; k < 2; k++)
    players[k] = (hvi_player){
        .theta0 = hands[k].theta0, .set = HVI_SET_SIMPLEX, .weight = weight, .centre = third};
  hvi_status status = make_model(&players[0].model, &hands[0], err);
  if (status) return status;
  status = make_model(&players[1].model, &hands[1], err);
  if (status) {
    hvi_model_free(players[0].model);
    return status;
  }
  hvi_payoff payoffs[] = {{0, 1, A}, {1, 0, A}};
  hvi_game_spec spec = {2, players, 2, payoffs, third};
  return hvi_game_new(problem, &spec, err);
}

static hvi_status make_shipped(hvi_problem **problem, hvi_error *err) {
  for (const hvi_embedded *file = hvi_embedded_problems; file->name; file++)
    if (strcmp(file->name, "rps") == 0)
      return hvi_game_parse(problem, file->text, "rps.yaml", NULL, 0, 0, err);
  return hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "rps: this build lacks problems/rps.yaml");
}

hvi_status hvi_rps_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                       uint64_t instance, hvi_error *err) {
  const double weight = ((const rps_options *)(const void *)o->values)->weight;
  if (instance > 0) return make_random(problem, weight, seed, instance, err);
  hvi_status status = make_shipped(problem, err);
  if (status || !o->given[0]) return status;
  hvi_game *game = (hvi_game *)*problem;
  for (size_t k = 0; k < game->player_count; k++) game->weight[k] = weight;
  for (size_t i = 0; i < game->base.model->out; i++) game->constant[i] = -weight * (1.0 / 3.0);
  return HVI_OK;
}
