/*
 * Problems: a model g, an operator F on its outputs, and the set Z the outputs can reach.
 *
 *   find z* in Z = closure { g(theta) } with <F(z*), z - z*> >= 0 for all z in Z
 *
 * A problem is a constant description and may be shared between threads. To write your own, embed
 * hvi_problem as the first member of a struct and fill in the ops, or start from a game (game.h).
 */
#ifndef HVI_PROBLEM_H
#define HVI_PROBLEM_H

#include <hvi/error.h>
#include <hvi/model.h>
#include <hvi/rng.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_problem hvi_problem;

typedef enum hvi_set_kind {
  HVI_SET_FREE,    /* all of R^len */
  HVI_SET_BOX,     /* lower <= z <= upper, elementwise; infinite bounds are fine */
  HVI_SET_SIMPLEX, /* z >= 0, sum z = 1 */
  HVI_SET_SUBSPACE /* span of an orthonormal basis: what a linear model with d < n can reach */
} hvi_set_kind;

enum { HVI_SET_RANK = 1024 };

/* One factor of the product set Z: outputs begin .. begin + len. */
typedef struct hvi_set {
  hvi_set_kind kind;
  size_t begin, len;
  const double *lower, *upper; /* box: [len] each */
  const double *basis;         /* subspace: [len][rank], columns orthonormal with weights Xi, */
  const double *mix;           /* or [rank][rank] such that those of basis * mix are; or NULL */
  size_t rank;                 /* at most HVI_SET_RANK */
} hvi_set;

/* mu and L of F on the directions that Z allows: <F(x) - F(y), x - y> >= mu |x - y|^2 and
 * |F(x) - F(y)| <= L |x - y|, F being read after projection onto those directions. */
typedef struct hvi_constants {
  double mu, lipschitz;
  bool exact; /* from an affine F; otherwise sampled pairs: mu is an upper, lipschitz a lower bound
               */
  size_t pairs; /* sampled pairs, when not exact */
} hvi_constants;

/* Settings that only rules read. */
typedef struct hvi_rule_settings {
  double trace_decay; /* lambda of eligibility traces */
  double second_rate; /* of two time scales, the second: its share of the step size; of a target
                         network: the share of the way to theta that it goes at each step */
  size_t copy_every;  /* steps between copies of theta to a target network; 0: it follows */
  bool adam;          /* steps by Adam's rule along the direction; rules with a network only */
} hvi_rule_settings;

/* A method of a problem's own, outside the surrogates, that moves theta from a sample: temporal
 * differences and such. */
typedef struct hvi_rule {
  const char *name, *summary;
  const char *family; /* words by which settings are for it (hvi_setting.used_by); NULL: its name */
  size_t passes, gradients;              /* of the model, in a step */
  size_t (*state)(const hvi_problem *p); /* doubles of state, zero at the start */
  /* theta_t -> theta_{t+1} in place, with the step size in force. */
  void (*step)(const hvi_rule_settings *s, const hvi_problem *p, const void *sample, double eta,
               double *state, double *theta);
  /* How much of the state, from its start, the next step depends on; NULL: all of it. */
  size_t (*kept)(const hvi_problem *p);
} hvi_rule;

/* How several slow modes are found: what hvi_problem_ops.equations may ask of the data. */
typedef struct hvi_modes_settings {
  double lambda; /* of the traces that F is tested with */
  size_t rows;   /* of the data, at most; 0: all that were seen */
  double rare;   /* share of these rows that is kept for the rarest states */
} hvi_modes_settings;

typedef struct hvi_equations {
  double *A; /* [k][k] */
  double *b; /* [k] */
} hvi_equations;

/* The equations of k slow modes: of the last k parameters, on which the outputs depend linearly.
 * Moved by x, they leave b - A x of b. Samples are in two halves, whose sum is all of them; what is
 * exact is in the first. */
typedef struct hvi_modes {
  hvi_equations half[2];
  double *G;    /* [k][k] x'G x: what they add to the outputs, squared */
  double *R;    /* [k][k] x'R x: how much of that is not slow */
  double *work; /* as much as was asked for */
} hvi_modes;

