/*
 * A semismooth Newton method. With H(v) = v - z + eta Xi^-1 (A v + b) and P the projection onto Z in
 * the norm of Xi, the resolvent is the zero of the natural map
 *
 *   R(v) = v - P(v - s H(v)),   s = 1 / (1 + eta L)
 *
 * P is piecewise linear, D being a derivative: the identity where Z is free, zero where a box is
 * active, and on a simplex X_i - (1 / w_i) sum_k X_k / sum_k (1 / w_k) over the coordinates that are
 * positive. Newton's step solves G h = -R with G = I - D (I - s (I + eta Xi^-1 A)). It ends in a few
 * steps, since R is piecewise linear too, or goes round in circles between pieces.
 *
 * Then eta is approached from below. The resolvent is a continuous, piecewise rational function of
 * eta, and for small eta R is nearly constant, so that Newton's method solves it. From that solution
 * eta grows by factors, which are cut down to their root where Newton's method does not follow. Between
 * two etas that are near each other one bound becomes active or ceases to be: of two pieces one has
 * the solution, and Newton's method finds it in two steps.
 *
 * With more outputs the resolvent is approached by evaluations of F alone, with Malitsky's adaptive
 * golden ratio algorithm (2020) on H, which needs no constant of F:
 *
 *   u_k     = ((phi - 1) v_k + u_{k-1}) / phi
 *   v_{k+1} = P(u_k - s_k H(v_k)),   s_k = min(rho s_{k-1}, q |v_k - v_{k-1}|^2 / |H_k - H_{k-1}|^2)
 *
 * with phi = 3/2, rho = 1/phi + 1/phi^2 and q = phi^2 / (4 s_{k-2}). H is strongly monotone, so this
 * converges linearly, in some (1 + eta L) / (1 + eta mu) steps for each digit, of which one suffices.
 */
#include "vi/resolvent.h"

#include "base/base.h"
#include "num/dense.h"
#include "vi/sets.h"

/* Newton steps from z, and from the resolvent of a smaller eta; factors that may be cut down. */
enum { MOST_OUTPUTS = 600, MOST_STEPS = 10, MOST_FOLLOWING = 6, MOST_CUTS = 60 };

bool hvi_resolvent_fits(const hvi_problem *p) {
  if (p->ops->draw) return false;
  for (size_t i = 0; p->weights && i < p->model->out; i++)
    if (!(p->weights[i] > 0.0)) return false;
  return true;
}

bool hvi_resolvent_is_exact(const hvi_problem *p) { return p->model->out <= MOST_OUTPUTS; }

void hvi_resolvent_place(hvi_resolvent *r, const hvi_problem *p, hvi_arena *arena) {
  const size_t n = p->model->out;
  r->problem = p;
  r->exact = hvi_resolvent_is_exact(p);
  if (r->exact) {
    r->A = hvi_arena_take(arena, n * n);
    r->G = hvi_arena_take(arena, n * n);
    r->b = hvi_arena_take(arena, n);
  }
  r->work = hvi_arena_take(arena, 9 * n);
}

size_t hvi_resolvent_linearise(hvi_resolvent *r, const double *theta, const double *z,
                               const double *f) {
  const size_t evals = hvi_problem_linearise(r->problem, r->A, r->b, theta, z, f, r->work);
  const size_t n = r->problem->model->out;
  const double *w = r->problem->weights;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += hvi_vec_norm2(r->A + i * n, n) / (w ? w[i] * w[i] : 1.0);
  r->lipschitz = sqrt(sum); /* the Frobenius norm bounds the largest singular value */
  return evals;
}

/* X[len][n] <- D X, where `at` is the projected point. */
static void differentiate_simplex(double *X, const double *at, const double *w, size_t len,
                                  size_t n) {
  double scale = 0.0;
  for (size_t i = 0; i < len; i++) scale += at[i] > 0.0 ? 1.0 / (w ? w[i] : 1.0) : 0.0;
  for (size_t j = 0; j < n; j++) {
    double sum = 0.0;
    for (size_t i = 0; i < len; i++) sum += at[i] > 0.0 ? X[i * n + j] : 0.0;
    for (size_t i = 0; i < len; i++)
      X[i * n + j] = at[i] > 0.0 ? X[i * n + j] - sum / scale / (w ? w[i] : 1.0) : 0.0;
  }
}

static void differentiate_subspace(double *X, const hvi_set *set, const double *w, size_t n,
                                   double *column) {
  double *out = column + set->len;
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < set->len; i++) column[i] = X[i * n + j];
    hvi_set_project(set, w, column, out);
    for (size_t i = 0; i < set->len; i++) X[i * n + j] = out[i];
  }
}

/* G[n][n] <- D G; scratch: 2 n doubles. */
static void differentiate(const hvi_problem *p, double *G, const double *at, double *scratch) {
  const size_t n = p->model->out;
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    const double *x = at + set->begin, *w = p->weights ? p->weights + set->begin : NULL;
    double *rows = G + set->begin * n;
    if (set->kind == HVI_SET_SIMPLEX) differentiate_simplex(rows, x, w, set->len, n);
    if (set->kind == HVI_SET_SUBSPACE) differentiate_subspace(rows, set, w, n, scratch);
    for (size_t i = 0; set->kind == HVI_SET_BOX && i < set->len; i++)
      if (x[i] <= set->lower[i] || x[i] >= set->upper[i]) hvi_vec_zero(rows + i * n, n);
  }
}

