#include "num/npy_header.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC_SIZE = 6, PREFIX_SIZE = 10, MAX_HEADER = 65536 };

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

/* A quoted string without escapes, NUL-terminated into out[room]. */
static bool take_string(cursor *c, char *out, size_t room) {
  skip_space(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
  char quote = *c->at++;
  size_t length = 0;
  while (c->at < c->end && *c->at != quote) {
    if (length + 1 >= room || *c->at == '\\' || *c->at == '\0') return false;
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

/* (), (3,), (3, 5), (3, 5,): a tuple of one number needs its comma. */
static bool take_shape(cursor *c, hvi_npy_header *h) {
  bool comma = false;
  if (!take(c, '(')) return false;
  for (h->dims = 0; !take(c, ')'); h->dims++) {
    if (h->dims == HVI_NPY_MAX_DIMS || (h->dims > 0 && !comma)) return false;
    if (!take_number(c, &h->shape[h->dims])) return false;
    comma = take(c, ',');
  }
  return h->dims != 1 || comma;
}

/* The types that are read, named as NumPy names them. */
static bool parse_type(hvi_npy_header *h, const char *type) {
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

typedef struct entries {
  bool type, order, shape; /* which have been seen */
  char type_name[32];
} entries;

/* One "key: value". */
static bool take_entry(cursor *c, hvi_npy_header *h, entries *seen) {
  char key[32];
  if (!take_string(c, key, sizeof key) || !take(c, ':')) return false;
  if (!strcmp(key, "descr") && !seen->type) {
    seen->type = true;
    return take_string(c, seen->type_name, sizeof seen->type_name);
  }
  if (!strcmp(key, "fortran_order") && !seen->order) {
    seen->order = true;
    h->fortran_order = take_word(c, "True");
    return h->fortran_order || take_word(c, "False");
  }
  if (!strcmp(key, "shape") && !seen->shape) {
    seen->shape = true;
    return take_shape(c, h);
  }
  return false;
}

static bool take_dictionary(cursor *c, hvi_npy_header *h, entries *seen) {
  bool comma = true;
  if (!take(c, '{')) return false;
  while (!take(c, '}')) {
    if (!comma || !take_entry(c, h, seen)) return false;
    comma = take(c, ',');
  }
  skip_space(c);
  return c->at == c->end && seen->type && seen->order && seen->shape;
}

static bool multiply_shape(hvi_npy_header *h) {
  size_t bytes;
  h->size = 1;
  for (size_t i = 0; i < h->dims; i++) {
    if (!hvi_multiply_sizes(h->size, h->shape[i], &h->size)) return false;
  }
  return hvi_multiply_sizes(h->size, sizeof(double), &bytes);
}

/* Magic, version and length: gives where the dictionary starts and ends. */
static hvi_status locate(size_t *start, size_t *end, const unsigned char *bytes, size_t size,
                         const char *name, hvi_error *err) {
  if (size < MAGIC_SIZE || memcmp(bytes, magic, MAGIC_SIZE) != 0) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' is not a .npy file: it does not start with \\x93NUMPY", name);
  }
  if (size < PREFIX_SIZE + 2) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' ends within the .npy header", name);
  }
  unsigned version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' has .npy version %u.%u; 1.0, 2.0 and 3.0 are read", name, version,
                         (unsigned)bytes[7]);
  }
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (version > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  *start = version > 1 ? PREFIX_SIZE + 2 : PREFIX_SIZE;
  if (length > MAX_HEADER) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' has a .npy header of %zu bytes; at most %d are read", name, length,
                         MAX_HEADER);
  }
  if (length > size - *start) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' ends within the .npy header", name);
  }
  *end = *start + length;
  return HVI_OK;
}

hvi_status hvi_npy_header_parse(hvi_npy_header *h, const unsigned char *bytes, size_t size,
                                const char *name, hvi_error *err) {
  *h = (hvi_npy_header){0};
  size_t start = 0, end = 0;
  hvi_status status = locate(&start, &end, bytes, size, name, err);
  if (status != HVI_OK) return status;
  h->data_offset = end;
  cursor c = {(const char *)bytes + start, (const char *)bytes + end};
  entries seen = {0};
  if (!take_dictionary(&c, h, &seen)) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' has a .npy header that is not understood near byte %zu; expected "
                         "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), } with at most "
                         "%d axes",
                         name, (size_t)(c.at - (const char *)bytes), HVI_NPY_MAX_DIMS);
  }
  if (!parse_type(h, seen.type_name)) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "'%s' holds numbers of type '%s'; <f8, <f4, <i8, <i4, |b1, >f8 and >f4 "
                         "are read",
                         name, seen.type_name);
  }
  if (!multiply_shape(h)) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has a shape too large for any memory", name);
  }
  return HVI_OK;
}

/* The numbers start at a multiple of 64 bytes, so that they can be mapped. */
size_t hvi_npy_header_write(char out[HVI_NPY_HEADER_ROOM], size_t dims, const size_t *shape) {
  char *text = out + PREFIX_SIZE;
  size_t room = HVI_NPY_HEADER_ROOM - PREFIX_SIZE, length = 0;
  length += (size_t)snprintf(text, room, "{'descr': '<f8', 'fortran_order': False, 'shape': (");
  for (size_t i = 0; i < dims; i++) {
    const char *mark = dims == 1 ? "," : i + 1 < dims ? ", " : "";
    length += (size_t)snprintf(text + length, room - length, "%zu%s", shape[i], mark);
  }
  length += (size_t)snprintf(text + length, room - length, "), }");
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
