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
 *   x, y     inputs and outputs of as many rows as were ever asked for; targets of such rows likewise.
 *            Inputs that come again have an x of their own, from which a network that was put aside gets
 *            them again
 *
 * Where the device has too little memory for all, members take turns. Whoever is not in the midst of a
 * descent can be put aside: its optimizer's state is kept here, its network there is freed, and both are
 * back before its next job. So a member waits only for descents that are under way; while one at the head
 * of the queue waits for them nobody else begins. What one member cannot do alone is the device's failure.
 */
#include "gpu/gang.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/module.h"

#include <pthread.h>

/* Jobs of one call, and steps that descents get on by in it: fewer where others wait, and where so many rows in
 * all take their time. */
enum { MOST_JOBS = 1024, STEPS = 10, STEPS_OF_MANY = 4, ROWS_OF_CALL = 1000000 };

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
  double busy, idle, since; /* seconds until `since` */

  /* of the gang's thread */
  hvi_member *batch[MOST_JOBS];
  hvi_device_job *jobs[MOST_JOBS];
  hvi_member *there;            /* members whose network the device has, the last to come first */
  hvi_member *later[MOST_JOBS]; /* taken out of the batch, for lack of room for their networks */
  size_t later_count, admitted; /* those who stayed in it */
  hvi_member *refused;          /* has no room until a descent has ended */
  size_t refusals;              /* one after the other */
  size_t under_way;             /* descents, all of them in the queue or in the batch */
  bool draining;                /* nothing begins before one of them has ended */
};

typedef hvi_status (*device_call)(hvi_member *m, hvi_error *err);

/* Inputs on their way, and how many of those that come again are laid out. */
typedef struct rows_there {
  float *x; /* [room][padded inputs] */
  size_t room, rows;
} rows_there;

struct hvi_member {
  hvi_gang *gang;
  hvi_device_shape shape;
  size_t dim, numbers;   /* of parameters: here, and in the device's layout */
  float *theta, *vector; /* [numbers] */
  rows_there inputs[HVI_DEVICE_ROWS];
  float *y;        /* [room] */
  double *targets; /* [4][room]: target, weight, linear, u */
  size_t room, wanted;
  hvi_device_rows whose; /* the wanted ones */
  bool joined;           /* is one of the gang's members */
  bool puts;             /* its state, or gets it */
  float *moments;        /* [2][numbers] */
  double power[2], seconds;

  device_call call; /* what is asked for: this or, where it is NULL, the job */
  hvi_device_kind kind;
  hvi_device_job job;
  bool waiting;
  hvi_status status;
  hvi_error *err;
  pthread_cond_t ready;
  hvi_member *next;

  /* of the gang's thread */
  hvi_device_net *net; /* NULL: put aside, or not made yet */
  hvi_member *beside;  /* the next one there */
  bool bare;           /* the network there has no parameters yet */
  bool stays;          /* is in the batch */
  bool under_way;      /* in the midst of a descent */
  float *aside;        /* [2][numbers] of one that was put aside */
  double aside_power[2];
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
  while (g->draining && !model->under_way) model = model->next;
  g->first = g->last = NULL;
  for (hvi_member *next; m; m = next) {
    next = m->next;
    const bool joins = !model->call && !m->call && m->kind == model->kind && count < MOST_JOBS &&
                       (m->under_way || !g->draining) && same_shape(&m->shape, &model->shape);
    if (joins || m == model)
      g->batch[count++] = m;
    else
      append(g, m);
  }
  return count;
}

/* Zeros, and what fills up a row stays so. */
static void *take(const hvi_member *m, size_t count, size_t size) {
  void *p = m->gang->functions->host_alloc(count * size);
  return p ? memset(p, 0, count * size) : NULL;
}

static void give(const hvi_member *m, void *p) {
  if (p) m->gang->functions->host_free(p);
}

static void free_net(hvi_member *m) {
  hvi_member **at = &m->gang->there;
  if (!m->net) return;
  while (*at != m) at = &(*at)->beside;
  *at = m->beside;
  m->gang->functions->net_free(m->net);
  m->net = NULL;
}

/* The parameters are here anyway. */
static hvi_status put_aside(hvi_member *m, hvi_error *err) {
  const hvi_device_functions *f = m->gang->functions;
  if (!m->aside) m->aside = hvi_alloc(2 * m->numbers, sizeof *m->aside);
  if (!m->aside) return hvi_error_memory(err, "a network beside the device");
  HVI_TRY(f->move_state(m->net, false, m->aside_power, m->aside, m->aside + m->numbers, err));
  free_net(m);
  return HVI_OK;
}

/* Puts at most so many members aside, the last to come first; *gone: how many. Whoever comes in turns
 * with many others then disturbs few of them. */
