/* Streams that cells share, and threads that make them ahead of their readers. */
#include "support/check.h"
#include "support/starve.h"

#include "base/parallel.h"
#include "study/stream.h"

#include <sched.h>

enum { SEEDS = 3, READERS = 9, BATCH = 70, BATCHES = 40, MOST_AHEAD = 16 };

static hvi_task task;

static int open_task(void **state) {
  (void)state;
  return hvi_task_open(&task, "lqr", "default", NULL, NULL) != HVI_OK;
}

static int close_task(void **state) {
  (void)state;
  hvi_task_close(&task);
  return 0;
}

/* Row by row what a collector of one's own makes. */
static void check_rows(const hvi_dataset *data, uint64_t seed) {
  hvi_collector *c = NULL;
  assert_int_equal(
      hvi_collector_new(&c, task.env, task.policy, seed, 1, 4 * (size_t)BATCH * BATCHES, NULL),
      HVI_OK);
  assert_int_equal(hvi_collector_need(c, data->count, NULL), HVI_OK);
  const hvi_dataset *own = hvi_collector_data(c);
  assert_int_equal(data->obs, own->obs);
  assert_memory_equal(data->observation, own->observation,
                      data->count * data->obs * sizeof *own->observation);
  assert_memory_equal(data->next, own->next, data->count * data->obs * sizeof *own->next);
  assert_memory_equal(data->reward, own->reward, data->count * sizeof *own->reward);
  hvi_collector_free(c);
}

/* A reader goes through its stream, and sums what it has been given at once. */
typedef struct walk {
  hvi_stream_reader reader;
  double seconds[BATCHES + 1];
  double sum;
} walk;

static hvi_status go_through(void *context, size_t i, size_t worker, hvi_error *err) {
  walk *w = (walk *)context + i;
  hvi_stream_reader *r = &w->reader;
  (void)worker;
  for (size_t k = 1; k <= BATCHES; k++) {
    const size_t before = r->data.count;
    const hvi_status status = hvi_stream_reader_grow(r, k * BATCH, &w->seconds[k], err);
    if (status) return status;
    for (size_t row = before; row < r->data.count; row++) w->sum += r->data.reward[row];
    if (i % 2) sched_yield();
  }
  return HVI_OK;
}

static void read_all(size_t threads) {
  hvi_streams all;
  hvi_error err;
  walk *walks = hvi_alloc(READERS, sizeof *walks);
  check_ok(hvi_streams_open(&all, SEEDS, threads, NULL, &err), &err);
  for (size_t i = 0; i < READERS; i++)
    check_ok(hvi_stream_reader_open(&walks[i].reader, &all.streams[i % SEEDS], &task, i % SEEDS + 1,
                                    BATCH, (size_t)BATCH * BATCHES, &err),
             &err);
  check_ok(hvi_parallel_run(READERS, READERS, go_through, walks, &err), &err);
  assert_int_equal(all.readers, READERS);
  for (size_t i = 0; i < READERS; i++) {
    assert_int_equal(walks[i].reader.data.count, BATCH * BATCHES);
    check_rows(&walks[i].reader.data, i % SEEDS + 1);
    /* all are charged the same */
    check_same_bits(walks[i].seconds, walks[i % SEEDS].seconds, BATCHES + 1);
    check_same_bits(&walks[i].sum, &walks[i % SEEDS].sum, 1);
    for (size_t k = 1; k <= BATCHES; k++)
      assert_true(walks[i].seconds[k] >= walks[i].seconds[k - 1]);
  }
  hvi_streams_close(&all);
  hvi_free(walks);
}

static void rows_are_those_of_a_collector(void **state) {
  (void)state;
  for (size_t threads = 0; threads < 4; threads++) read_all(threads);
}

static size_t made(hvi_streams *all, const hvi_shared_stream *s) {
  pthread_mutex_lock(&all->lock);
  const size_t there = s->taken ? 0 : s->priced;
  pthread_mutex_unlock(&all->lock);
  return there;
}

