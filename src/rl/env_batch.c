/* Batches of environments, in chunks of a fixed size. */
#include "rl/env_batch.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"

/* Small, so that a batch of sixteen keeps four threads busy; a step of one takes microseconds. */
enum { CHUNK = 4 };

static hvi_status fill(hvi_env_batch *b, const hvi_env *env, size_t count, uint64_t seed,
                       const char *stream, hvi_error *err) {
  b->envs = hvi_alloc(count, sizeof *b->envs);
  b->rngs = hvi_alloc(count, sizeof *b->rngs);
  b->last = hvi_alloc(count, sizeof *b->last);
  b->obs = hvi_alloc(count, env->obs * sizeof *b->obs);
  if (!b->envs || !b->rngs || !b->last || !b->obs) {
    return hvi_error_memory(err, "a batch of environments");
  }
  for (; b->count < count; b->count++) {
    const size_t i = b->count;
    hvi_status status = hvi_env_clone(env, &b->envs[i], err);
    if (status != HVI_OK) return status;
    b->rngs[i] = hvi_rng_new(seed, stream, i);
    hvi_env_observe(b->envs[i], b->obs + i * env->obs);
  }
  return HVI_OK;
}

hvi_status hvi_env_batch_new(hvi_env_batch **batch, const hvi_env *env, size_t count, uint64_t seed,
                             const char *stream, hvi_error *err) {
  *batch = NULL;
  if (count == 0) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "a batch needs at least one environment");
  }
  hvi_env_batch *b = hvi_alloc(1, sizeof *b);
  if (!b) return hvi_error_memory(err, "a batch of environments");
  hvi_status status = fill(b, env, count, seed, stream, err);
  if (status != HVI_OK) {
    hvi_env_batch_free(b);
    return status;
  }
  *batch = b;
  return HVI_OK;
}

void hvi_env_batch_free(hvi_env_batch *b) {
  if (!b) return;
  for (size_t i = 0; i < b->count; i++) hvi_env_free(b->envs[i]);
  hvi_free(b->envs);
  hvi_free(b->rngs);
  hvi_free(b->last);
  hvi_free(b->obs);
  hvi_free(b);
}

typedef struct visit {
  hvi_env_batch *batch;
  hvi_env_batch_fn run;
  void *context;
} visit;

static hvi_status visit_chunk(void *context, size_t chunk, size_t worker, hvi_error *err) {
  const visit *v = context;
  const size_t first = chunk * CHUNK, left = v->batch->count - first;
  return v->run(v->context, v->batch, first, left < CHUNK ? left : CHUNK, worker, err);
}

hvi_status hvi_env_batch_each(hvi_env_batch *batch, size_t threads, hvi_env_batch_fn run,
                              void *context, hvi_error *err) {
  visit v = {.batch = batch, .run = run, .context = context};
  return hvi_parallel_run((batch->count + CHUNK - 1) / CHUNK, threads, visit_chunk, &v, err);
}

static void restart(hvi_env_batch *b, size_t i) {
  hvi_env_reset(b->envs[i], &b->rngs[i]);
  b->last[i] = (hvi_transition){0};
}

static hvi_status reset_some(void *context, hvi_env_batch *b, size_t first, size_t count,
                             size_t worker, hvi_error *err) {
  (void)context, (void)worker, (void)err;
  for (size_t i = first; i < first + count; i++) {
    restart(b, i);
    hvi_env_observe(b->envs[i], b->obs + i * b->envs[i]->obs);
  }
  return HVI_OK;
}

static hvi_status step_some(void *context, hvi_env_batch *b, size_t first, size_t count,
                            size_t worker, hvi_error *err) {
  (void)worker, (void)err;
  const double *actions = context;
  for (size_t i = first; i < first + count; i++) {
    hvi_env *env = b->envs[i];
    if (b->last[i].terminated || b->last[i].truncated) {
      restart(b, i);
    } else {
      b->last[i] = hvi_env_step(env, actions + i * env->act, &b->rngs[i]);
    }
    hvi_env_observe(env, b->obs + i * env->obs);
  }
  return HVI_OK;
}

hvi_status hvi_env_batch_reset(hvi_env_batch *batch, size_t threads, hvi_error *err) {
  return hvi_env_batch_each(batch, threads, reset_some, NULL, err);
}

hvi_status hvi_env_batch_step(hvi_env_batch *batch, const double *actions, size_t threads,
                              hvi_error *err) {
  /* only read, through the pointer that every visitor gets */
  return hvi_env_batch_each(batch, threads, step_some, (void *)(uintptr_t)actions, err);
}
