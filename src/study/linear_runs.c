/*
 * The runs of the linear experiment: trajectories over threads, each with its own generator.
 *
 * Run i sees exactly the transitions that the solver with seed + i sees: its samples are the
 * problem's own draws, and learners with a step size are the problem's rules. Only Surr-GD and
 * LSPE are computed in another way than the solver's, for up to a hundred inner steps a transition.
 * With D = D_hat + ridge I, s = 1 / trace D, A = I - s D and the distance to the surrogate's
 * minimiser e = D^-1 (C_hat theta - r_hat), M gradient steps of size s shrink that distance to
 * A^M e:
 *
 *   theta <- theta - e + A^M e,     and LSPE, the minimiser itself: theta <- theta - e
 *
 * A^M e takes one product with A^(2^k) for each bit of M, and more with the last of the powers that
 * are kept; these, each the square of the one before, and the inverse of D serve all M at once.
 *
 * Where the residual gradient ends: minimisers of two squared Bellman errors, and how far their
 * values are from those of the projected fixed point.
 *
 *   single    E (r(s) + gamma <phi', x> - <phi, x>)^2 over transitions: what the single-sample
 *             method descends. With G = (D - C) / gamma its normal equations are
 *             ((1 + gamma^2) D - gamma (G + G')) x = Phi' (I - gamma P') Xi r
 *   Bellman   |Phi x - T Phi x|^2_Xi: with B = Phi - gamma P Phi,   B' Xi B x = B' Xi r
 *
 * They differ by gamma^2 times the variance of <phi', x> given s: the double-sampling problem.
 */
#include "base/base.h"
#include "base/parallel.h"
#include "num/dense.h"
#include "problems/mdp/trajectory.h"
#include "study/linear.h"

#include <stdatomic.h>

enum { POWERS = 6, /* A, A^2, A^4, ... A^32 */ RULES = HVI_LEARNER_COUNT + 1 - HVI_LEARNER_TD0 };

const size_t hvi_linear_inner[HVI_SURR_COUNT] = {1, 5, 10, 50, 100};

/* The rules in the order of the learners, LSTD after them. */
static const char *const rule_names[RULES] = {"td0", "tdc", "gtd2", "residual-gradient", "lstd"};

typedef struct job {
  const hvi_trajectory *t;
  hvi_linear_result *out;
  const hvi_rule *rules[RULES];
  size_t state; /* doubles that a rule needs at most */
  atomic_size_t done;
  atomic_bool stopped;
} job;

typedef struct run {
  const job *job;
  hvi_trajectory_sample *sample;
  double *theta;           /* [HVI_LEARNER_COUNT + 1][d], LSTD's last */
  double *state;           /* [RULES][job->state] */
  double *power, *inverse; /* [POWERS][d][d], [d][d]: of A, and -D^-1 */
  double *work;            /* [2][d] */
} run;

/* out = A x */
static void apply(double *restrict out, const double *A, const double *x, size_t d) {
  for (size_t i = 0; i < d; i++) out[i] = hvi_vec_dot(A + i * d, x, d);
}

/* out = A A, A symmetric */
static void square(double *restrict out, const double *A, size_t d) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++)
      out[i * d + j] = out[j * d + i] = hvi_vec_dot(A + i * d, A + j * d, d);
}

/* A <- -A^-1, A symmetric and positive definite: the lower half by sweeping one row and column
 * after the other, then the upper. row[d] is workspace. */
static void invert(double *A, double *row, size_t d) {
  for (size_t k = 0; k < d; k++) {
    const double pivot = 1.0 / A[k * d + k];
    for (size_t i = 0; i < d; i++) row[i] = i < k ? A[k * d + i] : A[i * d + k];
    for (size_t i = 0; i < d; i++) hvi_vec_add(A + i * d, -row[i] * pivot, row, i + 1);
    for (size_t i = 0; i < d; i++) A[i < k ? k * d + i : i * d + k] = pivot * row[i];
    A[k * d + k] = -pivot;
  }
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < i; j++) A[j * d + i] = A[i * d + j];
}

/* The inverse of -D and the powers of A. */
static void prepare(run *r) {
  const size_t d = r->job->t->d, all = d * d;
  double *D = r->inverse, *A = r->power;
  hvi_vec_copy(D, hvi_sample_D(r->sample), all);
  for (size_t i = 0; i < d; i++) D[i * d + i] += r->job->t->settings.ridge;
  for (size_t k = 0; k < all; k++) A[k] = -r->sample->scale * D[k];
  for (size_t i = 0; i < d; i++) A[i * d + i] += 1.0;
  for (size_t k = 1; k < POWERS; k++) square(A + k * all, A + (k - 1) * all, d);
  invert(D, r->work, d);
}

