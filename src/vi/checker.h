/* A check under way: the point it stands at, and what it has found. */
#pragma once

#include <hvi/check.h>

/* Doubles beyond the end of every array that a problem's functions write to, and what they hold; step
 * sizes of differences. */
enum { HVI_GUARD = 8, HVI_GUARD_VALUE = -12345, HVI_LADDER = 10 };

typedef struct hvi_checker {
  const hvi_problem *p;
  const hvi_model *m; /* the problem's */
  size_t n, d, rank;  /* outputs, parameters, directions of Z */
  const hvi_check_settings *s;
  hvi_check *report;
  hvi_rng rng;
  size_t point;                   /* which of the points, from 1 */
  double noise;                   /* of the model's products, that of doubles at least */
  double *theta, *v, *other;      /* [d] */
  double *u, *f, *f_again, *work; /* [n] */
  double *z, *forth, *back;       /* [n], [n], [d] what eval, jvp and vjp gave, */
  double *z_again, *forth_again, *back_again; /* and gave again */
  double *cache, *used; /* [cache] zeros at first, and one that has been elsewhere before */
  double *slopes;       /* [2][HVI_LADDER][n] */
  double *A, *b;        /* [n][n], [n]: F(z) = A z + b, or F linearised; NULL: too large */
  double *B;            /* [n][rank] the directions of Z; NULL: too large */
  void *sample;         /* two of them */
} hvi_checker;

/* Judges a number, of which the worst is kept with its line. One that is not a number is the worst. */
void hvi_check_judge(hvi_checker *c, hvi_check_test test, double value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether what stands behind an array is still there. */
bool hvi_check_untouched(const double *guard);
/* Judges x[n], over which there was NaN before: `by` is to have written all of it and nothing behind. */
void hvi_check_written(hvi_checker *c, hvi_check_test test, const char *what, const char *by,
                       const double *x, size_t n);
/* The largest |x|; the largest |x - y| and where it is, NaN where one is not a number. */
double hvi_check_size(const double *x, size_t n);
double hvi_check_gap(const double *x, const double *y, size_t n, size_t *at);

/* Every test of the model at the point, and of its matrices. */
void hvi_check_model(hvi_checker *c);
hvi_status hvi_check_matrices(hvi_checker *c, hvi_error *err);
