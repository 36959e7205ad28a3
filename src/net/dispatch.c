/* Which builds of the kernels this CPU can run. */
#include "net/kernels.h"

#if defined(__x86_64__)

/* Support for a level includes that of the operating system, which must save the registers. */
const hvi_net_kernels *const *hvi_net_kernel_list(void) {
  static const hvi_net_kernels *const all[] = {&hvi_net_avx512, &hvi_net_avx2, &hvi_net_baseline,
                                               NULL};
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? all : v3 ? all + 1 : all + 2;
}

#else

const hvi_net_kernels *const *hvi_net_kernel_list(void) {
  static const hvi_net_kernels *const all[] = {&hvi_net_baseline, NULL};
  return all;
}

#endif
