/*
 * Policies as files. An actor is fc1, fc2, ..., fcN, fc_mean, fc_logstd, each with .weight
 * [out][in] and .bias [out]; the two heads are one layer here, and are cut apart and joined on the
 * way. Tensors of other names are left alone.
 */
#include "base/base.h"
#include "rl/policy.h"

enum { MOST_HIDDEN = 64, NAME_SIZE = 32, MOST_TENSORS = 2 * (MOST_HIDDEN + 2) + 2 };
static const size_t MOST_BYTES = (size_t)4 << 30;

/* The tensors of an actor's layers, which are written from and read into; names live here. */
typedef struct sheet {
  size_t count;
  hvi_tensor items[MOST_TENSORS];
  char names[MOST_TENSORS][NAME_SIZE];
} sheet;

/* cols 0: a vector. */
static void add(sheet *s, const char *name, hvi_tensor_type type, const void *data, size_t rows,
                size_t cols) {
  char *own = s->names[s->count];
  snprintf(own, NAME_SIZE, "%s", name);
  s->items[s->count++] = (hvi_tensor){
      .name = own, .type = type, .dims = cols ? 2 : 1, .shape = {rows, cols}, .data = data};
}

/* Weight and bias of a layer, of which these are `out` units from `first` on. */
static void add_units(sheet *s, const char *layer, const float *w, const hvi_net_layer *y,
                      size_t first, size_t out) {
  char name[NAME_SIZE];
  snprintf(name, sizeof name, "%s.weight", layer);
  add(s, name, HVI_TENSOR_F32, w + y->weight + first * y->in, out, y->in);
  snprintf(name, sizeof name, "%s.bias", layer);
  add(s, name, HVI_TENSOR_F32, w + y->bias + first, out, 0);
}

static void add_layers(sheet *s, const hvi_policy *p) {
  char name[NAME_SIZE / 2];
  const hvi_net *net = p->net;
  const hvi_net_layer *head = &net->layers[net->layer_count - 1];
  for (size_t l = 0; l + 1 < net->layer_count; l++) {
    snprintf(name, sizeof name, "fc%d", (int)l + 1);
    add_units(s, name, p->weights, &net->layers[l], 0, net->layers[l].out);
  }
  add_units(s, "fc_mean", p->weights, head, 0, p->act);
  add_units(s, "fc_logstd", p->weights, head, p->act, p->act);
}

static hvi_status missing(const char *name, const char *path, hvi_error *err) {
  return hvi_error_input(err,
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
  if (x->dims != dims)
    return hvi_error_input(err, "'%s': %s has %zu axes, not %zu", path, name, x->dims, dims);
  const size_t want[2] = {rows, cols};
  for (size_t i = 0; i < dims; i++) {
    if (x->shape[i] == 0) return hvi_error_input(err, "'%s': %s is empty", path, name);
    if (want[i] != SIZE_MAX && x->shape[i] != want[i]) {
      return hvi_error_input(err,
                             "'%s': axis %zu of %s is %zu long, but the tensors before it need %zu",
                             path, i + 1, name, x->shape[i], want[i]);
    }
  }
  return HVI_OK;
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
  for (;;) {
    snprintf(name, sizeof name, "fc%zu.weight", s->hidden_count + 1);
    if (!hvi_tensors_find(t, name)) break;
    if (s->hidden_count == MOST_HIDDEN)
      return hvi_error_input(err, "'%s' has more than %d hidden layers", path, (int)MOST_HIDDEN);
    const hvi_status status = find(&x, t, name, SIZE_MAX, in, path, err);
    if (status) return status;
    if (s->hidden_count == 0) s->obs = x->shape[1];
    in = s->hidden[s->hidden_count++] = x->shape[0];
  }
  HVI_TRY(find(&x, t, "fc_mean.weight", SIZE_MAX, in, path, err));
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
      return hvi_error_input(err,
                             "'%s' has '%s', which is none of its %zu hidden layers fc1, fc2, ...",
                             path, name, count);
    }
  }
  return HVI_OK;
}

static hvi_status read_layers(hvi_policy *p, const hvi_tensors *t, const char *path,
                              hvi_error *err) {
  const hvi_tensor *x;
  sheet *s = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "a policy's file");
  add_layers(s, p);
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < s->count && !status; i++) {
    const hvi_tensor *to = &s->items[i];
    status = find(&x, t, to->name, to->shape[0], to->shape[1], path, err);
    if (!status) status = hvi_tensor_floats((float *)(size_t)to->data, x, err);
  }
  hvi_free(s);
  return status;
}

