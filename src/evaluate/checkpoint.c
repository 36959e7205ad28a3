/*
 * An evaluation as a file: the solver's state, the mean of the thetas where there is one, the rows
 * so far, the purse, and where the stream stood when it was about to make the batch that is in use.
 *
 * A number of the solver's state may be infinite (the filter of an accelerated loop at its start),
 * and a row has NaN where nothing was measured: bits are copied, not converted.
 */
#include "base/error.h"
#include "base/memory.h"
#include "evaluate/columns.h"
#include "evaluate/evaluation.h"

#include <string.h>

enum { PURSE = 5, MARK = 3 };
static const char kind[] = "checkpoint of an evaluation";

static void pack_purse(const hvi_seconds *p, double *x) {
  const double all[PURSE] = {p->collect, p->ahead, p->targets, p->inner, p->measure};
  memcpy(x, all, sizeof all);
}

static void unpack_purse(hvi_seconds *p, const double *x) {
  *p = (hvi_seconds){
      .collect = x[0], .ahead = x[1], .targets = x[2], .inner = x[3], .measure = x[4]};
}

/* The first row that the last step's draw and those after it need. */
static size_t first_row(const hvi_evaluation *e, size_t outer) {
  const hvi_value_spec *v = &e->spec.value;
  /* the buffer's batches are the first of the data; replay and returns ask for all */
  if (v->buffer > 0 || v->replay > 0 || v->returns) return 0;
  return hvi_evaluation_rows_at(e, outer > 0 ? outer - 1 : 0) - v->batch;
}

static hvi_collector_mark mark_of(const hvi_evaluation *e, size_t outer) {
  const hvi_stream *s = &e->spec.stream;
  if (!s->grow || !s->find || !s->skip || e->spec.value.draw != HVI_VALUE_FRESH) {
    return (hvi_collector_mark){0};
  }
  const size_t row = first_row(e, outer);
  return row > 0 ? s->find(s->context, row) : (hvi_collector_mark){0};
}

typedef struct packed {
  size_t state;
  double *solver; /* [state] */
  double *rows;   /* [count][columns] */
  double purse[PURSE], mark[MARK];
} packed;

static hvi_status pack(packed *k, const hvi_evaluation *e, hvi_error *err) {
  k->state = hvi_solver_state(e->solver);
  k->solver = hvi_alloc_doubles(k->state);
  k->rows = hvi_alloc_doubles(e->count * HVI_EVALUATION_COLUMNS);
  if (!k->solver || !k->rows) return hvi_error_memory(err, "a checkpoint");
  hvi_solver_save(e->solver, k->solver);
  for (size_t i = 0; i < e->count; i++) {
    for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++) {
      k->rows[i * HVI_EVALUATION_COLUMNS + j] = hvi_evaluation_cell(&e->rows[i], j);
    }
  }
  pack_purse(&e->seconds, k->purse);
  const size_t outer = hvi_solver_info(e->solver).last.outer;
  const hvi_collector_mark mark = mark_of(e, outer);
  k->mark[0] = (double)outer;
  k->mark[1] = (double)mark.episode;
  k->mark[2] = (double)mark.row;
  return HVI_OK;
}

static hvi_tensor matrix(const char *name, const double *x, size_t rows, size_t columns) {
  return (hvi_tensor){name, HVI_TENSOR_F64, 2, {rows, columns}, x};
}

static hvi_kept head_of(const hvi_evaluation *e, const char *about) {
  hvi_kept head = {
      .kind = kind, .about = about ? about : "", .accept_other_bits = e->spec.accept_other_bits};
  memcpy(head.levels, e->levels, sizeof head.levels);
  return head;
}

hvi_status hvi_evaluation_save(const hvi_evaluation *e, const char *path, const char *about,
                               hvi_error *err) {
  packed k = {0};
  hvi_status status = pack(&k, e, err);
  if (!status) {
    hvi_tensor items[] = {matrix("solver", k.solver, 1, k.state),
                          matrix("rows", k.rows, e->count, HVI_EVALUATION_COLUMNS),
                          matrix("purse", k.purse, 1, PURSE), matrix("mark", k.mark, 1, MARK),
                          matrix("mean", e->mean, 1, e->problem->model->dim)};
    const hvi_tensors t = {.count = sizeof items / sizeof *items - (e->mean ? 0 : 1),
                           .items = items};
    hvi_kept head = head_of(e, about);
    status = hvi_kept_write(&head, path, &t, err);
  }
  hvi_free(k.solver);
  hvi_free(k.rows);
  return status;
}

