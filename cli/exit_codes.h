/* What the program's exit status says; the manual page lists them. */
#ifndef HVI_CLI_EXIT_CODES_H
#define HVI_CLI_EXIT_CODES_H

#include <hvi/error.h>

enum {
  HVI_EXIT_DONE = 0,         /* to the tolerance, or all iterations when no tolerance was set */
  HVI_EXIT_SHORT = 1,        /* stopped short of the tolerance, or stalled */
  HVI_EXIT_USAGE = 2,        /* the command line is wrong */
  HVI_EXIT_INPUT = 3,        /* a problem, a file's contents or a method that does not fit */
  HVI_EXIT_DIVERGED = 4,     /* diverged, or not finite */
  HVI_EXIT_SYSTEM = 5,       /* input, output or memory that the system refused */
  HVI_EXIT_INTERRUPTED = 130 /* Ctrl-C or SIGTERM */
};

static inline int hvi_exit_of_status(hvi_status status) {
  switch (status) {
  case HVI_OK:
    return HVI_EXIT_DONE;
  case HVI_ERROR_ARGUMENT:
    return HVI_EXIT_USAGE;
  case HVI_ERROR_IO:
  case HVI_ERROR_MEMORY:
    return HVI_EXIT_SYSTEM;
  default:
    return HVI_EXIT_INPUT;
  }
}

#endif
