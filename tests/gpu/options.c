#include "options.h"

#include "base/base.h"

static const char *const names[PRECISIONS] = {
    [HVI_DEVICE_FP16X3] = "fp16x3", [HVI_DEVICE_FP32] = "fp32", [HVI_DEVICE_FP16] = "fp16"};

static bool read_precision(bool *wanted, const char *name) {
  for (size_t p = 0; p < PRECISIONS; p++)
    if (strcmp(name, names[p]) == 0) return wanted[p] = true;
  return false;
}

static bool read_seed(uint64_t *seed, const char *text) {
  char *end = NULL;
  *seed = strtoull(text, &end, 10);
  return *text && !*end;
}

static bool read_one(check_options *o, bool *wanted, const char *name, const char *value) {
  if (strcmp(name, "--seed") == 0) return read_seed(&o->seed, value);
  if (strcmp(name, "--precision") == 0) return read_precision(wanted, value);
  if (strcmp(name, "--only") != 0) return false;
  o->only = value;
  return true;
}

bool options_read(check_options *o, bool *wanted, int argc, char **argv) {
  bool any = false;
  o->seed = 1;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0) {
      o->quick = true;
    } else if (i + 1 < argc && read_one(o, wanted, argv[i], argv[i + 1])) {
      i++;
    } else {
      fprintf(stderr,
              "'%s' is not understood; there are: --quick, --seed N, --only GROUP, --precision "
              "%s|%s|%s\n",
              argv[i], names[0], names[1], names[2]);
      return false;
    }
  }
  for (size_t p = 0; p < PRECISIONS; p++) any = any || wanted[p];
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
