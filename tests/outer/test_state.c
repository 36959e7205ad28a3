/* A solve that is saved, thrown away and taken up again ends in the same bits. */
#include "support/solve.h"

#include "outer/solver.h"

enum { STEPS = 30, CUT = 13, OUT = 6 };

/* F(z) = z - draw, the draw being a sum of all numbers drawn so far: a sample with a past. */
typedef struct walk {
  hvi_problem base;
  hvi_set set;
  double theta0[OUT];
} walk;

typedef struct position {
  size_t draws;
  double noise[OUT];
} position;

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)p, (void)theta;
  const position *at = sample;
  for (size_t i = 0; i < OUT; i++) f[i] = z[i] - (at ? at->noise[i] + (double)at->draws : 0.0);
}

static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)p, (void)theta;
  position *at = sample;
  at->draws++;
  hvi_rng_fill_normal(rng, 0.0, 1.0, OUT, at->noise);
}

static void seek(const hvi_problem *p, void *sample, size_t draws) {
  (void)p;
  ((position *)sample)->draws = draws;
}

static const hvi_problem_ops with_seek = {
    .name = "walk", .operate = operate, .draw = draw, .seek = seek};
static const hvi_problem_ops without_seek = {.name = "walk", .operate = operate, .draw = draw};

static void constant_mode(const hvi_problem *p, const void *sample, double *u, double *df,
                          double *test) {
  (void)p, (void)sample;
  for (size_t i = 0; i < OUT; i++) u[i] = df[i] = test[i] = 1.0;
}

static void lift(const hvi_problem *p, double *theta, double c) {
  (void)p;
  for (size_t i = 0; i < OUT; i++) theta[i] += c;
}

static const hvi_problem_ops with_lift = {.name = "walk",
                                          .operate = operate,
                                          .draw = draw,
                                          .seek = seek,
                                          .slow_mode = constant_mode,
                                          .lift = lift};

/* g(theta) = own theta + the rest of theta's mean: a constant stays one, to rounding. */
static void walk_init(walk *w, double own) {
  double matrix[OUT * OUT];
  hvi_error err;
  for (size_t i = 0; i < OUT; i++)
    for (size_t j = 0; j < OUT; j++) matrix[i * OUT + j] = (1.0 - own) / OUT + (i == j ? own : 0.0);
  *w = (walk){.set = {.kind = HVI_SET_FREE, .len = OUT}};
  w->base = (hvi_problem){.ops = &with_seek,
                          .theta0 = w->theta0,
                          .sample_bytes = sizeof(position),
                          .draw_steps = 3,
                          .set_count = 1,
                          .sets = &w->set};
  check_ok(hvi_affine_new(&w->base.model, OUT, OUT, matrix, NULL, &err), &err);
}

static hvi_solver *begin(const hvi_problem *p, const hvi_settings *s) {
  hvi_solver *solver = NULL;
  hvi_error err;
  check_ok(hvi_solver_new(&solver, p, s, &err), &err);
  return solver;
}

/* The state after CUT steps goes into a new solver. */
static hvi_solver *take_up(const hvi_problem *p, const hvi_settings *s, size_t cut) {
  hvi_solver *first = begin(p, s);
  for (size_t k = 0; k < cut; k++) hvi_solver_step(first);
  double *state = calloc(hvi_solver_state(first), sizeof *state);
  assert_non_null(state);
  hvi_solver_save(first, state);
  hvi_solver_free(first);
  hvi_solver *second = begin(p, s);
  hvi_error err;
  check_ok(hvi_solver_restore(second, state, &err), &err);
  free(state);
  return second;
}

/* All that is saved, the clock apart. */
static void check_same_state(hvi_solver *a, hvi_solver *b) {
  const size_t count = hvi_solver_state(a);
  double *x = calloc(2 * count, sizeof *x), *y = x + count;
  assert_non_null(x);
  hvi_solver_save(a, x);
  hvi_solver_save(b, y);
  size_t differ = 0;
  for (size_t i = 0; i < count; i++) differ += memcmp(x + i, y + i, sizeof *x) != 0;
  free(x);
  assert_true(differ <= 1);
}

