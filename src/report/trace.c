#include "report/trace.h"

#include "base/base.h"
#include "report/text.h"

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

static char *header_text(const hvi_trace *t) {
  hvi_text header = {0};
  hvi_text_add(&header, HVI_TRACE_START "f_evals,model_passes,grad_evals,env_steps,seconds,alpha");
  if (t->theta) add_columns(&header, "theta", t->problem);
  if (t->z) add_columns(&header, "z", t->problem);
  for (size_t i = 0; i < t->extra; i++) hvi_text_add(&header, ",%s", t->extra_names[i]);
  return hvi_text_take(&header);
}

hvi_status hvi_trace_open(hvi_trace *t, const char *path, size_t step, hvi_error *err) {
  if (!path) return HVI_OK;
  if (t->extra > HVI_TRACE_EXTRA)
    return hvi_error_argument(err, "a trace takes at most %d columns of the caller's",
                              (int)HVI_TRACE_EXTRA);
  HVI_OWN char *header = header_text(t);
  if (!header) return hvi_error_memory(err, "a trace");
  return hvi_log_open(&t->log, path, header, step, err);
}

void hvi_trace_row(hvi_trace *t, const hvi_record *r) {
  double extra[HVI_TRACE_EXTRA];
  if (!t->log.file.stream) return;
  if (t->extra) t->fill(t->fill_context, r, extra);
  hvi_log_put(&t->log, HVI_RECORD_VALUES(r),
              hvi_value_numbers("theta", r->theta, t->theta ? t->problem->model->dim : 0),
              hvi_value_numbers("z", r->z, t->z ? t->problem->model->out : 0),
              hvi_value_numbers("extra", extra, t->extra));
}
