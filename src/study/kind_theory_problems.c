/*
 * Statements of the theory that are put to a test on problems of their own: F of a problem that is
 * there is altered.
 *
 * kind: theory-descent. Minimisation: with F = grad f, f L-smooth and eta = 1 / L, every alpha < 1
 * gives
 *
 *   f(z_{t+1}) <= f(z_t) - L (1 - alpha^2) (l_t(theta_t) - l_t^*)   and   z_t - z_t^* -> 0.
 *
 * The factor `function` is one of two functions of eight variables: the part's quadratic problem,
 * which must have no rotation (convex), and
 * f(z) = sum_i phi(q_i'z), phi(x) = x^2 / 2 + 4/9 cos 3x, the q_i orthonormal, which is 5-smooth
 * (phi'' = 1 - 4 cos 3x) and has many valleys.
 *
 * kind: theory-exact. The rate of the exact step z <- Pi(z - eta F(z)), which shows three misprints
 * by what they do.
 *
 * The proof of the theorem lets the exact step contract for eta < 2 mu / L; kappa^2 =
 * 1 - 2 eta mu + eta^2 L^2 < 1 asks for eta < 2 mu / L^2. An F = mu I + rotation of norm L attains
 * kappa, so just above the latter its exact step expands, and far below the former too.
 *
 * Both games are printed with a plus before player 2's regulariser, so that F loses
 * 2 w (z_2 - c_2): its symmetric part is then diag(w, -w), and the exact step expands for every
 * eta. The games' option signs=printed is that.
 *
 * kind: theory-noise. The stochastic theorem: F_xi(z) = A (z - z*) + xi, E xi = 0, E |xi|^2 =
 * sigma^2. Then
 *
 *   E |F_xi(z)|^2 = |A (z - z*)|^2 + sigma^2 <= (L_A^2 / mu) <F(z), z - z*> + sigma^2
 *
 * so the theorem's assumption holds with L = max(L_A, L_A^2 / 2 mu). With c = 2 (1 + alpha^2) and
 * eta <= 1 / (2 (1 + c) L) it bounds e_t = E 1/2 |z_t - z*|^2 by
 *
 *   e_{t+1} <= (1 - eta mu + alpha^2) e_t + eta^2 (1 + c) sigma^2
 *
 * whose fixed point is eta^2 (1 + c) sigma^2 / (eta mu - alpha^2) when alpha^2 < eta mu. Inner
 * errors are of alpha and point away from the solution: exactly, or with a `chance` below one of
 * alpha^2 / chance that often and none otherwise, so that descent holds in expectation alone. The
 * other factors are `sigma`, `eta_share` of the largest eta allowed and `alpha_share`, alpha^2 =
 * alpha_share eta mu.
 *
 * A factor `ratio` asks for the worst noise that the assumptions allow at L = ratio mu: F_xi(z) =
 * F(z) + tau xi, xi on the unit sphere. tau is sigma at z*, grows by L - L_A with |z - z*| so that
 * every F_xi stays L-Lipschitz, until E |F_xi(z)|^2 = 2 L <F(z), z - z*> + 2 sigma^2. For F = mu z
 * in many dimensions and L / mu without bound the stationary mean is then, with s = alpha_share,
 *
 *   (1 - s) / 3 * w^2 / (1 - w^2 / 3),   w = (sqrt(s) + sqrt(s + 2)) / 2
 *
 * of the neighbourhood: at most 0.394, at s = 0.41. Both assumptions are measured too.
 */
#include "base/base.h"
#include "num/dense.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

enum { N = 8 }; /* variables of theory-descent */

/* A problem with another F; everything else is the original's. */
typedef struct altered {
  hvi_problem base;
  hvi_problem *original;
  double by;       /* sigma */
  double L, slope; /* noise: the theorem's L, and how fast it may grow; 0: it does not */
  double Q[N * N]; /* of the valleys */
} altered;

