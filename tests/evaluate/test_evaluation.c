/* The evaluation's loop: what it measures and charges, and that a run taken up again ends in the
 * same bits. */
#include "rl/rollout_folder.h"
#include "transitions.h"

#include "io/tensors_file.h"
#include "problems/value/value.h"

enum { BATCH = 60, STEPS = 24, CUT = 11, BUFFER = 3 };

/* lqr with its own policy, and a test set of a few states. */
typedef struct bench {
  hvi_env *env;
  hvi_policy *policy;
  hvi_testset *testset;
  hvi_probe *probe;
  hvi_settings settings; /* of its evaluations */
} bench;

static void bench_open(bench *b) {
  hvi_error err;
  hvi_testset_settings s = hvi_testset_defaults();
  s.run.threads = 1;
  s.states = 40;
  s.episodes = 5;
  s.rollouts = 4;
  s.horizon = 60;
  s.gamma = 0.9;
  check_ok(hvi_env_new(&b->env, "lqr", &err), &err);
  check_ok(hvi_policy_of_env(&b->policy, b->env, &err), &err);
  check_ok(hvi_testset_make(here.other, b->env, b->policy, &s, NULL, &err), &err);
  check_ok(hvi_testset_load(&b->testset, here.other, &err), &err);
  check_ok(hvi_probe_of_testset(&b->probe, b->testset, &err), &err);
}

static void bench_close(bench *b) {
  hvi_probe_free(b->probe);
  hvi_testset_free(b->testset);
  hvi_policy_free(b->policy);
  hvi_env_free(b->env);
}

static hvi_evaluation_spec small_spec(bench *b) {
  hvi_evaluation_spec s = hvi_evaluation_defaults();
  s.settings = &b->settings;
  b->settings = hvi_evaluation_settings();
  b->settings.inner_steps = 4;
  b->settings.max_outer = STEPS;
  s.value.gamma = 0.9;
  s.value.lambda = 0.0; /* rules and random rows go without */
  s.value.batch = BATCH;
  s.value.hidden[0] = 16, s.value.hidden[1] = 8;
  s.value.hidden_count = 2;
  s.normalise = HVI_NORMALISE_NONE;
  s.seed = 5;
  s.probe = b->probe;
  s.schedule = (hvi_schedule){.every = 5};
  return s;
}

static hvi_collector *stream(hvi_evaluation_spec *s, const bench *b) {
  hvi_collector *c = NULL;
  hvi_error err;
  const size_t rows = (s->value.buffer + STEPS + 1) * BATCH;
  check_ok(hvi_collector_new(&c, b->env, b->policy, s->seed, 1, rows, &err), &err);
  s->stream = hvi_stream_of_collector(c);
  s->value.data = hvi_collector_data(c);
  return c;
}

static hvi_evaluation *start(const hvi_evaluation_spec *s) {
  hvi_evaluation *e = NULL;
  hvi_error err;
  check_ok(hvi_evaluation_new(&e, s, &err), &err);
  return e;
}

static void advance(hvi_evaluation *e, size_t steps) {
  hvi_error err;
  for (size_t i = 0; i < steps; i++) check_ok(hvi_evaluation_step(e, &err), &err);
}

static bool is_clock(const char *column) { return strncmp(column, "seconds", 7) == 0; }

static void check_same_rows(const hvi_evaluation *x, const hvi_evaluation *y) {
  size_t n, m;
  const hvi_evaluation_row *a = hvi_evaluation_rows(x, &n), *b = hvi_evaluation_rows(y, &m);
  assert_int_equal(n, m);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; hvi_evaluation_column(j); j++) {
      if (is_clock(hvi_evaluation_column(j))) continue;
      const double p = hvi_evaluation_cell(&a[i], j), q = hvi_evaluation_cell(&b[i], j);
      if (isnan(p) && isnan(q)) continue;
      if (p != q) fail_msg("row %zu, %s: %.17g and %.17g", i, hvi_evaluation_column(j), p, q);
    }
  }
}

