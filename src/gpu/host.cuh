/* A device, its networks and its descents, as host code sees them. */
#pragma once

#include "gpu/gpu.cuh"

#include <algorithm>

extern "C" {
#include "base/error.h"
}

/* A chunk of steps: what its kernels' arguments depend on. One that comes again and again is captured
 * as a graph. */
struct chunk {
  hvi_device_shape shape;
  int count, most_rows, most_parts, most_tiles, steps, ends; /* all of one form */
};
struct known_chunk {
  chunk key;
  int uses;
  cudaGraphExec_t graph; /* NULL: not captured */
};
enum { MOST_CHUNKS = 128, USES_BEFORE_CAPTURE = 3 };

struct hvi_device {
  cudaStream_t stream;
  cudaEvent_t begun, ended;
  hvi_device_precision precision;
  int major, minor, processors, clock; /* kHz */
  gpu_job *jobs, *jobs_host;           /* [room], on the device and pinned */
  progress *states;                    /* [room], pinned */
  size_t room;
  float *scratch; /* slots */
  size_t scratch_floats;
  known_chunk chunks[MOST_CHUNKS];
  size_t chunk_count; /* ever known; the latest have taken the place of the first */
};

/* Inputs, and how many of those that come again are there. */
struct inputs_there {
  float *x;
  size_t room, rows;
};

struct hvi_device_net {
  hvi_device *device;
  hvi_device_shape shape;
  float *numbers;   /* theta, m, v */
  progress *state;  /* behind them, */
  magnitudes *tops; /* and behind it */
  float *more;      /* gradient or direction; NULL until one is wanted */
  inputs_there inputs[HVI_DEVICE_ROWS];
  float *y;                       /* [rows] */
  char *x_halves, *weight_halves; /* halves.cuh; NULL where numbers alone are computed with */
  double *targets;                /* [4][rows]: target, weight, linear, u */
  size_t rows;                    /* there is room for */
};

/* HVI_OK, or what CUDA says: HVI_ERROR_MEMORY or HVI_ERROR_IO. */
hvi_status hvi_gpu_check(cudaError_t e, const char *what, hvi_error *err);
#define GPU_TRY(call, what) HVI_TRY(hvi_gpu_check((call), (what), err))

/* What `launch` puts into the queue, as a graph. */
template <class LAUNCH>
hvi_status hvi_gpu_capture(cudaStream_t stream, LAUNCH launch, cudaGraphExec_t *ready,
                           hvi_error *err) {
  cudaGraph_t graph = NULL;
  GPU_TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "a graph");
  const cudaError_t launched = launch(), ended = cudaStreamEndCapture(stream, &graph);
  cudaError_t e = launched ? launched : ended;
  if (!e) e = cudaGraphInstantiate(ready, graph, 0);
  if (graph) cudaGraphDestroy(graph);
  return hvi_gpu_check(e, "a graph", err);
}

/* Microseconds of what `launch` puts into the queue: the median of rounds. */
template <class LAUNCH>
hvi_status hvi_gpu_time(hvi_device *d, LAUNCH launch, double *us, hvi_error *err) {
  enum { ROUNDS = 7 };
  float ms[ROUNDS];
  for (float &spent : ms) {
    GPU_TRY(cudaEventRecord(d->begun, d->stream), "a clock");
    HVI_TRY(launch());
    GPU_TRY(cudaEventRecord(d->ended, d->stream), "a clock");
    GPU_TRY(cudaStreamSynchronize(d->stream), "a computation");
    GPU_TRY(cudaEventElapsedTime(&spent, d->begun, d->ended), "a clock");
  }
  std::sort(ms, ms + ROUNDS);
  *us = 1e3 * ms[ROUNDS / 2];
  return HVI_OK;
}

/* Launches so many steps of descents whose table is filled in and, where one may end with them, the pass
 * that tells its loss. */
hvi_status hvi_gpu_run_steps(hvi_device *d, const hvi_device_shape *s, launch *l, int steps,
                             bool ends, hvi_error *err);
/* Fills the table for jobs that the device has the inputs of: l->count of them found a slot. */
hvi_status hvi_gpu_place_jobs(hvi_device *d, hvi_device_kind kind, hvi_device_job *const *jobs,
                              size_t count, launch *l, hvi_error *err);
/* cublas.cu: microseconds of the products of a step; NaN where cuBLAS is not installed, or does not work. */
hvi_status hvi_gpu_bare_products(hvi_device *d, const hvi_device_shape *shape, size_t nets,
                                 size_t rows, double *us, hvi_error *err);
hvi_status hvi_gpu_measure(hvi_device *d, const hvi_device_shape *s, size_t nets, size_t rows,
                           hvi_device_times *times, hvi_error *err);
extern const hvi_device_functions hvi_gpu_functions;
