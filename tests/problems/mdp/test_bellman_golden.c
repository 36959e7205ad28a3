/* Against numbers from SciPy: tests/golden/bellman.py made them. */
#include "support/check.h"

#include <hvi/mdp.h>
#include <hvi/solver.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct golden {
  char name[16];
  int number;
  size_t rows, columns;
  double x[2000];
} golden;

/* The next line of the file. */
static bool read_golden(FILE *f, golden *g) {
  if (fscanf(f, "%d,%15[^,],%zu,%zu", &g->number, g->name, &g->rows, &g->columns) != 4)
    return false;
  assert_true(g->rows * g->columns <= 2000);
  for (size_t i = 0; i < g->rows * g->columns; i++)
    assert_int_equal(fscanf(f, ",%lf", &g->x[i]), 1);
  return true; /* %d skips the end of the line */
}

/* The nine lines of a case, in the order in which they are written. */
enum { P, R, PHI, GAMMA, XI, V, THETA, CONSTANTS, STEPS, LINES };
static const char *const names[LINES] = {"P", "r",     "phi",       "gamma", "xi",
                                         "v", "theta", "constants", "steps"};

static void check_case(golden *const g) {
  const size_t n = g[P].rows, d = g[PHI].columns;
  const hvi_mdp_spec spec = {.states = n,
                             .transitions = g[P].x,
                             .reward = g[R].x,
                             .gamma = g[GAMMA].x[0],
                             .features = d,
                             .phi = g[PHI].x};
  hvi_mdp *m;
  hvi_problem *p;
  hvi_error err = {HVI_OK, ""};
  double x[64];
  check_ok(hvi_mdp_new(&m, &spec, &err), &err);
  check_close(hvi_mdp_law(m), g[XI].x, n, 1e-14);
  memcpy(x, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  check_close(x, g[V].x, n, 1e-11);
  memcpy(x, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  check_close(x, g[THETA].x, d, 1e-11);
  check_ok(hvi_mdp_problem_new(&p, m, &err), &err);
  hvi_constants c;
  check_ok(hvi_problem_constants(&c, p, &err), &err);
  check_near(c.mu, g[CONSTANTS].x[0], 1e-13);
  check_near(c.lipschitz, g[CONSTANTS].x[1], 1e-13);

  hvi_settings s = hvi_method_settings("gd");
  hvi_solver *solver;
  hvi_method_apply(&s, "gn", NULL);
  s.eta = 1.0;
  check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
  for (size_t t = 0; t < g[STEPS].rows; t++) {
    hvi_solver_step(solver);
    check_close(hvi_solver_info(solver).last.theta, g[STEPS].x + t * d, d, 1e-12);
  }
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

static void everything_agrees_with_scipy(void **state) {
  (void)state;
  FILE *f = fopen(HVI_SOURCE_DIR "/tests/golden/bellman.csv", "r");
  golden *g = calloc(LINES, sizeof *g);
  assert_true(f);
  assert_true(g);
  int cases = 0;
  for (; read_golden(f, &g[0]); cases++) {
    for (int k = 0; k < LINES; k++) {
      if (k > 0) assert_true(read_golden(f, &g[k]));
      assert_int_equal(g[k].number, cases);
      assert_string_equal(g[k].name, names[k]);
    }
    check_case(g);
  }
  assert_int_equal(cases, 4);
  free(g);
  fclose(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(everything_agrees_with_scipy)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
