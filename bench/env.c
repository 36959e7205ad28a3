/*
 * Steps of an environment against a bare loop of mj_step.
 *
 * Both go through the same states: they start from the initial one, are given the same uniform
 * actions and do not stop when an episode ends. What the environment adds is the reward, the
 * observation, the look at the warnings and the way back from an error.
 */
#include "env.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/module.h"
#include "base/parallel.h"
#include "rl/env_kinds.h"

#include <math.h>
#include <string.h>

enum { ACTIONS = 1000, ENVS_PER_THREAD = 8 };

typedef struct rig {
  const env_bench_options *options;
  hvi_env *env, *start;
  const hvi_mujoco_functions *mujoco; /* NULL for an environment that is not on it */
  size_t count;                       /* environments of the batch */
  hvi_env **batch;                    /* [count] */
  double *actions;                    /* [ACTIONS][act], used over and over */
  double *obs;                        /* [obs] */
  double *batch_obs;                  /* [count][obs] */
  double *state, *origin, *bare;      /* [state] */
  double *sums[2];                    /* [count] rewards on one thread, and on all */
  bool agrees;
} rig;

static const double *action_of(const rig *r, size_t step) {
  return r->actions + step % ACTIONS * r->env->act;
}

/* The processor time of this thread: what others do on the machine does not count. */
static double time_env(rig *r) {
  hvi_rng rng = hvi_rng_new(1, "bench", 1);
  hvi_env_restore(r->env, r->origin);
  const double begin = hvi_clock_work(1);
  for (size_t t = 0; t < r->options->steps; t++) {
    hvi_env_step(r->env, action_of(r, t), &rng);
    hvi_env_observe(r->env, r->obs);
  }
  const double seconds = hvi_clock_work(1) - begin;
  hvi_env_save(r->env, r->state);
  return seconds / (double)r->options->steps;
}

/* The loop that there is nothing to take away from. */
static double time_bare(rig *r) {
  hvi_env_restore(r->start, r->origin);
  const double begin = hvi_clock_work(1);
  r->mujoco->bare_steps(r->start, r->actions, ACTIONS, r->options->steps);
  const double seconds = hvi_clock_work(1) - begin;
  hvi_env_save(r->start, r->bare);
  if (memcmp(r->bare, r->state, r->env->state * sizeof(double)) != 0) r->agrees = false;
  return seconds / (double)r->options->steps;
}

typedef struct share {
  rig *rig;
  double *sums;
  size_t steps; /* of each environment */
} share;

/* One environment of the batch. */
static hvi_status run_share(void *context, size_t i, size_t worker, hvi_error *err) {
  (void)worker, (void)err;
  const share *s = context;
  hvi_env *env = s->rig->batch[i];
  hvi_rng rng = hvi_rng_new(1, "bench", i);
  double *obs = s->rig->batch_obs + i * env->obs;
  hvi_env_restore(env, s->rig->origin);
  s->sums[i] = 0.0;
  for (size_t t = 0; t < s->steps; t++) {
    s->sums[i] += hvi_env_step(env, action_of(s->rig, t + i), &rng).reward;
    hvi_env_observe(env, obs);
  }
  return HVI_OK;
}

static hvi_status time_batch(rig *r, size_t threads, double *sums, double *seconds,
                             hvi_error *err) {
  const size_t steps = 1 + r->options->steps / r->count;
  share s = {.rig = r, .sums = sums, .steps = steps};
  const double begin = hvi_clock_now();
  hvi_status status = hvi_parallel_run(r->count, threads, run_share, &s, err);
  *seconds = (hvi_clock_now() - begin) / (double)(steps * r->count);
  return status;
}

static hvi_status prepare(rig *r, const hvi_env *env, const env_bench_options *options,
                          hvi_error *err) {
  const size_t count = ENVS_PER_THREAD * options->threads;
  r->count = count;
  r->options = options;
  r->agrees = true;
  hvi_status status = hvi_env_clone(env, &r->env, err);
  if (!status) status = hvi_env_clone(env, &r->start, err);
  r->batch = hvi_alloc(count, sizeof *r->batch);
  if (!status && !r->batch) status = hvi_error_memory(err, "a benchmark");
  for (size_t i = 0; i < count && !status; i++) status = hvi_env_clone(env, &r->batch[i], err);
  const hvi_module *module = NULL;
  if (!status && strcmp(env->ops->name, "mujoco") == 0)
    status = hvi_module_open(&module, "mujoco", err);
  if (status) return status;
  r->mujoco = module ? module->functions : NULL;
  r->actions = hvi_alloc_doubles(ACTIONS * env->act);
  r->obs = hvi_alloc_doubles(env->obs);
  r->batch_obs = hvi_alloc_doubles(count * env->obs);
  r->state = hvi_alloc_doubles(env->state);
  r->origin = hvi_alloc_doubles(env->state);
  r->bare = hvi_alloc_doubles(env->state);
  for (size_t k = 0; k < 2; k++) r->sums[k] = hvi_alloc_doubles(count);
  if (!r->actions || !r->obs || !r->batch_obs || !r->state || !r->origin || !r->bare ||
      !r->sums[0] || !r->sums[1])
    return hvi_error_memory(err, "a benchmark");
  /* an unbounded action may drive the state away: such an environment is left alone */
  hvi_rng rng = hvi_rng_new(1, "bench", 0);
  if (isfinite(env->low))
    hvi_rng_fill_uniform(&rng, env->low, env->high, ACTIONS * env->act, r->actions);
  hvi_env_reset(r->env, NULL);
  hvi_env_save(r->env, r->origin);
  return HVI_OK;
}

static void clean_up(rig *r) {
  hvi_env_free(r->env);
  hvi_env_free(r->start);
  for (size_t i = 0; r->batch && i < r->count; i++) hvi_env_free(r->batch[i]);
  hvi_free(r->batch);
  hvi_free(r->batch_obs);
  hvi_free(r->actions);
  hvi_free(r->obs);
  hvi_free(r->state);
  hvi_free(r->origin);
  hvi_free(r->bare);
  for (size_t k = 0; k < 2; k++) hvi_free(r->sums[k]);
}

static hvi_status repeat(rig *r, env_bench_result *best, hvi_error *err) {
  double seconds;
  best->one = fmin(best->one, time_env(r));
  if (r->mujoco) best->bare = fmin(best->bare, time_bare(r));
  hvi_status status = time_batch(r, 1, r->sums[0], &seconds, err);
  if (status) return status;
  best->batch_one = fmin(best->batch_one, seconds);
  status = time_batch(r, r->options->threads, r->sums[1], &seconds, err);
  best->batch_all = fmin(best->batch_all, seconds);
  if (memcmp(r->sums[0], r->sums[1], r->count * sizeof(double)) != 0) r->agrees = false;
  return status;
}

hvi_status bench_env_run(env_bench_result *result, bool *done, const hvi_env *env,
                         const env_bench_options *options, hvi_error *err) {
  rig r = {0};
  *done = false;
  /* fmin passes over a NaN, so it stands for "not yet" */
  *result = (env_bench_result){NAN, NAN, NAN, NAN, ENVS_PER_THREAD * options->threads, true};
  hvi_status status = prepare(&r, env, options, err);
  for (size_t k = 0; !status && k < options->repeats; k++) {
    if (options->progress && !options->progress(options->context, k, options->repeats)) break;
    status = repeat(&r, result, err);
    *done = status == HVI_OK;
  }
  result->agrees = r.agrees;
  clean_up(&r);
  return status;
}
