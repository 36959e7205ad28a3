/*
 * Rows through all layers of their network on Hopper, forward and backward, without leaving a processor.
 *
 *   H_0 = X,   H_l = s(H_{l-1} W_l' + b_l),   y = H_L w + b,   then r, u and the loss of step.cu
 *   D_L = s'(H_L) u w',   D_{l-1} = s'(H_{l-1}) (D_l W_l),   dw = H_L' u,   db = 1'u
 *
 * A block of threads stays on its processor and takes one unit of a network's rows after the other, 64 rows
 * at a time. Values and slopes of these rows lie in two buffers of shared memory as halves (halves.cuh), the
 * operand of a product in one and its result in the other: X, H_2, H_4 .. and D_2, D_4 .. in the first, those
 * of odd layers in the second. D_l takes the place of H_l number by number. Weights do not fit: one warp has
 * the copy engine bring them in pieces, 64 of k by all columns, through a ring of stages, ahead of the
 * products. Two groups of four warps multiply, each for half of the columns.
 *
 * What the gradients of W need (gradients.cu), H_1 .. H_{L-1} and D_1 .. D_L, leaves in bulk meanwhile. Values
 * of layers further below come back when their slopes are wanted.
 *
 * Scales are a tile's own: bounds are taken from the largest number of its rows in the layer before, so that
 * nothing waits for other rows. What takes a tile's numbers back to their size stands beside it.
 *
 * The tensor cores cut their sums off instead of rounding them, so the sums of each slab start from zero,
 * small products first, and are added here.
 *
 * With lane = 4 g + t, a thread of a group's warp w has rows 16 w + g and 8 more, and of each 8 columns
 * those at 2 t and one more.
 */
#include "gpu/hopper.cuh"

namespace {

enum {
  GROUPS = 2,
  WORKERS = 128 * GROUPS,
  THREADS = WORKERS + 128,   /* one of the others brings what they multiply */
  COLUMNS = WIDEST / GROUPS, /* of a group */
  NUMBERS = COLUMNS / 2,     /* of C in a thread */
  PAIRS = COLUMNS / 8,       /* of columns */
  OF_BLOCK = BLOCK * ROW_BYTES,
  PLANE = WIDEST / BLOCK * OF_BLOCK,
  OF_GROUP = PLANE / GROUPS,
  STAGES = 3
};

/* What is known of 64 rows before their products begin. */
struct tile {
  int row, unit;     /* the first row, -1: there are no more */
  bool begins, ends; /* its unit */
  bool low;          /* values have low halves */
  float x_top, theta, x_scale, weights_back, head_bias;
};

struct memory {
  char buffer[2][2][PLANE]; /* high halves and low ones */
  char stage[STAGES][PLANE];
  gpu_job job[2]; /* of the rows under way, and of the next */
  tile rows_of[2];
  float head[GROUPS][COLUMNS]; /* sums of warps */
  float out[GROUPS][BLOCK], top[2][WORKERS / 32];
  ring_barriers<STAGES> ring;
  unsigned long long rows, multiplied, values; /* barriers */
};
static_assert(sizeof(memory) <= 227 * 1024, "what a block may have");

/* A launch: units of all networks' rows. */
struct pass_work {
  const gpu_job *jobs;
  chain net;
  pass_kind kind;
  hvi_device_precision precision;
  int each, all; /* units of a network, and of all */
};

__device__ inline bool goes_back(pass_kind kind) { return kind == FOR_STEP || kind == FOR_PULL; }
__device__ inline bool has_loss(pass_kind kind) { return kind == FOR_STEP || kind == FOR_END; }

/* The rows of this block, 64 at a time, for the thread that brings them. */
struct walk {
  const gpu_job *job = NULL; /* there are none yet, or no more */
  int unit = (int)blockIdx.x - (int)gridDim.x, row = 0, end = 0;

