/*
 * Rows through all layers of their network on Hopper, forward and backward, without leaving a processor.
 *
 *   H_0 = X,   H_l = s(H_{l-1} W_l' + b_l),   y = H_L w + b,   then r, u and the loss of step.cu
 *   D_L = s'(H_L) u w',   D_{l-1} = s'(H_{l-1}) (D_l W_l),   dw = H_L' u,   db = 1'u
 *
 * A block of threads takes one unit of a network's rows after the other, 64 rows at a time, and two blocks
 * share a processor: while one looks after its numbers, the other's products keep the tensor cores busy.
 * The rows lie in shared memory as halves (halves.cuh): the operand of a product, and then what comes of
 * it. Weights do not fit: one warp has the copy engine bring them in pieces, 64 of k by 128 columns, through
 * a ring of stages, ahead of the products. Four warps multiply, one side of 128 columns after the other.
 *
 * What the gradients of W need (gradients.cu), H_1 .. H_{L-1} and D_1 .. D_L, leaves in bulk meanwhile.
 * Values come back for s', behind the weights and through the same ring.
 *
 * Scales are a tile's own: bounds are taken from the largest number of its rows in the layer before, so that
 * nothing waits for other rows. What takes a tile's numbers back to their size stands beside it.
 *
 * The tensor cores cut their sums off instead of rounding them, so the sums of each 64 of k start from zero,
 * small products first, and are added here.
 *
 * With lane = 4 g + t, a thread of warp w has rows 16 w + g and 8 more, and of each 8 columns those at 2 t
 * and one more. Where a row has one number, lanes 0 to 15 look after a row each.
 */
#include "gpu/hopper.cuh"

namespace {

enum {
  WORKERS = 128,
  THREADS = WORKERS + 128, /* one of the others brings what they multiply */
  WARPS = WORKERS / 32,
  SIDES = 2,
  COLUMNS = WIDEST / SIDES, /* of a product */
  NUMBERS = COLUMNS / 2,    /* of it in a thread */
  PAIRS = COLUMNS / 8,      /* of columns */
  OF_BLOCK = BLOCK * ROW_BYTES,
  OF_SIDE = COLUMNS / BLOCK * OF_BLOCK,
  PLANE = SIDES * OF_SIDE,
  STAGES = 3
};

struct memory {
  char rows[2][PLANE]; /* high halves and low ones */
  char stage[STAGES][OF_SIDE];
  float head[2][COLUMNS / 2]; /* sums of warps */
  float top[2][WARPS];
  double loss[WARPS], u_sum[WARPS];
  unsigned long long full[STAGES], empty[STAGES], there, left; /* barriers */
};
static_assert(2 * (sizeof(memory) + 1024) <= 228 * 1024, "what two blocks may have");

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

/* The rows of this block, 64 at a time. */
struct walk {
  int unit;
  const gpu_job *job; /* NULL: there are none yet, or no more */
  int row, end;

  __device__ walk() : unit((int)blockIdx.x - (int)gridDim.x), job(NULL), row(0), end(0) {}
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
  __device__ bool begins() const { return row % job->head_rows == 0; }
  __device__ bool ends() const { return row + BLOCK >= end; }
};

/* The ring; `at` counts pieces, on both sides alike. */
struct ring {
  memory &m;
  unsigned at;
  __device__ explicit ring(memory &all) : m(all), at(0) {}
  __device__ int stage() const { return at % STAGES; }
  __device__ unsigned turn() const { return at / STAGES % 2; }

