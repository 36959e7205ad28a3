/* `hvi bench sac-gpu`: updates of soft actor-critic on a GPU, several seeds at once, next to the CPU's in the
 * same run. */
#pragma once

#include "options.h"

#include <hvi/error.h>

#include <stddef.h>

/* Sizes of half_cheetah, default settings. Seconds of an environment step of all seeds: with batches and noise;
 * of the device's part, from its call to its return; and of one seed on one core. */
typedef struct sac_gpu_row {
  size_t seeds;
  double step, device, cpu;
} sac_gpu_row;

enum { SAC_GPU_ROWS = 3 };

/* Fills rows[SAC_GPU_ROWS], each a sac_gpu_row; *done says how many before an error or a stop.
 * HVI_ERROR_UNSUPPORTED where there is no device. */
hvi_status bench_sac_gpu_run(void *rows, size_t *done, const bench_options *options,
                             hvi_error *err);
