#include "study/work.h"

#include "base/base.h"
#include "base/parallel.h"

#include <pthread.h>

static const size_t NONE = (size_t)-1;

typedef struct group {
  size_t waiting; /* units that nobody has taken */
  size_t active;  /* units under way */
} group;

/* The units of a run over threads, and who is on which group. */
typedef struct pool {
  const hvi_work *work;
  pthread_mutex_t lock;
  group *groups; /* [group_count] */
  size_t *at;    /* [workers] the group that a worker stays with */
  size_t group_count;
  bool stopped;
} pool;

static size_t choose_group(const pool *p, size_t worker) {
  const size_t own = p->at[worker];
  if (own != NONE && p->groups[own].waiting) return own;
  for (int others = 0; others < 2; others++)
    for (size_t g = 0; g < p->group_count; g++)
      if (p->groups[g].waiting && (others || !p->groups[g].active)) return g;
  return NONE;
}

/* The dearest unit of the group that suits the worker; NONE when nothing is left. */
static size_t take(pool *p, size_t worker) {
  const size_t g = p->stopped ? NONE : choose_group(p, worker);
  size_t best = NONE;
  for (size_t i = 0; g != NONE && i < p->work->count; i++) {
    const hvi_unit *u = &p->work->units[i];
    if (u->group == g && !u->taken && (best == NONE || u->cost > p->work->units[best].cost))
      best = i;
  }
  if (best == NONE) return NONE;
  p->work->units[best].taken = true;
  p->groups[g].waiting--;
  p->groups[g].active++;
  p->at[worker] = g;
  return best;
}

static hvi_status give_back(pool *p, size_t i, const hvi_text *bytes, hvi_error *err) {
  const hvi_work *w = p->work;
  group *g = &p->groups[w->units[i].group];
  hvi_status status = HVI_OK;
  if (bytes->length == 0)
    p->stopped = true;
  else
    status = w->accept(w->context, i, bytes, err);
  if (--g->active == 0 && g->waiting == 0 && w->leave) w->leave(w->context, w->units[i].group);
  return status;
}

static hvi_status run_next(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk;
  pool *p = context;
  HVI_OWN_BY(hvi_text_free) hvi_text bytes = {0};
  pthread_mutex_lock(&p->lock);
  const size_t i = take(p, worker);
  pthread_mutex_unlock(&p->lock);
  if (i == NONE) return HVI_OK;
  HVI_TRY(p->work->run(p->work->context, i, &bytes, err));
  if (bytes.failed) return hvi_error_memory(err, "the result of a cell");
  pthread_mutex_lock(&p->lock);
  const hvi_status status = give_back(p, i, &bytes, err);
  pthread_mutex_unlock(&p->lock);
  return status;
}

hvi_status hvi_work_on_threads(const hvi_work *work, size_t threads, bool *stopped,
                               hvi_error *err) {
  pool p = {.work = work, .lock = PTHREAD_MUTEX_INITIALIZER};
  const hvi_unit *units = work->units, *end = units + work->count;
  size_t pending = 0;
  if (threads == 0) threads = hvi_parallel_cores();
  for (const hvi_unit *u = units; u < end; u++)
    if (u->group >= p.group_count) p.group_count = u->group + 1;
  HVI_OWN size_t *at = p.at = hvi_alloc(threads, sizeof *at);
  HVI_OWN group *groups = p.groups = hvi_alloc(p.group_count, sizeof *groups);
  if (!at || !groups) return hvi_error_memory(err, "the cells of a study");
  for (size_t i = 0; i < threads; i++) at[i] = NONE;
  for (const hvi_unit *u = units; u < end; u++) {
    groups[u->group].waiting += !u->taken;
    pending += !u->taken;
  }
  const hvi_status status = hvi_parallel_run(pending, threads, run_next, &p, err);
  if (p.stopped) *stopped = true;
  return status;
}
