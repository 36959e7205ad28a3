/*
 * Vose's construction: heights p_j m are sorted into those below 1 and those above. A short one is
 * filled up to 1 by a tall one, which shrinks by as much and is sorted again. Each column is closed
 * once, so a row of m entries takes O(m).
 */
#include "base/base.h"
#include "problems/mdp/trajectory.h"

#include "problems/mdp/mdp.h"

/* A row under construction; its memory is shared by all rows. */
typedef struct row {
  size_t count;      /* m */
  double *height;    /* [m] */
  uint32_t *waiting; /* [m] short ones from the front, tall ones from the back */
} row;

/* Fills own and height with what is positive in row i. */
static void read_row(row *r, hvi_alias_column *columns, const hvi_mdp *m, size_t i) {
  const hvi_mdp_row P = hvi_mdp_row_of(m, i);
  double sum = 0.0;
  r->count = 0;
  for (size_t k = 0; k < P.count; k++) {
    if (!(P.value[k] > 0.0)) continue;
    columns[r->count].own = (uint32_t)hvi_mdp_column(&P, k);
    r->height[r->count++] = P.value[k];
    sum += P.value[k];
  }
  for (size_t k = 0; k < r->count; k++) r->height[k] *= (double)r->count / sum;
}

static void close_row(row *r, hvi_alias_column *columns) {
  size_t low = 0, high = r->count; /* waiting[0 .. low) is short, waiting[high .. m) tall */
  for (size_t k = 0; k < r->count; k++) {
    columns[k].keep = 1.0;
    columns[k].instead = columns[k].own;
    if (r->height[k] < 1.0)
      r->waiting[low++] = (uint32_t)k;
    else
      r->waiting[--high] = (uint32_t)k;
  }
  while (low > 0 && high < r->count) {
    const uint32_t small = r->waiting[--low], tall = r->waiting[high];
    columns[small].keep = r->height[small];
    columns[small].instead = columns[tall].own;
    r->height[tall] -= 1.0 - r->height[small];
    if (r->height[tall] >= 1.0) continue;
    high++;
    r->waiting[low++] = tall;
  }
  /* what waits now differs from 1 by rounding only, and keeps its own column */
}

static hvi_status fill(hvi_alias *a, const hvi_mdp *m, hvi_error *err) {
  size_t widest = 0;
  if (!a->start) return hvi_error_memory(err, "the tables of a trajectory");
  for (size_t i = 0; i < m->n; i++) {
    const hvi_mdp_row P = hvi_mdp_row_of(m, i);
    size_t count = 0;
    for (size_t k = 0; k < P.count; k++) count += P.value[k] > 0.0;
    if (count == 0) return hvi_error_input(err, "row %zu of P has no successor", i + 1);
    a->start[i + 1] = a->start[i] + count;
    widest = count > widest ? count : widest;
  }
  HVI_OWN double *height = hvi_alloc_doubles(widest);
  HVI_OWN uint32_t *waiting = hvi_alloc(widest, sizeof *waiting);
  a->columns = hvi_alloc(a->start[m->n], sizeof *a->columns);
  if (!a->columns || !height || !waiting)
    return hvi_error_memory(err, "the tables of a trajectory");
  row r = {.height = height, .waiting = waiting};
  for (size_t i = 0; i < m->n; i++) {
    hvi_alias_column *columns = a->columns + a->start[i];
    read_row(&r, columns, m, i);
    close_row(&r, columns);
  }
  return HVI_OK;
}

hvi_status hvi_alias_new(hvi_alias *a, const hvi_mdp *m, hvi_error *err) {
  *a = (hvi_alias){.states = m->n, .start = hvi_alloc(m->n + 1, sizeof *a->start)};
  const hvi_status status = fill(a, m, err);
  if (status) hvi_alias_free(a);
  return status;
}

void hvi_alias_free(hvi_alias *a) {
  hvi_free(a->start);
  hvi_free(a->columns);
  *a = (hvi_alias){0};
}
