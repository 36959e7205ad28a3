/* A network's inside, shared by the files of this folder. */
#ifndef HVI_MODEL_MLP_H
#define HVI_MODEL_MLP_H

#include "net/batch.h"
#include "num/bulk.h"

#include <hvi/mlp.h>

typedef struct hvi_mlp {
  hvi_model base;
  hvi_block block;
  hvi_net *net;
  const hvi_bulk *bulk;
  size_t rows, x_row, threads;
  float *input; /* [rows][x_row]; NULL: in the cache */
  size_t part_count;
  hvi_mlp_part *parts;
  /* where things lie in a cache, in floats from its first whole cache line */
  size_t weights, direction, gradient, x, trace, scratch;
} hvi_mlp;

/* The network behind a model, or NULL. */
const hvi_mlp *hvi_mlp_of(const hvi_model *m);

/* The batch that a cache holds. */
hvi_batch hvi_mlp_batch_of(const hvi_mlp *mlp, double *cache);

#endif
