/*
 * BLAS on one thread, and on kernels that are known.
 *
 * OpenBLAS cuts its sums by the number of its threads, which belongs to the whole process. So that
 * results do not depend on it, every call of BLAS or LAPACK that is large enough to be shared
 * stands between hold and release: there the number is 1, and afterwards what the program around
 * the library has set. Calls by other threads of that program in the meantime see 1 as well.
 *
 * It also has kernels for many types of processor, which differ in the last bits. So a level of
 * instructions has kernels of its own: the program sees to it that they are taken, unless the
 * environment (OPENBLAS_CORETYPE) asks for others; in other programs OpenBLAS chooses.
 */
#pragma once

#include "base/cpu.h"

#include <stdbool.h>

/* May be nested, and called by several threads at once; release takes what hold returned. */
bool hvi_blas_hold(void);
void hvi_blas_release(bool held);

/* OpenBLAS's name for the kernels of a level; NULL: it has none. */
const char *hvi_blas_core(enum hvi_cpu_level level);
/* The level in use, and the kernels behind it where they are not its own: "avx512", "avx2-Zen". */
void hvi_blas_level(char *text, size_t size);
