/*
 * Which cell of a study is next (base/work.h hands them out).
 *
 * Dear units go first. Those of a group share what is dear to make (a stream of transitions): a
 * worker stays with its group, then takes one that nobody has, and helps another worker last.
 */
#pragma once

#include "base/memory.h"

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct hvi_unit {
  double cost; /* about */
  size_t group;
  bool taken; /* handed out, done before, or somebody else's */
} hvi_unit;

typedef struct hvi_units hvi_units;

/* The units stay the caller's. */
hvi_status hvi_units_new(hvi_units **units, hvi_unit *list, size_t count, size_t workers,
                         hvi_error *err);
void hvi_units_free(hvi_units *u);
HVI_RELEASE(hvi_units)
/* How many there are to be handed out. */
size_t hvi_units_waiting(const hvi_units *u);
/* HVI_WORK_NONE when nothing is left. */
size_t hvi_units_next(hvi_units *u, size_t worker);
/* A unit has been run. True: it was the last one of its group. */
bool hvi_units_done(hvi_units *u, size_t unit);