static hvi_status make_way(hvi_gang *g, size_t most, size_t *gone, hvi_error *err) {
  *gone = 0;
  for (hvi_member *m = g->there, *next; m && *gone < most; m = next) {
    next = m->beside;
    if (m->stays || m->under_way) continue;
    HVI_TRY(put_aside(m, err));
    ++*gone;
  }
  return HVI_OK;
}

/* The member's network is there, and its state as it was; others are put aside for it. */
static hvi_status come(hvi_member *m, hvi_error *err) {
  hvi_gang *g = m->gang;
  const hvi_device_functions *f = g->functions;
  hvi_status status;
  size_t gone = 1;
  if (m->net) return HVI_OK;
  while ((status = f->net_new(&m->net, g->device, &m->shape, err)) == HVI_ERROR_MEMORY && gone > 0)
    HVI_TRY(make_way(g, 1, &gone, err));
  if (status) return status;
  m->beside = g->there;
  g->there = m;
  m->bare = true;
  if (!m->aside) return HVI_OK;
  return f->move_state(m->net, true, m->aside_power, m->aside, m->aside + m->numbers, err);
}

/* Calls of the device for one member, which may be made again where memory was lacking. */
static hvi_status make(hvi_member *m, hvi_error *err) {
  if (!m->theta) m->theta = take(m, m->numbers, sizeof *m->theta);
  if (!m->vector) m->vector = take(m, m->numbers, sizeof *m->vector);
  if (!m->moments) m->moments = hvi_alloc(2 * m->numbers, sizeof *m->moments);
  if (!m->theta || !m->vector || !m->moments)
    return hvi_error_memory(err, "a network's way to the device");
  return come(m, err);
}

static hvi_status release(hvi_member *m, hvi_error *err) {
  (void)err;
  void *const buffers[] = {m->theta, m->vector, m->y, m->targets};
  for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) give(m, buffers[i]);
  for (size_t i = 0; i < HVI_DEVICE_ROWS; i++) give(m, m->inputs[i].x);
  free_net(m);
  return HVI_OK;
}

static bool has_room(const hvi_member *m, hvi_device_rows whose, size_t rows) {
  return rows <= m->room && rows <= m->inputs[whose].room;
}

static hvi_status make_room(hvi_member *m, hvi_error *err) {
  rows_there *in = &m->inputs[m->whose];
  const size_t room =
      m->wanted + m->wanted % 2; /* each array of targets at a multiple of 16 bytes */
  if (room > in->room) {
    give(m, in->x);
    *in = (rows_there){.x = take(m, room * hvi_device_padded(m->shape.width[0]), sizeof *in->x)};
    if (in->x) in->room = room;
  }
  if (room > m->room) {
    give(m, m->y), give(m, m->targets);
    m->y = take(m, room, sizeof *m->y);
    m->targets = take(m, 4 * room, sizeof *m->targets);
    m->room = m->y && m->targets ? room : 0;
  }
  if (!has_room(m, m->whose, room)) return hvi_error_memory(err, "rows on their way to the device");
  return HVI_OK;
}

static hvi_status move_state(hvi_member *m, hvi_error *err) {
  HVI_TRY(come(m, err));
  return m->gang->functions->move_state(m->net, m->puts, m->power, m->moments,
                                        m->moments + m->numbers, err);
}

/* One that finds no room, with all that can be put aside. It waits for descents of others to end, unless
 * there are none, or none of them finds room either. */
static hvi_status refuse(hvi_gang *g, hvi_member *m, hvi_error *err) {
  const size_t others = g->under_way - m->under_way;
  const hvi_error why = *err;
  if (others == 0 || g->refusals++ > g->under_way)
    return hvi_error_set(err, HVI_ERROR_MEMORY, "%.300s, with no other network there", why.text);
  g->refused = m;
  g->draining = true;
  return HVI_OK;
}

/* Leaves those of the batch that the device has room for, in their order. Those who were put aside for
 * the first ones are out, too: they are of one size, and would find no room. */
static hvi_status admit(hvi_gang *g, size_t *count, hvi_error *err) {
  hvi_status status = HVI_OK;
  size_t in = 0;
  for (size_t i = 0; i < *count; i++) {
    hvi_member *m = g->batch[i];
    if (!status) status = come(m, err);
    if (status && status != HVI_ERROR_MEMORY) return status;
    m->stays = m->net;
    *(m->net ? &g->batch[in++] : &g->later[g->later_count++]) = m;
  }
  *count = g->admitted = in;
  if (in > 0) return HVI_OK;
  HVI_TRY(refuse(g, g->later[0], err));
  memmove(g->later, g->later + 1, --g->later_count * sizeof *g->later);
  return HVI_OK;
}

/* The first half of the jobs, or none where there is no room for the one: not even on a network that is made
 * anew, without the rows of other jobs. */
