#define _GNU_SOURCE /* secure_getenv */
#include "base/ranks.h"

#include "base/base.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/module.h"

#include <cblas.h>
#include <gnu/libc-version.h>
#include <hvi/version.h>

#include <inttypes.h>
#include <time.h>

enum { IDENTITY = 256, SPIN = 64, REST_NANOSECONDS = 100000 };

size_t hvi_ranks_expected(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
  for (size_t i = 0; i < 3; i++) {
    const char *text = secure_getenv(names[i]);
    if (text) return (size_t)strtoul(text, NULL, 10);
  }
  return 0;
}

void hvi_ranks_rest(size_t empty) {
  const struct timespec rest = {0, REST_NANOSECONDS};
  if (empty > SPIN) nanosleep(&rest, NULL);
}

hvi_status hvi_ranks_send(hvi_ranks *r, size_t to, const hvi_ranks_message *m, const void *bytes,
                          size_t size, hvi_error *err) {
  HVI_OWN unsigned char *all = hvi_alloc(sizeof *m + size, 1);
  if (!all) return hvi_error_memory(err, "a message to another rank");
  memcpy(all, m, sizeof *m);
  if (size) memcpy(all + sizeof *m, bytes, size);
  return r->mpi->send(to, all, sizeof *m + size, err);
}

hvi_status hvi_ranks_poll(hvi_ranks *r, bool *found, size_t *from, hvi_ranks_message *m,
                          void **bytes, size_t *size, hvi_error *err) {
  size_t length;
  *found = r->mpi->probe(from, &length);
  if (!*found) return HVI_OK;
  HVI_OWN unsigned char *all = hvi_alloc(length + 1, 1);
  if (!all) return hvi_error_memory(err, "a message of another rank");
  HVI_TRY(r->mpi->receive(*from, all, length, err));
  if (length < sizeof *m) return hvi_error_io(err, "a message of rank %zu is cut short", *from);
  memcpy(m, all, sizeof *m);
  *size = length - sizeof *m;
  memmove(all, all + sizeof *m, *size + 1);
  *bytes = all;
  all = NULL;
  return HVI_OK;
}

/* Waits for a message. */
static hvi_status wait_for(hvi_ranks *r, size_t *from, hvi_ranks_message *m, void **bytes,
                           size_t *size, hvi_error *err) {
  bool found = false;
  for (size_t empty = 0; !found; empty++) {
    if (empty) hvi_ranks_rest(empty);
    HVI_TRY(hvi_ranks_poll(r, &found, from, m, bytes, size, err));
  }
  return HVI_OK;
}

hvi_status hvi_ranks_share(hvi_ranks *r, void *bytes, size_t size, hvi_error *err) {
  hvi_ranks_message m = {0};
  for (size_t k = 1; k < r->count && r->rank == 0; k++)
    HVI_TRY(hvi_ranks_send(r, k, &m, bytes, size, err));
  if (r->rank == 0) return HVI_OK;
  HVI_OWN void *data = NULL;
  size_t from, got;
  HVI_TRY(wait_for(r, &from, &m, &data, &got, err));
  if (got != size) return hvi_error_io(err, "the first rank is at something else");
  memcpy(bytes, data, size);
  return HVI_OK;
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

static void identify(char text[IDENTITY], const char *command) {
  memset(text, 0, IDENTITY);
  snprintf(text, IDENTITY, "hvi %s; level %s; libm %s %08" PRIx64 "; BLAS %s; command %08" PRIx64,
           hvi_version(), hvi_cpu_level_name(hvi_cpu_level()), gnu_get_libc_version(),
           hash_functions() >> 32, openblas_get_corename(),
           hvi_hash_bytes(HVI_HASH_START, command, strlen(command)) >> 32);
}

/* Those that differ from the first rank, one behind the other, in `list`. */
static hvi_status compare(hvi_ranks *r, const char *own, char *list, size_t room, hvi_error *err) {
  for (size_t k = 1; k < r->count; k++) {
    HVI_OWN void *text = NULL;
    hvi_ranks_message m;
    size_t from, size;
    HVI_TRY(wait_for(r, &from, &m, &text, &size, err));
    if (size == IDENTITY && memcmp(text, own, IDENTITY) == 0) continue;
    const size_t used = strlen(list);
    snprintf(list + used, room - used, "; rank %zu: %.*s", from, IDENTITY, (char *)text);
  }
  return HVI_OK;
}

static hvi_status check_alike(hvi_ranks *r, const char *command, hvi_error *err) {
  char own[IDENTITY], list[320] = "";
  identify(own, command);
  if (r->rank > 0)
    HVI_TRY(hvi_ranks_send(r, 0, &(hvi_ranks_message){0}, own, IDENTITY, err));
  else
    HVI_TRY(compare(r, own, list, sizeof list, err));
  HVI_TRY(hvi_ranks_share(r, list, sizeof list, err));
  if (!*list) return HVI_OK;
  return hvi_error_input(err, "ranks would compute other bits: rank 0: %.150s%s", own, list);
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
  r->waiting = hvi_alloc(r->count, sizeof *r->waiting);
  if (!r->waiting) return hvi_error_memory(err, "ranks");
  return check_alike(r, command, err);
}

hvi_status hvi_ranks_part(hvi_ranks *r, size_t from, const hvi_ranks_message *m, const char *text,
                          hvi_error *err) {
  r->gone++;
  if (!m->status) return HVI_OK;
  return hvi_error_set(err, (hvi_status)m->status, "rank %zu: %s", from, text);
}

/* Who still asks is told that nothing is left. */
static hvi_status see_off(hvi_ranks *r, hvi_error *err) {
  for (size_t k = 1; k < r->count; k++)
    if (r->waiting[k])
      HVI_TRY(hvi_ranks_send(r, k, &(hvi_ranks_message){.unit = UINT64_MAX}, NULL, 0, err));
  while (r->gone < r->count - 1) {
    HVI_OWN void *text = NULL;
    hvi_ranks_message m;
    size_t from, size;
    HVI_TRY(wait_for(r, &from, &m, &text, &size, err));
    m.unit = UINT64_MAX;
    HVI_TRY(m.round == HVI_RANKS_BYE ? hvi_ranks_part(r, from, &m, text, err)
                                     : hvi_ranks_send(r, from, &m, NULL, 0, err));
  }
  return HVI_OK;
}

hvi_status hvi_ranks_close(hvi_ranks *r, const hvi_error *own, hvi_error *err) {
  const hvi_ranks_message m = {.round = HVI_RANKS_BYE, .status = (uint64_t)own->status};
  HVI_TRY(r->rank == 0 ? see_off(r, err)
                       : hvi_ranks_send(r, 0, &m, own->text, strlen(own->text), err));
  r->mpi->close();
  return HVI_OK;
}
