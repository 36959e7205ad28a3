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
#include "num/vec.h"
#include "vi/checker.h"

#include <float.h>

/* Of the ladder; each of the next is a quarter of the one before. */
static const double first_step = 1.0 / 128.0;
/* Matrices with more are not asked for. */
enum { MOST_ENTRIES = 20000000 };

static double size_of(const double *x, size_t n) {
  double most = 0.0;
  for (size_t i = 0; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
  return most;
}

/* |x - y| / max(|x|, |y|), largest entries, without what rounding of the outputs explains; NaN where one
 * is not a number. */
static double differ(const hvi_checker *c, const double *x, const double *y, size_t n) {
  double most = 16.0 * c->noise * size_of(c->z, c->p->model->out);
  const double slack = most, size = fmax(size_of(x, n), size_of(y, n));
  for (size_t i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= most)) most = fabs(x[i] - y[i]);
  return (most - slack) / (size + DBL_MIN);
}

static void spoil(double *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = NAN;
}

static bool untouched(const double *guard) {
  for (size_t i = 0; i < HVI_GUARD; i++)
    if (guard[i] != HVI_GUARD_VALUE) return false;
  return true;
}

/* x[n], written by one of the model's functions, is all numbers, and nothing behind it or behind the
 * cache was touched. */
static void judge_array(hvi_checker *c, const char *name, const double *x, size_t n,
                        const double *cache) {
  size_t i = 0;
  while (i < n && isfinite(x[i])) i++;
  hvi_check_judge(c, HVI_CHECK_ARRAYS, i < n, "%s leaves element %zu of %zu at %g", name, i + 1, n,
                  i < n ? x[i] : 0.0);
  hvi_check_judge(c, HVI_CHECK_ARRAYS, !untouched(x + n), "%s writes beyond its %zu results", name,
                  n);
  hvi_check_judge(c, HVI_CHECK_ARRAYS, !untouched(cache + c->p->model->cache),
                  "%s writes beyond the cache of %zu doubles", name, c->p->model->cache);
}

static void evaluate(const hvi_checker *c, double *cache, const double *theta, double *z) {
  spoil(z, c->p->model->out);
  c->p->model->ops->eval(c->p->model, cache, theta, z);
}

static void pull(const hvi_checker *c, double *cache, const double *u, double *back) {
  spoil(back, c->p->model->dim);
  c->p->model->ops->vjp(c->p->model, cache, c->theta, u, back);
}

static void push(const hvi_checker *c, double *cache, const double *v, double *forth) {
  spoil(forth, c->p->model->out);
  c->p->model->ops->jvp(c->p->model, cache, c->theta, v, forth);
}

/* The same again: with the same cache, in another order, and with one that was elsewhere before. */
static void check_determinism(hvi_checker *c) {
  const hvi_model *m = c->p->model;
  const size_t n = m->out, d = m->dim;
  for (size_t i = 0; i < d; i++) c->other[i] = c->theta[i] + hvi_rng_normal(&c->rng);
  m->ops->eval(m, c->used, c->other, c->z_again);
  for (int round = 0; round < 2; round++) {
    double *cache = round ? c->used : c->cache;
    evaluate(c, cache, c->theta, c->z_again);
    push(c, cache, c->v, c->forth_again);
    pull(c, cache, c->u, c->back_again);
    const char *bad = memcmp(c->z, c->z_again, n * sizeof *c->z)               ? "eval"
                      : memcmp(c->forth, c->forth_again, n * sizeof *c->forth) ? "jvp"
                      : memcmp(c->back, c->back_again, d * sizeof *c->back)    ? "vjp"
                                                                               : NULL;
    hvi_check_judge(
        c, HVI_CHECK_DETERMINISM, bad != NULL, "%s gives other bits %s", bad ? bad : "",
        round ? "after an evaluation elsewhere with the same cache: what depends on theta "
                "must be set anew by eval"
              : "the second time");
  }
}

/* D_k and S_k of every output. Returns the rounding of g: as the model has it, or as the differences at
 * the smallest steps show it. */
