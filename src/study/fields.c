#include "study/fields.h"

#include "base/base.h"

enum { MOST_KEYS = 120, LIST_TEXT = 2048 };

static const char *key_of(const hvi_node *node) { return node->key ? node->key : "this entry"; }

/* A scalar's text, or that of a list as a command line would have it. */
static const char *text_of(const hvi_node *node, char *text, size_t size) {
  if (node->kind == HVI_NODE_SCALAR) return node->text;
  size_t used = 0;
  *text = '\0';
  for (const hvi_node *n = node->first; n; n = n->next) {
    if (n->kind != HVI_NODE_SCALAR || used + strlen(n->text) + 2 > size) return "[...]";
    used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", n->text);
  }
  return text;
}

hvi_status hvi_field_read(const hvi_setting *row, void *settings, const hvi_node *node,
                          const char *origin, hvi_error *err) {
  const bool list = row->kind == HVI_SETTING_COUNTS || row->kind == HVI_SETTING_REALS;
  char where[400], text[LIST_TEXT];
  snprintf(where, sizeof where, "%.300s:%u: %s", origin, node->line, row->name);
  const char *value = text_of(node, text, sizeof text);
  if (node->kind != HVI_NODE_SCALAR && row->kind == HVI_SETTING_TEXT)
    return hvi_error_input(err, "%s: must be text, not a %s", where,
                           node->kind == HVI_NODE_MAP ? "map" : "list");
  if (node->kind == HVI_NODE_MAP) value = "{...}";
  if (node->kind == HVI_NODE_LIST && !list) value = "[...]";
  if (node->kind == HVI_NODE_SCALAR && list) {
    snprintf(text, sizeof text, "%.80s, which is no list", node->text);
    value = text;
  }
  return hvi_setting_parse(row, settings, value, where, err);
}

static bool counts(const hvi_field_part *p, const hvi_setting *row) {
  if (row->kind == HVI_SETTING_SECTION || hvi_words_have(p->not, row->name)) return false;
  return !p->only || hvi_words_have(p->only, row->name);
}

hvi_status hvi_field_refuse(const hvi_field_part *parts, const char *others, const char *what,
                            const char *word, const hvi_node *node, const char *origin,
                            hvi_error *err) {
  const char *names[MOST_KEYS + 1];
  char words[LIST_TEXT];
  snprintf(words, sizeof words, "%s", others ? others : "");
  size_t n = hvi_words_split(names, MOST_KEYS + 1, words);
  for (const hvi_field_part *p = parts; p->table; p++)
    for (const hvi_setting *row = p->table->rows; row->name && n < MOST_KEYS; row++)
      if (counts(p, row)) names[n++] = row->name;
  names[n] = NULL;
  return hvi_error_place(err, hvi_suggest_refuse(err, NULL, what, word, names), origin, node->line);
}

static hvi_status read_key(const hvi_field_part *parts, const char *others, const hvi_node *node,
                           const char *origin, hvi_error *err) {
  if (hvi_words_have(others, node->key)) return HVI_OK;
  for (const hvi_field_part *p = parts; p->table; p++) {
    const hvi_setting *row = hvi_setting_find(p->table, node->key);
    if (row && strcmp(row->name, node->key) == 0 && counts(p, row))
      return hvi_field_read(row, p->settings, node, origin, err);
  }
  return hvi_field_refuse(parts, others, "key", node->key, node, origin, err);
}

hvi_status hvi_field_map(const hvi_field_part *parts, const char *others, const hvi_node *map,
                         const char *origin, hvi_error *err) {
  if (map->kind != HVI_NODE_MAP)
    return hvi_error_line(err, origin, map->line, "%s must be a map of keys and values",
                          key_of(map));
  for (const hvi_node *n = map->first; n; n = n->next)
    HVI_TRY(read_key(parts, others, n, origin, err));
  for (const hvi_field_part *p = parts; p->table; p++)
    for (const hvi_setting *row = p->table->rows; row->name; row++)
      if (row->flags & HVI_SETTING_REQUIRED && !hvi_node_get(map, row->name))
        return hvi_error_line(err, origin, map->line, "the key '%s' is missing", row->name);
  return HVI_OK;
}

hvi_status hvi_field_list(const hvi_node *node, const char *what, size_t most, const char *origin,
                          hvi_error *err) {
  if (node->kind == HVI_NODE_LIST && node->count > 0 && node->count <= most) return HVI_OK;
  return hvi_error_line(err, origin, node->line, "%s: must be a list of 1 to %zu %s", key_of(node),
                        most, what);
}

const char *hvi_field_text(const hvi_node *map, const char *key, const char *otherwise) {
  const hvi_node *n = map && map->kind == HVI_NODE_MAP ? hvi_node_get(map, key) : NULL;
  return n && n->kind == HVI_NODE_SCALAR ? n->text : otherwise;
}
