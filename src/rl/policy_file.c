/*
 * Policies as files. An actor of ours is fc1, fc2, ..., fcN, fc_mean, fc_logstd, each with .weight
 * [out][in] and .bias [out]; the two heads are one layer here, and are cut apart and joined on the
 * way. A table has the names that other trainers give. Tensors of other names are left alone.
 */
#include "base/base.h"
#include "rl/policy.h"

enum { MOST_HIDDEN = 64, LAYER_NAME = 64 };
static const size_t MOST_BYTES = (size_t)4 << 30;

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

/* A tensor of rows by cols (cols 0: a vector of `rows`; rows or cols SIZE_MAX: any). */
static hvi_status find(const hvi_tensor **found, const hvi_tensors *t, const char *name,
                       size_t rows, size_t cols, const hvi_subject *file) {
  const hvi_tensor *x = *found = hvi_tensors_find(t, name);
  const size_t want[2] = {rows, cols}, dims = cols == 0 ? 1 : 2;
  if (!x)
    return hvi_refuse(
        file,
        " is no policy: it has no tensor '%s' (an actor has fc1.weight, fc1.bias, "
        "..., fc_mean.*, fc_logstd.*, or the names of Stable-Baselines3 or of a Sequential; "
        "a linear policy gain and std)",
        name);
  if (x->dims != dims) return hvi_refuse(file, ": %s has %zu axes, not %zu", name, x->dims, dims);
  for (size_t i = 0; i < dims; i++) {
    if (x->shape[i] == 0) return hvi_refuse(file, ": %s is empty", name);
    if (want[i] == SIZE_MAX || x->shape[i] == want[i]) continue;
    return hvi_refuse(file, ": axis %zu of %s is %zu long, but the tensors before it need %zu",
                      i + 1, name, x->shape[i], want[i]);
  }
  return HVI_OK;
}

/*
 * Whose names a file has, and what they mean. Hidden layers are numbered behind `trunk`: fc1, fc2, ...
 * or, in a Sequential, every layer that is no activation. The head is `mean`, or the last of these.
 * Names may all begin with "actor.".
 */
typedef struct layout {
  const char *name, *trunk, *mean; /* mean NULL: the last of the trunk */
  const char *log_std;             /* a layer, or a vector; NULL: none */
  bool vector;
  hvi_activation activation;
  hvi_policy_form form;
  bool open; /* the file has to say activation and squash itself */
} layout;

HVI_ROWS(static const layout layouts[],
    {NULL, "fc", "fc_mean", "fc_logstd", false, HVI_RELU, {HVI_DEVIATION_RANGE, .clipped = false}, false},
    {"CleanRL TD3 or DDPG", "fc", "fc_mu", NULL, false, HVI_RELU, {HVI_DEVIATION_NONE, .clipped = false}, false},
    {"CleanRL PPO", "actor_mean.", NULL, "actor_logstd", true, HVI_TANH, {HVI_DEVIATION_PLAIN, true, .env_range = true}, false},
    {"Stable-Baselines3 SAC", "latent_pi.", "mu", "log_std", false, HVI_RELU, {HVI_DEVIATION_CLAMP, .env_range = true}, false},
    {"Stable-Baselines3 TD3 or DDPG", "mu.", NULL, NULL, false, HVI_RELU, {HVI_DEVIATION_NONE, .env_range = true}, false},
    {"Stable-Baselines3 PPO or A2C", "mlp_extractor.policy_net.", "action_net", "log_std", true, HVI_TANH, {HVI_DEVIATION_PLAIN, true, .env_range = true}, false},
    {"Sequential", "", NULL, "log_std", true, HVI_RELU, {HVI_DEVIATION_PLAIN, .clipped = false}, true});

#define AT(member) .offset = offsetof(hvi_policy_options, member)
HVI_TABLE(static const hvi_setting_table table, "policy", hvi_policy_options,
    {"policy_kind", HVI_SETTING_CHOICE, AT(kind), .choices = "file|deterministic|gaussian", .help = "what the policy is, where not what its file says"},
    {"policy_activation", HVI_SETTING_CHOICE, AT(activation), .choices = "file|identity|celu|sigmoid||tanh|relu|leaky_relu|gelu|softplus", .help = "of its hidden layers"},
    {"squash", HVI_SETTING_CHOICE, AT(squash), .choices = "file|tanh|clip", .help = "how its actions are kept in their range"},
    {"action_range", HVI_SETTING_CHOICE, AT(action_range), .choices = "auto|env|file",
     .help = "of a squashed policy: scaled to the environment's, or as the file says (auto: the first for Stable-Baselines3)"},
    {0});

