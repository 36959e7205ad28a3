/*
 * A YAML document as a tree that knows its lines, so that whatever is wrong with it can be named by
 * file and line. Read with libyaml's events. Aliases, several documents, duplicate keys, deep
 * nesting and bytes that are not UTF-8 are refused.
 */
#ifndef HVI_BASE_YAML_TREE_H
#define HVI_BASE_YAML_TREE_H

#include <hvi/error.h>

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

typedef struct hvi_tree hvi_tree;

/* `name` opens every error text. */
hvi_status hvi_tree_parse(hvi_tree **tree, const char *text, const char *name, hvi_error *err);
void hvi_tree_free(hvi_tree *tree);
const hvi_node *hvi_tree_root(const hvi_tree *tree);

/* The child of a map with this key, or NULL. */
const hvi_node *hvi_node_get(const hvi_node *map, const char *key);

#endif
