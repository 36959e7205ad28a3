/*
 * A job takes about a millisecond and the next one follows within microseconds, so both
 * threads look for a while before they sleep. Jobs are numbered: the caller raises `asked`,
 * the helper follows with `done`.
 */
#include "rl/sac.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LOOKS = 4000 };

struct hvi_twins {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  atomic_uint_least64_t asked, done;
  bool over; /* like run and context, written before `asked` is raised */
  hvi_twins_fn run;
  void *context;
};

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Returns when the counter has reached the goal. */
static void wait_for(hvi_twins *t, atomic_uint_least64_t *counter, uint64_t goal) {
  for (int i = 0; i < LOOKS; i++) {
    if (atomic_load_explicit(counter, memory_order_acquire) >= goal) return;
    pause_briefly();
  }
  pthread_mutex_lock(&t->lock);
  while (atomic_load_explicit(counter, memory_order_acquire) < goal)
    pthread_cond_wait(&t->changed, &t->lock);
  pthread_mutex_unlock(&t->lock);
}

static void raise_counter(hvi_twins *t, atomic_uint_least64_t *counter) {
  pthread_mutex_lock(&t->lock);
  atomic_fetch_add_explicit(counter, 1, memory_order_release);
  pthread_cond_broadcast(&t->changed);
  pthread_mutex_unlock(&t->lock);
}

static void *help(void *argument) {
  hvi_twins *t = argument;
  for (uint64_t job = 1;; job++) {
    wait_for(t, &t->asked, job);
    if (t->over) return NULL;
    t->run(t->context, 1);
    raise_counter(t, &t->done);
  }
}

hvi_status hvi_twins_new(hvi_twins **out, hvi_error *err) {
  *out = NULL;
  hvi_twins *t = hvi_alloc(1, sizeof *t);
  if (!t) return hvi_error_memory(err, "a thread");
  atomic_init(&t->asked, 0);
  atomic_init(&t->done, 0);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->changed, NULL);
  if (pthread_create(&t->thread, NULL, help, t) != 0) {
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    hvi_free(t);
    return hvi_error_set(err, HVI_ERROR_IO, "the system would not start a thread");
  }
  *out = t;
  return HVI_OK;
}

void hvi_twins_free(hvi_twins *t) {
  if (!t) return;
  t->over = true;
  raise_counter(t, &t->asked);
  pthread_join(t->thread, NULL);
  pthread_cond_destroy(&t->changed);
  pthread_mutex_destroy(&t->lock);
  hvi_free(t);
}

void hvi_twins_run(hvi_twins *t, hvi_twins_fn run, void *context) {
  if (!t) {
    run(context, 0);
    run(context, 1);
    return;
  }
  t->run = run;
  t->context = context;
  raise_counter(t, &t->asked);
  run(context, 0);
  wait_for(t, &t->done, atomic_load_explicit(&t->asked, memory_order_relaxed));
}