const hvi_setting_table *hvi_policy_table(void) { return &table; }

/* Without what all names may begin with. */
static const char *bare(const char *name) {
  return strncmp(name, "actor.", 6) == 0 ? name + 6 : name;
}

bool hvi_policy_uses(const hvi_policy *p, const char *name) {
  const layout *of = layouts;
  if (!p->net) return hvi_words_have("gain std", name);
  if (hvi_words_have("action_scale action_bias", name)) return true;
  while (of->name != p->layout) of++;
  name = bare(name);
  const char *const parts[] = {of->trunk, of->mean, of->log_std};
  for (size_t k = 0; k < 3; k++) {
    const size_t length = parts[k] ? strlen(parts[k]) : 0;
    if (!parts[k] || strncmp(name, parts[k], length) != 0) continue;
    const char next = name[length];
    if (k == 0 ? next >= '0' && next <= '9' : next == '.' || next == '\0') return true;
  }
  return false;
}

/* A layout in a file: its names and sizes. */
typedef struct shape {
  const layout *of;
  const char *prefix; /* of all names */
  size_t obs, act, hidden, widths[MOST_HIDDEN + 2];
  size_t count, number[MOST_HIDDEN + 1]; /* of the layers of the trunk, in order */
  char names[MOST_HIDDEN + 2][LAYER_NAME], log_std[LAYER_NAME]; /* of the layers; the head last */
} shape;

