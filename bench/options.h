/* How a benchmark runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_options {
  size_t repeats;     /* of each measurement; the fastest counts */
  size_t outer;       /* games: outer steps of one trajectory */
  size_t instances;   /* games: of an ensemble */
  size_t states;      /* bellman: of the processes */
  size_t games;       /* solve: of each kind */
  const char *method; /* solve: this one alone; NULL: auto and fixed */
  size_t named;       /* solve: of all of them, those that every named method gets */
  bool large;         /* solve: games of hundreds to thousands of outputs */
  uint64_t seed;      /* solve: of the first game */
  const char *out;    /* solve: folder of the performance profile; NULL: none */
  bool force;         /* solve: also in the place of a picture that hvi did not draw */
  /* Called before each measurement; false stops. */
  bool (*progress)(void *context, size_t done, size_t total);
  void *context;
} bench_options;
