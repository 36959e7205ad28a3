/*
 * Nothing is allocated between hvi_solver_new and hvi_solver_free: every allocation of the process
 * is counted while solvers of every kind run.
 *
 * Plainly built, this program has the allocation functions of its own that count and forward to
 * the C library's. A sanitizer brings its own and offers a hook instead. Where neither is in
 * effect (valgrind puts its own functions in place of these) the tests are skipped, and say so.
 */
#include "base/memory.h"
#include "support/solve.h"

#include <hvi/game.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static volatile size_t allocations;

#ifdef SANITIZED

int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));

static void count_malloc(const volatile void *p, size_t size) {
  (void)p, (void)size;
  allocations++;
}

static void ignore_free(const volatile void *p) { (void)p; }

static void start_counting(void) {
  __sanitizer_install_malloc_and_free_hooks(count_malloc, ignore_free);
}

#else

#include <errno.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

#define SHOWN __attribute__((visibility("default")))

SHOWN void *malloc(size_t size) {
  allocations++;
  return __libc_malloc(size);
}

SHOWN void *calloc(size_t count, size_t size) {
  allocations++;
  return __libc_calloc(count, size);
}

SHOWN void *realloc(void *p, size_t size) {
  allocations++;
  return __libc_realloc(p, size);
}

SHOWN void *aligned_alloc(size_t alignment, size_t size) {
  allocations++;
  return __libc_memalign(alignment, size);
}

SHOWN int posix_memalign(void **p, size_t alignment, size_t size) {
  allocations++;
  *p = __libc_memalign(alignment, size);
  return *p ? 0 : ENOMEM;
}

SHOWN void free(void *p) { __libc_free(p); }

static void start_counting(void) {}

#endif

/* Whether an allocation is seen at all; through volatile, so that it is not optimised away. */
static bool counting(void) {
  const size_t before = allocations;
  void *volatile p = malloc(24);
  void *volatile q = aligned_alloc(64, 64);
  free(p);
  free(q);
  return allocations == before + 2;
}

static void need_counting(void) {
  if (counting()) return;
  print_message("allocations cannot be counted here\n");
  skip();
}

/* The library's own allocations, wherever one is. */
static size_t own_allocations;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  own_allocations++;
  return true;
}

static hvi_problem *game_of(int index) { return index ? builtin("rps", 1) : builtin("pennies", 0); }

static bool quiet(void *context, const hvi_record *row) {
  *(double *)context += row->residual;
  return true;
}

/* Runs a solver to its end and returns the number of allocations on the way. */
static size_t count(const hvi_problem *p, hvi_settings s) {
  double sum = 0.0;
  s.observe = quiet;
  s.observer_context = &sum;
  hvi_solver *solver = solver_for(p, &s);
  const size_t before = allocations;
  hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  const size_t made = allocations - before;
  assert_true(info.last.outer > 0);
  hvi_solver_free(solver);
  return made;
}

static void no_method_allocates(void **state) {
  (void)state;
  need_counting();
  for (int game = 0; game < 2; game++) {
    hvi_problem *p = game_of(game);
    for (const hvi_method *method = hvi_method_list(); method->name; method++) {
      hvi_settings s = settings_for(method->name, 0.03, 50);
      for (s.inner_steps = 1; s.inner_steps <= 5; s.inner_steps += 4)
        if (count(p, s) != 0) fail_msg("%s allocates", method->name);
    }
    hvi_problem_free(p);
  }
}

static void no_option_allocates(void **state) {
  (void)state;
  need_counting();
  static const char *const names[] = {"gd", "gn", "dgn", "lm"};
  for (int game = 0; game < 2; game++) {
    hvi_problem *p = game_of(game);
    for (size_t i = 0; i < 4; i++) {
      const hvi_settings plain = settings_for(names[i], 0.03, 20);
      for (int option = 0; option < 8; option++) {
        hvi_settings s = plain;
        s.inner_steps = 3;
        if (option == 0) s.target = HVI_TARGET_OPTIMISTIC;
        if (option == 1) s.target = HVI_TARGET_AVERAGED;
        if (option == 2) s.alternating = true;
        if (option == 3) s.floor = HVI_FLOOR_KNOWN, s.alpha = 0.5;
        if (option == 4) s.floor = HVI_FLOOR_ESTIMATED, s.alpha = 0.5;
        if (option == 5) s.inner.line_search = s.inner.adapt_damping = true;
        if (option == 6) s.inner.linear = HVI_SOLVE_MATRIX_FREE;
        if (option == 7) s.step_rule = HVI_STEP_THEOREM, s.keep_state = true;
        if (count(p, s) != 0) fail_msg("%s allocates with option %d", names[i], option);
      }
    }
    hvi_problem_free(p);
  }
}

/* Large enough for BLAS and LAPACK. OpenBLAS may take buffers of its own inside a product (its
 * kernels for small matrices on AVX-512 do), so here only the library's allocations count. */
static void large_models_do_not_allocate(void **state) {
  (void)state;
  static const char *const names[] = {"gd", "gn", "lm"};
  static double M[60 * 80], theta0[80], zero[60];
  hvi_rng rng = hvi_rng_new(1, "large", 0);
  hvi_rng_fill_normal(&rng, 0.0, 0.1, 60 * 80, M);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, 80, theta0);
  hvi_player player = {.theta0 = theta0, .set = HVI_SET_FREE, .weight = 1.0, .centre = zero};
  const hvi_game_spec spec = {.player_count = 1, .players = &player};
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_affine_new(&player.model, 60, 80, M, NULL, &err), &err);
  check_ok(hvi_game_new(&p, &spec, &err), &err);
  for (size_t i = 0; i < 3; i++) {
    const hvi_settings s = settings_for(names[i], 0.1, 5);
    hvi_solver *solver = solver_for(p, &s);
    const size_t before = own_allocations;
    assert_true(before > 0);
    hvi_solver_run(solver);
    assert_int_equal(own_allocations, before);
    hvi_solver_free(solver);
  }
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_method_allocates),
      cmocka_unit_test(no_option_allocates),
      cmocka_unit_test(large_models_do_not_allocate),
  };
  start_counting();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
