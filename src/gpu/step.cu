/*
 * The head of the networks, the surrogate's loss, and the optimizer's step.
 *
 * With h_i the last hidden values of row i and w, b the head's parameters,
 *
 *   y_i = w'h_i + b,   r_i = shift + scale y_i - target_i,   u_i = scale (weight_i r_i + linear_i),
 *   l = sum_i 1/2 weight_i r_i^2 + linear_i r_i,
 *   D_i = u_i s'(h_i) w,   dw = sum_i u_i h_i,   db = sum_i u_i.
 *
 * A block takes one tile of a network's rows, and a warp every eighth of them. The last block of a
 * network to arrive adds the tiles' losses in a fixed order, compares the loss with the goal, and decides
 * whether there is a step: blocks of later kernels read that decision. So a network that has reached its
 * goal stands still while others go on, and the host need not look.
 *
 * r, u and l are doubles: a residual is a small difference of large numbers.
 *
 * The update adds the sums of gradients, of parts or of the head's tiles, in their order, and takes the
 * step in one pass over the parameters, four numbers to a thread.
 */
#include "gpu/step.cuh"

enum { THREADS = 256, WARPS = THREADS / 32, UPDATES = 2 /* of four numbers, by a thread */ };

/* w'x of a row by one warp; every lane has it. */
__device__ inline float row_product(const float *x, const float *w, int lead) {
  float y = 0.0f;
  for (int k = 4 * (threadIdx.x % 32); k < lead; k += 128) {
    const float4 a = *(const float4 *)(x + k), c = *(const float4 *)(w + k);
    y = fmaf(a.x, c.x, fmaf(a.y, c.y, fmaf(a.z, c.z, fmaf(a.w, c.w, y))));
  }
  for (int lane = 16; lane > 0; lane /= 2) y += __shfl_xor_sync(~0u, y, lane);
  return y;
}

/* Outputs, or the tangents' w't + v'h + b'. */
__global__ void __launch_bounds__(THREADS)
    outputs_of_rows(const gpu_job *jobs, const layer y, bool tangents) {
  const gpu_job j = jobs[blockIdx.y];
  const int row = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lead = y.lead_in;
  if (row >= j.rows) return;
  const float *of = tangents ? j.direction : j.theta;
  const size_t at = (size_t)row * lead;
  float out = row_product(inputs_of(j, y) + at, of + y.weight, lead) + of[y.bias];
  if (tangents && y.l > 1) out += row_product(slopes_below(j, y) + at, j.theta + y.weight, lead);
  if (threadIdx.x % 32 == 0) j.y[row] = out;
}

