/* Which builds of the long loops this CPU can run. */
#include "num/bulk.h"

#if defined(__x86_64__)

/* Support for a level includes that of the operating system, which must save the registers. */
const hvi_bulk *const *hvi_bulk_list(void) {
  static const hvi_bulk *const all[] = {&hvi_bulk_avx512, &hvi_bulk_avx2, &hvi_bulk_baseline, NULL};
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? all : v3 ? all + 1 : all + 2;
}

#else

const hvi_bulk *const *hvi_bulk_list(void) {
  static const hvi_bulk *const all[] = {&hvi_bulk_baseline, NULL};
  return all;
}

#endif
