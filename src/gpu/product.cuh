/*
 * A tile of a product on the tensor cores: C[BM][BN] += A B', by a block of threads.
 *
 * A is BM rows of K numbers, B is BN rows of K numbers. Either lies in memory with k contiguous
 * ("rows") or with k strided ("columns"): so the three products of a layer,
 *
 *   values     H W'     A = H by rows,       B = W by rows       k: inputs
 *   slopes     D W      A = D by rows,       B = W by columns    k: outputs
 *   gradients  D'H      A = D by columns,    B = H by columns    k: examples
 *
 * are one function. Both pass through shared memory in slabs of BK along k, STAGES of them in flight
 * (cp.async). What lies beyond the matrices is filled with zeros.
 *
 * Warps share the tile in a grid of WARPS_M by WARPS_N. A warp goes through a slab in steps of 16 along
 * k, by mma.m16n8k16. With lane = 4 g + t a thread holds rows g and g + 8 of each 16 and columns 2 t
 * and 2 t + 1 of each 8 of C. A number's sum runs over k in order, whatever the tile is.
 *
 * Precision: half-precision numbers have 11 bits, as those of TF32 have, at twice the speed, but a narrow
 * range. So an operand is multiplied by the power of two that brings its largest number below 2^15; its
 * largest number (`top`) was found by the kernel that wrote it. With x = high + low, high rounded to 11
 * bits and low to another 11,
 *
 *   a b ~ low_a high_b + high_a low_b + high_a high_b
 *
 * leaves an error of about 2^-22, that of single precision. The unit cuts its sums off instead of
 * rounding them, so each 16 of k are summed there from zero and added here. `ONCE` is the last of the
 * three products alone. `SINGLE` is the same loop on the plain units.
 *
 * Rows of a slab are 4 numbers longer than BK, or 8 longer than BM or BN: the threads of a warp then
 * read 32 different banks in both layouts.
 */
#pragma once

#include "net/device.h"

#include <cuda_fp16.h>

#ifndef V_BK
#define V_BK 16
#define V_ST 4
#endif
#if V_VARIANT == 2
#define V_TILE 128, 128, 2, 2, 2
#elif V_VARIANT == 3
#define V_TILE 128, 256, 2, 4, 1
#elif V_VARIANT == 6
#define V_TILE 64, 128, 1, 4, 3
#elif V_VARIANT == 7
#define V_TILE 128, 128, 4, 2, 2
#elif V_VARIANT == 8
#define V_TILE 128, 64, 2, 2, 3
#elif V_VARIANT == 9
#define V_TILE 64, 128, 2, 4, 2
#else
#define V_TILE 128, 128, 2, 4, 2
#endif
#define V_SMALL 32, 64, 2, 2, 4
enum { BK = V_BK, STAGES = V_ST };

/* A matrix operand: `lead` numbers from one row (or column) to the next. */
struct operand {
  const float *at;
  int lead;
  int count;    /* rows of A or B, as counted along the tile */
  int length;   /* along k */
  unsigned top; /* the bits of the largest of its numbers, without signs */
};

template <int M, int N, int WM, int WN, int BLOCKS> struct tile {
  static constexpr int RESIDENT = BLOCKS; /* blocks of a processor */
  static constexpr int BM = M, BN = N, WARPS_M = WM, WARPS_N = WN, THREADS = 32 * WM * WN;
  static constexpr int MT = M / WM / 16, NT = N / WN / 8; /* fragments of a warp */
};
using large_tile = tile<V_TILE>;
using small_tile = tile<V_SMALL>;

template <bool BY_ROWS, int ROWS> struct slab {
  static constexpr int STRIDE = BY_ROWS ? BK + 4 : ROWS + 8;
  static constexpr int FLOATS = BY_ROWS ? ROWS * STRIDE : BK * STRIDE;
  __device__ static int at(int row, int k) { return BY_ROWS ? row * STRIDE + k : k * STRIDE + row; }
};

template <class T, bool A_ROWS, bool B_ROWS> struct stage {
  static constexpr int FLOATS = slab<A_ROWS, T::BM>::FLOATS + slab<B_ROWS, T::BN>::FLOATS;
  static constexpr int BYTES = STAGES * FLOATS * 4;
};

__device__ inline void copy16(float *to, const float *from, bool inside) {
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  const int bytes = inside ? 16 : 0; /* the rest is filled with zeros */
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(bytes));
}

