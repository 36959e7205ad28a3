#include "report/trace.h"

#include "base/base.h"
#include "base/clock.h"
#include "io/log.h"
#include "report/csv.h"
#include "report/text.h"

enum { MOST_EXTRA = 16 };
static const double FLUSH_EVERY = 0.5; /* seconds */

struct hvi_trace {
  hvi_csv csv;
  hvi_trace_settings settings;
  size_t last;    /* of the last row that was there */
  double flushed; /* on the clock */
};

/* A column for every output (z) or parameter (theta), each after a comma. */
static void add_columns(hvi_text *header, const char *kind, const hvi_problem *p) {
  const bool z = strcmp(kind, "z") == 0;
  for (size_t k = 0, i = 1; k < p->model->block_count; k++) {
    const size_t count = z ? p->model->blocks[k].out : p->model->blocks[k].dim;
    for (size_t j = 1; j <= count; j++, i++)
      if (p->players)
        hvi_text_add(header, ",%s_%s_%zu", kind, p->players[k], j);
      else
        hvi_text_add(header, ",%s%zu", kind, i);
  }
}

static char *header_text(const hvi_trace_settings *s) {
  hvi_text header = {0};
  hvi_text_add(&header, HVI_TRACE_START "f_evals,model_passes,grad_evals,env_steps,seconds,alpha");
  if (s->theta) add_columns(&header, "theta", s->problem);
  if (s->z) add_columns(&header, "z", s->problem);
  for (size_t i = 0; i < s->extra; i++) hvi_text_add(&header, ",%s", s->extra_names[i]);
  return hvi_text_take(&header);
}

/* A header that cannot be written is known at once. */
static hvi_status open_rows(hvi_trace *t, const char *path, const char *header, hvi_error *err) {
  const size_t step = t->settings.resumed ? t->settings.step : HVI_LOG_NEW;
  HVI_TRY(hvi_lines_open(&t->csv.file, path, header, step, &t->last, err));
  return hvi_file_flush(&t->csv.file, err);
}

hvi_status hvi_trace_open(hvi_trace **trace, const char *path, const hvi_trace_settings *s,
                          hvi_error *err) {
  *trace = NULL;
  if (s->extra > MOST_EXTRA)
    return hvi_error_argument(err, "a trace takes at most %d columns of the caller's",
                              (int)MOST_EXTRA);
  HVI_OWN char *header = header_text(s);
  hvi_trace *t = header ? hvi_alloc(1, sizeof *t) : NULL;
  if (!t) return hvi_error_memory(err, "a trace");
  t->settings = *s;
  const hvi_status status = open_rows(t, path, header, err);
  if (status) return hvi_trace_discard(t), status;
  *trace = t;
  return HVI_OK;
}

static void write_extra(hvi_trace *t, const hvi_record *r) {
  double values[MOST_EXTRA];
  if (!t->settings.extra) return;
  t->settings.fill(t->settings.fill_context, r, values);
  for (size_t i = 0; i < t->settings.extra; i++) hvi_csv_number(&t->csv, values[i]);
}

static void write_row(hvi_trace *t, const hvi_record *r) {
  hvi_csv *csv = &t->csv;
  hvi_csv_count(csv, r->outer);
  hvi_csv_count(csv, r->inner);
  const double losses[] = {r->loss0, r->loss, r->ratio, r->dist2, r->residual};
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) hvi_csv_number(csv, losses[i]);
  hvi_csv_count(csv, r->counts.f_evals);
  hvi_csv_count(csv, r->counts.model_passes);
  hvi_csv_count(csv, r->counts.grad_evals);
  hvi_csv_count(csv, r->counts.env_steps);
  hvi_csv_number(csv, r->seconds);
  hvi_csv_number(csv, r->alpha);
  const hvi_model *m = t->settings.problem ? t->settings.problem->model : NULL;
  for (size_t i = 0; t->settings.theta && i < m->dim; i++) hvi_csv_number(csv, r->theta[i]);
  for (size_t i = 0; t->settings.z && i < m->out; i++) hvi_csv_number(csv, r->z[i]);
  write_extra(t, r);
  hvi_csv_end(csv);
  const double now = hvi_clock_now();
  if (now - t->flushed < FLUSH_EVERY) return;
  fflush(csv->file.stream);
  t->flushed = now;
}

size_t hvi_trace_last(const hvi_trace *t) { return t->last; }

hvi_status hvi_trace_flush(hvi_trace *t, hvi_error *err) {
  return hvi_file_flush(&t->csv.file, err);
}

bool hvi_trace_observe(void *context, const hvi_record *row) {
  write_row(context, row);
  return true;
}

hvi_status hvi_trace_close(hvi_trace *t, hvi_error *err) {
  const hvi_status status = hvi_csv_close(&t->csv, err);
  hvi_trace_discard(t);
  return status;
}

void hvi_trace_discard(hvi_trace *t) {
  if (!t) return;
  hvi_csv_discard(&t->csv);
  hvi_free(t);
}
