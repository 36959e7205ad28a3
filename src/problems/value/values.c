/*
 * A value network in use, without derivatives, and its file: V = shift + scale * network((s - center) / spread).
 *
 * States are gathered slice by slice, and a thread's slices share one trace, so that a data set
 * takes no more memory than a slice of it. A device takes all of them at once.
 */
#include "base/base.h"
#include "problems/value/value.h"

#include "base/parallel.h"
#include "model/mlp.h"

static size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

void hvi_value_scale_state(const hvi_value *v, float *x, const float *s) {
  if (!v->center) {
    memcpy(x, s, v->obs * sizeof *x);
    return;
  }
  for (size_t j = 0; j < v->obs; j++) x[j] = (float)(((double)s[j] - v->center[j]) * v->inverse[j]);
}

/* A worker's inputs and trace. */
static size_t inputs(const hvi_value *v) {
  return aligned(HVI_NET_ROWS * aligned(v->obs) + HVI_NET_SLACK);
}

static size_t worker_scratch(const hvi_value *v) {
  return inputs(v) + aligned(hvi_net_trace(v->net, HVI_NET_ROWS));
}

size_t hvi_value_scratch(const hvi_value *v) {
  return aligned(v->net->weights) + v->spec.threads * worker_scratch(v);
}

typedef struct pass {
  const hvi_value *v;
  float *weights, *workers;
  hvi_value_states states;
  double *values;
} pass;

/* A slice through the network, in a worker's room: its trace. */
static float *evaluate(const hvi_value *v, const float *weights, float *x, const float *source,
                       const size_t *index, size_t count) {
  float *trace = x + inputs(v);
  for (size_t i = 0; i < count; i++) {
    const size_t from = index ? index[i] : i;
    hvi_value_scale_state(v, x + i * aligned(v->obs), source + from * v->obs);
  }
  hvi_net_forward(v->net, weights, count, x, aligned(v->obs), trace);
  return trace;
}

static hvi_status forward_slice(void *context, size_t slice, size_t worker, hvi_error *err) {
  (void)err;
  const pass *p = context;
  const hvi_value *v = p->v;
  const hvi_value_states *s = &p->states;
  const size_t first = slice * HVI_NET_ROWS, left = s->rows - first;
  const size_t count = left < HVI_NET_ROWS ? left : HVI_NET_ROWS;
  const float *trace = evaluate(v, p->weights, p->workers + worker * worker_scratch(v),
                                s->index ? s->source : s->source + first * v->obs,
                                s->index ? s->index + first : NULL, count);
  const float *y = hvi_net_output(v->net, trace, count, v->net->layer_count - 1);
  for (size_t i = 0; i < count; i++)
    p->values[first + i] = v->spec.shift + v->spec.scale * (double)y[i];
  return HVI_OK;
}

void hvi_value_prepare(const hvi_value *v, float *scratch, const double *theta) {
  for (size_t i = 0; i < v->net->dim; i++) scratch[i] = (float)theta[i];
  hvi_net_prepare(v->net, scratch);
}

const float *hvi_value_features(const hvi_value *v, float *scratch, const float *source,
                                const size_t *index, size_t rows, size_t *stride) {
  const size_t layers = v->net->layer_count;
  float *x = scratch + aligned(v->net->weights);
  const float *trace = evaluate(v, scratch, x, source, index, rows);
  *stride = layers > 1 ? v->net->layers[layers - 1].in : aligned(v->obs);
  return layers > 1 ? hvi_net_output(v->net, trace, rows, layers - 2) : x;
}

void hvi_value_forward(const hvi_value *v, float *scratch, const double *theta,
                       const hvi_value_states *states, double *values) {
  hvi_member *member = hvi_mlp_member(v->one.base.model);
  const size_t rows = states->rows, *index = states->index;
  if (rows == 0) return;
  if (member) {
    hvi_inputs in = {.rows = rows, .whose = states->whose};
    float *x = hvi_member_inputs(member, in.whose, rows, &in.row);
    for (size_t i = 0; x && i < rows; i++)
      hvi_value_scale_state(v, x + i * in.row, states->source + (index ? index[i] : i) * v->obs);
    hvi_member_eval(member, theta, &in, values);
    for (size_t i = 0; i < rows; i++) values[i] = v->spec.shift + v->spec.scale * values[i];
    return;
  }
  pass p = {v, scratch, scratch + aligned(v->net->weights), *states, values};
  hvi_value_prepare(v, scratch, theta);
  hvi_parallel_run((rows + HVI_NET_ROWS - 1) / HVI_NET_ROWS, v->spec.threads, forward_slice, &p,
                   NULL);
}

static hvi_status need_value(const hvi_value **v, const hvi_problem *p, const void *theta,
                             const void *other, hvi_error *err) {
  *v = hvi_value_of(p);
  if (*v && theta && other) return HVI_OK;
  return hvi_error_argument(err, *v ? "a value network needs parameters and something to do"
                                    : "the problem is not one of hvi_value_new");
}

hvi_status hvi_value_predict(const hvi_problem *value, const double *theta, const float *obs,
                             size_t rows, double *values, hvi_error *err) {
  const hvi_value *v;
  HVI_TRY(need_value(&v, value, theta, rows ? (const void *)obs : theta, err));
  HVI_NEW(float, scratch, hvi_value_scratch(v), "values", err);
  hvi_value_forward(v, scratch, theta, &(hvi_value_states){.source = obs, .rows = rows}, values);
  return HVI_OK;
}

enum { NUMBER = HVI_NUMBER_SIZE, NOTES = 8 };

/* center or spread, in text[obs * NUMBER] */
static void numbers_text(char *text, const hvi_value *v, bool inverse) {
  for (size_t j = 0; j < v->obs; j++) {
    if (j > 0) *text++ = ' ';
    text += strlen(hvi_number_format(text, inverse ? 1.0 / v->inverse[j] : v->center[j]));
  }
}

static size_t make_notes(hvi_tensor_note *notes, char *text, const hvi_value *v) {
  char *gamma = text, *shift = gamma + NUMBER, *scale = shift + NUMBER, *center = scale + NUMBER;
  char *spread = center + v->obs * NUMBER;
  hvi_number_format(gamma, v->spec.gamma);
  hvi_number_format(shift, v->spec.shift);
  hvi_number_format(scale, v->spec.scale);
  const hvi_tensor_note first[] = {{"format", "pt"},
                                   {"contents", "value network"},
                                   {"activation", hvi_activation_name(v->spec.activation)},
                                   {"gamma", gamma},
                                   {"shift", shift},
                                   {"scale", scale}};
  size_t count = sizeof first / sizeof *first;
  memcpy(notes, first, sizeof first);
  if (!v->center) return count;
  numbers_text(center, v, false);
  numbers_text(spread, v, true);
  notes[count++] = (hvi_tensor_note){"center", center};
  notes[count++] = (hvi_tensor_note){"spread", spread};
  return count;
}

hvi_status hvi_value_save(const hvi_problem *value, const double *theta, const char *path,
                          hvi_error *err) {
  const hvi_value *v;
  HVI_TRY(need_value(&v, value, theta, path, err));
  hvi_tensor_note notes[NOTES];
  HVI_OWN char *text = hvi_alloc(3 + 2 * v->obs, NUMBER);
  if (!text) return hvi_error_memory(err, "a value network's file");
  const size_t count = make_notes(notes, text, v);
  return hvi_mlp_write(value->model, theta, path, notes, count, err);
}
