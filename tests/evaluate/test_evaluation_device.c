/* Evaluations whose networks compute on an emulated device: every method beside itself on the
 * processor, checkpoints across both, and a device that is lost. */
#include "rl/rollout_folder.h"
#include "support/emulated_device.h"
#include "transitions.h"

#include "evaluate/evaluation.h"
#include "inner/optimizers.h"
#include "model/mlp.h"

enum { BATCH = 40, STEPS = 6, CUT = 3, STATES = 30 };

typedef struct bench {
  transitions t;
  hvi_probe probe;
  float states[STATES][OBS];
  double values[STATES], errors[STATES];
  hvi_settings settings;
  hvi_evaluation_spec spec;
} bench;

/* What `hvi evaluate` does, in small and without what methods below turn on. */
static void bench_init(bench *b) {
  transitions_init(&b->t);
  fill_normal(b->values, STATES, 1);
  for (size_t i = 0; i < STATES; i++) {
    b->errors[i] = 0.01;
    memcpy(b->states[i], b->t.observation[7 * i], sizeof b->states[i]);
  }
  b->probe = (hvi_probe){.states = STATES,
                         .obs = OBS,
                         .observation = b->states[0],
                         .value = b->values,
                         .standard_error = b->errors};
  b->settings = hvi_evaluation_settings();
  b->settings.inner_steps = 12;
  b->settings.inner.weight_decay = 0.1;
  b->settings.max_outer = STEPS;
  b->settings.keep_state = false;
  b->settings.accelerate = HVI_ACCELERATE_NONE;
  b->spec = hvi_evaluation_defaults();
  hvi_evaluation_spec *s = &b->spec;
  s->settings = &b->settings;
  s->value.data = &b->t.data;
  s->value.gamma = 0.9;
  s->value.lambda = s->polyak = 0.0;
  s->value.batch = BATCH;
  s->value.hidden[0] = 16, s->value.hidden[1] = 9;
  s->value.hidden_count = 2;
  s->normalise = HVI_NORMALISE_NONE;
  s->seed = 5;
  s->probe = &b->probe;
  s->schedule = (hvi_schedule){.every = 1};
  s->gap_settings.steps = 20;
}

/* Methods, as changes of it. */
static void adamw_reset(bench *b) { b->settings.keep_state = false; }
static void adamw_kept(bench *b) { b->settings.keep_state = true; }
static void td(bench *b) {
  b->settings.optimizer = &hvi_optimizer_gd;
  b->settings.inner.lr = 0.05;
  b->settings.inner_steps = 1;
}
static void surrogate_gd(bench *b) {
  td(b);
  b->settings.inner_steps = 12;
  b->spec.value.draw = HVI_VALUE_RANDOM;
}
static void momentum(bench *b) {
  td(b);
  b->settings.optimizer = &hvi_optimizer_momentum;
  b->settings.inner.lr = 0.01;
  b->settings.inner_steps = 7;
  b->settings.keep_state = true;
}
static void adam(bench *b) { b->settings.optimizer = &hvi_optimizer_adam; }
static void threshold(bench *b) {
  b->settings.alpha = 0.9;
  b->settings.inner_steps = 200;
}
static void running_floor(bench *b) {
  threshold(b);
  b->settings.inner_steps = 30;
  b->settings.keep_state = true;
  b->settings.floor = HVI_FLOOR_RUNNING;
}
/* A side solve of few steps, above which some batches do not start. */
static void high_floor(bench *b) {
  running_floor(b);
  b->settings.inner_steps = 1;
  b->settings.inner.lr = 1e-4;
}
static void double_sampling(bench *b) {
  b->spec.value.buffer = 3;
  b->settings.inner_steps = 5;
  b->settings.keep_state = true;
}
static void lambda(bench *b) {
  b->spec.value.lambda = 0.8;
  b->spec.value.lambda_decay = 0.05;
}
static void accelerated(bench *b) {
  lambda(b);
  b->settings.accelerate = HVI_ACCELERATE_MODE;
  b->settings.keep_state = true;
}
static void lstd(bench *b) { b->settings.accelerate = HVI_ACCELERATE_LSTD; }
static void optimistic(bench *b) { b->settings.target = HVI_TARGET_OPTIMISTIC; }
static void rule(bench *b, const char *name) {
  b->settings.baseline = HVI_BASELINE_RULE;
  b->settings.inner.lr = 0.01;
  b->settings.rule_settings.second_rate = 0.5;
  for (const hvi_rule *const *r = hvi_value_rules(); *r; r++)
    if (strcmp((*r)->name, name) == 0) b->settings.rule = *r;
}
static void td_target(bench *b) { rule(b, "td-target"); }
static void residual_gradient(bench *b) { rule(b, "residual-gradient"); }
static void tdc(bench *b) { rule(b, "tdc"); }
static void tdrc(bench *b) {
  rule(b, "tdrc");
  b->settings.rule_settings.adam = true;
}
static void returns(bench *b) { b->spec.value.returns = true; }
static void normalised(bench *b) { b->spec.normalise = HVI_NORMALISE_ALL; }
static void polyak(bench *b) { b->spec.polyak = 3.0; }
static void returns_kept(bench *b) {
  adamw_kept(b);
  returns(b);
}
static void scaled_threshold(bench *b) {
  threshold(b);
  normalised(b);
}
static void gaps(bench *b) { b->spec.gap = &b->t.data; }

