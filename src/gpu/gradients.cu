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
 * slab is the 64 rows that have one scale. Sums of D, for biases, are products with a matrix of ones.
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
  THREADS = WORKERS + 32, /* the last warp brings what the others multiply */
  TILE = 128,
  OF_BLOCK = BLOCK * ROW_BYTES,
  OPERAND = TILE / BLOCK * OF_BLOCK, /* high or low halves of a slab of D or H */
  STAGE = 4 * OPERAND,               /* D's high and low, then H's */
  STAGES = 3,
  ONES = 256,
  HAND_COLUMNS = 32,
  HAND = HAND_COLUMNS + 4 /* such that threads write to different banks */
};

struct memory {
  char stage[STAGES][STAGE];
  float hand[GROUPS][BLOCK][HAND];
  unsigned ones[ONES / 4];
  unsigned long long full[STAGES], empty[STAGES]; /* barriers */
};

struct gradient_work {
  const gpu_job *jobs;
  chain net;
  pass_kind kind;
  bool low, at_once;
  int across;                            /* inputs of a tile */
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
    m = at / tiles * TILE, n = at % tiles * work.across;
    first = part * job->part_rows;
    slabs = min(job->part_rows, job->lead_rows - first) / BLOCK;
    return true;
  }
};

struct ring {
  memory &all;
  unsigned at;
  __device__ explicit ring(memory &m) : all(m), at(0) {}
  __device__ int stage() const { return at % STAGES; }
  __device__ unsigned turn() const { return at / STAGES % 2; }

  /* Rows of a slab of x, columns `column` .., to a place in the stage: so many bytes. */
  __device__ static unsigned bring_operand(const halves &x, int column, int columns, int row,
                                           bool low, unsigned to, unsigned barrier, bool counting) {
    const int block = column / BLOCK, blocks = min(columns / BLOCK, x.blocks - block);
    for (int b = 0; !counting && b < blocks; b++) {
      const char *from = x.high + ((size_t)(block + b) * x.rows + row) * ROW_BYTES;
      copy_in(to + b * OF_BLOCK, from, OF_BLOCK, barrier);
      if (low) copy_in(to + OPERAND + b * OF_BLOCK, from + x.low, OF_BLOCK, barrier);
    }
    return blocks * OF_BLOCK * (low ? 2 : 1);
  }
  /* The slabs of a task, by one thread. */
  __device__ void bring(const gradient_work &work, const task &t) {
    const halves d = slopes_halves(*t.job, work.net, t.l),
                 h = values_halves(*t.job, work.net, t.l - 1);
    for (int s = 0; s < t.slabs; s++, at++) {
      const unsigned to = shared_at(all.stage[stage()]), barrier = shared_at(&all.full[stage()]);
      const int row = t.first + s * BLOCK;
      barrier_wait(shared_at(&all.empty[stage()]), turn() ^ 1);
      unsigned bytes = 0;
      for (bool counting : {true, false}) {
        bytes += bring_operand(d, t.m, TILE, row, work.low, to, barrier, counting);
        bytes +=
            bring_operand(h, t.n, work.across, row, work.low, to + 2 * OPERAND, barrier, counting);
        if (counting) barrier_expect(barrier, bytes);
      }
    }
  }
  /* The next slab is there: its stage. */
  __device__ int take() {
    const int which = stage();
    barrier_wait(shared_at(&all.full[which]), turn());
    at++;
    return which;
  }
  /* This warp is done with it. */
  __device__ void release(int which) const {
    if (threadIdx.x % 32 == 0) barrier_arrive(shared_at(&all.empty[which]));
  }
};

/* A slab's sums, and with BIAS those of D. */
template <int COUNT, bool LOW, bool BIAS>
__device__ __forceinline__ void multiply_slab(float (&group)[COUNT], float (&bias)[4],
                                              unsigned stage, unsigned ones) {
  constexpr unsigned long long ON = OPERAND_STEP<false>, LOW_ONE = OPERAND >> 4;
  const unsigned long long a = operand_at<false>(stage + threadIdx.x / 128 * OF_BLOCK);
  const unsigned long long b = operand_at<false>(stage + 2 * OPERAND);
  const unsigned long long one = (8ull << 32) | (8ull << 16) | ((ones & 0x3ffff) >> 4);
  products_begin();
#pragma unroll
  for (int k = 0; LOW && k < 4; k++) {
    multiply_async<false, false>(group, a + k * ON + LOW_ONE, b + k * ON, k > 0);
    multiply_async<false, false>(group, a + k * ON, b + k * ON + LOW_ONE, 1);
    if (BIAS) multiply_async<false, true>(bias, a + k * ON + LOW_ONE, one, k > 0);
  }
#pragma unroll
  for (int k = 0; k < 4; k++) {
    multiply_async<false, false>(group, a + k * ON, b + k * ON, LOW || k > 0);
    if (BIAS) multiply_async<false, true>(bias, a + k * ON, one, LOW || k > 0);
  }
  products_commit();
  products_wait<0>();
  settle(group);
  if (BIAS) settle(bias);
}

