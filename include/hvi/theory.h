/*
 * What the theorems say about a step size and an inner accuracy, and whether a run agrees.
 *
 * With F mu-strongly monotone and L-Lipschitz on Z and a solution in Z's relative interior:
 *   exact step    |z_t^* - z*|^2 <= kappa^2 |z_t - z*|^2,  kappa^2 = 1 - 2 eta mu + eta^2 L^2
 *   alpha-descent |z_{t+1} - z*|^2 <= rho |z_t - z*|^2,
 *                 rho = 1 - 2 eta (mu - alpha L) + (1 + alpha^2) eta^2 L^2
 * where z_t^* = Pi(z_t - eta F(z_t)) is the point that an exact inner solve would reach.
 */
#ifndef HVI_THEORY_H
#define HVI_THEORY_H

#include <hvi/solver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bounds on step sizes and accuracies: zero or less means that there is none. */
typedef struct hvi_rates {
  double kappa2;        /* at eta */
  double rho;           /* at eta and alpha; NaN when alpha is NaN */
  double rho_sharp;     /* (kappa + alpha eta L)^2, which the proof rounds up to rho: at most rho
                           while kappa <= 1, and a bound for every eta */
  double eta_max;       /* 2 mu / L^2: the exact step contracts below */
  double eta_best;      /* mu / L^2 */
  double eta_theorem;   /* 2 mu / 5 L^2 */
  double eta_alpha;     /* 2 (mu - alpha L) / ((1 + alpha^2) L^2): rho < 1 below */
  double alpha_max;     /* mu / L: for alpha at or above, rho >= 1 whatever eta is */
  double alpha_eta;     /* rho < 1 for alpha below this, at this eta */
  double alpha_theorem; /* mu / 2L, to go with eta_theorem */
  double rho_theorem;   /* 1 - mu^2 / 5 L^2, what the two promise together */
} hvi_rates;

/* What theory says of F with these constants, at this eta and alpha. */
HVI_API hvi_rates hvi_theory_rates(double mu, double lipschitz, double eta, double alpha);

typedef enum hvi_verdict {
  HVI_SAFE,        /* the theorem covers these settings, and the run agrees */
  HVI_UNSAFE,      /* the theorem does not cover them, and the run did not converge */
  HVI_NOT_COVERED, /* the theorem does not cover them, yet the run converged (or showed nothing: too
                      short, or sampled F and no known solution) */
  HVI_SOLVED,      /* steps that adapt: the run reached a solution, which is all that is claimed */
  HVI_VERDICT_COUNT
} hvi_verdict;

HVI_API const char *hvi_verdict_name(hvi_verdict v); /* "not covered" */

/* Which of the theorem's conditions fails; the first of this list. */
typedef enum hvi_obstacle {
  HVI_OBSTACLE_NONE,
  HVI_OBSTACLE_BASELINE,     /* the method is no surrogate method */
  HVI_OBSTACLE_STOCHASTIC,   /* F is sampled: another theorem, with a neighbourhood */
  HVI_OBSTACLE_VARIANT,      /* another target, players in turn, a step size that changes */
  HVI_OBSTACLE_NOT_MONOTONE, /* mu <= 0 */
  HVI_OBSTACLE_BOUNDARY,     /* the solution is not in the relative interior of Z */
  HVI_OBSTACLE_ETA,          /* eta >= 2 mu / L^2: the exact step may expand */
  HVI_OBSTACLE_ALPHA_MAX,    /* alpha >= mu / L: too large for any eta */
  HVI_OBSTACLE_ALPHA,        /* alpha too large for this eta */
  HVI_OBSTACLE_SAMPLED,      /* all would be well, but mu and L are only estimates */
  HVI_OBSTACLE_ADAPTIVE,     /* steps that adapt (method auto): judged by what the run does */
  HVI_OBSTACLE_COUNT
} hvi_obstacle;

HVI_API const char *hvi_obstacle_name(hvi_obstacle o); /* "eta-too-large" */

/* The same settings with another number of inner steps. */
typedef struct hvi_variant {
  size_t inner;
  double alpha_median, step_share, rate; /* as in hvi_inspection */
} hvi_variant;

/* What `hvi inspect` shows. */
typedef struct hvi_inspection {
  hvi_constants constants;
  double eta;          /* in force */
  double alpha;        /* asked for; NaN for a fixed inner count */
  double alpha_median; /* as reached in the run, measured from the true floor l* at every step that
                          is more than rounding; NaN: unknown */
  double alpha_worst;
  double step_share; /* median of |z_{t+1} - z_t| / |z_t^* - z_t| */
  hvi_rates rates;   /* at eta and alpha_worst (or alpha, when that is larger); for proximal targets
                        kappa2 is (1 + eta mu)^-2, NaN where mu < 0, and eta_max infinite */

  double rate_observed; /* per outer step, of |z - z*|^2 (of residual^2 when z* is unknown), over
                           the later half of the steps before rounding takes over */
  double rate_exact;    /* the same for the exact projected step, near z* when that is known */
  bool by_residual;     /* z* is unknown: both rates are the residual's */
  hvi_outcome outcome;
  size_t outer, restarts;
  double dist2, residual; /* at the end of the run */
  /* Where eta is too large for the exact step, fewer and more inner steps for comparison. */
  size_t variant_count;
  hvi_variant variants[2]; /* in order of inner steps */

  bool converging; /* the run was still coming closer at the end, or had arrived */
  bool arrived;    /* at a solution, to its tolerance or to rounding */
  hvi_obstacle obstacle;
  hvi_verdict verdict;
  char explanation[1536]; /* plain sentences: why */
  char advice[512];       /* which setting to change; empty when none */
} hvi_inspection;

/* Looks at a problem under these settings, with a run of at most `steps` outer steps. Tolerance and
 * evaluation limit of the settings are not used, but for steps that adapt, which end as they would.
 * The observer sees every run that is made, and may end it. */
HVI_API hvi_status hvi_theory_inspect(hvi_inspection *out, const hvi_problem *p,
                                      const hvi_settings *s, size_t steps, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
