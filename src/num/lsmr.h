/*
 * LSMR (Fong and Saunders, 2011): least squares without a matrix.
 *
 * Finds x that minimises |A x - b|^2 + damp^2 |x|^2 from products with A and A'. Started at zero it
 * tends to the minimum-norm solution, the pseudo-inverse's.
 */
#pragma once

#include <stddef.h>

typedef struct hvi_linear_map {
  size_t rows, columns;
  void (*apply)(void *context, const double *x, double *y);   /* y[rows] = A x */
  void (*apply_t)(void *context, const double *y, double *x); /* x[columns] = A' y */
  void *context;
} hvi_linear_map;

/* Returns the number of iterations taken (each one apply and one apply_t). Stops when the relative
 * normal residual |A'r| / (|A| |r|) or the relative residual is below tol, or at max_iterations. */
size_t hvi_lsmr_solve(double *x, const hvi_linear_map *A, const double *b, double damp, double tol,
                      size_t max_iterations, double *work);
size_t hvi_lsmr_work(size_t rows, size_t columns); /* doubles in work */
