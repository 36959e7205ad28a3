/* The reader of .npz archives: any bytes either make arrays whose numbers can all be read, or one
 * line of error. */
#include "io/tensors_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const hvi_tensors *t) {
  volatile unsigned sum = 0; /* touch every byte */
  for (size_t i = 0; i < t->count; i++) {
    const unsigned char *p = t->items[i].data;
    const size_t n = hvi_tensor_count(&t->items[i]) * hvi_tensor_type_size(t->items[i].type);
    if (strlen(t->items[i].name) == 0) abort();
    for (size_t k = 0; k < n; k++) sum += p[k];
  }
  for (size_t i = 0; i < t->note_count; i++) sum += (unsigned)strlen(t->notes[i].text);
  (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_tensors *t = (hvi_tensors *)(void *)&data;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_npz_decode(&t, data, size, 1 << 24, "fuzz.npz", &err);
  if (!status)
    use(t);
  else if (t || status != err.status || !err.text[0] || strchr(err.text, '\n'))
    abort();
  hvi_tensors_free(t);
  return 0;
}
