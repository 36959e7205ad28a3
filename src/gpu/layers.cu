/*
 * The hidden layers of many networks at once, forward and backward.
 *
 *   H_0 = X,   H_l = s(H_{l-1} W_l' + b_l)                                   values
 *   T_l = s'(H_l) (T_{l-1} W_l' + H_{l-1} V_l' + v_l)                        tangents along (V, v)
 *   D_{l-1} = s'(H_{l-1}) (D_l W_l),   dW_l = D_l' H_{l-1},   db_l = D_l' 1  slopes and gradients
 *
 * A block computes one tile of one network's product (product.cuh); blockIdx.y is the network. Bias,
 * activation and slope are applied to a tile before it leaves the registers. A layer's slopes and its
 * gradients both need D_l alone, so they are one launch: tiles of slopes first, then, for each part of
 * the rows, those of gradients. Tiles are large where the networks fill the device with them, small
 * otherwise.
 */
#include "gpu/gpu.cuh"
#include "gpu/product.cuh"

/* Bytes of shared memory for the products of a kernel: two slabs of each operand. */
template <class T> constexpr int shared_bytes() {
  constexpr int values = slab_bytes<T, true, true>, slopes = slab_bytes<T, true, false>,
                gradients = slab_bytes<T, false, false>;
  constexpr int two = values > slopes ? values : slopes;
  return 2 * (two > gradients ? two : gradients);
}

__device__ inline int tiles_of(int n, int tile) { return (n + tile - 1) / tile; }

/* W_l: outputs by padded inputs. */
__device__ inline operand weights_of(const float *numbers, const layer &y, unsigned top) {
  return {numbers + y.weight, y.lead_in, y.out, y.lead_in, top};
}

template <class T, product_mode MODE>
__device__ inline void multiply_values(accumulator<T> &acc, const gpu_job &j, const operand &a,
                                       int m, const operand &b, int n) {
  if (MODE == ONCE && j.careful)
    multiply_tile<T, true, true, TRIPLE>(acc, a, m, b, n, nobody());
  else
    multiply_tile<T, true, true, MODE>(acc, a, m, b, n, nobody());
}

/* H_l from a tile of H_{l-1} W_l'. */
template <bool RELU, class T>
__device__ inline void put_values(const accumulator<T> &acc, const gpu_job &j, const layer &y,
                                  int m, int n) {
  const float *bias = j.theta + y.bias;
  float *h = values_of(j, y), top = 0.0f;
  for_pairs(acc, m, n, [&](int row, int column, float2 z) {
    if (row >= j.rows || column >= y.lead_out) return;
    const float2 b = *(const float2 *)(bias + column);
    const float first = column < y.out ? activate<RELU>(y.activation, z.x + b.x) : 0.0f;
    const float second = column + 1 < y.out ? activate<RELU>(y.activation, z.y + b.y) : 0.0f;
    *(float2 *)(h + (size_t)row * y.lead_out + column) = make_float2(first, second);
    top = fmaxf(top, fmaxf(fabsf(first), fabsf(second)));
  });
  raise_top(&j.tops->h[y.l], top);
}

/* A tile of H_l. */
template <class T, product_mode MODE>
__global__ void __launch_bounds__(T::THREADS, T::RESIDENT)
    forward_tile(const gpu_job *jobs, const layer y, pass_kind kind) {
  const gpu_job j = jobs[blockIdx.y];
  const int across = tiles_of(y.out, T::BN);
  const int m = blockIdx.x / across * T::BM, n = blockIdx.x % across * T::BN;
  if (m >= j.rows || !concerns(j, kind)) return;
  accumulator<T> acc;
  const operand x = {inputs_of(j, y), y.lead_in, j.rows, y.lead_in, top_of_inputs(j, y)};
  multiply_values<T, MODE>(acc, j, x, m, weights_of(j.theta, y, j.tops->theta), n);
  if (y.activation == HVI_RELU)
    put_values<true>(acc, j, y, m, n);
  else
    put_values<false>(acc, j, y, m, n);
}

template <class T> __device__ inline void add(accumulator<T> &acc, const accumulator<T> &x) {
#pragma unroll
  for (int m = 0; m < T::MT; m++)
#pragma unroll
    for (int n = 0; n < T::NT; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) acc.c[m][n][i] += x.c[m][n][i];
}

