#include "options.h"

#include "base/base.h"

static const char *const names[PRECISIONS] = {[HVI_DEVICE_TF32X3] = "tf32x3",
                                              [HVI_DEVICE_FP32] = "fp32",
                                              [HVI_DEVICE_TF32] = "tf32"};

static bool read_precision(bool *wanted, const char *name) {
  for (size_t p = 0; p < PRECISIONS; p++)
    if (strcmp(name, names[p]) == 0) return wanted[p] = true;
  return false;
}

bool options_read(check_options *o, bool *wanted, int argc, char **argv) {
  bool any = false;
  o->seed = 1;
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    char *end = NULL;
    if (strcmp(argv[i], "--quick") == 0) {
      o->quick = true;
      continue;
    }
    const bool seed = strcmp(argv[i], "--seed") == 0;
    if (seed) o->seed = strtoull(value, &end, 10);
    const bool good = seed ? *value && !*end
                           : strcmp(argv[i], "--precision") == 0 && read_precision(wanted, value);
    any = any || !seed;
    if (!good) {
      fprintf(stderr, "'%s %s' is not known; there are: --quick, --seed N, --precision %s|%s|%s\n",
              argv[i], value, names[0], names[1], names[2]);
      return false;
    }
    i++;
  }
  for (size_t p = 0; p < PRECISIONS; p++) wanted[p] = wanted[p] || !any;
  return true;
}

int options_run(check_options *o, const bool *wanted) {
  int code = 0;
  for (size_t p = 0; p < PRECISIONS; p++) {
    if (!wanted[p]) continue;
    o->precision = (hvi_device_precision)p;
    code |= check_run(o);
  }
  return code;
}
