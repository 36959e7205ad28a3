/* The inside of a stack and of players side by side, for code that runs many of them at once. */
#ifndef HVI_MODEL_STACK_H
#define HVI_MODEL_STACK_H

#include <hvi/model.h>

typedef struct hvi_stack_layer {
  size_t in, out;
  double *matrix;      /* [out][in] when fixed, NULL when trainable */
  double *bias;        /* [out] when fixed, NULL otherwise */
  bool train_bias;     /* bias is in theta */
  size_t theta_matrix; /* where in theta the trainable parts begin */
  size_t theta_bias;
  size_t y, slope; /* where in the cache this layer's outputs and slopes begin */
  hvi_activation activation;
  double w, b; /* of a chain: the one entry of matrix and bias */
} hvi_stack_layer;

typedef struct hvi_stack {
  hvi_model base;
  hvi_block block;
  size_t in, rows; /* input length; number of fixed inputs, 1 when theta is the input */
  double *input;   /* [rows][in] when fixed, NULL when theta begins with it */
  size_t layer_count;
  hvi_stack_layer *layers;
  bool trainable_layers; /* some layer has parameters of its own */
  size_t back;           /* where in the cache two scratch vectors of `widest` doubles begin */
  size_t widest;         /* rows x the largest width */
} hvi_stack;

/* The model as a stack, or NULL when it is something else. */
const hvi_stack *hvi_stack_of(const hvi_model *m);

#endif
