/*
 * A stack whose every width is one: z = s_L(w_L ... s_1(w_1 theta + b_1) ... + b_L), a player of
 * hidden matching pennies.
 *
 * The value stays in a register from layer to layer, and the evaluation already multiplies up
 * J = prod_l s_l' w_l, so that a product with J costs one multiplication. The general stack would
 * send each of these numbers through memory several times, which for one unit is most of its time.
 */
#ifndef HVI_MODEL_CHAIN_H
#define HVI_MODEL_CHAIN_H

#include "model/activation.h"
#include "model/stack.h"

/* Whether a stack is a chain: theta the input, fixed layers, one unit each, elementwise. */
bool hvi_chain_fits(const hvi_stack *s);
/* Copies the numbers of each layer to where the evaluation looks for them. */
void hvi_chain_prepare(hvi_stack *s);

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

void hvi_chain_eval(const hvi_model *m, double *cache, const double *theta, double *z);
/* J' u and J v are the same product here. */
void hvi_chain_product(const hvi_model *m, double *cache, const double *theta, const double *u,
                       double *out);

#endif
