/*
 * One frozen surrogate, f(theta) = 1/2 |r(theta)|^2 with r = g(theta) - v, and why gradient descent
 * solves it fast (the paper's Section 4). Models are z = phi(W theta), phi elementwise, so that J =
 * diag(phi') W, and everywhere
 *
 *   low <= singular values of J' <= high,   |grad g_i(a) - grad g_i(b)| <= beta |a - b|
 *
 * with low = inf phi' s_min(W), high = sup phi' s_max(W), beta = sup |phi''| max_i |w_i|^2.
 *
 * kind: theory-pl. At random points, the Polyak-Lojasiewicz inequality of a composition,
 *
 *   |grad (f o g)(theta)|^2 >= 2 mu sigma_min(theta)^2 (f(g(theta)) - inf f)
 *
 * for f mu-PL: for f(z) = 1/2 |z - v|^2, which is the surrogate and 1-PL, and for f(z) = sum x_i^2 +
 * 3 sin^2 x_i, x = z - v, which is 1/32-PL and not convex. (The proof drops the 2 on the way.)
 * At random pairs, the smoothness of the surrogate, with C = |r(b)|_1, of one of the two alone:
 *
 *   |grad f(a) - grad f(b)| <= (high^2 + beta C) |a - b|
 *
 * What the proof needs of M = J(a)' - J(b)' is sup |M v|_2 over |v|_1 <= 1, the length of its longest
 * column. What it prints is sup |M v|_1 over |v|_2 <= 1, the maximum of |M's|_2 over signs s.
 *
 * kind: theory-inner. Inner steps on a surrogate whose target is `far` from the start. By the two,
 * gradient descent of step 1 / L, L = high^2 + beta sqrt(n) |r(theta_0)|, gives alpha = rho^s:
 *
 *   (f(theta_s) - f*) / (f(theta_0) - f*) <= rho^(2 s),   rho^2 = 1 - low^2 / L
 *
 * and if low > 0 every target is reached: the outputs are unbounded. Where they are bounded and v is
 * outside, sigma_min(theta)^2 |r|^2 <= |grad f|^2 <= 2 L (f - f*), so that sigma_min goes to zero.
 */
#include "base/base.h"
#include "num/dense.h"
#include "study/kinds.h"

enum { MOST = 16 };

static const char *const losses[] = {"square", "wavy", NULL};
static const char *const shapes[] = {"linear", "celu", "tanh", "softplus", NULL};
/* Of phi: its slope at zero, least and largest, and its largest curvature. Those of celu are of
 * CELU(x) - CELU(-x), which the problem's model is. */
static const double slopes[][4] = {
    {1, 1, 1, 0}, {2, 1, 2, 1}, {1, 0, 1, 0.76980035891950094}, {0.5, 0, 1, 0.25}};

/* A problem whose model is phi(W theta), and its constants. */
typedef struct bench {
  hvi_problem *problem;
  const hvi_model *model;
  double *cache;
  double low, steep, high, beta; /* steep: the least singular value where phi is steepest */
} bench;

static void bench_close(bench *b) {
  hvi_problem_free(b->problem);
  hvi_free(b->cache);
}

static hvi_status bench_open(bench *b, const hvi_cell *c, uint64_t instance, hvi_error *err) {
  double theta[MOST] = {0.0}, z[MOST], J[MOST * MOST], scratch[2 * MOST], s[MOST];
  size_t g = 0;
  for (size_t i = 0; i < c->part->option_count; i++)
    if (strcmp(c->part->options[i].key, "g") == 0)
      return hvi_error_input(err, "%s: g is a factor of kind %s", c->study->origin,
                             c->part->kind->name);
  if (hvi_cell_word(c, "g")) HVI_TRY(hvi_cell_choice(&g, c, "g", shapes, err));
  HVI_TRY(hvi_cell_problem(&b->problem, c, instance, err));
  const hvi_model *m = b->model = b->problem->model;
  if (m->dim < m->out || m->dim > MOST)
    return hvi_error_input(err, "%s: kind %s needs n <= d <= %d", c->study->origin,
                           c->part->kind->name, MOST);
  HVI_TRY(hvi_new(&b->cache, m->cache, "a model's cache", err));
  m->ops->eval(m, b->cache, theta, z);
  hvi_model_jacobian(m, b->cache, theta, 0, J, scratch);
  hvi_vec_scale(J, 1.0 / slopes[g][0], m->out * m->dim);
  HVI_TRY(hvi_dense_singular_values(s, J, m->out, m->dim, err));
  b->low = slopes[g][1] * s[m->out - 1];
  b->steep = slopes[g][2] * s[m->out - 1];
  b->high = slopes[g][2] * s[0];
  for (size_t i = 0; i < m->out; i++)
    b->beta = fmax(b->beta, slopes[g][3] * hvi_vec_norm2(J + i * m->dim, m->dim));
  return HVI_OK;
}