  __device__ bool next(const pass_work &work) {
    if (job && (row += BLOCK) < end) return true;
    for (unit += gridDim.x; unit < work.all; unit += gridDim.x) {
      const int own = unit % work.each;
      job = work.jobs + unit / work.each;
      if (own >= job->head_tiles || !concerns(*job, work.kind)) continue;
      row = own * job->head_rows, end = min(row + job->head_rows, job->rows);
      return true;
    }
    job = NULL;
    return false;
  }
  __device__ tile look(const pass_work &work) const {
    tile t = {job ? row : -1};
    if (!job) return t;
    t.unit = unit % work.each;
    t.begins = row % job->head_rows == 0, t.ends = row + BLOCK >= end;
    t.low = values_have_low(work.precision, *job, work.kind);
    t.x_top = __uint_as_float(job->tops->x), t.theta = __uint_as_float(job->tops->theta);
    t.x_scale = scale_of(job->tops->x), t.weights_back = 1.0f / weight_scale(job->tops->made);
    t.head_bias = job->theta[work.net.head_bias];
    return t;
  }
};

/* The ring of weights. */
struct ring : ring_side<STAGES> {
  memory &m;
  __device__ explicit ring(memory &all) : ring_side<STAGES>(all.ring), m(all) {}

  /* Brings one piece of so many parts, by one thread. */
  __device__ void bring(const char *from, size_t apart, unsigned bytes, int parts) {
    const unsigned to = shared_at(m.stage[stage()]), barrier = offer();
    barrier_expect(barrier, parts * bytes);
    for (int i = 0; i < parts; i++) copy_in(to + i * OF_BLOCK, from + i * apart, bytes, barrier);
    at++;
  }
};

/* X of a tile, and its job. */
__device__ inline void bring_rows(memory &m, const pass_work &work, const walk &w, bool low,
                                  unsigned turn) {
  const unsigned barrier = shared_at(&m.rows), to = shared_at(m.buffer[0][0]);
  const halves x = halves_at(w.job->x_halves, w.job->rows, work.net.width[0]);
  barrier_expect(barrier, x.blocks * OF_BLOCK * (low ? 2 : 1) + sizeof(gpu_job));
  copy_in(shared_at(&m.job[turn]), (const char *)w.job, sizeof(gpu_job), barrier);
  for (int b = 0; b < x.blocks; b++) {
    const char *from = x.high + ((size_t)b * x.rows + w.row) * ROW_BYTES;
    copy_in(to + b * OF_BLOCK, from, OF_BLOCK, barrier);
    if (low) copy_in(to + PLANE + b * OF_BLOCK, from + x.low, OF_BLOCK, barrier);
  }
}

/* What the products of a tile take. Low pieces come before the high ones of the same k. */
__device__ inline void bring_weights(ring &r, const pass_work &work, const gpu_job &j,
                                     bool forward_low) {
  const chain &net = work.net;
  const bool backward_low = work.precision != HVI_DEVICE_FP16;
  for (int l = 1; l <= net.layers; l++) {
    const halves x = weight_halves(j, net, l);
    const unsigned bytes = x.rows * ROW_BYTES;
    for (int s = 0; s < x.blocks; s++) {
      const char *from = x.high + (size_t)s * bytes;
      if (forward_low) r.bring(from + x.low, 0, bytes, 1);
      r.bring(from, 0, bytes, 1);
    }
  }
  for (int l = net.layers; goes_back(work.kind) && l > 1; l--) {
    const halves x = weight_halves(j, net, l);
    const size_t block = (size_t)x.rows * ROW_BYTES;
    for (int s = 0; s < x.rows / BLOCK; s++) {
      const char *from = x.high + (size_t)s * OF_BLOCK;
      if (backward_low) r.bring(from + x.low, block, OF_BLOCK, x.blocks);
      r.bring(from, block, OF_BLOCK, x.blocks);
    }
  }
}

/* All that is multiplied, by one thread. X comes when the products of the rows before are there, and what is known
 * of its rows has been looked up by then. */
__device__ inline void bring_all(memory &m, const pass_work &work) {
  ring r(m);
  walk w;
  unsigned turn = 0;
  for (bool more = true; more; turn ^= 1) {
    more = w.next(work);
    const tile t = w.look(work);
    if (r.at > 0) barrier_wait(shared_at(&m.multiplied), turn ^ 1);
    m.rows_of[turn] = t;
    if (!more) return barrier_arrive(shared_at(&m.rows));
    bring_rows(m, work, w, t.low, turn);
    for (int k = 0; k < work.net.width[work.net.layers]; k += 32)
      asm volatile("prefetch.global.L1 [%0];" ::"l"(w.job->theta + work.net.head + k));
    bring_weights(r, work, *w.job, t.low);
  }
}

/* C of 64 rows, A being at `a` by rows, over so many slabs of k, of which the first STEPS times 16 count. */
template <bool B_ROWS, int STEPS, bool LOW>
__device__ __forceinline__ void multiply_slabs(float (&c)[NUMBERS], ring &r, const char *a,
                                               int slabs) {
  constexpr unsigned long long LOW_A = PLANE >> 4, ON_B = OPERAND_STEP<B_ROWS>;
  const unsigned own = threadIdx.x / 128 * OF_GROUP;
  float group[NUMBERS];
#pragma unroll
  for (int i = 0; i < NUMBERS; i++) c[i] = 0.0f;
  for (int s = 0; s < slabs; s++) {
    const unsigned long long x = operand_at<true>(shared_at(a) + s * OF_BLOCK);
    int low = 0;
    if (LOW) {
      low = r.take();
      const unsigned long long y = operand_at<B_ROWS>(shared_at(r.m.stage[low]) + own);
      products_begin();
#pragma unroll
      for (int k = 0; k < STEPS; k++)
        multiply_async<true, B_ROWS>(group, x + k * OPERAND_STEP<true>, y + k * ON_B, k > 0);
      products_commit();
    }
    const int high = r.take();
    const unsigned long long y = operand_at<B_ROWS>(shared_at(r.m.stage[high]) + own);
    products_begin();
#pragma unroll
    for (int k = 0; LOW && k < STEPS; k++)
      multiply_async<true, B_ROWS>(group, x + k * OPERAND_STEP<true> + LOW_A, y + k * ON_B, 1);
#pragma unroll
    for (int k = 0; k < STEPS; k++)
      multiply_async<true, B_ROWS>(group, x + k * OPERAND_STEP<true>, y + k * ON_B, LOW || k > 0);
    products_commit();
    if (LOW) {
      products_wait<1>();
      r.release(low);
    }
    products_wait<0>();
    settle(group);
    r.release(high);
#pragma unroll
    for (int i = 0; i < NUMBERS; i++) c[i] += group[i];
  }
}

template <bool B_ROWS, int STEPS>
__device__ __forceinline__ void multiply(float (&c)[NUMBERS], ring &r, const char *a, int slabs,
                                         bool low) {
  if (low)
    multiply_slabs<B_ROWS, STEPS, true>(c, r, a, slabs);
  else
    multiply_slabs<B_ROWS, STEPS, false>(c, r, a, slabs);
}

/* A thread's place: its first row and column, and where the halves at them begin in a plane. */
struct place {
  int row, column;
  __device__ place() {
    const int lane = threadIdx.x % 32;
    row = threadIdx.x % 128 / 32 * 16 + lane / 4;
    column = threadIdx.x / 128 * COLUMNS + lane % 4 * 2;
  }
  /* Of pair i of columns, in the first or second of the rows. */
  __device__ int at(int i, int half) const {
    return threadIdx.x / 128 * OF_GROUP + i / 8 * OF_BLOCK + (row + 8 * half) * ROW_BYTES +
           (i % 8 ^ row % 8) * PIECE + column % 8 * 2;
  }
};

/* Numbers of a thread's columns. FAST: they are read where this is called, not where they are needed. */
struct of_columns {
  float2 at[PAIRS];
  template <bool FAST>
  __device__ __forceinline__ void read(const float *x, const place &p, int count) {
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      const int column = p.column + 8 * i;
      if (FAST)
        asm volatile("ld.global.nc.v2.f32 {%0, %1}, [%2];"
                     : "=f"(at[i].x), "=f"(at[i].y)
                     : "l"(x + column));
      else
        at[i] = make_float2(column < count ? __ldg(x + column) : 0.0f,
                            column + 1 < count ? __ldg(x + column + 1) : 0.0f);
    }
  }
};

