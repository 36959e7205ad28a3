/*
 * The paper's Algorithms 2 to 4 as settings of the outer loop, against loops written down from
 * their listings, in double precision.
 */
#include "problems/value/values.h"

enum { N = 40, STEPS = 20, MOST = 500 };

/* theta of every row */
typedef struct course {
  size_t count;
  double theta[STEPS + 1][MOST];
  hvi_record row[STEPS + 1];
} course;

static bool keep(void *context, const hvi_record *row) {
  course *c = context;
  assert_true(c->count <= STEPS);
  c->row[c->count] = *row;
  return ++c->count, true;
}

static course solve(const hvi_problem *p, hvi_settings s) {
  static course c;
  c.count = 0;
  s.observe = keep;
  s.observer_context = &c;
  hvi_solver *solver = solver_for(p, &s);
  hvi_outcome outcome;
  do {
    outcome = hvi_solver_step(solver);
    const hvi_info info = hvi_solver_info(solver);
    memcpy(c.theta[info.last.outer], info.last.theta, p->model->dim * sizeof(double));
  } while (outcome == HVI_RUNNING);
  assert_int_equal(outcome, HVI_LIMIT);
  hvi_solver_free(solver);
  return c;
}

static hvi_settings gd(size_t inner, double lr) {
  hvi_settings s = settings_for("gd", 1.0, STEPS);
  s.inner_steps = inner;
  s.inner.lr = lr;
  return s;
}

/* Movement since the start, which is what float accuracy is relative to. */
static void check_course(const course *c, const double *theta0, const double *theta, size_t t,
                         size_t d) {
  double moved[MOST], wanted[MOST];
  for (size_t j = 0; j < d; j++) {
    moved[j] = c->theta[t][j] - theta0[j];
    wanted[j] = theta[j] - theta0[j];
  }
  check_relative(moved, wanted, d, 2e-5);
}

/* Algorithm 2: M steps on batch t. Returns the steps taken, fewer than M once the mean square is at
 * or below share of the first; both means are given back. */
static size_t algorithm_2(const hvi_value *v, size_t t, size_t M, double lr, double share,
                          double *theta, double *loss0, double *loss) {
  double y[N], z[N], u[N], g[MOST];
  reference_targets(v, t * N, N, theta, y);
  for (size_t m = 0;; m++) {
    *loss = 0.0;
    reference_pass(v, v->spec.data->observation, t * N, N, theta, z, NULL, NULL);
    for (size_t i = 0; i < N; i++) {
      u[i] = (z[i] - y[i]) / N;
      *loss += (z[i] - y[i]) * (z[i] - y[i]) / N;
    }
    if (m == 0) *loss0 = *loss;
    if (m == M || *loss <= share * *loss0) return m;
    reference_pass(v, v->spec.data->observation, t * N, N, theta, z, u, g);
    for (size_t j = 0; j < v->one.base.model->dim; j++) theta[j] -= lr * g[j];
  }
}

static void check_algorithm_2(size_t M, double lr, bool scaled) {
  source src = lqr_rows(11, N * (STEPS + 1));
  static const double center[] = {0.1, -0.2, 0.3, 0.0}, spread[] = {0.7, 1.3, 1.0, 2.0};
  hvi_value_spec spec = small_spec(src.data, N);
  if (scaled) spec.center = center, spec.spread = spread, spec.shift = -3.0, spec.scale = 2.5;
  hvi_problem *p = value_problem(&spec);
  const course c = solve(p, gd(M, lr));
  double theta[MOST], loss0, loss;
  memcpy(theta, p->theta0, p->model->dim * sizeof *theta);
  for (size_t t = 0; t < STEPS; t++) {
    assert_int_equal(algorithm_2(hvi_value_of(p), t, M, lr, 0.0, theta, &loss0, &loss), M);
    check_course(&c, p->theta0, theta, t + 1, p->model->dim);
    /* the surrogate is half of the mean square that the listing names */
    check_near(2.0 * c.row[t + 1].loss0 / loss0, 1.0, 1e-4);
    check_near(2.0 * c.row[t + 1].loss / loss, 1.0, 1e-4);
    assert_int_equal(c.row[t + 1].counts.env_steps, (t + 2) * N); /* the next batch is there */
  }
  hvi_problem_free(p);
  source_free(src);
}

static void one_step_is_td0(void **state) {
  (void)state;
  check_algorithm_2(1, 0.02, false);
  check_algorithm_2(1, 0.004, true);
}

static void several_steps_are_algorithm_2(void **state) {
  (void)state;
  check_algorithm_2(7, 0.02, false);
  check_algorithm_2(7, 0.004, true);
}

/* The loop stops at the first step whose loss is at most alpha^2 of the first, and not before. */
static void the_threshold_ends_algorithm_4(void **state) {
  (void)state;
  source src = lqr_rows(12, N * (STEPS + 1));
  const hvi_value_spec spec = small_spec(src.data, N);
  hvi_problem *p = value_problem(&spec);
  const double lr = 0.02, share = 0.7;
  const size_t cap = 30;
  hvi_settings s = gd(cap, lr);
  s.alpha = sqrt(share);
  const course c = solve(p, s);
  double theta[MOST], loss0, loss;
  size_t capped = 0, shortest = cap;
  memcpy(theta, p->theta0, p->model->dim * sizeof *theta);
  for (size_t t = 0; t < STEPS; t++) {
    const size_t steps =
        algorithm_2(hvi_value_of(p), t, cap, lr, s.alpha * s.alpha, theta, &loss0, &loss);
    assert_int_equal(c.row[t + 1].inner, steps);
    check_near(c.row[t + 1].ratio, loss / loss0, 1e-4);
    assert_true(steps == cap || c.row[t + 1].ratio <= s.alpha * s.alpha);
    capped += steps == cap;
    shortest = steps < shortest ? steps : shortest;
    check_course(&c, p->theta0, theta, t + 1, p->model->dim);
  }
  assert_true(capped < STEPS);
  assert_true(shortest > 1); /* the threshold had a say */
  hvi_problem_free(p);
  source_free(src);
}