static double fill_ladder(hvi_checker *c) {
  const size_t n = c->p->model->out, d = c->p->model->dim;
  double h = first_step, rounding = 16.0 * c->noise * size_of(c->z, n);
  for (size_t k = 0; k < HVI_LADDER; k++, h /= 4.0) {
    double *D = c->slopes + k * n, *S = D + HVI_LADDER * n;
    for (size_t i = 0; i < d; i++) c->other[i] = c->theta[i] + h * c->v[i];
    evaluate(c, c->used, c->other, D);
    for (size_t i = 0; i < d; i++) c->other[i] = c->theta[i] - h * c->v[i];
    evaluate(c, c->used, c->other, S);
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
  const size_t n = c->p->model->out;
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
  const size_t n = c->p->model->out;
  double *D = c->work, *error = c->f, worst = 0.0, along = 0.0, error_along = 0.0;
  size_t at = 0;
  const double rounding = fill_ladder(c);
  for (size_t i = 0; i < n; i++) D[i] = best_slope(c, i, rounding, &error[i]);
  const double size = fmax(size_of(D, n), size_of(c->forth, n));
  for (size_t i = 0; i < n; i++) {
    if (!(error[i] <= 0.05 * size)) error[i] = D[i] = c->u[i] = 0.0;
    along += c->u[i] * D[i];
    error_along += fabs(c->u[i]) * error[i];
    const double excess = c->u[i] != 0.0 ? fabs(c->forth[i] - D[i]) - error[i] : 0.0;
    if (excess > worst) worst = excess, at = i;
  }
  const double scale = sqrt(hvi_vec_norm2(c->u, n) * hvi_vec_norm2(D, n));
  evaluate(c, c->cache, c->theta, c->z);
  pull(c, c->cache, c->u, c->back);
  if (!(hvi_vec_norm2(c->u, n) > 0.0)) return; /* it cannot be told */
  hvi_check_judge(c, HVI_CHECK_JVP, worst / (size + DBL_MIN),
                  "J v of output %zu is %.6g, and differences of g give %.6g", at + 1, c->forth[at],
                  D[at]);
  const double back = hvi_vec_dot(c->back, c->v, c->p->model->dim);
  const double excess = fmax(fabs(back - along) - error_along, 0.0);
  hvi_check_judge(c, HVI_CHECK_VJP, excess / (scale + DBL_MIN),
                  "<J'u, v> is %.6g, and differences of g give <u, J v> = %.6g%s", back, along,
                  fabs(back + along) < 1e-3 * fabs(along) ? ": the sign is wrong" : "");
}

static void check_adjoint(hvi_checker *c) {
  const size_t n = c->p->model->out, d = c->p->model->dim;
  const double forth = hvi_vec_dot(c->u, c->forth, n), back = hvi_vec_dot(c->back, c->v, d);
  const double u = hvi_vec_norm(c->u, n), slack = 16.0 * c->noise * u * hvi_vec_norm(c->z, n);
  const double size =
      u * hvi_vec_norm(c->forth, n) + hvi_vec_norm(c->back, d) * hvi_vec_norm(c->v, d);
  hvi_check_judge(c, HVI_CHECK_ADJOINT, fmax(fabs(forth - back) - slack, 0.0) / (size + DBL_MIN),
                  "<u, J v> is %.9g and <J'u, v> is %.9g", forth, back);
}

/* One player moves: nobody else does, and its own model says the same as all together, with the cache
 * that these left behind. */
static void check_player(hvi_checker *c) {
  const hvi_model *m = c->p->model;
  if (m->block_count < 2) return;
  const size_t k = (size_t)(hvi_rng_u64(&c->rng) % m->block_count);
  const hvi_block *b = &m->blocks[k];
  const hvi_model *one = m->ops->player(m, k);
  const double *theta = c->theta + b->theta;
  double *cache = c->cache + b->cache, *z = c->z_again, *forth = c->forth_again;
  hvi_vec_copy(c->other, c->theta, m->dim);
  hvi_vec_add(c->other + b->theta, 1.0, c->v + b->theta, b->dim);
  evaluate(c, c->used, c->other, z);
  hvi_vec_copy(z + b->z, c->z + b->z, b->out);
  const double others = differ(c, c->z, z, m->out);
  one->ops->eval(one, c->used + b->cache, theta, z);
  one->ops->jvp(one, cache, theta, c->v + b->theta, forth);
  one->ops->vjp(one, cache, theta, c->u + b->z, c->back_again);
  const struct {
    double value;
    const char *text;
  } found[] = {
      {others, "parameters of player %zu move the outputs of another"},
      {differ(c, c->z + b->z, z, b->out), "the model of player %zu alone has other outputs"},
      {differ(c, c->forth + b->z, forth, b->out), "the model of player %zu alone has another jvp"},
      {differ(c, c->back + b->theta, c->back_again, b->dim),
       "the model of player %zu alone has another vjp"}};
  for (size_t i = 0; i < sizeof found / sizeof *found; i++)
    hvi_check_judge(c, HVI_CHECK_PLAYERS, found[i].value, found[i].text, k + 1);
}

void hvi_check_model(hvi_checker *c) {
  const size_t n = c->p->model->out, d = c->p->model->dim;
  evaluate(c, c->cache, c->theta, c->z);
  judge_array(c, "eval", c->z, n, c->cache);
  push(c, c->cache, c->v, c->forth);
  judge_array(c, "jvp", c->forth, n, c->cache);
  pull(c, c->cache, c->u, c->back);
  judge_array(c, "vjp", c->back, d, c->cache);
  check_determinism(c);
  check_adjoint(c);
  check_derivatives(c);
  check_player(c);
}

/* y = M x for symmetric M[n][n], of which the lower triangle is there. */
static void lower_product(double *y, const double *M, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    y[i] = 0.0;
    for (size_t j = 0; j < n; j++) y[i] += x[j] * (j <= i ? M[i * n + j] : M[j * n + i]);
  }
}

