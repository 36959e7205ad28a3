/*
 * A tile of a product in single precision on the plain units: C[BM][BN] = A B', by a block of threads.
 *
 * A is BM rows of K numbers, B is BN rows of K numbers. Either lies in memory with k contiguous
 * ("rows") or with k strided ("columns"): so the three products of a layer,
 *
 *   values     H W'     A = H by rows,       B = W by rows       k: inputs
 *   slopes     D W      A = D by rows,       B = W by columns    k: outputs
 *   gradients  D'H      A = D by columns,    B = H by columns    k: examples
 *
 * are one function. Operands go through it in slabs along k, several on their way to shared memory while one is
 * multiplied. What lies beyond the matrices is zero.
 *
 * A block's threads are GROUPS groups, each of which takes its share of k of every slab; a thread has TM by TN
 * numbers. At the end the groups' sums are added in order: all numbers' sums are cut up in the same way.
 */
#pragma once

#include <cuda_pipeline.h>

/* Four numbers side by side. */
struct four {
  float x[4];
  four() = default;
  __device__ explicit four(const float *from) {
    const float4 v = *(const float4 *)from;
    x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
  }
  __device__ void store(float *to) const { *(float4 *)to = make_float4(x[0], x[1], x[2], x[3]); }
};

/* A matrix operand: `lead` numbers from one row (or column) to the next. */
struct operand {
  const float *at;
  int lead;
  int count;  /* rows of A or B, as counted along the tile */
  int length; /* along k */
};

/* DEPTH: a slab's length along k. */
template <int M, int N, int K, int OF_M, int OF_N, int SHARES, int ON_THEIR_WAY> struct tile {
  static constexpr int BM = M, BN = N, DEPTH = K, TM = OF_M, TN = OF_N;
  static constexpr int GROUPS = SHARES, STAGES = ON_THEIR_WAY;
  static constexpr int DOWN = M / OF_M, ACROSS = N / OF_N; /* threads of a group */
  static constexpr int OF_GROUP = DOWN * ACROSS, THREADS = OF_GROUP * SHARES;
  /* From a row, or a k, to the next: 16 bytes more than are used keep banks apart. */
  template <bool BY_ROWS> static constexpr int LINE = (BY_ROWS ? K : M) + 4;
  static constexpr int SLAB = M * LINE<true> > K *LINE<false> ? M *LINE<true> : K *LINE<false>;
  static constexpr int OUT_LINE = N + 4;
  static constexpr int SHARED = STAGES * 2 * SLAB * (int)sizeof(float);
  static_assert(M == N && OF_M % 4 == 0 && OF_N % 4 == 0, "operands are alike, and read by fours");
  static_assert(SHARES * M * OUT_LINE * (int)sizeof(float) <= SHARED, "sums take the slabs' place");
};

/* A slab on its way to shared memory. */
template <class T, bool BY_ROWS>
__device__ inline void ask(float *to, const operand &x, int first, int k, bool wanted) {
  constexpr int ACROSS = (BY_ROWS ? T::DEPTH : T::BM) / 4;
#pragma unroll
  for (int i = threadIdx.x; wanted && i < T::BM * T::DEPTH / 4; i += T::THREADS) {
    const int down = i / ACROSS, across = i % ACROSS * 4;
    const int row = first + (BY_ROWS ? down : across), at = k + (BY_ROWS ? across : down);
    const bool there = row < x.count && at < x.length;
    const size_t from = BY_ROWS ? (size_t)row * x.lead + at : (size_t)at * x.lead + row;
    __pipeline_memcpy_async(to + down * T::template LINE<BY_ROWS> + across,
                            x.at + (there ? from : 0), 16, there ? 0 : 16);
  }
}

/* The COUNT rows of a slab that are a thread's, at k .. k + 3: x[k][row]. Which they are does not matter, as
 * long as row_of says the same. */
template <bool BY_ROWS, int PLACES> __device__ inline int row_of(int place, int i) {
  return BY_ROWS ? place + PLACES * i : 4 * (place + PLACES * (i / 4)) + i % 4;
}
template <class T, bool BY_ROWS, int COUNT, int PLACES>
__device__ inline void pick(float (&x)[4][COUNT], const float *from, int place, int k) {
  constexpr int LINE = T::template LINE<BY_ROWS>;
#pragma unroll
  for (int i = 0; i < COUNT; i++) {
    const int row = row_of<BY_ROWS, PLACES>(place, BY_ROWS ? i : i / 4 * 4);
    const four v(from + (BY_ROWS ? row * LINE + k : (k + i % 4) * LINE + row));
#pragma unroll
    for (int j = 0; j < 4; j++) x[BY_ROWS ? j : i % 4][BY_ROWS ? i : i / 4 * 4 + j] = v.x[j];
  }
}

