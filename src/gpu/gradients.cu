/*
 * The gradients of all layers on Hopper, from the halves that passes.cu has left, and the step:
 *
 *   dW_l = D_l' H_{l-1},   db_l = D_l' 1,   over each part of the rows; then AdamW and the others.
 *
 * k runs down the rows of both operands. A cluster of blocks takes one tile of a dW_l after the other, 128
 * outputs by 128 inputs, and each of its blocks one part of the rows. One warp has the copy engine bring slabs
 * of 64 rows, high halves and low ones, into a ring of stages in shared memory. Two groups of four warps
 * multiply them, each for 64 outputs, and the ring runs ahead into the next tile meanwhile.
 *
 * The sums of a slab start from zero, small products first, and are added here, taken back to their size: a
 * slab is the 64 rows that have one scale. Sums of D, for biases, are products with a matrix of ones.
 *
 * Then the blocks of a cluster leave their sums in shared memory, and go on with the next tile. Meanwhile a group
 * of four warps in each adds up those of all parts, in order, for the block's own share of the tile's outputs,
 * takes their step, and splits the new weights into halves. So a gradient never leaves the processors. The
 * head's, which passes.cu has summed, is a tile of its own.
 *
 * With lane = 4 g + t, a thread of a group's warp w has outputs 16 w + g and 8 more, and of each 8 inputs
 * those at 2 t and one more.
 */
#include "gpu/hopper.cuh"

namespace {

enum {
  GROUPS = 2,
  WORKERS = 128 * GROUPS,
  STEPPERS = 128,
  THREADS = WORKERS + STEPPERS + 128, /* one of the last brings what is multiplied */
  TILE = 128,
  OF_BLOCK = BLOCK * ROW_BYTES,
  OPERAND = TILE / BLOCK * OF_BLOCK, /* high or low halves of a slab of D or H */
  STAGE = 4 * OPERAND,               /* D's high and low, then H's */
  STAGES = 2,
  ONES = 256,
  LEAD = TILE + 8, /* of a line of sums: so warps find different banks */
  MOST_SHARES = HVI_GPU_MOST_SHARES,
  FOURS = 2 /* of numbers in a stepper's hands */
};

struct memory {
  char stage[STAGES][STAGE];
  float sums[TILE][LEAD], bias[TILE];
  unsigned ones[ONES / 4];
  unsigned long long full[STAGES], empty[STAGES], there, taken; /* barriers */
};
static_assert(sizeof(memory) <= 227 * 1024, "what a block may have");

struct gradient_work {
  const gpu_job *jobs;
  chain net;
  pass_kind kind;
  int shares;                            /* blocks of a cluster */
  int first[HVI_DEVICE_MOST_LAYERS + 2]; /* tiles before those of layer l; the head's is the last */
  int all;                               /* tiles of all networks */
};

__device__ inline int tiles_of(int n) { return (n + TILE - 1) / TILE; }

/* A tile of dW_l, and this block's part of the rows. */
struct task {
  const gpu_job *job;
  int l, m, n, first, slabs;

