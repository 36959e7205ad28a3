/*
 * An evaluation as a file: the solver's state, the mean of the thetas where there is one, the rows
 * so far, the seconds, and where the stream stood when it was about to make the batch that is in use.
 *
 * A number of the solver's state may be infinite (the filter of an accelerated loop at its start),
 * and a row has NaN where nothing was measured: bits are copied, not converted.
 */
#include "base/base.h"
#include "evaluate/evaluation.h"

#define COUNT(member) #member, HVI_SETTING_COUNT, .offset = offsetof(hvi_evaluation_row, member)
#define REAL(member)  #member, HVI_SETTING_REAL, .offset = offsetof(hvi_evaluation_row, member)
HVI_ROWS(static const hvi_setting members[],
    {COUNT(outer)}, {COUNT(inner)}, {REAL(loss0)}, {REAL(loss)}, {REAL(ratio)}, {REAL(alpha)},
    {REAL(error)}, {REAL(interval)}, {REAL(clean)}, {REAL(relative)}, {REAL(relative_clean)},
    {REAL(error_low)}, {REAL(error_high)}, {REAL(error_usual)}, {REAL(error_rare)}, {REAL(gap)},
    {REAL(gap_relative)},
    {COUNT(grad_evals)}, {COUNT(model_passes)}, {COUNT(env_steps)},
    {REAL(seconds_collect)}, {REAL(seconds_targets)}, {REAL(seconds_inner)}, {REAL(seconds_optimise)},
    {REAL(seconds)}, {REAL(seconds_measure)});

enum { COLUMNS = sizeof members / sizeof *members };
enum { SECONDS = sizeof(hvi_seconds) / sizeof(double), MARK = 3 };

const char *hvi_evaluation_column(size_t column) {
  return column < COLUMNS ? members[column].name : NULL;
}

double hvi_evaluation_cell(const hvi_evaluation_row *row, size_t column) {
  const void *at = (const char *)row + members[column].offset;
  return members[column].kind == HVI_SETTING_COUNT ? (double)*(const size_t *)at
                                                   : *(const double *)at;
}

static void set_cell(hvi_evaluation_row *row, size_t column, double x) {
  void *at = (char *)row + members[column].offset;
  if (members[column].kind == HVI_SETTING_COUNT)
    *(size_t *)at = (size_t)x;
  else
    *(double *)at = x;
}

/* Where the stream stood before the first row that the last step's draw and those after it need. */
static hvi_collector_mark mark_of(const hvi_evaluation *e, size_t outer) {
  const hvi_value_spec *v = &e->spec.value;
  const hvi_stream *s = &e->spec.stream;
  const bool skips = s->grow && s->find && s->skip && v->draw == HVI_VALUE_FRESH;
  /* the buffer's batches are the first of the data; replay, returns and LSTD ask for all */
  const bool lstd = e->spec.settings->accelerate == HVI_ACCELERATE_LSTD;
  if (!skips || lstd || v->buffer > 0 || v->replay > 0 || v->returns)
    return (hvi_collector_mark){0};
  const size_t row = hvi_evaluation_rows_at(e, outer > 0 ? outer - 1 : 0) - v->batch;
  return row > 0 ? s->find(s->context, row) : (hvi_collector_mark){0};
}

static hvi_tensor matrix(const char *name, const double *x, size_t rows, size_t columns) {
  return (hvi_tensor){name, HVI_TENSOR_F64, 2, {rows, columns}, x};
}

static hvi_kept head_of(const hvi_evaluation *e, const char *about) {
  hvi_kept head = {.kind = "checkpoint of an evaluation",
                   .about = about ? about : "",
                   .accept_other_bits = e->spec.accept_other_bits,
                   .device = e->device};
  memcpy(head.levels, e->levels, sizeof head.levels);
  return head;
}

