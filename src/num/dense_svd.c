/*
 * The singular value decomposition behind the pseudo-inverse step.
 *
 * Let k = min(m, n), l = max(m, n), and let B[k][l] be J, or J' when m > n: the short side becomes
 * rows. The factors in `work` are
 *
 *   B = Q' S W,    s[k] in any order,    W[k][l] with orthonormal rows,    Q[k][k] orthogonal,
 *
 * so that x = W' S^+ Q b for m <= n and x = Q' S^+ W b otherwise.
 *
 * Small matrices: one-sided Jacobi. Rotations from the left make the rows of B orthogonal, pair by
 * pair: for rows p and q with a = |p|^2, b = |q|^2, g = <p, q>, d = b - a and h = sqrt(d^2 + 4
 * g^2), the smaller angle has tangent t = 2 g sign(d) / (|d| + h) and cosine sqrt((|d| + h) / 2h);
 * it turns a and b into a - t g and b + t g. The rows' lengths end as the singular values, the same
 * rotations of the identity give Q. A row within rounding of zero, |p| <= 4 eps |B|, is left alone:
 * it is the null space, and turning noise against noise only costs sweeps.
 *
 * B is scaled by a power of two where fourth powers of its elements could leave the range of
 * doubles.
 */
#include "base/base.h"
#include "num/dense.h"

#include "base/blas.h"

#include <float.h>
#include <lapacke.h>
#include <limits.h>

enum { LAPACK_SIDE = 12, LAPACK_ELEMENTS = 512, MAX_SWEEPS = 40 };

typedef struct factors {
  size_t k, l;
  double *s, *Q, *W, *extra;
} factors;

/* Measured: below this Jacobi is faster, for two rows always. */
static bool use_lapack(size_t k, size_t l) {
  if (l > INT_MAX) return false;
  return k > LAPACK_SIDE || (k > 2 && k * l > LAPACK_ELEMENTS);
}

/* The column-major view of B is B' (l by k); job 'O' writes its left vectors, W, over it and its
 * right vectors' transpose, which read row-major is Q', to Q. */
static lapack_int call_gesdd(const factors *f, double *work, lapack_int size,
                             lapack_int *integers) {
  lapack_int k = (lapack_int)f->k, l = (lapack_int)f->l;
  return LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'O', l, k, f->W, l, f->s, NULL, l, f->Q, k, work,
                             size, integers);
}

static size_t gesdd_doubles(size_t k, size_t l) {
  double best = 0.0, dummy = 0.0;
  lapack_int integer = 0;
  factors f = {.k = k, .l = l, .s = &dummy, .Q = &dummy, .W = &dummy};
  size_t least = 3 * k + (l > 5 * k * k + 4 * k ? l : 5 * k * k + 4 * k);
  if (call_gesdd(&f, &best, -1, &integer) != 0 || best < (double)least) return least;
  return (size_t)best;
}

size_t hvi_dense_svd_work(size_t m, size_t n) {
  size_t k = m < n ? m : n, l = m < n ? n : m;
  size_t size = k + k * k + k * l;
  if (!use_lapack(k, l)) return size;
  size_t integers = 8 * k * sizeof(lapack_int);
  return size + gesdd_doubles(k, l) + (integers + sizeof(double) - 1) / sizeof(double);
}

/* W = B times `scale` */
static void load(const factors *f, const double *J, size_t m, size_t n, double scale) {
  if (m <= n)
    for (size_t i = 0; i < m * n; i++) f->W[i] = scale * J[i];
  else
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < m; i++) f->W[j * m + i] = scale * J[i * n + j];
}

static bool factor_lapack(const factors *f) {
  size_t size = gesdd_doubles(f->k, f->l);
  if (size > INT_MAX) return false;
  lapack_int *integers = (lapack_int *)(void *)(f->extra + size);
  const bool held = hvi_blas_hold();
  const lapack_int info = call_gesdd(f, f->extra, (lapack_int)size, integers);
  hvi_blas_release(held);
  if (info != 0) return false;
  hvi_dense_transpose(f->Q, f->k);
  return true;
}

/* (p, q) <- (c p - s q, s p + c q) */
static inline void rotate_rows(double *restrict p, double *restrict q, double c, double s,
                               size_t n) {
  for (size_t i = 0; i < n; i++) {
    double old = p[i];
    p[i] = c * old - s * q[i];
    q[i] = s * old + c * q[i];
  }
}

/* Turns every pair of rows once; returns whether any pair needed it. s holds squared lengths. */
static bool sweep(const factors *f, double negligible) {
  const double tiny = DBL_EPSILON * DBL_EPSILON;
  size_t k = f->k, l = f->l;
  bool turned = false;
  for (size_t p = 0; p + 1 < k; p++)
    for (size_t q = p + 1; q < k; q++) {
      double a = f->s[p], b = f->s[q];
      if (a <= negligible || b <= negligible) continue;
      double *row_p = f->W + p * l, *row_q = f->W + q * l;
      double g = hvi_vec_dot(row_p, row_q, l);
      if (g * g <= (double)l * tiny * a * b) continue;
      double d = b - a, h = sqrt(d * d + 4.0 * g * g), sum = fabs(d) + h;
      double c = sqrt(0.5 * sum / h), t = copysign(2.0, d) * g / sum;
      rotate_rows(row_p, row_q, c, c * t, l);
      rotate_rows(f->Q + p * k, f->Q + q * k, c, c * t, k);
      f->s[p] = a - t * g;
      f->s[q] = b + t * g;
      turned = true;
    }
  return turned;
}