  /* False: there is nothing to do. */
  __device__ bool find(const gradient_work &work, int tile, int part) {
    const int head = work.net.layers + 1, each = work.first[head] + 1;
    job = work.jobs + tile / each;
    int at = tile % each;
    if (!concerns(*job, work.kind)) return false;
    for (l = 1; l < head && at >= work.first[l + 1];) l++;
    at -= work.first[l];
    const int across = tiles_of(work.net.width[l - 1]);
    m = at / across * TILE, n = at % across * TILE;
    first = part * job->part_rows;
    slabs = l < head && part < job->parts ? min(job->part_rows, job->lead_rows - first) / BLOCK : 0;
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
  __device__ static unsigned bring_operand(const halves &x, int column, int row, bool low,
                                           unsigned to, unsigned barrier, bool counting) {
    const int block = column / BLOCK, blocks = min(TILE / BLOCK, x.blocks - block);
    for (int b = 0; !counting && b < blocks; b++) {
      const char *from = x.high + ((size_t)(block + b) * x.rows + row) * ROW_BYTES;
      copy_in(to + b * OF_BLOCK, from, OF_BLOCK, barrier);
      if (low) copy_in(to + OPERAND + b * OF_BLOCK, from + x.low, OF_BLOCK, barrier);
    }
    return blocks * OF_BLOCK * (low ? 2 : 1);
  }
  /* The slabs of a task, by one thread. */
  __device__ void bring(const gradient_work &work, const task &t, bool low) {
    const halves d = slopes_halves(*t.job, work.net, t.l),
                 h = values_halves(*t.job, work.net, t.l - 1);
    for (int s = 0; s < t.slabs; s++, at++) {
      const unsigned to = shared_at(all.stage[stage()]), barrier = shared_at(&all.full[stage()]);
      const int row = t.first + s * BLOCK;
      barrier_wait(shared_at(&all.empty[stage()]), turn() ^ 1);
      barrier_expect(barrier, bring_operand(d, t.m, row, low, to, barrier, true) +
                                  bring_operand(h, t.n, row, low, to, barrier, true));
      bring_operand(d, t.m, row, low, to, barrier, false);
      bring_operand(h, t.n, row, low, to + 2 * OPERAND, barrier, false);
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

/* What the blocks of a cluster have for each other. */
struct exchange {
  memory &all;
  int shares, rank;
  unsigned turn;
  __device__ exchange(memory &m, int blocks)
      : all(m), shares(blocks), rank(cluster_rank()), turn(0) {}

  /* What was there has been read by all. */
  __device__ void may_write() const { barrier_wait(shared_at(&all.taken), turn ^ 1); }
  __device__ void tell(unsigned long long *barrier) const {
    const int lane = threadIdx.x % 32;
    __syncwarp();
    if (lane < shares) barrier_arrive_at(shared_of(shared_at(barrier), lane));
  }
  __device__ void may_read() const { barrier_wait_cluster(shared_at(&all.there), turn); }
  /* Adds what block i has here. */
  __device__ void add(float4 &g, const float *here, int i) const {
    const float4 x = number_of_cluster(shared_of(shared_at(here), i));
    g.x += x.x, g.y += x.y, g.z += x.z, g.w += x.w;
  }
};

/* The sums of this block's part, of which 2 COUNT columns are wanted, to where all can read them. */
template <int COUNT>
__device__ __forceinline__ void leave_sums(const exchange &e, const float (&c)[COUNT],
                                           const float (&bias)[4]) {
  const int lane = threadIdx.x % 32;
  e.may_write();
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int row = threadIdx.x / 32 * 16 + lane / 4 + 8 * half;
    if (lane % 4 == 0) e.all.bias[row] = bias[2 * half];
#pragma unroll
    for (int i = 0; i < COUNT / 4; i++)
      *(float2 *)&e.all.sums[row][8 * i + lane % 4 * 2] =
          make_float2(c[4 * i + 2 * half], c[4 * i + 2 * half + 1]);
  }
  e.tell(&e.all.there);
}

/* The step of this block's share of a tile's outputs. Old numbers are on their way while others still sum, and
 * all know that sums have been taken before new numbers are written. */
template <int ACROSS>
__device__ __forceinline__ void step_share(exchange &e, const gradient_work &work, const task &t,
                                           int thread) {
  constexpr int APART = STEPPERS / ACROSS; /* lines */
  const gpu_job &j = *t.job;
  const step_rule rule = rule_of(j, work.kind);
  const halves weights = weight_halves(j, work.net, t.l);
  const float scale = weight_scale(j.tops->made);
  unsigned *const largest = &j.tops->theta;
  const int rows = TILE / e.shares, first = e.rank * rows, parts = j.parts;
  const int out = work.net.width[t.l] - t.m - first, column = t.n + thread % ACROSS * 4;
  const int lead = (work.net.width[t.l - 1] + HVI_DEVICE_PAD - 1) / HVI_DEVICE_PAD * HVI_DEVICE_PAD;
  const int end = column < lead ? min(rows, out) : 0;
  const bool has_bias = t.n == 0 && 4 * thread < min(rows, out);
  float4 of_bias = {};
  float top = 0.0f;
  for (int begin = thread / ACROSS; begin < rows; begin += FOURS * APART) {
    const size_t at = work.net.weight[t.l] + (size_t)(t.m + first + begin) * lead + column;
    const float *sums = &e.all.sums[first + begin][column - t.n];
    four_numbers x[FOURS];
    float4 g[FOURS] = {};
#pragma unroll
    for (int i = 0; i < FOURS; i++)
      if (begin + i * APART < end) x[i] = numbers_at(rule, at + i * APART * lead);
    e.may_read();
#pragma unroll 1
    for (int part = 0; part < parts; part++)
#pragma unroll
      for (int i = 0; i < FOURS; i++)
        e.add(g[i], sums + min(i * APART, rows - 1 - begin) * LEAD, part);
    if (begin + FOURS * APART >= rows) {
      for (int part = 0; has_bias && part < parts; part++)
        e.add(of_bias, &e.all.bias[first + 4 * thread], part);
      e.tell(&e.all.taken);
    }
#pragma unroll
    for (int i = 0; i < FOURS; i++) {
      if (begin + i * APART >= end) continue;
      top = fmaxf(top, step_four(rule, at + i * APART * lead, x[i], g[i]));
      if (work.kind != FOR_PULL)
        put_four(weights, t.m + first + begin + i * APART, column, x[i].theta, scale);
    }
  }
  if (has_bias) {
    const size_t at = work.net.bias[t.l] + t.m + first + 4 * thread;
    four_numbers x = numbers_at(rule, at);
    top = fmaxf(top, step_four(rule, at, x, of_bias));
  }
  if (work.kind != FOR_PULL) raise_top(largest, top);
  e.turn ^= 1;
}

/* The head's numbers: the sums of units are there. */
__device__ inline void step_head(const gradient_work &work, const gpu_job &j, int thread) {
  const step_rule rule = rule_of(j, work.kind);
  const int count = head_numbers(work.net);
  float top = 0.0f;
  for (int i = 4 * thread; i < count; i += 4 * STEPPERS) {
    const float4 g = sum_in_order(head_sums_at(j, work.net, 0) + i, count, j.head_tiles);
    four_numbers x = numbers_at(rule, work.net.head + i);
    top = fmaxf(top, step_four(rule, work.net.head + i, x, g));
  }
  if (work.kind != FOR_PULL) raise_top(&j.tops->theta, top);
}

/* A tile, of which 2 COUNT columns are wanted. */
template <int COUNT, bool LOW, bool BIAS>
__device__ __forceinline__ void sum_tile(ring &r, exchange &e, const gradient_work &work,
                                         const task &t) {
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
  leave_sums(e, c, bias);
  e.turn ^= 1;
}

template <bool LOW>
__global__ void __launch_bounds__(THREADS, 1)
    step_tiles(const __grid_constant__ gradient_work work) {
  extern __shared__ __align__(1024) char shared[];
  memory &m = *(memory *)shared;
  if (threadIdx.x < ONES / 4) m.ones[threadIdx.x] = 0x3c003c00u;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared_at(&m.full[i]), 1);
      barrier_init(shared_at(&m.empty[i]), WORKERS / 32);
    }
    barrier_init(shared_at(&m.there), work.shares * WORKERS / 32);
    barrier_init(shared_at(&m.taken), work.shares * STEPPERS / 32);
    fence_barriers();
  }
  fence_copies();
  __syncthreads();
  meet_cluster();
  const int first = blockIdx.x / work.shares, clusters = gridDim.x / work.shares;
  ring r(m);
  exchange e(m, work.shares);
  task t;
  if (threadIdx.x >= WORKERS + STEPPERS) {
    give_registers<40>();
    for (int tile = first; threadIdx.x == WORKERS + STEPPERS && tile < work.all; tile += clusters)
      if (t.find(work, tile, e.rank)) r.bring(work, t, LOW);
    return;
  }
  if (threadIdx.x >= WORKERS) {
    give_registers<120>();
    const int thread = threadIdx.x - WORKERS;
    for (int tile = first; tile < work.all; tile += clusters) {
      if (!t.find(work, tile, e.rank)) continue;
      if (t.l <= work.net.layers && work.net.width[t.l - 1] <= BLOCK)
        step_share<BLOCK / 4>(e, work, t, thread);
      else if (t.l <= work.net.layers)
        step_share<TILE / 4>(e, work, t, thread);
      else if (e.rank == 0)
        step_head(work, *t.job, thread);
    }
    return;
  }
  take_registers<176>();
  for (int tile = first; tile < work.all; tile += clusters) {
    if (!t.find(work, tile, e.rank) || t.l > work.net.layers) continue;
    if (work.net.width[t.l - 1] <= BLOCK)
      sum_tile<32, LOW, true>(r, e, work, t);
    else if (t.n == 0)
      sum_tile<64, LOW, true>(r, e, work, t);
    else
      sum_tile<64, LOW, false>(r, e, work, t);
  }
  e.may_write(); /* nobody reads what this block has left */
}

} // namespace

