/*
 * One thread and a queue. A member at the head of the queue takes those of its kind and shape along to
 * the device; descents that are not done go back to the end, behind whoever came in the meantime, and
 * meet the next ones there. What belongs to one member and is no job (making it, its buffers, its
 * optimizer's state) waits in the same queue, since a device serves one thread.
 *
 * A member's thread lays out its own numbers before it joins the queue, and takes them apart after:
 *
 *   theta    what the device has: parameters are sent where they differ from it
 *   vector   a direction or a gradient, and where a descent ended; it then changes places with theta
 *   x, y     inputs and outputs of as many rows as were ever asked for
 */
#include "gpu/gang.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/module.h"

#include <pthread.h>

/* Jobs of one call, and steps that descents get on by in it: fewer where others wait. */
enum { MOST_JOBS = 1024, STEPS = 10, STEPS_OF_MANY = 4 };

struct hvi_gang {
  const hvi_device_functions *functions;
  hvi_device *device;
  hvi_device_about about;
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows, and of members' waiting, status and next */
  pthread_cond_t work;
  hvi_member *first, *last; /* the queue */
  bool closing, computes;
  hvi_error failure; /* HVI_OK: none */
  size_t members;
  double busy, idle, since;     /* seconds until `since` */
  hvi_member *batch[MOST_JOBS]; /* of the gang's thread */
  hvi_device_job *jobs[MOST_JOBS];
};

typedef hvi_status (*device_call)(hvi_member *m, hvi_error *err);

struct hvi_member {
  hvi_gang *gang;
  hvi_device_shape shape;
  size_t dim, numbers; /* of parameters: here, and in the device's layout */
  hvi_device_net *net;
  float *theta, *vector; /* [numbers] */
  bool known;            /* the device has theta */
  float *x, *y;          /* [room][padded inputs], [room] */
  size_t room, wanted;
  bool puts;      /* its state, or gets it */
  float *moments; /* [2][numbers] */
  double power[2], seconds;

  device_call call; /* what is asked for: this or, where it is NULL, the job */
  hvi_device_kind kind;
  hvi_device_job job;
  bool waiting;
  hvi_status status;
  hvi_error *err;
  pthread_cond_t ready;
  hvi_member *next;
};

/* Before a change of what the device does, or of whether anybody is there. */
static void count_seconds(hvi_gang *g) {
  const double now = hvi_clock_now();
  if (g->computes)
    g->busy += now - g->since;
  else if (g->members > 0)
    g->idle += now - g->since;
  g->since = now;
}

static void append(hvi_gang *g, hvi_member *m) {
  m->next = NULL;
  *(g->first ? &g->last->next : &g->first) = m;
  g->last = m;
}

static bool same_shape(const hvi_device_shape *a, const hvi_device_shape *b) {
  return a->layer_count == b->layer_count && a->activation == b->activation &&
         memcmp(a->width, b->width, (a->layer_count + 1) * sizeof *a->width) == 0;
}

/* Takes the first member and those like it out of the queue. */
static size_t gather(hvi_gang *g) {
  const hvi_member *model = g->first;
  hvi_member *m = g->first;
  size_t count = 0;
  g->first = g->last = NULL;
  for (hvi_member *next; m; m = next) {
    next = m->next;
    const bool joins = !model->call && !m->call && m->kind == model->kind && count < MOST_JOBS &&
                       same_shape(&m->shape, &model->shape);
    if (joins || m == model)
      g->batch[count++] = m;
    else
      append(g, m);
  }
  return count;
}

/* Zeros, and what fills up a row stays so. */
static float *take(const hvi_member *m, size_t count) {
  float *p = m->gang->functions->host_alloc(count * sizeof *p);
  return p ? memset(p, 0, count * sizeof *p) : NULL;
}

/* Calls of the device for one member. */
static hvi_status make(hvi_member *m, hvi_error *err) {
  const hvi_device_functions *f = m->gang->functions;
  m->theta = take(m, m->numbers);
  m->vector = take(m, m->numbers);
  m->moments = hvi_alloc(2 * m->numbers, sizeof *m->moments);
  if (!m->theta || !m->vector || !m->moments)
    return hvi_error_memory(err, "a network's way to the device");
  return f->net_new(&m->net, m->gang->device, &m->shape, err);
}