/* Uninterrupted, and in two pieces through a file: the second in new objects. Returns the rows that
 * the second did not simulate again. */
static size_t check_resume_at(size_t cut, const bench *b, const hvi_evaluation_spec *spec) {
  hvi_evaluation_spec s = *spec;
  hvi_error err;
  const bool online = !s.value.data;
  hvi_collector *c = online ? stream(&s, b) : NULL;
  hvi_evaluation *whole = start(&s);
  advance(whole, STEPS + 3);
  assert_true(hvi_evaluation_state(whole).done);
  hvi_evaluation_spec t = *spec;
  hvi_collector *d = online ? stream(&t, b) : NULL;
  hvi_evaluation *first = start(&t);
  advance(first, cut);
  check_ok(hvi_evaluation_save(first, here.file, "this", &err), &err);
  hvi_evaluation_free(first);
  hvi_collector_free(d);
  hvi_evaluation_spec u = *spec;
  d = online ? stream(&u, b) : NULL;
  hvi_evaluation *second = start(&u);
  check_ok(hvi_evaluation_restore(second, here.file, "this", &err), &err);
  assert_int_equal(hvi_evaluation_state(second).outer, cut);
  advance(second, STEPS - cut);
  assert_true(hvi_evaluation_state(second).done);
  check_same_bits(hvi_evaluation_theta(whole), hvi_evaluation_theta(second),
                  hvi_evaluation_problem(whole)->model->dim);
  check_same_rows(whole, second);
  const size_t skipped = d ? hvi_collector_spent(d).skipped : 0;
  hvi_evaluation_free(whole);
  hvi_evaluation_free(second);
  hvi_collector_free(c);
  hvi_collector_free(d);
  return skipped;
}

static void check_resume(const bench *b, const hvi_evaluation_spec *spec) {
  check_resume_at(CUT, b, spec);
}

static void test_resume_online(void **state) {
  (void)state;
  bench b;
  bench_open(&b);
  hvi_evaluation_spec s = small_spec(&b);
  check_resume(&b, &s);
  s.value.lambda = hvi_evaluation_defaults().value.lambda; /* it fades from draw to draw */
  check_resume(&b, &s);
  b.settings.accelerate = HVI_ACCELERATE_LSTD; /* all rows are made again */
  assert_int_equal(check_resume_at(20, &b, &s), 0);
  s.value.replay = s.value.batch / 4;
  s.value.replay_rare = 0.5;
  check_resume(&b, &s);
  s.value.replay = 0;
  b.settings.keep_state = true;
  b.settings.accelerate = HVI_ACCELERATE_NONE;
  b.settings.target = HVI_TARGET_OPTIMISTIC;
  check_resume(&b, &s);
  b.settings.target = HVI_TARGET_PLAIN;
  b.settings.redraw_every = 3;
  check_resume(&b, &s);
  bench_close(&b);
}

/* The mean over the steps: for q = 2 theta_s weighs s (s + 1). */
static void test_polyak(void **state) {
  (void)state;
  enum { T = 6 };
  bench b = {0};
  transitions t;
  hvi_error err;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = &t.data;
  s.value.draw = HVI_VALUE_RANDOM;
  s.polyak = 0.0;
  hvi_evaluation *plain = start(&s);
  s.polyak = 2.0;
  hvi_evaluation *mean = start(&s);
  const size_t d = hvi_evaluation_problem(plain)->model->dim;
  double *wanted = calloc(d, sizeof *wanted), total = 0.0;
  assert_non_null(wanted);
  check_same_bits(hvi_evaluation_theta(plain), hvi_evaluation_theta(mean), d);
  for (size_t k = 1; k <= T; k++) {
    const double weight = (double)(k * (k + 1));
    advance(plain, 1);
    advance(mean, 1);
    total += weight;
    for (size_t i = 0; i < d; i++) {
      wanted[i] += weight * hvi_evaluation_theta(plain)[i];
      check_near(hvi_evaluation_theta(mean)[i], wanted[i] / total, 1e-12);
    }
  }
  hvi_evaluation_free(plain);
  hvi_evaluation_free(mean);
  free(wanted);
  hvi_evaluation *e = NULL;
  s.polyak = -1.0;
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_ARGUMENT, &err,
              "polyak: must be a number from 0 to 1e6, not '-1'");
}

