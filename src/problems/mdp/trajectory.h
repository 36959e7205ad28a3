/*
 * The stochastic problem from inside: what a sample holds, for the rules, the experiment and the
 * tests.
 */
#pragma once

#include "problems/single.h"

#include <hvi/mdp.h>

/*
 * Drawing the successor of a state in constant time, from tables made once (the alias method:
 * Walker, 1977; Vose, 1991). The m successors of a state are cut into m columns of equal height,
 * each holding at most two of them: one uniform number picks the column, and its fraction one of
 * the two.
 */
typedef struct hvi_alias_column {
  double keep;           /* share of the column that belongs to `own` */
  uint32_t own, instead; /* successors */
} hvi_alias_column;

typedef struct hvi_alias {
  size_t states;
  size_t *start;             /* [states + 1]; state s has the columns start[s] .. start[s + 1] */
  hvi_alias_column *columns; /* one for each successor with positive probability */
} hvi_alias;

/* The tables of a process's P. */
hvi_status hvi_alias_new(hvi_alias *a, const hvi_mdp *m, hvi_error *err);
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

/* What t transitions have taught. The arrays lie behind the struct, in the order of the
 * functions below. */
typedef struct hvi_trajectory_sample {
  size_t count;    /* t */
  size_t from, to; /* the last transition; the chain stands at `to` */
  double scale;    /* s: 1, 1 / trace or 1 / lambda_max of D_hat + ridge I */
  double memory[];
} hvi_trajectory_sample;

typedef struct hvi_trajectory {
  hvi_single one;
  hvi_mdp *mdp; /* owned */
  hvi_trajectory_settings settings;
  size_t states, d;
  double gamma;
  const double *phi;    /* [n][d]; NULL: tabular */
  const double *reward; /* [n] */
  double *unit;         /* tabular: [2 n - 1], zero but for a 1 in the middle */
  hvi_alias alias;
  hvi_trajectory_sample *mean; /* exact D, C and r under the stationary law; count: SIZE_MAX */
  const double *fixed_point;   /* [d] theta of the projected fixed point */
} hvi_trajectory;

/* td0, td-lambda, lstd, tdc, gtd2, residual-gradient, NULL. */
extern const hvi_rule *const hvi_trajectory_rule_list[];

/* NULL when the problem is not one along a trajectory. */
const hvi_trajectory *hvi_trajectory_of(const hvi_problem *p);

/* D_hat [d][d], C_hat [d][d], r_hat [d], the factor R [d][d]: upper triangular with
 * R'R = s (D_hat + ridge I). */
static inline double *hvi_sample_D(hvi_trajectory_sample *s) { return s->memory; }
static inline double *hvi_sample_C(hvi_trajectory_sample *s, size_t d) { return s->memory + d * d; }
static inline double *hvi_sample_r(hvi_trajectory_sample *s, size_t d) {
  return s->memory + 2 * d * d;
}
static inline double *hvi_sample_R(hvi_trajectory_sample *s, size_t d) {
  return s->memory + 2 * d * d + d;
}

/* phi(s) [d] */
static inline const double *hvi_trajectory_row(const hvi_trajectory *t, size_t state) {
  return t->phi ? t->phi + state * t->d : t->unit + (t->states - 1 - state);
}

/* The last transition. */
typedef struct hvi_transition {
  size_t d;
  double gamma;
  const double *now, *next; /* [d] phi, phi' */
  double reward;
} hvi_transition;

static inline hvi_transition hvi_trajectory_transition(const hvi_trajectory *t,
                                                       const hvi_trajectory_sample *s) {
  return (hvi_transition){t->d, t->gamma, hvi_trajectory_row(t, s->from),
                          hvi_trajectory_row(t, s->to), t->reward[s->from]};
}
