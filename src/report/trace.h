/*
 * The trace of a solve as CSV: one row an outer iteration, each number with its cost beside it.
 *
 *   outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,grad_evals,env_steps,seconds,
 *   alpha[,theta1 ..][,z1 ..][,the caller's ..]
 *
 * Where players have names, parameters and outputs are theta_NAME_1, z_NAME_1, ... counted within the
 * player. The file grows under its own name (io/log.h): rows go to it twice a second, and a killed run
 * leaves those that did, the last perhaps cut short.
 *
 * Put hvi_trace_observe and the trace into the solver's settings as observer and context.
 */
#pragma once

#include <hvi/solver.h>

typedef struct hvi_trace hvi_trace;

typedef struct hvi_trace_settings {
  bool theta, z;              /* columns for all parameters, and for all outputs, */
  const hvi_problem *problem; /* of this problem */
  bool resumed;               /* rows after `step` are cut off, and the others stay */
  size_t step;
  size_t extra; /* columns of the caller's, at the end: */
  const char *const *extra_names;
  void (*fill)(void *context, const hvi_record *row, double *values); /* values[extra] */
  void *fill_context;
} hvi_trace_settings;

/* How every trace begins. */
#define HVI_TRACE_START "outer,inner,loss0,loss,ratio,dist2,residual,"

hvi_status hvi_trace_open(hvi_trace **trace, const char *path, const hvi_trace_settings *s,
                          hvi_error *err);
/* An hvi_observer; context is the trace. */
bool hvi_trace_observe(void *context, const hvi_record *row);
/* The number of the last row that was there when it was opened; HVI_LOG_NEW: none. */
size_t hvi_trace_last(const hvi_trace *trace);
/* To the disk. */
hvi_status hvi_trace_flush(hvi_trace *trace, hvi_error *err);
/* Frees the trace, also when it fails. */
hvi_status hvi_trace_close(hvi_trace *trace, hvi_error *err);
/* Frees the trace; the rows so far stay. */
void hvi_trace_discard(hvi_trace *trace);
