/*
 * A model at a point theta, with directions u and v.
 *
 * J v is compared with central differences D_k = (g(theta + h v) - g(theta - h v)) / 2h over a ladder
 * of steps h. Each output takes the step with the smallest error, which is estimated by
 *
 *   |D_{k-1} - D_k| + |D_k - D_{k+1}| + (S_{k-1} + S_k + S_{k+1}) / 2 + rounding,
 *   S_k = |g(theta + h v) - 2 g(theta) + g(theta - h v)| / h
 *
 * At a kink, as of ReLU, S_k is the difference of the slopes on both sides, so that either slope is
 * right. Outputs with large errors are not judged: u is zero there, and <J'u, v> is then compared with
 * <u, D>.
 */
#include "base/base.h"
#include "num/dense.h"
#include "vi/checker.h"

#include <float.h>

/* Of the ladder; each of the next is a quarter of the one before. */
static const double first_step = 1.0 / 128.0;
/* Matrices with more are not asked for. */
enum { MOST_ENTRIES = 20000000 };

/* What a model has, and writes: z[n], J v [n] and J'u [d]. */
enum { EVAL, JVP, VJP, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"eval", "jvp", "vjp"};

static size_t length(const hvi_model *m, int function) { return function == VJP ? m->dim : m->out; }

/* The result of one function, which was not a number before. */
static void call(const hvi_model *m, int function, double *cache, const double *theta,
                 const double *u, const double *v, double *out) {
  for (size_t i = 0; i < length(m, function); i++) out[i] = NAN;
  if (function == EVAL) m->ops->eval(m, cache, theta, out);
  if (function == JVP) m->ops->jvp(m, cache, theta, v, out);
  if (function == VJP) m->ops->vjp(m, cache, theta, u, out);
}

/* What rounding of the outputs explains. */
static double slack(const hvi_checker *c) { return 16.0 * c->noise * hvi_check_size(c->z, c->n); }

/* |x - y| / max(|x|, |y|), largest entries, without the slack. */
static double differ(const hvi_checker *c, const double *x, const double *y, size_t n) {
  const double size = fmax(hvi_check_size(x, n), hvi_check_size(y, n));
  return (hvi_check_gap(x, y, n, &(size_t){0}) - slack(c)) / (size + DBL_MIN);
}

static void check_arrays(hvi_checker *c) {
  const hvi_model *m = c->m;
  double *const got[] = {c->z, c->forth, c->back};
  for (int k = 0; k < FUNCTIONS; k++) {
    call(m, k, c->cache, c->theta, c->u, c->v, got[k]);
    hvi_check_written(c, HVI_CHECK_ARRAYS, names[k], names[k], got[k], length(m, k));
    hvi_check_judge(c, HVI_CHECK_ARRAYS, !hvi_check_untouched(c->cache + m->cache),
                    "%s writes beyond the cache of %zu doubles", names[k], m->cache);
  }
}

/* The same again: with the same cache, in another order, and with one that was elsewhere before. */
static void check_determinism(hvi_checker *c) {
  const hvi_model *m = c->m;
  double *const got[] = {c->z, c->forth, c->back};
  double *const again[] = {c->z_again, c->forth_again, c->back_again};
  for (size_t i = 0; i < m->dim; i++) c->other[i] = c->theta[i] + hvi_rng_normal(&c->rng);
  call(m, EVAL, c->used, c->other, NULL, NULL, c->z_again);
  for (int i = 0; i < 2 * FUNCTIONS; i++) {
    const int k = i % FUNCTIONS;
    const bool used = i >= FUNCTIONS;
    call(m, k, used ? c->used : c->cache, c->theta, c->u, c->v, again[k]);
    hvi_check_judge(c, HVI_CHECK_DETERMINISM,
                    memcmp(got[k], again[k], length(m, k) * sizeof(double)) != 0,
                    "%s gives other bits %s", names[k],
                    used ? "after an evaluation elsewhere with the same cache: what depends on "
                           "theta must be set "
                           "anew by eval"
                         : "the second time");
  }
}

/* D_k and S_k of every output. Returns the rounding of g: as the model has it, or as the differences at
 * the smallest steps show it. */
