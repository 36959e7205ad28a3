/*
 * The squashed Gaussian of an actor: samples, their log-probabilities, and the pull-back of both.
 * The formulas are in policy_squash.c.
 */
#ifndef HVI_RL_POLICY_SQUASH_H
#define HVI_RL_POLICY_SQUASH_H

#include "net/kernels.h"

/* Arrays are [rows][act] of the batch at hand. */
typedef struct hvi_squash {
  size_t act;
  const hvi_net_kernels *kernels;
  const float *scale, *shift; /* [act] */
  float *mean, *turn, *log_std, *std;
  float *noise; /* filled in by the caller */
  float *y;     /* tanh(u) */
  float *room;  /* dy-density: scale (1 - y^2) + epsilon */
  float *log_room;
  float *log_prob; /* [rows] */
} hvi_squash;

/* Floats that a squash of `rows` rows takes; arrays from memory[that many]. */
size_t hvi_squash_size(size_t rows, size_t act);
void hvi_squash_place(hvi_squash *s, float *memory, size_t rows);

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

#endif
