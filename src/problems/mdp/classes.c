/*
 * Whether all states reach each other: one strongly connected component, found by Tarjan's
 * algorithm without recursion.
 *
 * When there are several, a component that no transition leaves is a closed class. Two of them mean
 * that the stationary law is not unique; one of them, with states outside, that the law gives those
 * weight zero, and the norm of Xi would not see them.
 */
#include "problems/mdp/mdp.h"

#include "base/error.h"
#include "base/memory.h"

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
  const hvi_mdp *m = s->m;
  if (m->P) {
    const double *row = m->P + (size_t)i * m->n;
    while (s->next[i] < m->n && row[s->next[i]] == 0.0) s->next[i]++;
    if (s->next[i] == m->n) return false;
    *to = (uint32_t)s->next[i]++;
    return true;
  }
  const size_t begin = m->sparse.start[i], end = m->sparse.start[i + 1];
  while (begin + s->next[i] < end && m->sparse.value[begin + s->next[i]] == 0.0) s->next[i]++;
  if (begin + s->next[i] >= end) return false;
  *to = m->sparse.column[begin + s->next[i]++];
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
      if (s->order[j] == unseen) {
        enter(s, j);
      } else if (s->component[j] == unseen && s->order[j] < s->low[i]) {
        s->low[i] = s->order[j];
      }
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
    while (successor(s, i, &j)) {
      if (s->component[i] != s->component[j]) open[s->component[i]] = 1;
    }
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
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "P has no unique stationary law: states %zu and %zu lie in different "
                         "closed classes, of which there are %zu",
                         first + 1, other + 1, closed);
  }
  while (!open[s->component[outside]]) outside++;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "the stationary law gives state %zu weight zero: it is left for good, and "
                       "every state must be reached from every other",
                       outside + 1);
}

static hvi_status search_all(search *s, hvi_error *err) {
  for (size_t i = 0; i < s->m->n; i++) s->order[i] = s->component[i] = unseen;
  for (uint32_t i = 0; i < s->m->n; i++) {
    if (s->order[i] == unseen) explore(s, i);
  }
  return s->components == 1 ? HVI_OK : complain(s, err);
}

hvi_status hvi_mdp_check_classes(const hvi_mdp *m, hvi_error *err) {
  const size_t n = m->n;
  if (n >= unseen) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "%zu states are too many; at most %u", n,
                         unseen - 1);
  }
  uint32_t *room = hvi_alloc(5 * n, sizeof *room);
  size_t *next = hvi_alloc(n, sizeof *next);
  hvi_status status = HVI_OK;
  if (room && next) {
    search s = {.m = m,
                .order = room,
                .low = room + n,
                .component = room + 2 * n,
                .stack = room + 3 * n,
                .path = room + 4 * n,
                .next = next};
    status = search_all(&s, err);
  } else {
    status = hvi_error_memory(err, "the classes of states");
  }
  hvi_free(room);
  hvi_free(next);
  return status;
}
