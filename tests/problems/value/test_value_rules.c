/* The rules of a value problem, step by step against their formulas in double precision. */
#include "problems/value/values.h"

enum { N = 40, STEPS = 12, MOST = 500 };

typedef struct learner {
  const hvi_value *v;
  size_t d, t;
  double theta[MOST], second[MOST];
  double m[2][MOST], s[2][MOST]; /* Adam's averages */
} learner;

static const hvi_rule *find_rule(const hvi_problem *p, const char *name) {
  for (size_t k = 0; p->ops->rules[k]; k++)
    if (strcmp(p->ops->rules[k]->name, name) == 0) return p->ops->rules[k];
  fail_msg("no rule '%s'", name);
  return NULL;
}

/* x += h g, plainly or as Adam would */
static void climb(learner *l, const hvi_rule_settings *s, size_t which, double *x, const double *g,
                  double h) {
  for (size_t j = 0; j < l->d; j++) {
    if (!s->adam) {
      x[j] += h * g[j];
      continue;
    }
    double *m = &l->m[which][j], *v = &l->s[which][j];
    *m = 0.9 * *m + 0.1 * g[j];
    *v = 0.999 * *v + 0.001 * g[j] * g[j];
    const double k = (double)(l->t + 1);
    x[j] += h * (*m / (1.0 - pow(0.9, k))) / (sqrt(*v / (1.0 - pow(0.999, k))) + 1e-8);
  }
}

/* delta / N of this batch, the successors' values being those of `other` */
static void find_delta(const learner *l, const double *other, double *delta) {
  double z[N];
  reference_targets(l->v, l->t * N, N, other, delta);
  reference_pass(l->v, l->v->spec.data->observation, l->t * N, N, l->theta, z, NULL, NULL);
  for (size_t i = 0; i < N; i++) delta[i] = (delta[i] - z[i]) / N;
}

/* J'u on the states, or on the successors with u masked and discounted */
static void pull(const learner *l, bool successors, const double *u, double *out) {
  const hvi_dataset *d = l->v->spec.data;
  double z[N], used[N];
  for (size_t i = 0; i < N; i++) {
    const double f = d->terminated[l->t * N + i] ? 0.0 : l->v->spec.gamma;
    used[i] = (successors ? f : 1.0) * u[i];
  }
  reference_pass(l->v, successors ? d->next : d->observation, l->t * N, N, l->theta, z, used, out);
}

static void td_target(learner *l, const hvi_rule_settings *s, double h) {
  double delta[N], g[MOST];
  if (l->t == 0) memcpy(l->second, l->theta, sizeof l->theta);
  find_delta(l, l->second, delta);
  pull(l, false, delta, g);
  climb(l, s, 0, l->theta, g, h);
  for (size_t j = 0; j < l->d; j++) {
    if (s->copy_every == 0) l->second[j] += s->second_rate * (l->theta[j] - l->second[j]);
    if (s->copy_every > 0 && (l->t + 1) % s->copy_every == 0) l->second[j] = l->theta[j];
  }
}

static void residual_gradient(learner *l, const hvi_rule_settings *s, double h) {
  double delta[N], g[MOST], away[MOST];
  find_delta(l, l->theta, delta);
  pull(l, false, delta, g);
  pull(l, true, delta, away);
  for (size_t j = 0; j < l->d; j++) g[j] -= away[j];
  climb(l, s, 0, l->theta, g, h);
}

/* One transition at a time, with the gradients as vectors. */
static void corrected(learner *l, const hvi_rule_settings *s, double h, double beta) {
  double delta[N], g[MOST] = {0}, dw[MOST] = {0}, phi[MOST], next[MOST];
  find_delta(l, l->theta, delta);
  for (size_t i = 0; i < N; i++) {
    double unit[N] = {0};
    unit[i] = 1.0;
    pull(l, false, unit, phi);
    pull(l, true, unit, next);
    const double guess = dot(phi, l->second, l->d) / N;
    for (size_t j = 0; j < l->d; j++) {
      g[j] += delta[i] * phi[j] - guess * next[j];
      dw[j] += (delta[i] - guess) * phi[j];
    }
  }
  for (size_t j = 0; j < l->d; j++) dw[j] -= beta * l->second[j];
  climb(l, s, 0, l->theta, g, h);
  climb(l, s, 1, l->second, dw, h * s->second_rate);
}

static void tdc(learner *l, const hvi_rule_settings *s, double h) { corrected(l, s, h, 0.0); }
static void tdrc(learner *l, const hvi_rule_settings *s, double h) { corrected(l, s, h, 1.0); }

typedef void (*step_function)(learner *l, const hvi_rule_settings *s, double h);