/* Sums to values, in place. FAST: ReLU, and all columns are there. */
template <bool FAST>
__device__ __forceinline__ void activate_sums(float (&c)[NUMBERS], const place &p,
                                              const of_columns &bias, int count, float back,
                                              hvi_activation a) {
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    const int column = p.column + 8 * i;
    const float2 b = bias.at[i];
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const float x = fmaf(c[4 * i + q], back, q % 2 ? b.y : b.x);
      c[4 * i + q] = FAST || column + q % 2 < count ? activate(FAST ? HVI_RELU : a, x) : 0.0f;
    }
  }
}

/* Numbers to halves; the largest. */
__device__ __forceinline__ float put_numbers(char *to, const float (&c)[NUMBERS], const place &p,
                                             float scale, bool low) {
  float top = 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const numbers<2> x = {c[4 * i + 2 * half], c[4 * i + 2 * half + 1]};
      put_row(to + p.at(i, half), PLANE, x, scale, low);
      top = larger(top, x);
    }
  return top;
}

/* D_l from sums of D_{l+1} W_{l+1}, in the place of H_l; the largest. */
template <bool FAST>
__device__ __forceinline__ float put_slopes(char *to, const float (&c)[NUMBERS], const place &p,
                                            int count, float back, float scale, float values_back,
                                            bool values_low, bool low, hvi_activation a) {
  float top = 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int column = p.column + 8 * i;
      char *at = to + p.at(i, half);
      const unsigned high = *(const unsigned *)at;
      numbers<2> x = {c[4 * i + 2 * half] * back, c[4 * i + 2 * half + 1] * back};
      if (FAST) {
        x = {high & 0xffffu ? x.at[0] : 0.0f, high >> 16 ? x.at[1] : 0.0f};
      } else {
        const float2 v = join_two(high, values_low ? *(const unsigned *)(at + PLANE) : 0u);
        x.at[0] = column < count ? x.at[0] * slope_at(a, v.x * values_back) : 0.0f;
        x.at[1] = column + 1 < count ? x.at[1] * slope_at(a, v.y * values_back) : 0.0f;
      }
      put_row(at, PLANE, x, scale, low);
      top = larger(top, x);
    }
  return top;
}

