#define _GNU_SOURCE /* secure_getenv */
#include "base/ranks.h"

#include "base/base.h"
#include "base/blas.h"
#include "base/module.h"

#include <gnu/libc-version.h>
#include <hvi/version.h>

#include <time.h>

enum { IDENTITY = 256, SPIN = 2000, REST_NANOSECONDS = 100000, LONGEST_REST = 5000000 };

size_t hvi_ranks_expected(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
  for (size_t i = 0; i < 3; i++) {
    const char *text = secure_getenv(names[i]);
    if (text) return (size_t)strtoul(text, NULL, 10);
  }
  return 0;
}

/* Longer and longer, so that a rest is a small part of the wait: long units are asked for seldom. */
void hvi_ranks_rest(size_t empty) {
  if (empty <= SPIN) return;
  const size_t grown = REST_NANOSECONDS / 128 * (128 + empty - SPIN);
  nanosleep(&(struct timespec){0, (long)(grown < LONGEST_REST ? grown : LONGEST_REST)}, NULL);
}

hvi_status hvi_ranks_wait(hvi_ranks *r, hvi_letter *letter, hvi_error *err) {
  bool found = false;
  for (size_t empty = 0; !found; empty++) {
    hvi_ranks_rest(empty);
    HVI_TRY(r->mpi->receive(letter, &found, err));
  }
  return HVI_OK;
}

hvi_status hvi_ranks_share(hvi_ranks *r, void *bytes, size_t size, hvi_error *err) {
  hvi_letter l = {.bytes = bytes, .size = size};
  for (l.rank = 1; r->rank == 0 && l.rank < r->count; l.rank++) HVI_TRY(r->mpi->send(&l, err));
  if (r->rank == 0) return HVI_OK;
  HVI_TRY(hvi_ranks_wait(r, &l, err));
  if (l.size == size) memcpy(bytes, l.bytes, size);
  hvi_free(l.bytes);
  return l.size == size ? HVI_OK : hvi_error_io(err, "the first rank is at something else");
}

/* The bits of the C library's functions, which choose their own instructions. */
static uint64_t hash_functions(void) {
  uint64_t hash = HVI_HASH_START;
  for (int i = 1; i <= 256; i++) {
    const double x = 0.0173 * i;
    const double y[] = {
        sin(x), cos(x), exp(x), log(x), tanh(x), pow(x, 1.7), (double)expf((float)x)};
    hash = hvi_hash_bytes(hash, y, sizeof y);
  }
  return hash;
}

/* Those that differ from the first rank, one behind the other, in `list`. */
static hvi_status compare(hvi_ranks *r, const char *own, char *list, size_t room, hvi_error *err) {
  for (size_t k = 1; k < r->count; k++) {
    hvi_letter l;
    HVI_TRY(hvi_ranks_wait(r, &l, err));
    HVI_OWN char *text = l.bytes;
    if (l.size != IDENTITY || memcmp(text, own, IDENTITY) != 0)
      hvi_append(list, room, "; rank %zu: %.*s", l.rank, (int)l.size, text);
  }
  return HVI_OK;
}

static hvi_status check_alike(hvi_ranks *r, const char *command, hvi_error *err) {
  char own[IDENTITY] = "", list[320] = "", level[32];
  hvi_blas_level(level, sizeof level);
  snprintf(own, IDENTITY, "hvi %s; level %s; libm %s %08" PRIx64 "; command %08" PRIx64,
           hvi_version(), level, gnu_get_libc_version(), hash_functions() >> 32,
           hvi_hash_bytes(HVI_HASH_START, command, strlen(command)) >> 32);
  HVI_TRY(r->rank ? r->mpi->send(&(hvi_letter){.bytes = own, .size = IDENTITY}, err)
                  : compare(r, own, list, sizeof list, err));
  HVI_TRY(hvi_ranks_share(r, list, sizeof list, err));
  if (*list)
    return hvi_error_input(err, "ranks would compute other bits: rank 0: %.150s%s", own, list);
  r->joined = true;
  return HVI_OK;
}

hvi_status hvi_ranks_open(hvi_ranks **ranks, const char *command, hvi_error *err) {
  const hvi_module *module;
  const size_t expected = hvi_ranks_expected();
  HVI_TRY(hvi_module_open(&module, "mpi", err));
  hvi_ranks *r = hvi_alloc(1, sizeof *r);
  if (!r) return hvi_error_memory(err, "ranks");
  r->mpi = module->functions;
  pthread_mutex_init(&r->lock, NULL);
  *ranks = r;
  HVI_TRY(r->mpi->open(&r->rank, &r->count, err));
  if (r->count != expected)
    return hvi_error_unsupported(
        err, "%s has %zu ranks, and its launcher started %zu: another MPI than that of '%s'",
        module->needs, r->count, expected, hvi_module_path(module));
  return check_alike(r, command, err);
}

hvi_status hvi_ranks_close(hvi_ranks *r, const hvi_error *own, hvi_error *err) {
  hvi_letter l = {.bytes = (char *)own->text, .size = strlen(own->text)};
  l.head.ends = HVI_LETTER_BYE;
  l.head.unit = UINT64_MAX;
  l.head.status = (uint64_t)own->status;
  if (r->rank) HVI_TRY(r->mpi->send(&l, err));
  for (; r->rank == 0 && r->gone + 1 < r->count; r->gone++) {
    HVI_TRY(hvi_ranks_wait(r, &l, err));
    HVI_OWN char *text = l.bytes;
    if (l.head.status)
      return hvi_error_set(err, (hvi_status)l.head.status, "rank %zu: %.*s", l.rank, (int)l.size,
                           text);
  }
  r->mpi->close();
  return HVI_OK;
}
