/*
 * LSTD on the last layer: its equations against sums over all pairs of rows, its solution against an
 * elimination of this file, on processes of two classes of states that are not left. There one
 * constant is not enough.
 */
#include "problems/mdp/chains.h"
#include "problems/value/values.h"

#include "problems/mdp/mdp.h"

#include <hvi/problem.h>

/* A symmetric pivot is not needed at these sizes: rows are exchanged. x = A^-1 b, both are lost. */
static void eliminate(double *x, double *A, double *b, size_t n) {
  for (size_t c = 0; c < n; c++) {
    size_t top = c;
    for (size_t i = c; i < n; i++) top = fabs(A[i * n + c]) > fabs(A[top * n + c]) ? i : top;
    for (size_t j = 0; j <= n; j++) {
      double *p = j < n ? &A[c * n + j] : &b[c], *q = j < n ? &A[top * n + j] : &b[top];
      const double kept = *p;
      *p = *q, *q = kept;
    }
    for (size_t i = c + 1; i < n; i++) {
      const double share = A[i * n + c] / A[c * n + c];
      for (size_t j = c; j < n; j++) A[i * n + j] -= share * A[c * n + j];
      b[i] -= share * b[c];
    }
  }
  for (size_t i = n; i-- > 0;) {
    x[i] = b[i];
    for (size_t j = i + 1; j < n; j++) x[i] -= A[i * n + j] * x[j];
    x[i] /= A[i * n + i];
  }
}

/* Two blocks of `half` states, left once in 1 / leak steps; rewards of another level in each. */
static hvi_mdp *two_blocks(size_t half, size_t d, double gamma, double leak, uint64_t seed) {
  const size_t n = 2 * half;
  hvi_rng rng = hvi_rng_new(seed, "test blocks", 0);
  double *P = calloc(n * n, sizeof *P), *r = calloc(n, sizeof *r),
         *phi = calloc(n * d, sizeof *phi);
  assert_true(P && r && phi);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < n; j++)
      sum += P[i * n + j] = hvi_rng_uniform(&rng) * (i / half == j / half ? 1.0 : leak);
    for (size_t j = 0; j < n; j++) P[i * n + j] /= sum;
    r[i] = hvi_rng_uniform(&rng) + (i < half ? 5.0 : 0.0);
    for (size_t k = 0; k < d; k++)
      phi[i * d + k] = k == 0 ? 1.0 : k == 1 ? (double)(i < half) : hvi_rng_normal(&rng);
  }
  return take_mdp(n, gamma, P, r, d, phi);
}

/* The projected fixed point by this file's own sums; the law by powers of P. */
static void fixed_point(double *x, const hvi_mdp *m, size_t n, size_t d) {
  double law[64], next[64], A[64] = {0}, b[8] = {0};
  const double *phi = hvi_mdp_phi(m), gamma = hvi_mdp_gamma(m);
  double P[64 * 64], unit[64], column[64];
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < n; i++) unit[i] = i == j;
    hvi_mdp_transit(column, m, unit);
    for (size_t i = 0; i < n; i++) P[i * n + j] = column[i];
    law[j] = 1.0 / (double)n;
  }
  for (size_t t = 0; t < 200000; t++) {
    for (size_t j = 0; j < n; j++) {
      next[j] = 0.0;
      for (size_t i = 0; i < n; i++) next[j] += law[i] * P[i * n + j];
    }
    memcpy(law, next, n * sizeof *law);
  }
  for (size_t s = 0; s < n; s++)
    for (size_t i = 0; i < d; i++) {
      b[i] += law[s] * phi[s * d + i] * hvi_mdp_reward(m)[s];
      for (size_t j = 0; j < d; j++) {
        double ahead = 0.0;
        for (size_t to = 0; to < n; to++) ahead += P[s * n + to] * phi[to * d + j];
        A[i * d + j] += law[s] * phi[s * d + i] * (phi[s * d + j] - gamma * ahead);
      }
    }
  eliminate(x, A, b, d);
}

static double end_of(const hvi_problem *p, hvi_acceleration accelerate, size_t steps,
                     const double *from, double *theta) {
  hvi_settings s = settings_for("projected", 1.0, steps);
  s.accelerate = accelerate;
  s.theta0 = from;
  hvi_solver *solver = solver_for(p, &s);
  hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  memcpy(theta, info.last.theta, p->model->dim * sizeof *theta);
  hvi_solver_free(solver);
  return info.last.dist2;
}

/* One step solves chains of two classes, where the correction of one mode and the plain loop have
 * hardly begun; and the solution stays. */
