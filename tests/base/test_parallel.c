#include "base/parallel.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { CHUNKS = 500, THREADS = 7 };

static bool refuse;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  return !refuse;
}

typedef struct record {
  size_t done[CHUNKS];       /* how often each chunk ran */
  size_t per_worker[CHUNKS]; /* plain counters: a shared worker number would be a data race */
  size_t workers;
} record;

static hvi_status mark(void *context, size_t chunk, size_t worker, hvi_error *err) {
  record *r = context;
  (void)err;
  r->done[chunk]++;
  if (worker >= r->workers) return HVI_ERROR_ARGUMENT;
  r->per_worker[worker]++;
  return HVI_OK;
}

static void check_all_done_once(size_t count, size_t threads) {
  record r = {.workers = threads ? threads : hvi_parallel_cores()};
  assert_int_equal(hvi_parallel_run(count, threads, mark, &r, NULL), HVI_OK);
  size_t total = 0;
  for (size_t i = 0; i < count; i++) assert_int_equal(r.done[i], 1);
  for (size_t i = 0; i < r.workers; i++) total += r.per_worker[i];
  assert_int_equal(total, count);
}

static void every_chunk_runs_once(void **state) {
  (void)state;
  for (size_t threads = 0; threads <= THREADS; threads++) {
    check_all_done_once(CHUNKS, threads);
    check_all_done_once(1, threads);
    check_all_done_once(0, threads);
  }
  check_all_done_once(3, 400);
}

static hvi_status fail_some(void *context, size_t chunk, size_t worker, hvi_error *err) {
  const size_t *lowest = context;
  (void)worker;
  /* a low chunk that fails must win over a high one that fails sooner */
  double end = hvi_clock_now() + (chunk == *lowest ? 2e-3 : 0.0);
  while (hvi_clock_now() < end) continue;
  if (chunk < *lowest) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT, "chunk %zu", chunk);
}

static void the_lowest_failure_is_reported(void **state) {
  (void)state;
  for (size_t threads = 1; threads <= THREADS; threads++) {
    for (size_t lowest = 0; lowest < 60; lowest += 19) {
      hvi_error err = {0}, expected;
      hvi_error_set(&expected, HVI_ERROR_INPUT, "chunk %zu", lowest);
      assert_int_equal(hvi_parallel_run(CHUNKS, threads, fail_some, &lowest, &err),
                       HVI_ERROR_INPUT);
      assert_string_equal(err.text, expected.text);
    }
  }
}

static hvi_status fail_at_once(void *context, size_t chunk, size_t worker, hvi_error *err) {
  (void)chunk, (void)worker, (void)err;
  atomic_fetch_add((atomic_size_t *)context, 1);
  return HVI_ERROR_IO;
}

static void a_failure_stops_the_work(void **state) {
  (void)state;
  hvi_error err = {0};
  atomic_size_t runs = 0;
  assert_int_equal(hvi_parallel_run(CHUNKS, THREADS, fail_at_once, &runs, &err), HVI_ERROR_IO);
  assert_true(atomic_load(&runs) <= THREADS);
  assert_string_equal(err.text, hvi_status_text(HVI_ERROR_IO));
}

static void without_memory_the_caller_works_alone(void **state) {
  (void)state;
  refuse = true;
  record r = {.workers = 1};
  hvi_status status = hvi_parallel_run(CHUNKS, THREADS, mark, &r, NULL);
  refuse = false;
  assert_int_equal(status, HVI_OK);
  assert_int_equal(r.per_worker[0], CHUNKS);
}

/* An address space that has no room for another stack makes pthread_create fail. Sanitizers need
 * that room for themselves. */
static void without_threads_the_caller_works_alone(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip();
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  skip();
#endif
#endif
  struct rlimit old;
  assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
  struct rlimit tight = {.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
  record r = {.workers = 20};
  assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
  void *volatile stack = malloc(8 << 20);
  hvi_status status = hvi_parallel_run(CHUNKS, 20, mark, &r, NULL);
  setrlimit(RLIMIT_AS, &old);
  assert_int_equal(status, HVI_OK);
  for (size_t i = 0; i < CHUNKS; i++) assert_int_equal(r.done[i], 1);
  if (stack) { /* qemu does not hand the limit on, and there were threads */
    free(stack);
    skip();
  }
}

static void threads_have_a_bound(void **state) {
  (void)state;
  const size_t cores = hvi_parallel_cores();
  assert_int_equal(hvi_parallel_threads(0), cores);
  assert_int_equal(hvi_parallel_threads(1), 1);
  assert_int_equal(hvi_parallel_threads(16), 16);
  assert_int_equal(hvi_parallel_threads(100000), 4 * cores > 16 ? 4 * cores : 16);
}

static void there_is_a_core_and_a_clock(void **state) {
  (void)state;
  assert_true(hvi_parallel_cores() >= 1);
  double first = hvi_clock_now();
  assert_true(first > 0.0);
  assert_true(hvi_clock_now() >= first);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_chunk_runs_once),
      cmocka_unit_test(the_lowest_failure_is_reported),
      cmocka_unit_test(a_failure_stops_the_work),
      cmocka_unit_test(without_memory_the_caller_works_alone),
      cmocka_unit_test(without_threads_the_caller_works_alone),
      cmocka_unit_test(threads_have_a_bound),
      cmocka_unit_test(there_is_a_core_and_a_clock),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
