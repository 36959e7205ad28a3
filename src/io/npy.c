/*
 * A file begins with magic, version, length, and a Python dictionary such as
 *
 *   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), }
 */
#include "io/npy.h"

#include "base/base.h"
#include "base/file.h"
#include "io/tensors_file.h"

enum { MAGIC_SIZE = 6, PREFIX_SIZE = 10, MAX_HEADER = 65536 };

static const char magic[] = "\x93NUMPY";
static const char machine_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';

/* A position in the dictionary's text. Every function moves it past what it read, or returns
 * false. */
typedef struct cursor {
  const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) c->at++;
}

static bool take(cursor *c, const char *word) {
  const size_t length = strlen(word);
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
  hvi_tensor_type type;
  bool swapped, fortran_order; /* swapped: the bytes of a number are not in the machine's order */
  hvi_array array;             /* without data yet */
  const unsigned char *data;   /* the numbers in the file */
} header;

/* (), (3,), (3, 5), (3, 5,): a tuple of one number needs its comma. */
static bool take_shape(cursor *c, hvi_array *a) {
  bool comma = false;
  if (!take(c, "(")) return false;
  for (a->dims = 0; !take(c, ")"); a->dims++) {
    if (a->dims == HVI_NPY_MAX_DIMS || (a->dims > 0 && !comma)) return false;
    if (!take_number(c, &a->shape[a->dims])) return false;
    comma = take(c, ",");
  }
  return a->dims != 1 || comma;
}

/* The types that are read, named as NumPy names them. */
static bool parse_type(header *h, const char *name) {
  static const struct {
    const char *name;
    hvi_tensor_type type;
  } known[] = {{"<f8", HVI_TENSOR_F64}, {"<f4", HVI_TENSOR_F32},  {"<i8", HVI_TENSOR_I64},
               {"<i4", HVI_TENSOR_I32}, {"|b1", HVI_TENSOR_BOOL}, {">f8", HVI_TENSOR_F64},
               {">f4", HVI_TENSOR_F32}};
  size_t i = 0;
  while (i < sizeof known / sizeof *known && strcmp(name, known[i].name) != 0) i++;
  if (i == sizeof known / sizeof *known) return false;
  h->type = known[i].type;
  h->swapped = name[0] != '|' && name[0] != machine_order;
  return true;
}

/* {"key": value, ...} with each of the three keys once, in any order. */
static bool take_dictionary(cursor *c, header *h, char *type, size_t type_size) {
  static const char *const keys[] = {"descr", "fortran_order", "shape"};
  bool comma = true, seen[3] = {false};
  if (!take(c, "{")) return false;
  while (!take(c, "}")) {
    char key[32];
    size_t k = 0;
    if (!comma || !take_string(c, key, sizeof key) || !take(c, ":")) return false;
    while (k < 3 && strcmp(key, keys[k]) != 0) k++;
    if (k == 3 || seen[k]) return false;
    seen[k] = true;
    if (k == 0 && !take_string(c, type, type_size)) return false;
    if (k == 1) h->fortran_order = take(c, "True");
    if (k == 1 && !h->fortran_order && !take(c, "False")) return false;
    if (k == 2 && !take_shape(c, &h->array)) return false;
    comma = take(c, ",");
  }
  skip_space(c);
  return c->at == c->end && seen[0] && seen[1] && seen[2];
}

/* Magic, version and length: gives where the dictionary starts and ends. */
static hvi_status locate(cursor *c, const unsigned char *bytes, size_t size, const hvi_subject *f) {
  if (size < MAGIC_SIZE || memcmp(bytes, magic, MAGIC_SIZE) != 0)
    return hvi_refuse(f, " is not a .npy file: it does not start with \\x93NUMPY");
  if (size < PREFIX_SIZE + 2) return hvi_refuse(f, " ends within the .npy header");
  unsigned version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0)
    return hvi_refuse(f, " has .npy version %u.%u; 1.0, 2.0 and 3.0 are read", version,
                      (unsigned)bytes[7]);
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  const size_t start = version > 1 ? PREFIX_SIZE + 2 : PREFIX_SIZE;
  if (length > MAX_HEADER)
    return hvi_refuse(f, " has a .npy header of %zu bytes; at most %d are read", length,
                      MAX_HEADER);
  if (length > size - start) return hvi_refuse(f, " ends within the .npy header");
  c->at = (const char *)bytes + start;
  c->end = c->at + length;
  return HVI_OK;
}