static void altered_free(hvi_problem *p) {
  ((altered *)p)->original->model = NULL; /* it was p's too, and is gone */
  hvi_problem_free(((altered *)p)->original);
  hvi_free(p);
}

/* In the place of *p, which it owns from then on. */
static hvi_status alter(hvi_problem **p, const hvi_problem_ops *ops, double by, hvi_error *err) {
  altered *a = hvi_alloc(1, sizeof *a);
  if (!a) return hvi_error_memory(err, "a problem");
  *a = (altered){.base = **p, .original = *p, .by = by};
  a->base.ops = ops;
  *p = &a->base;
  return HVI_OK;
}

static void valleys_operate(const hvi_problem *p, const void *sample, const double *theta,
                            const double *z, double *f) {
  (void)sample, (void)theta;
  const double *Q = ((const altered *)p)->Q;
  double x[N];
  hvi_dense_mul(x, Q, z, N, N);
  for (size_t i = 0; i < N; i++) x[i] -= 4.0 / 3.0 * sin(3.0 * x[i]);
  hvi_dense_mul_t(f, Q, x, N, N);
}

static double valleys_value(const hvi_problem *p, const double *z) {
  const double *Q = ((const altered *)p)->Q;
  double x[N], sum = 0.0;
  hvi_dense_mul(x, Q, z, N, N);
  for (size_t i = 0; i < N; i++) sum += 0.5 * x[i] * x[i] + 4.0 / 9.0 * cos(3.0 * x[i]);
  return sum;
}

static const hvi_problem_ops valleys_ops = {
    .name = "valleys", .operate = valleys_operate, .free = altered_free};

static hvi_status make_valleys(hvi_lab *lab, uint64_t seed, hvi_error *err) {
  HVI_TRY(alter(&lab->problem, &valleys_ops, 0.0, err));
  altered *valleys = (altered *)lab->problem;
  hvi_rng rng = hvi_rng_new(seed, "valleys", 0);
  valleys->base.solution = NULL;
  lab->place.problem = lab->problem;
  return hvi_dense_random_orthogonal(valleys->Q, N, &rng, err);
}

/* 1/2 (z - z*)' A (z - z*), A being symmetric. */
static double quadratic_value(const hvi_problem *p, const double *z) {
  double f[N], value = 0.0;
  p->ops->operate(p, NULL, NULL, z, f);
  for (size_t i = 0; i < N; i++) value += 0.5 * f[i] * (z[i] - p->solution[i]);
  return value;
}

static const double smoothness = 5.0;
static const double tolerance = 0.01 * 1e-7; /* of the residual: a hundredth of what is asked for */

typedef struct descent {
  const hvi_problem *problem;
  double (*value)(const hvi_problem *, const double *);
  double alpha;
  double first_value, value_before;
  double first_length, length; /* |z_t - z_t^*| */
  double excess;               /* over the bound, relative */
  double steps;
} descent;

static bool see(void *context, const hvi_step *step, const hvi_record *row) {
  descent *d = context;
  const double now = d->value(d->problem, row->z);
  if (step) {
    const double bound = d->value_before - smoothness * (1.0 - d->alpha * d->alpha) * step->gap0;
    if (d->steps++ == 0) d->first_length = step->exact;
    d->excess = fmax(d->excess, (now - bound) / fabs(d->first_value));
    d->length = step->exact;
  } else {
    d->first_value = now;
  }
  d->value_before = now;
  return true;
}

