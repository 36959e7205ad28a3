/* Two pieces of work side by side, again and again: the twin critics on two threads. */
#ifndef HVI_RL_SAC_TWINS_H
#define HVI_RL_SAC_TWINS_H

#include <hvi/error.h>

#include <stddef.h>

typedef struct hvi_twins hvi_twins;

typedef void (*hvi_twins_fn)(void *context, size_t side);

/* A helper thread that waits for work. */
hvi_status hvi_twins_new(hvi_twins **twins, hvi_error *err);
void hvi_twins_free(hvi_twins *twins);
/* Runs side 0 here and side 1 beside it, and returns when both are done. NULL: one after the
 * other, here. */
void hvi_twins_run(hvi_twins *twins, hvi_twins_fn run, void *context);

#endif