/* A matrix, copied; *rows is its first dimension, which is 1 where it is not asked for. */
static hvi_status doubles(double **x, size_t *rows, const hvi_tensors *t, const char *name,
                          size_t columns, const char *path, hvi_error *err) {
  const hvi_tensor *tensor = hvi_tensors_find(t, name);
  *x = NULL;
  if (!tensor || tensor->type != HVI_TENSOR_F64 || tensor->dims != 2 ||
      tensor->shape[1] != columns || (!rows && tensor->shape[0] != 1)) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' is no checkpoint of this evaluation: '%s' is missing or of another "
                         "size",
                         path, name);
  }
  const size_t count = hvi_tensor_count(tensor);
  *x = hvi_alloc_doubles(count);
  if (!*x) return hvi_error_memory(err, "a checkpoint");
  if (count > 0) memcpy(*x, tensor->data, count * sizeof **x);
  if (rows) *rows = tensor->shape[0];
  return HVI_OK;
}

/* Takes over the rows that this evaluation would have too. The last of a run that was shorter is
 * not among them, unless this one has ended there as well. */
static hvi_status unpack_rows(hvi_evaluation *e, const double *x, size_t count, bool ended,
                              hvi_error *err) {
  hvi_status status = HVI_OK;
  e->count = 0;
  for (size_t i = 0; i < count && !status; i++) {
    hvi_evaluation_row row = {0};
    for (size_t j = 0; j < HVI_EVALUATION_COLUMNS; j++) {
      hvi_evaluation_set_cell(&row, j, x[i * HVI_EVALUATION_COLUMNS + j]);
    }
    const bool due = hvi_schedule_due(&e->spec.schedule, row.outer, e->spec.settings.max_outer);
    if (!due && !(ended && i + 1 == count)) continue;
    status = hvi_evaluation_extend(e, err);
    if (!status) e->rows[e->count++] = row;
  }
  return status;
}

/* The data that the solver's current draw is of; what it costs to have them again is not charged.
 */
static hvi_status renew_data(hvi_evaluation *e, const double *mark, hvi_error *err) {
  const hvi_stream *s = &e->spec.stream;
  const hvi_collector_mark place = {.episode = (uint64_t)mark[1], .row = (size_t)mark[2]};
  hvi_status status = HVI_OK;
  if (!s->grow) return HVI_OK;
  if (s->skip && place.row > 0) status = s->skip(s->context, place, err);
  double again = 0.0;
  e->seconds.resumed = 0.0;
  if (!status) {
    status = hvi_evaluation_grow(e, hvi_evaluation_rows_at(e, (size_t)mark[0]), &again, err);
  }
  e->seconds.resumed = e->seconds.ahead - again;
  return status;
}

static hvi_status take_over(hvi_evaluation *e, const packed *k, size_t count, hvi_error *err) {
  unpack_purse(&e->seconds, k->purse);
  hvi_status status = renew_data(e, k->mark, err);
  if (!status) status = hvi_solver_restore(e->solver, k->solver, err);
  if (status) return status;
  hvi_evaluation_decide(e);
  return unpack_rows(e, k->rows, count, e->outcome != HVI_RUNNING, err);
}

/* Numbers from a file: counts, and not beyond the end of this run. */
static hvi_status check_place(const hvi_evaluation *e, const double *mark, const char *path,
                              hvi_error *err) {
  const size_t last = e->spec.settings.max_outer;
  for (size_t i = 0; i < MARK; i++) {
    if (mark[i] >= 0.0 && mark[i] <= 1e15) continue;
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' makes no sense: a count of %g", path, mark[i]);
  }
  if (last == 0 || mark[0] <= (double)last) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' is at step %.0f already, beyond the %zu asked for", path, mark[0],
                       last);
}

hvi_status hvi_evaluation_restore(hvi_evaluation *e, const char *path, const char *about,
                                  hvi_error *err) {
  hvi_tensors *t = NULL;
  packed k = {.state = hvi_solver_state(e->solver)};
  double *purse = NULL, *mark = NULL, *mean = NULL;
  const size_t d = e->problem->model->dim;
  size_t count = 0;
  hvi_kept head = head_of(e, about);
  head.levels[0] = '\0'; /* those of the file come first */
  hvi_status status = hvi_kept_read(&t, &head, path, err);
  if (!status) status = doubles(&k.solver, NULL, t, "solver", k.state, path, err);
  if (!status) status = doubles(&k.rows, &count, t, "rows", HVI_EVALUATION_COLUMNS, path, err);
  if (!status) status = doubles(&purse, NULL, t, "purse", PURSE, path, err);
  if (!status) status = doubles(&mark, NULL, t, "mark", MARK, path, err);
  if (!status && e->mean) status = doubles(&mean, NULL, t, "mean", d, path, err);
  if (!status) status = check_place(e, mark, path, err);
  if (!status) {
    if (mean) memcpy(e->mean, mean, d * sizeof *mean);
    memcpy(k.purse, purse, sizeof k.purse);
    memcpy(k.mark, mark, sizeof k.mark);
    memcpy(e->levels, head.levels, sizeof e->levels);
    status = take_over(e, &k, count, err);
  }
  hvi_free(k.solver);
  hvi_free(k.rows);
  hvi_free(purse);
  hvi_free(mark);
  hvi_free(mean);
  hvi_tensors_free(t);
  return status;
}
