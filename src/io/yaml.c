#include "io/yaml.h"

#include "base/base.h"
#include "base/suggest.h"
#include "io/npy.h"

#include <stdarg.h>
#include <yaml.h>

enum { DEEPEST = 16, MOST_KEYS = 100, CHUNK_NODES = 1000, LONGEST_PATH = 4096 };
static const size_t largest_npy = (size_t)256 << 20;

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

typedef struct parser {
  hvi_tree *tree;
  yaml_parser_t events;
  const char *name;
  hvi_error *err;
} parser;

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

__attribute__((format(printf, 3, 4))) static hvi_status refuse(parser *p, const yaml_event_t *event,
                                                               const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hvi_error_input(p->err, "%s:%u: %s", p->name, line_of(event->start_mark), text);
}

static hvi_status complain_syntax(parser *p) {
  const yaml_parser_t *e = &p->events;
  if (e->error == YAML_MEMORY_ERROR) return hvi_error_memory(p->err, "a YAML document");
  if (e->error == YAML_READER_ERROR)
    return hvi_error_input(p->err, "%s: not a text file: %s at byte %zu", p->name,
                           e->problem ? e->problem : "unreadable", e->problem_offset);
  return hvi_error_input(p->err, "%s:%u: not YAML: %s%s%s", p->name, line_of(e->problem_mark),
                         e->problem ? e->problem : "cannot be read", e->context ? ", " : "",
                         e->context ? e->context : "");
}

