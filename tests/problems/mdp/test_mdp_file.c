/* Processes from files: every format gives the same process, the documentation's example is right,
 * and each kind of bad file gets its one line. */
#include "support/bad_files.h"

#include "base/file.h"
#include "base/memory.h"

#include <hvi/builtin.h>
#include <hvi/mdp.h>
#include <hvi/solver.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DATA HVI_SOURCE_DIR "/tests/data/mdp/"

static hvi_problem *load(const char *path) {
  hvi_problem *p;
  hvi_error err = {HVI_OK, ""};
  check_ok(hvi_problem_load(&p, path, 1, 0, &err), &err);
  return p;
}

/* The numbers of the three-state example, by hand. */
static const double law[] = {0.25, 0.5, 0.25}, values[] = {1, 3, 17}, fixed[] = {-2, 8};

static void check_example(const hvi_problem *p) {
  const hvi_mdp *m = hvi_mdp_of(p);
  double v[3], theta[2];
  assert_non_null(m);
  check_close(hvi_mdp_law(m), law, 3, 1e-15);
  memcpy(v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  check_close(v, values, 3, 1e-13);
  memcpy(theta, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  check_close(theta, fixed, 2, 1e-13);
}

static void every_format_gives_the_same(void **state) {
  (void)state;
  static const char *const names[] = {"inline", "csv", "market", "npy"};
  for (size_t k = 0; k < 4; k++) {
    char path[4096];
    snprintf(path, sizeof path, DATA "good/%s.yaml", names[k]);
    hvi_problem *p = load(path);
    check_example(p);
    hvi_problem_free(p);
  }
}

static void starts_and_instances(void **state) {
  (void)state;
  hvi_problem *p = load(DATA "good/npy.yaml"), *q;
  const double start[] = {3, 4}, zero[] = {0, 0};
  check_close(p->theta0, start, 2, 0.0);
  hvi_problem_free(p);
  p = load(DATA "good/inline.yaml");
  check_close(p->theta0, zero, 2, 0.0);
  check_ok(hvi_problem_load(&q, DATA "good/inline.yaml", 1, 5, NULL), NULL);
  assert_true(q->theta0[0] != 0.0);
  assert_true(q->theta0[1] != 0.0);
  hvi_problem_free(p);
  hvi_problem_free(q);
}

static void tabular_and_trajectory(void **state) {
  (void)state;
  hvi_problem *p = load(DATA "good/tabular.yaml");
  assert_int_equal(p->model->dim, 3);
  check_close(p->solution, values, 3, 1e-13);
  assert_null(p->ops->draw);
  hvi_problem_free(p);
  p = load(DATA "good/trajectory.yaml");
  assert_non_null(p->ops->draw);
  assert_non_null(hvi_mdp_of(p));
  hvi_problem_free(p);
}

static void games_load_too(void **state) {
  (void)state;
  hvi_problem *p = load(HVI_SOURCE_DIR "/problems/rps.yaml");
  assert_int_equal(p->model->block_count, 2);
  assert_null(hvi_mdp_of(p));
  hvi_problem_free(p);
}

static hvi_status load_problem(hvi_problem **p, const char *path, hvi_error *err) {
  return hvi_problem_load(p, path, 0, 0, err);
}

static void bad_files_get_one_line(void **state) {
  (void)state;
  assert_true(check_bad_files(DATA "bad", load_problem) >= 49);
}

/* Writes text to a new file in a folder of its own. */
static void write_to(char *path, const char *folder, const char *name, const char *text) {
  hvi_error err;
  snprintf(path, 4096, "%s/%s", folder, name);
  check_ok(hvi_file_write_text(path, text, &err), &err);
}

static void a_million_columns(void **state) {
  (void)state;
  enum { COLUMNS = 1000000 };
  char folder[] = "/tmp/hvi_mdp_XXXXXX", path[4096], yaml[4096];
  assert_non_null(mkdtemp(folder));
  char *text = malloc(2 * COLUMNS + 64);
  assert_non_null(text);
  for (size_t i = 0; i < COLUMNS; i++) memcpy(text + 2 * i, "1,", 2);
  text[2 * COLUMNS - 1] = '\n';
  memcpy(text + 2 * COLUMNS, "1\n1\n", 5);
  write_to(yaml, folder, "p.yaml",
           "gamma: 0.5\ntransitions: [[.5, .5], [.5, .5]]\nrewards: [1, 2]\n"
           "features_file: wide.csv\n");
  hvi_problem *p;
  hvi_error err;
  /* one wide line and two narrow ones; then the wide one alone */
  write_to(path, folder, "wide.csv", text);
  check_error(hvi_problem_load(&p, yaml, 0, 0, &err), HVI_ERROR_INPUT, &err,
              "1 field, and the first line has 1000000");
  text[2 * COLUMNS] = '\0';
  write_to(path, folder, "wide.csv", text);
  check_error(hvi_problem_load(&p, yaml, 0, 0, &err), HVI_ERROR_INPUT, &err,
              "1 x 1000000 numbers; expected 2 x 1000000");
  unlink(path);
  unlink(yaml);
  rmdir(folder);
  free(text);
}

static void unreadable_files(void **state) {
  (void)state;
  hvi_problem *p;
  hvi_mdp *m;
  hvi_error err;
  check_error(hvi_problem_load(&p, DATA "none.yaml", 0, 0, &err), HVI_ERROR_IO, &err, "none.yaml");
  check_error(hvi_problem_load(&p, NULL, 0, 0, &err), HVI_ERROR_ARGUMENT, &err, "null");
  check_error(hvi_mdp_load(&m, NULL, &err), HVI_ERROR_ARGUMENT, &err, "null");
  check_error(hvi_mdp_load(&m, DATA "bad/row_sum.yaml", &err), HVI_ERROR_INPUT, &err, "row 2");
  check_ok(hvi_mdp_load(&m, DATA "good/csv.yaml", &err), &err);
  hvi_mdp_free(m);
}

/* The text between two marks of the documentation, as a copy. */
static char *cut(const char *text, const char *begin, const char *end) {
  const char *first = strstr(text, begin);
  assert_non_null(first);
  first += strlen(begin);
  const char *last = strstr(first, end);
  assert_non_null(last);
  char *copy = strndup(first, (size_t)(last - first) + 1);
  assert_non_null(copy);
  return copy;
}

/* The numbers (or fractions) behind a label in the documentation's block of results. */
static void labelled(const char *block, const char *label, double *x, size_t n) {
  const char *at = strstr(block, label);
  assert_non_null(at);
  at += strlen(label);
  for (size_t i = 0; i < n; i++) {
    char *end;
    x[i] = strtod(at, &end);
    assert_true(end != at);
    if (*end == '/') x[i] /= strtod(end + 1, &end);
    at = end;
  }
}

static void the_documented_example_is_right(void **state) {
  (void)state;
  char *docs, *yaml, *block, folder[] = "/tmp/hvi_mdp_XXXXXX", path[4096];
  hvi_error err;
  check_ok(hvi_file_read_text(&docs, HVI_SOURCE_DIR "/docs/mdp-files.md", 1 << 20, &err), &err);
  const char *section = strstr(docs, "## Three states by hand");
  assert_non_null(section);
  yaml = cut(section, "```yaml\n", "\n```");
  block = cut(strstr(section, "**Constants.**"), "```\n", "\n```");
  assert_non_null(mkdtemp(folder));
  write_to(path, folder, "p.yaml", yaml);
  hvi_problem *p = load(path), *shipped = load(HVI_SOURCE_DIR "/problems/three-states.yaml");
  check_example(p);
  check_example(shipped);

  double x[3], v[3], theta[2];
  const hvi_mdp *m = hvi_mdp_of(p);
  labelled(block, "law", x, 3);
  check_close(hvi_mdp_law(m), x, 3, 1e-15);
  labelled(block, "true values", x, 3);
  memcpy(v, hvi_mdp_true_values(m), hvi_mdp_states(m) * sizeof(double));
  check_close(v, x, 3, 1e-13);
  labelled(block, "fixed point theta", x, 2);
  memcpy(theta, hvi_mdp_fixed_point(m), hvi_mdp_features(m) * sizeof(double));
  check_close(theta, x, 2, 1e-13);
  labelled(block, "fixed point z", x, 3);
  check_close(p->solution, x, 3, 1e-13);
  hvi_constants c;
  check_ok(hvi_problem_constants(&c, p, &err), &err);
  labelled(block, "mu", x, 1);
  check_near(c.mu, x[0], 1e-14);
  labelled(block, "\nL", x, 1);
  check_near(c.lipschitz, x[0], 1e-14);

  hvi_settings s = hvi_method_settings("gd");
  hvi_method_apply(&s, "gn", NULL);
  s.eta = p->eta;
  hvi_solver *solver;
  check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
  hvi_solver_step(solver);
  labelled(block, "first step theta", x, 2);
  check_close(hvi_solver_info(solver).last.theta, x, 2, 1e-13);
  hvi_solver_free(solver);

  unlink(path);
  rmdir(folder);
  hvi_problem_free(p);
  hvi_problem_free(shipped);
  hvi_free(docs);
  free(yaml);
  free(block);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_format_gives_the_same),
      cmocka_unit_test(starts_and_instances),
      cmocka_unit_test(tabular_and_trajectory),
      cmocka_unit_test(games_load_too),
      cmocka_unit_test(bad_files_get_one_line),
      cmocka_unit_test(a_million_columns),
      cmocka_unit_test(unreadable_files),
      cmocka_unit_test(the_documented_example_is_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
