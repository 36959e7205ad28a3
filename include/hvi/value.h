/*
 * Policy evaluation with networks: the value function of a policy from its transitions
 * (s_i, r_i, s'_i), by the projected Bellman error.
 *
 *   z_i = V_theta(s_i),   F(z)_i = 1/N (z_i - r_i - gamma f_i V_theta(s'_i)),   Xi = 1/N
 *
 * with f_i = 0 where s'_i is terminal, and 1 otherwise, at a time limit too. With eta = 1 the
 * surrogate's targets are y_i = r_i + gamma f_i V_{theta_t}(s'_i), and the paper's methods are
 * settings of the one outer loop (solver.h):
 *
 *   Algorithm 2   gd or any other optimizer, inner_steps = M; M = 1 is batch TD(0)
 *   Algorithm 3   double sampling: `buffer` = K. The square terms of inner step m are on batch
 *                 m mod K of a buffer, the linear ones on the fresh batch
 *   Algorithm 4   alpha set, inner_steps the cap
 *
 * Beyond the paper, lambda > 0 gives the targets of TD(lambda), a mean over 1, 2, ... steps:
 *
 *   y_i = r_i + gamma f_i ((1 - lambda) V_{theta_t}(s'_i) + lambda y_{i+1})
 *
 * where row i + 1 of the draw is the next step. The true values stay a solution where the network
 * can express them; where it cannot, the projected fixed point moves with lambda. The outer loop
 * contracts by gamma (1 - lambda) / (1 - gamma lambda) instead of gamma, but for the last rows of a
 * draw, and the noise of F grows.
 * With lambda_decay the mean number of further steps, lambda / (1 - lambda), is divided by
 * 1 + lambda_decay t at draw t.
 *
 * A value problem has room to evaluate successors in its samples, not in itself: like every
 * problem it is constant and may be shared. Its mean operator is not known: without a sample F is
 * not a number.
 *
 * Its rules, baselines on the same draws (none with a buffer, lambda or returns as targets):
 * td-target, residual-gradient, tdc and tdrc.
 */
#ifndef HVI_VALUE_H
#define HVI_VALUE_H

#include <hvi/problem.h>
#include <hvi/rollout.h>
#include <hvi/setting.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hvi_value_draw {
  HVI_VALUE_FRESH,  /* draw t is rows t N .. (t + 1) N of the data, after those of the buffer; past
                       their end they start over. With replay, N - replay in place of N, and then
                       `replay` rows at random of all those up to here */
  HVI_VALUE_RANDOM, /* N rows at random, with replacement */
  HVI_VALUE_ALL     /* the whole data set, always: N is its size when the problem is made */
} hvi_value_draw;

enum { HVI_VALUE_MOST_LAYERS = 64 };

typedef struct hvi_gang hvi_gang; /* a device that networks learn on, and outlives them */

typedef struct hvi_value_spec {
  const hvi_dataset *data; /* outlives the problem; rows may be added while it is in use, step by
                              step where those before them are */
  double gamma;            /* at least 0, below 1 */
  double lambda;           /* from 0 to 1; above 0 not with random draws, and without effect on rows
                              of replay */
  double lambda_decay;     /* at least 0; fixed data have but one draw */
  hvi_value_draw draw;
  /* Targets are the discounted returns that followed, regression on Monte-Carlo returns, instead of
   * r + gamma f V(s'). They are those of complete data: rows that are added later are not seen. A
   * row whose episode goes on after the data or after a time limit, or where the next row is of
   * another, lacks gamma^k times a value, k steps on; it is left out where gamma^k is more than
   * 0.01. */
  bool returns;
  size_t batch;        /* N */
  size_t replay;       /* how many of the N rows of a fresh draw are drawn again; less than N. The
                          policy is the same throughout, so old rows are as good as new ones */
  double replay_rare;  /* share of these that is drawn from the rarest states so far */
  size_t buffer;       /* K batches, the first of the data, for double sampling; 0: none */
  size_t first;        /* draws of an earlier run that this one goes on after */
  size_t hidden_count; /* 0: linear in s */
  size_t hidden[HVI_VALUE_MOST_LAYERS]; /* widths of the hidden layers */
  hvi_activation activation;
  /* V = shift + scale * network((s - center) / spread), element by element; a spread of NULL is 1,
   * a center of NULL 0. The network then sees and makes numbers of size 1. */
  const double *center, *spread; /* [obs] */
  double shift, scale;           /* 0 and 1: none */
  size_t threads;                /* that share a batch, with the same bits; 0: 1 */
  /* Where the network computes, if it can; one thread at a time then uses the problem. NULL: here. */
  hvi_gang *device;
} hvi_value_spec;

/* obs-256-256-1 ReLU, gamma 0.99, fresh batches of 1,000. */
HVI_API hvi_value_spec hvi_value_defaults(void);
/* Those members that are not data or made from them. */
HVI_API const hvi_setting_table *hvi_value_table(void);

/* The rules, ending in NULL. */
HVI_API const hvi_rule *const *hvi_value_rules(void);

/* First parameters by PyTorch's rule, from stream "value" of the seed. What the spec points at,
 * except for the data, is copied. Fresh draws ask for N - replay rows of data at least, a buffer
 * for K N. */
HVI_API hvi_status hvi_value_new(hvi_problem **problem, const hvi_value_spec *spec, uint64_t seed,
                                 hvi_error *err);

/* Rows of data that fresh draws 0 .. draws - 1 of this problem go through when they do not start
 * over, with the earlier run's and the buffer's: what a collector must have. 0 for other draws.
 * With returns as targets, at most the rows that are there. */
HVI_API size_t hvi_value_rows(const hvi_problem *value, size_t draws);

/* V_theta of obs[rows][obs], into values[rows]. Allocates room for a slice of rows. */
HVI_API hvi_status hvi_value_predict(const hvi_problem *value, const double *theta,
                                     const float *obs, size_t rows, double *values, hvi_error *err);

/* The network as .safetensors, with names as PyTorch has them, and gamma, activation and the scales
 * as notes: gamma, activation, shift, scale, center, spread (numbers with spaces between them).
 * hvi_mlp_load reads its parameters. */
HVI_API hvi_status hvi_value_save(const hvi_problem *value, const double *theta, const char *path,
                                  hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
