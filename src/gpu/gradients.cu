/*
 * The gradients of all hidden layers on Hopper, from the halves that passes.cu has left:
 *
 *   dW_l = D_l' H_{l-1},   db_l = D_l' 1,   over each part of the rows.
 *
 * k runs down the rows of both operands. A block of threads stays on its processor and takes one tile of a
 * dW_l after the other, 128 outputs by 128 inputs, or by 64 where there are few. One warp has the copy engine
 * bring slabs of 64 rows, high halves and low ones, into a ring of stages in shared memory. Two groups of
 * four warps multiply them, each for 64 outputs, and the ring runs ahead into the next tile meanwhile.
 *
 * Where all rows are one part, who has summed up a tile takes the step of its numbers, and somebody that of
 * the head's. Otherwise sums of parts are left to step.cu. A number's sum is over the slabs in their order,
 * whatever the tile is.
 *
 * The sums of a slab start from zero, small products first, and are added here, taken back to their size: a
 * slab is the 64 rows that have one scale. Sums of D, for biases, are added up beside the products.
 *
 * With lane = 4 g + t, a thread of a group's warp w has outputs 16 w + g and 8 more, and of each 8 inputs
 * those at 2 t and one more.
 */
#include "gpu/hopper.cuh"
#include "gpu/step.cuh"

namespace {

enum {
  GROUPS = 2,
  WORKERS = 128 * GROUPS,
  THREADS = WORKERS + 128, /* one more warp brings what the others multiply */
  TILE = 128,
  OF_BLOCK = BLOCK * ROW_BYTES,
  OPERAND = TILE / BLOCK * OF_BLOCK, /* high or low halves of a slab of D or H */
  STAGE = 4 * OPERAND,               /* D's high and low, then H's */
  STAGES = 3,
  HAND_COLUMNS = 64,
  HAND = HAND_COLUMNS + 4 /* such that threads write to different banks */
};

struct memory {
  char stage[STAGES][STAGE];
  float hand[GROUPS][BLOCK][HAND];
  ring_barriers<STAGES> ring;
};

struct gradient_work {
  const gpu_job *jobs;
  chain net;
  pass_kind kind;
  bool low, at_once;
  int down, across;                      /* outputs and inputs of a tile */
  int parts;                             /* of the network that has most */
  int lots;                              /* parts of all networks */
  int tiles[HVI_DEVICE_MOST_LAYERS + 1]; /* of layer l in a part; [0]: of the head */
  int all;
};

/* A tile of dW_l: its place there, and its rows; l = 0: the head. */
struct task {
  const gpu_job *job;
  int l, part, m, n, first, slabs;

  /* The last layer comes first, and the small tiles of the first layer at the end. False: there is nothing to
   * do. */
  __device__ bool find(const gradient_work &work, int tile) {
    int at = tile;
    for (l = work.net.layers; at >= work.tiles[l] * work.lots; l--) at -= work.tiles[l] * work.lots;
    const int lot = at / work.tiles[l];
    at %= work.tiles[l];
    job = work.jobs + lot / work.parts, part = lot % work.parts;
    if (part >= job->parts || !concerns(*job, work.kind)) return false;
    if (l == 0) return true;
    const int tiles = (work.net.width[l - 1] + work.across - 1) / work.across;
    m = at / tiles * work.down, n = at % tiles * work.across;
    first = part * job->part_rows;
    slabs = min(job->part_rows, job->lead_rows - first) / BLOCK;
    return true;
  }
};

struct ring : ring_side<STAGES> {
  memory &all;
  __device__ explicit ring(memory &m) : ring_side<STAGES>(m.ring), all(m) {}

