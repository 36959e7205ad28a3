/* Values out of a YAML tree, each error naming file, line, key and what would be right. */
#ifndef HVI_EXPERIMENTS_FIELDS_H
#define HVI_EXPERIMENTS_FIELDS_H

#include "base/yaml_tree.h"

#include <stdbool.h>

/* The node is a scalar of at most 160 bytes without control characters. */
hvi_status hvi_field_text(const char **out, const hvi_node *node, const char *origin,
                          hvi_error *err);
/* From low to high; an end that is open does not belong. */
typedef struct hvi_interval {
  double low, high;
  bool open_low, open_high;
} hvi_interval;

/* A finite number in the interval. */
hvi_status hvi_field_real(double *out, const hvi_node *node, hvi_interval range, const char *origin,
                          hvi_error *err);
/* A list of 1 to `most` positive numbers, each once. */
hvi_status hvi_field_rates(double *out, size_t *count, size_t most, const hvi_node *node,
                           const char *origin, hvi_error *err);
/* A whole number in [low, high]. */
hvi_status hvi_field_count(size_t *out, const hvi_node *node, size_t low, size_t high,
                           const char *origin, hvi_error *err);
/* true or false. */
hvi_status hvi_field_flag(bool *out, const hvi_node *node, const char *origin, hvi_error *err);
/* The position of the text in names, which end in NULL. */
hvi_status hvi_field_choice(size_t *out, const hvi_node *node, const char *const *names,
                            const char *origin, hvi_error *err);
/* Every key of the map is one of the keys (which end in NULL). */
hvi_status hvi_field_keys(const hvi_node *map, const char *const *keys, const char *origin,
                          hvi_error *err);
/* "FILE:LINE: 'word' is no WHAT; did you mean ...", ready to return. */
hvi_status hvi_field_unknown(const hvi_node *node, const char *word, const char *what,
                             const char *const *names, const char *origin, hvi_error *err);

#endif
