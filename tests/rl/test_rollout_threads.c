/* Episodes in lock-step do what they do alone, in whatever company and on any number of threads. */
#include "rl/rollout.h"

#include "mortal_env.h"
#include "rl/policy.h"
#include "support/starve.h"
#include "walk_env.h"

#include <stdio.h>

enum { EPISODES = 23, FEW = 11, SEED = 3, MOST_OBS = 128 };

static const char *const names[] = {"lqr", "pendulum",
#ifdef HVI_WITH_MUJOCO
                                    "half_cheetah", "ant", "ant-v5"
#endif
};
enum { NAMES = sizeof names / sizeof names[0] };

/* An episode by the definition, one step after the other. */
typedef struct alone {
  hvi_env *env;
  const hvi_policy *policy;
  float *scratch;
  hvi_rng env_rng, policy_rng;
  hvi_return outcome;
} alone;

static alone alone_new(const hvi_env *env, const hvi_policy *policy) {
  alone a = {.policy = policy};
  hvi_error err;
  check_ok(hvi_env_clone(env, &a.env, &err), &err);
  a.scratch = hvi_alloc(hvi_policy_scratch(policy, 1), sizeof *a.scratch);
  return a;
}

static void alone_free(alone *a) {
  hvi_env_free(a->env);
  hvi_free(a->scratch);
}

static void alone_begin(alone *a, uint64_t episode, const char *env_stream,
                        const char *policy_stream) {
  a->env_rng = hvi_rng_new(SEED, env_stream, episode);
  a->policy_rng = hvi_rng_new(SEED, policy_stream, episode);
  a->outcome = (hvi_return){0};
  hvi_env_reset(a->env, &a->env_rng);
}

static hvi_transition alone_step(alone *a, bool deterministic) {
  double obs[MOST_OBS], action[MOST_OBS];
  assert_true(a->env->obs <= MOST_OBS);
  hvi_env_observe(a->env, obs);
  hvi_policy_act(a->policy, a->scratch, 1, obs, deterministic ? NULL : &a->policy_rng, action);
  const hvi_transition t = hvi_env_step(a->env, action, &a->env_rng);
  a->outcome.total += t.reward;
  a->outcome.length += 1.0;
  a->outcome.terminated = t.terminated;
  a->outcome.broken = t.broken;
  return t;
}

/* The record of an episode of at most `steps` steps: [steps][state + obs], or its outcome. */
static void check_episode(alone *a, uint64_t episode, size_t steps, const double *rows,
                          const hvi_return *outcome) {
  const size_t state = a->env->state, obs = a->env->obs;
  double *now = hvi_alloc_doubles(state + obs);
  alone_begin(a, episode, "env", "policy");
  for (hvi_transition t = {0};
       !t.terminated && !t.truncated && a->outcome.length < (double)steps;) {
    if (rows) {
      hvi_env_save(a->env, now);
      hvi_env_observe(a->env, now + state);
      check_same_bits(now, rows + (size_t)a->outcome.length * (state + obs), state + obs);
    }
    t = alone_step(a, false);
  }
  if (outcome) check_same_bits(&a->outcome.total, &outcome->total, 4);
  hvi_free(now);
}

static hvi_rollout_plan plan_of(hvi_rollout_keep keep, size_t group, size_t width, size_t steps) {
  return (hvi_rollout_plan){.keep = keep,
                            .noun = "episode",
                            .env_stream = "env",
                            .policy_stream = "policy",
                            .steps = steps,
                            .group = group,
                            .width = width,
                            .episodes = EPISODES,
                            .gamma = 1.0};
}

/* The episodes of a runner against each of them alone; counts their steps. */
typedef struct checking {
  alone alone;
  const hvi_rollout_plan *plan;
  size_t steps;
} checking;

static void check_records(checking *c, hvi_runner *runner, hvi_error *err) {
  const size_t group = c->plan->group, numbers = c->alone.env->state + c->alone.env->obs;
  for (size_t first = 0; first < c->plan->episodes; first += group) {
    const size_t left = c->plan->episodes - first, count = left < group ? left : group;
    const bool returns = c->plan->keep == HVI_KEEP_RETURNS;
    hvi_rollout_group told;
    check_ok(hvi_runner_read(runner, first / group, &told, err), err);
    assert_int_equal(told.count, count);
    const double *row = returns ? NULL : told.data;
    for (size_t e = 0; e < count; e++) {
      check_episode(&c->alone, first + e, c->plan->steps, row, told.episodes + e);
      const size_t length = (size_t)c->alone.outcome.length;
      assert_int_equal((size_t)told.episodes[e].length, length);
      if (row) row += length * numbers;
      c->steps += length;
    }
  }
}

