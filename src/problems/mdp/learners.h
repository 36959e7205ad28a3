/*
 * One step of each learner along a trajectory, and of the running means, for HVI_RUNS runs side by
 * side: number i of run l is x[i * HVI_RUNS + l].
 *
 * The solver's rules have one run. The linear experiment defines HVI_RUNS before it includes this
 * file and moves a batch of runs at once; the loops over runs then become vector code. A run's
 * numbers are computed in the same order either way.
 *
 * The last transition is (phi, r, phi'), h the step size,
 * delta = r + gamma <phi', theta> - <phi, theta>.
 *
 *   td0                theta += h delta phi
 *   residual gradient  theta += h delta (phi - gamma phi')
 *   tdc                theta += h (delta phi - gamma phi' <phi, w>),
 *                      w += h_2 (delta - <phi, w>) phi
 *   gtd2               theta += h (phi - gamma phi') <phi, w>, w likewise
 */
#pragma once

#include <stddef.h>

#ifndef HVI_RUNS
#define HVI_RUNS 1
#endif

/* The last transition of every run. */
typedef struct hvi_transition {
  size_t d;
  double gamma;
  const double *now, *next; /* [d][HVI_RUNS] phi, phi' */
  const double *reward;     /* [HVI_RUNS] */
} hvi_transition;

/* sum = <x, y> */
static inline void hvi_runs_dot(double sum[HVI_RUNS], const double *x, const double *y, size_t d) {
  for (size_t l = 0; l < HVI_RUNS; l++) sum[l] = 0.0;
  for (size_t i = 0; i < d; i++)
    for (size_t l = 0; l < HVI_RUNS; l++) sum[l] += x[i * HVI_RUNS + l] * y[i * HVI_RUNS + l];
}

/* out += a x, every run with its own a */
static inline void hvi_runs_add(double *restrict out, const double a[HVI_RUNS], const double *x,
                                size_t d) {
  for (size_t i = 0; i < d; i++)
    for (size_t l = 0; l < HVI_RUNS; l++) out[i * HVI_RUNS + l] += a[l] * x[i * HVI_RUNS + l];
}

/* out += a (phi - gamma phi') */
static inline void hvi_runs_add_slope(double *restrict out, const double a[HVI_RUNS],
                                      const hvi_transition *x) {
  for (size_t i = 0; i < x->d; i++)
    for (size_t l = 0; l < HVI_RUNS; l++)
      out[i * HVI_RUNS + l] +=
          a[l] * (x->now[i * HVI_RUNS + l] - x->gamma * x->next[i * HVI_RUNS + l]);
}

static inline void hvi_td_error(double delta[HVI_RUNS], const hvi_transition *x,
                                const double *theta) {
  double now[HVI_RUNS], next[HVI_RUNS];
  hvi_runs_dot(now, x->now, theta, x->d);
  hvi_runs_dot(next, x->next, theta, x->d);
  for (size_t l = 0; l < HVI_RUNS; l++) delta[l] = x->reward[l] + x->gamma * next[l] - now[l];
}

static inline void hvi_td0_step(const hvi_transition *x, double h, double *theta) {
  double a[HVI_RUNS];
  hvi_td_error(a, x, theta);
  for (size_t l = 0; l < HVI_RUNS; l++) a[l] = h * a[l];
  hvi_runs_add(theta, a, x->now, x->d);
}

static inline void hvi_residual_gradient_step(const hvi_transition *x, double h, double *theta) {
  double a[HVI_RUNS];
  hvi_td_error(a, x, theta);
  for (size_t l = 0; l < HVI_RUNS; l++) a[l] = h * a[l];
  hvi_runs_add_slope(theta, a, x);
}

/* w += h_2 (delta - <phi, w>) phi, with <phi, w> given as `guess` */
static inline void hvi_second_step(const hvi_transition *x, double h2, const double delta[HVI_RUNS],
                                   const double guess[HVI_RUNS], double *w) {
  double a[HVI_RUNS];
  for (size_t l = 0; l < HVI_RUNS; l++) a[l] = h2 * (delta[l] - guess[l]);
  hvi_runs_add(w, a, x->now, x->d);
}

static inline void hvi_tdc_step(const hvi_transition *x, double h, double h2, double *w,
                                double *restrict theta) {
  double delta[HVI_RUNS], guess[HVI_RUNS], a[HVI_RUNS];
  hvi_td_error(delta, x, theta);
  hvi_runs_dot(guess, x->now, w, x->d);
  for (size_t l = 0; l < HVI_RUNS; l++) a[l] = x->gamma * guess[l];
  for (size_t i = 0; i < x->d; i++)
    for (size_t l = 0; l < HVI_RUNS; l++)
      theta[i * HVI_RUNS + l] +=
          h * (delta[l] * x->now[i * HVI_RUNS + l] - a[l] * x->next[i * HVI_RUNS + l]);
  hvi_second_step(x, h2, delta, guess, w);
}

static inline void hvi_gtd2_step(const hvi_transition *x, double h, double h2, double *w,
                                 double *theta) {
  double delta[HVI_RUNS], guess[HVI_RUNS], a[HVI_RUNS];
  hvi_td_error(delta, x, theta);
  hvi_runs_dot(guess, x->now, w, x->d);
  for (size_t l = 0; l < HVI_RUNS; l++) a[l] = h * guess[l];
  hvi_runs_add_slope(theta, a, x);
  hvi_second_step(x, h2, delta, guess, w);
}

/* The means D_hat [d][d], C_hat [d][d] and r_hat [d] over `count` transitions, this the last. */
static inline void hvi_means_absorb(const hvi_transition *x, size_t count, double *restrict D,
                                    double *restrict C, double *restrict r) {
  const double share = 1.0 / (double)count, gamma = x->gamma;
  for (size_t i = 0; i < x->d; i++) {
    const double *a = x->now + i * HVI_RUNS;
    for (size_t j = 0; j < x->d; j++) {
      const double *now = x->now + j * HVI_RUNS, *next = x->next + j * HVI_RUNS;
      double *to_D = D + (i * x->d + j) * HVI_RUNS, *to_C = C + (i * x->d + j) * HVI_RUNS;
      for (size_t l = 0; l < HVI_RUNS; l++) {
        to_D[l] += share * (a[l] * now[l] - to_D[l]);
        to_C[l] += share * (a[l] * (now[l] - gamma * next[l]) - to_C[l]);
      }
    }
    for (size_t l = 0; l < HVI_RUNS; l++)
      r[i * HVI_RUNS + l] += share * (a[l] * x->reward[l] - r[i * HVI_RUNS + l]);
  }
}
