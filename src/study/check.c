/*
 * A study before its cells: both sizes are laid out, and what the file says of factors, files,
 * figures and claims is held against tables that have no rows yet.
 */
#include "base/base.h"
#include "problems/options.h"
#include "study/fields.h"
#include "study/grid.h"

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

static hvi_status check_split(const hvi_study *study, const hvi_part *p, hvi_error *err) {
  const hvi_node *n = p->split ? hvi_part_key(study, p, "split") : NULL;
  char names[1000] = "";
  size_t words = 0, used = 0;
  for (const hvi_factor *f = p->factors; f < p->factors + p->factor_count; f++)
    for (size_t k = 0; k < f->keys && used < 900; k++)
      used += (size_t)snprintf(names + used, 80, "%s%.70s", used ? " " : "", f->key[k]);
  for (const char *at = n ? p->split : ""; *(at += strspn(at, " ")); at += strcspn(at, " ")) {
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " "), at);
    if (words++ == HVI_MOST_SPLITS)
      return hvi_error_line(err, study->origin, n->line, "split: must be 1 to %d factors",
                            HVI_MOST_SPLITS);
    if (!can_split(study, word))
      return hvi_field_refuse(&(hvi_field_part){0}, names, "factor", word, n, study->origin, err);
  }
  return HVI_OK;
}

/* A problem with options, and the level of the factor that names it, where one does. */
typedef struct choice {
  const char *name;
  const hvi_setting_table *options;
  const hvi_factor *by;
  size_t level;
} choice;

/* A value that an option of the problem gets, from a key of the file. */
static hvi_status check_option(const hvi_study *study, const choice *c, const char *key,
                               const char *value, const hvi_node *n, hvi_error *err) {
  const hvi_setting *row = hvi_setting_find(c->options, key);
  char where[400];
  if (!row)
    return hvi_field_refuse((hvi_field_part[]){{.table = c->options}, {0}}, NULL, "option", key, n,
                            study->origin, err);
  HVI_OWN void *values = hvi_alloc(1, c->options->size);
  if (!values) return hvi_error_memory(err, "options");
  snprintf(where, sizeof where, "%.300s:%u: %s: %s", study->origin, n->line, c->name, key);
  return hvi_setting_parse(row, values, value, where, err);
}

/* Options of the part, and levels of factors that are options. */
static hvi_status check_options(const hvi_study *study, const hvi_part *p, const choice *c,
                                hvi_error *err) {
  const hvi_node *options = hvi_part_key(study, p, "options"),
                 *grid = hvi_part_key(study, p, "grid"), *n;
  for (size_t i = 0; options && i < p->option_count; i++) {
    n = hvi_node_get(options, p->options[i].key);
    HVI_TRY(check_option(study, c, p->options[i].key, p->options[i].value, n ? n : options, err));
  }
  for (const hvi_factor *f = p->factors; grid && f < p->factors + p->factor_count; f++)
    for (size_t k = 0; k < f->keys; k++)
      for (size_t l = 0; l < f->levels && hvi_setting_find(c->options, f->key[k]); l++) {
        const char *value = f->text[k * (f->levels + 1) + l];
        n = hvi_node_get(grid, f->name);
        if (*value && (f != c->by || l == c->level))
          HVI_TRY(check_option(study, c, f->key[k], value, n ? n : grid, err));
      }
  return HVI_OK;
}

static hvi_status find_builtin(const hvi_builtin **b, const char *name, const hvi_node *n,
                               const hvi_study *study, hvi_error *err) {
  char all[400] = "";
  for (*b = hvi_builtin_list(); (*b)->name; ++*b) {
    if (strcmp((*b)->name, name) == 0) return HVI_OK;
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all ? " " : "", (*b)->name);
  }
  return hvi_field_refuse(&(hvi_field_part){0}, all, "problem", name, n, study->origin, err);
}

/* The problems that a part names, built in or code, and their options; other files are read by its
 * cells. */
static hvi_status check_problem(const hvi_study *study, const hvi_part *p, hvi_error *err) {
  const hvi_node *n = hvi_part_key(study, p, "problem"), *grid = hvi_part_key(study, p, "grid");
  const hvi_builtin *b;
  bool varied = (p->kind->flags & HVI_KIND_VALUE) != 0;
  for (const hvi_factor *f = p->factors; !varied && f < p->factors + p->factor_count; f++)
    for (size_t k = 0; k < f->keys; k++)
      for (size_t l = 0; l < f->levels && strcmp(f->key[k], "problem") == 0; l++) {
        varied = true;
        HVI_TRY(find_builtin(&b, f->text[k * (f->levels + 1) + l], grid ? grid : n, study, err));
        HVI_TRY(check_options(study, p, &(choice){b->name, b->options, f, l}, err));
      }
  if (varied || !p->problem || (p->problem_path && !p->code)) return HVI_OK;
  b = p->code ? p->code : hvi_builtin_find(p->problem); /* check_size has looked */
  const hvi_setting_table options = hvi_builtin_table(b);
  return check_options(study, p, &(choice){b->name, &options, NULL, 0}, err);
}

/* Figures of the kind are for files that are split as the kind has it: others have their own. */
static hvi_status check_figures(hvi_study *study, hvi_error *err) {
  const hvi_status status = hvi_study_draw(study, err);
  if (!study->default_figures || status != HVI_ERROR_INPUT) return status;
  study->figures = NULL;
  return HVI_OK;
}

static hvi_status check_size(hvi_study *study, bool full, hvi_error *err) {
  for (size_t i = 0; i < study->part_count; i++) {
    hvi_part *p = &study->parts[i];
    const hvi_builtin *b;
    if (p->problem && !p->problem_path)
      HVI_TRY(find_builtin(&b, p->problem, hvi_part_key(study, p, "problem"), study, err));
    HVI_TRY(hvi_part_lay_out(p, full, study->origin, err));
    HVI_TRY(hvi_part_tables(study, p, err));
  }
  for (size_t i = 0; i < study->part_count; i++) {
    HVI_TRY(check_problem(study, &study->parts[i], err));
    HVI_TRY(check_split(study, &study->parts[i], err));
  }
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
