/*
 * Soft actor-critic (gpu/sac.h): an update of all trainers as one CUDA graph.
 *
 * The mathematics is that of rl/sac_update.c and rl/policy.c. With n rows and layers l = 1 .. L + 1,
 *
 *   values     H_l = relu(H_{l-1} W_l' + b_l)                 k: inputs
 *   slopes     D_{l-1} = (D_l W_l) * (H_{l-1} > 0)            k: outputs
 *   gradients  D_l' H_{l-1},  and column sums of D_l          k: rows
 *
 * An update of one trainer is half a billion operations in a row of products, each of which is small:
 * what counts is how long one takes, not how many fit. So a product is cut into tiles of 32 by 32, 128 of
 * them for both critics at 256 by 256: about one for each processor. All of k is asked for at once, up to
 * four slabs of 64. Everything is single precision on the plain units: the arithmetic is 9 us of an H200 for
 * a trainer, less than the waiting.
 *
 * No sum depends on the other trainers, and none on the order of blocks: the same bits always.
 *
 * Launches, L = 2: a launch serves actor and critics where both have something to do, and all trainers.
 *
 *   critics  2  values of the actor in s' and of the critics in (s, a)
 *            1  the actor's head: a' and its log-probability
 *            2  values of the slow critics in (s', a'), and of the actor in s, which is for later
 *            1  heads: q, q', y, D_L          1  D_1          1  gradients, Adam, slow copies
 *   actor    1  head: a          2  values of the critics in (s, a)          1  heads: D_L of the smaller
 *            1  D_1     1  through the action and the squash to the actor's D_L     1  its D_1
 *            1  gradients, Adam
 *   alpha    2  values of the moved actor in s          1  head, and Adam on log alpha by the last block
 *
 * That is 8 for critics, 19 with a step of the actor, 10 more with each further one: the head for alpha
 * and that of the next step are one launch. The host acts with the actor on the CPU: a copy of 0.3 MB in the
 * same graph is cheaper than a launch for each action.
 */
#include "gpu/host.cuh"

#include "gpu/product.cuh"
#include "gpu/sac.cuh"

using of_layer = tile<SAC_TILE, SAC_TILE, 64, 4, 4, 4, 4>;
enum { SAC_THREADS = of_layer::THREADS, SAC_SHARED = of_layer::SHARED };

/* Of tile `tile`, `across` of which are in a row: put(row, column, four numbers) of A B'. */
template <bool A_ROWS, bool B_ROWS, class PUT>
__device__ static inline void for_product(const operand &A, const operand &B, int tile, int across,
                                          PUT put) {
  const int m = tile / across * SAC_TILE, n = tile % across * SAC_TILE;
  accumulator<of_layer> acc;
  add_product<A_ROWS, B_ROWS>(acc, A, m, B, n);
  for_fours<A_ROWS, B_ROWS>(acc, m, n, put);
}

__device__ static inline const sac_layer &layer_of(const sac_plan &p, int net, int l) {
  return net == SAC_ACTOR ? p.actor[l] : p.critic[l];
}
/* H_l and D_l, l = 0 .. being the first layer's; D of the last is the head's. */
__device__ static inline float *values_of(const sac_plan &p, float *t, int net, int l) {
  return t + p.values[net] + p.batch * layer_of(p, net, l).before;
}
__device__ static inline float *slopes_of(const sac_plan &p, float *t, int net, int l) {
  return t + p.slopes[net] + p.batch * layer_of(p, net, l).before;
}
__device__ static inline operand inputs_of(const sac_plan &p, float *t, int net, size_t x, int l) {
  const sac_layer &y = layer_of(p, net, l);
  return operand{l == 0 ? t + x : values_of(p, t, net, l - 1), l == 0 ? p.x_row : y.lead_in,
                 p.batch, y.lead_in};
}

__global__ void __launch_bounds__(SAC_THREADS)
    values_kernel(const __grid_constant__ sac_plan p, float *base,
                  const __grid_constant__ sac_passes list, int l) {
  float *t = base + blockIdx.z * p.each;
  const int net = list.net[blockIdx.y];
  const sac_layer &y = layer_of(p, net, l);
  const float *theta = t + p.theta[net];
  float *h = values_of(p, t, net, l);
  const operand X = inputs_of(p, t, net, list.x[blockIdx.y], l),
                W = {theta + y.weight, y.lead_in, y.out, y.lead_in};
  for_product<true, true>(X, W, blockIdx.x, sac_tiles(y.lead_out),
                          [&](int row, int column, four c) {
                            if (row >= p.batch || column >= y.lead_out) return;
                            const four b(theta + y.bias + column);
                            for (int i = 0; i < 4; i++) c.x[i] = fmaxf(c.x[i] + b.x[i], 0.0f);
                            c.store(h + (size_t)row * y.lead_out + column);
                          });
}

