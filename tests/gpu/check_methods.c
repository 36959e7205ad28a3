/*
 * Evaluations on the device beside the same ones on the CPU, by the library itself: losses, and the
 * outputs on all states, over the first 20 inner steps of each method.
 *
 * The process is s' = 0.8 s + noise, its reward linear in s. The CPU computes in single precision too,
 * but keeps parameters in double; so both differ from exact numbers by their rounding.
 */
#include "check.h"

#include "base/base.h"
#include "gpu/gang.h"

#include <hvi/evaluate.h>

typedef struct process {
  hvi_dataset data;
  float *block;
  bool *ends;
} process;

static bool process_new(process *p, check *c, size_t rows, size_t obs) {
  *p = (process){.block = hvi_alloc(rows * (2 * obs + 2), sizeof *p->block),
                 .ends = hvi_alloc(2 * rows, sizeof *p->ends)};
  if (!p->block || !p->ends) return false;
  float *s = p->block, *next = s + rows * obs, *reward = next + rows * obs;
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < obs; j++) {
      const bool begins = i % 50 == 0;
      s[i * obs + j] = begins ? (float)hvi_rng_normal(&c->rng) : next[(i - 1) * obs + j];
      next[i * obs + j] = 0.8F * s[i * obs + j] + 0.6F * (float)hvi_rng_normal(&c->rng);
    }
    reward[i] = s[i * obs] + 0.3F + 0.1F * (float)hvi_rng_normal(&c->rng);
    p->ends[i] = i % 100 == 99;
    p->ends[rows + i] = i % 100 == 49;
  }
  p->data = (hvi_dataset){.count = rows,
                          .obs = obs,
                          .act = 1,
                          .observation = s,
                          .next = next,
                          .reward = reward,
                          .action = reward + rows,
                          .terminated = p->ends,
                          .truncated = p->ends + rows};
  return true;
}

static void process_free(process *p) {
  hvi_free(p->block);
  hvi_free(p->ends);
}

/* A method by what differs from TD(0) with AdamW: 20 outer steps of one inner step each. */
typedef struct method {
  const char *label, *name;
  size_t inner;
  double rate; /* inner_lr, or eta of a rule */
  bool forget; /* the optimizer's state after each outer step */
  double alpha;
  hvi_floor floor;
  double lambda;
  size_t buffer; /* double sampling */
  bool returns, offline, scaled;
  double polyak;
  hvi_acceleration accelerate;
} method;

static const method methods[] = {
    {.label = "TD(0)", .name = "adamw", .rate = 3e-3},
    {.label = "TD(0), state reset", .name = "adamw", .rate = 3e-3, .forget = true},
    {.label = "10 steps, state kept", .name = "adamw", .inner = 10, .rate = 1e-3},
    {.label = "10 steps, state reset", .name = "adamw", .inner = 10, .rate = 1e-3, .forget = true},
    {.label = "20 steps, gd", .name = "gd", .inner = 20, .rate = 1e-2},
    {.label = "20 steps, momentum", .name = "momentum", .inner = 20, .rate = 1e-3},
    {.label = "20 steps, adam", .name = "adam", .inner = 20, .rate = 1e-3},
    {.label = "alpha", .name = "adamw", .inner = 10, .rate = 1e-3, .alpha = 0.99, .forget = true},
    {.label = "alpha, floor running",
     .name = "adamw",
     .inner = 10,
     .rate = 1e-3,
     .alpha = 0.99,
     .floor = HVI_FLOOR_RUNNING},
    {.label = "double sampling", .name = "adamw", .inner = 10, .rate = 1e-3, .buffer = 2},
    {.label = "lambda 0.9", .name = "adamw", .inner = 10, .rate = 1e-3, .lambda = 0.9},
    {.label = "corrected",
     .name = "adamw",
     .inner = 5,
     .rate = 1e-3,
     .accelerate = HVI_ACCELERATE_MODE},
    {.label = "scaled", .name = "adamw", .inner = 10, .rate = 1e-3, .scaled = true},
    {.label = "averaged", .name = "adamw", .inner = 5, .rate = 1e-3, .polyak = 3.0},
    {.label = "returns", .name = "adamw", .inner = 10, .rate = 1e-3, .returns = true},
    {.label = "offline", .name = "adamw", .inner = 10, .rate = 1e-3, .offline = true},
    {.label = "target network", .name = "td-target", .rate = 3e-3},
    {.label = "residual gradient", .name = "residual-gradient", .rate = 3e-3},
    {.label = "TDC", .name = "tdc", .rate = 1e-3},
    {.label = "TDRC", .name = "tdrc", .rate = 1e-3},
};
enum { METHODS = sizeof methods / sizeof *methods };

static hvi_settings settings_of(const method *m) {
  hvi_settings s = hvi_evaluation_settings();
  hvi_method_apply(&s, m->name, hvi_value_rules());
  s.inner_steps = m->inner ? m->inner : 1;
  s.max_outer = 20 / s.inner_steps;
  s.inner.lr = s.eta = m->rate;
  if (!s.baseline) s.eta = 1.0;
  s.rule_settings.adam = true;
  s.rule_settings.second_rate = 0.5;
  s.keep_state = !m->forget;
  s.alpha = m->alpha;
  s.floor = m->floor;
  s.inner_lr_decay = 0.0;
  s.accelerate = m->accelerate;
  return s;
}

