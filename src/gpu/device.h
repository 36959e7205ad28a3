/*
 * Networks on a device: the functions of module `gpu` (src/gpu), and of the emulation in the tests.
 *
 * A device computes for many networks of one shape at once, each with parameters, rows and an
 * optimizer of its own. What it computes for one depends on nothing but that one's job: not on the
 * others beside it, nor on how many they are. The host is in charge of parameters; a device keeps a
 * copy of them and, between descents, an optimizer's state.
 *
 * Arrays of jobs lie in memory of `host_alloc`, at multiples of 16 bytes: a device reads and writes them
 * in place.
 *
 * Arrays of parameters have the device's layout (hvi_device_shape): the network's own, W_1 b_1 W_2
 * ..., but each row of a W is filled up with zeros to a multiple of HVI_DEVICE_PAD numbers, and
 * each b too. Inputs are rows of as many numbers as a row of W_1 has.
 *
 * Everything here is called by one thread at a time.
 */
#pragma once

#include <hvi/activation.h>
#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

enum { HVI_DEVICE_PAD = 8, HVI_DEVICE_MOST_LAYERS = 64 };

typedef struct hvi_device hvi_device;         /* one device, its memory and its queue */
typedef struct hvi_device_net hvi_device_net; /* a network's parameters and state there */

/* How products are computed. Losses, and what a threshold or a floor is compared with, are of single
 * precision or better in all of them. */
typedef enum hvi_device_precision {
  HVI_DEVICE_FP16X3, /* three half-precision products each: errors as those of single precision */
  HVI_DEVICE_FP32,   /* single precision */
  HVI_DEVICE_FP16    /* one product of numbers of 11 bits: gradients' relative errors about 1e-3 */
} hvi_device_precision;

/* Widths of a network with one output and an identity at its end. Activations of hidden layers are
 * those whose slope is a function of their value: hvi_device_knows. */
typedef struct hvi_device_shape {
  size_t layer_count;                       /* with the head */
  size_t width[HVI_DEVICE_MOST_LAYERS + 1]; /* [0]: inputs; the last: 1 */
  hvi_activation activation;
} hvi_device_shape;

static inline bool hvi_device_knows(hvi_activation a) {
  return a == HVI_RELU || a == HVI_LEAKY_RELU || a == HVI_TANH || a == HVI_SIGMOID ||
         a == HVI_CELU || a == HVI_SOFTPLUS || a == HVI_IDENTITY;
}

static inline size_t hvi_device_padded(size_t n) {
  return (n + HVI_DEVICE_PAD - 1) / HVI_DEVICE_PAD * HVI_DEVICE_PAD;
}

/* Where W_l and b_l begin, l = 0 .. layer_count - 1; of l = layer_count the number of all. */
static inline size_t hvi_device_weight(const hvi_device_shape *s, size_t l) {
  size_t at = 0;
  for (size_t i = 0; i < l; i++)
    at += s->width[i + 1] * hvi_device_padded(s->width[i]) + hvi_device_padded(s->width[i + 1]);
  return at;
}
static inline size_t hvi_device_bias(const hvi_device_shape *s, size_t l) {
  return hvi_device_weight(s, l) + s->width[l + 1] * hvi_device_padded(s->width[l]);
}
static inline size_t hvi_device_numbers(const hvi_device_shape *s) {
  return hvi_device_weight(s, s->layer_count);
}

typedef enum hvi_device_kind {
  HVI_DEVICE_EVAL,   /* y = outputs */
  HVI_DEVICE_PULL,   /* gradient = J'u */
  HVI_DEVICE_PUSH,   /* y = J v */
  HVI_DEVICE_DESCEND /* steps of an optimizer on the surrogate below */
} hvi_device_kind;

typedef enum hvi_device_rule {
  HVI_DEVICE_GD,
  HVI_DEVICE_MOMENTUM,
  HVI_DEVICE_ADAM
} hvi_device_rule;

/*
 * A descent minimises, over the rows,
 *
 *   l = sum_i 1/2 weight_i r_i^2 + linear_i r_i,   r_i = shift + scale y_i - target_i,
 *
 * by at most `most` steps, and takes none while l <= goal (goal = -inf: all of them):
 *
 *   gd        theta <- theta - lr g
 *   momentum  m <- beta1 m + g,  theta <- theta - lr m
 *   adam      m <- beta1 m + (1 - beta1) g,  v <- beta2 v + (1 - beta2) g^2,  k <- k + 1
 *             theta <- keep theta - lr (m / (1 - beta1^k)) / (sqrt(v / (1 - beta2^k)) + epsilon),
 *             keep = 1 - lr decay
 *
 * lr of step k (from 0) is lr * lr_factor^k.
 */