/* D of layer l - 1 from that of layer l. */
__global__ void __launch_bounds__(SAC_THREADS)
    slopes_kernel(const __grid_constant__ sac_plan p, float *base, int first_net, int l) {
  float *t = base + blockIdx.z * p.each;
  const int net = first_net + blockIdx.y;
  const sac_layer &y = layer_of(p, net, l);
  const float *values = values_of(p, t, net, l - 1);
  float *slopes = slopes_of(p, t, net, l - 1);
  const operand D = {slopes_of(p, t, net, l), y.lead_out, p.batch, y.lead_out},
                W = {t + p.theta[net] + y.weight, y.lead_in, y.lead_in, y.out};
  for_product<true, false>(D, W, blockIdx.x, sac_tiles(y.lead_in),
                           [&](int row, int column, four c) {
                             if (row >= p.batch || column >= y.lead_in) return;
                             const size_t at = (size_t)row * y.lead_in + column;
                             const four h(values + at);
                             for (int i = 0; i < 4; i++) c.x[i] = h.x[i] > 0.0f ? c.x[i] : 0.0f;
                             c.store(slopes + at);
                           });
}

/* Learning */

/* As hvi_net_kernels' adam. */
__device__ static inline float adam(float theta, float *m, float *v, float g, const float *rates) {
  const float first = 0.9f * *m + (1.0f - 0.9f) * g;
  const float second = 0.999f * *v + (1.0f - 0.999f) * (g * g);
  *m = first, *v = second;
  return theta - rates[0] * first / (sqrtf(rates[1] * second) + 1e-8f);
}

/* A parameter's step, and its slow copy's. */
__device__ static inline void learn(const sac_plan &p, float *t, int net, size_t i, float g,
                                    const float *rates) {
  const size_t numbers = net == SAC_ACTOR ? p.actor_numbers : p.critic_numbers;
  float *theta = t + p.theta[net] + i, *slow = t + p.theta[net + 2] + i;
  *theta = adam(*theta, theta + numbers, theta + 2 * numbers, g, rates);
  if (net != SAC_ACTOR) *slow = (*theta - *slow) * p.tau + *slow;
}

/* Gradients of all layers and the step. Blocks of a layer are its tiles, then its biases. */
__global__ void __launch_bounds__(SAC_THREADS)
    learn_kernel(const __grid_constant__ sac_plan p, float *base, int first_net, int rate) {
  float *t = base + blockIdx.z * p.each;
  const int net = first_net + blockIdx.y;
  const float *rates = t + p.rates + rate;
  int l = 0;
  while (l + 1 < p.layers && blockIdx.x >= layer_of(p, net, l + 1).first_block) l++;
  const sac_layer &y = layer_of(p, net, l);
  const int across = sac_tiles(y.lead_in), tiles = across * sac_tiles(y.out);
  const int block = blockIdx.x - y.first_block;
  const operand D = {slopes_of(p, t, net, l), y.lead_out, y.lead_out, p.batch};
  if (block >= tiles)
    return sum_columns<of_layer>(D, (block - tiles) * SAC_TILE, [&](int o, float sum) {
      if (o < y.out) learn(p, t, net, y.bias + o, sum, rates);
    });
  const operand in = inputs_of(p, t, net, p.x, l), H = {in.at, in.lead, y.lead_in, p.batch};
  for_product<false, false>(D, H, block, across, [&](int row, int column, four g) {
    if (row >= y.out) return;
#pragma unroll
    for (int i = 0; i < 4; i++) /* an actor's inputs have actions behind them */
      if (column + i < y.in)
        learn(p, t, net, y.weight + (size_t)row * y.lead_in + column + i, g.x[i], rates);
  });
}

/* Heads: a warp for a row */

__device__ static inline float all_lanes(float x) {
  for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(~0u, x, lane);
  return x;
}

