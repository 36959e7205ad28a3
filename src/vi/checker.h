/* A check under way: the points it stands at, and what it has found. */
#pragma once

#include <hvi/check.h>

/* Doubles beyond the end of every array that a problem's functions write to, and what they hold. */
enum { HVI_GUARD = 8, HVI_GUARD_VALUE = -12345 };
/* Step sizes of differences. */
enum { HVI_LADDER = 10 };

typedef struct hvi_checker {
  const hvi_problem *p;
  const hvi_check_settings *s;
  hvi_check *report;
  hvi_rng rng;
  size_t point; /* which of the points, from 1 */
  double noise; /* of the model's products, that of doubles at least */
  /* [d] */
  double *theta, *v, *other, *back, *back_again;
  /* [n] */
  double *u, *z, *z_again, *forth, *forth_again, *f, *f_again, *work;
  double *cache, *used; /* [cache] zeros at first, and one that has been elsewhere before */
  double *slopes;       /* [2][HVI_LADDER][n] */
} hvi_checker;

/* Judges a number, of which the worst is kept with its line. */
void hvi_check_judge(hvi_checker *c, hvi_check_test test, double value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Every test of the model at the point, and of its matrices. */
void hvi_check_model(hvi_checker *c);
hvi_status hvi_check_matrices(hvi_checker *c, hvi_error *err);
