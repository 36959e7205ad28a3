/* Reads a process from YAML: transitions, rewards, discount, features, start. */
#include "problems/mdp/mdp.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/matrix_file.h"
#include "num/sparse.h"
#include "num/vec.h"
#include "io/yaml.h"
#include "problems/document.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_PATH = 4096 };

/* A matrix from either place. */
typedef struct source {
  const hvi_node *node; /* NULL: not given */
  hvi_matrix_file file; /* what was read, owned */
  size_t rows, columns;
  const double *data; /* NULL: in file.sparse */
} source;

typedef struct builder {
  hvi_reader r;
  const hvi_node *root;
  source transitions, rewards, features, theta0;
  double gamma;
  bool trajectory;
} builder;

static hvi_status read_file(builder *b, const hvi_node *node, source *s) {
  hvi_reader *r = &b->r;
  const char *file = NULL;
  char path[LONGEST_PATH];
  hvi_status status = hvi_reader_text(r, node, &file);
  if (status) return status;
  if (!r->folder) return hvi_reader_fail(r, node, "no other files can be named here");
  const int length = file[0] == '/' ? snprintf(path, sizeof path, "%s", file)
                                    : snprintf(path, sizeof path, "%s/%s", r->folder, file);
  if (length < 0 || length >= (int)sizeof path)
    return hvi_reader_fail(r, node, "the path of '%.60s...' is too long", file);
  hvi_error why = {HVI_OK, ""};
  status = hvi_matrix_file_read(&s->file, path, &why);
  if (status) return hvi_error_set(r->err, status, "%s:%u: %.380s", r->name, node->line, why.text);
  s->node = node;
  s->rows = s->file.rows;
  s->columns = s->file.columns;
  s->data = s->file.data;
  return HVI_OK;
}

/* `key` with the numbers, as rows or (column) as a list, or `key`_file with a file's name. */
static hvi_status read_source(builder *b, const char *key, bool column, source *s) {
  char file_key[32];
  snprintf(file_key, sizeof file_key, "%s_file", key);
  const hvi_node *given = hvi_node_get(b->root, key), *file = hvi_node_get(b->root, file_key);
  if (given && file)
    return hvi_reader_fail(&b->r, file, "give either %s or %s, not both", key, file_key);
  if (file) {
    const hvi_status status = read_file(b, file, s);
    if (column && s->rows == 1) {
      /* a row will do */
      s->rows = s->columns;
      s->columns = 1;
    }
    return status;
  }
  if (!given) return HVI_OK;
  hvi_matrix A;
  hvi_status status = column ? hvi_reader_column(&b->r, b->root, key, &A)
                             : hvi_reader_matrix(&b->r, b->root, key, &A);
  if (status) return status;
  *s = (source){.node = given, .rows = A.rows, .columns = A.columns, .data = A.data};
  return HVI_OK;
}

static hvi_status need_shape(builder *b, const source *s, const char *what, size_t rows,
                             size_t columns) {
  if (s->rows == rows && s->columns == columns) return HVI_OK;
  return hvi_reader_fail(&b->r, s->node, "%s: %zu x %zu numbers; expected %zu x %zu", what, s->rows,
                         s->columns, rows, columns);
}

/* Numbers written out, whatever the file was. */
static hvi_status need_dense(builder *b, source *s) {
  hvi_error why = {HVI_OK, ""};
  if (s->data) return HVI_OK;
  const hvi_status status = hvi_matrix_file_fill(&s->file, &why);
  s->data = s->file.data;
  return status ? hvi_error_set(b->r.err, status, "%s:%u: %s", b->r.name, s->node->line, why.text)
                : HVI_OK;
}

static hvi_status read_sources(builder *b) {
  hvi_status status = read_source(b, "transitions", false, &b->transitions);
  if (!status) status = read_source(b, "rewards", true, &b->rewards);
  if (!status) status = read_source(b, "features", false, &b->features);
  if (!status) status = read_source(b, "theta0", true, &b->theta0);
  if (status) return status;
  if (!b->transitions.node)
    return hvi_reader_fail(&b->r, b->root, "the process needs 'transitions' or 'transitions_file'");
  if (!b->rewards.node)
    return hvi_reader_fail(&b->r, b->root, "the process needs 'rewards' or 'rewards_file'");
  return HVI_OK;
}