/* u of a tile's rows, shared by its block, and the tile's loss, which is thread 0's. */
__device__ inline double residuals(const gpu_job &j, const layer &y, pass_kind kind, int first,
                                   int end, float *u) {
  __shared__ double loss[WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  double sum = 0.0;
  for (int row = first + warp; row < end; row += WARPS) {
    const float *x = inputs_of(j, y) + (size_t)row * y.lead_in;
    const float out = kind == FOR_PULL ? 0.0f : row_product(x, j.theta + y.weight, y.lead_in);
    if (lane > 0) continue;
    if (kind == FOR_PULL) {
      u[row - first] = (float)j.u[row];
      continue;
    }
    j.y[row] = out + j.theta[y.bias];
    sum += row_loss(j, needs_of(j, row), j.y[row], &u[row - first]);
  }
  if (lane == 0) loss[warp] = sum;
  __syncthreads();
  for (int i = 1; threadIdx.x == 0 && i < WARPS; i++) sum += loss[i];
  return sum;
}

/* D of a tile's rows; dw and db over them. */
__device__ inline void head_slopes(const gpu_job &j, const layer &y, int first, int end,
                                   const float *u, float *sums) {
  __shared__ float4 part[WARPS][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, lead = y.lead_in;
  const float *H = inputs_of(j, y), *w = j.theta + y.weight;
  float *D = slopes_below(j, y);
  for (int begin = 0; begin < lead; begin += 128) {
    const int k = begin + 4 * lane;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (k < lead) {
      const float4 c = *(const float4 *)(w + k); /* zero beyond the width, and so is D */
#pragma unroll 4
      for (int row = first + warp; row < end; row += WARPS) {
        const float4 h = *(const float4 *)(H + (size_t)row * lead + k);
        const float x = u[row - first];
        sum.x = fmaf(x, h.x, sum.x), sum.y = fmaf(x, h.y, sum.y);
        sum.z = fmaf(x, h.z, sum.z), sum.w = fmaf(x, h.w, sum.w);
        if (y.l == 1) continue;
        const float4 d = make_float4(
            x * c.x * slope_at(y.activation, h.x), x * c.y * slope_at(y.activation, h.y),
            x * c.z * slope_at(y.activation, h.z), x * c.w * slope_at(y.activation, h.w));
        *(float4 *)(D + (size_t)row * lead + k) = d;
      }
    }
    part[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && k < lead) {
      for (int i = 1; i < WARPS; i++) {
        const float4 x = part[i][lane];
        sum.x += x.x, sum.y += x.y, sum.z += x.z, sum.w += x.w;
      }
      *(float4 *)(sums + k) = sum;
    }
    __syncthreads();
  }
  if (threadIdx.x >= y.lead_out) return;
  float bias = 0.0f;
  for (int i = 0; threadIdx.x == 0 && i < end - first; i++) bias += u[i];
  sums[lead + threadIdx.x] = bias;
}

__global__ void __launch_bounds__(THREADS)
    head_of_tile(const gpu_job *jobs, const layer y, pass_kind kind) {
  extern __shared__ float u[]; /* [head_rows] */
  const gpu_job j = jobs[blockIdx.y];
  const int tile = blockIdx.x;
  if (tile >= j.head_tiles || !concerns(j, kind)) return;
  const int first = tile * j.head_rows, end = min(first + j.head_rows, j.rows);
  const double loss = residuals(j, y, kind, first, end, u);
  if (kind != FOR_END) head_slopes(j, y, first, end, u, head_sums_of(j, y, tile));
  if (kind == FOR_PULL) return;
  if (threadIdx.x < 32) arrive(j, losses_of(j, y), tile, j.head_tiles, loss);
}

/* Sums of parts, or of the head's tiles, in their order. */
__device__ inline numbers<4> gradient_at(const gpu_job &j, const layer &head, size_t at) {
  const bool of_head = at >= head.weight;
  const float *sums =
      of_head ? head_sums_of(j, head, 0) + (at - head.weight) : sums_of(j, head, 0) + at;
  return sum_up<4>(sums, of_head ? head.lead_in + head.lead_out : head.numbers,
                   of_head ? j.head_tiles : j.parts);
}

__global__ void __launch_bounds__(THREADS)
    update_numbers(const gpu_job *jobs, const layer head, const __grid_constant__ chain net,
                   pass_kind kind) {
  const gpu_job j = jobs[blockIdx.y];
  if (!concerns(j, kind)) return;
  const stepper step(j, kind == FOR_STEP ? NULL : j.gradient);
  float top = 0.0f;
  for (int i = 0; i < UPDATES; i++) {
    const size_t at = 4 * (((size_t)blockIdx.x * UPDATES + i) * THREADS + threadIdx.x);
    if (at >= head.numbers) break;
    const numbers<4> theta = step.put(at, gradient_at(j, head, at), step.fetch<4>(at));
    if (net.layers > 0 && step.steps()) put_weights(j, net, at, theta, weight_scale(j.tops->made));
    top = larger(top, theta);
  }
  if (kind == FOR_STEP) raise_top(&j.tops->theta, top);
}

/* New jobs: a descent is at its start, with nothing behind it where it is to forget. */
__global__ void __launch_bounds__(THREADS)
    begin_job(const gpu_job *jobs, size_t numbers, bool descends) {
  const gpu_job j = jobs[blockIdx.y];
  const size_t at = 4 * ((size_t)blockIdx.x * THREADS + threadIdx.x);
  if (!j.fresh) return;
  if (at == 0) j.tops->x = j.tops->theta = 0u;
  if (at == 0 && descends) {
    progress &p = *j.state;
    p.steps = 0;
    p.going = 1;
    p.arrived = 0;
    p.lr = j.lr;
    p.loss = p.least = INFINITY;
    if (j.forget) p.power[0] = p.power[1] = 1.0;
  }
  if (at >= numbers || !descends || !j.forget) return;
  *(float4 *)(j.m + at) = *(float4 *)(j.v + at) = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

__device__ inline float largest_at(const float *x, size_t at, size_t count) {
  if (at >= count) return 0.0f;
  const float4 q = *(const float4 *)(x + at);
  return fmaxf(fmaxf(fabsf(q.x), fabsf(q.y)), fmaxf(fabsf(q.z), fabsf(q.w)));
}

/* Magnitudes of what new jobs have brought. */
__global__ void __launch_bounds__(THREADS)
    survey_job(const gpu_job *jobs, size_t numbers, int lead) {
  const gpu_job j = jobs[blockIdx.y];
  const size_t at = 4 * ((size_t)blockIdx.x * THREADS + threadIdx.x);
  if (!j.fresh) return;
  raise_top(&j.tops->x, largest_at(j.x, at, (size_t)j.rows * lead));
  raise_top(&j.tops->theta, largest_at(j.theta, at, numbers));
}

/* Halves of inputs and weights, whose magnitudes are known. */
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

static layer head_of(const launch *l, const hvi_device_shape *s) {
  return layer_of(s, l->form, (int)s->layer_count);
}

void hvi_gpu_begin(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  const size_t numbers = hvi_device_numbers(s), lead = hvi_device_padded(s->width[0]);
  const size_t inputs = hvi_gpu_padded(l->most_rows, BLOCK) * hvi_gpu_padded(lead, BLOCK);
  const size_t most = numbers > inputs ? numbers : inputs;
  const dim3 grid((unsigned)hvi_gpu_tiles(most, 4 * THREADS), l->count);
  begin_job<<<dim3((unsigned)hvi_gpu_tiles(numbers, 4 * THREADS), l->count), THREADS, 0,
              l->stream>>>(l->jobs, numbers, kind == FOR_STEP);
  if (l->form == HVI_GPU_NUMBERS) return;
  survey_job<<<grid, THREADS, 0, l->stream>>>(l->jobs, numbers, (int)lead);
  split_job<<<grid, THREADS, 0, l->stream>>>(l->jobs, chain_of(s));
}

void hvi_gpu_outputs(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  const dim3 grid((unsigned)hvi_gpu_tiles(l->most_rows, THREADS / 32), l->count);
  outputs_of_rows<<<grid, THREADS, 0, l->stream>>>(l->jobs, head_of(l, s), kind == FOR_PUSH);
}

void hvi_gpu_head(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  const int rows = (int)hvi_gpu_head_rows(l->most_rows);
  head_of_tile<<<dim3(l->most_tiles, l->count), THREADS, rows * sizeof(float), l->stream>>>(
      l->jobs, head_of(l, s), kind);
}

void hvi_gpu_update(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  const chain net = l->form == HVI_GPU_HALVES ? chain_of(s) : chain{};
  const size_t blocks = hvi_gpu_tiles(hvi_device_numbers(s), 4 * THREADS * UPDATES);
  update_numbers<<<dim3((unsigned)blocks, l->count), THREADS, 0, l->stream>>>(
      l->jobs, head_of(l, s), net, kind);
}
