/*
 * BiCGSTAB (van der Vorst, 1992): A x = b for a square A that is not symmetric, from products with
 * A alone.
 */
#pragma once

#include "num/lsmr.h"

/*
 * Improves x[n] until |b - A x| <= tol |b|, in rounds that each start from the true residual: the
 * recursive one drifts away from it. Returns |b - A x| / |b| as reached, which is above tol when
 * max_products were spent or a round no longer helped. A->apply_t is not used.
 */
double hvi_bicgstab_solve(double *x, const hvi_linear_map *A, const double *b, double tol,
                          size_t max_products, double *work);
size_t hvi_bicgstab_work(size_t n); /* doubles in work */
