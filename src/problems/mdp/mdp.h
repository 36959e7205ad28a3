/*
 * A Markov decision process under a fixed policy, from inside: what it owns and what was found out
 * about it when it was made. Constant afterwards, and shared between threads.
 */
#pragma once

#include "base/memory.h"

#include <hvi/mdp.h>

#include <stdint.h>

HVI_RELEASE(hvi_mdp)

struct hvi_mdp {
  size_t n, d;  /* states; features, n when tabular */
  double gamma; /* in [0, 1) */

  /* given */
  double *P;         /* [n][n], or NULL: */
  hvi_sparse sparse; /* P by rows, columns ascending */
  double *reward;    /* [n]; this and the next two: one block */
  double *phi;       /* [n][d]; NULL: tabular, Phi = I */
  double *theta0;    /* [d] where a solve starts */

  /* found */
  double *law;         /* [n] xi > 0, sum 1; this and the others: one block */
  double *true_values; /* [n] v_pi */
  double *fixed_point; /* [d] theta of the projected fixed point */
  double *gram;        /* [d][d] D = Phi' Xi Phi; this and the next five: not when tabular */
  double *C;           /* [d][d] Phi' Xi (Phi - gamma P Phi) */
  double *b;           /* [d] Phi' Xi r */
  double *factor;      /* [d][d] lower L with L L' = D */
  double *mix;         /* [d][d] L^-T: the columns of Phi L^-T are Xi-orthonormal */
  double *reduced;     /* [d][d] L^-1 C L^-T: F in those coordinates */
};

/* Row i of P: its entries, and their columns or NULL when they are 0, 1, 2 ... */
typedef struct hvi_mdp_row {
  size_t count;
  double *value;
  const uint32_t *column;
} hvi_mdp_row;

static inline hvi_mdp_row hvi_mdp_row_of(const hvi_mdp *m, size_t i) {
  if (m->P) return (hvi_mdp_row){m->n, m->P + i * m->n, NULL};
  const size_t begin = m->sparse.start[i];
  return (hvi_mdp_row){m->sparse.start[i + 1] - begin, m->sparse.value + begin,
                       m->sparse.column + begin};
}

static inline size_t hvi_mdp_column(const hvi_mdp_row *row, size_t k) {
  return row->column ? row->column[k] : k;
}

/* An empty process of this size with theta0 = 0, to be filled in: reward, one of P and sparse, and
 * phi unless d is 0 (tabular). NULL when there is no memory. */
hvi_mdp *hvi_mdp_draft(size_t n, size_t d, double gamma);
/* Checks a draft and finds out the rest; HVI_ERROR_INPUT as in hvi_mdp_new. Draft stays the
 * caller's to free. */
hvi_status hvi_mdp_finish(hvi_mdp *m, hvi_error *err);

/* theta0 of a random instance: standard normal. */
void hvi_mdp_draw_start(hvi_mdp *m, uint64_t seed, uint64_t instance);

struct hvi_document;
/* Makes the process that a document describes (docs/mdp-files.md); *trajectory says which data it
 * asks for. */
hvi_status hvi_mdp_read(hvi_mdp **mdp, bool *trajectory, const struct hvi_document *d,
                        hvi_error *err);

/* y = P z;  y = P' x */
void hvi_mdp_transit(double *y, const hvi_mdp *m, const double *z);
void hvi_mdp_transit_t(double *y, const hvi_mdp *m, const double *x);

/* The last step of hvi_mdp_finish: all that is found. */
hvi_status hvi_mdp_solve(hvi_mdp *m, hvi_error *err);

/* |Phi x - Phi y|^2_Xi, without going over the states */
double hvi_mdp_distance2(const hvi_mdp *m, const double *x, const double *y);
