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

/*
 * A stack whose every width is one: z = s_L(w_L ... s_1(w_1 theta + b_1) ... + b_L), a player of
 * hidden matching pennies.
 *
 * The value stays in a register from layer to layer, and the evaluation already multiplies up
 * J = prod_l s_l' w_l, so that a product with J costs one multiplication. The general stack would
 * send each of these numbers through memory several times, which for one unit is most of its time.
 */
bool hvi_chain_is(const hvi_model *m);

/* z and J at theta. */
static inline double hvi_chain_value(const hvi_stack *s, double theta, double *jacobian) {
  double x = theta, product = 1.0;
  for (const hvi_stack_layer *layer = s->layers, *end = layer + s->layer_count; layer < end;
       layer++) {
    double slope;
    x = hvi_activation_value(layer->activation, layer->w * x + layer->b, &slope);
    product *= slope * layer->w;
  }
  *jacobian = product;
  return x;
}