/* Scales of the first batch, or of so many rows: as if the caller had worked them out. */
static void test_normalise(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  hvi_error err;
  transitions_init(&t);
  for (size_t rows = 0; rows <= t.data.count + 1; rows += t.data.count + 1) {
    const size_t used = rows ? t.data.count : BATCH / 6;
    hvi_evaluation_spec s = small_spec(&b), own = s;
    hvi_scales scales;
    s.value.data = own.value.data = &t.data;
    s.value.draw = own.value.draw = HVI_VALUE_RANDOM;
    s.value.batch = own.value.batch = BATCH / 6;
    check_ok(hvi_scales_new(&scales, &t.data, used, s.value.gamma, &err), &err);
    s.value.center = scales.center;
    s.value.spread = scales.spread;
    own.normalise_rows = rows;
    for (own.normalise = HVI_NORMALISE_STATES; own.normalise <= HVI_NORMALISE_ALL;
         own.normalise++) {
      hvi_evaluation *x = start(&s), *y = start(&own);
      advance(x, CUT);
      advance(y, CUT);
      check_same_bits(hvi_evaluation_theta(x), hvi_evaluation_theta(y),
                      hvi_evaluation_problem(x)->model->dim);
      hvi_evaluation_free(x);
      hvi_evaluation_free(y);
      s.value.shift = scales.shift;
      s.value.scale = scales.scale;
    }
    hvi_scales_free(&scales);
  }
}

/* A run that is watched: checkpoints where they are due, a stop that can be taken up again. */
typedef struct watcher {
  size_t calls, stop, saves;
} watcher;

static bool watch_step(void *context, const hvi_evaluation *e) {
  watcher *w = context;
  assert_false(hvi_evaluation_state(e).done);
  return ++w->calls != w->stop;
}

static hvi_status count_save(void *context, hvi_error *err) {
  (void)err;
  ((watcher *)context)->saves++;
  return HVI_OK;
}

static void test_run(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  hvi_error err;
  char about[HVI_EVALUATION_ABOUT], other[HVI_EVALUATION_ABOUT];
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = &t.data;
  s.value.draw = HVI_VALUE_RANDOM;
  hvi_evaluation_describe(about, &s);
  watcher w = {.stop = CUT + 1};
  hvi_evaluation_watch watch = {.checkpoint = here.file,
                                .about = about,
                                .every = 4,
                                .seconds = INFINITY,
                                .progress = watch_step,
                                .saved = count_save,
                                .context = &w};
  hvi_evaluation *whole = start(&s), *part = start(&s);
  advance(whole, STEPS);
  check_ok(hvi_evaluation_run(part, &watch, &err), &err);
  assert_int_equal(hvi_evaluation_state(part).outer, CUT);
  assert_int_equal(w.saves, 3); /* steps 4, 8 and the stop */
  hvi_evaluation_free(part);
  part = start(&s);
  check_ok(hvi_evaluation_restore(part, here.file, about, &err), &err);
  check_ok(hvi_evaluation_run(part, &watch, &err), &err);
  assert_true(hvi_evaluation_state(part).done);
  assert_int_equal(w.calls, CUT + 1 + STEPS - CUT);
  assert_int_equal(w.saves, 3 + 3); /* 12, 16 and 20 */
  check_same_rows(whole, part);
  /* the data have a say in the description, and how far the run goes has none */
  b.settings.max_outer++;
  hvi_evaluation_describe(other, &s);
  assert_string_equal(about, other);
  t.data.reward[0] += 1.0f;
  hvi_evaluation_describe(other, &s);
  assert_string_not_equal(about, other);
  hvi_evaluation_free(whole);
  hvi_evaluation_free(part);
}