  /* The slabs of a task, by one warp: a lane looks after a block of 64 columns of D or H, of its high halves or
   * its low ones. */
  __device__ void bring(const gradient_work &work, const task &t) {
    const int lane = threadIdx.x % 32, low = lane % 2, own = lane / 2 % 2;
    const bool of_d = lane < 4;
    const halves x =
        of_d ? slopes_halves(*t.job, work.net, t.l) : values_halves(*t.job, work.net, t.l - 1);
    const int block = (of_d ? t.m : t.n) / BLOCK + own;
    const bool copies = lane < 8 && (work.low || !low) && block < x.blocks &&
                        own * BLOCK < (of_d ? work.down : work.across);
    const unsigned bytes = OF_BLOCK * __popc(__ballot_sync(~0u, copies));
    const unsigned to = (of_d ? 0 : 2 * OPERAND) + low * OPERAND + own * OF_BLOCK;
    const char *from = x.high + low * x.low + ((size_t)block * x.rows + t.first) * ROW_BYTES;
    for (int s = 0; s < t.slabs; s++, at++, from += OF_BLOCK) {
      const unsigned barrier = offer();
      if (lane == 0) barrier_expect(barrier, bytes);
      __syncwarp();
      if (copies) copy_in(shared_at(all.stage[stage()]) + to, from, OF_BLOCK, barrier);
    }
  }
};

/* D of a warp's 16 rows of a slab, summed up over them: columns 2 lane and one more of the group's. */
template <bool LOW> __device__ __forceinline__ float2 sum_columns(const char *stage) {
  const int lane = threadIdx.x % 32, first = threadIdx.x % 128 / 32 * 16;
  const char *group = stage + threadIdx.x / 128 * OF_BLOCK + lane % 4 * 4;
  float2 sum = make_float2(0.0f, 0.0f);
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const char *at = group + (first + i) * ROW_BYTES + (lane / 4 ^ i % 8) * PIECE;
    const float2 x = join_two(*(const unsigned *)at, LOW ? *(const unsigned *)(at + OPERAND) : 0u);
    sum.x += x.x, sum.y += x.y;
  }
  return sum;
}

/* A slab's sums, and with BIAS those of D, while the products are under way. */
template <int COUNT, bool LOW, bool BIAS>
__device__ __forceinline__ float2 multiply_slab(float (&group)[COUNT], const char *stage) {
  constexpr unsigned long long ON = OPERAND_STEP<false>, LOW_ONE = OPERAND >> 4;
  const unsigned long long a = operand_at<false>(shared_at(stage) + threadIdx.x / 128 * OF_BLOCK);
  const unsigned long long b = operand_at<false>(shared_at(stage) + 2 * OPERAND);
  products_begin();
#pragma unroll
  for (int k = 0; LOW && k < 4; k++) {
    multiply_async<false, false>(group, a + k * ON + LOW_ONE, b + k * ON, k > 0);
    multiply_async<false, false>(group, a + k * ON, b + k * ON + LOW_ONE, 1);
  }
#pragma unroll
  for (int k = 0; k < 4; k++)
    multiply_async<false, false>(group, a + k * ON, b + k * ON, LOW || k > 0);
  products_commit();
  const float2 sum = BIAS ? sum_columns<LOW>(stage) : make_float2(0.0f, 0.0f);
  products_wait<0>();
  settle(group);
  return sum;
}

/* What becomes of a part's gradient: its sums, the gradient itself or a step. */
__device__ inline stepper end_of(const gradient_work &work, const task &t) {
  const bool steps = work.at_once && work.kind == FOR_STEP;
  return {*t.job, steps          ? NULL
                  : work.at_once ? t.job->gradient
                                 : sums_at(*t.job, work.net, t.part)};
}

/* The biases of a group's outputs: the sums of its warps, (0 + 1) + (2 + 3). */
__device__ inline void end_biases(memory &all, const gradient_work &work, const task &t,
                                  float2 bias) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int row = t.m + group * BLOCK + 2 * lane;
  const size_t at = work.net.bias[t.l] + row;
  *(float2 *)(all.hand[group][warp * 2 + lane / 16] + lane % 16 * 2) = bias;
  meet(2 + group, 128);
  if (warp == 0 && row < (work.net.width[t.l] + 7) / 8 * 8) {
    const float *own = all.hand[group][lane / 16] + lane % 16 * 2;
    numbers<2> g;
    for (int i = 0; i < 2; i++)
      g.at[i] = (own[i] + own[2 * HAND + i]) + (own[4 * HAND + i] + own[6 * HAND + i]);
    const stepper step = end_of(work, t);
    const numbers<2> theta = step.put(at, g, step.fetch<2>(at));
    if (step.steps()) atomicMax(&t.job->tops->theta, __float_as_uint(larger(0.0f, theta)));
  }
  meet(2 + group, 128);
}

