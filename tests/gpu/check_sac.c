/*
 * Soft actor-critic: updates on the device beside those of the CPU, from the same networks, with the same
 * batches and noise; and the device beside itself.
 *
 * Errors are relative to the norm. A unit that is on the other side of its kink in one row changes a
 * gradient, and so the moments, by about 2e-5: a few such are allowed.
 */
#include "check.h"

#include "base/base.h"
#include "gpu/gang.h"
#include "rl/sac.h"

enum { TRANSITIONS = 500, UPDATES = 20, ARRAYS = 11, MOST = 5 };

/* An environment that has sizes and nothing else. */
static void reset_empty(hvi_env *env, hvi_rng *rng) { (void)env, (void)rng; }
static void observe_empty(const hvi_env *env, double *obs) {
  memset(obs, 0, env->obs * sizeof *obs);
}
static const hvi_env_ops empty_ops = {
    .name = "empty", .size = sizeof(hvi_env), .reset = reset_empty, .observe = observe_empty};

typedef struct setup {
  size_t obs, act, batch, delay;
  double alpha;
  size_t hidden_count, hidden[4];
} setup;

static const setup setups[] = {
    {17, 6, 256, 2, 0.0, 2, {256, 256}}, {3, 1, 100, 1, 0.0, 3, {33, 70, 5}},
    {27, 8, 64, 5, 0.3, 1, {400}},       {5, 9, 33, 6, 0.0, 2, {7, 300}},
    {1, 1, 1, 1, 0.0, 1, {1}},
};
static const setup quick_setups[] = {{17, 6, 20, 2, 0.0, 2, {24, 24}},
                                     {3, 1, 33, 1, 0.0, 3, {9, 17, 5}},
                                     {5, 9, 7, 6, 0.3, 1, {40}}};

/* A trainer with a full buffer. */
static hvi_sac *trainer_new(check *c, const setup *s, uint64_t seed) {
  const hvi_env env = {
      .ops = &empty_ops, .name = "empty", .obs = s->obs, .act = s->act, .low = -2.0, .high = 1.0};
  hvi_sac_settings settings = hvi_sac_defaults();
  hvi_sac *sac = NULL;
  hvi_error err;
  double row[128];
  settings.batch = s->batch, settings.delay = s->delay, settings.alpha = s->alpha;
  settings.seed = seed, settings.buffer = TRANSITIONS, settings.hidden_count = s->hidden_count;
  memcpy(settings.hidden, s->hidden, sizeof s->hidden);
  if (!check_call(c, hvi_sac_new(&sac, &env, &settings, &err), &err)) return NULL;
  hvi_rng rng = hvi_rng_new(seed, "gpu check", 1);
  for (size_t i = 0; i < TRANSITIONS; i++) {
    hvi_rng_fill_uniform(&rng, -1.0, 1.0, 2 * s->obs + s->act + 1, row);
    if (hvi_sac_add(sac, row, row + s->obs, row[2 * s->obs + s->act], row + s->obs + s->act,
                    i % 10 == 0, &err))
      return hvi_sac_free(sac), NULL;
  }
  return sac;
}

/* Parameters, moments and slow copies: array k of a trainer, with its name. */
static const float *array_of(const hvi_sac *sac, size_t k, size_t *n, const char **name) {
  static const char *const parts[] = {"parameters", "first moment", "second moment", "slow copy"};
  const hvi_sac_critic *c = &sac->critics[k >= 7];
  const hvi_sac_learner *l = k < 3 ? &sac->actor : &c->learner;
  const size_t part = k < 3 ? k : (k - 3) % 4;
  const float *const arrays[] = {l->weights, l->first, l->second, c->target};
  *n = l->net->dim;
  *name = parts[part];
  return arrays[part];
}

/* An entropy may be about zero. */
static double relative(double x, double y) { return fabs(x - y) / fmax(fabs(y), 0.1); }

static void compare_arrays(check *c, const hvi_sac *there, const hvi_sac *here, size_t updates) {
  for (size_t k = 0, n; k < ARRAYS; k++) {
    const char *name;
    const float *x = array_of(there, k, &n, &name), *y = array_of(here, k, &n, &name);
    double error = 0.0, norm = 0.0;
    for (size_t i = 0; i < n; i++) {
      const double d = (double)x[i] - (double)y[i];
      error += d * d;
      norm += (double)y[i] * (double)y[i];
    }
    const double limit = updates > 1 ? 1e-3 : strstr(name, "moment") ? 1e-4 : 1e-5;
    check_error(c, sqrt(error / fmax(norm, 1e-30)), limit, "%s's %s after %zu updates",
                k < 3 ? "the actor" : "a critic", name, updates);
  }
}

