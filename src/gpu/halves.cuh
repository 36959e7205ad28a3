/*
 * Matrices of half-precision numbers, as Hopper's copy engine and tensor cores take them.
 *
 * A number x is scaled by a power of two and split: x = high + low, high rounded to the 11 bits of half
 * precision and low to another 11. Then
 *
 *   a b ~ low_a high_b + high_a low_b + high_a high_b
 *
 * leaves an error of about 2^-22, that of single precision. Half-precision numbers have as many bits as those
 * of TF32, at twice the speed, but a narrow range: hence the scales.
 *
 * A matrix is a plane of its high halves, and one of its low ones behind it. In a plane every 64 columns are
 * a block, in which rows of 128 bytes follow each other; the 16-byte pieces of a row are permuted, piece p of
 * row r standing at p xor r mod 8. That is the tensor cores' own order for operands in shared memory. So any
 * 8 n rows of a block are one contiguous copy, ready to be multiplied, whether a product runs along its rows
 * or its columns. Rows and columns are padded with zeros to multiples of 64.
 *
 * Scales. A number below 2^15 / 2^k is left with an absolute error of 2^-25, and with full 22 bits if it is
 * above 1/8; so the largest of a matrix may lie anywhere between 2^5 and 2^15, and a bound will do in its
 * place. With |W| the largest of the parameters, n the terms of a sum, and the largest of 64 rows elsewhere,
 *
 *   |H_l| <= n |W| |H_{l-1}| + |W|,   |D_{l-1}| <= n |W| |D_l|,   |D_L| <= |u| |W|.
 *
 * So each 64 rows of values and of slopes have a scale of their own. Weights are scaled by the largest before
 * the step that makes them, with room for 2^8 times as much.
 */
#pragma once

#include "gpu/gpu.cuh"

#include <cuda_fp16.h>

enum { BLOCK = HVI_GPU_HALVES, ROW_BYTES = 128, PIECE = 16, WIDEST = HVI_GPU_WIDEST };

struct halves {
  char *high;
  size_t low; /* bytes from a high half to its low one */
  int rows, blocks;
};

__host__ __device__ inline int padded_block(int n) { return (n + BLOCK - 1) / BLOCK * BLOCK; }

__device__ inline halves halves_at(char *at, int rows, int columns) {
  const int r = padded_block(rows), blocks = padded_block(columns) / BLOCK;
  return {at, (size_t)r * blocks * ROW_BYTES, r, blocks};
}

/* Bytes before a number's high half. */
__device__ inline size_t half_at(const halves &x, int row, int column) {
  const int piece = column % BLOCK / 8 ^ row % 8;
  return ((size_t)(column / BLOCK) * x.rows + row) * ROW_BYTES + piece * PIECE + column % 8 * 2;
}

/* The hidden layers l = 1 .. layers as kernels see them; width[0] is that of the inputs. */
struct chain {
  int layers;
  hvi_activation activation;
  int width[HVI_DEVICE_MOST_LAYERS + 1];
  unsigned weight[HVI_DEVICE_MOST_LAYERS + 1], bias[HVI_DEVICE_MOST_LAYERS + 1]; /* in theta */
  unsigned halves[HVI_DEVICE_MOST_LAYERS + 1]; /* bytes before those of W_l */
  unsigned before[HVI_DEVICE_MOST_LAYERS + 2]; /* numbers of a row in H_1 .. H_{l-1} */
  unsigned head, head_bias, numbers;
};

static inline chain chain_of(const hvi_device_shape *s) {
  chain c = {};
  c.layers = (int)s->layer_count - 1;
  c.activation = s->activation;
  c.width[0] = (int)s->width[0];
  for (int l = 1; l <= c.layers; l++) {
    c.width[l] = (int)s->width[l];
    c.weight[l] = (unsigned)hvi_device_weight(s, l - 1),
    c.bias[l] = (unsigned)hvi_device_bias(s, l - 1);
    c.halves[l] = (unsigned)hvi_gpu_weight_halves(s, l - 1);
    c.before[l + 1] = c.before[l] + (unsigned)padded_block(c.width[l]);
  }
  c.head = (unsigned)hvi_device_weight(s, c.layers),
  c.head_bias = (unsigned)hvi_device_bias(s, c.layers);
  c.numbers = (unsigned)hvi_device_numbers(s);
  return c;
}

/* W_l; H_l, l = 0 .. layers - 1; D_l, l = 1 .. layers. */
__device__ inline halves weight_halves(const gpu_job &j, const chain &c, int l) {
  return halves_at(j.weight_halves + c.halves[l], c.width[l], c.width[l - 1]);
}
__device__ inline halves values_halves(const gpu_job &j, const chain &c, int l) {
  char *at = l == 0 ? j.x_halves : (char *)(j.slot + (size_t)j.lead_rows * c.before[l]);
  return halves_at(at, j.rows, c.width[l]);
}
__device__ inline halves slopes_halves(const gpu_job &j, const chain &c, int l) {
  const size_t before = c.before[c.layers] + c.before[l];
  return halves_at((char *)(j.slot + j.lead_rows * before), j.rows, c.width[l]);
}