typedef struct hvi_problem_ops {
  const char *name;
  /* f = F(z). Some operators need theta too. `sample` is the current draw of a stochastic problem,
   * NULL for the mean. */
  void (*operate)(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                  double *f);
  /* Draws the next sample, sample_bytes of it, over the last one (zero at the start). It may depend
   * on theta: a deployed model changes its own data. Optional: NULL for a deterministic problem. */
  void (*draw)(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng);
  /* Makes a zeroed sample one that has been drawn `draws` times, as far as the next draw depends on
   * it. Optional: for solves that are taken up again, whose sample is then drawn anew at theta as
   * it is; with redraw_every above 1 that is right only for draws that do not depend on theta.
   * Without it the bytes of the sample are saved: they hold no addresses. */
  void (*seek)(const hvi_problem *p, void *sample, size_t draws);
  /* Double sampling: before inner step m, other states for the outputs whose weight is positive.
   * The outputs of weight zero stay what they were. Optional; needs draw and a bound model. */
  void (*resample)(const hvi_problem *p, void *sample, size_t m);
  /* The mode that the outer loop is slowest in: u[n] and df[n] with F(z + c u) = F(z) + c df, and
   * test[n], by which <test, F> tells the error along u: u itself, or what errors of other kinds
   * show less in. For policy evaluation u is the constant, as far as the outputs can show it.
   * Optional. */
  void (*slow_mode)(const hvi_problem *p, const void *sample, double *u, double *df, double *test);
  /* Moves theta such that the outputs on every sample move by c u: the loop then starts its inner
   * steps from there, instead of asking them to go there. Optional, with slow_mode. */
  void (*lift)(const hvi_problem *p, double *theta, double c);
  /* Several slow modes at once: how many, k, with the doubles of work that their equations take; and
   * the equations at theta, on all data that were drawn so far as far as `s` goes. Returns the rows
   * that the model was evaluated on. Both or neither. */
  size_t (*modes)(const hvi_problem *p, size_t *work);
  size_t (*equations)(const hvi_problem *p, const void *sample, const double *theta,
                      const hvi_modes_settings *s, hvi_modes *m);
  /* F(z) = A z + b written out, A[n][n] row-major; optional: NULL when F is not affine. */
  void (*affine)(const hvi_problem *p, double *A, double *b);
  /* |.|^2 to the solution, where |z - z*|^2 is not the right measure; optional. */
  double (*dist2)(const hvi_problem *p, const double *theta);
  /* Of repeated minimisation, z' = argmin f_z: beta, the sensitivity of grad f_z to the deployed z,
   * and the strong convexity mu of f_z. It contracts when beta / mu < 1. Optional. */
  void (*sensitivity)(const hvi_problem *p, double *beta, double *mu);
  /* mu and L where the problem knows them without its matrix; optional. */
  hvi_status (*constants)(const hvi_problem *p, hvi_constants *c, hvi_error *err);
  const hvi_rule *const *rules; /* that fit this problem, ending in NULL; optional */
  /* Gives back the struct and what else the problem owns. The model is gone by then, and p->model
   * NULL. Optional: for a problem that nobody allocated. */
  void (*free)(hvi_problem *p);
} hvi_problem_ops;

struct hvi_problem {
  const hvi_problem_ops *ops;
  hvi_model *model;           /* owned: hvi_problem_free frees it, before ops->free */
  const char *const *players; /* [model->block_count] names for people to read; NULL: none */
  const double *theta0;       /* [d], where a solve starts unless told otherwise */
  const double *weights;      /* [n], diagonal of Xi, zero for linear terms; NULL: identity */
  const double *solution;     /* [n], z* when known; NULL otherwise */
  size_t sample_bytes;        /* of a draw */
  bool one_sample;            /* every draw is the same: nothing in it is noise */
  size_t draw_steps;          /* environment steps that a draw takes */
  double eta; /* a step size that suits it, as 1 for F = z - T z; 0: none in particular */
  size_t set_count;
  const hvi_set *sets; /* factors of Z, in order, covering all outputs */
};

/*
 * Frees the model (hvi_model_free), sets p->model to NULL, and calls ops->free. So a problem whose
 * model came from hvi_stack_new, hvi_players_new and the like has nothing to free for it, and one
 * whose model is a member of its own struct gives that model no ops->free. Two problems that share a
 * model: one of them has its pointer set to NULL before it is freed. NULL is fine.
 */
HVI_API void hvi_problem_free(hvi_problem *p);

/* out = projection of z onto Z; out is not z. */
HVI_API void hvi_problem_project(const hvi_problem *p, const double *z, double *out);

/* |z - projection(z - f)| for f = F(z), z in Z: zero exactly at a solution. With weights, f / Xi
 * takes the place of f and the norm is Xi's. */
HVI_API double hvi_problem_residual(const hvi_problem *p, const double *z, const double *f);

/* The problem's own where it knows them, exact for an affine F of moderate size, else sampled. */
HVI_API hvi_status hvi_problem_constants(hvi_constants *c, const hvi_problem *p, hvi_error *err);

/* The judge: recomputes everything about theta from the description alone. */
typedef struct hvi_certificate {
  bool finite;
  double residual; /* as above, with the mean operator */
  double dist2;    /* |z - z*|^2; NaN when z* is not known */
  double gap;      /* max over y in Z of <F(z), z - y>; infinite or NaN on unbounded Z */
} hvi_certificate;

/* Judges theta[d]. */
HVI_API hvi_status hvi_problem_judge(hvi_certificate *c, const hvi_problem *p, const double *theta,
                                     hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