static void a_step_solves_two_classes(void **state) {
  (void)state;
  enum { HALF = 10, D = 5 };
  for (uint64_t seed = 0; seed < 5; seed++) {
    hvi_mdp *m = two_blocks(HALF, D, 0.99, 1e-3, seed);
    hvi_problem *p = NULL;
    hvi_error err;
    check_ok(hvi_mdp_problem_new(&p, m, &err), &err);
    double own[D], theta[D];
    fixed_point(own, m, 2 * HALF, D);
    assert_true(end_of(p, HVI_ACCELERATE_MODE, 30, NULL, theta) > 1.0);
    end_of(p, HVI_ACCELERATE_LSTD, 1, NULL, theta);
    check_close(theta, own, D, 1e-6 * 500.0);
    end_of(p, HVI_ACCELERATE_LSTD, 3, own, theta);
    check_close(theta, own, D, 1e-6 * 500.0);
    hvi_problem_free(p);
  }
  /* without features all states are modes */
  hvi_problem *p = NULL;
  hvi_error err;
  check_ok(hvi_mdp_problem_new(&p, random_mdp(30, 0, 0.99, 2), &err), &err);
  double theta[30];
  assert_true(end_of(p, HVI_ACCELERATE_LSTD, 1, NULL, theta) < 1e-16);
  hvi_problem_free(p);
}

/* Transitions of two closed classes of 4 states, in episodes of 40 steps, each within its class. */
enum { STATES = 8, SEEN = 3, ROWS = 4000, EPISODE = 40, HIDDEN = 6, MODES = HIDDEN + 1 };

typedef struct walk {
  hvi_dataset data;
  float obs[ROWS * SEEN], next[ROWS * SEEN], action[ROWS], reward[ROWS];
  bool terminated[ROWS], truncated[ROWS];
  float look[STATES * SEEN]; /* of the states */
  double level[2];           /* of the rewards */
} walk;

static const double share_of_rare = 0.1, noise = 0.3, gamma_of_walk = 0.95;

static const hvi_dataset *fill_walk(walk *w, uint64_t seed) {
  hvi_rng rng = hvi_rng_new(seed, "tests", 0);
  *w = (walk){.data = {.count = ROWS, .obs = SEEN, .act = 1}, .level = {1.0, -1.0}};
  for (size_t i = 0; i < STATES * SEEN; i++)
    w->look[i] = (float)hvi_rng_normal(&rng) + (i < STATES * SEEN / 2 ? 2.0F : -2.0F);
  size_t s = 0;
  for (size_t i = 0; i < ROWS; i++) {
    const size_t rare = hvi_rng_uniform(&rng) < share_of_rare;
    if (i % EPISODE == 0) s = 4 * rare + (size_t)(4.0 * hvi_rng_uniform(&rng));
    const size_t to = s / 4 * 4 + (size_t)(4.0 * hvi_rng_uniform(&rng));
    memcpy(w->obs + i * SEEN, w->look + s * SEEN, SEEN * sizeof *w->obs);
    memcpy(w->next + i * SEEN, w->look + to * SEEN, SEEN * sizeof *w->obs);
    w->reward[i] = (float)(w->level[s / 4] + noise * hvi_rng_normal(&rng));
    w->truncated[i] = i % EPISODE == EPISODE - 1;
    s = to;
  }
  w->data.observation = w->obs, w->data.next = w->next, w->data.action = w->action;
  w->data.reward = w->reward, w->data.terminated = w->terminated, w->data.truncated = w->truncated;
  return &w->data;
}

static hvi_value_spec walk_spec(const hvi_dataset *data, hvi_value_draw draw, size_t batch) {
  hvi_value_spec s = hvi_value_defaults();
  s.data = data;
  s.gamma = gamma_of_walk;
  s.draw = draw;
  s.batch = batch;
  s.hidden_count = 1;
  s.hidden[0] = HIDDEN;
  s.activation = HVI_TANH;
  s.shift = 3.0;
  s.scale = 7.0;
  return s;
}

/* scale (tanh(W s + b), 1), theta being W b w c */
static void features_of(double *x, const hvi_value_spec *spec, const double *theta,
                        const float *s) {
  for (size_t j = 0; j < HIDDEN; j++) {
    double sum = theta[HIDDEN * SEEN + j];
    for (size_t i = 0; i < SEEN; i++) sum += theta[j * SEEN + i] * (double)s[i];
    x[j] = spec->scale * tanh(sum);
  }
  x[HIDDEN] = spec->scale;
}

/* LSTD's change of the last layer, each trace as a sum of its own. */
static void own_change(double *c, const walk *w, const hvi_value_spec *spec, const double *theta,
                       double lambda) {
  static double x[ROWS][MODES], d[ROWS][MODES], delta[ROWS];
  double A[MODES * MODES] = {0}, b[MODES] = {0};
  for (size_t i = 0; i < ROWS; i++) {
    double next[MODES], value = spec->shift, after = spec->shift;
    features_of(x[i], spec, theta, w->obs + i * SEEN);
    features_of(next, spec, theta, w->next + i * SEEN);
    for (size_t j = 0; j < MODES; j++) {
      value += x[i][j] * theta[HIDDEN * (SEEN + 1) + j];
      after += next[j] * theta[HIDDEN * (SEEN + 1) + j];
      d[i][j] = x[i][j] - spec->gamma * next[j];
    }
    delta[i] = (double)w->reward[i] + spec->gamma * after - value;
  }
  for (size_t i = 0; i < ROWS; i++)
    for (size_t from = i / EPISODE * EPISODE; from <= i; from++) {
      const double weight = pow(spec->gamma * lambda, (double)(i - from));
      for (size_t j = 0; j < MODES; j++) {
        b[j] += weight * x[from][j] * delta[i];
        for (size_t k = 0; k < MODES; k++) A[j * MODES + k] += weight * x[from][j] * d[i][k];
      }
    }
  eliminate(c, A, b, MODES);
}

