#include "num/yaml_reader.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "num/npy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PATH = 4096 };
static const size_t largest_npy = (size_t)256 << 20;

typedef struct hvi_piece {
  struct hvi_piece *next;
  double *data;
} hvi_piece;

double *hvi_reader_doubles(hvi_reader *r, size_t n) {
  hvi_piece *piece = hvi_alloc(1, sizeof *piece);
  if (!piece) return NULL;
  piece->data = hvi_alloc_doubles(n);
  if (!piece->data) {
    hvi_free(piece);
    return NULL;
  }
  piece->next = r->pieces;
  r->pieces = piece;
  return piece->data;
}

void hvi_reader_clear(hvi_reader *r) {
  while (r->pieces) {
    hvi_piece *piece = r->pieces;
    r->pieces = piece->next;
    hvi_free(piece->data);
    hvi_free(piece);
  }
}

hvi_status hvi_reader_fail(hvi_reader *r, const hvi_node *node, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: %s", r->name, node->line, text);
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
  hvi_status status = hvi_reader_number(r, node, false, &x);
  if (status) return status;
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
  hvi_status status = hvi_reader_text(r, node, &text);
  if (status) return status;
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
  hvi_status status = hvi_reader_text(r, node, &file);
  if (status) return status;
  if (!r->folder) return hvi_reader_fail(r, node, "no other files can be named here");
  char path[LONGEST_PATH];
  int length = file[0] == '/' ? snprintf(path, sizeof path, "%s", file)
                              : snprintf(path, sizeof path, "%s/%s", r->folder, file);
  if (length < 0 || length >= (int)sizeof path)
    return hvi_reader_fail(r, node, "the path of '%.60s...' is too long", file);
  hvi_array array;
  hvi_error why = {HVI_OK, ""};
  status = hvi_npy_read(&array, path, largest_npy, &why);
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
    hvi_status status = fill(r, row, false, data + i * columns);
    if (status) return status;
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
