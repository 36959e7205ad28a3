/*
 * Trainers on the device (gpu/sac.h), seen from the host: their memory, copies, and graphs of updates.
 *
 * A graph is a copy of all trainers' inputs, the kernels (sac.cu), and a copy of their results. There is
 * one for each kind of update, captured when it is first asked for. Losses are sums over rows, which the
 * host takes in double precision as the CPU's trainer does.
 */
#include "gpu/host.cuh"
#include "gpu/sac.cuh"

#include <math.h>
#include <string.h>
#include <vector>

struct device_sac : hvi_device_sac {
  hvi_device *device;
  double actor_lr, critic_lr, alpha_lr;
  float alpha; /* fixed, or 0 */
  sac_plan plan;
  float *memory;           /* [count][each] on the device */
  float *inputs, *results; /* pinned, [count] one after the other */
  size_t results_each;
  cudaGraphExec_t graphs[2]; /* of critics alone, and with the actor */
  std::vector<hvi_device_trainer> trainers;
};

static device_sac *own(hvi_device_sac *s) { return static_cast<device_sac *>(s); }

/* Layers of a network; the number of its parameters. */
static size_t plan_layers(sac_layer *y, const hvi_device_sac_shape *s, int in, int out,
                          int *blocks) {
  size_t at = 0, before = 0;
  *blocks = 0;
  for (size_t l = 0; l <= s->hidden_count; l++, y++) {
    y->in = l == 0 ? in : (int)s->hidden[l - 1];
    y->out = l < s->hidden_count ? (int)s->hidden[l] : out;
    y->lead_in = (int)hvi_device_padded(y->in), y->lead_out = (int)hvi_device_padded(y->out);
    y->weight = at, y->bias = at + (size_t)y->out * y->lead_in;
    y->before = before;
    y->first_block = (unsigned)*blocks;
    at = y->bias + y->lead_out;
    before += y->lead_out;
    *blocks += sac_tiles(y->out) * (sac_tiles(y->lead_in) + 1);
  }
  return at;
}

/* The next piece of so many floats. */
static size_t take(size_t *used, size_t floats) {
  const size_t at = *used;
  *used += hvi_gpu_padded(floats, 32);
  return at;
}

static void place_inputs(sac_plan *p, size_t *used) {
  const size_t n = p->batch, rates = sac_rate(p->delay);
  p->x = take(used, n * p->x_row), p->next = take(used, n * p->x_row);
  p->reward = take(used, n), p->future = take(used, n), p->rates = take(used, rates);
  p->noise = take(used, (1 + 2 * p->delay) * n * p->act);
  p->inputs_end = *used;
}

static void place_networks(sac_plan *p, size_t *used) {
  const size_t n = p->batch, last = p->layers - 1;
  p->theta[SAC_ACTOR] = take(used, 3 * p->actor_numbers);
  for (int i = SAC_CRITIC; i < SAC_NETS; i++)
    p->theta[i] = take(used, (i < SAC_SLOW ? 3 : 1) * p->critic_numbers);
  for (int i = 0; i < SAC_NETS; i++) {
    const sac_layer *y = i == SAC_ACTOR ? p->actor : p->critic;
    p->values[i] = take(used, n * y[last].before);
    if (i < SAC_SLOW) p->slopes[i] = take(used, n * (y[last].before + y[last].lead_out));
  }
}

static sac_plan plan_of(const hvi_device_sac_shape *s) {
  sac_plan p = {};
  const size_t n = s->batch;
  size_t used = 0;
  p.layers = (int)s->hidden_count + 1, p.batch = (int)n, p.delay = (int)s->delay;
  p.obs = (int)s->obs, p.act = (int)s->act, p.x_row = (int)hvi_gpu_padded(s->obs + s->act, 16);
  p.scale = s->scale, p.shift = s->shift, p.gamma = s->gamma, p.tau = s->tau;
  p.automatic = s->alpha == 0.0f, p.target_entropy = s->target_entropy;
  p.actor_numbers = plan_layers(p.actor, s, p.obs, 2 * p.act, &p.actor_blocks);
  p.critic_numbers = plan_layers(p.critic, s, p.obs + p.act, 1, &p.critic_blocks);
  place_inputs(&p, &used);
  p.q = take(&used, 2 * n), p.y = take(&used, n), p.loss = take(&used, n);
  p.log_prob = take(&used, n), p.temperature = take(&used, 4);
  place_networks(&p, &used);
  p.own = take(&used, n), p.log_prob_alpha = take(&used, n), p.arrived = take(&used, 1);
  p.squashed = take(&used, n * p.act), p.spread = take(&used, n * p.act);
  p.each = used;
  return p;
}

