/*
 * The processes of an MPI job.
 *
 * libhvi links no MPI: the module `mpi` (src/mpi) is loaded where hvi was started by mpirun. All that
 * is needed of it are messages between the first rank and the others. Whoever waits sleeps in
 * between, so that its core is free for others.
 *
 * Ranks whose results could differ in a bit are refused at the start: another version, level of
 * instructions, C library or BLAS kernel, or another command.
 */
#pragma once

#include <hvi/error.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message: what work.c says to other ranks, and the bytes of a unit or the text of an error. */
typedef struct hvi_letter {
  size_t rank; /* that it comes from, or goes to */
  struct {
    uint64_t unit, status; /* the unit that this is of, or that is to be run */
    uint64_t ends;         /* the sender has nothing left to do of this work, or at all */
    uint64_t stopped;      /* the user wants to stop */
  } head;
  char *bytes; /* hvi_free it, if it came; it ends in a NUL */
  size_t size;
} hvi_letter;

enum { HVI_LETTER_DONE = 1, HVI_LETTER_BYE };

/* What the module has. One thread of a process at a time. */
typedef struct hvi_ranks_functions {
  hvi_status (*open)(size_t *rank, size_t *count, hvi_error *err);
  hvi_status (*send)(const hvi_letter *letter, hvi_error *err);
  /* *found: whether there was one. */
  hvi_status (*receive)(hvi_letter *letter, bool *found, hvi_error *err);
  void (*close)(void); /* when all do */
} hvi_ranks_functions;

typedef struct hvi_ranks {
  const hvi_ranks_functions *mpi;
  size_t rank, count;
  size_t gone; /* others that have said good-bye */
  bool joined; /* they are alike */
  pthread_mutex_t lock;
} hvi_ranks;

/* How many processes the launcher says there are; 0: no launcher of MPI has started this one. */
size_t hvi_ranks_expected(void);
/* Joins the others. `command` must be the same on all. */
hvi_status hvi_ranks_open(hvi_ranks **ranks, const char *command, hvi_error *err);
/* What the first rank has becomes what all have. */
hvi_status hvi_ranks_share(hvi_ranks *r, void *bytes, size_t size, hvi_error *err);
/* Ends orderly: the others tell the first rank how they ended, and a failure becomes its error. */
hvi_status hvi_ranks_close(hvi_ranks *r, const hvi_error *own, hvi_error *err);
/* Whether another rank than the first. */
static inline bool hvi_ranks_follows(const hvi_ranks *r) { return r && r->rank > 0; }
hvi_status hvi_ranks_wait(hvi_ranks *r, hvi_letter *letter, hvi_error *err);
/* A breath between two looks; `empty` is how many have found nothing, one after the other. */
void hvi_ranks_rest(size_t empty);