typedef struct hvi_device_descent {
  const double *target, *weight, *linear; /* [rows]; linear may be NULL */
  double shift, scale;
  hvi_device_rule rule;
  double lr, lr_factor, beta1, beta2, epsilon, decay;
  bool forget;       /* m = v = 0, and the powers 1, before the first step */
  bool least_wanted; /* `least` is asked for: losses on the way count as much as the last */
  size_t most;
  double goal;
  size_t at_least; /* so many steps are taken whatever the goal is: 0 or 1 */
  /* out */
  size_t steps;       /* taken so far */
  double loss, least; /* where it stands; the least on the way, the start not included */
} hvi_device_descent;

/* A job's own rows, or those that every job of its network with that name has: a device may still have them. */
typedef enum hvi_device_rows {
  HVI_DEVICE_OWN,
  HVI_DEVICE_STATES,
  HVI_DEVICE_SUCCESSORS,
  HVI_DEVICE_ENDS, /* successors that are no states */
  HVI_DEVICE_ROWS  /* their number */
} hvi_device_rows;

typedef struct hvi_device_job {
  hvi_device_net *net;
  size_t rows;
  hvi_device_rows whose;
  const float *x;     /* [rows][hvi_device_padded(inputs)] */
  const float *theta; /* new parameters; NULL: those that the device has */
  const double *u;    /* pull: [rows] */
  const float *v;     /* push: a direction, laid out as theta */
  float *y;           /* eval, push, and a descent's outputs where it ends: [rows] */
  float *result;      /* pull: the gradient; descend: theta. Laid out as theta */
  hvi_device_descent descent;
  double seconds; /* out: this job's share of the device's time so far */
  bool begun;     /* set by `run`: the device has its inputs */
  bool done;      /* set by `run` */
} hvi_device_job;

typedef struct hvi_device_about {
  char name[128];             /* "NVIDIA H200" */
  char level[48];             /* what the bits depend on: "cuda-sm90-fp16x3" */
  char driver[48];            /* of the driver and of the run-time library */
  size_t memory, free_memory; /* bytes */
  size_t processors;
} hvi_device_about;

/* Microseconds of one step of all networks: ours; the bare products by cuBLAS, strided and batched
 * (NaN: it is not installed); and the arithmetic at the device's peak for that precision. */
typedef struct hvi_device_times {
  double step, products, floor;
} hvi_device_times;

typedef struct hvi_device_functions {
  /* HVI_ERROR_UNSUPPORTED: there is none, or none that will do. */
  hvi_status (*open)(hvi_device **d, hvi_device_precision precision, hvi_error *err);
  void (*close)(hvi_device *d);
  hvi_status (*describe)(hvi_device *d, hvi_device_about *about, hvi_error *err);
  /* HVI_ERROR_MEMORY where the device has no room. State is that of `forget`. */
  hvi_status (*net_new)(hvi_device_net **net, hvi_device *d, const hvi_device_shape *shape,
                        hvi_error *err);
  void (*net_free)(hvi_device_net *net);
  /* Puts the optimizer's state, or gets it: powers {beta1^k, beta2^k}, m and v laid out as theta. */
  hvi_status (*move_state)(hvi_device_net *net, bool put, double power[2], float *m, float *v,
                           hvi_error *err);
  /* Memory of the host that the device can reach. */
  void *(*host_alloc)(size_t bytes);
  void (*host_free)(void *p);
  /*
   * Jobs of one kind on different networks of one shape; the rows of each are its own affair. All but
   * descents are done when this returns. A descent gets on by at most `steps` steps; the same job is
   * given again, unchanged, until it is done, and what it points at stays where it is. With
   * HVI_ERROR_MEMORY nothing has happened to any job: there is no room even for one of them at a time
   * beside the networks that are there, and the same jobs may be given again, or some of them. Another
   * failure is one of the device, and final: no job's results are to be used.
   */
  hvi_status (*run)(hvi_device *d, hvi_device_kind kind, hvi_device_job *const *jobs, size_t count,
                    size_t steps, hvi_error *err);
  /* Times `nets` networks with `rows` rows each, on random data, AdamW. */
  hvi_status (*measure)(hvi_device *d, const hvi_device_shape *shape, size_t nets, size_t rows,
                        hvi_device_times *times, hvi_error *err);
  const struct hvi_device_sac_functions *sac; /* gpu/sac.h */
} hvi_device_functions;
