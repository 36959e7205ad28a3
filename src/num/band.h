/*
 * Square matrices whose entries all lie within `width` of the diagonal; a dense one has width
 * n - 1. Elimination stays within the band, at n width^2 products.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct hvi_band {
  size_t n, width;
  double *entries; /* [n][2 width + 1]; row i holds columns i - width .. i + width */
} hvi_band;

static inline double *hvi_band_row(const hvi_band *A, size_t i) {
  return A->entries + i * (2 * A->width + 1) + A->width; /* index with j - i */
}

/*
 * The stationary law x' = x' A of an irreducible transition matrix, by the elimination of
 * Grassmann, Taksar and Heyman: only sums, products and quotients of numbers that are not negative,
 * so every entry is accurate to rounding however slowly the chain mixes. Overwrites A. False when
 * an entry of the law is too small for a double.
 */
bool hvi_band_stationary(double *x, hvi_band *A);

/* A = L U in place, without exchanges: for diagonally dominant matrices. Then x = A^-1 x. */
void hvi_band_factor(hvi_band *A);
void hvi_band_solve(double *x, const hvi_band *LU);
