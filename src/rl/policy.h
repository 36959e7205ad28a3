/* Inside a policy, for those that make one: the trainer and the reader of files. */
#ifndef HVI_RL_POLICY_H
#define HVI_RL_POLICY_H

#include "net/net.h"

#include <hvi/policy.h>
#include <hvi/tensors.h>

enum { HVI_POLICY_NOTES = 16 };

struct hvi_policy {
  size_t obs, act;
  hvi_net *net; /* an actor; NULL: linear-Gaussian */
  float *weights;
  float *scale, *shift; /* [act] of an actor */
  double *gain;         /* [act][obs] */
  double *std;          /* [act] */
  size_t note_count;    /* text that goes into its file, copied */
  hvi_tensor_note notes[HVI_POLICY_NOTES];
};

/* An actor with these hidden widths, scale 1, shift 0 and weights still zero: fill in the
 * parameters, then hvi_net_prepare. */
hvi_status hvi_policy_actor(hvi_policy **policy, size_t obs, size_t act, size_t hidden_count,
                            const size_t *hidden, hvi_error *err);
/* The network of an actor: hidden relu layers and a head of 2 act outputs, means first. */
hvi_status hvi_policy_net(hvi_net **net, size_t obs, size_t act, size_t hidden_count,
                          const size_t *hidden, hvi_error *err);
hvi_status hvi_policy_add_note(hvi_policy *policy, const char *key, const char *text,
                               hvi_error *err);

/* What hvi_policy_act does with an actor, for one whose weights lie elsewhere. */
typedef struct hvi_actor {
  const hvi_net *net;
  const float *weights, *scale, *shift;
} hvi_actor;
size_t hvi_actor_scratch(const hvi_net *net, size_t rows);
void hvi_actor_act(const hvi_actor *actor, float *scratch, size_t rows, const double *obs,
                   hvi_rng *rngs, double *action);

#endif