static hvi_status release(hvi_member *m, hvi_error *err) {
  const hvi_device_functions *f = m->gang->functions;
  (void)err;
  float *const buffers[] = {m->theta, m->vector, m->x, m->y};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
    if (buffers[i]) f->host_free(buffers[i]);
  if (m->net) f->net_free(m->net);
  return HVI_OK;
}

static hvi_status make_room(hvi_member *m, hvi_error *err) {
  const hvi_device_functions *f = m->gang->functions;
  if (m->x) f->host_free(m->x);
  if (m->y) f->host_free(m->y);
  m->room = 0;
  m->x = take(m, m->wanted * hvi_device_padded(m->shape.width[0]));
  m->y = take(m, m->wanted);
  if (!m->x || !m->y) return hvi_error_memory(err, "rows on their way to the device");
  m->room = m->wanted;
  return HVI_OK;
}

static hvi_status move_state(hvi_member *m, hvi_error *err) {
  const hvi_device_functions *f = m->gang->functions;
  float *first = m->moments, *second = first + m->numbers;
  return m->puts ? f->state_put(m->net, m->power, first, second, err)
                 : f->state_get(m->net, m->power, first, second, err);
}

/* What the head of the queue asks for; the lock is let go meanwhile. */
static void serve_some(hvi_gang *g) {
  const size_t count = gather(g);
  hvi_member *head = g->batch[0];
  const size_t steps = g->first ? STEPS_OF_MANY : STEPS;
  hvi_status status = g->failure.status;
  hvi_error why = g->failure;
  if (!status || head->call == release) {
    count_seconds(g);
    g->computes = !head->call;
    pthread_mutex_unlock(&g->lock);
    for (size_t i = 0; i < count; i++) g->jobs[i] = &g->batch[i]->job;
    status = head->call ? head->call(head, &why)
                        : g->functions->run(g->device, head->kind, g->jobs, count, steps, &why);
    pthread_mutex_lock(&g->lock);
    count_seconds(g);
    g->computes = false;
    g->members += head->call == make && head->net;
    g->members -= head->call == release && head->net;
    if (status && head->call != make) g->failure = why, g->failure.status = status;
  }
  if (status && head->err) *head->err = why;
  for (size_t i = 0; i < count; i++) {
    hvi_member *m = g->batch[i];
    m->waiting = !status && !m->call && !m->job.done;
    m->status = status;
    if (m->waiting)
      append(g, m);
    else
      pthread_cond_signal(&m->ready);
  }
}

static void *serve(void *gang) {
  hvi_gang *g = gang;
  pthread_mutex_lock(&g->lock);
  for (;;) {
    while (!g->first && !g->closing) pthread_cond_wait(&g->work, &g->lock);
    if (!g->first) break;
    serve_some(g);
  }
  pthread_mutex_unlock(&g->lock);
  return NULL;
}

/* Joins the queue, and comes back when it is done. */
static hvi_status ask(hvi_member *m, device_call call, hvi_error *err) {
  hvi_gang *g = m->gang;
  m->call = call;
  m->err = err;
  pthread_mutex_lock(&g->lock);
  m->waiting = true;
  append(g, m);
  pthread_cond_signal(&g->work);
  while (m->waiting) pthread_cond_wait(&m->ready, &g->lock);
  const hvi_status status = m->status;
  pthread_mutex_unlock(&g->lock);
  return status;
}

hvi_status hvi_gang_open_with(hvi_gang **gang, const hvi_device_functions *functions,
                              hvi_device_precision precision, hvi_error *err) {
  *gang = NULL;
  hvi_gang *g = hvi_alloc(1, sizeof *g);
  if (!g) return hvi_error_memory(err, "a gang of networks");
  g->functions = functions;
  hvi_status status = functions->open(&g->device, precision, err);
  if (!status) status = functions->describe(g->device, &g->about, err);
  pthread_mutex_init(&g->lock, NULL);
  pthread_cond_init(&g->work, NULL);
  if (!status && pthread_create(&g->thread, NULL, serve, g) != 0)
    status = hvi_error_set(err, HVI_ERROR_MEMORY, "the system gives no thread for the device");
  if (!status) *gang = g;
  if (status && g->device) functions->close(g->device);
  if (status) hvi_free(g);
  return status;
}

