/*
 * What the program says to a person, on stderr: complaints, remarks and progress; what its exit
 * status says; and what a person says to it by Ctrl-C.
 *
 * Results go to stdout and are none of this file's business.
 */
#pragma once

#include "args.h"

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

/* Exit status; the manual page lists them. */
enum {
  HVI_EXIT_DONE = 0,          /* to the tolerance, or all iterations when no tolerance was set */
  HVI_EXIT_SHORT = 1,         /* stopped short of the tolerance, or stalled */
  HVI_EXIT_USAGE = 2,         /* the command line is wrong */
  HVI_EXIT_INPUT = 3,         /* a problem, a file's contents or a method that does not fit */
  HVI_EXIT_DIVERGED = 4,      /* diverged, or not finite */
  HVI_EXIT_SYSTEM = 5,        /* input, output or memory that the system refused */
  HVI_EXIT_INTERRUPTED = 130, /* Ctrl-C or SIGTERM */
  HVI_EXIT_PIPE = 141 /* the reader of stdout has left, as if SIGPIPE had ended the program */
};

typedef struct hvi_talk {
  bool quiet;    /* -q: complaints only */
  bool verbose;  /* -v */
  bool terminal; /* stderr is one: progress may be shown */
  bool colour;   /* a terminal, and neither NO_COLOR nor TERM=dumb is set */
} hvi_talk;

/* Looks at stderr and the environment. */
hvi_talk hvi_talk_new(void);
/* Adds -q, --quiet and -v, --verbose. */
void hvi_talk_options(hvi_talk *talk, hvi_args *args);

/* One line "hvi: ..." on stderr; returns code, so that it can end a command. */
int hvi_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same where the command line is wrong. */
#define hvi_misuse(...) hvi_complain(HVI_EXIT_USAGE, __VA_ARGS__)
/* The same for an error of the library, with the exit code of its status. */
int hvi_complain_error(const hvi_error *err);
enum { HVI_HINT_SIZE = 128 };
/* "; did you mean 'x'?" when one of the names, which end in NULL, is near; otherwise "; " and the
 * advice. */
const char *hvi_did_you_mean(char hint[HVI_HINT_SIZE], const char *word, const char *const *names,
                             const char *advice);

/* Text on stderr, unless quiet. */
void hvi_say(const hvi_talk *talk, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef enum hvi_tone { HVI_PLAIN, HVI_GOOD, HVI_BAD, HVI_WARN, HVI_STRONG, HVI_FAINT } hvi_tone;
/* The escape sequence that starts a tone (HVI_PLAIN: ends it); "" where there is no colour. */
const char *hvi_tone_code(const hvi_talk *talk, hvi_tone tone);

/* Ctrl-C and SIGTERM as a flag that loops look at, so that results so far are kept: the first signal
 * sets it, a second one ends the program. A closed pipe becomes an ordinary write error. */
void hvi_signals_install(void);
bool hvi_signals_interrupted(void);

/* A bar with the share done and the time left, on a terminal only and at most ten times a second.
 */
typedef struct hvi_progress {
  const hvi_talk *talk;
  char title[64];
  size_t total;
  double started, shown;
  bool visible;
} hvi_progress;

hvi_progress hvi_progress_new(const hvi_talk *talk, const char *title, size_t total);
void hvi_progress_update(hvi_progress *p, size_t done);
/* The same for loops that tell how many there are in all; false once a signal has come. */
bool hvi_progress_count(void *progress, size_t done, size_t total);
/* Wipes the bar's line, so that other text can follow. */
void hvi_progress_clear(hvi_progress *p);