static hvi_status check_shapes(builder *b) {
  const hvi_node *states = hvi_node_get(b->root, "states");
  const size_t n = b->transitions.rows, d = b->features.node ? b->features.columns : n;
  size_t announced = n;
  hvi_status status = states ? hvi_reader_count(&b->r, states, UINT32_MAX, &announced) : HVI_OK;
  if (!status) status = need_shape(b, &b->transitions, "transitions", announced, announced);
  if (!status) status = need_shape(b, &b->rewards, "rewards", n, 1);
  if (!status && b->features.node) status = need_shape(b, &b->features, "features", n, d);
  if (!status && b->features.node && d > HVI_SET_RANK)
    status = hvi_reader_fail(&b->r, b->features.node, "%zu features are too many; at most %d", d,
                             (int)HVI_SET_RANK);
  if (!status && b->theta0.node) status = need_shape(b, &b->theta0, "theta0", d, 1);
  if (!status) status = need_dense(b, &b->rewards);
  if (!status && b->features.node) status = need_dense(b, &b->features);
  if (!status && b->theta0.node) status = need_dense(b, &b->theta0);
  return status;
}

static hvi_status read_settings(builder *b) {
  const hvi_node *gamma = hvi_node_get(b->root, "gamma"), *data = hvi_node_get(b->root, "data");
  if (!gamma) return hvi_reader_fail(&b->r, b->root, "the process needs 'gamma'");
  hvi_status status = hvi_reader_number(&b->r, gamma, false, &b->gamma);
  if (!status && !(b->gamma >= 0.0 && b->gamma < 1.0))
    status =
        hvi_reader_fail(&b->r, gamma, "gamma = %g; it must be at least 0 and below 1", b->gamma);
  const char *kind = "exact";
  if (!status && data) status = hvi_reader_text(&b->r, data, &kind);
  if (status) return status;
  b->trajectory = strcmp(kind, "trajectory") == 0;
  if (!b->trajectory && strcmp(kind, "exact") != 0)
    return hvi_reader_fail(&b->r, data, "data '%.40s' must be exact or trajectory", kind);
  return HVI_OK;
}

/* Moves what was read into a draft; large arrays change hands. */
static hvi_status fill(builder *b, hvi_mdp *m) {
  hvi_vec_copy(m->reward, b->rewards.data, m->n);
  if (b->theta0.node) hvi_vec_copy(m->theta0, b->theta0.data, m->d);
  if (m->phi) hvi_vec_copy(m->phi, b->features.data, m->n * m->d);
  if (!b->transitions.data) {
    m->sparse = b->transitions.file.sparse;
    b->transitions.file.sparse = (hvi_sparse){0};
    return HVI_OK;
  }
  if (b->transitions.file.data) {
    m->P = b->transitions.file.data;
    b->transitions.file.data = NULL;
    return HVI_OK;
  }
  m->P = hvi_copy_doubles(b->transitions.data, m->n * m->n);
  return m->P ? HVI_OK : hvi_error_memory(b->r.err, "the transitions");
}

static hvi_status build(builder *b, hvi_mdp **mdp) {
  static const char *const known[] = {
      "transitions", "transitions_file", "rewards",       "rewards_file",
      "gamma",       "features",         "features_file", "theta0",
      "theta0_file", "states",           "data",          "name",
      NULL};
  hvi_status status = hvi_reader_keys(&b->r, b->root, "the process", known);
  if (!status) status = read_settings(b);
  if (!status) status = read_sources(b);
  if (!status) status = check_shapes(b);
  if (status) return status;
  hvi_mdp *m =
      hvi_mdp_draft(b->transitions.rows, b->features.node ? b->features.columns : 0, b->gamma);
  if (!m) return hvi_error_memory(b->r.err, "a process");
  status = fill(b, m);
  hvi_error why = {HVI_OK, ""};
  if (!status && (status = hvi_mdp_finish(m, &why)))
    hvi_error_set(b->r.err, status, "%s: %.380s", b->r.name, why.text);
  if (status) {
    hvi_mdp_free(m);
    return status;
  }
  *mdp = m;
  return HVI_OK;
}

hvi_status hvi_mdp_read(hvi_mdp **mdp, bool *trajectory, const hvi_document *d, hvi_error *err) {
  *mdp = NULL;
  builder b = {.r = {.name = d->name, .folder = d->folder, .err = err}, .root = d->root};
  const hvi_status status = build(&b, mdp);
  *trajectory = b.trajectory;
  hvi_matrix_file_free(&b.transitions.file);
  hvi_matrix_file_free(&b.rewards.file);
  hvi_matrix_file_free(&b.features.file);
  hvi_matrix_file_free(&b.theta0.file);
  hvi_reader_clear(&b.r);
  return status;
}

hvi_status hvi_mdp_load(hvi_mdp **mdp, const char *path, hvi_error *err) {
  if (!mdp || !path) return hvi_error_set(err, HVI_ERROR_ARGUMENT, "hvi_mdp_load: a null pointer");
  *mdp = NULL;
  hvi_document d;
  bool trajectory;
  hvi_status status = hvi_document_read(&d, path, err);
  if (!status) status = hvi_mdp_read(mdp, &trajectory, &d, err);
  hvi_document_free(&d);
  return status;
}
