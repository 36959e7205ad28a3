/*
 * Policies as files. An actor is fc1, fc2, ..., fcN, fc_mean, fc_logstd, each with .weight
 * [out][in] and .bias [out]; the two heads are one layer here, and are cut apart and joined on the
 * way. Tensors of other names are left alone.
 */
#include "base/error.h"
#include "base/memory.h"
#include "rl/policy.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_HIDDEN = 64, NAME_SIZE = 32, MOST_TENSORS = 2 * (MOST_HIDDEN + 2) + 2 };
static const size_t MOST_BYTES = (size_t)4 << 30;

/* A layer's name: the hidden ones count from 1, then come the heads. */
static const char *layer_name(char name[NAME_SIZE], size_t l, const char *part) {
  snprintf(name, NAME_SIZE, "fc%zu.%s", l + 1, part);
  return name;
}

static hvi_status missing(const char *name, const char *path, hvi_error *err) {
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' is no policy: it has no tensor '%s' (an actor has fc1.weight, "
                       "fc1.bias, ..., fc_mean.*, fc_logstd.*; a linear policy gain and std)",
                       path, name);
}

/* A tensor of rows by cols (cols 0: a vector of `rows`; rows or cols SIZE_MAX: any). */
static hvi_status find(const hvi_tensor **found, const hvi_tensors *t, const char *name,
                       size_t rows, size_t cols, const char *path, hvi_error *err) {
  const hvi_tensor *x = *found = hvi_tensors_find(t, name);
  if (!x) return missing(name, path, err);
  const size_t dims = cols == 0 ? 1 : 2;
  if (x->dims != dims) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': %s has %zu axes, not %zu", path, name,
                         x->dims, dims);
  }
  const size_t want[2] = {rows, cols};
  for (size_t i = 0; i < dims; i++) {
    if (x->shape[i] == 0)
      return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': %s is empty", path, name);
    if (want[i] != SIZE_MAX && x->shape[i] != want[i]) {
      return hvi_error_set(err, HVI_ERROR_INPUT,
                           "'%s': axis %zu of %s is %zu long, but the tensors before it need %zu",
                           path, i + 1, name, x->shape[i], want[i]);
    }
  }
  return HVI_OK;
}

static hvi_status read_floats(float *out, const hvi_tensors *t, const char *name, size_t rows,
                              size_t cols, const char *path, hvi_error *err) {
  const hvi_tensor *x;
  hvi_status status = find(&x, t, name, rows, cols, path, err);
  if (status == HVI_OK) status = hvi_tensor_floats(out, x, err);
  return status;
}

/* What fc1 .. fcN and fc_mean say about the sizes. */
typedef struct shape {
  size_t obs, act, hidden_count, hidden[MOST_HIDDEN];
} shape;

static hvi_status read_shape(shape *s, const hvi_tensors *t, const char *path, hvi_error *err) {
  const hvi_tensor *x;
  char name[NAME_SIZE];
  size_t in = SIZE_MAX;
  *s = (shape){0};
  while (hvi_tensors_find(t, layer_name(name, s->hidden_count, "weight"))) {
    if (s->hidden_count == MOST_HIDDEN) {
      return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has more than %d hidden layers", path,
                           (int)MOST_HIDDEN);
    }
    const hvi_status status = find(&x, t, name, SIZE_MAX, in, path, err);
    if (status != HVI_OK) return status;
    if (s->hidden_count == 0) s->obs = x->shape[1];
    in = s->hidden[s->hidden_count++] = x->shape[0];
  }
  const hvi_status status = find(&x, t, "fc_mean.weight", SIZE_MAX, in, path, err);
  if (status != HVI_OK) return status;
  s->act = x->shape[0];
  if (s->hidden_count == 0) s->obs = x->shape[1];
  return HVI_OK;
}

/* fc5 without fc4 is a file of something else. */
static hvi_status check_consecutive(const hvi_tensors *t, size_t count, const char *path,
                                    hvi_error *err) {
  for (size_t i = 0; i < t->count; i++) {
    size_t number = 0;
    int end = 0;
    const char *name = t->items[i].name;
    if (sscanf(name, "fc%4zu.%n", &number, &end) != 1 || end == 0) continue;
    if (number < 1 || number > count) {
      return hvi_error_set(err, HVI_ERROR_INPUT,
                           "'%s' has '%s', which is none of its %zu hidden layers fc1, fc2, ...",
                           path, name, count);
    }
  }
  return HVI_OK;
}