static void free_sac(hvi_device_sac *sac) {
  device_sac *s = own(sac);
  for (cudaGraphExec_t g : s->graphs)
    if (g) cudaGraphExecDestroy(g);
  cudaFree(s->memory);
  cudaFreeHost(s->inputs);
  cudaFreeHost(s->results);
  delete s;
}

static hvi_status allocate(device_sac *s, hvi_error *err) {
  const sac_plan *p = &s->plan;
  const size_t bytes = s->count * p->each * sizeof(float);
  const size_t in = s->count * p->inputs_end * sizeof(float);
  s->results_each = p->theta[SAC_ACTOR] + p->actor_numbers - p->q;
  GPU_TRY(hvi_gpu_sac_allow_memory(), "its kernels");
  GPU_TRY(cudaMalloc(&s->memory, bytes), "a trainer");
  GPU_TRY(cudaMemsetAsync(s->memory, 0, bytes, s->device->stream), "a trainer");
  GPU_TRY(cudaMallocHost(&s->inputs, in), "a trainer's batch");
  GPU_TRY(cudaMallocHost(&s->results, s->count * s->results_each * sizeof(float)), "results");
  memset(s->inputs, 0, in);
  s->trainers.resize(s->count);
  s->of = s->trainers.data();
  for (size_t i = 0; i < s->count; i++) {
    hvi_device_trainer *t = &s->of[i];
    float *at = s->inputs + i * p->inputs_end;
    t->x_row = p->x_row, t->x = at + p->x, t->next = at + p->next;
    t->reward = at + p->reward, t->future = at + p->future, t->noise = at + p->noise;
  }
  return HVI_OK;
}

static hvi_status make_sac(hvi_device_sac **sac, hvi_device *d, const hvi_device_sac_shape *shape,
                           size_t count, hvi_error *err) {
  device_sac *s = new device_sac();
  s->functions = &hvi_gpu_sac_functions, s->count = count;
  s->device = d, s->plan = plan_of(shape);
  s->actor_lr = shape->actor_lr, s->critic_lr = shape->critic_lr, s->alpha_lr = shape->alpha_lr;
  s->alpha = shape->alpha;
  const hvi_status status = allocate(s, err);
  if (status) free_sac(s);
  *sac = status ? NULL : s;
  return status;
}

/* A network between the host's rows and those of the device, which are filled up. */
static void copy_net(const sac_plan *p, bool actor, float *host, float *device, bool put) {
  const sac_layer *y = actor ? p->actor : p->critic;
  for (int l = 0; l < p->layers; l++, y++)
    for (int o = 0; o <= y->out; o++) { /* the last row is that of the biases */
      const int length = o < y->out ? y->in : y->out;
      float *row = device + y->weight + (size_t)o * y->lead_in;
      memcpy(put ? row : host, put ? host : row, length * sizeof(float));
      host += length;
    }
}

/* All networks of a trainer in one copy; `there` is the device's. */
static hvi_status move_nets(hvi_device_sac *sac, size_t i, bool put, hvi_error *err) {
  const device_sac *s = own(sac);
  const sac_plan *p = &s->plan;
  const hvi_device_trainer *t = &s->of[i];
  const size_t first = p->temperature, end = p->theta[SAC_NETS - 1] + p->critic_numbers;
  std::vector<float> here(end - first);
  float *there = s->memory + i * p->each + first, *at = here.data() - first;
  const size_t bytes = here.size() * sizeof(float);
  const cudaStream_t stream = s->device->stream; /* which waits for no other */
  if (!put)
    GPU_TRY(cudaMemcpyAsync(here.data(), there, bytes, cudaMemcpyDefault, stream), "a trainer");
  GPU_TRY(cudaStreamSynchronize(stream), "a trainer");
  for (size_t k = 0; k < 4; k++) {
    if (k < 3) copy_net(p, true, t->actor[k], at + p->theta[SAC_ACTOR] + k * p->actor_numbers, put);
    for (size_t c = 0; c < 2; c++) {
      const size_t from =
          k < 3 ? p->theta[SAC_CRITIC + c] + k * p->critic_numbers : p->theta[SAC_SLOW + c];
      copy_net(p, false, t->critics[c][k], at + from, put);
    }
  }
  if (!put) return HVI_OK;
  memcpy(at + p->temperature, t->temperature, 3 * sizeof(float));
  at[p->temperature + 3] = s->alpha > 0.0f ? s->alpha : (float)exp((double)t->temperature[0]);
  GPU_TRY(cudaMemcpyAsync(there, here.data(), bytes, cudaMemcpyDefault, stream), "a trainer");
  return hvi_gpu_check(cudaStreamSynchronize(stream), "a trainer", err);
}