static hvi_status next_event(parser *p, yaml_event_t *event) {
  return yaml_parser_parse(&p->events, event) ? HVI_OK : complain_syntax(p);
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

static hvi_status keep_text(parser *p, const char **kept, const yaml_event_t *event) {
  hvi_tree *tree = p->tree;
  const char *value = (const char *)event->data.scalar.value;
  const size_t length = event->data.scalar.length;
  if (strlen(value) != length || length >= tree->text_size - tree->text_used)
    return refuse(p, event, "a text with a zero byte");
  *kept = memcpy(tree->text + tree->text_used, value, length + 1);
  tree->text_used += length + 1;
  return HVI_OK;
}

static hvi_status read_key(parser *p, const char **key, const hvi_node *map,
                           const yaml_event_t *event) {
  if (event->type != YAML_SCALAR_EVENT) return refuse(p, event, "a key must be a word");
  if (map->count == MOST_KEYS) return refuse(p, event, "more than %d keys in one place", MOST_KEYS);
  hvi_status status = keep_text(p, key, event);
  if (!status && hvi_node_get(map, *key))
    status = refuse(p, event, "key '%s' is given twice", *key);
  return status;
}

static hvi_status read_node(parser *p, hvi_node **out, const yaml_event_t *event, int depth);

static hvi_status read_children(parser *p, hvi_node *parent, int depth) {
  for (const hvi_node **end = &parent->first;; parent->count++) {
    yaml_event_t event;
    hvi_status status = next_event(p, &event);
    if (status) return status;
    const bool done = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
    const char *key = NULL;
    const unsigned key_line = line_of(event.start_mark);
    if (!done && parent->kind == HVI_NODE_MAP) {
      status = read_key(p, &key, parent, &event);
      yaml_event_delete(&event);
      if (!status) status = next_event(p, &event);
      if (status) return status;
    }
    hvi_node *child = NULL;
    if (!done) status = read_node(p, &child, &event, depth + 1);
    yaml_event_delete(&event);
    if (done || status) return status;
    child->key = key;
    if (key) child->line = key_line;
    *end = child;
    end = &child->next;
  }
}

static hvi_status read_node(parser *p, hvi_node **out, const yaml_event_t *event, int depth) {
  if (event->type == YAML_ALIAS_EVENT) return refuse(p, event, "aliases (*name) are not allowed");
  if (depth > DEEPEST) return refuse(p, event, "nested more than %d deep", DEEPEST);
  hvi_node *node = *out = new_node(p->tree);
  if (!node) return hvi_error_memory(p->err, "a YAML document");
  node->line = line_of(event->start_mark);
  switch (event->type) {
  case YAML_SCALAR_EVENT:
    node->kind = HVI_NODE_SCALAR;
    return keep_text(p, &node->text, event);
  case YAML_SEQUENCE_START_EVENT:
    node->kind = HVI_NODE_LIST;
    return read_children(p, node, depth);
  case YAML_MAPPING_START_EVENT:
    node->kind = HVI_NODE_MAP;
    return read_children(p, node, depth);
  default:
    return refuse(p, event, "nothing is here");
  }
}

/* Skips stream and document starts, reads the root, and sees to it that nothing follows. */
static hvi_status read_document(parser *p) {
  for (bool done = false; !done;) {
    yaml_event_t event;
    hvi_status status = next_event(p, &event);
    if (status) return status;
    switch (event.type) {
    case YAML_STREAM_END_EVENT:
      done = true;
      break;
    case YAML_DOCUMENT_START_EVENT:
      if (p->tree->root) status = refuse(p, &event, "a second document begins");
      break;
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
      break;
    default:
      status = read_node(p, &p->tree->root, &event, 0);
    }
    yaml_event_delete(&event);
    if (status) return status;
  }
  if (p->tree->root) return HVI_OK;
  return hvi_error_input(p->err, "%s: the file is empty", p->name);
}

hvi_status hvi_tree_parse(hvi_tree **out, const char *text, const char *name, hvi_error *err) {
  *out = NULL;
  const size_t size = strlen(text);
  hvi_tree *tree = hvi_alloc(1, sizeof *tree);
  if (!tree) return hvi_error_memory(err, "a YAML document");
  /* the longest a scalar can grow is "\L" into three bytes and its end */
  tree->text_size = 3 * size + 16;
  tree->text = hvi_alloc(tree->text_size, 1);
  parser p = {.tree = tree, .name = name, .err = err};
  if (!tree->text || !yaml_parser_initialize(&p.events)) {
    hvi_tree_free(tree);
    return hvi_error_memory(err, "a YAML document");
  }
  yaml_parser_set_encoding(&p.events, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&p.events, (const unsigned char *)text, size);
  const hvi_status status = read_document(&p);
  yaml_parser_delete(&p.events);
  if (!status) *out = tree;
  if (status) hvi_tree_free(tree);
  return status;
}

typedef struct hvi_reader_block {
  struct hvi_reader_block *next;
  double *data;
} block;

double *hvi_reader_doubles(hvi_reader *r, size_t n) {
  block *b = hvi_alloc(1, sizeof *b);
  if (!b) return NULL;
  *b = (block){r->blocks, hvi_alloc_doubles(n)};
  r->blocks = b;
  return b->data;
}

void hvi_reader_clear(hvi_reader *r) {
  for (block *b = r->blocks, *next; b; b = next) {
    next = b->next;
    hvi_free(b->data);
    hvi_free(b);
  }
  r->blocks = NULL;
}

hvi_status hvi_reader_fail(hvi_reader *r, const hvi_node *node, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hvi_error_input(r->err, "%s:%u: %s", r->name, node->line, text);
}

hvi_status hvi_reader_keys(hvi_reader *r, const hvi_node *map, const char *what,
                           const char *const *known) {
  if (map->kind != HVI_NODE_MAP)
    return hvi_reader_fail(r, map, "%s must have keys (such as '%s: ...')", what, known[0]);
  for (const hvi_node *child = map->first; child; child = child->next) {
    size_t k = 0;
    while (known[k] && strcmp(known[k], child->key) != 0) k++;
    if (known[k]) continue;
    const char *near = hvi_suggest(child->key, known);
    if (near)
      return hvi_reader_fail(r, child, "unknown key '%.60s' in %s; did you mean '%s'?", child->key,
                             what, near);
    return hvi_reader_fail(r, child, "unknown key '%.60s' in %s", child->key, what);
  }
  return HVI_OK;
}

/* Reads all of text as a number, a fraction or YAML's infinity. */
static bool scan_number(const char *text, double *x) {
  const char *unsigned_text = text + (*text == '-' || *text == '+');
  if (strcmp(unsigned_text, ".inf") == 0) {
    *x = *text == '-' ? -INFINITY : INFINITY;
    return true;
  }
  if (strcmp(unsigned_text, ".nan") == 0) {
    *x = NAN;
    return true;
  }
  char *end;
  *x = strtod(text, &end);
  if (end == text) return false;
  if (*end == '/') {
    const char *below = end + 1;
    double divisor = strtod(below, &end);
    if (end == below || divisor == 0.0) return false;
    *x /= divisor;
  }
  return *end == '\0';
}

hvi_status hvi_reader_number(hvi_reader *r, const hvi_node *node, bool infinite, double *x) {
  if (node->kind != HVI_NODE_SCALAR) return hvi_reader_fail(r, node, "expected a number");
  if (!scan_number(node->text, x))
    return hvi_reader_fail(r, node, "'%.60s' is not a number", node->text);
  if (isnan(*x) || (isinf(*x) && !infinite))
    return hvi_reader_fail(r, node, "'%.60s' is not a finite number", node->text);
  return HVI_OK;
}

hvi_status hvi_reader_count(hvi_reader *r, const hvi_node *node, size_t most, size_t *count) {
  double x = 0.0;
  HVI_TRY(hvi_reader_number(r, node, false, &x));
  if (!(x >= 1.0 && x <= (double)most) || x != floor(x))
    return hvi_reader_fail(r, node, "'%.60s' must be a whole number from 1 to %zu", node->text,
                           most);
  *count = (size_t)x;
  return HVI_OK;
}

hvi_status hvi_reader_text(hvi_reader *r, const hvi_node *node, const char **text) {
  if (node->kind != HVI_NODE_SCALAR) return hvi_reader_fail(r, node, "expected a word");
  *text = node->text;
  return HVI_OK;
}

hvi_status hvi_reader_bool(hvi_reader *r, const hvi_node *node, bool *yes) {
  const char *text = NULL;
  HVI_TRY(hvi_reader_text(r, node, &text));
  *yes = strcmp(text, "true") == 0;
  if (*yes || strcmp(text, "false") == 0) return HVI_OK;
  return hvi_reader_fail(r, node, "'%.60s' must be true or false", text);
}

/* Writes the list's numbers into x, which has room for them. */
static hvi_status fill(hvi_reader *r, const hvi_node *list, bool infinite, double *x) {
  hvi_status status = HVI_OK;
  for (const hvi_node *child = list->first; child && !status; child = child->next)
    status = hvi_reader_number(r, child, infinite, x++);
  return status;
}

hvi_status hvi_reader_vector(hvi_reader *r, const hvi_node *node, size_t n, bool infinite,
                             const double **out) {
  double *x = hvi_reader_doubles(r, n);
  if (!x) return hvi_error_memory(r->err, r->name);
  *out = x;
  if (node->kind == HVI_NODE_SCALAR) {
    double value = 0.0;
    hvi_status status = hvi_reader_number(r, node, infinite, &value);
    for (size_t i = 0; i < n; i++) x[i] = value;
    return status;
  }
  if (node->kind != HVI_NODE_LIST || node->count != n)
    return hvi_reader_fail(r, node, "%s has %zu entries; expected %zu",
                           node->key ? node->key : "this", node->count, n);
  return fill(r, node, infinite, x);
}

/* The one of `key` and `key`_file that is there, or NULL. */
static hvi_status find_array(hvi_reader *r, const hvi_node *map, const char *key,
                             const hvi_node **inline_node, const hvi_node **file_node) {
  char file_key[64];
  snprintf(file_key, sizeof file_key, "%s_file", key);
  *inline_node = hvi_node_get(map, key);
  *file_node = hvi_node_get(map, file_key);
  if (*inline_node && *file_node)
    return hvi_reader_fail(r, *file_node, "give either %s or %s, not both", key, file_key);
  return HVI_OK;
}

static hvi_status read_npy(hvi_reader *r, const hvi_node *node, size_t dims, hvi_matrix *A) {
  const char *file = NULL;
  HVI_TRY(hvi_reader_text(r, node, &file));
  if (!r->folder) return hvi_reader_fail(r, node, "no other files can be named here");
  char path[LONGEST_PATH];
  int length = file[0] == '/' ? snprintf(path, sizeof path, "%s", file)
                              : snprintf(path, sizeof path, "%s/%s", r->folder, file);
  if (length < 0 || length >= (int)sizeof path)
    return hvi_reader_fail(r, node, "the path of '%.60s...' is too long", file);
  hvi_array array;
  hvi_error why = {HVI_OK, ""};
  hvi_status status = hvi_npy_read(&array, path, largest_npy, &why);
  if (status) return hvi_error_set(r->err, status, "%s:%u: %s", r->name, node->line, why.text);
  if (array.dims != dims)
    status = hvi_reader_fail(r, node, "%.200s has %zu axes; expected %zu", file, array.dims, dims);
  else if (array.size == 0)
    status = hvi_reader_fail(r, node, "%.200s has no numbers", file);
  double *data = status ? NULL : hvi_reader_doubles(r, array.size);
  if (!status && !data) status = hvi_error_memory(r->err, r->name);
  for (size_t i = 0; i < array.size && !status; i++) {
    data[i] = array.data[i];
    if (!isfinite(data[i]))
      status = hvi_reader_fail(r, node, "number %zu of %.200s is %g, which is not finite", i + 1,
                               file, data[i]);
  }
  *A = (hvi_matrix){array.shape[0], dims == 2 ? array.shape[1] : 1, data, node};
  hvi_array_free(&array);
  return status;
}

static hvi_status read_rows(hvi_reader *r, const hvi_node *node, hvi_matrix *A) {
  if (node->kind != HVI_NODE_LIST || !node->first || node->first->kind != HVI_NODE_LIST)
    return hvi_reader_fail(r, node, "%s must be a list of rows, such as [[1, 0], [0, 1]]",
                           node->key);
  size_t columns = node->first->count, i = 0;
  if (columns == 0) return hvi_reader_fail(r, node, "%s has an empty row", node->key);
  double *data = hvi_reader_doubles(r, node->count * columns);
  if (!data) return hvi_error_memory(r->err, r->name);
  for (const hvi_node *row = node->first; row; row = row->next, i++) {
    if (row->kind != HVI_NODE_LIST || row->count != columns)
      return hvi_reader_fail(r, row, "row %zu of %s has %zu numbers; row 1 has %zu", i + 1,
                             node->key, row->count, columns);
    HVI_TRY(fill(r, row, false, data + i * columns));
  }
  *A = (hvi_matrix){node->count, columns, data, node};
  return HVI_OK;
}

hvi_status hvi_reader_matrix(hvi_reader *r, const hvi_node *map, const char *key, hvi_matrix *A) {
  *A = (hvi_matrix){0, 0, NULL, map};
  const hvi_node *rows, *file;
  hvi_status status = find_array(r, map, key, &rows, &file);
  if (!status && rows) status = read_rows(r, rows, A);
  if (!status && file) status = read_npy(r, file, 2, A);
  return status;
}

hvi_status hvi_reader_column(hvi_reader *r, const hvi_node *map, const char *key, hvi_matrix *A) {
  *A = (hvi_matrix){0, 0, NULL, map};
  const hvi_node *list, *file;
  hvi_status status = find_array(r, map, key, &list, &file);
  if (!status && file) status = read_npy(r, file, 1, A);
  if (status || !list) return status;
  if (list->kind != HVI_NODE_LIST || !list->first)
    return hvi_reader_fail(r, list, "%s must be a list of numbers", key);
  double *data = hvi_reader_doubles(r, list->count);
  if (!data) return hvi_error_memory(r->err, r->name);
  *A = (hvi_matrix){list->count, 1, data, list};
  return fill(r, list, false, data);
}

hvi_status hvi_reader_shape(hvi_reader *r, const hvi_matrix *A, size_t rows, size_t columns) {
  if (A->rows == rows && A->columns == columns) return HVI_OK;
  return hvi_reader_fail(r, A->node, "%s is %zu x %zu; expected %zu x %zu", A->node->key, A->rows,
                         A->columns, rows, columns);
}
