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

/* Dear units go first. Those of a group share what is dear to make (a stream of transitions): a worker
 * stays with its group, then takes one that nobody has, and helps another worker last. */
typedef struct hvi_unit {
  double cost; /* about */
  size_t group;
  bool taken; /* handed out, or done before */
} hvi_unit;

typedef struct hvi_work {
  size_t count; /* units 0 .. count-1 */
  hvi_unit *units;
  void *context;
  /* The bytes of a unit. Nothing in them: the user wants to stop, and no more is handed out. */
  hvi_status (*run)(void *context, size_t unit, hvi_text *bytes, hvi_error *err);
  /* One at a time, in any order. */
  hvi_status (*accept)(void *context, size_t unit, const hvi_text *bytes, hvi_error *err);
  /* Every unit of the group has been run. Optional. */
  void (*leave)(void *context, size_t group);
} hvi_work;

/* Runs the units that are not taken on at most `threads` threads of this process (0: one per core).
 * *stopped becomes true when the user stops it. */
hvi_status hvi_work_on_threads(const hvi_work *work, size_t threads, bool *stopped, hvi_error *err);
