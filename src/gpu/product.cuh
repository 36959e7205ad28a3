/*
 * A tile of a product on the tensor cores: C[BM][BN] = A B', by a block of threads.
 *
 * A is BM rows of K numbers, B is BN rows of K numbers. Either lies in memory with k contiguous
 * ("rows") or with k strided ("columns"): so the three products of a layer,
 *
 *   values     H W'     A = H by rows,       B = W by rows       k: inputs
 *   slopes     D W      A = D by rows,       B = W by columns    k: outputs
 *   gradients  D'H      A = D by columns,    B = H by columns    k: examples
 *
 * are one function. They go through the product in slabs along k: while a slab is multiplied the next
 * one is on its way from memory to registers, from where it is rounded into the other half of
 * shared memory. What lies beyond the matrices is zero.
 *
 * Precision: half-precision numbers have 11 bits, as those of TF32 have, at twice the speed, but a narrow
 * range. So an operand is multiplied by the power of two that brings its largest number below 2^15; its
 * largest number (`top`) was found by the kernel that wrote it. With x = high + low, high rounded to 11
 * bits and low to another 11,
 *
 *   a b ~ low_a high_b + high_a low_b + high_a high_b
 *
 * leaves an error of about 2^-22, that of single precision. The unit cuts its sums off instead of
 * rounding them, so each GROUP of k are summed there from zero and added here. `ONCE` is the last of
 * the three products alone. `SINGLE` keeps single precision, and multiplies on the plain units.
 *
 * Warps share the tile in a grid of WARPS_M by WARPS_N; each multiplies by mma.m16n8k16. With lane = 4 g
 * + t a thread holds rows g and g + 8 of each 16 and columns 2 t and 2 t + 1 of each 8 of C. A number's
 * sum runs over k in order, whatever the tile is.
 *
 * In shared memory a row of a slab by rows has high halves, low ones and 16 bytes more; a slab by
 * columns has lines of high halves and lines of low ones, each 16 bytes longer than the tile. Eight rows
 * that ldmatrix reads are then in different banks. Numbers of `SINGLE` take the place of both halves.
 */
#pragma once

#include "gpu/gpu.cuh"

#include <cuda_fp16.h>

enum { GROUP = 32 };

/* A matrix operand: `lead` numbers from one row (or column) to the next. */
struct operand {
  const float *at;
  int lead;
  int count;    /* rows of A or B, as counted along the tile */
  int length;   /* along k */
  unsigned top; /* the bits of the largest of its numbers, without signs */
};

/* DEPTH: a slab's length along k. Blocks of a processor are told to the compiler, which divides the
 * registers by them. */
template <int M, int N, int K, int WM, int WN, int BLOCKS> struct tile {
  static constexpr int BM = M, BN = N, DEPTH = K;
  static constexpr int WARPS_M = WM, WARPS_N = WN, THREADS = 32 * WM * WN;
  static constexpr int MT = M / WM / 16, NT = N / WN / 8; /* fragments of a warp */
  static constexpr int RESIDENT = BLOCKS;
};
using large_tile = tile<128, 128, 32, 4, 4, 1>;
using small_tile = tile<32, 64, 64, 2, 2, 3>;

enum product_mode { TRIPLE, SINGLE, ONCE }; /* as hvi_device_precision */

/* A slab of ROWS rows in shared memory, in bytes. */
template <bool BY_ROWS, int ROWS, int DEPTH> struct slab {
  /* from a row, or a k, to the next, and from high halves to low ones */
  static constexpr int LINE = BY_ROWS ? 4 * DEPTH + 16 : 2 * ROWS + 16;
  static constexpr int LOW = BY_ROWS ? 2 * DEPTH : DEPTH * LINE;
  static constexpr int BYTES = BY_ROWS ? ROWS * LINE : 2 * DEPTH * LINE;
  static constexpr int SINGLE_LINE = BY_ROWS ? LINE : 4 * ROWS + 16;
  static_assert(BY_ROWS || DEPTH * SINGLE_LINE <= BYTES, "numbers take the place of both halves");
  /* Where four halves along the line begin. */
  __device__ static int at(int row, int k) {
    return BY_ROWS ? row * LINE + 2 * k : k * LINE + 2 * row;
  }
  __device__ static int single_at(int row, int k) {
    return BY_ROWS ? row * SINGLE_LINE + 4 * k : k * SINGLE_LINE + 4 * row;
  }
};

