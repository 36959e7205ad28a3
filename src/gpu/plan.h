/*
 * How a step's work is cut up: pure arithmetic, so that tests need no device.
 *
 * Rows are cut into parts, in order. Weight gradients are sums over rows: a part's rows are summed in
 * their order, and the parts' sums in theirs. How many parts there are depends on the rows alone, so
 * that a network's bits do not depend on what else a device is doing. No sum crosses a tile of outputs.
 * With halves few rows are one part, whose gradient needs no memory: the step is taken where it is summed.
 *
 * A slot is the memory that one network needs during a step and not after it, in floats:
 *
 *   values   H_l   [lead rows][lead width]   l = 1 .. hidden layers; as halves not the last
 *   slopes   D_l   the same, of all: dl/d(pre-activation); tangents in a product J v
 *   sums           [parts][numbers]       of the gradient
 *   head's sums    [tiles][padded width + padded output]
 *   losses         [tiles] doubles
 *   scales         [hidden layers][2][tiles of 64 rows] of H_l and D_l: where these are halves
 *
 * The head, a product with one column, goes through the rows in tiles of its own.
 *
 * Values and slopes are kept in one of two forms. Numbers are floats, a row after the other, widths
 * padded to 8. Halves (halves.cuh) are two half-precision numbers in the place of one float; rows and
 * widths are padded to 64.
 */
#pragma once

#include "gpu/device.h"

typedef enum hvi_gpu_form { HVI_GPU_NUMBERS = 8, HVI_GPU_HALVES = 64 } hvi_gpu_form;

enum {
  HVI_GPU_WIDEST = 256,    /* layers of networks whose values are halves */
  HVI_GPU_PART_ROWS = 256, /* the least */
  HVI_GPU_PART_ROWS_OF_HALVES = 2048,
  HVI_GPU_MOST_PARTS = 32,
  HVI_GPU_PART_STEP = 64,
  HVI_GPU_HEAD_STEP = 64,
  HVI_GPU_MOST_HEAD_TILES =
      256, /* but for tiles of so many rows: a block has a number of each at hand */
  HVI_GPU_MOST_HEAD_ROWS = 8192
};

static inline size_t hvi_gpu_padded(size_t n, size_t step) { return (n + step - 1) / step * step; }
static inline size_t hvi_gpu_tiles(size_t n, size_t tile) { return (n + tile - 1) / tile; }

/* Rows of a part: a multiple of the step, such that there are not too many parts. */
static inline size_t hvi_gpu_part_rows(hvi_gpu_form form, size_t rows) {
  const size_t fair = hvi_gpu_tiles(rows, HVI_GPU_MOST_PARTS);
  const size_t least = form == HVI_GPU_HALVES ? HVI_GPU_PART_ROWS_OF_HALVES : HVI_GPU_PART_ROWS;
  return hvi_gpu_padded(fair > least ? fair : least, HVI_GPU_PART_STEP);
}
static inline size_t hvi_gpu_parts(hvi_gpu_form form, size_t rows) {
  return hvi_gpu_tiles(rows, hvi_gpu_part_rows(form, rows));
}

static inline size_t hvi_gpu_head_rows(size_t rows) {
  const size_t fair = hvi_gpu_tiles(rows, HVI_GPU_MOST_HEAD_TILES), most = HVI_GPU_MOST_HEAD_ROWS;
  return hvi_gpu_padded(fair < most ? fair : most, HVI_GPU_HEAD_STEP);
}
static inline size_t hvi_gpu_head_tiles(size_t rows) {
  return hvi_gpu_tiles(rows, hvi_gpu_head_rows(rows));
}

static inline size_t hvi_gpu_lead_rows(hvi_gpu_form form, size_t rows) {
  return form == HVI_GPU_HALVES ? hvi_gpu_padded(rows, HVI_GPU_HALVES) : rows;
}

/* Floats before H_l of a slot, l = 1 .. layer_count - 1; of l = layer_count those of all. */
static inline size_t hvi_gpu_values(const hvi_device_shape *s, hvi_gpu_form form, size_t rows,
                                    size_t l) {
  size_t at = 0;
  for (size_t i = 1; i < l; i++) at += hvi_gpu_padded(s->width[i], form);
  return at * hvi_gpu_lead_rows(form, rows);
}

/* Floats before the slopes, the sums, the head's sums, the losses and the scales of a slot; its length, a
 * multiple of 256: halves begin at multiples of 1,024 bytes. */
static inline size_t hvi_gpu_slopes(const hvi_device_shape *s, hvi_gpu_form form, size_t rows) {
  return hvi_gpu_values(s, form, rows, s->layer_count - (form == HVI_GPU_HALVES));
}
static inline size_t hvi_gpu_sums(const hvi_device_shape *s, hvi_gpu_form form, size_t rows) {
  return hvi_gpu_slopes(s, form, rows) + hvi_gpu_values(s, form, rows, s->layer_count);
}
static inline size_t hvi_gpu_head_sums(const hvi_device_shape *s, hvi_gpu_form form, size_t rows) {
  return hvi_gpu_sums(s, form, rows) + hvi_gpu_parts(form, rows) * hvi_device_numbers(s);
}
static inline size_t hvi_gpu_losses(const hvi_device_shape *s, hvi_gpu_form form, size_t rows) {
  const size_t each = hvi_device_padded(s->width[s->layer_count - 1]) + HVI_DEVICE_PAD;
  return hvi_gpu_head_sums(s, form, rows) + hvi_gpu_head_tiles(rows) * each;
}
static inline size_t hvi_gpu_scales(const hvi_device_shape *s, hvi_gpu_form form, size_t rows) {
  return hvi_gpu_losses(s, form, rows) + 2 * hvi_gpu_head_tiles(rows);
}
static inline size_t hvi_gpu_slot(const hvi_device_shape *s, hvi_gpu_form form, size_t rows) {
  const size_t scales =
      form == HVI_GPU_HALVES ? 2 * (s->layer_count - 1) * hvi_gpu_tiles(rows, HVI_GPU_HALVES) : 0;
  return hvi_gpu_padded(hvi_gpu_scales(s, form, rows) + scales, 256);
}

/* Bytes before layer l's pair of halves of the weights, l = 0 .. layer_count - 2: the head has none;
 * of l = layer_count - 1 those of all. */
static inline size_t hvi_gpu_weight_halves(const hvi_device_shape *s, size_t l) {
  size_t at = 0;
  for (size_t i = 0; i < l; i++)
    at += hvi_gpu_padded(s->width[i], HVI_GPU_HALVES) *
          hvi_gpu_padded(s->width[i + 1], HVI_GPU_HALVES) * sizeof(float);
  return at;
}