static hvi_status cut(hvi_gang *g, size_t *count, hvi_error *err) {
  hvi_member *m = g->batch[0];
  if (*count == 1 && !m->bare && !m->under_way) {
    HVI_TRY(put_aside(m, err));
    const hvi_status status = come(m, err);
    if (status != HVI_ERROR_MEMORY) return status;
  }
  if (*count == 1) HVI_TRY(refuse(g, m, err));
  for (size_t i = *count / 2; i < *count; i++) g->batch[i]->stays = false;
  *count /= 2;
  return HVI_OK;
}

/* Has the device run jobs of the batch, *count in the end. */
static hvi_status run_jobs(hvi_gang *g, size_t *count, size_t steps, hvi_error *err) {
  hvi_status status = admit(g, count, err);
  for (size_t way = 1, gone; !status && *count > 0; way *= 2) {
    for (size_t i = 0; i < *count; i++) {
      hvi_member *m = g->batch[i];
      g->jobs[i] = &m->job;
      m->job.net = m->net;
      if (m->bare) m->job.theta = m->theta;
    }
    status = g->functions->run(g->device, g->batch[0]->kind, g->jobs, *count, steps, err);
    if (!status) g->refusals = 0;
    if (status != HVI_ERROR_MEMORY) break;
    const hvi_error why = *err;
    status = make_way(g, way, &gone, err);
    if (status || gone > 0) continue;
    *err = why;
    status = cut(g, count, err);
  }
  for (size_t i = 0; i < *count; i++) g->batch[i]->stays = false;
  return status;
}

static hvi_status run_call(hvi_gang *g, size_t *count, hvi_error *err) {
  hvi_member *m = g->batch[0];
  const hvi_status status = m->call(m, err);
  if (status != HVI_ERROR_MEMORY) return status;
  HVI_TRY(refuse(g, m, err));
  *count = 0;
  return HVI_OK;
}

/* Those who were not served come before others, in their order. One without room that is under way goes
 * to the end instead, and they with it, so that each of those under way is the first in its turn. */
static void put_back(hvi_gang *g, size_t served) {
  hvi_member *refused = g->refused, *rest = g->first, *last = g->last;
  const bool behind = refused && refused->under_way;
  if (!behind) g->first = g->last = NULL;
  if (refused && !behind) append(g, refused);
  for (size_t i = 0; i < g->later_count; i++) append(g, g->later[i]);
  for (size_t i = served; i < g->admitted; i++)
    if (g->batch[i] != refused) append(g, g->batch[i]);
  if (behind) append(g, refused);
  if (!behind && rest) *(g->first ? &g->last->next : &g->first) = rest, g->last = last;
  g->later_count = g->admitted = 0;
  g->refused = NULL;
}

/* Those who were served go on, or stay in the queue. */
static void let_go(hvi_gang *g, size_t count, hvi_status status) {
  for (size_t i = 0; i < count; i++) {
    hvi_member *m = g->batch[i];
    m->waiting = !status && !m->call && !m->job.done;
    m->status = status;
    if (!m->call) m->bare = false;
    if (m->under_way && !m->waiting) g->draining = false;
    g->under_way -= m->under_way;
    g->under_way += m->under_way = m->waiting;
    if (m->waiting)
      append(g, m);
    else
      pthread_cond_signal(&m->ready);
  }
  put_back(g, count);
}

static size_t steps_for(const hvi_gang *g, size_t count) {
  const size_t steps = g->first ? STEPS_OF_MANY : STEPS;
  size_t rows = 1;
  for (size_t i = 0; i < count; i++) rows += g->batch[i]->job.rows;
  const size_t few = ROWS_OF_CALL / rows;
  return few > steps ? steps : few > 0 ? few : 1;
}

