/* A stack whose every width is one: its Jacobian is a number. */
#ifndef HVI_MODEL_CHAIN_H
#define HVI_MODEL_CHAIN_H

#include "model/stack.h"

/* Whether a stack is a chain: theta the input, fixed layers, one unit each, elementwise. */
bool hvi_chain_fits(const hvi_stack *s);

/* Copies the numbers of each layer to where the evaluation looks for them. */
void hvi_chain_prepare(hvi_stack *s);

void hvi_chain_eval(const hvi_model *m, double *cache, const double *theta, double *z);
/* J' u and J v are the same product here. */
void hvi_chain_product(const hvi_model *m, double *cache, const double *theta, const double *u,
                       double *out);

#endif
