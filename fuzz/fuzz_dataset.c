/* Data sets: any tensors either make rows that follow each other, or one line of error. */
#include <hvi/rollout.h>

#include "harness.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_dataset *d = NULL;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_dataset_load(&d, fuzz_open_file(data, size), &err);
  fuzz_verdict(status, d, &err);
  for (size_t i = 0; !status && i < d->count; i++)
    if (!isfinite(d->reward[i]) || (hvi_dataset_continues(d, i) && i + 1 == d->count)) abort();
  hvi_dataset_free(d);
  return 0;
}
