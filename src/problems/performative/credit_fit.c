/*
 *   f(theta) = 1/n sum_i [ log(1 + exp(s_i)) - y_i s_i ] + lambda/2 |D theta|^2,  s = X theta
 *   g = X'(sigmoid(s) - y) / n + lambda D theta,   H = X' diag(s'(s_i)) X / n + lambda D
 *
 * D leaves the bias out. Newton steps with halving while f does not fall; a handful are enough.
 */
#include "base/base.h"
#include "problems/performative/credit.h"

#include "num/dense.h"
#include "num/vec.h"

enum { WIDTH = HVI_CREDIT_WIDTH, MOST_STEPS = 100, MOST_HALVINGS = 60 };

double hvi_credit_sigmoid(double s) {
  const double e = exp(-fabs(s)), small = e / (1.0 + e);
  return s < 0.0 ? small : 1.0 - small;
}

double hvi_credit_score(const hvi_credit_data *data, const double *theta, double shift,
                        double lambda, double *accuracy) {
  double sum = 0.0, right = 0.0;
  for (size_t i = 0; i < data->rows; i++) {
    const double s = hvi_vec_dot(data->x + i * WIDTH, theta, WIDTH) - shift, y = data->y[i];
    sum += log1p(exp(-fabs(s))) + fmax(s, 0.0) - y * s;
    right += (s > 0.0) == (y > 0.5) ? 1.0 : 0.0;
  }
  if (accuracy) *accuracy = right / (double)data->rows;
  return sum / (double)data->rows + 0.5 * lambda * hvi_vec_norm2(theta, HVI_CREDIT_FEATURES);
}

/* g and the curvature, both without the regulariser's part. */
static void differentiate(double *g, double *curvature, const double *theta,
                          const hvi_credit_data *data) {
  hvi_vec_zero(g, WIDTH);
  hvi_vec_zero(curvature, (size_t)WIDTH * WIDTH);
  for (size_t i = 0; i < data->rows; i++) {
    const double *x = data->x + i * WIDTH, p = hvi_credit_sigmoid(hvi_vec_dot(x, theta, WIDTH));
    hvi_vec_add(g, p - data->y[i], x, WIDTH);
    for (size_t j = 0; j < WIDTH; j++)
      hvi_vec_add(curvature + j * WIDTH, p * (1.0 - p) * x[j], x, WIDTH);
  }
  hvi_vec_scale(g, 1.0 / (double)data->rows, WIDTH);
  hvi_vec_scale(curvature, 1.0 / (double)data->rows, (size_t)WIDTH * WIDTH);
}

/* The Newton step at theta, with g and H completed. */
static hvi_status newton_step(double *step, double *g, const double *curvature, const double *theta,
                              double lambda, hvi_error *err) {
  double H[WIDTH * WIDTH];
  hvi_vec_copy(H, curvature, (size_t)WIDTH * WIDTH);
  for (size_t j = 0; j < HVI_CREDIT_FEATURES; j++) {
    H[j * WIDTH + j] += lambda;
    g[j] += lambda * theta[j];
  }
  return hvi_dense_solve(step, H, g, WIDTH, err);
}

/* Goes down along the step; false when there is nothing left to gain. */
static bool descend(double *theta, double *f, const double *step, const hvi_credit_data *data,
                    double lambda) {
  double next[WIDTH], share = 1.0;
  for (int k = 0; k < MOST_HALVINGS; k++, share *= 0.5) {
    for (size_t j = 0; j < WIDTH; j++) next[j] = theta[j] - share * step[j];
    const double reached = hvi_credit_score(data, next, 0.0, lambda, NULL);
    if (!(reached < *f)) continue;
    hvi_vec_copy(theta, next, WIDTH);
    *f = reached;
    return true;
  }
  return false;
}

hvi_status hvi_credit_fit(double *theta, double *least, double *curvature,
                          const hvi_credit_data *data, double lambda, hvi_error *err) {
  double g[WIDTH], step[WIDTH];
  hvi_vec_zero(theta, WIDTH);
  *least = hvi_credit_score(data, theta, 0.0, lambda, NULL);
  differentiate(g, curvature, theta, data);
  for (int k = 0; k < MOST_STEPS; k++) {
    HVI_TRY(newton_step(step, g, curvature, theta, lambda, err));
    const double gain = hvi_vec_dot(step, g, WIDTH);
    if (gain < 1e-14 * *least) {
      /* beyond what the value can show: the last step is taken on trust */
      hvi_vec_add(theta, -1.0, step, WIDTH);
      break;
    }
    if (!descend(theta, least, step, data, lambda)) break;
    differentiate(g, curvature, theta, data);
  }
  differentiate(g, curvature, theta, data);
  *least = hvi_credit_score(data, theta, 0.0, lambda, NULL);
  return HVI_OK;
}