static double fill_ladder(hvi_checker *c) {
  const size_t n = c->n;
  double h = first_step, rounding = slack(c);
  for (size_t k = 0; k < HVI_LADDER; k++, h /= 4.0) {
    double *D = c->slopes + k * n, *S = D + HVI_LADDER * n;
    for (int side = 0; side < 2; side++) {
      for (size_t i = 0; i < c->d; i++) c->other[i] = c->theta[i] + (side ? -h : h) * c->v[i];
      call(c->m, EVAL, c->used, c->other, NULL, NULL, side ? S : D);
    }
    for (size_t i = 0; i < n; i++) {
      const double up = D[i], down = S[i];
      D[i] = (up - down) / (2.0 * h);
      S[i] = fabs(up - 2.0 * c->z[i] + down) / h;
      if (k + 2 >= HVI_LADDER) rounding = fmax(rounding, 4.0 * h * fabs(D[i] - (D - n)[i]));
    }
  }
  return rounding;
}

/* The best D of output i, and its error. */
static double best_slope(const hvi_checker *c, size_t i, double rounding, double *error) {
  const size_t n = c->n;
  const double *D = c->slopes + i, *S = D + HVI_LADDER * n;
  double best = 0.0, h = first_step;
  *error = INFINITY;
  for (size_t k = 0; k + 2 < HVI_LADDER; k++, h /= 4.0, D += n, S += n) {
    const double bar =
        fabs(D[0] - D[n]) + fabs(D[n] - D[2 * n]) + 0.5 * (S[0] + S[n] + S[2 * n]) + rounding / h;
    if (!(bar < *error)) continue;
    *error = bar;
    best = D[n];
  }
  return best;
}

/* J v by output, and J'u: u is zero where nothing can be said. */
static void check_derivatives(hvi_checker *c) {
  const size_t n = c->n;
  double *D = c->work, *error = c->f, worst = 0.0, along = 0.0, error_along = 0.0;
  size_t at = 0;
  const double rounding = fill_ladder(c);
  for (size_t i = 0; i < n; i++) D[i] = best_slope(c, i, rounding, &error[i]);
  const double size = fmax(hvi_check_size(D, n), hvi_check_size(c->forth, n));
  for (size_t i = 0; i < n; i++) {
    if (!(error[i] <= 0.05 * size)) error[i] = D[i] = c->u[i] = 0.0;
    along += c->u[i] * D[i];
    error_along += fabs(c->u[i]) * error[i];
    const double excess = c->u[i] != 0.0 ? fabs(c->forth[i] - D[i]) - error[i] : 0.0;
    if (excess > worst) worst = excess, at = i;
  }
  const double scale = sqrt(hvi_vec_norm2(c->u, n) * hvi_vec_norm2(D, n));
  call(c->m, EVAL, c->cache, c->theta, NULL, NULL, c->z);
  call(c->m, VJP, c->cache, c->theta, c->u, NULL, c->back);
  if (!(hvi_vec_norm2(c->u, n) > 0.0)) return; /* it cannot be told */
  hvi_check_judge(c, HVI_CHECK_JVP, worst / (size + DBL_MIN),
                  "J v of output %zu is %.6g, and differences of g give %.6g", at + 1, c->forth[at],
                  D[at]);
  const double back = hvi_vec_dot(c->back, c->v, c->d);
  hvi_check_judge(c, HVI_CHECK_VJP, (fabs(back - along) - error_along) / (scale + DBL_MIN),
                  "<J'u, v> is %.6g, and differences of g give <u, J v> = %.6g%s", back, along,
                  fabs(back + along) < 1e-3 * fabs(along) ? ": the sign is wrong" : "");
}

static void check_adjoint(hvi_checker *c) {
  const size_t n = c->n, d = c->d;
  const double forth = hvi_vec_dot(c->u, c->forth, n), back = hvi_vec_dot(c->back, c->v, d);
  const double u = hvi_vec_norm(c->u, n), rounding = 16.0 * c->noise * u * hvi_vec_norm(c->z, n);
  const double size =
      u * hvi_vec_norm(c->forth, n) + hvi_vec_norm(c->back, d) * hvi_vec_norm(c->v, d);
  hvi_check_judge(c, HVI_CHECK_ADJOINT, (fabs(forth - back) - rounding) / (size + DBL_MIN),
                  "<u, J v> is %.9g and <J'u, v> is %.9g", forth, back);
}

/* One player moves: nobody else does, and its own model says the same as all together, with the cache
 * that these left behind. */
