/*
 * A file begins with magic, version, length, and a Python dictionary such as
 *
 *   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), }
 */
#include "io/npy.h"

#include "base/base.h"
#include "base/file.h"

enum { MAGIC_SIZE = 6, PREFIX_SIZE = 10, MAX_HEADER = 65536, HEADER_SIZE = 512 };

static const char magic[] = "\x93NUMPY";

/* A position in the dictionary's text. Every function moves it past what it read, or returns
 * false. */
typedef struct cursor {
  const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) c->at++;
}

static bool take(cursor *c, char wanted) {
  skip_space(c);
  if (c->at == c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

static bool take_word(cursor *c, const char *word) {
  size_t length = strlen(word);
  skip_space(c);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
  c->at += length;
  return true;
}

/* A quoted string without escapes, NUL-terminated into out[size]. */
static bool take_string(cursor *c, char *out, size_t size) {
  skip_space(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
  char quote = *c->at++;
  size_t length = 0;
  while (c->at < c->end && *c->at != quote) {
    if (length + 1 >= size || *c->at == '\\' || *c->at == '\0') return false;
    out[length++] = *c->at++;
  }
  if (c->at == c->end) return false;
  c->at++;
  out[length] = '\0';
  return true;
}

static bool take_number(cursor *c, size_t *value) {
  skip_space(c);
  const char *start = c->at;
  *value = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    size_t digit = (size_t)(*c->at - '0');
    if (*value > (SIZE_MAX - digit) / 10) return false;
    *value = *value * 10 + digit;
  }
  return c->at > start;
}

typedef struct header {
  char kind;        /* 'f', 'i' or 'b' */
  size_t item_size; /* bytes a number */
  bool big_endian, fortran_order;
  hvi_array array;    /* without data yet */
  size_t data_offset; /* where the numbers start in the file */
} header;

/* (), (3,), (3, 5), (3, 5,): a tuple of one number needs its comma. */
static bool take_shape(cursor *c, hvi_array *a) {
  bool comma = false;
  if (!take(c, '(')) return false;
  for (a->dims = 0; !take(c, ')'); a->dims++) {
    if (a->dims == HVI_NPY_MAX_DIMS || (a->dims > 0 && !comma)) return false;
    if (!take_number(c, &a->shape[a->dims])) return false;
    comma = take(c, ',');
  }
  return a->dims != 1 || comma;
}

/* The types that are read, named as NumPy names them. */
static bool parse_type(header *h, const char *type) {
  static const char *const known[] = {"<f8", "<f4", "<i8", "<i4", "|b1", ">f8", ">f4"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(type, known[i]) != 0) continue;
    h->big_endian = type[0] == '>';
    h->kind = type[1];
    h->item_size = (size_t)(type[2] - '0');
    return true;
  }
  return false;
}

/* {"key": value, ...} with each of the three keys once, in any order. */
static bool take_dictionary(cursor *c, header *h, char *type, size_t type_size) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  bool comma = true, seen[3] = {false};
  if (!take(c, '{')) return false;
  while (!take(c, '}')) {
    char key[32];
    size_t k = 0;
    if (!comma || !take_string(c, key, sizeof key) || !take(c, ':')) return false;
    while (k < 3 && strcmp(key, keys[k]) != 0) k++;
    if (k == 3 || seen[k]) return false;
    seen[k] = true;
    if (k == 0 && !take_string(c, type, type_size)) return false;
    if (k == 1) h->fortran_order = take_word(c, "True");
    if (k == 1 && !h->fortran_order && !take_word(c, "False")) return false;
    if (k == 2 && !take_shape(c, &h->array)) return false;
    comma = take(c, ',');
  }
  skip_space(c);
  return c->at == c->end && seen[0] && seen[1] && seen[2];
}

/* The product of a shape; false when so many doubles have no address. */
static bool multiply_shape(size_t *size, size_t dims, const size_t *shape) {
  size_t bytes;
  *size = 1;
  for (size_t i = 0; i < dims; i++)
    if (!hvi_multiply_sizes(*size, shape[i], size)) return false;
  return hvi_multiply_sizes(*size, sizeof(double), &bytes);
}

/* Magic, version and length: gives where the dictionary starts and ends. */
static hvi_status locate(size_t *start, size_t *end, const unsigned char *bytes, size_t size,
                         const hvi_subject *f) {
  if (size < MAGIC_SIZE || memcmp(bytes, magic, MAGIC_SIZE) != 0)
    return hvi_refuse(f, " is not a .npy file: it does not start with \\x93NUMPY");
  if (size < PREFIX_SIZE + 2) return hvi_refuse(f, " ends within the .npy header");
  unsigned version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0) {
    return hvi_refuse(f, " has .npy version %u.%u; 1.0, 2.0 and 3.0 are read", version,
                      (unsigned)bytes[7]);
  }
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  *start = version > 1 ? PREFIX_SIZE + 2 : PREFIX_SIZE;
  if (length > MAX_HEADER) {
    return hvi_refuse(f, " has a .npy header of %zu bytes; at most %d are read", length,
                      MAX_HEADER);
  }
  if (length > size - *start) return hvi_refuse(f, " ends within the .npy header");
  *end = *start + length;
  return HVI_OK;
}

