#include "num/adam.h"

#include "base/base.h"

void hvi_adam_update(double *restrict theta, double *restrict m, double *restrict v,
                     const double *restrict g, const hvi_adam_rates *r, size_t n) {
  const hvi_adam_rates s = *r;
  for (size_t i = 0; i < n; i++) {
    m[i] = s.beta1 * m[i] + (1.0 - s.beta1) * g[i];
    v[i] = s.beta2 * v[i] + (1.0 - s.beta2) * g[i] * g[i];
    theta[i] = theta[i] * s.keep - s.rate * m[i] / (sqrt(s.scale * v[i]) + s.epsilon);
  }
}
