/*
 * Acceleration: the correction is Galerkin's, the fixed point stays where it is, the loop becomes
 * faster, and on noisy samples it is not worse in the end.
 */
#include "problems/mdp/chains.h"

#include <hvi/problem.h>

enum { N = 60, STEPS = 400, SEEDS = 200 };

static double end_distance(const hvi_problem *p, hvi_settings s, size_t steps) {
  s.max_outer = steps;
  hvi_solver *solver = NULL;
  hvi_error err;
  check_ok(hvi_solver_new(&solver, p, &s, &err), &err);
  hvi_solver_run(solver);
  const double dist2 = hvi_solver_info(solver).last.dist2;
  hvi_solver_free(solver);
  return dist2;
}

static hvi_problem *evaluation_of(hvi_mdp *mdp) {
  hvi_problem *p = NULL;
  hvi_error err;
  check_ok(hvi_mdp_problem_new(&p, mdp, &err), &err);
  return p;
}

/* A constant error is gone after one step; what is left contracts by gamma or faster. */
static void a_constant_error_is_gone_at_once(void **state) {
  (void)state;
  hvi_problem *p = evaluation_of(random_mdp(30, 0, 0.99, 5));
  double theta0[30];
  for (size_t i = 0; i < 30; i++) theta0[i] = p->solution[i] + 100.0;
  hvi_settings s = settings_for("projected", 1.0, 1);
  s.theta0 = theta0;
  assert_true(end_distance(p, s, 1) > 9000.0);
  s.accelerate = HVI_ACCELERATE_MODE;
  assert_true(end_distance(p, s, 1) < 1e-18 * 1e4);
  hvi_problem_free(p);
}

/* Features that cannot show a constant: the mode is as much of it as they can. */
static hvi_problem *without_constant(void) {
  static const double P[] = {0.5, 0.5, 0.0, 0.25, 0.5, 0.25, 0.0, 0.5, 0.5};
  static const double reward[] = {0.0, 1.0, 3.0}, phi[] = {0.0, 1.0, 2.0};
  const hvi_mdp_spec spec = {
      .states = 3, .transitions = P, .reward = reward, .gamma = 0.95, .features = 1, .phi = phi};
  hvi_mdp *mdp = NULL;
  hvi_error err;
  check_ok(hvi_mdp_new(&mdp, &spec, &err), &err);
  return evaluation_of(mdp);
}

/* The solution is a fixed point of every variant, and each one finds it from elsewhere. */
static void the_fixed_point_stays(void **state) {
  (void)state;
  for (size_t c = 0; c < 8; c++) {
    hvi_problem *p = c >= 6   ? without_constant()
                     : c >= 4 ? evaluation_of(walk_mdp(40, 0.95))
                              : evaluation_of(random_mdp(40, 5 * (c / 2), 0.95, c / 2));
    hvi_settings s = settings_for("projected", 1.0, 1);
    s.accelerate = c % 2 ? HVI_ACCELERATE_LSTD : HVI_ACCELERATE_MODE;
    const double end = end_distance(p, s, 600);
    if (!(end < 1e-14)) fail_msg("case %zu ends at %g", c, end);
    hvi_problem_free(p);
  }
}

static size_t steps_until(const hvi_problem *p, hvi_settings s, double share) {
  const double start = end_distance(p, s, 1);
  size_t steps = 1;
  while (steps < 20000 && end_distance(p, s, steps) > share * start) steps += 1 + steps / 8;
  return steps;
}

static void it_is_faster_on_slow_chains(void **state) {
  (void)state;
  hvi_problem *p = evaluation_of(random_mdp(40, 0, 0.99, 3));
  hvi_settings s = settings_for("projected", 1.0, 1);
  const size_t plain = steps_until(p, s, 1e-12);
  s.accelerate = HVI_ACCELERATE_MODE;
  assert_true(20 * steps_until(p, s, 1e-12) < plain);
  hvi_problem_free(p);
  /* the walk mixes slowly itself: its constant is not its only slow mode */
  p = evaluation_of(walk_mdp(40, 0.99));
  s.accelerate = HVI_ACCELERATE_MODE;
  const double mode = end_distance(p, s, 20);
  s.accelerate = HVI_ACCELERATE_LSTD;
  assert_true(end_distance(p, s, 1) < 1e-12 * mode);
  hvi_problem_free(p);
}

