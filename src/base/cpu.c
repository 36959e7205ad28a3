#include "base/cpu.h"

#include "base/base.h"

static const char *const names[] = {
    [HVI_CPU_BASELINE] = "baseline", [HVI_CPU_AVX2] = "avx2", [HVI_CPU_AVX512] = "avx512"};
enum { LEVELS = sizeof names / sizeof *names };

/* What the machine has. The answer includes the operating system, which must save the registers. */
static enum hvi_cpu_level machine_level(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? HVI_CPU_AVX512 : v3 ? HVI_CPU_AVX2 : HVI_CPU_BASELINE;
#else
  return HVI_CPU_BASELINE;
#endif
}

/* The number of the level that the environment names; LEVELS when it names none. */
static size_t asked_level(const char **text) {
  *text = getenv("HVI_CPU_LEVEL");
  size_t level = *text ? 0 : LEVELS;
  while (level < LEVELS && strcmp(names[level], *text) != 0) level++;
  return level;
}

enum hvi_cpu_level hvi_cpu_level(void) {
  const char *text;
  const enum hvi_cpu_level most = machine_level();
  const size_t asked = asked_level(&text);
  return asked < (size_t)most ? (enum hvi_cpu_level)asked : most;
}

const char *hvi_cpu_level_name(enum hvi_cpu_level level) { return names[level]; }

hvi_status hvi_cpu_level_check(hvi_error *err) {
  const char *text;
  const enum hvi_cpu_level most = machine_level();
  const size_t asked = asked_level(&text);
  if (!text || asked <= (size_t)most) return HVI_OK;
  if (asked == LEVELS)
    return hvi_error_argument(err, "HVI_CPU_LEVEL is 'baseline', 'avx2' or 'avx512', not '%.40s'",
                              text);
  return hvi_error_unsupported(err, "HVI_CPU_LEVEL asks for %s, and this machine has %s at most",
                               text, names[most]);
}

size_t hvi_cpu_l2(void) {
  long bytes = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return bytes > 0 ? (size_t)bytes : (size_t)1 << 20;
}
