/*
 * The level of instructions that kernels run on.
 *
 * A kernel is built once per level, and levels differ in the last bits of their sums. A machine
 * uses the highest level that it has; HVI_CPU_LEVEL=baseline|avx2|avx512 in the environment asks
 * for a lower one, so that machines of several types give the same bits.
 */
#ifndef HVI_BASE_CPU_H
#define HVI_BASE_CPU_H

#include <hvi/error.h>

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

#endif