/* Algorithm 4 as printed, m from 0: "while l / l_0 >= alpha^2 and m <= M", then theta^(M). Returns the
 * steps taken; `last` is the last iterate, and `printed` the one that the listing returns: where the
 * loop ended before M there is none, and it stays what it was. */
static size_t printed_loop(const hvi_value *v, size_t M, double lr, double share, double *last,
                           double *printed) {
  double loss0, loss, ignored, theta[MOST];
  const size_t d = v->one.base.model->dim;
  memcpy(theta, v->one.base.theta0, d * sizeof *theta);
  algorithm_2(v, 0, 0, lr, 0.0, theta, &loss0, &loss);
  size_t m = 0;
  while (loss / loss0 >= share && m <= M) {
    /* m + 1 steps from the start, as the targets are those of the start */
    memcpy(theta, v->one.base.theta0, d * sizeof *theta);
    algorithm_2(v, 0, ++m, lr, 0.0, theta, &ignored, &loss);
    if (m == M) memcpy(printed, theta, d * sizeof *theta);
  }
  memcpy(last, theta, d * sizeof *theta);
  return m;
}

static void the_printed_algorithm_4_miscounts(void **state) {
  (void)state;
  source src = lqr_rows(12, N);
  const hvi_value_spec spec = small_spec(src.data, N);
  hvi_problem *p = value_problem(&spec);
  double last[MOST], printed[MOST];
  /* a threshold that is never met: one step more than M, of which the listing forgets the last */
  assert_int_equal(printed_loop(hvi_value_of(p), 5, 0.02, 0.0, last, printed), 6);
  double moved = 0.0;
  for (size_t j = 0; j < p->model->dim; j++) moved = fmax(moved, fabs(last[j] - printed[j]));
  assert_true(moved > 1e-6);
  /* one that is met early: theta^(M) does not exist */
  for (size_t j = 0; j < p->model->dim; j++) printed[j] = NAN;
  assert_true(printed_loop(hvi_value_of(p), 30, 0.02, 0.7, last, printed) < 30);
  assert_true(isnan(printed[0]));
  /* a ratio equal to the threshold ends Definition 2.1, not this loop */
  assert_int_equal(printed_loop(hvi_value_of(p), 5, 0.02, 1.0, last, printed), 1);
  hvi_problem_free(p);
  source_free(src);
}

/* With one batch in the data both terms are on it. */
static void the_same_batch_twice_is_algorithm_2(void **state) {
  (void)state;
  source src = lqr_rows(13, N);
  hvi_value_spec spec = small_spec(src.data, N);
  hvi_problem *plain = value_problem(&spec);
  spec.buffer = 1;
  hvi_problem *twice = value_problem(&spec);
  const course a = solve(plain, gd(5, 0.02)), b = solve(twice, gd(5, 0.02));
  for (size_t t = 1; t <= STEPS; t++)
    check_course(&b, plain->theta0, a.theta[t], t, plain->model->dim);
  hvi_problem_free(plain);
  hvi_problem_free(twice);
  source_free(src);
}

/* Algorithm 3: the linear term on fresh batch t, after those of the buffer, the square term on
 * batch m mod K. */
static void different_batches_are_algorithm_3(void **state) {
  (void)state;
  enum { K = 3, M = 7 };
  const double lr = 0.02;
  source src = lqr_rows(14, N * (K + STEPS + 1));
  hvi_value_spec spec = small_spec(src.data, N);
  spec.buffer = K;
  hvi_problem *p = value_problem(&spec);
  const hvi_value *v = hvi_value_of(p);
  assert_int_equal(hvi_value_rows(p, STEPS + 1), N * (K + STEPS + 1));
  const course c = solve(p, gd(M, lr));
  const float *states = src.data->observation;
  double theta[MOST], start[MOST], y[N], z[N], u[N], g[MOST], h[MOST];
  const size_t d = p->model->dim;
  memcpy(theta, p->theta0, d * sizeof *theta);
  for (size_t t = 0; t < STEPS; t++) {
    const size_t fresh = (K + t) * N;
    memcpy(start, theta, sizeof start);
    reference_targets(v, fresh, N, start, y);
    reference_pass(v, states, fresh, N, start, z, NULL, NULL);
    for (size_t i = 0; i < N; i++) y[i] = (z[i] - y[i]) / N; /* F */
    for (size_t m = 0; m < M; m++) {
      const size_t other = m % K * N;
      reference_pass(v, states, fresh, N, theta, z, y, g);
      reference_pass(v, states, other, N, start, u, NULL, NULL);
      reference_pass(v, states, other, N, theta, z, NULL, NULL);
      for (size_t i = 0; i < N; i++) u[i] = (z[i] - u[i]) / N;
      reference_pass(v, states, other, N, theta, z, u, h);
      for (size_t j = 0; j < d; j++) theta[j] -= lr * (g[j] + h[j]);
    }
    check_course(&c, p->theta0, theta, t + 1, d);
  }
  hvi_problem_free(p);
  source_free(src);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_step_is_td0),
      cmocka_unit_test(several_steps_are_algorithm_2),
      cmocka_unit_test(the_threshold_ends_algorithm_4),
      cmocka_unit_test(the_printed_algorithm_4_miscounts),
      cmocka_unit_test(the_same_batch_twice_is_algorithm_2),
      cmocka_unit_test(different_batches_are_algorithm_3),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
