/* Inside a policy, for those that make one: the trainer and the reader of files. */
#pragma once

#include "io/tensors_file.h"
#include "net/net.h"

#include <hvi/policy.h>

enum { HVI_POLICY_NOTES = 16 };
HVI_RELEASE(hvi_policy)

/* Where the log std of an action comes from, h being the second head. */
typedef enum hvi_deviation {
  HVI_DEVIATION_RANGE, /* -5 + 3.5 (tanh h + 1), CleanRL's SAC and ours */
  HVI_DEVIATION_CLAMP, /* h, no less than -20 and no more than 2 */
  HVI_DEVIATION_PLAIN, /* h, often the same in every state */
  HVI_DEVIATION_NONE   /* no noise */
} hvi_deviation;

typedef struct hvi_policy_form {
  hvi_deviation deviation;
  bool clipped;   /* to shift +- scale, and not squashed by tanh */
  bool env_range; /* scale and shift are the environment's */
  bool ranged;    /* scale and shift are known, and not 1 and 0 for want of others */
} hvi_policy_form;

struct hvi_policy {
  const char *layout; /* whose names the file has; NULL: our own */
  hvi_policy_form form;
  size_t obs, act;
  hvi_net *net;                   /* an actor; NULL: linear-Gaussian */
  float *weights, *scale, *shift; /* [net->weights], [act], [act] of an actor, one block */
  double *gain, *std;             /* [act][obs], [act] of the other, one block */
  size_t note_count;              /* text that goes into its file, copied */
  hvi_tensor_note notes[HVI_POLICY_NOTES];
};

/* An actor with hidden layers of these widths and a head of 2 act outputs, means first; scale 1,
 * shift 0 and weights still zero: fill in the parameters, then hvi_net_prepare. */
hvi_status hvi_policy_actor(hvi_policy **policy, size_t obs, size_t act, size_t hidden_count,
                            const size_t *hidden, hvi_activation activation, hvi_error *err);
/* Whether a policy read from a file uses its tensor of that name. */
bool hvi_policy_uses(const hvi_policy *policy, const char *name);
enum { HVI_POLICY_TEXT = 200 };
/* "Stable-Baselines3 PPO: tanh layers, Gaussian, clipped to [-2, 2]" */
char *hvi_policy_describe(char text[HVI_POLICY_TEXT], const hvi_policy *policy);
hvi_status hvi_policy_add_note(hvi_policy *policy, const char *key, const char *text,
                               hvi_error *err);

/* Tensors to write from or to read into, with their names. */
enum { HVI_SHEET_NAME = 80 };
typedef struct hvi_sheet {
  size_t count;
  hvi_tensor *items;
  char (*names)[HVI_SHEET_NAME];
} hvi_sheet;

/* Room for `most` tensors. Freed also after an error. */
hvi_status hvi_sheet_new(hvi_sheet *s, size_t most, hvi_error *err);
void hvi_sheet_free(hvi_sheet *s);
/* Adds data[rows][cols], cols 0: a vector, under the name `name``part`. */
void hvi_sheet_add(hvi_sheet *s, hvi_tensor_type type, const void *data, size_t rows, size_t cols,
                   const char *name, const char *part);

/* The squashed Gaussian of an actor: samples, their log-probabilities, and the pull-back of both
 * (the formulas are in policy.c). Arrays are [rows][act] of the batch at hand. */
typedef struct hvi_squash {
  size_t act;
  const hvi_net_kernels *kernels;
  const float *scale, *shift; /* [act] */
  hvi_policy_form form;
  float *mean, *log_std, *std;
  float *t;                     /* tanh of the second head */
  float *noise;                 /* filled in by the caller */
  float *y;                     /* tanh(u) */
  float *density, *log_density; /* scale (1 - y^2) + epsilon */
  float *log_prob;              /* [rows] */
} hvi_squash;

/* Floats that a squash of `rows` rows takes; that of an actor, in memory[that many]. */
size_t hvi_squash_size(size_t rows, size_t act);
void hvi_squash_bind(hvi_squash *s, const hvi_policy *actor, float *memory, size_t rows);

/* Reads the network's output head[rows][2 act] into rows first .. first + rows - 1. */
void hvi_squash_read(hvi_squash *s, const float *head, size_t first, size_t rows);
/* Actions of rows 0 .. rows - 1, by the noise that lies there: action[rows], action_row apart. */
void hvi_squash_sample(hvi_squash *s, size_t rows, float *action, size_t action_row);
/* log_prob of the actions sampled last. */
void hvi_squash_log_prob(hvi_squash *s, size_t rows);
/* The pull-back of loss(action) + weight sum(log_prob): pull[rows][act] = dloss/daction in, and
 * dhead[rows][2 act] out. */
void hvi_squash_pull(const hvi_squash *s, size_t rows, float weight, const float *pull,
                     float *dhead);
