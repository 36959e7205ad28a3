/*
 * One thread, arrays far larger than the caches.
 *
 *   triad        a = b + s c                       24 bytes an element
 *   P z random   8 successors anywhere a state     12 bytes an entry, 8 a row for its start, z and
 *                the result once: whatever the gathers of z move beyond that counts as loss
 *   P z banded   8 neighbours a state              the same, with z read in order
 *   Phi theta    16 features                       8 bytes an entry
 *   Phi' u
 */
#include "bellman.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "num/dense.h"
#include "num/sparse.h"

#include <hvi/rng.h>

#include <math.h>

enum { BRANCH = 8, FEATURES = 16 };

typedef struct arena {
  size_t n;
  hvi_sparse random, banded;
  double *phi;     /* [n][FEATURES] */
  double *z, *out; /* [n] */
  double theta[FEATURES];
  double *a, *b, *c; /* [FEATURES / 2 * n] the triad's: they borrow phi's room and more */
} arena;

static void triad(arena *r) {
  const size_t n = r->n * FEATURES / 2;
  const double s = r->theta[0];
  double *restrict a = r->a;
  const double *restrict b = r->b, *restrict c = r->c;
  for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

static void random_product(arena *r) { hvi_sparse_mul(r->out, &r->random, r->z); }
static void banded_product(arena *r) { hvi_sparse_mul(r->out, &r->banded, r->z); }
static void values(arena *r) { hvi_dense_mul(r->out, r->phi, r->theta, r->n, FEATURES); }
static void values_t(arena *r) { hvi_dense_mul_t(r->theta, r->phi, r->z, r->n, FEATURES); }

static const struct {
  const char *label, *matrix;
  void (*run)(arena *r);
} products[BELLMAN_ROWS] = {{"triad", "a = b + s c", triad},
                            {"P z", "random, 8 a row", random_product},
                            {"P z", "banded, 8 a row", banded_product},
                            {"Phi theta", "16 features", values},
                            {"Phi' u", "16 features", values_t}};

static double bytes_of(const arena *r, size_t row) {
  const double n = (double)r->n;
  if (row == BELLMAN_TRIAD) return 24.0 * n * FEATURES / 2;
  if (row <= 2) return n * (12.0 * BRANCH + 8.0 + 16.0);
  return n * (8.0 * FEATURES + 8.0);
}

/* Successors of state i: anywhere, or i - 4 .. i + 3 (pushed in at the ends). */
static void fill_matrix(hvi_sparse *S, bool banded) {
  hvi_rng rng = hvi_rng_new(1, "bench", banded);
  for (size_t i = 0; i < S->rows; i++) {
    size_t low = i < BRANCH / 2 ? 0 : i - BRANCH / 2;
    if (low + BRANCH > S->rows) low = S->rows - BRANCH;
    for (size_t k = 0; k < BRANCH; k++) {
      const double u = hvi_rng_uniform(&rng);
      S->column[i * BRANCH + k] = (uint32_t)(banded ? low + k : (size_t)(u * (double)S->rows));
      S->value[i * BRANCH + k] = 1.0 / BRANCH;
    }
    S->start[i + 1] = (i + 1) * BRANCH;
  }
}

static void release(arena *r) {
  hvi_sparse_free(&r->random);
  hvi_sparse_free(&r->banded);
  hvi_free(r->phi);
  hvi_free(r->z);
  hvi_free(r->out);
  hvi_free(r->c);
}

static hvi_status prepare(arena *r, size_t n, hvi_error *err) {
  *r = (arena){.n = n, .theta = {1.0}};
  hvi_status status = hvi_sparse_new(&r->random, n, n, n * BRANCH, err);
  if (!status) status = hvi_sparse_new(&r->banded, n, n, n * BRANCH, err);
  if (status) return status;
  r->phi = hvi_alloc_doubles(n * FEATURES);
  r->z = hvi_alloc_doubles(n);
  r->out = hvi_alloc_doubles(n);
  r->c = hvi_alloc_doubles(n * FEATURES / 2);
  if (!r->phi || !r->z || !r->out || !r->c) return hvi_error_memory(err, "the benchmark");
  r->a = r->phi;
  r->b = r->phi + n * FEATURES / 2;
  for (size_t i = 0; i < n; i++) r->z[i] = 1.0;
  fill_matrix(&r->random, false);
  fill_matrix(&r->banded, true);
  return hvi_sparse_tidy(&r->random, err);
}

static double fastest(arena *r, size_t row, size_t repeats) {
  double best = INFINITY;
  products[row].run(r);
  for (size_t k = 0; k < repeats; k++) {
    const double start = hvi_clock_now();
    products[row].run(r);
    best = fmin(best, hvi_clock_now() - start);
  }
  return best;
}

hvi_status bench_bellman_run(void *measured, size_t *done, const bench_options *o, hvi_error *err) {
  bellman_row *rows = measured;
  arena r;
  *done = 0;
  hvi_status status = prepare(&r, o->states, err);
  for (size_t k = 0; k < BELLMAN_ROWS && !status; k++) {
    if (o->progress && !o->progress(o->context, k, BELLMAN_ROWS)) break;
    rows[k] = (bellman_row){.label = products[k].label,
                            .matrix = products[k].matrix,
                            .seconds = fastest(&r, k, o->repeats),
                            .bytes = bytes_of(&r, k)};
    *done = k + 1;
  }
  release(&r);
  return status;
}