  /* Brings one piece of so many parts, by one thread. */
  __device__ void bring(const char *from, size_t apart, unsigned bytes, int parts) {
    const unsigned to = shared_at(m.stage[stage()]), barrier = shared_at(&m.full[stage()]);
    barrier_wait(shared_at(&m.empty[stage()]), turn() ^ 1);
    barrier_expect(barrier, parts * bytes);
    for (int i = 0; i < parts; i++) copy_in(to + i * OF_BLOCK, from + i * apart, bytes, barrier);
    at++;
  }
  /* The next piece is there: its stage. */
  __device__ int take() {
    const int which = stage();
    barrier_wait(shared_at(&m.full[which]), turn());
    at++;
    return which;
  }
  /* This warp is done with it. */
  __device__ void release(int which) const {
    if (threadIdx.x % 32 == 0) barrier_arrive(shared_at(&m.empty[which]));
  }
};

/* Blocks of 64 columns on a side; less than one: it has none. */
__device__ inline int blocks_on(int side, int blocks) {
  return min(blocks - side * (COLUMNS / BLOCK), COLUMNS / BLOCK);
}

/* 64 rows of all columns: low pieces come before the high ones of the same side. */
__device__ inline void bring_across(ring &r, const halves &x, int row, bool low) {
  const size_t block = (size_t)x.rows * ROW_BYTES;
  for (int side = 0; side < SIDES && blocks_on(side, x.blocks) > 0; side++) {
    const char *from = x.high + side * (COLUMNS / BLOCK) * block + (size_t)row * ROW_BYTES;
    if (low) r.bring(from + x.low, block, OF_BLOCK, blocks_on(side, x.blocks));
    r.bring(from, block, OF_BLOCK, blocks_on(side, x.blocks));
  }
}

/* 64 columns of all rows, likewise. */
__device__ inline void bring_down(ring &r, const halves &x, int block, bool low) {
  for (int row = 0; row < x.rows; row += COLUMNS) {
    const char *from = x.high + ((size_t)block * x.rows + row) * ROW_BYTES;
    const unsigned bytes = min(x.rows - row, (int)COLUMNS) * ROW_BYTES;
    if (low) r.bring(from + x.low, 0, bytes, 1);
    r.bring(from, 0, bytes, 1);
  }
}

/* All that products and slopes take, in their order. */
template <bool FAST> __device__ inline void bring_pieces(memory &m, const pass_work &work) {
  const chain &net = work.net;
  unsigned turn = 0;
  ring r(m);
  for (walk w; w.next(work);) {
    const bool forward_low = values_have_low(work.precision, *w.job, work.kind);
    const bool backward_low = work.precision != HVI_DEVICE_FP16;
    for (int l = 1; l <= net.layers; l++) {
      const halves x = weight_halves(*w.job, net, l);
      for (int s = 0; s < x.blocks; s++) bring_down(r, x, s, forward_low);
    }
    for (int l = net.layers; goes_back(work.kind) && l > 1; l--) {
      const halves x = weight_halves(*w.job, net, l), h = values_halves(*w.job, net, l - 1);
      for (int s = 0; s < x.rows; s += BLOCK) bring_across(r, x, s, backward_low);
      if (l == net.layers) {
        barrier_wait(shared_at(&m.left), turn);
        turn ^= 1;
        fence_copies();
      }
      bring_across(r, h, w.row, forward_low && !FAST);
    }
  }
}

/* C of 64 rows over so many slabs of k, of which the first STEPS times 16 count, side by side. */
template <bool B_ROWS, int STEPS, bool LOW>
__device__ __forceinline__ void multiply_slabs(float (&c)[SIDES][NUMBERS], ring &r, int slabs,
                                               int sides) {
  constexpr unsigned long long LOW_A = PLANE >> 4, ON_A = OPERAND_STEP<true>,
                               ON_B = OPERAND_STEP<B_ROWS>;
  float group[NUMBERS];
#pragma unroll
  for (int i = 0; i < SIDES * NUMBERS; i++) c[i / NUMBERS][i % NUMBERS] = 0.0f;
  for (int s = 0; s < slabs; s++) {
    const unsigned long long x = operand_at<true>(shared_at(r.m.rows[0]) + s * OF_BLOCK);
#pragma unroll
    for (int side = 0; side < SIDES; side++) {
      if (side >= sides) continue;
      int low = 0;
      if (LOW) {
        low = r.take();
        const unsigned long long y = operand_at<B_ROWS>(shared_at(r.m.stage[low]));
        products_begin();
#pragma unroll
        for (int k = 0; k < STEPS; k++)
          multiply_async<true, B_ROWS>(group, x + k * ON_A, y + k * ON_B, k > 0);
        products_commit();
      }
      const int high = r.take();
      const unsigned long long y = operand_at<B_ROWS>(shared_at(r.m.stage[high]));
      products_begin();
#pragma unroll
      for (int k = 0; LOW && k < STEPS; k++)
        multiply_async<true, B_ROWS>(group, x + k * ON_A + LOW_A, y + k * ON_B, 1);
#pragma unroll
      for (int k = 0; k < STEPS; k++)
        multiply_async<true, B_ROWS>(group, x + k * ON_A, y + k * ON_B, LOW || k > 0);
      products_commit();
      if (LOW) {
        products_wait<1>();
        r.release(low);
      }
      products_wait<0>();
      settle(group);
      r.release(high);
#pragma unroll
      for (int i = 0; i < NUMBERS; i++) c[side][i] += group[i];
    }
  }
}

template <bool B_ROWS, int STEPS>
__device__ __forceinline__ void multiply(float (&c)[SIDES][NUMBERS], ring &r, int slabs, int sides,
                                         bool low) {
  if (low)
    multiply_slabs<B_ROWS, STEPS, true>(c, r, slabs, sides);
  else
    multiply_slabs<B_ROWS, STEPS, false>(c, r, slabs, sides);
}

/* A thread's place: its first row, and its first column of each 8. */
struct place {
  int row, column;
  __device__ place()
      : row(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4), column(threadIdx.x % 4 * 2) {}
  /* Where pair i of a side's columns begins there, in the first or second of the rows. */
  __device__ int at(int i, int half) const {
    return i / 8 * OF_BLOCK + (row + 8 * half) * ROW_BYTES + (i % 8 ^ row % 8) * PIECE + column * 2;
  }
};

/* Two numbers that follow each other, of `count` that there are. */
template <bool ALL> __device__ inline float2 two_of(const float *x, int at, int count) {
  if (ALL) return __ldg((const float2 *)(x + at));
  return make_float2(at < count ? __ldg(x + at) : 0.0f, at + 1 < count ? __ldg(x + at + 1) : 0.0f);
}

__device__ inline float larger(float top, float2 x) {
  return fmaxf(top, fmaxf(fabsf(x.x), fabsf(x.y)));
}

/* Two numbers to halves at their place. */
__device__ inline void put_two(char *to, float2 x, bool low) {
  unsigned high, rest;
  split_two(x, high, rest);
  *(unsigned *)to = high;
  if (low) *(unsigned *)(to + PLANE) = rest;
}

/* A side's sums to values, scaled, in place. FAST: ReLU, and all columns are there. */
template <bool FAST>
__device__ __forceinline__ void activate_sums(float (&c)[NUMBERS], int first, const float *bias,
                                              int count, float back, float scale,
                                              hvi_activation a) {
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    const int column = first + 8 * i;
    const float2 b = two_of<FAST>(bias, column, count);
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const float of_column = q % 2 ? b.y : b.x;
      if (FAST)
        c[4 * i + q] = fmaxf(fmaf(c[4 * i + q], back * scale, of_column * scale), 0.0f);
      else if (column + q % 2 < count)
        c[4 * i + q] = scale * activate(a, fmaf(c[4 * i + q], back, of_column));
      else
        c[4 * i + q] = 0.0f;
    }
  }
}

