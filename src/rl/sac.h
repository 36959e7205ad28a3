/* What a trainer is made of, for the files that share it. */
#pragma once

#include "gpu/gang.h"
#include "gpu/sac.h"
#include "io/kept.h"
#include "rl/policy.h"

#include <hvi/sac.h>

HVI_RELEASE(hvi_sac)

enum { HVI_SAC_RECENT = 10 };

/*
 * The replay buffer holds the last `settings.buffer` transitions, a row of floats each,
 *
 *   obs | action | reward | next obs | 1 where the next state has a future, 0 where it ended
 *
 * so that a random row is a few cache lines side by side. Memory is taken in blocks as the buffer
 * fills, so a short run stays small.
 */
enum { HVI_SAC_BLOCK = 16384 }; /* rows */

/* A batch, laid out for the networks: x and next are [rows][x_row], obs first and then an action
 * (which is for others to fill in in `next`). */
typedef struct hvi_sac_batch {
  float *x, *next;
  size_t x_row;
  float *reward, *future; /* [rows] */
  uint32_t *index;        /* [rows] of the buffer */
} hvi_sac_batch;

/* A network that Adam moves. */
typedef struct hvi_sac_learner {
  const hvi_net *net;
  float *weights;               /* [net->weights], parameters first */
  float *grad, *first, *second; /* [net->dim] */
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
  size_t actor_steps, critic_steps[2], alpha_steps; /* of Adam */
  size_t stored, place; /* rows in the buffer; where the next one goes */
  size_t step, updates, episodes, length, last_length, recent_count;
} hvi_sac_counts;

typedef struct hvi_sac_numbers {
  double episode_return, last_return, recent[HVI_SAC_RECENT];
  double critic_loss, actor_loss, entropy, q_mean;
} hvi_sac_numbers;

/* log alpha, which Adam moves too. */
typedef struct hvi_sac_temperature {
  float log_alpha, first, second;
} hvi_sac_temperature;

struct hvi_sac {
  hvi_sac_settings settings;
  hvi_env *env;
  size_t obs, act;
  hvi_policy *policy; /* the actor's network, weights, scale and shift */
  hvi_net *critic_net;
  void *memory; /* of all arrays below */
  hvi_sac_learner actor;
  hvi_sac_critic critics[2];
  hvi_sac_temperature temperature;
  float target_entropy;

  float **blocks;          /* [block_count] of the buffer, NULL where not reached yet */
  size_t block_count, row; /* row: floats of a transition */
  hvi_sac_batch batch;
  float *y; /* [batch] what the critics are fitted to */

  hvi_squash squash;
  float *traces; /* of the actor, one for each slice of the batch, trace_size apart */
  size_t trace_size;
  bool traces_fresh; /* they belong to the weights and the batch at hand */
  float *deltas;     /* of the actor, for a slice */
  float *pull;       /* [batch][act] dloss/daction */
  float *dhead;      /* [batch][2 act] */

  double *now, *next, *action; /* [obs], [obs], [act] in the environment */
  double *world;               /* [env->state] for a checkpoint */
  float *scratch;              /* for acting */
  hvi_sac_generators generators;
  hvi_sac_counts counts;
  hvi_sac_numbers numbers;
  char levels[HVI_LEVELS_TEXT]; /* of instructions, as in hvi_kept */

  hvi_gang *gang;
  hvi_device_sac *device; /* that its networks learn on, with others; NULL: none */
  size_t place;           /* among them; the first frees it */
};

/* Makes sure that rows 0 .. count - 1 of the buffer have memory. */
hvi_status hvi_sac_reserve(hvi_sac *sac, size_t count, hvi_error *err);
float *hvi_sac_row(const hvi_sac *sac, size_t i);
hvi_status hvi_sac_add(hvi_sac *sac, const double *obs, const double *action, double reward,
                       const double *next, bool terminated, hvi_error *err);

/* Draws a batch uniformly, with replacement. */
void hvi_sac_draw(hvi_sac *sac);

/* exp(log alpha), or the fixed one. */
float hvi_sac_alpha(const hvi_sac *sac);

/* y = reward + gamma future (min(q1, q2) - alpha log_prob) */
void hvi_sac_targets(hvi_sac *sac);

/* A step of the critics on a batch that is drawn, and of the actor on the same one. */
void hvi_sac_update_critics(hvi_sac *sac);
void hvi_sac_update_actor(hvi_sac *sac);

/* From here on the networks of these trainers, alike but for their seeds, learn on a device together. */
hvi_status hvi_sac_attach(hvi_sac *const *all, size_t count, hvi_gang *gang, hvi_error *err);
/* An update of all of them; of their networks here only the actor is that of the device. */
hvi_status hvi_sac_update_there(hvi_sac *const *all, bool actor_too, hvi_error *err);
hvi_status hvi_sac_fetch(const hvi_sac *sac, hvi_error *err);
/* hvi_sac_load for a device, by its level; NULL: none. */
hvi_status hvi_sac_load_for(hvi_sac **out, const hvi_env *env, const char *path,
                            bool accept_other_bits, const char *device, hvi_error *err);
