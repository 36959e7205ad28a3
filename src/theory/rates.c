/*
 * The theorem's constants.
 *
 * An exact step contracts by kappa^2 = 1 - 2 eta mu + eta^2 L^2, which is below one for
 * eta < 2 mu / L^2 (the paper's proof prints 2 mu / L) and least at mu / L^2. An inner error of
 * alpha eta |F(z_t) - F(z*)| <= alpha eta L |z_t - z*| adds up to
 *
 *   (kappa + alpha eta L)^2 = kappa^2 + 2 alpha eta L kappa + alpha^2 eta^2 L^2
 *                          <= 1 - 2 eta (mu - alpha L) + (1 + alpha^2) eta^2 L^2 = rho
 *
 * where kappa <= 1. rho < 1 is a quadratic condition on alpha,
 *
 *   alpha^2 eta L^2 + 2 alpha L < 2 mu - eta L^2
 *
 * with the root (sqrt(1 + x) - 1) / (eta L), x = eta (2 mu - eta L^2), written below without the
 * cancellation.
 */
#include "base/base.h"

#include <hvi/theory.h>

hvi_rates hvi_theory_rates(double mu, double lipschitz, double eta, double alpha) {
  const double L = lipschitz, L2 = L * L, per = L > 0.0 ? 1.0 / L2 : 0.0;
  const double share = L > 0.0 ? mu / L : 0.0, room = 2.0 * mu - eta * L2;
  hvi_rates r = {.kappa2 = 1.0 - 2.0 * eta * mu + eta * eta * L2,
                 .rho = 1.0 - 2.0 * eta * (mu - alpha * L) + (1.0 + alpha * alpha) * eta * eta * L2,
                 .eta_max = 2.0 * mu * per,
                 .eta_best = mu * per,
                 .eta_theorem = 0.4 * mu * per,
                 .eta_alpha = 2.0 * (mu - alpha * L) / (1.0 + alpha * alpha) * per,
                 .alpha_max = share,
                 .alpha_theorem = 0.5 * share,
                 .rho_theorem = 1.0 - 0.2 * share * share};
  const double reach = sqrt(fmax(r.kappa2, 0.0)) + alpha * eta * L;
  r.rho_sharp = reach * reach;
  r.alpha_eta = L > 0.0 ? room / (L * (1.0 + sqrt(fmax(1.0 + eta * room, 0.0)))) : 0.0;
  return r;
}

static const char *const verdict_names[HVI_VERDICT_COUNT] = {[HVI_SAFE] = "safe",
                                                             [HVI_UNSAFE] = "unsafe",
                                                             [HVI_NOT_COVERED] = "not covered",
                                                             [HVI_SOLVED] = "solved"};

const char *hvi_verdict_name(hvi_verdict v) {
  return (unsigned)v < HVI_VERDICT_COUNT ? verdict_names[v] : "unknown";
}

static const char *const obstacle_names[HVI_OBSTACLE_COUNT] = {
    [HVI_OBSTACLE_NONE] = "none",
    [HVI_OBSTACLE_BASELINE] = "not-a-surrogate-method",
    [HVI_OBSTACLE_STOCHASTIC] = "stochastic",
    [HVI_OBSTACLE_VARIANT] = "variant-of-the-loop",
    [HVI_OBSTACLE_NOT_MONOTONE] = "not-monotone",
    [HVI_OBSTACLE_BOUNDARY] = "solution-on-the-boundary",
    [HVI_OBSTACLE_ETA] = "eta-too-large",
    [HVI_OBSTACLE_ALPHA_MAX] = "alpha-too-large",
    [HVI_OBSTACLE_ALPHA] = "alpha-too-large-for-eta",
    [HVI_OBSTACLE_SAMPLED] = "sampled-constants",
    [HVI_OBSTACLE_ADAPTIVE] = "steps-that-adapt"};

const char *hvi_obstacle_name(hvi_obstacle o) {
  return (unsigned)o < HVI_OBSTACLE_COUNT ? obstacle_names[o] : "unknown";
}
