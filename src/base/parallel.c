/*
 * Workers take the next chunk from one atomic counter.
 *
 * Which error is returned does not depend on timing: chunks are handed out in order, a worker looks
 * for a failure before it takes a chunk and never between taking and running it. So every chunk
 * below a failed one has been taken and runs to its end, and the lowest failing chunk always runs.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/parallel.h"

#include "base/base.h"

#include <cblas.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct job {
  hvi_chunk_fn run;
  void *context;
  size_t count;
  atomic_size_t next;
  atomic_bool failed;
} job;

typedef struct worker {
  job *shared;
  size_t number, chunk; /* the chunk that it took last */
  hvi_status status;    /* of that chunk */
  hvi_error error;
  pthread_t thread;
} worker;

/* Takes the next chunk; false when there is none left, or when one has failed. */
static bool take(worker *w) {
  if (w->status) atomic_store(&w->shared->failed, true);
  if (atomic_load(&w->shared->failed)) return false;
  w->chunk = atomic_fetch_add(&w->shared->next, 1);
  return w->chunk < w->shared->count;
}

static void *work(void *argument) {
  worker *w = argument;
  const job *j = w->shared;
  while (take(w)) w->status = j->run(j->context, w->chunk, w->number, &w->error);
  return NULL;
}

static hvi_status lowest_error(const worker *workers, size_t count, hvi_error *err) {
  const worker *first = NULL;
  for (size_t i = 0; i < count; i++)
    if (workers[i].status && (!first || workers[i].chunk < first->chunk)) first = &workers[i];
  if (!first) return HVI_OK;
  const char *text = first->error.text[0] ? first->error.text : hvi_status_text(first->status);
  return hvi_error_set(err, first->status, "%s", text);
}

hvi_status hvi_parallel_run(size_t count, size_t threads, hvi_chunk_fn run, void *context,
                            hvi_error *err) {
  job shared = {.run = run, .context = context, .count = count};
  if (threads == 0) threads = hvi_parallel_cores();
  /* OpenBLAS without threads of its own keeps one set of buffers without a lock: two threads that
   * call it at once get each other's numbers */
  if (openblas_get_parallel() == OPENBLAS_SEQUENTIAL) threads = 1;
  if (threads > count) threads = count ? count : 1;

  worker alone = {.shared = &shared};
  HVI_OWN worker *several = threads > 1 ? hvi_alloc(threads, sizeof *several) : NULL;
  worker *all = several ? several : &alone;
  all->shared = &shared;
  /* as many as the system allows: the counter hands the rest of the work to those who run */
  size_t started = 1;
  for (; several && started < threads; started++) {
    worker *w = &all[started];
    w->shared = &shared;
    w->number = started;
    if (pthread_create(&w->thread, NULL, work, w) != 0) break;
  }
  while (take(all)) all->status = run(context, all->chunk, 0, &all->error);
  for (size_t i = 1; i < started; i++) pthread_join(all[i].thread, NULL);
  return lowest_error(all, started, err);
}

size_t hvi_parallel_cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return (size_t)CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (size_t)online : 1;
}

size_t hvi_parallel_threads(size_t asked) {
  const size_t cores = hvi_parallel_cores(), most = 4 * cores > 16 ? 4 * cores : 16;
  return asked == 0 ? cores : asked < most ? asked : most;
}