/* A side's numbers to halves; the largest. */
__device__ __forceinline__ float put_numbers(char *to, const float (&c)[NUMBERS], const place &p,
                                             bool low) {
  float top = 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float2 x = make_float2(c[4 * i + 2 * half], c[4 * i + 2 * half + 1]);
      put_two(to + p.at(i, half), x, low);
      top = larger(top, x);
    }
  return top;
}

/* A side's values H_l, as a stage or two have them. */
struct stored {
  const char *high, *low; /* NULL: there are no low ones */
  float back;
};

/* A side of D_l from sums of D_{l+1} W_{l+1}, scaled; the largest. */
template <bool FAST>
__device__ __forceinline__ float put_slopes(char *to, const float (&c)[NUMBERS], const stored &h,
                                            const place &p, int first, int count, float back,
                                            bool low, hvi_activation a) {
  float top = 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int column = first + 8 * i, at = p.at(i, half);
      const unsigned high = *(const unsigned *)(h.high + at);
      float2 x = make_float2(c[4 * i + 2 * half] * back, c[4 * i + 2 * half + 1] * back);
      if (FAST) {
        x = make_float2(high & 0xffffu ? x.x : 0.0f, high >> 16 ? x.y : 0.0f);
      } else {
        const float2 v = join_two(high, h.low ? *(const unsigned *)(h.low + at) : 0u);
        x.x = column < count ? x.x * slope_at(a, v.x * h.back) : 0.0f;
        x.y = column + 1 < count ? x.y * slope_at(a, v.y * h.back) : 0.0f;
      }
      put_two(to + at, x, low);
      top = larger(top, x);
    }
  return top;
}

