/*
 * Handing out work: a unit is an index that becomes bytes.
 *
 * This is the one place where the work of a study is handed out. Whoever runs a unit (a thread of
 * this process now, another machine or a device later), its bytes depend on its index alone. They
 * are accepted in any order, one at a time; what is reduced from them is reduced by index. So the
 * results are the same bits, whoever does what.
 */
#pragma once

#include "report/text.h"

#include <hvi/error.h>

typedef struct hvi_work {
  size_t count; /* units 0 .. count-1 */
  void *context;
  /* About how much work a unit is: dear ones go first. Optional. */
  double (*cost)(void *context, size_t unit);
  /* Units of a group share what is dear to make (a stream of transitions): a worker stays with its
   * group, then takes one that nobody has, and helps another worker last. Optional. */
  size_t (*group)(void *context, size_t unit);
  /* Every unit of the group has been run. Optional. */
  void (*leave)(void *context, size_t group);
  /* The bytes of a unit. Nothing in them: the user wants to stop, and no more is handed out. */
  hvi_status (*run)(void *context, size_t unit, hvi_text *bytes, hvi_error *err);
  /* One at a time, in any order. */
  hvi_status (*accept)(void *context, size_t unit, const hvi_text *bytes, hvi_error *err);
} hvi_work;

/* Runs the units that are not `done` ([count], or NULL) on at most `threads` threads of this process
 * (0: one per core). *stopped becomes true when the user stops it. */
hvi_status hvi_work_on_threads(const hvi_work *work, const bool *done, size_t threads,
                               bool *stopped, hvi_error *err);