/* A tile of T_l, H_l being there; tangents take the place of slopes. */
template <class T, product_mode MODE>
__global__ void __launch_bounds__(T::THREADS, T::RESIDENT)
    tangent_tile(const gpu_job *jobs, const layer y) {
  const gpu_job j = jobs[blockIdx.y];
  const int across = tiles_of(y.out, T::BN);
  const int m = blockIdx.x / across * T::BM, n = blockIdx.x % across * T::BN;
  if (m >= j.rows) return;
  const int out = y.out, lead = y.lead_out;
  const operand x = {inputs_of(j, y), y.lead_in, j.rows, y.lead_in, top_of_inputs(j, y)};
  const operand before = {slopes_below(j, y), y.lead_in, j.rows, y.lead_in, j.tops->d[y.l - 1]};
  accumulator<T> acc;
  accumulator<T> other;
  multiply_tile<T, true, true, MODE>(acc, x, m, weights_of(j.direction, y, j.tops->direction), n,
                                     nobody());
  if (y.l > 1) {
    __syncthreads();
    multiply_tile<T, true, true, MODE>(other, before, m, weights_of(j.theta, y, j.tops->theta), n,
                                       nobody());
    add(acc, other);
  }
  const float *bias = j.direction + y.bias, *h = values_of(j, y);
  float *tangent = slopes_of(j, y), top = 0.0f;
  for_pairs(acc, m, n, [&](int row, int column, float2 z) {
    if (row >= j.rows || column >= lead) return;
    const size_t at = (size_t)row * lead + column;
    const float2 v = *(const float2 *)(h + at);
    const float first =
        column < out ? slope_at<false>(y.activation, v.x) * (z.x + bias[column]) : 0.0f;
    const float second =
        column + 1 < out ? slope_at<false>(y.activation, v.y) * (z.y + bias[column + 1]) : 0.0f;
    *(float2 *)(tangent + at) = make_float2(first, second);
    top = fmaxf(top, fmaxf(fabsf(first), fabsf(second)));
  });
  raise_top(&j.tops->d[y.l], top);
}

/* D_{l-1} from a tile of D_l W_l. */
template <bool RELU, class T>
__device__ inline void put_slopes(const accumulator<T> &acc, const gpu_job &j, const layer &y,
                                  int m, int n) {
  const float *h = inputs_of(j, y);
  float *to = slopes_below(j, y), top = 0.0f;
  for_pairs(acc, m, n, [&](int row, int column, float2 z) {
    if (row >= j.rows || column >= y.lead_in) return;
    const size_t at = (size_t)row * y.lead_in + column;
    const float2 v = *(const float2 *)(h + at);
    const float first = column < y.in ? z.x * slope_at<RELU>(y.activation, v.x) : 0.0f;
    const float second = column + 1 < y.in ? z.y * slope_at<RELU>(y.activation, v.y) : 0.0f;
    *(float2 *)(to + at) = make_float2(first, second);
    top = fmaxf(top, fmaxf(fabsf(first), fabsf(second)));
  });
  raise_top(&j.tops->d[y.l - 1], top);
}

/* A tile of D_{l-1}. */
template <class T, product_mode MODE>
__device__ inline void slopes_tile(const gpu_job &j, const layer &y, int m, int n) {
  const int lead = y.lead_in;
  const operand d = {slopes_of(j, y), y.lead_out, j.rows, y.lead_out, j.tops->d[y.l]};
  const operand w = {j.theta + y.weight, lead, lead, y.out,
                     j.tops->theta}; /* by columns: k runs over its rows */
  accumulator<T> acc;
  multiply_tile<T, true, false, MODE>(acc, d, m, w, n, nobody());
  if (y.activation == HVI_RELU)
    put_slopes<true>(acc, j, y, m, n);
  else
    put_slopes<false>(acc, j, y, m, n);
}

/* db_l: sums of D_l over k, one for each residue of k modulo RESIDUES, and then those in order: the same
 * for all tiles. A thread's parcels are of four columns and of one residue, or of several in turn. */