/* theta - e + A^M e; M = 0 stands for the exact update, without the last term. */
static void surrogate_step(run *r, double *restrict theta, size_t inner) {
  const size_t d = r->job->t->d;
  double *e = r->work, *next = e + d; /* e is -e of the head of this file */
  apply(next, hvi_sample_C(r->sample, d), theta, d);
  hvi_vec_add(next, -1.0, hvi_sample_r(r->sample, d), d);
  apply(e, r->inverse, next, d);
  hvi_vec_add(theta, 1.0, e, d);
  if (inner == 0) return;
  for (size_t k = 0; k < POWERS; k++) {
    size_t times = k + 1 < POWERS ? inner >> k & 1 : inner >> k;
    for (; times > 0; times--) {
      apply(next, r->power + k * d * d, e, d);
      double *const last = e;
      e = next;
      next = last;
    }
  }
  hvi_vec_add(theta, -1.0, e, d);
}

/* The next transition, and every learner moved on by it. */
static void step(run *r, hvi_rng *rng) {
  const hvi_trajectory *t = r->job->t;
  const hvi_problem *p = &t->one.base;
  const hvi_linear_settings *s = &r->job->out->of;
  const hvi_rule_settings how = {.second_rate = s->second_rate};
  p->ops->draw(p, NULL, r->sample, rng);
  const double rate = s->rate / (1.0 + s->decay * (double)(r->sample->count - 1));
  for (size_t k = 0; k + 1 < RULES; k++)
    r->job->rules[k]->step(&how, p, r->sample, rate, r->state + k * r->job->state,
                           r->theta + (HVI_LEARNER_TD0 + k) * t->d);
  if (r->sample->count < t->settings.wait) return;
  prepare(r);
  for (size_t m = 0; m <= HVI_LEARNER_LSPE; m++)
    surrogate_step(r, r->theta + m * t->d, m < HVI_SURR_COUNT ? hvi_linear_inner[m] : 0);
}

/* |Phi (x - y)|_Xi, with x - y left in out */
static double value_distance(const hvi_trajectory *t, const double *x, const double *y,
                             double *out) {
  const double *D = hvi_sample_D(t->mean);
  double sum = 0.0;
  for (size_t i = 0; i < t->d; i++) out[i] = x[i] - y[i];
  for (size_t i = 0; i < t->d; i++) sum += out[i] * hvi_vec_dot(D + i * t->d, out, t->d);
  return sqrt(fmax(sum, 0.0));
}

/* LSTD solves anew, from the start where it has nothing to say yet. */
static void record(run *r, size_t row, size_t number) {
  const hvi_trajectory *t = r->job->t;
  const size_t runs = r->job->out->of.runs, last = RULES - 1;
  double *to = hvi_linear_values(r->job->out, row, 0) + number, *x = r->work;
  double *lstd = r->theta + HVI_LEARNER_COUNT * t->d;
  hvi_vec_copy(lstd, t->one.base.theta0, t->d);
  r->job->rules[last]->step(NULL, &t->one.base, r->sample, 1.0, r->state + last * r->job->state,
                            lstd);
  for (size_t m = 0; m <= HVI_LEARNER_COUNT; m++) {
    const double *theta = r->theta + m * t->d;
    to[(HVI_LINEAR_GOAL + m) * runs] = value_distance(t, theta, t->fixed_point, x);
    if (m >= HVI_SURR_COUNT) continue;
    to[(HVI_LINEAR_VALUE + m) * runs] =
        value_distance(t, theta, r->theta + HVI_LEARNER_LSPE * t->d, x);
    to[(HVI_LINEAR_THETA + m) * runs] = hvi_vec_norm(x, t->d);
  }
}

static hvi_status run_one(void *context, size_t number, size_t worker, hvi_error *err) {
  (void)worker;
  job *j = context;
  const hvi_trajectory *t = j->t;
  const hvi_linear_settings *s = &j->out->of;
  const size_t d = t->d, all = (HVI_LEARNER_COUNT + 1) * d;
  run r = {.job = j};
  if (j->stopped) return HVI_OK;
  HVI_OWN hvi_trajectory_sample *sample = r.sample = hvi_alloc(1, t->one.base.sample_bytes);
  HVI_OWN double *memory = r.theta =
      hvi_alloc_doubles(all + RULES * j->state + (POWERS + 1) * d * d + 2 * d);
  if (!memory || !sample) return hvi_error_memory(err, "a trajectory");
  r.state = r.theta + all;
  r.power = r.state + RULES * j->state;
  r.inverse = r.power + POWERS * d * d;
  r.work = r.inverse + d * d;
  hvi_rng rng = hvi_rng_new(s->seed + number, "solver", 0);
  for (size_t m = 0; m < HVI_LEARNER_COUNT; m++)
    hvi_vec_copy(r.theta + m * d, t->one.base.theta0, d);
  for (size_t k = 1, row = 0; k <= s->steps && row < s->rows; k++) {
    step(&r, &rng);
    if (k == s->time[row]) record(&r, row++, number);
  }
  if (s->progress && !s->progress(s->context, ++j->done)) j->stopped = true;
  return HVI_OK;
}

