/*
 * What the kernels of either precision have beside products (net/product_body.h): sums of rows,
 * transposes, slopes, and the border to the doubles of interfaces.
 */
#pragma once

#include "net/product_body.h"

/* Sums of rows in `vectors` vectors of columns; the count is a constant where this is inlined. */
ALWAYS_INLINE void add_columns(real *out, const real *d, size_t rows, size_t row, size_t vectors) {
  vf sum[4] = {{0}, {0}, {0}, {0}};
  for (size_t i = 0; i < rows; i++, d += row)
    UNROLL for (size_t v = 0; v < vectors; v++) sum[v] += load(d + v * WIDTH);
  UNROLL for (size_t v = 0; v < vectors; v++)
      store(out + v * WIDTH, load(out + v * WIDTH) + sum[v]);
}

static void add_rows(void *to, const void *from, size_t rows, size_t n, size_t row) {
  real *out = to;
  const real *d = from;
  size_t j = 0;
  for (; j + 4 * WIDTH <= n; j += 4 * WIDTH) add_columns(out + j, d + j, rows, row, 4);
  for (; j + WIDTH <= n; j += WIDTH) add_columns(out + j, d + j, rows, row, 1);
  if (j == n) return;
  vf sum = {0};
  for (size_t i = 0; i < rows; i++) sum += load_part(d + i * row + j, n - j);
  store_part(out + j, load_part(out + j, n - j) + sum, n - j);
}

/* Four rows and four columns of 64 bits, transposed in registers: pairs of rows, halves. */
typedef int64_t vw __attribute__((vector_size(32)));

ALWAYS_INLINE void transpose_words(vw x[4]) {
  vw y[4];
  UNROLL for (size_t i = 0; i < 4; i += 2) {
    y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 4, 2, 6);
    y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 1, 5, 3, 7);
  }
  UNROLL for (size_t i = 0; i < 2; i++) {
    x[i] = __builtin_shufflevector(y[i], y[i + 2], 0, 1, 4, 5);
    x[i + 2] = __builtin_shufflevector(y[i], y[i + 2], 2, 3, 6, 7);
  }
}

/* SIDE rows and SIDE columns. In floats the words are pairs from two rows: of columns 0, 1, 4, 5 and
 * of 2, 3, 6, 7. */
enum { SIDE = 32 / sizeof(real) };

ALWAYS_INLINE void transpose_square(real *out, const real *in, size_t rows, size_t cols) {
#if defined(NET_DOUBLE)
  vw x[SIDE];
  UNROLL for (size_t i = 0; i < SIDE; i++) memcpy(&x[i], in + i * cols, sizeof x[i]);
  transpose_words(x);
  UNROLL for (size_t i = 0; i < SIDE; i++) memcpy(out + i * rows, &x[i], sizeof x[i]);
#else
  vh x[SIDE];
  vw low[4], high[4];
  UNROLL for (size_t i = 0; i < SIDE; i++) memcpy(&x[i], in + i * cols, sizeof x[i]);
  UNROLL for (size_t i = 0; i < 4; i++) {
    const vh a = x[2 * i], b = x[2 * i + 1];
    low[i] = (vw)__builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
    high[i] = (vw)__builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  }
  transpose_words(low);
  transpose_words(high);
  UNROLL for (size_t i = 0; i < 4; i++) {
    memcpy(out + (i + i / 2 * 2) * rows, &low[i], sizeof low[i]);
    memcpy(out + (i + i / 2 * 2 + 2) * rows, &high[i], sizeof high[i]);
  }
#endif
}

/* A block of at most SIDE by SIDE; without registers as long the plain loop is faster */
ALWAYS_INLINE void transpose_block(real *out, const real *in, size_t rows, size_t cols,
                                   size_t height, size_t width) {
  if ((int)WIDTH >= (int)SIDE && height >= SIDE && width >= SIDE) {
    transpose_square(out, in, rows, cols);
    return;
  }
  for (size_t i = 0; i < height && i < SIDE; i++)
    for (size_t j = 0; j < width && j < SIDE; j++) out[j * rows + i] = in[i * cols + j];
}

/* Sixteen columns at a time, so that whole lines of cache are read while they are there. */
static void transpose(void *to, const void *from, size_t rows, size_t cols) {
  real *out = to;
  const real *in = from;
  for (size_t band = 0; band < cols; band += 16)
    for (size_t i = 0; i < rows; i += SIDE)
      for (size_t j = band; j < cols && j < band + 16; j += SIDE)
        transpose_block(out + j * rows + i, in + i * cols + j, rows, cols, rows - i, cols - j);
}

static void pull(hvi_activation s, void *to, const void *of, size_t rows, size_t n) {
  real *u = to;
  const real *y = of;
  if (s == HVI_SOFTMAX)
    for (size_t i = 0; i < rows; i++) pull_softmax(u + i * n, y + i * n, n);
  else if (s != HVI_IDENTITY)
    pulls[s](u, y, rows * n);
}

static void take(void *to, const double *x, size_t n) {
  real *out = to;
  for (size_t i = 0; i < n; i++) out[i] = (real)x[i];
}

static void give(double *out, const void *from, size_t n) {
  const real *x = from;
  for (size_t i = 0; i < n; i++) out[i] = (double)x[i];
}

static void add(void *to, const void *from, size_t n) {
  real *out = to;
  const real *x = from;
  for (size_t i = 0; i < n; i++) out[i] += x[i];
}

static void add_gram(double *out, const void *left, const void *right, double more, size_t n,
                     size_t step) {
  const real *p = left, *q = right, one = (real)more;
  for (size_t i = 0; i < n; i++) out[i * step] += (double)(p[i] * (q[i] + one));
}

static void multiples(double *out, const void *from, const void *factor, size_t n) {
  const real *x = from, d = *(const real *)factor;
  for (size_t i = 0; i < n; i++) out[i] = (double)(d * x[i]);
}

DEFINE_MAP(exponentials, exp_of(x))
DEFINE_MAP(tangents, tanh_of(x))
DEFINE_MAP(logarithms, log_of(x))

#define SHARED_KERNELS                                                                             \
  .name = HVI_LEVEL_NAME, .real = sizeof(real), .kept = KEPT, .product = product,                  \
  .add_rows = add_rows, .transpose = transpose, .pull = pull, .take = take, .give = give,          \
  .add = add, .add_gram = add_gram, .multiples = multiples, .exp = exponentials, .tanh = tangents, \
  .log = logarithms