enum { RESIDUES = 16 };
template <class T> struct bias_sums {
  using P = parcel<T::BM, T::DEPTH, T::THREADS>;
  static constexpr int ACROSS = T::BM / 4, DOWN = T::THREADS / ACROSS, COUNT = RESIDUES / DOWN;
  static_assert(T::THREADS % ACROSS == 0 && RESIDUES % DOWN == 0, "a thread keeps to its columns");
  float4 sum[COUNT] = {};

  __device__ void operator()(const P &p) {
#pragma unroll
    for (int i = 0; i < P::COUNT; i++) {
      float4 &s = sum[i % COUNT];
      s.x += p.x[i].x, s.y += p.x[i].y, s.z += p.x[i].z, s.w += p.x[i].w;
    }
  }

  __device__ void put(float *to, int m, int count) const {
    extern __shared__ __align__(16) char shared[];
    float *all = (float *)shared; /* [RESIDUES][BM] */
    const int across = threadIdx.x % ACROSS, down = threadIdx.x / ACROSS;
    __syncthreads();
    for (int i = 0; i < COUNT; i++)
      *(float4 *)(all + (down + i * DOWN) * T::BM + 4 * across) = sum[i];
    __syncthreads();
    if (threadIdx.x >= T::BM || m + threadIdx.x >= count) return;
    float total = 0.0f;
    for (int k = 0; k < RESIDUES; k++) total += all[k * T::BM + threadIdx.x];
    to[m + threadIdx.x] = total;
  }
};

/* A tile of dW_l, and with its first columns db_l, over one part of the rows. */
template <class T, product_mode MODE>
__device__ inline void gradients_tile(const gpu_job &j, const layer &y, int part, int m, int n) {
  const int first = part * j.part_rows, rows = min(j.part_rows, j.rows - first), lead = y.lead_in;
  const operand d = {slopes_of(j, y) + (size_t)first * y.lead_out, y.lead_out, y.lead_out, rows,
                     j.tops->d[y.l]};
  const operand h = {inputs_of(j, y) + (size_t)first * lead, lead, lead, rows, top_of_inputs(j, y)};
  accumulator<T> acc;
  bias_sums<T> bias;
  multiply_tile<T, false, false, MODE>(acc, d, m, h, n, bias);
  float *sums = sums_of(j, y, part), *weight = sums + y.weight;
  for_pairs(acc, m, n, [&](int row, int column, float2 z) {
    if (row < y.out && column < lead) *(float2 *)(weight + (size_t)row * lead + column) = z;
  });
  if (n == 0) bias.put(sums + y.bias, m, y.lead_out);
}

/* Tiles of D_{l-1}, if l > 1, then those of dW_l for each part. */
template <class T, product_mode MODE>
__global__ void __launch_bounds__(T::THREADS, T::RESIDENT)
    backward_tile(const gpu_job *jobs, const layer y, pass_kind kind) {
  const gpu_job j = jobs[blockIdx.y];
  if (!concerns(j, kind)) return;
  const int across = tiles_of(y.in, T::BN);
  const int down = y.l > 1 ? tiles_of(j.rows, T::BM) : 0;
  int at = blockIdx.x;
  if (at < down * across) {
    slopes_tile<T, MODE>(j, y, at / across * T::BM, at % across * T::BN);
    return;
  }
  at -= down * across;
  const int each = tiles_of(y.out, T::BM) * across, part = at / each;
  if (part >= j.parts) return;
  at %= each;
  gradients_tile<T, MODE>(j, y, part, at / across * T::BM, at % across * T::BN);
}

/* Large tiles where they are enough for two blocks on most processors of a device; for products with
 * few columns never. */
static bool many(const launch *l, size_t tiles, size_t columns) {
  return tiles * l->count >= 200 && columns > 64;
}

template <class T, product_mode MODE>
static void forward_as(const launch *l, const hvi_device_shape *s, int k, pass_kind kind) {
  const size_t tiles = hvi_gpu_tiles(l->most_rows, T::BM) * hvi_gpu_tiles(s->width[k], T::BN);
  forward_tile<T, MODE>
      <<<dim3((unsigned)tiles, l->count), T::THREADS, shared_bytes<T>(), l->stream>>>(
          l->jobs, layer_of(s, HVI_GPU_NUMBERS, k), kind);
}

