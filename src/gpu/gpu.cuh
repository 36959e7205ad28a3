/* What the files of this folder share: jobs as the device sees them, and the kernels' launches. */
#pragma once

#include "gpu/plan.h"

#include <cuda_runtime.h>

/* How far a descent is; on the device, between launches too. */
struct progress {
  double power[2];    /* beta1^k, beta2^k */
  double loss, least; /* where it stands; the least after a step */
  double lr;          /* of the next step */
  float rate, root,
      shrink; /* of the step under way: lr / (1 - power0), 1 / (1 - power1), lr decay */
  int steps;
  int going;        /* a step is under way, or has not been decided on */
  unsigned arrived; /* tiles whose loss is there */
};

/* Bits of the largest numbers, without signs, of inputs and parameters, of these the largest since the descent
 * began. Halves of weights are scaled by what it was before they were made. */
struct magnitudes {
  unsigned x, theta, made;
};

/* Arrays of a job in the host's memory, which the device can reach; NULL: it has none of that kind. */
struct host_side {
  const float *theta, *x, *direction;
  const double *target, *weight, *linear, *u;
  float *result, *y;
};

/* A job on the device, copied in bulk. Pointers are the device's, but for the host's side. */
struct alignas(16) gpu_job {
  float *theta, *m, *v;                   /* [numbers] */
  const float *x;                         /* [rows][padded inputs] */
  const double *target, *weight, *linear; /* [rows]; linear NULL: none */
  const double *u;                        /* [rows] pull */
  const float *direction;                 /* [numbers] push */
  float *y;                               /* [rows] */
  float *gradient;                        /* [numbers] pull */
  float *slot;                            /* gpu/plan.h */
  char *x_halves, *weight_halves;         /* of inputs and of hidden layers' weights, or NULL, */
  float *scales;                          /* and what halves of the slot are to be multiplied by */
  progress *state;
  magnitudes *tops;
  host_side host;
  int rows, lead_rows, part_rows, parts;
  int head_rows, head_tiles;
  int careful; /* its losses count: values are of single precision in every step */
  int fresh, forget;
  int rule, most, at_least;
  double shift, scale, goal, lr, lr_factor, beta1, beta2, decay;
  float keep1, rest1, keep2, rest2; /* beta1, 1 - beta1, .. as the step's arithmetic has them */
  float epsilon;
};

/* A launch: the same for all its kernels. */
struct launch {
  cudaStream_t stream;
  const gpu_job *jobs; /* [count] */
  int count;
  int most_rows, most_parts, most_tiles; /* of a job */
  hvi_device_precision precision;
  hvi_gpu_form form;
  int processors;
};

/* What a pass over the layers is for. */
enum pass_kind {
  FOR_OUTPUTS, /* values alone */
  FOR_STEP,    /* a step of a descent: of jobs that are going */
  FOR_END,     /* the loss where a descent ended: of jobs with no step left */
  FOR_PULL,    /* values and slopes for J'u */
  FOR_PUSH     /* values and tangents */
};

/* Where values are numbers, layers.cu: H_l for all hidden layers, and tangents in a product J v; D_l and the
 * parts' sums of gradients, from D of the last hidden layer. */
void hvi_gpu_forward(const launch *l, const hvi_device_shape *s, pass_kind kind);
void hvi_gpu_backward(const launch *l, const hvi_device_shape *s, pass_kind kind);

/* transfer.cu: what new jobs bring; what finished ones leave, and where all descents stand. */
void hvi_gpu_bring(const launch *l, const hvi_device_shape *s);
void hvi_gpu_take(const launch *l, const hvi_device_shape *s, progress *states, bool descends);

/* step.cu: what new jobs start with, their magnitudes among it; outputs; the head's loss, slopes and
 * sums, with the decision whether a step is taken; the step, or the gradient. */
void hvi_gpu_begin(const launch *l, const hvi_device_shape *s, pass_kind kind);
void hvi_gpu_outputs(const launch *l, const hvi_device_shape *s, pass_kind kind);
void hvi_gpu_head(const launch *l, const hvi_device_shape *s, pass_kind kind);
void hvi_gpu_update(const launch *l, const hvi_device_shape *s, pass_kind kind);

