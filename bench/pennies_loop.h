/*
 * Hidden matching pennies by hand: what one would write for exactly this game and nothing else. It
 * is the limit that `hvi bench games` measures the general loop against.
 */
#pragma once

#include <stddef.h>

typedef enum pennies_method { PENNIES_GD, PENNIES_GN, PENNIES_LM } pennies_method;

typedef struct pennies_run {
  pennies_method method;
  size_t inner, outer;
  double eta, rate, damping; /* rate: of gd and gn */
} pennies_run;

/* What a step leaves behind, as the general loop's record does. */
typedef struct pennies_row {
  double dist2, loss, residual;
} pennies_row;

/* Runs from (1.25, 2.25), fills rows[outer] and returns the final |z - z*|^2. */
double pennies_loop(const pennies_run *run, pennies_row *rows);