/* One number for all entries, or one for each; CleanRL has them with and without a leading axis. */
static hvi_status read_per_action(float *out, const hvi_tensors *t, const char *name, size_t act,
                                  const char *path, hvi_error *err) {
  const hvi_tensor *x = hvi_tensors_find(t, name);
  if (!x) return HVI_OK;
  const size_t count = hvi_tensor_count(x);
  if (count != 1 && count != act) {
    return hvi_error_input(err,
                           "'%s': %s has %zu numbers; it needs 1 or one for each of %zu actions",
                           path, name, count, act);
  }
  const hvi_status status = hvi_tensor_floats(out, x, err);
  if (!status && count == 1)
    for (size_t j = 1; j < act; j++) out[j] = out[0];
  return status;
}

static hvi_status load_actor(hvi_policy **out, const hvi_tensors *t, const char *path,
                             hvi_error *err) {
  shape s;
  hvi_status status = read_shape(&s, t, path, err);
  if (!status) status = check_consecutive(t, s.hidden_count, path, err);
  if (!status) status = hvi_policy_actor(out, s.obs, s.act, s.hidden_count, s.hidden, err);
  /* more parameters than a network may have: the file's fault here */
  if (status == HVI_ERROR_ARGUMENT) status = hvi_error_input(err, "%s", err->text);
  hvi_policy *p = *out;
  if (!status) status = read_layers(p, t, path, err);
  if (!status) status = read_per_action(p->scale, t, "action_scale", s.act, path, err);
  if (!status) status = read_per_action(p->shift, t, "action_bias", s.act, path, err);
  for (size_t j = 0; !status && j < s.act; j++)
    if (!(p->scale[j] > 0.0F))
      status = hvi_error_input(err, "'%s': action_scale must be positive", path);
  if (!status) hvi_net_prepare(p->net, p->weights);
  return status;
}

static hvi_status load_linear(hvi_policy **out, const hvi_tensors *t, const char *path,
                              hvi_error *err) {
  const hvi_tensor *gain, *std;
  hvi_status status = find(&gain, t, "gain", SIZE_MAX, SIZE_MAX, path, err);
  if (!status) status = find(&std, t, "std", gain->shape[0], 0, path, err);
  if (status) return status;
  const size_t act = gain->shape[0], obs = gain->shape[1];
  double *k = hvi_alloc_doubles(hvi_tensor_count(gain)), *d = hvi_alloc_doubles(act);
  status = k && d ? HVI_OK : hvi_error_memory(err, "a policy");
  if (!status) status = hvi_tensor_doubles(k, gain, err);
  if (!status) status = hvi_tensor_doubles(d, std, err);
  if (!status) status = hvi_policy_linear(out, obs, act, k, d, err);
  hvi_free(k);
  hvi_free(d);
  return status;
}

hvi_status hvi_policy_load(hvi_policy **policy, const char *path, hvi_error *err) {
  hvi_tensors *t = NULL;
  hvi_error local = {HVI_OK, ""};
  *policy = NULL;
  if (!err) err = &local;
  HVI_TRY(hvi_tensors_read(&t, path, MOST_BYTES, err));
  hvi_status status = hvi_tensors_find(t, "gain") ? load_linear(policy, t, path, err)
                                                  : load_actor(policy, t, path, err);
  for (size_t i = 0; !status && i < t->note_count; i++)
    status = hvi_policy_add_note(*policy, t->notes[i].key, t->notes[i].text, err);
  if (status && !strstr(err->text, path))
    status = hvi_error_set(err, status, "'%s': %s", path, err->text);
  hvi_tensors_free(t);
  if (!status) return HVI_OK;
  hvi_policy_free(*policy);
  *policy = NULL;
  return status;
}

static bool all_equal(const float *x, size_t n, float value) {
  for (size_t i = 0; i < n; i++)
    if (x[i] != value) return false;
  return true;
}

hvi_status hvi_policy_save(const hvi_policy *p, const char *path, hvi_error *err) {
  sheet *s = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "a policy's file");
  if (!p->net) {
    add(s, "gain", HVI_TENSOR_F64, p->gain, p->act, p->obs);
    add(s, "std", HVI_TENSOR_F64, p->std, p->act, 0);
  } else {
    add_layers(s, p);
    if (!all_equal(p->scale, p->act, 1.0F) || !all_equal(p->shift, p->act, 0.0F)) {
      add(s, "action_scale", HVI_TENSOR_F32, p->scale, p->act, 0);
      add(s, "action_bias", HVI_TENSOR_F32, p->shift, p->act, 0);
    }
  }
  const hvi_status status =
      hvi_tensors_write(path, s->items, s->count, p->notes, p->note_count, err);
  hvi_free(s);
  return status;
}
