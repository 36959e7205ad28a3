/*
 * Policies as files. An actor is fc1, fc2, ..., fcN, fc_mean, fc_logstd, each with .weight
 * [out][in] and .bias [out]; the two heads are one layer here, and are cut apart and joined on the
 * way. Tensors of other names are left alone.
 */
#include "base/base.h"
#include "rl/policy.h"

enum { MOST_HIDDEN = 64 };
static const size_t MOST_BYTES = (size_t)4 << 30;

HVI_RELEASE(hvi_tensors)

hvi_status hvi_sheet_new(hvi_sheet *s, size_t most, hvi_error *err) {
  *s = (hvi_sheet){.items = hvi_alloc(most, sizeof *s->items),
                   .names = hvi_alloc(most, sizeof *s->names)};
  return s->items && s->names ? HVI_OK : hvi_error_memory(err, "the tensors of a file");
}

void hvi_sheet_free(hvi_sheet *s) {
  hvi_free(s->items);
  hvi_free(s->names);
}

void hvi_sheet_add(hvi_sheet *s, hvi_tensor_type type, const void *data, size_t rows, size_t cols,
                   const char *name, const char *part) {
  char *own = s->names[s->count];
  snprintf(own, HVI_SHEET_NAME, "%s%s", name, part);
  s->items[s->count++] = (hvi_tensor){
      .name = own, .type = type, .dims = cols ? 2 : 1, .shape = {rows, cols}, .data = data};
}

/* Weight and bias of a layer, of which these are `out` units from `first` on. */
static void add_units(hvi_sheet *s, const char *layer, const float *w, const hvi_net_layer *y,
                      size_t first, size_t out) {
  hvi_sheet_add(s, HVI_TENSOR_F32, w + y->weight + first * y->in, out, y->in, layer, ".weight");
  hvi_sheet_add(s, HVI_TENSOR_F32, w + y->bias + first, out, 0, layer, ".bias");
}

/* A sheet of an actor's layers, with room for two tensors more. */
static hvi_status list_layers(hvi_sheet *s, const hvi_policy *p, hvi_error *err) {
  char name[HVI_SHEET_NAME];
  const hvi_net_layer *layers = p->net->layers;
  const size_t hidden = p->net->layer_count - 1;
  HVI_TRY(hvi_sheet_new(s, 2 * hidden + 6, err));
  for (size_t l = 0; l < hidden; l++) {
    snprintf(name, sizeof name, "fc%zu", l + 1);
    add_units(s, name, p->weights, &layers[l], 0, layers[l].out);
  }
  add_units(s, "fc_mean", p->weights, &layers[hidden], 0, p->act);
  add_units(s, "fc_logstd", p->weights, &layers[hidden], p->act, p->act);
  return HVI_OK;
}

/* A tensor of rows by cols (cols 0: a vector of `rows`; rows or cols SIZE_MAX: any). */
static hvi_status find(const hvi_tensor **found, const hvi_tensors *t, const char *name,
                       size_t rows, size_t cols, const hvi_subject *file) {
  const hvi_tensor *x = *found = hvi_tensors_find(t, name);
  const size_t want[2] = {rows, cols}, dims = cols == 0 ? 1 : 2;
  if (!x) {
    return hvi_refuse(file,
                      " is no policy: it has no tensor '%s' (an actor has fc1.weight, fc1.bias, "
                      "..., fc_mean.*, fc_logstd.*; a linear policy gain and std)",
                      name);
  }
  if (x->dims != dims) return hvi_refuse(file, ": %s has %zu axes, not %zu", name, x->dims, dims);
  for (size_t i = 0; i < dims; i++) {
    if (x->shape[i] == 0) return hvi_refuse(file, ": %s is empty", name);
    if (want[i] == SIZE_MAX || x->shape[i] == want[i]) continue;
    return hvi_refuse(file, ": axis %zu of %s is %zu long, but the tensors before it need %zu",
                      i + 1, name, x->shape[i], want[i]);
  }
  return HVI_OK;
}

/* What fc1 .. fcN and fc_mean say about the sizes. */
typedef struct shape {
  size_t obs, act, hidden_count, hidden[MOST_HIDDEN];
} shape;

static hvi_status read_shape(shape *s, const hvi_tensors *t, const hvi_subject *file) {
  const hvi_tensor *x;
  char name[HVI_SHEET_NAME];
  size_t in = SIZE_MAX;
  *s = (shape){0};
  for (;;) {
    snprintf(name, sizeof name, "fc%zu.weight", s->hidden_count + 1);
    if (!hvi_tensors_find(t, name)) break;
    if (s->hidden_count == MOST_HIDDEN)
      return hvi_refuse(file, " has more than %d hidden layers", (int)MOST_HIDDEN);
    HVI_TRY(find(&x, t, name, SIZE_MAX, in, file));
    if (s->hidden_count == 0) s->obs = x->shape[1];
    in = s->hidden[s->hidden_count++] = x->shape[0];
  }
  HVI_TRY(find(&x, t, "fc_mean.weight", SIZE_MAX, in, file));
  s->act = x->shape[0];
  if (s->hidden_count == 0) s->obs = x->shape[1];
  return HVI_OK;
}

/* fc5 without fc4 is a file of something else. */
static hvi_status check_consecutive(const hvi_tensors *t, size_t count, const hvi_subject *file) {
  for (size_t i = 0; i < t->count; i++) {
    size_t number = 0;
    int end = 0;
    const char *name = t->items[i].name;
    if (sscanf(name, "fc%4zu.%n", &number, &end) != 1 || end == 0) continue;
    if (number >= 1 && number <= count) continue;
    return hvi_refuse(file, " has '%s', which is none of its %zu hidden layers fc1, fc2, ...", name,
                      count);
  }
  return HVI_OK;
}