/* A thread's numbers of a tile, and its biases, to the sums of the part. */
template <int COUNT, bool BIAS>
__device__ __forceinline__ void leave_sums(const gradient_work &work, const task &t,
                                           const float (&c)[COUNT], const float (&bias)[4]) {
  const chain &net = work.net;
  const int out = net.width[t.l], lead = (net.width[t.l - 1] + 7) / 8 * 8, lane = threadIdx.x % 32;
  float *to = sums_at(*t.job, net, t.part);
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int row = t.m + threadIdx.x / 32 * 16 + lane / 4 + 8 * half;
    float *line = to + net.weight[t.l] + (size_t)row * lead;
    if (BIAS && lane % 4 == 0 && row < (out + 7) / 8 * 8) to[net.bias[t.l] + row] = bias[2 * half];
#pragma unroll
    for (int i = 0; i < COUNT / 4; i++) {
      const int column = t.n + 8 * i + lane % 4 * 2;
      if (row < out && column < lead)
        *(float2 *)(line + column) = make_float2(c[4 * i + 2 * half], c[4 * i + 2 * half + 1]);
    }
  }
}

/* The step of 32 inputs of a group's outputs, whose sums are at hand. */
__device__ inline float step_some(const gradient_work &work, const task &t, const stepper &step,
                                  const float (*sums)[HAND], int first) {
  enum { TOGETHER = 2, LINES = 128 / (HAND_COLUMNS / 4) };
  const halves to = weight_halves(*t.job, work.net, t.l);
  const float scale = weight_scale(t.job->tops->made);
  const int out = work.net.width[t.l], lead = (work.net.width[t.l - 1] + 7) / 8 * 8;
  const int own = threadIdx.x % 8 * 4, column = first + own;
  float top = 0.0f;
  if (column >= lead) return top;
#pragma unroll 1
  for (int line = threadIdx.x % 128 / 8; line < BLOCK; line += TOGETHER * LINES) {
    const int row = t.m + threadIdx.x / 128 * BLOCK + line;
    const size_t at = work.net.weight[t.l] + (size_t)row * lead + column;
    state<4> x[TOGETHER];
#pragma unroll
    for (int i = 0; i < TOGETHER; i++)
      if (row + LINES * i < out) x[i] = step.fetch<4>(at + (size_t)LINES * i * lead);
#pragma unroll
    for (int i = 0; i < TOGETHER; i++) {
      if (row + LINES * i >= out) continue;
      const numbers<4> g = *(const numbers<4> *)(sums[line + LINES * i] + own);
      const numbers<4> theta = step.put(at + (size_t)LINES * i * lead, g, x[i]);
      if (step.steps) put_row(to, row + LINES * i, column, theta, scale);
      top = larger(top, theta);
    }
  }
  return top;
}

/* A thread's numbers of a tile to where its group has them at hand, some columns at a time, for their step.
 * All of that is one piece of code, since it is long. */
template <int COUNT, bool BIAS>
__device__ __forceinline__ void take_steps(memory &all, const gradient_work &work, const task &t,
                                           const float (&c)[COUNT], const float (&bias)[4]) {
  const stepper step(*t.job, work.kind);
  const int group = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int line = threadIdx.x % 128 / 32 * 16 + lane / 4;
  float(*sums)[HAND] = all.hand[group], top = 0.0f;
#pragma unroll 1
  for (int q = 0; q < COUNT / 16; q++) {
#pragma unroll
    for (int own = 0; own < COUNT / 16; own++)
#pragma unroll
      for (int i = 0; own == q && i < 16; i += 2)
        *(float2 *)(sums[line + i / 2 % 2 * 8] + i / 4 * 8 + lane % 4 * 2) =
            make_float2(c[16 * own + i], c[16 * own + i + 1]);
    meet(2 + group, 128);
    top = fmaxf(top, step_some(work, t, step, sums, t.n + HAND_COLUMNS * q));
    meet(2 + group, 128);
  }
#pragma unroll
  for (int half = 0; BIAS && half < 2; half++) {
    const int row = t.m + group * BLOCK + line + 8 * half;
    const size_t at = work.net.bias[t.l] + row;
    if (lane % 4 == 0 && row < (work.net.width[t.l] + 7) / 8 * 8)
      top = larger(top, step.put(at, numbers<1>{bias[2 * half]}, step.fetch<1>(at)));
  }
  if (step.steps) raise_top(&t.job->tops->theta, top);
}

