/*
 * The hidden layers of many networks at once on Hopper, forward and backward: the products of layers.cu with
 * operands that are halves already (halves.cuh).
 *
 *   values     H W'   A = H by rows,      B = W by rows      k: inputs
 *   slopes     D W    A = D by rows,      B = W by columns   k: outputs
 *   gradients  D'H    A = D by columns,   B = H by columns   k: examples, of one part
 *
 * A block of threads stays on its processor and takes one tile of C after the other. One warp has the copy
 * engine bring slabs of 64 k, high halves and low ones, into a ring of stages in shared memory. Groups of
 * four warps multiply them, each 64 rows of the tile, and the ring runs ahead into the next tile meanwhile.
 * The stage of a tile's last slab is kept until the finished tile, made halves there, has left it in bulk.
 *
 * The tensor cores cut their sums off instead of rounding them, so the sums of each slab start from zero,
 * small products first, and are added here. A number's sum runs over k in the same order in every tile.
 * Sums of D over k, for biases, are products with a matrix of ones.
 *
 * With lane = 4 g + t, a thread of warp w has rows 16 w + g and 8 more, and columns 8 j + 2 t and one more,
 * of its group's 64 rows.
 */
#include "gpu/hopper.cuh"

template <int M, int N, int BLOCKS> struct wide_tile {
  static constexpr int BM = M, BN = N, GROUPS = M / 64, NUMBERS = N / 2; /* of C in a thread */
  static constexpr int THREADS = 128 * GROUPS + 32, RESIDENT = BLOCKS;
  static constexpr int OF_A = M * ROW_BYTES, OF_B = N * ROW_BYTES, STAGE = 2 * (OF_A + OF_B);
  static constexpr int STAGES = 3, ONES = 256, BYTES = STAGES * STAGE + ONES + 16 * STAGES + 1024;
};
using many_tile = wide_tile<128, 128, 1>;
using few_tile = wide_tile<64, 64, 2>;

/* What is copied of one operand for a tile: for each slab so many pieces, `next` bytes apart, to places a
 * block of 64 columns apart. */
struct pieces {
  const char *at;
  size_t low, slab, next;
  unsigned bytes;
  int count;
};
__device__ inline pieces by_rows(const halves &x, int row, int most) {
  const size_t block = (size_t)x.rows * ROW_BYTES;
  return {x.high + (size_t)row * ROW_BYTES,
          x.low,
          block,
          0,
          (unsigned)min(most, x.rows - row) * ROW_BYTES,
          1};
}
__device__ inline pieces by_columns(const halves &x, int column, int most, int row) {
  const size_t block = (size_t)x.rows * ROW_BYTES;
  return {x.high + column / BLOCK * block + (size_t)row * ROW_BYTES,
          x.low,
          BLOCK * ROW_BYTES,
          block,
          BLOCK * ROW_BYTES,
          min(most / BLOCK, x.blocks - column / BLOCK)};
}

/* A tile of a product: where it is in C, its operands, slabs of k; whether low halves count. */
struct task {
  pieces a, b;
  int m, n, slabs;
  bool low;
};

