/* The linear experiment around its engine: statistics on made-up runs, closed-form limits, and a
 * small experiment from end to end. */
#include "report/folder.h"

#include "experiments/linear_stats.h"
#include "mdp/chains.h"
#include "num/dense.h"
#include "num/vec.h"

enum { ROWS = 5, RUNS = 400 };

static const size_t times[ROWS] = {10, 100, 1000, 10000, 30000};

/* Runs whose curve k is exp(noise) 2^-k / t: slope -1, and curves in order. */
static hvi_linear_summary made_up(double noise) {
  hvi_linear_summary s = {.chain = "made-up", .time = times};
  hvi_rng rng = hvi_rng_new(1, "runs", 0);
  hvi_error err;
  s.runs = (hvi_linear_result){
      .rows = ROWS, .runs = RUNS, .value = hvi_alloc_doubles(ROWS * HVI_LINEAR_CURVES * RUNS)};
  for (size_t k = 0; k < ROWS * HVI_LINEAR_CURVES; k++)
    for (size_t i = 0; i < RUNS; i++)
      s.runs.value[k * RUNS + i] = exp(noise * hvi_rng_normal(&rng)) *
                                   ldexp(1.0, -(int)(k % HVI_LINEAR_CURVES)) /
                                   (double)times[k / HVI_LINEAR_CURVES];
  check_ok(hvi_linear_sum_up(&s, &err), &err);
  return s;
}

static void exact_runs_have_exact_slopes(void **state) {
  (void)state;
  hvi_linear_summary s = made_up(0.0);
  for (size_t curve = 0; curve < 3; curve++) {
    const hvi_estimate slope = hvi_linear_slope(&s, curve, 0), fall = hvi_linear_fall(&s, curve, 1);
    check_near(slope.value, -1.0, 1e-12);
    check_near(slope.half, 0.0, 1e-12);
    check_near(fall.value, -log10(300.0), 1e-12);
    check_near(fall.half, 0.0, 1e-12);
  }
  check_near(hvi_linear_difference(&s, 2, 0, 1).value, 0.5e-3, 1e-15);
  check_near(hvi_linear_below(&s, 0, 0.5e-3), 10000.0, 0.0);
  assert_true(isnan(hvi_linear_below(&s, 0, 1e-6)));
  assert_int_equal(hvi_linear_row(&s, 999), 1);
  assert_int_equal(hvi_linear_row(&s, 1000), 2);
  assert_int_equal(hvi_linear_row(&s, 1), 0);
  hvi_linear_summary_free(&s);
}

/* The delta method against many repetitions of the whole sample: over independent curves the slopes
 * spread as the interval of one says. */
static void intervals_are_as_wide_as_the_spread(void **state) {
  (void)state;
  hvi_linear_summary s = made_up(0.5);
  double sum = 0.0, squares = 0.0, half = 0.0;
  for (size_t k = 0; k < HVI_LINEAR_CURVES; k++) {
    const hvi_estimate slope = hvi_linear_slope(&s, k, 0);
    sum += slope.value + 1.0;
    squares += (slope.value + 1.0) * (slope.value + 1.0);
    half += slope.half / HVI_LINEAR_CURVES;
  }
  const double n = HVI_LINEAR_CURVES, sd = sqrt((squares - sum * sum / n) / (n - 1.0));
  assert_true(half > 1.2 * sd && half < 3.2 * sd); /* 1.96, give or take */
  assert_true(fabs(sum / n) < half);
  hvi_linear_summary_free(&s);
}

/* Gradient of E (r + gamma <phi', x> - <phi, x>)^2 / 2 and of the Bellman error at the limits is
 * zero; checked by summing over transitions, without D and C. */