static hvi_status run_descent(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  static const char *const functions[] = {"convex", "valleys", NULL};
  HVI_OWN_BY(hvi_lab_close) hvi_lab lab = {0};
  size_t general = 0;
  HVI_TRY(hvi_lab_open(&lab, c, err));
  HVI_TRY(hvi_cell_choice(&general, c, "function", functions, err));
  if (lab.problem->model->out != N || !lab.place.direct)
    return hvi_error_input(err, "%s: kind theory-descent needs n: %d, a bias and g: identity",
                           c->study->origin, N);
  if (general) HVI_TRY(make_valleys(&lab, c->part->seed, err));
  descent d = {.problem = lab.problem,
               .value = general ? valleys_value : quadratic_value,
               .alpha = lab.alpha,
               .excess = -INFINITY};
  lab.settings.tol = tolerance;
  lab.settings.eta = 1.0 / smoothness;
  HVI_TRY(hvi_lab_run(&lab, see, &d, err));
  return hvi_rows_put(rows, 0, err, d.steps, d.length / d.first_length, d.excess);
}

const hvi_kind hvi_kind_theory_descent = {
    .name = "theory-descent",
    .summary = "descent of each step in minimisation",
    HVI_LAB_FACTORS(" function"),
    .tables = {{"", {{.name = "steps last_over_first excess"}}, NULL}},
    .run = run_descent};

static hvi_status run_exact(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  HVI_OWN_BY(hvi_lab_close) hvi_lab lab = {0};
  hvi_constants k;
  double rate;
  HVI_TRY(hvi_lab_open(&lab, c, err));
  HVI_TRY(hvi_problem_constants(&k, lab.problem, err));
  HVI_TRY(hvi_exact_rate(&rate, lab.problem, &lab.settings, lab.eta, lab.settings.max_outer, err));
  return hvi_rows_add(rows, 0, (double[]){k.mu, rate}, err);
}

const hvi_kind hvi_kind_theory_exact = {
    .name = "theory-exact",
    .summary = "the rate of the exact step",
    HVI_LAB_FACTORS(""),
    .tables = {{"", {{.name = "monotonicity exact_rate"}}, NULL}},
    .run = run_exact};

/* tau, from F(z) without noise. */
static double noise_size(const altered *a, const double *z, const double *f) {
  const size_t n = a->base.model->out;
  double along = 0.0;
  for (size_t i = 0; i < n; i++) along += f[i] * (z[i] - a->base.solution[i]);
  const double square = 2.0 * a->L * along + 2.0 * a->by * a->by - hvi_vec_norm2(f, n);
  return fmin(a->by + a->slope * sqrt(hvi_vec_dist2(z, a->base.solution, n)),
              sqrt(fmax(square, 0.0)));
}

static void noisy_operate(const hvi_problem *p, const void *sample, const double *theta,
                          const double *z, double *f) {
  const altered *a = (const altered *)p;
  a->original->ops->operate(a->original, NULL, theta, z, f);
  if (sample) hvi_vec_add(f, a->slope > 0.0 ? noise_size(a, z, f) : 1.0, sample, p->model->out);
}

static void noisy_draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)theta;
  const altered *a = (const altered *)p;
  const size_t n = p->model->out;
  hvi_rng_fill_normal(rng, 0.0, a->slope > 0.0 ? 1.0 : a->by / sqrt((double)n), n, sample);
  if (a->slope > 0.0) hvi_vec_scale(sample, 1.0 / hvi_vec_norm(sample, n), n);
}

static const hvi_problem_ops noisy_ops = {
    .name = "noisy", .operate = noisy_operate, .draw = noisy_draw, .free = altered_free};

typedef struct course {
  double mu, L, slope, sigma, eta, alpha, c, chance;
  size_t steps, seeds;
  uint64_t first_seed;
  double *halves;             /* [steps + 1][seeds] 1/2 |z_t - z*|^2 */
  size_t seed;                /* of the run under way */
  double descent, failing;    /* sums of l_t(theta_{t+1}) / l_t(theta_t), and of it above alpha^2 */
  double coercive, lipschitz; /* largest, over what is assumed */
} course;

static bool observe(void *context, const hvi_record *row) {
  course *c = context;
  c->halves[row->outer * c->seeds + c->seed] = 0.5 * row->dist2;
  if (row->outer == 0) return true;
  c->descent += row->loss / row->loss0;
  c->failing += row->loss / row->loss0 > c->alpha * c->alpha * (1.0 + 1e-6);
  return true;
}

