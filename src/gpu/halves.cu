/*
 * The head of the networks, and what new jobs bring, where values are halves: the mathematics of step.cu.
 *
 * The last hidden layer has left the head's sums over each 64 of its inputs. Here a block takes a part of
 * the rows, adds them up to y and finds u, the loss and the largest u; the last block of a network decides
 * whether there is a step. Only then is the scale of D known, so that D and the head's gradient are a
 * kernel of their own, a block for a tile of rows, a warp for every eighth of them.
 */
#include "gpu/halves.cuh"

enum { THREADS = 256, WARPS = THREADS / 32, EIGHT = 8 };

/* Halves of new jobs' inputs and weights, whose magnitudes are known. */
__global__ void __launch_bounds__(THREADS)
    split_job(const gpu_job *jobs, const weight_map map, size_t numbers, int in) {
  const gpu_job j = jobs[blockIdx.y];
  if (!j.fresh) return;
  const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, at = 4 * i;
  if (i == 0) j.tops->made = j.tops->kept = j.tops->theta;
  if (at < numbers)
    put_weights(j, map, at, *(const float4 *)(j.theta + at), weight_scale(j.tops->theta));
  const halves x = halves_at(j.x_halves, j.rows, in);
  const int across = x.blocks * BLOCK / 4,
            lead = (in + HVI_DEVICE_PAD - 1) / HVI_DEVICE_PAD * HVI_DEVICE_PAD;
  const int row = (int)(i / across), column = (int)(i % across) * 4;
  if (row >= x.rows) return;
  const bool there = row < j.rows && column < lead;
  const float4 numbers_of_x = there ? *(const float4 *)(j.x + (size_t)row * lead + column)
                                    : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  put_four(x, row, column, numbers_of_x, scale_of(j.tops->x));
}

/* y of a row from the sums over blocks. */
__device__ inline float output_of(const gpu_job &j, const layer &head, int row) {
  float y = 0.0f;
  for (int b = 0; b < padded_block(head.in) / BLOCK; b++) y += outputs_of(j, b)[row];
  return y + j.theta[head.bias];
}

__global__ void __launch_bounds__(THREADS)
    outputs_of_blocks(const gpu_job *jobs, const layer head) {
  const gpu_job j = jobs[blockIdx.y];
  const int row = blockIdx.x * THREADS + threadIdx.x;
  if (row < j.rows) j.y[row] = output_of(j, head, row);
}

/* y, u and the loss of a part's rows. */
__global__ void __launch_bounds__(THREADS)
    residuals_of_part(const gpu_job *jobs, const layer head, pass_kind kind) {
  __shared__ double losses[WARPS];
  const gpu_job j = jobs[blockIdx.y];
  const int part = blockIdx.x, first = part * j.part_rows;
  if (part >= j.parts || !concerns(j, kind)) return;
  const int end = min(first + j.part_rows, j.lead_rows);
  float *us = outputs_of(j, padded_block(head.in) / BLOCK), top = 0.0f;
  double loss = 0.0;
  for (int row = first + threadIdx.x; row < end; row += THREADS) {
    float u = 0.0f;
    if (row < j.rows && kind == FOR_PULL) {
      u = (float)j.u[row];
    } else if (row < j.rows) {
      j.y[row] = output_of(j, head, row);
      loss += row_loss(j, row, j.y[row], &u);
    }
    us[row] = u;
    top = fmaxf(top, fabsf(u));
  }
  raise_top(&j.tops->u, top);
  if (kind == FOR_PULL) return;
  loss = warp_sum(loss);
  if (threadIdx.x % 32 == 0) losses[threadIdx.x / 32] = loss;
  __syncthreads();
  for (int i = 1; threadIdx.x == 0 && i < WARPS; i++) loss += losses[i];
  arrive(j, losses_of(j, head), part, j.parts, loss);
}

/* D of a row's eight columns, and u h added to their sums; the largest of D. */
template <bool RELU>
__device__ inline float slopes_of_eight(float (&sum)[EIGHT], uint4 &high, uint4 &low, float u,
                                        const float (&w)[EIGHT], hvi_activation a, float h_back,
                                        float scale) {
  unsigned *const highs = &high.x, *const lows = &low.x;
  float top = 0.0f;
#pragma unroll
  for (int i = 0; i < EIGHT / 2; i++) {
    const float2 v = join_two(highs[i], lows[i]), h = make_float2(v.x * h_back, v.y * h_back);
    sum[2 * i] = fmaf(u, h.x, sum[2 * i]);
    sum[2 * i + 1] = fmaf(u, h.y, sum[2 * i + 1]);
    const float2 d = make_float2(u * w[2 * i] * slope_at<RELU>(a, h.x),
                                 u * w[2 * i + 1] * slope_at<RELU>(a, h.y));
    top = fmaxf(top, fmaxf(fabsf(d.x), fabsf(d.y)));
    split_two(make_float2(d.x * scale, d.y * scale), highs[i], lows[i]);
  }
  return top;
}

