/*
 * Policy evaluation: a Markov decision process under a fixed policy, and the projected Bellman
 * error as a variational inequality.
 *
 *   T z = r + gamma P z,   xi' P = xi',   z = Phi theta,   F(z) = Xi (z - T z)
 *
 * The surrogate in the norm of Xi with eta = 1 has the target T z_t: gn with one inner step is
 * projected value iteration, gd is Surr-GD. Along one trajectory the same surrogate is estimated by
 * running means, and its minimiser is the LSPE step.
 */
#ifndef HVI_MDP_H
#define HVI_MDP_H

#include <hvi/problem.h>
#include <hvi/sparse.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_mdp_spec {
  size_t states;             /* n */
  const double *transitions; /* P[n][n] row-major, or NULL: */
  const hvi_sparse *sparse;  /* P by rows */
  const double *reward;      /* [n] expected reward of leaving a state */
  double gamma;              /* in [0, 1) */
  size_t features;           /* d; 0: tabular, Phi = I */
  const double *phi;         /* [n][d] */
} hvi_mdp_spec;

typedef struct hvi_mdp hvi_mdp;

/*
 * Copies what it is given and finds the stationary law, v_pi and the projected fixed point: a
 * process is constant afterwards and may be shared between threads. HVI_ERROR_INPUT with the row,
 * state or column in question when: a row of P does not sum to 1 or has a negative entry, there is
 * no unique stationary law, or it leaves a state out (weight zero), gamma is outside [0, 1), Phi
 * lacks full column rank, a number is not finite.
 */
HVI_API hvi_status hvi_mdp_new(hvi_mdp **mdp, const hvi_mdp_spec *spec, hvi_error *err);
HVI_API void hvi_mdp_free(hvi_mdp *mdp);

HVI_API size_t hvi_mdp_states(const hvi_mdp *mdp);   /* n */
HVI_API size_t hvi_mdp_features(const hvi_mdp *mdp); /* d; n when tabular */
HVI_API double hvi_mdp_gamma(const hvi_mdp *mdp);
HVI_API const double *hvi_mdp_law(const hvi_mdp *mdp);    /* [n] xi */
HVI_API const double *hvi_mdp_reward(const hvi_mdp *mdp); /* [n] r */
HVI_API const double *hvi_mdp_phi(const hvi_mdp *mdp);    /* [n][d], NULL when tabular */
/* v_pi [n], the fixed point of T; theta [d] of the projected one: C theta = b, as LSTD finds it. */
HVI_API const double *hvi_mdp_true_values(const hvi_mdp *mdp);
HVI_API const double *hvi_mdp_fixed_point(const hvi_mdp *mdp);

/* out = r + gamma P z */
HVI_API void hvi_mdp_bellman(const hvi_mdp *mdp, const double *z, double *out);
/* z = Phi theta */
HVI_API void hvi_mdp_values(const hvi_mdp *mdp, const double *theta, double *z);
/* theta of the projection of z in the norm of Xi */
HVI_API hvi_status hvi_mdp_project(const hvi_mdp *mdp, const double *z, double *theta,
                                   hvi_error *err);

/* How far theta is from being right; all in the norm of Xi where one is needed. */
typedef struct hvi_mdp_measures {
  double to_fixed_point; /* |Phi theta - Phi theta*|^2_Xi, theta* the projected fixed point */
  double to_true_values; /* |Phi theta - v_pi|^2_Xi */
  double mspbe;          /* |Pi(T z - z)|^2_Xi */
  double bellman_gap;    /* BE(theta, theta) - inf BE(theta', theta), with BE's factor 1/2 */
} hvi_mdp_measures;

/* The measures of theta[d]. */
HVI_API hvi_status hvi_mdp_measure(hvi_mdp_measures *out, const hvi_mdp *mdp, const double *theta,
                                   hvi_error *err);

/* The deterministic problem over all states. Takes the mdp over, also when it fails. */
HVI_API hvi_status hvi_mdp_problem_new(hvi_problem **problem, hvi_mdp *mdp, hvi_error *err);

/* What one gradient step with inner step size 1 is: the gradient itself, or divided by the trace or
 * by the largest eigenvalue of D_hat. The surrogate's minimiser is the same. */
typedef enum hvi_trajectory_scale {
  HVI_TRAJECTORY_SCALE_NONE,
  HVI_TRAJECTORY_SCALE_TRACE,
  HVI_TRAJECTORY_SCALE_LAMBDA
} hvi_trajectory_scale;

typedef struct hvi_trajectory_settings {
  double ridge;               /* added to the diagonal of D_hat: 1e-6 */
  size_t wait;                /* transitions before the first step: 2 d */
  hvi_trajectory_scale scale; /* HVI_TRAJECTORY_SCALE_TRACE */
} hvi_trajectory_settings;

/* The defaults that stand above, for this mdp. */
HVI_API hvi_trajectory_settings hvi_trajectory_defaults(const hvi_mdp *mdp);
/* The stochastic problem along one trajectory: each outer step sees one more transition. Its state
 * is O(d^2). Takes the mdp over, also when it fails. */
HVI_API hvi_status hvi_trajectory_problem_new(hvi_problem **problem, hvi_mdp *mdp,
                                              const hvi_trajectory_settings *s, hvi_error *err);

/* The mdp behind either problem; NULL for any other. */
HVI_API const hvi_mdp *hvi_mdp_of(const hvi_problem *problem);

/* td0, td-lambda, lstd, tdc, gtd2, residual-gradient: rules of the trajectory problem, ending in
 * NULL. (LSPE is gn with one inner step, and Surr-GD is gd.) */
HVI_API const hvi_rule *const *hvi_trajectory_rules(void);

/* Reads a process from a YAML file; the schema is in docs/mdp-files.md. */
HVI_API hvi_status hvi_mdp_load(hvi_mdp **mdp, const char *path, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
