/* The inside of a stack and of players side by side, for code that runs many of them at once. */
#pragma once

#include "model/activation.h"

#include <hvi/setting.h>

/* An hvi_precision as a setting: those that can be asked for by name. */
extern const hvi_setting_table hvi_precision_table;

typedef struct hvi_stack_layer {
  size_t in, out;
  double *matrix;      /* [out][in] when fixed, NULL when trainable */
  double *bias;        /* [out] when fixed, NULL otherwise */
  bool train_bias;     /* bias is in theta */
  size_t theta_matrix; /* where in theta the parts begin that are trainable */
  size_t theta_bias;
  size_t y, slope; /* where in the cache this layer's outputs and slopes begin */
  hvi_activation activation;
  double w, b; /* of a chain: the one entry of matrix and bias */
} hvi_stack_layer;

/* What a model begins with for which a network (model/mlp.h) may do the work, with ops that find it
 * here. */
typedef struct hvi_network_model {
  hvi_model base;
  struct hvi_mlp *network; /* NULL: none does */
} hvi_network_model;

typedef struct hvi_stack {
  hvi_network_model model;
  hvi_model_ops ops; /* of the network, when there is one */
  hvi_block block;
  size_t in, rows;   /* input length; number of fixed inputs, 1 when theta is the input */
  double *input;     /* [rows][in] when fixed, NULL when theta begins with it */
  double *constants; /* fixed matrices, biases and inputs, in one block */
  size_t layer_count;
  size_t back;   /* where in the cache two scratch vectors of `widest` doubles begin */
  size_t widest; /* rows x the largest width */
  hvi_precision precision;
  hvi_stack_layer layers[];
} hvi_stack;

/* The model as a stack, or NULL when it is something else. */
const hvi_stack *hvi_stack_of(const hvi_model *m);

/* Goes over to another precision, which makes no difference when theta is the input. */
hvi_status hvi_stack_set_precision(hvi_stack *s, hvi_precision precision, hvi_error *err);
