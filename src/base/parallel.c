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
#include <unistd.h>

typedef struct job {
  hvi_chunk_fn run;
  void *context;
  size_t count;
  atomic_size_t next;
  atomic_bool failed;
} job;

typedef struct worker {
  job *shared;
  size_t number;
  size_t failed_chunk; /* where status is an error */
  hvi_status status;
  hvi_error error;
  pthread_t thread;
} worker;

static void *work(void *argument) {
  worker *w = argument;
  job *shared = w->shared;
  while (!atomic_load(&shared->failed)) {
    size_t chunk = atomic_fetch_add(&shared->next, 1);
    if (chunk >= shared->count) break;
    w->status = shared->run(shared->context, chunk, w->number, &w->error);
    if (w->status != HVI_OK) {
      w->failed_chunk = chunk;
      atomic_store(&shared->failed, true);
    }
  }
  return NULL;
}

static hvi_status lowest_error(const worker *workers, size_t count, hvi_error *err) {
  const worker *first = NULL;
  for (size_t i = 0; i < count; i++) {
    if (workers[i].status == HVI_OK) continue;
    if (!first || workers[i].failed_chunk < first->failed_chunk) first = &workers[i];
  }
  if (!first) return HVI_OK;
  const char *text = first->error.text[0] ? first->error.text : hvi_status_text(first->status);
  return hvi_error_set(err, first->status, "%s", text);
}

/* Starts workers 1 .. count-1 as far as the system allows; returns how many there are with the
 * caller. The counter hands the rest of the work to those who run. */
static size_t start(worker *workers, size_t count) {
  size_t started = 1;
  while (started < count) {
    worker *w = &workers[started];
    if (pthread_create(&w->thread, NULL, work, w) != 0) break;
    started++;
  }
  return started;
}

/* OpenBLAS without threads of its own keeps one set of buffers without a lock: two threads that
 * call it at once get each other's numbers. */
static bool blas_allows_threads(void) { return openblas_get_parallel() != OPENBLAS_SEQUENTIAL; }

hvi_status hvi_parallel_run(size_t count, size_t threads, hvi_chunk_fn run, void *context,
                            hvi_error *err) {
  job shared = {.run = run, .context = context, .count = count};
  atomic_init(&shared.next, 0);
  atomic_init(&shared.failed, false);
  if (threads == 0) threads = hvi_parallel_cores();
  if (!blas_allows_threads()) threads = 1;
  if (threads > count) threads = count ? count : 1;

  worker alone = {.number = 0};
  worker *workers = threads > 1 ? hvi_alloc(threads, sizeof *workers) : NULL;
  if (!workers) threads = 1;
  worker *all = workers ? workers : &alone;
  for (size_t i = 0; i < threads; i++) {
    all[i].shared = &shared;
    all[i].number = i;
  }
  size_t started = start(all, threads);
  work(&all[0]);
  for (size_t i = 1; i < started; i++) pthread_join(all[i].thread, NULL);
  hvi_status status = lowest_error(all, started, err);
  hvi_free(workers);
  return status;
}

size_t hvi_parallel_cores(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int cores = CPU_COUNT(&set);
    if (cores > 0) return (size_t)cores;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (size_t)online : 1;
}
