/*
 * Tables as CSV: a header line, then rows. The file appears whole, on close, or not at all.
 *
 *   hvi_csv csv;
 *   hvi_csv_open(&csv, path, "outer,mean,median", err);
 *   for (...) { hvi_csv_text(&csv, name); hvi_csv_number(&csv, mean); ...; hvi_csv_end(&csv); }
 *   hvi_csv_close(&csv, err);
 *
 * Write errors (a full disk) are reported by close.
 */
#pragma once

#include "base/file.h"

typedef struct hvi_csv {
  hvi_file file;
  bool started; /* the row has a cell already */
} hvi_csv;

hvi_status hvi_csv_open(hvi_csv *csv, const char *path, const char *header, hvi_error *err);
void hvi_csv_number(hvi_csv *csv, double x);       /* NaN: an empty cell */
void hvi_csv_text(hvi_csv *csv, const char *text); /* quoted when it has to be */
void hvi_csv_end(hvi_csv *csv);                    /* ends the row */
hvi_status hvi_csv_close(hvi_csv *csv, hvi_error *err);
/* Gives up: nothing is left on disk. Fine after close and on a zeroed hvi_csv. */
void hvi_csv_discard(hvi_csv *csv);
