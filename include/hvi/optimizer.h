/*
 * Inner optimizers: theta_s <- A(l, theta_s), any rule that brings a surrogate's loss down.
 *
 * Built in: gd, momentum, adam, adamw, gn, dgn, lm, and an adversary that errs on purpose. To plug
 * in your own, fill in an hvi_optimizer and put it into the solver's settings.
 */
#ifndef HVI_OPTIMIZER_H
#define HVI_OPTIMIZER_H

#include <hvi/surrogate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A form that would need more than 4 GiB is refused when a solver is made. An undamped step of a
 * model in single precision with n below d is by J J' at any size, where nothing else is asked for. */
typedef enum hvi_solve_form {
  HVI_SOLVE_AUTO,  /* for each player what costs least; undamped, dense up to a million entries */
  HVI_SOLVE_DENSE, /* a player's Jacobian, decomposed: about 3 n d doubles */
  HVI_SOLVE_MATRIX_FREE, /* LSMR on J v and J'u: about 4 d + 3 n doubles */
  HVI_SOLVE_GRAM         /* J J' (n^2 doubles) or J'J (d^2), where the model has it */
} hvi_solve_form;

typedef struct hvi_optimizer_settings {
  double lr;             /* gd, momentum, adam, adamw: step size */
  double momentum;       /* momentum: share of the last step kept */
  double beta1, beta2;   /* adam, adamw: decay of the two averages */
  double epsilon;        /* adam, adamw: added to the root */
  double weight_decay;   /* adamw */
  double rank_tol;       /* gn, dgn: singular values below this share of the largest are zero */
  double factor;         /* dgn: fixed share of the Gauss-Newton step, eta_GN */
  bool line_search;      /* dgn: Armijo backtracking from a full step instead */
  double damping;        /* lm: lambda; the first one when it adapts */
  bool adapt_damping;    /* lm: gain-ratio control of lambda */
  hvi_solve_form linear; /* gn, dgn, lm */
  double linear_tol;     /* matrix-free: relative tolerance */
  size_t linear_iters;   /* matrix-free: most LSMR iterations a step; 0: 4 (n + d) */
  double error_alpha;    /* adversary: share of the step's length that it errs by */
  double error_angle;    /* adversary: direction of the error, radians */
  const void *context;   /* for an optimizer of your own */
} hvi_optimizer_settings;

/* As in hvi_settings_table, which describes them. */
HVI_API hvi_optimizer_settings hvi_optimizer_defaults(void);

typedef struct hvi_optimizer {
  const char *name;
  const char *summary; /* one line */
  /* Doubles of state that a step needs on this model; NULL: none. */
  size_t (*state)(const hvi_optimizer_settings *s, const hvi_model *m);
  /* Forgets the past: at the start, and at each new target unless state is kept. NULL: there is
   * nothing to forget. */
  void (*reset)(const hvi_optimizer_settings *s, const hvi_model *m, double *state);
  /* One step. False: no further progress is possible, and the loop ends where it stands. */
  bool (*step)(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l);
} hvi_optimizer;

/* The built-in optimizer of that name, or NULL; the list, ending in NULL. */
HVI_API const hvi_optimizer *hvi_optimizer_find(const char *name);
HVI_API const hvi_optimizer *const *hvi_optimizer_list(void);

#ifdef __cplusplus
}
#endif

#endif