static void factor_jacobi(const factors *f) {
  size_t k = f->k, l = f->l;
  hvi_vec_zero(f->Q, k * k);
  for (size_t i = 0; i < k; i++) f->Q[i * k + i] = 1.0;
  for (int count = 0; count < MAX_SWEEPS; count++) {
    double total = 0.0;
    for (size_t i = 0; i < k; i++) total += f->s[i] = hvi_vec_norm2(f->W + i * l, l);
    if (!sweep(f, 16.0 * DBL_EPSILON * DBL_EPSILON * total)) break;
  }
  for (size_t i = 0; i < k; i++) {
    f->s[i] = sqrt(hvi_vec_norm2(f->W + i * l, l));
    if (f->s[i] > 0.0) hvi_vec_scale(f->W + i * l, 1.0 / f->s[i], l);
  }
}

/* A power of two that brings J near 1 where fourth powers would overflow or vanish, else 1; zero
 * for a zero matrix and NaN for one that is not finite. */
static double choose_scale(const double *J, size_t size) {
  double largest = 0.0;
  for (size_t i = 0; i < size; i++) {
    double v = fabs(J[i]);
    if (!(v <= DBL_MAX)) return NAN;
    largest = v > largest ? v : largest;
  }
  if (largest == 0.0) return 0.0;
  if (largest > 1e-50 && largest < 1e50) return 1.0;
  int exponent;
  frexp(largest, &exponent);
  return ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
}

/* One row or column is its own singular vector. */
static double factor_vector(const factors *f, const double *J) {
  double norm = f->l == 1 ? fabs(J[0]) : hvi_vec_norm(J, f->l);
  bool good = norm <= DBL_MAX || hvi_vec_finite(J, f->l); /* the norm alone may overflow */
  f->s[0] = good ? norm : 0.0;
  f->Q[0] = 1.0;
  for (size_t i = 0; i < f->l; i++) f->W[i] = norm > 0.0 ? J[i] / norm : 0.0;
  return good ? norm : NAN;
}

double hvi_dense_svd_factor(const double *J, size_t m, size_t n, double *work) {
  if (m == 0 || n == 0) return 0.0;
  const size_t k = m < n ? m : n, l = m < n ? n : m;
  factors f = {k, l, work, work + k, work + k + k * k, work + k + k * k + k * l};
  if (f.k == 1) return factor_vector(&f, J);
  bool lapack = use_lapack(f.k, f.l);
  double scale = choose_scale(J, m * n);
  if (!(scale > 0.0)) {
    hvi_vec_zero(work, f.k + f.k * f.k + f.k * f.l);
    return scale;
  }
  load(&f, J, m, n, scale);
  if (!lapack || !factor_lapack(&f)) {
    if (lapack) load(&f, J, m, n, scale);
    factor_jacobi(&f);
  }
  double largest = 0.0;
  for (size_t i = 0; i < f.k; i++) {
    f.s[i] /= scale;
    largest = f.s[i] > largest ? f.s[i] : largest;
  }
  return largest;
}

void hvi_dense_svd_solve(double *x, const double *b, double cutoff, size_t m, size_t n,
                         const double *work) {
  size_t k = m < n ? m : n, l = m < n ? n : m;
  const double *s = work, *Q = s + k, *W = Q + k * k;
  const double *left = m <= n ? Q : W, *right = m <= n ? W : Q;
  size_t left_length = m <= n ? k : l, right_length = m <= n ? l : k;
  hvi_vec_zero(x, n);
  for (size_t i = 0; i < k; i++) {
    if (!(s[i] > cutoff)) continue;
    double c = hvi_vec_dot(left + i * left_length, b, left_length) / s[i];
    hvi_vec_add(x, c, right + i * right_length, right_length);
  }
}

hvi_status hvi_dense_singular_values(double *s, const double *A, size_t m, size_t n,
                                     hvi_error *err) {
  HVI_NEW(double, work, hvi_dense_svd_work(m, n), "a singular value decomposition", err);
  const double largest = hvi_dense_svd_factor(A, m, n, work);
  for (size_t i = 0; i < m && i < n; i++) {
    size_t j = i;
    for (; j > 0 && s[j - 1] < work[i]; j--) s[j] = s[j - 1];
    s[j] = work[i];
  }
  if (!isnan(largest)) return HVI_OK;
  return hvi_error_input(err, "the matrix (%zu by %zu) is not finite", m, n);
}
