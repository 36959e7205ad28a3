/*
 * A process: copied, checked, and solved once when it is made.
 *
 * Everything about it that has a right answer (law, projection, fixed points) is found here, so
 * that a finished process is constant and can be shared.
 */
#include "problems/mdp/mdp.h"

#include "base/base.h"
#include "num/dense.h"
#include "num/sparse.h"

/* Rows of P may miss 1 by this much: numbers written with ten digits. */
static const double row_slack = 1e-9;

hvi_mdp *hvi_mdp_draft(size_t n, size_t d, double gamma) {
  hvi_mdp *m = hvi_alloc(1, sizeof *m);
  if (!m) return NULL;
  *m = (hvi_mdp){.n = n, .d = d > 0 ? d : n, .gamma = gamma};
  size_t entries = 0;
  double *none, **phi = d > 0 ? &m->phi : &none;
  if (hvi_multiply_sizes(n, d, &entries) &&
      hvi_alloc_arrays({&m->reward, n}, {&m->theta0, m->d}, {phi, entries}))
    return m;
  hvi_free(m);
  return NULL;
}

void hvi_mdp_free(hvi_mdp *m) {
  if (!m) return;
  hvi_sparse_free(&m->sparse);
  hvi_free(m->P);
  hvi_free(m->reward);
  hvi_free(m->law);
  hvi_free(m);
}

static hvi_status check_spec(const hvi_mdp_spec *s, hvi_error *err) {
  if (s->states == 0) return hvi_error_input(err, "a process needs a state");
  if (!s->reward || !s->transitions == !s->sparse || (s->features > 0 && !s->phi))
    return hvi_error_argument(err,
                              "a process needs rewards, transitions (dense or sparse) and, with "
                              "features, phi");
  if (s->sparse && (s->sparse->rows != s->states || s->sparse->columns != s->states))
    return hvi_error_input(err, "P is %zu x %zu; with %zu states it is %zu x %zu", s->sparse->rows,
                           s->sparse->columns, s->states, s->states, s->states);
  return HVI_OK;
}

hvi_status hvi_mdp_new(hvi_mdp **mdp, const hvi_mdp_spec *spec, hvi_error *err) {
  if (!mdp || !spec) return hvi_error_argument(err, "hvi_mdp_new: a null pointer");
  *mdp = NULL;
  HVI_TRY(check_spec(spec, err));
  HVI_OWN_BY(hvi_mdp_release) hvi_mdp *m = hvi_mdp_draft(spec->states, spec->features, spec->gamma);
  if (!m) return hvi_error_memory(err, "a process");
  size_t entries = 0;
  hvi_vec_copy(m->reward, spec->reward, m->n);
  if (m->phi) hvi_vec_copy(m->phi, spec->phi, m->n * m->d);
  if (spec->sparse)
    HVI_TRY(hvi_sparse_copy(&m->sparse, spec->sparse, err));
  else if (hvi_multiply_sizes(m->n, m->n, &entries))
    m->P = hvi_copy_doubles(spec->transitions, entries);
  if (!spec->sparse && !m->P) return hvi_error_memory(err, "the transitions");
  HVI_TRY(hvi_mdp_finish(m, err));
  HVI_GIVE(mdp, m);
}

static hvi_status check_rows(hvi_mdp *m, hvi_error *err) {
  for (size_t i = 0; i < m->n; i++) {
    const hvi_mdp_row row = hvi_mdp_row_of(m, i);
    double sum = 0.0;
    for (size_t k = 0; k < row.count; k++) {
      if (!(row.value[k] >= 0.0) || isinf(row.value[k]))
        return hvi_error_input(err,
                               "row %zu, column %zu of P is %g; a probability is between 0 and 1",
                               i + 1, hvi_mdp_column(&row, k) + 1, row.value[k]);
      sum += row.value[k];
    }
    if (!(fabs(sum - 1.0) <= row_slack))
      return hvi_error_input(err, "row %zu of P sums to %.10g; it must sum to 1", i + 1, sum);
    for (size_t k = 0; sum != 1.0 && k < row.count; k++) row.value[k] /= sum;
  }
  return HVI_OK;
}

static hvi_status check_numbers(const hvi_mdp *m, hvi_error *err) {
  if (m->phi && m->d > HVI_SET_RANK)
    return hvi_error_input(err, "%zu features are too many; at most %d", m->d, (int)HVI_SET_RANK);
  if (!(m->gamma >= 0.0 && m->gamma < 1.0))
    return hvi_error_input(err, "gamma = %g; it must be at least 0 and below 1", m->gamma);
  for (size_t i = 0; i < m->n; i++) {
    if (isfinite(m->reward[i])) continue;
    return hvi_error_input(err, "the reward of state %zu is %g, which is not finite", i + 1,
                           m->reward[i]);
  }
  for (size_t k = 0; m->phi && k < m->n * m->d; k++) {
    if (isfinite(m->phi[k])) continue;
    return hvi_error_input(err, "row %zu, column %zu of the features is %g, which is not finite",
                           k / m->d + 1, k % m->d + 1, m->phi[k]);
  }
  return HVI_OK;
}

/*
 * Whether all states reach each other: one strongly connected component, found by Tarjan's
 * algorithm without recursion.
 *
 * When there are several, a component that no transition leaves is a closed class. Two of them mean
 * that the stationary law is not unique; one of them, with states outside, that the law gives those
 * weight zero, and the norm of Xi would not see them.
 */
static const uint32_t unseen = UINT32_MAX;

typedef struct search_state {
  uint32_t order;     /* when it was first seen */
  uint32_t low;       /* the earliest state on the stack that it reaches */
  uint32_t component; /* its number */
  bool leaves;        /* it has a transition to another component */
  size_t next;        /* where to go on in its row */
  /* of another kind, by their own numbers: */
  uint32_t stack; /* states without a component yet */
  uint32_t path;  /* states being looked at, from the root */
  bool open;      /* components that a transition leaves */
} search_state;