/* The head's sums of this thread's rows, a number for each row and group of columns. */
template <bool FAST>
__device__ __forceinline__ void put_outputs(memory &m, const float (&c)[NUMBERS], const place &p,
                                            const of_columns &w) {
  float out[2] = {0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    const float2 x = w.at[i];
#pragma unroll
    for (int half = 0; half < 2; half++)
      out[half] = fmaf(c[4 * i + 2 * half], x.x, fmaf(c[4 * i + 2 * half + 1], x.y, out[half]));
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    out[half] += __shfl_xor_sync(~0u, out[half], 1);
    out[half] += __shfl_xor_sync(~0u, out[half], 2);
    if (threadIdx.x % 4 == 0) m.out[threadIdx.x / 128][p.row + 8 * half] = out[half];
  }
}

/* Of 2 N numbers of each of two lanes that far apart, one keeps the sums of the first half, the other those of
 * the second. */
template <int N> __device__ __forceinline__ void fold(float (&x)[32]) {
  const bool upper = threadIdx.x & N;
#pragma unroll
  for (int i = 0; i < N; i++) {
    const float give = upper ? x[i] : x[i + N], keep = upper ? x[i + N] : x[i];
    x[i] = keep + __shfl_xor_sync(~0u, give, N);
  }
}

/* Adds u'H over a warp's rows to the four columns that a lane looks after: those of pairs 2 q and 2 q + 1,
 * q being the bits of g from the highest on. */
__device__ __forceinline__ void add_head(float (&head)[4], const float (&c)[NUMBERS], float u0,
                                         float u1) {
  float x[32];
#pragma unroll
  for (int i = 0; i < 32; i++) x[i] = fmaf(u0, c[i / 2 * 4 + i % 2], u1 * c[i / 2 * 4 + 2 + i % 2]);
  fold<16>(x);
  fold<8>(x);
  fold<4>(x);
#pragma unroll
  for (int i = 0; i < 4; i++) head[i] += x[i];
}

/* D_L from H_L; the largest. */
template <bool FAST>
__device__ __forceinline__ float
put_head_slopes(char *to, const float (&c)[NUMBERS], const place &p, const of_columns &w, float u0,
                float u1, float scale, bool low, hvi_activation a) {
  float top = 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    const float2 x = w.at[i];
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float u = half ? u1 : u0;
      const numbers<2> d = {u * x.x * slope_at(FAST ? HVI_RELU : a, c[4 * i + 2 * half]),
                            u * x.y * slope_at(FAST ? HVI_RELU : a, c[4 * i + 2 * half + 1])};
      put_row(to + p.at(i, half), PLANE, d, scale, low);
      top = larger(top, d);
    }
  }
  return top;
}