static void check_player(hvi_checker *c) {
  static const char *const what[FUNCTIONS] = {"other outputs", "another jvp", "another vjp"};
  const hvi_model *m = c->m;
  if (m->block_count < 2) return;
  const size_t k = (size_t)(hvi_rng_u64(&c->rng) % m->block_count);
  const hvi_block *b = &m->blocks[k];
  const hvi_model *one = m->ops->player(m, k);
  hvi_vec_copy(c->other, c->theta, m->dim);
  hvi_vec_add(c->other + b->theta, 1.0, c->v + b->theta, b->dim);
  call(m, EVAL, c->used, c->other, NULL, NULL, c->z_again);
  hvi_vec_copy(c->z_again + b->z, c->z + b->z, b->out);
  hvi_check_judge(c, HVI_CHECK_PLAYERS, differ(c, c->z, c->z_again, m->out),
                  "parameters of player %zu move the outputs of another", k + 1);
  const double *const got[] = {c->z + b->z, c->forth + b->z, c->back + b->theta};
  double *const again[] = {c->z_again, c->forth_again, c->back_again};
  for (int i = 0; i < FUNCTIONS; i++) {
    call(one, i, (i == EVAL ? c->used : c->cache) + b->cache, c->theta + b->theta, c->u + b->z,
         c->v + b->theta, again[i]);
    hvi_check_judge(c, HVI_CHECK_PLAYERS, differ(c, got[i], again[i], length(one, i)),
                    "the model of player %zu alone has %s", k + 1, what[i]);
  }
}

void hvi_check_model(hvi_checker *c) {
  check_arrays(c);
  check_determinism(c);
  check_adjoint(c);
  check_derivatives(c);
  check_player(c);
}

/* Judges y[n] = M x, of which x is standard normal: |M x| is about |M|, and in that errors are measured.
 * By chance |M x| may be smaller, and its rounding is not. */
static void judge_product(hvi_checker *c, const char *text, const double *M, size_t entries,
                          const double *y, const double *expected, size_t n) {
  const double error = sqrt(hvi_vec_dist2(y, expected, n)) - slack(c);
  hvi_check_judge(c, HVI_CHECK_MATRICES, error / (hvi_vec_norm(M, entries) + DBL_MIN), "%s", text);
}

/* The matrices that a model of one player has, against its products. */
hvi_status hvi_check_matrices(hvi_checker *c, hvi_error *err) {
  const hvi_model *m = c->m;
  const size_t k = (size_t)(hvi_rng_u64(&c->rng) % m->block_count);
  const hvi_block *b = &m->blocks[k];
  const hvi_model *one = m->ops->player ? m->ops->player(m, k) : m;
  const hvi_model_ops *ops = one->ops;
  const size_t n = one->out, d = one->dim;
  const double *theta = c->theta + b->theta, *u = c->u + b->z, *v = c->v + b->theta;
  double *cache = c->cache + b->cache, *back = c->back_again, *forth = c->forth_again;
  const bool jacobian = ops->jacobian && n * d <= MOST_ENTRIES;
  const bool outer = ops->outer_gram && n * n <= MOST_ENTRIES;
  const bool gram = ops->gram && d * d <= MOST_ENTRIES;
  const size_t square = gram && (d > n || !outer) ? d * d : outer ? n * n : 0;
  const size_t size = jacobian && n * d > square ? n * d : square;
  if (size == 0) return HVI_OK;
  HVI_NEW(double, M, size + (n > d ? n : d) + one->outer_work, "a matrix of the model", err);
  double *y = M + size, *work = y + (n > d ? n : d);
  if (jacobian) {
    ops->jacobian(one, cache, theta, M);
    hvi_dense_mul(y, M, v, n, d);
    judge_product(c, "jacobian is not jvp's J", M, n * d, y, c->forth + b->z, n);
    hvi_dense_mul_t(y, M, u, n, d);
    judge_product(c, "jacobian is not vjp's J", M, n * d, y, c->back + b->theta, d);
  }
  if (outer) {
    ops->outer_gram(one, cache, theta, M, work);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++) M[j * n + i] = M[i * n + j];
    hvi_dense_mul(y, M, u, n, n);
    ops->jvp(one, cache, theta, c->back + b->theta, forth);
    judge_product(c, "outer_gram is not J J'", M, n * n, y, forth, n);
  }
  if (gram) {
    const double *w = c->p->weights ? c->p->weights + b->z : NULL;
    ops->gram(one, w, M);
    hvi_dense_mul(y, M, v, d, d);
    for (size_t i = 0; i < n; i++) forth[i] = (w ? w[i] : 1.0) * c->forth[b->z + i];
    ops->vjp(one, cache, theta, forth, back);
    judge_product(c, "gram is not J' Xi J", M, d * d, y, back, d);
  }
  return HVI_OK;
}