/* Both assumptions at points of a random direction and of these distances, by noise and its
 * opposite: E |F_xi|^2 at the lower end of its interval, and |F_xi(z) - F_xi(z')| for neighbours. */
static void measure_assumptions(course *c, const hvi_problem *p, double *work) {
  enum { RADII = 11, PAIRS = 50 };
  const size_t n = p->model->out;
  double *z = work, *near = z + n, *f = near + n, *mean = f + n, *xi = mean + n, *u = xi + n;
  double squares[PAIRS];
  hvi_rng rng = hvi_rng_new(1, "assumptions", 0);
  for (size_t k = 0; k < RADII; k++) {
    const double radius = (c->sigma + (c->sigma == 0.0)) * pow(10.0, 0.5 * (double)k - 4.0);
    double along = 0.0;
    hvi_rng_fill_normal(&rng, 0.0, 1.0, n, u);
    hvi_vec_scale(u, radius / hvi_vec_norm(u, n), n);
    for (size_t i = 0; i < n; i++) near[i] = 1.01 * u[i] + p->solution[i];
    for (size_t i = 0; i < n; i++) z[i] = p->solution[i] + u[i];
    noisy_operate(p, NULL, NULL, z, mean);
    for (size_t i = 0; i < n; i++) along += mean[i] * u[i];
    for (size_t j = 0; j < PAIRS; j++) {
      squares[j] = 0.0;
      noisy_draw(p, NULL, xi, &rng);
      for (int sign = 0; sign < 2; sign++, hvi_vec_scale(xi, -1.0, n)) {
        noisy_operate(p, xi, NULL, z, f);
        noisy_operate(p, xi, NULL, near, mean);
        squares[j] += 0.5 * hvi_vec_norm2(f, n);
        c->lipschitz = fmax(c->lipschitz, sqrt(hvi_vec_dist2(f, mean, n)) / (0.01 * radius * c->L));
      }
    }
    const double least = hvi_stats_mean(squares, PAIRS) - hvi_stats_interval95(squares, PAIRS);
    c->coercive = fmax(c->coercive, least / (2.0 * c->L * along + 2.0 * c->sigma * c->sigma));
  }
}

static hvi_status run_seeds(course *c, hvi_problem **quadratic, hvi_error *err) {
  HVI_TRY(alter(quadratic, &noisy_ops, c->sigma, err));
  const size_t n = (*quadratic)->model->out;
  HVI_NEW(double, work, 6 * n, "the noisy runs", err);
  (*quadratic)->sample_bytes = n * sizeof(double);
  ((altered *)*quadratic)->L = c->L;
  ((altered *)*quadratic)->slope = c->slope;
  hvi_placement place = {
      .problem = *quadratic, .direct = true, .alpha = c->alpha, .chance = c->chance};
  hvi_settings s = hvi_lab_settings(&place, c->eta, c->steps);
  hvi_info info;
  measure_assumptions(c, *quadratic, work);
  for (c->seed = 0; c->seed < c->seeds; c->seed++) {
    s.seed = place.seed = c->first_seed + c->seed;
    HVI_TRY(hvi_solve(&info, *quadratic, &s, observe, c, err));
  }
  return HVI_OK;
}