/* The warps of a group add their sums of the head, 0 + (1 + (2 + 3)), and the first of them leaves them. */
__device__ inline void leave_head(memory &m, const float (&head)[4], float *to, int count) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int q = (lane & 16) / 2 + (lane & 8) / 2 + (lane & 4) / 2; /* pairs of columns before */
  float x[4], *between = m.head[group] + 4 * lane;
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = head[i];
#pragma unroll
  for (int from = 3; from > 0; from--) {
    for (int i = 0; warp == from && i < 4; i++) between[i] = x[i];
    meet(2 + group, 128);
    for (int i = 0; warp == from - 1 && i < 4; i++) x[i] += between[i];
  }
  if (warp > 0) return;
  for (int i = 0; i < 4; i++) {
    const int column = group * COLUMNS + 8 * (q + i / 2) + lane % 4 * 2 + i % 2;
    if (column < count) to[column] = x[i];
  }
}

/* A block's work on its rows, as the threads of both groups see it. */
template <bool FAST> struct worker {
  memory &m;
  const pass_work &work;
  const chain &net;
  ring r;
  place p;
  const bool leads; /* its group */
  float c[NUMBERS], head[4];
  double loss, u_sum; /* of rows lane and lane + 32, in all warps alike */
  unsigned turn, values_turn, top_turn;
  int row; /* of the rows under way, the first */
  const bool backward_low;

  __device__ worker(memory &all, const pass_work &what)
      : m(all), work(what), net(what.net), r(all), leads(threadIdx.x % 128 == 0), turn(0),
        values_turn(0), top_turn(0), backward_low(what.precision != HVI_DEVICE_FP16) {}

  __device__ char *buffer(int l) const { return m.buffer[l % 2][0]; }
  __device__ const gpu_job &job() const { return m.job[turn]; }
  __device__ const tile &rows() const { return m.rows_of[turn]; }

  /* The products of these rows are there. */
  __device__ void end_products() const {
    if (leads) wait_copies_read();
    warp_arrives(shared_at(&m.multiplied));
  }

  /* Blocks of its own columns between a buffer and `x`. */
  template <class COPY> __device__ void for_blocks(const halves &x, bool low, COPY copy) const {
    const int first = threadIdx.x / 128 * (COLUMNS / BLOCK);
    for (int b = first; b < min(first + COLUMNS / BLOCK, x.blocks); b++) {
      char *there = x.high + ((size_t)b * x.rows + row) * ROW_BYTES;
      copy(there, b * OF_BLOCK);
      if (low) copy(there + x.low, PLANE + b * OF_BLOCK);
    }
  }

  /* All have written a buffer, and the largest number of it is known; it may be an operand, and leave. */
  __device__ __forceinline__ float finish(float top, const char *from, const halves *to, bool low) {
    float *tops = m.top[top_turn++ % 2];
    const unsigned bits = __reduce_max_sync(~0u, __float_as_uint(top));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = __uint_as_float(bits);
    if (leads) wait_copies_read();
    fence_copies();
    meet(1, WORKERS);
    if (leads && to) {
      const unsigned at = shared_at(from);
      for_blocks(*to, low,
                 [&](char *there, unsigned place) { copy_out(there, at + place, OF_BLOCK); });
      end_copies_out();
    }
    float most = 0.0f;
    for (int i = 0; i < WORKERS / 32; i++) most = fmaxf(most, tops[i]);
    return most;
  }

  /* What takes a tile's numbers back to their size. */
  __device__ void keep_scale(int l, bool of_slopes, float scale) const {
    if (threadIdx.x == 0) *scale_place(job(), l, of_slopes, row / BLOCK) = inverse(scale);
  }

  /* Values of layer l come back into their buffer; its earlier content has left. */
  __device__ void bring_values(int l) {
    const halves x = values_halves(job(), net, l);
    const unsigned barrier = shared_at(&m.values), to = shared_at(buffer(l));
    const int blocks = min(COLUMNS / BLOCK, x.blocks - (int)threadIdx.x / 128 * (COLUMNS / BLOCK));
    const bool low = rows().low && !FAST;
    wait_copies_out<1>(); /* the last are slopes */
    if (blocks <= 0) return barrier_arrive(barrier);
    barrier_expect(barrier, blocks * OF_BLOCK * (low ? 2 : 1));
    for_blocks(x, low,
               [&](char *there, unsigned place) { copy_in(to + place, there, OF_BLOCK, barrier); });
  }

  /* H_L of the rows, as numbers, and the head's weights. Returns what takes the values below back to their
   * size. */
  __device__ __forceinline__ float forward(of_columns &head_weights) {
    const gpu_job &j = job();
    const int last = net.layers;
    const bool forward_low = rows().low;
    const float theta = rows().theta, weights_back = rows().weights_back;
    float top = rows().x_top, scale = rows().x_scale;
    of_columns bias;
    for (int l = 1;; l++) {
      const int slabs = padded_block(net.width[l - 1]) / BLOCK;
      bias.read<FAST>(j.theta + net.bias[l], p, net.width[l]);
      if (net.width[l - 1] <= BLOCK / 2)
        multiply<true, 2>(c, r, buffer(l - 1), slabs, forward_low);
      else
        multiply<true, 4>(c, r, buffer(l - 1), slabs, forward_low);
      if (l == 1) { /* what the rows before have left in its buffer is on its way */
        if (leads) wait_copies_read();
        meet(1, WORKERS);
      }
      if (l == last) break;
      activate_sums<FAST>(c, p, bias, net.width[l], weights_back * inverse(scale), net.activation);
      scale = value_scale(net.activation, net.width[l - 1], theta, top);
      const halves to = values_halves(j, net, l);
      const bool leaves = goes_back(work.kind);
      if (leaves) keep_scale(l, false, scale);
      top = put_numbers(buffer(l), c, p, scale, forward_low);
      top = finish(top, buffer(l), leaves ? &to : NULL, forward_low);
    }
    if (last == 1 || !goes_back(work.kind)) end_products();
    head_weights.read<FAST>(j.theta + net.head, p, net.width[last]);
    activate_sums<FAST>(c, p, bias, net.width[last], weights_back * inverse(scale), net.activation);
    return inverse(scale);
  }

  /* y, and where there is a loss, it and u; each warp computes them for itself, two rows to a lane. Returns the
   * largest u, and those of this thread's rows. */
  __device__ __forceinline__ float residuals(const of_columns &head_weights, float &u0, float &u1) {
    const gpu_job &j = job();
    const int lane = threadIdx.x % 32, first = row;
    row_needs needs[2] = {};
    float u[2] = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int row = first + lane + 32 * i;
      if (row < j.rows && has_loss(work.kind)) needs[i] = needs_of(j, row);
      if (row < j.rows && work.kind == FOR_PULL) u[i] = (float)j.u[row];
    }
    put_outputs<FAST>(m, c, p, head_weights);
    meet(1, WORKERS);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int own = lane + 32 * i, row = first + own;
      if (work.kind != FOR_PULL && row < j.rows) {
        const float y = m.out[0][own] + m.out[1][own] + rows().head_bias;
        if (threadIdx.x < 32) j.y[row] = y;
        if (has_loss(work.kind)) loss += row_loss(j, needs[i], y, &u[i]);
      }
      u_sum += u[i];
    }
    const float mine = p.row < 32 ? u[0] : u[1];
    u0 = __shfl_sync(~0u, mine, p.row % 32), u1 = __shfl_sync(~0u, mine, p.row % 32 + 8);
    return __uint_as_float(
        __reduce_max_sync(~0u, __float_as_uint(fmaxf(fabsf(u[0]), fabsf(u[1])))));
  }

  /* D_L .. D_1, values of layer L - 1 being in their buffer. */
  __device__ __forceinline__ void backward(const of_columns &head_weights, float top_u, float u0,
                                           float u1, float values_back) {
    const gpu_job &j = job();
    const int last = net.layers;
    const float theta = rows().theta, weights_back = rows().weights_back;
    float scale = scale_of_bound(theta * top_u);
    add_head(head, c, u0, u1);
    keep_scale(last, true, scale);
    float top = put_head_slopes<FAST>(buffer(last), c, p, head_weights, u0, u1, scale, backward_low,
                                      net.activation);
    halves to = slopes_halves(j, net, last);
    top = finish(top, buffer(last), &to, backward_low);
    for (int l = last; l > 1; l--) {
      multiply<false, 4>(c, r, buffer(l), padded_block(net.width[l]) / BLOCK, backward_low);
      if (l == 2) end_products();
      if (l < last) {
        barrier_wait(shared_at(&m.values), values_turn);
        values_turn ^= 1;
        values_back = *scale_place(j, l - 1, false, row / BLOCK);
      }
      const float back = weights_back * inverse(scale);
      scale = scale_of_bound((float)net.width[l] * theta * top);
      keep_scale(l - 1, true, scale);
      top = put_slopes<FAST>(buffer(l - 1), c, p, net.width[l - 1], back, scale, values_back,
                             rows().low, backward_low, net.activation);
      to = slopes_halves(j, net, l - 1);
      top = finish(top, buffer(l - 1), &to, backward_low);
      if (leads && l > 2) bring_values(l - 2);
    }
  }

  /* The unit's sums; the last of a network's to arrive decides on its step. */
  __device__ __forceinline__ void end_unit() {
    const gpu_job &j = job();
    const int own = rows().unit, count = (net.width[net.layers] + 7) / 8 * 8;
    if (work.kind == FOR_OUTPUTS) return;
    const double sum = warp_sum(loss), u = warp_sum(u_sum);
    if (goes_back(work.kind)) {
      float *to = head_sums_at(j, net, own);
      leave_head(m, head, to, count);
      if (threadIdx.x < HVI_DEVICE_PAD)
        to[count + threadIdx.x] = threadIdx.x == 0 ? (float)u : 0.0f;
    }
    if (has_loss(work.kind) && threadIdx.x < 32)
      arrive(j, (double *)head_sums_at(j, net, j.head_tiles), own, j.head_tiles, sum);
  }

  __device__ __forceinline__ void run() {
    for (;; turn ^= 1) {
      barrier_wait(shared_at(&m.rows), turn);
      row = rows().row;
      if (row < 0) break;
      if (rows().begins) loss = u_sum = 0.0, head[0] = head[1] = head[2] = head[3] = 0.0f;
      of_columns head_weights;
      float u0, u1;
      const float values_back = forward(head_weights);
      const float top_u = residuals(head_weights, u0, u1);
      if (goes_back(work.kind))
        backward(head_weights, top_u, u0, u1, values_back);
      else
        meet(1, WORKERS); /* all have read the outputs */
      if (rows().ends) end_unit();
    }
    wait_copies_out<0>();
  }
};

