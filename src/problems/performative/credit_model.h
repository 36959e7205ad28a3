/*
 * The linear model of the credit problem, on features that answer to a deployed theta.
 *
 *   z = ( X_t theta, theta_1 .. theta_10 ),   X_t = X with eps thetabar_S taken off columns S
 *
 * Bound to a sample, thetabar is that of the sample. Bound to none it is the theta of the last
 * evaluation: what theta would meet if it were deployed now. J is X_t in either case, with the
 * deployment held fixed.
 */
#ifndef HVI_PROBLEMS_PERFORMATIVE_CREDIT_MODEL_H
#define HVI_PROBLEMS_PERFORMATIVE_CREDIT_MODEL_H

#include "problems/performative/credit_data.h"

#include <hvi/model.h>

typedef struct hvi_credit_sample {
  double theta[HVI_CREDIT_WIDTH]; /* as deployed */
} hvi_credit_sample;

/* The data stay the caller's. */
hvi_status hvi_credit_model_new(hvi_model **model, const hvi_credit_data *data, double eps,
                                hvi_error *err);

#endif