/* The ring; `at` counts slabs, on both sides alike. */
template <class T> struct ring {
  char *stages;
  unsigned full, empty, ones; /* barriers in shared memory */
  unsigned at;

  __device__ explicit ring(char *shared) : at(0) {
    stages = shared + (1024 - shared_at(shared) % 1024) % 1024;
    char *rest = stages + T::STAGES * T::STAGE;
    ones = shared_at(rest);
    full = ones + T::ONES;
    empty = full + 8 * T::STAGES;
    if (threadIdx.x < T::ONES / 4) ((unsigned *)rest)[threadIdx.x] = 0x3c003c00u;
    if (threadIdx.x == 0) {
      for (int i = 0; i < T::STAGES; i++) {
        barrier_init(full + 8 * i, 1);
        barrier_init(empty + 8 * i, 4 * T::GROUPS);
      }
      fence_barriers();
    }
    fence_copies();
    __syncthreads();
  }
  __device__ int stage() const { return at % T::STAGES; }
  __device__ unsigned turn() const { return at / T::STAGES % 2; }

  /* Brings the slabs of a task, by one thread. */
  __device__ void bring(const task &w) {
    const unsigned each = w.a.count * w.a.bytes + w.b.count * w.b.bytes;
    for (int s = 0; s < w.slabs; s++, at++) {
      const unsigned to = shared_at(stages + stage() * T::STAGE), barrier = full + 8 * stage();
      barrier_wait(empty + 8 * stage(), turn() ^ 1);
      barrier_expect(barrier, w.low ? 2 * each : each);
      copy_pieces(to, w.a, s, barrier);
      copy_pieces(to + 2 * T::OF_A, w.b, s, barrier);
      if (!w.low) continue;
      copy_pieces(to + T::OF_A, w.a, s, barrier, w.a.low);
      copy_pieces(to + 2 * T::OF_A + T::OF_B, w.b, s, barrier, w.b.low);
    }
  }
  __device__ static void copy_pieces(unsigned to, const pieces &p, int s, unsigned barrier,
                                     size_t plane = 0) {
    for (int i = 0; i < p.count; i++)
      copy_in(to + i * BLOCK * ROW_BYTES, p.at + s * p.slab + i * p.next + plane, p.bytes, barrier);
  }
  /* This warp is done with a stage. */
  __device__ void release(int which) const {
    if (threadIdx.x % 32 == 0) barrier_arrive(empty + 8 * which);
  }
};

/* A thread's numbers of C; rows' sums of A for biases. */
template <class T> struct sums { float c[T::NUMBERS], bias[4]; };

/* One slab into `group`, and with BIAS the sums of A. */
template <class T, bool A_ROWS, bool B_ROWS, bool LOW, bool BIAS>
__device__ inline void multiply_slab(float (&group)[T::NUMBERS], float (&bias)[4], unsigned stage,
                                     unsigned ones) {
  const int own = threadIdx.x / 128; /* of the groups */
  const unsigned long long a = operand_at<A_ROWS>(stage + own * BLOCK * ROW_BYTES);
  const unsigned long long b = operand_at<B_ROWS>(stage + 2 * T::OF_A);
  constexpr unsigned long long LOW_A = T::OF_A >> 4, LOW_B = T::OF_B >> 4;
  constexpr unsigned long long ON_A = OPERAND_STEP<A_ROWS>, ON_B = OPERAND_STEP<B_ROWS>;
  const unsigned long long one = (8ull << 32) | (8ull << 16) | ((ones & 0x3ffff) >> 4);
  products_begin();
#pragma unroll
  for (int k = 0; LOW && k < 4; k++) {
    multiply_async<A_ROWS, B_ROWS>(group, a + k * ON_A + LOW_A, b + k * ON_B, k > 0);
    multiply_async<A_ROWS, B_ROWS>(group, a + k * ON_A, b + k * ON_B + LOW_B, 1);
    if (BIAS) multiply_async<A_ROWS, true>(bias, a + k * ON_A + LOW_A, one, k > 0);
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    multiply_async<A_ROWS, B_ROWS>(group, a + k * ON_A, b + k * ON_B, LOW || k > 0);
    if (BIAS) multiply_async<A_ROWS, true>(bias, a + k * ON_A, one, LOW || k > 0);
  }
  products_end();
  settle(group);
  if (BIAS) settle(bias);
}