hvi_status hvi_gang_open(hvi_gang **gang, hvi_device_precision precision, hvi_error *err) {
  const hvi_module *module = NULL;
  *gang = NULL;
  HVI_TRY(hvi_module_open(&module, "gpu", err));
  return hvi_gang_open_with(gang, module->functions, precision, err);
}

void hvi_gang_close(hvi_gang *g) {
  if (!g) return;
  pthread_mutex_lock(&g->lock);
  g->closing = true;
  pthread_cond_signal(&g->work);
  pthread_mutex_unlock(&g->lock);
  pthread_join(g->thread, NULL);
  g->functions->close(g->device);
  pthread_cond_destroy(&g->work);
  pthread_mutex_destroy(&g->lock);
  hvi_free(g);
}

const hvi_device_about *hvi_gang_about(const hvi_gang *g) { return &g->about; }

hvi_status hvi_gang_failure(hvi_gang *g, hvi_error *err) {
  pthread_mutex_lock(&g->lock);
  const hvi_error failure = g->failure;
  pthread_mutex_unlock(&g->lock);
  return failure.status ? hvi_error_set(err, failure.status, "%s", failure.text) : HVI_OK;
}

void hvi_gang_seconds(hvi_gang *g, double *busy, double *idle) {
  pthread_mutex_lock(&g->lock);
  count_seconds(g);
  *busy = g->busy;
  *idle = g->idle;
  pthread_mutex_unlock(&g->lock);
}

bool hvi_gang_fits(const hvi_net *net) {
  const hvi_net_layer *head = &net->layers[net->layer_count - 1];
  const hvi_activation a = net->layers[0].activation;
  if (net->kernels->real != sizeof(float) || net->out != 1 || head->activation != HVI_IDENTITY ||
      net->layer_count > HVI_DEVICE_MOST_LAYERS || !hvi_device_knows(a))
    return false;
  for (size_t l = 0; l < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    if (y->fixed_weight || y->fixed_bias || (y != head && y->activation != a)) return false;
  }
  return true;
}

hvi_status hvi_member_new(hvi_member **member, hvi_gang *g, const hvi_net *net, hvi_error *err) {
  *member = NULL;
  hvi_member *m = hvi_alloc(1, sizeof *m);
  if (!m) return hvi_error_memory(err, "a network on a device");
  m->gang = g;
  m->dim = net->dim;
  m->shape = (hvi_device_shape){
      .layer_count = net->layer_count, .width = {net->in}, .activation = net->layers[0].activation};
  for (size_t l = 0; l < net->layer_count; l++) m->shape.width[l + 1] = net->layers[l].out;
  m->numbers = hvi_device_numbers(&m->shape);
  pthread_cond_init(&m->ready, NULL);
  const hvi_status status = ask(m, make, err);
  if (!status) *member = m;
  if (status) hvi_member_free(m);
  return status;
}

void hvi_member_free(hvi_member *m) {
  if (!m) return;
  ask(m, release, NULL);
  pthread_cond_destroy(&m->ready);
  hvi_free(m->moments);
  hvi_free(m);
}

hvi_gang *hvi_member_gang(const hvi_member *m) { return m->gang; }

double hvi_member_seconds(const hvi_member *m) { return m ? m->seconds : 0.0; }

/* Both layouts are rows one after the other: those of a layer's matrix and, as its last, the bias. */
static size_t row_length(const hvi_member *m, size_t l, size_t r) {
  return r < m->shape.width[l + 1] ? m->shape.width[l] : m->shape.width[l + 1];
}

/* Into the device's layout; whether a number there has changed. */
static bool pack(const hvi_member *m, float *to, const double *from) {
  bool changed = false;
  for (size_t l = 0; l < m->shape.layer_count; l++)
    for (size_t r = 0, n; r <= m->shape.width[l + 1]; r++, from += n, to += hvi_device_padded(n)) {
      n = row_length(m, l, r);
      for (size_t j = 0; j < n; j++) {
        const float number = (float)from[j];
        changed |= to[j] != number;
        to[j] = number;
      }
    }
  return changed;
}

