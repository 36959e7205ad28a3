/* The .npy reader: any bytes either make an array that agrees with its shape, or one line of error.
 */
#include "io/npy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const hvi_array *a, size_t size) {
  size_t product = 1;
  for (size_t i = 0; i < a->dims; i++) product *= a->shape[i];
  if (product != a->size || a->size > size) abort();
  volatile double sum = 0.0; /* touch every number */
  for (size_t i = 0; i < a->size; i++) sum += a->data[i];
  (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_array a;
  hvi_error err = {HVI_OK, ""};
  if (!hvi_npy_decode(&a, data, size, "fuzz.npy", &err))
    use(&a, size);
  else if (a.data || !err.status || !err.text[0] || strchr(err.text, '\n'))
    abort();
  hvi_array_free(&a);
  return 0;
}
