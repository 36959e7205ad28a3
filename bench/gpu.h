/* `hvi bench gpu`: a step of AdamW of many networks on a GPU, next to its bare products by cuBLAS and to
 * the arithmetic at the device's peak in the same run. */
#pragma once

#include "gpu/device.h"
#include "options.h"

/* Networks 27-256x..-1, batches of 1,000 each. */
typedef struct gpu_row {
  size_t hidden, seeds;
  char precision[16];
  hvi_device_times us; /* of one step of all of them */
} gpu_row;

enum { GPU_BATCH = 1000, GPU_SIZES = 5, GPU_PRECISIONS = 3, GPU_ROWS = GPU_SIZES * GPU_PRECISIONS };

/* Fills rows[GPU_ROWS], each a gpu_row; *done says how many before an error or a stop.
 * HVI_ERROR_UNSUPPORTED where there is no device. */
hvi_status bench_gpu_run(void *rows, size_t *done, const bench_options *options, hvi_error *err);
