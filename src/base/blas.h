/*
 * BLAS on one thread.
 *
 * OpenBLAS cuts its sums by the number of its threads, which belongs to the whole process. So that
 * results do not depend on it, every call of BLAS or LAPACK that is large enough to be shared
 * stands between hold and release: there the number is 1, and afterwards what the program around
 * the library has set. Calls by other threads of that program in the meantime see 1 as well.
 */
#pragma once

#include <stdbool.h>

/* May be nested, and called by several threads at once; release takes what hold returned. */
bool hvi_blas_hold(void);
void hvi_blas_release(bool held);