/* C of a task. The last slab's stage is kept where HOLD; it is returned. */
template <class T, bool A_ROWS, bool B_ROWS, bool LOW, bool BIAS, bool HOLD>
__device__ inline int multiply_slabs(sums<T> &all, ring<T> &r, int slabs) {
  float group[T::NUMBERS], bias[4];
#pragma unroll
  for (int i = 0; i < T::NUMBERS; i++) all.c[i] = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; i++) all.bias[i] = bias[i] = 0.0f;
  int stage = 0;
  for (int s = 0; s < slabs; s++, r.at++) {
    stage = r.stage();
    barrier_wait(r.full + 8 * stage, r.turn());
    multiply_slab<T, A_ROWS, B_ROWS, LOW, BIAS>(group, bias, shared_at(r.stages + stage * T::STAGE),
                                                r.ones);
    if (!HOLD || s + 1 < slabs) r.release(stage);
#pragma unroll
    for (int i = 0; i < T::NUMBERS; i++) all.c[i] += group[i];
#pragma unroll
    for (int i = 0; BIAS && i < 4; i++) all.bias[i] += bias[i];
  }
  return stage;
}

template <class T, bool A_ROWS, bool B_ROWS, bool BIAS, bool HOLD>
__device__ inline int multiply_task(sums<T> &all, ring<T> &r, const task &w) {
  return w.low ? multiply_slabs<T, A_ROWS, B_ROWS, true, BIAS, HOLD>(all, r, w.slabs)
               : multiply_slabs<T, A_ROWS, B_ROWS, false, BIAS, HOLD>(all, r, w.slabs);
}

/* This thread's place in its group's 64 rows. */
struct place {
  int group, row, column;
};
__device__ inline place place_of() {
  const int lane = threadIdx.x % 32;
  return {(int)threadIdx.x / 128, (int)threadIdx.x % 128 / 32 * 16 + lane / 4, lane % 4 * 2};
}

/* The finished tile into `to` as halves, through the stage that was held: numbers are those of
 * value(half, j, row, column), all of a thread's in order, times `scale`. The largest is returned. */
template <class T, class VALUE>
__device__ inline float put_tile(const ring<T> &r, int stage, const halves &to, const task &w,
                                 float scale, bool low, VALUE &&value) {
  constexpr int PLANE = T::BN * ROW_BYTES;
  const place p = place_of();
  char *mine = r.stages + stage * T::STAGE + p.group * 2 * PLANE;
  float top = 0.0f;
  meet(1, 128 * T::GROUPS); /* nobody reads the stage any more */
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int j = 0; j < T::BN / 8; j++) {
      const int row = p.row + 8 * half;
      const float2 x = value(half, j, w.m + p.group * 64 + row, w.n + 8 * j + p.column);
      unsigned high, rest;
      split_two(make_float2(x.x * scale, x.y * scale), high, rest);
      char *at = mine + j / 8 * (BLOCK * ROW_BYTES) + row * ROW_BYTES +
                 ((j % 8) ^ (row % 8)) * PIECE + p.column * 2;
      *(unsigned *)at = high;
      if (low) *(unsigned *)(at + PLANE) = rest;
      top = fmaxf(top, fmaxf(fabsf(x.x), fabsf(x.y)));
    }
  fence_copies();
  meet(2 + p.group, 128);
  if (threadIdx.x % 128 == 0) {
    const int row = w.m + p.group * 64, block = w.n / BLOCK;
    for (int b = 0; row < to.rows && b < T::BN / BLOCK && block + b < to.blocks; b++) {
      char *out = to.high + ((size_t)(block + b) * to.rows + row) * ROW_BYTES;
      const unsigned from = shared_at(mine) + b * BLOCK * ROW_BYTES;
      copy_out(out, from, BLOCK * ROW_BYTES);
      if (low) copy_out(out + to.low, from + PLANE, BLOCK * ROW_BYTES);
    }
    end_copies_out();
    wait_copies_read();
  }
  __syncwarp();
  r.release(stage);
  return top;
}