/* This thread's numbers of C, of its group's share. */
template <class T> struct accumulator {
  float c[T::TM][T::TN] = {};
  int group, down, across;
  __device__ accumulator()
      : group(threadIdx.x / T::OF_GROUP), down(threadIdx.x % T::OF_GROUP / T::ACROSS),
        across(threadIdx.x % T::ACROSS) {}
};

template <class T, bool A_ROWS, bool B_ROWS>
__device__ inline void add_slab(accumulator<T> &acc, const float *a, const float *b) {
  constexpr int SHARE = T::DEPTH / T::GROUPS;
#pragma unroll
  for (int i = 0; i < SHARE; i += 4) {
    float x[4][T::TM], y[4][T::TN];
    pick<T, A_ROWS, T::TM, T::DOWN>(x, a, acc.down, acc.group * SHARE + i);
    pick<T, B_ROWS, T::TN, T::ACROSS>(y, b, acc.across, acc.group * SHARE + i);
#pragma unroll
    for (int k = 0; k < 4; k++)
#pragma unroll
      for (int m = 0; m < T::TM; m++)
#pragma unroll
        for (int n = 0; n < T::TN; n++) acc.c[m][n] = fmaf(x[k][m], y[k][n], acc.c[m][n]);
  }
}

/* C += rows m.. of A times rows n.. of B, over all of k. */
template <bool A_ROWS, bool B_ROWS, class T>
__device__ inline void add_product(accumulator<T> &acc, const operand &A, int m, const operand &B,
                                   int n) {
  extern __shared__ __align__(16) float shared[];
  const int slabs = (max(A.length, B.length) + T::DEPTH - 1) / T::DEPTH;
  for (int s = 0; s < T::STAGES; s++) {
    float *at = shared + 2 * s * T::SLAB;
    ask<T, A_ROWS>(at, A, m, s * T::DEPTH, s < slabs);
    ask<T, B_ROWS>(at + T::SLAB, B, n, s * T::DEPTH, s < slabs);
    __pipeline_commit();
  }
  for (int s = 0; s < slabs; s++) {
    float *at = shared + s % T::STAGES * 2 * T::SLAB;
    __pipeline_wait_prior(T::STAGES - 1);
    __syncthreads(); /* all of slab s is there */
    add_slab<T, A_ROWS, B_ROWS>(acc, at, at + T::SLAB);
    __syncthreads(); /* nobody reads it any more */
    const int next = s + T::STAGES;
    ask<T, A_ROWS>(at, A, m, next * T::DEPTH, next < slabs);
    ask<T, B_ROWS>(at + T::SLAB, B, n, next * T::DEPTH, next < slabs);
    __pipeline_commit();
  }
}

/* Calls put(row, column, four numbers side by side) for this thread's share of the sums of all groups, in a
 * tile at (m, n). */
template <bool A_ROWS, bool B_ROWS, class T, class PUT>
__device__ inline void for_fours(const accumulator<T> &acc, int m, int n, PUT put) {
  extern __shared__ __align__(16) float shared[];
  constexpr int LINE = T::OUT_LINE, ACROSS = T::BN / 4;
#pragma unroll
  for (int i = 0; i < T::TM; i++)
#pragma unroll
    for (int j = 0; j < T::TN; j++)
      shared[(acc.group * T::BM + row_of<A_ROWS, T::DOWN>(acc.down, i)) * LINE +
             row_of<B_ROWS, T::ACROSS>(acc.across, j)] = acc.c[i][j];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < T::BM * ACROSS / T::THREADS; i++) {
    const int row = (threadIdx.x + i * T::THREADS) / ACROSS,
              column = (threadIdx.x + i * T::THREADS) % ACROSS * 4;
    four sum = {};
#pragma unroll
    for (int g = 0; g < T::GROUPS; g++) {
      const four part(shared + (g * T::BM + row) * LINE + column);
      for (int j = 0; j < 4; j++) sum.x[j] += part.x[j];
    }
    put(m + row, n + column, sum);
  }
}

/* Sums of columns first .. of D, BM of them, over so many rows: of every THREADS / BM-th row, and those added
 * in order. Calls put(column, sum). */
template <class T, class PUT>
__device__ inline void sum_columns(const operand &D, int first, PUT put) {
  constexpr int STEP = T::THREADS / T::BM;
  __shared__ float parts[STEP][T::BM];
  const int own = threadIdx.x % T::BM, column = first + own;
  float sum = 0.0f;
#pragma unroll 8
  for (int i = threadIdx.x / T::BM; column < D.count && i < D.length; i += STEP)
    sum += D.at[(size_t)i * D.lead + column];
  parts[threadIdx.x / T::BM][own] = sum;
  __syncthreads();
  if (threadIdx.x >= T::BM || column >= D.count) return;
  for (int k = 1; k < STEP; k++) sum += parts[k][own];
  put(column, sum);
}
