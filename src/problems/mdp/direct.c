#include "problems/mdp/direct.h"

#include "base/error.h"
#include "base/memory.h"

static size_t distance(size_t i, size_t j) { return i > j ? i - j : j - i; }

size_t hvi_mdp_band_width(const hvi_mdp *m) {
  size_t width = 0;
  for (size_t i = 0; i < m->n; i++) {
    const size_t begin = m->P ? 0 : m->sparse.start[i];
    const size_t end = m->P ? m->n : m->sparse.start[i + 1];
    for (size_t k = begin; k < end; k++) {
      const double p = m->P ? m->P[i * m->n + k] : m->sparse.value[k];
      const size_t far = distance(i, m->P ? k : m->sparse.column[k]);
      if (p != 0.0 && far > width) width = far;
    }
  }
  return width;
}

bool hvi_mdp_band_fits(const hvi_mdp *m, size_t width, bool patient) {
  const double n = (double)m->n, w = (double)width;
  const double products = patient ? 1e11 : 4e9, doubles = patient ? 1.3e8 : 3.2e7;
  return n * w * w <= products && n * (2.0 * w + 1.0) <= doubles;
}

hvi_status hvi_mdp_band_new(hvi_band *A, const hvi_mdp *m, size_t width, double diagonal,
                            double scale, hvi_error *err) {
  *A = (hvi_band){m->n, width, hvi_alloc_doubles(m->n * (2 * width + 1))};
  if (!A->entries) return hvi_error_memory(err, "the transitions in a band");
  for (size_t i = 0; i < m->n; i++) {
    double *row = hvi_band_row(A, i);
    if (m->P) {
      const size_t low = i > width ? i - width : 0, high = i + width < m->n ? i + width : m->n - 1;
      for (size_t j = low; j <= high; j++)
        row[(ptrdiff_t)j - (ptrdiff_t)i] = scale * m->P[i * m->n + j];
    } else {
      for (size_t k = m->sparse.start[i]; k < m->sparse.start[i + 1]; k++) {
        if (m->sparse.value[k] == 0.0) continue;
        row[(ptrdiff_t)m->sparse.column[k] - (ptrdiff_t)i] = scale * m->sparse.value[k];
      }
    }
    row[0] += diagonal;
  }
  return HVI_OK;
}