/* All of the data at once: nothing is noise, and the solution is LSTD's. A second correction finds
 * nothing to do. */
static void all_data_at_once_are_solved(void **state) {
  (void)state;
  static walk w;
  const hvi_value_spec spec = walk_spec(fill_walk(&w, 5), HVI_VALUE_ALL, 0);
  hvi_problem *p = value_problem(&spec);
  const size_t tail = p->model->dim - MODES;
  for (size_t variant = 0; variant < 3; variant++) {
    static const double lambdas[] = {0.0, 0.7, 1.0};
    double c[MODES], theta[64], again[64];
    own_change(c, &w, &spec, p->theta0, lambdas[variant]);
    hvi_settings s = settings_for("gd", 1.0, 1);
    s.inner.lr = 1e-30; /* the correction alone */
    s.accelerate = HVI_ACCELERATE_LSTD;
    s.modes.lambda = lambdas[variant];
    for (size_t t = 0; t < 2; t++) {
      hvi_solver *solver = solver_for(p, &s);
      hvi_solver_run(solver);
      memcpy(t ? again : theta, hvi_solver_info(solver).last.theta, p->model->dim * sizeof *theta);
      hvi_solver_free(solver);
      s.theta0 = theta;
    }
    check_close(theta, p->theta0, tail, 0.0);
    for (size_t j = 0; j < MODES; j++) {
      check_near(theta[tail + j], p->theta0[tail + j] + c[j], 2e-3 * (1.0 + fabs(c[j])));
      check_near(again[tail + j], theta[tail + j], 2e-3 * (1.0 + fabs(c[j])));
    }
  }
  hvi_problem_free(p);
}

/* Mean squared error over the states, classes counting alike. */
static double error_of(const hvi_problem *p, const walk *w, const double *theta) {
  double values[STATES], sum = 0.0;
  hvi_error err;
  check_ok(hvi_value_predict(p, theta, w->look, STATES, values, &err), &err);
  for (size_t s = 0; s < STATES; s++) {
    const double truth = w->level[s / 4] / (1.0 - gamma_of_walk);
    sum += (values[s] - truth) * (values[s] - truth) / STATES;
  }
  return sum;
}

static double error_after(hvi_acceleration accelerate, size_t rows, size_t threads, double *theta) {
  static walk w;
  hvi_value_spec spec = walk_spec(fill_walk(&w, 9), HVI_VALUE_FRESH, 200);
  spec.threads = threads;
  hvi_problem *p = value_problem(&spec);
  hvi_settings s = settings_for("adam", 1.0, 19);
  s.inner_steps = 10;
  s.inner.lr = 1e-3;
  s.accelerate = accelerate;
  s.modes.rows = rows;
  hvi_solver *solver = solver_for(p, &s);
  hvi_solver_run(solver);
  memcpy(theta, hvi_solver_info(solver).last.theta, p->model->dim * sizeof *theta);
  const double error = error_of(p, &w, theta);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return error;
}

/* On samples, whether a step looks at all rows or at some: both classes are learnt, which one mode
 * cannot do. Threads do not change a bit. */
static void samples_of_two_classes_are_learnt(void **state) {
  (void)state;
  double theta[64], other[64];
  const double mode = error_after(HVI_ACCELERATE_MODE, 0, 1, theta);
  const double all = error_after(HVI_ACCELERATE_LSTD, 0, 1, theta);
  const double some = error_after(HVI_ACCELERATE_LSTD, 800, 1, theta);
  assert_true(error_after(HVI_ACCELERATE_LSTD, 800, 3, other) == some);
  check_same_bits(theta, other, HIDDEN * (SEEN + 2) + 1);
  if (!(all < 3.0 && some < 3.0 && mode > 30.0))
    fail_msg("mode %g, all rows %g, some rows %g", mode, all, some);
}

static void what_has_no_equations_is_refused(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.1, 10);
  hvi_solver *solver = NULL;
  hvi_error err;
  s.accelerate = HVI_ACCELERATE_LSTD;
  check_error(hvi_solver_new(&solver, p, &s, &err), HVI_ERROR_UNSUPPORTED, &err, "no equations");
  hvi_problem_free(p);
  check_ok(hvi_mdp_problem_new(&p, random_mdp(3, 0, 0.9, 2), &err), &err);
  s.modes.lambda = 2.0;
  check_error(hvi_solver_new(&solver, p, &s, &err), HVI_ERROR_ARGUMENT, &err, "lstd_lambda");
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_solves_two_classes),
      cmocka_unit_test(all_data_at_once_are_solved),
      cmocka_unit_test(samples_of_two_classes_are_learnt),
      cmocka_unit_test(what_has_no_equations_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
