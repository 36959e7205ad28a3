/* The kernels for the instruction set that every CPU of its kind has; src/CMakeLists.txt sets the
 * flags. */
#include "ensemble/lanes.h"

#define HVI_LANES_BUILD hvi_lanes_baseline
#define HVI_LANES_NAME  "baseline"

#include "ensemble/kernel.h"
