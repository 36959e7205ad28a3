/*
 * Roll-outs of a policy in an environment: data sets of their transitions, and scores.
 *
 * Episode e under seed S draws from two generators of its own, (S, "episode-environment", e) for
 * its initial state and its steps and (S, "episode-policy", e) for the policy's noise, and ends
 * where a step terminates or truncates it. So an episode depends on nothing but S and e. Threads
 * take groups of episodes, in which the policy acts on several observations at once; the bits are
 * the same for any number of threads.
 *
 * A run that makes FILE appends its finished groups to FILE.partial, which may be cut off at any
 * moment. A run that resumes takes whole records with the right checksum from there, computes the
 * rest, and ends in the same bits as one that was never stopped. At the end FILE appears whole and
 * FILE.partial is removed.
 */
#ifndef HVI_ROLLOUT_H
#define HVI_ROLLOUT_H

#include <hvi/policy.h>
#include <hvi/setting.h>
#include <hvi/tensors.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What to do with a FILE.partial that is there already (as in io/journal.h). */
typedef enum hvi_partial { HVI_PARTIAL_REFUSE, HVI_PARTIAL_RESUME, HVI_PARTIAL_FRESH } hvi_partial;

enum { HVI_ROLLOUT_MAX_THREADS = 1024 };

struct hvi_share;

/* How a run is carried out; only the seed has a say in the results. */
typedef struct hvi_rollout_settings {
  uint64_t seed;
  size_t threads; /* 0: one per core */
  hvi_partial partial;
  bool accept_other_bits;  /* go on with groups of another level of instructions */
  const char *policy_name; /* for the notes of the file; NULL: none */
  /* Steps done in this run, of those it has to do at most. Called several times a second, from any
   * thread but never at once; false stops the run, which can be resumed. */
  bool (*progress)(void *context, size_t done, size_t total);
  void *progress_context;
  const struct hvi_share *share; /* the program's: which groups are run here; NULL: all */
} hvi_rollout_settings;
HVI_API const hvi_setting_table *hvi_rollout_table(void); /* of `seed` and `threads` */

/* How it went. */
typedef struct hvi_rollout_report {
  bool stopped;   /* by the progress function: there is a FILE.partial and no new FILE */
  size_t resumed; /* groups that an earlier run had finished */
  size_t damaged; /* bytes at the end of its partial file that were of no use */
  size_t steps;   /* environment steps of this run */
  double seconds;
} hvi_rollout_report;

/* Where numbers come from, as a file's notes tell; empty or 0 where they do not. */
typedef struct hvi_provenance {
  char environment[64];
  char policy[256];
  char fingerprint[17];
  char version[32];
  char levels[40]; /* of instructions that the numbers were computed with, '+' between */
  uint64_t seed;
  size_t broken; /* simulations that failed; each counts as a termination */
} hvi_provenance;

/* Sixteen hexadecimal digits that two policies share only when they act alike: a hash of shapes and
 * parameters, the same on every machine. */
HVI_API void hvi_policy_fingerprint(char text[17], const hvi_policy *policy);

typedef struct hvi_collect_settings {
  hvi_rollout_settings run;
  size_t transitions;
  bool deterministic; /* the policy's mean action, without noise */
} hvi_collect_settings;

/* Seed 1, one thread per core, 100,000 transitions of the sampled policy. */
HVI_API hvi_collect_settings hvi_collect_defaults(void);
HVI_API const hvi_setting_table *hvi_collect_table(void); /* but for `run` */

/*
 * Writes the first `transitions` transitions of episodes 0, 1, 2, ..., in order, to a .safetensors
 * file: obs, action, reward, next_obs (F32), terminated, truncated (BOOL). A row that is neither
 * terminated nor truncated is followed by its successor, except for the last one of the file, at
 * which an episode may be cut.
 */
HVI_API hvi_status hvi_dataset_collect(const char *path, const hvi_env *env,
                                       const hvi_policy *policy, const hvi_collect_settings *s,
                                       hvi_rollout_report *report, hvi_error *err);