typedef struct search {
  const hvi_mdp *m;
  search_state *at; /* [n] */
  uint32_t seen, components;
  size_t stacked, depth;
} search;

/* The next successor of a state; false at the end of its row. */
static bool successor(const search *s, uint32_t i, uint32_t *to) {
  const hvi_mdp_row row = hvi_mdp_row_of(s->m, i);
  size_t *next = &s->at[i].next;
  while (*next < row.count && row.value[*next] == 0.0) ++*next;
  if (*next == row.count) return false;
  *to = (uint32_t)hvi_mdp_column(&row, (*next)++);
  return true;
}

static void enter(search *s, uint32_t i) {
  s->at[i].order = s->at[i].low = s->seen++;
  s->at[s->stacked++].stack = i;
  s->at[s->depth++].path = i;
}

/* The root of a component has been dealt with: its states come off the stack. */
static void close_component(search *s, uint32_t root) {
  uint32_t i;
  do {
    i = s->at[--s->stacked].stack;
    s->at[i].component = s->components;
    s->at[s->components].open |= s->at[i].leaves;
  } while (i != root);
  s->components++;
}

static void explore(search *s, uint32_t from) {
  enter(s, from);
  while (s->depth > 0) {
    const uint32_t i = s->at[s->depth - 1].path;
    search_state *a = &s->at[i];
    uint32_t j;
    if (successor(s, i, &j)) {
      const search_state *b = &s->at[j];
      if (b->order == unseen)
        enter(s, j);
      else if (b->component != unseen)
        a->leaves = true;
      else if (b->order < a->low)
        a->low = b->order;
      continue;
    }
    s->depth--;
    const bool root = a->low == a->order;
    if (root) close_component(s, i);
    if (s->depth == 0) return;
    search_state *parent = &s->at[s->at[s->depth - 1].path];
    parent->leaves |= root;
    if (a->low < parent->low) parent->low = a->low;
  }
}

static bool is_open(const search *s, size_t i) { return s->at[s->at[i].component].open; }

static hvi_status complain(const search *s, hvi_error *err) {
  size_t closed = 0, first = 0, outside = 0;
  for (uint32_t c = 0; c < s->components; c++) closed += !s->at[c].open;
  while (is_open(s, first)) first++;
  if (closed > 1) {
    size_t other = first + 1;
    while (is_open(s, other) || s->at[other].component == s->at[first].component) other++;
    return hvi_error_input(err,
                           "P has no unique stationary law: states %zu and %zu lie in different "
                           "closed classes, of which there are %zu",
                           first + 1, other + 1, closed);
  }
  while (!is_open(s, outside)) outside++;
  return hvi_error_input(err,
                         "the stationary law gives state %zu weight zero: it is left for good, and "
                         "every state must be reached from every other",
                         outside + 1);
}

static hvi_status check_classes(const hvi_mdp *m, hvi_error *err) {
  const size_t n = m->n;
  if (n >= unseen)
    return hvi_error_input(err, "%zu states are too many; at most %u", n, unseen - 1);
  HVI_NEW(search_state, at, n, "the classes of states", err);
  search s = {.m = m, .at = at};
  for (size_t i = 0; i < n; i++) at[i].order = at[i].component = unseen;
  for (uint32_t i = 0; i < n; i++)
    if (at[i].order == unseen) explore(&s, i);
  return s.components == 1 ? HVI_OK : complain(&s, err);
}

hvi_status hvi_mdp_finish(hvi_mdp *m, hvi_error *err) {
  HVI_TRY(check_numbers(m, err));
  HVI_TRY(check_rows(m, err));
  HVI_TRY(check_classes(m, err));
  return hvi_mdp_solve(m, err);
}

void hvi_mdp_draw_start(hvi_mdp *m, uint64_t seed, uint64_t instance) {
  hvi_rng rng = hvi_rng_new(seed, "process start", instance);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, m->d, m->theta0);
}

size_t hvi_mdp_states(const hvi_mdp *m) { return m->n; }
size_t hvi_mdp_features(const hvi_mdp *m) { return m->d; }
double hvi_mdp_gamma(const hvi_mdp *m) { return m->gamma; }
const double *hvi_mdp_law(const hvi_mdp *m) { return m->law; }
const double *hvi_mdp_reward(const hvi_mdp *m) { return m->reward; }
const double *hvi_mdp_phi(const hvi_mdp *m) { return m->phi; }
const double *hvi_mdp_true_values(const hvi_mdp *m) { return m->true_values; }
const double *hvi_mdp_fixed_point(const hvi_mdp *m) { return m->fixed_point; }

void hvi_mdp_transit(double *y, const hvi_mdp *m, const double *z) {
  if (m->P)
    hvi_dense_mul(y, m->P, z, m->n, m->n);
  else
    hvi_sparse_mul(y, &m->sparse, z);
}

void hvi_mdp_transit_t(double *y, const hvi_mdp *m, const double *x) {
  if (m->P)
    hvi_dense_mul_t(y, m->P, x, m->n, m->n);
  else
    hvi_sparse_mul_t(y, &m->sparse, x);
}

void hvi_mdp_bellman(const hvi_mdp *m, const double *z, double *out) {
  hvi_mdp_transit(out, m, z);
  for (size_t i = 0; i < m->n; i++) out[i] = m->reward[i] + m->gamma * out[i];
}

void hvi_mdp_values(const hvi_mdp *m, const double *theta, double *z) {
  if (m->phi)
    hvi_dense_mul(z, m->phi, theta, m->n, m->d);
  else
    hvi_vec_copy(z, theta, m->n);
}
