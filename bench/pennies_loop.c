/*
 * z_i = sigmoid(CELU(a_i theta_i)),  a = (0.5, 0.7);  F as in src/problems/games/hidden.c.
 *
 * The Jacobian is diagonal, so every method is two scalar recursions that meet only in F:
 *   gd  theta_i -= rate J_i r_i   gn  theta_i -= rate r_i / J_i   lm  theta_i -= J_i r_i / (J_i^2 +
 * lambda)
 */
#include "pennies_loop.h"

#include <math.h>

static const double slope[2] = {0.5, 0.7};

/* z = h(theta) and J = h'(theta) */
static inline void player(double a, double theta, double *z, double *jacobian) {
  const double x = a * theta;
  double y = x, inside = 1.0;
  if (x <= -1.0) {
    inside = exp(x);
    y = inside - 1.0;
  } else if (x <= 0.0) {
    y = expm1(x);
    inside = y + 1.0;
  }
  const double s = 1.0 / (1.0 + exp(-y));
  *z = s;
  *jacobian = s * (1.0 - s) * inside * a;
}

static inline double step(const pennies_run *run, double r, double jacobian) {
  switch (run->method) {
  case PENNIES_GD:
    return run->rate * jacobian * r;
  case PENNIES_GN:
    return run->rate * r / jacobian;
  case PENNIES_LM:
    return jacobian * r / (jacobian * jacobian + run->damping);
  }
  return 0.0;
}

/* |z - projection(z - f)| over the box that the two players can reach */
static inline double residual(const double *z, const double *f) {
  const double low = 0.26894142136999512, high = 1.0;
  double sum = 0.0;
  for (int i = 0; i < 2; i++) {
    const double x = z[i] - f[i], y = x < low ? low : x > high ? high : x;
    sum += (z[i] - y) * (z[i] - y);
  }
  return sqrt(sum);
}

static inline void operate(double *f, const double *z) {
  f[0] = -2.0 * (2.0 * z[1] - 1.0) + 0.75 * (z[0] - 0.5);
  f[1] = 2.0 * (2.0 * z[0] - 1.0) + 0.75 * (z[1] - 0.5);
}

double pennies_loop(const pennies_run *run, pennies_row *rows) {
  double theta[2] = {1.25, 2.25}, z[2], jacobian[2], f[2];
  for (int i = 0; i < 2; i++) player(slope[i], theta[i], &z[i], &jacobian[i]);
  operate(f, z);
  for (size_t t = 0; t < run->outer; t++) {
    const double target[2] = {z[0] - run->eta * f[0], z[1] - run->eta * f[1]};
    for (size_t s = 0; s < run->inner; s++) {
      for (int i = 0; i < 2; i++) {
        theta[i] -= step(run, z[i] - target[i], jacobian[i]);
        player(slope[i], theta[i], &z[i], &jacobian[i]);
      }
    }
    operate(f, z);
    const double dx = z[0] - 0.5, dy = z[1] - 0.5;
    const double rx = z[0] - target[0], ry = z[1] - target[1];
    rows[t] = (pennies_row){
        .dist2 = dx * dx + dy * dy, .loss = 0.5 * (rx * rx + ry * ry), .residual = residual(z, f)};
  }
  return rows[run->outer - 1].dist2;
}