/* What a point has to say of one of the two functions. */
typedef struct place {
  double theta[MOST], z[MOST], J[MOST * MOST], gradient[MOST];
  double value, length1; /* f o g, |r|_1 */
} place;

static void see(place *at, const bench *b, const double *v, bool wavy) {
  const hvi_model *m = b->model;
  double u[MOST], scratch[2 * MOST];
  m->ops->eval(m, b->cache, at->theta, at->z);
  at->value = at->length1 = 0.0;
  for (size_t i = 0; i < m->out; i++) {
    const double x = at->z[i] - v[i];
    at->value += wavy ? x * x + 3.0 * sin(x) * sin(x) : 0.5 * x * x;
    at->length1 += fabs(x);
    u[i] = wavy ? 2.0 * x + 3.0 * sin(2.0 * x) : x;
  }
  m->ops->vjp(m, b->cache, at->theta, u, at->gradient);
  hvi_model_jacobian(m, b->cache, at->theta, 0, at->J, scratch);
}

/* sup |D'v|_2 over |v|_1 <= 1, and sup |D'v|_1 over |v|_2 <= 1, of D[n][d]. */
static void find_norms(double norms[2], const double *D, size_t n, size_t d) {
  double signs[MOST], y[MOST];
  norms[0] = norms[1] = 0.0;
  for (size_t i = 0; i < n; i++) norms[0] = fmax(norms[0], hvi_vec_norm(D + i * d, d));
  for (size_t mask = 0; mask < (size_t)1 << (d - 1); mask++) {
    for (size_t j = 0; j < d; j++) signs[j] = mask >> j & 1 ? 1.0 : -1.0;
    hvi_dense_mul(y, D, signs, n, d);
    norms[1] = fmax(norms[1], hvi_vec_norm(y, n));
  }
}

/* Of the function that row[0] says; pairs are apart by 0.001 to 10. */
static hvi_status draw(double row[8], const bench *b, double scale, hvi_rng *rng, hvi_error *err) {
  const bool wavy = row[0] != 0.0;
  const size_t n = b->model->out, d = b->model->dim;
  double v[MOST], sigma[MOST], norms[2];
  place at, other;
  hvi_rng_fill_normal(rng, 0.0, scale, d, at.theta);
  hvi_rng_fill_normal(rng, 0.0, scale, n, v);
  hvi_rng_fill_normal(rng, 0.0, pow(10.0, hvi_rng_range(rng, -3.0, 1.0)), d, other.theta);
  hvi_vec_add(other.theta, 1.0, at.theta, d);
  see(&at, b, v, wavy);
  see(&other, b, v, wavy);
  HVI_TRY(hvi_dense_singular_values(sigma, at.J, n, d, err));
  row[1] = sigma[n - 1] * sigma[n - 1];
  row[2] = sigma[0] * sigma[0];
  row[3] = hvi_vec_norm2(at.gradient, d) / (2.0 * (wavy ? 1.0 / 32.0 : 1.0) * at.value);
  const double apart = sqrt(hvi_vec_dist2(at.theta, other.theta, d));
  const double turned = sqrt(hvi_vec_dist2(at.gradient, other.gradient, d));
  hvi_vec_add(at.J, -1.0, other.J, n * d);
  find_norms(norms, at.J, n, d);
  row[4] = turned / apart / (b->high * b->high + b->beta * other.length1);
  row[5] = turned / apart / (b->high * b->high);
  row[6] = norms[0] / apart - b->beta;
  row[7] = norms[1] / apart - b->beta;
  return HVI_OK;
}

/* As many samples as the size has instances, of the two functions in turn. */
static hvi_status run_pl(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  static const double scales[] = {0.1, 1.0, 3.0};
  HVI_OWN_BY(bench_close) bench b = {0};
  HVI_TRY(bench_open(&b, c, 1, err));
  hvi_rng rng = hvi_rng_new(c->part->seed, "pl", hvi_cell_level(c, "g"));
  for (size_t i = 0; i < c->part->scale.instances; i++) {
    double row[8] = {(double)(i % 2)};
    HVI_TRY(draw(row, &b, scales[i / 2 % 3], &rng, err));
    HVI_TRY(hvi_rows_add(rows, 0, row, err));
  }
  return HVI_OK;
}

/* Squares of the least and largest singular value, |grad|^2 / (2 mu (f - inf)); the change of the
 * gradient over its bound, and over high^2 alone; how far both norms are above beta |a - b|, over
 * |a - b|. */
const hvi_kind hvi_kind_theory_pl = {
    .name = "theory-pl",
    .summary = "the PL inequality of a composition, and the surrogate's smoothness",
    .flags = HVI_KIND_PROBLEM,
    .words = "g",
    .tables = {{"",
                {{"loss", losses},
                 {.name = "sigma2 largest2 ratio smooth smooth_short norm_mended norm_printed"}},
                "loss"}},
    .run = run_pl};

/* F(z) = z - v: with eta = 1 every outer step has the target v, and its inner step is the next on one
 * and the same surrogate. */
typedef struct toward {
  hvi_problem base;
  double v[MOST];
} toward;

