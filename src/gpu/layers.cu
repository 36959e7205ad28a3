/*
 * The hidden layers of many networks at once, forward and backward, where values are numbers.
 *
 *   H_0 = X,   H_l = s(H_{l-1} W_l' + b_l)                                   values
 *   T_l = s'(H_l) (T_{l-1} W_l' + H_{l-1} V_l' + v_l)                        tangents along (V, v)
 *   D_{l-1} = s'(H_{l-1}) (D_l W_l),   dW_l = D_l' H_{l-1},   db_l = D_l' 1  slopes and gradients
 *
 * A block computes one tile of one network's product (product.cuh); blockIdx.y is the network. Bias,
 * activation and slope are applied to a tile before it leaves the processor. A layer's slopes and its
 * gradients both need D_l alone, so they are one launch: tiles of slopes first, then, for each part of
 * the rows, those of gradients.
 */
#include "gpu/gpu.cuh"
#include "gpu/product.cuh"

using of_layer = tile<64, 64, 32, 8, 4, 1, 3>;
enum { TILE = of_layer::BM, THREADS = of_layer::THREADS, RESIDENT = 4 };

__host__ __device__ static inline int tiles_of(size_t n) { return ((int)n + TILE - 1) / TILE; }

__device__ static inline operand inputs_operand(const gpu_job &j, const layer &y) {
  return {inputs_of(j, y), y.lead_in, j.rows, y.lead_in};
}
/* W_l: outputs by padded inputs. */
__device__ static inline operand weights_of(const float *numbers, const layer &y) {
  return {numbers + y.weight, y.lead_in, y.out, y.lead_in};
}

/* A tile of H_l. */
__global__ void __launch_bounds__(THREADS, RESIDENT)
    forward_tile(const gpu_job *jobs, const layer y, pass_kind kind) {
  const gpu_job j = jobs[blockIdx.y];
  const int across = tiles_of(y.out);
  const int m = blockIdx.x / across * TILE, n = blockIdx.x % across * TILE;
  if (m >= j.rows || !concerns(j, kind)) return;
  accumulator<of_layer> acc;
  add_product<true, true>(acc, inputs_operand(j, y), m, weights_of(j.theta, y), n);
  const float *bias = j.theta + y.bias;
  float *h = values_of(j, y);
  for_fours<true, true>(acc, m, n, [&](int row, int column, four z) {
    if (row >= j.rows || column >= y.lead_out) return;
    const four b(bias + column);
    for (int i = 0; i < 4; i++)
      z.x[i] = column + i < y.out ? activate(y.activation, z.x[i] + b.x[i]) : 0.0f;
    z.store(h + (size_t)row * y.lead_out + column);
  });
}

/* A tile of T_l, H_l being there; tangents take the place of slopes. */
__global__ void __launch_bounds__(THREADS, RESIDENT)
    tangent_tile(const gpu_job *jobs, const layer y) {
  const gpu_job j = jobs[blockIdx.y];
  const int across = tiles_of(y.out);
  const int m = blockIdx.x / across * TILE, n = blockIdx.x % across * TILE;
  if (m >= j.rows) return;
  accumulator<of_layer> acc;
  add_product<true, true>(acc, inputs_operand(j, y), m, weights_of(j.direction, y), n);
  if (y.l > 1) {
    const operand before = {slopes_below(j, y), y.lead_in, j.rows, y.lead_in};
    add_product<true, true>(acc, before, m, weights_of(j.theta, y), n);
  }
  const float *bias = j.direction + y.bias, *h = values_of(j, y);
  float *tangent = slopes_of(j, y);
  for_fours<true, true>(acc, m, n, [&](int row, int column, four z) {
    if (row >= j.rows || column >= y.lead_out) return;
    const size_t at = (size_t)row * y.lead_out + column;
    const four v(h + at), b(bias + column);
    for (int i = 0; i < 4; i++)
      z.x[i] = column + i < y.out ? slope_at(y.activation, v.x[i]) * (z.x[i] + b.x[i]) : 0.0f;
    z.store(tangent + at);
  });
}

