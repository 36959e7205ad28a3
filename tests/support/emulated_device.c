#include "emulated_device.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

emulation emulated;

static atomic_int inside; /* callers */
static size_t things;     /* buffers and networks that are not given back */
static size_t net_count;  /* of them */
static size_t occupied;   /* bytes on the device */

struct hvi_device {
  hvi_device_precision precision;
};

/* A copy of a job's rows, and how many of them there are; there was room for. */
typedef struct rows_here {
  float *x;
  size_t rows, room;
} rows_here;

struct hvi_device_net {
  hvi_device_shape shape;
  size_t numbers, units; /* parameters; activations of a row, the inputs' included */
  size_t rows;           /* that there is room for */
  float *theta, *m, *v;
  double power[2];
  double *gradient;     /* [numbers] */
  double *value, *back; /* [units] of a row */
  bool has_theta;
  rows_here inputs[HVI_DEVICE_ROWS];
  double *y; /* of a descent that has begun, with the job as it was */
  hvi_device_job begun;
};

#define INSIST(condition)                                                                          \
  do {                                                                                             \
    if (condition) break;                                                                          \
    fprintf(stderr, "emulated device: %s does not hold (line %d)\n", #condition, __LINE__);        \
    abort();                                                                                       \
  } while (0)

static void enter(void) { INSIST(atomic_fetch_add(&inside, 1) == 0); }
static void leave(void) { atomic_fetch_sub(&inside, 1); }

static void *room(size_t count, size_t size) {
  void *p = calloc(count ? count : 1, size);
  INSIST(p);
  return p;
}

/* Counts a call: whether the device is lost at it. */
static bool lost(hvi_error *err) {
  const bool now = ++emulated.calls == emulated.fail_call;
  INSIST(emulated.fail_call == 0 || emulated.calls <= emulated.fail_call);
  if (now) hvi_error_set(err, HVI_ERROR_IO, "the emulated device is lost");
  return now;
}

/* More bytes are in use, unless there are none left. */
static hvi_status occupy(size_t bytes, const char *what, hvi_error *err) {
  if (emulated.memory == 0 || occupied + bytes <= emulated.memory) return occupied += bytes, HVI_OK;
  emulated.refused++;
  return hvi_error_set(err, HVI_ERROR_MEMORY, "the emulated device has no memory for %s", what);
}

size_t emulated_net_bytes(const hvi_device_shape *s) {
  return 3 * hvi_device_numbers(s) * sizeof(float);
}

size_t emulated_input_bytes(const hvi_device_shape *s, size_t rows) {
  return rows * hvi_device_padded(s->width[0]) * sizeof(float);
}

static size_t other_bytes(const hvi_device_shape *s, size_t rows) {
  (void)s;
  return rows * (sizeof(float) + 4 * sizeof(double));
}

size_t emulated_row_bytes(const hvi_device_shape *s, size_t rows) {
  return emulated_input_bytes(s, rows) + other_bytes(s, rows);
}

size_t emulated_step_bytes(const hvi_device_shape *s, size_t rows) {
  size_t units = 0;
  for (size_t l = 1; l < s->layer_count; l++) units += s->width[l];
  return 2 * units * rows * sizeof(float);
}

static hvi_status open_device(hvi_device **d, hvi_device_precision precision, hvi_error *err) {
  (void)err;
  *d = room(1, sizeof **d);
  (*d)->precision = precision;
  return HVI_OK;
}

static void close_device(hvi_device *d) {
  INSIST(things == 0 && emulated.trainers == 0);
  free(d);
}

static hvi_status describe(hvi_device *d, hvi_device_about *about, hvi_error *err) {
  (void)d;
  (void)err;
  *about = (hvi_device_about){.memory = 1, .free_memory = 1, .processors = 1};
  snprintf(about->name, sizeof about->name, "emulated");
  snprintf(about->level, sizeof about->level, "%s", emulated.level ? emulated.level : "emulated");
  return HVI_OK;
}

static hvi_status net_new(hvi_device_net **net, hvi_device *d, const hvi_device_shape *shape,
                          hvi_error *err) {
  (void)d;
  enter();
  *net = NULL;
  hvi_status status = lost(err) ? HVI_ERROR_IO : HVI_OK;
  if (!status) status = occupy(emulated_net_bytes(shape), "a network", err);
  if (status) return leave(), status;
  hvi_device_net *n = room(1, sizeof *n);
  n->shape = *shape;
  n->numbers = hvi_device_numbers(shape);
  for (size_t l = 0; l <= shape->layer_count; l++) n->units += shape->width[l];
  n->theta = room(n->numbers, sizeof *n->theta);
  n->m = room(n->numbers, sizeof *n->m);
  n->v = room(n->numbers, sizeof *n->v);
  n->gradient = room(n->numbers, sizeof *n->gradient);
  n->value = room(n->units, sizeof *n->value);
  n->back = room(n->units, sizeof *n->back);
  n->power[0] = n->power[1] = 1.0;
  things++;
  if (++net_count > emulated.most_nets) emulated.most_nets = net_count;
  *net = n;
  leave();
  return HVI_OK;
}

static void net_free(hvi_device_net *n) {
  enter();
  occupied -= emulated_net_bytes(&n->shape) + other_bytes(&n->shape, n->rows);
  net_count--;
  for (size_t i = 0; i < HVI_DEVICE_ROWS; i++) {
    occupied -= emulated_input_bytes(&n->shape, n->inputs[i].room);
    free(n->inputs[i].x);
  }
  void *const arrays[] = {n->theta, n->m, n->v, n->gradient, n->value, n->back, n->y, n};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
  things--;
  leave();
}

static hvi_status move_state(hvi_device_net *n, bool put, double power[2], float *m, float *v,
                             hvi_error *err) {
  enter();
  const bool fails = lost(err);
  const struct {
    void *there, *here;
    size_t bytes;
  } parts[] = {{n->power, power, sizeof n->power},
               {n->m, m, n->numbers * sizeof *m},
               {n->v, v, n->numbers * sizeof *v}};
  for (size_t i = 0; !fails && i < sizeof parts / sizeof *parts; i++)
    memcpy(put ? parts[i].there : parts[i].here, put ? parts[i].here : parts[i].there,
           parts[i].bytes);
  leave();
  return fails ? HVI_ERROR_IO : HVI_OK;
}

static void *host_alloc(size_t bytes) {
  enter();
  things++;
  unsigned char *p = room(bytes, 1);
  memset(p, 0x5a, bytes); /* nobody promises zeros */
  leave();
  return p;
}

static void host_free(void *p) {
  enter();
  things--;
  free(p);
  leave();
}

static double act(hvi_activation a, double x) {
  switch (a) {
  case HVI_RELU:
    return x > 0.0 ? x : 0.0;
  case HVI_LEAKY_RELU:
    return x > 0.0 ? x : 0.01 * x;
  case HVI_TANH:
    return tanh(x);
  case HVI_SIGMOID:
    return 1.0 / (1.0 + exp(-x));
  case HVI_CELU:
    return x > 0.0 ? x : expm1(x);
  case HVI_SOFTPLUS:
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
  default:
    return x;
  }
}

/* The slope, from the value. */
static double slope(hvi_activation a, double y) {
  switch (a) {
  case HVI_RELU:
    return y > 0.0 ? 1.0 : 0.0;
  case HVI_LEAKY_RELU:
    return y > 0.0 ? 1.0 : 0.01;
  case HVI_TANH:
    return 1.0 - y * y;
  case HVI_SIGMOID:
    return y * (1.0 - y);
  case HVI_CELU:
    return y > 0.0 ? 1.0 : 1.0 + y;
  case HVI_SOFTPLUS:
    return 1.0 - exp(-y);
  default:
    return 1.0;
  }
}

static hvi_activation act_of(const hvi_device_net *n, size_t l) {
  return l + 1 < n->shape.layer_count ? n->shape.activation : HVI_IDENTITY;
}

/* Values of all layers of a row, and the output. */
static double forward(hvi_device_net *n, const float *x) {
  const size_t *width = n->shape.width;
  double *in = n->value;
  for (size_t j = 0; j < width[0]; j++) in[j] = (double)x[j];
  for (size_t l = 0; l < n->shape.layer_count; l++) {
    const float *W = n->theta + hvi_device_weight(&n->shape, l);
    const float *b = n->theta + hvi_device_bias(&n->shape, l);
    double *out = in + width[l];
    for (size_t o = 0; o < width[l + 1]; o++) {
      double sum = (double)b[o];
      for (size_t j = 0; j < width[l]; j++)
        sum += (double)W[o * hvi_device_padded(width[l]) + j] * in[j];
      out[o] = act(act_of(n, l), sum);
    }
    in = out;
  }
  return in[0];
}

/* gradient += dy times the output's, after a row's pass forward. */
static void backward(hvi_device_net *n, double dy) {
  const size_t *width = n->shape.width;
  double *in = n->value + n->units - 1, *delta = n->back + n->units - 1;
  delta[0] = dy;
  for (size_t l = n->shape.layer_count; l-- > 0;) {
    const size_t row = hvi_device_padded(width[l]), at = hvi_device_weight(&n->shape, l);
    double *before = delta - width[l];
    in -= width[l];
    for (size_t j = 0; j < width[l]; j++) before[j] = 0.0;
    for (size_t o = 0; o < width[l + 1]; o++) {
      n->gradient[hvi_device_bias(&n->shape, l) + o] += delta[o];
      for (size_t j = 0; j < width[l]; j++) {
        n->gradient[at + o * row + j] += delta[o] * in[j];
        before[j] += delta[o] * (double)n->theta[at + o * row + j];
      }
    }
    for (size_t j = 0; l > 0 && j < width[l]; j++) before[j] *= slope(act_of(n, l - 1), in[j]);
    delta = before;
  }
}

/* The output's derivative along v, after a row's pass forward. */
static double tangent(hvi_device_net *n, const float *v) {
  const size_t *width = n->shape.width;
  const double *in = n->value;
  double *t = n->back;
  for (size_t j = 0; j < width[0]; j++) t[j] = 0.0;
  for (size_t l = 0; l < n->shape.layer_count; l++) {
    const size_t row = hvi_device_padded(width[l]), at = hvi_device_weight(&n->shape, l);
    const double *out = in + width[l];
    for (size_t o = 0; o < width[l + 1]; o++) {
      double sum = (double)v[hvi_device_bias(&n->shape, l) + o];
      for (size_t j = 0; j < width[l]; j++)
        sum += (double)v[at + o * row + j] * in[j] + (double)n->theta[at + o * row + j] * t[j];
      t[width[l] + o] = slope(act_of(n, l), out[o]) * sum;
    }
    in = out;
    t += width[l];
  }
  return t[0];
}

static void check_rows(const float *x, size_t rows, size_t used) {
  const size_t row = hvi_device_padded(used);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = used; j < row; j++) INSIST(x[i * row + j] == 0.0F);
}

