/*
 * What jobs bring and take.
 *
 * A job's arrays lie in memory of the host that the device can reach, and it goes there itself: one
 * launch brings what all new jobs have, one takes away what all finished ones leave. A copy for each
 * array would cost the host some microseconds, more than a descent of one step takes the device.
 *
 * Sixteen bytes are on their way for each thread at a time, and SPREAD blocks of threads for each job:
 * enough to fill the bus with one job.
 */
#include "gpu/gpu.cuh"

enum { THREADS = 256, SPREAD = 16 };

/* By all threads of a job; arrays begin at multiples of 16 bytes, and end at multiples of four. */
__device__ inline void copy_over(void *to, const void *from, size_t bytes) {
  const size_t first = (size_t)blockIdx.x * THREADS + threadIdx.x, pieces = bytes / 16;
  if (!from || !to) return;
#pragma unroll 4
  for (size_t i = first; i < pieces; i += (size_t)SPREAD * THREADS)
    ((int4 *)to)[i] = ((const int4 *)from)[i];
  const size_t rest = 4 * pieces + first;
  if (rest < bytes / 4) ((int *)to)[rest] = ((const int *)from)[rest];
}

__global__ void __launch_bounds__(THREADS) bring(const gpu_job *jobs, size_t numbers, int lead) {
  const gpu_job &j = jobs[blockIdx.y];
  if (!j.fresh) return;
  const host_side &h = j.host;
  const size_t rows = (size_t)j.rows, of_rows = rows * sizeof(double);
  copy_over(j.theta, h.theta, numbers * sizeof(float));
  copy_over((void *)j.x, h.x, rows * lead * sizeof(float));
  copy_over((void *)j.direction, h.direction, numbers * sizeof(float));
  copy_over((void *)j.target, h.target, of_rows);
  copy_over((void *)j.weight, h.weight, of_rows);
  copy_over((void *)j.linear, h.linear, of_rows);
  copy_over((void *)j.u, h.u, of_rows);
}

/* States are taken of all jobs; results and outputs of those that are done. */
__global__ void __launch_bounds__(THREADS)
    take(const gpu_job *jobs, size_t numbers, progress *states, bool descends) {
  const gpu_job &j = jobs[blockIdx.y];
  if (descends && blockIdx.x == 0 && threadIdx.x == 0) states[blockIdx.y] = *j.state;
  if (descends && j.state->going) return;
  copy_over(j.host.result, descends ? j.theta : j.gradient, numbers * sizeof(float));
  copy_over(j.host.y, j.y, (size_t)j.rows * sizeof(float));
}

void hvi_gpu_bring(const launch *l, const hvi_device_shape *s) {
  bring<<<dim3(SPREAD, l->count), THREADS, 0, l->stream>>>(l->jobs, hvi_device_numbers(s),
                                                           (int)hvi_device_padded(s->width[0]));
}

void hvi_gpu_take(const launch *l, const hvi_device_shape *s, progress *states, bool descends) {
  take<<<dim3(SPREAD, l->count), THREADS, 0, l->stream>>>(l->jobs, hvi_device_numbers(s), states,
                                                          descends);
}
