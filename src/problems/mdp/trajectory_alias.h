/*
 * Drawing the successor of a state in constant time, from tables made once (the alias method:
 * Walker, 1977; Vose, 1991).
 *
 * The m successors of a state are cut into m columns of equal height, each holding at most two of
 * them: one uniform number picks the column, and its fraction one of the two.
 */
#ifndef HVI_PROBLEMS_MDP_TRAJECTORY_ALIAS_H
#define HVI_PROBLEMS_MDP_TRAJECTORY_ALIAS_H

#include <hvi/error.h>
#include <hvi/sparse.h>

typedef struct hvi_alias_column {
  double keep;           /* share of the column that belongs to `own` */
  uint32_t own, instead; /* successors */
} hvi_alias_column;

typedef struct hvi_alias {
  size_t states;
  size_t *start;             /* [states + 1]; state s has the columns start[s] .. start[s + 1] */
  hvi_alias_column *columns; /* one for each successor with positive probability */
} hvi_alias;

/* The tables of P, given dense ([n][n]) or sparse, the other being NULL. */
hvi_status hvi_alias_new(hvi_alias *a, size_t n, const double *dense, const hvi_sparse *sparse,
                         hvi_error *err);
void hvi_alias_free(hvi_alias *a);

/* The successor of a state that u, uniform on [0, 1), stands for. u m rounds to less than m for
 * every u below 1. */
static inline size_t hvi_alias_next(const hvi_alias *a, size_t state, double u) {
  const size_t first = a->start[state];
  const double x = u * (double)(a->start[state + 1] - first);
  const size_t k = (size_t)x;
  const hvi_alias_column *c = &a->columns[first + k];
  return x - (double)k < c->keep ? c->own : c->instead;
}

#endif
