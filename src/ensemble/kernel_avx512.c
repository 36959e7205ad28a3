/* The kernels for AVX-512 (x86-64-v4); src/CMakeLists.txt sets the flags. */
#include "ensemble/lanes.h"

#define HVI_LANES_BUILD hvi_lanes_avx512
#define HVI_LANES_NAME  "avx512"

#include "ensemble/kernel.h"
