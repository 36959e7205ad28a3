/*
 * C = AB by tiles of a few rows and a few vectors of columns, whose sums stay in registers:
 *
 *   for l in 0 .. k:  C[i][j] <- fma(A[i][l], B[l][j], C[i][j])     from zero, in the order of l
 *
 * Rows come in panels of TILE_ROWS: the panel of A stays in L1 while B streams past it from L2, and
 * the panel of C is finished while it is there. Nothing is packed: at these sizes the tiles reach
 * 99 of 100 of what the FMA units can do. B passes once per panel, so a taller tile asks less of L2;
 * where A is read down its columns a tile has TALL_ROWS, as many as the registers hold. Along rows
 * their addresses would not fit the integer registers, and it has TILE_ROWS.
 *
 * Few rows have too few sums to hide the latency of an FMA in a narrow tile; they take wide ones.
 * One column (a head with one output) would leave all lanes but one idle: there lane j sums over
 * l = j mod WIDTH, and lanes are then added, halves to halves. That order, too, depends on k alone.
 */
#pragma once

#include "net/elementary_body.h"
#include "net/kernels.h"

/*
 * What follows a product on a panel of its rows: activations, and pulling back through them.
 *
 *   y = s(x)        u <- u * s'(x), with s' from y:
 *
 *   relu 1[y > 0]   leaky 1[y > 0] or 1/100   celu 1[y > 0] or y + 1   tanh 1 - y^2
 *   sigmoid y (1 - y)   softmax u <- y * (u - <u, y>)   gelu, softplus: from an array of slopes
 *
 * In doubles celu, tanh and sigmoid have their slopes from such an array too.
 */
/* c[n] <- value, an expression in x, which is a vector of c[n]; slope[n] <- s, which the expression
 * may set, unless slope is NULL */
#define DEFINE_ACTIVATION(name, value)                                                             \
  static void name(real *c, real *slope, size_t n) {                                               \
    for (size_t i = 0; i < n; i += WIDTH) {                                                        \
      const size_t count = lanes(n - i);                                                           \
      const vf x = load_some(c + i, count);                                                        \
      vf s = {0};                                                                                  \
      store_some(c + i, value, count);                                                             \
      if (slope) store_some(slope + i, s, count);                                                  \
    }                                                                                              \
  }

DEFINE_ACTIVATION(relu, at_least(x, splat(0)))
DEFINE_ACTIVATION(leaky, choose(x < 0, x *(real)0.01, x))
DEFINE_ACTIVATION(celu, celu_and(x, &s))
DEFINE_ACTIVATION(sigmoid, sigmoid_and(x, &s))
DEFINE_ACTIVATION(tangent, tanh_and(x, &s))
DEFINE_ACTIVATION(gelu, gelu_and(x, &s))
DEFINE_ACTIVATION(softplus, softplus_and(x, &s))

/* c[n] <- value, an expression in u and y, which are vectors of c[n] and of[n] */
#define DEFINE_PULL(name, value)                                                                   \
  static void name(real *c, const real *of, size_t n) {                                            \
    for (size_t i = 0; i < n; i += WIDTH) {                                                        \
      const size_t count = lanes(n - i);                                                           \
      const vf u = load_some(c + i, count), y = load_some(of + i, count);                          \
      store_some(c + i, value, count);                                                             \
    }                                                                                              \
  }

DEFINE_PULL(pull_relu, choose(y > 0, u, (vf){0}))
DEFINE_PULL(pull_leaky, choose(y > 0, u, u *(real)0.01))
DEFINE_PULL(pull_slope, (u * y))
#if !defined(NET_DOUBLE)
DEFINE_PULL(pull_celu, (at_most(y, splat(0)) + 1) * u)
DEFINE_PULL(pull_tanh, (1 - y * y) * u)
DEFINE_PULL(pull_sigmoid, (1 - y) * y * u)
#endif

static void softmax(real *c, real *slope, size_t n) {
  (void)slope;
  real top = c[0];
  for (size_t i = 1; i < n; i++) top = c[i] > top ? c[i] : top;
  vf sum = {0};
  for (size_t i = 0; i < n; i += WIDTH) {
    store_part(c + i, exp_of(load_part(c + i, lanes(n - i)) - top), lanes(n - i));
    sum += load_part(c + i, lanes(n - i));
  }
  const real scale = 1 / across(sum);
  for (size_t i = 0; i < n; i++) c[i] *= scale;
}