static hvi_status read_layers(hvi_policy *p, const hvi_tensors *t, const char *path,
                              hvi_error *err) {
  char name[NAME_SIZE];
  const hvi_net *net = p->net;
  hvi_status status = HVI_OK;
  for (size_t l = 0; l + 1 < net->layer_count && status == HVI_OK; l++) {
    const hvi_net_layer *y = &net->layers[l];
    status = read_floats(p->weights + y->weight, t, layer_name(name, l, "weight"), y->out, y->in,
                         path, err);
    if (status == HVI_OK)
      status =
          read_floats(p->weights + y->bias, t, layer_name(name, l, "bias"), y->out, 0, path, err);
  }
  const hvi_net_layer *head = &net->layers[net->layer_count - 1];
  float *weight = p->weights + head->weight, *bias = p->weights + head->bias;
  const size_t n = p->act, in = head->in;
  if (status == HVI_OK) status = read_floats(weight, t, "fc_mean.weight", n, in, path, err);
  if (status == HVI_OK) status = read_floats(bias, t, "fc_mean.bias", n, 0, path, err);
  if (status == HVI_OK)
    status = read_floats(weight + n * in, t, "fc_logstd.weight", n, in, path, err);
  if (status == HVI_OK) status = read_floats(bias + n, t, "fc_logstd.bias", n, 0, path, err);
  return status;
}

/* One number for all entries, or one for each; CleanRL has them with and without a leading axis. */
static hvi_status read_per_action(float *out, const hvi_tensors *t, const char *name, size_t act,
                                  const char *path, hvi_error *err) {
  const hvi_tensor *x = hvi_tensors_find(t, name);
  if (!x) return HVI_OK;
  const size_t count = hvi_tensor_count(x);
  if (count != 1 && count != act) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s': %s has %zu numbers; it needs 1 or one for each of %zu actions",
                         path, name, count, act);
  }
  const hvi_status status = hvi_tensor_floats(out, x, err);
  if (status == HVI_OK && count == 1)
    for (size_t j = 1; j < act; j++) out[j] = out[0];
  return status;
}

static hvi_status load_actor(hvi_policy **out, const hvi_tensors *t, const char *path,
                             hvi_error *err) {
  shape s;
  hvi_status status = read_shape(&s, t, path, err);
  if (status == HVI_OK) status = check_consecutive(t, s.hidden_count, path, err);
  if (status == HVI_OK) status = hvi_policy_actor(out, s.obs, s.act, s.hidden_count, s.hidden, err);
  /* more parameters than a network may have: the file's fault here */
  if (status == HVI_ERROR_ARGUMENT) status = hvi_error_set(err, HVI_ERROR_INPUT, "%s", err->text);
  hvi_policy *p = *out;
  if (status == HVI_OK) status = read_layers(p, t, path, err);
  if (status == HVI_OK) status = read_per_action(p->scale, t, "action_scale", s.act, path, err);
  if (status == HVI_OK) status = read_per_action(p->shift, t, "action_bias", s.act, path, err);
  for (size_t j = 0; status == HVI_OK && j < s.act; j++) {
    if (!(p->scale[j] > 0.0F))
      status = hvi_error_set(err, HVI_ERROR_INPUT, "'%s': action_scale must be positive", path);
  }
  if (status == HVI_OK) hvi_net_prepare(p->net, p->weights);
  return status;
}

static hvi_status load_linear(hvi_policy **out, const hvi_tensors *t, const char *path,
                              hvi_error *err) {
  const hvi_tensor *gain, *std;
  hvi_status status = find(&gain, t, "gain", SIZE_MAX, SIZE_MAX, path, err);
  if (status == HVI_OK) status = find(&std, t, "std", gain->shape[0], 0, path, err);
  if (status != HVI_OK) return status;
  const size_t act = gain->shape[0], obs = gain->shape[1];
  double *k = hvi_alloc_doubles(hvi_tensor_count(gain)), *d = hvi_alloc_doubles(act);
  status = k && d ? HVI_OK : hvi_error_memory(err, "a policy");
  if (status == HVI_OK) status = hvi_tensor_doubles(k, gain, err);
  if (status == HVI_OK) status = hvi_tensor_doubles(d, std, err);
  if (status == HVI_OK) status = hvi_policy_linear(out, obs, act, k, d, err);
  hvi_free(k);
  hvi_free(d);
  return status;
}