static hvi_status read_layers(hvi_policy *p, const hvi_tensors *t, const hvi_subject *file) {
  const hvi_tensor *x;
  HVI_OWN_BY(hvi_sheet_free) hvi_sheet s = {0};
  HVI_TRY(list_layers(&s, p, file->err));
  for (size_t i = 0; i < s.count; i++) {
    const hvi_tensor *to = &s.items[i];
    HVI_TRY(find(&x, t, to->name, to->shape[0], to->shape[1], file));
    HVI_TRY(hvi_tensor_floats((float *)(size_t)to->data, x, file->err));
  }
  return HVI_OK;
}

/* One number for all entries, or one for each; CleanRL has them with and without a leading axis. */
static hvi_status read_per_action(float *out, const hvi_tensors *t, const char *name, size_t act,
                                  const hvi_subject *file) {
  const hvi_tensor *x = hvi_tensors_find(t, name);
  if (!x) return HVI_OK;
  const size_t count = hvi_tensor_count(x);
  if (count != 1 && count != act) {
    return hvi_refuse(file, ": %s has %zu numbers; it needs 1 or one for each of %zu actions", name,
                      count, act);
  }
  HVI_TRY(hvi_tensor_floats(out, x, file->err));
  for (size_t j = count; j < act; j++) out[j] = out[0];
  return HVI_OK;
}

static hvi_status load_actor(hvi_policy **out, const hvi_tensors *t, const hvi_subject *file) {
  shape s;
  HVI_TRY(read_shape(&s, t, file));
  HVI_TRY(check_consecutive(t, s.hidden_count, file));
  const hvi_status status =
      hvi_policy_actor(out, s.obs, s.act, s.hidden_count, s.hidden, file->err);
  /* more parameters than a network may have: the file's fault here */
  if (status == HVI_ERROR_ARGUMENT) return hvi_error_input(file->err, "%s", file->err->text);
  if (status) return status;
  hvi_policy *p = *out;
  HVI_TRY(read_layers(p, t, file));
  HVI_TRY(read_per_action(p->scale, t, "action_scale", s.act, file));
  HVI_TRY(read_per_action(p->shift, t, "action_bias", s.act, file));
  for (size_t j = 0; j < s.act; j++)
    if (!(p->scale[j] > 0.0F)) return hvi_refuse(file, ": action_scale must be positive");
  hvi_net_prepare(p->net, p->weights);
  return HVI_OK;
}

static hvi_status load_linear(hvi_policy **out, const hvi_tensors *t, const hvi_subject *file) {
  const hvi_tensor *gain, *std;
  HVI_TRY(find(&gain, t, "gain", SIZE_MAX, SIZE_MAX, file));
  HVI_TRY(find(&std, t, "std", gain->shape[0], 0, file));
  HVI_OWN double *k = hvi_alloc_doubles(hvi_tensor_count(gain));
  HVI_OWN double *d = hvi_alloc_doubles(gain->shape[0]);
  if (!k || !d) return hvi_error_memory(file->err, "a policy");
  HVI_TRY(hvi_tensor_doubles(k, gain, file->err));
  HVI_TRY(hvi_tensor_doubles(d, std, file->err));
  return hvi_policy_linear(out, gain->shape[1], gain->shape[0], k, d, file->err);
}

static hvi_status load(hvi_policy **p, const hvi_tensors *t, const hvi_subject *file) {
  HVI_TRY((hvi_tensors_find(t, "gain") ? load_linear : load_actor)(p, t, file));
  for (size_t i = 0; i < t->note_count; i++)
    HVI_TRY(hvi_policy_add_note(*p, t->notes[i].key, t->notes[i].text, file->err));
  return HVI_OK;
}

hvi_status hvi_policy_load(hvi_policy **policy, const char *path, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_OWN_BY(hvi_policy_release) hvi_policy *p = NULL;
  hvi_error local = {HVI_OK, ""};
  *policy = NULL;
  if (!err) err = &local;
  HVI_TRY(hvi_tensors_read(&t, path, MOST_BYTES, err));
  const hvi_status status = load(&p, t, &(hvi_subject){path, HVI_ERROR_INPUT, err});
  if (status && !strstr(err->text, path))
    return hvi_error_set(err, status, "'%s': %s", path, err->text);
  if (status) return status;
  *policy = p;
  p = NULL;
  return HVI_OK;
}

hvi_status hvi_policy_save(const hvi_policy *p, const char *path, hvi_error *err) {
  HVI_OWN_BY(hvi_sheet_free) hvi_sheet s = {0};
  if (!p->net) {
    HVI_TRY(hvi_sheet_new(&s, 2, err));
    hvi_sheet_add(&s, HVI_TENSOR_F64, p->gain, p->act, p->obs, "gain", "");
    hvi_sheet_add(&s, HVI_TENSOR_F64, p->std, p->act, 0, "std", "");
  } else {
    HVI_TRY(list_layers(&s, p, err));
    bool plain = true;
    for (size_t j = 0; j < p->act; j++) plain = plain && p->scale[j] == 1.0F && p->shift[j] == 0.0F;
    if (!plain) {
      hvi_sheet_add(&s, HVI_TENSOR_F32, p->scale, p->act, 0, "action_scale", "");
      hvi_sheet_add(&s, HVI_TENSOR_F32, p->shift, p->act, 0, "action_bias", "");
    }
  }
  return hvi_tensors_write(path, s.items, s.count, p->notes, p->note_count, err);
}
