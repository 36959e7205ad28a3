/*
 * One round, for A e = r with shadow residual s = r:
 *
 *   p <- r + beta (p - omega v),  v = A p,     alpha = <s, r> / <s, v>
 *   h = r - alpha v,              t = A h,     omega = <t, h> / <t, t>
 *   e <- e + alpha p + omega h,   r <- h - omega t
 *
 * A breakdown (<s, v> or omega zero) ends the round; the next one starts with a new s.
 */
#include "num/bicgstab.h"

#include "base/base.h"
#include "num/vec.h"

enum { VECTORS = 6 };
/* A round is over when its recursive residual has fallen this much. */
static const double round_share = 1e-7;

size_t hvi_bicgstab_work(size_t n) { return VECTORS * n; }

/* Adds the correction to x; returns the number of products spent. */
static size_t run_round(double *x, const hvi_linear_map *A, double *work, double goal,
                        size_t most) {
  const size_t n = A->columns;
  double *r = work, *s = r + n, *p = s + n, *v = p + n, *t = v + n;
  double rho = hvi_vec_norm2(r, n), alpha = 0.0, omega = 0.0;
  size_t spent = 0;
  hvi_vec_copy(s, r, n);
  hvi_vec_copy(p, r, n);
  while (spent + 2 <= most) {
    A->apply(A->context, p, v);
    spent++;
    const double below = hvi_vec_dot(s, v, n);
    if (below == 0.0 || !isfinite(below)) break;
    alpha = rho / below;
    hvi_vec_add(r, -alpha, v, n);
    hvi_vec_add(x, alpha, p, n);
    A->apply(A->context, r, t);
    spent++;
    const double size = hvi_vec_norm2(t, n);
    if (size == 0.0 || !isfinite(size)) break;
    omega = hvi_vec_dot(t, r, n) / size;
    hvi_vec_add(x, omega, r, n);
    hvi_vec_add(r, -omega, t, n);
    const double next = hvi_vec_dot(s, r, n);
    if (sqrt(hvi_vec_norm2(r, n)) <= goal || omega == 0.0 || next == 0.0) break;
    const double beta = next / rho * (alpha / omega);
    for (size_t i = 0; i < n; i++) p[i] = r[i] + beta * (p[i] - omega * v[i]);
    rho = next;
  }
  return spent;
}

/* r = b - A x */
static double residual(double *r, const hvi_linear_map *A, const double *b, const double *x) {
  A->apply(A->context, x, r);
  for (size_t i = 0; i < A->columns; i++) r[i] = b[i] - r[i];
  return sqrt(hvi_vec_norm2(r, A->columns));
}

double hvi_bicgstab_solve(double *x, const hvi_linear_map *A, const double *b, double tol,
                          size_t max_products, double *work) {
  const size_t n = A->columns;
  const double size = sqrt(hvi_vec_norm2(b, n));
  double *kept = work + (VECTORS - 1) * n, reached = residual(work, A, b, x);
  size_t spent = 1;
  if (size == 0.0) {
    hvi_vec_zero(x, n);
    return 0.0;
  }
  while (reached > tol * size && spent + 3 <= max_products) {
    hvi_vec_copy(kept, x, n);
    const double goal = fmax(round_share * reached, 0.1 * tol * size);
    spent += 1 + run_round(x, A, work, goal, max_products - spent - 1);
    const double now = residual(work, A, b, x);
    if (!(now < reached)) {
      /* rounding is all that is left, or the round broke down */
      hvi_vec_copy(x, kept, n);
      break;
    }
    const bool slow = now > 0.9 * reached;
    reached = now;
    if (slow) break;
  }
  return reached / size;
}