/* A side's share of the head's sums of this thread's rows. */
template <bool FAST>
__device__ __forceinline__ void add_outputs(float (&out)[2], const float (&c)[NUMBERS], int first,
                                            const float *w, int count) {
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    const float2 x = two_of<FAST>(w, first + 8 * i, count);
#pragma unroll
    for (int half = 0; half < 2; half++)
      out[half] = fmaf(c[4 * i + 2 * half], x.x, fmaf(c[4 * i + 2 * half + 1], x.y, out[half]));
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

/* Adds u'H over a warp's rows to the four columns of a side that a lane looks after: those of pairs 2 q and 2 q + 1,
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

/* A side of D_L from H_L, u being scaled; the largest. */
template <bool FAST>
__device__ __forceinline__ float
put_head_slopes(char *to, const float (&c)[NUMBERS], const place &p, int first, const float *w,
                int count, float u0, float u1, bool low, hvi_activation a) {
  float top = 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
    const float2 x = two_of<FAST>(w, first + 8 * i, count);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float u = half ? u1 : u0;
      const float2 d =
          make_float2(u * x.x * slope_at(FAST ? HVI_RELU : a, c[4 * i + 2 * half]),
                      u * x.y * slope_at(FAST ? HVI_RELU : a, c[4 * i + 2 * half + 1]));
      put_two(to + p.at(i, half), d, low);
      top = larger(top, d);
    }
  }
  return top;
}

/* The warps add their sums of the head, (0 + 1) + (2 + 3), and the first of them leaves them. */
__device__ inline void leave_head(memory &m, const float (&head)[SIDES][4], float *to, int count) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int q =
      (lane & 16) / 2 + (lane & 8) / 2 + (lane & 4) / 2; /* pairs of columns before its own */
#pragma unroll
  for (int i = 0; i < 2 * SIDES; i++) {
    float x[2] = {head[i / 2][i % 2 * 2], head[i / 2][i % 2 * 2 + 1]};
#pragma unroll
    for (int round = 1; round <= 2; round++) {
      float *mine = m.head[warp / 2 % 2 * (round == 1)] + 2 * lane;
      if (warp % (2 * round) == round) mine[0] = x[0], mine[1] = x[1];
      meet(1, WORKERS);
      if (warp % (2 * round) == 0) x[0] += mine[0], x[1] += mine[1];
      meet(1, WORKERS);
    }
    const int column = i / 2 * COLUMNS + 8 * (q + i % 2) + lane % 4 * 2;
    if (warp == 0 && column < count) to[column] = x[0], to[column + 1] = x[1];
  }
}

