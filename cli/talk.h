/*
 * What the program says to a person, on stderr: complaints, remarks and progress; what its exit
 * status says; and what a person says to it by Ctrl-C.
 *
 * Results go to stdout and are none of this file's business.
 */
#pragma once

#include "report/plot.h"

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* Exit status; the manual page lists them. */
enum {
  HVI_EXIT_HELP = -1,         /* done, too: there is nothing to do after --help */
  HVI_EXIT_DONE = 0,          /* to the tolerance, or all iterations when no tolerance was set */
  HVI_EXIT_SHORT = 1,         /* stopped short of the tolerance */
  HVI_EXIT_USAGE = 2,         /* the command line is wrong */
  HVI_EXIT_INPUT = 3,         /* a problem, a file's contents or a method that does not fit */
  HVI_EXIT_DIVERGED = 4,      /* diverged, or not finite */
  HVI_EXIT_SYSTEM = 5,        /* input, output or memory that the system refused */
  HVI_EXIT_INTERRUPTED = 130, /* Ctrl-C; after SIGTERM the program ends with 143 */
  HVI_EXIT_PIPE = 141 /* the reader of stdout has left, as if SIGPIPE had ended the program */
};

/* How it talks: there is one terminal, and so there is one of these. */
typedef struct hvi_terminal {
  bool json;    /* --json: the result is an object */
  bool quiet;   /* -q: complaints only */
  bool verbose; /* -v */
  bool force;   /* --force: files that hvi did not make are replaced */
  bool live;    /* stderr is a terminal: progress may be shown */
  bool follows; /* another rank talks for this one */
  bool colour;  /* and neither NO_COLOR nor TERM=dumb is set */
} hvi_terminal;
extern hvi_terminal hvi_talk;

/* Looks at stderr and the environment; signals as described below. */
void hvi_talk_start(void);

/* One line "hvi: ..." on stderr; returns code, so that it can end a command. */
int hvi_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same where the command line is wrong, or the input. */
#define hvi_misuse(...)    hvi_complain(HVI_EXIT_USAGE, __VA_ARGS__)
#define hvi_bad_input(...) hvi_complain(HVI_EXIT_INPUT, __VA_ARGS__)
/* Whether stdout is a pipe that nobody reads any more. */
bool hvi_reader_left(void);
/* What the library has to say about a call that failed, and the complaint with the exit code of its
 * status. */
extern hvi_error hvi_fault;
int hvi_complain_fault(void);
/* Returns from a function with the exit code: of a call of the library with &hvi_fault, or of a
 * function that has complained itself. */
#define HVI_CALL(call)                                                                             \
  do {                                                                                             \
    if (call) return hvi_complain_fault();                                                         \
  } while (0)
#define HVI_STEP(call)                                                                             \
  do {                                                                                             \
    const int code_ = (call);                                                                      \
    if (code_) return code_;                                                                       \
  } while (0)

/* printf into one of eight buffers that are used in turn. */
const char *hvi_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* So many digits, in the same way; `unknown` in place of NaN. */
const char *hvi_digits(double x, int digits, const char *unknown);
/* "; did you mean 'x'?" when one of the names, which end in NULL, is near; otherwise "; " and the
 * advice. */
const char *hvi_did_you_mean(const char *word, const char *const *names, const char *advice);

/* Text on stderr, unless quiet. */
void hvi_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef enum hvi_tone { HVI_GOOD, HVI_BAD, HVI_WARN, HVI_STRONG } hvi_tone;
/* The text in colour, where there is one, as by hvi_format. */
const char *hvi_toned(hvi_tone tone, const char *text);

/* Draws a plot; what there is to remark comes after the prefix. Before work begins, the check tells
 * with an exit code that a picture of others is in its place, unless --force. */
int hvi_figure_check(const char *folder, const char *name);
int hvi_figure_check_beside(const char *csv); /* of the same name */
hvi_status hvi_draw(const char *folder, const hvi_plot *plot, const char *prefix, hvi_error *err);

/* Ctrl-C and SIGTERM as a flag that loops look at, so that results so far are kept: the first signal
 * sets it, a second one ends the program. Until somebody looks there is nothing to keep, and the
 * first one ends it; so it is after a release. A closed pipe becomes an ordinary write error. */
bool hvi_signals_interrupted(void);
void hvi_signals_release(void);
/* The exit code as the shell expects it: 143 in place of 130 where the signal was SIGTERM. */
int hvi_signals_exit(int code);

/* A bar with the share done and the time left, on a terminal only and at most ten times a second.
 * There is one at a time. Elsewhere a line tells after three seconds how long it will take, if that is
 * more than a minute. */
void hvi_progress_start(const char *title, size_t total);
void hvi_progress_title(const char *title);
void hvi_progress_update(size_t done);
/* The same for loops that tell how many there are in all; false once a signal has come. */
bool hvi_progress_count(void *nothing, size_t done, size_t total);
/* Wipes the bar's line, so that other text can follow; the same after the call whose status it
 * hands on. */
void hvi_progress_clear(void);
hvi_status hvi_progress_end(hvi_status status);
