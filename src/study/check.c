/*
 * A study before its cells: both sizes are laid out, and what the file says of factors, files,
 * figures and claims is held against tables that have no rows yet.
 */
#include "base/base.h"
#include "study/fields.h"
#include "study/grid.h"

/* The key `split` that holds for a part: its own, or that of the whole. */
static const hvi_node *split_of(const hvi_study *study, size_t part) {
  const hvi_node *root = study->tree->root, *list = hvi_node_get(root, "parts");
  const hvi_node *n = list ? list->first : NULL;
  for (; n && part > 0; part--) n = n->next;
  const hvi_node *own = n ? hvi_node_get(n, "split") : NULL;
  return own ? own : hvi_node_get(root, "split");
}

/* Whether some table has it as a factor, or as a column of words. */
static bool can_split(const hvi_study *study, const char *word) {
  for (const hvi_table *t = study->tables; t < study->tables + study->table_count; t++) {
    const size_t c = hvi_table_find(t, word);
    const hvi_part *p = &study->parts[t->part];
    if (c == t->columns) continue;
    if (t->column[c].words) return true;
    for (const hvi_factor *f = p->factors; f < p->factors + p->factor_count; f++)
      for (size_t k = 0; k < f->keys; k++)
        if (strcmp(f->key[k], word) == 0) return true;
  }
  return false;
}

static hvi_status check_split(const hvi_study *study, size_t part, hvi_error *err) {
  const hvi_part *p = &study->parts[part];
  const hvi_node *n = p->split ? split_of(study, part) : NULL;
  char names[1000] = "";
  size_t words = 0, used = 0;
  for (const hvi_factor *f = p->factors; f < p->factors + p->factor_count; f++)
    for (size_t k = 0; k < f->keys && used < 900; k++)
      used += (size_t)snprintf(names + used, 80, "%s%.70s", used ? " " : "", f->key[k]);
  for (const char *at = n ? p->split : ""; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " "), at);
    if (words++ == HVI_MOST_SPLITS)
      return hvi_error_input(err, "%s:%u: split: must be 1 to %d factors", study->origin, n->line,
                             HVI_MOST_SPLITS);
    if (!can_split(study, word))
      return hvi_field_refuse(&(hvi_field_part){0}, names, "factor", word, n, study->origin, err);
  }
  return HVI_OK;
}

/* Figures of the kind are for files that are split as the kind has it: others have their own. */
static hvi_status check_figures(hvi_study *study, hvi_error *err) {
  const hvi_status status = hvi_study_draw(study, study->default_figures ? NULL : err);
  if (!study->default_figures || status != HVI_ERROR_INPUT) return status;
  study->figures = NULL;
  return HVI_OK;
}

static hvi_status check_size(hvi_study *study, bool full, hvi_error *err) {
  for (size_t i = 0; i < study->part_count; i++) {
    HVI_TRY(hvi_part_lay_out(&study->parts[i], full, study->origin, err));
    HVI_TRY(hvi_part_tables(study, &study->parts[i], err));
  }
  for (size_t i = 0; i < study->part_count; i++) HVI_TRY(check_split(study, i, err));
  HVI_TRY(check_figures(study, err));
  return hvi_study_judge(study, err);
}

hvi_status hvi_study_check(hvi_study *study, hvi_error *err) {
  hvi_status status = HVI_OK;
  for (int full = 0; full < 2 && !status; full++) {
    const hvi_study_settings settings = {.full = full};
    hvi_claims claims = {0};
    study->settings = &settings;
    study->claims = &claims;
    study->checking = true;
    status = check_size(study, full, err);
    hvi_study_clear(study);
    hvi_claims_clear(&claims);
    study->checking = false;
    study->settings = NULL;
    study->claims = NULL;
  }
  return status;
}
