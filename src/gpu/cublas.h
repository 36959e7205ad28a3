/* What the bare matrix products of a step take by cuBLAS. */
#pragma once

#include "net/device.h"

/* Microseconds of all products of one step of `nets` networks with `rows` rows each, in single
 * precision or TF32. NaN where cuBLAS is not installed; and, with a line in err, where it fails. */
double hvi_gpu_bare_products(const hvi_device_shape *shape, size_t nets, size_t rows, int tf32,
                             hvi_error *err);
