/* The solver's inside, shared by the files of this folder. */
#ifndef HVI_OUTER_SOLVER_H
#define HVI_OUTER_SOLVER_H

#include "surrogate/surrogate.h"

#include <hvi/solver.h>

/* Movement below this share of the exact step's length eta |residual| counts as standing still. */
static const double hvi_still_share = 1e-9;
/* Iterates that Anderson acceleration may look back at. */
enum { HVI_MEMORY_MOST = 8 };
/* Residuals below this (relative to 1 + |z|) are rounding, not a stall. */
static const double hvi_rounding = 1e-13;

/* One surrogate and who moves in it: everybody at once, or one player of an alternating loop. */
typedef struct hvi_turn {
  hvi_surrogate_room room;
  hvi_block block;          /* its share of theta and z; the whole of both when simultaneous */
  double *state;            /* the optimizer's */
  hvi_surrogate_room scout; /* estimated floor: the same surrogate, solved on the side */
  double *scout_state;
} hvi_turn;

/*
 * The last iterates, newest at slot (t - 1) mod depth. z and F are theirs on the current sample:
 * where samples change, theta is kept as well and both are worked out anew.
 */
typedef struct hvi_past {
  size_t depth;  /* 0: nothing is kept */
  double *theta; /* [depth][d], or NULL */
  double *z, *f; /* [depth][n] */
  double *cache; /* the model's, with theta */
} hvi_past;

/* What is known of the error along the slow mode; accelerate_mode.c. */
typedef struct hvi_filter {
  double steps;                /* samples seen */
  double mean;                 /* of the error: what the last inner loop left of it */
  double variance;             /* of the error, in units of noise; infinite at the start */
  double noise;                /* variance of <test, F> within samples, a running mean */
  double between;              /* and between them */
  double left;                 /* what is left of the last sample's news */
  double weight, news, spread; /* sums over recent samples: of weights, of weights times what was
                                * new, of squared shares */
} hvi_filter;

struct hvi_solver {
  const hvi_problem *problem;
  hvi_settings settings;
  double *memory; /* everything below that is an array of doubles */

  /* where the loop stands */
  const double *theta, *z; /* [d], [n]: theta_t and z_t = g(theta_t) */
  double *f;               /* [n] F(z_t) */
  double *z_last;          /* [n] z_{t-1} */
  double *eta;             /* [players] or one */
  double shrink;           /* what eta_decay leaves of it at this step */
  void *sample;            /* current draw; NULL when deterministic */
  hvi_rng rng, rng_before; /* now, and before the current draw */

  /* the surrogate step */
  size_t turn_count;
  hvi_turn *turns;
  double *all_theta, *all_z; /* alternating: the players' parts put together */
  hvi_past past;             /* earlier iterates: optimistic, averaged, accelerated targets */
  double *moved_z, *moved_f; /* [n] z_t and F after the acceleration's correction */
  double *mode, *mode_f;     /* [n] the problem's slow mode, and F's change along it */
  double *mode_test;         /* [n] what F is tested with for it */
  hvi_filter filter;         /* of the error along it */
  double shift;              /* how far the targets of the last correction went along it */
  bool corrected, lifted;    /* whether there was one, and whether theta itself was moved */
  double *anchor;            /* [d] theta_t, where the inner loop draws again */
  double *projected;         /* [n] projection of the target: known floor */

  /* the baselines */
  double *field, *field_last; /* [d] V = J'F */
  double *adam;               /* {b1^k, b2^k, m[d], v[d]} */
  double *rule_state;         /* of a rule */

  /* the record */
  hvi_record row;
  size_t inner_total;
  double alpha2, alpha2_worst; /* squared alpha of this step, and the largest */
  double first_residual;
  bool sound;   /* theta, z and F are finite */
  size_t still; /* outer steps in a row without movement */
  double start; /* on the clock */
  hvi_outcome outcome;
  const char *reason;
  size_t best_outer;
  double best_residual, best_dist2;
  double *best_theta, *best_z;
};

/* Checks settings against the problem; settings.c. */
hvi_status hvi_settings_check(const hvi_settings *s, const hvi_problem *p, hvi_error *err);

/* theta_t -> theta_{t+1}, with s->f = F(z_t) given; surrogate_step.c and baseline_step.c. */
void hvi_solver_surrogate_step(hvi_solver *s);
void hvi_solver_baseline_step(hvi_solver *s);

/* The turn's target, frozen; target.c. */
void hvi_solver_set_target(hvi_solver *s, hvi_turn *turn);
/* Correct moved_z and moved_f, where the step starts instead of z_t: accelerate_mode.c and
 * accelerate_anderson.c. */
void hvi_solver_correct_mode(hvi_solver *s);
/* What the turn's inner loop left along the mode, for the next correction. */
void hvi_solver_note_mode(hvi_solver *s, const hvi_turn *turn);
void hvi_solver_correct_anderson(hvi_solver *s);
/* Earlier iterates, k = 1 the last: how many are known, and theirs; past.c. */
size_t hvi_past_count(const hvi_solver *s);
const double *hvi_past_z(const hvi_solver *s, size_t k);
const double *hvi_past_f(const hvi_solver *s, size_t k);
/* Works out z and F of the past on a new sample. */
void hvi_past_renew(hvi_solver *s);
/* Keeps a turn's part of theta_t, z_t and F(z_t). */
void hvi_past_keep(hvi_solver *s, const hvi_turn *turn);

/* Makes the turn's theta and z part of the solver's; surrogate_step.c. */
void hvi_solver_gather(hvi_solver *s, const hvi_turn *turn);

/* Whether there is a new sample at theta_outer. */
bool hvi_solver_draws(const hvi_solver *s, size_t outer);
/* s->f = F(z) at the current z, with the current draw. */
void hvi_solver_operate(hvi_solver *s);

#endif
