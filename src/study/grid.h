/* Inside a study: the grid of a part. */
#pragma once

#include "report/text.h"
#include "study/study.h"

enum { HVI_MOST_COLUMNS = HVI_MOST_FACTORS * HVI_MOST_KEYS + 64 };

/* The key that holds for a part: its own, or that of the whole. NULL: there is none; read.c. */
const hvi_node *hvi_part_key(const hvi_study *study, const hvi_part *p, const char *key);
/* What sizes are read and described by; read.c. */
const hvi_setting_table *hvi_scale_table(void);
/* Chooses the size and makes the factors; hvi_part_clear frees them, also after an error. */
hvi_status hvi_part_lay_out(hvi_part *p, bool full, const char *origin, hvi_error *err);
void hvi_part_clear(hvi_part *p);
/* The factor of that name, which is a column; NULL: there is none. Refused where `each` of the node
 * names it; and the rows in which it has a level. */
const hvi_factor *hvi_part_factor(const hvi_part *p, const char *name);
hvi_status hvi_part_each(const hvi_factor **by, const hvi_part *p, const char *each,
                         const hvi_node *n, const char *origin, hvi_error *err);
/* Whether the factor with this key has the level n->text, at this size or the other one. */
bool hvi_part_has_level(const hvi_part *p, bool full, const hvi_node *n);
hvi_table_filter hvi_factor_level(const hvi_factor *f, size_t level);
/* Cell number `index` of a part; the last factor varies fastest. */
hvi_cell hvi_cell_at(hvi_study *study, hvi_part *part, size_t index);
/* The columns that the keys of a part's factors make, and their values in a row of the cell. A column
 * of the kind's own with the same name takes the place of a key's. */
size_t hvi_part_columns(const hvi_part *p, const hvi_column *own, hvi_column *columns);
void hvi_cell_levels(const hvi_cell *c, const hvi_table *t, double *row);

/* The rows of a cell under way, as bytes. */
struct hvi_rows {
  const hvi_kind *kind;
  hvi_text tables[HVI_KIND_TABLES];
};
/* They go behind the description of the cell, and from there into the study's tables. tables.c */
void hvi_rows_pack(hvi_text *bytes, const char *description, const hvi_rows *rows);
hvi_status hvi_rows_unpack(const hvi_cell *c, const hvi_text *bytes, hvi_error *err);

/* Lets go of the grid and the tables. study.c */
void hvi_study_clear(hvi_study *study);
/* A column of the table, `*index`, refused with the nearest one: "unknown WHAT 'name'; ...". */
hvi_status hvi_table_need(size_t *index, const hvi_table *t, const char *what, const char *name,
                          const char *where, hvi_error *err);
/* The table whose CSV has this name; the first where that is NULL. NULL: there is none. */
hvi_table *hvi_study_table_named(const hvi_study *study, const char *name);
/* Refuses the node's `table`, with the nearest there is. */
hvi_status hvi_study_refuse_table(const hvi_study *study, const char *name, const hvi_node *n,
                                  hvi_error *err);
/* A table of the part, with the factors in front. */
hvi_status hvi_part_add_table(hvi_study *study, const hvi_part *p, const hvi_kind_table *t,
                              hvi_error *err);
hvi_status hvi_part_tables(hvi_study *study, hvi_part *p, hvi_error *err);
/* A CSV, or one for each level of the columns that split the table. check: nothing is written, and
 * files that are there under these names must be hvi's. */
hvi_status hvi_study_write_table(const hvi_study *study, const hvi_table *t, bool check,
                                 hvi_error *err);
/* The same check of all tables before the cells run, as far as levels tell the names. */
hvi_status hvi_study_check_tables(hvi_study *study, hvi_error *err);
/* The name of one: TABLE-LEVEL... for those of the filters that split it. */
void hvi_split_name(char *name, size_t size, const hvi_table *t, const hvi_table_filter *filters,
                    size_t count);