/* sum[i] = term(i, 0, .) + term(i, 1, .) + .. over `length`, each added to the last argument; in all lanes. */
template <int N, class TERM>
__device__ static inline void lane_sums(float (&sum)[N], int length, TERM term) {
#pragma unroll
  for (int i = 0; i < N; i++) sum[i] = 0.0f;
#pragma unroll 4
  for (int k = threadIdx.x % 32; k < length; k += 32)
#pragma unroll
    for (int i = 0; i < N; i++) sum[i] = term(i, k, sum[i]);
#pragma unroll
  for (int i = 0; i < N; i++) sum[i] = all_lanes(sum[i]);
}

template <int N> __device__ static inline float one_of(const float (&x)[N], int which) {
  float y = x[0];
#pragma unroll
  for (int i = 1; i < N; i++) y = i == which ? x[i] : y;
  return y;
}

/* The step of log alpha, by the last block of a trainer to arrive, whose rows are summed in order. */
__device__ static inline void step_alpha(const sac_plan &p, float *t, const float *log_prob,
                                         const float *rates) {
  __shared__ bool last;
  unsigned *arrived = (unsigned *)(t + p.arrived);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  if (!last || threadIdx.x >= 32) return;
  double sum = 0.0;
  for (int i = threadIdx.x; i < p.batch; i += 32)
    sum += (double)(__ldcg(log_prob + i) + p.target_entropy);
  sum = warp_sum(sum);
  if (threadIdx.x > 0) return;
  float *a = t + p.temperature;
  *arrived = 0;
  a[0] = adam(a[0], a + 1, a + 2, (float)(-(double)a[3] * sum / p.batch), rates);
  a[3] = (float)exp((double)a[0]);
}

/* The actor's head on its values: actions and their log-probabilities (rl/policy.c). */
__global__ void __launch_bounds__(32 * SAC_WARPS)
    sample_kernel(const __grid_constant__ sac_plan p, float *base,
                  const __grid_constant__ sac_draws list) {
  float *t = base + blockIdx.z * p.each;
  const sac_draw d = list.of[blockIdx.y];
  const sac_layer &y = p.actor[p.layers - 1];
  const float *W = t + p.theta[SAC_ACTOR] + y.weight, *b = t + p.theta[SAC_ACTOR] + y.bias;
  const int row = blockIdx.x * SAC_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float *noise = t + p.noise + (size_t)d.noise * p.batch * p.act + (size_t)row * p.act;
  float *log_prob = t + (d.alpha_rate ? p.log_prob_alpha : p.log_prob), sum = 0.0f;
  if (row < p.batch) {
    const float *h = values_of(p, t, SAC_ACTOR, p.layers - 2) + (size_t)row * y.lead_in;
    for (int first = 0; first < p.act; first += 4) {
      float sums[8]; /* four means, and what their spreads come from */
      lane_sums(sums, y.in, [&](int i, int k, float s) {
        const int o = first + i % 4;
        return o < p.act ? fmaf(W[(size_t)(o + i / 4 * p.act) * y.lead_in + k], h[k], s) : s;
      });
      const int j = first + lane;
      if (lane >= 4 || j >= p.act) continue;
      const float e = noise[j], s = tanhf(one_of(sums, lane + 4) + b[p.act + j]);
      const float log_std = -5.0f + 3.5f * (s + 1.0f);
      const float u = tanhf(one_of(sums, lane) + b[j] + expf(log_std) * e);
      const float density = p.scale * (1.0f - u * u) + 1e-6f;
      sum += -0.5f * e * e - log_std - 0.918938533f - logf(density);
      if (d.alpha_rate) continue;
      t[d.x + (size_t)row * p.x_row + p.obs + j] = p.scale * u + p.shift;
      t[p.squashed + (size_t)row * p.act + j] = u;
      t[p.spread + (size_t)row * p.act + j] = s;
    }
    sum = all_lanes(sum);
    if (lane == 0) log_prob[row] = sum;
  }
  if (d.alpha_rate) step_alpha(p, t, log_prob, t + p.rates + d.alpha_rate);
}