static void find_rules(job *j) {
  for (size_t k = 0; k < RULES; k++) {
    const hvi_rule *const *rule = hvi_trajectory_rule_list;
    while (strcmp((*rule)->name, rule_names[k]) != 0) rule++;
    j->rules[k] = *rule;
    const size_t state = (*rule)->state(&j->t->one.base);
    j->state = state > j->state ? state : j->state;
  }
}

hvi_status hvi_linear_simulate(hvi_linear_result *out, const hvi_problem *p,
                               const hvi_linear_settings *s, hvi_error *err) {
  *out = (hvi_linear_result){.of = *s};
  job j = {.t = hvi_trajectory_of(p), .out = out};
  if (!j.t || j.t->settings.scale != HVI_TRAJECTORY_SCALE_TRACE || !(j.t->settings.ridge > 0.0))
    return hvi_error_unsupported(
        err, "the linear experiment needs a chain with data=trajectory, scale=trace "
             "and a ridge above 0");
  find_rules(&j);
  out->value = hvi_alloc(s->rows * HVI_LINEAR_CURVES + 1, s->runs * sizeof(double));
  if (!out->value) return hvi_error_memory(err, "the rows of trajectories");
  hvi_status status = hvi_parallel_run(s->runs, s->threads, run_one, &j, err);
  out->stopped = j.stopped;
  if (status) hvi_linear_result_free(out);
  return status;
}

void hvi_linear_result_free(hvi_linear_result *r) {
  hvi_free(r->value);
  *r = (hvi_linear_result){0};
}

/* B[n][d] = Phi - gamma P Phi, column by column; z and Tz are [n] */
static void differences(double *B, const hvi_trajectory *t, double *z, double *Tz) {
  for (size_t j = 0; j < t->d; j++) {
    for (size_t s = 0; s < t->states; s++) z[s] = hvi_trajectory_row(t, s)[j];
    hvi_mdp_bellman(t->mdp, z, Tz);
    for (size_t s = 0; s < t->states; s++) B[s * t->d + j] = z[s] - (Tz[s] - t->reward[s]);
  }
}

/* b = B' Xi r; A = B' Xi B */
static void bellman_equations(double *A, double *b, const double *B, const hvi_trajectory *t) {
  const double *xi = hvi_mdp_law(t->mdp);
  for (size_t s = 0; s < t->states; s++) {
    const double *row = B + s * t->d;
    hvi_vec_add(b, xi[s] * t->reward[s], row, t->d);
    for (size_t i = 0; i < t->d; i++) hvi_vec_add(A + i * t->d, xi[s] * row[i], row, t->d);
  }
}

/* (1 + gamma^2) D - gamma (G + G') = C + C' - (1 - gamma^2) D; the right-hand side is the same. */
static void single_equations(double *A, const hvi_trajectory *t) {
  const double *D = hvi_sample_D(t->mean), *C = hvi_sample_C(t->mean, t->d);
  for (size_t i = 0; i < t->d; i++)
    for (size_t j = 0; j < t->d; j++)
      A[i * t->d + j] =
          C[i * t->d + j] + C[j * t->d + i] - (1.0 - t->gamma * t->gamma) * D[i * t->d + j];
}

hvi_status hvi_linear_limits(double *single, double *bellman, const hvi_problem *p,
                             hvi_error *err) {
  const hvi_trajectory *t = hvi_trajectory_of(p);
  const size_t n = t->states, d = t->d;
  HVI_NEW(double, B, 2 * n + 2 * d + n * d + d * d, "the residual gradient's limit", err);
  double *z = B + n * d, *A = z + 2 * n, *b = A + d * d, *x = b + d;
  differences(B, t, z, z + n);
  bellman_equations(A, b, B, t);
  HVI_TRY(hvi_dense_solve(x, A, b, d, err));
  *bellman = sqrt(p->ops->dist2(p, x));
  single_equations(A, t);
  HVI_TRY(hvi_dense_solve(x, A, b, d, err));
  *single = sqrt(p->ops->dist2(p, x));
  return HVI_OK;
}
