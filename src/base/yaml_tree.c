#include "base/yaml_tree.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <string.h>
#include <yaml.h>

enum { DEEPEST = 16, MOST_KEYS = 100, CHUNK_NODES = 1000 };

/* Nodes live in chunks, because they point at each other and so must not move. */
typedef struct chunk chunk;
struct chunk {
  chunk *next;
  size_t used;
  hvi_node nodes[CHUNK_NODES];
};

struct hvi_tree {
  chunk *chunks;
  char *text; /* all scalars, each ending in a zero byte */
  size_t text_used, text_size;
  hvi_node *root;
};

typedef struct reader {
  hvi_tree *tree;
  yaml_parser_t parser;
  const char *name;
  hvi_error *err;
} reader;

const hvi_node *hvi_tree_root(const hvi_tree *tree) { return tree->root; }

const hvi_node *hvi_node_get(const hvi_node *map, const char *key) {
  for (const hvi_node *child = map->first; child; child = child->next)
    if (child->key && strcmp(child->key, key) == 0) return child;
  return NULL;
}

void hvi_tree_free(hvi_tree *tree) {
  if (!tree) return;
  for (chunk *c = tree->chunks, *next; c; c = next) {
    next = c->next;
    hvi_free(c);
  }
  hvi_free(tree->text);
  hvi_free(tree);
}

static unsigned line_of(yaml_mark_t mark) { return (unsigned)mark.line + 1; }

static hvi_status complain_syntax(reader *r) {
  const yaml_parser_t *p = &r->parser;
  if (p->error == YAML_MEMORY_ERROR) return hvi_error_memory(r->err, "a YAML document");
  if (p->error == YAML_READER_ERROR)
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s: not a text file: %s at byte %zu", r->name,
                         p->problem ? p->problem : "unreadable", p->problem_offset);
  return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: not YAML: %s%s%s", r->name,
                       line_of(p->problem_mark), p->problem ? p->problem : "cannot be read",
                       p->context ? ", " : "", p->context ? p->context : "");
}

static hvi_status next_event(reader *r, yaml_event_t *event) {
  return yaml_parser_parse(&r->parser, event) ? HVI_OK : complain_syntax(r);
}

static hvi_node *new_node(hvi_tree *tree) {
  if (!tree->chunks || tree->chunks->used == CHUNK_NODES) {
    chunk *fresh = hvi_alloc(1, sizeof *fresh);
    if (!fresh) return NULL;
    fresh->next = tree->chunks;
    tree->chunks = fresh;
  }
  return &tree->chunks->nodes[tree->chunks->used++];
}

static hvi_status keep_text(reader *r, const char **kept, const yaml_event_t *event) {
  hvi_tree *tree = r->tree;
  const char *value = (const char *)event->data.scalar.value;
  size_t length = event->data.scalar.length;
  if (strlen(value) != length || length >= tree->text_size - tree->text_used)
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: a text with a zero byte", r->name,
                         line_of(event->start_mark));
  char *copy = tree->text + tree->text_used;
  memcpy(copy, value, length + 1);
  tree->text_used += length + 1;
  *kept = copy;
  return HVI_OK;
}

static hvi_status read_node(reader *r, hvi_node **out, const yaml_event_t *event, int depth);

/* Hangs a child at the end of the parent's list. */
static void append(hvi_node *parent, hvi_node **last, hvi_node *child) {
  if (*last)
    (*last)->next = child;
  else
    parent->first = child;
  *last = child;
  parent->count++;
}

static hvi_status read_key(reader *r, const char **key, const hvi_node *map,
                           const yaml_event_t *event) {
  if (event->type != YAML_SCALAR_EVENT)
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: a key must be a word", r->name,
                         line_of(event->start_mark));
  if (map->count == MOST_KEYS)
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: more than %d keys in one place", r->name,
                         line_of(event->start_mark), MOST_KEYS);
  hvi_status status = keep_text(r, key, event);
  if (!status && hvi_node_get(map, *key))
    status = hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: key '%s' is given twice", r->name,
                           line_of(event->start_mark), *key);
  return status;
}

static hvi_status read_children(reader *r, hvi_node *parent, int depth) {
  hvi_node *last = NULL;
  for (;;) {
    yaml_event_t event;
    hvi_status status = next_event(r, &event);
    if (status) return status;
    bool done = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
    const char *key = NULL;
    unsigned key_line = line_of(event.start_mark);
    if (!done && parent->kind == HVI_NODE_MAP) {
      status = read_key(r, &key, parent, &event);
      yaml_event_delete(&event);
      if (!status) status = next_event(r, &event);
      if (status) return status;
    }
    hvi_node *child = NULL;
    if (!done) status = read_node(r, &child, &event, depth + 1);
    yaml_event_delete(&event);
    if (done || status) return status;
    child->key = key;
    if (key) child->line = key_line;
    append(parent, &last, child);
  }
}

static hvi_status read_node(reader *r, hvi_node **out, const yaml_event_t *event, int depth) {
  unsigned line = line_of(event->start_mark);
  if (event->type == YAML_ALIAS_EVENT)
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: aliases (*name) are not allowed", r->name,
                         line);
  if (depth > DEEPEST)
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: nested more than %d deep", r->name, line,
                         DEEPEST);
  hvi_node *node = new_node(r->tree);
  if (!node) return hvi_error_memory(r->err, "a YAML document");
  *out = node;
  node->line = line;
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    node->kind = HVI_NODE_SCALAR;
    return keep_text(r, &node->text, event);
  case YAML_SEQUENCE_START_EVENT:
    node->kind = HVI_NODE_LIST;
    return read_children(r, node, depth);
  case YAML_MAPPING_START_EVENT:
    node->kind = HVI_NODE_MAP;
    return read_children(r, node, depth);
  default:
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: nothing is here", r->name, line);
  }
}

/* Skips stream and document starts, reads the root, and sees to it that nothing follows. */
static hvi_status read_document(reader *r) {
  for (bool seen = false;;) {
    yaml_event_t event;
    hvi_status status = next_event(r, &event);
    if (status) return status;
    yaml_event_type_t type = event.type;
    unsigned line = line_of(event.start_mark);
    bool frame = type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_START_EVENT ||
                 type == YAML_DOCUMENT_END_EVENT || type == YAML_STREAM_END_EVENT;
    if (seen && type == YAML_DOCUMENT_START_EVENT)
      status =
          hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: a second document begins", r->name, line);
    if (!frame) {
      seen = true;
      status = read_node(r, &r->tree->root, &event, 0);
    }
    yaml_event_delete(&event);
    if (status) return status;
    if (type == YAML_STREAM_END_EVENT) break;
  }
  if (r->tree->root) return HVI_OK;
  return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s: the file is empty", r->name);
}

hvi_status hvi_tree_parse(hvi_tree **out, const char *text, const char *name, hvi_error *err) {
  *out = NULL;
  size_t size = strlen(text);
  hvi_tree *tree = hvi_alloc(1, sizeof *tree);
  if (!tree) return hvi_error_memory(err, "a YAML document");
  /* the longest a scalar can grow is "\L" into three bytes and its end */
  tree->text_size = 3 * size + 16;
  tree->text = hvi_alloc(tree->text_size, 1);
  reader r = {.tree = tree, .name = name, .err = err};
  if (!tree->text || !yaml_parser_initialize(&r.parser)) {
    hvi_tree_free(tree);
    return hvi_error_memory(err, "a YAML document");
  }
  yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size);
  hvi_status status = read_document(&r);
  yaml_parser_delete(&r.parser);
  if (status)
    hvi_tree_free(tree);
  else
    *out = tree;
  return status;
}