/* The critics' heads. `fit`: y by the slow ones, and D of (q - y)^2 / n; else D of -q / n of the smaller. */
__global__ void __launch_bounds__(32 * SAC_WARPS)
    judge_kernel(const __grid_constant__ sac_plan p, float *base, bool fit) {
  float *t = base + blockIdx.z * p.each;
  const int row = blockIdx.x * SAC_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= p.batch) return;
  const sac_layer &y = p.critic[p.layers - 1];
  const size_t at = (size_t)row * y.lead_in;
  float q[4], d[2]; /* of the critics, then of the slow ones */
  lane_sums(q, y.in, [&](int i, int k, float s) {
    const int net = SAC_CRITIC + i;
    const float *h = values_of(p, t, net, p.layers - 2) + at;
    return i < 2 || fit ? fmaf(t[p.theta[net] + y.weight + k], h[k], s) : s;
  });
  for (int i = 0; i < 4; i++) q[i] += t[p.theta[SAC_CRITIC + i] + y.bias];
  if (fit) {
    const float soft = (q[2] <= q[3] ? q[2] : q[3]) - t[p.temperature + 3] * t[p.log_prob + row];
    const float target = t[p.reward + row] + p.gamma * t[p.future + row] * soft;
    for (int c = 0; c < 2; c++) d[c] = 2.0f / p.batch * (q[c] - target);
    if (lane == 0) t[p.q + row] = q[0], t[p.q + p.batch + row] = q[1], t[p.y + row] = target;
  } else {
    const int own = q[0] <= q[1] ? 0 : 1;
    d[own] = -1.0f / p.batch, d[1 - own] = 0.0f;
    const float loss = t[p.temperature + 3] * t[p.log_prob + row] - q[own];
    if (lane == 0) t[p.loss + row] = loss, t[p.own + row] = (float)own;
  }
  for (int c = 0; c < 2; c++) {
    const float *W = t + p.theta[SAC_CRITIC + c] + y.weight;
    const float *h = values_of(p, t, SAC_CRITIC + c, p.layers - 2) + at;
    float *D = slopes_of(p, t, SAC_CRITIC + c, p.layers - 2) + at;
    for (int k = lane; k < y.lead_in; k += 32) D[k] = h[k] > 0.0f ? d[c] * W[k] : 0.0f;
    if (lane == 0) slopes_of(p, t, SAC_CRITIC + c, p.layers - 1)[(size_t)row * y.lead_out] = d[c];
  }
}

/* d loss/d head of the actor for one action, by d q/d action of the smaller critic. */
__device__ static inline void pull_squash(const sac_plan &p, float *t, int row, int j, float pull,
                                          const float *noise, float *head) {
  const float u = t[p.squashed + (size_t)row * p.act + j], weight = t[p.temperature + 3] / p.batch;
  const float s = t[p.spread + (size_t)row * p.act + j];
  const float density = p.scale * (1.0f - u * u) + 1e-6f;
  const float dy = p.scale * pull + 2.0f * weight * p.scale * u / density;
  const float dm = (1.0f - u * u) * dy;
  head[j] = dm;
  head[p.act + j] =
      3.5f * (1.0f - s * s) *
      (expf(-5.0f + 3.5f * (s + 1.0f)) * noise[(size_t)row * p.act + j] * dm - weight);
}

/* From the critics' D_1 to the action, through the squash to the actor's head, and on to its D_L. */
__global__ void __launch_bounds__(32 * SAC_WARPS)
    pull_kernel(const __grid_constant__ sac_plan p, float *base, int noise) {
  float *t = base + blockIdx.z * p.each;
  const int row = blockIdx.x * SAC_WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= p.batch) return;
  const int net = SAC_CRITIC + (int)t[p.own + row];
  const sac_layer &c = p.critic[0], &y = p.actor[p.layers - 1];
  const float *D = slopes_of(p, t, net, 0) + (size_t)row * c.lead_out;
  const float *W = t + p.theta[net] + c.weight + p.obs;
  float *head = slopes_of(p, t, SAC_ACTOR, p.layers - 1) + (size_t)row * y.lead_out;
  for (int first = 0; first < p.act; first += 8) {
    float sum[8];
    lane_sums(sum, c.out, [&](int i, int k, float s) {
      return first + i < p.act ? fmaf(W[(size_t)k * c.lead_in + first + i], D[k], s) : s;
    });
    if (lane < 8 && first + lane < p.act)
      pull_squash(p, t, row, first + lane, one_of(sum, lane),
                  t + p.noise + (size_t)noise * p.batch * p.act, head);
  }
  __syncwarp();
  const float *V = t + p.theta[SAC_ACTOR] + y.weight;
  const size_t at = (size_t)row * y.lead_in;
  const float *h = values_of(p, t, SAC_ACTOR, p.layers - 2) + at;
  float *to = slopes_of(p, t, SAC_ACTOR, p.layers - 2) + at;
  for (int k = lane; k < y.lead_in; k += 32) {
    float sum = 0.0f;
#pragma unroll 4
    for (int o = 0; o < 2 * p.act; o++) sum = fmaf(head[o], V[(size_t)o * y.lead_in + k], sum);
    to[k] = h[k] > 0.0f ? sum : 0.0f;
  }
}

