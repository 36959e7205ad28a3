/* The kernels for the instruction set that every CPU of its kind has; src/CMakeLists.txt sets the
 * flags. */
#include "ensemble/kernel.h"

const hvi_lanes_kernel hvi_lanes_baseline = {
    .name = "baseline", .start = start, .step = step, .ended = ended, .exp = exponentials};
