/* The claims of a shipped study, judged on tables that a test fills: planted results. */
#ifndef HVI_TESTS_STUDY_PLANTED_H
#define HVI_TESTS_STUDY_PLANTED_H

#include "base/memory.h"
#include "study/grid.h"
#include "support/check.h"

#include <stdio.h>

/* What stands in a column of the kind's own in row `line` of a cell; tables of a part are told by
 * their whole name. */
typedef double (*planted_value)(const hvi_cell *cell, const char *table, const char *column,
                                size_t line);

/* A value in the place of another, in the rows where the factor `key` has this level, of this method;
 * NULL: any. */
typedef struct violation {
  const char *table, *column, *method, *key, *level;
  double value;
  size_t line; /* the row of the cell that has it, from 1; 0: all */
} violation;

static bool is_at(const hvi_cell *c, const char *key, const char *level) {
  const char *word = key && level ? hvi_cell_word(c, key) : NULL;
  return !level || (word && strcmp(word, level) == 0);
}

/* How many rows a cell has in a table. */
typedef size_t (*planted_lines)(const char *table);

static void plant_table(hvi_study *s, hvi_part *p, size_t k, planted_value value,
                        planted_lines lines, const violation *v) {
  hvi_table *t = &s->tables[p->first_table + k];
  hvi_column columns[160];
  double row[160];
  const size_t own = hvi_part_columns(p, p->kind->tables[k].columns, columns);
  for (size_t i = 0; i < p->cells; i++) {
    const hvi_cell cell = hvi_cell_at(s, p, i);
    for (size_t line = 0; line < lines(t->name); line++) {
      hvi_cell_levels(&cell, t, row);
      for (size_t c = own; c < t->columns; c++) {
        row[c] = value(&cell, t->name, t->column[c].name, line);
        if (v && strcmp(v->table, t->name) == 0 && strcmp(v->column, t->column[c].name) == 0 &&
            is_at(&cell, "method", v->method) && is_at(&cell, v->key, v->level) &&
            (!v->line || v->line == line + 1))
          row[c] = v->value;
      }
      check_ok(hvi_table_add(t, row, NULL), NULL);
    }
  }
}

/* Claims that the quick size cannot decide are judged too; the grid is the quick one all the same. */
static bool planted_full = false;

/* Judges the claims of the study `id`, with at most one violation (NULL: none). hvi_claims_clear. */
static void judge_planted(hvi_claims *claims, const char *id, planted_value value,
                          planted_lines lines, const violation *v) {
  const hvi_study_settings settings = {.full = planted_full};
  hvi_error err;
  hvi_study *s;
  check_ok(hvi_study_open(&s, id, NULL, &err), &err);
  *claims = (hvi_claims){0};
  s->settings = &settings;
  s->claims = claims;
  for (size_t i = 0; i < s->part_count; i++) {
    hvi_part *p = &s->parts[i];
    check_ok(hvi_part_lay_out(p, false, id, &err), &err);
    check_ok(hvi_part_tables(s, p, &err), &err);
    for (size_t k = 0; p->kind->tables[k].name; k++) plant_table(s, p, k, value, lines, v);
    if (p->kind->flags & HVI_KIND_VALUE) check_ok(p->kind->derive(s, p, &err), &err);
  }
  check_ok(hvi_study_judge(s, &err), &err);
  for (size_t i = 0; i < s->part_count; i++) hvi_part_clear(&s->parts[i]);
  for (size_t i = 0; i < s->table_count; i++) hvi_table_free(&s->tables[i]);
  hvi_free(s->tables);
  hvi_study_free(s);
}

/* Every claim holds but the one of this id (NULL: none), which does not. */
static inline void check_planted(const char *id, planted_value value, planted_lines lines,
                                 const violation *v, const char *violated) {
  hvi_claims claims;
  judge_planted(&claims, id, value, lines, v);
  assert_true(claims.count > 0);
  for (size_t i = 0; i < claims.count; i++) {
    const hvi_claim *c = claims.items[i];
    const bool bad = violated && strcmp(c->id, violated) == 0;
    assert_true(c->measure_count > 0);
    if (c->judgement != (bad ? HVI_HOLDS_NOT : HVI_HOLDS))
      fail_msg("%s: %s, with %s in %s", c->id, hvi_judgement_name(c->judgement),
               v ? v->column : "nothing", v ? v->table : "any table");
  }
  hvi_claims_clear(&claims);
}

#endif
