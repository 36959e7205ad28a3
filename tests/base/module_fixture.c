/* One source of several small modules, right and wrong; tests/CMakeLists.txt gives the macros. */
#include "base/module.h"

#include <hvi/version.h>

#ifdef FIXTURE_UNDEFINED
int hvi_function_of_nobody(void);
int (*volatile fixture_use)(void) = hvi_function_of_nobody;
#endif

#ifndef FIXTURE_NO_TABLE
#ifndef FIXTURE_NEWER
#define FIXTURE_NEWER 0
#endif
#define TEXT(x)                   #x
#define JOIN(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

static const char *version(void) {
#ifdef FIXTURE_VERSION
  return FIXTURE_VERSION;
#else
  return JOIN(HVI_VERSION_MAJOR, HVI_VERSION_MINOR, HVI_VERSION_PATCH);
#endif
}

static hvi_status start(hvi_error *err) {
#ifdef FIXTURE_FAILS
  if (err) *err = (hvi_error){HVI_ERROR_UNSUPPORTED, "the fixture will not start"};
  return HVI_ERROR_UNSUPPORTED;
#else
  (void)err;
  return HVI_OK;
#endif
}

static int answer(void) { return 42; }
static int (*const functions[])(void) = {answer};

extern const hvi_module hvi_module_table;
HVI_API const hvi_module hvi_module_table = {.abi = HVI_MODULE_ABI + FIXTURE_NEWER,
                                             .name = FIXTURE_NAME,
                                             .version = version,
                                             .start = start,
                                             .needs = "nothing",
                                             .needs_version = version,
                                             .functions = functions};
#endif