static void pull_softmax(real *u, const real *y, size_t n) {
  vf sum = {0};
  for (size_t i = 0; i < n; i += WIDTH)
    sum += load_part(u + i, lanes(n - i)) * load_part(y + i, lanes(n - i));
  const real mean = across(sum);
  for (size_t i = 0; i < n; i++) u[i] = y[i] * (u[i] - mean);
}

/* Those whose slope has an array of its own. */
#if defined(NET_DOUBLE)
#define KEPT                                                                                       \
  (1u << HVI_GELU | 1u << HVI_SOFTPLUS | 1u << HVI_TANH | 1u << HVI_SIGMOID | 1u << HVI_CELU)
#define PULL_BY(output) pull_slope
#else
#define KEPT            (1u << HVI_GELU | 1u << HVI_SOFTPLUS)
#define PULL_BY(output) output
#endif

static void (*const activations[HVI_ACTIVATION_COUNT])(real *c, real *slope, size_t n) = {
    [HVI_RELU] = relu,         [HVI_LEAKY_RELU] = leaky, [HVI_TANH] = tangent,
    [HVI_SIGMOID] = sigmoid,   [HVI_CELU] = celu,        [HVI_GELU] = gelu,
    [HVI_SOFTPLUS] = softplus, [HVI_SOFTMAX] = softmax};

/* Those that keep their slopes have them in the place of y. */
static void (*const pulls[HVI_ACTIVATION_COUNT])(real *u, const real *y, size_t n) = {
    [HVI_RELU] = pull_relu,          [HVI_LEAKY_RELU] = pull_leaky,
    [HVI_TANH] = PULL_BY(pull_tanh), [HVI_SIGMOID] = PULL_BY(pull_sigmoid),
    [HVI_CELU] = PULL_BY(pull_celu), [HVI_GELU] = pull_slope,
    [HVI_SOFTPLUS] = pull_slope,     [HVI_SOFTMAX] = pull_softmax};

/* n elements from offset `at` of C, y and the slopes */
static void finish_run(const hvi_product *p, size_t at, size_t n) {
  const hvi_activation s = p->activation;
  const bool kept = KEPT >> s & 1u;
  real *c = p->c, *slope = p->slope;
  const real *from = kept ? p->y_slope : p->y;
  if (s == HVI_IDENTITY) return;
  if (p->finish == HVI_FINISH_PULL)
    pulls[s](c + at, from + at, n);
  else
    activations[s](c + at, kept && slope ? slope + at : NULL, n);
}

/* Rows first .. first + rows; those without gaps are one run, unless the activation mixes a row. */
static void finish(const hvi_product *p, size_t first, size_t rows) {
  if (p->finish != HVI_FINISH_ACTIVATE && p->finish != HVI_FINISH_PULL) return;
  if (p->c_row == p->n && p->activation != HVI_SOFTMAX)
    finish_run(p, first * p->c_row, rows * p->n);
  else
    for (size_t i = first; i < first + rows; i++) finish_run(p, i * p->c_row, p->n);
}

enum { WIDE_TILE = 4 };

/* A few rows of A and of C. */
typedef struct panel {
  const real *a;
  size_t a_row, a_step;
  real *c;
  size_t rows;
} panel;

ALWAYS_INLINE void put(const hvi_product *p, real *c, size_t j, size_t count, vf sum) {
  if (p->finish == HVI_FINISH_ADD)
    sum = load_some(c + j, count) + sum;
  else if (p->finish == HVI_FINISH_ACTIVATE && p->bias)
    sum += load_some((const real *)p->bias + j, count);
  store_some(c + j, sum, count);
}

/* The sums of a tile with all its columns, what they become being decided once. */
ALWAYS_INLINE void put_whole(const hvi_product *p, real *c, size_t j, size_t rows, size_t vectors,
                             vf sum[TALL_ROWS][WIDE_TILE]) {
  const real *bias = p->finish == HVI_FINISH_ACTIVATE ? p->bias : NULL;
  const size_t c_row = p->c_row;
  c += j;
  if (p->finish == HVI_FINISH_ADD) {
    UNROLL for (size_t r = 0; r < rows; r++) {
      UNROLL for (size_t v = 0; v < vectors; v++) sum[r][v] =
          load(c + r * c_row + v * WIDTH) + sum[r][v];
    }
  } else if (bias) {
    UNROLL for (size_t v = 0; v < vectors; v++) {
      const vf b = load(bias + j + v * WIDTH);
      UNROLL for (size_t r = 0; r < rows; r++) sum[r][v] += b;
    }
  }
  UNROLL for (size_t r = 0; r < rows; r++) {
    UNROLL for (size_t v = 0; v < vectors; v++) store(c + r * c_row + v * WIDTH, sum[r][v]);
  }
}

