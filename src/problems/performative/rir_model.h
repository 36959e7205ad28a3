/*
 * The network of the resample-if-rejected problem, on rows whose strategic features may come from
 * somebody else.
 *
 *   a_k = W_k x,  h_k = max(a_k, a_k / 100),  z = (1 - delta) sigmoid(w'h + c),   k = 1 .. 8
 *
 * x is row i with the strategic features of row source[i]. theta = {W[8][11], w[8], c}.
 */
#ifndef HVI_PROBLEMS_PERFORMATIVE_RIR_MODEL_H
#define HVI_PROBLEMS_PERFORMATIVE_RIR_MODEL_H

#include "problems/performative/credit_data.h"

#include <hvi/model.h>
#include <hvi/rng.h>

enum { HVI_RIR_HIDDEN = 8, HVI_RIR_DIM = HVI_RIR_HIDDEN * (HVI_CREDIT_WIDTH + 1) + 1 };

/* Takes nothing over: the data stay the caller's. `seed` names the fixed lot that stands for the
 * mean when no sample is bound. */
hvi_status hvi_rir_model_new(hvi_model **model, const hvi_credit_data *data, double delta,
                             uint64_t seed, hvi_error *err);

/* The sample, source[rows]: what theta brings about with fresh random numbers. */
void hvi_rir_deploy(const hvi_model *m, const double *theta, uint32_t *source, hvi_rng *rng);
/* z[rows] of theta on the base data (own lot NULL), or on the fixed lot that theta brings about. */
void hvi_rir_predict(const hvi_model *m, const double *theta, bool deployed, double *z,
                     double *cache);

#endif
