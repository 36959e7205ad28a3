/*
 * What an outer step did, measured from outside and beside the point z_t^* = Pi(z_t - eta F(z_t))
 * that an exact inner solve would have reached. For plain targets, all players at once and an F
 * that is not sampled.
 */
#ifndef HVI_THEORY_STEPS_H
#define HVI_THEORY_STEPS_H

#include <hvi/solver.h>

typedef struct hvi_step {
  double gap0;        /* l_t(theta_t) - l_t^* */
  double gap;         /* l_t(theta_{t+1}) - l_t^* */
  double alpha;       /* sqrt(gap / gap0) */
  double error;       /* |z_{t+1} - z_t^*| */
  double exact;       /* |z_t^* - z_t|, the exact step's length */
  double outside;     /* |z_t^* - v|, how far the target lies outside Z */
  double taken;       /* |z_{t+1} - z_t| */
  double change;      /* eta |F(z_t) - F(z*)|; NaN when z* is unknown */
  double dist2;       /* |z_{t+1} - z*|^2 */
  double contraction; /* dist2 now / before; NaN when z* is unknown */
} hvi_step;

typedef struct hvi_steps {
  const hvi_problem *problem;
  double *memory;
  double *eta;    /* [n] */
  double *z, *f;  /* [n] z_t, F(z_t) */
  double *target; /* [n] z_t - eta F(z_t) / Xi */
  double *exact;  /* [n] z_t^* */
  double *f_star; /* [n] F(z*) */
} hvi_steps;

/* eta is the step size in force; the settings' player_eta goes before it. */
hvi_status hvi_steps_new(hvi_steps *s, const hvi_problem *p, const hvi_settings *settings,
                         double eta, hvi_error *err);
/* Stands at z_t = g(theta_t). */
void hvi_steps_stand(hvi_steps *s, const double *theta, const double *z);
/* The step from where it stands to z; does not move. */
hvi_step hvi_steps_measure(const hvi_steps *s, const double *z);
void hvi_steps_free(hvi_steps *s);

#endif
