/* The loops of bulk.h, built once per level of instructions. */
#include "base/base.h"
#include "num/bulk.h"

static void descend(double *restrict next, const double *restrict theta, const double *restrict g,
                    double rate, size_t n) {
  for (size_t i = 0; i < n; i++) next[i] = theta[i] - rate * g[i];
}

static void momentum(double *restrict next, double *restrict velocity, const double *restrict theta,
                     const double *restrict g, double keep, double rate, size_t n) {
  for (size_t i = 0; i < n; i++) {
    velocity[i] = keep * velocity[i] + g[i];
    next[i] = theta[i] - rate * velocity[i];
  }
}

static void adam(double *restrict next, double *restrict m, double *restrict v,
                 const double *restrict theta, const double *restrict g, const hvi_adam_rates *r,
                 size_t n) {
  const hvi_adam_rates s = *r;
  for (size_t i = 0; i < n; i++) {
    m[i] = s.beta1 * m[i] + (1.0 - s.beta1) * g[i];
    v[i] = s.beta2 * v[i] + (1.0 - s.beta2) * g[i] * g[i];
    next[i] = theta[i] * s.keep - s.rate * m[i] / (sqrt(s.scale * v[i]) + s.epsilon);
  }
}

static void narrow(float *restrict out, const double *restrict x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = (float)x[i];
}

static void widen(double *restrict out, const float *restrict x, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = (double)x[i];
}

const hvi_bulk HVI_LEVEL_TABLE(hvi_bulk) = {HVI_LEVEL_NAME, descend, momentum, adam, narrow, widen};