/* Cut at row 1,200, in the episode that begins at row 1,130, of which a first group of 8 is not:
 * what lies between need not be simulated again, and traces, which look back, must not look there.
 */
static void test_resume_skips(void **state) {
  (void)state;
  bench b;
  bench_open(&b);
  b.env->time_limit = 113;
  hvi_evaluation_spec s = small_spec(&b);
  assert_int_equal(b.settings.accelerate, HVI_ACCELERATE_MODE);
  assert_int_equal(check_resume_at(20, &b, &s), 1130 - 8 * 113);
  bench_close(&b);
}

static void test_resume_double_sampling(void **state) {
  (void)state;
  bench b;
  bench_open(&b);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.buffer = BUFFER;
  check_resume(&b, &s);
  bench_close(&b);
}

static void test_resume_offline(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = &t.data;
  s.value.draw = HVI_VALUE_RANDOM;
  s.gap = &t.data;
  s.gap_settings.steps = 3;
  check_resume(&b, &s);
  s.value.draw = HVI_VALUE_ALL;
  b.settings.accelerate = HVI_ACCELERATE_LSTD;
  check_resume(&b, &s);
}

/* With a schedule of their own gaps are those of the full one, and NaN in between. */
static void test_gaps_now_and_then(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = s.gap = &t.data;
  s.value.draw = HVI_VALUE_RANDOM;
  s.gap_settings.steps = 3;
  s.schedule = (hvi_schedule){.every = 1};
  hvi_evaluation *all = start(&s);
  s.gap_per_decade = 1;
  hvi_evaluation *some = start(&s);
  advance(all, STEPS);
  advance(some, STEPS);
  size_t count;
  const hvi_evaluation_row *x = hvi_evaluation_rows(all, &count),
                           *y = hvi_evaluation_rows(some, &count);
  assert_int_equal(count, STEPS + 1);
  for (size_t i = 0; i < count; i++) {
    const bool due = i == 0 || i == 1 || i == 10 || i == STEPS;
    assert_int_equal(isnan(y[i].gap), !due);
    if (due) check_same_bits(&y[i].gap, &x[i].gap, 1);
  }
  hvi_evaluation_free(all);
  hvi_evaluation_free(some);
}

/* Returns are known when the rows after them are: all are collected first, and charged as they are
 * used. */
static void test_returns_of_a_stream(void **state) {
  (void)state;
  bench b;
  hvi_error err;
  size_t count;
  bench_open(&b);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.returns = true;
  b.settings.accelerate = HVI_ACCELERATE_NONE;
  check_resume(&b, &s);
  hvi_collector *c = stream(&s, &b);
  hvi_evaluation *e = start(&s);
  assert_true(hvi_collector_data(c)->count >= (STEPS + 1) * BATCH);
  advance(e, STEPS);
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  assert_int_equal(rows[0].env_steps, 0);
  assert_true(rows[1].env_steps >= 5 * BATCH);
  assert_true(rows[1].env_steps <= 5 * BATCH + 44);
  for (size_t i = 1; i < count; i++) {
    assert_true(rows[i].env_steps >= rows[i - 1].env_steps);
    /* the inner steps, the next batch, and no successors */
    assert_int_equal(rows[i].model_passes, 1 + 5 * rows[i].outer);
  }
  assert_true(rows[count - 1].error < 0.5 * rows[0].error);
  hvi_evaluation_free(e);
  b.settings.max_outer = 0;
  b.settings.max_seconds = 1.0;
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_ARGUMENT, &err, "max_outer");
  hvi_collector_free(c);
  bench_close(&b);
}

/* Each learner counts what it computes. Beside the rule a step passes the model over states and
 * successors of the next batch; the start has these too. */
