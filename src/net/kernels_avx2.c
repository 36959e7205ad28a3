/* The kernels for AVX2 (x86-64-v3); src/CMakeLists.txt sets the flags. */
#include "net/kernels_body.h"

const hvi_net_kernels hvi_net_avx2 = KERNELS("avx2");
