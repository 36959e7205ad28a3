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
#include "num/vec.h"

/* Rows of P may miss 1 by this much: numbers written with ten digits. */
static const double row_slack = 1e-9;

hvi_mdp *hvi_mdp_draft(size_t n, size_t d, double gamma) {
  hvi_mdp *m = hvi_alloc(1, sizeof *m);
  if (!m) return NULL;
  m->n = n;
  m->d = d > 0 ? d : n;
  m->gamma = gamma;
  m->reward = hvi_alloc_doubles(n);
  m->theta0 = hvi_alloc_doubles(m->d);
  size_t entries = 0;
  if (d > 0 && hvi_multiply_sizes(n, d, &entries)) m->phi = hvi_alloc_doubles(entries);
  if (m->reward && m->theta0 && (d == 0 || m->phi)) return m;
  hvi_mdp_free(m);
  return NULL;
}

void hvi_mdp_free(hvi_mdp *m) {
  if (!m) return;
  hvi_sparse_free(&m->sparse);
  double *owned[] = {m->P, m->reward, m->phi, m->theta0,  m->law,         m->gram,       m->C,
                     m->b, m->factor, m->mix, m->reduced, m->fixed_point, m->true_values};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) hvi_free(owned[i]);
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

static hvi_status copy_spec(hvi_mdp *m, const hvi_mdp_spec *s, hvi_error *err) {
  size_t entries = 0;
  hvi_vec_copy(m->reward, s->reward, m->n);
  if (m->phi) hvi_vec_copy(m->phi, s->phi, m->n * m->d);
  if (s->sparse) return hvi_sparse_copy(&m->sparse, s->sparse, err);
  if (hvi_multiply_sizes(m->n, m->n, &entries)) m->P = hvi_copy_doubles(s->transitions, entries);
  return m->P ? HVI_OK : hvi_error_memory(err, "the transitions");
}

hvi_status hvi_mdp_new(hvi_mdp **mdp, const hvi_mdp_spec *spec, hvi_error *err) {
  if (!mdp || !spec) return hvi_error_argument(err, "hvi_mdp_new: a null pointer");
  *mdp = NULL;
  HVI_TRY(check_spec(spec, err));
  hvi_mdp *m = hvi_mdp_draft(spec->states, spec->features, spec->gamma);
  if (!m) return hvi_error_memory(err, "a process");
  hvi_status status = copy_spec(m, spec, err);
  if (!status) status = hvi_mdp_finish(m, err);
  if (status) {
    hvi_mdp_free(m);
    return status;
  }
  *mdp = m;
  return HVI_OK;
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

typedef struct search {
  const hvi_mdp *m;
  uint32_t *order;     /* [n] when a state was first seen */
  uint32_t *low;       /* [n] the earliest state on the stack that it reaches */
  uint32_t *component; /* [n] */
  uint32_t *stack;     /* [n] states without a component yet */
  uint32_t *path;      /* [n] states being looked at, from the root */
  size_t *next;        /* [n] where to go on in a state's row */
  uint32_t seen, components;
  size_t stacked, depth;
} search;

/* The next successor of a state; false at the end of its row. */
static bool successor(const search *s, uint32_t i, uint32_t *to) {
  const hvi_mdp_row row = hvi_mdp_row_of(s->m, i);
  while (s->next[i] < row.count && row.value[s->next[i]] == 0.0) s->next[i]++;
  if (s->next[i] == row.count) return false;
  *to = (uint32_t)hvi_mdp_column(&row, s->next[i]++);
  return true;
}

static void enter(search *s, uint32_t i) {
  s->order[i] = s->low[i] = s->seen++;
  s->stack[s->stacked++] = i;
  s->path[s->depth++] = i;
}

/* The root of a component has been dealt with: its states come off the stack. */
static void close_component(search *s, uint32_t root) {
  uint32_t i;
  do {
    i = s->stack[--s->stacked];
    s->component[i] = s->components;
  } while (i != root);
  s->components++;
}

static void explore(search *s, uint32_t from) {
  enter(s, from);
  while (s->depth > 0) {
    const uint32_t i = s->path[s->depth - 1];
    uint32_t j;
    if (successor(s, i, &j)) {
      if (s->order[j] == unseen)
        enter(s, j);
      else if (s->component[j] == unseen && s->order[j] < s->low[i])
        s->low[i] = s->order[j];
      continue;
    }
    s->depth--;
    if (s->low[i] == s->order[i]) close_component(s, i);
    if (s->depth > 0) {
      const uint32_t parent = s->path[s->depth - 1];
      if (s->low[i] < s->low[parent]) s->low[parent] = s->low[i];
    }
  }
}

/* open[c] = 1 when a transition leaves component c; `open` is over `stack`, which is done with. */
static void find_open(search *s, uint32_t *open) {
  for (size_t i = 0; i < s->m->n; i++) open[i] = 0, s->next[i] = 0;
  for (uint32_t i = 0; i < s->m->n; i++) {
    uint32_t j;
    while (successor(s, i, &j))
      if (s->component[i] != s->component[j]) open[s->component[i]] = 1;
  }
}

static hvi_status complain(search *s, hvi_error *err) {
  uint32_t *open = s->stack;
  size_t closed = 0, first = 0, outside = 0;
  find_open(s, open);
  for (uint32_t c = 0; c < s->components; c++) closed += !open[c];
  while (open[s->component[first]]) first++;
  if (closed > 1) {
    size_t other = first + 1;
    while (open[s->component[other]] || s->component[other] == s->component[first]) other++;
    return hvi_error_input(err,
                           "P has no unique stationary law: states %zu and %zu lie in different "
                           "closed classes, of which there are %zu",
                           first + 1, other + 1, closed);
  }
  while (!open[s->component[outside]]) outside++;
  return hvi_error_input(err,
                         "the stationary law gives state %zu weight zero: it is left for good, and "
                         "every state must be reached from every other",
                         outside + 1);
}

static hvi_status search_all(search *s, hvi_error *err) {
  for (size_t i = 0; i < s->m->n; i++) s->order[i] = s->component[i] = unseen;
  for (uint32_t i = 0; i < s->m->n; i++)
    if (s->order[i] == unseen) explore(s, i);
  return s->components == 1 ? HVI_OK : complain(s, err);
}

static hvi_status check_classes(const hvi_mdp *m, hvi_error *err) {
  const size_t n = m->n;
  if (n >= unseen)
    return hvi_error_input(err, "%zu states are too many; at most %u", n, unseen - 1);
  uint32_t *memory = hvi_alloc(5 * n, sizeof *memory);
  size_t *next = hvi_alloc(n, sizeof *next);
  hvi_status status = HVI_OK;
  if (memory && next) {
    search s = {.m = m,
                .order = memory,
                .low = memory + n,
                .component = memory + 2 * n,
                .stack = memory + 3 * n,
                .path = memory + 4 * n,
                .next = next};
    status = search_all(&s, err);
  } else {
    status = hvi_error_memory(err, "the classes of states");
  }
  hvi_free(memory);
  hvi_free(next);
  return status;
}

hvi_status hvi_mdp_finish(hvi_mdp *m, hvi_error *err) {
  hvi_status status = check_numbers(m, err);
  if (!status) status = check_rows(m, err);
  if (!status) status = check_classes(m, err);
  if (!status) status = hvi_mdp_find_law(m, err);
  if (!status && m->phi) status = hvi_mdp_find_coordinates(m, err);
  if (!status) status = hvi_mdp_find_values(m, err);
  return status;
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
