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

/* What the module has. One thread of a process at a time. */
typedef struct hvi_ranks_functions {
  hvi_status (*open)(size_t *rank, size_t *count, hvi_error *err);
  hvi_status (*send)(size_t to, const void *bytes, size_t size, hvi_error *err);
  bool (*probe)(size_t *from, size_t *size); /* whether there is a message */
  hvi_status (*receive)(size_t from, void *bytes, size_t size, hvi_error *err);
  void (*close)(void); /* when all do */
} hvi_ranks_functions;

typedef struct hvi_ranks {
  const hvi_ranks_functions *mpi;
  size_t rank, count;
  uint64_t round;    /* of work that all take part in */
  size_t gone;       /* ranks that have ended */
  uint64_t *waiting; /* [count] a later round that a rank has asked for already */
  pthread_mutex_t lock;
} hvi_ranks;

/* How many processes the launcher says there are; 0: no launcher of MPI has started this one. */
size_t hvi_ranks_expected(void);
/* Joins the others. `command` must be the same on all. */
hvi_status hvi_ranks_open(hvi_ranks **ranks, const char *command, hvi_error *err);
/* What the first rank has becomes what all have. */
hvi_status hvi_ranks_share(hvi_ranks *r, void *bytes, size_t size, hvi_error *err);
/* Ends orderly: the first rank waits for the others, which tell how they ended. The error is theirs. */
hvi_status hvi_ranks_close(hvi_ranks *r, const hvi_error *own, hvi_error *err);
/* Whether another rank than the first. */
static inline bool hvi_ranks_follows(const hvi_ranks *r) { return r && r->rank > 0; }

/* What work.c says to other ranks, before bytes of the unit or the text of an error. */
typedef struct hvi_ranks_message {
  uint64_t round, unit, status, stopped;
} hvi_ranks_message;
enum { HVI_RANKS_BYE = 0 }; /* the round of a rank that ends */
hvi_status hvi_ranks_send(hvi_ranks *r, size_t to, const hvi_ranks_message *m, const void *bytes,
                          size_t size, hvi_error *err);
/* The message that comes next, where there is one: *found. hvi_free the bytes, which end in a NUL. */
hvi_status hvi_ranks_poll(hvi_ranks *r, bool *found, size_t *from, hvi_ranks_message *m,
                          void **bytes, size_t *size, hvi_error *err);
/* A rank has said that it ends; an error when it failed. */
hvi_status hvi_ranks_part(hvi_ranks *r, size_t from, const hvi_ranks_message *m, const char *text,
                          hvi_error *err);
/* A breath between two polls; `empty` is how many have found nothing, one after the other. */
void hvi_ranks_rest(size_t empty);