static size_t check_run(const hvi_env *env, const hvi_policy *policy, const hvi_rollout_plan *plan,
                        size_t threads) {
  const hvi_rollout_settings settings = {.seed = SEED, .threads = threads};
  hvi_rollout_run run;
  hvi_runner *runner;
  checking c = {.alone = alone_new(env, policy), .plan = plan};
  hvi_rollout_report report;
  hvi_error err;
  check_ok(hvi_rollout_begin(&run, env, policy, hvi_rollout_table(), &settings, &report, &err),
           &err);
  check_ok(hvi_rollout_all(&runner, &run, plan, &err), &err);
  check_records(&c, runner, &err);
  hvi_runner_free(runner);
  hvi_rollout_end(&run);
  assert_int_equal(report.steps, c.steps);
  alone_free(&c.alone);
  return c.steps;
}

/* An actor with random weights: rows go through matrix products together. */
static hvi_policy *actor(size_t obs, size_t act) {
  const size_t hidden[] = {33, 20};
  hvi_policy *p;
  hvi_error err;
  hvi_rng rng = hvi_rng_new(2, "actor", 0);
  check_ok(hvi_policy_actor(&p, obs, act, 2, hidden, HVI_RELU, &err), &err);
  hvi_net_init_kaiming(p->net, p->weights, &rng);
  hvi_net_prepare(p->net, p->weights);
  p->form.ranged = true; /* [-1, 1] is meant, whatever the environment allows */
  return p;
}

/* Small random gains, wild enough that ants fall over. */
static hvi_policy *linear(const hvi_env *env) {
  double gain[MOST_OBS * 8], std[8];
  hvi_policy *p;
  hvi_error err;
  hvi_rng rng = hvi_rng_new(2, "gain", 0);
  hvi_rng_fill_normal(&rng, 0.0, 0.05, env->act * env->obs, gain);
  for (size_t i = 0; i < env->act; i++) std[i] = 0.5;
  check_ok(hvi_policy_linear(&p, env->obs, env->act, gain, std, &err), &err);
  return p;
}

/* The reward of a walk depends on every number, and a mortal observes its last action. */
static void company_does_not_matter(void **state) {
  (void)state;
  static const size_t widths[] = {1, 2, 7, 16, 40};
  hvi_env *envs[] = {mortal_new(), NULL};
  hvi_error err;
  check_ok(walk_new(&envs[1], &err), &err);
  for (size_t i = 0; i < 2; i++) {
    hvi_policy *policies[] = {linear(envs[i]), actor(envs[i]->obs, envs[i]->act)};
    for (size_t k = 0; k < 10; k++) {
      const hvi_rollout_plan returns = plan_of(HVI_KEEP_RETURNS, EPISODES, widths[k / 2], 100);
      const hvi_rollout_plan states =
          plan_of(HVI_KEEP_STATES, HVI_ROLLOUT_GROUP, widths[k / 2], 100);
      const size_t steps = check_run(envs[i], policies[k % 2], &returns, 1);
      assert_int_equal(check_run(envs[i], policies[k % 2], &states, 1), steps);
    }
    hvi_policy_free(policies[0]);
    hvi_policy_free(policies[1]);
    hvi_env_free(envs[i]);
  }
}

/* Every environment on one, two and three threads; slots are used again for later episodes. */
static void thread_counts_agree(void **state) {
  (void)state;
  for (size_t k = 0; k < NAMES; k++) {
    hvi_env *env;
    hvi_error err;
    check_ok(hvi_env_new(&env, names[k], &err), &err);
    hvi_policy *policy = linear(env);
    for (size_t threads = 1; threads <= 3; threads++) {
      hvi_rollout_plan returns = plan_of(HVI_KEEP_RETURNS, 4, 3, 30);
      hvi_rollout_plan states = plan_of(HVI_KEEP_STATES, HVI_ROLLOUT_GROUP, 3, 30);
      returns.episodes = states.episodes = FEW;
      check_run(env, policy, &returns, threads);
      check_run(env, policy, &states, threads);
    }
    hvi_policy_free(policy);
    hvi_env_free(env);
  }
}

static hvi_returns_settings settings(size_t episodes, size_t threads) {
  hvi_returns_settings s = hvi_returns_defaults();
  s.run.seed = SEED;
  s.run.threads = threads;
  s.episodes = episodes;
  return s;
}

