/* The kernels of networks in double precision, built once per level of instructions. */
#define NET_DOUBLE
#include "net/kernels_body.h"

const hvi_net_kernels HVI_LEVEL_TABLE(hvi_net_double) = {SHARED_KERNELS};