/* Sums of a part; the head's sums of a unit, and behind those of all units their losses. */
__device__ inline float *sums_at(const gpu_job &j, const chain &c, int part) {
  const size_t before = c.before[c.layers] + c.before[c.layers + 1];
  return j.slot + j.lead_rows * before + (size_t)part * c.numbers;
}
__device__ inline float *head_sums_at(const gpu_job &j, const chain &c, int unit) {
  const int each = (c.width[c.layers] + 2 * HVI_DEVICE_PAD - 1) / HVI_DEVICE_PAD * HVI_DEVICE_PAD;
  return sums_at(j, c, j.parts) + (size_t)unit * each;
}

/* What takes the halves of H_l or D_l in rows 64 tile .. back to their size. */
__device__ inline float *scale_place(const gpu_job &j, int l, bool of_slopes, int tile) {
  return j.scales + (2 * (l - 1) + of_slopes) * (j.lead_rows / BLOCK) + tile;
}

/* 1 / scale, a power of two. */
__device__ inline float inverse(float scale) {
  return __uint_as_float((254u << 23) - __float_as_uint(scale));
}

__device__ inline float scale_of_bound(float bound) { return scale_of(__float_as_uint(bound)); }

__device__ inline float weight_scale(unsigned top) { return 0x1p-8f * scale_of(top); }

/* Of values from so many terms, the largest parameter and the largest value before. */
__device__ inline float value_scale(hvi_activation a, int terms, float theta, float before) {
  const float bound = (float)terms * theta * before + theta;
  return scale_of_bound(a == HVI_SIGMOID ? 1.0f : a == HVI_SOFTPLUS ? bound + 1.0f : bound);
}

/* Whether values have low halves: losses that count, and what a user asked for, are of single precision. */
__device__ inline bool values_have_low(hvi_device_precision p, const gpu_job &j, pass_kind kind) {
  return p != HVI_DEVICE_FP16 || kind != FOR_STEP || j.careful;
}

/* Two scaled numbers to two halves each. */
__device__ inline void split_two(float2 x, unsigned &high, unsigned &low) {
  const __half2 h = __floats2half2_rn(x.x, x.y);
  const float2 f = __half22float2(h);
  const __half2 l = __floats2half2_rn(x.x - f.x, x.y - f.y);
  high = *(const unsigned *)&h;
  low = *(const unsigned *)&l;
}

__device__ inline float2 join_two(unsigned high, unsigned low) {
  const float2 h = __half22float2(*(const __half2 *)&high);
  const float2 l = __half22float2(*(const __half2 *)&low);
  return make_float2(h.x + l.x, h.y + l.y);
}

/* Numbers that follow each other, the first at a multiple of as many: 1, 2 or 4. */
template <int N, class T = float> struct alignas(N * sizeof(T)) numbers { T at[N]; };

template <int N> __device__ inline float larger(float top, const numbers<N> &x) {
#pragma unroll
  for (int i = 0; i < N; i++) top = fmaxf(top, fabsf(x.at[i]));
  return top;
}

/* To the place of the first one's high half, and so many bytes behind it. */
template <int N>
__device__ inline void put_row(char *at, size_t behind, const numbers<N> &x, float scale,
                               bool low_too = true) {
  numbers<N / 2, unsigned> high, low;
#pragma unroll
  for (int i = 0; i < N; i += 2)
    split_two(make_float2(x.at[i] * scale, x.at[i + 1] * scale), high.at[i / 2], low.at[i / 2]);
  *(numbers<N / 2, unsigned> *)at = high;
  if (low_too) *(numbers<N / 2, unsigned> *)(at + behind) = low;
}

/* Numbers at .. of theta to their place among the halves of weights: of hidden layers' matrices alone. */
template <int N>
__device__ inline void put_weights(const gpu_job &j, const chain &c, size_t at, const numbers<N> &x,
                                   float scale) {
  int l = 1;
  while (l < c.layers && at >= c.weight[l + 1]) l++;
  if (at >= c.bias[l]) return;
  const unsigned lead =
      (unsigned)(c.width[l - 1] + HVI_DEVICE_PAD - 1) / HVI_DEVICE_PAD * HVI_DEVICE_PAD;
  const unsigned own = (unsigned)at - c.weight[l];
  const halves to = weight_halves(j, c, l);
  put_row(to.high + half_at(to, (int)(own / lead), (int)(own % lead)), to.low, x, scale);
}
