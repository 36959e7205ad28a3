/*
 * kind: value. Policy evaluation with networks: every method on every seed of every environment.
 *
 * The policy does not depend on theta, so all methods of a seed see the same batches, which are
 * simulated once, and each is charged for them. The seed gives the first parameters too.
 * A cell is an evaluation (hvi/evaluate.h) with checkpoints; its rows are the measurements.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/text.h"
#include "study/kinds.h"
#include "study/task.h"
#include "study/value_tables.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Transitions of a seed, simulated once and read by several threads, each of which is charged for it.
 *
 * A collector's rows never move, so a reader needs no copy, only a data set of its own whose count
 * is what it has asked for. Collection is charged by batches: what the first k batches cost is
 * settled when they are made, and is the same for every reader.
 */
typedef struct shared_stream {
  pthread_mutex_t lock;
  hvi_collector *collector;
  size_t batch, batches, priced; /* batches there is room for; whose price is settled */
  double *price;                 /* [batches + 1] seconds of the first k batches */
} shared_stream;

static void stream_free(shared_stream *s) {
  if (!s) return;
  hvi_collector_free(s->collector);
  pthread_mutex_destroy(&s->lock);
  hvi_free(s->price);
  hvi_free(s);
}

static hvi_status stream_new(shared_stream **stream, const hvi_task *task, uint64_t seed,
                             size_t batch, size_t rows, hvi_error *err) {
  shared_stream *s = *stream = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "a stream");
  s->batch = batch;
  s->batches = (rows + batch - 1) / batch;
  s->price = hvi_alloc_doubles(s->batches + 1);
  if (!s->price || pthread_mutex_init(&s->lock, NULL) != 0) {
    hvi_free(s->price);
    hvi_free(s);
    *stream = NULL;
    return hvi_error_memory(err, "a stream");
  }
  const hvi_status status =
      hvi_collector_new(&s->collector, task->env, task->policy, seed, 1, s->batches * batch, err);
  if (status) {
    stream_free(s);
    *stream = NULL;
  }
  return status;
}

/* One reader: its data set has as many rows as it has asked for. */
typedef struct stream_reader {
  shared_stream *stream;
  hvi_dataset data;
} stream_reader;

static void reader_open(stream_reader *reader, shared_stream *stream) {
  pthread_mutex_lock(&stream->lock);
  *reader = (stream_reader){stream, *hvi_collector_data(stream->collector)};
  pthread_mutex_unlock(&stream->lock);
  reader->data.count = 0;
}

/* Prices of batches that are new, at the mean speed so far: episodes are made in groups, ahead of
 * what is asked for. */
static void settle(shared_stream *s, size_t batches) {
  const hvi_collector_cost cost = hvi_collector_spent(s->collector);
  const double each = cost.steps > 0 ? cost.seconds * (double)s->batch / (double)cost.steps : 0.0;
  for (; s->priced < batches; s->priced++) {
    s->price[s->priced + 1] = fmax(s->price[s->priced], each * (double)(s->priced + 1));
  }
}

/* The function `grow` of an hvi_stream; context is the reader. */
static hvi_status reader_grow(void *context, size_t rows, double *seconds, hvi_error *err) {
  stream_reader *reader = context;
  shared_stream *s = reader->stream;
  const size_t batches = (rows + s->batch - 1) / s->batch;
  if (batches > s->batches)
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%zu rows of a stream of %zu", rows,
                         s->batches * s->batch);
  pthread_mutex_lock(&s->lock);
  hvi_status status = HVI_OK;
  if (batches > s->priced) status = hvi_collector_need(s->collector, batches * s->batch, err);
  if (!status) {
    settle(s, batches);
    *seconds = s->price[batches];
    if (rows > reader->data.count) reader->data.count = rows;
  }
  pthread_mutex_unlock(&s->lock);
  return status;
}

/* What the cells share. */
typedef struct shared {
  hvi_task tasks[HVI_MOST_ENVIRONMENTS];
  pthread_mutex_t lock;    /* of the streams */
  shared_stream **streams; /* [environments][seeds] */
  size_t seeds;
} shared;

static size_t batch_of(const hvi_part *p) { return p->scale.batch ? p->scale.batch : 1000; }

