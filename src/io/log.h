/*
 * Files that grow line by line, under their own name, so that they can be followed (tail -f).
 *
 *   hvi_log log;
 *   HVI_TRY(hvi_log_open(&log, path, NULL, resumed ? step : HVI_LOG_NEW, err));
 *   while (...) hvi_log_put(&log, V("outer", outer), V("residual", residual));
 *   return hvi_log_close(&log, err);
 *
 * A log has one JSON object a line (.jsonl), or, as a table, a head with the names of columns and one
 * CSV row a line. Lines are numbered: each begins with a count that never
 * falls, here `outer`. A run that goes on from a step cuts off the lines of later steps, and a last
 * line that is not whole. So its log is that of a run that was never stopped. For that, a caller
 * calls hvi_log_flush before it writes a checkpoint.
 */
#pragma once

#include "base/file.h"
#include "io/json.h"

/* The step of a run that begins anew. */
#define HVI_LOG_NEW SIZE_MAX

typedef struct hvi_log {
  hvi_file file;
  size_t last;    /* the number of the last line that was there; HVI_LOG_NEW: there was none */
  bool table;     /* CSV */
  double flushed; /* on the clock */
} hvi_log;

/* head: of a table; a file with another one is not gone on with. NULL: JSON. path NULL: every call on
 * the log does nothing. What is there is replaced or cut off: ask hvi_output_check first. */
hvi_status hvi_log_open(hvi_log *log, const char *path, const char *head, size_t step,
                        hvi_error *err);
/* A line, flushed; a row of a table, flushed twice a second. There, NaN is an empty cell, and numbers
 * are a cell each. A write that fails is reported by flush and close. */
#define hvi_log_put(log, ...) hvi_log_values(log, (const hvi_value[]){__VA_ARGS__, {0}})
void hvi_log_values(hvi_log *log, const hvi_value *values);
/* To the disk. */
hvi_status hvi_log_flush(hvi_log *log, hvi_error *err);
/* Fine on a zeroed log, and twice. */
hvi_status hvi_log_close(hvi_log *log, hvi_error *err);
