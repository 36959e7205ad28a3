/*
 * What an outer step costs, counted by the model and by F themselves: nothing is evaluated twice,
 * and the record says what happened.
 */
#include "support/solve.h"

enum { STEPS = 50, SEEN = 20000 };

/* A model that watches another one: how often it is evaluated, and whether ever twice at one theta.
 */
typedef struct watched {
  hvi_model base;
  const hvi_model *inside;
} watched;

static struct {
  size_t evaluations, repeats, operations;
  double thetas[SEEN][TRACE_SIZE];
} seen;

static void watch_eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const hvi_model *inside = ((const watched *)m)->inside;
  for (size_t i = 0; i < seen.evaluations; i++)
    seen.repeats += memcmp(seen.thetas[i], theta, m->dim * sizeof *theta) == 0;
  assert_true(seen.evaluations < SEEN);
  memcpy(seen.thetas[seen.evaluations++], theta, m->dim * sizeof *theta);
  inside->ops->eval(inside, cache, theta, z);
}

static void watch_vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                      double *out) {
  const hvi_model *inside = ((const watched *)m)->inside;
  inside->ops->vjp(inside, cache, theta, u, out);
}

static void watch_jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                      double *out) {
  const hvi_model *inside = ((const watched *)m)->inside;
  inside->ops->jvp(inside, cache, theta, v, out);
}

static const hvi_model *watch_player(const hvi_model *m, size_t k) {
  const hvi_model *inside = ((const watched *)m)->inside;
  return inside->ops->player(inside, k);
}

static const hvi_model_ops watched_ops = {.name = "watched",
                                          .eval = watch_eval,
                                          .vjp = watch_vjp,
                                          .jvp = watch_jvp,
                                          .player = watch_player};

/* The problem under watch, a shallow copy with a model and an F of its own. */
typedef struct watch {
  hvi_problem base;
  const hvi_problem *inside;
  watched model;
} watch;

static void watch_operate(const hvi_problem *p, const void *sample, const double *theta,
                          const double *z, double *f) {
  const hvi_problem *inside = ((const watch *)p)->inside;
  seen.operations++;
  inside->ops->operate(inside, sample, theta, z, f);
}

static void watch_init(watch *w, const hvi_problem *p) {
  static const hvi_problem_ops ops = {.name = "watched", .operate = watch_operate};
  w->base = *p;
  w->inside = p;
  w->model.base = *p->model;
  w->model.base.ops = &watched_ops;
  w->model.inside = p->model;
  w->base.model = &w->model.base;
  w->base.ops = &ops;
  seen.evaluations = seen.repeats = seen.operations = 0;
}

static hvi_counts run_watched(const char *game, hvi_settings s) {
  hvi_problem *p = builtin(game, strcmp(game, "rps") == 0);
  watch w;
  watch_init(&w, p);
  hvi_solver *solver = solver_for(&w.base, &s);
  hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  assert_int_equal(info.last.outer, STEPS);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return info.last.counts;
}

/* One F an outer step and one pass an inner step, besides one of each at the start. */
static void a_first_order_step_costs_one_pass(void **state) {
  (void)state;
  static const char *const names[] = {"gd", "momentum", "adam", "adamw"};
  static const size_t inner[] = {1, 10};
  for (size_t i = 0; i < 16; i++) {
    const size_t steps = inner[i / 4 % 2];
    hvi_settings s = settings_for(names[i % 4], 0.05, STEPS);
    s.inner_steps = steps;
    s.inner.lr = 0.1;
    const hvi_counts counts = run_watched(i / 8 ? "rps" : "pennies", s);
    assert_int_equal(seen.repeats, 0);
    assert_int_equal(seen.operations, 1 + STEPS);
    assert_int_equal(seen.evaluations, 1 + STEPS * steps);
    assert_int_equal(counts.f_evals, seen.operations);
    assert_int_equal(counts.model_passes, seen.evaluations);
    assert_int_equal(counts.grad_evals, STEPS * steps);
    assert_int_equal(counts.env_steps, 0);
  }
}

/* Second-order steps pay for the Jacobian on top: a product per output on rps, one on pennies. */
static void a_second_order_step_adds_the_jacobian(void **state) {
  (void)state;
  static const char *const names[] = {"gn", "dgn", "lm"};
  for (size_t i = 0; i < 6; i++) {
    hvi_settings s = settings_for(names[i % 3], 0.02, STEPS);
    s.inner.damping = 0.1;
    const hvi_counts counts = run_watched(i / 3 ? "rps" : "pennies", s);
    assert_int_equal(seen.repeats, 0);
    assert_int_equal(seen.operations, 1 + STEPS);
    assert_int_equal(seen.evaluations, 1 + STEPS);
    assert_int_equal(counts.model_passes, seen.evaluations);
    assert_int_equal(counts.grad_evals, (i / 3 ? 3 : 1) * STEPS);
  }
}

/* Targets, floors of Z and the alpha test cost nothing. */
static void options_of_the_loop_cost_no_evaluation(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    hvi_settings s = settings_for("gd", 0.02, STEPS);
    s.inner_steps = 4;
    if (i == 0) s.target = HVI_TARGET_OPTIMISTIC;
    if (i == 1) s.target = HVI_TARGET_AVERAGED;
    if (i == 2) s.floor = HVI_FLOOR_KNOWN;
    run_watched("pennies", s);
    assert_int_equal(seen.repeats, 0);
    assert_int_equal(seen.operations, 1 + STEPS);
    assert_int_equal(seen.evaluations, 1 + STEPS * 4);
  }
}

static void baselines_repeat_nothing(void **state) {
  (void)state;
  static const char *const names[] = {"extragradient", "ogda", "adam-gda"};
  for (size_t i = 0; i < 3; i++) {
    const hvi_counts counts = run_watched("pennies", settings_for(names[i], 0.05, STEPS));
    assert_int_equal(seen.repeats, 0);
    assert_int_equal(counts.model_passes, seen.evaluations);
    assert_int_equal(counts.f_evals, seen.operations);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_first_order_step_costs_one_pass),
      cmocka_unit_test(a_second_order_step_adds_the_jacobian),
      cmocka_unit_test(options_of_the_loop_cost_no_evaluation),
      cmocka_unit_test(baselines_repeat_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