static int by_size(const void *a, const void *b) {
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

/* The numbers n for which there is PREFIX TRUNK n.weight. */
static hvi_status find_numbers(shape *s, const hvi_tensors *t, const hvi_subject *file) {
  char start[LAYER_NAME];
  const int length = snprintf(start, sizeof start, "%s%s", s->prefix, s->of->trunk);
  for (size_t i = 0; i < t->count; i++) {
    const char *name = t->items[i].name;
    if (strncmp(name, start, (size_t)length) != 0 || name[length] < '0' || name[length] > '9')
      continue;
    char *end;
    const size_t number = strtoul(name + length, &end, 10);
    if (strcmp(end, ".weight") != 0) continue;
    if (s->count > MOST_HIDDEN)
      return hvi_refuse(file, " has more than %d hidden layers", (int)MOST_HIDDEN);
    s->number[s->count++] = number;
  }
  qsort(s->number, s->count, sizeof *s->number, by_size);
  return HVI_OK;
}

/* What is known by its names, and not read. */
static hvi_status check_kind(const hvi_tensors *t, const hvi_subject *file) {
  const char *contents = hvi_tensors_note(t, "contents");
  if (contents && strcmp(contents, "value network") == 0)
    return hvi_refuse(file, " is no policy: it is a value network");
  for (size_t i = 0; i < t->count; i++) {
    const hvi_tensor *x = &t->items[i];
    if (strcmp(bare(x->name), "log_std") == 0 && x->dims == 2 && x->shape[0] > 1)
      return hvi_refuse(file, " explores by gSDE (use_sde): '%s' is a matrix; %s", x->name,
                        "policies with one log std for each action, or with a layer, are read");
    if (strncmp(x->name, "q_net.", 6) == 0)
      return hvi_refuse(file, " is no policy of continuous actions: '%.80s' is of a DQN", x->name);
  }
  return HVI_OK;
}

/* The layout of a file, or our own, whose missing tensors are then named. */
static hvi_status find_layout(shape *s, const hvi_tensors *t, const hvi_subject *file) {
  static const char *const prefixes[] = {"", "actor.", ""};
  const size_t count = sizeof layouts / sizeof *layouts;
  for (size_t k = 0; k <= 2 * count; k++) {
    char name[LAYER_NAME];
    *s = (shape){.of = &layouts[k % count], .prefix = prefixes[k / count]};
    snprintf(name, sizeof name, "%s%s.weight", s->prefix, s->of->mean ? s->of->mean : "");
    HVI_TRY(find_numbers(s, t, file));
    if (s->of->mean ? hvi_tensors_find(t, name) != NULL : s->count > 0) break;
  }
  return HVI_OK;
}

/* Layers follow each other at one distance, ours from 1 on: fc5 without fc4 is a file of something
 * else. */
static hvi_status check_numbers(const shape *s, const hvi_subject *file) {
  const bool ours = strcmp(s->of->trunk, "fc") == 0;
  const size_t first = ours ? 1 : s->number[0];
  const size_t step = !ours && s->count > 1 ? s->number[1] - first : 1;
  for (size_t k = 0; k < s->count; k++) {
    if (s->number[k] == first + k * step) continue;
    return hvi_refuse(
        file, " has '%s%s%zu.weight', which is none of its %zu hidden layers %s%zu, %zu, ...",
        s->prefix, s->of->trunk, s->number[k], k, s->of->trunk, first, first + step);
  }
  return HVI_OK;
}

static void name_layers(shape *s) {
  for (size_t k = 0; k < s->count; k++)
    snprintf(s->names[k], LAYER_NAME, "%s%s%zu", s->prefix, s->of->trunk, s->number[k]);
  s->hidden = s->of->mean ? s->count : s->count - 1;
  if (s->of->mean) snprintf(s->names[s->hidden], LAYER_NAME, "%s%s", s->prefix, s->of->mean);
  if (s->of->log_std) snprintf(s->log_std, LAYER_NAME, "%s%s", s->prefix, s->of->log_std);
}

/* What the weights say about the sizes. */
static hvi_status read_shape(shape *s, const hvi_tensors *t, const hvi_subject *file) {
  const hvi_tensor *x;
  HVI_TRY(check_kind(t, file));
  HVI_TRY(find_layout(s, t, file));
  HVI_TRY(check_numbers(s, file));
  name_layers(s);
  for (size_t l = 0; l <= s->hidden; l++) {
    char name[LAYER_NAME + 8];
    snprintf(name, sizeof name, "%s.weight", s->names[l]);
    HVI_TRY(find(&x, t, name, SIZE_MAX, l ? s->widths[l - 1] : SIZE_MAX, file));
    if (l == 0) s->obs = x->shape[1];
    s->act = s->widths[l] = x->shape[0];
  }
  return HVI_OK;
}

/* An actor's layers, to write from or to read into, with room for two tensors more; noise: the log
 * std is a layer among them. */
static hvi_status list_layers(hvi_sheet *sheet, const hvi_policy *p, const shape *s, bool noise,
                              hvi_error *err) {
  const hvi_net_layer *layers = p->net->layers;
  HVI_TRY(hvi_sheet_new(sheet, 2 * s->hidden + 6, err));
  for (size_t l = 0; l < s->hidden; l++)
    add_units(sheet, s->names[l], p->weights, &layers[l], 0, layers[l].out);
  add_units(sheet, s->names[s->hidden], p->weights, &layers[s->hidden], 0, p->act);
  if (noise) add_units(sheet, s->log_std, p->weights, &layers[s->hidden], p->act, p->act);
  return HVI_OK;
}

/* One number for all entries, or one for each; CleanRL has them with and without a leading axis. */
static hvi_status read_per_action(float *out, const hvi_tensors *t, const char *name, size_t act,
                                  const hvi_subject *file) {
  const hvi_tensor *x = hvi_tensors_find(t, name);
  if (!x) return HVI_OK;
  const size_t count = hvi_tensor_count(x);
  if (count != 1 && count != act)
    return hvi_refuse(file, ": %s has %zu numbers; it needs 1 or one for each of %zu actions", name,
                      count, act);
  HVI_TRY(hvi_tensor_floats(out, x, file->err));
  for (size_t j = count; j < act; j++) out[j] = out[0];
  return HVI_OK;
}

/* A word of a note, as its place among the choices of the option's row; 0: there is no note. */
static hvi_status read_word(int *choice, const hvi_tensors *t, const char *note, const char *row,
                            const hvi_subject *file) {
  const char *text = hvi_tensors_note(t, note);
  hvi_policy_options o = {0};
  const hvi_setting *of = hvi_setting_find(&table, row);
  if (!text || *choice) return HVI_OK;
  hvi_error inner;
  if (hvi_setting_parse(of, &o, text, note, &inner))
    return hvi_refuse(file, ": note %s", inner.text);
  memcpy(choice, (const char *)&o + of->offset, sizeof *choice);
  return HVI_OK;
}

/* What options, notes and the layout say, in this order. */
static hvi_status choose_form(hvi_policy_form *form, hvi_activation *activation, const shape *s,
                              hvi_policy_options o, const hvi_tensors *t, const hvi_subject *file) {
  char name[LAYER_NAME + 8];
  snprintf(name, sizeof name, "%s%s", s->log_std, s->of->vector ? "" : ".weight");
  const bool noise = s->of->log_std && hvi_tensors_find(t, name);
  HVI_TRY(read_word(&o.kind, t, "kind", "policy_kind", file));
  HVI_TRY(read_word(&o.activation, t, "activation", "policy_activation", file));
  HVI_TRY(read_word(&o.squash, t, "squash", "squash", file));
  HVI_TRY(read_word(&o.action_range, t, "action_range", "action_range", file));
  *form = s->of->form;
  *activation = o.activation ? (hvi_activation)(o.activation - 1) : s->of->activation;
  if (s->of->open && (!(o.activation || s->hidden == 0) || !o.squash))
    return hvi_refuse(file, " does not say how its actions are made: %s",
                      "--policy-activation and --squash, or notes activation and squash");
  if (o.squash) form->clipped = o.squash == 2;
  form->env_range = form->clipped || o.action_range == 1 || (form->env_range && !o.action_range);
  if (o.kind == 1 || (s->of->open && !noise)) form->deviation = HVI_DEVIATION_NONE;
  if (o.kind == 2 && !noise) return hvi_refuse(file, " has no '%s', and is not Gaussian", name);
  if (!noise && s->of->vector && !s->of->open)
    return hvi_refuse(file, " has discrete actions, which are not read: there is no tensor '%s'",
                      name);
  if (!noise && form->deviation != HVI_DEVIATION_NONE)
    return hvi_refuse(file, " is no policy: it has no tensor '%s'", name);
  return HVI_OK;
}

static hvi_status read_layers(const hvi_policy *p, const shape *s, const hvi_tensors *t,
                              const hvi_subject *file) {
  const bool noise = p->form.deviation != HVI_DEVIATION_NONE;
  HVI_OWN_BY(hvi_sheet_free) hvi_sheet sheet = {0};
  HVI_TRY(list_layers(&sheet, p, s, noise && !s->of->vector, file->err));
  for (size_t i = 0; i < sheet.count; i++) {
    const hvi_tensor *to = &sheet.items[i], *x;
    HVI_TRY(find(&x, t, to->name, to->shape[0], to->shape[1], file));
    HVI_TRY(hvi_tensor_floats((float *)(uintptr_t)to->data, x, file->err));
  }
  if (!noise || !s->of->vector) return HVI_OK;
  /* one log std for all states is a head without weights */
  return read_per_action(p->weights + p->net->layers[s->hidden].bias + s->act, t, s->log_std,
                         s->act, file);
}

static hvi_status load_actor(hvi_policy **out, const hvi_tensors *t, const hvi_policy_options *o,
                             const hvi_subject *file) {
  shape s;
  hvi_policy_form form;
  hvi_activation activation;
  HVI_TRY(read_shape(&s, t, file));
  HVI_TRY(choose_form(&form, &activation, &s, *o, t, file));
  const hvi_status status =
      hvi_policy_actor(out, s.obs, s.act, s.hidden, s.widths, activation, file->err);
  /* more parameters than a network may have: the file's fault here */
  if (status == HVI_ERROR_ARGUMENT) return hvi_error_input(file->err, "%s", file->err->text);
  if (status) return status;
  hvi_policy *p = *out;
  p->layout = s.of->name;
  p->form = form;
  HVI_TRY(read_layers(p, &s, t, file));
  HVI_TRY(read_per_action(p->scale, t, "action_scale", s.act, file));
  HVI_TRY(read_per_action(p->shift, t, "action_bias", s.act, file));
  p->form.ranged = hvi_tensors_find(t, "action_scale") != NULL;
  for (size_t j = 0; j < s.act; j++) {
    if (!(p->scale[j] > 0.0F)) return hvi_refuse(file, ": action_scale must be positive");
    if (form.clipped && !p->form.ranged) p->scale[j] = INFINITY; /* until it meets an environment */
  }
  hvi_net_prepare(p->net, p->weights);
  return HVI_OK;
}

static hvi_status load_linear(hvi_policy **out, const hvi_tensors *t, const hvi_subject *file) {
  const hvi_tensor *gain, *std;
  HVI_TRY(find(&gain, t, "gain", SIZE_MAX, SIZE_MAX, file));
  HVI_TRY(find(&std, t, "std", gain->shape[0], 0, file));
  HVI_NEW(double, k, hvi_tensor_count(gain), "a policy", file->err);
  HVI_NEW(double, d, gain->shape[0], "a policy", file->err);
  HVI_TRY(hvi_tensor_doubles(k, gain, file->err));
  HVI_TRY(hvi_tensor_doubles(d, std, file->err));
  return hvi_policy_linear(out, gain->shape[1], gain->shape[0], k, d, file->err);
}

static hvi_status load(hvi_policy **p, const hvi_tensors *t, const hvi_policy_options *o,
                       const hvi_subject *file) {
  HVI_TRY(hvi_tensors_find(t, "gain") ? load_linear(p, t, file) : load_actor(p, t, o, file));
  for (size_t i = 0; i < t->note_count; i++)
    HVI_TRY(hvi_policy_add_note(*p, t->notes[i].key, t->notes[i].text, file->err));
  return HVI_OK;
}

hvi_status hvi_policy_load(hvi_policy **policy, const char *path, hvi_error *err) {
  return hvi_policy_read(policy, path, NULL, err);
}

hvi_status hvi_policy_read(hvi_policy **policy, const char *path, const hvi_policy_options *options,
                           hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_OWN_BY(hvi_policy_release) hvi_policy *p = NULL;
  hvi_error local = {HVI_OK, ""};
  *policy = NULL;
  if (!err) err = &local;
  HVI_TRY(hvi_tensors_open(&t, path, MOST_BYTES, err));
  const hvi_policy_options none = {0}, *o = options ? options : &none;
  const hvi_status status = load(&p, t, o, &(hvi_subject){path, HVI_ERROR_INPUT, err});
  if (status && !strstr(err->text, path))
    return hvi_error_set(err, status, "'%s': %s", path, err->text);
  if (status) return status;
  HVI_GIVE(policy, p);
}

hvi_status hvi_policy_save(const hvi_policy *p, const char *path, hvi_error *err) {
  HVI_OWN_BY(hvi_sheet_free) hvi_sheet s = {0};
  if (p->layout || p->form.deviation != HVI_DEVIATION_RANGE || p->form.clipped)
    return hvi_error_unsupported(err, "a policy of %s is read and not written",
                                 p->layout ? p->layout : "another form");
  if (!p->net) {
    HVI_TRY(hvi_sheet_new(&s, 2, err));
    hvi_sheet_add(&s, HVI_TENSOR_F64, p->gain, p->act, p->obs, "gain", "");
    hvi_sheet_add(&s, HVI_TENSOR_F64, p->std, p->act, 0, "std", "");
  } else {
    shape names = {.of = layouts, .prefix = "", .count = p->net->layer_count - 1};
    for (size_t k = 0; k < names.count; k++) names.number[k] = k + 1;
    name_layers(&names);
    HVI_TRY(list_layers(&s, p, &names, true, err));
    bool plain = true;
    for (size_t j = 0; j < p->act; j++) plain = plain && p->scale[j] == 1.0F && p->shift[j] == 0.0F;
    if (!plain) {
      hvi_sheet_add(&s, HVI_TENSOR_F32, p->scale, p->act, 0, "action_scale", "");
      hvi_sheet_add(&s, HVI_TENSOR_F32, p->shift, p->act, 0, "action_bias", "");
    }
  }
  return hvi_tensors_write(path, s.items, s.count, p->notes, p->note_count, err);
}
