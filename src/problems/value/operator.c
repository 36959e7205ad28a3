/*
 * The operator of a value problem, and how it moves with a constant.
 *
 *   F(z)_i = 1/N (z_i - y_i),   y_i = r_i + gamma f_i ((1 - lambda) V(s'_i) + lambda y_{i+1}),
 *
 * where row i + 1 of the draw is the step after row i, and y_i = r_i + gamma f_i V(s'_i) elsewhere.
 * With the TD errors delta_k = y_k - z_k of lambda = 0 it is, along the rows that follow row i,
 *
 *   -N F_i = delta_i + gamma lambda delta_{i+1} + (gamma lambda)^2 delta_{i+2} + ...
 *
 * The level of all values is tested with sum_k w_k delta_k, w_k = 1 + gamma w_{k-1} along an
 * episode (docs/acceleration.md). By the formula above that is -N sum_i t_i F_i for
 *
 *   t_i = w_i - gamma lambda w_{i-1} = 1 + (1 - lambda) (w_i - 1),
 *
 * or w_i where a sequence begins.
 */
#include "base/base.h"
#include "num/vec.h"
#include "problems/value/value.h"

static double future(const hvi_value *v, size_t row) {
  return v->returns || v->spec.data->terminated[row] ? 0.0 : 1.0;
}

/* Whether `row` is the next step of the row before. */
static bool follows(const hvi_value *v, size_t row) {
  const hvi_dataset *d = v->spec.data;
  if (row == 0) return false;
  return v->ordered ? !d->terminated[row - 1] && !d->truncated[row - 1]
                    : hvi_dataset_continues(d, row - 1);
}

/* lambda of a draw */
static double lambda_of(const hvi_value *v, const hvi_value_sample *s) {
  const double lambda = v->spec.lambda, t = (double)(v->spec.first + s->draws - 1);
  return lambda > 0.0 ? lambda / (1.0 + (1.0 - lambda) * v->spec.lambda_decay * t) : 0.0;
}

/* Whether targets look from row i of a draw to row i + 1. */
static bool looks_on(const hvi_value *v, const hvi_value_sample *s, size_t i) {
  return v->spec.lambda > 0.0 && i + 1 < v->spec.batch - v->spec.replay &&
         s->row[i + 1] == s->row[i] + 1 && follows(v, s->row[i + 1]);
}

/* Targets from the values of the successors, in place. */
static void look_ahead(const hvi_value *v, const hvi_value_sample *s, double *y) {
  const hvi_dataset *data = v->spec.data;
  const double gamma = v->spec.gamma, lambda = lambda_of(v, s);
  for (size_t i = v->spec.batch; i-- > 0;) {
    const size_t row = s->row[i];
    const double next = looks_on(v, s, i) ? (1.0 - lambda) * y[i] + lambda * y[i + 1] : y[i];
    y[i] = (double)data->reward[row] + gamma * future(v, row) * next;
  }
}

void hvi_value_operate(const hvi_problem *p, const void *sample, const double *theta,
                       const double *z, double *f) {
  const hvi_value *v = (const hvi_value *)p;
  const hvi_value_sample *s = sample;
  const size_t n = v->spec.batch;
  const double share = 1.0 / (double)n;
  if (!s) { /* the mean is not known */
    for (size_t i = 0; i < v->rows; i++) f[i] = NAN;
    return;
  }
  if (v->returns) {
    for (size_t i = 0; i < n; i++) f[i] = v->returns[s->row[i]];
  } else {
    hvi_value_forward(v, s->scratch, theta, v->spec.data->next, s->row, n, f);
    look_ahead(v, s, f);
  }
  for (size_t i = 0; i < n; i++) f[i] = share * (z[i] - f[i]);
  hvi_vec_zero(f + n, v->rows - n);
}

/* w of a row, by that of the row before */
static double trace_of(const hvi_value *v, size_t row, size_t before, double trace) {
  if (row == before + 1) return follows(v, row) ? 1.0 + v->spec.gamma * trace : 1.0;
  double power = 1.0;
  trace = 1.0;
  for (; power > 1e-4 && follows(v, row); row--) trace += power *= v->spec.gamma;
  return trace;
}

/* t of all rows of a draw; 1, the mode itself, where there is but one draw. */
static void find_tests(const hvi_value *v, const hvi_value_sample *s, double *test) {
  const double lambda = lambda_of(v, s);
  double trace = 0.0;
  for (size_t i = 0; i < v->spec.batch; i++) {
    trace = trace_of(v, s->row[i], i > 0 ? s->row[i - 1] : SIZE_MAX - 1, trace);
    const bool inside = i > 0 && looks_on(v, s, i - 1);
    const double of_sample = inside ? 1.0 + (1.0 - lambda) * (trace - 1.0) : trace;
    test[i] = v->returns || v->one.base.one_sample ? 1.0 : of_sample;
  }
}

void hvi_value_slow_mode(const hvi_problem *p, const void *sample, double *u, double *df,
                         double *test) {
  const hvi_value *v = (const hvi_value *)p;
  const hvi_value_sample *s = sample;
  const size_t n = v->spec.batch;
  const double gamma = v->spec.gamma, lambda = lambda_of(v, s);
  double target = 1.0; /* that of a row, by a constant of 1 */
  for (size_t i = n; i-- > 0;) {
    const double next = looks_on(v, s, i) ? 1.0 - lambda + lambda * target : 1.0;
    target = gamma * future(v, s->row[i]) * next;
    df[i] = (1.0 - target) / (double)n;
  }
  find_tests(v, s, test);
  for (size_t i = 0; i < v->rows; i++) u[i] = 1.0;
  hvi_vec_zero(df + n, v->rows - n);
  hvi_vec_zero(test + n, v->rows - n);
}
