/* Logistic regression on credit records, solved to rounding: where the credit problem is stable. */
#ifndef HVI_PROBLEMS_PERFORMATIVE_CREDIT_FIT_H
#define HVI_PROBLEMS_PERFORMATIVE_CREDIT_FIT_H

#include "problems/performative/credit_data.h"

/* log(1 + exp(s)) - y s, the loss of logit s */
double hvi_credit_loss(double s, double y);
double hvi_credit_sigmoid(double s);

/* theta[11] = argmin 1/n sum_i loss(x_i theta, y_i) + lambda/2 |theta without its bias|^2 by
 * Newton's method, that least value, and the curvature 1/n sum_i s'(x_i theta) x_i x_i' [11][11]
 * there. */
hvi_status hvi_credit_fit(double *theta, double *least, double *curvature,
                          const hvi_credit_data *data, double lambda, hvi_error *err);

#endif
