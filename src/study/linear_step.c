/*
 * One step of every learner on a batch of trajectories.
 *
 * With D = D_hat + ridge I, s = 1 / trace D, A = I - s D and the distance to the surrogate's
 * minimiser e = D^-1 (C_hat theta - r_hat), M gradient steps of size s shrink that distance to
 * A^M e:
 *
 *   theta <- theta - e + A^M e,     and LSPE, the minimiser itself: theta <- theta - e
 *
 * A^M e takes one product with A^(2^k) for each bit of M, and more with the last of the powers that
 * are kept; these, each the square of the one before, and the inverse of D serve all M at once.
 *
 * Loops over the runs of a batch are innermost, for the compiler to vectorise.
 */
#include "study/linear.h"

#define HVI_RUNS HVI_LINEAR_BATCH
#include "problems/mdp/learners.h"

#define EACH_RUN(l) for (size_t l = 0; l < HVI_RUNS; l++)

/* Number (i, j) of every run in a matrix with d columns. */
#define AT(A, i, j) ((A) + ((i)*d + (j)) * HVI_RUNS)

static inline void copy(double *restrict out, const double *x) { EACH_RUN(l) out[l] = x[l]; }

static inline void scale(double *restrict out, const double *a, const double *x) {
  EACH_RUN(l) out[l] = a[l] * x[l];
}

/* out = A x */
static void apply(double *restrict out, const double *A, const double *x, size_t d) {
  for (size_t i = 0; i < d; i++) {
    double sum[HVI_RUNS];
    hvi_runs_dot(sum, AT(A, i, 0), x, d);
    copy(AT(out, 0, i), sum);
  }
}

/* out = A A, A symmetric */
static void square(double *restrict out, const double *A, size_t d) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j <= i; j++) {
      double sum[HVI_RUNS];
      hvi_runs_dot(sum, AT(A, i, 0), AT(A, j, 0), d);
      copy(AT(out, i, j), sum);
      copy(AT(out, j, i), sum);
    }
}

/* A <- -A^-1, A symmetric and positive definite: the lower half by sweeping one row and column
 * after the other, then the upper. row[d] is workspace. */
static void invert(double *A, double *row, size_t d) {
  double pivot[HVI_RUNS], share[HVI_RUNS];
  for (size_t k = 0; k < d; k++) {
    EACH_RUN(l) pivot[l] = 1.0 / AT(A, k, k)[l];
    for (size_t i = 0; i < d; i++) copy(AT(row, 0, i), i < k ? AT(A, k, i) : AT(A, i, k));
    for (size_t i = 0; i < d; i++) {
      EACH_RUN(l) share[l] = -AT(row, 0, i)[l] * pivot[l];
      hvi_runs_add(AT(A, i, 0), share, row, i + 1);
    }
    for (size_t i = 0; i < d; i++) scale(i < k ? AT(A, k, i) : AT(A, i, k), pivot, AT(row, 0, i));
    EACH_RUN(l) AT(A, k, k)[l] = -pivot[l];
  }
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < i; j++) copy(AT(A, j, i), AT(A, i, j));
}

/* The inverse of -D and the powers of A. */
static void prepare(hvi_linear_batch *b) {
  const size_t d = b->d;
  const double ridge = b->ridge;
  double *D = b->inverse, *A = b->power, step[HVI_RUNS] = {0};
  for (size_t k = 0; k < d * d; k++) copy(AT(D, 0, k), AT(b->D, 0, k));
  for (size_t i = 0; i < d; i++) {
    EACH_RUN(l) AT(D, i, i)[l] += ridge;
    EACH_RUN(l) step[l] += AT(D, i, i)[l];
  }
  EACH_RUN(l) step[l] = -1.0 / step[l];
  for (size_t k = 0; k < d * d; k++) scale(AT(A, 0, k), step, AT(D, 0, k));
  for (size_t i = 0; i < d; i++) EACH_RUN(l) AT(A, i, i)[l] += 1.0;
  for (size_t k = 1; k < HVI_LINEAR_POWERS; k++)
    square(AT(b->power, k * d, 0), AT(b->power, (k - 1) * d, 0), d);
  invert(D, b->error, d);
}

/* theta - e + A^M e; M = 0 stands for the exact update, without the last term. */
static void surrogate_step(hvi_linear_batch *b, double *restrict theta, size_t inner) {
  const size_t d = b->d;
  double *e = b->error, *next = AT(e, 1, 0); /* e is -e of the head of this file */
  apply(next, b->C, theta, d);
  for (size_t k = 0; k < d * HVI_RUNS; k++) next[k] -= b->r[k];
  apply(e, b->inverse, next, d);
  for (size_t k = 0; k < d * HVI_RUNS; k++) theta[k] += e[k];
  if (inner == 0) return;
  for (size_t k = 0; k < HVI_LINEAR_POWERS; k++) {
    size_t times = k + 1 < HVI_LINEAR_POWERS ? inner >> k & 1 : inner >> k;
    for (; times > 0; times--) {
      apply(next, AT(b->power, k * d, 0), e, d);
      double *const last = e;
      e = next;
      next = last;
    }
  }
  for (size_t k = 0; k < d * HVI_RUNS; k++) theta[k] -= e[k];
}

void HVI_LEVEL_TABLE(hvi_linear)(hvi_linear_batch *b) {
  const size_t d = b->d;
  const double h = b->rate / (1.0 + b->decay * (double)(b->count - 1)), h2 = h * b->second_rate;
  const hvi_transition x = {d, b->gamma, b->now, b->next, b->reward};
  hvi_means_absorb(&x, b->count, b->D, b->C, b->r);
  hvi_td0_step(&x, h, hvi_linear_theta(b, HVI_LEARNER_TD0));
  hvi_residual_gradient_step(&x, h, hvi_linear_theta(b, HVI_LEARNER_RESIDUAL));
  hvi_tdc_step(&x, h, h2, b->second, hvi_linear_theta(b, HVI_LEARNER_TDC));
  hvi_gtd2_step(&x, h, h2, AT(b->second, 1, 0), hvi_linear_theta(b, HVI_LEARNER_GTD2));
  if (b->count < b->wait) return;
  prepare(b);
  for (size_t m = 0; m < HVI_SURR_COUNT; m++)
    surrogate_step(b, hvi_linear_theta(b, m), hvi_linear_inner[m]);
  surrogate_step(b, hvi_linear_theta(b, HVI_LEARNER_LSPE), 0);
}
