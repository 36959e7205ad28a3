#include "study/work.h"

#include "base/base.h"
#include "base/parallel.h"

#include <pthread.h>

void hvi_bytes_add(hvi_bytes *b, const void *data, size_t size) {
  if (b->failed || size == 0) return;
  if (size > b->room - b->size) {
    const size_t room = 2 * b->room > b->size + size ? 2 * b->room : b->size + size;
    unsigned char *grown = hvi_alloc(room, 1);
    if (!grown) {
      b->failed = true;
      return;
    }
    if (b->size) memcpy(grown, b->data, b->size);
    hvi_free(b->data);
    b->data = grown;
    b->room = room;
  }
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

void hvi_bytes_free(hvi_bytes *b) {
  hvi_free(b->data);
  *b = (hvi_bytes){0};
}

static const size_t NONE = (size_t)-1;

typedef struct unit {
  double cost;
  size_t group;
  bool taken; /* or done before */
} unit;

typedef struct group {
  size_t waiting; /* units that nobody has taken */
  size_t active;  /* units under way */
} group;

/* The units of a run over threads, and who is on which group. */
typedef struct pool {
  const hvi_work *work;
  pthread_mutex_t lock;
  unit *units;   /* [work->count] */
  group *groups; /* [group_count] */
  size_t *at;    /* [workers] the group that a worker stays with */
  size_t group_count, pending;
  bool stopped;
} pool;

static size_t choose_group(const pool *p, size_t worker) {
  const size_t own = p->at[worker];
  if (own != NONE && p->groups[own].waiting) return own;
  for (size_t g = 0; g < p->group_count; g++)
    if (p->groups[g].waiting && !p->groups[g].active) return g;
  for (size_t g = 0; g < p->group_count; g++)
    if (p->groups[g].waiting) return g;
  return NONE;
}

/* The dearest unit of the group that suits the worker; NONE when nothing is left. */
static size_t take(pool *p, size_t worker) {
  const size_t g = p->stopped ? NONE : choose_group(p, worker);
  size_t best = NONE;
  for (size_t i = 0; g != NONE && i < p->work->count; i++) {
    const unit *u = &p->units[i];
    if (u->group == g && !u->taken && (best == NONE || u->cost > p->units[best].cost)) best = i;
  }
  if (best == NONE) return NONE;
  p->units[best].taken = true;
  p->groups[g].waiting--;
  p->groups[g].active++;
  p->at[worker] = g;
  return best;
}

static hvi_status give_back(pool *p, size_t i, const hvi_bytes *bytes, hvi_error *err) {
  const hvi_work *w = p->work;
  group *g = &p->groups[p->units[i].group];
  hvi_status status = HVI_OK;
  if (bytes->size == 0)
    p->stopped = true;
  else
    status = w->accept(w->context, i, bytes, err);
  if (--g->active == 0 && g->waiting == 0 && w->leave) w->leave(w->context, p->units[i].group);
  return status;
}

static hvi_status run_next(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk;
  pool *p = context;
  hvi_bytes bytes = {0};
  pthread_mutex_lock(&p->lock);
  const size_t i = take(p, worker);
  pthread_mutex_unlock(&p->lock);
  if (i == NONE) return HVI_OK;
  hvi_status status = p->work->run(p->work->context, i, worker, &bytes, err);
  if (!status && bytes.failed) status = hvi_error_memory(err, "the result of a cell");
  pthread_mutex_lock(&p->lock);
  if (!status) status = give_back(p, i, &bytes, err);
  pthread_mutex_unlock(&p->lock);
  hvi_bytes_free(&bytes);
  return status;
}

static hvi_status fill(pool *p, const bool *done, size_t workers, hvi_error *err) {
  const hvi_work *w = p->work;
  p->units = hvi_alloc(w->count, sizeof *p->units);
  p->at = hvi_alloc(workers, sizeof *p->at);
  if (!p->units || !p->at) return hvi_error_memory(err, "the cells of a study");
  for (size_t i = 0; i < workers; i++) p->at[i] = NONE;
  for (size_t i = 0; i < w->count; i++) {
    p->units[i] = (unit){.cost = w->cost ? w->cost(w->context, i) : 1.0,
                         .group = w->group ? w->group(w->context, i) : 0,
                         .taken = done && done[i]};
    if (p->units[i].group >= p->group_count) p->group_count = p->units[i].group + 1;
  }
  p->groups = hvi_alloc(p->group_count, sizeof *p->groups);
  if (!p->groups) return hvi_error_memory(err, "the cells of a study");
  for (size_t i = 0; i < w->count; i++) {
    if (p->units[i].taken) continue;
    p->groups[p->units[i].group].waiting++;
    p->pending++;
  }
  return HVI_OK;
}

hvi_status hvi_work_on_threads(const hvi_work *work, const bool *done, size_t threads,
                               bool *stopped, hvi_error *err) {
  pool p = {.work = work};
  if (threads == 0) threads = hvi_parallel_cores();
  hvi_status status = fill(&p, done, threads, err);
  if (!status && pthread_mutex_init(&p.lock, NULL) != 0) status = hvi_error_memory(err, "a lock");
  if (!status) {
    status = hvi_parallel_run(p.pending, threads, run_next, &p, err);
    pthread_mutex_destroy(&p.lock);
  }
  *stopped = p.stopped;
  hvi_free(p.units);
  hvi_free(p.groups);
  hvi_free(p.at);
  return status;
}