hvi_status hvi_evaluation_save(const hvi_evaluation *e, const char *path, const char *about,
                               hvi_error *err) {
  const size_t state = hvi_solver_state(e->solver), outer = e->solver->row.outer;
  HVI_NEW(double, solver, state, "a checkpoint", err);
  HVI_NEW(double, rows, (e->count * COLUMNS), "a checkpoint", err);
  hvi_solver_save(e->solver, solver);
  HVI_TRY(hvi_evaluation_device(e, err));
  for (size_t i = 0; i < e->count * COLUMNS; i++)
    rows[i] = hvi_evaluation_cell(&e->rows[i / COLUMNS], i % COLUMNS);
  const hvi_collector_mark place = mark_of(e, outer);
  const double mark[MARK] = {(double)outer, (double)place.episode, (double)place.row};
  hvi_tensor items[] = {matrix("solver", solver, 1, state), matrix("rows", rows, e->count, COLUMNS),
                        matrix("seconds", &e->seconds.collect, 1, SECONDS),
                        matrix("mark", mark, 1, MARK),
                        matrix("mean", e->mean, 1, e->problem->model->dim)};
  const hvi_tensors t = {.count = sizeof items / sizeof *items - (e->mean ? 0 : 1), .items = items};
  hvi_kept head = head_of(e, about);
  return hvi_kept_write(&head, path, &t, err);
}

/* A matrix of the file; *rows is its first dimension, which is 1 where it is not asked for. NULL: it
 * is not there. */
static const double *find(const hvi_tensors *t, const char *name, size_t *rows, size_t columns,
                          const char *path, hvi_error *err) {
  const hvi_tensor *x = hvi_tensors_find(t, name);
  if (!x || x->type != HVI_TENSOR_F64 || x->dims != 2 || x->shape[1] != columns ||
      (!rows && x->shape[0] != 1)) {
    hvi_error_input(err,
                    "'%s' is no checkpoint of this evaluation: '%s' is missing or of another size",
                    path, name);
    return NULL;
  }
  if (rows) *rows = x->shape[0];
  return x->data;
}

/* Takes over the rows that this evaluation would have too. The last of a run that was shorter is
 * not among them, unless this one has ended there as well. */
static hvi_status unpack_rows(hvi_evaluation *e, const double *x, size_t count, hvi_error *err) {
  const bool ended = e->solver->info.outcome != HVI_RUNNING;
  e->count = 0;
  for (size_t i = 0; i < count; i++) {
    hvi_evaluation_row row = {0};
    for (size_t j = 0; j < COLUMNS; j++) set_cell(&row, j, x[i * COLUMNS + j]);
    const hvi_schedule *s = &e->spec.schedule; /* by gradients: there is one way only */
    const bool due = s->gradients || hvi_schedule_due(s, row.outer, e->spec.settings->max_outer);
    if (due || (ended && i + 1 == count)) HVI_TRY(hvi_evaluation_add(e, &row, err));
  }
  return HVI_OK;
}

/* The data of the solver's current draw; what it costs to have them again is not charged. */
static hvi_status renew_data(hvi_evaluation *e, const double *mark, hvi_error *err) {
  const hvi_stream *s = &e->spec.stream;
  const hvi_collector_mark place = {.episode = (uint64_t)mark[1], .row = (size_t)mark[2]};
  double again = 0.0;
  if (!s->grow) return HVI_OK;
  if (s->skip && place.row > 0) HVI_TRY(s->skip(s->context, place, err));
  e->seconds.resumed = 0.0;
  HVI_TRY(hvi_evaluation_grow(e, hvi_evaluation_rows_at(e, (size_t)mark[0]), &again, err));
  e->seconds.resumed = e->seconds.ahead - again;
  return HVI_OK;
}

/* Numbers from a file: counts, and not beyond the end of this run. */
static hvi_status check_place(const hvi_evaluation *e, const double *mark, const char *path,
                              hvi_error *err) {
  const size_t last = e->spec.settings->max_outer;
  for (size_t i = 0; i < MARK; i++) {
    if (mark[i] >= 0.0 && mark[i] <= 1e15) continue;
    return hvi_error_input(err, "'%s' makes no sense: a count of %g", path, mark[i]);
  }
  if (last == 0 || mark[0] <= (double)last) return HVI_OK;
  return hvi_error_input(err, "'%s' is at step %.0f already, beyond the %zu asked for", path,
                         mark[0], last);
}