static void unpack(const hvi_member *m, double *to, const float *from) {
  for (size_t l = 0; l < m->shape.layer_count; l++)
    for (size_t r = 0, n; r <= m->shape.width[l + 1]; r++, to += n, from += hvi_device_padded(n)) {
      n = row_length(m, l, r);
      for (size_t j = 0; j < n; j++) to[j] = (double)from[j];
    }
}

static void fill(double *x, size_t n, const float *from) {
  for (size_t i = 0; i < n; i++) x[i] = from ? (double)from[i] : NAN;
}

float *hvi_member_inputs(hvi_member *m, size_t rows, size_t *row) {
  *row = hvi_device_padded(m->shape.width[0]);
  m->wanted = rows;
  return rows <= m->room || !ask(m, make_room, NULL) ? m->x : NULL;
}

/* Has the device do the job, of which what is of its kind has been filled in. */
static bool compute(hvi_member *m, hvi_device_kind kind, const double *theta, const float *x,
                    size_t x_row, size_t rows) {
  size_t row;
  float *to = hvi_member_inputs(m, rows, &row);
  if (!to) return false;
  for (size_t i = 0; x && i < rows; i++)
    memcpy(to + i * row, x + i * x_row, m->shape.width[0] * sizeof *x);
  const bool changed = pack(m, m->theta, theta);
  m->kind = kind;
  m->job.net = m->net;
  m->job.rows = rows;
  m->job.x = to;
  m->job.y = m->y;
  m->job.theta = changed || !m->known ? m->theta : NULL;
  m->job.result = m->vector;
  m->known = ask(m, NULL, NULL) == HVI_OK;
  m->seconds += m->job.seconds;
  return m->known;
}

void hvi_member_eval(hvi_member *m, const double *theta, const float *x, size_t x_row, size_t rows,
                     double *y) {
  m->job = (hvi_device_job){0};
  fill(y, rows, compute(m, HVI_DEVICE_EVAL, theta, x, x_row, rows) ? m->y : NULL);
}

void hvi_member_pull(hvi_member *m, const double *theta, const float *x, size_t x_row, size_t rows,
                     const double *u, double *gradient) {
  m->job = (hvi_device_job){.u = u};
  if (compute(m, HVI_DEVICE_PULL, theta, x, x_row, rows))
    unpack(m, gradient, m->vector);
  else
    fill(gradient, m->dim, NULL);
}

void hvi_member_push(hvi_member *m, const double *theta, const float *x, size_t x_row, size_t rows,
                     const double *v, double *y) {
  pack(m, m->vector, v);
  m->job = (hvi_device_job){.v = m->vector};
  fill(y, rows, compute(m, HVI_DEVICE_PUSH, theta, x, x_row, rows) ? m->y : NULL);
}

void hvi_member_descend(hvi_member *m, double *theta, const float *x, size_t x_row, size_t rows,
                        hvi_device_descent *d, double *y) {
  d->steps = 0;
  d->loss = d->least = NAN;
  m->job = (hvi_device_job){.descent = *d};
  const bool done = compute(m, HVI_DEVICE_DESCEND, theta, x, x_row, rows);
  fill(y, rows, done ? m->y : NULL);
  if (!done) return;
  *d = m->job.descent;
  if (d->steps == 0) return; /* theta stays what it is, also beyond the digits of floats */
  unpack(m, theta, m->vector);
  float *reached = m->vector;
  m->vector = m->theta;
  m->theta = reached;
}

void hvi_member_move_state(hvi_member *m, double *power, double *first, double *second, bool put) {
  m->puts = put;
  if (put) {
    for (int i = 0; i < 2; i++) m->power[i] = power ? power[i] : 1.0;
    pack(m, m->moments, first);
    if (second) pack(m, m->moments + m->numbers, second);
  }
  if (ask(m, move_state, NULL) || put) return;
  if (power) power[0] = m->power[0], power[1] = m->power[1];
  unpack(m, first, m->moments);
  if (second) unpack(m, second, m->moments + m->numbers);
}
