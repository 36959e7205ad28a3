/* The tables hold exactly the rows of P, dense or sparse, and draws follow them. */
#include "chains.h"

#include "problems/mdp/mdp.h"
#include "problems/mdp/trajectory.h"

/* The probability of each successor that a state's columns add up to. */
static void read_back(double *p, const hvi_alias *a, size_t state) {
  const size_t first = a->start[state], m = a->start[state + 1] - first;
  for (size_t j = 0; j < a->states; j++) p[j] = 0.0;
  for (size_t k = 0; k < m; k++) {
    const hvi_alias_column *c = &a->columns[first + k];
    assert_true(c->keep >= 0.0);
    assert_true(c->keep <= 1.0);
    p[c->own] += c->keep / (double)m;
    p[c->instead] += (1.0 - c->keep) / (double)m;
  }
}

static void random_rows(double *P, size_t n) {
  hvi_rng rng = hvi_rng_new(1, "rows", n);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) {
      const double x = hvi_rng_uniform(&rng);
      sum += P[i * n + j] = i == j || x < 0.4 ? pow(x + 1e-9, 3) : 0.0;
    }
    for (size_t j = 0; j < n; j++) P[i * n + j] /= sum;
  }
}

static void tables_hold_the_rows(void **state) {
  (void)state;
  enum { N = 40 };
  static double P[N * N], row[N], value[N * N];
  static size_t start[N + 1];
  static uint32_t column[N * N];
  random_rows(P, N);
  for (size_t i = 0; i < N; i++) {
    start[i + 1] = start[i];
    for (size_t j = 0; j < N; j++) {
      if (P[i * N + j] == 0.0) continue;
      column[start[i + 1]] = (uint32_t)j;
      value[start[i + 1]++] = P[i * N + j];
    }
  }
  const hvi_mdp dense = {.n = N, .P = P};
  const hvi_mdp sparse = {.n = N, .sparse = {N, N, start, column, value}};
  hvi_alias a, b;
  hvi_error err;
  check_ok(hvi_alias_new(&a, &dense, &err), &err);
  check_ok(hvi_alias_new(&b, &sparse, &err), &err);
  for (size_t i = 0; i < N; i++) {
    read_back(row, &a, i);
    check_close(row, P + i * N, N, 1e-14);
  }
  assert_int_equal(a.start[N], b.start[N]);
  for (size_t k = 0; k < a.start[N]; k++) {
    check_near(a.columns[k].keep, b.columns[k].keep, 0.0);
    assert_int_equal(a.columns[k].own, b.columns[k].own);
    assert_int_equal(a.columns[k].instead, b.columns[k].instead);
  }
  hvi_alias_free(&a);
  hvi_alias_free(&b);
}

/* The ends of [0, 1) stay inside the row, whatever its length. */
static void ends_stay_inside(void **state) {
  (void)state;
  for (size_t n = 1; n <= 300; n++) {
    double *P = calloc(n * n, sizeof *P);
    for (size_t k = 0; k < n * n; k++) P[k] = 1.0 / (double)n;
    const hvi_mdp m = {.n = n, .P = P};
    hvi_alias a;
    hvi_error err;
    check_ok(hvi_alias_new(&a, &m, &err), &err);
    assert_int_equal(hvi_alias_next(&a, 0, 0.0), 0);
    assert_int_equal(hvi_alias_next(&a, n - 1, 1.0 - 0x1p-53), n - 1);
    hvi_alias_free(&a);
    free(P);
  }
}

static void draws_follow_the_row(void **state) {
  (void)state;
  double P[9] = {0.0, 0.25, 0.75, 1.0, 0.0, 0.0, 0.5, 0.1, 0.4}, seen[3] = {0};
  const hvi_mdp m = {.n = 3, .P = P};
  hvi_alias a;
  hvi_error err;
  check_ok(hvi_alias_new(&a, &m, &err), &err);
  hvi_rng rng = hvi_rng_new(1, "draws", 0);
  for (size_t i = 0; i < 100000; i++) seen[hvi_alias_next(&a, 2, hvi_rng_uniform(&rng))] += 1e-5;
  check_close(seen, P + 6, 3, 0.006); /* four standard deviations */
  for (size_t i = 0; i < 1000; i++) {
    assert_int_not_equal(hvi_alias_next(&a, 0, hvi_rng_uniform(&rng)), 0);
    assert_int_equal(hvi_alias_next(&a, 1, hvi_rng_uniform(&rng)), 0);
  }
  hvi_alias_free(&a);
}

static void a_row_without_successors_is_refused(void **state) {
  (void)state;
  double P[4] = {0.5, 0.5, 0.0, 0.0};
  const hvi_mdp m = {.n = 2, .P = P};
  hvi_alias a;
  hvi_error err;
  assert_int_equal(hvi_alias_new(&a, &m, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "row 2"));
  assert_null(a.columns);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_hold_the_rows),
      cmocka_unit_test(ends_stay_inside),
      cmocka_unit_test(draws_follow_the_row),
      cmocka_unit_test(a_row_without_successors_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