/*
 * F_i = (rate (z_i - level) + noise_i) / N: N independent states with one slow constant. The sample
 * knows its number, from which on the level may be another one, and the first of them may be quiet.
 */
typedef struct noisy {
  hvi_problem base;
  hvi_set set;
  double weights[N], theta0[N];
  double quiet;       /* factor of the first sample's noise */
  double jump_at;     /* sample from which on the level is jump_to */
  double jump_to;     /* and 1 before */
  double odd_at, odd; /* sample whose noise has a mean of that many standard errors */
  double shared;      /* standard deviation of a noise that all states of a sample have */
} noisy;

typedef struct noisy_sample {
  double count, draw[N];
} noisy_sample;

static const double rate = 0.02, noise = 0.5;

static double level_at(const noisy *t, double count) {
  return count >= t->jump_at ? t->jump_to : 1.0;
}

static void noisy_operate(const hvi_problem *p, const void *sample, const double *theta,
                          const double *z, double *f) {
  (void)theta;
  const noisy_sample *s = sample;
  const double level = level_at((const noisy *)p, s ? s->count : 0.0);
  for (size_t i = 0; i < N; i++) f[i] = (rate * (z[i] - level) + (s ? s->draw[i] : 0.0)) / N;
}

static void noisy_draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)theta;
  const noisy *t = (const noisy *)p;
  noisy_sample *s = sample;
  s->count += 1.0;
  const double mean = s->count == t->odd_at ? t->odd * noise / sqrt(N) : 0.0;
  hvi_rng_fill_normal(rng, mean, s->count == 1.0 ? t->quiet * noise : noise, N, s->draw);
  const double shared = t->shared > 0.0 ? t->shared * hvi_rng_normal(rng) : 0.0;
  for (size_t i = 0; i < N; i++) s->draw[i] += shared;
}

static void noisy_mode(const hvi_problem *p, const void *sample, double *u, double *df,
                       double *test) {
  (void)p, (void)sample;
  for (size_t i = 0; i < N; i++) {
    u[i] = test[i] = 1.0;
    df[i] = rate / N;
  }
}

/* squared error of the mean output */
static double noisy_dist2(const hvi_problem *p, const double *theta) {
  (void)p;
  double mean = 0.0;
  for (size_t i = 0; i < N; i++) mean += (theta[i] - 1.0) / N;
  return mean * mean;
}

static const hvi_problem_ops noisy_ops = {.name = "noisy",
                                          .operate = noisy_operate,
                                          .draw = noisy_draw,
                                          .slow_mode = noisy_mode,
                                          .dist2 = noisy_dist2};

static void noisy_init(noisy *t) {
  double *identity = calloc((size_t)N * N, sizeof *identity);
  assert_non_null(identity);
  hvi_error err;
  *t = (noisy){.set = {.kind = HVI_SET_FREE, .len = N}, .quiet = 1.0, .jump_at = INFINITY};
  for (size_t i = 0; i < N; i++) {
    identity[i * N + i] = 1.0;
    t->weights[i] = 1.0 / N;
    t->theta0[i] = 50.0;
  }
  t->base = (hvi_problem){.ops = &noisy_ops,
                          .theta0 = t->theta0,
                          .weights = t->weights,
                          .sample_bytes = sizeof(noisy_sample),
                          .set_count = 1,
                          .sets = &t->set};
  check_ok(hvi_affine_new(&t->base.model, N, N, identity, NULL, &err), &err);
  free(identity);
}

typedef struct course {
  double early, late; /* mean squared error after 10 steps, and over the last half */
} course;

static bool watch(void *context, const hvi_record *row) {
  course *c = context;
  if (row->outer == 10) c->early += row->dist2 / SEEDS;
  if (row->outer > STEPS / 2) c->late += row->dist2 / (SEEDS * STEPS / 2.0);
  return true;
}

