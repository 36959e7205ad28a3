/* What a trainer is made of, for the files that share it. */
#ifndef HVI_RL_SAC_PARTS_H
#define HVI_RL_SAC_PARTS_H

#include "io/kept.h"
#include "net/net.h"
#include "rl/policy_squash.h"
#include "rl/sac_replay.h"
#include "rl/sac_twins.h"

#include <hvi/sac.h>

enum { HVI_SAC_RECENT = 10 };

/* A network that Adam moves. */
typedef struct hvi_sac_learner {
  const hvi_net *net;
  float *weights;               /* [net->weights], parameters first */
  float *grad, *first, *second; /* [net->dim] */
  uint64_t steps;
} hvi_sac_learner;

/* One of the twins: everything that its thread writes. Traces are of a slice of the batch. */
typedef struct hvi_sac_critic {
  hvi_sac_learner learner;
  float *target; /* [net->weights] */
  float *trace, *deltas;
  float *packed; /* the trace of the rows in which this critic is the smaller one */
  float *pull;   /* [HVI_NET_ROWS] dloss/dQ */
  float *dx;     /* [HVI_NET_ROWS][act] */
  float *q;      /* [batch] */
  double loss;
} hvi_sac_critic;

/* The generators, in the order of a checkpoint. */
typedef struct hvi_sac_generators {
  hvi_rng acting; /* actions in the environment */
  hvi_rng world;  /* the environment's own */
  hvi_rng rows;   /* of the replay buffer */
  hvi_rng noise;  /* of sampled actions in updates */
} hvi_sac_generators;

/* Whole numbers and reals that go on, in the order of a checkpoint. */
typedef struct hvi_sac_counts {
  uint64_t step, updates, episodes, length, last_length, recent_count;
} hvi_sac_counts;

typedef struct hvi_sac_numbers {
  double episode_return, last_return, recent[HVI_SAC_RECENT];
  double critic_loss, actor_loss, entropy, q_mean;
} hvi_sac_numbers;

/* log alpha, which Adam moves too. */
typedef struct hvi_sac_temperature {
  float log_alpha, first, second;
  uint64_t steps;
} hvi_sac_temperature;

struct hvi_sac {
  hvi_sac_settings settings;
  hvi_env *env;
  size_t obs, act;
  hvi_net *actor_net, *critic_net;
  void *memory;         /* of all arrays below */
  float *scale, *shift; /* [act] */
  hvi_sac_learner actor;
  hvi_sac_critic critics[2];
  hvi_sac_temperature temperature;
  float target_entropy;

  hvi_replay replay;
  hvi_replay_batch batch;
  uint32_t *places; /* [batch] */
  float *y;         /* [batch] what the critics are fitted to */

  hvi_squash squash;
  float *traces; /* of the actor, one for each slice of the batch, trace_size apart */
  size_t trace_size;
  bool traces_fresh; /* they belong to the weights and the batch at hand */
  float *deltas;     /* of the actor, for a slice */
  float *pull;       /* [batch][act] dloss/daction */
  float *dhead;      /* [batch][2 act] */

  double *now, *next, *action; /* [obs], [obs], [act] in the environment */
  float *scratch;              /* for acting */
  hvi_sac_generators generators;
  hvi_sac_counts counts;
  hvi_sac_numbers numbers;
  hvi_twins *twins;             /* NULL: one thread */
  char levels[HVI_LEVELS_TEXT]; /* of instructions, as in hvi_kept */
};

/* exp(log alpha), or the fixed one. */
float hvi_sac_alpha(const hvi_sac *sac);

/* One Adam step of n numbers from their gradient; `steps` counts this one. */
void hvi_sac_adam(const hvi_net_kernels *kernels, float *theta, float *first, float *second,
                  const float *grad, size_t n, double lr, uint64_t steps);

/* Fills the traces and the squash with the actor's output on x[batch][x_row], unless they are
 * there already (`fresh`), and then draws actions: action[batch], action_row apart, with their
 * log_prob in the squash. */
void hvi_sac_sample(hvi_sac *sac, const float *x, bool fresh, float *action);

/* Networks see a batch in slices: the rows of the one that begins at row `at`. */
size_t hvi_sac_slice(const hvi_sac *sac, size_t at);
/* q[at ..] of a slice = Q(x) under these weights; the trace stays. */
void hvi_sac_judge(hvi_sac *sac, hvi_sac_critic *c, const float *weights, const float *x, size_t at,
                   size_t rows);

/* y[n] = reward + gamma future (min(q1, q2) - alpha log_prob) */
void hvi_sac_targets(float *y, size_t n, float gamma, float alpha, const float *reward,
                     const float *future, const float *q1, const float *q2, const float *log_prob);

/* A batch is drawn by the first; the second, when its turn has come, goes on with it. */
void hvi_sac_update_critics(hvi_sac *sac);
void hvi_sac_update_actor(hvi_sac *sac);

#endif