static void check_numbers(const hvi_device_shape *s, const float *theta) {
  for (size_t l = 0; l < s->layer_count; l++) {
    check_rows(theta + hvi_device_weight(s, l), s->width[l + 1], s->width[l]);
    check_rows(theta + hvi_device_bias(s, l), 1, s->width[l + 1]);
  }
}

static void take_theta(hvi_device_net *n, const hvi_device_job *job) {
  INSIST(job->theta || n->has_theta);
  if (!job->theta) return;
  check_numbers(&n->shape, job->theta);
  memcpy(n->theta, job->theta, n->numbers * sizeof *n->theta);
  n->has_theta = true;
  emulated.sent++;
}

static size_t row_of(const hvi_device_net *n) { return hvi_device_padded(n->shape.width[0]); }

/* The job's rows: a copy of the first that had that name, unless they are a job's own. */
static const float *rows_of(const hvi_device_job *job) {
  rows_here *in = &job->net->inputs[job->whose];
  const size_t floats = job->rows * row_of(job->net);
  check_rows(job->x, job->rows, job->net->shape.width[0]);
  if (job->whose && in->x) {
    INSIST(in->rows == job->rows && memcmp(in->x, job->x, floats * sizeof *in->x) == 0);
    return in->x;
  }
  free(in->x);
  in->rows = job->rows;
  in->x = room(floats, sizeof *in->x);
  emulated.brought++;
  return memcpy(in->x, job->x, floats * sizeof *in->x);
}

