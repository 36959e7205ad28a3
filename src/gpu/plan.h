/*
 * How a step's work is cut up: pure arithmetic, so that tests need no device.
 *
 * Rows are cut into parts, in order. Weight gradients are sums over rows: a part's rows are summed in
 * their order, and the parts' sums in theirs. How many parts there are depends on the rows alone, so
 * that a network's bits do not depend on what else a device is doing. Tiles of outputs may be large
 * or small, as many networks or few have to fill the device: no sum crosses a tile, so that does not
 * change a bit.
 *
 * A slot is the memory that one network needs during a step and not after it, in floats:
 *
 *   values   H_l   [rows][padded width]   l = 1 .. hidden layers
 *   slopes   D_l   the same: dl/d(pre-activation); tangents in a product J v
 *   sums           [parts][numbers]       of the gradient
 *   head's sums    [tiles][padded width + padded output]
 *   losses         [tiles] doubles
 *
 * The head, a product with one column, goes through the rows in tiles of its own.
 */
#pragma once

#include "gpu/device.h"

enum {
  HVI_GPU_PART_ROWS = 256,
  HVI_GPU_MOST_PARTS = 32,
  HVI_GPU_ROW_STEP = 32,
  HVI_GPU_MOST_HEAD_TILES =
      256, /* but for tiles of so many rows: a block has a number of each at hand */
  HVI_GPU_MOST_HEAD_ROWS = 8192
};

/* Rows of a part: a multiple of the step, such that there are not too many parts. */
static inline size_t hvi_gpu_part_rows(size_t rows) {
  const size_t fair = (rows + HVI_GPU_MOST_PARTS - 1) / HVI_GPU_MOST_PARTS;
  const size_t least = HVI_GPU_PART_ROWS, each = fair > least ? fair : least;
  return (each + HVI_GPU_ROW_STEP - 1) / HVI_GPU_ROW_STEP * HVI_GPU_ROW_STEP;
}

static inline size_t hvi_gpu_parts(size_t rows) {
  const size_t each = hvi_gpu_part_rows(rows);
  return (rows + each - 1) / each;
}

static inline size_t hvi_gpu_head_rows(size_t rows) {
  const size_t fair = (rows + HVI_GPU_MOST_HEAD_TILES - 1) / HVI_GPU_MOST_HEAD_TILES;
  const size_t most = HVI_GPU_MOST_HEAD_ROWS, each = fair < most ? fair : most;
  return (each + HVI_GPU_ROW_STEP - 1) / HVI_GPU_ROW_STEP * HVI_GPU_ROW_STEP;
}
static inline size_t hvi_gpu_head_tiles(size_t rows) {
  const size_t each = hvi_gpu_head_rows(rows);
  return (rows + each - 1) / each;
}

static inline size_t hvi_gpu_tiles(size_t n, size_t tile) { return (n + tile - 1) / tile; }

/* Floats before H_l of a slot, l = 1 .. layer_count - 1; of l = layer_count those of all. */
static inline size_t hvi_gpu_values(const hvi_device_shape *s, size_t rows, size_t l) {
  size_t at = 0;
  for (size_t i = 1; i < l; i++) at += rows * hvi_device_padded(s->width[i]);
  return at;
}

/* Floats before the sums, the head's sums and the losses of a slot; its length, a multiple of 64. */
static inline size_t hvi_gpu_sums(const hvi_device_shape *s, size_t rows) {
  return 2 * hvi_gpu_values(s, rows, s->layer_count);
}
static inline size_t hvi_gpu_head_sums(const hvi_device_shape *s, size_t rows) {
  return hvi_gpu_sums(s, rows) + hvi_gpu_parts(rows) * hvi_device_numbers(s);
}
static inline size_t hvi_gpu_losses(const hvi_device_shape *s, size_t rows) {
  const size_t each = hvi_device_padded(s->width[s->layer_count - 1]) + HVI_DEVICE_PAD;
  return hvi_gpu_head_sums(s, rows) + hvi_gpu_head_tiles(rows) * each;
}
static inline size_t hvi_gpu_slot(const hvi_device_shape *s, size_t rows) {
  return (hvi_gpu_losses(s, rows) + 2 * hvi_gpu_head_tiles(rows) + 63) / 64 * 64;
}