hvi_status hvi_policy_load(hvi_policy **policy, const char *path, hvi_error *err) {
  hvi_tensors *t = NULL;
  hvi_error local = {HVI_OK, ""};
  *policy = NULL;
  if (!err) err = &local;
  hvi_status status = hvi_tensors_read(&t, path, MOST_BYTES, err);
  if (status != HVI_OK) return status;
  status = hvi_tensors_find(t, "gain") ? load_linear(policy, t, path, err)
                                       : load_actor(policy, t, path, err);
  for (size_t i = 0; status == HVI_OK && i < t->note_count; i++)
    status = hvi_policy_add_note(*policy, t->notes[i].key, t->notes[i].text, err);
  if (status != HVI_OK && !strstr(err->text, path)) {
    status = hvi_error_set(err, status, "'%s': %s", path, err->text);
  }
  hvi_tensors_free(t);
  if (status == HVI_OK) return HVI_OK;
  hvi_policy_free(*policy);
  *policy = NULL;
  return status;
}

/* The tensors of a file that is to be written; names live here. */
typedef struct sheet {
  size_t count;
  hvi_tensor items[MOST_TENSORS];
  char names[MOST_TENSORS][NAME_SIZE];
} sheet;

static void add(sheet *s, const char *name, hvi_tensor_type type, const void *data, size_t rows,
                size_t cols) {
  hvi_tensor *t = &s->items[s->count];
  snprintf(s->names[s->count], NAME_SIZE, "%s", name);
  *t = (hvi_tensor){.name = s->names[s->count],
                    .type = type,
                    .dims = cols == 0 ? 1 : 2,
                    .shape = {rows, cols},
                    .data = data};
  s->count++;
}

static bool all_equal(const float *x, size_t n, float value) {
  for (size_t i = 0; i < n; i++)
    if (x[i] != value) return false;
  return true;
}

static void add_actor(sheet *s, const hvi_policy *p) {
  char name[NAME_SIZE];
  const hvi_net *net = p->net;
  const float *w = p->weights;
  for (size_t l = 0; l + 1 < net->layer_count; l++) {
    const hvi_net_layer *y = &net->layers[l];
    add(s, layer_name(name, l, "weight"), HVI_TENSOR_F32, w + y->weight, y->out, y->in);
    add(s, layer_name(name, l, "bias"), HVI_TENSOR_F32, w + y->bias, y->out, 0);
  }
  const hvi_net_layer *head = &net->layers[net->layer_count - 1];
  const size_t n = p->act, in = head->in;
  add(s, "fc_mean.weight", HVI_TENSOR_F32, w + head->weight, n, in);
  add(s, "fc_mean.bias", HVI_TENSOR_F32, w + head->bias, n, 0);
  add(s, "fc_logstd.weight", HVI_TENSOR_F32, w + head->weight + n * in, n, in);
  add(s, "fc_logstd.bias", HVI_TENSOR_F32, w + head->bias + n, n, 0);
  if (!all_equal(p->scale, n, 1.0F) || !all_equal(p->shift, n, 0.0F)) {
    add(s, "action_scale", HVI_TENSOR_F32, p->scale, n, 0);
    add(s, "action_bias", HVI_TENSOR_F32, p->shift, n, 0);
  }
}

hvi_status hvi_policy_save(const hvi_policy *p, const char *path, hvi_error *err) {
  sheet *s = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "a policy's file");
  if (p->net) {
    add_actor(s, p);
  } else {
    add(s, "gain", HVI_TENSOR_F64, p->gain, p->act, p->obs);
    add(s, "std", HVI_TENSOR_F64, p->std, p->act, 0);
  }
  const hvi_status status =
      hvi_tensors_write(path, s->items, s->count, p->notes, p->note_count, err);
  hvi_free(s);
  return status;
}
