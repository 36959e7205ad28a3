/* The iteration table of a solve: about twenty rows on stderr, closer together at the start. */
#ifndef HVI_CLI_TABLE_H
#define HVI_CLI_TABLE_H

#include "talk.h"

#include <hvi/solver.h>

typedef struct hvi_screen {
  const hvi_talk *talk;
  size_t every;     /* rows at 0, every, 2 every, ...; 0: spaced by a constant factor */
  double factor;    /* between rows when every is 0 */
  size_t next;      /* the next iteration to show */
  size_t last;      /* the last one shown */
  bool started;     /* the head has been printed */
  hvi_progress bar; /* below the table, on a terminal */
} hvi_screen;

/* `total` is the most iterations there can be; 0: not known. */
hvi_screen hvi_screen_new(const hvi_talk *talk, size_t every, size_t total);
void hvi_screen_row(hvi_screen *t, const hvi_record *row);
/* Shows the last row, unless it has been shown. */
void hvi_screen_end(hvi_screen *t, const hvi_record *last);

/* The next iteration to show after `now`. */
size_t hvi_screen_after(size_t now, size_t every, double factor);

#endif
