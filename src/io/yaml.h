/*
 * YAML: a document as a tree that knows its lines, and checked numbers from it. Whatever is wrong
 * is named by file and line.
 *
 * Read with libyaml's events. Aliases, several documents, duplicate keys, deep nesting and bytes
 * that are not UTF-8 are refused.
 */
#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "io/matrix_file.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum hvi_node_kind { HVI_NODE_SCALAR, HVI_NODE_LIST, HVI_NODE_MAP } hvi_node_kind;

typedef struct hvi_node hvi_node;
struct hvi_node {
  hvi_node_kind kind;
  unsigned line;         /* counted from 1; the key's, if there is one */
  const char *key;       /* in a map; NULL otherwise */
  const char *text;      /* scalar */
  size_t count;          /* list, map: number of children */
  const hvi_node *first; /* child */
  const hvi_node *next;  /* sibling */
};

typedef struct hvi_tree {
  hvi_pool *pool; /* of the nodes and their texts */
  hvi_node *root;
} hvi_tree;

/* `name` opens every error text. */
hvi_status hvi_tree_parse(hvi_tree **tree, const char *text, const char *name, hvi_error *err);
void hvi_tree_free(hvi_tree *tree);

/* The child of a map with this key, or NULL. */
const hvi_node *hvi_node_get(const hvi_node *map, const char *key);

typedef struct hvi_reader {
  const char *name;   /* of the file, for error texts */
  const char *folder; /* that names of other files are relative to; NULL: there can be none */
  hvi_error *err;
  hvi_pool *pool; /* of what hvi_reader_doubles gave out */
} hvi_reader;

/* Numbers read live as long as the reader. */
void hvi_reader_clear(hvi_reader *r);
double *hvi_reader_doubles(hvi_reader *r, size_t n);

/* HVI_ERROR_INPUT with "name:line: " before the text. */
#define hvi_reader_fail(r, node, ...) hvi_error_line((r)->err, (r)->name, (node)->line, __VA_ARGS__)

/* The node must be a map with no other keys than these, which have blanks between. */
hvi_status hvi_reader_keys(hvi_reader *r, const hvi_node *map, const char *what, const char *known);

/* A number, or a fraction such as 1/3; infinite only where that makes sense. */
hvi_status hvi_reader_number(hvi_reader *r, const hvi_node *node, bool infinite, double *x);
/* A whole number from 1 to most. */
hvi_status hvi_reader_count(hvi_reader *r, const hvi_node *node, size_t most, size_t *count);
hvi_status hvi_reader_bool(hvi_reader *r, const hvi_node *node, bool *yes);
hvi_status hvi_reader_text(hvi_reader *r, const hvi_node *node, const char **text);

/* A list of n numbers, or one number that stands for all of them. */
hvi_status hvi_reader_vector(hvi_reader *r, const hvi_node *node, size_t n, bool infinite,
                             const double **x);

/* A matrix in the file that the node names. */
hvi_status hvi_reader_file(hvi_reader *r, const hvi_node *node, hvi_matrix_file *out);

/* A matrix: rows under `key`, or a file's name under `key`_file. Neither: *A is NULL. With one of its
 * two `dims` it is a column, from a list of numbers. */
typedef struct hvi_matrix {
  size_t rows, columns;
  const double *data; /* row-major */
  const hvi_node *node;
} hvi_matrix;

hvi_status hvi_reader_array(hvi_reader *r, const hvi_node *map, const char *key, size_t dims,
                            hvi_matrix *A);
/* Fails unless A is rows x columns. */
hvi_status hvi_reader_shape(hvi_reader *r, const hvi_matrix *A, size_t rows, size_t columns);
