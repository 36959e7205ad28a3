/*
 * The trace of a solve as CSV: one row an outer iteration, each number with its cost beside it.
 *
 *   outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,grad_evals,env_steps,seconds,
 *   alpha[,theta1 ..][,z1 ..][,the caller's ..]
 *
 * Put hvi_trace_observe and the trace into the solver's settings as observer and context.
 */
#pragma once

#include <hvi/solver.h>

typedef struct hvi_trace hvi_trace;

typedef struct hvi_trace_settings {
  size_t every;    /* rows at 0, every, 2 every, ...; 0: 1 */
  size_t theta, z; /* how many parameters and outputs to add as columns */
  size_t extra;    /* columns of the caller's, at the end: */
  const char *const *extra_names;
  void (*fill)(void *context, const hvi_record *row, double *values); /* values[extra] */
  void *fill_context;
  hvi_observer next; /* sees every row too; optional */
  void *next_context;
} hvi_trace_settings;

hvi_status hvi_trace_open(hvi_trace **trace, const char *path, const hvi_trace_settings *s,
                          hvi_error *err);
/* An hvi_observer; context is the trace. */
bool hvi_trace_observe(void *context, const hvi_record *row);
/* Writes a last row if `every` skipped it, makes the file appear, and frees the trace, also when
 * it fails. */
hvi_status hvi_trace_close(hvi_trace *trace, const hvi_record *last, hvi_error *err);
/* Frees the trace and leaves no file. */
void hvi_trace_discard(hvi_trace *trace);
