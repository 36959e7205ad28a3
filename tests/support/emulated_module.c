/* The emulated device as module `gpu`, for tests of the program. HVI_EMULATED_FAILS: the run at which
 * it is lost. */
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

static hvi_status start(hvi_error *err) {
  const char *at = getenv("HVI_EMULATED_FAILS");
  (void)err;
  emulated = (emulation){.fail_at = at ? strtoul(at, NULL, 10) : 0};
  hvi_module_table.functions = emulated_device();
  return HVI_OK;
}
