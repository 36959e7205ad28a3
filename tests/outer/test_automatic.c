/* Method auto: it solves what it should, its choices, what stays as given, the same bits again and
 * after a saved state, the best iterate at a limit, and the contraction of proximal steps. */
#include "support/solve.h"
#include "support/starve.h"
#include "support/toy.h"

#include <hvi/game.h>

/* Solves with the defaults; the judge has the last word. */
static hvi_info check_solved(const hvi_problem *p, const char *name, uint64_t instance) {
  const hvi_settings s = hvi_settings_defaults();
  hvi_solver *solver = solver_for(p, &s);
  hvi_certificate c;
  hvi_error err;
  hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  if (info.outcome != HVI_CONVERGED)
    fail_msg("%s %d: %s (%s)", name, (int)instance, hvi_outcome_name(info.outcome), info.reason);
  check_ok(hvi_problem_judge(&c, p, info.last.theta, &err), &err);
  assert_true(c.finite);
  if (!(c.residual <= 2e-6)) fail_msg("%s %d: residual %g", name, (int)instance, c.residual);
  hvi_solver_free(solver);
  return info;
}

static void built_in_problems_are_solved(void **state) {
  (void)state;
  static const char *const names[] = {"pennies",        "rps",   "quadratic",
                                      "counterexample", "chain", "performative-linear"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    hvi_problem *p = builtin(names[k], 0);
    check_solved(p, names[k], 0);
    hvi_problem_free(p);
  }
}

static void random_games_are_solved(void **state) {
  (void)state;
  for (uint64_t instance = 1; instance <= 200; instance++) {
    const char *name = instance % 2 ? "pennies" : "rps";
    hvi_problem *p = builtin(name, 1 + instance / 2);
    check_solved(p, name, instance);
    hvi_problem_free(p);
  }
}

/* What is chosen, of a problem of these sizes. */
static hvi_settings chosen(hvi_settings s, size_t n, size_t d, const hvi_problem_ops *ops) {
  static const hvi_model_ops plain = {.name = "plain"};
  const hvi_block all = {.dim = d, .out = n};
  hvi_model m = {.ops = &plain, .out = n, .dim = d, .block_count = 1, .blocks = &all};
  const hvi_problem p = {.ops = ops, .model = &m, .eta = 0.7};
  hvi_settings_choose(&s, &p);
  return s;
}

static void check_limits(const hvi_settings *s) {
  assert_true(s->tol == 1e-6);
  assert_true(s->tol_relative);
  assert_int_equal(s->max_outer, 0);
  assert_int_equal(s->max_f_evals, 200000);
}

static void choices_follow_the_size(void **state) {
  (void)state;
  const hvi_settings defaults = hvi_settings_defaults();
  assert_true(defaults.automatic);
  assert_null(defaults.optimizer);
  hvi_settings s = chosen(defaults, 600, 33333, &toy_affine_ops); /* 4e10 operations, just below */
  assert_ptr_equal(s.optimizer, hvi_optimizer_find("lm"));
  assert_int_equal(s.target, HVI_TARGET_PROXIMAL);
  assert_int_equal(s.step_rule, HVI_STEP_ADAPTIVE);
  assert_int_equal(s.inner_steps, 15);
  assert_true(s.alpha == 0.3);
  assert_true(s.inner.adapt_damping);
  assert_int_equal(s.restarts, 1000);
  check_limits(&s);

  s = chosen(defaults, 600, 40000, &toy_affine_ops); /* and just above */
  assert_ptr_equal(s.optimizer, hvi_optimizer_find("adam"));
  assert_int_equal(s.target, HVI_TARGET_PROXIMAL);
  assert_int_equal(s.inner_steps, 50);
  assert_true(s.inner.lr == 1e-3);
  check_limits(&s);

  s = chosen(defaults, 3000, 3000, &toy_affine_ops); /* a resolvent that is approached */
  assert_ptr_equal(s.optimizer, hvi_optimizer_find("lm"));
  assert_int_equal(s.target, HVI_TARGET_PROXIMAL);
  assert_int_equal(s.step_rule, HVI_STEP_ADAPTIVE);
  check_limits(&s);

  static const char *const names[] = {"gd", "momentum", "adam", "adamw", "gn", "dgn", "lm"};
  for (size_t k = 0; k < 7; k++) { /* an optimizer that is given has what suits it */
    s = defaults;
    s.optimizer = hvi_optimizer_find(names[k]);
    s = chosen(s, 5, 5, &toy_affine_ops);
    const bool adam = k == 2 || k == 3, newton = k > 3;
    assert_true(s.inner.lr == (adam ? 1e-3 : 1.0));
    assert_int_equal(s.inner_steps, newton ? 15 : 50);
    assert_int_equal(s.keep_state, newton);
    assert_int_equal(s.inner.adapt_damping, k == 6);
  }
}

