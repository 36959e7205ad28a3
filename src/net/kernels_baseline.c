/* The kernels for every CPU. */
#include "net/kernels_body.h"

const hvi_net_kernels hvi_net_baseline = KERNELS("baseline");