/* H_l from a tile of H_{l-1} W_l', and where it is the last hidden layer the head's sums over its blocks. */
template <bool RELU, class T>
__device__ inline void put_values(const sums<T> &all, const ring<T> &r, int stage, const gpu_job &j,
                                  const layer &y, const task &w) {
  const float back = 1.0f / input_scale(j, y) / weight_scale(j.tops->made);
  const float *bias = j.theta + y.bias, *head = j.theta + y.above;
  float out[2][T::BN / BLOCK] = {};
  const float top =
      put_tile(r, stage, values_halves(j, y), w, value_scale(j, y.activation, y.l, y.in), w.low,
               [&](int half, int i, int row, int column) {
                 const float first = all.c[4 * i + 2 * half] * back,
                             next = all.c[4 * i + 2 * half + 1] * back;
                 float2 x = make_float2(0.0f, 0.0f);
                 if (row < j.rows && column < y.out)
                   x.x = activate<RELU>(y.activation, first + bias[column]);
                 if (row < j.rows && column + 1 < y.out)
                   x.y = activate<RELU>(y.activation, next + bias[column + 1]);
                 if (y.last && column < y.lead_out) {
                   const float2 weight = *(const float2 *)(head + column);
                   out[half][i / 8] = fmaf(x.x, weight.x, fmaf(x.y, weight.y, out[half][i / 8]));
                 }
                 return x;
               });
  raise_top(&j.tops->h[y.l], top);
  if (!y.last) return;
  const place p = place_of();
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int b = 0; b < T::BN / BLOCK; b++) {
      float sum = out[half][b];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      const int row = w.m + p.group * 64 + p.row + 8 * half, block = w.n / BLOCK + b;
      if (p.column == 0 && row < j.lead_rows && block < padded_block(y.out) / BLOCK)
        outputs_of(j, block)[row] = sum;
    }
}

/* D_{l-1} from a tile of D_l W_l. */
template <bool RELU, class T>
__device__ inline void put_slopes(const sums<T> &all, const ring<T> &r, int stage, const gpu_job &j,
                                  const layer &y, const task &w, bool values_low) {
  const float back = 1.0f / slope_scale(j, y.l, y.last, y.after) / weight_scale(j.tops->kept);
  const halves h = inputs_halves(j, y);
  const float h_back = 1.0f / input_scale(j, y);
  const float top =
      put_tile(r, stage, slopes_below_halves(j, y), w, slope_scale(j, y.l - 1, false, y.out), w.low,
               [&](int half, int i, int row, int column) {
                 if (row >= j.rows || column >= y.in) return make_float2(0.0f, 0.0f);
                 const char *at = h.high + half_at(h, row, column);
                 const unsigned low = RELU || !values_low ? 0u : *(const unsigned *)(at + h.low);
                 const float2 v = join_two(*(const unsigned *)at, low);
                 const float first = all.c[4 * i + 2 * half] * back,
                             next = all.c[4 * i + 2 * half + 1] * back;
                 return make_float2(
                     first * slope_at<RELU>(y.activation, v.x * h_back),
                     column + 1 < y.in ? next * slope_at<RELU>(y.activation, v.y * h_back) : 0.0f);
               });
  raise_top(&j.tops->d[y.l - 1], top);
}

/* dW_l over a part of the rows from a tile of D_l' H_{l-1}, and with its first columns db_l. */
template <class T>
__device__ inline void put_gradients(const sums<T> &all, const gpu_job &j, const layer &y,
                                     const task &w, int part) {
  const float of_d = 1.0f / slope_scale(j, y.l, y.last, y.after), back = of_d / input_scale(j, y);
  const place p = place_of();
  float *to = sums_of(j, y, part);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int row = w.m + p.group * 64 + p.row + 8 * half;
    if (row < y.lead_out && w.n == 0 && p.column == 0) to[y.bias + row] = all.bias[2 * half] * of_d;
#pragma unroll
    for (int i = 0; i < T::BN / 8; i++) {
      const int column = w.n + 8 * i + p.column;
      if (row < y.out && column < y.lead_in)
        *(float2 *)(to + y.weight + (size_t)row * y.lead_in + column) =
            make_float2(all.c[4 * i + 2 * half] * back, all.c[4 * i + 2 * half + 1] * back);
    }
  }
}

