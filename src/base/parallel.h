/*
 * Work in fixed chunks over threads. Threads only decide who does which chunk; what a chunk
 * computes depends on its number alone, so results are the same bits for any thread count.
 */
#pragma once

#include <hvi/error.h>

#include <stddef.h>

/* Does chunk `chunk` on worker `worker` (0 .. threads-1, for per-thread workspaces). */
typedef hvi_status (*hvi_chunk_fn)(void *context, size_t chunk, size_t worker, hvi_error *err);

/* Runs chunks 0 .. count-1 on at most `threads` threads, and on one where BLAS bears no more (the
 * caller is one of them; 0 means one per core). After an error no new chunk is started, and the
 * error of the lowest failed chunk is returned. */
hvi_status hvi_parallel_run(size_t count, size_t threads, hvi_chunk_fn run, void *context,
                            hvi_error *err);

/* Cores this process may use, at least 1. */
size_t hvi_parallel_cores(void);
/* Threads for work whose memory grows with them: as many as asked for (0: one per core), and at most
 * 16 or four per core. */
size_t hvi_parallel_threads(size_t asked);
