/* The activation that mixes its inputs. */
#include "model/activation.h"

#include <math.h>

void hvi_activation_softmax(double *y, size_t n) {
  double top = y[0], sum = 0.0;
  for (size_t i = 1; i < n; i++) top = y[i] > top ? y[i] : top;
  for (size_t i = 0; i < n; i++) sum += y[i] = exp(y[i] - top);
  const double scale = 1.0 / sum;
  for (size_t i = 0; i < n; i++) y[i] *= scale;
}

void hvi_activation_pull_softmax(double *out, const double *u, const double *y, size_t n) {
  double mean = 0.0;
  for (size_t i = 0; i < n; i++) mean += u[i] * y[i];
  for (size_t i = 0; i < n; i++) out[i] = y[i] * (u[i] - mean);
}