static const struct {
  const char *name;
  void (*apply)(bench *b);
  bool whole; /* every draw is all of the data */
} methods[] = {
    {"adamw, state reset", adamw_reset, false},
    {"adamw, state kept", adamw_kept, false},
    {"td", td, false},
    {"gd", surrogate_gd, false},
    {"momentum", momentum, false},
    {"adam", adam, false},
    {"threshold", threshold, false},
    {"running floor", running_floor, false},
    {"high floor", high_floor, false},
    {"double sampling", double_sampling, false},
    {"lambda", lambda, false},
    {"accelerated", accelerated, false},
    {"lstd", lstd, false},
    {"optimistic", optimistic, false},
    {"td-target", td_target, false},
    {"residual gradient", residual_gradient, false},
    {"tdc", tdc, false},
    {"tdrc", tdrc, false},
    {"returns", returns, false},
    {"normalised", normalised, false},
    {"polyak", polyak, false},
    {"whole", adamw_kept, true},
    {"whole, lambda", lambda, true},
    {"whole, returns", returns_kept, true},
    {"whole, scaled", scaled_threshold, true},
    {"whole, residual gradient", residual_gradient, true},
    {"whole, tdc", tdc, true},
    {"gaps", gaps, true},
};
enum { METHODS = sizeof methods / sizeof *methods };

static void apply_method(bench *b, size_t k) {
  methods[k].apply(b);
  if (methods[k].whole) b->spec.value.draw = HVI_VALUE_ALL;
}

static hvi_gang *open_gang(emulation e) {
  hvi_gang *g = NULL;
  hvi_error err;
  emulated = e;
  check_ok(hvi_gang_open_with(&g, emulated_device(), HVI_DEVICE_FP32, &err), &err);
  return g;
}

static hvi_evaluation *start(bench *b, hvi_gang *g) {
  hvi_evaluation *e = NULL;
  hvi_error err;
  b->spec.value.device = g;
  check_ok(hvi_evaluation_new(&e, &b->spec, &err), &err);
  assert_int_equal(hvi_mlp_member(hvi_evaluation_problem(e)->model) != NULL, g != NULL);
  return e;
}

static void advance(hvi_evaluation *e, size_t steps) {
  hvi_error err;
  for (size_t i = 0; i < steps; i++) check_ok(hvi_evaluation_step(e, &err), &err);
}

/* Counts are the same, other numbers to a share; clocks are not looked at, nor what is a difference
 * of two close numbers. */
