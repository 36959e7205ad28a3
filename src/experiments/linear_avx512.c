/* The trajectories' kernels for AVX-512 (x86-64-v4); src/CMakeLists.txt sets the flags. */
#include "experiments/linear_kernel.h"

const hvi_linear_kernel hvi_linear_avx512 = {
    .name = "avx512", .uniforms = uniforms, .step_3 = step_3, .step_5 = step_5};
