/*
 * A trainer as a file: every number that goes on, so that the run continues with the same bits.
 * The same list of tensors is written and read; a file is trusted only after all of it fits.
 */
#include "base/base.h"
#include "rl/sac.h"

#include <hvi/tensors.h>

enum { NAME_SIZE = 32, FIXED = 40, COUNTERS = 12 };
static const char KIND[] = "checkpoint of a training";

/* The tensors of a trainer: arrays to write from or to read into. */
typedef struct list {
  size_t count;
  hvi_tensor *items;
  char (*names)[NAME_SIZE];
  int64_t counters[COUNTERS];
  double *world; /* the environment's state */
} list;

static void add(list *l, hvi_tensor_type type, void *data, size_t rows, size_t cols,
                const char *name, const char *part) {
  char *own = l->names[l->count];
  snprintf(own, NAME_SIZE, "%s%s", name, part);
  l->items[l->count++] = (hvi_tensor){
      .name = own, .type = type, .dims = cols ? 2 : 1, .shape = {rows, cols}, .data = data};
}

static void add_learner(list *l, hvi_sac_learner *x, const char *name) {
  add(l, HVI_TENSOR_F32, x->weights, x->net->dim, 0, name, ".parameters");
  add(l, HVI_TENSOR_F32, x->first, x->net->dim, 0, name, ".first_moment");
  add(l, HVI_TENSOR_F32, x->second, x->net->dim, 0, name, ".second_moment");
}

static void add_replay(list *l, hvi_sac_replay *r) {
  char number[NAME_SIZE / 2];
  for (size_t i = 0; i * HVI_SAC_BLOCK < r->count; i++) {
    const size_t left = r->count - i * HVI_SAC_BLOCK;
    snprintf(number, sizeof number, "%zu", i);
    add(l, HVI_TENSOR_F32, r->blocks[i], left < HVI_SAC_BLOCK ? left : HVI_SAC_BLOCK, r->row,
        "replay.", number);
  }
}

static void free_list(list *l) {
  hvi_free(l->items);
  hvi_free(l->names);
  hvi_free(l->world);
}

static hvi_status make_list(list *l, hvi_sac *sac, hvi_error *err) {
  const size_t most = FIXED + sac->replay.block_count;
  *l = (list){.items = hvi_alloc(most, sizeof *l->items),
              .names = hvi_alloc(most, sizeof *l->names),
              .world = hvi_alloc_doubles(sac->env->state)};
  if (!l->items || !l->names || !l->world) {
    free_list(l);
    return hvi_error_memory(err, "a checkpoint");
  }
  add_learner(l, &sac->actor, "actor");
  for (size_t i = 0; i < 2; i++) {
    const char *name = i == 0 ? "critic1" : "critic2";
    add_learner(l, &sac->critics[i].learner, name);
    add(l, HVI_TENSOR_F32, sac->critics[i].target, sac->critic_net->dim, 0, name, ".target");
  }
  add(l, HVI_TENSOR_F32, &sac->temperature, 3, 0, "temperature", ""); /* without its steps */
  add(l, HVI_TENSOR_U8, &sac->generators, sizeof sac->generators, 0, "generators", "");
  add(l, HVI_TENSOR_I64, l->counters, COUNTERS, 0, "counters", "");
  add(l, HVI_TENSOR_F64, &sac->numbers, sizeof sac->numbers / sizeof(double), 0, "numbers", "");
  add(l, HVI_TENSOR_F64, sac->now, sac->obs, 0, "observation", "");
  add(l, HVI_TENSOR_F64, l->world, sac->env->state, 0, "environment", "");
  return HVI_OK;
}

/* The counters, in the order of a file: to the list, or back from it. */
static void move_counters(list *l, hvi_sac *sac, bool back) {
  hvi_sac_counts *c = &sac->counts;
  size_t *const all[COUNTERS] = {&sac->actor.steps,
                                 &sac->critics[0].learner.steps,
                                 &sac->critics[1].learner.steps,
                                 &sac->temperature.steps,
                                 &sac->replay.count,
                                 &sac->replay.next,
                                 &c->step,
                                 &c->updates,
                                 &c->episodes,
                                 &c->length,
                                 &c->last_length,
                                 &c->recent_count};
  for (size_t i = 0; i < COUNTERS; i++) {
    if (back) *all[i] = (size_t)l->counters[i];
    l->counters[i] = (int64_t)*all[i];
  }
}

/* A save must not replace the last good one by networks that nobody can use. */
static hvi_status check_finite(const list *l, const hvi_sac *sac, hvi_error *err) {
  for (size_t i = 0; i < l->count; i++) {
    const float *x = l->items[i].data;
    const size_t n = l->items[i].type == HVI_TENSOR_F32 ? hvi_tensor_count(&l->items[i]) : 0;
    for (size_t k = 0; k < n; k++) {
      if (isfinite(x[k])) continue;
      return hvi_error_input(err,
                             "training is no longer finite at step %zu (%s); what was saved before "
                             "is kept",
                             sac->counts.step, l->items[i].name);
    }
  }
  return HVI_OK;
}

enum { MOST_SETTINGS = 16, SETTING_TEXT = 192 };

/* Settings that decide the numbers are notes of the file. */
static bool is_kept(const hvi_setting *row) {
  return row->kind != HVI_SETTING_SECTION && !(row->flags & HVI_SETTING_NO_RESULT);
}

