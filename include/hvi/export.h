/* What the shared library shows: everything else has hidden visibility. */
#ifndef HVI_EXPORT_H
#define HVI_EXPORT_H

#if defined(__GNUC__)
#define HVI_API __attribute__((visibility("default")))
#else
#define HVI_API
#endif

#endif
