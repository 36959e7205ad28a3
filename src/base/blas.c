/*
 * The first to hold remembers the program's number, the last to release restores it. A program that
 * is on one thread already needs neither, and finds that out without a lock: nobody holds, the
 * number is 1, and nobody has come in between, who would have counted himself in the high half.
 */
#include "base/blas.h"

#include "base/base.h"

#include <cblas.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t holders; /* low half: how many there are; high half: how many there were */
static int program_threads;      /* while there are any */

static const uint64_t one_holder = (UINT64_C(1) << 32) + 1;

static uint32_t present(uint64_t h) { return (uint32_t)h; }

bool hvi_blas_hold(void) {
  const uint64_t before = atomic_load(&holders);
  if (present(before) == 0 && openblas_get_num_threads() == 1 && atomic_load(&holders) == before)
    return false;
  pthread_mutex_lock(&lock);
  if (present(atomic_fetch_add(&holders, one_holder)) == 0) {
    program_threads = openblas_get_num_threads();
    openblas_set_num_threads(1);
  }
  pthread_mutex_unlock(&lock);
  return true;
}

void hvi_blas_release(bool held) {
  if (!held) return;
  pthread_mutex_lock(&lock);
  if (present(atomic_load(&holders)) == 1) openblas_set_num_threads(program_threads);
  atomic_fetch_sub(&holders, 1); /* last: who sees nobody here sees the program's number */
  pthread_mutex_unlock(&lock);
}

const char *hvi_blas_core(enum hvi_cpu_level level) {
#if defined(__x86_64__)
  static const char *const cores[] = {
      [HVI_CPU_BASELINE] = "Prescott", [HVI_CPU_AVX2] = "Haswell", [HVI_CPU_AVX512] = "SkylakeX"};
  return cores[level];
#else
  (void)level;
  return NULL;
#endif
}

void hvi_blas_level(char *text, size_t size) {
  const enum hvi_cpu_level level = hvi_cpu_level();
  const char *own = hvi_blas_core(level), *core = openblas_get_corename();
  const bool is_own = own && strcmp(own, core) == 0;
  snprintf(text, size, "%s%s%s", hvi_cpu_level_name(level), is_own ? "" : "-", is_own ? "" : core);
}
