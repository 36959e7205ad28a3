/*
 * Minimisation: with F = grad f, f L-smooth and eta = 1 / L, every alpha < 1 gives
 *
 *   f(z_{t+1}) <= f(z_t) - L (1 - alpha^2) (l_t(theta_t) - l_t^*)   and   z_t - z_t^* -> 0.
 *
 * Two functions of eight variables: a quadratic with eigenvalues 1 .. 5, and
 * f(z) = sum_i phi(q_i'z), phi(x) = x^2 / 2 + 4/9 cos 3x, the q_i orthonormal, which is 5-smooth
 * (phi'' = 1 - 4 cos 3x) and has many valleys.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/theory.h"
#include "experiments/theory_lab.h"
#include "num/dense.h"
#include "num/vec.h"
#include "report/csv.h"

#include <math.h>

enum { N = 8 };

static const double smoothness = 5.0, goal = 1e-7;
static const double alphas[] = {0.1, 0.5, 0.9, 0.99, 0.3, 0.7, 0.95, 0.999};

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

/* Takes the quadratic over, also when it fails. */
static hvi_status valleys_new(hvi_problem **p, hvi_problem *quadratic, uint64_t seed,
                              hvi_error *err) {
  valleys *v = hvi_alloc(1, sizeof *v);
  if (!v) {
    hvi_problem_free(quadratic);
    return hvi_error_memory(err, "a function with valleys");
  }
  v->base = *quadratic;
  v->base.ops = &valleys_ops;
  v->base.solution = NULL;
  v->quadratic = quadratic;
  hvi_rng rng = hvi_rng_new(seed, "valleys", 0);
  hvi_status status = hvi_dense_random_orthogonal(v->Q, N, &rng, err);
  if (status) {
    valleys_free(&v->base);
    return status;
  }
  *p = &v->base;
  return HVI_OK;
}

/* 1/2 (z - z*)' A (z - z*), A being symmetric. */
static double quadratic_value(const hvi_problem *p, const double *z) {
  double f[N], value = 0.0;
  p->ops->operate(p, NULL, NULL, z, f);
  for (size_t i = 0; i < N; i++) value += 0.5 * f[i] * (z[i] - p->solution[i]);
  return value;
}

typedef double (*value_fn)(const hvi_problem *, const double *);

typedef struct descent {
  const hvi_problem *problem;
  value_fn value;
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

static hvi_status run(descent *d, hvi_bias bias, size_t steps, hvi_error *err) {
  const hvi_placement place = {
      .problem = d->problem, .direct = true, .bias = bias, .alpha = d->alpha, .seed = 1};
  hvi_settings s = hvi_lab_settings(&place, 1.0 / smoothness, steps);
  s.tol = 0.01 * goal;
  d->excess = -INFINITY;
  /* the model is the identity: z_1 = theta_1 */
  d->first_value = d->value_before = d->value(d->problem, d->problem->theta0);
  return hvi_lab_run(d->problem, &s, see, d, err);
}

/* All alphas and directions on one function; *end is the largest relative length at the end. */
static hvi_status run_function(hvi_theory_scalar_worst *w, double *end, hvi_csv *csv,
                               const char *name, const hvi_problem *p, value_fn value, bool full,
                               hvi_error *err) {
  static const hvi_bias biases[] = {HVI_BIAS_ASIDE, HVI_BIAS_RANDOM, HVI_BIAS_SHORT, HVI_BIAS_OVER};
  const size_t count = full ? 8 : 4;
  for (size_t a = 0; a < count; a++) {
    for (size_t b = 0; b < 4; b++) {
      descent d = {.problem = p, .value = value, .alpha = alphas[a]};
      hvi_status status = run(&d, biases[b], full ? 200000 : 20000, err);
      if (status) return status;
      w->runs++;
      w->alpha_most = fmax(w->alpha_most, d.alpha);
      w->descent = fmax(w->descent, d.excess);
      *end = fmax(*end, d.length / d.first_length);
      hvi_csv_text(csv, name);
      hvi_csv_number(csv, d.alpha);
      hvi_csv_text(csv, hvi_bias_name(biases[b]));
      hvi_csv_count(csv, d.steps);
      hvi_csv_number(csv, d.length / d.first_length);
      hvi_csv_number(csv, d.excess);
      hvi_csv_end(csv);
    }
  }
  return HVI_OK;
}

void hvi_theory_scalar_judge(hvi_claims *claims, const hvi_theory_scalar_worst *w) {
  hvi_claim *c =
      hvi_claims_add(claims, "scalar-descent", "proposition, scalar minimisation",
                     "In smooth minimisation, convex or not, each step lowers f by at least "
                     "L (1 - alpha^2) (l_t - l_t^*), for every alpha < 1.");
  hvi_claim_measure(c, "largest excess over the bound / |f(z_1)|", w->descent);
  hvi_claim_measure(c, "largest alpha", w->alpha_most);
  hvi_claim_measure(c, "runs", (double)w->runs);
  hvi_claim_judge(c, w->runs > 0 && w->descent <= 1e-12);
  c = hvi_claims_add(claims, "scalar-convergence", "proposition, scalar minimisation",
                     "In smooth minimisation, convex or not, z_t - z_t^* tends to zero for every "
                     "alpha < 1.");
  hvi_claim_measure(c, "largest |z_t - z_t^*|, last / first, convex", w->convex_end);
  hvi_claim_measure(c, "largest |z_t - z_t^*|, last / first, not convex", w->general_end);
  hvi_claim_judge(c, w->runs > 0 && w->convex_end <= goal && w->general_end <= goal);
}

hvi_status hvi_theory_scalar(const hvi_theory_part *part, hvi_error *err) {
  static const hvi_lab_shape shape = {N, 1.0, 5.0, 0.0, false};
  hvi_theory_scalar_worst w = {.descent = -INFINITY};
  hvi_problem *convex = NULL, *general = NULL;
  hvi_csv csv = {0};
  hvi_status status = hvi_lab_quadratic(&convex, &shape, part->seed, 1, err);
  if (!status) status = hvi_lab_quadratic(&general, &shape, part->seed, 2, err);
  if (!status) {
    hvi_problem *quadratic = general;
    general = NULL;
    status = valleys_new(&general, quadratic, part->seed, err);
  }
  if (!status) {
    status = hvi_lab_csv(&csv, part->folder, "scalar",
                         "function,alpha,direction,steps,last_over_first,excess", err);
  }
  if (!status) {
    status =
        run_function(&w, &w.convex_end, &csv, "convex", convex, quadratic_value, part->full, err);
  }
  if (!status) {
    status =
        run_function(&w, &w.general_end, &csv, "valleys", general, valleys_value, part->full, err);
  }
  if (!status) status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  hvi_problem_free(convex);
  hvi_problem_free(general);
  if (!status) hvi_theory_scalar_judge(part->claims, &w);
  return status;
}
