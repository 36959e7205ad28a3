/*
 * A file begins with magic, version, length, and a Python dictionary such as
 *
 *   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), }
 */
#include "io/npy.h"

#include "base/base.h"
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
  char descr[HVI_NPY_DESCR];   /* the type as NumPy names it */
  bool swapped, fortran_order; /* swapped: the bytes of a number are not in the machine's order */
  size_t size;                 /* product of the shape */
  hvi_tensor t;                /* type HVI_TENSOR_TYPE_COUNT: none that is read; data in the file */
} header;

/* (), (3,), (3, 5), (3, 5,): a tuple of one number needs its comma. */
static bool take_shape(cursor *c, hvi_tensor *t) {
  bool comma = false;
  if (!take(c, "(")) return false;
  for (t->dims = 0; !take(c, ")"); t->dims++) {
    if (t->dims == HVI_TENSOR_MAX_DIMS || (t->dims > 0 && !comma)) return false;
    if (!take_number(c, &t->shape[t->dims])) return false;
    comma = take(c, ",");
  }
  return t->dims != 1 || comma;
}

/* '<f8', '>i4', '|b1': order of bytes, kind and width, which make F64, I32, BOOL. */
static void parse_type(header *h) {
  const char *d = h->descr;
  const bool single = strlen(d) == 3 && d[2] == '1';
  char name[16] = "BOOL";
  h->t.type = HVI_TENSOR_TYPE_COUNT;
  if (strlen(d) != 3 || !strchr(single ? "|" : "<>", d[0])) return;
  if (strcmp(d + 1, "b1") != 0)
    snprintf(name, sizeof name, "%c%d", d[1] - 'a' + 'A', 8 * (d[2] - '0'));
  h->t.type = hvi_tensor_type_find(name);
  h->swapped = !single && d[0] != machine_order;
}

/* A structure [('x', '<f4'), ...], whose type is no text. */
static bool skip_list(cursor *c, char *descr) {
  size_t depth = 0;
  if (c->at == c->end || *c->at != '[') return false;
  do {
    depth += *c->at == '[';
    depth -= *c->at == ']';
  } while (++c->at < c->end && depth > 0);
  strcpy(descr, "structure");
  return depth == 0;
}

/* {"key": value, ...} with each of the three keys once, in any order. */
static bool take_dictionary(cursor *c, header *h) {
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
    if (k == 0 && !take_string(c, h->descr, sizeof h->descr) && !skip_list(c, h->descr))
      return false;
    if (k == 1) h->fortran_order = take(c, "True");
    if (k == 1 && !h->fortran_order && !take(c, "False")) return false;
    if (k == 2 && !take_shape(c, &h->t)) return false;
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

/* Checks everything that comes before the numbers, and, where their type is read, that they fill
 * the rest of the file. */
static hvi_status parse_header(header *h, const unsigned char *bytes, size_t size,
                               const hvi_subject *f) {
  cursor c = {0};
  HVI_TRY(locate(&c, bytes, size, f));
  h->t.data = c.end;
  const size_t there = size - (size_t)(c.end - (const char *)bytes);
  if (!take_dictionary(&c, h))
    return hvi_refuse(f,
                      " has a .npy header that is not understood near byte %zu; expected {'descr': "
                      "'<f8', 'fortran_order': False, 'shape': (3, 5), } with at most %d axes",
                      (size_t)(c.at - (const char *)bytes), HVI_TENSOR_MAX_DIMS);
  parse_type(h);
  if (!hvi_multiply_shape(&h->size, h->t.dims, h->t.shape))
    return hvi_refuse(f, " has a shape too large for any memory");
  const size_t needed = h->size * hvi_tensor_type_size(h->t.type);
  if (there == needed || h->t.type == HVI_TENSOR_TYPE_COUNT) return HVI_OK;
  return hvi_refuse(f, " has %zu bytes of numbers; its shape and type need %zu (%s)", there, needed,
                    there < needed ? "truncated?" : "something was appended?");
}

/* The numbers in row-major order and the machine's order of bytes. In a Fortran file the first axis
 * is the one that moves by one number. */
static void arrange(unsigned char *out, const header *h) {
  const hvi_tensor *t = &h->t;
  const size_t width = hvi_tensor_type_size(t->type);
  size_t index[HVI_TENSOR_MAX_DIMS] = {0}, stride[HVI_TENSOR_MAX_DIMS], step = 1, source = 0;
  for (size_t k = 0; k < t->dims; k++) {
    const size_t d = h->fortran_order ? k : t->dims - 1 - k;
    stride[d] = step;
    step *= t->shape[d];
  }
  for (size_t i = 0; i < h->size; i++, out += width) {
    const unsigned char *number = (const unsigned char *)t->data + source * width;
    for (size_t k = 0; k < width; k++) out[k] = number[h->swapped ? width - 1 - k : k];
    for (size_t d = t->dims; d-- > 0;) {
      source += stride[d];
      if (++index[d] < t->shape[d]) break;
      source -= stride[d] * t->shape[d];
      index[d] = 0;
    }
  }
}

hvi_status hvi_npy_tensor(hvi_tensor *t, char descr[HVI_NPY_DESCR], unsigned char *bytes,
                          size_t size, const hvi_subject *f) {
  header h = {.t = *t};
  HVI_TRY(parse_header(&h, bytes, size, f));
  const size_t all = h.size * hvi_tensor_type_size(h.t.type);
  memcpy(descr, h.descr, sizeof h.descr);
  *t = h.t;
  if (t->type == HVI_TENSOR_TYPE_COUNT) return HVI_OK;
  t->data = bytes;
  const bool ordered = !h.swapped && (!h.fortran_order || t->dims < 2);
  HVI_OWN unsigned char *turned = ordered ? NULL : hvi_alloc(all, 1);
  if (!ordered && !turned) return hvi_error_memory(f->err, "an array");
  if (!ordered) arrange(turned, &h);
  memmove(bytes, ordered ? h.t.data : turned, all);
  return HVI_OK;
}

hvi_status hvi_npy_decode(hvi_array *out, const unsigned char *bytes, size_t size, const char *name,
                          hvi_error *err) {
  header h = {0};
  const hvi_subject f = {name, HVI_ERROR_INPUT, err};
  *out = (hvi_array){0};
  HVI_TRY(parse_header(&h, bytes, size, &f));
  if (h.t.type == HVI_TENSOR_TYPE_COUNT)
    return hvi_refuse(
        &f, " holds numbers of type '%s'; f2 to f8, i1 to i8, u1 to u8 and b1 are read", h.descr);
  HVI_OWN unsigned char *numbers = hvi_alloc(h.size, hvi_tensor_type_size(h.t.type));
  double *data = numbers ? hvi_alloc_doubles(h.size) : NULL;
  if (!data) return hvi_error_memory(err, "an array");
  arrange(numbers, &h);
  hvi_tensor_load(data, h.t.type, numbers, h.size);
  *out = (hvi_array){.dims = h.t.dims, .size = h.size, .data = data};
  memcpy(out->shape, h.t.shape, sizeof out->shape);
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
  char axes[HVI_TENSOR_MAX_DIMS * 24] = "", text[sizeof axes + 80];
  for (size_t i = 0; i < dims; i++)
    hvi_append(axes, sizeof axes, "%s%zu%s", i ? ", " : "", shape[i], dims == 1 ? "," : "");
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
  if (dims > HVI_TENSOR_MAX_DIMS)
    return hvi_refuse(&f, ": an array of %zu axes; at most %d are written", dims,
                      HVI_TENSOR_MAX_DIMS);
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
