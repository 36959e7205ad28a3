/*
 * Matrices of half-precision numbers, as Hopper's copy engine and tensor cores take them.
 *
 * A number x is scaled by a power of two and split: x = high + low, high rounded to the 11 bits of half
 * precision and low to another 11 (product.cuh). A matrix is a plane of its high halves, and one of its
 * low ones behind it. In a plane every 64 columns are a block, in which rows of 128 bytes follow each
 * other; the 16-byte pieces of a row are permuted, piece p of row r standing at p xor r mod 8. That is
 * the tensor cores' own order for operands in shared memory. So any 8 n rows of a block are one
 * contiguous copy, ready to be multiplied, whether a product runs along its rows or its columns. Rows and
 * columns are padded with zeros to multiples of 64.
 *
 * Scales. A number below 2^15 / 2^k is left with an absolute error of 2^-25, and with full 22 bits if it is
 * above 1/8; so the largest of a matrix may lie anywhere between 2^5 and 2^15, and a bound will do in its
 * place. With |W| the largest of the parameters and n the terms of a sum,
 *
 *   |H_l| <= n |W| |H_{l-1}| + |W|,   |D_{l-1}| <= n |W| |D_l|,   |D_L| <= |u| |W|,
 *
 * where the largest number on the right has been found by the kernel that wrote it. Weights are scaled by
 * the largest before the step that makes them, with room for 2^8 times as much.
 */
#pragma once

#include "gpu/gpu.cuh"

#include <cuda_fp16.h>

enum { BLOCK = 64, ROW_BYTES = 128, PIECE = 16 };

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

__device__ inline halves inputs_halves(const gpu_job &j, const layer &y) {
  char *at = y.l == 1 ? j.x_halves : (char *)(j.slot + j.lead_rows * y.below);
  return halves_at(at, j.rows, y.in);
}
__device__ inline halves values_halves(const gpu_job &j, const layer &y) {
  return halves_at((char *)(j.slot + j.lead_rows * y.here), j.rows, y.out);
}
__device__ inline halves slopes_halves(const gpu_job &j, const layer &y) {
  return halves_at((char *)(j.slot + j.lead_rows * (y.all + y.here)), j.rows, y.out);
}
__device__ inline halves slopes_below_halves(const gpu_job &j, const layer &y) {
  return halves_at((char *)(j.slot + j.lead_rows * (y.all + y.below)), j.rows, y.in);
}
__device__ inline halves weight_halves(const gpu_job &j, const layer &y) {
  return halves_at(j.weight_halves + y.halves, y.out, y.in);
}

/* The head's sums over a block of its inputs, and u. */
__device__ inline float *outputs_of(const gpu_job &j, int block) {
  return j.outputs + (size_t)block * j.lead_rows;
}

__device__ inline float scale_of_bound(float bound) { return scale_of(__float_as_uint(bound)); }

__device__ inline float weight_scale(unsigned top) { return 0x1p-8f * scale_of(top); }

/* Of H_l with the parameters as they are. */
__device__ inline float value_scale(const gpu_job &j, hvi_activation a, int l, int terms) {
  const float theta = __uint_as_float(j.tops->theta);
  const float before = __uint_as_float(l == 1 ? j.tops->x : j.tops->h[l - 1]);
  const float bound = (float)terms * theta * before + theta;
  return scale_of_bound(a == HVI_SIGMOID ? 1.0f : a == HVI_SOFTPLUS ? bound + 1.0f : bound);
}
__device__ inline float input_scale(const gpu_job &j, const layer &y) {
  return y.l == 1 ? scale_of(j.tops->x) : value_scale(j, y.activation, y.l - 1, y.before);
}
/* Of D_l, from D_{l+1} with so many terms; of the last hidden layer's, from u. */
__device__ inline float slope_scale(const gpu_job &j, int l, bool last, int terms) {
  const float theta = __uint_as_float(j.tops->theta);
  const float above = __uint_as_float(last ? j.tops->u : j.tops->d[l + 1]);
  return scale_of_bound((last ? 1.0f : (float)terms) * theta * above);
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

/* Four numbers that follow each other in a row, the first at a multiple of 4. */
__device__ inline void put_four(const halves &to, int row, int column, float4 x, float scale) {
  uint2 high, low;
  split_two(make_float2(x.x * scale, x.y * scale), high.x, low.x);
  split_two(make_float2(x.z * scale, x.w * scale), high.y, low.y);
  char *at = to.high + half_at(to, row, column);
  *(uint2 *)at = high;
  *(uint2 *)(at + to.low) = low;
}

/* Where numbers of theta belong among the halves of weights: of hidden layers' matrices alone. */
struct weight_map {
  int layers;
  unsigned begin[HVI_DEVICE_MOST_LAYERS], end[HVI_DEVICE_MOST_LAYERS];
  int lead[HVI_DEVICE_MOST_LAYERS], in[HVI_DEVICE_MOST_LAYERS], out[HVI_DEVICE_MOST_LAYERS];
  size_t halves[HVI_DEVICE_MOST_LAYERS];
};

static inline weight_map weight_map_of(const hvi_device_shape *s) {
  weight_map m = {};
  m.layers = (int)s->layer_count - 1;
  for (int l = 0; l < m.layers; l++) {
    m.begin[l] = (unsigned)hvi_device_weight(s, l), m.end[l] = (unsigned)hvi_device_bias(s, l);
    m.in[l] = (int)s->width[l], m.out[l] = (int)s->width[l + 1];
    m.lead[l] = (int)hvi_device_padded(s->width[l]);
    m.halves[l] = hvi_gpu_weight_halves(s, l);
  }
  return m;
}

/* Numbers at .. at + 3 of theta, scaled. */
__device__ inline void put_weights(const gpu_job &j, const weight_map &map, size_t at, float4 x,
                                   float scale) {
  int l = 0;
  while (l + 1 < map.layers && at >= map.begin[l + 1]) l++;
  if (at >= map.end[l]) return;
  const unsigned own = (unsigned)at - map.begin[l], lead = (unsigned)map.lead[l];
  const halves to = halves_at(j.weight_halves + map.halves[l], map.out[l], map.in[l]);
  put_four(to, (int)(own / lead), (int)(own % lead), x, scale);
}
