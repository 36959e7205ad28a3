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
 * A tile of values or slopes has one more stage, in which it is made halves before it leaves in bulk. Biases
 * and the head's weights come with it, or the values that slopes depend on.
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
  static constexpr int STAGES = 3, ONES = 256, VECTORS = 8 * N; /* bytes of a bias and a head */
  static constexpr int BYTES = STAGES * (STAGE + VECTORS + 16) + ONES + 1024;
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

/* A tile of a product: where it is in C, its operands, slabs of k; whether low halves count. What the last
 * stage brings: of a bias and the head's weights so many bytes, or the tile's place in other values. */
struct task {
  pieces a, b;
  int m, n, slabs;
  bool low, values_low;
  const float *bias, *head;
  unsigned vector_bytes;
  halves values;
};

/* The ring; `at` counts slabs, on both sides alike. */
template <class T> struct ring {
  char *stages;
  float *vectors;
  unsigned full, empty, ones; /* barriers in shared memory */
  unsigned at;
  int leaving; /* the stage of a tile on its way out, or -1 */

  __device__ explicit ring(char *shared) : at(0), leaving(-1) {
    stages = shared + (1024 - shared_at(shared) % 1024) % 1024;
    vectors = (float *)(stages + T::STAGES * T::STAGE);
    char *rest = (char *)vectors + T::STAGES * T::VECTORS;
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
  /* The stage that a finished tile leaves through, with a bias and the head's weights. */
  __device__ void bring_vectors(const task &w) {
    const unsigned barrier = full + 8 * stage(), to = shared_at(vectors) + stage() * T::VECTORS;
    barrier_wait(empty + 8 * stage(), turn() ^ 1);
    barrier_expect(barrier, w.head ? 2 * w.vector_bytes : w.vector_bytes);
    copy_in(to, (const char *)w.bias, w.vector_bytes, barrier);
    if (w.head) copy_in(to + T::VECTORS / 2, (const char *)w.head, w.vector_bytes, barrier);
    at++;
  }
  /* Likewise, with the numbers of other values that are at its place. */
  __device__ void bring_values(const task &w) {
    const unsigned to = shared_at(stages + stage() * T::STAGE), barrier = full + 8 * stage();
    const int groups = min(T::GROUPS, (w.values.rows - w.m) / 64);
    const int blocks = min(T::BN / BLOCK, w.values.blocks - w.n / BLOCK);
    constexpr unsigned EACH = BLOCK * ROW_BYTES;
    barrier_wait(empty + 8 * stage(), turn() ^ 1);
    barrier_expect(barrier, groups * blocks * EACH * (w.values_low ? 2 : 1));
    for (int i = 0; i < groups * blocks; i++) {
      const int g = i / blocks, b = i % blocks;
      const char *from =
          w.values.high + ((size_t)(w.n / BLOCK + b) * w.values.rows + w.m + 64 * g) * ROW_BYTES;
      copy_in(to + g * 2 * T::OF_B + b * EACH, from, EACH, barrier);
      if (w.values_low)
        copy_in(to + (2 * g + 1) * T::OF_B + b * EACH, from + w.values.low, EACH, barrier);
    }
    at++;
  }
  /* It is there. */
  __device__ int take() {
    const int which = stage();
    barrier_wait(full + 8 * which, turn());
    at++;
    return which;
  }
  __device__ static void copy_pieces(unsigned to, const pieces &p, int s, unsigned barrier,
                                     size_t plane = 0) {
    for (int i = 0; i < p.count; i++)
      copy_in(to + i * BLOCK * ROW_BYTES, p.at + s * p.slab + i * p.next + plane, p.bytes, barrier);
  }
  /* The tile before has left its stage. */
  __device__ void let_go() {
    if (leaving < 0) return;
    if (threadIdx.x % 128 == 0) wait_copies_read();
    __syncwarp();
    release(leaving);
    leaving = -1;
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

/* C of a task. */
template <class T, bool A_ROWS, bool B_ROWS, bool LOW, bool BIAS>
__device__ inline void multiply_slabs(sums<T> &all, ring<T> &r, int slabs) {
  float group[T::NUMBERS], bias[4];
#pragma unroll
  for (int i = 0; i < T::NUMBERS; i++) all.c[i] = 0.0f;
#pragma unroll
  for (int i = 0; i < 4; i++) all.bias[i] = bias[i] = 0.0f;
  for (int s = 0; s < slabs; s++) {
    const int stage = r.take();
    multiply_slab<T, A_ROWS, B_ROWS, LOW, BIAS>(group, bias, shared_at(r.stages + stage * T::STAGE),
                                                r.ones);
    r.release(stage);
    r.let_go();
#pragma unroll
    for (int i = 0; i < T::NUMBERS; i++) all.c[i] += group[i];
#pragma unroll
    for (int i = 0; BIAS && i < 4; i++) all.bias[i] += bias[i];
  }
}

template <class T, bool A_ROWS, bool B_ROWS, bool BIAS>
__device__ inline void multiply_task(sums<T> &all, ring<T> &r, const task &w) {
  if (w.low)
    multiply_slabs<T, A_ROWS, B_ROWS, true, BIAS>(all, r, w.slabs);
  else
    multiply_slabs<T, A_ROWS, B_ROWS, false, BIAS>(all, r, w.slabs);
}

/* This thread's place in its group's 64 rows. */
struct place {
  int group, row, column;
};
__device__ inline place place_of() {
  const int lane = threadIdx.x % 32;
  return {(int)threadIdx.x / 128, (int)threadIdx.x % 128 / 32 * 16 + lane / 4, lane % 4 * 2};
}

/* The finished tile into `to` as halves, through its stage. make(j, numbers, column, place in the stage) makes
 * scaled values of two sums; those of the first eight rows' turn come first, then the others take their
 * place, so that the code, which is long, is there once. The largest is returned. */
template <class T, class MAKE>
__device__ inline float put_tile(sums<T> &all, ring<T> &r, int stage, const halves &to,
                                 const task &w, MAKE &&make) {
  constexpr int PLANE = T::OF_B;
  const place p = place_of();
  char *mine = r.stages + stage * T::STAGE + p.group * 2 * PLANE;
  float top = 0.0f;
#pragma unroll 1
  for (int half = 0; half < 2; half++) {
    const int row = p.row + 8 * half;
    char *line = mine + row * ROW_BYTES + p.column * 2;
    make.begin(half, w.m + p.group * 64 + row);
#pragma unroll
    for (int j = 0; j < T::BN / 8; j++) {
      char *at = line + j / 8 * (BLOCK * ROW_BYTES) + ((j % 8) ^ (row % 8)) * PIECE;
      const float2 x = make(j, make_float2(all.c[4 * j], all.c[4 * j + 1]), 8 * j + p.column, at);
      unsigned high, rest;
      split_two(x, high, rest);
      *(unsigned *)at = high;
      if (w.low) *(unsigned *)(at + PLANE) = rest;
      top = fmaxf(top, fmaxf(fabsf(x.x), fabsf(x.y)));
      all.c[4 * j] = all.c[4 * j + 2], all.c[4 * j + 1] = all.c[4 * j + 3];
    }
    make.end(half);
  }
  fence_copies();
  meet(1 + p.group, 128);
  if (threadIdx.x % 128 == 0) {
    const int row = w.m + p.group * 64, block = w.n / BLOCK;
    for (int b = 0; row < to.rows && b < T::BN / BLOCK && block + b < to.blocks; b++) {
      char *out = to.high + ((size_t)(block + b) * to.rows + row) * ROW_BYTES;
      const unsigned from = shared_at(mine) + b * BLOCK * ROW_BYTES;
      copy_out(out, from, BLOCK * ROW_BYTES);
      if (w.low) copy_out(out + to.low, from + PLANE, BLOCK * ROW_BYTES);
    }
    end_copies_out();
  }
  r.leaving = stage;
  return top;
}

/* Of a tile: what takes its sums back to their size, and the scale that its halves get. */
struct scales {
  float back, to, of_values;
};

/* H_l from sums of H_{l-1} W_l', and the head's sums over blocks of its columns where it is the last hidden
 * layer. FAST: ReLU, and all columns are there. Rows beyond the last become zero. */
template <class T, bool FAST> struct make_values {
  const gpu_job &j;
  const layer &y;
  const scales &s;
  const float *bias, *head;
  int columns, block; /* of the tile that are there, and its first */
  int row;
  float to;
  float out[T::BN / BLOCK];

  __device__ void begin(int, int r) {
    row = r, to = r < j.rows ? s.to : 0.0f;
#pragma unroll
    for (int b = 0; b < T::BN / BLOCK; b++) out[b] = 0.0f;
  }
  __device__ float2 operator()(int i, float2 sum, int column, char *) {
    const float2 b = *(const float2 *)(bias + column), w = *(const float2 *)(head + column);
    float2 x = make_float2(fmaf(sum.x, s.back, b.x), fmaf(sum.y, s.back, b.y));
    if (FAST) {
      x = make_float2(fmaxf(x.x, 0.0f), fmaxf(x.y, 0.0f));
    } else {
      x.x = column < columns ? activate<false>(y.activation, x.x) : 0.0f;
      x.y = column + 1 < columns ? activate<false>(y.activation, x.y) : 0.0f;
    }
    if (y.last && (FAST || column < columns))
      out[i / 8] = fmaf(x.x, w.x, fmaf(x.y, FAST || column + 1 < columns ? w.y : 0.0f, out[i / 8]));
    return make_float2(x.x * to, x.y * to);
  }
  __device__ void end(int) {
    if (!y.last) return;
#pragma unroll
    for (int b = 0; b < T::BN / BLOCK; b++) {
      float sum = out[b];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (threadIdx.x % 4 == 0 && row < j.lead_rows && BLOCK * b < columns)
        outputs_of(j, block + b)[row] = sum;
    }
  }
};

template <class T>
__device__ inline void put_values(sums<T> &all, ring<T> &r, const gpu_job &j, const layer &y,
                                  const task &w, const scales &s) {
  const int stage = r.take(), columns = y.out - w.n;
  const float *bias = r.vectors + stage * (T::VECTORS / 4), *head = bias + T::BN;
  const halves to = values_halves(j, y);
  const bool fast = y.activation == HVI_RELU && columns >= T::BN;
  const float top =
      fast ? put_tile(all, r, stage, to, w,
                      make_values<T, true>{j, y, s, bias, head, columns, w.n / BLOCK})
           : put_tile(all, r, stage, to, w,
                      make_values<T, false>{j, y, s, bias, head, columns, w.n / BLOCK});
  raise_top(&j.tops->h[y.l], top / s.to);
}

/* D_{l-1} from sums of D_l W_l, in the place of H_{l-1}. FAST: ReLU, whose slope is 1 where a half is not 0. */
template <class T, bool FAST> struct make_slopes {
  const gpu_job &j;
  const layer &y;
  const scales &s;
  int columns;
  bool values_low;
  float to;

  __device__ void begin(int, int row) { to = row < j.rows ? s.back * s.to : 0.0f; }
  __device__ float2 operator()(int, float2 sum, int column, const char *at) {
    const unsigned high = *(const unsigned *)at;
    if (FAST)
      return make_float2(high & 0xffffu ? sum.x * to : 0.0f, high >> 16 ? sum.y * to : 0.0f);
    const float2 v = join_two(high, values_low ? *(const unsigned *)(at + T::OF_B) : 0u);
    float2 x = make_float2(0.0f, 0.0f);
    if (column < columns && to > 0.0f)
      x.x = sum.x * to * slope_at<false>(y.activation, v.x * s.of_values);
    if (column + 1 < columns && to > 0.0f)
      x.y = sum.y * to * slope_at<false>(y.activation, v.y * s.of_values);
    return x;
  }
  __device__ void end(int) {}
};

template <class T>
__device__ inline void put_slopes(sums<T> &all, ring<T> &r, const gpu_job &j, const layer &y,
                                  const task &w, const scales &s) {
  const int stage = r.take(), columns = y.in - w.n;
  const halves to = slopes_below_halves(j, y);
  const bool fast = y.activation == HVI_RELU && columns >= T::BN;
  const float top =
      fast ? put_tile(all, r, stage, to, w, make_slopes<T, true>{j, y, s, columns, w.values_low})
           : put_tile(all, r, stage, to, w, make_slopes<T, false>{j, y, s, columns, w.values_low});
  raise_top(&j.tops->d[y.l - 1], top / s.to);
}

/* dW_l over a part of the rows from a tile of D_l' H_{l-1}, and with its first columns db_l. */
template <class T>
__device__ inline void put_gradients(const sums<T> &all, const gpu_job &j, const layer &y,
                                     const task &w, int part, const scales &s) {
  const place p = place_of();
  float *to = sums_of(j, y, part);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int row = w.m + p.group * 64 + p.row + 8 * half;
    if (row < y.lead_out && w.n == 0 && p.column == 0) to[y.bias + row] = all.bias[2 * half] * s.to;
#pragma unroll
    for (int i = 0; i < T::BN / 8; i++) {
      const int column = w.n + 8 * i + p.column;
      if (row < y.out && column < y.lead_in)
        *(float2 *)(to + y.weight + (size_t)row * y.lead_in + column) =
            make_float2(all.c[4 * i + 2 * half] * s.back, all.c[4 * i + 2 * half + 1] * s.back);
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
    w.bias = j.theta + y.bias + w.n, w.head = y.last ? j.theta + y.above + w.n : NULL;
    w.vector_bytes = 4 * min(T::BN, y.lead_out - w.n);
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
      if (threadIdx.x % 32 == 0) r.bring(w), r.bring_vectors(w);
      continue;
    }
    const layer &y = work.y;
    const scales s = {1.0f / input_scale(*j, y) / weight_scale(j->tops->made),
                      value_scale(*j, y.activation, y.l, y.in), 0.0f};
    sums<T> all;
    multiply_task<T, true, true, false>(all, r, w);
    put_values(all, r, *j, y, w, s);
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
      w.values = inputs_halves(j, y);
      w.values_low = y.activation != HVI_RELU && values_have_low(precision, j, kind);
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
      if (threadIdx.x % 32 == 0 && part < 0) r.bring_values(w);
      continue;
    }
    const layer &y = work.y;
    const float of_d = 1.0f / slope_scale(*j, y.l, y.last, y.after);
    const float of_values = 1.0f / input_scale(*j, y);
    sums<T> all;
    if (part >= 0) {
      if (w.n == 0)
        multiply_task<T, false, false, true>(all, r, w);
      else
        multiply_task<T, false, false, false>(all, r, w);
      put_gradients(all, *j, y, w, part, {of_d * of_values, of_d, 0.0f});
      continue;
    }
    const scales s = {of_d / weight_scale(j->tops->kept), slope_scale(*j, y.l - 1, false, y.out),
                      of_values};
    multiply_task<T, true, false, false>(all, r, w);
    put_slopes(all, r, *j, y, w, s);
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