static course run_seeds(const hvi_problem *p, hvi_acceleration accelerate) {
  course c = {0};
  for (size_t seed = 0; seed < SEEDS; seed++) {
    hvi_settings s = settings_for("gd", 1.0, STEPS);
    s.inner.lr = N; /* one step to the target */
    s.accelerate = accelerate;
    s.seed = seed;
    s.observe = watch;
    s.observer_context = &c;
    end_distance(p, s, STEPS);
  }
  return c;
}

/* The plain loop settles at a variance of the mean's error of rate q / (2 - rate), and is measured
 * from the solution on, so that nothing is left of its start. A correction by all of c would end
 * at q. */
static void noise_does_not_make_it_worse(void **state) {
  (void)state;
  noisy t;
  noisy_init(&t);
  const course plain = run_seeds(&t.base, HVI_ACCELERATE_NONE);
  const course mode = run_seeds(&t.base, HVI_ACCELERATE_MODE);
  for (size_t i = 0; i < N; i++) t.theta0[i] = 1.0;
  const course settled = run_seeds(&t.base, HVI_ACCELERATE_NONE);
  const double q = noise * noise / N / (rate * rate);
  assert_true(plain.early > 1000.0); /* 49 (1 - rate)^10, squared */
  assert_true(mode.early < 0.3 * q); /* about q / 10 */
  assert_true(settled.late > 0.7 * rate * q / (2.0 - rate));
  assert_true(mode.late < 1.15 * settled.late);
  hvi_problem_free(&t.base);
}

/* The spread within a sample tells a tenth of the noise and less. Believed, it would call every
 * other sample a change, and end at q. */
static void noise_that_parts_share_is_seen(void **state) {
  (void)state;
  noisy t;
  noisy_init(&t);
  t.shared = 10.0 * noise / sqrt(N);
  const course mode = run_seeds(&t.base, HVI_ACCELERATE_MODE);
  for (size_t i = 0; i < N; i++) t.theta0[i] = 1.0;
  const course settled = run_seeds(&t.base, HVI_ACCELERATE_NONE);
  const double q = t.shared * t.shared / (rate * rate);
  assert_true(settled.late > 0.7 * rate * q / (2.0 - rate));
  assert_true(mode.late < 1.15 * settled.late);
  hvi_problem_free(&t.base);
}

static size_t no_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s, (void)m;
  return 0;
}

static void forget_nothing(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m, (void)state;
}

static const double slip = 0.2;

/* To the target and, every time, past it. */
static bool careless_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  (void)s, (void)state;
  for (size_t i = 0; i < N; i++) l->next->theta[i] = l->target[i] + slip;
  hvi_surrogate_probe(l);
  hvi_surrogate_accept(l);
  return true;
}

static const hvi_optimizer careless = {"careless", "", no_state, forget_nothing, careless_step};

/* Left alone the error would be slip / rate: what the inner loop leaves is put right. */
static void what_the_inner_loop_leaves_is_known(void **state) {
  (void)state;
  noisy t;
  noisy_init(&t);
  const double left = slip / rate, q = noise * noise / N / (rate * rate);
  for (size_t variant = 0; variant < 2; variant++) {
    course c = {0};
    for (size_t seed = 0; seed < SEEDS; seed++) {
      hvi_settings s = settings_for("gd", 1.0, STEPS);
      s.optimizer = &careless;
      s.accelerate = variant ? HVI_ACCELERATE_MODE : HVI_ACCELERATE_NONE;
      s.seed = seed;
      s.observe = watch;
      s.observer_context = &c;
      end_distance(&t.base, s, STEPS);
    }
    if (variant == 0) assert_true(c.late > 0.8 * left * left);
    if (variant == 1) assert_true(c.late < slip * slip + 0.1 * q);
  }
  hvi_problem_free(&t.base);
}

/* A first sample of a tenth of the noise, and off by a standard error of the others. Gains that go
 * by each sample's own noise would count it as a hundred, and be off by most of that after thirty.
 */
