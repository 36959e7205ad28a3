/*
 * Targets that look further ahead, against means of n-step targets, each a sum of its own; and the
 * level that they are tested for.
 */
#include "problems/value/rows.h"

enum { BATCH = 20 };

/* Whether row i + 1 is the step after row i. */
static bool goes_on(const rows *r, size_t i) {
  return i + 1 < ROWS && !r->terminated[i] && !r->truncated[i] &&
         memcmp(r->obs + (i + 1) * OBS, r->next + i * OBS, OBS * sizeof *r->obs) == 0;
}

/* Rewards of n steps from row i on, and the value that comes after them. */
static double n_steps(const rows *r, double gamma, const double *after, size_t i, size_t n) {
  double sum = 0.0;
  for (size_t k = 0; k < n; k++) sum += pow(gamma, (double)k) * (double)r->reward[i + k];
  const size_t last = i + n - 1;
  return sum + (r->terminated[last] ? 0.0 : pow(gamma, (double)n) * after[last]);
}

/* (1 - lambda) sum over n of lambda^{n-1} times the n-step target; the last has what is left. */
static double mean_of_steps(const rows *r, const hvi_value_spec *s, const double *after, size_t i,
                            size_t end) {
  double sum = 0.0, weight = 1.0;
  size_t n = 1;
  for (; i + n < end && goes_on(r, i + n - 1); n++) {
    sum += (1.0 - s->lambda) * weight * n_steps(r, s->gamma, after, i, n);
    weight *= s->lambda;
  }
  return sum + weight * n_steps(r, s->gamma, after, i, n);
}

static void targets_are_means_over_numbers_of_steps(void **state) {
  (void)state;
  static const double lambdas[] = {0.3, 0.9, 1.0};
  static rows r;
  static double after[ROWS];
  hvi_value_spec spec = small_spec(fill_rows(&r, 1, 0.05), BATCH);
  for (size_t variant = 0; variant < 3; variant++) {
    double z[2 * BATCH], f[2 * BATCH];
    if (variant == 1) r.obs[7 * OBS] += 1.0F; /* of another episode, whatever the flags say */
    size_t longest = 0;
    spec.lambda = lambdas[variant];
    spec.buffer = variant == 2 ? 1 : 0;
    hvi_problem *p = value_problem(&spec);
    hvi_value_sample *s = new_sample(p);
    reference_pass(hvi_value_of(p), r.next, 0, ROWS, p->theta0, after, NULL, NULL);
    for (size_t t = 0; t < 2; t++) {
      draw_next(p, s, 1);
      field_of(p, s, z, f);
      const size_t first = s->row[0];
      for (size_t i = 0, run = 0; i < BATCH; i++) {
        const double y = mean_of_steps(&r, &spec, after, first + i, first + BATCH);
        check_near(f[i], (z[i] - y) / BATCH, 2e-6);
        run = goes_on(&r, first + i) ? run + 1 : 0;
        longest = run > longest ? run : longest;
      }
    }
    assert_true(longest > 5);
    assert_null(p->ops->rules);
    free(s);
    hvi_problem_free(p);
  }
}

/* sum t_i F_i of lambda is sum w_i F_i of one step, whatever z: the level has one equation. */
static void the_level_is_tested_alike_for_every_lambda(void **state) {
  (void)state;
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 5, 0.05), BATCH);
  hvi_problem *p = value_problem(&spec);
  hvi_value_sample *s = new_sample(p);
  for (size_t t = 0; t < ROWS / BATCH; t++) {
    double z[BATCH], f[BATCH], u[BATCH], df[BATCH], test[BATCH];
    draw_next(p, s, 1);
    field_of(p, s, z, f);
    p->ops->slow_mode(p, s, u, df, test);
    const double wanted = dot(test, f, BATCH), slope = dot(test, df, BATCH);
    for (double lambda = 0.25; lambda <= 1.0; lambda += 0.25) {
      spec.lambda = lambda;
      hvi_problem *q = value_problem(&spec);
      field_of(q, s, z, f);
      q->ops->slow_mode(q, s, u, df, test);
      check_near(dot(test, f, BATCH), wanted, 1e-6);
      check_near(dot(test, df, BATCH), slope, 1e-12);
      hvi_problem_free(q);
    }
    spec.lambda = 0.0;
  }
  free(s);
  hvi_problem_free(p);
}

/* 0.8 looks 4 steps further on average; at half of that it is 2/3, at a third of it 4/7. */
static void it_fades_from_draw_to_draw(void **state) {
  (void)state;
  static const double wanted[] = {0.8, 2.0 / 3.0, 4.0 / 7.0};
  static rows r;
  hvi_value_spec spec = small_spec(fill_rows(&r, 6, 0.05), BATCH);
  for (size_t t = 0; t < 3; t++) {
    double z[BATCH], f[BATCH], g[BATCH];
    spec.lambda = wanted[t];
    spec.lambda_decay = 0.0;
    hvi_problem *p = value_problem(&spec);
    spec.lambda = 0.8;
    spec.lambda_decay = 1.0;
    spec.first = t; /* one that goes on there */
    hvi_problem *q = value_problem(&spec);
    spec.first = 0;
    hvi_value_sample *s = new_sample(p), *other = new_sample(q);
    for (size_t k = 0; k <= t; k++) draw_next(p, s, 1);
    draw_next(q, other, 1);
    field_of(p, s, z, f);
    field_of(q, other, z, g);
    check_close(g, f, BATCH, 1e-15);
    free(s);
    free(other);
    hvi_problem_free(p);
    hvi_problem_free(q);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(targets_are_means_over_numbers_of_steps),
      cmocka_unit_test(the_level_is_tested_alike_for_every_lambda),
      cmocka_unit_test(it_fades_from_draw_to_draw),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
