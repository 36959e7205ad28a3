/* How many units a second the first rank hands out and takes back: units of SIZE bytes that cost
 * nothing, all run by other ranks. mpirun -n 2 build/tests/handout_rate 100000 64 */
#include "base/base.h"
#include "base/clock.h"
#include "base/ranks.h"
#include "base/work.h"

typedef struct state {
  size_t next, count, size, accepted;
} state;

/* The threads of the first rank, of which there is one, get nothing while others can. */
static size_t next_unit(void *context, size_t worker) {
  state *s = context;
  return worker == 0 || s->next == s->count ? HVI_WORK_NONE : s->next++;
}

static hvi_status run_unit(void *context, size_t unit, size_t worker, hvi_bytes *bytes,
                           hvi_error *err) {
  (void)unit, (void)worker;
  bytes->size = ((state *)context)->size;
  bytes->data = hvi_alloc(bytes->size, 1);
  return bytes->data ? HVI_OK : hvi_error_memory(err, "a unit");
}

static hvi_status accept(void *context, size_t unit, const hvi_bytes *bytes, hvi_error *err) {
  (void)unit, (void)bytes, (void)err;
  ((state *)context)->accepted++;
  return HVI_OK;
}

static bool go_on(void *context) {
  const state *s = context;
  (void)s;
  return true;
}

int main(int argc, char **argv) {
  state s = {.count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000,
             .size = argc > 2 ? strtoul(argv[2], NULL, 10) : 64};
  hvi_ranks *ranks = NULL;
  hvi_error err = {HVI_OK, ""};
  bool stopped = false;
  if (hvi_ranks_open(&ranks, "handout", &err)) return fprintf(stderr, "%s\n", err.text), 1;
  const hvi_work work = {&s, s.count, next_unit, run_unit, accept, go_on};
  const double start = hvi_clock_now(), cpu = hvi_clock_work(1);
  if (hvi_work_run(&work, 1, ranks, &stopped, &err)) return fprintf(stderr, "%s\n", err.text), 1;
  if (ranks->rank == 0)
    printf("%zu units of %zu bytes in %.3f s: %.0f a second (%.3f s of CPU)\n", s.accepted, s.size,
           hvi_clock_now() - start, (double)s.accepted / (hvi_clock_now() - start),
           hvi_clock_work(1) - cpu);
  return hvi_ranks_close(ranks, &(hvi_error){HVI_OK, ""}, &err) ? 1 : 0;
}
