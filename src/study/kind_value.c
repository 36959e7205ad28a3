/*
 * kind: value. Policy evaluation with networks: every method on every seed of every environment.
 *
 * The policy does not depend on theta, so all methods of a seed see the same batches, which are
 * simulated once (task.h), and each is charged for them. The seed gives the first parameters too.
 * A cell is an evaluation (hvi/evaluate.h) with checkpoints; its rows are the measurements.
 */
#include "base/base.h"
#include "base/file.h"
#include "report/text.h"
#include "study/kinds.h"
#include "study/task.h"
#include "study/value_tables.h"

#include <unistd.h>

/* What the cells share. */
typedef struct shared {
  hvi_study_task tasks[HVI_MOST_ENVIRONMENTS];
  size_t seeds, stream_count;
  hvi_shared_stream *streams; /* [environments][seeds] */
} shared;

static size_t batch_of(const hvi_part *p) { return p->scale.batch ? p->scale.batch : 1000; }

static size_t measures_of(const hvi_part *p) { return p->scale.measures ? p->scale.measures : 40; }

/* Outer steps of a method: as many gradients for each where the size says so. */
static size_t steps_of(const hvi_part *p, const hvi_settings *s) {
  if (!p->scale.gradients) return p->scale.iterations;
  const size_t inner = s->baseline || !s->inner_steps ? 1 : s->inner_steps;
  return p->scale.gradients > inner ? p->scale.gradients / inner : 1;
}

static const hvi_study_task *task_of(const hvi_cell *c) {
  const shared *s = c->part->shared;
  return &s->tasks[hvi_cell_level(c, "environment")];
}

static size_t group_of(const hvi_cell *c) {
  const shared *s = c->part->shared;
  return hvi_cell_level(c, "environment") * s->seeds + hvi_cell_level(c, "seed");
}

static void leave(hvi_part *part, size_t group) {
  shared *s = part->shared;
  hvi_shared_stream_close(&s->streams[group]);
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

/* The stream of a cell, long enough for all of its group. */
static hvi_status open_reader(hvi_stream_reader *r, const hvi_cell *c, hvi_error *err) {
  shared *s = c->part->shared;
  size_t rows = 0;
  for (size_t m = 0; m < c->part->method_count; m++) {
    const size_t own = rows_of(c->part, &c->part->methods[m]);
    if (own > rows) rows = own;
  }
  return hvi_stream_reader_open(r, &s->streams[group_of(c)], &task_of(c)->task, hvi_cell_seed(c),
                                batch_of(c->part), rows, err);
}

/* What a cell evaluates, but for its transitions. */
static hvi_status spec_of(hvi_evaluation_spec *e, hvi_settings *s, const hvi_cell *c,
                          hvi_error *err) {
  const hvi_part *p = c->part;
  const hvi_arm *arm = hvi_cell_method(c);
  *e = p->value->spec;
  hvi_value_spec *v = &e->value;
  HVI_TRY(hvi_cell_settings(s, c, err));
  const size_t steps = s->max_outer = steps_of(p, s);
  e->settings = s;
  e->seed = hvi_cell_seed(c);
  e->accept_other_bits = c->study->settings->accept_other_bits;
  e->probe = task_of(c)->task.probe;
  e->schedule.every = steps > measures_of(p) ? steps / measures_of(p) : 1;
  for (size_t i = 0; p->scale.width && i < v->hidden_count; i++) v->hidden[i] = p->scale.width;
  v->batch = batch_of(p);
  v->buffer = arm->value.buffer;
  v->lambda = arm->value.lambda;
  v->returns = arm->value.returns;
  return HVI_OK;
}

/* Online the rows come with the steps; offline they are all there before the first. */
static hvi_status fill_data(hvi_evaluation_spec *e, hvi_stream_reader *reader, const hvi_part *p,
                            hvi_error *err) {
  double seconds;
  e->value.data = &reader->data;
  if (p->scale.offline) {
    if (p->value->gap) e->gap = &reader->data;
    return hvi_stream_reader_grow(reader, p->scale.offline, &seconds, err);
  }
  e->value.draw = HVI_VALUE_FRESH;
  e->stream = (hvi_stream){.grow = hvi_stream_reader_grow, .context = reader};
  return HVI_OK;
}

static bool on_step(void *context, const hvi_evaluation *e) {
  const hvi_cell *c = context;
  const hvi_evaluation_status state = hvi_evaluation_state(e);
  return hvi_cell_tick(c, (double)state.outer / (double)state.max_outer);
}

static hvi_value_group group_of_method(const hvi_evaluation_spec *e) {
  const hvi_settings *s = e->settings;
  if (e->value.returns) return HVI_VALUE_OF_RETURNS;
  return !s->baseline && (s->inner_steps > 1 || s->alpha > 0.0) ? HVI_VALUE_SURROGATE
                                                                : HVI_VALUE_OTHER;
}

/* The measurements, and what a judge wants to know beside them. */
static hvi_status add_rows(hvi_rows *rows, const hvi_evaluation_spec *spec, const hvi_evaluation *e,
                           double noise, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *r = hvi_evaluation_rows(e, &count);
  const bool diverged = hvi_evaluation_state(e).outcome == HVI_DIVERGED;
  const double alpha = spec->settings->alpha;
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < count && !status; i++) {
    double x[HVI_VALUE_COLUMNS];
    size_t k = 0;
    for (; hvi_evaluation_column(k); k++) x[k] = hvi_evaluation_cell(&r[i], k);
    if (r[i].outer == 0) x[1] = NAN; /* inner steps: there was none yet to take any */
    x[k++] = noise;
    x[k++] = alpha > 0.0 ? alpha * alpha : NAN;
    x[k++] = i + 1 == count && diverged ? 1.0 : NAN;
    x[k] = (double)group_of_method(spec);
    status = hvi_rows_add(rows, 0, x, err);
  }
  return status;
}