static size_t measures_of(const hvi_part *p) { return p->scale.measures ? p->scale.measures : 40; }

/* Outer steps of a method: as many gradients for each where the size says so. */
static size_t steps_of(const hvi_part *p, const hvi_settings *s) {
  if (!p->scale.gradients) return p->scale.iterations;
  const size_t inner = s->baseline || !s->inner_steps ? 1 : s->inner_steps;
  return p->scale.gradients > inner ? p->scale.gradients / inner : 1;
}

static const hvi_task *task_of(const hvi_cell *c) {
  const shared *s = c->part->shared;
  return &s->tasks[hvi_cell_level(c, "environment")];
}

static size_t group_of(const hvi_cell *c) {
  const shared *s = c->part->shared;
  return hvi_cell_level(c, "environment") * s->seeds + hvi_cell_level(c, "seed");
}

static void leave(hvi_part *part, size_t group) {
  shared *s = part->shared;
  stream_free(s->streams[group]);
  s->streams[group] = NULL;
}

/* In inner steps; a threshold ends them about half way. */
static double cost_of(const hvi_cell *c) {
  hvi_settings s;
  if (*task_of(c)->missing || hvi_cell_settings(&s, c, NULL)) return 0.0;
  double inner = s.baseline ? 2.0 : (double)s.inner_steps;
  if (s.alpha > 0.0) inner *= 0.5;
  const double gap = c->part->value->gap ? 500.0 * (double)measures_of(c->part) : 0.0;
  return (double)steps_of(c->part, &s) * (inner + 1.0) + gap;
}

/* Rows that a cell goes through: its buffer, its steps, and the batch that is drawn ahead. */
static size_t rows_of(const hvi_part *p, const hvi_arm *arm) {
  if (p->scale.offline) return p->scale.offline;
  return (arm->value.buffer + steps_of(p, &arm->settings) + 1) * batch_of(p);
}

/* The stream of a cell, made by the first that needs it, long enough for all of its group. */
static hvi_status open_reader(stream_reader *r, const hvi_cell *c, hvi_error *err) {
  shared *s = c->part->shared;
  shared_stream **stream = &s->streams[group_of(c)];
  size_t rows = 0;
  for (size_t m = 0; m < c->part->method_count; m++) {
    const size_t own = rows_of(c->part, &c->part->methods[m]);
    if (own > rows) rows = own;
  }
  pthread_mutex_lock(&s->lock);
  const hvi_status status =
      *stream ? HVI_OK
              : stream_new(stream, task_of(c), hvi_cell_seed(c), batch_of(c->part), rows, err);
  pthread_mutex_unlock(&s->lock);
  if (!status) reader_open(r, *stream);
  return status;
}

/* What an evaluation points at. */
typedef struct workspace {
  const hvi_cell *cell;
  stream_reader reader;
  hvi_scales scales;
  hvi_evaluation_spec spec;
  hvi_evaluation *evaluation;
  char *about, *checkpoint;
} workspace;

/* Online the rows come with the steps; offline they are all there before the first. */
static hvi_status fill_data(workspace *w, hvi_error *err) {
  const hvi_part *p = w->cell->part;
  const hvi_arm *arm = hvi_cell_method(w->cell);
  hvi_value_spec *v = &w->spec.value;
  double seconds;
  *v = p->value->value;
  for (size_t i = 0; p->scale.width && i < v->hidden_count; i++) v->hidden[i] = p->scale.width;
  v->threads = 1;
  v->data = &w->reader.data;
  v->batch = batch_of(p);
  v->buffer = arm->value.buffer;
  v->lambda = arm->value.lambda;
  v->lambda_decay = 0.0;
  v->returns = arm->value.returns;
  if (!p->scale.offline) {
    v->draw = HVI_VALUE_FRESH;
    w->spec.stream = (hvi_stream){.grow = reader_grow, .context = &w->reader};
    return reader_grow(&w->reader, v->batch, &seconds, err);
  }
  if (p->value->gap) w->spec.gap = v->data;
  return reader_grow(&w->reader, p->scale.offline, &seconds, err);
}