/* The warps' sums of 256 columns, in order, by the first of them. */
__device__ inline void add_warps(float (*all)[32 * EIGHT], const float (&sum)[EIGHT], float *to,
                                 int columns) {
#pragma unroll
  for (int i = 0; i < EIGHT; i++) all[threadIdx.x / 32][threadIdx.x % 32 * EIGHT + i] = sum[i];
  __syncthreads();
  float total = 0.0f;
  for (int i = 0; i < WARPS; i++) total += all[i][threadIdx.x];
  if ((int)threadIdx.x < columns) to[threadIdx.x] = total;
  __syncthreads();
}

/* D of a tile's rows; dw and db over them. */
template <bool RELU>
__device__ inline void slopes_of_tile(const gpu_job &j, const layer &head, int first, int end,
                                      bool values_low, bool low, float *sums) {
  __shared__ float all[WARPS][32 * EIGHT];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const halves h = inputs_halves(j, head), d = slopes_below_halves(j, head);
  const float *us = outputs_of(j, h.blocks), *weights = j.theta + head.weight;
  const float h_back = 1.0f / input_scale(j, head), scale = slope_scale(j, head.l - 1, true, 1);
  float top = 0.0f;
  for (int begin = 0; begin < head.lead_in; begin += 32 * EIGHT) {
    const int column = begin + lane * EIGHT;
    float sum[EIGHT] = {}, w[EIGHT] = {};
    if (column < head.lead_in) {
      *(float4 *)w = *(const float4 *)(weights + column);
      *(float4 *)(w + 4) = *(const float4 *)(weights + column + 4);
    }
    if (column < h.blocks * BLOCK)
#pragma unroll 4
      for (int row = first + warp; row < end; row += WARPS) {
        const size_t at = half_at(h, row, column);
        uint4 high = *(const uint4 *)(h.high + at), rest = make_uint4(0u, 0u, 0u, 0u);
        if (values_low) rest = *(const uint4 *)(h.high + h.low + at);
        top = fmaxf(top, slopes_of_eight<RELU>(sum, high, rest, us[row], w, head.activation, h_back,
                                               scale));
        *(uint4 *)(d.high + at) = high;
        if (low) *(uint4 *)(d.high + d.low + at) = rest;
      }
    add_warps(all, sum, sums + begin, head.lead_in - begin);
  }
  raise_top(&j.tops->d[head.l - 1], top);
  if ((int)threadIdx.x >= head.lead_out) return;
  float bias = 0.0f;
  for (int i = first; threadIdx.x == 0 && i < end; i++) bias += us[i];
  sums[head.lead_in + threadIdx.x] = bias;
}

__global__ void __launch_bounds__(THREADS)
    head_of_halves(const gpu_job *jobs, const layer head, pass_kind kind,
                   hvi_device_precision precision) {
  const gpu_job j = jobs[blockIdx.y];
  const int tile = blockIdx.x, first = tile * j.head_rows;
  if (tile >= j.head_tiles || !concerns(j, kind)) return;
  const int end = tile + 1 < j.head_tiles ? first + j.head_rows : j.lead_rows;
  const bool values_low = values_have_low(precision, j, kind), low = precision != HVI_DEVICE_FP16;
  float *sums = head_sums_of(j, head, tile);
  if (head.activation == HVI_RELU)
    slopes_of_tile<true>(j, head, first, end, values_low, low, sums);
  else
    slopes_of_tile<false>(j, head, first, end, values_low, low, sums);
}

static layer head_of(const hvi_device_shape *s) {
  return layer_of(s, HVI_GPU_HALVES, (int)s->layer_count);
}

void hvi_gpu_split(const launch *l, const hvi_device_shape *s) {
  const size_t numbers = hvi_device_numbers(s) / 4;
  const size_t inputs =
      hvi_gpu_padded(l->most_rows, BLOCK) * hvi_gpu_padded(s->width[0], BLOCK) / 4;
  const size_t most = numbers > inputs ? numbers : inputs;
  split_job<<<dim3((unsigned)hvi_gpu_tiles(most, THREADS), l->count), THREADS, 0, l->stream>>>(
      l->jobs, weight_map_of(s), hvi_device_numbers(s), (int)s->width[0]);
}

void hvi_gpu_outputs_halves(const launch *l, const hvi_device_shape *s) {
  const dim3 grid((unsigned)hvi_gpu_tiles(l->most_rows, THREADS), l->count);
  outputs_of_blocks<<<grid, THREADS, 0, l->stream>>>(l->jobs, head_of(s));
}

void hvi_gpu_head_halves(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  residuals_of_part<<<dim3(l->most_parts, l->count), THREADS, 0, l->stream>>>(l->jobs, head_of(s),
                                                                              kind);
  if (kind == FOR_END) return;
  head_of_halves<<<dim3(l->most_tiles, l->count), THREADS, 0, l->stream>>>(l->jobs, head_of(s),
                                                                           kind, l->precision);
}
