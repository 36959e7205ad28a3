/*
 * Trainers on the device (gpu/sac.h), seen from the host: their memory, copies, and graphs of updates.
 *
 * A graph is a copy of all trainers' inputs, the kernels (sac.cu), and a copy of their results. There is
 * one for each kind of update, captured when it is first asked for. Losses are sums over rows, which the
 * host takes in double precision as the CPU's trainer does.
 */
#include "gpu/host.cuh"
#include "gpu/sac.cuh"

#include <algorithm>
#include <math.h>
#include <string.h>
#include <vector>

struct hvi_device_sac {
  hvi_device *device;
  hvi_device_sac_shape shape;
  sac_plan plan;
  int count;
  bool early;
  float *memory;           /* [count][each] on the device */
  float *inputs, *results; /* pinned, [count] one after the other */
  size_t results_each;
  cudaGraphExec_t graphs[2][HVI_DEVICE_SAC_ACTORS + 1];
  std::vector<hvi_device_trainer> trainers;
};

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
  const size_t n = p->batch, rates = sac_rate(HVI_DEVICE_SAC_ACTORS);
  p->x = take(used, n * p->x_row), p->next = take(used, n * p->x_row);
  p->reward = take(used, n), p->future = take(used, n), p->rates = take(used, rates);
  p->noise = take(used, (1 + 2 * HVI_DEVICE_SAC_ACTORS) * n * p->act);
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
  p.layers = (int)s->hidden_count + 1, p.batch = (int)n;
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

static void free_sac(hvi_device_sac *s) {
  if (!s) return;
  for (auto &kind : s->graphs)
    for (cudaGraphExec_t g : kind)
      if (g) cudaGraphExecDestroy(g);
  cudaFree(s->memory);
  cudaFreeHost(s->inputs);
  cudaFreeHost(s->results);
  delete s;
}

static hvi_status allocate(hvi_device_sac *s, hvi_error *err) {
  const sac_plan *p = &s->plan;
  const size_t bytes = s->count * p->each * sizeof(float);
  const size_t in = s->count * p->inputs_end * sizeof(float);
  s->results_each = p->theta[SAC_ACTOR] + p->actor_numbers - p->q;
  GPU_TRY(cudaMalloc(&s->memory, bytes), "a trainer");
  GPU_TRY(cudaMemset(s->memory, 0, bytes), "a trainer");
  GPU_TRY(cudaMallocHost(&s->inputs, in), "a trainer's batch");
  GPU_TRY(cudaMallocHost(&s->results, s->count * s->results_each * sizeof(float)), "results");
  memset(s->inputs, 0, in);
  s->trainers.resize(s->count);
  for (int i = 0; i < s->count; i++) {
    hvi_device_trainer *t = &s->trainers[i];
    float *at = s->inputs + i * p->inputs_end;
    t->x_row = p->x_row, t->x = at + p->x, t->next = at + p->next;
    t->reward = at + p->reward, t->future = at + p->future, t->noise = at + p->noise;
  }
  return HVI_OK;
}

static hvi_status make_sac(hvi_device_sac **sac, hvi_device *d, const hvi_device_sac_shape *shape,
                           size_t count, hvi_error *err) {
  *sac = NULL;
  hvi_device_sac *s = new hvi_device_sac();
  s->device = d, s->shape = *shape, s->plan = plan_of(shape), s->count = (int)count;
  s->early = d->major == 9; /* only code made for it waits inside its kernels */
  hvi_status status = hvi_gpu_check(hvi_gpu_sac_allow_memory(), "its kernels", err);
  if (!status) status = allocate(s, err);
  if (status)
    free_sac(s);
  else
    *sac = s;
  return status;
}

static hvi_device_trainer *trainers(hvi_device_sac *s) { return s->trainers.data(); }

/* A network from the host's array to the device's, whose rows are filled up, or back. */
static hvi_status move_net(const hvi_device_sac *s, float *there, float *here, bool actor, bool put,
                           hvi_error *err) {
  const sac_layer *y = actor ? s->plan.actor : s->plan.critic;
  for (int l = 0; l < s->plan.layers; l++, y++) {
    const size_t row = y->in * sizeof(float), lead = y->lead_in * sizeof(float);
    const size_t biases = y->out * sizeof(float);
    float *W = there + y->weight, *b = there + y->bias, *bias = here + (size_t)y->out * y->in;
    GPU_TRY(cudaMemcpy2D(put ? W : here, put ? lead : row, put ? here : W, put ? row : lead, row,
                         y->out, cudaMemcpyDefault),
            "a network");
    GPU_TRY(cudaMemcpy(put ? b : bias, put ? bias : b, biases, cudaMemcpyDefault), "a network");
    here = bias + y->out;
  }
  return HVI_OK;
}