static void check_rule(const char *name, step_function step, hvi_rule_settings set, double lr,
                       double tolerance) {
  source src = lqr_rows(21, N * (STEPS + 1));
  hvi_value_spec spec = small_spec(src.data, N);
  static const double spread[] = {2.0, 1.0, 0.5, 1.0};
  spec.spread = spread, spec.shift = -2.0, spec.scale = 1.5;
  for (size_t i = 0; i < src.data->count; i += 7) src.data->terminated[i] = true;
  hvi_problem *p = value_problem(&spec);
  hvi_settings s = settings_for("gd", 1.0, STEPS);
  s.baseline = HVI_BASELINE_RULE;
  s.rule = find_rule(p, name);
  s.rule_settings = set;
  s.inner.lr = lr;
  hvi_solver *solver = solver_for(p, &s);
  static learner l;
  l = (learner){.v = hvi_value_of(p), .d = p->model->dim};
  memcpy(l.theta, p->theta0, l.d * sizeof(double));
  for (; l.t < STEPS; l.t++) {
    double moved[MOST], wanted[MOST];
    hvi_solver_step(solver);
    step(&l, &set, lr);
    const double *theta = hvi_solver_info(solver).last.theta;
    for (size_t j = 0; j < l.d; j++) {
      moved[j] = theta[j] - p->theta0[j];
      wanted[j] = l.theta[j] - p->theta0[j];
    }
    check_relative(moved, wanted, l.d, tolerance);
  }
  hvi_solver_free(solver);
  hvi_problem_free(p);
  source_free(src);
}

static const hvi_rule_settings plain = {.second_rate = 0.6};
/* Adam's first steps are of the size of the rate whatever the gradient: its rounding counts more.
 */
static const hvi_rule_settings adam = {.second_rate = 2.0, .adam = true};

static void a_target_network_follows_or_is_copied(void **state) {
  (void)state;
  const hvi_rule_settings copied = {.copy_every = 4}, slow = {.second_rate = 0.1, .adam = true};
  check_rule("td-target", td_target, plain, 0.01, 2e-5);
  check_rule("td-target", td_target, copied, 0.01, 2e-5);
  check_rule("td-target", td_target, slow, 0.01, 1e-3);
}

static void residual_gradients_take_both_sides(void **state) {
  (void)state;
  check_rule("residual-gradient", residual_gradient, plain, 0.01, 2e-5);
  check_rule("residual-gradient", residual_gradient, adam, 0.01, 1e-3);
}

static void corrections_use_second_weights(void **state) {
  (void)state;
  check_rule("tdc", tdc, plain, 0.01, 2e-5);
  check_rule("tdrc", tdrc, plain, 0.01, 2e-5);
  check_rule("tdc", tdc, adam, 0.01, 1e-3);
  check_rule("tdrc", tdrc, adam, 0.01, 1e-3);
}

/* With a target that is theta itself the rule is TD(0), as is the surrogate with one step. */
static void a_target_without_delay_is_td0(void **state) {
  (void)state;
  source src = lqr_rows(22, N * (STEPS + 1));
  const hvi_value_spec spec = small_spec(src.data, N);
  hvi_problem *p = value_problem(&spec);
  hvi_settings s = settings_for("gd", 1.0, STEPS);
  s.inner.lr = 0.02;
  hvi_solver *surrogate = solver_for(p, &s);
  s.baseline = HVI_BASELINE_RULE;
  s.rule = find_rule(p, "td-target");
  s.rule_settings.second_rate = 1.0;
  hvi_solver *rule = solver_for(p, &s);
  hvi_solver_run(surrogate);
  hvi_solver_run(rule);
  check_relative(hvi_solver_info(rule).last.theta, hvi_solver_info(surrogate).last.theta,
                 p->model->dim, 1e-5);
  assert_int_equal(hvi_solver_info(rule).last.counts.env_steps,
                   hvi_solver_info(surrogate).last.counts.env_steps);
  hvi_solver_free(surrogate);
  hvi_solver_free(rule);
  hvi_problem_free(p);
  source_free(src);
}

static void rules_need_plain_batches(void **state) {
  (void)state;
  source src = lqr_rows(23, 600);
  hvi_value_spec spec = small_spec(src.data, N);
  spec.buffer = 2;
  hvi_problem *p = value_problem(&spec);
  assert_null(p->ops->rules);
  hvi_problem_free(p);
  spec.buffer = 0, spec.returns = true;
  p = value_problem(&spec);
  assert_null(p->ops->rules);
  hvi_problem_free(p);
  source_free(src);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_target_network_follows_or_is_copied),
      cmocka_unit_test(residual_gradients_take_both_sides),
      cmocka_unit_test(corrections_use_second_weights),
      cmocka_unit_test(a_target_without_delay_is_td0),
      cmocka_unit_test(rules_need_plain_batches),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
