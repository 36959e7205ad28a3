/* Settings out of a YAML tree: a map's keys are rows of tables, and refusals name file and line. */
#pragma once

#include "io/yaml.h"

#include <hvi/setting.h>

/* A struct that a map fills in. */
typedef struct hvi_field_part {
  const hvi_setting_table *table; /* NULL ends a list of parts */
  void *settings;
  const char *only;  /* names of the rows that count, with blanks between; NULL: all */
  const char * not ; /* names of rows that do not; NULL: none */
} hvi_field_part;

/* Every key of the map is a row of one of the parts, which then gets its value, or one of `others`
 * (names with blanks between, or NULL), which the caller reads. Required rows must be there. */
hvi_status hvi_field_map(const hvi_field_part *parts, const char *others, const hvi_node *map,
                         const char *origin, hvi_error *err);
/* One setting from a scalar, or a list of scalars. */
hvi_status hvi_field_read(const hvi_setting *row, void *settings, const hvi_node *node,
                          const char *origin, hvi_error *err);
/* Refuses a word that is neither one of `names` (with blanks between) nor a row of the parts:
 * "FILE:LINE: unknown WHAT 'word'; did you mean 'x'?". */
hvi_status hvi_field_refuse(const hvi_field_part *parts, const char *names, const char *what,
                            const char *word, const hvi_node *node, const char *origin,
                            hvi_error *err);
/* "FILE:LINE: KEY: must be a list of 1 to MOST WHAT", unless it is one. */
hvi_status hvi_field_list(const hvi_node *node, const char *what, size_t most, const char *origin,
                          hvi_error *err);
/* The text of a map's scalar; `otherwise` where there is none, or no map. */
const char *hvi_field_text(const hvi_node *map, const char *key, const char *otherwise);