static void check_cut(const hvi_problem *p, const hvi_settings *s, size_t cut) {
  hvi_solver *whole = begin(p, s), *parts = take_up(p, s, cut);
  assert_int_equal(hvi_solver_run(whole), hvi_solver_run(parts));
  const hvi_info x = hvi_solver_info(whole), y = hvi_solver_info(parts);
  check_same_bits(x.last.theta, y.last.theta, p->model->dim);
  check_same_bits(x.last.z, y.last.z, p->model->out);
  check_same_bits(x.best_theta, y.best_theta, p->model->dim);
  check_same_bits(&x.last.loss0, &y.last.loss0, 5); /* loss0, loss, ratio, alpha, dist2 */
  assert_memory_equal(&x.last.counts, &y.last.counts, sizeof x.last.counts);
  assert_int_equal(x.inner_total, y.inner_total);
  check_same_state(whole, parts);
  hvi_solver_free(whole);
  hvi_solver_free(parts);
}

static void every_method_goes_on(void **state) {
  (void)state;
  static const char *const problems[] = {"pennies", "rps", "chain"};
  static const char *const methods[] = {"gd", "momentum", "adamw",         "gn",
                                        "lm", "adam-gda", "extragradient", "ogda"};
  for (size_t i = 0; i < 3; i++) {
    hvi_problem *p = builtin(problems[i], 0);
    for (size_t j = 0; j < 8; j++) {
      hvi_settings s = settings_for(methods[j], 0.05, STEPS);
      s.inner_steps = 3;
      s.keep_state = true;
      s.stall_window = 7;
      s.eta_decay = 0.01;
      s.inner_lr_decay = 0.02;
      check_cut(p, &s, CUT);
    }
    hvi_problem_free(p);
  }
}

static void targets_with_a_past_go_on(void **state) {
  (void)state;
  hvi_problem *p = builtin("chain", 0);
  hvi_settings s = settings_for("gd", 0.5, STEPS);
  s.target = HVI_TARGET_OPTIMISTIC;
  check_cut(p, &s, CUT);
  s.target = HVI_TARGET_AVERAGED;
  s.average = 5;
  check_cut(p, &s, 3);
  s.target = HVI_TARGET_PLAIN;
  s.accelerate = HVI_ACCELERATE_MODE;
  check_cut(p, &s, CUT);
  hvi_problem_free(p);
}

static void samples_are_drawn_again(void **state) {
  (void)state;
  walk w;
  walk_init(&w, 1.0);
  for (size_t every = 1; every < 4; every++) {
    hvi_settings s = settings_for("momentum", 0.3, STEPS);
    s.redraw_every = every;
    s.keep_state = true;
    check_cut(&w.base, &s, CUT);
    check_cut(&w.base, &s, 0);
    s.target = HVI_TARGET_AVERAGED;
    s.average = 4;
    check_cut(&w.base, &s, CUT);
  }
  hvi_problem_free(&w.base);
}

static bool no_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  (void)s, (void)state, (void)l;
  return false;
}

/* A lifted iterate that no inner step follows: its z is that of its theta to the last bit. */
static void a_lift_without_a_step_goes_on(void **state) {
  (void)state;
  walk w;
  walk_init(&w, 0.3);
  w.base.ops = &with_lift;
  hvi_settings s = settings_for("gd", 0.3, STEPS);
  hvi_optimizer refusing = *s.optimizer;
  refusing.step = no_step;
  s.optimizer = &refusing;
  s.accelerate = HVI_ACCELERATE_MODE;
  for (size_t cut = 1; cut < CUT; cut++) check_cut(&w.base, &s, cut);
  hvi_problem_free(&w.base);
}

