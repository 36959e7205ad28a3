/*
 * The Bellman gap of a linear network, V = w's + b, for which everything is known: targets, the
 * least-squares infimum, the fixed point of the projected operator, and AdamW itself.
 */
#include "transitions.h"

enum { D = OBS + 1 };
static const double gamma_ = 0.9;

static hvi_problem *linear_value(const transitions *t) {
  hvi_value_spec s = hvi_value_defaults();
  hvi_problem *p = NULL;
  hvi_error err;
  s.data = &t->data;
  s.gamma = gamma_;
  s.draw = HVI_VALUE_ALL;
  s.hidden_count = 0;
  check_ok(hvi_value_new(&p, &s, 1, &err), &err);
  assert_int_equal(p->model->dim, D);
  return p;
}

static void features(double phi[D], const float *s) {
  for (size_t j = 0; j < OBS; j++) phi[j] = (double)s[j];
  phi[OBS] = 1.0;
}

static double target(const transitions *t, const double *theta, size_t i) {
  double phi[D];
  features(phi, t->next[i]);
  return (double)t->reward[i] + (t->terminated[i] ? 0.0 : gamma_ * dot(theta, phi, D));
}

static double bellman_error(const transitions *t, const double *at, const double *frozen) {
  double phi[D], sum = 0.0;
  for (size_t i = 0; i < ROWS; i++) {
    features(phi, t->observation[i]);
    const double r = dot(at, phi, D) - target(t, frozen, i);
    sum += r * r;
  }
  return sum / ROWS;
}

/* Gauss elimination with pivots; A and b are used up. */
static void solve(double *A, double *b, double *x) {
  for (size_t k = 0; k < D; k++) {
    size_t best = k;
    for (size_t i = k; i < D; i++)
      if (fabs(A[i * D + k]) > fabs(A[best * D + k])) best = i;
    for (size_t j = 0; j < D; j++) {
      const double a = A[k * D + j];
      A[k * D + j] = A[best * D + j];
      A[best * D + j] = a;
    }
    const double c = b[k];
    b[k] = b[best];
    b[best] = c;
    for (size_t i = k + 1; i < D; i++) {
      const double f = A[i * D + k] / A[k * D + k];
      for (size_t j = k; j < D; j++) A[i * D + j] -= f * A[k * D + j];
      b[i] -= f * b[k];
    }
  }
  for (size_t k = D; k-- > 0;) {
    x[k] = b[k];
    for (size_t j = k + 1; j < D; j++) x[k] -= A[k * D + j] * x[j];
    x[k] /= A[k * D + k];
  }
}

/* argmin BE(., frozen); frozen NULL: the fixed point, (Phi'(Phi - gamma f Phi')) x = Phi'r. */
static void fit(const transitions *t, const double *frozen, double *x) {
  double A[D * D] = {0}, b[D] = {0}, phi[D], next[D];
  for (size_t i = 0; i < ROWS; i++) {
    const double share = frozen || t->terminated[i] ? 0.0 : gamma_;
    features(phi, t->observation[i]);
    features(next, t->next[i]);
    const double y = frozen ? target(t, frozen, i) : (double)t->reward[i];
    for (size_t j = 0; j < D; j++) {
      for (size_t k = 0; k < D; k++) A[j * D + k] += phi[j] * (phi[k] - share * next[k]);
      b[j] += phi[j] * y;
    }
  }
  solve(A, b, x);
}

static void test_zero_at_the_fixed_point(void **state) {
  (void)state;
  transitions t;
  double theta[D];
  hvi_gap gap;
  hvi_error err;
  const hvi_gap_settings s = hvi_gap_defaults();
  transitions_init(&t);
  hvi_problem *p = linear_value(&t);
  fit(&t, NULL, theta);
  check_ok(hvi_bellman_gap(&gap, p, theta, &s, &err), &err);
  assert_true(gap.gap >= 0.0);
  assert_true(gap.gap <= 1e-6 * gap.error);
  check_near(gap.error, bellman_error(&t, theta, theta), 1e-5 * gap.error);
  hvi_problem_free(p);
}