/* From the first batch, so that all methods of a seed have the same. */
static hvi_status fill_scales(workspace *w, hvi_error *err) {
  hvi_value_spec *v = &w->spec.value;
  const hvi_normalisation how = w->cell->part->value->normalise;
  if (how == HVI_NORMALISE_NONE) return HVI_OK;
  const size_t rows = v->batch < v->data->count ? v->batch : v->data->count;
  const hvi_status status = hvi_scales_new(&w->scales, v->data, rows, v->gamma, err);
  if (status) return status;
  v->center = w->scales.center;
  v->spread = w->scales.spread;
  if (how == HVI_NORMALISE_STATES) return HVI_OK;
  v->shift = w->scales.shift;
  v->scale = w->scales.scale;
  return HVI_OK;
}

static hvi_status prepare(workspace *w, hvi_error *err) {
  const hvi_cell *c = w->cell;
  const size_t measures = measures_of(c->part);
  w->spec = hvi_evaluation_defaults();
  hvi_status status = hvi_cell_settings(&w->spec.settings, c, err);
  if (!status) status = open_reader(&w->reader, c, err);
  if (status) return status;
  w->spec.seed = hvi_cell_seed(c);
  w->spec.polyak = 0.0; /* a method is what its file says */
  w->spec.accept_other_bits = c->study->settings->accept_other_bits;
  w->spec.probe = task_of(c)->probe;
  const size_t steps = w->spec.settings.max_outer = steps_of(c->part, &w->spec.settings);
  w->spec.schedule = (hvi_schedule){.every = steps > measures ? steps / measures : 1,
                                    .per_decade = c->part->value->per_decade};
  status = fill_data(w, err);
  if (!status) status = fill_scales(w, err);
  w->about = hvi_cell_describe(c);
  w->checkpoint = hvi_cell_checkpoint(c);
  if (!status && !(w->about && w->checkpoint)) status = hvi_error_memory(err, "a run");
  return status;
}

/* From a checkpoint when there is one that fits; otherwise from the start. */
static hvi_status begin(workspace *w, hvi_error *err) {
  const hvi_status status = hvi_evaluation_new(&w->evaluation, &w->spec, err);
  if (status || !w->cell->study->settings->resume || access(w->checkpoint, R_OK) != 0)
    return status;
  return hvi_evaluation_restore(w->evaluation, w->checkpoint, w->about, err);
}

static hvi_status step_on(workspace *w, hvi_error *err) {
  const double all = (double)w->spec.settings.max_outer;
  hvi_status status = HVI_OK;
  double saved = hvi_clock_now();
  hvi_evaluation_status state = hvi_evaluation_state(w->evaluation);
  while (!state.done && !status) {
    const bool stop = !hvi_cell_tick(w->cell, (double)state.outer / all);
    const bool due = hvi_clock_now() - saved >= w->cell->part->value->checkpoint;
    if (stop || (due && state.outer > 0)) {
      status = hvi_evaluation_save(w->evaluation, w->checkpoint, w->about, err);
      saved = hvi_clock_now();
    }
    if (stop || status) break;
    status = hvi_evaluation_step(w->evaluation, err);
    state = hvi_evaluation_state(w->evaluation);
  }
  return status;
}

static hvi_value_group group_of_method(const hvi_evaluation_spec *e) {
  const hvi_settings *s = &e->settings;
  if (e->value.returns) return HVI_VALUE_OF_RETURNS;
  return !s->baseline && (s->inner_steps > 1 || s->alpha > 0.0) ? HVI_VALUE_SURROGATE
                                                                : HVI_VALUE_OTHER;
}

/* The measurements, and what a judge wants to know beside them. */
static hvi_status add_rows(hvi_rows *rows, const workspace *w, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *r = hvi_evaluation_rows(w->evaluation, &count);
  const hvi_evaluation_status state = hvi_evaluation_state(w->evaluation);
  const double alpha = w->spec.settings.alpha;
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < count && !status; i++) {
    double x[HVI_VALUE_COLUMNS];
    size_t k = 0;
    for (; hvi_evaluation_column(k); k++) x[k] = hvi_evaluation_cell(&r[i], k);
    if (r[i].outer == 0) x[1] = NAN; /* inner steps: there was none yet to take any */
    x[k++] = task_of(w->cell)->noise;
    x[k++] = alpha > 0.0 ? alpha * alpha : NAN;
    x[k + 1] = (double)group_of_method(&w->spec);
    x[k++] = i + 1 == count && state.outcome == HVI_DIVERGED ? 1.0 : NAN;
    status = hvi_rows_add(rows, 0, x, err);
  }
  if (!status) remove(w->checkpoint);
  return status;
}