static hvi_status move_all(hvi_device_sac *s, size_t i, bool put, hvi_error *err) {
  const sac_plan *p = &s->plan;
  const hvi_device_trainer *t = &s->trainers[i];
  float *base = s->memory + i * p->each;
  for (size_t k = 0; k < 3; k++) {
    HVI_TRY(move_net(s, base + p->theta[SAC_ACTOR] + k * p->actor_numbers, t->host.actor[k], true,
                     put, err));
    for (size_t c = 0; c < 2; c++)
      HVI_TRY(move_net(s, base + p->theta[SAC_CRITIC + c] + k * p->critic_numbers,
                       t->host.critics[c][k], false, put, err));
  }
  for (size_t c = 0; c < 2; c++)
    HVI_TRY(move_net(s, base + p->theta[SAC_SLOW + c], t->host.critics[c][3], false, put, err));
  return HVI_OK;
}

static hvi_status put_sac(hvi_device_sac *s, size_t i, hvi_error *err) {
  const float *a = s->trainers[i].host.temperature;
  const float alpha = s->shape.alpha > 0.0f ? s->shape.alpha : (float)exp((double)a[0]);
  const float four[4] = {a[0], a[1], a[2], alpha};
  GPU_TRY(cudaMemcpy(s->memory + i * s->plan.each + s->plan.temperature, four, sizeof four,
                     cudaMemcpyDefault),
          "a trainer");
  return move_all(s, i, true, err);
}

static hvi_status get_sac(hvi_device_sac *s, size_t i, hvi_error *err) {
  return move_all(s, i, false, err);
}

/* Two numbers for step k of Adam, from one on: those of hvi_adam_step. */
static void put_rates(float *to, double lr, size_t k) {
  to[0] = (float)(lr / (1.0 - pow(0.9, (double)k)));
  to[1] = (float)(1.0 / (1.0 - pow(0.999, (double)k)));
}

static void fill_rates(hvi_device_sac *s, size_t i, bool critics, size_t actors) {
  hvi_device_trainer *t = &s->trainers[i];
  float *rates = s->inputs + i * s->plan.inputs_end + s->plan.rates;
  for (size_t c = 0; critics && c < 2; c++)
    put_rates(rates, s->shape.critic_lr, ++t->host.critic_steps[c]);
  for (size_t j = 0; j < actors; j++) {
    put_rates(rates + sac_rate((int)j), s->shape.actor_lr, ++*t->host.actor_steps);
    if (s->plan.automatic)
      put_rates(rates + sac_rate((int)j) + 2, s->shape.alpha_lr, ++*t->host.alpha_steps);
  }
}

static cudaError_t put_all(hvi_device_sac *s, bool critics, int actors) {
  const sac_plan *p = &s->plan;
  const size_t each = p->each * sizeof(float), in = p->inputs_end * sizeof(float);
  const size_t blocks = (critics ? 1 : 0) + actors * (1 + p->automatic);
  const size_t used = (p->noise + blocks * p->batch * p->act) * sizeof(float);
  const size_t out = s->results_each * sizeof(float);
  const size_t wanted = actors ? out : (p->theta[SAC_ACTOR] - p->q) * sizeof(float);
  sac_launch l = {s->device->stream, p, s->memory, s->count, s->early, false, cudaSuccess};
  cudaError_t e = cudaMemcpy2DAsync(s->memory, each, s->inputs, in, used, s->count,
                                    cudaMemcpyHostToDevice, l.stream);
  if (e == cudaSuccess) e = hvi_gpu_sac_put(&l, critics, actors);
  if (e == cudaSuccess)
    e = cudaMemcpy2DAsync(s->results, out, s->memory + p->q, each, wanted, s->count,
                          cudaMemcpyDeviceToHost, l.stream);
  return e;
}

static cudaError_t capture(hvi_device_sac *s, cudaGraphExec_t *to, bool critics, int actors) {
  cudaGraph_t graph = NULL;
  cudaError_t e = cudaStreamBeginCapture(s->device->stream, cudaStreamCaptureModeThreadLocal);
  if (e != cudaSuccess) return e;
  const cudaError_t launched = put_all(s, critics, actors);
  e = cudaStreamEndCapture(s->device->stream, &graph);
  if (launched != cudaSuccess) e = launched;
  if (e == cudaSuccess) e = cudaGraphInstantiate(to, graph, 0);
  if (graph) cudaGraphDestroy(graph);
  return e;
}

