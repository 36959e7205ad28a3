/* A value network in use: its values on states of any number, and its file. */
#include "problems/value/value.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <hvi/tensors.h>

#include <math.h>
#include <string.h>

static hvi_status need_value(const hvi_value **v, const hvi_problem *p, const void *theta,
                             const void *other, hvi_error *err) {
  *v = hvi_value_of(p);
  if (*v && theta && other) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                       *v ? "a value network needs parameters and something to do"
                          : "the problem is not one of hvi_value_new");
}

hvi_status hvi_value_predict(const hvi_problem *value, const double *theta, const float *obs,
                             size_t rows, double *values, hvi_error *err) {
  const hvi_value *v;
  const hvi_status status = need_value(&v, value, theta, rows ? (const void *)obs : theta, err);
  if (status) return status;
  float *room = hvi_alloc(hvi_value_room(v), sizeof *room);
  if (!room) return hvi_error_memory(err, "values");
  hvi_value_forward(v, room, theta, obs, NULL, rows, values);
  hvi_free(room);
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
  size_t count = 0;
  notes[count++] = (hvi_tensor_note){"format", "pt"};
  notes[count++] = (hvi_tensor_note){"contents", "value network"};
  notes[count++] = (hvi_tensor_note){"activation", hvi_activation_name(v->spec.activation)};
  notes[count++] = (hvi_tensor_note){"gamma", gamma};
  notes[count++] = (hvi_tensor_note){"shift", shift};
  notes[count++] = (hvi_tensor_note){"scale", scale};
  if (!v->center) return count;
  numbers_text(center, v, false);
  numbers_text(spread, v, true);
  notes[count++] = (hvi_tensor_note){"center", center};
  notes[count++] = (hvi_tensor_note){"spread", spread};
  return count;
}

/* Parameters as floats; the first that is none is named. */
static hvi_status narrow(float *params, const double *theta, size_t dim, hvi_error *err) {
  for (size_t i = 0; i < dim; i++) {
    params[i] = (float)theta[i];
    if (isfinite(params[i])) continue;
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "parameter %zu is %g: it cannot be saved in single precision", i + 1,
                         theta[i]);
  }
  return HVI_OK;
}

static hvi_status write_file(const char *path, const hvi_value *v, const float *params,
                             hvi_tensor *items, char *text, hvi_error *err) {
  size_t count;
  const hvi_mlp_part *parts = hvi_mlp_parts(v->mlp, &count);
  hvi_tensor_note notes[NOTES];
  const size_t note_count = make_notes(notes, text, v);
  for (size_t i = 0; i < count; i++) {
    items[i] = (hvi_tensor){.name = parts[i].name,
                            .type = HVI_TENSOR_F32,
                            .dims = parts[i].dims,
                            .shape = {parts[i].shape[0], parts[i].shape[1]},
                            .data = params + parts[i].offset};
  }
  return hvi_tensors_write(path, items, count, notes, note_count, err);
}

hvi_status hvi_value_save(const hvi_problem *value, const double *theta, const char *path,
                          hvi_error *err) {
  const hvi_value *v;
  hvi_status status = need_value(&v, value, theta, path, err);
  if (status) return status;
  float *params = hvi_alloc(v->mlp->dim, sizeof *params);
  hvi_tensor *items = hvi_alloc(2 * v->net->layer_count, sizeof *items);
  char *text = hvi_alloc(3 + 2 * v->obs, NUMBER);
  if (params && items && text) {
    status = narrow(params, theta, v->mlp->dim, err);
    if (!status) status = write_file(path, v, params, items, text, err);
  } else {
    status = hvi_error_memory(err, "a value network's file");
  }
  hvi_free(params);
  hvi_free(items);
  hvi_free(text);
  return status;
}