__device__ inline int tiles_of(int n, int tile) { return (n + tile - 1) / tile; }

/* The tiles of a launch: those of a network one after the other. */
template <class T> struct forward_work {
  const gpu_job *jobs;
  layer y;
  pass_kind kind;
  hvi_device_precision precision;
  int each, all;

  /* False: there is nothing to do. */
  __device__ bool find(int tile, const gpu_job *&job, task &w) const {
    const gpu_job &j = *(job = jobs + tile / each);
    const int across = tiles_of(y.out, T::BN);
    w.m = tile % each / across * T::BM, w.n = tile % each % across * T::BN;
    if (w.m >= j.rows || !concerns(j, kind)) return false;
    const halves x = inputs_halves(j, y), weight = weight_halves(j, y);
    w.a = by_rows(x, w.m, T::BM), w.b = by_rows(weight, w.n, T::BN);
    w.slabs = x.blocks;
    w.low = values_have_low(precision, j, kind);
    return true;
  }
};

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::RESIDENT) forward_on(const forward_work<T> work) {
  extern __shared__ char shared[];
  ring<T> r(shared);
  const gpu_job *j;
  task w;
  const bool brings = threadIdx.x / 128 == T::GROUPS;
  for (int tile = blockIdx.x; tile < work.all; tile += gridDim.x) {
    if (!work.find(tile, j, w)) continue;
    if (brings) {
      if (threadIdx.x % 32 == 0) r.bring(w);
      continue;
    }
    sums<T> all;
    const int stage = multiply_task<T, true, true, false, true>(all, r, w);
    if (work.y.activation == HVI_RELU)
      put_values<true>(all, r, stage, *j, work.y, w);
    else
      put_values<false>(all, r, stage, *j, work.y, w);
  }
  wait_copies_out();
}

/* Tiles of D_{l-1}, if l > 1, then those of dW_l for each part. */
template <class T> struct backward_work {
  const gpu_job *jobs;
  layer y;
  pass_kind kind;
  hvi_device_precision precision;
  int each, all;

  /* The part of a gradient, -1 for slopes, -2: there is nothing to do. */
  __device__ int find(int tile, const gpu_job *&job, task &w) const {
    const gpu_job &j = *(job = jobs + tile / each);
    if (!concerns(j, kind)) return -2;
    const int across = tiles_of(y.in, T::BN), down = y.l > 1 ? tiles_of(j.rows, T::BM) : 0;
    const halves d = slopes_halves(j, y);
    int at = tile % each, part = -1;
    w.low = precision != HVI_DEVICE_FP16;
    if (at < down * across) {
      w.m = at / across * T::BM, w.n = at % across * T::BN;
      w.a = by_rows(d, w.m, T::BM), w.b = by_columns(weight_halves(j, y), w.n, T::BN, 0);
      w.slabs = d.blocks;
      return part;
    }
    at -= down * across;
    const int of_part = tiles_of(y.out, T::BM) * across;
    part = at / of_part, at %= of_part;
    if (part >= j.parts) return -2;
    const int first = part * j.part_rows, rows = min(j.part_rows, j.lead_rows - first);
    w.m = at / across * T::BM, w.n = at % across * T::BN;
    w.a = by_columns(d, w.m, T::BM, first);
    w.b = by_columns(inputs_halves(j, y), w.n, T::BN, first);
    w.slabs = rows / BLOCK;
    return part;
  }
};

