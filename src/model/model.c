/* What every model has: release, and a dense Jacobian by products with unit vectors. */
#include "num/vec.h"

#include <hvi/model.h>

void hvi_model_free(hvi_model *m) {
  if (m && m->ops->free) m->ops->free(m);
}

void hvi_model_jacobian(const hvi_model *m, double *cache, const double *theta, size_t k, double *J,
                        double *scratch) {
  const hvi_block *b = &m->blocks[k];
  const hvi_model *one = m->ops->player ? m->ops->player(m, k) : m;
  const size_t n = b->out, d = b->dim;
  cache += b->cache;
  theta += b->theta;
  if (one->ops->jacobian) {
    one->ops->jacobian(one, cache, theta, J);
    return;
  }
  if (n <= d) {
    /* row i is J' e_i */
    hvi_vec_zero(scratch, n);
    for (size_t i = 0; i < n; i++) {
      scratch[i] = 1.0;
      one->ops->vjp(one, cache, theta, scratch, J + i * d);
      scratch[i] = 0.0;
    }
    return;
  }
  double *unit = scratch, *column = scratch + d;
  hvi_vec_zero(unit, d);
  for (size_t j = 0; j < d; j++) {
    unit[j] = 1.0;
    one->ops->jvp(one, cache, theta, unit, column);
    for (size_t i = 0; i < n; i++) J[i * d + j] = column[i];
    unit[j] = 0.0;
  }
}
