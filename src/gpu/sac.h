/*
 * Soft actor-critic on a device: trainers of one shape, whose networks learn there all at once.
 *
 * A trainer stays the host's: environment, replay buffer, generators and counters (rl/sac.h). Each
 * update's batch and noise are written by the host, from its own generators, into memory that the
 * device reads. So an update is the same function of the same numbers as on the CPU, in single
 * precision, and what is computed for one trainer depends on nothing but that one. The device keeps the
 * networks and their moments between updates.
 *
 * With j = 0 .. delay - 1 an update is
 *
 *   critics   targets y from noise 0, a step of Adam of both, their slow copies
 *   actor j   a step of Adam, actions sampled by the next noise
 *   alpha j   a step of Adam on log alpha, by the noise after that        (unless alpha is fixed)
 */
#pragma once

#include "gpu/device.h"

enum { HVI_DEVICE_SAC_HIDDEN = 8, HVI_DEVICE_SAC_DELAY = 64 };

typedef struct hvi_device_sac_shape {
  size_t obs, act, batch;
  size_t delay; /* steps of the actor in an update, where it moves; at most HVI_DEVICE_SAC_DELAY */
  size_t hidden_count;  /* relu layers, one at least */
  const size_t *hidden; /* their widths; read while it is made */
  float scale, shift;   /* action = scale tanh(.) + shift */
  float gamma, tau;
  float alpha; /* fixed; 0: automatic, towards target_entropy */
  float target_entropy;
  double actor_lr, critic_lr, alpha_lr;
} hvi_device_sac_shape;

typedef struct hvi_device_trainer {
  /* what the host has, set by it. Networks are W_1 b_1 W_2 ...; the actor has 2 act outputs */
  float *actor[3];                                  /* parameters, first and second moments */
  float *critics[2][4];                             /* the same, and slow copies */
  float *temperature;                               /* log alpha and its two moments */
  size_t *actor_steps, *critic_steps, *alpha_steps; /* of Adam so far; [2] of critics */
  double *numbers; /* losses of critics and actor, entropy, mean of q; of the latest steps */
  /* inputs, set by the device: filled in by the host before an update */
  size_t x_row;
  float *x, *next;        /* [batch][x_row] obs, action; obs */
  float *reward, *future; /* [batch] */
  float *noise;           /* [1 + 2 delay][batch][act], in the order of use */
} hvi_device_trainer;

/* Trainers on a device; more of it is the device's own. */
typedef struct hvi_device_sac {
  const struct hvi_device_sac_functions *functions;
  size_t count;
  hvi_device_trainer *of; /* [count] */
} hvi_device_sac;

typedef struct hvi_device_sac_functions {
  /* HVI_ERROR_MEMORY where the device has no room. */
  hvi_status (*make)(hvi_device_sac **s, hvi_device *d, const hvi_device_sac_shape *shape,
                     size_t count, hvi_error *err);
  void (*free)(hvi_device_sac *s);
  /* Puts all networks of trainer i from the host's arrays, or gets them back there. */
  hvi_status (*move)(hvi_device_sac *s, size_t i, bool put, hvi_error *err);
  /* An update of all trainers: of the critics, and where asked for `delay` steps of the actor. Afterwards the
   * host's temperature, counts of steps, numbers and the actor's parameters are those of the device. */
  hvi_status (*update)(hvi_device_sac *s, bool actor_too, hvi_error *err);
} hvi_device_sac_functions;
