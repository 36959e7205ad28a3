#include "io/yaml.h"

#include "base/base.h"

#include <yaml.h>

enum { DEEPEST = 16, MOST_KEYS = 100, LONGEST_PATH = 4096 };

typedef struct parser {
  hvi_tree *tree;
  yaml_parser_t events;
  const char *name;
  hvi_error *err;
} parser;

const hvi_node *hvi_node_get(const hvi_node *map, const char *key) {
  for (const hvi_node *child = map->first; child; child = child->next)
    if (child->key && strcmp(child->key, key) == 0) return child;
  return NULL;
}

HVI_RELEASE(hvi_tree)

void hvi_tree_free(hvi_tree *tree) {
  if (!tree) return;
  hvi_pool_free(tree->pool);
  hvi_free(tree);
}

static unsigned line_of(yaml_mark_t mark) { return (unsigned)mark.line + 1; }

#define refuse(p, event, ...)                                                                      \
  hvi_error_line((p)->err, (p)->name, line_of((event)->start_mark), __VA_ARGS__)

static hvi_status complain_syntax(parser *p) {
  const yaml_parser_t *e = &p->events;
  if (e->error == YAML_MEMORY_ERROR) return hvi_error_memory(p->err, "a YAML document");
  if (e->error == YAML_READER_ERROR)
    return hvi_error_input(p->err, "%s: not a text file: %s at byte %zu", p->name,
                           e->problem ? e->problem : "unreadable", e->problem_offset);
  return hvi_error_line(p->err, p->name, line_of(e->problem_mark), "not YAML: %s%s%s",
                        e->problem ? e->problem : "cannot be read", e->context ? ", " : "",
                        e->context ? e->context : "");
}

static hvi_status next_event(parser *p, yaml_event_t *event) {
  return yaml_parser_parse(&p->events, event) ? HVI_OK : complain_syntax(p);
}

/* With its end; 0: the event is no text. */
static size_t text_size(const yaml_event_t *e) {
  return e->type == YAML_SCALAR_EVENT ? e->data.scalar.length + 1 : 0;
}

static hvi_status check_text(parser *p, const yaml_event_t *e) {
  if (strlen((const char *)e->data.scalar.value) == e->data.scalar.length) return HVI_OK;
  return refuse(p, e, "a text with a zero byte");
}

static hvi_status check_key(parser *p, const hvi_node *map, const yaml_event_t *event) {
  if (event->type != YAML_SCALAR_EVENT) return refuse(p, event, "a key must be a word");
  if (map->count == MOST_KEYS) return refuse(p, event, "more than %d keys in one place", MOST_KEYS);
  HVI_TRY(check_text(p, event));
  const char *key = (const char *)event->data.scalar.value;
  return hvi_node_get(map, key) ? refuse(p, event, "key '%s' is given twice", key) : HVI_OK;
}

/* A node, and behind it its key, where there is one, and its text. */
static hvi_node *new_node(parser *p, const yaml_event_t *key, const yaml_event_t *event) {
  const size_t first = text_size(key), second = text_size(event);
  hvi_node *node = hvi_pool_take(&p->tree->pool, 1, sizeof *node + first + second);
  if (!node) return NULL;
  char *text = (char *)(node + 1);
  if (first) node->key = memcpy(text, key->data.scalar.value, first);
  if (second) node->text = memcpy(text + first, event->data.scalar.value, second);
  node->line = line_of(first ? key->start_mark : event->start_mark);
  return node;
}

static hvi_status read_node(parser *p, hvi_node **out, const yaml_event_t *key,
                            const yaml_event_t *event, int depth);

static hvi_status read_children(parser *p, hvi_node *parent, int depth) {
  for (const hvi_node **end = &parent->first;; parent->count++) {
    HVI_OWN_BY(yaml_event_delete) yaml_event_t event = {0}, key = {0};
    HVI_TRY(next_event(p, &event));
    if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT)
      return HVI_OK;
    if (parent->kind == HVI_NODE_MAP) {
      key = event;
      event = (yaml_event_t){0};
      HVI_TRY(check_key(p, parent, &key));
      HVI_TRY(next_event(p, &event));
    }
    hvi_node *child = NULL;
    HVI_TRY(read_node(p, &child, &key, &event, depth + 1));
    *end = child;
    end = &child->next;
  }
}