/* Rows first .. of an operand, numbers k .. k + BK, into shared memory. */
template <bool BY_ROWS, int ROWS, int THREADS>
__device__ inline void fetch(float *to, const operand &x, int first, int k) {
  constexpr int ACROSS = BY_ROWS ? BK / 4 : ROWS / 4, DOWN = BY_ROWS ? ROWS : BK;
  for (int i = threadIdx.x; i < ACROSS * DOWN; i += THREADS) {
    const int down = i / ACROSS, across = 4 * (i % ACROSS);
    const int row = first + (BY_ROWS ? down : across), at = k + (BY_ROWS ? across : down);
    const bool inside = row < x.count && at < x.length;
    const size_t from = BY_ROWS ? (size_t)row * x.lead + at : (size_t)at * x.lead + row;
    copy16(to +
               (BY_ROWS ? slab<true, ROWS>::at(down, across) : slab<false, ROWS>::at(across, down)),
           inside ? x.at + from : x.at, inside);
  }
}

/* 16 of k at once, of half-precision pairs: a thread has those of k = t, t + 4 and of k = t + 8, t + 12.
 * Which they are does not matter, as long as it is the same for A and B. */
__device__ inline void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Two numbers to 11 bits each, and what is left of them. */
template <bool LOW>
__device__ inline void split(float x, float y, float scale, unsigned &high, unsigned &low) {
  x *= scale, y *= scale;
  const __half2 h = __floats2half2_rn(x, y);
  high = *(const unsigned *)&h;
  if (!LOW) return;
  const float2 f = __half22float2(h);
  const __half2 l = __floats2half2_rn(x - f.x, y - f.y);
  low = *(const unsigned *)&l;
}

/* The power of two that brings numbers of at most `top`, given by its bits, below 2^15. */
__device__ inline float scale_of(unsigned top) {
  const int e = min(max((int)(top >> 23) - 127, -100), 100);
  return top == 0 ? 1.0f : __uint_as_float((unsigned)(127 + 14 - e) << 23);
}

enum product_mode { TRIPLE, SINGLE, ONCE }; /* as hvi_device_precision */

template <class T> struct accumulator {
  float c[T::MT][T::NT][4];
  float sum[T::MT][2]; /* over k, of rows of A, in part: see row_sums */
};

/* One slab, on the tensor cores. */
template <class T, bool A_ROWS, bool B_ROWS, bool SUMS, product_mode MODE>
__device__ inline void add_slab(accumulator<T> &acc, const float *a, const float *b, float scale_a,
                                float scale_b) {
  using A = slab<A_ROWS, T::BM>;
  using B = slab<B_ROWS, T::BN>;
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int m0 = warp / T::WARPS_N * (16 * T::MT), n0 = warp % T::WARPS_N * (8 * T::NT);
#pragma unroll
  for (int k = 0; k < BK; k += 16) {
    constexpr bool LOW = MODE == TRIPLE;
    unsigned bh[T::NT][2], bl[T::NT][2];
#pragma unroll
    for (int n = 0; n < T::NT; n++)
#pragma unroll
      for (int i = 0; i < 2; i++)
        split<LOW>(b[B::at(n0 + 8 * n + g, k + t + 8 * i)],
                   b[B::at(n0 + 8 * n + g, k + t + 8 * i + 4)], scale_b, bh[n][i], bl[n][i]);
#pragma unroll
    for (int m = 0; m < T::MT; m++) {
      unsigned ah[4], al[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int row = m0 + 16 * m + g + 8 * (i % 2), at = k + t + 8 * (i / 2);
        const float x = a[A::at(row, at)], y = a[A::at(row, at + 4)];
        if (SUMS) acc.sum[m][i % 2] += x + y;
        split<LOW>(x, y, scale_a, ah[i], al[i]);
      }
#pragma unroll
      for (int n = 0; n < T::NT; n++) {
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (LOW) multiply(c, al, bh[n]);
        if (LOW) multiply(c, ah, bl[n]);
        multiply(c, ah, bh[n]);
#pragma unroll
        for (int i = 0; i < 4; i++) acc.c[m][n][i] += c[i];
      }
    }
  }
}

