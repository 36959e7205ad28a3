/*
 * A trainer as a file: every number that goes on, so that the run continues with the same bits.
 * The same list of tensors is written and read; a file is trusted only after all of it fits.
 */
#include "base/base.h"
#include "rl/sac.h"

enum { STATE_TENSORS = 17, COUNTERS = 12, MOST_SETTINGS = 16, SETTING_TEXT = 192 };
static const char KIND[] = "checkpoint of a training";

_Static_assert(sizeof(hvi_sac_counts) == COUNTERS * sizeof(int64_t), "counters are a tensor");

static void add_learner(hvi_sheet *s, const hvi_sac_learner *x, const char *name) {
  hvi_sheet_add(s, HVI_TENSOR_F32, x->weights, x->net->dim, 0, name, ".parameters");
  hvi_sheet_add(s, HVI_TENSOR_F32, x->first, x->net->dim, 0, name, ".first_moment");
  hvi_sheet_add(s, HVI_TENSOR_F32, x->second, x->net->dim, 0, name, ".second_moment");
}

/* The tensors of a trainer but for the buffer's: arrays to write from or to read into. */
static hvi_status list_state(hvi_sheet *s, const hvi_sac *sac, hvi_error *err) {
  const size_t numbers = sizeof sac->numbers / sizeof(double);
  HVI_TRY(hvi_sheet_new(s, STATE_TENSORS + sac->block_count, err));
  add_learner(s, &sac->actor, "actor");
  for (size_t i = 0; i < 2; i++) {
    const char *name = i == 0 ? "critic1" : "critic2";
    add_learner(s, &sac->critics[i].learner, name);
    hvi_sheet_add(s, HVI_TENSOR_F32, sac->critics[i].target, sac->critic_net->dim, 0, name,
                  ".target");
  }
  hvi_sheet_add(s, HVI_TENSOR_F32, &sac->temperature, 3, 0, "temperature", "");
  hvi_sheet_add(s, HVI_TENSOR_U8, &sac->generators, sizeof sac->generators, 0, "generators", "");
  hvi_sheet_add(s, HVI_TENSOR_I64, &sac->counts, COUNTERS, 0, "counters", "");
  hvi_sheet_add(s, HVI_TENSOR_F64, &sac->numbers, numbers, 0, "numbers", "");
  hvi_sheet_add(s, HVI_TENSOR_F64, sac->now, sac->obs, 0, "observation", "");
  hvi_sheet_add(s, HVI_TENSOR_F64, sac->world, sac->env->state, 0, "environment", "");
  return HVI_OK;
}

static void add_buffer(hvi_sheet *s, const hvi_sac *sac) {
  char number[HVI_SHEET_NAME];
  for (size_t i = 0; i * HVI_SAC_BLOCK < sac->counts.stored; i++) {
    const size_t left = sac->counts.stored - i * HVI_SAC_BLOCK;
    snprintf(number, sizeof number, "%zu", i);
    hvi_sheet_add(s, HVI_TENSOR_F32, sac->blocks[i], left < HVI_SAC_BLOCK ? left : HVI_SAC_BLOCK,
                  sac->row, "replay.", number);
  }
}