/* Launches */

static void put_values(const sac_launch *l, const sac_passes &list, int count) {
  const sac_plan &p = *l->plan;
  for (int i = 0; i + 1 < p.layers; i++) {
    const int tiles = sac_tiles(p.batch) * sac_tiles(p.critic[i].lead_out);
    values_kernel<<<dim3(tiles, count, l->count), SAC_THREADS, SAC_SHARED, l->stream>>>(p, l->base,
                                                                                        list, i);
  }
}

static void put_slopes(const sac_launch *l, int net, int count) {
  const sac_plan &p = *l->plan;
  for (int i = p.layers - 2; i > 0; i--) {
    const int tiles = sac_tiles(p.batch) * sac_tiles(p.critic[i].lead_in);
    slopes_kernel<<<dim3(tiles, count, l->count), SAC_THREADS, SAC_SHARED, l->stream>>>(p, l->base,
                                                                                        net, i);
  }
}

static void put_learning(const sac_launch *l, int net, int count, int rate) {
  const sac_plan &p = *l->plan;
  const int blocks = net == SAC_ACTOR ? p.actor_blocks : p.critic_blocks;
  learn_kernel<<<dim3(blocks, count, l->count), SAC_THREADS, SAC_SHARED, l->stream>>>(p, l->base,
                                                                                      net, rate);
}

static dim3 rows_of(const sac_launch *l, int count) {
  return dim3((l->plan->batch + SAC_WARPS - 1) / SAC_WARPS, count, l->count);
}

static void put_samples(const sac_launch *l, const sac_draws &list, int count) {
  sample_kernel<<<rows_of(l, count), 32 * SAC_WARPS, 0, l->stream>>>(*l->plan, l->base, list);
}

static void put_critics(const sac_launch *l, bool actor_next) {
  const sac_plan &p = *l->plan;
  const int C = SAC_CRITIC, S = SAC_SLOW, A = SAC_ACTOR;
  put_values(l, sac_passes{{A, C, C + 1}, {p.next, p.x, p.x}}, 3);
  put_samples(l, sac_draws{{{0, 0, p.next}}}, 1);
  put_values(l, sac_passes{{S, S + 1, A}, {p.next, p.next, p.x}}, actor_next ? 3 : 2);
  judge_kernel<<<rows_of(l, 1), 32 * SAC_WARPS, 0, l->stream>>>(p, l->base, true);
  put_slopes(l, C, 2);
  put_learning(l, C, 2, 0);
}

/* From the critics' values at the sampled actions to the moved actor. */
static void put_actor(const sac_launch *l, int noise, int rate) {
  const sac_plan &p = *l->plan;
  const int C = SAC_CRITIC;
  put_values(l, sac_passes{{C, C + 1}, {p.x, p.x}}, 2);
  judge_kernel<<<rows_of(l, 1), 32 * SAC_WARPS, 0, l->stream>>>(p, l->base, false);
  put_slopes(l, C, 2);
  pull_kernel<<<rows_of(l, 1), 32 * SAC_WARPS, 0, l->stream>>>(p, l->base, noise);
  put_slopes(l, SAC_ACTOR, 1);
  put_learning(l, SAC_ACTOR, 1, rate);
}

void hvi_gpu_sac_put(const sac_launch *l, bool actor_too) {
  const sac_plan &p = *l->plan;
  put_critics(l, actor_too);
  if (actor_too) put_samples(l, sac_draws{{{1, 0, p.x}}}, 1);
  for (int j = 0, noise = 1; actor_too && j < p.delay; j++, noise += 1 + p.automatic) {
    const bool more = j + 1 < p.delay;
    const sac_draw alpha = {noise + 1, sac_rate(j) + 2, 0},
                   next = {noise + 1 + p.automatic, 0, p.x};
    put_actor(l, noise, sac_rate(j));
    if (p.automatic || more) put_values(l, sac_passes{{SAC_ACTOR}, {p.x}}, 1);
    if (p.automatic) put_samples(l, sac_draws{{alpha, next}}, more ? 2 : 1);
    if (!p.automatic && more) put_samples(l, sac_draws{{next}}, 1);
  }
}

cudaError_t hvi_gpu_sac_allow_memory(void) {
  return allow_bytes(SAC_SHARED, values_kernel, slopes_kernel, learn_kernel);
}
