/*
 * Handing out work: a unit is an index that becomes bytes.
 *
 * This is the one place where the units of a study, of an ensemble or of roll-outs are handed out.
 * Whoever runs a unit (a thread of this process, or one of another rank), its bytes depend on its
 * index alone. They are accepted in any order, one at a time; what is reduced from them is reduced
 * by index. So the results are the same bits, whoever does what.
 */
#pragma once

#include "base/share.h"

#include <hvi/error.h>

typedef struct hvi_bytes {
  void *data; /* hvi_free it */
  size_t size;
} hvi_bytes;

#define HVI_WORK_NONE ((size_t)-1)

typedef struct hvi_work {
  void *context;
  size_t most; /* units */
  /* The next unit for a worker; HVI_WORK_NONE: nothing is left for it. One call at a time. */
  size_t (*next)(void *context, size_t worker);
  /* The bytes of a unit, in thread `worker` of a process. None: the user wants to stop, and no more
   * is handed out. */
  hvi_status (*run)(void *context, size_t unit, size_t worker, hvi_bytes *bytes, hvi_error *err);
  /* One at a time, in any order, and not while `next` runs. */
  hvi_status (*accept)(void *context, size_t unit, const hvi_bytes *bytes, hvi_error *err);
  /* False: stop. Called now and then while other ranks compute; optional. */
  bool (*wait)(void *context);
} hvi_work;

/* Threads that are of use: what is asked for (0: one per core), and no more than units. */
size_t hvi_work_threads(const hvi_work *work, size_t threads);
/* Runs all units on the threads of this process, and on those of all ranks where there are some. Of
 * the ranks the first one calls `next` and `accept`, and the others only `run`. Workers of `next` are
 * the threads of the first rank, and after them a worker for each other rank. *stopped becomes true
 * when the user stops it. The error is that of the lowest unit that failed. */
hvi_status hvi_work_run(const hvi_work *work, size_t threads, struct hvi_ranks *ranks,
                        bool *stopped, hvi_error *err);
