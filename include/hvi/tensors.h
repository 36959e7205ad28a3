/*
 * Named arrays: .safetensors files, as PyTorch, JAX and NumPy users read and write them. NumPy's
 * .npz files and folders of .npy files are read too.
 *
 * A file is eight bytes of header length, a JSON header (name, type, shape and place of each
 * tensor, and a map of text), and raw little-endian numbers. The reader treats a file as hostile:
 * header size, types, shapes, places, gaps and overlaps are checked before anything is used.
 */
#ifndef HVI_TENSORS_H
#define HVI_TENSORS_H

#include <hvi/error.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HVI_TENSOR_MAX_DIMS = 8 };

typedef enum hvi_tensor_type {
  HVI_TENSOR_BOOL, /* one byte each, 0 or 1 */
  HVI_TENSOR_U8,
  HVI_TENSOR_I8,
  HVI_TENSOR_U16,
  HVI_TENSOR_I16,
  HVI_TENSOR_U32,
  HVI_TENSOR_I32,
  HVI_TENSOR_U64,
  HVI_TENSOR_I64,
  HVI_TENSOR_F16,  /* half precision: nothing here makes them, */
  HVI_TENSOR_BF16, /* but they are read and converted */
  HVI_TENSOR_F32,
  HVI_TENSOR_F64,
  HVI_TENSOR_TYPE_COUNT
} hvi_tensor_type;

typedef struct hvi_tensor {
  const char *name;
  hvi_tensor_type type;
  size_t dims;                       /* number of axes; 0 for a single number */
  size_t shape[HVI_TENSOR_MAX_DIMS]; /* length of each */
  const void *data;                  /* row-major; aligned to its type in what was read */
} hvi_tensor;

typedef struct hvi_tensor_note {
  const char *key, *text;
} hvi_tensor_note;

/* A file that was read: tensors in the order of their place, and its map of text. */
typedef struct hvi_tensors {
  size_t count;
  hvi_tensor *items;
  size_t note_count;
  hvi_tensor_note *notes;
  void *owned;
} hvi_tensors;

/* Bytes of one number of that type; "F32" and so on. */
HVI_API size_t hvi_tensor_type_size(hvi_tensor_type type);
HVI_API const char *hvi_tensor_type_name(hvi_tensor_type type);
/* Product of the shape. */
HVI_API size_t hvi_tensor_count(const hvi_tensor *t);

/* Reads a whole file; refuses one over max_bytes (0: the memory of the machine). */
HVI_API hvi_status hvi_tensors_read(hvi_tensors **t, const char *path, size_t max_bytes,
                                    hvi_error *err);
/* The same from the bytes of a file, which are copied; `name` is for the error text. */
HVI_API hvi_status hvi_tensors_decode(hvi_tensors **t, const unsigned char *bytes, size_t size,
                                      const char *name, hvi_error *err);
/* The same of a .safetensors file, an .npz file or a folder of .npy files, told apart by what is
 * there. Of the latter two a single number or text is a note as well, and an array of a type that
 * is not read (objects, texts, complex numbers) is nothing but a note that says so. */
HVI_API hvi_status hvi_tensors_open(hvi_tensors **t, const char *path, size_t max_bytes,
                                    hvi_error *err);
HVI_API void hvi_tensors_free(hvi_tensors *t);

/* The tensor of that name, or NULL; the note, or NULL. */
HVI_API const hvi_tensor *hvi_tensors_find(const hvi_tensors *t, const char *name);
HVI_API const char *hvi_tensors_note(const hvi_tensors *t, const char *key);

/* The numbers of a tensor as floats or doubles, from any type and any address. An error names the
 * tensor and the index of a number that is not finite, too large, or an integer that would be
 * rounded. out: hvi_tensor_count numbers. */
HVI_API hvi_status hvi_tensor_floats(float *out, const hvi_tensor *t, hvi_error *err);
HVI_API hvi_status hvi_tensor_doubles(double *out, const hvi_tensor *t, hvi_error *err);

/* Writes a file, whole or not at all. Data are aligned to their type; the same tensors give the
 * same bytes in any order. */
HVI_API hvi_status hvi_tensors_write(const char *path, const hvi_tensor *items, size_t count,
                                     const hvi_tensor_note *notes, size_t note_count,
                                     hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
