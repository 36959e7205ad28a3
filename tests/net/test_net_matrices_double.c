/* The same in double precision. */
#define NET_TEST_DOUBLE
#include "test_net_matrices.c"