static void a_quiet_start_is_not_believed_for_ever(void **state) {
  (void)state;
  noisy t;
  noisy_init(&t);
  t.quiet = 0.1;
  t.odd_at = 1.0;
  t.odd = 1.0;
  double sum = 0.0;
  for (size_t seed = 0; seed < SEEDS; seed++) {
    hvi_settings s = settings_for("gd", 1.0, 30);
    s.inner.lr = N;
    s.accelerate = HVI_ACCELERATE_MODE;
    s.seed = seed;
    sum += end_distance(&t.base, s, 30) / SEEDS;
  }
  const double q = noise * noise / N / (rate * rate);
  assert_true(sum < 0.1 * q); /* 4/3 of q / 30 */
  hvi_problem_free(&t.base);
}

typedef struct moment {
  double level;         /* to measure from */
  size_t outer;         /* when */
  double error, before; /* of the mean then, and a step earlier */
} moment;

static bool catch_moment(void *context, const hvi_record *row) {
  moment *m = context;
  double mean = 0.0;
  for (size_t i = 0; i < N; i++) mean += (row->theta[i] - m->level) / N;
  if (row->outer + 1 == m->outer) m->before = mean;
  if (row->outer == m->outer) m->error = mean;
  return true;
}

static moment mean_error(const hvi_problem *p, uint64_t seed, double level, size_t outer) {
  moment m = {.level = level, .outer = outer};
  hvi_settings s = settings_for("gd", 1.0, STEPS);
  s.inner.lr = N;
  s.accelerate = HVI_ACCELERATE_MODE;
  s.seed = seed;
  s.observe = catch_moment;
  s.observer_context = &m;
  end_distance(p, s, outer);
  return m;
}

/* After 150 steps the gains are small. Ten samples of another level are believed; one wild sample
 * is not. */
static void a_change_is_noticed_and_an_outlier_is_not(void **state) {
  (void)state;
  noisy t;
  noisy_init(&t);
  const double q = noise * noise / N / (rate * rate);
  t.jump_at = 150.0;
  t.jump_to = 60.0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    const moment m = mean_error(&t.base, seed, 60.0, 165);
    if (!(fabs(m.error) < 4.0 * sqrt(q))) fail_msg("seed %d: %g", (int)seed, m.error);
  }
  t.jump_at = INFINITY;
  t.odd_at = 150.0;
  t.odd = 20.0;
  for (uint64_t seed = 0; seed < 20; seed++) {
    const moment m = mean_error(&t.base, seed, 1.0, 150);
    if (!(fabs(m.error - m.before) < 5.0 * sqrt(q))) fail_msg("seed %d: %g", (int)seed, m.error);
  }
  hvi_problem_free(&t.base);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  hvi_problem *p = builtin("pennies", 0);
  hvi_settings s = settings_for("gd", 0.1, 10);
  hvi_solver *solver = NULL;
  hvi_error err;
  s.accelerate = HVI_ACCELERATE_MODE;
  check_error(hvi_solver_new(&solver, p, &s, &err), HVI_ERROR_UNSUPPORTED, &err, "slow mode");
  hvi_problem_free(p);
  p = evaluation_of(walk_mdp(40, 0.95));
  s.target = HVI_TARGET_OPTIMISTIC;
  check_error(hvi_solver_new(&solver, p, &s, &err), HVI_ERROR_UNSUPPORTED, &err, "plain targets");
  s.target = HVI_TARGET_PROXIMAL;
  check_error(hvi_solver_new(&solver, p, &s, &err), HVI_ERROR_UNSUPPORTED, &err, "no acceleration");
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_constant_error_is_gone_at_once),
      cmocka_unit_test(the_fixed_point_stays),
      cmocka_unit_test(it_is_faster_on_slow_chains),
      cmocka_unit_test(noise_does_not_make_it_worse),
      cmocka_unit_test(noise_that_parts_share_is_seen),
      cmocka_unit_test(what_the_inner_loop_leaves_is_known),
      cmocka_unit_test(a_quiet_start_is_not_believed_for_ever),
      cmocka_unit_test(a_change_is_noticed_and_an_outlier_is_not),
      cmocka_unit_test(what_does_not_fit_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