/* Compares the mean over seeds, with its interval, to the recursion, step by step. */
static hvi_status compare(hvi_rows *rows, const course *c, hvi_error *err) {
  const double shrink = 1.0 - c->eta * c->mu + c->alpha * c->alpha;
  const double add = c->eta * c->eta * (1.0 + c->c) * c->sigma * c->sigma;
  double bound = hvi_stats_mean(c->halves, c->seeds), first = bound, last = bound;
  double tail = 0.0, spread = 0.0, tail_count = 0.0, over_recursion = 0.0, above = 0.0;
  for (size_t t = 1; t <= c->steps; t++) {
    const double *at = c->halves + t * c->seeds;
    const double interval = c->sigma > 0.0 ? hvi_stats_interval95(at, c->seeds) : 0.0;
    last = hvi_stats_mean(at, c->seeds);
    bound = shrink * bound + add;
    over_recursion = fmax(over_recursion, (last + interval) / bound);
    above = fmax(above, (last - interval) / bound);
    if (t <= c->steps - c->steps / 4) continue;
    tail += last;
    spread += interval;
    tail_count++;
  }
  const double limit = add / (c->eta * c->mu - c->alpha * c->alpha);
  const double all = (double)c->steps * (double)c->seeds, alpha2 = c->alpha * c->alpha;
  return hvi_rows_put(rows, 0, err, c->eta, c->alpha, tail / tail_count, spread / tail_count, limit,
                      tail / tail_count / limit, over_recursion, above, last / first,
                      (double)c->seeds, alpha2 > 0.0 ? c->descent / all / alpha2 : 1.0,
                      alpha2 > 0.0 ? c->failing / all : 0.0, c->coercive, c->lipschitz);
}

/* The largest eta solves a quadratic equation, as c has alpha in it: this stays just below its root. */
static hvi_status choose_steps(course *c, const hvi_cell *cell, hvi_error *err) {
  const double L_A = hvi_cell_number(cell, "L"), share = hvi_cell_number(cell, "alpha_share");
  const double ratio = hvi_cell_number(cell, "ratio");
  c->mu = hvi_cell_number(cell, "mu");
  c->sigma = hvi_cell_number(cell, "sigma");
  c->seeds = cell->part->scale.instances;
  c->first_seed = cell->part->seed;
  c->chance = hvi_cell_number_or(cell, "chance", 1.0);
  c->L = fmax(L_A, L_A * L_A / (2.0 * c->mu));
  if (!isnan(ratio)) c->L = ratio * c->mu, c->slope = c->L - L_A;
  const double exact = 1.0 / (6.0 * c->L); /* the largest for alpha = 0 */
  c->eta = hvi_cell_number(cell, "eta_share") * exact / (1.0 + 2.0 / 3.0 * share * exact * c->mu);
  c->alpha = sqrt(share * c->eta * c->mu);
  c->c = 2.0 * (1.0 + c->alpha * c->alpha);
  const double steps = 16.0 / (c->eta * c->mu - c->alpha * c->alpha);
  if (!(steps >= 4.0 && steps <= 1e6 && c->sigma >= 0.0 && c->slope >= 0.0 && c->chance > 0.0))
    return hvi_error_input(
        err,
        "%s: kind theory-noise needs mu, L, sigma, eta_share, alpha_share < 1, and where they are "
        "given ratio >= L / mu and chance > 0",
        cell->study->origin);
  c->steps = (size_t)steps;
  return HVI_OK;
}

static hvi_status run_noise(const hvi_cell *cell, hvi_rows *rows, hvi_error *err) {
  course c = {0};
  HVI_OWN_BY(hvi_problem_release) hvi_problem *quadratic = NULL;
  HVI_TRY(choose_steps(&c, cell, err));
  HVI_TRY(hvi_cell_problem(&quadratic, cell, 1, err));
  HVI_OWN double *halves = c.halves = hvi_alloc_doubles((c.steps + 1) * c.seeds);
  if (!halves) return hvi_error_memory(err, "the noisy runs");
  HVI_TRY(run_seeds(&c, &quadratic, err));
  return compare(rows, &c, err);
}

const hvi_kind hvi_kind_theory_noise = {
    .name = "theory-noise",
    .summary = "the neighbourhood of the stochastic case",
    .numbers = "mu L sigma eta_share alpha_share ratio chance",
    .tables = {{"",
                {{.name = "eta alpha observed interval limit share over_recursion above_recursion "
                          "last_over_first seeds descent failing coercive lipschitz"}},
                "eta_share alpha_share"}},
    .run = run_noise};
