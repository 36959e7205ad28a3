/*
 * An environment of one's own, and the value function of a policy in it.
 *
 *   x' = 0.9 x + 0.3 u + 0.5 w,   reward cos(x'),   policy u = -x
 *
 * A buoy that drifts, and is pulled back. Under the policy x' = a x + 0.5 w with a = 0.6, so x after
 * t steps is normal, and the value is known:
 *
 *   V(x) = sum over t >= 1 of gamma^(t-1) cos(a^t x) exp(-0.125 (1 - a^2t) / (1 - a^2))
 *
 *   make environment && ./environment
 */
#include <hvi/hvi.h>

#include <math.h>
#include <stdio.h>

/* Everything that changes stands behind the hvi_env, as doubles: so saving, restoring and cloning
 * need no functions. */
typedef struct buoy {
  hvi_env base;
  double x;
} buoy;

static void buoy_reset(hvi_env *env, hvi_rng *rng) {
  ((buoy *)env)->x = rng ? hvi_rng_normal(rng) : 0.0;
}

/* Randomness comes from the generator that is passed in, and from nothing else. */
static hvi_transition buoy_step(hvi_env *env, const double *action, hvi_rng *rng) {
  buoy *b = (buoy *)env;
  b->x = 0.9 * b->x + 0.3 * action[0] + (rng ? 0.5 * hvi_rng_normal(rng) : 0.0);
  return (hvi_transition){.reward = cos(b->x)};
}

static void buoy_observe(const hvi_env *env, double *obs) { obs[0] = ((const buoy *)env)->x; }

static const hvi_env_ops buoy_ops = {.name = "buoy",
                                     .size = sizeof(buoy),
                                     .reset = buoy_reset,
                                     .step = buoy_step,
                                     .observe = buoy_observe};

static buoy buoy_new(void) {
  return (buoy){.base = {.ops = &buoy_ops,
                         .name = "buoy",
                         .obs = 1,
                         .act = 1,
                         .state = 2, /* the clock, and x */
                         .time_limit = 200,
                         .noisy = true,
                         .low = -INFINITY,
                         .high = INFINITY,
                         .reward_bound = 1.0}};
}

static double exact(double x, double gamma) {
  const double a = 0.6;
  double value = 0.0, discount = 1.0, power = a;
  for (int t = 1; t < 1000; t++, discount *= gamma, power *= a)
    value += discount * cos(power * x) * exp(-0.125 * (1.0 - power * power) / (1.0 - a * a));
  return value;
}

/* The network beside the closed form. */
static hvi_status compare(const hvi_evaluation *e, double gamma, hvi_error *err) {
  printf("   x   network  exact\n");
  for (int i = -2; i <= 2; i++) {
    const float x = 0.5f * (float)i;
    double v;
    const hvi_status status =
        hvi_value_predict(hvi_evaluation_problem(e), hvi_evaluation_theta(e), &x, 1, &v, err);
    if (status) return status;
    printf("%4.1f %8.2f %7.2f\n", (double)x, v, exact((double)x, gamma));
  }
  return HVI_OK;
}

static hvi_status evaluate(const hvi_env *env, const hvi_policy *policy, hvi_error *err) {
  enum { STEPS = 100, BATCH = 500 };
  hvi_collector *collector = NULL;
  hvi_evaluation *e = NULL;
  hvi_settings settings = hvi_evaluation_settings();
  hvi_evaluation_spec spec = hvi_evaluation_defaults();
  settings.max_outer = STEPS;
  hvi_status status = hvi_collector_new(&collector, env, policy, 1, 1, (STEPS + 2) * BATCH, err);
  if (!status) {
    spec.value.data = hvi_collector_data(collector);
    spec.value.gamma = 0.9;
    spec.value.batch = BATCH;
    spec.settings = &settings;
    spec.stream = hvi_stream_of_collector(collector); /* simulated while it is needed */
    spec.seed = 1;
    status = hvi_evaluation_new(&e, &spec, err);
  }
  if (!status) status = hvi_evaluation_run(e, NULL, err);
  if (!status) status = compare(e, spec.value.gamma, err);
  hvi_evaluation_free(e);
  hvi_collector_free(collector);
  return status;
}

int main(void) {
  const buoy env = buoy_new();
  const double gain = -1.0, noise = 0.0;
  hvi_policy *policy = NULL;
  hvi_error err;
  hvi_status status = hvi_policy_linear(&policy, 1, 1, &gain, &noise, &err);
  if (!status) status = evaluate(&env.base, policy, &err);
  hvi_policy_free(policy);
  if (status) puts(err.text);
  return status != HVI_OK;
}