static void test_costs_of_rules(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t gradients, passes;
  } wanted[] = {{"td-target", 1, 4}, {"residual-gradient", 2, 4}, {"tdc", 3, 5}, {"tdrc", 3, 5}};
  bench b = {0};
  transitions t;
  transitions_init(&t);
  for (size_t k = 0; k < 4; k++) {
    hvi_evaluation_spec s = small_spec(&b);
    s.value.data = &t.data;
    s.value.draw = HVI_VALUE_RANDOM;
    b.settings.baseline = HVI_BASELINE_RULE;
    for (const hvi_rule *const *r = hvi_value_rules(); *r; r++)
      if (strcmp((*r)->name, wanted[k].name) == 0) b.settings.rule = *r;
    hvi_evaluation *e = start(&s);
    size_t count;
    advance(e, STEPS);
    const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
    assert_int_equal(rows[count - 1].grad_evals, wanted[k].gradients * STEPS);
    assert_int_equal(rows[count - 1].model_passes, 2 + wanted[k].passes * STEPS);
    hvi_evaluation_free(e);
  }
}

/* A run that is longer than the one that was saved at its end. */
static void test_a_finished_run_goes_on(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  hvi_error err;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = &t.data;
  s.value.draw = HVI_VALUE_RANDOM;
  hvi_evaluation *whole = start(&s);
  advance(whole, STEPS);
  b.settings.max_outer = CUT;
  hvi_evaluation *part = start(&s);
  advance(part, CUT);
  assert_true(hvi_evaluation_state(part).done);
  check_ok(hvi_evaluation_save(part, here.file, NULL, &err), &err);
  hvi_evaluation_free(part);
  b.settings.max_outer = STEPS;
  part = start(&s);
  check_ok(hvi_evaluation_restore(part, here.file, NULL, &err), &err);
  assert_false(hvi_evaluation_state(part).done);
  advance(part, STEPS - CUT);
  check_same_rows(whole, part);
  hvi_evaluation_free(part);
  hvi_evaluation_free(whole);
}

/* The rows say what the loop did, recomputed here. */
static void test_rows(void **state) {
  (void)state;
  bench b;
  hvi_error err;
  hvi_score score;
  size_t count;
  bench_open(&b);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.buffer = 0;
  hvi_collector *c = stream(&s, &b);
  hvi_evaluation *e = start(&s);
  advance(e, STEPS);
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  const size_t at[] = {0, 5, 10, 15, 20, STEPS};
  assert_int_equal(count, 6);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(rows[i].outer, at[i]);
    assert_int_equal(rows[i].env_steps, at[i] * BATCH);
    assert_int_equal(rows[i].grad_evals, 4 * at[i]);
    assert_true(rows[i].seconds == rows[i].seconds_collect + rows[i].seconds_optimise);
    assert_true(isnan(rows[i].gap));
    if (i > 0) assert_true(rows[i].seconds > rows[i - 1].seconds);
    if (i > 0) check_near(rows[i].ratio, rows[i].loss / rows[i].loss0, 1e-15);
  }
  check_ok(hvi_probe_score(&score, b.probe, hvi_evaluation_problem(e), hvi_evaluation_theta(e),
                           NULL, &err),
           &err);
  assert_true(score.error == rows[count - 1].error);
  assert_true(score.clean == rows[count - 1].clean);
  check_near(score.noise, hvi_testset_judge(b.testset).noise_floor, 1e-12 * score.noise);
  assert_int_equal(hvi_evaluation_state(e).inner_total, 4 * STEPS);
  assert_int_equal(hvi_evaluation_state(e).outcome, HVI_LIMIT);
  hvi_evaluation_free(e);
  hvi_collector_free(c);
  bench_close(&b);
}

/* A stream whose seconds are known: a batch is charged once it has been used, and a limit on the
 * seconds counts them. */
static hvi_status slow_grow(void *context, size_t rows, double *seconds, hvi_error *err) {
  (void)err;
  transitions *t = context;
  if (t->data.count < rows) t->data.count = rows;
  *seconds = 1000.0 * (double)rows / 10.0;
  return HVI_OK;
}

