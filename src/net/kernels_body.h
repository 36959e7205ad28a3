/* The kernels, compiled once per instruction set by the source files that include this. */
#ifndef HVI_NET_KERNELS_BODY_H
#define HVI_NET_KERNELS_BODY_H

#include "net/normals_body.h"
#include "net/product_body.h"
#include "net/vectors_body.h"

#define KERNELS(title)                                                                             \
  {                                                                                                \
    .name = title, .product = product, .add_rows = add_rows, .transpose = transpose, .adam = adam, \
    .follow = follow, .normals = normals, .exp = exponentials, .tanh = tangents, .log = logarithms \
  }

#endif