/* Checks everything but that the numbers are all there. */
static hvi_status parse_header(header *h, const unsigned char *bytes, size_t size,
                               const hvi_subject *f) {
  char type[32];
  size_t start = 0, end = 0;
  *h = (header){0};
  HVI_TRY(locate(&start, &end, bytes, size, f));
  h->data_offset = end;
  cursor c = {(const char *)bytes + start, (const char *)bytes + end};
  if (!take_dictionary(&c, h, type, sizeof type)) {
    return hvi_refuse(f,
                      " has a .npy header that is not understood near byte %zu; expected "
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), } with at most "
                      "%d axes",
                      (size_t)(c.at - (const char *)bytes), HVI_NPY_MAX_DIMS);
  }
  if (!parse_type(h, type)) {
    return hvi_refuse(f,
                      " holds numbers of type '%s'; <f8, <f4, <i8, <i4, |b1, >f8 and >f4 "
                      "are read",
                      type);
  }
  if (multiply_shape(&h->array.size, h->array.dims, h->array.shape)) return HVI_OK;
  return hvi_refuse(f, " has a shape too large for any memory");
}

static uint64_t load_bits(const unsigned char *p, size_t size, bool big_endian) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size; i++) bits = bits << 8 | p[big_endian ? i : size - 1 - i];
  return bits;
}

static double load_number(const header *h, const unsigned char *p) {
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
static void load_numbers(double *out, const header *h, const unsigned char *data) {
  const hvi_array *a = &h->array;
  size_t index[HVI_NPY_MAX_DIMS] = {0}, stride[HVI_NPY_MAX_DIMS], step = 1, source = 0;
  for (size_t k = 0; k < a->dims; k++) {
    const size_t d = h->fortran_order ? k : a->dims - 1 - k;
    stride[d] = step;
    step *= a->shape[d];
  }
  for (size_t i = 0; i < a->size; i++) {
    out[i] = load_number(h, data + source * h->item_size);
    for (size_t d = a->dims; d-- > 0;) {
      source += stride[d];
      if (++index[d] < a->shape[d]) break;
      source -= stride[d] * a->shape[d];
      index[d] = 0;
    }
  }
}

/* The numbers must fill the rest of the file exactly. */
static hvi_status check_length(const header *h, size_t size, const hvi_subject *f) {
  const size_t there = size - h->data_offset, needed = h->array.size * h->item_size;
  if (there == needed) return HVI_OK;
  return hvi_refuse(f, " has %zu bytes of numbers; its shape and type need %zu (%s)", there, needed,
                    there < needed ? "truncated?" : "something was appended?");
}

hvi_status hvi_npy_decode(hvi_array *out, const unsigned char *bytes, size_t size, const char *name,
                          hvi_error *err) {
  const hvi_subject f = {name, HVI_ERROR_INPUT, err};
  header h;
  *out = (hvi_array){0};
  hvi_status status = parse_header(&h, bytes, size, &f);
  if (status == HVI_OK) status = check_length(&h, size, &f);
  if (status != HVI_OK) return status;
  h.array.data = hvi_alloc_doubles(h.array.size);
  if (!h.array.data) return hvi_error_memory(err, "an array");
  load_numbers(h.array.data, &h, bytes + h.data_offset);
  *out = h.array;
  return HVI_OK;
}

hvi_status hvi_npy_read(hvi_array *out, const char *path, size_t max_bytes, hvi_error *err) {
  unsigned char *bytes;
  size_t size;
  *out = (hvi_array){0};
  if (max_bytes == 0) max_bytes = (size_t)1 << 30;
  HVI_TRY(hvi_file_read_bytes(&bytes, &size, path, max_bytes, err));
  hvi_status status = hvi_npy_decode(out, bytes, size, path, err);
  hvi_free(bytes);
  return status;
}

/* The header of a float64 array in C order; returns its length. The numbers start at a multiple of
 * 64 bytes, so that they can be mapped. */
static size_t print_header(char out[HEADER_SIZE], size_t dims, const size_t *shape) {
  char *text = out + PREFIX_SIZE;
  size_t left = HEADER_SIZE - PREFIX_SIZE, length = 0;
  length += (size_t)snprintf(text, left, "{'descr': '<f8', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < dims; i++) {
    const char *mark = dims == 1 ? "," : i + 1 < dims ? ", " : "";
    length += (size_t)snprintf(text + length, left - length, "%zu%s", shape[i], mark);
  }
  length += (size_t)snprintf(text + length, left - length, "), }");
  size_t total = (PREFIX_SIZE + length + 1 + 63) / 64 * 64;
  memset(text + length, ' ', total - PREFIX_SIZE - length - 1);
  out[total - 1] = '\n';
  memcpy(out, magic, MAGIC_SIZE);
  out[6] = 1;
  out[7] = 0;
  out[8] = (char)((total - PREFIX_SIZE) & 0xff);
  out[9] = (char)((total - PREFIX_SIZE) >> 8);
  return total;
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
  const hvi_subject f = {path, HVI_ERROR_ARGUMENT, err};
  hvi_file file;
  size_t size;
  if (dims > HVI_NPY_MAX_DIMS)
    return hvi_refuse(&f, ": an array of %zu axes; at most %d are written", dims, HVI_NPY_MAX_DIMS);
  if (!multiply_shape(&size, dims, shape)) return hvi_refuse(&f, ": the shape is too large");
  HVI_TRY(hvi_file_create(&file, path, err));
  char text[HEADER_SIZE];
  const size_t length = print_header(text, dims, shape);
  if (fwrite(text, 1, length, file.stream) == length) write_numbers(file.stream, data, size);
  return hvi_file_commit(&file, err);
}

void hvi_array_free(hvi_array *a) {
  if (!a) return;
  hvi_free(a->data);
  *a = (hvi_array){0};
}