/* The checkpoint of a cell that is finished, and the one before it. */
static void forget(const char *checkpoint) {
  char *previous = hvi_join_texts(checkpoint, ".previous");
  remove(checkpoint);
  if (previous) remove(previous);
  hvi_free(previous);
}

/* From a checkpoint when there is one that fits; otherwise from the start. */
static hvi_status evaluate(hvi_rows *rows, const hvi_cell *c, const hvi_evaluation_spec *spec,
                           const hvi_evaluation_watch *watch, hvi_error *err) {
  hvi_evaluation *e = NULL;
  hvi_status status = hvi_evaluation_new(&e, spec, err);
  if (!status && c->study->settings->resume && access(watch->checkpoint, R_OK) == 0)
    status = hvi_evaluation_restore(e, watch->checkpoint, watch->about, err);
  if (!status) status = hvi_evaluation_run(e, watch, err);
  if (!status && hvi_evaluation_state(e).done) {
    status = add_rows(rows, spec, e, task_of(c)->task.noise, err);
    if (!status) forget(watch->checkpoint);
  }
  hvi_evaluation_free(e);
  return status;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_stream_reader reader;
  hvi_evaluation_spec spec;
  hvi_settings settings;
  if (*task_of(c)->missing) return HVI_OK;
  hvi_status status = spec_of(&spec, &settings, c, err);
  if (!status) status = open_reader(&reader, c, err);
  if (!status) status = fill_data(&spec, &reader, c->part, err);
  if (status) return status;
  char *about = hvi_cell_describe(c), *checkpoint = hvi_cell_checkpoint(c);
  const hvi_evaluation_watch watch = {.checkpoint = checkpoint,
                                      .about = about,
                                      .seconds = c->part->value->checkpoint,
                                      .progress = on_step,
                                      .context = (void *)(uintptr_t)c};
  status =
      about && checkpoint ? evaluate(rows, c, &spec, &watch, err) : hvi_error_memory(err, "a run");
  hvi_free(about);
  hvi_free(checkpoint);
  return status;
}

/* The policy gives the transitions; the gap is measured or not. */
static void describe(const hvi_cell *c, hvi_text *t) {
  const hvi_study_task *task = task_of(c);
  hvi_evaluation_spec spec;
  hvi_settings settings;
  char text[HVI_EVALUATION_ABOUT];
  if (*task->missing || spec_of(&spec, &settings, c, NULL)) {
    hvi_text_add(t, "; %s", task->missing);
    return;
  }
  hvi_evaluation_describe(text, &spec);
  hvi_text_add(t, "; policy %s; gap %d; %s", task->task.origin.fingerprint, c->part->value->gap,
               text);
}

static hvi_status check(const hvi_study *study, const hvi_part *p, hvi_error *err) {
  if (p->value->gap && !p->scale.offline)
    return hvi_error_input(err,
                           "experiment '%s': the Bellman gap is that of a fixed data set; give "
                           "`offline`, its size, under quick and full",
                           study->id);
  return HVI_OK;
}

static void close_part(hvi_part *part) {
  shared *s = part->shared;
  if (!s) return;
  for (size_t i = 0; i < HVI_MOST_ENVIRONMENTS; i++) hvi_task_close(&s->tasks[i].task);
  for (size_t i = 0; i < s->stream_count; i++) {
    hvi_shared_stream_close(&s->streams[i]);
    pthread_mutex_destroy(&s->streams[i].lock);
  }
  hvi_free(s->streams);
  hvi_free(s);
  part->shared = NULL;
}

static hvi_status open_streams(shared *s, const hvi_part *part, hvi_error *err) {
  const size_t count = part->value->environment_count * part->scale.instances;
  s->seeds = part->scale.instances;
  s->streams = hvi_alloc(count, sizeof *s->streams);
  while (s->streams && s->stream_count < count &&
         pthread_mutex_init(&s->streams[s->stream_count].lock, NULL) == 0)
    s->stream_count++;
  return s->streams && s->stream_count == count ? HVI_OK : hvi_error_memory(err, "a study");
}

static hvi_status open_part(hvi_study *study, hvi_part *part, hvi_error *err) {
  shared *s = part->shared = hvi_alloc(1, sizeof *s);
  char *folder = hvi_study_path(study, "checkpoints", "");
  hvi_status status = s && folder ? check(study, part, err) : hvi_error_memory(err, "a study");
  if (!status) status = open_streams(s, part, err);
  if (!status) status = hvi_folder_make(folder, err);
  hvi_free(folder);
  for (size_t i = 0; !status && i < part->value->environment_count && !study->stopped; i++) {
    status = hvi_study_task_open(&s->tasks[i], study, part, i, err);
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

static const hvi_kind_table tables[] = {{"runs", hvi_value_columns, NULL}, {0}};

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