static void run_once(hvi_device_kind kind, hvi_device_job *job) {
  hvi_device_net *n = job->net;
  take_theta(n, job);
  const float *x = rows_of(job);
  memset(n->gradient, 0, n->numbers * sizeof *n->gradient);
  if (kind == HVI_DEVICE_PUSH) check_numbers(&n->shape, job->v);
  for (size_t i = 0; i < job->rows; i++) {
    const double y = forward(n, x + i * row_of(n));
    if (kind == HVI_DEVICE_EVAL) job->y[i] = (float)y;
    if (kind == HVI_DEVICE_PULL) backward(n, job->u[i]);
    if (kind == HVI_DEVICE_PUSH) job->y[i] = (float)tangent(n, job->v);
  }
  for (size_t i = 0; kind == HVI_DEVICE_PULL && i < n->numbers; i++)
    job->result[i] = (float)n->gradient[i];
  job->seconds += 1e-6;
  job->done = true;
}

static double residual(const hvi_device_descent *d, double y, size_t i) {
  return d->shift + d->scale * y - d->target[i];
}

/* Outputs and loss of where a descent stands; outputs as they are handed out, in floats. */
static void look(hvi_device_net *n, hvi_device_job *job) {
  hvi_device_descent *d = &job->descent;
  d->loss = 0.0;
  for (size_t i = 0; i < job->rows; i++) {
    n->y[i] = (double)(float)forward(n, n->inputs[job->whose].x + i * row_of(n));
    const double r = residual(d, n->y[i], i);
    d->loss += 0.5 * d->weight[i] * r * r + (d->linear ? d->linear[i] * r : 0.0);
  }
}

