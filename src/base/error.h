/* How the library fills an hvi_error. */
#pragma once

#include <hvi/error.h>

#include <stddef.h>

#define hvi_error_input(err, ...)       hvi_error_set(err, HVI_ERROR_INPUT, __VA_ARGS__)
#define hvi_error_argument(err, ...)    hvi_error_set(err, HVI_ERROR_ARGUMENT, __VA_ARGS__)
#define hvi_error_unsupported(err, ...) hvi_error_set(err, HVI_ERROR_UNSUPPORTED, __VA_ARGS__)
#define hvi_error_io(err, ...)          hvi_error_set(err, HVI_ERROR_IO, __VA_ARGS__)

/* Returns from the function with the status of a call that failed. */
#define HVI_TRY(call)                                                                              \
  do {                                                                                             \
    const hvi_status tried_ = (call);                                                              \
    if (tried_) return tried_;                                                                     \
  } while (0)

/* Returns HVI_OK and hands over what the block owns: *out = own. */
#define HVI_GIVE(out, own)                                                                         \
  do {                                                                                             \
    *(out) = (own);                                                                                \
    (own) = NULL;                                                                                  \
    return HVI_OK;                                                                                 \
  } while (0)

/* Adds to a text of `size` bytes; what does not fit is cut. */
void hvi_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The usual text for a failed allocation of `what`. */
hvi_status hvi_error_memory(hvi_error *err, const char *what);

/* Memory as by hvi_alloc, in *at, or the status of a lack of it for `what`. */
#define hvi_new(at, count, what, err)                                                              \
  ((*(at) = hvi_alloc(count, sizeof **(at))) ? HVI_OK : hvi_error_memory(err, what))
/* The same of several in one block, as by hvi_alloc_arrays. */
#define hvi_new_arrays(what, err, ...)                                                             \
  (hvi_alloc_arrays(__VA_ARGS__) ? HVI_OK : hvi_error_memory(err, what))
/* A local array that its block owns: `HVI_NEW(double, work, 3 * n, "the measures", err)`. Without
 * memory for it the function returns. */
#define HVI_NEW(type, name, count, what, err)                                                      \
  HVI_OWN type *name = NULL;                                                                       \
  HVI_TRY(hvi_new(&name, count, what, err))

/* The same of one object, which hvi_TYPE_free lets go of: `HVI_MAKE(hvi_policy, p, "a policy", err)` after
 * HVI_RELEASE(hvi_policy). */
#define HVI_MAKE(type, name, what, err)                                                            \
  HVI_OWN_BY(type##_release) type *name = NULL;                                                    \
  HVI_TRY(hvi_new(&name, 1, what, err))

/* Puts the file before the text that is there, "NAME:LINE: " or, without a line, "'NAME'". */
hvi_status hvi_error_place(hvi_error *err, hvi_status status, const char *name, size_t line);

/* HVI_ERROR_INPUT in a line of a file. */
#define hvi_error_line(err, name, line, ...)                                                       \
  hvi_error_place(err, hvi_error_input(err, __VA_ARGS__), name, line)

/* A file, and what an error in it is: HVI_ERROR_INPUT where it is read. */
typedef struct hvi_subject {
  const char *name;
  hvi_status status;
  hvi_error *err;
} hvi_subject;

#define hvi_refuse(s, ...)                                                                         \
  hvi_error_place((s)->err, hvi_error_set((s)->err, (s)->status, __VA_ARGS__), (s)->name, 0)

/* HVI_ERROR_IO from errno: "cannot <action> '<path>': <reason>". */
hvi_status hvi_error_system(hvi_error *err, const char *action, const char *path);