static void check_returns(const hvi_env *env, const hvi_policy *policy,
                          const hvi_returns_settings *s) {
  alone a = alone_new(env, policy);
  hvi_returns *r;
  hvi_rollout_report report;
  hvi_error err;
  double sum = 0.0, least = INFINITY, longest = 0.0;
  size_t terminated = 0, steps = 0;
  check_ok(hvi_rollout_returns(&r, env, policy, s, &report, &err), &err);
  assert_int_equal(r->episodes, s->episodes);
  for (size_t e = 0; e < r->episodes; e++) {
    alone_begin(&a, e, "score world", "score noise");
    for (hvi_transition t = {0}; !t.terminated && !t.truncated;)
      t = alone_step(&a, s->deterministic);
    check_same_bits(&r->returns[e], &a.outcome.total, 1);
    check_same_bits(&r->length[e], &a.outcome.length, 1);
    sum += a.outcome.total;
    least = fmin(least, a.outcome.total);
    longest = fmax(longest, a.outcome.length);
    terminated += a.outcome.terminated != 0.0;
    steps += (size_t)a.outcome.length;
  }
  check_near(r->mean, sum / (double)r->episodes, 1e-12 * fabs(sum));
  assert_true(r->least == least);
  assert_true(r->longest == longest);
  assert_int_equal(r->terminated, terminated);
  assert_int_equal(report.steps, steps);
  assert_int_equal(isnan(r->half_width), r->episodes == 1);
  assert_false(report.stopped);
  hvi_returns_free(r);
  alone_free(&a);
}

static void returns_are_those_of_a_plain_loop(void **state) {
  (void)state;
  hvi_env *env;
  hvi_error err;
  check_ok(walk_new(&env, &err), &err);
  hvi_policy *policy = linear(env);
  for (size_t threads = 0; threads <= 4; threads++) {
    for (size_t episodes = 1; episodes <= 31; episodes += 6) {
      hvi_returns_settings s = settings(episodes, threads);
      s.deterministic = threads % 2;
      check_returns(env, policy, &s);
    }
  }
  hvi_policy_free(policy);
  hvi_env_free(env);
}