/* Checks everything that comes before the numbers, and that they fill the rest of the file. */
static hvi_status parse_header(header *h, const unsigned char *bytes, size_t size,
                               const hvi_subject *f) {
  char type[32];
  cursor c = {0};
  HVI_TRY(locate(&c, bytes, size, f));
  h->data = (const unsigned char *)c.end;
  if (!take_dictionary(&c, h, type, sizeof type))
    return hvi_refuse(f,
                      " has a .npy header that is not understood near byte %zu; expected {'descr': "
                      "'<f8', 'fortran_order': False, 'shape': (3, 5), } with at most %d axes",
                      (size_t)(c.at - (const char *)bytes), HVI_NPY_MAX_DIMS);
  if (!parse_type(h, type))
    return hvi_refuse(
        f, " holds numbers of type '%s'; <f8, <f4, <i8, <i4, |b1, >f8 and >f4 are read", type);
  if (!hvi_multiply_shape(&h->array.size, h->array.dims, h->array.shape))
    return hvi_refuse(f, " has a shape too large for any memory");
  const size_t there = size - (size_t)(h->data - bytes),
               needed = h->array.size * hvi_tensor_type_size(h->type);
  if (there == needed) return HVI_OK;
  return hvi_refuse(f, " has %zu bytes of numbers; its shape and type need %zu (%s)", there, needed,
                    there < needed ? "truncated?" : "something was appended?");
}

/* Walks the array in row-major order; in a Fortran file the first axis is the one that moves by one
 * number. */
static void load_numbers(double *out, const header *h) {
  const hvi_array *a = &h->array;
  const size_t width = hvi_tensor_type_size(h->type);
  size_t index[HVI_NPY_MAX_DIMS] = {0}, stride[HVI_NPY_MAX_DIMS], step = 1, source = 0;
  for (size_t k = 0; k < a->dims; k++) {
    const size_t d = h->fortran_order ? k : a->dims - 1 - k;
    stride[d] = step;
    step *= a->shape[d];
  }
  for (size_t i = 0; i < a->size; i++) {
    const unsigned char *number = h->data + source * width;
    unsigned char turned[sizeof(double)];
    for (size_t k = 0; k < width; k++) turned[k] = number[width - 1 - k];
    hvi_tensor_load(&out[i], h->type, h->swapped ? turned : number, 1);
    for (size_t d = a->dims; d-- > 0;) {
      source += stride[d];
      if (++index[d] < a->shape[d]) break;
      source -= stride[d] * a->shape[d];
      index[d] = 0;
    }
  }
}

hvi_status hvi_npy_decode(hvi_array *out, const unsigned char *bytes, size_t size, const char *name,
                          hvi_error *err) {
  header h = {0};
  *out = (hvi_array){0};
  HVI_TRY(parse_header(&h, bytes, size, &(hvi_subject){name, HVI_ERROR_INPUT, err}));
  h.array.data = hvi_alloc_doubles(h.array.size);
  if (!h.array.data) return hvi_error_memory(err, "an array");
  load_numbers(h.array.data, &h);
  *out = h.array;
  return HVI_OK;
}

hvi_status hvi_npy_read(hvi_array *out, const char *path, size_t max_bytes, hvi_error *err) {
  HVI_OWN unsigned char *bytes = NULL;
  size_t size;
  *out = (hvi_array){0};
  if (max_bytes == 0) max_bytes = (size_t)1 << 30;
  HVI_TRY(hvi_file_read_bytes(&bytes, &size, path, max_bytes, err));
  return hvi_npy_decode(out, bytes, size, path, err);
}

/* The header of a float64 array in C order. The numbers start at a multiple of 64 bytes, so that
 * they can be mapped. The mark ends the padding. */
static void write_header(FILE *stream, size_t dims, const size_t *shape, const char *mark) {
  char axes[HVI_NPY_MAX_DIMS * 24] = "", text[sizeof axes + 80];
  for (size_t i = 0, used = 0; i < dims; i++)
    used += (size_t)snprintf(axes + used, sizeof axes - used, "%zu%s", shape[i],
                             dims == 1      ? ","
                             : i + 1 < dims ? ", "
                                            : "");
  const int length =
      snprintf(text, sizeof text, "{'descr': '%cf8', 'fortran_order': False, 'shape': (%s), }",
               machine_order, axes);
  const int tail = (int)strlen(mark);
  const int padded = (PREFIX_SIZE + length + tail + 63) / 64 * 64 - PREFIX_SIZE;
  fprintf(stream, "%s%c%c%c%c%-*s%s", magic, 1, 0, padded & 0xff, padded >> 8, padded - tail, text,
          mark);
}

hvi_status hvi_npy_write(const char *path, const double *data, size_t dims, const size_t *shape,
                         const char *mark, hvi_error *err) {
  const hvi_subject f = {path, HVI_ERROR_ARGUMENT, err};
  hvi_file file;
  size_t size;
  if (dims > HVI_NPY_MAX_DIMS)
    return hvi_refuse(&f, ": an array of %zu axes; at most %d are written", dims, HVI_NPY_MAX_DIMS);
  if (!hvi_multiply_shape(&size, dims, shape)) return hvi_refuse(&f, ": the shape is too large");
  HVI_TRY(hvi_file_create(&file, path, err));
  /* a failed write stays in the stream and is found by the commit */
  write_header(file.stream, dims, shape, mark);
  if (size) fwrite(data, sizeof *data, size, file.stream);
  return hvi_file_commit(&file, err);
}

void hvi_array_free(hvi_array *a) {
  if (!a) return;
  hvi_free(a->data);
  *a = (hvi_array){0};
}