/* With steps enough, the infimum is that of the normal equations. */
static void test_against_normal_equations(void **state) {
  (void)state;
  transitions t;
  double theta[D] = {0.5, -2.0, 1.0, 3.0}, best[D];
  hvi_gap gap;
  hvi_error err;
  const hvi_gap_settings s = {.steps = 1500, .lr = 0.05, .lr_decay = 0.995};
  transitions_init(&t);
  hvi_problem *p = linear_value(&t);
  fit(&t, theta, best);
  check_ok(hvi_bellman_gap(&gap, p, theta, &s, &err), &err);
  const double error = bellman_error(&t, theta, theta), least = bellman_error(&t, best, theta);
  assert_true(error > 1.2 * least);
  check_near(gap.error, error, 1e-5 * error);
  check_near(gap.least, least, 1e-4 * error);
  check_near(gap.gap, error - least, 2e-4 * error);
  assert_true(gap.least >= least * (1.0 - 1e-5));
  hvi_problem_free(p);
}

/* The paper's 500 steps, written out: AdamW with weight decay 0.01 on half of BE. */
static double adamw(const transitions *t, const double *theta) {
  double x[D], m[D] = {0}, v[D] = {0}, phi[D], least = bellman_error(t, theta, theta);
  memcpy(x, theta, sizeof x);
  for (size_t k = 0; k < 500; k++) {
    const double lr = 1e-4 * pow(0.995, (double)k);
    double g[D] = {0};
    for (size_t i = 0; i < ROWS; i++) {
      features(phi, t->observation[i]);
      const double r = dot(x, phi, D) - target(t, theta, i);
      for (size_t j = 0; j < D; j++) g[j] += r * phi[j] / ROWS;
    }
    for (size_t j = 0; j < D; j++) {
      m[j] = 0.9 * m[j] + 0.1 * g[j];
      v[j] = 0.999 * v[j] + 0.001 * g[j] * g[j];
      const double mean = m[j] / (1.0 - pow(0.9, (double)k + 1.0));
      const double square = v[j] / (1.0 - pow(0.999, (double)k + 1.0));
      x[j] = x[j] * (1.0 - lr * 0.01) - lr * mean / (sqrt(square) + 1e-8);
    }
    least = fmin(least, bellman_error(t, x, theta));
  }
  return least;
}

static void test_defaults_are_the_papers(void **state) {
  (void)state;
  transitions t;
  const double theta[D] = {0.5, -2.0, 1.0, 3.0};
  hvi_gap gap;
  hvi_error err;
  const hvi_gap_settings s = hvi_gap_defaults();
  assert_int_equal(s.steps, 500);
  assert_true(s.lr == 1e-4);
  assert_true(s.lr_decay == 0.995);
  transitions_init(&t);
  hvi_problem *p = linear_value(&t);
  check_ok(hvi_bellman_gap(&gap, p, theta, &s, &err), &err);
  const double least = adamw(&t, theta);
  assert_true(gap.gap > 0.0);
  check_near(gap.gap, bellman_error(&t, theta, theta) - least, 1e-3 * gap.gap);
  hvi_problem_free(p);
}

static void test_double_sampling_is_refused(void **state) {
  (void)state;
  transitions t;
  hvi_value_spec v = hvi_value_defaults();
  hvi_problem *p = NULL;
  hvi_gap gap;
  hvi_error err;
  const hvi_gap_settings s = hvi_gap_defaults();
  transitions_init(&t);
  v.data = &t.data;
  v.batch = 50;
  v.buffer = 2;
  v.hidden_count = 0;
  check_ok(hvi_value_new(&p, &v, 1, &err), &err);
  check_error(hvi_bellman_gap(&gap, p, p->theta0, &s, &err), HVI_ERROR_UNSUPPORTED, &err,
              "double sampling");
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_zero_at_the_fixed_point),
                                     cmocka_unit_test(test_against_normal_equations),
                                     cmocka_unit_test(test_defaults_are_the_papers),
                                     cmocka_unit_test(test_double_sampling_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