/* The first simulation that fails is named, whoever runs it. */
static void a_failed_simulation_is_an_error(void **state) {
  (void)state;
  hvi_env *env = mortal_new();
  hvi_policy *policy = mortal_policy();
  alone a = alone_new(env, policy);
  char words[64];
  hvi_returns *r;
  hvi_error err;
  size_t episode = 0;
  for (hvi_transition t = {0}; !t.broken; episode++) {
    alone_begin(&a, episode, "score world", "score noise");
    do t = alone_step(&a, false);
    while (!t.terminated && !t.truncated);
  }
  snprintf(words, sizeof words, "episode %zu broke down at step %.0f", episode - 1,
           a.outcome.length - 1.0);
  for (size_t threads = 1; threads <= 3; threads++) {
    const hvi_returns_settings s = settings(200, threads);
    check_error(hvi_rollout_returns(&r, env, policy, &s, NULL, &err), HVI_ERROR_INPUT, &err, words);
    assert_null(r);
  }
  alone_free(&a);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

/* Numbers run away: the error is that of the lowest group that saw it. */
static void errors_come_back(void **state) {
  (void)state;
  const double gain[8] = {10, 10, 10, 10, 10, 10, 10, 10}, std[2] = {1, 1};
  hvi_env *env;
  hvi_policy *wild;
  hvi_returns *r;
  hvi_error err;
  check_ok(hvi_env_new(&env, "lqr", &err), &err);
  check_ok(hvi_policy_linear(&wild, 4, 2, gain, std, &err), &err);
  for (size_t threads = 1; threads <= 3; threads++) {
    const hvi_returns_settings s = settings(3, threads);
    check_error(hvi_rollout_returns(&r, env, wild, &s, NULL, &err), HVI_ERROR_INPUT, &err,
                "not finite or beyond 3e38");
    assert_null(r);
  }
  hvi_policy_free(wild);
  hvi_env_free(env);
}

static bool stop_at_once(void *context, size_t done, size_t total) {
  (void)context;
  assert_true(done <= total);
  return false;
}

static void what_cannot_be_is_refused(void **state) {
  (void)state;
  hvi_env *env = mortal_new(), *other;
  hvi_policy *policy = mortal_policy();
  hvi_returns_settings s = settings(0, 1);
  hvi_rollout_report report;
  hvi_returns *r;
  hvi_error err;
  check_ok(walk_new(&other, &err), &err);
  check_error(hvi_rollout_returns(&r, env, policy, &s, NULL, &err), HVI_ERROR_ARGUMENT, &err,
              "episodes: must be a whole number from 1");
  check_error(hvi_rollout_returns(&r, env, policy, NULL, NULL, &err), HVI_ERROR_ARGUMENT, &err,
              "settings");
  s = settings(5, 4000);
  check_error(hvi_rollout_returns(&r, env, policy, &s, NULL, &err), HVI_ERROR_ARGUMENT, &err,
              "threads");
  s = settings(5, 1);
  check_error(hvi_rollout_returns(&r, other, policy, &s, NULL, &err), HVI_ERROR_INPUT, &err,
              "walk");
  s.run.progress = stop_at_once;
  check_ok(hvi_rollout_returns(&r, env, policy, &s, &report, &err), &err);
  assert_true(report.stopped);
  assert_null(r);
  hvi_returns_free(NULL);
  hvi_runner_free(NULL);
  hvi_policy_free(policy);
  hvi_env_free(env);
  hvi_env_free(other);
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  hvi_env *env;
  hvi_error made;
  check_ok(walk_new(&env, &made), &made);
  hvi_policy *policy = linear(env);
  const hvi_returns_settings s = settings(3, 2);
  hvi_status status;
  size_t allowed = 0;
  do {
    hvi_returns *r;
    hvi_error err = {HVI_OK, ""};
    allocations_left = allowed++;
    status = hvi_rollout_returns(&r, env, policy, &s, NULL, &err);
    allocations_left = (size_t)-1;
    if (status) check_error(status, HVI_ERROR_MEMORY, &err, "memory");
    assert_int_equal(r == NULL, status != HVI_OK);
    hvi_returns_free(r);
  } while (status);
  assert_true(allowed > 15);
  hvi_policy_free(policy);
  hvi_env_free(env);
}

static bool stop_later(void *context) {
  size_t *looks = context;
  return (*looks)-- == 0;
}

enum { STEPS = 60, WIDTH = MORTAL_OBS + 2 };

/* Under fixed actions: rows, sums and the time limit, which is passed over. */
static hvi_replay check_replay(uint64_t seed, const double *actions) {
  hvi_env *env = mortal_new(), *twin = mortal_new();
  double rows[STEPS * WIDTH], row[WIDTH] = {0};
  hvi_rng rng = hvi_rng_new(seed, "replay", 0), same = rng;
  size_t done = 0, limit_at = 0, looks = 2;
  const hvi_replay r = hvi_env_replay(env, actions, STEPS, &rng, rows, NULL, NULL);
  for (hvi_transition t = {0}; done < STEPS && !t.terminated; done++) {
    t = hvi_env_step(twin, actions + done, &same);
    hvi_env_observe(twin, row);
    row[MORTAL_OBS] = t.reward;
    row[MORTAL_OBS + 1] = t.terminated;
    check_same_bits(row, rows + done * WIDTH, WIDTH);
    if (t.truncated && !limit_at) limit_at = done + 1;
  }
  assert_int_equal(r.done, done);
  assert_int_equal(r.limit_at, limit_at);
  assert_true(r.sum == (double)done);
  assert_int_equal(r.terminated, row[MORTAL_OBS + 1] != 0.0);
  same = hvi_rng_new(seed, "replay", 0);
  const hvi_replay cut = hvi_env_replay(env, actions, STEPS, &same, rows, stop_later, &looks);
  assert_int_equal(cut.done, done < 2 ? done : 2);
  hvi_env_free(env);
  hvi_env_free(twin);
  return r;
}

static void a_replay_is_its_steps(void **state) {
  (void)state;
  double actions[STEPS];
  size_t terminated = 0, at_limit = 0;
  for (size_t t = 0; t < STEPS; t++) actions[t] = sin((double)t);
  for (uint64_t seed = 0; seed < 40; seed++) {
    const hvi_replay r = check_replay(seed, actions);
    terminated += r.terminated;
    at_limit += r.limit_at > 0;
    if (r.limit_at) assert_int_equal(r.limit_at, MORTAL_LIMIT);
  }
  assert_in_range(terminated, 1, 40);
  assert_in_range(at_limit, 1, 39);
}

static void a_fingerprint_sees_every_weight(void **state) {
  (void)state;
  hvi_policy *p = actor(MORTAL_OBS, 1);
  char first[17], again[17];
  hvi_policy_fingerprint(first, p);
  assert_int_equal(strlen(first), 16);
  for (size_t i = 0; i < p->net->dim; i += 37) {
    const float kept = p->weights[i];
    p->weights[i] = nextafterf(kept, 1.0f);
    hvi_policy_fingerprint(again, p);
    assert_string_not_equal(first, again);
    p->weights[i] = kept;
  }
  p->scale[0] = 2.0f;
  hvi_policy_fingerprint(again, p);
  assert_string_not_equal(first, again);
  p->scale[0] = 1.0f;
  hvi_policy_fingerprint(again, p);
  assert_string_equal(first, again);
  hvi_policy_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(company_does_not_matter),
      cmocka_unit_test(thread_counts_agree),
      cmocka_unit_test(returns_are_those_of_a_plain_loop),
      cmocka_unit_test(a_failed_simulation_is_an_error),
      cmocka_unit_test(errors_come_back),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(without_memory_it_says_so),
      cmocka_unit_test(a_replay_is_its_steps),
      cmocka_unit_test(a_fingerprint_sees_every_weight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
