/* The trajectories' kernels for the instruction set that every CPU of its kind has;
 * src/CMakeLists.txt sets the flags. */
#include "experiments/linear_kernel.h"

const hvi_linear_kernel hvi_linear_baseline = {
    .name = "baseline", .uniforms = uniforms, .step_3 = step_3, .step_5 = step_5};