static void check_rows(const hvi_evaluation *x, const hvi_evaluation *y, double share,
                       const char *method) {
  static const char *const skipped[] = {"seconds", "alpha", "gap", "clean", "relative_clean"};
  size_t n, m;
  const hvi_evaluation_row *a = hvi_evaluation_rows(x, &n), *b = hvi_evaluation_rows(y, &m);
  assert_int_equal(n, m);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; hvi_evaluation_column(j); j++) {
      const char *column = hvi_evaluation_column(j);
      const double p = hvi_evaluation_cell(&a[i], j), q = hvi_evaluation_cell(&b[i], j);
      bool skip = isnan(p) && isnan(q);
      for (size_t k = 0; share > 0.0 && k < sizeof skipped / sizeof *skipped; k++)
        skip |= strncmp(column, skipped[k], strlen(skipped[k])) == 0;
      if (skip || strncmp(column, "seconds", 7) == 0) continue;
      if (!(fabs(p - q) <= share * fabs(p)))
        fail_msg("%s, row %zu, %s: %.17g and %.17g", method, i, column, p, q);
    }
  }
}

static void check_gaps(hvi_evaluation *x, hvi_evaluation *y) {
  hvi_evaluation_result a, b;
  hvi_error err;
  check_ok(hvi_evaluation_judge(x, &a, &err), &err);
  check_ok(hvi_evaluation_judge(y, &b, &err), &err);
  check_near(a.gap.error, b.gap.error, 1e-5 * a.gap.error);
  check_near(a.gap.least, b.gap.least, 1e-5 * a.gap.error);
  check_near(a.score.error, b.score.error, 1e-5 * a.score.error);
}

static void methods_are_the_same_on_both(void **state) {
  (void)state;
  for (size_t k = 0; k < METHODS; k++) {
    bench b;
    bench_init(&b);
    apply_method(&b, k);
    hvi_gang *g = open_gang((emulation){0});
    hvi_evaluation *cpu = start(&b, NULL), *device = start(&b, g);
    for (size_t t = 0; t < STEPS; t++) {
      advance(cpu, 1);
      advance(device, 1);
      check_relative(device->solver->z, cpu->solver->z, cpu->problem->model->out, 1e-5);
    }
    check_rows(cpu, device, 1e-5, methods[k].name);
    check_gaps(cpu, device);
    const hvi_evaluation_row *last = &device->rows[device->count - 1];
    const double used = hvi_member_seconds(hvi_mlp_member(device->problem->model));
    assert_true(used > 0.0 && last->seconds_optimise + last->seconds_measure >= used);
    hvi_evaluation_free(cpu);
    hvi_evaluation_free(device);
    hvi_gang_close(g);
    assert_true(emulated.runs > STEPS);
  }
}

/* In two pieces through a file, the second on a device of its own. */
static void resumed_on_the_device_it_is_the_same_run(void **state) {
  (void)state;
  for (size_t k = 0; k < METHODS; k++) {
    bench b;
    hvi_error err;
    bench_init(&b);
    apply_method(&b, k);
    hvi_gang *g = open_gang((emulation){0});
    hvi_evaluation *whole = start(&b, g), *first = start(&b, g);
    advance(whole, STEPS);
    advance(first, CUT);
    check_ok(hvi_evaluation_save(first, here.file, "this", &err), &err);
    advance(first, STEPS - CUT); /* it can be saved without harm */
    check_rows(whole, first, 0.0, methods[k].name);
    hvi_evaluation_free(first);
    hvi_evaluation *second = start(&b, g);
    check_ok(hvi_evaluation_restore(second, here.file, "this", &err), &err);
    advance(second, STEPS - CUT);
    check_same_bits(hvi_evaluation_theta(whole), hvi_evaluation_theta(second),
                    whole->problem->model->dim);
    check_rows(whole, second, 0.0, methods[k].name);
    hvi_evaluation_free(whole);
    hvi_evaluation_free(second);
    hvi_gang_close(g);
  }
}