hvi_status hvi_sac_save(const hvi_sac *constant, const char *path, hvi_error *err) {
  hvi_sac *sac = (hvi_sac *)(size_t)constant; /* the list serves reading too */
  char texts[MOST_SETTINGS][SETTING_TEXT];
  hvi_tensor_note notes[MOST_SETTINGS];
  hvi_kept head = {.kind = KIND, .about = sac->env->name};
  size_t count = 0;
  memcpy(head.levels, sac->levels, sizeof head.levels);
  for (const hvi_setting *row = hvi_sac_table()->rows; row->name; row++) {
    if (!is_kept(row)) continue;
    notes[count] = (hvi_tensor_note){
        row->name, hvi_setting_format(row, &sac->settings, texts[count], SETTING_TEXT)};
    count++;
  }
  list l;
  HVI_TRY(make_list(&l, sac, err));
  move_counters(&l, sac, false);
  hvi_env_save(sac->env, l.world);
  hvi_status status = check_finite(&l, sac, err);
  add_replay(&l, &sac->replay);
  const hvi_tensors t = {l.count, l.items, count, notes, NULL};
  if (!status) status = hvi_kept_write(&head, path, &t, err);
  free_list(&l);
  return status;
}

/* One tensor into its array, if it is what the array needs. */
static hvi_status read_item(const hvi_tensor *item, const hvi_tensors *t, const char *path,
                            hvi_error *err) {
  const hvi_tensor *x = hvi_tensors_find(t, item->name);
  const size_t count = hvi_tensor_count(item);
  if (!x || x->type != item->type || hvi_tensor_count(x) != count) {
    return hvi_error_input(
        err,
        "'%s' is no checkpoint of this training: tensor '%s' is missing or is not "
        "%s of %zu numbers",
        path, item->name, hvi_tensor_type_name(item->type), count);
  }
  /* bytes, except that floats are looked at: NaN would spread through everything */
  if (item->type == HVI_TENSOR_F32) return hvi_tensor_floats((float *)(size_t)item->data, x, err);
  memcpy((void *)(size_t)item->data, x->data, count * hvi_tensor_type_size(item->type));
  return HVI_OK;
}

static hvi_status read_items(const list *l, size_t from, const hvi_tensors *t, const char *path,
                             hvi_error *err) {
  hvi_status status = HVI_OK;
  for (size_t i = from; i < l->count && !status; i++)
    status = read_item(&l->items[i], t, path, err);
  return status;
}

/* Puts the counters back; false when they contradict each other. */
static bool restore_counters(list *l, hvi_sac *sac) {
  for (size_t i = 0; i < COUNTERS; i++)
    if (l->counters[i] < 0) return false;
  move_counters(l, sac, true);
  const hvi_sac_replay *r = &sac->replay;
  const size_t expected = r->count < r->capacity ? r->count : r->next;
  return r->count <= r->capacity && r->next == expected % r->capacity &&
         sac->counts.recent_count <= HVI_SAC_RECENT &&
         sac->counts.recent_count <= sac->counts.episodes;
}

static hvi_status fill_in(hvi_sac *sac, const hvi_tensors *t, const char *path, hvi_error *err) {
  list l;
  HVI_TRY(make_list(&l, sac, err));
  hvi_status status = read_items(&l, 0, t, path, err);
  if (!status && !restore_counters(&l, sac))
    status = hvi_error_input(err, "'%s': its counters contradict each other", path);
  if (!status) status = hvi_sac_replay_reserve(&sac->replay, sac->replay.count, err);
  const size_t fixed = l.count;
  if (!status) {
    add_replay(&l, &sac->replay);
    status = read_items(&l, fixed, t, path, err);
  }
  if (!status) {
    hvi_env_restore(sac->env, l.world);
    hvi_net_prepare(sac->actor.net, sac->actor.weights);
    for (size_t i = 0; i < 2; i++) {
      hvi_net_prepare(sac->critic_net, sac->critics[i].learner.weights);
      hvi_net_prepare(sac->critic_net, sac->critics[i].target);
    }
  }
  free_list(&l);
  return status;
}

static hvi_status read_settings(hvi_sac_settings *s, const hvi_tensors *t, const char *path,
                                hvi_error *err) {
  *s = hvi_sac_defaults();
  for (const hvi_setting *row = hvi_sac_table()->rows; row->name; row++) {
    const char *text = is_kept(row) ? hvi_tensors_note(t, row->name) : NULL;
    if (is_kept(row) && (!text || hvi_setting_parse(row, s, text, NULL, NULL))) {
      return hvi_error_input(err, "'%s': its setting '%s' is missing or unreadable", path,
                             row->name);
    }
  }
  return HVI_OK;
}

hvi_status hvi_sac_load(hvi_sac **out, const hvi_env *env, const char *path, bool accept_other_bits,
                        hvi_error *err) {
  hvi_tensors *t = NULL;
  hvi_sac *sac = NULL;
  hvi_sac_settings settings;
  *out = NULL;
  hvi_kept head = {.kind = KIND, .about = env->name, .accept_other_bits = accept_other_bits};
  hvi_status status = hvi_kept_read(&t, &head, path, err);
  if (!status) status = read_settings(&settings, t, path, err);
  if (!status) status = hvi_sac_new(&sac, env, &settings, err);
  if (!status) status = fill_in(sac, t, path, err);
  hvi_tensors_free(t);
  if (!status) {
    memcpy(sac->levels, head.levels, sizeof sac->levels);
    *out = sac;
  } else {
    hvi_sac_free(sac);
  }
  return status;
}