static void test_charges(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  size_t count;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  t.data.count = 0;
  s.value.data = &t.data;
  s.value.batch = 10;
  s.schedule.every = 1;
  s.stream = (hvi_stream){.grow = slow_grow, .context = &t};
  b.settings.max_seconds = 7000.0;
  hvi_evaluation *e = start(&s);
  advance(e, STEPS);
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  assert_int_equal(count, 8);
  for (size_t i = 0; i < count; i++) {
    check_near(rows[i].seconds_collect, 1000.0 * (double)i, 1e-9);
    assert_int_equal(rows[i].env_steps, 10 * i);
  }
  assert_string_equal(hvi_evaluation_state(e).reason, "time limit");
  hvi_evaluation_free(e);
}

static void test_schedule(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  size_t count;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = &t.data;
  s.value.draw = HVI_VALUE_RANDOM;
  b.settings.inner_steps = 1;
  b.settings.max_outer = 120;
  s.schedule = (hvi_schedule){.per_decade = 4};
  hvi_evaluation *e = start(&s);
  advance(e, 120);
  const size_t at[] = {0, 1, 2, 3, 6, 10, 18, 32, 56, 100, 120};
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  assert_int_equal(count, sizeof at / sizeof *at);
  for (size_t i = 0; i < count; i++) assert_int_equal(rows[i].outer, at[i]);
  hvi_evaluation_free(e);
}

/* A budget in gradients ends with the step that reaches it; rows stand at equal distances of them,
 * whatever the steps take. */
static void test_budget_of_gradients(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  size_t count;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = &t.data;
  s.value.draw = HVI_VALUE_ALL;
  b.settings.inner_steps = 7;
  b.settings.max_outer = 1000;
  s.max_gradients = 100;
  s.schedule = (hvi_schedule){.gradients = 25};
  hvi_evaluation *e = start(&s);
  check_ok(hvi_evaluation_run(e, NULL, NULL), NULL);
  const hvi_evaluation_status end = hvi_evaluation_state(e);
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e, &count);
  const size_t at[] = {0, 28, 56, 77, 105};
  assert_int_equal(end.outcome, HVI_LIMIT);
  assert_string_equal(end.reason, "gradient limit");
  assert_int_equal(end.grad_evals, 105);
  assert_int_equal(end.outer, 15);
  assert_int_equal(count, sizeof at / sizeof *at);
  for (size_t i = 0; i < count; i++) assert_int_equal(rows[i].grad_evals, at[i]);
  hvi_evaluation_free(e);
}

static void test_refusals(void **state) {
  (void)state;
  bench b;
  transitions t;
  hvi_error err;
  hvi_evaluation *e = NULL;
  bench_open(&b);
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_ARGUMENT, &err, "needs data");
  s.value.data = &t.data;
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_INPUT, &err,
              "length 4, and the data of 3");
  hvi_collector *c = stream(&s, &b);
  s.value.gamma = 0.95;
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_INPUT, &err, "gamma 0.9, not 0.95");
  s.value.gamma = 0.9;
  s.value.draw = HVI_VALUE_RANDOM;
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_ARGUMENT, &err, "fresh draws");
  s.value.draw = HVI_VALUE_FRESH;
  s.gap = &t.data;
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_INPUT, &err, "Bellman gap");
  assert_null(e);
  hvi_collector_free(c);
  t.data.count = 0;
  s = small_spec(&(bench){0});
  s.value.data = &t.data;
  check_error(hvi_evaluation_new(&e, &s, &err), HVI_ERROR_INPUT, &err, "no transitions");
  bench_close(&b);
}