/* The matrices that a model of one player has, against its products. */
hvi_status hvi_check_matrices(hvi_checker *c, hvi_error *err) {
  const hvi_model *m = c->p->model;
  const size_t k = (size_t)(hvi_rng_u64(&c->rng) % m->block_count);
  const hvi_block *b = &m->blocks[k];
  const hvi_model *one = m->ops->player ? m->ops->player(m, k) : m;
  const hvi_model_ops *ops = one->ops;
  const size_t n = one->out, d = one->dim, most = n > d ? n : d;
  const double *theta = c->theta + b->theta, *u = c->u + b->z, *v = c->v + b->theta;
  double *cache = c->cache + b->cache, *back = c->back_again, *forth = c->forth_again;
  const size_t room = ops->outer_gram ? n * n : ops->jacobian ? n * d : 0;
  const size_t size = ops->gram && d * d > room ? d * d : room;
  if (size == 0 || size > MOST_ENTRIES) return HVI_OK;
  HVI_OWN double *M = hvi_alloc_doubles((size > n * d ? size : n * d) + one->outer_work + most);
  if (!M) return hvi_error_memory(err, "a matrix of the model");
  double *y = M + (size > n * d ? size : n * d), *work = y + most;
  if (ops->jacobian) {
    ops->jacobian(one, cache, theta, M);
    hvi_dense_mul(y, M, v, n, d);
    hvi_check_judge(c, HVI_CHECK_MATRICES, differ(c, y, c->forth + b->z, n),
                    "jacobian is not jvp's J");
    hvi_dense_mul_t(y, M, u, n, d);
    hvi_check_judge(c, HVI_CHECK_MATRICES, differ(c, y, c->back + b->theta, d),
                    "jacobian is not vjp's J");
  }
  if (ops->outer_gram) {
    ops->outer_gram(one, cache, theta, M, work);
    lower_product(y, M, u, n);
    ops->jvp(one, cache, theta, c->back + b->theta, forth);
    hvi_check_judge(c, HVI_CHECK_MATRICES, differ(c, y, forth, n), "outer_gram is not J J'");
  }
  if (ops->gram) {
    const double *w = c->p->weights ? c->p->weights + b->z : NULL;
    ops->gram(one, w, M);
    hvi_dense_mul(y, M, v, d, d);
    for (size_t i = 0; i < n; i++) forth[i] = (w ? w[i] : 1.0) * c->forth[b->z + i];
    ops->vjp(one, cache, theta, forth, back);
    hvi_check_judge(c, HVI_CHECK_MATRICES, differ(c, y, back, d), "gram is not J' Xi J");
  }
  return HVI_OK;
}
