/* The kernels for AVX-512 (x86-64-v4); src/CMakeLists.txt sets the flags. */
#include "ensemble/kernel.h"

const hvi_lanes_kernel hvi_lanes_avx512 = {
    .name = "avx512", .start = start, .step = step, .ended = ended, .exp = exponentials};
