/* The solver's inside, shared by the files of this folder. */
#pragma once

#include "surrogate/surrogate.h"
#include "vi/resolvent.h"

#include <hvi/solver.h>

/* Movement below this share of the exact step's length eta |residual| counts as standing still. */
static const double hvi_still_share = 1e-9;
/* Residuals below this (relative to 1 + |z|) are rounding, not a stall. */
static const double hvi_rounding = 1e-13;
/* The same for a model, which may round more coarsely. */
double hvi_solver_rounding(const hvi_model *m, const double *z);

/* One surrogate and who moves in it: everybody at once, or one player of an alternating loop. */
typedef struct hvi_subproblem {
  hvi_surrogate l;
  hvi_block block;     /* its share of theta and z; the whole of both when simultaneous */
  double *state;       /* the optimizer's */
  hvi_surrogate floor; /* estimated and running floors: the same surrogate, solved on the side */
  double *floor_state;
  double *least; /* running floor: as last looked for; part of the saved state */
} hvi_subproblem;

/* The last iterates, newest at slot (t - 1) mod depth. z and F are theirs on the current sample:
 * where samples change, theta is kept as well and both are worked out anew. */
typedef struct hvi_past {
  size_t depth;  /* 0: nothing is kept */
  double *theta; /* [depth][d], or NULL */
  double *z, *f; /* [depth][n] */
  double *cache; /* the model's, with theta */
} hvi_past;

/* Where a target starts from: z_t and F(z_t), unless an acceleration corrects them. */
typedef struct hvi_origin {
  const double *z, *f; /* [n] */
  double shift;        /* what a correction has added to every output that is not in z yet */
} hvi_origin;

/* What is known of the error along the slow mode: part of the saved state. Doubles only. */
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
enum { HVI_FILTER_DOUBLES = sizeof(hvi_filter) / sizeof(double) };

/* Adaptive steps: part of the saved state. Doubles only. */
typedef struct hvi_adaptation {
  double eta;
  double best;     /* smallest residual since the last start */
  double last;     /* residual of the step before */
  double idle;     /* outer steps since it fell */
  double waits;    /* targets that it came half-way to */
  double failures; /* targets in a row that the inner loop did not come near */
  double more;     /* inner steps beyond settings.inner_steps: none, or HVI_FAR_STEPS times these */
} hvi_adaptation;
enum { HVI_ADAPTATION_DOUBLES = sizeof(hvi_adaptation) / sizeof(double), HVI_FAR_STEPS = 10 };

typedef struct hvi_accelerator {
  double *z, *f;         /* [n] the corrected point, and F there */
  double *mode, *mode_f; /* [n] the problem's slow mode, and F's change along it */
  double *mode_test;     /* [n] what F is tested with for it */
  bool corrected;        /* along the mode at this step: theta_t where the problem can lift it, z
                            * being its output to rounding only, otherwise the target's origin */
  hvi_filter filter;
  hvi_modes modes;        /* LSTD's equations, and what solving them takes: */
  double *trial, *change; /* [k][k], [8 k] */
} hvi_accelerator;

struct hvi_solver {
  const hvi_problem *problem;
  hvi_settings settings;
  double *memory; /* everything below that is an array of doubles */
  size_t saved;   /* how much of it, from its start, is part of the saved state */

  /* where the loop stands */
  const double *theta, *z; /* [d], [n]: theta_t and z_t = g(theta_t) */
  double *f;               /* [n] F(z_t) */
  void *sample;            /* current draw; NULL when deterministic */
  hvi_rng rng, rng_before; /* now, and before the current draw */

  /* the step */
  double shrink;                /* what eta_decay leaves of it at this step */
  hvi_optimizer_settings inner; /* with the rate of this step */
  size_t part_count;
  hvi_subproblem *parts;
  double *all_theta, *all_z; /* alternating: the players' parts put together */
  hvi_origin origin;
  hvi_past past;
  hvi_accelerator accelerator;
  hvi_resolvent resolvent; /* for proximal targets */
  hvi_adaptation adaptation;
  double *anchor;    /* [d] theta_t, where the inner loop draws again */
  double *projected; /* [n] projection of the target: known floor */
  double
      *baseline; /* what it remembers: V_{t-1}[d], Adam's {b1^k, b2^k, m[d], v[d]}, a rule's own */