/* So many clusters of so many blocks. */
static cudaLaunchConfig_t in_clusters(int clusters, int shares, cudaLaunchAttribute *cluster) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((unsigned)(clusters * shares));
  config.blockDim = dim3(THREADS);
  config.dynamicSmemBytes = sizeof(memory);
  cluster->id = cudaLaunchAttributeClusterDimension;
  cluster->val.clusterDim = {(unsigned)shares, 1, 1};
  config.attrs = cluster, config.numAttrs = 1;
  return config;
}

void hvi_gpu_gradients(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  gradient_work work = {};
  work.jobs = l->jobs, work.net = chain_of(s), work.kind = kind;
  for (size_t k = 1; k < s->layer_count; k++)
    work.first[k + 1] = work.first[k] + (int)(hvi_gpu_tiles(s->width[k], TILE) *
                                              hvi_gpu_tiles(s->width[k - 1], TILE));
  work.all = (work.first[s->layer_count] + 1) * l->count;
  int size = 0;
  while (1 << size < l->most_parts) size++;
  work.shares = 1 << size;
  const int clusters = work.all < l->clusters[size] ? work.all : l->clusters[size];
  cudaLaunchAttribute cluster;
  cudaLaunchConfig_t config = in_clusters(clusters, work.shares, &cluster);
  config.stream = l->stream;
  const auto kernel = l->precision == HVI_DEVICE_FP16 ? step_tiles<false> : step_tiles<true>;
  cudaLaunchKernelEx(&config, kernel, work);
}

cudaError_t hvi_gpu_allow_gradients(cluster_counts clusters) {
  const auto what = cudaFuncAttributeMaxDynamicSharedMemorySize;
  cudaError_t e = cudaFuncSetAttribute(step_tiles<true>, what, sizeof(memory));
  if (!e) e = cudaFuncSetAttribute(step_tiles<false>, what, sizeof(memory));
  for (int i = 0; !e && 1 << i <= MOST_SHARES; i++) {
    cudaLaunchAttribute cluster;
    const cudaLaunchConfig_t config = in_clusters(1, 1 << i, &cluster);
    e = cudaOccupancyMaxActiveClusters(&clusters[i], step_tiles<true>, &config);
    if (!e && clusters[i] == 0) e = cudaErrorNotSupported;
  }
  return e;
}
