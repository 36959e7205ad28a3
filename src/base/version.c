#include <hvi/version.h>

#define TEXT(x)                   #x
#define JOIN(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *hvi_version(void) {
  return JOIN(HVI_VERSION_MAJOR, HVI_VERSION_MINOR, HVI_VERSION_PATCH);
}