/* Where values are halves: passes.cu, all layers and the head, forward and, where slopes are wanted, backward;
 * gradients.cu, the parts' sums or, where there is but one part, the step. */
void hvi_gpu_pass(const launch *l, const hvi_device_shape *s, pass_kind kind);
void hvi_gpu_gradients(const launch *l, const hvi_device_shape *s, pass_kind kind);
static inline bool hvi_gpu_at_once(const launch *l) {
  return l->form == HVI_GPU_HALVES && l->most_parts == 1;
}

/* Kernels of a tile need more shared memory than is granted unasked: once, when a device is opened. */
cudaError_t hvi_gpu_allow_passes(void);
cudaError_t hvi_gpu_allow_gradients(void);
cudaError_t hvi_gpu_allow_memory(void);
template <class... KERNELS> cudaError_t allow_bytes(int bytes, KERNELS... kernels) {
  cudaError_t e = cudaSuccess;
  for (const void *k : {(const void *)kernels...})
    if (!e) e = cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  return e;
}

/* Whether a pass of this kind concerns a job. */
__device__ inline bool concerns(const gpu_job &j, pass_kind kind) {
  if (kind == FOR_STEP) return j.state->going;
  if (kind == FOR_END) return j.state->going && j.state->steps >= j.most;
  return true;
}

/* Layer l as a kernel sees it, l = 1 .. layer_count; the head is the last. */
struct layer {
  int l, in, out;
  int lead_in, lead_out; /* padded */
  size_t weight, bias;   /* where W_l and b_l begin */
  size_t numbers;        /* of all layers */
  size_t below, here;    /* numbers of a row in the values H before H_{l-1}, and before H_l, */
  size_t all, sums;      /* and before D_1 and the sums */
  hvi_activation activation;
};

static inline layer layer_of(const hvi_device_shape *s, hvi_gpu_form form, int l) {
  layer y = {};
  y.l = l;
  y.in = (int)s->width[l - 1], y.out = (int)s->width[l];
  y.lead_in = (int)hvi_device_padded(y.in), y.lead_out = (int)hvi_device_padded(y.out);
  y.weight = hvi_device_weight(s, l - 1), y.bias = hvi_device_bias(s, l - 1);
  y.numbers = hvi_device_numbers(s);
  const size_t rows = hvi_gpu_lead_rows(form, 1);
  y.all = hvi_gpu_slopes(s, form, 1) / rows, y.sums = hvi_gpu_sums(s, form, 1) / rows;
  y.below = l > 1 ? hvi_gpu_values(s, form, 1, l - 1) / rows : 0;
  y.here = hvi_gpu_values(s, form, 1, l) / rows;
  y.activation = s->activation;
  return y;
}

/* What goes into the layer; H_l; D of this layer and of the one below; sums of parts; the
 * head's sums of tiles, and losses. */
__device__ inline const float *inputs_of(const gpu_job &j, const layer &y) {
  return y.l == 1 ? j.x : j.slot + j.lead_rows * y.below;
}
__device__ inline float *values_of(const gpu_job &j, const layer &y) {
  return j.slot + j.lead_rows * y.here;
}
__device__ inline float *slopes_of(const gpu_job &j, const layer &y) {
  return j.slot + j.lead_rows * (y.all + y.here);
}
__device__ inline float *slopes_below(const gpu_job &j, const layer &y) {
  return j.slot + j.lead_rows * (y.all + y.below);
}
__device__ inline float *sums_of(const gpu_job &j, const layer &y, int part) {
  return j.slot + j.lead_rows * y.sums + part * y.numbers;
}
__device__ inline float *head_sums_of(const gpu_job &j, const layer &y, int tile) {
  return sums_of(j, y, j.parts) + tile * (y.lead_in + y.lead_out);
}
__device__ inline double *losses_of(const gpu_job &j, const layer &y) {
  return (double *)head_sums_of(j, y, j.head_tiles);
}

/* What a row's loss needs beside its output. */
struct row_needs {
  double target, weight, linear;
};
__device__ inline row_needs needs_of(const gpu_job &j, int row) {
  return {j.target[row], j.weight[row], j.linear ? j.linear[row] : 0.0};
}

/* u of a row, and its share of the loss. */
__device__ inline double row_loss(const gpu_job &j, const row_needs &needs, float y, float *u) {
  const double r = j.shift + j.scale * (double)y - needs.target, w = needs.weight;
  const double linear = needs.linear;
  *u = (float)(j.scale * (w * r + linear));
  return 0.5 * w * r * r + linear * r;
}