/* G = I - D (I - s (I + eta Xi^-1 A)) */
static void newton_matrix(hvi_resolvent *r, double eta, double s, const double *at,
                          double *scratch) {
  const hvi_problem *p = r->problem;
  const size_t n = p->model->out;
  for (size_t i = 0; i < n; i++) {
    const double scale = -s * eta / (p->weights ? p->weights[i] : 1.0);
    for (size_t j = 0; j < n; j++) r->G[i * n + j] = scale * r->A[i * n + j];
    r->G[i * n + i] += 1.0 - s;
  }
  differentiate(p, r->G, at, scratch);
  for (size_t i = 0; i < n * n; i++) r->G[i] = -r->G[i];
  for (size_t i = 0; i < n; i++) r->G[i * n + i] += 1.0;
}

/* Newton's method from v on. */
static bool newton(hvi_resolvent *r, double *v, const double *z, double eta, size_t most) {
  const hvi_problem *p = r->problem;
  const size_t n = p->model->out;
  /* R is s H where Z is free, and known to rounding only */
  const double s = 1.0 / (1.0 + eta * r->lipschitz), small = fmax(1e-13 * s, 1e-15);
  const double size = 1.0 + hvi_vec_norm(z, n);
  double *x = r->work, *at = x + n, *scratch = at + n;
  for (size_t step = 0; step <= most; step++) {
    hvi_vec_copy(x, r->b, n);
    hvi_dense_mul_add(x, r->A, v, n, n);
    for (size_t i = 0; i < n; i++)
      x[i] = v[i] - s * (v[i] - z[i] + eta * x[i] / (p->weights ? p->weights[i] : 1.0));
    hvi_problem_project(p, x, at);
    for (size_t i = 0; i < n; i++) x[i] = at[i] - v[i];
    if (hvi_vec_norm(x, n) <= small * (size + hvi_vec_norm(v, n))) return true;
    if (step == most) break;
    newton_matrix(r, eta, s, at, scratch);
    if (!hvi_dense_solve_in(x, r->G, n, scratch)) return false;
    hvi_vec_add(v, 1.0, x, n);
  }
  return false;
}

double hvi_resolvent_solve(hvi_resolvent *r, double *v, const double *z, double eta) {
  const size_t n = r->problem->model->out;
  double *known = r->work + 8 * n, reached = eta, factor = 16.0;
  for (;; reached /= 16.0) {
    hvi_vec_copy(v, z, n);
    if (newton(r, v, z, reached, MOST_STEPS)) break;
    if (!(reached * r->lipschitz > 1e-3)) return 0.0;
  }
  for (size_t cuts = 0; reached < eta && cuts < MOST_CUTS;) {
    const double next = fmin(reached * factor, eta);
    hvi_vec_copy(known, v, n);
    if (newton(r, v, z, next, MOST_FOLLOWING)) {
      reached = next;
      factor = fmin(factor * factor, 256.0);
    } else {
      hvi_vec_copy(v, known, n);
      factor = sqrt(factor);
      cuts++;
    }
  }
  return reached;
}

/* |v - P(v - H(v))|; scratch: 2 n doubles. */
static double natural(const hvi_resolvent *r, const double *v, const double *h, double *scratch) {
  const size_t n = r->problem->model->out;
  for (size_t i = 0; i < n; i++) scratch[i] = v[i] - h[i];
  hvi_problem_project(r->problem, scratch, scratch + n);
  return sqrt(hvi_vec_dist2(v, scratch + n, n));
}

size_t hvi_resolvent_approach(const hvi_resolvent *r, double *v, const double *theta,
                              const double *z, const double *f, double eta) {
  const hvi_problem *p = r->problem;
  const size_t n = p->model->out;
  const double phi = 1.5, rho = 1.0 / phi + 1.0 / (phi * phi);
  double *u = r->work, *h = u + n, *before = h + n, *h_before = before + n, *x = h_before + n;
  double s = 1e-3 / (1.0 + eta), s_before = s; /* from a small step on it is measured */
  hvi_vec_copy(u, z, n);
  hvi_vec_copy(before, z, n);
  for (size_t i = 0; i < n; i++) {
    h_before[i] = eta * f[i] / (p->weights ? p->weights[i] : 1.0);
    x[i] = z[i] - s * h_before[i];
  }
  hvi_problem_project(p, x, v);
  for (size_t k = 1;; k++) {
    p->ops->operate(p, NULL, theta, v, h);
    for (size_t i = 0; i < n; i++) /* H(v) */
      h[i] = v[i] - z[i] + eta * h[i] / (p->weights ? p->weights[i] : 1.0);
    const double moved = hvi_vec_dist2(v, before, n), change = hvi_vec_dist2(h, h_before, n);
    const double measured = phi * phi / (4.0 * s_before) * moved / change;
    const double next = k == 1 ? 0.5 * sqrt(moved / change) : fmin(rho * s, measured);
    const bool near = natural(r, v, h, x) <= 0.1 * sqrt(hvi_vec_dist2(v, z, n));
    if (near || k == HVI_RESOLVENT_EVALS || !isfinite(next)) return k;
    s_before = k == 1 ? next : s;
    s = next;
    for (size_t i = 0; i < n; i++) {
      u[i] = ((phi - 1.0) * v[i] + u[i]) / phi;
      x[i] = u[i] - s * h[i];
    }
    hvi_vec_copy(before, v, n);
    hvi_vec_copy(h_before, h, n);
    hvi_problem_project(p, x, v);
  }
}