template <class T, product_mode MODE>
static void backward_as(const launch *l, const hvi_device_shape *s, int k, pass_kind kind) {
  const size_t across = hvi_gpu_tiles(s->width[k - 1], T::BN);
  const size_t slopes = k > 1 ? hvi_gpu_tiles(l->most_rows, T::BM) * across : 0;
  const size_t gradients = hvi_gpu_tiles(s->width[k], T::BM) * across * l->most_parts;
  backward_tile<T, MODE>
      <<<dim3((unsigned)(slopes + gradients), l->count), T::THREADS, shared_bytes<T>(),
         l->stream>>>(l->jobs, layer_of(s, HVI_GPU_NUMBERS, k), kind);
}

template <product_mode MODE>
static void forward_in(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  for (int k = 1; k < (int)s->layer_count; k++) {
    const size_t out = s->width[k];
    const size_t tiles =
        hvi_gpu_tiles(l->most_rows, large_tile::BM) * hvi_gpu_tiles(out, large_tile::BN);
    if (many(l, tiles, out))
      forward_as<large_tile, MODE>(l, s, k, kind);
    else
      forward_as<small_tile, MODE>(l, s, k, kind);
  }
}

template <product_mode MODE>
static void backward_in(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  for (int k = (int)s->layer_count - 1; k > 0; k--) {
    const size_t in = s->width[k - 1], across = hvi_gpu_tiles(in, large_tile::BN);
    const size_t tiles = across * (hvi_gpu_tiles(l->most_rows, large_tile::BM) +
                                   l->most_parts * hvi_gpu_tiles(s->width[k], large_tile::BM));
    if (many(l, tiles, in))
      backward_as<large_tile, MODE>(l, s, k, kind);
    else
      backward_as<small_tile, MODE>(l, s, k, kind);
  }
}

/* Losses, outputs and products of the user's are of single precision whatever the steps are in. */
void hvi_gpu_forward(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  if (l->precision == HVI_DEVICE_FP32)
    forward_in<SINGLE>(l, s, kind);
  else if (l->precision == HVI_DEVICE_FP16 && kind == FOR_STEP)
    forward_in<ONCE>(l, s, kind);
  else
    forward_in<TRIPLE>(l, s, kind);
}

void hvi_gpu_backward(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  if (l->precision == HVI_DEVICE_FP32)
    backward_in<SINGLE>(l, s, kind);
  else if (l->precision == HVI_DEVICE_FP16)
    backward_in<ONCE>(l, s, kind);
  else
    backward_in<TRIPLE>(l, s, kind);
}

void hvi_gpu_tangents(const launch *l, const hvi_device_shape *s) {
  using T = small_tile;
  for (int k = 1; k < (int)s->layer_count; k++) {
    const size_t tiles = hvi_gpu_tiles(l->most_rows, T::BM) * hvi_gpu_tiles(s->width[k], T::BN);
    tangent_tile<T, TRIPLE>
        <<<dim3((unsigned)tiles, l->count), T::THREADS, shared_bytes<T>(), l->stream>>>(
            l->jobs, layer_of(s, HVI_GPU_NUMBERS, k));
  }
}

template <class KERNEL> static cudaError_t allow(KERNEL kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <class T, product_mode MODE> static cudaError_t allow_tiles() {
  const cudaError_t e = allow(forward_tile<T, MODE>, shared_bytes<T>());
  return e ? e : allow(backward_tile<T, MODE>, shared_bytes<T>());
}

cudaError_t hvi_gpu_allow_memory(void) {
  cudaError_t e = allow_tiles<large_tile, TRIPLE>();
  if (!e) e = allow_tiles<large_tile, SINGLE>();
  if (!e) e = allow_tiles<large_tile, ONCE>();
  if (!e) e = allow_tiles<small_tile, TRIPLE>();
  if (!e) e = allow_tiles<small_tile, SINGLE>();
  if (!e) e = allow_tiles<small_tile, ONCE>();
  return e ? e : allow(tangent_tile<small_tile, TRIPLE>, shared_bytes<small_tile>());
}
