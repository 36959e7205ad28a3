#include "rl/rollout_columns.h"

#include "base/error.h"
#include "base/memory.h"

/* Checks a length against what is known, or learns it. A file without rows is of no use. */
static bool agree(size_t *known, size_t length) {
  if (*known == 0) *known = length;
  return length > 0 && *known == length;
}

hvi_status hvi_column_find(const hvi_tensor **found, const hvi_tensors *file, const char *path,
                           const char *name, size_t dims, size_t *rows, size_t *width,
                           hvi_error *err) {
  const hvi_tensor *t = hvi_tensors_find(file, name);
  if (!t) return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has no tensor '%s'", path, name);
  if (t->dims != dims) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': tensor '%s' has %zu axes, should have %zu",
                         path, name, t->dims, dims);
  }
  if (!agree(rows, t->shape[0])) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': tensor '%s' has %zu rows, should have %zu",
                         path, name, t->shape[0], *rows ? *rows : 1);
  }
  if (dims > 1 && !agree(width, t->shape[1])) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': tensor '%s' has %zu columns, should have %zu",
                         path, name, t->shape[1], *width ? *width : 1);
  }
  *found = t;
  return HVI_OK;
}

/* The line of an error in a file's numbers, with the file's name. */
static void name_file(hvi_error *err, const hvi_error *inner, const char *path) {
  hvi_error_set(err, inner->status, "'%s': %s", path, inner->text);
}

float *hvi_column_floats(const hvi_tensors *file, const char *path, const char *name, size_t dims,
                         size_t *rows, size_t *width, hvi_error *err) {
  const hvi_tensor *t;
  hvi_error inner;
  if (hvi_column_find(&t, file, path, name, dims, rows, width, err)) return NULL;
  float *x = hvi_alloc(hvi_tensor_count(t), sizeof *x);
  if (!x) {
    hvi_error_memory(err, "a tensor");
  } else if (hvi_tensor_floats(x, t, &inner)) {
    name_file(err, &inner, path);
    hvi_free(x);
    x = NULL;
  }
  return x;
}

double *hvi_column_doubles(const hvi_tensors *file, const char *path, const char *name, size_t dims,
                           size_t *rows, size_t *width, hvi_error *err) {
  const hvi_tensor *t;
  hvi_error inner;
  if (hvi_column_find(&t, file, path, name, dims, rows, width, err)) return NULL;
  double *x = hvi_alloc_doubles(hvi_tensor_count(t));
  if (!x) {
    hvi_error_memory(err, "a tensor");
  } else if (hvi_tensor_doubles(x, t, &inner)) {
    name_file(err, &inner, path);
    hvi_free(x);
    x = NULL;
  }
  return x;
}
