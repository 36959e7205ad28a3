/* The emulated device as module `gpu`, for tests of the program. HVI_EMULATED_FAILS: the run at which
 * it is lost; HVI_EMULATED_MEMORY: its bytes. */
#include "emulated_device.h"

#include "base/module.h"

#include <hvi/export.h>
#include <hvi/version.h>

#include <stdlib.h>

static hvi_status start(hvi_error *err);

extern hvi_module hvi_module_table;
HVI_API hvi_module hvi_module_table = {.abi = HVI_MODULE_ABI,
                                       .name = "gpu",
                                       .version = hvi_version,
                                       .needs = "nothing",
                                       .needs_version = hvi_version,
                                       .start = start};

static size_t number(const char *name) {
  const char *text = getenv(name);
  return text ? strtoul(text, NULL, 10) : 0;
}

static hvi_status start(hvi_error *err) {
  (void)err;
  emulated =
      (emulation){.fail_at = number("HVI_EMULATED_FAILS"), .memory = number("HVI_EMULATED_MEMORY")};
  hvi_module_table.functions = emulated_device();
  return HVI_OK;
}
