/* A trainer's memory on the device, and launches of an update (sac.cu), for the code around them. */
#pragma once

#include "gpu/sac.h"

#include <cuda_runtime.h>

/* Critics and slow copies are two each; a block has so many rows where a warp has a row. */
enum { SAC_ACTOR, SAC_CRITIC, SAC_SLOW = 3, SAC_NETS = 5 };
enum { SAC_LAYERS = HVI_DEVICE_SAC_HIDDEN + 1, SAC_TILE = 32, SAC_WARPS = 4 };

static __host__ __device__ inline int sac_tiles(int n) { return (n + SAC_TILE - 1) / SAC_TILE; }
/* Rates of Adam, two numbers each: of the critics, then of each step of the actor and of alpha. */
static inline int sac_rate(int step) { return 2 + 4 * step; }

struct sac_layer {
  int in, out, lead_in, lead_out; /* padded as gpu/device.h has it */
  size_t weight, bias;            /* where they begin in the network */
  size_t before;                  /* padded outputs of the layers before */
  unsigned first_block;           /* of its gradient */
};

/* Where things lie, in floats from the start of a trainer's memory, `each` apart. Inputs are in one piece,
 * and so are results with the actor's parameters at their end. */
struct sac_plan {
  int layers, obs, act, batch, delay, x_row, automatic;
  int actor_blocks, critic_blocks;
  float scale, shift, gamma, tau, target_entropy;
  sac_layer actor[SAC_LAYERS], critic[SAC_LAYERS];
  size_t actor_numbers, critic_numbers; /* parameters, behind which are their moments */
  size_t x, next, reward, future, rates, noise, inputs_end;
  size_t q, y, loss, log_prob, temperature; /* [2][batch], [batch] ..; log alpha, moments, alpha */
  size_t theta[SAC_NETS], values[SAC_NETS], slopes[SAC_SLOW];
  size_t own, log_prob_alpha, squashed, spread, arrived;
  size_t each;
};

/* Networks of a launch, each with its inputs. */
struct sac_passes {
  int net[3];
  size_t x[3];
};

/* Actions by a block of noise, into x; alpha_rate > 0: for a step of alpha instead. */
struct sac_draw {
  int noise, alpha_rate;
  size_t x;
};
struct sac_draws {
  sac_draw of[2];
};

struct sac_launch {
  cudaStream_t stream;
  const sac_plan *plan;
  float *base;
  int count; /* trainers */
};

/* The kernels of an update, in order. */
void hvi_gpu_sac_put(const sac_launch *l, bool actor_too);
cudaError_t hvi_gpu_sac_allow_memory(void);
/* sac_host.cu */
extern const hvi_device_sac_functions hvi_gpu_sac_functions;