static double distance_of_minimiser(const hvi_mdp *m, const double *P, size_t n, bool twice) {
  const size_t d = hvi_mdp_features(m);
  const double *phi = hvi_mdp_phi(m), *xi = hvi_mdp_law(m), gamma = hvi_mdp_gamma(m);
  double A[25] = {0}, b[5] = {0}, x[5], goal[5];
  hvi_error err;
  for (size_t s = 0; s < n; s++)
    for (size_t u = 0; u < n; u++)
      for (size_t v = 0; v < n; v++) {
        /* two successors, independent or the same */
        const double p = twice ? P[s * n + u] * P[s * n + v] : u == v ? P[s * n + u] : 0.0;
        for (size_t i = 0; i < d && p > 0.0; i++) {
          const double one = phi[s * d + i] - gamma * phi[u * d + i];
          b[i] += xi[s] * p * one * hvi_mdp_reward(m)[s];
          for (size_t j = 0; j < d; j++)
            A[i * d + j] += xi[s] * p * one * (phi[s * d + j] - gamma * phi[v * d + j]);
        }
      }
  check_ok(hvi_dense_solve(x, A, b, d, &err), &err);
  check_ok(hvi_mdp_fixed_point(m, goal, &err), &err);
  double z[64], sum = 0.0;
  hvi_vec_add(x, -1.0, goal, d);
  hvi_mdp_values(m, x, z);
  for (size_t s = 0; s < n; s++) sum += xi[s] * z[s] * z[s];
  return sqrt(sum);
}

static void limits_are_in_closed_form(void **state) {
  (void)state;
  enum { N = 12 };
  double P[N * N] = {0}, single, bellman;
  for (size_t i = 0; i < N; i++) {
    P[i * N + i] += 0.5;
    P[i * N + (i > 0 ? i - 1 : i)] += 0.25;
    P[i * N + (i + 1 < N ? i + 1 : i)] += 0.25;
  }
  hvi_mdp *m = walk_mdp(N, 0.9);
  hvi_problem *p = along_trajectory(m, hvi_trajectory_defaults(m));
  hvi_error err;
  check_ok(hvi_linear_limits(&single, &bellman, p, &err), &err);
  check_near(single, distance_of_minimiser(m, P, N, false), 1e-9);
  check_near(bellman, distance_of_minimiser(m, P, N, true), 1e-9);
  assert_true(single > 0.1 && bellman > 0.01 && fabs(single - bellman) > 0.1);
  hvi_problem_free(p);
}

static hvi_status reproduce(const char *text, const char *out, size_t threads, hvi_claims *claims,
                            hvi_error *err) {
  hvi_experiment *e = NULL;
  bool stopped = true;
  const hvi_reproduce_settings s = {.out = out, .threads = threads};
  hvi_status status = hvi_experiment_parse(&e, text, "test", err);
  if (!status) {
    e->builtin = true; /* so that claims are judged */
    status = hvi_reproduce(claims, &stopped, e, &s, err);
    assert_true(status || !stopped);
  }
  hvi_experiment_free(e);
  return status;
}

static void a_small_experiment(void **state) {
  static const char text[] =
      "id: small\ntitle: t\nkind: linear\nquick: {iterations: 3000, instances: 70}\n";
  char *tables[2];
  hvi_error err;
  for (size_t threads = 1; threads <= 2; threads++) {
    hvi_claims c = {0};
    check_ok(reproduce(text, *state, threads, &c, &err), &err);
    assert_int_equal(c.count, 8);
    assert_int_equal(c.figure_count, 2);
    const hvi_claim *blocks = hvi_claims_find(&c, "more-steps-faster-blocks");
    assert_non_null(blocks);
    assert_int_equal(blocks->judgement, HVI_HOLDS);
    assert_int_equal(hvi_claims_find(&c, "surr-gd-to-exact-blocks")->judgement, HVI_HOLDS);
    assert_int_equal(hvi_claims_find(&c, "to-fixed-point-walk")->judgement, HVI_HOLDS);
    hvi_claims_clear(&c);
    tables[threads - 1] = slurp(in(*state, "small/linear-walk.csv"));
  }
  assert_string_equal(tables[0], tables[1]);
  assert_int_equal(strncmp(tables[0], "t,theta_1,theta_1_low,theta_1_high,", 35), 0);
  assert_non_null(strstr(tables[0], "\n3000,"));
  hvi_free(tables[0]);
  hvi_free(tables[1]);
}

static void too_short_is_refused(void **state) {
  hvi_claims c = {0};
  hvi_error err;
  assert_int_equal(reproduce("id: short\ntitle: t\nkind: linear\nquick: {iterations: 100}\n",
                             *state, 1, &c, &err),
                   HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "at least 1000 iterations"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_runs_have_exact_slopes),
      cmocka_unit_test(intervals_are_as_wide_as_the_spread),
      cmocka_unit_test(limits_are_in_closed_form),
      cmocka_unit_test(a_small_experiment),
      cmocka_unit_test(too_short_is_refused),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
