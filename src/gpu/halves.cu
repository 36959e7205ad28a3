/*
 * Networks whose values are halves: what new jobs bring, and a pass with what follows from it.
 *
 * A step is one launch, of as many blocks as there are processors. Each takes its units of rows through the
 * layers (passes.cuh), goes on with its tiles of gradients (gradients.cuh), and then with its pieces of the
 * parameters (update.cuh). A tile waits for the rows of its network, and a piece for its tiles; units wait for
 * nothing, and so all end.
 */
#include "gpu/gradients.cuh"
#include "gpu/passes.cuh"
#include "gpu/update.cuh"

enum { THREADS = 256, PIECE_NUMBERS = 2 * 4 * passes::WORKERS };

__global__ void __launch_bounds__(THREADS)
    split_job(const gpu_job *jobs, const __grid_constant__ chain net) {
  const gpu_job j = jobs[blockIdx.y];
  if (!j.fresh) return;
  const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, at = 4 * i;
  if (i == 0) j.tops->made = j.tops->theta;
  if (at < net.numbers)
    put_weights(j, net, at, *(const float4 *)(j.theta + at), weight_scale(j.tops->theta));
  const halves x = values_halves(j, net, 0);
  const int across = x.blocks * BLOCK / 4,
            lead = (net.width[0] + HVI_DEVICE_PAD - 1) / HVI_DEVICE_PAD * HVI_DEVICE_PAD;
  const int row = (int)(i / across), column = (int)(i % across) * 4;
  if (row >= x.rows) return;
  const bool there = row < j.rows && column < lead;
  const float4 numbers = there ? *(const float4 *)(j.x + (size_t)row * lead + column)
                               : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  put_four(x, row, column, numbers, scale_of(j.tops->x));
}

void hvi_gpu_split(const launch *l, const hvi_device_shape *s) {
  const size_t numbers = hvi_device_numbers(s) / 4;
  const size_t inputs =
      hvi_gpu_padded(l->most_rows, BLOCK) * hvi_gpu_padded(s->width[0], BLOCK) / 4;
  const size_t most = numbers > inputs ? numbers : inputs;
  split_job<<<dim3((unsigned)hvi_gpu_tiles(most, THREADS), l->count), THREADS, 0, l->stream>>>(
      l->jobs, chain_of(s));
}

union block_memory {
  passes::memory pass;
  gradients::memory tile;
};
static_assert(sizeof(block_memory) <= 227 * 1024, "what a block may have");

/* The step of a piece of a network, or the gradient that is wanted; by the workers, two times four numbers each.
 * The last to be through makes the network ready for its next step. */
__device__ inline void step_piece(const halves_work &work, int piece) {
  const gpu_job &j = work.jobs[piece / work.pieces_each];
  const unsigned tiles = work.tiles_each / work.parts * j.parts;
  progress *p = j.state;
  if (!await(&p->summed, passes::WORKERS / 32 * tiles, j, work.kind)) return;
  size_t at[2];
  four_numbers x[2];
  float top = 0.0f;
  for (int i = 0; i < 2; i++) {
    at[i] = (size_t)(piece % work.pieces_each) * PIECE_NUMBERS +
            4 * (i * passes::WORKERS + threadIdx.x);
    if (at[i] < work.net.numbers) x[i] = numbers_at(j, work.head, at[i]);
  }
  const step_rates rates = rates_of(j);
  const float scale = weight_scale(__ldcg(&j.tops->made));
  for (int i = 0; i < 2; i++) {
    if (at[i] >= work.net.numbers) continue;
    if (work.kind == FOR_PULL) {
      *(float4 *)(j.gradient + at[i]) = x[i].g;
      continue;
    }
    const float4 y = step_from(j, rates, at[i], x[i]);
    put_weights(j, work.net, at[i], y, scale);
    top = fmaxf(fmaxf(top, fmaxf(fabsf(y.x), fabsf(y.y))), fmaxf(fabsf(y.z), fabsf(y.w)));
  }
  if (work.kind == FOR_STEP) raise_top(&j.tops->theta, top);
  if (threadIdx.x % 32 > 0) return;
  const unsigned all = passes::WORKERS / 32 * work.pieces_each;
  if (tell(&p->stepped) + 1 == all) p->passed = p->summed = p->stepped = 0u;
}

