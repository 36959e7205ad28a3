/* Inside an evaluation. */
#pragma once

#include "io/kept.h"
#include "outer/solver.h"

#include <hvi/evaluate.h>

/* Seconds since the start, each kind on a clock of its own. */
typedef struct hvi_seconds {
  double collect; /* the batches that have been used */
  double ahead;   /* those and the one that the next step uses */
  double resumed; /* what a stream's clock lacks since it was taken up again */
  double targets, inner, measure;
} hvi_seconds;

struct hvi_evaluation {
  hvi_evaluation_spec spec; /* its settings are the solver's own, */
  double max_seconds;       /* but for a limit that is counted here; 0: none */
  hvi_scales scales;        /* that the spec points at, where it normalises */
  hvi_problem *problem;
  hvi_problem *gap; /* the same network on the gap's data; NULL: none */
  hvi_solver *solver;
  const char *device; /* the level of the one that its network computes on; NULL: none */
  hvi_seconds seconds;
  double *mean; /* [d] of the thetas so far; NULL: without polyak */
  hvi_evaluation_row *rows;
  size_t count, room;
  char levels[HVI_LEVELS_TEXT]; /* of instructions, as in hvi_kept */
};

/* The problem that the gap is measured with: all of the data at once, Bellman targets, whatever the
 * spec says of draws and targets. gap.c */
hvi_status hvi_gap_problem(hvi_problem **value, const hvi_value_spec *spec, const hvi_dataset *data,
                           hvi_error *err);

/* HVI_OK, or why its device no longer computes. */
hvi_status hvi_evaluation_device(const hvi_evaluation *e, hvi_error *err);
/* Rows of data that the draws up to that of outer step `outer` go through. */
size_t hvi_evaluation_rows_at(const hvi_evaluation *e, size_t outer);
/* Has the stream grow so far; *seconds as charged. Nothing without a stream. */
hvi_status hvi_evaluation_grow(hvi_evaluation *e, size_t rows, double *seconds, hvi_error *err);
hvi_status hvi_evaluation_add(hvi_evaluation *e, const hvi_evaluation_row *row, hvi_error *err);
/* Whether an outer step is measured, of a run that ends with step `last`. */
bool hvi_schedule_due(const hvi_schedule *s, size_t outer, size_t last);
/* Ends the solve where a limit of the evaluation is reached. */
void hvi_evaluation_decide(hvi_evaluation *e);
