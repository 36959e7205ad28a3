#include "report/trace.h"

#include "base/base.h"
#include "report/csv.h"
#include "report/text.h"

enum { MOST_EXTRA = 16 };

struct hvi_trace {
  hvi_csv csv;
  hvi_trace_settings settings;
  size_t last_outer; /* of the last row written */
  bool any;          /* a row was written */
};

static char *header_text(const hvi_trace_settings *s) {
  hvi_text header = {0};
  hvi_text_add(&header, "outer,inner,loss0,loss,ratio,dist2,residual,f_evals,model_passes,"
                        "grad_evals,env_steps,seconds,alpha");
  for (size_t i = 0; i < s->theta; i++) hvi_text_add(&header, ",theta%zu", i + 1);
  for (size_t i = 0; i < s->z; i++) hvi_text_add(&header, ",z%zu", i + 1);
  for (size_t i = 0; i < s->extra; i++) hvi_text_add(&header, ",%s", s->extra_names[i]);
  return hvi_text_take(&header);
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
  const hvi_status status = hvi_csv_open(&t->csv, path, header, err);
  if (status) return hvi_free(t), status;
  t->settings = *s;
  if (t->settings.every == 0) t->settings.every = 1;
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
  for (size_t i = 0; i < t->settings.theta; i++) hvi_csv_number(csv, r->theta[i]);
  for (size_t i = 0; i < t->settings.z; i++) hvi_csv_number(csv, r->z[i]);
  write_extra(t, r);
  hvi_csv_end(csv);
  t->last_outer = r->outer;
  t->any = true;
}

bool hvi_trace_observe(void *context, const hvi_record *row) {
  hvi_trace *t = context;
  if (row->outer % t->settings.every == 0) write_row(t, row);
  return t->settings.next ? t->settings.next(t->settings.next_context, row) : true;
}

hvi_status hvi_trace_close(hvi_trace *t, const hvi_record *last, hvi_error *err) {
  if (last && (!t->any || last->outer != t->last_outer)) write_row(t, last);
  hvi_status status = hvi_csv_close(&t->csv, err);
  hvi_trace_discard(t);
  return status;
}

void hvi_trace_discard(hvi_trace *t) {
  if (!t) return;
  hvi_csv_discard(&t->csv);
  hvi_free(t);
}
