/*
 * Kernels, part 3: one inner step of each optimizer on lanes.
 *
 * Formulas and order of operations are those of inner/gradient.c, gauss_newton.c and
 * levenberg.c. A lane that is no longer running keeps its theta and its state.
 */
#ifndef HVI_ENSEMBLE_KERNEL_INNER_H
#define HVI_ENSEMBLE_KERNEL_INNER_H

#include "ensemble/kernel_linear.h"

/* step = J' r */
static inline void gradient(const hvi_lanes_plan *plan, hvi_lane *s) {
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *p = &plan->players[k];
    vjp(plan, p, s, s + plan->r + p->z, s + plan->step + p->theta);
  }
}

/* theta -= t step where `moving` is not 0 */
static inline void move(const hvi_lanes_plan *plan, hvi_lane *s, const hvi_lane *restrict moving,
                        double t) {
  hvi_lane *restrict theta = s + plan->theta;
  const hvi_lane *restrict step = s + plan->step;
  for (size_t i = 0; i < plan->d; i++) {
    for (int l = 0; l < HVI_LANES; l++) {
      const double old = theta[i].at[l], fresh = old - t * step[i].at[l];
      theta[i].at[l] = moving->at[l] != 0.0 ? fresh : old;
    }
  }
}

static inline void momentum_step(const hvi_lanes_plan *plan, hvi_lane *s) {
  const double keep = plan->inner.momentum;
  const hvi_lane *restrict running = s + plan->running;
  hvi_lane *restrict velocity = s + plan->first, *restrict step = s + plan->step;
  for (size_t i = 0; i < plan->d; i++) {
    for (int l = 0; l < HVI_LANES; l++) {
      const double old = velocity[i].at[l], fresh = keep * old + step[i].at[l];
      velocity[i].at[l] = running->at[l] != 0.0 ? fresh : old;
      step[i].at[l] = fresh;
    }
  }
  move(plan, s, running, plan->inner.lr);
}

/* beta1^t and beta2^t of the running lanes */
static inline void raise_powers(const hvi_lanes_plan *plan, hvi_lane *s) {
  const hvi_lane *restrict running = s + plan->running;
  hvi_lane *restrict power1 = s + plan->power1, *restrict power2 = s + plan->power2;
  for (int l = 0; l < HVI_LANES; l++) {
    const double old1 = power1->at[l], old2 = power2->at[l];
    power1->at[l] = running->at[l] != 0.0 ? old1 * plan->inner.beta1 : old1;
    power2->at[l] = running->at[l] != 0.0 ? old2 * plan->inner.beta2 : old2;
  }
}

static inline void adam_step(const hvi_lanes_plan *plan, hvi_lane *s, double decay) {
  const hvi_optimizer_settings *o = &plan->inner;
  const double beta1 = o->beta1, beta2 = o->beta2, epsilon = o->epsilon;
  const double keep = 1.0 - o->lr * decay;
  const hvi_lane *restrict running = s + plan->running, *restrict g = s + plan->step;
  hvi_lane *restrict theta = s + plan->theta;
  hvi_lane *restrict m = s + plan->first, *restrict v = s + plan->second;
  hvi_lane rate, scale;
  raise_powers(plan, s);
  for (int l = 0; l < HVI_LANES; l++) {
    rate.at[l] = o->lr / (1.0 - s[plan->power1].at[l]);
    scale.at[l] = 1.0 / (1.0 - s[plan->power2].at[l]);
  }
  for (size_t i = 0; i < plan->d; i++) {
    for (int l = 0; l < HVI_LANES; l++) {
      const double old_m = m[i].at[l], old_v = v[i].at[l], old = theta[i].at[l], gi = g[i].at[l];
      const double new_m = beta1 * old_m + (1.0 - beta1) * gi;
      const double new_v = beta2 * old_v + (1.0 - beta2) * gi * gi;
      const double root = sqrt(scale.at[l] * new_v) + epsilon;
      const double fresh = old * keep - rate.at[l] * new_m / root;
      m[i].at[l] = running->at[l] != 0.0 ? new_m : old_m;
      v[i].at[l] = running->at[l] != 0.0 ? new_v : old_v;
      theta[i].at[l] = running->at[l] != 0.0 ? fresh : old;
    }
  }
}

static inline void gauss_newton_step(const hvi_lanes_plan *plan, hvi_lane *s, double factor) {
  hvi_lane top, good = s[plan->running];
  lane_fill(&top, 0.0);
  for (size_t k = 0; k < plan->player_count; k++) {
    jacobian(plan, &plan->players[k], s);
    svd_factor(plan, &plan->players[k], s, &top, &good);
  }
  for (int l = 0; l < HVI_LANES; l++) top.at[l] *= plan->inner.rank_tol;
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *p = &plan->players[k];
    svd_solve(plan, p, s, s + plan->step + p->theta, &top);
  }
  move(plan, s, &good, factor);
}

static inline void levenberg_step(const hvi_lanes_plan *plan, hvi_lane *s) {
  hvi_lane good = s[plan->running], unused;
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *p = &plan->players[k];
    jacobian(plan, p, s);
    damped_solve(plan, p, s, s + plan->step + p->theta, &good);
  }
  find_largest(&unused, &good, s + plan->step, plan->d);
  move(plan, s, &good, 1.0);
}

static inline void inner_step(const hvi_lanes_plan *plan, hvi_lane *s) {
  switch (plan->rule) {
  case HVI_LANES_GD:
    gradient(plan, s);
    move(plan, s, s + plan->running, plan->inner.lr);
    break;
  case HVI_LANES_MOMENTUM:
    gradient(plan, s);
    momentum_step(plan, s);
    break;
  case HVI_LANES_ADAM:
  case HVI_LANES_ADAMW:
    gradient(plan, s);
    adam_step(plan, s, plan->rule == HVI_LANES_ADAM ? 0.0 : plan->inner.weight_decay);
    break;
  case HVI_LANES_GN:
  case HVI_LANES_DGN:
    gauss_newton_step(plan, s, plan->rule == HVI_LANES_GN ? 1.0 : plan->inner.factor);
    break;
  case HVI_LANES_LM:
    levenberg_step(plan, s);
    break;
  }
}

static inline void forget(const hvi_lanes_plan *plan, hvi_lane *s) {
  if (plan->rule > HVI_LANES_ADAMW || plan->rule == HVI_LANES_GD) return;
  for (size_t i = 0; i < plan->d; i++) {
    lane_fill(s + plan->first + i, 0.0);
    lane_fill(s + plan->second + i, 0.0);
  }
  lane_fill(s + plan->power1, 1.0);
  lane_fill(s + plan->power2, 1.0);
}

#endif
