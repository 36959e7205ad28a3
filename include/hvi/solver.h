/*
 * The outer loop: alpha-descent on surrogates.
 *
 *   for t = 1, 2, ...:
 *     v      <- z_t - eta F(z_t)                     the target, frozen
 *     theta  <- A(l_t, theta)  until  l_t(theta) - l* <= alpha^2 (l_t(theta_t) - l*), or M steps
 *     theta_{t+1} <- theta
 *
 * Create a solver, run it (or step it yourself), read info, free it. Nothing is allocated between
 * new and free. A solver belongs to one thread; a problem may be shared.
 */
#ifndef HVI_SOLVER_H
#define HVI_SOLVER_H

#include <hvi/optimizer.h>
#include <hvi/problem.h>
#include <hvi/setting.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_solver hvi_solver;

/* How a solve ended. None of these is an error. */
typedef enum hvi_outcome {
  HVI_RUNNING,   /* not ended yet */
  HVI_CONVERGED, /* residual at or below the tolerance */
  HVI_LIMIT,     /* an iteration, evaluation or time limit */
  HVI_STALLED,   /* the iterate stopped moving although the residual is not small */
  HVI_DIVERGED,  /* not finite, or grown beyond the bound */
  HVI_STOPPED,   /* the observer said so */
  HVI_OUTCOME_COUNT
} hvi_outcome;

HVI_API const char *hvi_outcome_name(hvi_outcome o); /* "converged" */

/* One row of the trace. A value that does not exist is NaN. */
typedef struct hvi_record {
  size_t outer;         /* t; 0 is the start */
  size_t inner;         /* inner steps of this iteration */
  double loss0;         /* l_t(theta_t) */
  double loss;          /* l_t(theta_{t+1}) */
  double ratio;         /* loss / loss0 */
  double alpha;         /* sqrt((loss - l*) / (loss0 - l*)), as reached */
  double dist2;         /* |z_{t+1} - z*|^2 */
  double residual;      /* |z - projection(z - F(z))| at z_{t+1}; NaN when F is sampled */
  hvi_counts counts;    /* since the start */
  double seconds;       /* since the start */
  double seconds_inner; /* in inner steps since the start; NaN unless settings.time_inner */
  const double *theta;  /* [d] theta_{t+1} */
  const double *z;      /* [n] z_{t+1} */
} hvi_record;

/* Sees every row; false ends the solve with HVI_STOPPED. */
typedef bool (*hvi_observer)(void *context, const hvi_record *row);

typedef enum hvi_target {
  HVI_TARGET_PLAIN,      /* z_t - eta F_t */
  HVI_TARGET_OPTIMISTIC, /* z_t - eta (2 F_t - F_{t-1}) */
  HVI_TARGET_AVERAGED,   /* the mean of the last tau plain targets */
  HVI_TARGET_PROXIMAL /* v in Z with v = projection(z_t - eta F(v)): for any monotone F and any eta */
} hvi_target;

/* Where the target starts from: instead of z_t, a point with the same solution nearer to it. */
typedef enum hvi_acceleration {
  HVI_ACCELERATE_NONE,
  HVI_ACCELERATE_MODE, /* the error along the problem's slow mode taken off, as far as it is known
                        */
  HVI_ACCELERATE_LSTD  /* along several slow modes at once, by LSTD on the last layer */
} hvi_acceleration;

typedef enum hvi_step_rule {
  HVI_STEP_FIXED,   /* eta as given */
  HVI_STEP_THEOREM, /* 2 mu / (5 L^2): with alpha <= mu / 2L, rate 1 - mu^2 / 5L^2 */
  HVI_STEP_BEST,    /* mu / L^2: smallest bound on the exact step's contraction */
  HVI_STEP_ADAPTIVE /* from 1 / L on, by how well targets were reached and what the residual did */
} hvi_step_rule;

typedef enum hvi_floor {
  HVI_FLOOR_ZERO,      /* l* = 0: the target can be reached */
  HVI_FLOOR_KNOWN,     /* l* = 1/2 |v - projection(v)|^2: Z is known */
  HVI_FLOOR_ESTIMATED, /* l* as an adaptive Levenberg-Marquardt solve from theta_t finds it */
  HVI_FLOOR_RUNNING    /* the least that a longer solve by the same optimizer reached lately */
} hvi_floor;

/* Methods that are not surrogate methods, for comparison. Each steps along V = J'F by eta * lr. */
typedef enum hvi_baseline {
  HVI_BASELINE_NONE,
  HVI_BASELINE_EXTRAGRADIENT,   /* V at a look-ahead point */
  HVI_BASELINE_OPTIMISTIC_GDA,  /* 2 V_t - V_{t-1} */
  HVI_BASELINE_ALTERNATING_GDA, /* players in turn, each seeing the others' new outputs */
  HVI_BASELINE_ADAM_GDA,        /* Adam applied to V */
  HVI_BASELINE_RULE             /* the problem's own, in settings.rule */
} hvi_baseline;

