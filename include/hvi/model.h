/*
 * Models: z = g(theta), from d parameters to n outputs, with both products of its Jacobian J.
 *
 * A model is a constant description and may be shared between threads. What an evaluation leaves
 * behind for the derivatives at the same theta (activations, slopes) goes into a cache of
 * `cache` doubles that the caller owns, one per thread.
 *
 * To write your own, embed hvi_model as the first member of a struct and fill in the ops.
 */
#ifndef HVI_MODEL_H
#define HVI_MODEL_H

#include <hvi/activation.h>
#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_model hvi_model;
typedef struct hvi_device_descent hvi_device_descent; /* of this library: gpu/device.h */

/* A player's share of the parameters and of the outputs. J is block-diagonal over players, and no
 * method ever multiplies it out. */
typedef struct hvi_block {
  size_t theta, dim; /* parameters theta .. theta + dim */
  size_t z, out;     /* outputs    z .. z + out         */
  size_t cache;      /* where its part of a cache begins */
} hvi_block;

typedef struct hvi_model_ops {
  const char *name;
  /* z = g(theta), and fills the cache */
  void (*eval)(const hvi_model *m, double *cache, const double *theta, double *z);
  /* out = J(theta)' u,  u[n], out[d]; theta is the one last evaluated with this cache */
  void (*vjp)(const hvi_model *m, double *cache, const double *theta, const double *u, double *out);
  /* out = J(theta) v,   v[d], out[n] */
  void (*jvp)(const hvi_model *m, double *cache, const double *theta, const double *v, double *out);
  /* Evaluations with this cache are of this sample from now on, NULL meaning the mean, as in a
   * cache of zeros. Optional: NULL when the model does not depend on the problem's draws. */
  void (*bind)(const hvi_model *m, double *cache, const void *sample);
  /* G = J' Xi J, G[d][d], Xi the identity when weights is NULL. Optional, and only for a model
   * whose J is constant, tall and too large to decompose: steps then use G, formed once. */
  void (*gram)(const hvi_model *m, const double *weights, double *G);
  /* K = J J', K[n][n], its lower triangle at least, at the theta last evaluated with this cache.
   * Optional, for models of one block that have it more cheaply than J, such as a network. work:
   * outer_work doubles. */
  void (*outer_gram)(const hvi_model *m, double *cache, const double *theta, double *K,
                     double *work);
  /* J[n][d] of a model of one block, where that is cheaper than products with unit vectors;
   * optional. */
  void (*jacobian)(const hvi_model *m, double *cache, const double *theta, double *J);
  /* Many steps of a first-order optimizer in one call, for a network on a device; optional. theta
   * becomes where they ended, z its outputs. The optimizer's state stays with the model. */
  void (*descend)(const hvi_model *m, double *cache, double *theta, hvi_device_descent *d,
                  double *z);
  /* The model of one player alone; may be NULL when there is only one block. */
  const hvi_model *(*player)(const hvi_model *m, size_t k);
  /* Gives back the struct and what it owns. Optional: for a model that nobody allocated, such as a
   * member of a problem's struct. */
  void (*free)(hvi_model *m);
} hvi_model_ops;

struct hvi_model {
  const hvi_model_ops *ops;
  size_t dim;              /* d, number of parameters        */
  size_t out;              /* n, number of outputs           */
  size_t cache;            /* doubles that a cache must hold */
  size_t block_count;      /* players, at least 1            */
  const hvi_block *blocks; /* [block_count], in order, covering everything */
  size_t outer_work;       /* doubles that outer_gram works with */
  double noise;            /* relative rounding error of its products; 0: that of doubles */
  double flops;            /* of a product J'u, roughly, by which steps are chosen; 0: n d */
  double outer_flops;      /* of outer_gram; 0: n^2 d */
};

/* What a stack of fixed inputs computes in. Its interfaces are doubles, whatever is inside. */
typedef enum hvi_precision {
  HVI_PRECISION_DOUBLE,   /* kernels of the level of instructions; small stacks in plain loops */
  HVI_PRECISION_SINGLE,   /* floats inside: half the time, seven digits */
  HVI_PRECISION_REFERENCE /* doubles in plain loops: the same bits at every level */
} hvi_precision;

/*
 * A stack of layers. Its input is theta itself (a hidden game's player: fixed matrices, the
 * strategy is the input), or `rows` fixed inputs with trainable layers (a network). Outputs are row
 * after row. theta holds the input, if trainable, then each trainable W and b in order.
 */
typedef struct hvi_stack_spec {
  size_t in;           /* length of the input */
  const double *input; /* [rows][in] when fixed; NULL: theta begins with the input */
  size_t rows;         /* 1 when theta is the input */
  size_t layer_count;
  const hvi_layer *layers;
  hvi_precision precision; /* of fixed inputs; a stack whose input is theta is one of doubles */
} hvi_stack_spec;

/* The constructors copy what they are given. */
HVI_API hvi_status hvi_stack_new(hvi_model **model, const hvi_stack_spec *spec, hvi_error *err);
/* z = A theta + b, A[n][d] row-major, b may be NULL. */
HVI_API hvi_status hvi_affine_new(hvi_model **model, size_t n, size_t d, const double *A,
                                  const double *b, hvi_error *err);
/* Several players side by side. Takes the players over, also when it fails. */
HVI_API hvi_status hvi_players_new(hvi_model **model, size_t count, hvi_model *const *players,
                                   hvi_error *err);
/* Frees a model that nobody has taken over: hvi_players_new, hvi_game_new and hvi_problem.model do.
 * NULL is fine. */
HVI_API void hvi_model_free(hvi_model *m);

/* Before a model is used: its stacks of fixed inputs, and those of its players, compute in this
 * precision from now on. *changed, if not NULL, is raised by one for each. */
HVI_API hvi_status hvi_model_set_precision(hvi_model *m, hvi_precision precision, size_t *changed,
                                           hvi_error *err);

/* J of one player, row-major [blocks[k].out][blocks[k].dim], at the theta last evaluated with this
 * cache; by its own function, or products with unit vectors, the fewer of J'e and J e. scratch: dim
 * + out doubles. */
HVI_API void hvi_model_jacobian(const hvi_model *m, double *cache, const double *theta, size_t k,
                                double *J, double *scratch);

#ifdef __cplusplus
}
#endif

#endif
