/* Reading a data set. */
#include "base/error.h"
#include "base/memory.h"
#include "rl/rollout_columns.h"
#include "rl/rollout_notes.h"
#include "rl/rollout_row.h"

#include <string.h>

static bool *load_flags(const hvi_tensors *t, const char *path, const char *name, size_t *rows,
                        hvi_error *err) {
  const hvi_tensor *column;
  if (hvi_column_find(&column, t, path, name, 1, rows, NULL, err)) return NULL;
  if (column->type != HVI_TENSOR_BOOL) {
    hvi_error_set(err, HVI_ERROR_INPUT, "'%s': tensor '%s' is %s, should be BOOL", path, name,
                  hvi_tensor_type_name(column->type));
    return NULL;
  }
  bool *flags = hvi_alloc(*rows, sizeof *flags);
  if (!flags) {
    hvi_error_memory(err, "a tensor");
    return NULL;
  }
  for (size_t i = 0; i < *rows; i++) flags[i] = ((const unsigned char *)column->data)[i] != 0;
  return flags;
}

/* err->status tells how it went; the first column that fails ends it. */
static bool load_columns(hvi_dataset *d, const hvi_tensors *t, const char *path, hvi_error *err) {
  d->observation = hvi_column_floats(t, path, "obs", 2, &d->count, &d->obs, err);
  if (!d->observation) return false;
  d->action = hvi_column_floats(t, path, "action", 2, &d->count, &d->act, err);
  if (!d->action) return false;
  d->reward = hvi_column_floats(t, path, "reward", 1, &d->count, NULL, err);
  if (!d->reward) return false;
  d->next = hvi_column_floats(t, path, "next_obs", 2, &d->count, &d->obs, err);
  if (!d->next) return false;
  d->terminated = load_flags(t, path, "terminated", &d->count, err);
  if (!d->terminated) return false;
  d->truncated = load_flags(t, path, "truncated", &d->count, err);
  return d->truncated != NULL;
}

hvi_status hvi_dataset_load(hvi_dataset **data, const char *path, hvi_error *err) {
  hvi_error local;
  hvi_tensors *t;
  if (!err) err = &local;
  *data = NULL;
  const hvi_status status = hvi_tensors_read(&t, path, 0, err);
  if (status) return status;
  hvi_dataset *d = hvi_alloc(1, sizeof *d);
  if (!d) hvi_error_memory(err, "a data set");
  const bool good = d && load_columns(d, t, path, err);
  if (good) hvi_notes_read_origin(&d->origin, t);
  hvi_tensors_free(t);
  if (!good) {
    hvi_dataset_free(d);
    return err->status;
  }
  *data = d;
  return HVI_OK;
}

void hvi_dataset_free(hvi_dataset *d) {
  if (!d) return;
  hvi_columns_free(d);
  hvi_free(d);
}

bool hvi_dataset_continues(const hvi_dataset *d, size_t row) {
  if (row + 1 >= d->count || d->terminated[row] || d->truncated[row]) return false;
  return memcmp(d->next + row * d->obs, d->observation + (row + 1) * d->obs,
                d->obs * sizeof *d->next) == 0;
}