static hvi_status read_node(parser *p, hvi_node **out, const yaml_event_t *key,
                            const yaml_event_t *event, int depth) {
  if (event->type == YAML_ALIAS_EVENT) return refuse(p, event, "aliases (*name) are not allowed");
  if (depth > DEEPEST) return refuse(p, event, "nested more than %d deep", DEEPEST);
  hvi_node *node = *out = new_node(p, key, event);
  if (!node) return hvi_error_memory(p->err, "a YAML document");
  if (event->type == YAML_SCALAR_EVENT) return check_text(p, event);
  node->kind = event->type == YAML_MAPPING_START_EVENT ? HVI_NODE_MAP : HVI_NODE_LIST;
  if (node->kind == HVI_NODE_MAP || event->type == YAML_SEQUENCE_START_EVENT)
    return read_children(p, node, depth);
  return refuse(p, event, "nothing is here");
}

/* Skips stream and document starts, reads the root, and sees to it that nothing follows. */
static hvi_status read_document(parser *p) {
  static const yaml_event_t no_key;
  for (;;) {
    HVI_OWN_BY(yaml_event_delete) yaml_event_t event = {0};
    HVI_TRY(next_event(p, &event));
    if (event.type == YAML_STREAM_END_EVENT) break;
    if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT) continue;
    if (event.type != YAML_DOCUMENT_START_EVENT)
      HVI_TRY(read_node(p, &p->tree->root, &no_key, &event, 0));
    else if (p->tree->root)
      return refuse(p, &event, "a second document begins");
  }
  if (p->tree->root) return HVI_OK;
  return hvi_error_input(p->err, "%s: the file is empty", p->name);
}

hvi_status hvi_tree_parse(hvi_tree **out, const char *text, const char *name, hvi_error *err) {
  *out = NULL;
  HVI_MAKE(hvi_tree, tree, "a YAML document", err);
  parser p = {.tree = tree, .name = name, .err = err};
  if (!yaml_parser_initialize(&p.events)) return hvi_error_memory(err, "a YAML document");
  yaml_parser_set_encoding(&p.events, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&p.events, (const unsigned char *)text, strlen(text));
  const hvi_status status = read_document(&p);
  yaml_parser_delete(&p.events);
  HVI_TRY(status);
  HVI_GIVE(out, tree);
}

double *hvi_reader_doubles(hvi_reader *r, size_t n) {
  return hvi_pool_take(&r->pool, n, sizeof(double));
}

void hvi_reader_clear(hvi_reader *r) {
  hvi_pool_free(r->pool);
  r->pool = NULL;
}