/* One slab on the plain units; a thread has the same numbers of C. */
template <class T, bool A_ROWS, bool B_ROWS, bool SUMS>
__device__ inline void add_slab_single(accumulator<T> &acc, const float *a, const float *b) {
  using A = slab<A_ROWS, T::BM>;
  using B = slab<B_ROWS, T::BN>;
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int m0 = warp / T::WARPS_N * (16 * T::MT), n0 = warp % T::WARPS_N * (8 * T::NT);
  for (int k = 0; k < BK; k++) {
    float x[T::MT][2], y[T::NT][2];
#pragma unroll
    for (int m = 0; m < T::MT; m++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        x[m][i] = a[A::at(m0 + 16 * m + g + 8 * i, k)];
        if (SUMS && k % 4 == t) acc.sum[m][i] += x[m][i];
      }
#pragma unroll
    for (int n = 0; n < T::NT; n++)
#pragma unroll
      for (int i = 0; i < 2; i++) y[n][i] = b[B::at(n0 + 8 * n + 2 * t + i, k)];
#pragma unroll
    for (int m = 0; m < T::MT; m++)
#pragma unroll
      for (int n = 0; n < T::NT; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) acc.c[m][n][i] = fmaf(x[m][i / 2], y[n][i % 2], acc.c[m][n][i]);
  }
}

template <class T> __device__ inline void clear(accumulator<T> &acc) {
#pragma unroll
  for (int m = 0; m < T::MT; m++) {
    acc.sum[m][0] = acc.sum[m][1] = 0.0f;
#pragma unroll
    for (int n = 0; n < T::NT; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) acc.c[m][n][i] = 0.0f;
  }
}

/* acc += rows m.. of A times rows n.. of B, over all of k. */
template <class T, bool A_ROWS, bool B_ROWS, bool SUMS, product_mode MODE>
__device__ inline void add_product(accumulator<T> &acc, const operand &A, int m, const operand &B,
                                   int n) {
  extern __shared__ __align__(16) float shared[];
  constexpr int EACH = stage<T, A_ROWS, B_ROWS>::FLOATS, OF_A = slab<A_ROWS, T::BM>::FLOATS;
  const int length = A.length > B.length ? A.length : B.length, slabs = (length + BK - 1) / BK;
  const float scale_a = scale_of(A.top), scale_b = scale_of(B.top);
  __syncthreads(); /* whoever used shared memory before is done */
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < slabs) {
      fetch<A_ROWS, T::BM, T::THREADS>(shared + s * EACH, A, m, s * BK);
      fetch<B_ROWS, T::BN, T::THREADS>(shared + s * EACH + OF_A, B, n, s * BK);
    }
    asm volatile("cp.async.commit_group;");
  }
  for (int s = 0; s < slabs; s++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
    __syncthreads(); /* slab s is there for all, and nobody reads slab s - 1 any more */
    const int next = s + STAGES - 1;
    if (next < slabs) {
      float *to = shared + next % STAGES * EACH;
      fetch<A_ROWS, T::BM, T::THREADS>(to, A, m, next * BK);
      fetch<B_ROWS, T::BN, T::THREADS>(to + OF_A, B, n, next * BK);
    }
    asm volatile("cp.async.commit_group;");
    const float *a = shared + s % STAGES * EACH, *b = a + OF_A;
    if (MODE == SINGLE)
      add_slab_single<T, A_ROWS, B_ROWS, SUMS>(acc, a, b);
    else
      add_slab<T, A_ROWS, B_ROWS, SUMS, MODE>(acc, a, b, scale_a, scale_b);
  }
  if (MODE == SINGLE) return;
  const float back = 1.0f / scale_a / scale_b;
#pragma unroll
  for (int i = 0; i < T::MT; i++)
#pragma unroll
    for (int j = 0; j < T::NT; j++)
#pragma unroll
      for (int q = 0; q < 4; q++) acc.c[i][j][q] *= back;
}

/* The largest of a warp's numbers without signs into *top, by its bits, which are in the same order. */
__device__ inline void raise_top(unsigned *top, float largest) {
  const unsigned bits = __reduce_max_sync(~0u, __float_as_uint(largest));
  if (threadIdx.x % 32 == 0) atomicMax(top, bits);
}

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

/* Calls put(row, sum over k) for rows of A, by one thread each. */
template <class T, class PUT>
__device__ inline void for_row_sums(const accumulator<T> &acc, int m, PUT put) {
  const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < T::MT; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      float x = acc.sum[i][half];
      x += __shfl_xor_sync(~0u, x, 1);
      x += __shfl_xor_sync(~0u, x, 2);
      if (t == 0 && warp % T::WARPS_N == 0)
        put(m + warp / T::WARPS_N * (16 * T::MT) + 16 * i + 8 * half + g, x);
    }
}
