/*
 * Module `gpu`: devices, networks in their memory, and jobs (gpu/device.h).
 *
 * A run writes one table of all jobs, and launches kernels over that table: they bring what new jobs have
 * (transfer.cu), compute (layers.cu, step.cu), and take away what jobs leave that are done. Descents go in
 * chunks of steps. A chunk that comes again, for a gang of the same size, is captured as a graph: its
 * kernels read everything that changes from the table and from the networks' own memory.
 *
 * Slots, the memory of a step, are given to the jobs of a launch and taken back after it. Where not all
 * jobs find one, they run in turns.
 *
 * A failure of CUDA is final; only a lack of memory is told before anything has happened to a job.
 */
#include "gpu/host.cuh"
#include "gpu/sac.cuh"

#include "base/module.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hvi/version.h>

hvi_status hvi_gpu_check(cudaError_t e, const char *what, hvi_error *err) {
  if (e == cudaSuccess) return HVI_OK;
  if (e == cudaErrorMemoryAllocation) {
    cudaGetLastError(); /* this one leaves the device as it was */
    return hvi_error_set(err, HVI_ERROR_MEMORY, "the GPU has no memory for %s", what);
  }
  return hvi_error_set(err, HVI_ERROR_IO, "the GPU failed at %s: %s", what, cudaGetErrorString(e));
}

static void forget_chunks(hvi_device *d) {
  for (known_chunk &c : d->chunks) {
    if (c.graph) cudaGraphExecDestroy(c.graph);
    c = known_chunk{};
  }
  d->chunk_count = 0;
}

static void close_device(hvi_device *d) {
  if (!d) return;
  forget_chunks(d);
  cudaFree(d->jobs);
  cudaFree(d->scratch);
  cudaFreeHost(d->jobs_host);
  cudaFreeHost(d->states);
  if (d->begun) cudaEventDestroy(d->begun);
  if (d->ended) cudaEventDestroy(d->ended);
  if (d->stream) cudaStreamDestroy(d->stream);
  delete d;
}

static hvi_status prepare(hvi_device *d, hvi_error *err) {
  int device = 0;
  GPU_TRY(cudaGetDevice(&device), "its choice");
  GPU_TRY(cudaDeviceGetAttribute(&d->major, cudaDevAttrComputeCapabilityMajor, device), "a look");
  GPU_TRY(cudaDeviceGetAttribute(&d->minor, cudaDevAttrComputeCapabilityMinor, device), "a look");
  GPU_TRY(cudaDeviceGetAttribute(&d->processors, cudaDevAttrMultiProcessorCount, device), "a look");
  GPU_TRY(cudaDeviceGetAttribute(&d->clock, cudaDevAttrClockRate, device), "a look");
  if (d->major < 8)
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "the GPU has compute capability %d.%d; 8.0 or more is needed", d->major,
                         d->minor);
  GPU_TRY(hvi_gpu_allow_memory(), "its kernels");
  if (d->major == 9) {
    GPU_TRY(hvi_gpu_allow_passes(), "its kernels");
    GPU_TRY(hvi_gpu_allow_gradients(), "its kernels");
  } else {
    d->precision = HVI_DEVICE_FP32; /* halves are for Hopper's tensor cores */
  }
  GPU_TRY(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking), "a queue");
  GPU_TRY(cudaEventCreate(&d->begun), "a clock");
  GPU_TRY(cudaEventCreate(&d->ended), "a clock");
  return HVI_OK;
}

static hvi_status open_device(hvi_device **device, hvi_device_precision precision, hvi_error *err) {
  int count = 0, driver = 0;
  *device = NULL;
  const cudaError_t e = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver); /* 0: none */
  if (e != cudaSuccess || count == 0)
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "no GPU: %s",
                         driver == 0        ? "no NVIDIA driver is installed"
                         : e != cudaSuccess ? cudaGetErrorString(e)
                                            : "the driver knows of none");
  hvi_device *d = new hvi_device();
  d->precision = precision;
  const hvi_status status = prepare(d, err);
  if (status)
    close_device(d);
  else
    *device = d;
  return status;
}

