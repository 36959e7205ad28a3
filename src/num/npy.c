#include "num/npy.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "num/npy_header.h"

#include <stdint.h>
#include <string.h>

static uint64_t load_bits(const unsigned char *p, size_t size, bool big_endian) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size; i++) bits = bits << 8 | p[big_endian ? i : size - 1 - i];
  return bits;
}

static double load_number(const hvi_npy_header *h, const unsigned char *p) {
  uint64_t bits = load_bits(p, h->item_size, h->big_endian);
  uint32_t low = (uint32_t)bits;
  if (h->kind == 'b') return bits ? 1.0 : 0.0;
  if (h->item_size == 8) {
    double f;
    int64_t i;
    memcpy(&f, &bits, sizeof f);
    memcpy(&i, &bits, sizeof i);
    return h->kind == 'f' ? f : (double)i;
  }
  float f;
  int32_t i;
  memcpy(&f, &low, sizeof f);
  memcpy(&i, &low, sizeof i);
  return h->kind == 'f' ? (double)f : (double)i;
}

/* Walks the array in row-major order; in a Fortran file the first axis is the one that moves by one
 * number. */
static void load_fortran(double *out, const hvi_npy_header *h, const unsigned char *data) {
  size_t index[HVI_NPY_MAX_DIMS] = {0}, stride[HVI_NPY_MAX_DIMS];
  size_t step = 1, source = 0;
  for (size_t d = 0; d < h->dims; d++) {
    stride[d] = step;
    step *= h->shape[d];
  }
  for (size_t i = 0; i < h->size; i++) {
    out[i] = load_number(h, data + source * h->item_size);
    for (size_t d = h->dims; d-- > 0;) {
      source += stride[d];
      if (++index[d] < h->shape[d]) break;
      source -= stride[d] * h->shape[d];
      index[d] = 0;
    }
  }
}

/* The numbers must fill the rest of the file exactly. */
static hvi_status check_length(const hvi_npy_header *h, size_t size, const char *name,
                               hvi_error *err) {
  size_t there = size - h->data_offset, needed = h->size * h->item_size;
  if (there == needed) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' has %zu bytes of numbers; its shape and type need %zu (%s)", name,
                       there, needed, there < needed ? "truncated?" : "something was appended?");
}

hvi_status hvi_npy_decode(hvi_array *out, const unsigned char *bytes, size_t size, const char *name,
                          hvi_error *err) {
  *out = (hvi_array){0};
  hvi_npy_header h;
  hvi_status status = hvi_npy_header_parse(&h, bytes, size, name, err);
  if (status == HVI_OK) status = check_length(&h, size, name, err);
  if (status != HVI_OK) return status;
  double *data = hvi_alloc_doubles(h.size);
  if (!data) return hvi_error_memory(err, "an array");
  const unsigned char *numbers = bytes + h.data_offset;
  if (h.fortran_order && h.dims > 1) {
    load_fortran(data, &h, numbers);
  } else {
    for (size_t i = 0; i < h.size; i++) data[i] = load_number(&h, numbers + i * h.item_size);
  }
  *out = (hvi_array){.dims = h.dims, .size = h.size, .data = data};
  memcpy(out->shape, h.shape, sizeof out->shape);
  return HVI_OK;
}

hvi_status hvi_npy_read(hvi_array *out, const char *path, size_t max_bytes, hvi_error *err) {
  *out = (hvi_array){0};
  if (max_bytes == 0) max_bytes = (size_t)1 << 30;
  unsigned char *bytes;
  size_t size;
  hvi_status status = hvi_file_read_bytes(&bytes, &size, path, max_bytes, err);
  if (status != HVI_OK) return status;
  status = hvi_npy_decode(out, bytes, size, path, err);
  hvi_free(bytes);
  return status;
}

static void store_number(unsigned char *p, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; i++) p[i] = (unsigned char)(bits >> (8 * i));
}

/* A failed write stays in the stream and is found by the commit. */
static void write_numbers(FILE *stream, const double *data, size_t size) {
  unsigned char buffer[4096];
  for (size_t i = 0; i < size;) {
    size_t count = 0;
    for (; count < sizeof buffer / 8 && i < size; count++)
      store_number(buffer + 8 * count, data[i++]);
    if (fwrite(buffer, 8, count, stream) != count) return;
  }
}

hvi_status hvi_npy_write(const char *path, const double *data, size_t dims, const size_t *shape,
                         hvi_error *err) {
  if (dims > HVI_NPY_MAX_DIMS) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "'%s': an array of %zu axes; at most %d are written", path, dims,
                         HVI_NPY_MAX_DIMS);
  }
  size_t size = 1;
  for (size_t i = 0; i < dims; i++) {
    if (!hvi_multiply_sizes(size, shape[i], &size)) {
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "'%s': the shape is too large", path);
    }
  }
  hvi_file f;
  hvi_status status = hvi_file_create(&f, path, err);
  if (status != HVI_OK) return status;
  char header[HVI_NPY_HEADER_ROOM];
  size_t length = hvi_npy_header_write(header, dims, shape);
  if (fwrite(header, 1, length, f.stream) == length) write_numbers(f.stream, data, size);
  return hvi_file_commit(&f, err);
}

void hvi_array_free(hvi_array *a) {
  if (!a) return;
  hvi_free(a->data);
  *a = (hvi_array){0};
}
