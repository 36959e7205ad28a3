/* The linear experiment around its engine: statistics on made-up runs, closed-form limits, and a
 * small experiment from end to end. */
#include "report/folder.h"

#include "num/dense.h"
#include "num/vec.h"
#include "problems/mdp/chains.h"
#include "study/linear.h"
#include "study/planted.h"

enum { ROWS = 5, RUNS = 400 };

static const size_t times[ROWS] = {10, 100, 1000, 10000, 30000};

/* Runs whose curve k is exp(noise) 2^-k / t: slope -1, and curves in order. */
static hvi_linear_result made_up(double noise) {
  hvi_linear_result s = {.of = {.runs = RUNS, .rows = ROWS, .time = times}};
  hvi_rng rng = hvi_rng_new(1, "runs", 0);
  s.value = hvi_alloc_doubles((ROWS * HVI_LINEAR_CURVES + 1) * RUNS);
  for (size_t k = 0; k < ROWS * HVI_LINEAR_CURVES; k++)
    for (size_t i = 0; i < RUNS; i++)
      s.value[k * RUNS + i] = exp(noise * hvi_rng_normal(&rng)) *
                              ldexp(1.0, -(int)(k % HVI_LINEAR_CURVES)) /
                              (double)times[k / HVI_LINEAR_CURVES];
  return s;
}

static void exact_runs_have_exact_slopes(void **state) {
  (void)state;
  hvi_linear_result s = made_up(0.0);
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
  hvi_linear_result_free(&s);
}

/* The delta method against many repetitions of the whole sample: over independent curves the slopes
 * spread as the interval of one says. */
