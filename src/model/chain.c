#include "model/chain.h"

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
  *z = hvi_chain_value((const hvi_stack *)m, *theta, cache);
}

void hvi_chain_product(const hvi_model *m, double *cache, const double *theta, const double *u,
                       double *out) {
  (void)m, (void)theta;
  *out = *cache * *u;
}
