/*
 * The resolvent of F on Z: what a proximal target is.
 *
 *   v in Z   with   <v - z + eta Xi^-1 F(v), y - v>_Xi >= 0   for all y in Z
 *
 * It solves a strongly monotone inequality in the outputs alone, where F is known and Z is simple: no
 * model is in it. For small eta it is the projection of the plain target z - eta F(z), for large eta
 * it comes near a solution. The step to it contracts by 1 / (1 + eta mu) for every eta, and does not
 * expand where F is only monotone.
 */
#pragma once

#include "base/memory.h"

#include <hvi/problem.h>

/* Evaluations of F that an approached resolvent may take. */
enum { HVI_RESOLVENT_EVALS = 400 };

typedef struct hvi_resolvent {
  const hvi_problem *problem;
  bool exact;       /* solved with A and b, or approached by evaluations of F */
  double *A, *b;    /* [n][n], [n]: F(z) = A z + b, or F linearised */
  double lipschitz; /* a bound on that of Xi^-1 F */
  double *G;        /* [n][n] */
  double *work;     /* [9][n] */
  size_t evals;     /* that the last one took, where it was approached */
} hvi_resolvent;

/* Whether there is one: F without samples, and weights above zero. */
bool hvi_resolvent_fits(const hvi_problem *p);
/* Whether it is solved exactly, with few outputs, or approached. */
bool hvi_resolvent_is_exact(const hvi_problem *p);
/* Takes its arrays from the arena, or counts them. */
void hvi_resolvent_place(hvi_resolvent *r, const hvi_problem *p, hvi_arena *arena);

/* A and b by hvi_problem_linearise, f being F(z). Returns how many evaluations of F that took. */
size_t hvi_resolvent_linearise(hvi_resolvent *r, const double *theta, const double *z,
                               const double *f);

/* v[n]. Returns the eta that v is the resolvent of: the one asked for, or less where F is not monotone
 * or digits do not suffice, and 0 when there is none. */
double hvi_resolvent_solve(hvi_resolvent *r, double *v, const double *z, double eta);

/* v[n] near the resolvent, f being F(z): its natural residual is a tenth of |v - z|. Returns how many
 * evaluations of F that took, HVI_RESOLVENT_EVALS where it did not get there. */
size_t hvi_resolvent_approach(const hvi_resolvent *r, double *v, const double *theta,
                              const double *z, const double *f, double eta);