static hvi_status describe(hvi_device *d, hvi_device_about *about, hvi_error *err) {
  static const char *const precisions[] = {"fp16x3", "fp32", "fp16"};
  cudaDeviceProp p;
  int device = 0, driver = 0, runtime = 0;
  GPU_TRY(cudaGetDevice(&device), "a look");
  GPU_TRY(cudaGetDeviceProperties(&p, device), "a look");
  GPU_TRY(cudaDriverGetVersion(&driver), "a look");
  GPU_TRY(cudaRuntimeGetVersion(&runtime), "a look");
  GPU_TRY(cudaMemGetInfo(&about->free_memory, &about->memory), "a look");
  snprintf(about->name, sizeof about->name, "%.127s", p.name);
  snprintf(about->level, sizeof about->level, "cuda-sm%d%d-%s", d->major, d->minor,
           precisions[d->precision]);
  snprintf(about->driver, sizeof about->driver, "CUDA %d.%d, run-time %d.%d", driver / 1000,
           driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  about->processors = (size_t)d->processors;
  return HVI_OK;
}

/* Halves are for networks with a hidden layer that are not too wide. */
static hvi_gpu_form form_of(const hvi_device *d, const hvi_device_shape *s) {
  bool halves = d->precision != HVI_DEVICE_FP32 && s->layer_count > 1;
  for (size_t l = 0; l < s->layer_count; l++) halves = halves && s->width[l] <= HVI_GPU_WIDEST;
  return halves ? HVI_GPU_HALVES : HVI_GPU_NUMBERS;
}

static void free_net(hvi_device_net *n) {
  if (!n) return;
  cudaFree(n->numbers);
  cudaFree(n->weight_halves);
  cudaFree(n->x_halves);
  cudaFree(n->more);
  for (inputs_there &in : n->inputs) cudaFree(in.x);
  cudaFree(n->y);
  cudaFree(n->targets);
  delete n;
}

static hvi_status allocate_net(hvi_device_net *n, hvi_error *err) {
  const size_t numbers = hvi_device_numbers(&n->shape);
  const size_t bytes = 3 * numbers * sizeof(float) + sizeof(progress) + sizeof(magnitudes);
  const double powers[2] = {1.0, 1.0};
  GPU_TRY(cudaMalloc(&n->numbers, bytes), "a network");
  GPU_TRY(cudaMemset(n->numbers, 0, bytes), "a network");
  n->state = (progress *)(void *)(n->numbers + 3 * numbers);
  n->tops = (magnitudes *)(void *)(n->state + 1);
  GPU_TRY(cudaMemcpy(n->state->power, powers, sizeof powers, cudaMemcpyDefault), "a network");
  if (form_of(n->device, &n->shape) == HVI_GPU_NUMBERS) return HVI_OK;
  const size_t room = hvi_gpu_weight_halves(&n->shape, n->shape.layer_count - 1);
  GPU_TRY(cudaMalloc(&n->weight_halves, room), "a network");
  return hvi_gpu_check(cudaMemset(n->weight_halves, 0, room), "a network", err);
}

static hvi_status new_net(hvi_device_net **net, hvi_device *d, const hvi_device_shape *shape,
                          hvi_error *err) {
  hvi_device_net *n = new hvi_device_net();
  n->device = d, n->shape = *shape;
  const hvi_status status = allocate_net(n, err);
  if (status) free_net(n);
  *net = status ? NULL : n;
  return status;
}

static hvi_status move_state(hvi_device_net *n, bool put, double power[2], float *m, float *v,
                             hvi_error *err) {
  const size_t numbers = hvi_device_numbers(&n->shape), bytes = numbers * sizeof(float);
  const struct {
    void *there, *here;
    size_t bytes;
  } parts[] = {{n->numbers + numbers, m, bytes},
               {n->numbers + 2 * numbers, v, bytes},
               {n->state->power, power, 2 * sizeof *power}};
  for (const auto &p : parts)
    GPU_TRY(cudaMemcpy(put ? p.there : p.here, put ? p.here : p.there, p.bytes, cudaMemcpyDefault),
            "a state");
  return HVI_OK;
}

static void *host_alloc(size_t bytes) {
  void *p = NULL;
  if (cudaMallocHost(&p, bytes) == cudaSuccess) return p;
  cudaGetLastError();
  return NULL;
}

static void host_free(void *p) { cudaFreeHost(p); }

/* Other room, without what was there; PINNED: of the host's memory. */
template <bool PINNED = false, class T>
static hvi_status renew(T **p, size_t count, const char *what, hvi_error *err) {
  PINNED ? cudaFreeHost(*p) : cudaFree(*p);
  *p = NULL;
  const size_t bytes = count * sizeof(T);
  return hvi_gpu_check(PINNED ? cudaMallocHost(p, bytes) : cudaMalloc(p, bytes), what, err);
}

/* Room for so many rows; for an even number, so that what follows them begins where copies can. */
static hvi_status grow_net(hvi_device_net *n, size_t wanted, hvi_error *err) {
  const size_t rows = wanted + wanted % 2, in = hvi_device_padded(n->shape.width[0]);
  if (rows <= n->rows) return HVI_OK;
  n->rows = 0;
  HVI_TRY(renew(&n->y, rows, "a batch", err));
  HVI_TRY(renew(&n->targets, 4 * rows, "a batch", err));
  if (form_of(n->device, &n->shape) == HVI_GPU_HALVES)
    HVI_TRY(renew(&n->x_halves,
                  hvi_gpu_padded(rows, HVI_GPU_HALVES) * hvi_gpu_padded(in, HVI_GPU_HALVES) *
                      sizeof(float),
                  "a batch", err));
  n->rows = rows;
  return HVI_OK;
}

static hvi_status grow_inputs(hvi_device_net *n, inputs_there *in, size_t rows, hvi_error *err) {
  if (rows <= in->room) return HVI_OK;
  in->room = in->rows = 0;
  HVI_TRY(renew(&in->x, rows * hvi_device_padded(n->shape.width[0]), "a batch", err));
  in->room = rows;
  return HVI_OK;
}

/* Room for what a new job brings. */
static hvi_status begin_job(hvi_device_kind kind, hvi_device_job *j, hvi_error *err) {
  hvi_device_net *n = j->net;
  HVI_TRY(grow_net(n, j->rows, err));
  HVI_TRY(grow_inputs(n, &n->inputs[j->whose], j->rows, err));
  if (!n->more && (kind == HVI_DEVICE_PULL || kind == HVI_DEVICE_PUSH))
    HVI_TRY(renew(&n->more, hvi_device_numbers(&n->shape), "a gradient", err));
  return HVI_OK;
}

/* What a job of this kind brings and takes. */
static host_side host_side_of(const hvi_device_job *j, hvi_device_kind kind) {
  host_side h = {};
  h.theta = j->theta;
  if (!j->whose || j->net->inputs[j->whose].rows != j->rows) h.x = j->x;
  if (kind == HVI_DEVICE_PUSH) h.direction = j->v;
  if (kind == HVI_DEVICE_PULL) h.u = j->u;
  if (kind == HVI_DEVICE_DESCEND)
    h.target = j->descent.target, h.weight = j->descent.weight, h.linear = j->descent.linear;
  if (kind == HVI_DEVICE_PULL || kind == HVI_DEVICE_DESCEND) h.result = j->result;
  if (kind != HVI_DEVICE_PULL) h.y = j->y;
  return h;
}

/* A job as kernels see it, but for its slot. */
static gpu_job table_row(const hvi_device_job *j, hvi_device_kind kind, hvi_gpu_form form) {
  const hvi_device_net *n = j->net;
  const hvi_device_descent *s = &j->descent;
  const size_t numbers = hvi_device_numbers(&n->shape);
  gpu_job g = {};
  g.theta = n->numbers, g.m = g.theta + numbers, g.v = g.m + numbers;
  g.x = n->inputs[j->whose].x, g.y = n->y;
  g.target = n->targets, g.weight = n->targets + n->rows;
  g.linear = s->linear ? n->targets + 2 * n->rows : NULL;
  g.u = n->targets + 3 * n->rows;
  g.direction = g.gradient = n->more;
  g.state = n->state, g.tops = n->tops;
  g.host = host_side_of(j, kind);
  g.x_halves = n->x_halves, g.weight_halves = n->weight_halves;
  g.rows = (int)j->rows, g.lead_rows = (int)hvi_gpu_lead_rows(form, j->rows);
  g.part_rows = (int)hvi_gpu_part_rows(form, j->rows);
  g.parts = (int)hvi_gpu_parts(form, j->rows);
  g.head_rows = (int)hvi_gpu_head_rows(j->rows), g.head_tiles = (int)hvi_gpu_head_tiles(j->rows);
  g.careful = s->goal > -INFINITY || s->least_wanted;
  g.fresh = !j->begun, g.forget = s->forget;
  g.rule = s->rule, g.at_least = (int)s->at_least;
  g.most = s->most < INT_MAX ? (int)s->most : INT_MAX;
  g.shift = s->shift, g.scale = s->scale, g.goal = s->goal;
  g.lr = s->lr, g.lr_factor = s->lr_factor, g.decay = s->decay;
  g.beta1 = s->beta1, g.beta2 = s->beta2, g.epsilon = (float)s->epsilon;
  g.keep1 = (float)s->beta1, g.rest1 = (float)(1.0 - s->beta1);
  g.keep2 = (float)s->beta2, g.rest2 = (float)(1.0 - s->beta2);
  return g;
}

static hvi_status grow_table(hvi_device *d, size_t count, hvi_error *err) {
  if (count <= d->room) return HVI_OK;
  const size_t room = count > 128 ? 2 * count : 128;
  forget_chunks(d); /* they know the table's place */
  d->room = 0;
  HVI_TRY(renew(&d->jobs, room, "a table of jobs", err));
  HVI_TRY(renew<true>(&d->jobs_host, room, "a table of jobs", err));
  HVI_TRY(renew<true>(&d->states, room, "a table of jobs", err));
  d->room = room;
  return HVI_OK;
}

/* The form of a kind of job: tangents are numbers. */
static hvi_gpu_form form_for(const hvi_device *d, hvi_device_kind kind, const hvi_device_shape *s) {
  return kind == HVI_DEVICE_PUSH ? HVI_GPU_NUMBERS : form_of(d, s);
}

/* Floats of a slot; values alone where nothing else is computed, and as halves not even these. */
static size_t slot_floats(hvi_gpu_form form, hvi_device_kind kind, const hvi_device_job *j) {
  const hvi_device_shape *s = &j->net->shape;
  if (kind != HVI_DEVICE_EVAL) return hvi_gpu_slot(s, form, j->rows);
  return form == HVI_GPU_HALVES ? 0 : hvi_gpu_padded(hvi_gpu_slopes(s, form, j->rows), 256);
}

/* Scratch for as many jobs as possible, one at least. */
static hvi_status grow_scratch(hvi_device *d, size_t all, size_t least, hvi_error *err) {
  if (all <= d->scratch_floats) return HVI_OK;
  size_t free_bytes = 0, total = 0;
  GPU_TRY(cudaMemGetInfo(&free_bytes, &total), "a look");
  const size_t most = d->scratch_floats + free_bytes / sizeof(float) / 10 * 8;
  size_t floats = all + all / 4 < most ? all + all / 4 : most;
  if (floats <= d->scratch_floats && least <= d->scratch_floats) return HVI_OK;
  if (floats < least) floats = least;
  d->scratch_floats = 0;
  HVI_TRY(renew(&d->scratch, floats, "the values of a step", err));
  d->scratch_floats = floats;
  return HVI_OK;
}

hvi_status hvi_gpu_place_jobs(hvi_device *d, hvi_device_kind kind, hvi_device_job *const *jobs,
                              size_t count, launch *l, hvi_error *err) {
  const hvi_gpu_form form = form_for(d, kind, &jobs[0]->net->shape);
  size_t all = 0, least = 0, used = 0;
  for (size_t i = 0; i < count; i++) {
    const size_t own = slot_floats(form, kind, jobs[i]);
    all += own;
    if (own > least) least = own;
  }
  HVI_TRY(grow_table(d, count, err));
  HVI_TRY(grow_scratch(d, all, least, err));
  *l = launch{d->stream, d->jobs, 0, 0, 0, 0, d->precision, form, d->processors};
  for (size_t i = 0; i < count; i++) {
    const size_t own = slot_floats(form, kind, jobs[i]);
    if (used + own > d->scratch_floats) break;
    gpu_job *g = &d->jobs_host[l->count++];
    *g = table_row(jobs[i], kind, form);
    g->slot = d->scratch + used;
    g->scales = g->slot + hvi_gpu_scales(&jobs[i]->net->shape, form, jobs[i]->rows);
    used += own;
    if (g->rows > l->most_rows) l->most_rows = g->rows;
    if (g->parts > l->most_parts) l->most_parts = g->parts;
    if (g->head_tiles > l->most_tiles) l->most_tiles = g->head_tiles;
  }
  const size_t bytes = l->count * sizeof *d->jobs;
  return hvi_gpu_check(cudaMemcpyAsync(d->jobs, d->jobs_host, bytes, cudaMemcpyDefault, d->stream),
                       "a table of jobs", err);
}

/* Values and what the head makes of them; with a loss or u the step, or the gradient, too. */
static void put_values(const hvi_device_shape *s, const launch *l, pass_kind kind) {
  if (l->form == HVI_GPU_HALVES) return hvi_gpu_pass(l, s, kind);
  hvi_gpu_forward(l, s, kind);
  if (kind == FOR_OUTPUTS)
    hvi_gpu_outputs(l, s, kind);
  else
    hvi_gpu_head(l, s, kind);
}
static void put_gradient(const hvi_device_shape *s, const launch *l, pass_kind kind) {
  put_values(s, l, kind);
  if (l->form == HVI_GPU_HALVES)
    hvi_gpu_gradients(l, s, kind);
  else
    hvi_gpu_backward(l, s, kind);
  if (!hvi_gpu_at_once(l)) hvi_gpu_update(l, s, kind);
}

/* The kernels of a chunk, and of the loss after its last step where a descent may end. */
static void put_steps(const hvi_device_shape *s, const launch *l, int steps, bool ends) {
  for (int i = 0; i < steps; i++) put_gradient(s, l, FOR_STEP);
  if (ends) put_values(s, l, FOR_END);
}

/* The chunk with that key, new where it is not known. */
static known_chunk *find_chunk(hvi_device *d, const chunk *key) {
  for (known_chunk &c : d->chunks)
    if (c.uses > 0 && memcmp(&c.key, key, sizeof *key) == 0) return &c;
  known_chunk *c = &d->chunks[d->chunk_count++ % MOST_CHUNKS];
  if (c->graph) cudaGraphExecDestroy(c->graph);
  *c = known_chunk{};
  memcpy(&c->key, key, sizeof *key);
  return c;
}

hvi_status hvi_gpu_run_steps(hvi_device *d, const hvi_device_shape *s, launch *l, int steps,
                             bool ends, hvi_error *err) {
  chunk key;
  memset(&key, 0, sizeof key);
  memcpy(&key.shape, s, sizeof *s);
  key.count = l->count, key.most_rows = l->most_rows, key.most_parts = l->most_parts;
  key.most_tiles = l->most_tiles, key.steps = steps, key.ends = ends;
  known_chunk *c = find_chunk(d, &key);
  const auto put = [&] { return put_steps(s, l, steps, ends), cudaGetLastError(); };
  if (++c->uses > USES_BEFORE_CAPTURE && !c->graph)
    HVI_TRY(hvi_gpu_capture(d->stream, put, &c->graph, err));
  if (c->graph) return hvi_gpu_check(cudaGraphLaunch(c->graph, d->stream), "a graph", err);
  return hvi_gpu_check(put(), "a launch", err);
}

static hvi_status launch_descents(hvi_device *d, hvi_device_job *const *jobs, launch *l,
                                  size_t steps, hvi_error *err) {
  const hvi_device_shape *s = &jobs[0]->net->shape;
  size_t most = 0, least = (size_t)-1;
  bool fresh = false;
  for (int i = 0; i < l->count; i++) {
    const size_t left = jobs[i]->descent.most - (jobs[i]->begun ? jobs[i]->descent.steps : 0);
    if (left > most) most = left;
    if (left < least) least = left;
    fresh = fresh || !jobs[i]->begun;
  }
  if (fresh) {
    hvi_gpu_bring(l, s);
    hvi_gpu_begin(l, s, FOR_STEP);
  }
  const size_t chunk = steps < most ? steps : most;
  HVI_TRY(hvi_gpu_run_steps(d, s, l, (int)chunk, least <= chunk, err));
  hvi_gpu_take(l, s, d->states, true);
  return hvi_gpu_check(cudaGetLastError(), "a launch", err);
}

static hvi_status launch_products(hvi_device_kind kind, const hvi_device_shape *s, const launch *l,
                                  hvi_error *err) {
  hvi_gpu_bring(l, s);
  hvi_gpu_begin(l, s, kind == HVI_DEVICE_PUSH ? FOR_PUSH : FOR_OUTPUTS);
  if (kind == HVI_DEVICE_EVAL) {
    put_values(s, l, FOR_OUTPUTS);
  } else if (kind == HVI_DEVICE_PULL) {
    put_gradient(s, l, FOR_PULL);
  } else {
    hvi_gpu_forward(l, s, FOR_PUSH);
    hvi_gpu_outputs(l, s, FOR_PUSH);
  }
  hvi_gpu_take(l, s, NULL, false);
  return hvi_gpu_check(cudaGetLastError(), "a launch", err);
}

/* What has come of a job. */
static void end_job(hvi_device_kind kind, hvi_device_job *j, const progress *state) {
  j->begun = j->done = true;
  j->net->inputs[j->whose].rows = j->rows;
  if (kind != HVI_DEVICE_DESCEND) return;
  j->descent.steps = (size_t)state->steps;
  j->descent.loss = state->loss;
  j->descent.least = state->least;
  j->done = !state->going;
}

/* As many of the jobs as find room. */
static hvi_status run_some(hvi_device *d, hvi_device_kind kind, hvi_device_job *const *jobs,
                           size_t count, size_t steps, size_t *ran, hvi_error *err) {
  const hvi_device_shape *s = &jobs[0]->net->shape;
  launch l;
  float spent = 0.0f;
  HVI_TRY(hvi_gpu_place_jobs(d, kind, jobs, count, &l, err));
  GPU_TRY(cudaEventRecord(d->begun, d->stream), "a clock");
  HVI_TRY(kind == HVI_DEVICE_DESCEND ? launch_descents(d, jobs, &l, steps, err)
                                     : launch_products(kind, s, &l, err));
  GPU_TRY(cudaEventRecord(d->ended, d->stream), "a clock");
  GPU_TRY(cudaStreamSynchronize(d->stream), "a computation");
  GPU_TRY(cudaEventElapsedTime(&spent, d->begun, d->ended), "a clock");
  for (int i = 0; i < l.count; i++) {
    jobs[i]->seconds += 1e-3 * spent / l.count;
    end_job(kind, jobs[i], &d->states[i]);
  }
  *ran = (size_t)l.count;
  return HVI_OK;
}

static hvi_status run(hvi_device *d, hvi_device_kind kind, hvi_device_job *const *jobs,
                      size_t count, size_t steps, hvi_error *err) {
  for (size_t i = 0; i < count; i++)
    if (!jobs[i]->begun) HVI_TRY(begin_job(kind, jobs[i], err));
  for (size_t at = 0, ran; at < count; at += ran)
    HVI_TRY(run_some(d, kind, jobs + at, count - at, steps, &ran, err));
  return HVI_OK;
}

const hvi_device_functions hvi_gpu_functions = {open_device,
                                                close_device,
                                                describe,
                                                new_net,
                                                free_net,
                                                move_state,
                                                host_alloc,
                                                host_free,
                                                run,
                                                hvi_gpu_measure,
                                                &hvi_gpu_sac_functions};

#define TEXT_OF(x)                 #x
#define VERSION_TEXT(major, minor) TEXT_OF(major) "." TEXT_OF(minor)
static const char *runtime_version(void) {
  return VERSION_TEXT(__CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__);
}

extern "C" {
HVI_API extern const hvi_module hvi_module_table;
const hvi_module hvi_module_table = {HVI_MODULE_ABI,  "gpu", hvi_version,       "CUDA run-time",
                                     runtime_version, NULL,  &hvi_gpu_functions};
}