enum { HVI_DATASET_REMARKS = 1024 };
/* A data set that was read, or that a collector fills. */
typedef struct hvi_dataset {
  size_t count, obs, act;
  float *observation; /* [count][obs] */
  float *action;      /* [count][act] */
  float *reward;      /* [count] */
  float *next;        /* [count][obs] observation after the step */
  bool *terminated;   /* [count] */
  bool *truncated;    /* [count] */
  bool cuts_unknown;  /* the file does not say where episodes are cut: no row follows another */
  char remarks[HVI_DATASET_REMARKS]; /* how the file was read, a sentence a line */
  hvi_provenance origin;
  void *file; /* whose numbers are columns; NULL: none */
} hvi_dataset;

/* Names of one's own: "obs=my_states" makes the tensor my_states the column obs. */
typedef struct hvi_names {
  size_t count;
  const char *const *items;
} hvi_names;

/*
 * Reads a .safetensors or .npz file or a folder of .npy files. Required are obs, reward, next_obs
 * and one of terminated and done, by these names or by those of D4RL, Gymnasium or Minari, or as
 * `names` says (NULL: nothing). action and truncated may be missing. next_obs may be missing where
 * the ends of episodes are known: it is then the next row's obs. docs/data-files.md has the rules.
 */
HVI_API hvi_status hvi_dataset_read(hvi_dataset **data, const char *path, const hvi_names *names,
                                    hvi_error *err);
/* The same of arrays in memory, which are copied; `name` is what errors call them. */
HVI_API hvi_status hvi_dataset_of(hvi_dataset **data, const hvi_tensors *arrays, const char *name,
                                  const hvi_names *names, hvi_error *err);
/* The same without names. */
HVI_API hvi_status hvi_dataset_load(hvi_dataset **data, const char *path, hvi_error *err);
HVI_API void hvi_dataset_free(hvi_dataset *data);
/* Whether the row after this one is there and is the next step of the same episode. */
HVI_API bool hvi_dataset_continues(const hvi_dataset *data, size_t row);

typedef struct hvi_returns_settings {
  hvi_rollout_settings run; /* without a file: `partial` and `policy_name` have no say */
  size_t episodes;
  bool deterministic; /* the policy's mean action, without noise */
} hvi_returns_settings;

/* Seed 1, one thread per core, 20 episodes of the sampled policy. */
HVI_API hvi_returns_settings hvi_returns_defaults(void);
HVI_API const hvi_setting_table *hvi_returns_table(void); /* but for `run` */

/* The returns of whole episodes, not discounted. */
typedef struct hvi_returns {
  size_t episodes;
  double *returns, *length; /* [episodes] */
  double mean, sd;          /* of the returns */
  double half_width;        /* of the mean's 95 % Student interval; NaN for one episode */
  double least, most;       /* returns */
  double mean_length, shortest, longest;
  size_t terminated; /* episodes that ended before the time limit */
} hvi_returns;

/* Runs episodes 0, 1, ... with generators (seed, "score world", e) and (seed, "score noise", e). A
 * simulation that fails is an error. A run that was stopped leaves *returns NULL. */
HVI_API hvi_status hvi_rollout_returns(hvi_returns **returns, const hvi_env *env,
                                       const hvi_policy *policy, const hvi_returns_settings *s,
                                       hvi_rollout_report *report, hvi_error *err);
HVI_API void hvi_returns_free(hvi_returns *returns);

/* How an environment answered given actions. */
typedef struct hvi_replay {
  size_t done;     /* steps taken */
  size_t limit_at; /* the step that reached the time limit; 0: none did */
  double sum;      /* of rewards */
  bool terminated, broken;
} hvi_replay;

/* Gives env, in the state it is in, actions[steps][act], up to termination; the time limit is
 * passed over. rows[steps][obs + 2]: observation, reward, terminated (0 or 1). Without a generator
 * there is no noise. `stop` may be NULL; where it says true before a step, that is the end. */
HVI_API hvi_replay hvi_env_replay(hvi_env *env, const double *actions, size_t steps, hvi_rng *noise,
                                  double *rows, bool (*stop)(void *context), void *context);

#ifdef __cplusplus
}
#endif

#endif
