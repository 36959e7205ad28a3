/* The baselines against their formulas, step by step. */
#include "support/solve.h"

enum { STEPS = 100 };

static trace rows;

typedef struct memory {
  double last[TRACE_SIZE], m[TRACE_SIZE], v[TRACE_SIZE];
  int k;
} memory;

typedef void (*baseline_step)(const hvi_problem *p, double h, double *theta, memory *kept);

static void vector_field(const hvi_problem *p, const double *theta, double *V) {
  field at;
  field_at(p, theta, &at);
  pull_back(p->model, at.J, at.f, V);
}

static void extragradient(const hvi_problem *p, double h, double *theta, memory *kept) {
  double V[TRACE_SIZE], ahead[TRACE_SIZE];
  (void)kept;
  vector_field(p, theta, V);
  for (size_t i = 0; i < p->model->dim; i++) ahead[i] = theta[i] - h * V[i];
  vector_field(p, ahead, V);
  for (size_t i = 0; i < p->model->dim; i++) theta[i] -= h * V[i];
}

static void optimistic(const hvi_problem *p, double h, double *theta, memory *kept) {
  double V[TRACE_SIZE];
  vector_field(p, theta, V);
  if (kept->k++ == 0) memcpy(kept->last, V, sizeof V);
  for (size_t i = 0; i < p->model->dim; i++) theta[i] -= h * (2.0 * V[i] - kept->last[i]);
  memcpy(kept->last, V, sizeof V);
}

static void alternating(const hvi_problem *p, double h, double *theta, memory *kept) {
  double V[TRACE_SIZE];
  (void)kept;
  for (size_t k = 0; k < p->model->block_count; k++) {
    const hvi_block *b = &p->model->blocks[k];
    vector_field(p, theta, V);
    for (size_t i = b->theta; i < b->theta + b->dim; i++) theta[i] -= h * V[i];
  }
}

static void adam(const hvi_problem *p, double h, double *theta, memory *kept) {
  double V[TRACE_SIZE];
  vector_field(p, theta, V);
  kept->k++;
  for (size_t i = 0; i < p->model->dim; i++) {
    kept->m[i] = 0.9 * kept->m[i] + 0.1 * V[i];
    kept->v[i] = 0.999 * kept->v[i] + 0.001 * V[i] * V[i];
    const double mean = kept->m[i] / (1 - pow(0.9, kept->k));
    theta[i] -= h * mean / (sqrt(kept->v[i] / (1 - pow(0.999, kept->k))) + 1e-8);
  }
}

/* F evaluations and model passes a step; the last of either also serve the next step. */
static void check_baseline(const char *name, baseline_step step, size_t evaluations,
                           size_t passes) {
  for (int game = 0; game < 2; game++) {
    hvi_problem *p = game ? builtin("rps", 1) : builtin("pennies", 0);
    hvi_settings s = settings_for(name, 0.1, STEPS);
    double theta[TRACE_SIZE];
    memory kept = {.k = 0};
    s.inner.lr = 0.5;
    hvi_solver *solver = solve_traced(p, s, &rows);
    assert_int_equal(rows.count, STEPS + 1);
    memcpy(theta, p->theta0, p->model->dim * sizeof *theta);
    for (size_t t = 0; t <= STEPS; t++) {
      check_close(rows.theta[t], theta, p->model->dim, 1e-11);
      step(p, 0.05, theta, &kept);
      assert_true(isnan(rows.rows[t].loss));
      assert_true(isnan(rows.rows[t].alpha));
    }
    const hvi_counts *counts = &rows.rows[STEPS].counts;
    assert_int_equal(counts->f_evals, 1 + STEPS * evaluations);
    assert_true(counts->model_passes <= 1 + STEPS * passes);
    assert_true(isnan(hvi_solver_info(solver).alpha_worst)); /* there is none */
    hvi_solver_free(solver);
    hvi_problem_free(p);
  }
}

static void extragradient_is_its_formula(void **state) {
  (void)state;
  check_baseline("extragradient", extragradient, 2, 2);
}

static void optimistic_gda_is_its_formula(void **state) {
  (void)state;
  check_baseline("ogda", optimistic, 1, 1);
}

static void alternating_gda_is_its_formula(void **state) {
  (void)state;
  check_baseline("agda", alternating, 2, 2);
}

static void adam_gda_is_its_formula(void **state) {
  (void)state;
  check_baseline("adam-gda", adam, 1, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(extragradient_is_its_formula),
      cmocka_unit_test(optimistic_gda_is_its_formula),
      cmocka_unit_test(alternating_gda_is_its_formula),
      cmocka_unit_test(adam_gda_is_its_formula),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
