/*
 * The counterexample: F(z) = [[1, 1], [-1, 1]] z with mu = 1, L = sqrt(2) and the identity as
 * model.
 *
 * mu / L = 1/sqrt(2), so alpha = 1/sqrt(2) is just not covered: an inner solver that ends at
 * z - eta (z_2, -z_1) halves the loss of every surrogate and yet grows |z| by sqrt(1 + eta^2).
 */

#include "problems/options.h"

#include <hvi/game.h>

const hvi_setting_table hvi_counterexample_options = {"counterexample", 0,
                                                      (const hvi_setting[]){{0}}};

hvi_status hvi_counterexample_new(hvi_problem **problem, const hvi_options *o, uint64_t seed,
                                  uint64_t instance, hvi_error *err) {
  (void)o;
  static const double identity[] = {1.0, 0.0, 0.0, 1.0}, rotation[] = {0.0, 1.0, -1.0, 0.0};
  static const double zero[2] = {0.0, 0.0};
  double theta0[2] = {1.0, 0.0};
  if (instance > 0) {
    hvi_rng rng = hvi_rng_new(seed, "counterexample", instance);
    hvi_rng_fill_normal(&rng, 0.0, 1.0, 2, theta0);
  }
  hvi_player player = {.theta0 = theta0, .set = HVI_SET_FREE, .weight = 1.0, .centre = zero};
  hvi_status status = hvi_affine_new(&player.model, 2, 2, identity, NULL, err);
  if (status) return status;
  hvi_payoff payoff = {0, 0, rotation};
  hvi_game_spec spec = {1, &player, 1, &payoff, zero};
  return hvi_game_new(problem, &spec, err);
}
