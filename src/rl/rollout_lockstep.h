/*
 * Several simulations side by side, so that the policy's network works on several rows at once.
 *
 * A task is a list of jobs (episodes, roll-outs). Each takes a place, in order, and leaves it to
 * the next job when it is over. A job draws from its own generators and a row's action depends on
 * that row alone, so what a job does is the same in whatever company it runs.
 */
#ifndef HVI_RL_ROLLOUT_LOCKSTEP_H
#define HVI_RL_ROLLOUT_LOCKSTEP_H

#include "rl/rollout_meter.h"

#include <hvi/policy.h>

typedef struct hvi_lockstep {
  const hvi_policy *policy;
  bool deterministic;
  size_t width, obs, act;
  hvi_env **envs;       /* [width] clones, each busy with job[place] */
  size_t *job;          /* [width] */
  hvi_rng *env_rng;     /* [width] */
  hvi_rng *policy_rng;  /* [width] */
  double *now, *act_on; /* [width][obs], [width][act] */
  double *next;         /* [obs] */
  float *scratch;
} hvi_lockstep;

/* A step of a job: what was seen, done, and seen then. */
typedef struct hvi_lockstep_step {
  const double *obs, *action, *next;
  hvi_transition result;
} hvi_lockstep_step;

typedef struct hvi_lockstep_task {
  size_t count; /* jobs */
  void *context;
  /* Puts the environment into the job's first state and makes its generators. */
  void (*begin)(void *context, size_t job, hvi_env *env, hvi_rng *env_rng, hvi_rng *policy_rng);
  /* False: the job is over. env is in the state after the step. */
  bool (*take)(void *context, size_t job, const hvi_env *env, const hvi_lockstep_step *step);
  const char *noun; /* what a job is called in an error, and the number of the first */
  size_t first;
} hvi_lockstep_task;

hvi_status hvi_lockstep_new(hvi_lockstep **lockstep, const hvi_env *env, const hvi_policy *policy,
                            size_t width, bool deterministic, hvi_error *err);
void hvi_lockstep_free(hvi_lockstep *l);

/* Runs all jobs, or returns early once the meter was stopped. An error: numbers beyond those of a
 * float. */
hvi_status hvi_lockstep_run(hvi_lockstep *l, const hvi_lockstep_task *task, hvi_meter *meter,
                            hvi_error *err);

#endif
