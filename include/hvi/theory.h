/*
 * What the theorems say about a step size and an inner accuracy, and whether a run agrees.
 *
 * With F mu-strongly monotone and L-Lipschitz on Z and a solution in Z's relative interior:
 *   exact step   |z* - Pi(z - eta F)|^2 <= kappa^2 |z - z*|^2,  kappa^2 = 1 - 2 eta mu + eta^2 L^2
 *   alpha-descent |z_{t+1} - z*|^2 <= rho |z_t - z*|^2,
 *                rho = 1 - 2 eta (mu - alpha L) + (1 + alpha^2) eta^2 L^2
 */
#ifndef HVI_THEORY_H
#define HVI_THEORY_H

#include <hvi/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_rates {
  double kappa2;      /* at eta */
  double rho;         /* at eta and alpha; NaN when alpha is NaN */
  double eta_max;     /* 2 mu / L^2: the exact step contracts below */
  double eta_best;    /* mu / L^2 */
  double eta_theorem; /* 2 mu / 5 L^2 */
  double eta_alpha;   /* 2 (mu - alpha L) / ((1 + alpha^2) L^2): rho < 1 below; <= 0: for no eta */
  double alpha_max;   /* mu / L: necessary for any eta */
  double alpha_eta;   /* largest alpha with rho < 1 at this eta; <= 0: none */
  double alpha_theorem; /* mu / 2L */
  double rho_theorem;   /* 1 - mu^2 / 5 L^2 */
} hvi_rates;

HVI_API hvi_rates hvi_theory_rates(double mu, double lipschitz, double eta, double alpha);

typedef enum hvi_verdict {
  HVI_SAFE,        /* the theorem covers these settings and promises convergence */
  HVI_UNSAFE,      /* the theorem does not hold and the run did not converge */
  HVI_NOT_COVERED, /* the theorem does not hold, yet the run converged, or nothing is known */
  HVI_VERDICT_COUNT
} hvi_verdict;

HVI_API const char *hvi_verdict_name(hvi_verdict v);

/* What `hvi inspect` shows. */
typedef struct hvi_inspection {
  hvi_constants constants;
  double eta;         /* in force */
  double alpha;       /* asked for; NaN for a fixed inner count */
  double alpha_worst; /* largest reached in the run */
  double alpha_median;
  hvi_rates rates;      /* at eta and at alpha_worst (or alpha, when that is larger) */
  double rate_observed; /* per outer step, of |z - z*|^2 (of residual^2 when z* is unknown) */
  double rate_exact;    /* the same for the exact projected step in output space */
  hvi_outcome outcome;
  size_t outer;
  double dist2, residual; /* at the end of the run */
  hvi_verdict verdict;
  char explanation[1024]; /* plain sentences: why, and which setting to change */
} hvi_inspection;

/* Looks at a problem under these settings, with a run of at most `steps` outer steps. */
HVI_API hvi_status hvi_theory_inspect(hvi_inspection *out, const hvi_problem *p,
                                      const hvi_settings *s, size_t steps, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
