/* The kernels for AVX-512 (x86-64-v4); src/CMakeLists.txt sets the flags. */
#include "net/kernels_body.h"

const hvi_net_kernels hvi_net_avx512 = KERNELS("avx512");