/* The graph of a kind of update. Where launches that overlap cannot be captured, without. */
static hvi_status graph_of(hvi_device_sac *s, cudaGraphExec_t *graph, bool critics, size_t actors,
                           hvi_error *err) {
  cudaGraphExec_t *g = &s->graphs[critics][actors];
  if (!*g && s->early && capture(s, g, critics, (int)actors) != cudaSuccess) {
    cudaGetLastError();
    s->early = false;
  }
  if (!*g) GPU_TRY(capture(s, g, critics, (int)actors), "a graph");
  *graph = *g;
  return HVI_OK;
}

/* The actor, from rows that are filled up to the host's. */
static void take_actor(const hvi_device_sac *s, float *to, const float *from) {
  for (int l = 0; l < s->plan.layers; l++) {
    const sac_layer *y = &s->plan.actor[l];
    for (int o = 0; o < y->out; o++, to += y->in)
      memcpy(to, from + y->weight + (size_t)o * y->lead_in, y->in * sizeof *to);
    memcpy(to, from + y->bias, y->out * sizeof *to);
    to += y->out;
  }
}

static void take_results(hvi_device_sac *s, size_t i, bool critics, size_t actors) {
  const sac_plan *p = &s->plan;
  const float *r = s->results + i * s->results_each - p->q;
  hvi_device_trainer *t = &s->trainers[i];
  const float *q[2] = {r + p->q, r + p->q + p->batch};
  const double n = p->batch;
  double loss = 0.0, sum = 0.0, log_prob = 0.0;
  for (int c = 0; critics && c < 2; c++)
    for (int k = 0; k < p->batch; k++) {
      const double error = (double)(q[c][k] - r[p->y + k]);
      loss += error * error;
      sum += c == 0 ? (double)q[c][k] : 0.0;
    }
  if (critics) t->critic_loss = 0.5 * loss / n, t->q_mean = sum / n;
  if (actors == 0) return;
  memcpy(t->host.temperature, r + p->temperature, 3 * sizeof(float));
  take_actor(s, t->host.actor[0], r + p->theta[SAC_ACTOR]);
  loss = 0.0;
  for (int k = 0; k < p->batch; k++) {
    loss += (double)r[p->loss + k];
    log_prob += (double)r[p->log_prob + k];
  }
  t->actor_loss = loss / n;
  t->entropy = -log_prob / n;
}

static hvi_status update(hvi_device_sac *s, bool critics, size_t actors, hvi_error *err) {
  cudaGraphExec_t graph = NULL;
  HVI_TRY(graph_of(s, &graph, critics, actors, err));
  for (int i = 0; i < s->count; i++) fill_rates(s, i, critics, actors);
  GPU_TRY(cudaGraphLaunch(graph, s->device->stream), "an update");
  GPU_TRY(cudaStreamSynchronize(s->device->stream), "an update");
  for (int i = 0; i < s->count; i++) take_results(s, i, critics, actors);
  return HVI_OK;
}

/* The median of repeated replays. */
static hvi_status measure(hvi_device_sac *s, size_t actors, double *us, hvi_error *err) {
  enum { REPLAYS = 50, TIMES = 7 };
  hvi_device *d = s->device;
  double spent[TIMES];
  cudaGraphExec_t graph = NULL;
  HVI_TRY(update(s, true, actors, err));
  HVI_TRY(graph_of(s, &graph, true, actors, err));
  for (double &time : spent) {
    float ms = 0.0f;
    GPU_TRY(cudaEventRecord(d->begun, d->stream), "a clock");
    for (int i = 0; i < REPLAYS; i++) GPU_TRY(cudaGraphLaunch(graph, d->stream), "an update");
    GPU_TRY(cudaEventRecord(d->ended, d->stream), "a clock");
    GPU_TRY(cudaStreamSynchronize(d->stream), "an update");
    GPU_TRY(cudaEventElapsedTime(&ms, d->begun, d->ended), "a clock");
    time = 1e3 * ms / REPLAYS;
  }
  std::sort(spent, spent + TIMES);
  *us = spent[TIMES / 2];
  return HVI_OK;
}

const hvi_device_sac_functions hvi_gpu_sac_functions = {make_sac, free_sac, trainers, put_sac,
                                                        get_sac,  update,   measure};
