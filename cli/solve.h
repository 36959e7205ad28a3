/* The parts of `hvi solve`. */
#ifndef HVI_CLI_SOLVE_H
#define HVI_CLI_SOLVE_H

#include "setup.h"
#include "talk.h"

/* What was asked for. */
typedef struct hvi_solve {
  hvi_setup setup;
  hvi_talk talk;
  const char *trace, *save; /* files, or NULL */
  bool json;
  size_t every;          /* rows of the table */
  size_t ensemble, jobs; /* instances; threads */
} hvi_solve;

/* What came out of one solve. The pointers in info belong to the solver. */
typedef struct hvi_solved {
  hvi_info info;
  hvi_certificate judge;
  double first_residual; /* at the start */
  bool interrupted;
  int code; /* exit code */
} hvi_solved;

/* The exit code that the outcome and the judge's word call for. */
int hvi_solve_code(const hvi_solve *s, const hvi_solved *r);

/* Before the iterations: the problem, the method and the rules to stop. eta is NaN where each
 * instance has its own. */
void hvi_solve_header(const hvi_solve *s, double eta);

/* The table of iterations on stderr: about twenty rows, closer together at the start. */
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

/* After them: how it ended, what it cost, what the judge says. */
void hvi_solve_footer(const hvi_solve *s, const hvi_solved *r);
/* The result on stdout, for people and as JSON. */
void hvi_solve_summary(const hvi_solve *s, const hvi_solved *r);
void hvi_solve_json(const hvi_solve *s, const hvi_solved *r);

/* Many random instances; returns the exit code. */
int hvi_solve_ensemble(const hvi_solve *s);

#endif
