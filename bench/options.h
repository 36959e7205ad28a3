/* How a benchmark runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_options {
  size_t repeats;   /* of each measurement; the fastest counts */
  size_t outer;     /* games: outer steps of one trajectory */
  size_t instances; /* games: of an ensemble */
  size_t states;    /* bellman: of the processes */
  /* Called before each measurement; false stops. */
  bool (*progress)(void *context, size_t done, size_t total);
  void *context;
} bench_options;