/* rows x vectors sums at column j; both counts and one of A's strides are constants where this is
 * inlined. */
ALWAYS_INLINE void tile(const hvi_product *p, const panel *at, size_t j, size_t rows,
                        size_t vectors, size_t a_row, size_t a_step) {
  vf sum[TALL_ROWS][WIDE_TILE];
  const real *a = at->a, *b = (const real *)p->b + j;
  const size_t b_row = p->b_row;
  UNROLL for (size_t r = 0; r < rows; r++) {
    UNROLL for (size_t v = 0; v < vectors; v++) sum[r][v] = (vf){0};
  }
  for (size_t l = 0; l < p->k; l++, a += a_step, b += b_row) {
    vf bs[WIDE_TILE];
    UNROLL for (size_t v = 0; v < vectors; v++) bs[v] = load(b + v * WIDTH);
    UNROLL for (size_t r = 0; r < rows; r++) {
      const vf as = splat(a[r * a_row]);
      UNROLL for (size_t v = 0; v < vectors; v++) sum[r][v] += as * bs[v];
    }
  }
  if (p->n - j >= vectors * WIDTH) {
    put_whole(p, at->c, j, rows, vectors, sum);
    return;
  }
  UNROLL for (size_t r = 0; r < rows; r++) {
    UNROLL for (size_t v = 0; v < vectors; v++) {
      const size_t first = j + v * WIDTH;
      put(p, at->c + r * p->c_row, first, lanes(p->n - first), sum[r][v]);
    }
  }
}

/* Tiles of the heights that panels have. At most three rows can be WIDE_TILE vectors wide. */
ALWAYS_INLINE void tile_of_rows(const hvi_product *p, const panel *at, size_t j, size_t vectors,
                                size_t a_row, size_t a_step) {
  if (at->rows == 1) tile(p, at, j, 1, vectors, a_row, a_step);
  if (at->rows == 2) tile(p, at, j, 2, vectors, a_row, a_step);
  if (at->rows == 3) tile(p, at, j, 3, vectors, a_row, a_step);
  if (vectors == WIDE_TILE) return;
  if (at->rows == 4) tile(p, at, j, 4, vectors, a_row, a_step);
  if (at->rows == TILE_ROWS) tile(p, at, j, TILE_ROWS, vectors, a_row, a_step);
}

/* One of A's strides is 1, which the compiler should know. */
#define DEFINE_TILES(vectors)                                                                      \
  static void tile_##vectors(const hvi_product *p, const panel *at, size_t j) {                    \
    if (at->a_step == 1)                                                                           \
      tile_of_rows(p, at, j, vectors, at->a_row, 1);                                               \
    else if (at->rows > (size_t)TILE_ROWS && vectors < WIDE_TILE)                                  \
      tile(p, at, j, TALL_ROWS, vectors, 1, at->a_step);                                           \
    else                                                                                           \
      tile_of_rows(p, at, j, vectors, 1, at->a_step);                                              \
  }

DEFINE_TILES(1)
DEFINE_TILES(2)
DEFINE_TILES(4)

#if defined(__AVX512F__)

/* Half a vector of columns: such FMAs take half the time. */
ALWAYS_INLINE void half_tile(const hvi_product *p, const panel *at, size_t j, size_t rows,
                             size_t a_row, size_t a_step) {
  vh sum[TALL_ROWS];
  const real *a = at->a, *b = (const real *)p->b + j;
  const size_t b_row = p->b_row;
  UNROLL for (size_t r = 0; r < rows; r++) sum[r] = (vh){0};
  for (size_t l = 0; l < p->k; l++, a += a_step, b += b_row) {
    vh bs;
    memcpy(&bs, b, sizeof bs);
    UNROLL for (size_t r = 0; r < rows; r++) sum[r] += (a[r * a_row] - (vh){0}) * bs;
  }
  UNROLL for (size_t r = 0; r < rows; r++) {
    vf full = {0};
    memcpy(&full, &sum[r], sizeof sum[r]);
    put(p, at->c + r * p->c_row, j, p->n - j, full);
  }
}