/* 64 inputs of a group's outputs, whose sums are at hand. */
__device__ inline float step_some(const gradient_work &work, const task &t, const stepper &step,
                                  const float (*sums)[HAND], int first) {
  enum { TOGETHER = 4, FOURS = HAND_COLUMNS / 4, LINES = 128 / FOURS };
  static_assert(LINES % 8 == 0, "a thread's halves are in one piece of each row");
  const halves to = weight_halves(*t.job, work.net, t.l);
  const float scale = weight_scale(t.job->tops->made);
  const int out = work.net.width[t.l], lead = (work.net.width[t.l - 1] + 7) / 8 * 8;
  const int own = threadIdx.x % FOURS * 4, column = first + own;
  float top = 0.0f;
  if (column >= lead) return top;
#pragma unroll 1
  for (int line = threadIdx.x % 128 / FOURS; line < BLOCK; line += TOGETHER * LINES) {
    const int row = t.m + threadIdx.x / 128 * BLOCK + line;
    const unsigned at = work.net.weight[t.l] + row * lead + column, apart = LINES * lead;
    char *high = to.high + half_at(to, row, column);
    state<4> x[TOGETHER];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++)
      if (row + LINES * i < out) x[i] = step.fetch<4>(at + i * apart);
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      if (row + LINES * i >= out) continue;
      const numbers<4> g = *(const numbers<4> *)(sums[line + LINES * i] + own);
      const numbers<4> theta = step.put(at + i * apart, g, x[i]);
      if (step.steps()) put_row(high + i * LINES * ROW_BYTES, to.low, theta, scale);
      top = larger(top, theta);
    }
  }
  return top;
}

/* A thread's numbers of a tile to where its group has them at hand, some columns at a time, and on. All of that
 * is one piece of code, since it is long. */
template <int COUNT>
__device__ __forceinline__ void end_tile(memory &all, const gradient_work &work, const task &t,
                                         const float (&c)[COUNT]) {
  enum { AT_ONCE = HAND_COLUMNS / 2 };
  const stepper step = end_of(work, t);
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int line = threadIdx.x % 128 / 32 * 16 + lane / 4;
  float(*sums)[HAND] = all.hand[group], top = 0.0f;
#pragma unroll 1
  for (int q = 0; q < COUNT / AT_ONCE; q++) {
#pragma unroll
    for (int own = 0; own < COUNT / AT_ONCE; own++)
#pragma unroll
      for (int i = 0; own == q && i < AT_ONCE; i += 2)
        *(float2 *)(sums[line + i / 2 % 2 * 8] + i / 4 * 8 + lane % 4 * 2) =
            make_float2(c[AT_ONCE * own + i], c[AT_ONCE * own + i + 1]);
    meet(2 + group, 128);
    top = fmaxf(top, step_some(work, t, step, sums, t.n + HAND_COLUMNS * q));
    meet(2 + group, 128);
  }
  if (step.steps()) raise_top(&t.job->tops->theta, top);
}

/* A tile, of which 2 COUNT columns are wanted. */
template <int COUNT, bool LOW, bool BIAS>
__device__ __forceinline__ void sum_tile(ring &r, const gradient_work &work, const task &t) {
  const gpu_job &j = *t.job;
  const int tile = t.first / BLOCK;
  if (threadIdx.x / 128 * BLOCK >= work.down) { /* nothing for this group */
    for (int s = 0; s < t.slabs; s++) r.release(r.take());
    return;
  }
  const float *d_back = scale_place(j, t.l, true, tile);
  const float *h_back = t.l > 1 ? scale_place(j, t.l - 1, false, tile) : NULL;
  const float x_back = 1.0f / scale_of(j.tops->x);
  float c[COUNT] = {}, group[COUNT];
  float2 bias = make_float2(0.0f, 0.0f);
  const int row = t.m + threadIdx.x / 2, lead = (work.net.width[t.l - 1] + 7) / 8 * 8;
  const size_t at = work.net.weight[t.l] + (size_t)row * lead + t.n + threadIdx.x % 2 * 32;
  if (work.at_once && row < work.net.width[t.l]) /* what the step needs comes meanwhile */
    for (int own = 0; own < 2 * COUNT; own += 64)
      for (const float *of : {j.theta, j.m, j.v})
        asm volatile("prefetch.global.L2 [%0];" ::"l"(of + at + own));
  for (int s = 0; s < t.slabs; s++) {
    const float of_d = d_back[s], back = of_d * (h_back ? h_back[s] : x_back);
    const int stage = r.take();
    const float2 sum = multiply_slab<COUNT, LOW, BIAS>(group, r.all.stage[stage]);
    r.release(stage);
#pragma unroll
    for (int i = 0; i < COUNT; i++) c[i] = fmaf(group[i], back, c[i]);
    bias.x = fmaf(sum.x, of_d, bias.x), bias.y = fmaf(sum.y, of_d, bias.y);
  }
  if (BIAS) end_biases(r.all, work, t, bias);
  end_tile<COUNT>(r.all, work, t, c);
}

