/* Jobs side by side do what they do alone, in whatever company and order. */
#include "rl/rollout_lockstep.h"

#include "mortal_env.h"
#include "rl/policy.h"

enum { JOBS = 23 };

/* What a job saw, as one number that depends on every bit of it. */
typedef struct trail {
  double sum;
  size_t steps;
} trail;

static trail trails[JOBS];
static size_t begun;

static void begin(void *context, size_t job, hvi_env *env, hvi_rng *env_rng, hvi_rng *policy_rng) {
  (void)context;
  assert_int_equal(job, begun++);
  *env_rng = hvi_rng_new(1, "env", job);
  *policy_rng = hvi_rng_new(1, "policy", job);
  hvi_env_reset(env, env_rng);
  trails[job] = (trail){0.0, 0};
}

static void add(trail *t, const hvi_lockstep_step *step) {
  t->steps++;
  for (size_t i = 0; i < MORTAL_OBS; i++) {
    t->sum += sin((double)(t->steps + i)) * (step->obs[i] + 3.0 * step->next[i]);
  }
  t->sum += step->action[0] * (double)t->steps + step->result.reward;
}

static bool take(void *context, size_t job, const hvi_env *env, const hvi_lockstep_step *step) {
  double now[MORTAL_OBS];
  (void)context;
  hvi_env_observe(env, now);
  check_same_bits(now, step->next, MORTAL_OBS);
  add(&trails[job], step);
  return !step->result.terminated && !step->result.truncated;
}

static void alone(trail *t, size_t job, hvi_env *env, const hvi_policy *policy, float *scratch) {
  hvi_rng env_rng = hvi_rng_new(1, "env", job), policy_rng = hvi_rng_new(1, "policy", job);
  double obs[MORTAL_OBS], next[MORTAL_OBS], action;
  hvi_lockstep_step step = {.obs = obs, .action = &action, .next = next};
  *t = (trail){0.0, 0};
  hvi_env_reset(env, &env_rng);
  do {
    hvi_env_observe(env, obs);
    hvi_policy_act(policy, scratch, 1, obs, &policy_rng, &action);
    step.result = hvi_env_step(env, &action, &env_rng);
    hvi_env_observe(env, next);
    add(t, &step);
  } while (!step.result.terminated && !step.result.truncated);
}

/* An actor with random weights: rows go through matrix products together. */
static hvi_policy *actor(void) {
  const size_t hidden[] = {33, 20};
  hvi_policy *p;
  hvi_error err;
  hvi_rng rng = hvi_rng_new(2, "actor", 0);
  check_ok(hvi_policy_actor(&p, MORTAL_OBS, 1, 2, hidden, &err), &err);
  hvi_net_init_kaiming(p->net, p->weights, &rng);
  hvi_net_prepare(p->net, p->weights);
  return p;
}

static void check_widths(const hvi_policy *policy) {
  static const size_t widths[] = {1, 2, 7, 16, 40};
  hvi_env *env = mortal_new();
  hvi_error err;
  trail wanted[JOBS];
  float *scratch = hvi_alloc(hvi_policy_scratch(policy, 1), sizeof *scratch);
  for (size_t job = 0; job < JOBS; job++) alone(&wanted[job], job, env, policy, scratch);
  for (size_t k = 0; k < sizeof widths / sizeof widths[0]; k++) {
    const hvi_rollout_settings s = {0};
    const hvi_lockstep_task task = {
        .count = JOBS, .begin = begin, .take = take, .noun = "job", .first = 0};
    hvi_lockstep *l;
    hvi_meter meter;
    size_t steps = 0;
    begun = 0;
    hvi_meter_start(&meter, &s, 1);
    check_ok(hvi_lockstep_new(&l, env, policy, widths[k], false, &err), &err);
    check_ok(hvi_lockstep_run(l, &task, &meter, &err), &err);
    for (size_t job = 0; job < JOBS; job++) {
      assert_int_equal(trails[job].steps, wanted[job].steps);
      check_same_bits(&trails[job].sum, &wanted[job].sum, 1);
      steps += wanted[job].steps;
    }
    assert_int_equal(meter.steps, steps);
    hvi_lockstep_free(l);
    hvi_meter_end(&meter);
  }
  hvi_free(scratch);
  hvi_env_free(env);
}

static void company_does_not_matter(void **state) {
  (void)state;
  hvi_policy *policies[] = {mortal_policy(), actor()};
  for (size_t k = 0; k < 2; k++) {
    check_widths(policies[k]);
    hvi_policy_free(policies[k]);
  }
}

static void a_fingerprint_sees_every_weight(void **state) {
  (void)state;
  hvi_policy *p = actor();
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
      cmocka_unit_test(a_fingerprint_sees_every_weight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
