/* The version: of these headers as macros, of the library at run time as text. */
#ifndef HVI_VERSION_H
#define HVI_VERSION_H

#include <hvi/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HVI_VERSION_MAJOR 0
#define HVI_VERSION_MINOR 2
#define HVI_VERSION_PATCH 0

/* "major.minor.patch" of the library in use, which may be newer than the headers. */
HVI_API const char *hvi_version(void);

#ifdef __cplusplus
}
#endif

#endif
