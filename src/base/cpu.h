/*
 * The level of instructions that kernels run on.
 *
 * A kernel is built once per level, and levels differ in the last bits of their sums. A machine
 * uses the highest level that it has; HVI_CPU_LEVEL=baseline|avx2|avx512 in the environment asks
 * for a lower one, so that machines of several types give the same bits.
 */
#pragma once

#include <hvi/error.h>

#include <stddef.h>

enum hvi_cpu_level {
  HVI_CPU_BASELINE,
  HVI_CPU_AVX2,  /* x86-64-v3 */
  HVI_CPU_AVX512 /* x86-64-v4 */
};

/* The level in use: the machine's, or a lower one that HVI_CPU_LEVEL names. */
enum hvi_cpu_level hvi_cpu_level(void);
/* "baseline", "avx2" or "avx512". */
const char *hvi_cpu_level_name(enum hvi_cpu_level level);
/* An error when HVI_CPU_LEVEL is no level, or one that this machine does not have. */
hvi_status hvi_cpu_level_check(hvi_error *err);

/* Bytes of a core's second-level cache; 1 MiB where the system does not say. No result depends on
 * it, only what is fetched ahead of its use. */
size_t hvi_cpu_l2(void);

/* A table of functions in all its builds, fastest first and ending in NULL, for a list that starts
 * at hvi_cpu_builds_skipped(): cmake/levels.cmake makes them. */
#if defined(__x86_64__)
#define HVI_CPU_BUILDS(stem)                                                                       \
  { &stem##_avx512, &stem##_avx2, &stem##_baseline, NULL }
#else
#define HVI_CPU_BUILDS(stem)                                                                       \
  { NULL, NULL, &stem##_baseline, NULL }
#endif
static inline int hvi_cpu_builds_skipped(void) { return HVI_CPU_AVX512 - (int)hvi_cpu_level(); }
