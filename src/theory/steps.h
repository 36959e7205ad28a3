/*
 * What an outer step did, measured from outside and beside the point z_t^* = Pi(z_t - eta F(z_t))
 * that an exact inner solve would have reached. For plain targets, all players at once and an F
 * that is not sampled. And the factor by which a sequence, such as that of the exact steps, shrinks
 * or grows per step.
 */
#pragma once

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
  double reached; /* alpha, without the digits that F's part normal to Z costs; NaN where the exact
                       * step is rounding */
} hvi_step;

typedef struct hvi_steps {
  const hvi_problem *problem;
  double eta;
  double *z, *f;  /* [n] z_t, F(z_t) */
  double *target; /* [n] z_t - eta F(z_t) / Xi */
  double *exact;  /* [n] z_t^* */
  double *push;   /* [n] z_t^* - v, without what is normal to all of Z */
  double *f_star; /* [n] F(z*) */
} hvi_steps;

/* eta is the step size in force. */
hvi_status hvi_steps_new(hvi_steps *s, const hvi_problem *p, double eta, hvi_error *err);
/* Stands at z_t = g(theta_t). */
void hvi_steps_stand(hvi_steps *s, const double *theta, const double *z);
/* The step from where it stands to z; does not move. */
hvi_step hvi_steps_measure(const hvi_steps *s, const double *z);
void hvi_steps_free(hvi_steps *s);

/* Sees a row and what the step to it did; NULL for the first row. False ends the run. */
typedef bool (*hvi_steps_see)(void *context, const hvi_step *step, const hvi_record *row);
/* Runs to the end of the settings, and leaves what it ended with but for vectors. `measured`: steps
 * are, as they can be; otherwise none is told. */
hvi_status hvi_steps_run(hvi_info *info, const hvi_problem *p, const hvi_settings *s, bool measured,
                         hvi_steps_see see, void *context, hvi_error *err);

/* Squared distances at or below this share of 1 + |z|^2 are rounding. */
static const double hvi_rate_rounding = 1e-26;
/* How many of x[n] come before the first that is at or below the floor or not finite. */
size_t hvi_rate_usable(const double *x, size_t n, double floor);
/*
 * exp of the slope of log x over the later half of the usable part: transients at the start and
 * rounding at the end do not count. 0 when the floor is reached within one step, NaN when there is
 * nothing to fit. log_scratch: [n].
 */
double hvi_rate_fit(const double *x, size_t n, double floor, double *log_scratch);
/* The rate of the exact projected step z <- Pi(z - eta F(z)), iterated in the space of outputs: of
 * |z - z*|^2 near z* when that is known, otherwise of the squared residual from g(theta0) on. */
hvi_status hvi_exact_rate(double *rate, const hvi_problem *p, const hvi_settings *settings,
                          double eta, size_t steps, hvi_error *err);
