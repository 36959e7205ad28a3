/*
 * kind: theory-descent. Minimisation: with F = grad f, f L-smooth and eta = 1 / L, every alpha < 1
 * gives
 *
 *   f(z_{t+1}) <= f(z_t) - L (1 - alpha^2) (l_t(theta_t) - l_t^*)   and   z_t - z_t^* -> 0.
 *
 * The factor `function` is one of two functions of eight variables: the part's quadratic problem,
 * which must have no rotation (convex), and
 * f(z) = sum_i phi(q_i'z), phi(x) = x^2 / 2 + 4/9 cos 3x, the q_i orthonormal, which is 5-smooth
 * (phi'' = 1 - 4 cos 3x) and has many valleys.
 */
#include "base/base.h"
#include "num/dense.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

enum { N = 8 };

static const double smoothness = 5.0;
static const double tolerance = 0.01 * 1e-7; /* of the residual: a hundredth of what is asked for */

/* The function with valleys; everything but F is the quadratic's. */
typedef struct valleys {
  hvi_problem base;
  hvi_problem *quadratic;
  double Q[N * N];
} valleys;

static void valleys_operate(const hvi_problem *p, const void *sample, const double *theta,
                            const double *z, double *f) {
  (void)sample, (void)theta;
  const double *Q = ((const valleys *)p)->Q;
  double x[N];
  hvi_dense_mul(x, Q, z, N, N);
  for (size_t i = 0; i < N; i++) x[i] -= 4.0 / 3.0 * sin(3.0 * x[i]);
  hvi_dense_mul_t(f, Q, x, N, N);
}

static double valleys_value(const hvi_problem *p, const double *z) {
  const double *Q = ((const valleys *)p)->Q;
  double x[N], sum = 0.0;
  hvi_dense_mul(x, Q, z, N, N);
  for (size_t i = 0; i < N; i++) sum += 0.5 * x[i] * x[i] + 4.0 / 9.0 * cos(3.0 * x[i]);
  return sum;
}

static void valleys_free(hvi_problem *p) {
  hvi_problem_free(((valleys *)p)->quadratic);
  hvi_free(p);
}

static const hvi_problem_ops valleys_ops = {
    .name = "valleys", .operate = valleys_operate, .free = valleys_free};

/* In the place of the quadratic. */
static hvi_status make_valleys(hvi_lab *lab, uint64_t seed, hvi_error *err) {
  valleys *v = hvi_alloc(1, sizeof *v);
  if (!v) return hvi_error_memory(err, "a function with valleys");
  v->base = *lab->problem;
  v->base.ops = &valleys_ops;
  v->base.solution = NULL;
  v->quadratic = lab->problem;
  lab->place.problem = lab->problem = &v->base;
  hvi_rng rng = hvi_rng_new(seed, "valleys", 0);
  return hvi_dense_random_orthogonal(v->Q, N, &rng, err);
}

/* 1/2 (z - z*)' A (z - z*), A being symmetric. */
static double quadratic_value(const hvi_problem *p, const double *z) {
  double f[N], value = 0.0;
  p->ops->operate(p, NULL, NULL, z, f);
  for (size_t i = 0; i < N; i++) value += 0.5 * f[i] * (z[i] - p->solution[i]);
  return value;
}

typedef struct descent {
  const hvi_problem *problem;
  double (*value)(const hvi_problem *, const double *);
  double alpha;
  double first_value, value_before;
  double first_length, length; /* |z_t - z_t^*| */
  double excess;               /* over the bound, relative */
  size_t steps;
} descent;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  descent *d = context;
  const double now = d->value(d->problem, row->z);
  const double bound = d->value_before - smoothness * (1.0 - d->alpha * d->alpha) * step->gap0;
  if (d->steps++ == 0) d->first_length = step->exact;
  d->excess = fmax(d->excess, (now - bound) / fabs(d->first_value));
  d->length = step->exact;
  d->value_before = now;
  return true;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  static const char *const functions[] = {"convex", "valleys", NULL};
  hvi_lab lab;
  size_t general = 0;
  hvi_status status = hvi_lab_open(&lab, c, err);
  if (!status) status = hvi_cell_choice(&general, c, "function", functions, err);
  if (!status && (lab.problem->model->out != N || !lab.place.direct))
    status = hvi_error_input(err, "%s: kind theory-descent needs n: %d, a bias and g: identity",
                             c->study->origin, N);
  if (!status && general) status = make_valleys(&lab, c->part->seed, err);
  descent d = {.problem = lab.problem,
               .value = general ? valleys_value : quadratic_value,
               .alpha = lab.alpha,
               .excess = -INFINITY};
  lab.settings.tol = tolerance;
  lab.settings.eta = 1.0 / smoothness;
  /* the model is the identity: z_1 = theta_1 */
  if (!status) d.first_value = d.value_before = d.value(d.problem, d.problem->theta0);
  if (!status) status = hvi_lab_run(d.problem, &lab.settings, see, &d, err);
  const double row[] = {(double)d.steps, d.length / d.first_length, d.excess};
  if (!status) status = hvi_rows_add(rows, 0, row, err);
  hvi_problem_free(lab.problem);
  return status;
}

static const hvi_column columns[] = {{.name = "steps last_over_first excess"}, {0}};
static const hvi_kind_table tables[] = {{"", columns, NULL}, {0}};

const hvi_kind hvi_kind_theory_descent = {.name = "theory-descent",
                                          .summary = "descent of each step in minimisation",
                                          .tables = tables,
                                          .run = run,
                                          .describe = hvi_lab_describe};