static void compare_numbers(check *c, const hvi_sac *there, const hvi_sac *here, size_t updates) {
  const hvi_sac_report a = hvi_sac_state(there), b = hvi_sac_state(here);
  const double limit = updates > 1 ? 1e-3 : 1e-5;
  check_error(c, relative(a.critic_loss, b.critic_loss), limit, "loss of critics");
  check_error(c, relative(a.q_mean, b.q_mean), limit, "mean of q");
  check_error(c, relative(a.actor_loss, b.actor_loss), limit, "loss of the actor");
  check_error(c, relative(a.entropy, b.entropy), limit, "entropy");
  check_error(c, relative(a.alpha, b.alpha), limit, "alpha");
}

static bool same_bits(const hvi_sac *a, const hvi_sac *b) {
  bool same = memcmp(&a->temperature, &b->temperature, sizeof a->temperature) == 0;
  same = same && a->numbers.critic_loss == b->numbers.critic_loss;
  for (size_t k = 0, n; k < ARRAYS; k++) {
    const char *name;
    const float *x = array_of(a, k, &n, &name), *y = array_of(b, k, &n, &name);
    same = same && memcmp(x, y, n * sizeof *x) == 0;
  }
  return same;
}

/* `count` trainers attached together and updated so often; the caller frees, the first last. */
static bool run_together(check *c, hvi_gang *gang, hvi_sac **all, size_t count, size_t updates) {
  hvi_error err;
  bool good = check_call(c, hvi_sac_attach(all, count, gang, &err), &err);
  for (size_t k = 0; good && k < updates; k++)
    good = check_call(c, hvi_sac_update_there(all, k % all[0]->settings.delay == 0, &err), &err);
  for (size_t i = 0; good && i < count; i++)
    good = check_call(c, hvi_sac_fetch(all[i], &err), &err);
  return good;
}

static void free_all(hvi_sac **all, size_t count) {
  while (count-- > 0) hvi_sac_free(all[count]), all[count] = NULL;
}

/* Against the CPU. */
static void compare(check *c, hvi_gang *gang, const setup *s, size_t updates) {
  hvi_sac *here = trainer_new(c, s, 1), *there = trainer_new(c, s, 1);
  hvi_error err;
  bool good = here && there;
  for (size_t k = 0; good && k < updates; k++)
    good = check_call(c, hvi_sac_update(here, &err), &err);
  if (good && run_together(c, gang, &there, 1, updates)) {
    compare_arrays(c, there, here, updates);
    compare_numbers(c, there, here, updates);
    check_that(c,
               memcmp(&there->generators, &here->generators, sizeof here->generators) == 0 &&
                   there->counts.actor_steps == here->counts.actor_steps &&
                   there->counts.critic_steps[1] == here->counts.critic_steps[1] &&
                   there->counts.alpha_steps == here->counts.alpha_steps,
               "generators or counters differ from the CPU's");
  }
  hvi_sac_free(here);
  hvi_sac_free(there);
}

/* Trainer `place` of `count` beside itself alone, and from one run to the next. */
static void compare_bits(check *c, hvi_gang *gang, const setup *s) {
  static const size_t counts[] = {1, 2, MOST};
  hvi_sac *alone = trainer_new(c, s, 1), *all[MOST] = {NULL};
  bool good = alone && run_together(c, gang, &alone, 1, 3);
  for (size_t k = 0; good && k < sizeof counts / sizeof *counts; k++) {
    const size_t place = counts[k] / 2;
    for (size_t i = 0; i < counts[k]; i++) all[i] = trainer_new(c, s, i == place ? 1 : 10 + i);
    good = run_together(c, gang, all, counts[k], 3);
    check_that(c, good && same_bits(all[place], alone), "other bits, one of %zu trainers",
               counts[k]);
    free_all(all, counts[k]);
  }
  hvi_sac_free(alone);
}

void check_sac(check *c) {
  const bool quick = c->options->quick;
  const setup *all = quick ? quick_setups : setups;
  const size_t count = quick ? sizeof quick_setups / sizeof *all : sizeof setups / sizeof *all;
  hvi_gang *gang = NULL;
  hvi_error err;
  if (c->options->precision != HVI_DEVICE_FP32 || !check_begin(c, "sac")) return;
  if (check_call(c, hvi_gang_open_with(&gang, c->f, HVI_DEVICE_FP32, &err), &err)) {
    for (size_t i = 0; i < count; i++) {
      compare(c, gang, &all[i], 1);
      compare(c, gang, &all[i], UPDATES);
      compare_bits(c, gang, &all[i]);
    }
    hvi_gang_close(gang);
  }
  check_end(c);
}
