/*
 * The trace of a solve as CSV: one row an outer iteration, each number with its cost beside it.
 *
 *   outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,grad_evals,env_steps,seconds,
 *   alpha[,theta1 ..][,z1 ..][,the caller's ..]
 *
 * Where players have names, parameters and outputs are theta_NAME_1, z_NAME_1, ... counted within the
 * player. The file grows under its own name (io/log.h): rows go to it twice a second, and a killed run
 * leaves those that did, the last perhaps cut short.
 */
#pragma once

#include "io/log.h"

#include <hvi/solver.h>

enum { HVI_TRACE_EXTRA = 16 };

typedef struct hvi_trace {
  bool theta, z;              /* columns for all parameters, and for all outputs, */
  const hvi_problem *problem; /* of this problem */
  size_t extra;               /* columns of the caller's, at the end, at most HVI_TRACE_EXTRA: */
  const char *const *extra_names;
  void (*fill)(void *context, const hvi_record *row, double *values); /* values[extra] */
  void *fill_context;
  hvi_log log; /* opened below; flushed and closed as any */
} hvi_trace;

/* How every trace begins. */
#define HVI_TRACE_START "outer,inner,loss0,loss,ratio,dist2,residual,"

/* What a row of any file about a solve has. */
#define HVI_RECORD_VALUES(r)                                                                       \
  V("outer", (r)->outer), V("inner", (r)->inner), V("loss0", (r)->loss0), V("loss", (r)->loss),    \
      V("ratio", (r)->ratio), V("dist2", (r)->dist2), V("residual", (r)->residual),                \
      V("f_evals", (r)->counts.f_evals), V("model_passes", (r)->counts.model_passes),              \
      V("grad_evals", (r)->counts.grad_evals), V("env_steps", (r)->counts.env_steps),              \
      V("seconds", (r)->seconds), V("alpha", (r)->alpha)

/* path NULL: there is no trace. Rows after the step are cut off. */
hvi_status hvi_trace_open(hvi_trace *trace, const char *path, size_t step, hvi_error *err);
void hvi_trace_row(hvi_trace *trace, const hvi_record *row);