/* Two runs in turns on a device with so much memory: where they end, one after the other. */
static size_t run_both(bench *b, size_t memory, double *theta) {
  hvi_error err;
  hvi_gang *g = open_gang((emulation){.memory = memory});
  hvi_evaluation *e[2];
  for (size_t i = 0; i < 2; i++) {
    b->spec.seed = 5 + i;
    e[i] = start(b, g);
  }
  for (size_t t = 0; t < STEPS; t++) advance(e[0], 1), advance(e[1], 1);
  check_ok(hvi_gang_failure(g, &err), &err);
  const size_t d = e[0]->problem->model->dim;
  for (size_t i = 0; i < 2; i++) {
    memcpy(theta + i * d, hvi_evaluation_theta(e[i]), d * sizeof *theta);
    hvi_evaluation_free(e[i]);
  }
  hvi_gang_close(g);
  return 2 * d;
}

/* A draw of as many fresh rows as there are is one of all rows, and brings them each time. A network that
 * was put aside gets its rows again. */
static void rows_that_come_again_are_brought_once(void **state) {
  (void)state;
  void (*const some[])(bench * b) = {adamw_kept, td, scaled_threshold, lambda, td_target, tdc};
  const hvi_device_shape s = {.layer_count = 3, .width = {OBS, 16, 9, 1}};
  const size_t one =
      emulated_net_bytes(&s) + emulated_row_bytes(&s, ROWS) + emulated_step_bytes(&s, ROWS);
  const size_t memory[] = {0, 0, one, one + emulated_input_bytes(&s, ROWS)};
  enum { WAYS = sizeof memory / sizeof *memory };
  for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
    double theta[WAYS][500];
    bench b;
    bench_init(&b);
    some[k](&b);
    b.spec.schedule = (hvi_schedule){0};
    b.spec.value.batch = ROWS;
    b.spec.value.lambda_decay = 0.0;
    for (int way = 0; way < WAYS; way++) {
      b.spec.value.draw = way == 0 ? HVI_VALUE_FRESH : HVI_VALUE_ALL;
      const size_t d = run_both(&b, memory[way], theta[way]);
      check_same_bits(theta[way], theta[0], d);
      assert_int_equal(emulated.refused > 0, memory[way] > 0);
      /* of each run: states, successors at ends of episodes, the probe's first and last, and those of a target
       * network; another rule has successors of its own */
      const size_t times = some[k] == td_target ? 5 : 4;
      if (way == 1 && some[k] != tdc) assert_int_equal(emulated.brought, 2 * times);
      if (way != 1) assert_true(emulated.brought > 2 * STEPS);
    }
  }
}

/* Begins on one, or NULL the processor, and ends on the other. */
static void check_change(bench *b, hvi_gang *from, hvi_gang *to, const char *method) {
  hvi_error err;
  hvi_evaluation *whole = start(b, NULL), *first = start(b, from);
  advance(whole, STEPS);
  advance(first, CUT);
  check_ok(hvi_evaluation_save(first, here.file, "this", &err), &err);
  hvi_evaluation_free(first);
  b->spec.accept_other_bits = false;
  hvi_evaluation *second = start(b, to);
  check_error(hvi_evaluation_restore(second, here.file, "this", &err), HVI_ERROR_INPUT, &err,
              "would go on with other bits: --device says");
  hvi_evaluation_free(second);
  b->spec.accept_other_bits = true;
  second = start(b, to);
  check_ok(hvi_evaluation_restore(second, here.file, "this", &err), &err);
  assert_non_null(strstr(hvi_evaluation_state(second).levels, "+emulated-1+mixed"));
  advance(second, STEPS - CUT);
  check_rows(whole, second, 1e-5, method);
  hvi_evaluation_free(whole);
  hvi_evaluation_free(second);
}

static void a_run_changes_between_processor_and_device(void **state) {
  (void)state;
  for (size_t k = 0; k < METHODS; k++) {
    bench b;
    bench_init(&b);
    apply_method(&b, k);
    hvi_gang *g = open_gang((emulation){.level = "emulated-1"});
    check_change(&b, NULL, g, methods[k].name);
    check_change(&b, g, NULL, methods[k].name);
    hvi_gang_close(g);
  }
}

