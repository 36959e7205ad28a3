#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t allocations, last_bytes;
static bool refuse;

bool hvi_alloc_allowed(size_t bytes) {
  allocations++;
  last_bytes = bytes;
  return !refuse;
}

static void blocks_are_zeroed_and_aligned(void **state) {
  (void)state;
  for (size_t n = 0; n < 200; n += 7) {
    unsigned char *p = hvi_alloc(n, 3);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    for (size_t i = 0; i < 3 * n; i++) assert_int_equal(p[i], 0);
    memset(p, 0xff, 3 * n);
    hvi_free(p);
  }
  hvi_free(NULL);
}

static void a_block_grows_with_what_is_in_it(void **state) {
  (void)state;
  char *p = hvi_grow(NULL, 0, 4, 1);
  assert_non_null(p);
  memcpy(p, "abc", 4);
  p = hvi_grow(p, 4, 100, 2);
  assert_non_null(p);
  assert_string_equal(p, "abc");
  for (size_t i = 4; i < 200; i++) assert_int_equal(p[i], 0);
  refuse = true;
  char *more = hvi_grow(p, 4, 1000, 1);
  refuse = false;
  assert_null(more);
  assert_string_equal(p, "abc"); /* it stays */
  hvi_free(p);
}

static void products_that_overflow_are_refused(void **state) {
  (void)state;
  size_t product = 5;
  assert_true(hvi_multiply_sizes(SIZE_MAX, 1, &product));
  assert_true(product == SIZE_MAX);
  assert_true(hvi_multiply_sizes(SIZE_MAX / 3, 3, &product));
  assert_true(hvi_multiply_sizes(0, SIZE_MAX, &product));
  assert_int_equal(product, 0);
  assert_true(hvi_multiply_sizes(SIZE_MAX, 0, &product));
  assert_false(hvi_multiply_sizes(SIZE_MAX / 2 + 1, 2, &product));
  assert_false(hvi_multiply_sizes((size_t)1 << 32, (size_t)1 << 32, &product));
  assert_null(hvi_alloc(SIZE_MAX / 4, 8));
  assert_null(hvi_alloc(SIZE_MAX, 1));
  assert_null(hvi_alloc(SIZE_MAX - 10, 1));
  assert_null(hvi_alloc_doubles(SIZE_MAX / 8 + 1));
}

static void the_hook_counts_and_refuses(void **state) {
  (void)state;
  const double x[] = {1.0, 2.0};
  allocations = 0;
  double *p = hvi_alloc_doubles(10);
  assert_non_null(p);
  assert_int_equal(allocations, 1);
  assert_int_equal(last_bytes, 80);
  hvi_free(p);
  refuse = true;
  assert_null(hvi_alloc(1, 1));
  assert_null(hvi_alloc_doubles(10));
  assert_null(hvi_copy_doubles(x, 2));
  assert_null(hvi_copy_text("text"));
  refuse = false;
}

static void copies_are_equal_and_apart(void **state) {
  (void)state;
  const double x[] = {1.0, -2.5, 3.0};
  double *y = hvi_copy_doubles(x, 3);
  assert_non_null(y);
  assert_ptr_not_equal(x, y);
  assert_memory_equal(x, y, sizeof x);
  hvi_free(y);
  y = hvi_copy_doubles(NULL, 0);
  assert_non_null(y);
  hvi_free(y);
  char *text = hvi_copy_text("hidden");
  assert_string_equal(text, "hidden");
  hvi_free(text);
}

static void an_arena_hands_out_lines(void **state) {
  (void)state;
  size_t size = hvi_arena_need(3) + hvi_arena_need(8) + hvi_arena_need(9);
  assert_int_equal(size, 8 + 8 + 16);
  hvi_arena arena = {.base = hvi_alloc_doubles(size), .size = size};
  double *a = hvi_arena_take(&arena, 3), *b = hvi_arena_take(&arena, 8);
  assert_ptr_equal(a, arena.base);
  assert_ptr_equal(b, a + 8);
  assert_null(hvi_arena_take(&arena, 17));
  assert_null(hvi_arena_take(&arena, SIZE_MAX));
  double *c = hvi_arena_take(&arena, 9);
  assert_ptr_equal(c, b + 8);
  assert_int_equal((uintptr_t)c % 64, 0);
  assert_int_equal(arena.used, size);
  assert_null(hvi_arena_take(&arena, 1));
  hvi_free(arena.base);
  hvi_arena none = {0};
  assert_null(hvi_arena_take(&none, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_zeroed_and_aligned),
      cmocka_unit_test(a_block_grows_with_what_is_in_it),
      cmocka_unit_test(products_that_overflow_are_refused),
      cmocka_unit_test(the_hook_counts_and_refuses),
      cmocka_unit_test(copies_are_equal_and_apart),
      cmocka_unit_test(an_arena_hands_out_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