template <bool FAST>
__global__ void __launch_bounds__(THREADS, 1) pass_rows(const __grid_constant__ pass_work work) {
  extern __shared__ __align__(1024) char shared[];
  memory &m = *(memory *)shared;
  if (threadIdx.x == 0) {
    m.ring.init(WORKERS / 32);
    barrier_init(shared_at(&m.rows), 1);
    barrier_init(shared_at(&m.multiplied), WORKERS / 32 * OF_WARP);
    barrier_init(shared_at(&m.values), GROUPS);
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x >= WORKERS) {
    give_registers<56>();
    if (threadIdx.x == WORKERS) bring_all(m, work);
  } else {
    take_registers<224>();
    worker<FAST> all(m, work);
    all.run();
  }
}

} // namespace

static bool all_fast(const hvi_device_shape *s) {
  bool fast = s->activation == HVI_RELU;
  for (size_t l = 1; l < s->layer_count; l++) fast = fast && s->width[l] == WIDEST;
  return fast;
}

void hvi_gpu_pass(const launch *l, const hvi_device_shape *s, pass_kind kind) {
  const pass_work work = {l->jobs,      chain_of(s),   kind,
                          l->precision, l->most_tiles, l->most_tiles * l->count};
  const unsigned blocks = work.all < l->processors ? work.all : l->processors;
  if (all_fast(s))
    pass_rows<true><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
  else
    pass_rows<false><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
}

cudaError_t hvi_gpu_allow_passes(void) {
  return allow_bytes(sizeof(memory), pass_rows<true>, pass_rows<false>);
}
