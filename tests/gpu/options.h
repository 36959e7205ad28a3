/* The command line that the check on a device and the one on the emulation share. */
#pragma once

#include "check.h"

enum { PRECISIONS = 3 };

/* False, with a line on stderr, for what is wrong. wanted[PRECISIONS]: those that are asked for. */
bool options_read(check_options *o, bool *wanted, int argc, char **argv);
/* All of them; 0, or 1 after a failure. */
int options_run(check_options *o, const bool *wanted);