template <class T, bool A_ROWS, bool B_ROWS>
constexpr int slab_bytes =
    slab<A_ROWS, T::BM, T::DEPTH>::BYTES + slab<B_ROWS, T::BN, T::DEPTH>::BYTES;

/* A thread's share of a slab on its way. */
template <int ROWS_, int DEPTH_, int THREADS_> struct parcel {
  static constexpr int ROWS = ROWS_, DEPTH = DEPTH_, THREADS = THREADS_;
  static constexpr int COUNT = ROWS * DEPTH / 4 / THREADS;
  float4 x[COUNT];
};

/* Rows first .. of an operand, numbers k .. k + DEPTH. */
template <bool BY_ROWS, class P>
__device__ inline void fetch(P &p, const operand &x, int first, int k) {
  constexpr int ACROSS = BY_ROWS ? P::DEPTH / 4 : P::ROWS / 4;
#pragma unroll
  for (int i = 0; i < P::COUNT; i++) {
    const int down = (threadIdx.x + i * P::THREADS) / ACROSS;
    const int across = 4 * ((threadIdx.x + i * P::THREADS) % ACROSS);
    const int row = first + (BY_ROWS ? down : across), at = k + (BY_ROWS ? across : down);
    const size_t from = BY_ROWS ? (size_t)row * x.lead + at : (size_t)at * x.lead + row;
    p.x[i] = row < x.count && at < x.length ? *(const float4 *)(x.at + from)
                                            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
}

/* Four numbers to 11 bits each, and what is left of them to another 11. */
template <bool LOW>
__device__ inline void round_four(float4 x, float scale, uint2 &high, uint2 &low) {
  x.x *= scale, x.y *= scale, x.z *= scale, x.w *= scale;
  const __half2 h = __floats2half2_rn(x.x, x.y), i = __floats2half2_rn(x.z, x.w);
  high = make_uint2(*(const unsigned *)&h, *(const unsigned *)&i);
  if (!LOW) return;
  const float2 f = __half22float2(h), g = __half22float2(i);
  const __half2 l = __floats2half2_rn(x.x - f.x, x.y - f.y);
  const __half2 m = __floats2half2_rn(x.z - g.x, x.w - g.y);
  low = make_uint2(*(const unsigned *)&l, *(const unsigned *)&m);
}

template <bool BY_ROWS, product_mode MODE, class P>
__device__ inline void store(char *to, const P &p, float scale) {
  using S = slab<BY_ROWS, P::ROWS, P::DEPTH>;
  constexpr int ACROSS = BY_ROWS ? P::DEPTH / 4 : P::ROWS / 4;
#pragma unroll
  for (int i = 0; i < P::COUNT; i++) {
    const int down = (threadIdx.x + i * P::THREADS) / ACROSS;
    const int across = 4 * ((threadIdx.x + i * P::THREADS) % ACROSS);
    const int row = BY_ROWS ? down : across, k = BY_ROWS ? across : down;
    if (MODE == SINGLE) {
      *(float4 *)(to + S::single_at(row, k)) = p.x[i];
    } else {
      uint2 high, low;
      round_four<MODE == TRIPLE>(p.x[i], scale, high, low);
      *(uint2 *)(to + S::at(row, k)) = high;
      if (MODE == TRIPLE) *(uint2 *)(to + S::at(row, k) + S::LOW) = low;
    }
  }
}

/* Four 8 by 8 matrices of halves; a lane gives the place of one of their rows. */
template <bool TURN> __device__ inline void load_four(unsigned (&r)[4], const char *from) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(from);
  if (TURN)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

/* Where this lane's row lies of matrices that go first along rows, then along k; or the other way. */
template <class S, bool BY_ROWS> __device__ inline int corner(int row, bool rows_first) {
  const int lane = threadIdx.x % 32, matrix = lane / 8, i = lane % 8;
  const int of_rows = 8 * (rows_first ? matrix % 2 : matrix / 2);
  const int of_k = 8 * (rows_first ? matrix / 2 : matrix % 2);
  return BY_ROWS ? S::at(row + of_rows + i, of_k) : S::at(row + of_rows, of_k + i);
}

__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* C, and the sums of the group under way. */
template <class T> struct accumulator { float c[T::MT][T::NT][4], group[T::MT][T::NT][4]; };

template <class T> __device__ inline void end_group(accumulator<T> &acc) {
#pragma unroll
  for (int m = 0; m < T::MT; m++)
#pragma unroll
    for (int n = 0; n < T::NT; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        acc.c[m][n][i] += acc.group[m][n][i];
        acc.group[m][n][i] = 0.0f;
      }
}

/* Slab s, on the tensor cores. The three products of a fragment follow each other at a distance: each has
 * to wait for the one before. */
template <class T, bool A_ROWS, bool B_ROWS, bool LOW>
__device__ inline void add_slab(accumulator<T> &acc, const char *a, const char *b, int s) {
  using A = slab<A_ROWS, T::BM, T::DEPTH>;
  using B = slab<B_ROWS, T::BN, T::DEPTH>;
  constexpr int A_STEP = A_ROWS ? 16 * A::LINE : 32, B_STEP = B_ROWS ? 16 * B::LINE : 32;
  constexpr int A_ON = A_ROWS ? 32 : 16 * A::LINE, B_ON = B_ROWS ? 32 : 16 * B::LINE;
  const int warp = threadIdx.x / 32;
  a += corner<A, A_ROWS>(warp / T::WARPS_N * (16 * T::MT), true);
  b += corner<B, B_ROWS>(warp % T::WARPS_N * (8 * T::NT), false);
#pragma unroll
  for (int k = 0; k < T::DEPTH / 16; k++, a += A_ON, b += B_ON) {
    unsigned ah[T::MT][4], al[T::MT][4], bh[T::NT / 2][4], bl[T::NT / 2][4];
#pragma unroll
    for (int m = 0; m < T::MT; m++) load_four<!A_ROWS>(ah[m], a + m * A_STEP);
#pragma unroll
    for (int n = 0; n < T::NT / 2; n++) load_four<!B_ROWS>(bh[n], b + n * B_STEP);
#pragma unroll
    for (int m = 0; LOW && m < T::MT; m++) load_four<!A_ROWS>(al[m], a + m * A_STEP + A::LOW);
#pragma unroll
    for (int n = 0; LOW && n < T::NT / 2; n++) load_four<!B_ROWS>(bl[n], b + n * B_STEP + B::LOW);
#pragma unroll
    for (int m = 0; LOW && m < T::MT; m++)
#pragma unroll
      for (int n = 0; n < T::NT; n++) multiply(acc.group[m][n], al[m], bh[n / 2] + n % 2 * 2);
#pragma unroll
    for (int m = 0; LOW && m < T::MT; m++)
#pragma unroll
      for (int n = 0; n < T::NT; n++) multiply(acc.group[m][n], ah[m], bl[n / 2] + n % 2 * 2);
#pragma unroll
    for (int m = 0; m < T::MT; m++)
#pragma unroll
      for (int n = 0; n < T::NT; n++) multiply(acc.group[m][n], ah[m], bh[n / 2] + n % 2 * 2);
    if (((s * T::DEPTH + 16 * k) / 16 + 1) % (GROUP / 16) == 0) end_group(acc);
  }
}

/* One slab on the plain units; a thread has the same numbers of C. */
template <class T, bool A_ROWS, bool B_ROWS>
__device__ inline void add_slab_single(accumulator<T> &acc, const char *a, const char *b) {
  using A = slab<A_ROWS, T::BM, T::DEPTH>;
  using B = slab<B_ROWS, T::BN, T::DEPTH>;
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int m0 = warp / T::WARPS_N * (16 * T::MT) + g, n0 = warp % T::WARPS_N * (8 * T::NT) + 2 * t;
  for (int k = 0; k < T::DEPTH; k++) {
    float x[T::MT][2], y[T::NT][2];
#pragma unroll
    for (int m = 0; m < T::MT; m++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        x[m][i] = *(const float *)(a + A::single_at(m0 + 16 * m + 8 * i, k));
#pragma unroll
    for (int n = 0; n < T::NT; n++)
#pragma unroll
      for (int i = 0; i < 2; i++) y[n][i] = *(const float *)(b + B::single_at(n0 + 8 * n + i, k));
#pragma unroll
    for (int m = 0; m < T::MT; m++)
#pragma unroll
      for (int n = 0; n < T::NT; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) acc.c[m][n][i] = fmaf(x[m][i / 2], y[n][i % 2], acc.c[m][n][i]);
  }
}

/* acc = rows m.. of A times rows n.. of B, over all of k. seen(parcel) is called for each of A's. */
template <class T, bool A_ROWS, bool B_ROWS, product_mode MODE, class SEEN>
__device__ inline void multiply_tile(accumulator<T> &acc, const operand &A, int m, const operand &B,
                                     int n, SEEN &&seen) {
  extern __shared__ __align__(16) char shared[];
  constexpr int EACH = slab_bytes<T, A_ROWS, B_ROWS>, OF_A = slab<A_ROWS, T::BM, T::DEPTH>::BYTES;
  const int length = max(A.length, B.length), slabs = (length + T::DEPTH - 1) / T::DEPTH;
  const float scale_a = scale_of(A.top), scale_b = scale_of(B.top);
  parcel<T::BM, T::DEPTH, T::THREADS> a;
  parcel<T::BN, T::DEPTH, T::THREADS> b;
#pragma unroll
  for (int i = 0; i < T::MT; i++)
#pragma unroll
    for (int j = 0; j < T::NT; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) acc.c[i][j][q] = acc.group[i][j][q] = 0.0f;
  fetch<A_ROWS>(a, A, m, 0);
  fetch<B_ROWS>(b, B, n, 0);
  for (int s = 0; s < slabs; s++) {
    char *here = shared + s % 2 * EACH;
    store<A_ROWS, MODE>(here, a, scale_a);
    store<B_ROWS, MODE>(here + OF_A, b, scale_b);
    seen(a);
    __syncthreads(); /* all of slab s is there, and nobody reads slab s - 1 any more */
    if (s + 1 < slabs) {
      fetch<A_ROWS>(a, A, m, (s + 1) * T::DEPTH);
      fetch<B_ROWS>(b, B, n, (s + 1) * T::DEPTH);
    }
    if (MODE == SINGLE)
      add_slab_single<T, A_ROWS, B_ROWS>(acc, here, here + OF_A);
    else
      add_slab<T, A_ROWS, B_ROWS, MODE == TRIPLE>(acc, here, here + OF_A, s);
  }
  if (MODE == SINGLE) return;
  end_group(acc);
  const float back = 1.0f / scale_a / scale_b;
#pragma unroll
  for (int i = 0; i < T::MT; i++)
#pragma unroll
    for (int j = 0; j < T::NT; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) acc.c[i][j][q] *= back;
}

struct nobody {
  template <class P> __device__ void operator()(const P &) const {}
};

/* Calls put(row, column, two numbers) for all of this thread's pairs in a tile at (m, n). */
template <class T, class PUT>
__device__ inline void for_pairs(const accumulator<T> &acc, int m, int n, PUT put) {
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  m += warp / T::WARPS_N * (16 * T::MT) + g;
  n += warp % T::WARPS_N * (8 * T::NT) + 2 * t;
#pragma unroll
  for (int i = 0; i < T::MT; i++)
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int j = 0; j < T::NT; j++)
        put(m + 16 * i + 8 * half, n + 8 * j,
            make_float2(acc.c[i][j][2 * half], acc.c[i][j][2 * half + 1]));
}