/* Everything is looked at before anything is taken over. */
static hvi_status take_over(hvi_evaluation *e, const hvi_tensors *t, const char *path,
                            hvi_error *err) {
  const size_t d = e->problem->model->dim;
  size_t count = 0;
  const double *solver = find(t, "solver", NULL, hvi_solver_state(e->solver), path, err);
  const double *rows = solver ? find(t, "rows", &count, COLUMNS, path, err) : NULL;
  const double *seconds = rows ? find(t, "seconds", NULL, SECONDS, path, err) : NULL;
  const double *mark = seconds ? find(t, "mark", NULL, MARK, path, err) : NULL;
  const double *mean = mark && e->mean ? find(t, "mean", NULL, d, path, err) : mark;
  if (!mean) return HVI_ERROR_INPUT;
  HVI_TRY(check_place(e, mark, path, err));
  if (e->mean) memcpy(e->mean, mean, d * sizeof *mean);
  memcpy(&e->seconds, seconds, sizeof e->seconds);
  HVI_TRY(renew_data(e, mark, err));
  HVI_TRY(hvi_kept_blame(path, hvi_solver_restore(e->solver, solver, err), err));
  hvi_evaluation_decide(e);
  return unpack_rows(e, rows, count, err);
}

hvi_status hvi_evaluation_restore(hvi_evaluation *e, const char *path, const char *about,
                                  hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  hvi_kept head = head_of(e, about);
  head.levels[0] = '\0'; /* those of the file come first */
  HVI_TRY(hvi_kept_read(&t, &head, path, err));
  HVI_TRY(take_over(e, t, path, err));
  HVI_TRY(hvi_evaluation_device(e, err));
  memcpy(e->levels, head.levels, sizeof e->levels);
  return HVI_OK;
}

/* Of what is in the files: names and sizes alone may stay the same. */
static uint64_t hash_contents(const hvi_dataset *d, const hvi_probe *p) {
  uint64_t hash = HVI_HASH_START;
  if (d) {
    hash = hvi_hash_bytes(hash, d->observation, d->count * d->obs * sizeof *d->observation);
    hash = hvi_hash_bytes(hash, d->next, d->count * d->obs * sizeof *d->next);
    hash = hvi_hash_bytes(hash, d->reward, d->count * sizeof *d->reward);
    hash = hvi_hash_bytes(hash, d->terminated, d->count * sizeof *d->terminated);
    hash = hvi_hash_bytes(hash, d->truncated, d->count * sizeof *d->truncated);
  }
  if (p) {
    hash = hvi_hash_bytes(hash, p->observation, p->states * p->obs * sizeof *p->observation);
    hash = hvi_hash_bytes(hash, p->value, p->states * sizeof *p->value);
    hash = hvi_hash_bytes(hash, p->standard_error, p->states * sizeof *p->standard_error);
    if (p->episode) hash = hvi_hash_bytes(hash, p->episode, p->states * sizeof *p->episode);
    if (p->label) hash = hvi_hash_bytes(hash, p->label, p->states * sizeof *p->label);
  }
  return hash;
}

/* Rows of a stream are those of its environment, policy and seed. */
void hvi_evaluation_describe(char text[HVI_EVALUATION_ABOUT], const hvi_evaluation_spec *s) {
  const hvi_dataset *data = s->value.data, *fixed = s->stream.grow ? NULL : data;
  const struct {
    const hvi_setting_table *table;
    const void *settings;
  } parts[] = {{hvi_value_table(), &s->value},
               {hvi_evaluation_table(), s},
               {hvi_settings_table(), s->settings}};
  const char *family = hvi_method_family(s->settings);
  const bool rule = s->settings->baseline == HVI_BASELINE_RULE;
  char item[2400]; /* three of them fit */
  snprintf(
      text, HVI_EVALUATION_ABOUT,
      "environment %s; policy %s; rows %zu; test states %zu; gap %zu; data and test set %016" PRIx64
      "; method %s %d; steps %zu",
      data ? data->origin.environment : "", data ? data->origin.fingerprint : "",
      fixed ? fixed->count : 0, s->probe ? s->probe->states : 0, s->gap ? s->gap->count : 0,
      hash_contents(fixed, s->probe), rule ? s->settings->rule->name : family,
      (int)s->settings->baseline,
      /* a longer run of a stream has other rows to start over with */
      s->value.returns && !fixed ? s->settings->max_outer : 0);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    hvi_setting_describe(parts[i].table, parts[i].settings, family, item, sizeof item);
    hvi_append(text, HVI_EVALUATION_ABOUT, "; %s", item);
  }
}