template <class T>
__global__ void __launch_bounds__(T::THREADS, T::RESIDENT)
    backward_on(const backward_work<T> work) {
  extern __shared__ char shared[];
  ring<T> r(shared);
  const gpu_job *j;
  task w;
  const bool brings = threadIdx.x / 128 == T::GROUPS;
  for (int tile = blockIdx.x; tile < work.all; tile += gridDim.x) {
    const int part = work.find(tile, j, w);
    if (part == -2) continue;
    if (brings) {
      if (threadIdx.x % 32 == 0) r.bring(w);
      continue;
    }
    sums<T> all;
    if (part >= 0) {
      if (w.n == 0)
        multiply_task<T, false, false, true, false>(all, r, w);
      else
        multiply_task<T, false, false, false, false>(all, r, w);
      put_gradients(all, *j, work.y, w, part);
      continue;
    }
    const int stage = multiply_task<T, true, false, false, true>(all, r, w);
    const bool low = values_have_low(work.precision, *j, work.kind);
    if (work.y.activation == HVI_RELU)
      put_slopes<true>(all, r, stage, *j, work.y, w, low);
    else
      put_slopes<false>(all, r, stage, *j, work.y, w, low);
  }
  wait_copies_out();
}

/* As many blocks as run at once, or as there are tiles. */
template <class T> static unsigned blocks_for(const launch *l, size_t tiles) {
  const size_t most = (size_t)l->processors * T::RESIDENT;
  return (unsigned)(tiles < most ? tiles : most);
}

template <class T>
static void forward_by(const launch *l, const hvi_device_shape *s, int k, pass_kind kind) {
  const size_t each = hvi_gpu_tiles(l->most_rows, T::BM) * hvi_gpu_tiles(s->width[k], T::BN);
  const forward_work<T> work = {
      l->jobs, layer_of(s, HVI_GPU_HALVES, k), kind, l->precision, (int)each, (int)each * l->count};
  forward_on<T><<<blocks_for<T>(l, work.all), T::THREADS, T::BYTES, l->stream>>>(work);
}

template <class T>
static void backward_by(const launch *l, const hvi_device_shape *s, int k, pass_kind kind) {
  const size_t across = hvi_gpu_tiles(s->width[k - 1], T::BN);
  const size_t slopes = k > 1 ? hvi_gpu_tiles(l->most_rows, T::BM) * across : 0;
  const size_t each = slopes + hvi_gpu_tiles(s->width[k], T::BM) * across * l->most_parts;
  const backward_work<T> work = {
      l->jobs, layer_of(s, HVI_GPU_HALVES, k), kind, l->precision, (int)each, (int)each * l->count};
  backward_on<T><<<blocks_for<T>(l, work.all), T::THREADS, T::BYTES, l->stream>>>(work);
}

/* Large tiles where they keep most processors busy. */
static bool many(const launch *l, size_t rows, size_t columns) {
  using T = many_tile;
  const size_t tiles = hvi_gpu_tiles(rows, T::BM) * hvi_gpu_tiles(columns, T::BN) * l->count;
  return 4 * tiles >= 3 * (size_t)l->processors && columns > BLOCK;
}

void hvi_gpu_forward_halves(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  for (int k = 1; k < (int)s->layer_count; k++)
    if (many(l, l->most_rows, s->width[k]))
      forward_by<many_tile>(l, s, k, kind);
    else
      forward_by<few_tile>(l, s, k, kind);
}

void hvi_gpu_backward_halves(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  for (int k = (int)s->layer_count - 1; k > 0; k--)
    if (many(l, l->most_rows, s->width[k - 1]))
      backward_by<many_tile>(l, s, k, kind);
    else
      backward_by<few_tile>(l, s, k, kind);
}

template <class T> static cudaError_t allow() {
  const auto what = cudaFuncAttributeMaxDynamicSharedMemorySize;
  const cudaError_t e = cudaFuncSetAttribute(forward_on<T>, what, T::BYTES);
  return e ? e : cudaFuncSetAttribute(backward_on<T>, what, T::BYTES);
}

cudaError_t hvi_gpu_allow_memory_halves(void) {
  const cudaError_t e = allow<many_tile>();
  return e ? e : allow<few_tile>();
}
