/*
 * hvi-gpu-check: whether the GPU of this machine computes what it should (tests/gpu/check.h).
 *
 *   hvi-gpu-check [--quick] [--seed N] [--only GROUP] [--precision fp16x3|fp32|fp16]
 *
 * Without --precision, all three. Exit code 0: all good; 1: something failed; 2: a wrong option; 3: there
 * is no device.
 */
#include "base/base.h"
#include "base/module.h"
#include "check.h"
#include "options.h"

int main(int argc, char **argv) {
  check_options options = {0};
  bool wanted[PRECISIONS] = {false};
  if (!options_read(&options, wanted, argc, argv)) return 2;
  const hvi_module *module;
  hvi_device *device;
  hvi_error err;
  if (hvi_module_open(&module, "gpu", &err)) return fprintf(stderr, "%s\n", err.text), 3;
  options.functions = module->functions;
  if (options.functions->open(&device, HVI_DEVICE_FP16X3, &err))
    return fprintf(stderr, "%s\n", err.text), 3;
  options.functions->close(device);
  return options_run(&options, wanted);
}
