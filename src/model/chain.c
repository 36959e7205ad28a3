/*
 * z = s_L(w_L ... s_1(w_1 theta + b_1) ... + b_L), a player of hidden matching pennies.
 *
 * The value stays in a register from layer to layer, and the evaluation already multiplies up
 * J = prod_l s_l' w_l, so that a product with J costs one multiplication. The general stack would
 * send each of these numbers through memory several times, which for one unit is most of its time.
 */
#include "model/chain.h"

#include "model/activation.h"

bool hvi_chain_fits(const hvi_stack *s) {
  if (s->input || s->in != 1) return false;
  for (size_t l = 0; l < s->layer_count; l++) {
    const hvi_stack_layer *layer = &s->layers[l];
    const bool fixed = layer->matrix && !layer->train_bias;
    if (layer->out != 1 || !fixed || layer->activation == HVI_SOFTMAX) return false;
  }
  return true;
}

void hvi_chain_prepare(hvi_stack *s) {
  for (size_t l = 0; l < s->layer_count; l++) {
    hvi_stack_layer *layer = &s->layers[l];
    layer->w = *layer->matrix;
    layer->b = layer->bias ? *layer->bias : 0.0;
  }
}

void hvi_chain_eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const hvi_stack *s = (const hvi_stack *)m;
  double x = *theta, jacobian = 1.0;
  for (const hvi_stack_layer *layer = s->layers, *end = layer + s->layer_count; layer < end;
       layer++) {
    double slope;
    x = hvi_activation_value(layer->activation, layer->w * x + layer->b, &slope);
    jacobian *= slope * layer->w;
  }
  *cache = jacobian;
  *z = x;
}

void hvi_chain_product(const hvi_model *m, double *cache, const double *theta, const double *u,
                       double *out) {
  (void)m, (void)theta;
  *out = *cache * *u;
}