static void begin(hvi_device_job *job) {
  hvi_device_net *n = job->net;
  take_theta(n, job);
  rows_of(job);
  free(n->y);
  n->y = room(job->rows, sizeof *n->y);
  if (job->descent.forget) {
    memset(n->m, 0, n->numbers * sizeof *n->m);
    memset(n->v, 0, n->numbers * sizeof *n->v);
    n->power[0] = n->power[1] = 1.0;
  }
  job->descent.steps = 0;
  job->descent.least = INFINITY;
  look(n, job);
  job->begun = true;
  n->begun = *job;
}

/* The job is the one that has begun, and nothing in it has moved. */
static void check_unchanged(const hvi_device_job *job) {
  const hvi_device_job *was = &job->net->begun;
  const hvi_device_descent *d = &job->descent, *e = &was->descent;
  INSIST(job->x == was->x && job->y == was->y && job->result == was->result);
  INSIST(job->rows == was->rows && job->theta == was->theta && job->whose == was->whose);
  INSIST(d->target == e->target && d->weight == e->weight && d->linear == e->linear);
  INSIST(d->most == e->most && d->lr == e->lr && d->rule == e->rule);
}

static void step(hvi_device_net *n, hvi_device_job *job) {
  hvi_device_descent *d = &job->descent;
  const double lr = d->lr * pow(d->lr_factor, (double)d->steps), b1 = d->beta1, b2 = d->beta2;
  memset(n->gradient, 0, n->numbers * sizeof *n->gradient);
  for (size_t i = 0; i < job->rows; i++) {
    forward(n, n->inputs[job->whose].x + i * row_of(n));
    const double r = residual(d, n->y[i], i), linear = d->linear ? d->linear[i] : 0.0;
    backward(n, d->scale * (d->weight[i] * r + linear));
  }
  n->power[0] *= b1;
  n->power[1] *= b2;
  for (size_t i = 0; i < n->numbers; i++) {
    const double g = n->gradient[i], theta = (double)n->theta[i];
    double change = g;
    if (d->rule == HVI_DEVICE_MOMENTUM) n->m[i] = (float)(change = b1 * (double)n->m[i] + g);
    if (d->rule == HVI_DEVICE_ADAM) {
      n->m[i] = (float)(b1 * (double)n->m[i] + (1.0 - b1) * g);
      n->v[i] = (float)(b2 * (double)n->v[i] + (1.0 - b2) * g * g);
      const double root = sqrt((double)n->v[i] / (1.0 - n->power[1]));
      change = (double)n->m[i] / (1.0 - n->power[0]) / (root + d->epsilon);
    }
    const double keep = d->rule == HVI_DEVICE_ADAM ? 1.0 - lr * d->decay : 1.0;
    n->theta[i] = (float)(keep * theta - lr * change);
  }
}

static bool over(const hvi_device_descent *d) {
  return d->steps >= d->most || (d->steps >= d->at_least && d->loss <= d->goal);
}