/* FAST: ReLU, and all columns are there. */
template <bool FAST>
__global__ void __launch_bounds__(passes::THREADS, 1)
    pass_rows(const __grid_constant__ halves_work work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) char shared[];
  block_memory &m = *(block_memory *)shared;
  if (threadIdx.x == 0) passes::init_barriers(m.pass);
  __syncthreads();
  if (threadIdx.x >= passes::WORKERS) {
    give_registers<72>(); /* all have what 3 times 168 leave */
    if (threadIdx.x == passes::WORKERS) passes::bring_weights(m.pass, work);
    __syncwarp();
    if (work.tiles == 0) return;
    gradients::begin(m.tile, passes::THREADS);
    if (threadIdx.x < passes::WORKERS + 32) gradients::bring_tiles(m.tile, work);
  } else {
    take_registers<216>();
    passes::worker<FAST>(m.pass, work).run();
    if (work.tiles == 0) return;
    gradients::begin(m.tile, passes::THREADS);
    if (work.precision == HVI_DEVICE_FP16)
      gradients::sum_tiles<false>(m.tile, work);
    else
      gradients::sum_tiles<true>(m.tile, work);
    for (int i = blockIdx.x; i < work.pieces; i += gridDim.x) step_piece(work, i);
  }
#endif
}

static bool all_fast(const hvi_device_shape *s) {
  bool fast = s->activation == HVI_RELU;
  for (size_t l = 1; l < s->layer_count; l++) fast = fast && s->width[l] == WIDEST;
  return fast;
}

/* What follows where slopes are wanted. */
static void plan_step(halves_work *work, const launch *l, const hvi_device_shape *s) {
  int of_part = 0;
  for (int k = 1; k <= work->net.layers; k++) {
    work->first[k] = of_part;
    of_part += (int)(hvi_gpu_tiles(s->width[k], gradients::TILE) *
                     hvi_gpu_tiles(s->width[k - 1], gradients::TILE));
  }
  work->parts = l->most_parts;
  work->tiles_each = of_part * l->most_parts, work->tiles = work->tiles_each * l->count;
  work->pieces_each = (int)hvi_gpu_tiles(work->net.numbers, PIECE_NUMBERS);
  work->pieces = work->pieces_each * l->count;
  work->head = layer_of(s, HVI_GPU_HALVES, work->net.layers + 1);
}

void hvi_gpu_pass(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  halves_work work = {};
  work.jobs = l->jobs, work.net = chain_of(s), work.kind = kind, work.precision = l->precision;
  work.units_each = l->most_tiles, work.units = l->most_tiles * l->count;
  if (kind == FOR_STEP || kind == FOR_PULL) plan_step(&work, l, s);
  const int most = work.units > work.tiles ? work.units : work.tiles;
  const int blocks = most < l->processors ? most : l->processors, rest = work.units % blocks;
  const int ready = (work.units - rest) / work.units_each * work.tiles_each;
  work.spare = rest > 0 ? blocks - rest : 0;
  work.ahead = work.spare * 5 * work.net.layers / 2; /* a unit takes as long as so many tiles */
  if (work.ahead > ready) work.ahead = ready;
  cudaLaunchAttribute together = {};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1; /* all are on a processor, so that they can wait for each other */
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3(passes::THREADS);
  config.dynamicSmemBytes = sizeof(block_memory), config.stream = l->stream;
  config.attrs = &together, config.numAttrs = 1;
  cudaLaunchKernelEx(&config, all_fast(s) ? pass_rows<true> : pass_rows<false>, work);
}

cudaError_t hvi_gpu_allow_passes(void) {
  const auto what = cudaFuncAttributeMaxDynamicSharedMemorySize;
  const cudaError_t e = cudaFuncSetAttribute(pass_rows<true>, what, sizeof(block_memory));
  return e ? e : cudaFuncSetAttribute(pass_rows<false>, what, sizeof(block_memory));
}
