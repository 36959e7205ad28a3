/*
 * Tensors in memory, and their numbers as doubles or floats.
 *
 * Every type but I64 and U64 goes through double without loss. A result is refused when it is not finite,
 * when a float cannot hold it (an F64 beyond FLT_MAX), and when an integer would be rounded: over
 * 2^53 in a double, over 2^24 in a float, unless enough of its last bits are zero. Fractions are
 * rounded to the nearest float.
 */
#include "base/base.h"
#include "io/tensors_file.h"

/* memcpy, since a caller's tensor may lie anywhere */
#define LOADER(name, type)                                                                         \
  static void name(double *out, const unsigned char *p, size_t n) {                                \
    for (size_t i = 0; i < n; i++) {                                                               \
      type x;                                                                                      \
      memcpy(&x, p + i * sizeof x, sizeof x);                                                      \
      out[i] = (double)x;                                                                          \
    }                                                                                              \
  }

LOADER(load_u8, uint8_t)
LOADER(load_i8, int8_t)
LOADER(load_u16, uint16_t)
LOADER(load_i16, int16_t)
LOADER(load_u32, uint32_t)
LOADER(load_i32, int32_t)
LOADER(load_u64, uint64_t)
LOADER(load_i64, int64_t)
LOADER(load_f32, float)
LOADER(load_f64, double)

static void load_bool(double *out, const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = p[i] ? 1.0 : 0.0;
}

/* A sign, five bits of exponent (bias 15) and ten of fraction. */
static double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double size;
  if (exponent == 0x1f)
    size = fraction ? (double)NAN : (double)INFINITY;
  else if (exponent == 0)
    size = fraction * 0x1p-24;
  else
    size = ldexp(0x400 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

static void load_f16(double *out, const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = half_value((uint16_t)(p[2 * i] | p[2 * i + 1] << 8));
}

/* The upper half of a float. */
static void load_bf16(double *out, const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = (uint32_t)p[2 * i] << 16 | (uint32_t)p[2 * i + 1] << 24;
    float x;
    memcpy(&x, &bits, sizeof x);
    out[i] = (double)x;
  }
}

static const struct {
  const char *name;
  size_t size;
  void (*load)(double *out, const unsigned char *p, size_t n);
} types[HVI_TENSOR_TYPE_COUNT] = {
    [HVI_TENSOR_BOOL] = {"BOOL", 1, load_bool}, [HVI_TENSOR_U8] = {"U8", 1, load_u8},
    [HVI_TENSOR_I8] = {"I8", 1, load_i8},       [HVI_TENSOR_U16] = {"U16", 2, load_u16},
    [HVI_TENSOR_I16] = {"I16", 2, load_i16},    [HVI_TENSOR_U32] = {"U32", 4, load_u32},
    [HVI_TENSOR_I32] = {"I32", 4, load_i32},    [HVI_TENSOR_U64] = {"U64", 8, load_u64},
    [HVI_TENSOR_I64] = {"I64", 8, load_i64},    [HVI_TENSOR_F16] = {"F16", 2, load_f16},
    [HVI_TENSOR_BF16] = {"BF16", 2, load_bf16}, [HVI_TENSOR_F32] = {"F32", 4, load_f32},
    [HVI_TENSOR_F64] = {"F64", 8, load_f64},
};

size_t hvi_tensor_type_size(hvi_tensor_type type) {
  return (unsigned)type < HVI_TENSOR_TYPE_COUNT ? types[type].size : 0;
}

const char *hvi_tensor_type_name(hvi_tensor_type type) {
  return (unsigned)type < HVI_TENSOR_TYPE_COUNT ? types[type].name : "unknown";
}

hvi_tensor_type hvi_tensor_type_find(const char *name) {
  hvi_tensor_type type = HVI_TENSOR_BOOL;
  while (type < HVI_TENSOR_TYPE_COUNT && strcmp(types[type].name, name) != 0) type++;
  return type;
}

void hvi_tensor_load(double *out, hvi_tensor_type type, const unsigned char *data, size_t n) {
  types[type].load(out, data, n);
}

