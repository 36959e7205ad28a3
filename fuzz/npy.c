/*
 * A libFuzzer target for the .npy reader:
 *
 *   clang -std=c11 -g -O1 -fsanitize=fuzzer,address,undefined -D_POSIX_C_SOURCE=200809L \
 *     -Iinclude -Isrc fuzz/npy.c src/base/{error,memory,file}.c src/num/npy*.c -o npy-fuzz
 *   ./npy-fuzz -max_len=4096 -max_total_time=60
 *
 * Whatever the bytes, the reader gives an array that agrees with its shape, or an error with a
 * text.
 */
#include "num/npy.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hvi_array a;
  hvi_error err = {0};
  if (hvi_npy_decode(&a, data, size, "fuzz.npy", &err) != HVI_OK) {
    if (a.data || err.status == HVI_OK || !err.text[0]) abort();
    return 0;
  }
  size_t product = 1;
  for (size_t i = 0; i < a.dims; i++) product *= a.shape[i];
  if (product != a.size || a.size > size) abort();
  volatile double sum = 0.0; /* touch every number */
  for (size_t i = 0; i < a.size; i++) sum += a.data[i];
  hvi_array_free(&a);
  return 0;
}
