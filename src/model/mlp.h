/* A network's inside, shared by the files of this folder. */
#pragma once

#include "gpu/gang.h"
#include "model/stack.h"
#include "net/batch.h"

#include <hvi/mlp.h>
#include <hvi/tensors.h>

typedef struct hvi_mlp {
  hvi_network_model model;
  hvi_model_ops ops; /* bind is for inputs that are not fixed */
  hvi_block block;
  hvi_net *net;
  size_t rows, x_row, threads;
  double shift, scale; /* of the outputs: 0 and 1 unless rescaled */
  bool same;           /* whatever `bind` binds */
  void *input;         /* [rows][x_row] in the network's numbers; NULL: in the cache */
  void *fixed;         /* the network's parameters, those that are fixed filled in; NULL: none is */
  /* where things lie in a cache, in the network's numbers from its first whole cache line */
  size_t weights, direction, gradient, x, trace, scratch;
  hvi_member *member; /* on a device; NULL: the network computes here */
  size_t part_count;
  hvi_mlp_part parts[]; /* of theta */
} hvi_mlp;

/* The one network of all models: rows of inputs, fixed or (input NULL) bound to samples, through
 * layers of which any matrix or bias may be fixed. */
hvi_status hvi_network_new(hvi_model **model, const hvi_stack_spec *spec, hvi_error *err);

/* The network behind a model, or NULL. */
const hvi_mlp *hvi_mlp_of(const hvi_model *m);

/* From now on z = shift + scale * network. Products are scaled after the network's own. */
void hvi_mlp_rescale(hvi_model *m, double shift, double scale);

/* Before the model is used: samples are all the same, so that a device need have their rows but once. Other
 * rows for another cache are bound by hvi_mlp_bind. */
void hvi_mlp_keep(hvi_model *m);
void hvi_mlp_bind(const hvi_model *m, double *cache, const hvi_mlp_batch *batch,
                  hvi_device_rows whose);

/* Before the model is used: from now on it computes on the gang's device, which must fit. What takes
 * the trace of a pass, J J' and J, is no longer there. */
hvi_status hvi_mlp_join(hvi_model *m, hvi_gang *gang, hvi_error *err);
/* Its place on a device, or NULL. */
hvi_member *hvi_mlp_member(const hvi_model *m);

/* J'u in pieces that stay in the cache, for a network that is on no device: g[n] are its numbers from `first`
 * on. */
typedef void (*hvi_gradient_piece)(void *context, size_t first, const double *g, size_t n);
void hvi_mlp_pull_by(const hvi_model *m, double *cache, const double *u, hvi_gradient_piece take,
                     void *context);

/* hvi_mlp_save with notes. */
hvi_status hvi_mlp_write(const hvi_model *model, const double *theta, const char *path,
                         const hvi_tensor_note *notes, size_t note_count, hvi_error *err);