/* Threads come so far by themselves, and no further; then as far as there is room. */
static void threads_run_ahead_so_far(void **state) {
  (void)state;
  hvi_streams all;
  hvi_error err;
  hvi_stream_reader r;
  double seconds;
  check_ok(hvi_streams_open(&all, 2, 2, NULL, &err), &err);
  hvi_shared_stream *s = &all.streams[1];
  check_ok(hvi_stream_reader_open(&r, s, &task, 1, BATCH, (size_t)BATCH * BATCHES, &err), &err);
  for (size_t k = 1; k <= BATCHES; k++) {
    check_ok(hvi_stream_reader_grow(&r, k * BATCH, &seconds, &err), &err);
    const size_t most = k + MOST_AHEAD < BATCHES ? k + MOST_AHEAD : BATCHES;
    while (made(&all, s) < most) sched_yield();
    for (size_t i = 0; i < 100; i++, sched_yield()) assert_true(made(&all, s) <= most);
  }
  check_error(hvi_stream_reader_grow(&r, BATCH * BATCHES + 1, &seconds, &err), HVI_ERROR_ARGUMENT,
              &err, "rows of a stream of");
  assert_null(all.streams[0].collector);
  /* others may come after its readers, and need not agree about its length */
  hvi_shared_stream_close(s);
  check_ok(hvi_stream_reader_open(&r, s, &task, 2, BATCH, (size_t)BATCH * BATCHES, &err), &err);
  check_ok(hvi_stream_reader_grow(&r, 3 * BATCH, &seconds, &err), &err);
  check_rows(&r.data, 2);
  hvi_streams_close(&all); /* while threads are at work */
}

/* Reads a stream of its own part; the steps that its collector has simulated so far. */
static size_t read_as_part(hvi_stream_cache *cache, uint64_t seed, size_t batches, double *price) {
  hvi_streams all;
  hvi_error err;
  hvi_stream_reader r;
  check_ok(hvi_streams_open(&all, 1, 0, cache, &err), &err);
  check_ok(hvi_stream_reader_open(&r, all.streams, &task, seed, BATCH, BATCH * batches, &err),
           &err);
  check_ok(hvi_stream_reader_grow(&r, BATCH * batches, price, &err), &err);
  assert_int_equal(r.data.count, BATCH * batches);
  check_rows(&r.data, seed);
  const hvi_collector *c = all.streams->collector;
  const size_t steps = hvi_collector_spent(c).steps;
  hvi_streams_close(&all);
  return steps;
}

/* A later part finds what an earlier one made, and pays the same for it: a price is a measured time, so
 * that of a stream that was made anew would be another. */
static void later_parts_find_streams(void **state) {
  (void)state;
  double first, again, other;
  hvi_stream_cache *cache = hvi_stream_cache_new();
  assert_non_null(cache);
  const size_t steps = read_as_part(cache, 1, BATCHES, &first);
  assert_int_equal(read_as_part(cache, 1, BATCHES, &again), steps);
  check_same_bits(&first, &again, 1);
  assert_int_equal(read_as_part(cache, 1, BATCHES / 2, &again), steps);
  assert_true(again <= first);
  /* another seed, and one that must be longer, are made anew */
  read_as_part(cache, 2, BATCHES, &other);
  assert_true(read_as_part(cache, 1, 4 * BATCHES, &other) > steps);
  hvi_stream_cache_free(cache);
  hvi_stream_cache_free(NULL);
}

/* A reader that opens and closes a stream whose threads wait; then one that finds it. */
static hvi_status open_one(void *context, hvi_error *err) {
  hvi_stream_reader r;
  hvi_streams all = {0};
  (void)context;
  hvi_stream_cache *cache = hvi_stream_cache_new();
  hvi_status status = hvi_streams_open(&all, 2, 1, cache, err);
  for (int i = 0; i < 2 && !status; i++) {
    status = hvi_stream_reader_open(&r, &all.streams[1], &task, 1, BATCH, BATCH, err);
    if (!status) hvi_shared_stream_close(&all.streams[1]);
  }
  hvi_streams_close(&all);
  hvi_stream_cache_free(cache);
  return status;
}

static void memory_that_is_missing_is_told(void **state) {
  (void)state;
  assert_true(starve(open_one, NULL) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_those_of_a_collector),
      cmocka_unit_test(threads_run_ahead_so_far),
      cmocka_unit_test(later_parts_find_streams),
      cmocka_unit_test(memory_that_is_missing_is_told),
  };
  return cmocka_run_group_tests(tests, open_task, close_task);
}