static void get_on(hvi_device_job *job, size_t steps) {
  hvi_device_net *n = job->net;
  hvi_device_descent *d = &job->descent;
  if (!job->begun)
    begin(job);
  else
    check_unchanged(job);
  for (size_t k = 0; k < steps && !over(d); k++) {
    step(n, job);
    d->steps++;
    look(n, job);
    d->least = fmin(d->least, d->loss);
    job->seconds += 1e-6;
  }
  job->done = over(d);
  if (!job->done) return;
  for (size_t i = 0; i < job->rows; i++) job->y[i] = (float)n->y[i];
  memcpy(job->result, n->theta, n->numbers * sizeof *n->theta);
}

/* One kind and one shape, and each network once. */
static void check_jobs(hvi_device_job *const *jobs, size_t count) {
  INSIST(count > 0);
  for (size_t i = 0; i < count; i++) {
    const hvi_device_shape *s = &jobs[i]->net->shape, *first = &jobs[0]->net->shape;
    INSIST(s->layer_count == first->layer_count && s->activation == first->activation);
    for (size_t l = 0; l <= s->layer_count; l++) INSIST(s->width[l] == first->width[l]);
    for (size_t j = 0; j < i; j++) INSIST(jobs[i]->net != jobs[j]->net);
    INSIST(!jobs[i]->done);
  }
}

/* *rows of so many bytes become more; those that were there are gone. */
static hvi_status grow(size_t *rows, size_t wanted, const hvi_device_shape *s,
                       size_t (*bytes)(const hvi_device_shape *s, size_t rows), hvi_error *err) {
  if (wanted <= *rows) return HVI_OK;
  occupied -= bytes(s, *rows);
  *rows = 0;
  if (occupy(bytes(s, wanted), "a batch", err)) return HVI_ERROR_MEMORY;
  *rows = wanted;
  return HVI_OK;
}

/* As many rows as new jobs have, and the values of a step of the largest. */
static hvi_status make_room(hvi_device_job *const *jobs, size_t count, hvi_error *err) {
  size_t most = 0;
  for (size_t i = 0; i < count; i++) {
    hvi_device_net *n = jobs[i]->net;
    const size_t step = emulated_step_bytes(&n->shape, jobs[i]->rows);
    if (step > most) most = step;
    rows_here *in = &n->inputs[jobs[i]->whose];
    if (jobs[i]->begun) continue;
    if (grow(&n->rows, jobs[i]->rows, &n->shape, other_bytes, err) ||
        grow(&in->room, jobs[i]->rows, &n->shape, emulated_input_bytes, err))
      return HVI_ERROR_MEMORY;
  }
  const hvi_status status = occupy(most, "the values of a step", err);
  if (!status) occupied -= most;
  return status;
}

static hvi_status run(hvi_device *d, hvi_device_kind kind, hvi_device_job *const *jobs,
                      size_t count, size_t steps, hvi_error *err) {
  enter();
  INSIST(d);
  check_jobs(jobs, count);
  const bool room_for = make_room(jobs, count, err) == HVI_OK;
  size_t begun = 0;
  for (size_t i = 0; i < count; i++) begun += jobs[i]->begun;
  emulated.joined += begun > 0 && begun < count;
  if (room_for && count > emulated.most_jobs) emulated.most_jobs = count;
  emulated.runs += room_for;
  INSIST(emulated.fail_at == 0 || emulated.runs <= emulated.fail_at);
  for (size_t i = 0; room_for && i < count; i++)
    if (kind == HVI_DEVICE_DESCEND)
      get_on(jobs[i], steps);
    else
      run_once(kind, jobs[i]);
  const bool fails = lost(err) || (room_for && emulated.runs == emulated.fail_at);
  leave();
  if (fails) return hvi_error_set(err, HVI_ERROR_IO, "the emulated device is lost");
  return room_for ? HVI_OK : HVI_ERROR_MEMORY;
}

static hvi_status measure(hvi_device *d, const hvi_device_shape *shape, size_t nets, size_t rows,
                          hvi_device_times *times, hvi_error *err) {
  (void)d;
  (void)shape;
  (void)err;
  *times = (hvi_device_times){(double)(nets * rows), NAN, NAN};
  return HVI_OK;
}

const hvi_device_functions *emulated_device(void) {
  static hvi_device_functions functions = {.open = open_device,
                                           .close = close_device,
                                           .describe = describe,
                                           .net_new = net_new,
                                           .net_free = net_free,
                                           .move_state = move_state,
                                           .host_alloc = host_alloc,
                                           .host_free = host_free,
                                           .run = run,
                                           .measure = measure};
  functions.sac = emulated_sac();
  return &functions;
}