typedef struct hvi_settings {
  /* the method */
  bool automatic; /* hvi_solver_new chooses, for its problem, all that is not given */
  uint64_t
      given; /* bit i: row i of hvi_settings_table is given, although it may have its default */
  const hvi_optimizer *optimizer; /* NULL: to be chosen */
  hvi_optimizer_settings inner;
  hvi_baseline baseline; /* replaces the surrogate step when set */
  const hvi_rule *rule;  /* for HVI_BASELINE_RULE: one of the problem's */
  hvi_rule_settings rule_settings;

  /* the outer step */
  hvi_step_rule step_rule;
  double eta;
  double eta_decay; /* step t uses eta / (1 + eta_decay t) */
  hvi_target target;
  size_t average; /* tau, for the averaged target */
  hvi_acceleration accelerate;
  hvi_modes_settings modes; /* of LSTD */
  bool alternating;         /* players in turn instead of at once */

  /* the inner loop */
  size_t inner_steps;    /* M: fixed count, or cap when alpha is set */
  double inner_growth;   /* M grows by this much each outer step */
  double alpha;          /* in (0, 1); 0: fixed count */
  hvi_floor floor;       /* which l* the alpha test and the record use */
  bool keep_state;       /* optimizer state survives a new target */
  double inner_lr_decay; /* outer step t has the inner rate lr / (1 + inner_lr_decay t) */

  /* when to stop; 0 means no such limit */
  size_t max_outer;
  size_t max_f_evals;
  double max_seconds;
  double tol;          /* on the residual */
  bool tol_relative;   /* in units of the first residual, where that is below 1 */
  size_t stall_window; /* outer steps without movement that count as stalled; 0: never */
  double growth_bound; /* residual beyond this many times (1 + first residual) is divergence */
  bool rounding;       /* a residual at rounding is convergence, with or without a tolerance */
  size_t restarts; /* adaptive steps: most new starts, drawn around theta0, where a run is stuck */

  /* start, randomness, reporting */
  const double *theta0; /* [d]; NULL: the problem's */
  uint64_t seed;        /* of the draws of a stochastic problem */
  size_t redraw_every;  /* outer steps that share a draw: lazy deployment; 0: 1 */
  hvi_observer observe;
  void *observer_context;
  size_t time_inner; /* threads that share an inner step, for record.seconds_inner: one's own
                      * processor time, or the wall's clock where there are more; 0: not timed */
} hvi_settings;

/* Method auto: what suits a problem is chosen when a solver is made. */
HVI_API hvi_settings hvi_settings_defaults(void);
/* Those of a named method: eta 0.1, one inner step, 1,000 iterations, no tolerance. */
HVI_API hvi_settings hvi_method_settings(const char *name);
/* What method auto takes for a problem, where the settings are automatic. A member counts as given,
 * and stays, when it differs from its default, or when hvi_settings_give has named its row. */
HVI_API void hvi_settings_choose(hvi_settings *s, const hvi_problem *p);
HVI_API void hvi_settings_give(hvi_settings *s, const char *row);
/* One row of what was asked for goes into the settings of a method, and counts as given. Refused is
 * what the method does not use, and what a preset fixes at another value. `where` is what the refusal
 * calls the row, NULL: its name. */
HVI_API hvi_status hvi_settings_take(hvi_settings *s, const hvi_settings *asked,
                                     const hvi_setting *row, const char *method, const char *where,
                                     hvi_error *err);
/* Names, ranges and defaults of all of them, those of optimizers and rules too. */
HVI_API const hvi_setting_table *hvi_settings_table(void);

/* Named methods: the optimizers, the presets (phgd = gn with one step, gda = gd with one step,
 * projected = gn with one step on any model, ...) and the baselines. */
typedef struct hvi_method {
  const char *name;
  const char *summary;
  const hvi_optimizer *optimizer; /* NULL: a baseline */
  hvi_baseline baseline;
  bool one_step; /* a preset: one inner step, without a test of alpha */
} hvi_method;

/* The method of a name; NULL when there is none. */
HVI_API const hvi_method *hvi_method_find(const char *name);
/* The methods, ending in a NULL name. */
HVI_API const hvi_method *hvi_method_list(void);
/* Makes the settings those of a method, or of one of the rules, which end in NULL and may be none
 * (a problem's are problem->ops->rules); false when there is none of that name. */
HVI_API bool hvi_method_apply(hvi_settings *s, const char *name, const hvi_rule *const *rules);
/* What the used_by of hvi_settings_table calls it: an optimizer's or a rule's name, "adam-gda" or
 * "baseline"; two names where method auto has not chosen yet. */
HVI_API const char *hvi_method_family(const hvi_settings *s);

/* A solver at its start. The problem outlives it. */
HVI_API hvi_status hvi_solver_new(hvi_solver **solver, const hvi_problem *p, const hvi_settings *s,
                                  hvi_error *err);
/* Runs until something ends it. */
HVI_API hvi_outcome hvi_solver_run(hvi_solver *s);
/* One outer iteration; HVI_RUNNING while there is more to do. */
HVI_API hvi_outcome hvi_solver_step(hvi_solver *s);

typedef struct hvi_info {
  hvi_outcome outcome;
  const char *reason; /* in a few words, e.g. "iteration limit" */
  hvi_record last;    /* the final row */
  double eta;         /* in force after the step rule */
  size_t restarts;    /* new starts so far */
  size_t inner_total; /* inner steps of all outer steps */
  double alpha_worst; /* largest alpha reached in any outer step */
  size_t best_outer;  /* the iterate with the smallest residual */
  double best_residual, best_dist2;
  const double *best_theta; /* [d] */
  const double *best_z;     /* [n] */
} hvi_info;

/*
 * A solve that goes on elsewhere. Between two steps its state is a row of hvi_solver_state doubles;
 * restored into a new solver of the same problem and settings it goes on with the same bits.
 */
HVI_API size_t hvi_solver_state(const hvi_solver *s);
HVI_API void hvi_solver_save(const hvi_solver *s, double *state);
HVI_API hvi_status hvi_solver_restore(hvi_solver *s, const double *state, hvi_error *err);

/* How the solve stands; its pointers are good until the next step. */
HVI_API hvi_info hvi_solver_info(const hvi_solver *s);
/* In force: those given to hvi_solver_new, with what method auto chose. */
HVI_API const hvi_settings *hvi_solver_settings(const hvi_solver *s);
HVI_API void hvi_solver_free(hvi_solver *s);

#ifdef __cplusplus
}
#endif

#endif