/* Over a warp, in a fixed order; the result is lane 0's. */
__device__ inline double warp_sum(double x) {
  for (int lane = 16; lane > 0; lane /= 2) x += __shfl_down_sync(~0u, x, lane);
  return x;
}

/* The loss is known: is there another step, and with which rates? */
__device__ inline void decide(const gpu_job &j, double loss) {
  progress &p = *j.state;
  p.arrived = 0;
  p.loss = loss;
  if (p.steps > 0 && !(loss >= p.least)) p.least = loss;
  const bool free = j.goal == -INFINITY || p.steps < j.at_least;
  p.going = p.steps < j.most && (free || loss > j.goal);
  if (!p.going) return;
  j.tops->made = j.tops->theta;
  p.steps++;
  p.power[0] *= j.beta1;
  p.power[1] *= j.beta2;
  const bool adam = j.rule == HVI_DEVICE_ADAM;
  p.rate = (float)(adam ? p.lr / (1.0 - p.power[0]) : p.lr);
  p.root = (float)(1.0 / (1.0 - p.power[1]));
  p.shrink = (float)(p.lr * j.decay);
  p.lr *= j.lr_factor;
}

/* A piece of a network's rows has its loss, lane 0's. The last of them to arrive adds them in a fixed order
 * and decides. For one warp of a block. */
__device__ inline void arrive(const gpu_job &j, double *losses, int piece, int pieces,
                              double loss) {
  const int lane = threadIdx.x % 32;
  unsigned before = 0;
  if (lane == 0) {
    losses[piece] = loss;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(&j.state->arrived)
                 : "memory");
  }
  __syncwarp();
  if (__shfl_sync(~0u, before, 0) + 1 != (unsigned)pieces) return;
  double sum = 0.0;
  for (int i = lane; i < pieces; i += 32) sum += __ldcg(losses + i);
  sum = warp_sum(sum);
  if (lane == 0) decide(j, sum);
}

/* The largest of a warp's numbers without signs into *top, by its bits, which are in the same order. */
__device__ inline void raise_top(unsigned *top, float largest) {
  const unsigned bits = __reduce_max_sync(~0u, __float_as_uint(largest));
  if (threadIdx.x % 32 == 0) atomicMax(top, bits);
}

/* The power of two that brings numbers of at most `top`, given by its bits, below 2^15. */
__device__ inline float scale_of(unsigned top) {
  const int e = min(max((int)(top >> 23) - 127, -100), 100);
  return top == 0 ? 1.0f : __uint_as_float((unsigned)(127 + 14 - e) << 23);
}

/* s(x), and s'(x) by s(x). Kernels have dozens of these in a row: ReLU has a path of its
 * own, the others are calls. */
static __device__ __noinline__ float activate_by_name(hvi_activation a, float x) {
  switch (a) {
  case HVI_LEAKY_RELU:
    return x > 0.0f ? x : 0.01f * x;
  case HVI_TANH:
    return tanhf(x);
  case HVI_SIGMOID:
    return 1.0f / (1.0f + expf(-x));
  case HVI_CELU:
    return x > 0.0f ? x : expm1f(x);
  case HVI_SOFTPLUS:
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
  default:
    return x;
  }
}
static __device__ __noinline__ float slope_by_name(hvi_activation a, float h) {
  switch (a) {
  case HVI_LEAKY_RELU:
    return h > 0.0f ? 1.0f : 0.01f;
  case HVI_TANH:
    return 1.0f - h * h;
  case HVI_SIGMOID:
    return h * (1.0f - h);
  case HVI_CELU:
    return h > 0.0f ? 1.0f : 1.0f + h;
  case HVI_SOFTPLUS:
    return -expm1f(-h);
  default:
    return 1.0f;
  }
}
__device__ inline float activate(hvi_activation a, float x) {
  return a == HVI_RELU ? fmaxf(x, 0.0f) : activate_by_name(a, x);
}
__device__ inline float slope_at(hvi_activation a, float h) {
  return a == HVI_RELU ? (h > 0.0f ? 1.0f : 0.0f) : slope_by_name(a, h);
}
