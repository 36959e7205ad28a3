/*
 * Policy evaluation, measured beside the solve: the exact update along the same trajectory, and
 * what a process knows about its values. More columns for the trace.
 */
#ifndef HVI_CLI_YARDSTICK_H
#define HVI_CLI_YARDSTICK_H

#include "report/trace.h"
#include "setup.h"

typedef struct hvi_yardstick hvi_yardstick;

/* NULL for a problem without a process behind it. */
hvi_status hvi_yardstick_new(hvi_yardstick **y, const hvi_setup *s, hvi_error *err);
/* Adds its columns; nothing when y is NULL. */
void hvi_yardstick_columns(hvi_yardstick *y, hvi_trace_settings *t);
void hvi_yardstick_free(hvi_yardstick *y);

#endif