  /* the record */
  hvi_record row;
  hvi_info info; /* all but the row and alphas; best is the latest where there are no residuals */
  double *best_theta, *best_z;
  double alpha2, alpha2_worst; /* squared alpha of this step, and the largest */
  double first_residual;
  bool sound;     /* theta, z and F are finite */
  double *z_last; /* [n] z_{t-1} */
  size_t still;   /* outer steps in a row without movement */
  double start;   /* on the clock */
};

HVI_RELEASE(hvi_solver)

/* hvi_solver_new in two steps, between which its copy of the settings may change: NULL when there is
 * no memory; state.c. */
hvi_solver *hvi_solver_open(const hvi_settings *settings);
hvi_status hvi_solver_fill(hvi_solver *s, const hvi_problem *p, hvi_error *err);

/* Where a device keeps the optimizer's state between steps: into part->state, or (put) from it. */
void hvi_solver_move_state(const hvi_solver *s, const hvi_subproblem *part, bool put);

/* Adaptive steps, when F(z_t) is known: another eta or a new start; automatic.c, as what follows. */
void hvi_solver_adapt(hvi_solver *s);
/* Where method auto, or steps that adapt, ended short of a solution: the best iterate is the result. */
void hvi_solver_settle(hvi_solver *s);
/* The eta that adaptive steps begin with. */
double hvi_solver_first_eta(const hvi_solver *s);
void hvi_solver_set_eta(hvi_solver *s, double eta);

/* Why method auto chose what it did for the problem, eta being the first: a line for each decision. */
void hvi_settings_reasons(const hvi_settings *s, const hvi_problem *p, double eta, char *text,
                          size_t size);

/* Checks settings against the problem; settings.c. */
hvi_status hvi_settings_check(const hvi_settings *s, const hvi_problem *p, hvi_error *err);

/* theta_t -> theta_{t+1}, with s->f = F(z_t) given; baseline_step.c. */
void hvi_solver_baseline_step(hvi_solver *s);

/* Freezes a part's target; its floor l*; target.c. */
void hvi_solver_set_target(hvi_solver *s, hvi_subproblem *part);
double hvi_solver_floor(hvi_solver *s, hvi_subproblem *part);
/* Who looks for it on the side. */
const hvi_optimizer *hvi_floor_optimizer(const hvi_settings *s);
/* Earlier iterates, k = 1 the last: how many are known, and theirs. */
size_t hvi_past_count(const hvi_solver *s);
double *hvi_past_at(const hvi_solver *s, double *z_or_f, size_t k);
/* Works out z and F of the past on a new sample, where theta is kept for that. */
void hvi_past_renew(hvi_solver *s);

/* Acceleration: before a step it corrects where that starts from, after it it learns from what was
 * left. The step itself is the same, and so are its fixed points; accelerate.c. */
void hvi_solver_correct(hvi_solver *s);
void hvi_solver_learn(hvi_solver *s);
/* LSTD needs nothing from one step to the next. */
bool hvi_modes_fit(const hvi_problem *p);
void hvi_modes_place(hvi_solver *s, hvi_arena *arena);

/* Makes the part's theta and z part of the solver's; solver.c, as what follows. */
void hvi_solver_gather(hvi_solver *s, const hvi_subproblem *part);

/* Whether there is a new sample at theta_outer. */
bool hvi_solver_draws(const hvi_solver *s, size_t outer);
/* s->f = F(z) at the current z, with the current draw. */
void hvi_solver_operate(hvi_solver *s);
void hvi_solver_set_rates(hvi_solver *s);
/* The row of the current theta. */
void hvi_solver_record(hvi_solver *s);
/* Evaluates the model where the parts stand; state.c. */
void hvi_solver_stand(hvi_solver *s);
