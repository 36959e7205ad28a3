/* The kernels for AVX2 and FMA (x86-64-v3); src/CMakeLists.txt sets the flags. */
#include "ensemble/kernel.h"

const hvi_lanes_kernel hvi_lanes_avx2 = {
    .name = "avx2", .start = start, .step = step, .ended = ended, .exp = exponentials};