/* A save must not replace the last good one by networks that nobody can use. */
static hvi_status check_finite(const hvi_sheet *l, const hvi_sac *sac, hvi_error *err) {
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

/* Settings that decide the numbers are notes of the file. */
static bool is_kept(const hvi_setting *row) {
  return row->kind != HVI_SETTING_SECTION && !(row->flags & HVI_SETTING_NO_RESULT);
}

hvi_status hvi_sac_save(const hvi_sac *sac, const char *path, hvi_error *err) {
  char texts[MOST_SETTINGS][SETTING_TEXT];
  hvi_tensor_note notes[MOST_SETTINGS];
  hvi_kept head = {.kind = KIND, .about = sac->env->name};
  size_t count = 0;
  if (sac->device) HVI_TRY(hvi_sac_fetch(sac, err));
  memcpy(head.levels, sac->levels, sizeof head.levels);
  for (const hvi_setting *row = hvi_sac_table()->rows; row->name; row++) {
    if (!is_kept(row)) continue;
    const char *text = hvi_setting_format(row, &sac->settings, texts[count], SETTING_TEXT);
    notes[count++] = (hvi_tensor_note){row->name, text};
  }
  HVI_OWN_BY(hvi_sheet_free) hvi_sheet s = {0};
  HVI_TRY(list_state(&s, sac, err));
  hvi_env_save(sac->env, sac->world);
  HVI_TRY(check_finite(&s, sac, err));
  add_buffer(&s, sac);
  return hvi_kept_write(&head, path, &(hvi_tensors){s.count, s.items, count, notes, NULL}, err);
}

/* Tensors into their arrays, if they are what the arrays need. */
static hvi_status read_items(const hvi_sheet *s, const hvi_tensors *t, const hvi_subject *file) {
  for (size_t i = 0; i < s->count; i++) {
    const hvi_tensor *item = &s->items[i], *x = hvi_tensors_find(t, item->name);
    const size_t count = hvi_tensor_count(item);
    void *data = (void *)(size_t)item->data;
    if (!x || x->type != item->type || hvi_tensor_count(x) != count)
      return hvi_refuse(file,
                        " is no checkpoint of this training: tensor '%s' is missing or is not %s "
                        "of %zu numbers",
                        item->name, hvi_tensor_type_name(item->type), count);
    /* bytes, except that floats are looked at: NaN would spread through everything */
    if (item->type == HVI_TENSOR_F32)
      HVI_TRY(hvi_tensor_floats(data, x, file->err));
    else
      memcpy(data, x->data, count * hvi_tensor_type_size(item->type));
  }
  return HVI_OK;
}

static bool counts_agree(const hvi_sac *sac) {
  const hvi_sac_counts *c = &sac->counts;
  const size_t *all = (const size_t *)c, capacity = sac->settings.buffer;
  for (size_t i = 0; i < COUNTERS; i++)
    if (all[i] > INT64_MAX) return false;
  return c->stored <= capacity &&
         c->place == (c->stored < capacity ? c->stored : c->place % capacity) &&
         c->recent_count <= HVI_SAC_RECENT && c->recent_count <= c->episodes;
}

static hvi_status fill_in(hvi_sac *sac, const hvi_tensors *t, const hvi_subject *file) {
  HVI_OWN_BY(hvi_sheet_free) hvi_sheet s = {0};
  HVI_TRY(list_state(&s, sac, file->err));
  HVI_TRY(read_items(&s, t, file));
  if (!counts_agree(sac)) return hvi_refuse(file, ": its counters contradict each other");
  HVI_TRY(hvi_sac_reserve(sac, sac->counts.stored, file->err));
  s.count = 0;
  add_buffer(&s, sac);
  HVI_TRY(read_items(&s, t, file));
  hvi_env_restore(sac->env, sac->world);
  hvi_net_prepare(sac->actor.net, sac->actor.weights);
  for (size_t i = 0; i < 2; i++) {
    hvi_net_prepare(sac->critic_net, sac->critics[i].learner.weights);
    hvi_net_prepare(sac->critic_net, sac->critics[i].target);
  }
  return HVI_OK;
}

static hvi_status read_settings(hvi_sac_settings *s, const hvi_tensors *t,
                                const hvi_subject *file) {
  *s = hvi_sac_defaults();
  for (const hvi_setting *row = hvi_sac_table()->rows; row->name; row++) {
    if (!is_kept(row)) continue;
    const char *text = hvi_tensors_note(t, row->name);
    if (!text || hvi_setting_parse(row, s, text, NULL, NULL))
      return hvi_refuse(file, ": its setting '%s' is missing or unreadable", row->name);
  }
  return HVI_OK;
}

hvi_status hvi_sac_load(hvi_sac **out, const hvi_env *env, const char *path, bool accept_other_bits,
                        hvi_error *err) {
  return hvi_sac_load_for(out, env, path, accept_other_bits, NULL, err);
}

hvi_status hvi_sac_load_for(hvi_sac **out, const hvi_env *env, const char *path,
                            bool accept_other_bits, const char *device, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_OWN_BY(hvi_sac_release) hvi_sac *sac = NULL;
  hvi_sac_settings settings;
  *out = NULL;
  hvi_kept head = {.kind = KIND, .about = env->name, .accept_other_bits = accept_other_bits};
  head.device = device;
  const hvi_subject file = {path, HVI_ERROR_INPUT, err};
  HVI_TRY(hvi_kept_read(&t, &head, path, err));
  HVI_TRY(read_settings(&settings, t, &file));
  HVI_TRY(hvi_kept_blame(path, hvi_sac_new(&sac, env, &settings, err), err));
  HVI_TRY(fill_in(sac, t, &file));
  memcpy(sac->levels, head.levels, sizeof sac->levels);
  HVI_GIVE(out, sac);
}