/* What the head of the queue asks for; the lock is let go meanwhile. */
static void serve_some(hvi_gang *g) {
  size_t count = gather(g);
  hvi_member *head = g->batch[0];
  const device_call call = head->call;
  const size_t steps = steps_for(g, count);
  hvi_status status = g->failure.status;
  hvi_error why = g->failure;
  if (!status || call == release) {
    count_seconds(g);
    g->computes = !call;
    pthread_mutex_unlock(&g->lock);
    status = call ? run_call(g, &count, &why) : run_jobs(g, &count, steps, &why);
    pthread_mutex_lock(&g->lock);
    count_seconds(g);
    g->computes = false;
    g->members -= head->joined;
    head->joined = call == make ? !status && count > 0 : head->joined && call != release;
    g->members += head->joined;
    if (status) g->failure = why, g->failure.status = status;
  }
  if (status && head->err) *head->err = why;
  let_go(g, count, status);
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

static void free_gang(hvi_gang *g) {
  if (g->device) g->functions->close(g->device);
  pthread_cond_destroy(&g->work);
  pthread_mutex_destroy(&g->lock);
  hvi_free(g);
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
  if (status)
    free_gang(g);
  else
    *gang = g;
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
  free_gang(g);
}

const hvi_device_about *hvi_gang_about(const hvi_gang *g) { return &g->about; }

hvi_status hvi_gang_failure(hvi_gang *g, hvi_error *err) {
  pthread_mutex_lock(&g->lock);
  const hvi_error failure = g->failure;
  pthread_mutex_unlock(&g->lock);
  return failure.status ? hvi_error_set(err, failure.status, "%s", failure.text) : HVI_OK;
}

const hvi_device_functions *hvi_gang_device(const hvi_gang *g, hvi_device **device) {
  *device = g->device;
  return g->functions;
}

hvi_status hvi_gang_note(hvi_gang *g, hvi_status status, const hvi_error *err) {
  if (!status) return HVI_OK;
  pthread_mutex_lock(&g->lock);
  if (err) g->failure = *err;
  g->failure.status = status;
  pthread_mutex_unlock(&g->lock);
  return status;
}

void hvi_gang_seconds(hvi_gang *g, double *busy, double *idle) {
  pthread_mutex_lock(&g->lock);
  count_seconds(g);
  *busy = g->busy, *idle = g->idle;
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
  m->gang = g, m->dim = net->dim;
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
  hvi_free(m->aside);
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

float *hvi_member_inputs(hvi_member *m, hvi_device_rows whose, size_t rows, size_t *row) {
  *row = hvi_device_padded(m->shape.width[0]);
  m->wanted = rows, m->whose = whose;
  if (!has_room(m, whose, rows) && ask(m, make_room, NULL)) return NULL;
  return whose && m->inputs[whose].rows == rows ? NULL : m->inputs[whose].x;
}

/* The job's arrays of rows, where the device can reach them. */
static void lay_out(hvi_member *m, size_t rows) {
  hvi_device_descent *d = &m->job.descent;
  const double **const arrays[] = {&d->target, &d->weight, &d->linear, &m->job.u};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    if (*arrays[i])
      *arrays[i] = memcpy(m->targets + i * m->room, *arrays[i], rows * sizeof *m->targets);
}

/* Has the device do the job, of which what is of its kind has been filled in. */
static bool compute(hvi_member *m, hvi_device_kind kind, const double *theta,
                    const hvi_inputs *in) {
  size_t row;
  float *to = hvi_member_inputs(m, in->whose, in->rows, &row);
  if (!has_room(m, in->whose, in->rows)) return false;
  for (size_t i = 0; to && in->x && i < in->rows; i++)
    memcpy(to + i * row, in->x + i * in->row, m->shape.width[0] * sizeof *to);
  m->inputs[in->whose].rows = in->rows;
  lay_out(m, in->rows);
  const bool changed = pack(m, m->theta, theta);
  m->kind = kind;
  m->job.rows = in->rows, m->job.whose = in->whose;
  m->job.x = m->inputs[in->whose].x, m->job.y = m->y;
  m->job.theta = changed ? m->theta : NULL;
  m->job.result = m->vector;
  const bool done = ask(m, NULL, NULL) == HVI_OK;
  m->seconds += m->job.seconds;
  return done;
}

void hvi_member_eval(hvi_member *m, const double *theta, const hvi_inputs *in, double *y) {
  m->job = (hvi_device_job){0};
  fill(y, in->rows, compute(m, HVI_DEVICE_EVAL, theta, in) ? m->y : NULL);
}

void hvi_member_pull(hvi_member *m, const double *theta, const hvi_inputs *in, const double *u,
                     double *gradient) {
  m->job = (hvi_device_job){.u = u};
  if (compute(m, HVI_DEVICE_PULL, theta, in))
    unpack(m, gradient, m->vector);
  else
    fill(gradient, m->dim, NULL);
}

void hvi_member_push(hvi_member *m, const double *theta, const hvi_inputs *in, const double *v,
                     double *y) {
  pack(m, m->vector, v);
  m->job = (hvi_device_job){.v = m->vector};
  fill(y, in->rows, compute(m, HVI_DEVICE_PUSH, theta, in) ? m->y : NULL);
}

void hvi_member_descend(hvi_member *m, double *theta, const hvi_inputs *in, hvi_device_descent *d,
                        double *y) {
  d->steps = 0;
  d->loss = d->least = NAN;
  m->job = (hvi_device_job){.descent = *d};
  const bool done = compute(m, HVI_DEVICE_DESCEND, theta, in);
  fill(y, in->rows, done ? m->y : NULL);
  if (!done) return;
  d->steps = m->job.descent.steps;
  d->loss = m->job.descent.loss, d->least = m->job.descent.least;
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