/* A panel of fewer than TILE_ROWS is rare, and goes row by row. */
static void tile_half(const hvi_product *p, const panel *at, size_t j) {
  if (at->rows < TILE_ROWS) {
    panel row = *at;
    for (size_t r = 0; r < at->rows; r++, row.a += at->a_row, row.c += p->c_row)
      half_tile(p, &row, j, 1, at->a_row, at->a_step);
  } else if (at->a_step == 1) {
    half_tile(p, at, j, TILE_ROWS, at->a_row, 1);
  } else if (at->rows > (size_t)TILE_ROWS) {
    half_tile(p, at, j, TALL_ROWS, 1, at->a_step);
  } else {
    half_tile(p, at, j, TILE_ROWS, 1, at->a_step);
  }
}

/* The columns from j on, at most 2 WIDTH of them. */
static void multiply_rest(const hvi_product *p, const panel *at, size_t j) {
  if (p->n - j > WIDTH + WIDTH / 2) {
    tile_2(p, at, j);
    return;
  }
  if (p->n - j > WIDTH / 2) {
    tile_1(p, at, j);
    j += WIDTH;
  }
  if (j < p->n) tile_half(p, at, j);
}

#else

static void multiply_rest(const hvi_product *p, const panel *at, size_t j) {
  if (p->n - j > WIDTH)
    tile_2(p, at, j);
  else
    tile_1(p, at, j);
}

#endif

/* What is still to be fetched, and how much of it with each tile: evenly, since the few misses that
 * a core can have under way would else stand in the way of its own. */
typedef struct fetch {
  const char *at, *end;
  size_t share;
} fetch;

static void fetch_share(fetch *f) {
  for (size_t k = 0; k < f->share && f->at < f->end; k++, f->at += 64)
    __builtin_prefetch(f->at, 0, 2);
}

static fetch fetch_of(const hvi_product *p) {
  const size_t tiles = (p->m / TILE_ROWS + 1) * (p->n / (2 * WIDTH) + 1);
  fetch f = {.at = p->next, .share = p->next_size / 64 / tiles + 1};
  if (f.at) f.end = f.at + p->next_size;
  return f;
}

static void multiply_panel(const hvi_product *p, const panel *at, fetch *f) {
  size_t j = 0;
  if (at->rows < 4)
    for (; j + WIDE_TILE * WIDTH <= p->n; j += WIDE_TILE * WIDTH) tile_4(p, at, j);
  for (; j + 2 * WIDTH <= p->n; j += 2 * WIDTH) {
    fetch_share(f);
    tile_2(p, at, j);
  }
  if (j < p->n) multiply_rest(p, at, j);
}

/* The dot products of `rows` rows of A with a contiguous b. */
ALWAYS_INLINE void dots(const hvi_product *p, size_t i, size_t rows) {
  const real *a = (const real *)p->a + i * p->a_row, *b = p->b;
  vf sum[8];
  size_t l = 0;
  UNROLL for (size_t r = 0; r < rows; r++) sum[r] = (vf){0};
  for (; l + WIDTH <= p->k; l += WIDTH) {
    const vf bs = load(b + l);
    UNROLL for (size_t r = 0; r < rows; r++) sum[r] += load(a + r * p->a_row + l) * bs;
  }
  if (l < p->k) {
    const vf bs = load_part(b + l, p->k - l);
    UNROLL for (size_t r = 0; r < rows; r++) sum[r] +=
        load_part(a + r * p->a_row + l, p->k - l) * bs;
  }
  for (size_t r = 0; r < rows; r++) {
    real *c = (real *)p->c + (i + r) * p->c_row, value = across(sum[r]);
    if (p->finish == HVI_FINISH_ADD) value = *c + value;
    if (p->finish == HVI_FINISH_ACTIVATE && p->bias) value += *(const real *)p->bias;
    *c = value;
  }
}

static void product_of_one_column(const hvi_product *p) {
  size_t i = 0;
  for (; i + 8 <= p->m; i += 8) dots(p, i, 8);
  for (; i < p->m; i++) dots(p, i, 1);
  finish(p, 0, p->m);
}

static void product(const hvi_product *p) {
  if (p->n == 1 && p->b_row == 1 && p->a_step == 1) {
    product_of_one_column(p);
    return;
  }
  const size_t tall = p->a_step == 1 ? TILE_ROWS : TALL_ROWS;
  fetch f = fetch_of(p);
  for (size_t i = 0, rows; i < p->m; i += rows) {
    const size_t left = p->m - i;
    rows = left >= tall ? tall : left >= TILE_ROWS ? TILE_ROWS : left >= 4 ? 4 : left;
    const panel at = {(const real *)p->a + i * p->a_row, p->a_row, p->a_step,
                      (real *)p->c + i * p->c_row, rows};
    multiply_panel(p, &at, &f);
    finish(p, i, rows);
  }
}