/* Two numbers for step k of Adam, from one on: those of hvi_adam_step. */
static void put_rates(float *to, double lr, size_t k) {
  to[0] = (float)(lr / (1.0 - pow(0.9, (double)k)));
  to[1] = (float)(1.0 / (1.0 - pow(0.999, (double)k)));
}

static void fill_rates(device_sac *s, size_t i, int actors) {
  hvi_device_trainer *t = &s->of[i];
  float *rates = s->inputs + i * s->plan.inputs_end + s->plan.rates;
  for (size_t c = 0; c < 2; c++) put_rates(rates, s->critic_lr, ++t->critic_steps[c]);
  for (int j = 0; j < actors; j++) {
    put_rates(rates + sac_rate(j), s->actor_lr, ++*t->actor_steps);
    if (s->plan.automatic) put_rates(rates + sac_rate(j) + 2, s->alpha_lr, ++*t->alpha_steps);
  }
}

static cudaError_t put_all(device_sac *s, bool actor_too) {
  const sac_plan *p = &s->plan;
  const size_t each = p->each * sizeof(float), in = p->inputs_end * sizeof(float);
  const size_t noise =
      (size_t)p->batch * p->act * (actor_too ? 1 + p->delay * (1 + p->automatic) : 1);
  const size_t out = s->results_each * sizeof(float),
               alone = (p->theta[SAC_ACTOR] - p->q) * sizeof(float);
  const sac_launch l = {s->device->stream, p, s->memory, (int)s->count};
  cudaError_t e =
      cudaMemcpy2DAsync(s->memory, each, s->inputs, in, (p->noise + noise) * sizeof(float),
                        s->count, cudaMemcpyHostToDevice, l.stream);
  if (e != cudaSuccess) return e;
  hvi_gpu_sac_put(&l, actor_too);
  return cudaMemcpy2DAsync(s->results, out, s->memory + p->q, each, actor_too ? out : alone,
                           s->count, cudaMemcpyDeviceToHost, l.stream);
}

/* Sums over rows as the CPU's trainer takes them. */
static void take_results(device_sac *s, size_t i, bool actor_too) {
  const sac_plan *p = &s->plan;
  float *r = s->results + i * s->results_each - p->q;
  const hvi_device_trainer *t = &s->of[i];
  double squares = 0.0, q = 0.0, loss = 0.0, log_prob = 0.0;
  for (int k = 0; k < p->batch; k++) {
    const double e = (double)(r[p->q + k] - r[p->y + k]);
    const double f = (double)(r[p->q + p->batch + k] - r[p->y + k]);
    squares += e * e + f * f, q += (double)r[p->q + k];
    loss += (double)r[p->loss + k], log_prob += (double)r[p->log_prob + k];
  }
  t->numbers[0] = 0.5 * squares / p->batch, t->numbers[3] = q / p->batch;
  if (!actor_too) return;
  t->numbers[1] = loss / p->batch, t->numbers[2] = -log_prob / p->batch;
  memcpy(t->temperature, r + p->temperature, 3 * sizeof(float));
  copy_net(p, true, t->actor[0], r + p->theta[SAC_ACTOR], false);
}

static hvi_status update(hvi_device_sac *sac, bool actor_too, hvi_error *err) {
  device_sac *s = own(sac);
  cudaGraphExec_t *graph = &s->graphs[actor_too];
  const auto put = [&] { return put_all(s, actor_too); };
  if (!*graph) HVI_TRY(hvi_gpu_capture(s->device->stream, put, graph, err));
  for (size_t i = 0; i < s->count; i++) fill_rates(s, i, actor_too ? s->plan.delay : 0);
  GPU_TRY(cudaGraphLaunch(*graph, s->device->stream), "an update");
  GPU_TRY(cudaStreamSynchronize(s->device->stream), "an update");
  for (size_t i = 0; i < s->count; i++) take_results(s, i, actor_too);
  return HVI_OK;
}

const hvi_device_sac_functions hvi_gpu_sac_functions = {make_sac, free_sac, move_nets, update};
