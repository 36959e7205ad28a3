/* The kernels for AVX2 and FMA (x86-64-v3); src/CMakeLists.txt sets the flags. */
#include "ensemble/lanes.h"

#define HVI_LANES_BUILD hvi_lanes_avx2
#define HVI_LANES_NAME  "avx2"

#include "ensemble/kernel.h"
