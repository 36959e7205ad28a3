/*
 * kind: theory-pl. The Polyak-Lojasiewicz inequality of a composition: for f mu-PL and sigma_min the
 * smallest singular value of J',
 *
 *   |grad (f o g)(theta)|^2 >= 2 mu sigma_min(theta)^2 (f(g(theta)) - inf f)
 *
 * at every theta, and hence with any lower bound on the singular values. (The proof drops the 2 on
 * the way; the statement keeps it.) Sampled for f(z) = 1/2 |z - v|^2, which is the surrogate and
 * 1-PL, and for f(z) = sum x_i^2 + 3 sin^2 x_i, x = z - v, which is 1/32-PL and not convex.
 */
#include "base/base.h"
#include "num/dense.h"
#include "num/vec.h"
#include "study/kinds.h"

enum { MOST = 16 };

typedef struct loss {
  double mu;
  double (*value)(double x), (*slope)(double x); /* of one coordinate */
} loss;

static double square(double x) { return 0.5 * x * x; }
static double square_slope(double x) { return x; }
static double wavy(double x) { return x * x + 3.0 * sin(x) * sin(x); }
static double wavy_slope(double x) { return 2.0 * x + 3.0 * sin(2.0 * x); }

static const loss losses[] = {{1.0, square, square_slope}, {1.0 / 32.0, wavy, wavy_slope}};
static const char *const names[] = {"square", "wavy", NULL};

/* Squares of the least and largest singular value, and |grad|^2 / (2 mu (f - inf)). */
static const hvi_column columns[] = {{"loss", names}, {.name = "sigma2 largest2 ratio"}, {0}};
static const hvi_kind_table tables[] = {{"", columns, "loss"}, {0}};

static hvi_status draw(double row[4], const hvi_model *m, double scale, hvi_rng *rng, double *cache,
                       hvi_error *err) {
  const loss *f = &losses[(size_t)row[0]];
  const size_t n = m->out, d = m->dim;
  double theta[MOST], z[MOST], u[MOST], gradient[MOST], J[MOST * MOST], scratch[2 * MOST],
      sigma[MOST], value = 0.0;
  hvi_rng_fill_normal(rng, 0.0, scale, d, theta);
  m->ops->eval(m, cache, theta, z);
  for (size_t i = 0; i < n; i++) {
    const double x = z[i] - scale * hvi_rng_normal(rng);
    value += f->value(x);
    u[i] = f->slope(x);
  }
  m->ops->vjp(m, cache, theta, u, gradient);
  hvi_model_jacobian(m, cache, theta, 0, J, scratch);
  const hvi_status status = hvi_dense_singular_values(sigma, J, n, d, err);
  row[1] = sigma[n - 1] * sigma[n - 1];
  row[2] = sigma[0] * sigma[0];
  row[3] = hvi_vec_norm2(gradient, d) / (2.0 * f->mu * value);
  return status;
}

/* As many samples as the size has instances, of the two functions in turn. */
static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  static const double scales[] = {0.1, 1.0, 3.0};
  const char *g = hvi_cell_word(c, "g");
  hvi_problem *p = NULL;
  hvi_status status = hvi_cell_problem(&p, c, 1, err);
  if (status) return status;
  const hvi_model *m = p->model;
  double *cache = hvi_alloc_doubles(m->cache);
  if (!cache) status = hvi_error_memory(err, "a model's cache");
  if (!status && (m->dim < m->out || m->dim > MOST))
    status = hvi_error_input(err, "%s: kind theory-pl needs n <= d <= %d", c->study->origin, MOST);
  hvi_rng rng = hvi_rng_new(c->part->seed, g ? g : "", 0);
  for (size_t i = 0; i < c->part->scale.instances && !status; i++) {
    double row[4] = {(double)(i % 2)};
    status = draw(row, m, scales[i / 2 % 3], &rng, cache, err);
    if (!status) status = hvi_rows_add(rows, 0, row, err);
  }
  hvi_free(cache);
  hvi_problem_free(p);
  return status;
}

const hvi_kind hvi_kind_theory_pl = {.name = "theory-pl",
                                     .summary = "the PL inequality of a composition",
                                     .flags = HVI_KIND_PROBLEM,
                                     .tables = tables,
                                     .run = run};
