/*
 * Test sets: states that a policy visits, and their values by Monte Carlo.
 *
 * States. Whole episodes are run, numbered 0, 1, 2, ... with generators (seed,
 * "visit-environment", e) and (seed, "visit-policy", e), until at least `visits` states have been
 * visited in at least `episodes` episodes; an episode's last state, in which no action is taken,
 * does not count. `states` of them are drawn uniformly without replacement, in random order: the
 * first k are a sample too. States of one episode are alike, so the file says of which each one is;
 * and of which class, where the environment has classes.
 *
 * Values. From state i, R roll-outs start with generators (seed, "rollout-environment", i R + r)
 * and (seed, "rollout-policy", i R + r). Each adds up gamma^t reward_t over H steps, or fewer when
 * it terminates. The time limit does not end it: the value is that of the endless task.
 *
 * The tail. A roll-out that lives on after H steps misses gamma^H V(s_H). The state H steps on is
 * distributed much as the visited ones, so gamma^H times their mean value is put in its place:
 *
 *   return_r + (lives on) gamma^H tail,   tail = mean return / (1 - gamma^H share that lives on),
 *
 * which makes the tail the mean of the values itself. value_i is the mean of these over the R
 * roll-outs, standard error_i their sample standard deviation / sqrt(R). What a value may still
 * lack is gamma^H (V(s_H) - tail): by the values found typically gamma^H times their spread about
 * the tail and at most gamma^H max |value - tail|; with |reward| <= b certainly not more than
 * gamma^H (b / (1 - gamma) + |tail|).
 */
#ifndef HVI_TESTSET_H
#define HVI_TESTSET_H

#include <hvi/rollout.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_testset_settings {
  hvi_rollout_settings run;
  size_t states;
  size_t rollouts; /* of each state; 2 or more */
  size_t horizon;  /* steps of a roll-out */
  double gamma;
  size_t visits;   /* states to choose from at least; 0: five times `states` */
  size_t episodes; /* to choose from at least, but for more than there are `states` */
} hvi_testset_settings;

/* Seed 1, one thread per core, 10,000 states of 200 episodes, 10 roll-outs of 500 steps, gamma 0.99. */
HVI_API hvi_testset_settings hvi_testset_defaults(void);
HVI_API const hvi_setting_table *hvi_testset_table(void); /* but for `run` */

/* Writes a .safetensors file: obs F32 [n][obs], state F64 [n][state] (for hvi_env_restore), value,
 * standard_error F64 [n], returns F64 [n][R], length I32 [n][R], terminated BOOL [n][R], episode I32
 * [n], and class I32 [n] with the note `classes` where the environment has classes. */
HVI_API hvi_status hvi_testset_make(const char *path, const hvi_env *env, const hvi_policy *policy,
                                    const hvi_testset_settings *s, hvi_rollout_report *report,
                                    hvi_error *err);

/* A test set that was read. A file of others has obs and value at least. */
typedef struct hvi_testset {
  size_t count, obs, state, rollouts, horizon; /* the last three 0 where the file does not say */
  double gamma;                                /* 0: the file does not say */
  double reward_bound;                         /* infinite when none is known */
  double tail;                                 /* value that stands for the one after the horizon */
  double *observation;                         /* [count][obs] */
  double *states;                              /* [count][state] */
  double *value;                               /* [count] */
  double *standard_error;                      /* [count]; 0 where the file does not say */
  bool exact;                                  /* the file has no standard errors */
  double *returns;                             /* [count][rollouts] up to the horizon */
  double *length;                              /* [count][rollouts] steps */
  double *terminated;                          /* [count][rollouts] 1 or 0 */
  double *episode;                             /* [count] its number, below 1e7; NULL: not known */
  double *label;                               /* [count] its class; NULL: there are none */
  size_t classes;                              /* labels are below it */
  char class_names[128];                       /* with blanks between; may be empty */
  hvi_provenance origin;
} hvi_testset;

/* Reads a .safetensors or .npz file or a folder of .npy files. Required are obs [n][obs] and value
 * [n]; standard_error, episode and class [n] and the note gamma are taken where they are there. With
 * returns, everything that hvi_testset_make writes but for episode and class has to be there, and
 * values and standard errors are those of their returns. `names` are names of one's own, as in
 * hvi_dataset_read (NULL: none). */
HVI_API hvi_status hvi_testset_read(hvi_testset **set, const char *path, const hvi_names *names,
                                    hvi_error *err);
/* The same without names. */
HVI_API hvi_status hvi_testset_load(hvi_testset **set, const char *path, hvi_error *err);
HVI_API void hvi_testset_free(hvi_testset *set);

/* What a test set can tell apart. */
typedef struct hvi_testset_figures {
  double mean_value, sd_value; /* over the states */
  double mean_error;           /* mean standard error */
  double noise_floor;          /* mean squared standard error: what the true values would score */
  double terminated_share;     /* of the roll-outs */
  double mean_length;
  double after;           /* gamma^horizon: the weight of what comes after it */
  double put_back;        /* gamma^horizon tail, times the share of roll-outs that live on */
  double missing_bound;   /* by the bound on rewards; infinite when none is known */
  double missing_most;    /* gamma^horizon max |value - tail| */
  double missing_typical; /* gamma^horizon times the root mean square of value - tail */
  bool below_error;       /* missing_typical is below the mean standard error */
} hvi_testset_figures;
/* The figures of a test set. */
HVI_API hvi_testset_figures hvi_testset_judge(const hvi_testset *set);

/* The states of a class, or all of them. */
typedef struct hvi_class_figures {
  char name[32];
  size_t count, episodes; /* states, and the episodes that they are from; 0: not known */
  double mean_value;
  double variance_share; /* of the sum of (value - mean of all)^2 */
} hvi_class_figures;
/* label: below set->classes, or set->classes for all states. A name is a number where the file has
 * none. */
HVI_API hvi_status hvi_testset_class(hvi_class_figures *f, const hvi_testset *set, size_t label,
                                     hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
