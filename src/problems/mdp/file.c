/* Reads a process from YAML: transitions, rewards, discount, features, start. */
#include "base/base.h"
#include "problems/mdp/mdp.h"

#include "num/vec.h"
#include "problems/document.h"

/* Matrices, each under its key or in a file under key_file. */
enum { TRANSITIONS, REWARDS, FEATURES, THETA0, SOURCES };
static const char *const keys[SOURCES] = {"transitions", "rewards", "features", "theta0"};
static const bool is_column[SOURCES] = {[REWARDS] = true, [THETA0] = true};

typedef struct builder {
  hvi_reader r;
  const hvi_node *root;
  const hvi_node *node[SOURCES]; /* NULL: not given */
  hvi_matrix_file read[SOURCES];
  double gamma;
  bool trajectory;
} builder;

static hvi_status read_source(builder *b, size_t k) {
  char file_key[32];
  snprintf(file_key, sizeof file_key, "%s_file", keys[k]);
  const hvi_node *given = hvi_node_get(b->root, keys[k]), *file = hvi_node_get(b->root, file_key);
  if (given && file)
    return hvi_reader_fail(&b->r, file, "give either %s or %s, not both", keys[k], file_key);
  hvi_matrix_file *out = &b->read[k];
  b->node[k] = given ? given : file;
  if (given) {
    hvi_matrix A;
    HVI_TRY(hvi_reader_array(&b->r, b->root, keys[k], is_column[k] ? 1 : 2, &A));
    *out = (hvi_matrix_file){A.rows, A.columns, hvi_copy_doubles(A.data, A.rows * A.columns), {0}};
    return out->data ? HVI_OK : hvi_error_memory(b->r.err, b->r.name);
  }
  HVI_TRY(file ? hvi_reader_file(&b->r, file, out) : HVI_OK);
  if (is_column[k] && out->rows == 1) {
    /* a row will do */
    out->rows = out->columns;
    out->columns = 1;
  }
  return HVI_OK;
}

static hvi_status check_shapes(builder *b) {
  const hvi_node *states = hvi_node_get(b->root, "states");
  const size_t n = b->read[TRANSITIONS].rows, d = b->node[FEATURES] ? b->read[FEATURES].columns : n;
  size_t announced = n;
  HVI_TRY(states ? hvi_reader_count(&b->r, states, UINT32_MAX, &announced) : HVI_OK);
  const size_t shape[SOURCES][2] = {{announced, announced}, {n, 1}, {n, d}, {d, 1}};
  for (size_t k = 0; k < SOURCES; k++) {
    const size_t rows = b->read[k].rows, columns = b->read[k].columns;
    if (b->node[k] && (rows != shape[k][0] || columns != shape[k][1]))
      return hvi_reader_fail(&b->r, b->node[k], "%s: %zu x %zu numbers; expected %zu x %zu",
                             keys[k], rows, columns, shape[k][0], shape[k][1]);
  }
  if (b->node[FEATURES] && d > HVI_SET_RANK)
    return hvi_reader_fail(&b->r, b->node[FEATURES], "%zu features are too many; at most %d", d,
                           (int)HVI_SET_RANK);
  /* numbers written out, whatever the files were; P may stay sparse */
  for (size_t k = REWARDS; k < SOURCES; k++) {
    const hvi_status status = b->node[k] ? hvi_matrix_file_fill(&b->read[k], b->r.err) : HVI_OK;
    if (status) return hvi_error_place(b->r.err, status, b->r.name, b->node[k]->line);
  }
  return HVI_OK;
}

static hvi_status read_settings(builder *b) {
  const hvi_node *gamma = hvi_node_get(b->root, "gamma"), *data = hvi_node_get(b->root, "data");
  const char *kind = "exact";
  if (!gamma) return hvi_reader_fail(&b->r, b->root, "the process needs 'gamma'");
  HVI_TRY(hvi_reader_number(&b->r, gamma, false, &b->gamma));
  if (!(b->gamma >= 0.0 && b->gamma < 1.0))
    return hvi_reader_fail(&b->r, gamma, "gamma = %g; it must be at least 0 and below 1", b->gamma);
  HVI_TRY(data ? hvi_reader_text(&b->r, data, &kind) : HVI_OK);
  b->trajectory = strcmp(kind, "trajectory") == 0;
  if (!b->trajectory && strcmp(kind, "exact") != 0)
    return hvi_reader_fail(&b->r, data, "data '%.40s' must be exact or trajectory", kind);
  return HVI_OK;
}

static hvi_status build(builder *b, hvi_mdp **mdp) {
  HVI_TRY(hvi_reader_keys(&b->r, b->root, "the process",
                          "transitions transitions_file rewards rewards_file gamma features "
                          "features_file theta0 theta0_file states data name"));
  HVI_TRY(read_settings(b));
  for (size_t k = 0; k < SOURCES; k++) HVI_TRY(read_source(b, k));
  for (size_t k = TRANSITIONS; k <= REWARDS; k++)
    if (!b->node[k])
      return hvi_reader_fail(&b->r, b->root, "the process needs '%s' or '%s_file'", keys[k],
                             keys[k]);
  HVI_TRY(check_shapes(b));
  hvi_matrix_file *P = &b->read[TRANSITIONS];
  HVI_OWN_BY(hvi_mdp_release)
  hvi_mdp *m = hvi_mdp_draft(P->rows, b->node[FEATURES] ? b->read[FEATURES].columns : 0, b->gamma);
  if (!m) return hvi_error_memory(b->r.err, "a process");
  hvi_vec_copy(m->reward, b->read[REWARDS].data, m->n);
  if (b->node[THETA0]) hvi_vec_copy(m->theta0, b->read[THETA0].data, m->d);
  if (m->phi) hvi_vec_copy(m->phi, b->read[FEATURES].data, m->n * m->d);
  m->P = P->data; /* large: it changes hands */
  m->sparse = P->sparse;
  *P = (hvi_matrix_file){0};
  hvi_error why = {HVI_OK, ""};
  if (hvi_mdp_finish(m, &why))
    return hvi_error_set(b->r.err, why.status, "%s: %.380s", b->r.name, why.text);
  HVI_GIVE(mdp, m);
}

hvi_status hvi_mdp_read(hvi_mdp **mdp, bool *trajectory, const hvi_document *d, hvi_error *err) {
  *mdp = NULL;
  builder b = {.r = {.name = d->name, .folder = d->folder, .err = err}, .root = d->root};
  const hvi_status status = build(&b, mdp);
  *trajectory = b.trajectory;
  for (size_t k = 0; k < SOURCES; k++) hvi_matrix_file_free(&b.read[k]);
  hvi_reader_clear(&b.r);
  return status;
}

hvi_status hvi_mdp_load(hvi_mdp **mdp, const char *path, hvi_error *err) {
  if (!mdp || !path) return hvi_error_argument(err, "hvi_mdp_load: a null pointer");
  *mdp = NULL;
  HVI_OWN_BY(hvi_document_free) hvi_document d = {0};
  bool trajectory;
  HVI_TRY(hvi_document_read(&d, path, err));
  return hvi_mdp_read(mdp, &trajectory, &d, err);
}
