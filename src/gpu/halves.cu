/* What new jobs bring, where values are halves: their inputs and weights, whose magnitudes are known. */
#include "gpu/halves.cuh"

enum { THREADS = 256 };

__global__ void __launch_bounds__(THREADS)
    split_job(const gpu_job *jobs, const __grid_constant__ chain net) {
  const gpu_job j = jobs[blockIdx.y];
  if (!j.fresh) return;
  const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, at = 4 * i;
  if (i == 0) j.tops->made = j.tops->theta;
  if (at < net.numbers)
    put_weights(j, net, at, *(const numbers<4> *)(j.theta + at), weight_scale(j.tops->theta));
  const halves x = values_halves(j, net, 0);
  const int across = x.blocks * BLOCK / 4,
            lead = (net.width[0] + HVI_DEVICE_PAD - 1) / HVI_DEVICE_PAD * HVI_DEVICE_PAD;
  const int row = (int)(i / across), column = (int)(i % across) * 4;
  if (row >= x.rows) return;
  const bool there = row < j.rows && column < lead;
  const float *from = j.x + (size_t)row * lead + column;
  put_row(x.high + half_at(x, row, column), x.low, there ? *(const numbers<4> *)from : numbers<4>{},
          scale_of(j.tops->x));
}

void hvi_gpu_split(const launch *l, const hvi_device_shape *s) {
  const size_t numbers = hvi_device_numbers(s) / 4;
  const size_t inputs =
      hvi_gpu_padded(l->most_rows, BLOCK) * hvi_gpu_padded(s->width[0], BLOCK) / 4;
  const size_t most = numbers > inputs ? numbers : inputs;
  split_job<<<dim3((unsigned)hvi_gpu_tiles(most, THREADS), l->count), THREADS, 0, l->stream>>>(
      l->jobs, chain_of(s));
}