static void test_strange_checkpoints(void **state) {
  (void)state;
  bench b = {0};
  transitions t;
  hvi_error err;
  size_t size;
  transitions_init(&t);
  hvi_evaluation_spec s = small_spec(&b);
  s.value.data = &t.data;
  s.value.draw = HVI_VALUE_RANDOM;
  hvi_evaluation *e = start(&s);
  advance(e, 2);
  check_ok(hvi_evaluation_save(e, here.file, "lr 1; batch 60", &err), &err);
  check_error(hvi_evaluation_restore(e, here.file, "lr 1; batch 61", &err), HVI_ERROR_MISMATCH,
              &err, "'batch 60', not 'batch 61'");
  check_error(hvi_evaluation_restore(e, "/nowhere/file", "", &err), HVI_ERROR_IO, &err, "nowhere");
  /* a value that cannot be, under a checksum that fits, is told with the file's name */
  static const struct {
    const char *tensor;
    double value;
    const char *words;
  } spoilt[] = {{"solver", NAN, "makes no sense"},
                {"mark", -1.0, "makes no sense: a count of -1"},
                {"mark", 1e16, "makes no sense: a count of 1e+16"},
                {"mark", 1e6, "is at step 1000000 already, beyond the "}};
  for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
    hvi_tensors *file;
    check_ok(hvi_tensors_read(&file, here.file, 0, &err), &err);
    ((double *)(uintptr_t)hvi_tensors_find(file, spoilt[i].tensor)->data)[0] = spoilt[i].value;
    check_ok(hvi_tensors_store(here.other, file, false, &err), &err);
    hvi_tensors_free(file);
    check_error(hvi_evaluation_restore(e, here.other, "lr 1; batch 60", &err), HVI_ERROR_INPUT,
                &err, spoilt[i].words);
    assert_non_null(strstr(err.text, here.other));
  }
  hvi_evaluation_free(e);
  b.settings.optimizer = hvi_optimizer_find("gd");
  e = start(&s);
  check_error(hvi_evaluation_restore(e, here.file, "lr 1; batch 60", &err), HVI_ERROR_INPUT, &err,
              "'solver' is missing or of another size");
  unsigned char *bytes = file_bytes(here.file, &size);
  write_bytes(here.other, bytes, size - 9);
  assert_int_equal(hvi_evaluation_restore(e, here.other, "lr 1; batch 60", &err), HVI_ERROR_INPUT);
  for (size_t at = 0; at < size; at += at < 2048 ? 1 : 37) {
    bytes[at] ^= (unsigned char)(1u << (at % 8));
    write_bytes(here.other, bytes, size);
    bytes[at] ^= (unsigned char)(1u << (at % 8));
    const hvi_status status = hvi_evaluation_restore(e, here.other, "lr 1; batch 60", &err);
    if (status != HVI_ERROR_INPUT || !strstr(err.text, here.other) || !strstr(err.text, "damaged"))
      fail_msg("a bit of byte %zu is changed: status %d, %s", at, (int)status, err.text);
  }
  hvi_free(bytes);
  assert_int_equal(remove(here.other), 0);
  check_ok(hvi_value_save(hvi_evaluation_problem(e), hvi_evaluation_theta(e), here.other, &err),
           &err);
  check_error(hvi_evaluation_restore(e, here.other, "", &err), HVI_ERROR_INPUT, &err,
              "no checkpoint of an evaluation");
  hvi_evaluation_free(e);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void) {
  const struct CMUnitTest tests[] = {IN_FOLDER(test_resume_online),
                                     IN_FOLDER(test_resume_skips),
                                     IN_FOLDER(test_resume_double_sampling),
                                     IN_FOLDER(test_resume_offline),
                                     IN_FOLDER(test_gaps_now_and_then),
                                     cmocka_unit_test(test_polyak),
                                     cmocka_unit_test(test_normalise),
                                     IN_FOLDER(test_run),
                                     IN_FOLDER(test_returns_of_a_stream),
                                     cmocka_unit_test(test_costs_of_rules),
                                     IN_FOLDER(test_a_finished_run_goes_on),
                                     IN_FOLDER(test_rows),
                                     cmocka_unit_test(test_charges),
                                     cmocka_unit_test(test_schedule),
                                     cmocka_unit_test(test_budget_of_gradients),
                                     IN_FOLDER(test_refusals),
                                     IN_FOLDER(test_strange_checkpoints)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