static hvi_evaluation_spec spec_of(const check *c, const method *m, const process *p,
                                   const hvi_settings *settings) {
  hvi_evaluation_spec s = hvi_evaluation_defaults();
  const size_t width = c->options->quick ? 24 : 256;
  s.settings = settings;
  s.value.data = &p->data;
  s.value.batch = p->data.count / 25;
  s.value.gamma = 0.9;
  s.value.lambda = m->lambda;
  s.value.lambda_decay = 0.0;
  s.value.buffer = m->buffer;
  s.value.returns = m->returns;
  if (m->offline) s.value.draw = HVI_VALUE_ALL;
  s.value.hidden_count = 2;
  s.value.hidden[0] = s.value.hidden[1] = width;
  s.normalise = m->scaled ? HVI_NORMALISE_ALL : HVI_NORMALISE_NONE;
  s.polyak = m->polyak;
  s.seed = c->options->seed;
  s.schedule = (hvi_schedule){.every = 1};
  return s;
}

/* Outputs on all states, by the CPU's network for both. */
static void compare_outputs(check *c, const method *m, hvi_evaluation *const e[2], const process *p,
                            size_t outer) {
  const hvi_problem *value = hvi_evaluation_problem(e[0]);
  const size_t n = p->data.count;
  HVI_OWN double *here = hvi_alloc_doubles(2 * n);
  double *there = here + n, difference = 0.0;
  hvi_error err;
  if (!here) return;
  if (!check_call(
          c,
          hvi_value_predict(value, hvi_evaluation_theta(e[0]), p->data.observation, n, here, &err),
          &err) ||
      !check_call(
          c,
          hvi_value_predict(value, hvi_evaluation_theta(e[1]), p->data.observation, n, there, &err),
          &err))
    return;
  for (size_t i = 0; i < n; i++) difference += (here[i] - there[i]) * (here[i] - there[i]);
  check_error(c, sqrt(difference) / length(here, n), c->limits.descent,
              "%s: outputs after %zu outer steps", m->label, outer);
}

/* 0 where both are the same, both not a number included. */
static double relative(double here, double there) {
  const bool same = here == there || (isnan(here) && isnan(there));
  return same ? 0.0 : fabs(here - there) / fabs(here);
}

static void compare_rows(check *c, const method *m, hvi_evaluation *const e[2]) {
  size_t count[2];
  const hvi_evaluation_row *here = hvi_evaluation_rows(e[0], &count[0]);
  const hvi_evaluation_row *there = hvi_evaluation_rows(e[1], &count[1]);
  check_that(c, count[0] == count[1], "%s: %zu measurements, not %zu", m->label, count[1],
             count[0]);
  for (size_t i = 0; i < count[0] && i < count[1]; i++) {
    check_that(c, here[i].inner == there[i].inner, "%s: %zu inner steps, not %zu", m->label,
               there[i].inner, here[i].inner);
    check_error(c, relative(here[i].loss0, there[i].loss0), c->limits.descent,
                "%s: first loss of step %zu: %.9g, not %.9g", m->label, here[i].outer,
                there[i].loss0, here[i].loss0);
    check_error(c, relative(here[i].loss, there[i].loss), c->limits.descent,
                "%s: last loss of step %zu: %.9g, not %.9g", m->label, here[i].outer, there[i].loss,
                here[i].loss);
  }
}

static void compare_method(check *c, hvi_gang *gang, const method *m, const process *p) {
  const hvi_settings settings = settings_of(m);
  hvi_evaluation_spec spec = spec_of(c, m, p, &settings);
  hvi_evaluation *e[2] = {NULL, NULL};
  hvi_error err;
  bool good = check_call(c, hvi_evaluation_new(&e[0], &spec, &err), &err);
  spec.value.device = gang;
  good = good && check_call(c, hvi_evaluation_new(&e[1], &spec, &err), &err);
  for (size_t outer = 1; good && outer <= settings.max_outer; outer++) {
    for (int i = 0; good && i < 2; i++) good = check_call(c, hvi_evaluation_step(e[i], &err), &err);
    if (good) compare_outputs(c, m, e, p, outer);
  }
  if (good) {
    const bool joined =
        strcmp(hvi_evaluation_state(e[0]).levels, hvi_evaluation_state(e[1]).levels) != 0;
    check_that(c, joined, "%s: nothing was computed on the device", m->label);
    compare_rows(c, m, e);
  }
  hvi_evaluation_free(e[0]);
  hvi_evaluation_free(e[1]);
}

void check_methods(check *c) {
  const size_t rows = c->options->quick ? 1000 : 25000, obs = c->options->quick ? 5 : 27;
  process p;
  hvi_gang *gang = NULL;
  hvi_error err;
  if (!check_begin(c, "methods")) return;
  if (process_new(&p, c, rows, obs) &&
      check_call(c, hvi_gang_open_with(&gang, c->f, c->options->precision, &err), &err))
    for (size_t i = 0; i < METHODS; i++) compare_method(c, gang, &methods[i], &p);
  hvi_gang_close(gang);
  process_free(&p);
  check_end(c);
}