/* Without seek the sample itself is saved. */
static void samples_without_seek_are_kept(void **state) {
  (void)state;
  walk w;
  walk_init(&w, 1.0);
  w.base.ops = &without_seek;
  for (size_t every = 1; every < 4; every++) {
    hvi_settings s = settings_for("momentum", 0.3, STEPS);
    s.redraw_every = every;
    for (size_t cut = 0; cut < 5; cut++) check_cut(&w.base, &s, cut);
  }
  hvi_problem_free(&w.base);
}

/* Draws that depend on theta (a mean that answers), on the past (a trajectory), on both. */
static void sampled_problems_go_on(void **state) {
  (void)state;
  const hvi_option data = {"data", "trajectory"}, draws = {"growth", "0.5"};
  const struct {
    const char *name;
    const hvi_option *option;
    size_t options;
  } cases[] = {{"chain", &data, 1}, {"performative-mean", &draws, 1}, {"credit", NULL, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t every = 1; every < 4; every++) {
      hvi_problem *p = NULL;
      hvi_error err;
      check_ok(hvi_builtin_new(&p, cases[i].name, cases[i].option, cases[i].options, 1, 0, &err),
               &err);
      hvi_settings s = settings_for("gd", 0.5, STEPS);
      s.redraw_every = every;
      check_cut(p, &s, CUT);
      check_cut(p, &s, CUT + 1);
      hvi_problem_free(p);
    }
}

/* What it chose, its steps and its new starts are part of the state. */
static void method_auto_goes_on(void **state) {
  (void)state;
  static const char *const problems[] = {"pennies", "rps", "quadratic", "performative-linear"};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
    for (uint64_t instance = 0; instance < 4; instance++) {
      hvi_problem *p = builtin(problems[i], instance);
      hvi_settings s = hvi_settings_defaults();
      s.max_outer = 60;
      hvi_solver *solver = begin(p, &s);
      hvi_solver_run(solver);
      const size_t steps = hvi_solver_info(solver).last.outer;
      hvi_solver_free(solver);
      for (size_t cut = 0; cut < steps; cut += 3) check_cut(p, &s, cut);
      hvi_problem_free(p);
    }
}

/* Counts, words of generators, and inner steps that no start asks for. */
static void a_state_without_sense_is_refused(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  const hvi_settings s = settings_for("gd", 0.3, STEPS);
  hvi_solver *solver = begin(p, &s);
  double *row = calloc(hvi_solver_state(solver), sizeof *row);
  assert_non_null(row);
  enum { RNG = 22, THETA = 44 };
  const size_t more = THETA + p->model->dim + HVI_FILTER_DOUBLES + HVI_ADAPTATION_DOUBLES - 1;
  const double far = HVI_FAR_STEPS * (double)s.inner_steps;
  const struct {
    size_t at;
    double value;
  } bad[] = {{0, NAN}, {1, -1.0}, {9, 1e101}, {RNG, 0x1p32}, {more, -1.0}, {more, 2.0 * far}};
  hvi_error err;
  row[more] = far;
  check_ok(hvi_solver_restore(solver, row, &err), &err);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const double good = row[bad[i].at];
    row[bad[i].at] = bad[i].value;
    check_error(hvi_solver_restore(solver, row, &err), HVI_ERROR_INPUT, &err, "no sense");
    row[bad[i].at] = good;
  }
  hvi_solver_free(solver);
  free(row);
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_method_goes_on),
      cmocka_unit_test(targets_with_a_past_go_on),
      cmocka_unit_test(samples_are_drawn_again),
      cmocka_unit_test(a_lift_without_a_step_goes_on),
      cmocka_unit_test(samples_without_seek_are_kept),
      cmocka_unit_test(sampled_problems_go_on),
      cmocka_unit_test(method_auto_goes_on),
      cmocka_unit_test(a_state_without_sense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