size_t hvi_tensor_count(const hvi_tensor *t) {
  size_t count = 1;
  for (size_t i = 0; i < t->dims; i++) count *= t->shape[i];
  return count;
}

const hvi_tensor *hvi_tensors_find(const hvi_tensors *t, const char *name) {
  for (size_t i = 0; i < t->count; i++)
    if (!strcmp(t->items[i].name, name)) return &t->items[i];
  return NULL;
}

const char *hvi_tensors_note(const hvi_tensors *t, const char *key) {
  for (size_t i = 0; i < t->note_count; i++)
    if (!strcmp(t->notes[i].key, key)) return t->notes[i].text;
  return NULL;
}

/* Numbers taken at a time: enough to forget the switch, few enough for the first-level cache. */
enum { BLOCK = 512 };

/* An I64 or U64 that a double would round. */
static hvi_status check_long(const hvi_tensor *t, size_t count, hvi_error *err) {
  const unsigned char *p = t->data;
  const bool natural = t->type == HVI_TENSOR_U64;
  for (size_t i = 0; i < count; i++) {
    uint64_t x;
    memcpy(&x, p + i * sizeof x, sizeof x);
    const bool negative = !natural && x >> 63;
    const uint64_t size = negative ? 0 - x : x;
    const double rounded = (double)size;
    /* 2^64, to which the largest are rounded, has no uint64_t */
    if (rounded < 0x1p64 && (uint64_t)rounded == size) continue;
    return hvi_error_input(err,
                           "tensor '%.80s' has %s%ju at index %zu, which a double cannot hold "
                           "exactly (at most 2^53 fits)",
                           t->name, negative ? "-" : "", (uintmax_t)size, i);
  }
  return HVI_OK;
}

/* x[n], numbers `first` and on of t, and as floats, unless out is NULL. */
static hvi_status check_block(float *out, const double *x, size_t n, const hvi_tensor *t,
                              size_t first, hvi_error *err) {
  const bool exact = t->type >= HVI_TENSOR_U32 && t->type <= HVI_TENSOR_I64;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(x[i]))
      return hvi_error_input(err, "tensor '%.80s' has %s at index %zu; its numbers must be finite",
                             t->name, isnan(x[i]) ? "nan" : "an infinity", first + i);
    if (!out) continue;
    out[i] = (float)x[i];
    if (isfinite(out[i]) && (!exact || (double)out[i] == x[i])) continue;
    return hvi_error_input(
        err, "tensor '%.80s' has %.17g at index %zu, which a float cannot hold%s", t->name, x[i],
        first + i, exact ? " exactly (at most 2^24 fits)" : " (at most 3.4e38 fits)");
  }
  return HVI_OK;
}

/* To doubles, or through a block of doubles to floats. */
static hvi_status convert(double *doubles, float *floats, const hvi_tensor *t, hvi_error *err) {
  if ((unsigned)t->type >= HVI_TENSOR_TYPE_COUNT)
    return hvi_error_argument(err, "tensor '%.80s' has an unknown type", t->name);
  const unsigned char *p = t->data;
  const size_t count = hvi_tensor_count(t), width = hvi_tensor_type_size(t->type);
  double block[BLOCK];
  if (t->type == HVI_TENSOR_I64 || t->type == HVI_TENSOR_U64) HVI_TRY(check_long(t, count, err));
  for (size_t i = 0; i < count; i += BLOCK) {
    const size_t n = count - i < BLOCK ? count - i : BLOCK;
    double *x = doubles ? doubles + i : block;
    hvi_tensor_load(x, t->type, p + i * width, n);
    HVI_TRY(check_block(floats ? floats + i : NULL, x, n, t, i, err));
  }
  return HVI_OK;
}

hvi_status hvi_tensor_doubles(double *out, const hvi_tensor *t, hvi_error *err) {
  return convert(out, NULL, t, err);
}

hvi_status hvi_tensor_floats(float *out, const hvi_tensor *t, hvi_error *err) {
  return convert(NULL, out, t, err);
}
