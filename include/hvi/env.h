/*
 * Environments: a state that an action moves on, with an observation and a reward.
 *
 * Built in: lqr and pendulum, which need nothing; ant and half_cheetah on MuJoCo, in a module that
 * is loaded when one of them is asked for. An environment belongs to one thread at a time.
 * hvi_env_clone gives another one that shares what is constant (a compiled model), so a thousand of
 * them are cheap.
 *
 * Randomness is passed in: a reset or a step draws from the generator it is given, and from nothing
 * else. A saved state is a row of doubles; restored into any clone it goes on with the same bits.
 */
#ifndef HVI_ENV_H
#define HVI_ENV_H

#include <hvi/error.h>
#include <hvi/rng.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_env hvi_env;

typedef struct hvi_transition {
  double reward;
  bool terminated; /* the state has no future: its value is zero */
  bool truncated;  /* the time limit was reached, and the state has a future all the same */
  bool broken;     /* the simulation left the numbers it can handle, and was reset without noise:
                      terminated, the reward 0 and the observation that of the initial state */
} hvi_transition;

typedef struct hvi_env_ops {
  const char *name;
  size_t size; /* bytes of an environment that is one block; it needs no clone and no free */
  hvi_status (*clone)(const hvi_env *env, hvi_env **copy, hvi_error *err);
  /* Draws an initial state; without a generator the initial state without noise. */
  void (*reset)(hvi_env *env, hvi_rng *rng);
  /* One step with action[act]; the time limit is none of its business. Without a generator, where
   * `noisy` is true, the noise is left out. */
  hvi_transition (*step)(hvi_env *env, const double *action, hvi_rng *rng);
  void (*observe)(const hvi_env *env, double *obs);
  /* The state without the clock: state[env->state - 1]. NULL: the doubles behind the hvi_env. */
  void (*save)(const hvi_env *env, double *state);
  void (*restore)(hvi_env *env, const double *state);
  void (*free)(hvi_env *env);
  /* Classes of states that test sets tell apart, the usual one first: their names, with blanks
   * between, and which one an observation is of. Optional, both or none. */
  const char *classes;
  size_t (*classify)(const hvi_env *env, const double *obs);
} hvi_env_ops;

struct hvi_env {
  const hvi_env_ops *ops;
  const char *name;    /* "ant", "ant-v5" ... */
  size_t obs, act;     /* lengths of an observation and of an action */
  size_t state;        /* doubles of a saved state, the clock first */
  size_t time_limit;   /* steps until truncation */
  size_t clock;        /* steps since the reset; kept by the calls below */
  bool noisy;          /* a step draws random numbers */
  double low, high;    /* range of an action's entries; infinite where there is none */
  double dt;           /* seconds of simulated time a step, 0 when it has none */
  double reward_bound; /* |reward| <= it for actions in range, where known; else infinite */
};

/* What there is to choose from. */
typedef struct hvi_env_kind {
  const char *name, *summary;
  const char *needs; /* a library beside libhvi, through a module; NULL where none is needed */
  hvi_status (*make)(hvi_env **env, const char *name, hvi_error *err);
} hvi_env_kind;
/* All of them, so many as `count` tells. */
HVI_API const hvi_env_kind *hvi_env_list(size_t *count);
/* HVI_OK when an environment has what it needs; the module is loaded for that. Otherwise why not:
 * HVI_ERROR_UNSUPPORTED where the module is not there or does not fit. */
HVI_API hvi_status hvi_env_available(const char *name, hvi_error *err);

/* By name: lqr, pendulum, half_cheetah, ant, ant-v5 (ant-v4, half_cheetah-v4 and -v5 are aliases).
 * Freshly made it is in its initial state without noise; a clone is in the state of its original.
 * Actions are not cut to their range here: half_cheetah and ant charge for them as they are. */
HVI_API hvi_status hvi_env_new(hvi_env **env, const char *name, hvi_error *err);
HVI_API hvi_status hvi_env_clone(const hvi_env *env, hvi_env **copy, hvi_error *err);
HVI_API void hvi_env_free(hvi_env *env);

/* What the ops do, with the clock: a step truncates at the time limit. */
HVI_API void hvi_env_reset(hvi_env *env, hvi_rng *rng);
HVI_API hvi_transition hvi_env_step(hvi_env *env, const double *action, hvi_rng *rng);
HVI_API void hvi_env_observe(const hvi_env *env, double *obs);
HVI_API void hvi_env_save(const hvi_env *env, double *state);
HVI_API void hvi_env_restore(hvi_env *env, const double *state);

/*
 * The linear-quadratic environment: x' = A x + B u + w, w ~ N(0, W), reward -(x'Q x + u'R u), never
 * terminated. Under u = K x + e, e ~ N(0, diag(std^2)), its discounted value is a quadratic:
 *   V(x) = -(x'P x + c),   P = Q + K'R K + gamma (A + B K)'P(A + B K),
 *   c = (tr(R S) + gamma tr(P (W + B S B'))) / (1 - gamma),   S = diag(std^2).
 */
typedef struct hvi_lqr {
  size_t n, m;       /* lengths of x and u */
  const double *A;   /* [n][n] */
  const double *B;   /* [n][m] */
  const double *Q;   /* [n][n] */
  const double *R;   /* [m][m] */
  const double *W;   /* [n] standard deviations of the noise, entry by entry */
  const double *K;   /* [m][n] the gain of its own policy */
  const double *std; /* [m] the noise of its own policy */
} hvi_lqr;
/* The matrices of an lqr environment; NULL for any other. */
HVI_API const hvi_lqr *hvi_env_lqr(const hvi_env *env);
/* P[n][n] and c of the value above for any gain K[m][n] and std[m]; an error when it is infinite.
 */
HVI_API hvi_status hvi_lqr_value(const hvi_lqr *lqr, const double *K, const double *std,
                                 double gamma, double *P, double *c, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