static void toward_operate(const hvi_problem *p, const void *sample, const double *theta,
                           const double *z, double *f) {
  (void)sample, (void)theta;
  for (size_t i = 0; i < p->model->out; i++) f[i] = z[i] - ((const toward *)p)->v[i];
}

static const hvi_problem_ops toward_ops = {.name = "toward", .operate = toward_operate};

typedef struct descent {
  bench bench;
  toward to;
  double far, L, rho2, floor;
  bool traced;
  size_t every; /* steps between rows */
  hvi_rows *rows;
  double gap0, gap, over, squeeze, sigma, missed;
  hvi_status status;
  hvi_error *err;
} descent;

static bool observe(void *context, const hvi_record *row) {
  descent *d = context;
  const size_t n = d->bench.model->out, dim = d->bench.model->dim;
  const double before = d->gap;
  double sigma[MOST];
  place at;
  hvi_vec_copy(at.theta, row->theta, dim);
  see(&at, &d->bench, d->to.v, false);
  d->status = hvi_dense_singular_values(sigma, at.J, n, dim, d->err);
  d->gap = at.value - d->floor;
  d->sigma = sigma[n - 1];
  d->missed = sqrt(2.0 * at.value) / d->far;
  if (row->outer == 0) d->gap0 = d->gap;
  /* below, both are rounding */
  if (d->gap > 1e-20 * d->gap0 + 1e-12 * d->floor) {
    const double least =
        fmax(d->sigma * d->sigma * 2.0 * at.value, hvi_vec_norm2(at.gradient, dim));
    if (row->outer) d->over = fmax(d->over, d->gap / before / d->rho2);
    d->squeeze = fmax(d->squeeze, least / (2.0 * d->L * d->gap));
  }
  const double s = (double)row->outer;
  const double values[] = {s, sqrt(fmax(d->gap, 0.0) / d->gap0), pow(d->rho2, 0.5 * s)};
  if (!d->status && d->traced && row->outer % d->every == 0)
    d->status = hvi_rows_add(d->rows, 1, values, d->err);
  return !d->status;
}

/* The target: `far` from where it starts, in a random direction. */
static void aim(descent *d, const hvi_cell *c) {
  const bench *b = &d->bench;
  const size_t n = b->model->out;
  double start[MOST], nearest[MOST], *v = d->to.v;
  hvi_rng rng = hvi_rng_new(c->part->seed, "far", hvi_cell_instance(c));
  d->to.base = *b->problem;
  d->to.base.ops = &toward_ops;
  d->to.base.solution = NULL;
  b->model->ops->eval(b->model, b->cache, b->problem->theta0, start);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, v);
  hvi_vec_scale(v, d->far / hvi_vec_norm(v, n), n);
  hvi_vec_add(v, 1.0, start, n);
  hvi_problem_project(b->problem, v, nearest);
  d->floor = 0.5 * hvi_vec_dist2(nearest, v, n);
  d->L = b->high * b->high + b->beta * sqrt((double)n) * d->far;
  d->rho2 = 1.0 - b->low * b->low / d->L;
}

static hvi_status run_inner(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const size_t steps = c->part->scale.iterations;
  descent d = {.far = hvi_cell_number_or(c, "far", 1.0),
               .traced = hvi_cell_level(c, "instance") + hvi_cell_level(c, "far") == 0,
               .every = 1 + steps / 400,
               .rows = rows,
               .err = err};
  HVI_OWN_BY(bench_close) bench b = {0};
  hvi_settings s = hvi_settings_to_end("gd", 1.0, steps);
  hvi_info info;
  HVI_TRY(bench_open(&b, c, hvi_cell_instance(c), err));
  d.bench = b;
  aim(&d, c);
  HVI_TRY(hvi_cell_apply_method(&s, c, err));
  s.inner_steps = 1;
  s.inner.lr = 1.0 / d.L;
  s.inner.factor = 0.5;
  HVI_TRY(hvi_solve(&info, &d.to.base, &s, observe, &d, err));
  HVI_TRY(d.status);
  return hvi_rows_put(rows, 0, err, d.L, sqrt(d.rho2), d.over, d.squeeze, d.sigma / b.steep,
                      d.missed);
}

/* over: the largest alpha_{s+1}^2 / alpha_s^2 / rho^2; squeeze: the largest of the first two of the
 * three terms above over the third; sigma_left: the least singular value at the end over what it is at most;
 * missed: |g(theta) - v| at the end over that at the start. The first of the levels leave their path. */
const hvi_kind hvi_kind_theory_inner = {
    .name = "theory-inner",
    .summary = "inner steps on one surrogate: alpha = rho^s, and targets far away",
    .flags = HVI_KIND_PROBLEM,
    .numbers = "instance far",
    .words = "g method",
    .tables = {{"", {{.name = "smoothness rho over squeeze sigma_left missed"}}, NULL},
               {"path", {{.name = "step alpha promised"}}, "g method"}},
    .run = run_inner};