hvi_status hvi_reader_keys(hvi_reader *r, const hvi_node *map, const char *what,
                           const char *known) {
  char words[200];
  const char *names[20];
  snprintf(words, sizeof words, "%s", known);
  hvi_words_split(names, sizeof names / sizeof *names, words);
  if (map->kind != HVI_NODE_MAP)
    return hvi_reader_fail(r, map, "%s must have keys (such as '%s: ...')", what, names[0]);
  for (const hvi_node *child = map->first; child; child = child->next) {
    if (hvi_words_have(known, child->key)) continue;
    const char *near = hvi_suggest(child->key, names);
    return hvi_reader_fail(r, child, "unknown key '%.60s' in %s%s%s%s", child->key, what,
                           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  }
  return HVI_OK;
}

/* Reads all of text as a number, a fraction or YAML's infinity. */
static bool scan_number(const char *text, double *x) {
  const char *unsigned_text = text + (*text == '-' || *text == '+');
  const bool infinite = strcmp(unsigned_text, ".inf") == 0;
  *x = infinite && *text == '-' ? -INFINITY : infinite ? INFINITY : NAN;
  if (infinite || strcmp(unsigned_text, ".nan") == 0) return true;
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
  for (const hvi_node *child = list->first; child; child = child->next)
    HVI_TRY(hvi_reader_number(r, child, infinite, x++));
  return HVI_OK;
}

hvi_status hvi_reader_vector(hvi_reader *r, const hvi_node *node, size_t n, bool infinite,
                             const double **out) {
  double *x = hvi_reader_doubles(r, n);
  if (!x) return hvi_error_memory(r->err, r->name);
  *out = x;
  if (node->kind == HVI_NODE_LIST && node->count == n) return fill(r, node, infinite, x);
  if (node->kind != HVI_NODE_SCALAR)
    return hvi_reader_fail(r, node, "%s has %zu entries; expected %zu",
                           node->key ? node->key : "this", node->count, n);
  double value = 0.0;
  HVI_TRY(hvi_reader_number(r, node, infinite, &value));
  for (size_t i = 0; i < n; i++) x[i] = value;
  return HVI_OK;
}

hvi_status hvi_reader_file(hvi_reader *r, const hvi_node *node, hvi_matrix_file *out) {
  const char *file = NULL;
  char path[LONGEST_PATH];
  HVI_TRY(hvi_reader_text(r, node, &file));
  if (!r->folder) return hvi_reader_fail(r, node, "no other files can be named here");
  const int length = file[0] == '/' ? snprintf(path, sizeof path, "%s", file)
                                    : snprintf(path, sizeof path, "%s/%s", r->folder, file);
  if (length < 0 || length >= (int)sizeof path)
    return hvi_reader_fail(r, node, "the path of '%.60s...' is too long", file);
  const hvi_status status = hvi_matrix_file_read(out, path, r->err);
  return status ? hvi_error_place(r->err, status, r->name, node->line) : HVI_OK;
}

static hvi_status read_file(hvi_reader *r, const hvi_node *node, size_t dims, hvi_matrix *A) {
  HVI_OWN_BY(hvi_matrix_file_free) hvi_matrix_file m = {0};
  HVI_TRY(hvi_reader_file(r, node, &m));
  const hvi_status status = hvi_matrix_file_fill(&m, r->err);
  if (status) return hvi_error_place(r->err, status, r->name, node->line);
  const size_t size = m.rows * m.columns;
  if (size == 0) return hvi_reader_fail(r, node, "%.200s has no numbers", node->text);
  if (dims == 1 && m.rows != 1 && m.columns != 1)
    return hvi_reader_fail(r, node, "%.200s has %zu x %zu numbers; expected a column", node->text,
                           m.rows, m.columns);
  double *data = hvi_reader_doubles(r, size);
  if (!data) return hvi_error_memory(r->err, r->name);
  memcpy(data, m.data, size * sizeof *data);
  *A = (hvi_matrix){dims == 1 ? size : m.rows, dims == 1 ? 1 : m.columns, data, node};
  return HVI_OK;
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

static hvi_status read_list(hvi_reader *r, const hvi_node *node, hvi_matrix *A) {
  if (node->kind != HVI_NODE_LIST || !node->first)
    return hvi_reader_fail(r, node, "%s must be a list of numbers", node->key);
  double *data = hvi_reader_doubles(r, node->count);
  if (!data) return hvi_error_memory(r->err, r->name);
  *A = (hvi_matrix){node->count, 1, data, node};
  return fill(r, node, false, data);
}

hvi_status hvi_reader_array(hvi_reader *r, const hvi_node *map, const char *key, size_t dims,
                            hvi_matrix *A) {
  char file_key[64];
  snprintf(file_key, sizeof file_key, "%s_file", key);
  const hvi_node *list = hvi_node_get(map, key), *file = hvi_node_get(map, file_key);
  *A = (hvi_matrix){0, 0, NULL, map};
  if (list && file)
    return hvi_reader_fail(r, file, "give either %s or %s, not both", key, file_key);
  if (file) return read_file(r, file, dims, A);
  if (!list) return HVI_OK;
  return dims == 2 ? read_rows(r, list, A) : read_list(r, list, A);
}

hvi_status hvi_reader_shape(hvi_reader *r, const hvi_matrix *A, size_t rows, size_t columns) {
  if (A->rows == rows && A->columns == columns) return HVI_OK;
  return hvi_reader_fail(r, A->node, "%s is %zu x %zu; expected %zu x %zu", A->node->key, A->rows,
                         A->columns, rows, columns);
}
