/*
 * Pieces over threads. A worker stays with the stream it has, then opens the next one, and helps
 * another worker only when no stream is left: streams are made side by side, and there are never
 * more of them in memory than workers. Which worker runs a piece has no say in its result.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "experiments/value_study.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

static const size_t NOWHERE = (size_t)-1;

typedef struct group {
  hvi_study_stream *stream;
  size_t rows;    /* of the stream */
  size_t waiting; /* pieces that nobody has taken */
  size_t active;  /* pieces under way */
} group;

typedef struct crew {
  hvi_study *study;
  pthread_mutex_t lock;
  group *groups;
  size_t group_count;
  size_t *at; /* [workers] the group a worker is on */
  size_t pending, finished;
  double total, done; /* costs of pieces */
  double *share;      /* [workers] cost done of the piece under way */
  size_t workers;
} crew;

/* A worker's piece, told to tick. */
typedef struct watch {
  crew *crew;
  size_t worker;
  const hvi_study_piece *piece;
} watch;

static bool tick(void *context, double share) {
  const watch *w = context;
  crew *c = w->crew;
  hvi_run *run = c->study->run;
  const hvi_contender *who = &run->experiment->contenders[w->piece->contender];
  char doing[128];
  pthread_mutex_lock(&c->lock);
  c->share[w->worker] = share * w->piece->cost;
  double done = c->done;
  for (size_t i = 0; i < c->workers; i++) done += c->share[i];
  snprintf(doing, sizeof doing, "%s, seed %llu, run %zu of %zu", who->label,
           (unsigned long long)w->piece->seed, c->finished + 1, c->pending);
  const bool go_on = !run->stopped && hvi_run_progress(run, doing, fmin(done / c->total, 1.0));
  pthread_mutex_unlock(&c->lock);
  return go_on;
}

static hvi_study_piece *dearest_of(crew *c, size_t g) {
  hvi_study_piece *best = NULL;
  for (size_t i = 0; i < c->study->piece_count; i++) {
    hvi_study_piece *p = &c->study->pieces[i];
    if (p->group == g && !p->taken && !p->finished && (!best || p->cost > best->cost)) best = p;
  }
  return best;
}

static size_t choose_group(const crew *c, size_t worker) {
  const size_t own = c->at[worker];
  if (own != NOWHERE && c->groups[own].waiting) return own;
  for (size_t g = 0; g < c->group_count; g++)
    if (c->groups[g].waiting && !c->groups[g].active && !c->groups[g].stream) return g;
  for (size_t g = 0; g < c->group_count; g++)
    if (c->groups[g].waiting) return g;
  return NOWHERE;
}

/* The stream is made by the first that needs it, under the lock: that takes no time. */
static hvi_status take(crew *c, size_t worker, hvi_study_piece **piece, hvi_error *err) {
  const size_t g = choose_group(c, worker);
  hvi_status status = HVI_OK;
  *piece = g == NOWHERE ? NULL : dearest_of(c, g);
  if (!*piece) return HVI_OK;
  group *at = &c->groups[g];
  const hvi_scale *s = c->study->run->scale;
  if (!at->stream)
    status = hvi_study_stream_new(&at->stream, &c->study->sites[(*piece)->place], (*piece)->seed,
                                  hvi_study_batch(s), at->rows, err);
  if (status) return status;
  (*piece)->taken = true;
  at->waiting--;
  at->active++;
  c->at[worker] = g;
  return HVI_OK;
}

static void give_back(crew *c, size_t worker, hvi_study_piece *piece, bool finished) {
  group *at = &c->groups[piece->group];
  at->active--;
  if (finished) {
    piece->finished = true;
    c->finished++;
    c->done += piece->cost;
  }
  c->share[worker] = 0.0;
  if (at->waiting || at->active) return;
  hvi_study_stream_free(at->stream);
  at->stream = NULL;
  c->at[worker] = NOWHERE;
}

static hvi_status run_next(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk;
  crew *c = context;
  hvi_study_piece *piece = NULL;
  pthread_mutex_lock(&c->lock);
  hvi_status status = c->study->run->stopped ? HVI_OK : take(c, worker, &piece, err);
  pthread_mutex_unlock(&c->lock);
  if (!piece || status) return status;
  watch w = {c, worker, piece};
  hvi_study_tap tap;
  hvi_study_tap_open(&tap, c->groups[piece->group].stream);
  status = hvi_study_piece_run(c->study, piece, &tap, tick, &w, err);
  pthread_mutex_lock(&c->lock);
  give_back(c, worker, piece, !status && !c->study->run->stopped);
  pthread_mutex_unlock(&c->lock);
  return status;
}

/* Rows that a piece goes through: its buffer, its steps, and the batch that is drawn ahead. */
static size_t rows_of(const hvi_study *study, const hvi_study_piece *p) {
  const hvi_scale *s = study->run->scale;
  if (s->offline) return s->offline;
  const size_t buffer = study->run->experiment->contenders[p->contender].value.buffer;
  return (buffer + hvi_study_steps(s, &p->settings) + 1) * hvi_study_batch(s);
}

static hvi_status assemble(crew *c, hvi_error *err) {
  hvi_study *study = c->study;
  for (size_t i = 0; i < study->piece_count; i++)
    if (study->pieces[i].group >= c->group_count) c->group_count = study->pieces[i].group + 1;
  const size_t threads = study->run->threads;
  c->workers = threads ? threads : hvi_parallel_cores();
  c->groups = hvi_alloc(c->group_count, sizeof *c->groups);
  c->at = hvi_alloc(c->workers, sizeof *c->at);
  c->share = hvi_alloc_doubles(c->workers);
  if (!c->groups || !c->at || !c->share) return hvi_error_memory(err, "an experiment");
  for (size_t i = 0; i < c->workers; i++) c->at[i] = NOWHERE;
  for (size_t i = 0; i < study->piece_count; i++) {
    const hvi_study_piece *p = &study->pieces[i];
    group *g = &c->groups[p->group];
    const size_t rows = rows_of(study, p);
    c->total += p->cost;
    if (p->finished) {
      c->done += p->cost;
      continue;
    }
    g->waiting++;
    c->pending++;
    if (rows > g->rows) g->rows = rows;
  }
  return HVI_OK;
}

hvi_status hvi_study_work(hvi_study *study, hvi_error *err) {
  crew c = {.study = study};
  hvi_status status = assemble(&c, err);
  if (!status && pthread_mutex_init(&c.lock, NULL) != 0) status = hvi_error_memory(err, "a lock");
  if (!status) {
    status = hvi_parallel_run(c.pending, c.workers, run_next, &c, err);
    pthread_mutex_destroy(&c.lock);
  }
  for (size_t g = 0; c.groups && g < c.group_count; g++) hvi_study_stream_free(c.groups[g].stream);
  hvi_free(c.groups);
  hvi_free(c.at);
  hvi_free(c.share);
  return status;
}