/* Wherever the device is lost, what was saved before goes on to the same end. */
static void a_lost_device_leaves_a_good_checkpoint(void **state) {
  (void)state;
  bench b;
  hvi_error err;
  bench_init(&b);
  running_floor(&b);
  gaps(&b);
  b.spec.value.draw = HVI_VALUE_RANDOM;
  hvi_gang *g = open_gang((emulation){0});
  hvi_evaluation *whole = start(&b, g);
  advance(whole, STEPS);
  const size_t runs = emulated.runs, d = whole->problem->model->dim;
  double *theta = hvi_copy_doubles(hvi_evaluation_theta(whole), d);
  assert_non_null(theta);
  hvi_evaluation_free(whole);
  hvi_gang_close(g);
  const hvi_evaluation_watch watch = {
      .checkpoint = here.file, .about = "this", .every = 1, .seconds = INFINITY, .end = true};
  size_t saved = 0;
  for (size_t n = 1; n < runs; n += 3) {
    hvi_evaluation *e = NULL;
    remove(here.file);
    b.spec.value.device = g = open_gang((emulation){.fail_at = n});
    hvi_status status = hvi_evaluation_new(&e, &b.spec, &err);
    if (!status) status = hvi_evaluation_run(e, &watch, &err);
    check_error(status, HVI_ERROR_IO, &err,
                "the emulated device is lost; the last checkpoint is good");
    if (e) assert_int_equal(hvi_evaluation_save(e, here.other, "this", &err), HVI_ERROR_IO);
    hvi_evaluation_free(e);
    hvi_gang_close(g);
    g = open_gang((emulation){0});
    e = start(&b, g);
    if (access(here.file, R_OK) == 0) {
      check_ok(hvi_evaluation_restore(e, here.file, "this", &err), &err);
      saved++;
    }
    check_ok(hvi_evaluation_run(e, NULL, &err), &err);
    check_same_bits(hvi_evaluation_theta(e), theta, d);
    hvi_evaluation_free(e);
    hvi_gang_close(g);
  }
  assert_true(saved > 3);
  assert_true(access(here.other, F_OK) != 0);
  hvi_free(theta);
}

/* These compute on the processor, to its bits. */
static void what_a_device_cannot_do_stays_here(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    bench b;
    hvi_error err;
    bench_init(&b);
    if (k == 0) b.settings.optimizer = &hvi_optimizer_lm;
    if (k == 1) b.settings.optimizer = &hvi_optimizer_gn;
    if (k == 2) b.spec.value.activation = HVI_GELU;
    if (k == 3) b.settings.floor = HVI_FLOOR_ESTIMATED, b.settings.alpha = 0.9;
    hvi_gang *g = open_gang((emulation){0});
    hvi_evaluation *here_alone = start(&b, NULL), *e = NULL;
    b.spec.value.device = g;
    check_ok(hvi_evaluation_new(&e, &b.spec, &err), &err);
    assert_null(hvi_mlp_member(e->problem->model));
    assert_null(strstr(hvi_evaluation_state(e).levels, "emulated"));
    advance(e, 2);
    advance(here_alone, 2);
    check_rows(here_alone, e, 0.0, "on the processor");
    hvi_evaluation_free(e);
    hvi_evaluation_free(here_alone);
    hvi_gang_close(g);
    assert_int_equal(emulated.runs, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods_are_the_same_on_both),
      cmocka_unit_test_setup_teardown(resumed_on_the_device_it_is_the_same_run, enter, leave),
      cmocka_unit_test(rows_that_come_again_are_brought_once),
      cmocka_unit_test_setup_teardown(a_run_changes_between_processor_and_device, enter, leave),
      cmocka_unit_test_setup_teardown(a_lost_device_leaves_a_good_checkpoint, enter, leave),
      cmocka_unit_test(what_a_device_cannot_do_stays_here),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
