/* Handing out units: who gets which, what is accepted, which error counts. */
#include "base/base.h"
#include "base/work.h"
#include "study/units.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_dearest_first_by_group(void **state) {
  (void)state;
  hvi_unit list[] = {{1, 0, false}, {3, 1, false}, {2, 0, false}, {5, 1, true}, {2, 0, false}};
  hvi_units *u = NULL;
  assert_int_equal(hvi_units_new(&u, list, 5, 2, NULL), HVI_OK);
  assert_int_equal(hvi_units_waiting(u), 4);
  assert_int_equal(hvi_units_next(u, 0), 1); /* the dearest of all */
  assert_int_equal(hvi_units_next(u, 1), 2); /* nobody is on that group */
  assert_int_equal(hvi_units_next(u, 0), 4); /* helps */
  assert_true(hvi_units_done(u, 1));
  assert_int_equal(hvi_units_next(u, 1), 0); /* stays */
  assert_int_equal(hvi_units_next(u, 0), HVI_WORK_NONE);
  assert_false(hvi_units_done(u, 2));
  assert_false(hvi_units_done(u, 4));
  assert_true(hvi_units_done(u, 0));
  hvi_units_free(u);
}

enum { COUNT = 1000 };
typedef struct job {
  size_t next, fails, stops;
  unsigned char accepted[COUNT];
} job;

static size_t next_unit(void *context, size_t worker) {
  (void)worker;
  job *j = context;
  return j->next < COUNT ? j->next++ : HVI_WORK_NONE;
}

static hvi_status run_unit(void *context, size_t unit, size_t worker, hvi_bytes *bytes,
                           hvi_error *err) {
  (void)worker;
  const job *j = context;
  if (unit >= j->fails) return hvi_error_input(err, "unit %zu", unit);
  if (unit == j->stops) return HVI_OK;
  bytes->data = hvi_alloc(1, 1);
  bytes->size = bytes->data ? 1 : 0;
  return HVI_OK;
}

static hvi_status accept(void *context, size_t unit, const hvi_bytes *bytes, hvi_error *err) {
  (void)err;
  ((job *)context)->accepted[unit] += (unsigned char)bytes->size;
  return HVI_OK;
}

static void test_each_once(void **state) {
  (void)state;
  for (size_t threads = 1; threads < 5; threads++) {
    job j = {.fails = COUNT, .stops = COUNT};
    bool stopped = false;
    const hvi_work work = {&j, COUNT, next_unit, run_unit, accept, NULL};
    assert_int_equal(hvi_work_run(&work, threads, NULL, &stopped, NULL), HVI_OK);
    assert_false(stopped);
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(j.accepted[i], 1);
  }
}

static void test_lowest_error_and_stop(void **state) {
  (void)state;
  for (size_t threads = 1; threads < 5; threads++) {
    job fails = {.fails = 321, .stops = COUNT}, stops = {.fails = COUNT, .stops = 123};
    hvi_error err = {HVI_OK, ""};
    bool stopped = false;
    hvi_work work = {&fails, COUNT, next_unit, run_unit, accept, NULL};
    assert_int_equal(hvi_work_run(&work, threads, NULL, &stopped, &err), HVI_ERROR_INPUT);
    assert_string_equal(err.text, "unit 321");
    assert_false(stopped);
    work.context = &stops;
    assert_int_equal(hvi_work_run(&work, threads, NULL, &stopped, &err), HVI_OK);
    assert_true(stopped);
    assert_int_equal(stops.accepted[123], 0);
    for (size_t i = 0; i < 123; i++) assert_int_equal(stops.accepted[i], 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dearest_first_by_group),
      cmocka_unit_test(test_each_once),
      cmocka_unit_test(test_lowest_error_and_stop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