/* A block's work on its rows, as those who multiply see it. */
template <bool FAST> struct worker {
  memory &m;
  const pass_work &work;
  const chain &net;
  ring r;
  walk w;
  place p;
  const bool leads;
  float c[SIDES][NUMBERS], head[SIDES][4];
  double loss, u_sum;
  unsigned turn, top_turn;
  /* of the rows under way */
  float theta, weights_back;
  bool forward_low, backward_low;

  __device__ worker(memory &all, const pass_work &what)
      : m(all), work(what), net(what.net), r(all), leads(threadIdx.x == 0), turn(0), top_turn(0) {}

  __device__ char *side_of_rows(int side) const { return m.rows[0] + side * OF_SIDE; }
  __device__ int sides(int l) const { return FAST || net.width[l] > COLUMNS ? SIDES : 1; }
  __device__ int slabs(int l) const {
    return FAST && l > 0 ? WIDEST / BLOCK : padded_block(net.width[l]) / BLOCK;
  }

  /* X of the next rows, by one thread, when nobody needs what is there. */
  __device__ void bring_rows(const walk &next) const {
    const unsigned barrier = shared_at(&m.there), to = shared_at(m.rows[0]);
    wait_copies_read();
    if (!next.job) return;
    const halves x = halves_at(next.job->x_halves, next.job->rows, net.width[0]);
    const bool low = values_have_low(work.precision, *next.job, work.kind);
    barrier_expect(barrier, x.blocks * OF_BLOCK * (low ? 2 : 1));
    for (int b = 0; b < x.blocks; b++) {
      const char *from = x.high + ((size_t)b * x.rows + next.row) * ROW_BYTES;
      copy_in(to + b * OF_BLOCK, from, OF_BLOCK, barrier);
      if (low) copy_in(to + PLANE + b * OF_BLOCK, from + x.low, OF_BLOCK, barrier);
    }
  }

  /* Nobody reads the rows any more, nor do copies. */
  __device__ __forceinline__ void claim_rows() const {
    if (leads) wait_copies_read();
    meet(1, WORKERS);
  }

  /* The largest of all threads' numbers. What they have written may then be an operand, or leave. */
  __device__ __forceinline__ float agree(float top) {
    float *tops = m.top[top_turn++ % 2];
    const unsigned bits = __reduce_max_sync(~0u, __float_as_uint(top));
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = __uint_as_float(bits);
    fence_copies();
    claim_rows();
    return fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3]));
  }

  /* The rows to x, by one thread. */
  __device__ void send(const halves &x, bool low) const {
    const unsigned from = shared_at(m.rows[0]);
    for (int b = 0; b < x.blocks; b++) {
      char *there = x.high + ((size_t)b * x.rows + w.row) * ROW_BYTES;
      copy_out(there, from + b * OF_BLOCK, OF_BLOCK);
      if (low) copy_out(there + x.low, from + PLANE + b * OF_BLOCK, OF_BLOCK);
    }
    end_copies_out();
  }

  __device__ float *scale_at(int l, bool of_slopes) const {
    return scale_place(*w.job, l, of_slopes, w.row / BLOCK);
  }

  /* H_L of the rows, as numbers. */
  __device__ __forceinline__ void forward() {
    const gpu_job &j = *w.job;
    float top = __uint_as_float(j.tops->x), scale = scale_of(j.tops->x);
    for (int l = 1; l <= net.layers; l++) {
      const bool last = l == net.layers;
      if (net.width[l - 1] <= BLOCK / 2)
        multiply<true, 2>(c, r, slabs(l - 1), sides(l), forward_low);
      else
        multiply<true, 4>(c, r, slabs(l - 1), sides(l), forward_low);
      const float back = weights_back / scale;
      scale = last ? 1.0f : value_scale(net.activation, net.width[l - 1], theta, top);
#pragma unroll
      for (int side = 0; side < SIDES; side++)
        activate_sums<FAST>(c[side], p.column + side * COLUMNS, j.theta + net.bias[l], net.width[l],
                            back, scale, net.activation);
      if (last) break;
      claim_rows();
      top = 0.0f;
#pragma unroll
      for (int side = 0; side < SIDES; side++)
        top = fmaxf(top, put_numbers(side_of_rows(side), c[side], p, forward_low));
      top = agree(top) / scale;
      if (!leads || !goes_back(work.kind)) continue;
      *scale_at(l, false) = 1.0f / scale;
      send(values_halves(j, net, l), forward_low);
    }
  }

  /* y, and where there is a loss, it and u of a lane's own row; the largest u. */
  __device__ __forceinline__ float residuals(float &u) {
    const gpu_job &j = *w.job;
    const int lane = threadIdx.x % 32, row = w.row + threadIdx.x / 32 * 16 + lane;
    const bool mine = lane < 16 && row < j.rows;
    const row_needs needs = mine && has_loss(work.kind) ? needs_of(j, row) : row_needs{};
    u = mine && work.kind == FOR_PULL ? (float)j.u[row] : 0.0f;
    float out[2] = {0.0f, 0.0f};
#pragma unroll
    for (int side = 0; side < SIDES; side++)
      add_outputs<FAST>(out, c[side], p.column + side * COLUMNS, j.theta + net.head,
                        net.width[net.layers]);
#pragma unroll
    for (int half = 0; half < 2; half++) {
      out[half] += __shfl_xor_sync(~0u, out[half], 1);
      out[half] += __shfl_xor_sync(~0u, out[half], 2);
      out[half] = __shfl_sync(~0u, out[half], lane % 8 * 4);
    }
    if (mine && work.kind != FOR_PULL) {
      const float y = out[lane / 8 % 2] + j.theta[net.head_bias];
      j.y[row] = y;
      if (has_loss(work.kind)) loss += row_loss(j, needs, y, &u);
    }
    u_sum += u;
    return goes_back(work.kind) ? agree(fabsf(u)) : 0.0f;
  }

  /* D_L, and the head's sums. Returns the largest. */
  __device__ __forceinline__ float start_back(float u, float scale) {
    const gpu_job &j = *w.job;
    const int last = net.layers;
    const float u0 = __shfl_sync(~0u, u, threadIdx.x % 32 / 4),
                u1 = __shfl_sync(~0u, u, threadIdx.x % 32 / 4 + 8);
    float top = 0.0f;
#pragma unroll
    for (int side = 0; side < SIDES; side++) {
      add_head(head[side], c[side], u0, u1);
      top = fmaxf(top,
                  put_head_slopes<FAST>(side_of_rows(side), c[side], p, p.column + side * COLUMNS,
                                        j.theta + net.head, net.width[last], u0 * scale, u1 * scale,
                                        backward_low, net.activation));
    }
    top = agree(top) / scale;
    if (!leads) return top;
    *scale_at(last, true) = 1.0f / scale;
    send(slopes_halves(j, net, last), backward_low);
    if (last == 1) return top;
    wait_copies_out<1>(); /* the last are slopes */
    barrier_arrive(shared_at(&m.left));
    return top;
  }

  /* D_L .. D_1. */
  __device__ __forceinline__ void backward(float u, float top_u) {
    const gpu_job &j = *w.job;
    float scale = scale_of_bound(theta * top_u), top = start_back(u, scale);
    for (int l = net.layers; l > 1; l--) {
      multiply<false, 4>(c, r, slabs(l), sides(l - 1), backward_low);
      const float back = weights_back / scale;
      scale = scale_of_bound((float)net.width[l] * theta * top);
      claim_rows();
      top = 0.0f;
#pragma unroll
      for (int side = 0; side < SIDES; side++) {
        if (side >= sides(l - 1)) continue;
        const bool both = forward_low && !FAST;
        const int low = both ? r.take() : 0, high = r.take();
        const stored h = {m.stage[high], both ? m.stage[low] : NULL,
                          FAST ? 1.0f : *scale_at(l - 1, false)};
        top = fmaxf(top,
                    put_slopes<FAST>(side_of_rows(side), c[side], h, p, p.column + side * COLUMNS,
                                     net.width[l - 1], back * scale, backward_low, net.activation));
        if (both) r.release(low);
        r.release(high);
      }
      top = agree(top) / scale;
      if (!leads) continue;
      *scale_at(l - 1, true) = 1.0f / scale;
      send(slopes_halves(j, net, l - 1), backward_low);
    }
  }

  /* The unit's sums; the last of a network's to arrive decides on its step. */
  __device__ __forceinline__ void end_unit() {
    const gpu_job &j = *w.job;
    const int own = w.unit % work.each, count = (net.width[net.layers] + 7) / 8 * 8;
    if (work.kind == FOR_OUTPUTS) return;
    const double of_loss = warp_sum(loss), of_u = warp_sum(u_sum);
    if (threadIdx.x % 32 == 0) m.loss[threadIdx.x / 32] = of_loss, m.u_sum[threadIdx.x / 32] = of_u;
    meet(1, WORKERS);
    if (goes_back(work.kind)) {
      float *to = head_sums_at(j, net, own);
      leave_head(m, head, to, count);
      const double sum = (m.u_sum[0] + m.u_sum[1]) + (m.u_sum[2] + m.u_sum[3]);
      if (threadIdx.x < HVI_DEVICE_PAD)
        to[count + threadIdx.x] = threadIdx.x == 0 ? (float)sum : 0.0f;
    }
    if (has_loss(work.kind) && threadIdx.x < 32)
      arrive(j, (double *)head_sums_at(j, net, j.head_tiles), own, j.head_tiles,
             (m.loss[0] + m.loss[1]) + (m.loss[2] + m.loss[3]));
  }

  __device__ __forceinline__ void run() {
    w.next(work);
    if (leads) bring_rows(w);
    while (w.job) {
      const gpu_job &j = *w.job;
      theta = __uint_as_float(j.tops->theta), weights_back = 1.0f / weight_scale(j.tops->made);
      forward_low = values_have_low(work.precision, j, work.kind);
      backward_low = work.precision != HVI_DEVICE_FP16;
      if (w.begins()) {
        loss = u_sum = 0.0;
#pragma unroll
        for (int i = 0; i < SIDES * 4; i++) head[i / 4][i % 4] = 0.0f;
      }
      barrier_wait(shared_at(&m.there), turn);
      turn ^= 1;
      forward();
      float u;
      const float top_u = residuals(u);
      if (goes_back(work.kind))
        backward(u, top_u);
      else
        meet(1, WORKERS); /* nobody reads the rows any more */
      walk next = w;
      next.next(work);
      if (leads) bring_rows(next);
      if (w.ends()) end_unit();
      w = next;
    }
    if (leads) wait_copies_out<0>();
  }
};

template <bool FAST>
__global__ void __launch_bounds__(THREADS, 2) pass_rows(const __grid_constant__ pass_work work) {
  extern __shared__ __align__(1024) char shared[];
  memory &m = *(memory *)shared;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(shared_at(&m.full[i]), 1);
      barrier_init(shared_at(&m.empty[i]), WARPS);
    }
    barrier_init(shared_at(&m.there), 1);
    barrier_init(shared_at(&m.left), 1);
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x >= WORKERS) {
    give_registers<32>();
    if (threadIdx.x == WORKERS) bring_pieces<FAST>(m, work);
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
  const unsigned most = 2 * l->processors, blocks = min((unsigned)work.all, most);
  if (all_fast(s))
    pass_rows<true><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
  else
    pass_rows<false><<<blocks, THREADS, sizeof(memory), l->stream>>>(work);
}

static cudaError_t allow(const void *kernel) {
  const cudaError_t e =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(memory));
  return e ? e
           : cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                  cudaSharedmemCarveoutMaxShared);
}

cudaError_t hvi_gpu_allow_passes(void) {
  const cudaError_t e = allow((const void *)pass_rows<true>);
  return e ? e : allow((const void *)pass_rows<false>);
}