/* A problem with samples has no residual: one step each, with the step size that suits it. */
static void samples_have_no_tolerance(void **state) {
  (void)state;
  hvi_settings s = chosen(hvi_settings_defaults(), 2, 2, &toy_noisy_ops);
  assert_ptr_equal(s.optimizer, hvi_optimizer_find("gd"));
  assert_true(s.eta == 0.7);
  assert_int_equal(s.step_rule, HVI_STEP_FIXED);
  assert_int_equal(s.target, HVI_TARGET_PLAIN);
  assert_true(s.tol == 0.0);
  assert_int_equal(s.max_outer, 1000);
  assert_int_equal(s.inner_steps, 1);
  hvi_problem *p = builtin("performative-mean", 0);
  s = hvi_settings_defaults();
  hvi_solver *solver = solver_for(p, &s);
  assert_int_equal(hvi_solver_run(solver), HVI_LIMIT);
  assert_int_equal(hvi_solver_info(solver).last.outer, 1000);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* Players in turn: fixed steps to plain targets. */
static void other_loops_keep_plain_targets(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = hvi_settings_defaults();
  s.alternating = true;
  s.eta = 0.05;
  hvi_solver *solver = solver_for(p, &s);
  const hvi_settings *in_force = hvi_solver_settings(solver);
  assert_ptr_equal(in_force->optimizer, hvi_optimizer_find("lm"));
  assert_int_equal(in_force->target, HVI_TARGET_PLAIN);
  assert_int_equal(in_force->step_rule, HVI_STEP_FIXED);
  check_limits(in_force);
  assert_int_equal(hvi_solver_run(solver), HVI_CONVERGED);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* Named methods are what they were, and a second choice changes nothing. */
static void choosing_is_for_auto_and_once(void **state) {
  (void)state;
  hvi_problem *p = builtin("rps", 1);
  const hvi_setting_table *t = hvi_settings_table();
  for (const hvi_method *m = hvi_method_list(); m->name; m++) {
    hvi_settings first = hvi_method_settings(m->name), second;
    const hvi_settings before = first;
    hvi_settings_choose(&first, p);
    second = first;
    hvi_settings_choose(&second, p);
    for (const hvi_setting *row = t->rows; row->name; row++) {
      if (row->kind == HVI_SETTING_SECTION) continue;
      assert_true(hvi_setting_equal(row, &first, &second));
      assert_true(before.automatic || hvi_setting_equal(row, &first, &before));
    }
    assert_ptr_equal(first.optimizer, second.optimizer);
  }
  hvi_problem_free(p);
}

static void what_differs_from_the_default_stays(void **state) {
  (void)state;
  hvi_settings s = hvi_settings_defaults();
  s.optimizer = hvi_optimizer_find("gn");
  s.target = HVI_TARGET_AVERAGED;
  s.eta = 0.02;
  s.inner_steps = 3;
  s.alpha = 0.7;
  s.restarts = 5;
  s.tol = 1e-3;
  s.max_outer = 50;
  s = chosen(s, 2, 2, &toy_affine_ops);
  assert_ptr_equal(s.optimizer, hvi_optimizer_find("gn"));
  assert_int_equal(s.target, HVI_TARGET_AVERAGED);
  assert_true(s.eta == 0.02);
  assert_int_equal(s.step_rule, HVI_STEP_FIXED);
  assert_int_equal(s.inner_steps, 3);
  assert_true(s.alpha == 0.7);
  assert_int_equal(s.restarts, 5);
  assert_true(s.tol == 1e-3);
  assert_false(s.tol_relative);
  assert_int_equal(s.max_outer, 50);
  assert_int_equal(s.max_f_evals, 0);

  s = hvi_settings_defaults();
  s.max_seconds = 3.0;
  s.optimizer = hvi_optimizer_find("adam");
  s.inner.lr = 0.02;
  s = chosen(s, 2, 2, &toy_affine_ops);
  assert_true(s.max_seconds == 3.0);
  assert_int_equal(s.max_f_evals, 0);
  assert_int_equal(s.max_outer, 0);
  assert_true(s.inner.lr == 0.02);
  assert_int_equal(s.inner_steps, 50);

  s = hvi_settings_defaults();
  s.step_rule = HVI_STEP_BEST;
  assert_int_equal(chosen(s, 2, 2, &toy_affine_ops).step_rule, HVI_STEP_BEST);
  s = hvi_settings_defaults();
  s.eta = 0.3;
  assert_true(chosen(s, 2, 2, &toy_noisy_ops).eta == 0.3);
}

/* Every member that auto sets, given with the value that it has anyway. */
static void what_is_given_stays(void **state) {
  (void)state;
  static const char *const names[] = {"eta", "target",           "inner", "alpha", "restarts",
                                      "tol", "adaptive_damping", "iters"};
  const hvi_setting_table *t = hvi_settings_table();
  const hvi_settings defaults = hvi_settings_defaults();
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const hvi_setting *row = hvi_setting_find(t, names[k]);
    hvi_settings s = defaults;
    hvi_settings other = chosen(s, 2, 2, &toy_affine_ops);
    assert_false(hvi_setting_equal(row, &other, &defaults));
    hvi_settings_give(&s, names[k]);
    s = chosen(s, 2, 2, &toy_affine_ops);
    if (!hvi_setting_equal(row, &s, &defaults)) fail_msg("%s is not kept", names[k]);
  }
  hvi_settings s = defaults;
  s.optimizer = hvi_optimizer_find("adam");
  hvi_settings_give(&s, "inner-lr");
  assert_true(chosen(s, 2, 2, &toy_affine_ops).inner.lr == 1.0);
  s = defaults;
  hvi_settings_give(&s, "eta");
  assert_true(chosen(s, 2, 2, &toy_noisy_ops).eta == 0.1);
  hvi_settings_give(&s, "no such row");
  size_t rows = 0;
  while (t->rows[rows].name) rows++;
  assert_true(rows <= 64); /* a bit for each */
}

/* Pennies from a flat tail: both players' sigmoids are 1 to rounding, or nearly. */
static const double far_out[] = {60.0, 50.0};

static hvi_settings far_settings(void) {
  hvi_settings s = hvi_settings_defaults();
  s.theta0 = far_out;
  s.seed = 4;
  return s;
}

static trace rows, again;

static void flat_tails_are_left_behind(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = far_settings();
  hvi_solver *solver = solve_traced(p, s, &rows);
  const hvi_info info = hvi_solver_info(solver);
  assert_int_equal(info.outcome, HVI_CONVERGED);
  assert_true(info.restarts > 0);
  assert_true(info.last.dist2 < 1e-10);
  /* every row tells of the theta that it shows */
  for (size_t k = 0; k < rows.count; k++) {
    hvi_certificate c;
    hvi_error err;
    check_ok(hvi_problem_judge(&c, p, rows.theta[k], &err), &err);
    check_near(rows.rows[k].residual, c.residual, 1e-14);
    check_near(rows.rows[k].dist2, c.dist2, 1e-14);
  }
  hvi_solver_free(solver);
  /* without new starts it stays there */
  s.restarts = 0;
  hvi_settings_give(&s, "restarts");
  solver = solver_for(p, &s);
  assert_int_not_equal(hvi_solver_run(solver), HVI_CONVERGED);
  assert_int_equal(hvi_solver_info(solver).restarts, 0);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* The first optimistic target after a new start looks back at nothing: z - eta F, as at the start. */
static void a_new_start_has_no_past(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = far_settings();
  s.target = HVI_TARGET_OPTIMISTIC;
  hvi_solver *solver = solver_for(p, &s);
  while (hvi_solver_info(solver).restarts == 0)
    assert_int_equal(hvi_solver_step(solver), HVI_RUNNING);
  field at;
  field_at(p, hvi_solver_info(solver).last.theta, &at);
  check_same_bits(hvi_solver_info(solver).last.z, at.z, 2);
  const double eta = hvi_solver_info(solver).eta;
  assert_true(eta == 0.1);
  hvi_solver_step(solver);
  const double loss0 = hvi_solver_info(solver).last.loss0;
  check_near(loss0, 0.5 * eta * eta * dot(at.f, at.f, 2), 1e-15);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* So far out that every start is flat: all of them are tried before the solve has stalled. */
static void every_start_is_tried(void **state) {
  (void)state;
  static const double nowhere[] = {4000.0, 3000.0};
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = hvi_settings_defaults();
  s.theta0 = nowhere;
  s.restarts = 5;
  s.stall_window = 30;
  hvi_solver *solver = solver_for(p, &s);
  assert_int_equal(hvi_solver_run(solver), HVI_STALLED);
  assert_int_equal(hvi_solver_info(solver).restarts, 5);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

static void check_same_rows(void) {
  assert_int_equal(rows.count, again.count);
  for (size_t k = 0; k < rows.count; k++) {
    check_same_bits(rows.theta[k], again.theta[k], rows.dim);
    check_same_bits(rows.z[k], again.z[k], rows.out);
    check_same_bits(&rows.rows[k].residual, &again.rows[k].residual, 1);
  }
}

static void the_same_seed_gives_the_same_bits(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = far_settings();
  hvi_solver_free(solve_traced(p, s, &rows));
  hvi_solver_free(solve_traced(p, s, &again));
  check_same_rows();
  s.seed = 5; /* other new starts, where there are any */
  hvi_solver *solver = solve_traced(p, s, &again);
  assert_int_equal(hvi_solver_info(solver).outcome, HVI_CONVERGED);
  assert_memory_not_equal(rows.theta[rows.count - 1], again.theta[again.count - 1],
                          2 * sizeof(double));
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* Saved after `cut` steps and taken up by a new solver, which ends in the same bits. */
static void check_cut(const hvi_problem *p, const hvi_settings *s, const hvi_info *whole,
                      size_t cut) {
  hvi_solver *first = solver_for(p, s), *second = solver_for(p, s);
  hvi_error err;
  for (size_t k = 0; k < cut; k++) assert_int_equal(hvi_solver_step(first), HVI_RUNNING);
  double *state = calloc(hvi_solver_state(first), sizeof *state);
  assert_non_null(state);
  hvi_solver_save(first, state);
  hvi_solver_free(first);
  check_ok(hvi_solver_restore(second, state, &err), &err);
  free(state);
  hvi_solver_run(second);
  const hvi_info info = hvi_solver_info(second);
  assert_int_equal(info.outcome, whole->outcome);
  assert_int_equal(info.last.outer, whole->last.outer);
  assert_int_equal(info.restarts, whole->restarts);
  assert_int_equal(info.last.counts.f_evals, whole->last.counts.f_evals);
  assert_true(info.eta == whole->eta);
  check_same_bits(info.last.theta, whole->last.theta, p->model->dim);
  check_same_bits(info.last.z, whole->last.z, p->model->out);
  check_same_bits(&info.last.residual, &whole->last.residual, 1);
  check_same_bits(info.best_theta, whole->best_theta, p->model->dim);
  hvi_solver_free(second);
}

static void check_every_cut(const hvi_problem *p, hvi_settings s) {
  hvi_solver *solver = solver_for(p, &s);
  hvi_solver_run(solver);
  const hvi_info whole = hvi_solver_info(solver);
  for (size_t cut = 1; cut < whole.last.outer; cut++) check_cut(p, &s, &whole, cut);
  hvi_solver_free(solver);
}

static void a_saved_solve_goes_on_in_the_same_bits(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = far_settings();
  check_every_cut(p, s);
  s.target = HVI_TARGET_OPTIMISTIC; /* which looks back at the step before */
  s.max_outer = 150;
  check_every_cut(p, s);
  hvi_problem_free(p);
  p = builtin("rps", 2);
  check_every_cut(p, hvi_settings_defaults());
  hvi_problem_free(p);
  /* new starts of both sorts, targets missed and come half-way to, until there are no more starts */
  static const double nowhere[] = {4000.0, 3000.0};
  p = builtin("pennies", 0);
  s = hvi_settings_defaults();
  s.theta0 = nowhere;
  s.restarts = 3;
  s.max_outer = 90;
  check_every_cut(p, s);
  hvi_problem_free(p);
}

/* F(z) = A z + b + z^3, not told to be affine: linearised anew at each step. */
static void operators_that_are_not_affine_are_solved(void **state) {
  (void)state;
  static const double A[] = {1, 3, -3, 0.5}, b[] = {-1.0, 2.0}, start[] = {4.0, -3.0};
  toy t;
  toy_init(&t, identity_model(2), A, b, start);
  t.base.ops = &toy_opaque_ops;
  t.cubic = 1.0;
  size_t calls = 0;
  t.calls = &calls;
  const hvi_info info = check_solved(&t.base, "toy", 0);
  assert_int_equal(calls, info.last.counts.f_evals + 1); /* and the judge's one */
  assert_int_equal(info.restarts, 0);
  check_every_cut(&t.base, hvi_settings_defaults());
  hvi_problem_free(&t.base);
}

/* Two networks choose between three actions in each of sixteen situations. The solution has
 * probabilities of zero, which a softmax only approaches: the residual falls ever more slowly, and a
 * new start would throw away what was reached. */
static void solutions_at_corners_are_approached(void **state) {
  (void)state;
  enum { ROWS = 16, ACTIONS = 3, IN = 4, WIDTH = 24, OUT = ROWS * ACTIONS };
  static double A[OUT * OUT], minus[OUT * OUT];
  double x[ROWS * IN], theta0[2][WIDTH * (IN + 1) + ACTIONS * (WIDTH + 1)];
  fill_normal(x, ROWS * IN, 91);
  fill_normal(A, OUT * OUT, 92);
  fill_normal(theta0[0], sizeof theta0 / sizeof(double), 93);
  for (size_t i = 0; i < OUT; i++)
    for (size_t j = 0; j < OUT; j++) {
      if (i / ACTIONS != j / ACTIONS) A[i * OUT + j] = 0.0;
      minus[j * OUT + i] = -A[i * OUT + j];
    }
  const hvi_layer layers[] = {{.out = WIDTH, .train_bias = true, .activation = HVI_TANH},
                              {.out = ACTIONS, .train_bias = true, .activation = HVI_SOFTMAX}};
  const hvi_stack_spec network = {
      .in = IN, .input = x, .rows = ROWS, .layer_count = 2, .layers = layers};
  hvi_player players[2];
  hvi_error err;
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < sizeof theta0[k] / sizeof(double); i++) theta0[k][i] *= 0.3;
    players[k] =
        (hvi_player){.theta0 = theta0[k], .set = HVI_SET_SIMPLEX, .parts = ROWS, .weight = 0.5};
    check_ok(hvi_stack_new(&players[k].model, &network, &err), &err);
  }
  hvi_problem *game;
  check_ok(hvi_game_new(&game,
                        &(hvi_game_spec){.player_count = 2,
                                         .players = players,
                                         .payoff_count = 2,
                                         .payoffs = (hvi_payoff[]){{0, 1, A}, {1, 0, minus}}},
                        &err),
           &err);
  assert_int_equal(check_solved(game, "corners", 0).restarts, 0);
  hvi_problem_free(game);
}

/* More outputs than an exact resolvent takes: it is approached by evaluations of F, or, with optimistic
 * targets, steps are measured. */
static void check_many_outputs(hvi_target target) {
  enum { N = 620 };
  double *A = calloc(N * N, sizeof *A), *b = calloc(2 * N, sizeof *b), *start = b + N;
  assert_true(A && b);
  for (size_t i = 0; i < N; i++) {
    A[i * N + i] = 1.0;
    A[i * N + (i + 1) % N] += 2.0;
    A[(i + 1) % N * N + i] -= 2.0;
  }
  fill_normal(b, 2 * N, 90);
  toy t;
  toy_init(&t, identity_model(N), A, b, start);
  size_t calls = 0;
  t.calls = &calls;
  hvi_settings s = hvi_settings_defaults();
  s.optimizer = hvi_optimizer_find("gd"); /* one exact step on the identity */
  if (target == HVI_TARGET_OPTIMISTIC) s.target = target;
  hvi_solver *solver = solver_for(&t.base, &s);
  assert_int_equal(hvi_solver_settings(solver)->target, target);
  assert_int_equal(hvi_solver_run(solver), HVI_CONVERGED);
  assert_int_equal(calls, hvi_solver_info(solver).last.counts.f_evals);
  if (target == HVI_TARGET_PROXIMAL) check_every_cut(&t.base, s);
  assert_int_equal(hvi_solver_info(solver).restarts, 0);
  hvi_certificate c;
  hvi_error err;
  check_ok(hvi_problem_judge(&c, &t.base, hvi_solver_info(solver).last.theta, &err), &err);
  assert_true(c.residual <= 2e-6);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
  free(A);
  free(b);
}

static void many_outputs_are_solved(void **state) {
  (void)state;
  check_many_outputs(HVI_TARGET_PROXIMAL);
  check_many_outputs(HVI_TARGET_OPTIMISTIC);
}

/* F that is linearised, and a limit on its evaluations: one outer step more at most. */
static void evaluations_keep_to_their_limit(void **state) {
  (void)state;
  enum { N = 12 };
  double A[N * N] = {0}, b[N], start[N];
  for (size_t i = 0; i < N; i++) {
    A[i * N + i] = 0.1;
    A[i * N + (i + 1) % N] += 2.0;
    A[(i + 1) % N * N + i] -= 2.0;
  }
  fill_normal(b, N, 91);
  fill_normal(start, N, 92);
  for (size_t limit = 1; limit < 60; limit += 7) {
    toy t;
    toy_init(&t, identity_model(N), A, b, start);
    t.base.ops = &toy_opaque_ops;
    t.cubic = 1.0;
    size_t calls = 0;
    t.calls = &calls;
    hvi_settings s = hvi_settings_defaults();
    s.max_f_evals = limit;
    hvi_solver *solver = solver_for(&t.base, &s);
    hvi_solver_run(solver);
    assert_int_equal(calls, hvi_solver_info(solver).last.counts.f_evals);
    assert_true(calls <= limit + N + 2);
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
}

/* Stops after so many rows, having noted the least residual. */
typedef struct stopper {
  size_t rows;
  double least;
} stopper;

static bool stop_later(void *context, const hvi_record *row) {
  stopper *s = context;
  s->least = fmin(s->least, row->residual);
  return s->rows-- > 1;
}

/* Where the observer stops a solve; also players in turn, each with its own part of theta. */
static void an_observer_that_stops_gets_the_best_iterate(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  for (size_t k = 1; k < 120; k++) {
    stopper stop = {k, INFINITY};
    hvi_settings s = k % 2 ? far_settings() : hvi_settings_defaults();
    s.alternating = k % 2 == 0;
    if (s.alternating) s.eta = 0.3, s.tol = 1e-14;
    s.observe = stop_later;
    s.observer_context = &stop;
    hvi_solver *solver = solver_for(p, &s);
    const hvi_outcome outcome = hvi_solver_run(solver);
    const hvi_info info = hvi_solver_info(solver);
    if (outcome == HVI_STOPPED) check_near(info.last.residual, stop.least, 1e-15);
    hvi_certificate c;
    hvi_error err;
    check_ok(hvi_problem_judge(&c, p, info.last.theta, &err), &err);
    check_near(info.last.residual, c.residual, 1e-14);
    hvi_solver_free(solver);
  }
  hvi_settings s = hvi_method_settings("lm"); /* a named method: the last one, whatever it is */
  s.eta = 0.5;
  stopper stop = {200, INFINITY};
  s.observe = stop_later;
  s.observer_context = &stop;
  hvi_solver *solver = solver_for(p, &s);
  assert_int_equal(hvi_solver_run(solver), HVI_STOPPED);
  assert_true(hvi_solver_info(solver).last.residual > stop.least);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

/* Wherever a limit falls, also within a flat tail or just after a new start. */
static void a_limit_returns_the_best_iterate(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = far_settings();
  hvi_solver *solver = solve_traced(p, s, &rows);
  hvi_solver_free(solver);
  size_t earlier = 0;
  for (size_t limit = 1; limit + 1 < rows.count; limit++) {
    s.max_outer = limit;
    solver = solve_traced(p, s, &again);
    const hvi_info info = hvi_solver_info(solver);
    assert_int_equal(info.outcome, HVI_LIMIT);
    double least = INFINITY;
    for (size_t k = 0; k <= limit; k++) least = fmin(least, again.rows[k].residual);
    assert_true(info.last.residual <= least);
    check_near(info.last.residual, info.best_residual, 1e-15);
    earlier += info.best_outer < limit;
    hvi_certificate c;
    hvi_error err;
    check_ok(hvi_problem_judge(&c, p, info.last.theta, &err), &err);
    check_near(info.last.residual, c.residual, 1e-14);
    hvi_solver_free(solver);
  }
  assert_true(earlier > 3);
  hvi_problem_free(p);
}

/* F is no number from the first or a later evaluation on: the last good iterate, or the start. */
static void divergence_returns_what_was_good(void **state) {
  (void)state;
  static const double one[] = {1, 0, 0, 1}, zero[2], start[] = {3.0, -4.0};
  for (size_t spoil_at = 1; spoil_at <= 3; spoil_at++) {
    size_t calls = 0;
    toy t;
    toy_init(&t, identity_model(2), one, zero, start);
    t.calls = &calls;
    t.spoil_at = spoil_at;
    t.spoiled = NAN;
    const hvi_settings s = hvi_settings_defaults();
    hvi_solver *solver = solver_for(&t.base, &s);
    assert_int_equal(hvi_solver_run(solver), HVI_DIVERGED);
    const hvi_info info = hvi_solver_info(solver);
    if (spoil_at <= 2) check_close(info.last.theta, start, 2, 0.0);
    check_finite(info.last.theta, 2);
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
}

/* F(z) = z and eta = 1/2: the residual halves at each step. */
static hvi_info halve(double size, hvi_settings s) {
  static const double one[] = {1, 0, 0, 1}, zero[2];
  const double start[] = {0.6 * size, -0.8 * size};
  toy t;
  toy_init(&t, identity_model(2), one, zero, start);
  s.optimizer = hvi_optimizer_find("gn");
  s.eta = 0.5;
  hvi_solver *solver = solver_for(&t.base, &s);
  hvi_solver_run(solver);
  hvi_info info = hvi_solver_info(solver);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
  return info;
}

static void a_relative_tolerance_is_of_the_first_residual(void **state) {
  (void)state;
  hvi_settings s = hvi_method_settings("gn");
  s.tol = 1e-3;
  assert_int_equal(halve(0.5, s).last.outer, 9);  /* 0.5 / 2^9 < 1e-3 */
  assert_int_equal(halve(5.0, s).last.outer, 13); /* 5 / 2^13 < 1e-3 */
  s.tol_relative = true;
  assert_int_equal(halve(0.5, s).last.outer, 10);  /* 1 / 2^10 < 1e-3 */
  assert_int_equal(halve(1e-5, s).last.outer, 10); /* whatever the scale */
  assert_int_equal(halve(5.0, s).last.outer, 13);  /* above 1 it is as it was */
  assert_string_equal(halve(5.0, s).reason, "residual within the tolerance");
}

static void rounding_is_convergence(void **state) {
  (void)state;
  hvi_settings s = hvi_method_settings("gn");
  s.max_outer = 100;
  hvi_info info = halve(5.0, s);
  assert_int_equal(info.outcome, HVI_CONVERGED);
  assert_string_equal(info.reason, "residual at rounding");
  assert_int_equal(info.last.outer, 46); /* 5 / 2^46 < 1e-13 < 5 / 2^45 */
  s.tol = 1e-20;
  assert_int_equal(halve(5.0, s).last.outer, 69); /* 5 / 2^69 < 1e-20: a tolerance is kept to */
  s.tol_relative = true;
  assert_int_equal(halve(5.0, s).last.outer, 46);
  s.rounding = s.tol_relative = false;
  s.tol = 0.0;
  info = halve(5.0, s);
  assert_int_equal(info.outcome, HVI_LIMIT);
  assert_int_equal(info.last.outer, 100);
}

/* With samples there is no residual to be at rounding. */
static void samples_are_never_at_rounding(void **state) {
  (void)state;
  static const double one[] = {1, 0, 0, 1}, zero[2];
  toy t;
  toy_init(&t, identity_model(2), one, zero, zero);
  t.base.ops = &toy_noisy_ops;
  t.base.sample_bytes = sizeof(double);
  const hvi_settings s = hvi_settings_defaults();
  hvi_solver *solver = solver_for(&t.base, &s);
  assert_int_equal(hvi_solver_run(solver), HVI_LIMIT);
  hvi_solver_free(solver);
  hvi_problem_free(&t.base);
}

static void refused(const hvi_problem *p, const hvi_settings *s, const char *words) {
  hvi_solver *solver;
  hvi_error err;
  check_error(hvi_solver_new(&solver, p, s, &err), HVI_ERROR_UNSUPPORTED, &err, words);
  assert_null(solver);
}

static void what_does_not_go_with_proximal_targets_is_refused(void **state) {
  (void)state;
  static const char *const proximal = "proximal targets: players at once, no acceleration or "
                                      "samples";
  static const char *const adaptive = "adaptive steps: surrogates with players at once, no samples";
  hvi_problem *p = builtin("pennies", 0);
  for (int named = 0; named < 2; named++) {
    hvi_settings fine = named ? hvi_method_settings("gn") : hvi_settings_defaults();
    fine.target = HVI_TARGET_PROXIMAL;
    hvi_settings s = fine;
    hvi_solver_free(solver_for(p, &s));
    s.alternating = true;
    refused(p, &s, proximal);
    fine.target = HVI_TARGET_PLAIN;
    fine.step_rule = HVI_STEP_ADAPTIVE;
    s = fine;
    s.alternating = true;
    refused(p, &s, adaptive);
  }
  hvi_settings s = hvi_method_settings("extragradient");
  s.step_rule = HVI_STEP_ADAPTIVE;
  refused(p, &s, adaptive);
  hvi_problem_free(p);

  double *zero = calloc(601 * 601 + 601, sizeof *zero);
  assert_non_null(zero);
  for (size_t n = 600; n <= 601; n++) {
    toy t;
    toy_init(&t, identity_model(n), zero, zero, zero);
    s = hvi_method_settings("gd");
    s.target = HVI_TARGET_PROXIMAL;
    hvi_solver_free(solver_for(&t.base, &s));
    t.base.ops = &toy_noisy_ops;
    t.base.sample_bytes = sizeof(double);
    refused(&t.base, &s, proximal);
    s.target = HVI_TARGET_PLAIN;
    s.step_rule = HVI_STEP_ADAPTIVE;
    refused(&t.base, &s, adaptive);
    hvi_problem_free(&t.base);
  }
  free(zero);
}

/* F(z) = A z + b with <A x, x> >= mu |x|^2, built backwards from its solution on a box: what is at
 * a bound is pushed against it. */
static void proximal_steps_contract(void **state) {
  (void)state;
  enum { N = 8 };
  static const double mu = 0.3, etas[] = {0.01, 0.1, 1.0, 10.0, 100.0};
  double A[N * N], B[N * N], b[N], star[N], start[N], low[N], high[N];
  fill_normal(B, N * N, 500);
  fill_normal(start, N, 501);
  fill_normal(star, N, 502);
  for (size_t i = 0; i < N * N; i++) {
    const size_t row = i / N, column = i % N;
    A[i] = 0.1 * dot(B + row * N, B + column * N, N) + B[i] - B[column * N + row];
    A[i] += row == column ? mu : 0.0;
  }
  for (size_t c = 0; c < 10; c++) {
    const bool box = c >= 5;
    for (size_t i = 0; i < N; i++) {
      low[i] = i % 3 == 0 ? star[i] : star[i] - 1.0;
      high[i] = i % 3 == 1 ? star[i] : star[i] + 1.0;
      b[i] = -dot(A + i * N, star, N) + (box && i % 3 < 2 ? (i % 3 ? -0.5 : 0.5) : 0.0);
      start[i] = box ? fmin(fmax(start[i], low[i]), high[i]) : start[i];
    }
    toy t;
    toy_init(&t, identity_model(N), A, b, start);
    if (box) t.sets[0] = (hvi_set){.kind = HVI_SET_BOX, .len = N, .lower = low, .upper = high};
    hvi_settings s = settings_for("gn", etas[c % 5], 60);
    s.target = HVI_TARGET_PROXIMAL;
    hvi_solver *solver = solve_traced(&t.base, s, &rows);
    for (size_t k = 0; k < rows.count; k++) {
      double distance = 0.0;
      static double last;
      for (size_t i = 0; i < N; i++) distance += pow(rows.z[k][i] - star[i], 2.0);
      distance = sqrt(distance);
      if (k > 0 && !(distance <= last / (1.0 + s.eta * mu) + 1e-12))
        fail_msg("eta %g, step %zu: %g after %g", s.eta, k, distance, last);
      last = distance;
    }
    hvi_solver_free(solver);
    hvi_problem_free(&t.base);
  }
}

static void no_memory_is_an_error_and_no_leak(void **state) {
  (void)state;
  hvi_problem *p = builtin("rps", 1);
  solver_order o = {p, hvi_settings_defaults()};
  assert_true(starve(make_solver, &o) >= 3);
  o.settings.target = HVI_TARGET_OPTIMISTIC;
  assert_true(starve(make_solver, &o) >= 3);
  hvi_problem_free(p);
}

/* Between new and free there is no allocation of the library's, also across a new start. */
static void nothing_is_allocated_on_the_way(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  const hvi_settings s = far_settings();
  hvi_solver *solver = solver_for(p, &s);
  const size_t before = allocations_made;
  hvi_solver_run(solver);
  assert_int_equal(allocations_made, before);
  assert_true(before > 0 && hvi_solver_info(solver).restarts > 0);
  hvi_solver_free(solver);
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(built_in_problems_are_solved),
      cmocka_unit_test(random_games_are_solved),
      cmocka_unit_test(choices_follow_the_size),
      cmocka_unit_test(samples_have_no_tolerance),
      cmocka_unit_test(other_loops_keep_plain_targets),
      cmocka_unit_test(choosing_is_for_auto_and_once),
      cmocka_unit_test(what_differs_from_the_default_stays),
      cmocka_unit_test(what_is_given_stays),
      cmocka_unit_test(flat_tails_are_left_behind),
      cmocka_unit_test(a_new_start_has_no_past),
      cmocka_unit_test(every_start_is_tried),
      cmocka_unit_test(the_same_seed_gives_the_same_bits),
      cmocka_unit_test(a_saved_solve_goes_on_in_the_same_bits),
      cmocka_unit_test(operators_that_are_not_affine_are_solved),
      cmocka_unit_test(solutions_at_corners_are_approached),
      cmocka_unit_test(many_outputs_are_solved),
      cmocka_unit_test(evaluations_keep_to_their_limit),
      cmocka_unit_test(an_observer_that_stops_gets_the_best_iterate),
      cmocka_unit_test(a_limit_returns_the_best_iterate),
      cmocka_unit_test(divergence_returns_what_was_good),
      cmocka_unit_test(a_relative_tolerance_is_of_the_first_residual),
      cmocka_unit_test(rounding_is_convergence),
      cmocka_unit_test(samples_are_never_at_rounding),
      cmocka_unit_test(what_does_not_go_with_proximal_targets_is_refused),
      cmocka_unit_test(proximal_steps_contract),
      cmocka_unit_test(no_memory_is_an_error_and_no_leak),
      cmocka_unit_test(nothing_is_allocated_on_the_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