/* A tile of D_{l-1}. */
__device__ static inline void slopes_tile(const gpu_job &j, const layer &y, int m, int n) {
  const operand d = {slopes_of(j, y), y.lead_out, j.rows, y.lead_out};
  const operand w = {j.theta + y.weight, y.lead_in, y.lead_in, y.out}; /* k runs over its rows */
  accumulator<of_layer> acc;
  add_product<true, false>(acc, d, m, w, n);
  const float *h = inputs_of(j, y);
  float *to = slopes_below(j, y);
  for_fours<true, false>(acc, m, n, [&](int row, int column, four z) {
    if (row >= j.rows || column >= y.lead_in) return;
    const size_t at = (size_t)row * y.lead_in + column;
    const four v(h + at);
    for (int i = 0; i < 4; i++)
      z.x[i] = column + i < y.in ? z.x[i] * slope_at(y.activation, v.x[i]) : 0.0f;
    z.store(to + at);
  });
}

/* A tile of dW_l, and with its first columns db_l, over one part of the rows. */
__device__ static inline void gradients_tile(const gpu_job &j, const layer &y, int part, int m,
                                             int n) {
  const int first = part * j.part_rows, rows = min(j.part_rows, j.rows - first), lead = y.lead_in;
  const operand d = {slopes_of(j, y) + (size_t)first * y.lead_out, y.lead_out, y.lead_out, rows};
  const operand h = {inputs_of(j, y) + (size_t)first * lead, lead, lead, rows};
  float *weight = sums_of(j, y, part) + y.weight, *bias = sums_of(j, y, part) + y.bias;
  accumulator<of_layer> acc;
  add_product<false, false>(acc, d, m, h, n);
  for_fours<false, false>(acc, m, n, [&](int row, int column, four z) {
    if (row < y.out && column < lead) z.store(weight + (size_t)row * lead + column);
  });
  if (n == 0) sum_columns<of_layer>(d, m, [&](int column, float sum) { bias[column] = sum; });
}

/* Tiles of D_{l-1}, if l > 1, then those of dW_l for each part. */
__global__ void __launch_bounds__(THREADS, RESIDENT)
    backward_tile(const gpu_job *jobs, const layer y, pass_kind kind) {
  const gpu_job j = jobs[blockIdx.y];
  if (!concerns(j, kind)) return;
  const int across = tiles_of(y.in), slopes = y.l > 1 ? tiles_of(j.rows) * across : 0;
  int at = blockIdx.x;
  if (at < slopes) return slopes_tile(j, y, at / across * TILE, at % across * TILE);
  at -= slopes;
  const int each = tiles_of(y.out) * across, part = at / each;
  at %= each;
  if (part < j.parts) gradients_tile(j, y, part, at / across * TILE, at % across * TILE);
}

void hvi_gpu_forward(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  for (int k = 1; k < (int)s->layer_count; k++) {
    const dim3 grid(tiles_of(l->most_rows) * tiles_of(s->width[k]), l->count);
    const layer y = layer_of(s, HVI_GPU_NUMBERS, k);
    forward_tile<<<grid, THREADS, of_layer::SHARED, l->stream>>>(l->jobs, y, kind);
    if (kind != FOR_PUSH) continue;
    tangent_tile<<<grid, THREADS, of_layer::SHARED, l->stream>>>(l->jobs, y);
  }
}

void hvi_gpu_backward(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  for (int k = (int)s->layer_count - 1; k > 0; k--) {
    const int across = tiles_of(s->width[k - 1]);
    const int slopes = k > 1 ? tiles_of(l->most_rows) * across : 0;
    const int gradients = tiles_of(s->width[k]) * across * l->most_parts;
    backward_tile<<<dim3(slopes + gradients, l->count), THREADS, of_layer::SHARED, l->stream>>>(
        l->jobs, layer_of(s, HVI_GPU_NUMBERS, k), kind);
  }
}

cudaError_t hvi_gpu_allow_memory(void) {
  return allow_bytes(of_layer::SHARED, forward_tile, tangent_tile, backward_tile);
}
