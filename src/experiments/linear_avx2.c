/* The trajectories' kernels for AVX2 and FMA (x86-64-v3); src/CMakeLists.txt sets the flags. */
#include "experiments/linear_kernel.h"

const hvi_linear_kernel hvi_linear_avx2 = {
    .name = "avx2", .uniforms = uniforms, .step_3 = step_3, .step_5 = step_5};