/* The head's numbers: sums of units, in their order. */
__device__ inline void step_head(const gradient_work &work, const gpu_job &j) {
  const chain &net = work.net;
  const stepper step(j, work.kind == FOR_STEP ? NULL : j.gradient);
  const float *sums = head_sums_at(j, net, 0);
  const size_t each = head_sums_at(j, net, 1) - sums;
  float top = 0.0f;
  for (unsigned k = threadIdx.x; k < net.numbers - net.head; k += WORKERS) {
    const numbers<1> g = sum_up<1>(sums + k, each, j.head_tiles);
    top = larger(top, step.put(net.head + k, g, step.fetch<1>(net.head + k)));
  }
  if (step.steps()) raise_top(&j.tops->theta, top);
}

template <bool LOW>
__global__ void __launch_bounds__(THREADS, 1)
    gradients_of_parts(const __grid_constant__ gradient_work work) {
  extern __shared__ __align__(1024) char shared[];
  memory &m = *(memory *)shared;
  if (threadIdx.x == 0) {
    m.ring.init(WORKERS / 32);
    fence_barriers();
  }
  __syncthreads();
  ring r(m);
  task t;
  if (threadIdx.x >= WORKERS) {
    give_registers<56>();
    for (int tile = blockIdx.x; threadIdx.x < WORKERS + 32 && tile < work.all; tile += gridDim.x)
      if (t.find(work, tile) && t.l > 0) r.bring(work, t);
    return;
  }
  take_registers<224>();
  for (int tile = blockIdx.x; tile < work.all; tile += gridDim.x) {
    if (!t.find(work, tile)) continue;
    const bool narrow = t.l > 0 && min(work.net.width[t.l - 1], work.across) <= BLOCK;
    if (t.l == 0)
      step_head(work, *t.job);
    else if (narrow && t.n == 0)
      sum_tile<32, LOW, true>(r, work, t);
    else if (narrow)
      sum_tile<32, LOW, false>(r, work, t);
    else if (t.n == 0)
      sum_tile<64, LOW, true>(r, work, t);
    else
      sum_tile<64, LOW, false>(r, work, t);
  }
}

} // namespace

/* Tiles, by so many outputs and inputs. */
static void cut(gradient_work *work, const hvi_device_shape *s, int down, int across) {
  work->down = down, work->across = across;
  work->tiles[0] = work->at_once;
  work->all = work->tiles[0] * work->lots;
  for (int k = 1; k < (int)s->layer_count; k++) {
    work->tiles[k] =
        (int)(hvi_gpu_tiles(s->width[k], down) * hvi_gpu_tiles(s->width[k - 1], across));
    work->all += work->tiles[k] * work->lots;
  }
}

void hvi_gpu_gradients(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  gradient_work work = {};
  work.jobs = l->jobs, work.net = chain_of(s), work.kind = kind;
  work.low = l->precision != HVI_DEVICE_FP16, work.at_once = hvi_gpu_at_once(l);
  work.parts = l->most_parts, work.lots = l->most_parts * l->count;
  cut(&work, s, TILE, TILE);
  if (2 * work.all <= l->processors) cut(&work, s, TILE, BLOCK);
  if (2 * work.all <= l->processors) cut(&work, s, BLOCK, BLOCK);
  const unsigned blocks = work.all < l->processors ? work.all : l->processors;
  if (work.low)
    gradients_of_parts<true><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
  else
    gradients_of_parts<false><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
}

cudaError_t hvi_gpu_allow_gradients(void) {
  return allow_bytes(sizeof(memory), gradients_of_parts<true>, gradients_of_parts<false>);
}