/* A tile, of which 2 COUNT columns are wanted. */
template <int COUNT, bool LOW, bool BIAS>
__device__ __forceinline__ void sum_tile(ring &r, const gradient_work &work, const task &t) {
  const gpu_job &j = *t.job;
  const int tile = t.first / BLOCK;
  const float *d_back = scale_place(j, t.l, true, tile);
  const float *h_back = t.l > 1 ? scale_place(j, t.l - 1, false, tile) : NULL;
  const float x_back = 1.0f / scale_of(j.tops->x);
  float c[COUNT] = {}, bias[4] = {}, group[COUNT], of_group[4] = {};
  for (int s = 0; s < t.slabs; s++) {
    const float of_d = d_back[s], back = of_d * (h_back ? h_back[s] : x_back);
    const int stage = r.take();
    multiply_slab<COUNT, LOW, BIAS>(group, of_group, shared_at(r.all.stage[stage]),
                                    shared_at(r.all.ones));
    r.release(stage);
#pragma unroll
    for (int i = 0; i < COUNT; i++) c[i] = fmaf(group[i], back, c[i]);
#pragma unroll
    for (int i = 0; BIAS && i < 4; i++) bias[i] = fmaf(of_group[i], of_d, bias[i]);
  }
  if (work.at_once)
    take_steps<COUNT, BIAS>(r.all, work, t, c, bias);
  else
    leave_sums<COUNT, BIAS>(work, t, c, bias);
}

/* The head's numbers: sums of units, in their order. */
__device__ inline void step_head(const gradient_work &work, const gpu_job &j) {
  const chain &net = work.net;
  const stepper step(j, work.kind);
  const float *sums = head_sums_at(j, net, 0);
  const size_t each = head_sums_at(j, net, 1) - sums;
  float top = 0.0f;
  for (unsigned k = threadIdx.x; k < net.numbers - net.head; k += WORKERS) {
    const numbers<1> g = sum_up<1>(sums + k, each, j.head_tiles);
    top = larger(top, step.put(net.head + k, g, step.fetch<1>(net.head + k)));
  }
  if (step.steps) raise_top(&j.tops->theta, top);
}

template <bool LOW>
__global__ void __launch_bounds__(THREADS, 1)
    gradients_of_parts(const __grid_constant__ gradient_work work) {
  extern __shared__ __align__(1024) char shared[];
  memory &m = *(memory *)shared;
  if (threadIdx.x < ONES / 4) m.ones[threadIdx.x] = 0x3c003c00u;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared_at(&m.full[i]), 1);
      barrier_init(shared_at(&m.empty[i]), WORKERS / 32);
    }
    fence_barriers();
  }
  fence_copies();
  __syncthreads();
  ring r(m);
  task t;
  if (threadIdx.x >= WORKERS) {
    for (int tile = blockIdx.x; threadIdx.x == WORKERS && tile < work.all; tile += gridDim.x)
      if (t.find(work, tile) && t.l > 0) r.bring(work, t);
    return;
  }
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

/* Tiles, by so many inputs. */
static void cut(gradient_work *work, const hvi_device_shape *s, int across) {
  work->across = across;
  work->tiles[0] = work->at_once;
  work->all = work->tiles[0] * work->lots;
  for (int k = 1; k < (int)s->layer_count; k++) {
    work->tiles[k] =
        (int)(hvi_gpu_tiles(s->width[k], TILE) * hvi_gpu_tiles(s->width[k - 1], across));
    work->all += work->tiles[k] * work->lots;
  }
}

void hvi_gpu_gradients(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  gradient_work work = {};
  work.jobs = l->jobs, work.net = chain_of(s), work.kind = kind;
  work.low = l->precision != HVI_DEVICE_FP16, work.at_once = hvi_gpu_at_once(l);
  work.parts = l->most_parts, work.lots = l->most_parts * l->count;
  cut(&work, s, TILE);
  if (2 * work.all <= l->processors) cut(&work, s, BLOCK);
  const unsigned blocks = work.all < l->processors ? work.all : l->processors;
  if (work.low)
    gradients_of_parts<true><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
  else
    gradients_of_parts<false><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
}

cudaError_t hvi_gpu_allow_gradients(void) {
  const auto what = cudaFuncAttributeMaxDynamicSharedMemorySize;
  const cudaError_t e = cudaFuncSetAttribute(gradients_of_parts<true>, what, sizeof(memory));
  return e ? e : cudaFuncSetAttribute(gradients_of_parts<false>, what, sizeof(memory));
}