static void intervals_are_as_wide_as_the_spread(void **state) {
  (void)state;
  hvi_linear_result s = made_up(0.5);
  double sum = 0.0, squares = 0.0, half = 0.0;
  for (size_t k = 0; k < HVI_LINEAR_CURVES; k++) {
    const hvi_estimate slope = hvi_linear_slope(&s, k, 0);
    sum += slope.value + 1.0;
    squares += (slope.value + 1.0) * (slope.value + 1.0);
    half += slope.half / HVI_LINEAR_CURVES;
  }
  const double n = HVI_LINEAR_CURVES, sd = sqrt((squares - sum * sum / n) / (n - 1.0));
  assert_true(half > 1.2 * sd);
  assert_true(half < 3.2 * sd); /* 1.96, give or take */
  assert_true(fabs(sum / n) < half);
  hvi_linear_result_free(&s);
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
  memcpy(goal, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
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
  assert_true(single > 0.1);
  assert_true(bellman > 0.01);
  assert_true(fabs(single - bellman) > 0.1);
  hvi_problem_free(p);
}

/* The shipped claims on results that hold: curves fall, and the limits are elsewhere. */
static double value(const hvi_cell *c, const char *table, const char *column, size_t line) {
  (void)c, (void)table;
  if (strcmp(column, "group") == 0)
    return line < HVI_LINEAR_VALUE ? 0 : line < HVI_LINEAR_GOAL ? 1 : 2;
  if (strcmp(column, "curve") == 0) return (double)line;
  if (strcmp(column, "fall") == 0 || strcmp(column, "slope") == 0) return -1.0;
  if (strcmp(column, "t") == 0) return 1000.0 * (double)(line + 1);
  return strcmp(column, "in_order") == 0 ? 1.0 : 0.1;
}

/* A row a curve, or a time: as many. */
static size_t lines(const char *table) {
  (void)table;
  return HVI_LINEAR_CURVES;
}

static void violations_are_found(void **state) {
  (void)state;
  static const struct {
    const char *claim;
    violation v;
  } cases[] = {
      {"surr-gd-to-exact-walk", {"summary", "fall_half", NULL, "kind", "walk", 1.1, 5}},
      {"surr-gd-to-exact-walk", {"summary", "slope", NULL, "kind", "walk", NAN, 1}},
      {"surr-gd-to-exact-blocks", {"summary", "slope_half", NULL, "kind", "blocks", 1.1, 3}},
      {"to-fixed-point-walk",
       {"summary", "slope_half", NULL, "kind", "walk", 1.1,
        1 + HVI_LINEAR_GOAL + HVI_LEARNER_LSPE}},
      {"more-steps-faster-walk", {"linear", "in_order", NULL, "kind", "walk", 0.0, 0}},
      {"more-steps-faster-blocks", {"linear", "in_order", NULL, "kind", "blocks", NAN, 0}},
      {"bellman-error-elsewhere-blocks",
       {"summary", "residual_limit", NULL, "kind", "blocks", 0.0, 0}},
      {"bellman-error-elsewhere-walk", {"summary", "bellman_limit", NULL, "kind", "walk", NAN, 0}},
  };
  check_planted("linear", value, lines, NULL, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_planted("linear", value, lines, &cases[i].v, cases[i].claim);
}

static hvi_status reproduce(const char *text, const char *out, size_t threads, hvi_claims *claims,
                            hvi_error *err) {
  hvi_study *s = NULL;
  bool stopped = true;
  const hvi_study_settings how = {.out = out, .threads = threads};
  hvi_status status = hvi_study_parse(&s, text, "test", err);
  if (!status) status = hvi_study_run(claims, &stopped, s, &how, err);
  assert_true(status || !stopped);
  hvi_study_free(s);
  return status;
}

static void a_small_experiment(void **state) {
  static const char text[] =
      "id: small\ntitle: t\nkind: linear\nproblem: chain\noptions: {data: trajectory}\n"
      "grid: {kind: [walk, blocks]}\nquick: {iterations: 3000, instances: 70}\n"
      "claims:\n"
      "  - id: walk-falls\n    text: The walk falls.\n"
      "    holds: >-\n"
      "      every(summary.slope + summary.slope_half < 0, summary.kind == 'walk'\n"
      "      and (summary.curve == 'lspe' or summary.curve == 'surr_10'))\n"
      "  - id: blocks-fall\n    text: t\n"
      "    holds: >-\n"
      "      every(summary.fall + summary.fall_half < 0 and summary.slope + summary.slope_half < "
      "0,\n"
      "      summary.kind == 'blocks' and summary.group == 'parameters')\n"
      "  - {id: blocks-in-order, text: t, holds: 'last(in_order, kind == \"blocks\") == 1'}\n"
      "  - {id: ends, text: t, holds: 'max(t) == 3000 and count(summary.slope) == 42'}\n";
  char *tables[2];
  hvi_error err;
  for (size_t threads = 1; threads <= 2; threads++) {
    hvi_claims c = {0};
    check_ok(reproduce(text, *state, threads, &c, &err), &err);
    assert_int_equal(c.count, 4);
    for (size_t i = 0; i < c.count; i++)
      if (c.items[i]->judgement != HVI_HOLDS) fail_msg("%s does not hold", c.items[i]->id);
    hvi_claims_clear(&c);
    tables[threads - 1] = slurp(in(*state, "small/small-walk.csv"));
  }
  assert_string_equal(tables[0], tables[1]);
  assert_int_equal(strncmp(tables[0], "t,theta_1,theta_1_low,theta_1_high,", 35), 0);
  assert_non_null(strstr(tables[0], "\n3000,"));
  hvi_free(tables[0]);
  hvi_free(tables[1]);
}

static void too_short_is_refused(void **state) {
  static const char text[] = "id: short\ntitle: t\nkind: linear\nproblem: chain\n"
                             "options: {data: trajectory}\nquick: {iterations: 100}\n";
  hvi_claims c = {0};
  hvi_error err;
  assert_int_equal(reproduce(text, *state, 1, &c, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "at least 1000 iterations"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_runs_have_exact_slopes),
      cmocka_unit_test(intervals_are_as_wide_as_the_spread),
      cmocka_unit_test(limits_are_in_closed_form),
      cmocka_unit_test(violations_are_found),
      cmocka_unit_test(a_small_experiment),
      cmocka_unit_test(too_short_is_refused),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
