#define _GNU_SOURCE /* qsort_r */
#include "study/units.h"

#include "base/base.h"
#include "base/work.h"

static const size_t NONE = HVI_WORK_NONE;

typedef struct group {
  size_t first, end; /* in the order: units that nobody has taken */
  size_t active;     /* units under way */
} group;

struct hvi_units {
  hvi_unit *list;
  size_t *order; /* [waiting] by group, the dearest first */
  group *groups; /* [group_count] */
  size_t *at;    /* [workers] the group that a worker stays with */
  size_t waiting, group_count;
};

/* What the next unit of a group costs; below 0: there is none. */
static double next_cost(const hvi_units *u, size_t g) {
  return u->groups[g].first < u->groups[g].end ? u->list[u->order[u->groups[g].first]].cost : -1.0;
}

/* Its own, or the one that nobody is at with the dearest unit, or any. */
static size_t choose_group(const hvi_units *u, size_t worker) {
  size_t best = u->at[worker];
  if (best != NONE && next_cost(u, best) >= 0.0) return best;
  best = NONE;
  for (int others = 0; others < 2 && best == NONE; others++)
    for (size_t g = 0; g < u->group_count; g++)
      if (next_cost(u, g) > (best == NONE ? -1.0 : next_cost(u, best)) &&
          (others || !u->groups[g].active))
        best = g;
  return best;
}

size_t hvi_units_next(hvi_units *u, size_t worker) {
  const size_t g = choose_group(u, worker);
  if (g == NONE) return NONE;
  const size_t unit = u->order[u->groups[g].first++];
  u->list[unit].taken = true;
  u->groups[g].active++;
  u->at[worker] = g;
  return unit;
}

bool hvi_units_done(hvi_units *u, size_t unit) {
  group *g = &u->groups[u->list[unit].group];
  return --g->active == 0 && g->first == g->end;
}

size_t hvi_units_waiting(const hvi_units *u) { return u->waiting; }

static int compare(const void *a, const void *b, void *context) {
  const hvi_unit *list = context, *x = list + *(const size_t *)a, *y = list + *(const size_t *)b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
  return x < y ? -1 : 1;
}

hvi_status hvi_units_new(hvi_units **units, hvi_unit *list, size_t count, size_t workers,
                         hvi_error *err) {
  HVI_MAKE(hvi_units, u, "the cells of a study", err);
  u->list = list;
  for (size_t i = 0; i < count; i++)
    if (list[i].group >= u->group_count) u->group_count = list[i].group + 1;
  HVI_TRY(hvi_new(&u->order, count, "the cells of a study", err));
  HVI_TRY(hvi_new(&u->groups, u->group_count, "the cells of a study", err));
  HVI_TRY(hvi_new(&u->at, workers, "the cells of a study", err));
  for (size_t i = 0; i < workers; i++) u->at[i] = NONE;
  for (size_t i = 0; i < count; i++)
    if (!list[i].taken) u->order[u->waiting++] = i;
  qsort_r(u->order, u->waiting, sizeof *u->order, compare, list);
  for (size_t i = 0; i < u->waiting; i++) {
    group *g = &u->groups[list[u->order[i]].group];
    if (g->end == 0) g->first = i;
    g->end = i + 1;
  }
  HVI_GIVE(units, u);
}

void hvi_units_free(hvi_units *u) {
  if (!u) return;
  hvi_free(u->order);
  hvi_free(u->groups);
  hvi_free(u->at);
  hvi_free(u);
}
