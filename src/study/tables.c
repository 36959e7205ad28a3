/*
 * The tables of a study: made from its grid, filled with the rows of its cells, written as CSV.
 *
 * A cell's rows are bytes while it runs, and in the journal: its description, then for each table of
 * its kind the size of its rows and their numbers.
 */
#include "study/grid.h"

#include "base/base.h"

static size_t columns_of(const hvi_kind_table *t) {
  size_t n = 0;
  for (const hvi_column *c = t->columns; c->name; c++) n += hvi_column_width(c);
  return n;
}

hvi_status hvi_rows_add(hvi_rows *rows, size_t table, const double *values, hvi_error *err) {
  hvi_text *bytes = &rows->tables[table];
  hvi_text_bytes(bytes, values, columns_of(&rows->kind->tables[table]) * sizeof *values);
  return bytes->failed ? hvi_error_memory(err, "the rows of a cell") : HVI_OK;
}

void hvi_rows_pack(hvi_text *bytes, const char *description, const hvi_rows *rows) {
  hvi_text_bytes(bytes, description, strlen(description) + 1);
  for (size_t k = 0; k < HVI_KIND_TABLES && rows->kind->tables[k].name; k++) {
    const uint64_t size = rows->tables[k].length;
    hvi_text_bytes(bytes, &size, sizeof size);
    hvi_text_bytes(bytes, rows->tables[k].data, rows->tables[k].length);
    bytes->failed = bytes->failed || rows->tables[k].failed;
  }
}

hvi_status hvi_rows_unpack(const hvi_cell *c, const hvi_text *bytes, hvi_error *err) {
  const char *at = bytes->data + strlen(bytes->data) + 1, *end = bytes->data + bytes->length;
  double row[HVI_MOST_COLUMNS];
  const hvi_kind_table *kind = c->part->kind->tables;
  for (hvi_table *t = &c->study->tables[c->part->first_table]; kind->name; kind++, t++) {
    const size_t own = columns_of(kind);
    uint64_t size = 0;
    if ((size_t)(end - at) < sizeof size) break;
    memcpy(&size, at, sizeof size);
    at += sizeof size;
    if (size > (uint64_t)(end - at) || size % (own * sizeof *row)) break;
    hvi_cell_levels(c, t, row);
    for (const char *stop = at + size; at < stop; at += own * sizeof *row) {
      memcpy(row + t->columns - own, at, own * sizeof *row);
      HVI_TRY(hvi_table_add(t, row, err));
    }
  }
  if (at == end) return HVI_OK;
  return hvi_error_input(err, "the journal of '%s' has a cell of another shape", c->study->id);
}

/* PART-TABLE, as far as they have names; the study's id where neither has. */
static void name_table(char name[64], const hvi_study *study, const hvi_part *p,
                       const char *table) {
  snprintf(name, 64, "%s%s%s", p->name, *p->name && *table ? "-" : "", table);
  if (!*name) snprintf(name, 64, "%s", study->id);
}

hvi_table *hvi_study_table_named(const hvi_study *study, const char *name) {
  for (size_t i = 0; i < study->table_count; i++)
    if (!name || strcmp(study->tables[i].name, name) == 0) return &study->tables[i];
  return NULL;
}

hvi_status hvi_study_refuse_table(const hvi_study *study, const char *name, const hvi_node *n,
                                  hvi_error *err) {
  const char *names[HVI_MOST_PARTS * 10 + 1] = {NULL};
  const hvi_node *key = hvi_node_get(n, "table");
  for (size_t i = 0; i < study->table_count && i < HVI_MOST_PARTS * 10; i++)
    names[i] = study->tables[i].name;
  return hvi_error_place(err, hvi_suggest_refuse(err, NULL, "table", name ? name : "", names),
                         study->origin, key ? key->line : n->line);
}

hvi_table *hvi_study_table(hvi_study *study, const hvi_part *part, const char *name) {
  char whole[64];
  name_table(whole, study, part, name);
  return hvi_study_table_named(study, whole);
}

hvi_status hvi_study_add_table(hvi_study *study, const hvi_part *part, const char *name,
                               const hvi_column *columns, const char *split, hvi_error *err) {
  char whole[64];
  size_t count = 0;
  const size_t n = study->table_count;
  while (columns[count].name) count++;
  name_table(whole, study, part, name);
  hvi_table *tables = hvi_grow(study->tables, n * sizeof *tables, n + 1, sizeof *tables);
  if (!tables) return hvi_error_memory(err, "the tables of a study");
  study->tables = tables;
  HVI_TRY(hvi_table_new(&tables[n], whole, columns, count, err));
  tables[n].split = split;
  tables[n].part = (size_t)(part - study->parts);
  study->table_count++;
  return HVI_OK;
}