static hvi_status run(const hvi_cell *cell, hvi_rows *rows, hvi_error *err) {
  workspace w = {.cell = cell};
  if (*task_of(cell)->missing) return HVI_OK;
  hvi_status status = prepare(&w, err);
  if (!status) status = begin(&w, err);
  if (!status) status = step_on(&w, err);
  if (!status && hvi_evaluation_state(w.evaluation).done) status = add_rows(rows, &w, err);
  hvi_evaluation_free(w.evaluation);
  hvi_scales_free(&w.scales);
  hvi_free(w.about);
  hvi_free(w.checkpoint);
  return status;
}

static void describe(const hvi_cell *c, hvi_text *t) {
  const hvi_value_plan *v = c->part->value;
  const hvi_task *task = task_of(c);
  hvi_text_settings(t, hvi_value_table(), &v->value, NULL);
  hvi_text_add(t, "; %s; gap %d; normalise %d; per_decade %zu",
               *task->missing ? task->missing : task->identity, v->gap, (int)v->normalise,
               v->per_decade);
}

static hvi_status check(const hvi_study *study, const hvi_part *p, hvi_error *err) {
  if (p->value->gap && !p->scale.offline)
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "experiment '%s': the Bellman gap is that of a fixed data set; give "
                         "`offline`, its size, under quick and full",
                         study->id);
  return HVI_OK;
}

static void close_part(hvi_part *part) {
  shared *s = part->shared;
  if (!s) return;
  for (size_t i = 0; i < HVI_MOST_ENVIRONMENTS; i++) hvi_task_close(&s->tasks[i]);
  for (size_t i = 0; s->streams && i < part->value->environment_count * s->seeds; i++)
    stream_free(s->streams[i]);
  pthread_mutex_destroy(&s->lock);
  hvi_free(s->streams);
  hvi_free(s);
  part->shared = NULL;
}

static hvi_status open_part(hvi_study *study, hvi_part *part, hvi_error *err) {
  const size_t environments = part->value->environment_count;
  shared *s = hvi_alloc(1, sizeof *s);
  if (!s || pthread_mutex_init(&s->lock, NULL) != 0) {
    hvi_free(s);
    return hvi_error_memory(err, "a study");
  }
  part->shared = s;
  s->seeds = part->scale.instances;
  s->streams = hvi_alloc(environments * s->seeds, sizeof *s->streams);
  hvi_status status = s->streams ? check(study, part, err) : hvi_error_memory(err, "a study");
  char *folder = hvi_study_path(study, "checkpoints", "");
  if (!status) status = folder ? hvi_folder_make(folder, err) : hvi_error_memory(err, "a path");
  hvi_free(folder);
  for (size_t i = 0; i < environments && !status && !study->stopped; i++) {
    status = hvi_task_open(&s->tasks[i], study, part, i, err);
    if (!status && *s->tasks[i].missing)
      hvi_study_tell(study, "%s: %s not run: %s", study->id,
                     part->value->environments[i].environment, s->tasks[i].missing);
  }
  return status;
}

static const char *missing(const hvi_part *part, const char *environment) {
  const shared *s = part->shared;
  for (size_t i = 0; s && i < part->value->environment_count; i++)
    if (strcmp(part->value->environments[i].environment, environment) == 0)
      return *s->tasks[i].missing ? s->tasks[i].missing : NULL;
  return NULL;
}

static const hvi_kind_table tables[] = {{"runs", hvi_value_columns, NULL}, {NULL}};

const hvi_kind hvi_kind_value = {.name = "value",
                                 .summary = "policy evaluation with networks, several seeds",
                                 .flags = HVI_KIND_METHODS | HVI_KIND_SEEDS | HVI_KIND_VALUE,
                                 .tables = tables,
                                 .defaults = hvi_value_figures,
                                 .open = open_part,
                                 .close = close_part,
                                 .run = run,
                                 .describe = describe,
                                 .cost = cost_of,
                                 .group = group_of,
                                 .leave = leave,
                                 .derive = hvi_value_derive,
                                 .missing = missing};
