/* Ctrl-C and SIGTERM as a flag that loops look at, so that results so far are kept. */
#ifndef HVI_CLI_SIGNALS_H
#define HVI_CLI_SIGNALS_H

#include <stdbool.h>

/* The first signal sets the flag, a second one ends the program. A closed pipe becomes an ordinary
 * write error. */
void hvi_signals_install(void);
bool hvi_signals_interrupted(void);

#endif
