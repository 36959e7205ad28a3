/* The kernels of networks, built once per level of instructions. */
#include "net/normals_body.h"
#include "net/product_body.h"
#include "net/vectors_body.h"

const hvi_net_kernels HVI_LEVEL_TABLE(hvi_net) = {.name = HVI_LEVEL_NAME,
                                                  .product = product,
                                                  .add_rows = add_rows,
                                                  .transpose = transpose,
                                                  .adam = adam,
                                                  .follow = follow,
                                                  .normals = normals,
                                                  .exp = exponentials,
                                                  .tanh = tangents,
                                                  .log = logarithms};