hvi_status hvi_part_add_table(hvi_study *study, const hvi_part *p, const hvi_kind_table *t,
                              hvi_error *err) {
  hvi_column columns[HVI_MOST_COLUMNS];
  size_t count = hvi_part_columns(p, t->columns, columns);
  for (const hvi_column *c = t->columns; c->name; c++) columns[count++] = *c;
  columns[count].name = NULL;
  return hvi_study_add_table(study, p, t->name, columns, p->split ? p->split : t->split, err);
}

/* One each of the kind's, then those that it adds. */
hvi_status hvi_part_tables(hvi_study *study, hvi_part *p, hvi_error *err) {
  p->first_table = study->table_count;
  for (const hvi_kind_table *t = p->kind->tables; t->name; t++)
    HVI_TRY(hvi_part_add_table(study, p, t, err));
  return p->kind->extend ? p->kind->extend(study, p, err) : HVI_OK;
}

hvi_status hvi_table_need(size_t *index, const hvi_table *t, const char *what, const char *name,
                          const char *where, hvi_error *err) {
  const char *names[HVI_MOST_COLUMNS + 1] = {NULL};
  *index = hvi_table_find(t, name);
  if (*index < t->columns) return HVI_OK;
  for (size_t i = 0; i < t->columns && i < HVI_MOST_COLUMNS; i++) names[i] = t->column[i].name;
  return hvi_suggest_refuse(err, where, what, name, names);
}

static bool is_split(const hvi_table *t, size_t column) {
  return hvi_words_have(t->split, t->column[column].name);
}

void hvi_split_name(char *name, size_t size, const hvi_table *t, const hvi_table_filter *filters,
                    size_t count) {
  size_t used = (size_t)snprintf(name, size, "%s", t->name);
  for (size_t c = 0; c < t->columns; c++)
    for (size_t i = 0; i < count && used + 2 < size; i++) {
      char slug[64], number[32];
      if (strcmp(t->column[c].name, filters[i].column) != 0 || !is_split(t, c)) continue;
      if (!filters[i].word) snprintf(number, sizeof number, "%g", filters[i].number);
      hvi_slug(slug, sizeof slug, filters[i].word ? filters[i].word : number);
      used += (size_t)snprintf(name + used, size - used, "-%s", slug);
    }
}

/* The levels of the columns that split a table, in a row. */
static size_t levels_of(hvi_table_filter *filters, const hvi_table *t, size_t row) {
  size_t n = 0;
  for (size_t c = 0; c < t->columns && n < HVI_MOST_SPLITS; c++)
    if (is_split(t, c))
      filters[n++] = (hvi_table_filter){t->column[c].name, hvi_table_word(t, row, c),
                                        hvi_table_get(t, row, c)};
  return n;
}

/* A CSV for each combination of levels that there is, at its first row. */
hvi_status hvi_study_write_table(const hvi_study *study, const hvi_table *t, bool check,
                                 hvi_error *err) {
  for (size_t i = 0; i < t->rows; i++) {
    hvi_table_filter filters[HVI_MOST_SPLITS];
    const size_t count = levels_of(filters, t, i);
    char name[160];
    size_t before = 0;
    while (before < i && !hvi_table_matches(t, before, filters, count)) before++;
    if (before < i) continue;
    hvi_split_name(name, sizeof name, t, filters, count);
    HVI_OWN char *path = hvi_study_path(study, name, ".csv");
    if (!path) return hvi_error_memory(err, "a path");
    HVI_TRY(check ? hvi_table_ours(t, path, err) : hvi_table_write(t, path, filters, count, err));
  }
  return HVI_OK;
}

hvi_status hvi_study_check_tables(hvi_study *study, hvi_error *err) {
  double row[HVI_MOST_COLUMNS];
  hvi_status status = HVI_OK;
  for (hvi_table *t = study->tables; t < study->tables + study->table_count && !status; t++) {
    for (size_t i = 0; i < HVI_MOST_COLUMNS; i++) row[i] = NAN;
    hvi_part *p = &study->parts[t->part];
    const size_t own = (size_t)(t - study->tables) - p->first_table;
    const bool derived = own >= HVI_KIND_TABLES || !p->kind->tables[own].name;
    for (size_t i = 0; i < (derived ? 1 : p->cells) && !status; i++) {
      const hvi_cell c = hvi_cell_at(study, p, i);
      if (!derived) hvi_cell_levels(&c, t, row);
      status = hvi_table_add(t, row, err);
    }
    if (!status) status = hvi_study_write_table(study, t, true, err);
    t->rows = 0;
  }
  return status;
}
