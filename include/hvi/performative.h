/*
 * Performative prediction: data that answer to the model that is deployed.
 *
 *   z* = argmin over z in Z of f_{z*}(z),   f_z' the expected loss on the data that z' brings about
 *
 * A deployment is a draw of the problem: the sample holds the data that answer to the theta that
 * was current, and outer steps until the next draw work on those. Repeated risk minimisation,
 * repeated gradient descent, greedy and lazy deployment are settings of the one loop
 * (docs/performative.md). The built-in problems are performative-linear, performative-mean, credit
 * and credit-rir.
 */
#ifndef HVI_PERFORMATIVE_H
#define HVI_PERFORMATIVE_H

#include <hvi/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a deployed theta is worth. A value that a problem does not have is NaN. */
typedef struct hvi_performative_measures {
  double loss_before;     /* on the base data, before anybody answers */
  double loss_after;      /* on the data that theta brings about */
  double accuracy_before; /* share of labels that are predicted right, on the same two */
  double accuracy_after;
  /* How much a model retrained on the data that theta brings about would gain: loss_after less the
   * least loss there. NaN for credit-rir, where the least loss takes a solve. */
  double gap;
} hvi_performative_measures;

/* HVI_ERROR_UNSUPPORTED for a problem of another kind. */
HVI_API hvi_status hvi_performative_measure(hvi_performative_measures *out, const hvi_problem *p,
                                            const double *theta, hvi_error *err);

/* The contraction test beta / mu < 1 of repeated risk minimisation. */
typedef struct hvi_performative_coverage {
  double beta, mu;
  const char *key; /* the problem's key that decides, "eps" or "delta" */
  double value;    /* its value */
  double limit;    /* beta / mu is 1 there */
  bool below;      /* values below the limit are covered; otherwise those above it */
  const char *how; /* where beta and mu come from, in one sentence */
  /* The same test in the parameters, for a problem that is convex in them; NaN otherwise. */
  double parameter_beta, parameter_mu, parameter_limit;
} hvi_performative_coverage;

/* False for a problem of another kind. */
HVI_API bool hvi_performative_cover(hvi_performative_coverage *out, const hvi_problem *p);

#ifdef __cplusplus
}
#endif

#endif
