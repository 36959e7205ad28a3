#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <hvi/tensors.h>

#include "base/file.h"
#include "support/starve.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char folder[64], path[128];

static int enter(void **state) {
  (void)state;
  strcpy(folder, "/tmp/hvi-tensors-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof path, "%s/t.safetensors", folder);
  return 0;
}

static int leave(void **state) {
  (void)state;
  unlink(path);
  return rmdir(folder);
}

static size_t count_files(void) {
  size_t count = 0;
  DIR *d = opendir(folder);
  assert_non_null(d);
  for (const struct dirent *e; (e = readdir(d));) count += e->d_name[0] != '.';
  closedir(d);
  return count;
}

/* A file under construction in memory. */
typedef struct bytes {
  unsigned char data[4096];
  size_t size;
} bytes;

static void append(bytes *b, const void *data, size_t size) {
  assert_true(b->size + size <= sizeof b->data);
  memcpy(b->data + b->size, data, size);
  b->size += size;
}

/* A file of this header and data_size bytes 1, 0, 1, 0, ... (a BOOL or anything else). */
static bytes *file_of(const char *header, size_t data_size) {
  static bytes b;
  const size_t length = strlen(header);
  b.size = 0;
  for (int i = 0; i < 8; i++) append(&b, &(unsigned char){(unsigned char)(length >> 8 * i)}, 1);
  append(&b, header, length);
  for (size_t i = 0; i < data_size; i++) append(&b, i % 2 ? "\0" : "\1", 1);
  return &b;
}

static hvi_status decode(hvi_tensors **t, const bytes *b, hvi_error *err) {
  /* a copy of the exact size lets a sanitizer see every read beyond it */
  unsigned char *exact = malloc(b->size ? b->size : 1);
  memcpy(exact, b->data, b->size);
  hvi_status status = hvi_tensors_decode(t, exact, b->size, "a.safetensors", err);
  free(exact);
  return status;
}

static void assert_refused(const bytes *b, const char *reason) {
  hvi_tensors *t = (hvi_tensors *)(void *)&t;
  hvi_error err = {0};
  assert_int_equal(decode(&t, b, &err), HVI_ERROR_INPUT);
  assert_null(t);
  if (!strstr(err.text, reason) || !strstr(err.text, "'a.safetensors'"))
    fail_msg("'%s' does not say '%s'", err.text, reason);
}

static const float weights[2][3] = {{0.1f, -0.0f, 3e38f}, {1e-45f, 5, 6}};
static const double number = 0.1;
static const int64_t longs[] = {INT64_MIN, INT64_MAX};
static const int32_t ints[] = {INT32_MIN, -1, INT32_MAX};
static const uint16_t halves[] = {0x3c00, 0x7bff, 0xffff};
static const unsigned char truths[] = {1, 0, 1}, octets[] = {0, 255, 7, 8, 9};

static const hvi_tensor all[] = {
    {"truth", HVI_TENSOR_BOOL, 1, {3}, truths},
    {"octet", HVI_TENSOR_U8, 2, {5, 1}, octets},
    {"int", HVI_TENSOR_I32, 1, {3}, ints},
    {"long", HVI_TENSOR_I64, 1, {2}, longs},
    {"half", HVI_TENSOR_F16, 1, {3}, halves},
    {"brain", HVI_TENSOR_BF16, 8, {1, 1, 1, 1, 1, 1, 1, 3}, halves},
    {"fc1.weight", HVI_TENSOR_F32, 2, {2, 3}, weights},
    {"scalar", HVI_TENSOR_F64, 0, {0}, &number},
    {"none", HVI_TENSOR_F32, 2, {4, 0}, NULL},
    {"", HVI_TENSOR_U8, 1, {1}, octets},
    {"quote \" slash \\ tab \t \xc3\xa9 \xf0\x9f\x8d\xb0", HVI_TENSOR_F32, 1, {1}, weights},
};
enum { ALL = sizeof all / sizeof all[0] };

static const hvi_tensor_note notes[] = {
    {"made by", "hvi"}, {"odd \"\n", "line 1\nline 2 \xe2\x82\xac"}, {"", ""}};
enum { NOTES = sizeof notes / sizeof notes[0] };

static void assert_same_tensor(const hvi_tensors *t, const hvi_tensor *expected) {
  const hvi_tensor *found = hvi_tensors_find(t, expected->name);
  assert_non_null(found);
  assert_string_equal(found->name, expected->name);
  assert_int_equal(found->type, expected->type);
  assert_int_equal(found->dims, expected->dims);
  assert_memory_equal(found->shape, expected->shape, sizeof found->shape);
  assert_int_equal((uintptr_t)found->data % hvi_tensor_type_size(found->type), 0);
  size_t size = hvi_tensor_count(expected) * hvi_tensor_type_size(expected->type);
  if (size) assert_memory_equal(found->data, expected->data, size);
}

static void what_is_written_is_read(void **state) {
  (void)state;
  hvi_tensors *t;
  assert_int_equal(hvi_tensors_write(path, all, ALL, notes, NOTES, NULL), HVI_OK);
  assert_int_equal(hvi_tensors_read(&t, path, 0, NULL), HVI_OK);
  assert_int_equal(t->count, ALL);
  for (size_t i = 0; i < ALL; i++) assert_same_tensor(t, &all[i]);
  assert_int_equal(t->note_count, NOTES);
  for (size_t i = 0; i < NOTES; i++)
    assert_string_equal(hvi_tensors_note(t, notes[i].key), notes[i].text);
  assert_null(hvi_tensors_find(t, "fc1"));
  assert_null(hvi_tensors_find(t, "__metadata__"));
  assert_null(hvi_tensors_note(t, "truth"));
  hvi_tensors_free(t);
  hvi_tensors_free(NULL);
}

static void nothing_is_a_file_too(void **state) {
  (void)state;
  hvi_tensors *t;
  assert_int_equal(hvi_tensors_write(path, NULL, 0, NULL, 0, NULL), HVI_OK);
  assert_int_equal(hvi_tensors_read(&t, path, 0, NULL), HVI_OK);
  assert_int_equal(t->count, 0);
  assert_int_equal(t->note_count, 0);
  hvi_tensors_free(t);
}

/* The checksum of a tensor or a note, worked out word by word. */
static uint64_t fold(uint64_t sum, const void *data, size_t size) {
  const unsigned char *byte = data;
  for (size_t i = 0, word = size;; i += 8) {
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    sum ^= sum >> 32;
    if (i >= size) return sum;
    word = 0;
    for (size_t k = 0; k < 8 && i + k < size; k++) word |= (uint64_t)byte[i + k] << 8 * k;
  }
}

static uint64_t fold_tensor(const char *name, const char *type, size_t dims, const void *data,
                            size_t size) {
  const uint64_t one = size == 3 ? 3 : 1; /* each axis of the file below */
  uint64_t sum = fold(UINT64_C(0xcbf29ce484222325), name, strlen(name));
  sum = fold(sum, type, strlen(type));
  for (size_t i = 0; i < dims; i++) sum = fold(sum, &one, 8);
  return fold(sum, data, size);
}

/* The whole file, worked out by hand: wide types first, then names, the header filled up to 64. */
static void the_bytes_are_fixed(void **state) {
  (void)state;
  const hvi_tensor given[] = {all[0],
                              all[7],
                              {"b", HVI_TENSOR_I32, 1, {1}, ints},
                              {"a", HVI_TENSOR_F32, 2, {1, 1}, weights}};
  const hvi_tensor turned[] = {given[3], given[2], given[1], given[0]};
  const uint64_t sum =
      fold_tensor("scalar", "F64", 0, &number, 8) + fold_tensor("a", "F32", 2, weights, 4) +
      fold_tensor("b", "I32", 1, ints, 4) + fold_tensor("truth", "BOOL", 1, truths, 3) +
      fold(fold(~UINT64_C(0xcbf29ce484222325), "k", 1), "v", 1);
  char start[80];
  snprintf(start, sizeof start, "{\"__metadata__\":{\"hvi.checksum\":\"%016llx\",\"k\":\"v\"},",
           (unsigned long long)sum);
  const char *header = "\"scalar\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
                       "\"a\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[8,12]},"
                       "\"b\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[12,16]},"
                       "\"truth\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[16,19]}}";
  static bytes expected;
  expected.size = 0;
  append(&expected, "\x38\1\0\0\0\0\0", 8);
  append(&expected, start, strlen(start));
  append(&expected, header, strlen(header));
  while (expected.size < 8 + 0x138) append(&expected, " ", 1);
  append(&expected, &number, 8);
  append(&expected, weights, 4);
  append(&expected, ints, 4);
  append(&expected, truths, 3);
  for (int i = 0; i < 2; i++) {
    unsigned char *file;
    size_t size;
    assert_int_equal(
        hvi_tensors_write(path, i ? turned : given, 4, &(hvi_tensor_note){"k", "v"}, 1, NULL),
        HVI_OK);
    assert_int_equal(hvi_file_read_bytes(&file, &size, path, 4096, NULL), HVI_OK);
    assert_int_equal(size, expected.size);
    assert_memory_equal(file, expected.data, size);
    hvi_free(file);
  }
}

/* Other writers neither pad nor sort; places need not follow the order of names. */
static void unaligned_files_are_read(void **state) {
  (void)state;
  const char *header = "{\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[7,15]},"
                       "\"u\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3],\"extra\":1},"
                       "\"empty\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[15,15]},"
                       "\"f\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[3,7]}}%*s";
  const hvi_tensor expected[] = {{"u", HVI_TENSOR_U8, 1, {3}, octets},
                                 {"f", HVI_TENSOR_F32, 0, {0}, weights},
                                 {"d", HVI_TENSOR_F64, 1, {1}, &number},
                                 {"empty", HVI_TENSOR_I64, 1, {0}, NULL}};
  for (int padding = 0; padding < 8; padding++) {
    char text[512];
    snprintf(text, sizeof text, header, padding, "");
    bytes *b = file_of(text, 0);
    append(b, octets, 3);
    append(b, weights, 4);
    append(b, &number, 8);
    hvi_tensors *t;
    assert_int_equal(decode(&t, b, NULL), HVI_OK);
    assert_int_equal(t->count, 4);
    for (size_t i = 0; i < 4; i++) {
      assert_same_tensor(t, &expected[i]);
      assert_string_equal(t->items[i].name, expected[i].name);
    }
    hvi_tensors_free(t);
  }
}

static void wrong_beginnings_are_refused(void **state) {
  (void)state;
  bytes *b = file_of("{}", 0);
  b->data[7] = 0x10; /* 2^60 and two */
  assert_refused(b, "announce a header of 1152921504606846978 bytes; at most 16000000 are read");
  memset(b->data, 0xff, 8);
  assert_refused(b, "announce a header of 18446744073709551615 bytes");
  b = file_of("{}", 0);
  b->data[0] = 3;
  assert_refused(b, "announces a header of 3 bytes and has 2 after the first eight");
  b->data[0] = 0;
  assert_refused(b, "does not start with '{'");
  assert_refused(file_of("[]", 0), "does not start with '{'");
  assert_refused(file_of(" {}", 0), "does not start with '{'");
  assert_refused(file_of("", 0), "does not start with '{'");
}

static void broken_json_is_refused(void **state) {
  (void)state;
  const char *const broken[] = {
      "{",
      "{}}",
      "{'a': 1}",
      "{\"a\": }",
      "{\"\xff\": 1}",
      "{\"a\\u0000b\": 1}",
      "{\"a\": {\"dtype\": \"U8\", \"shape\": [99999999999999999999], \"data_offsets\": [0, 1]}}",
      "{\"a\": {\"dtype\": \"U8\", \"shape\": [1e999], \"data_offsets\": [0, 1]}}",
      "{\"a\": {\"dtype\": \"U8\", \"shape\": [NaN], \"data_offsets\": [0, 1]}}",
  };
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
    assert_refused(file_of(broken[i], 1), "the header is not valid JSON at byte");
  assert_refused(file_of("{\"a\": 1, \"a\": 1}", 0), "duplicate object key");
  assert_refused(file_of("{\"a\": {\"dtype\": \"U8\", \"dtype\": \"U8\"}}", 0), "duplicate");
  bytes *b = file_of("{} ", 0);
  b->data[b->size - 1] = '\0';
  assert_refused(b, "not valid JSON");
  b = file_of("{", 0);
  for (int i = 0; i < 3000; i++) append(b, "[", 1);
  b->data[0] = (3001 & 0xff);
  b->data[1] = 3001 >> 8;
  assert_refused(b, "not valid JSON");
}

/* One tensor 'w' of 4 bytes of data, described so. */
static void wrong_descriptions_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *reason;
  } cases[] = {
      {"[]", "is not described by an object with dtype, shape and data_offsets"},
      {"null", "is not described by an object"},
      {"{}", "has no dtype; it is a text such as \"F32\""},
      {"{\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]}", "has no dtype"},
      {"{\"dtype\":\"F128\",\"shape\":[1],\"data_offsets\":[0,4]}",
       "of type 'F128'; BOOL, U8 to U64, I8 to I64, F16, BF16, F32 and F64 are read"},
      {"{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}", "of type 'f32'"},
      {"{\"dtype\":\"\",\"shape\":[1],\"data_offsets\":[0,4]}", "of type ''"},
      {"{\"dtype\":\"F32\",\"data_offsets\":[0,4]}", "has no shape; it is a list"},
      {"{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}", "has no shape"},
      {"{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}",
       "has a shape whose number 1 is not a whole number from 0 up"},
      {"{\"dtype\":\"F32\",\"shape\":[1,1.0],\"data_offsets\":[0,4]}", "whose number 2 is not"},
      {"{\"dtype\":\"F32\",\"shape\":[true],\"data_offsets\":[0,4]}", "whose number 1 is not"},
      {"{\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]}", "whose number 1 is not"},
      {"{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}",
       "has 9 axes; at most 8 are read"},
      {"{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}",
       "has a shape too large for any memory"},
      {"{\"dtype\":\"F32\",\"shape\":[0,4294967296,4294967296],\"data_offsets\":[0,0]}",
       "has a shape too large for any memory"},
      {"{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}",
       "has a shape too large for any memory"},
      {"{\"dtype\":\"F32\",\"shape\":[1]}", "has no data_offsets; they are two whole numbers"},
      {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}", "has no data_offsets"},
      {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}", "has no data_offsets"},
      {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}", "has no data_offsets"},
      {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]}", "has no data_offsets"},
      {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}",
       "runs backwards, from byte 4 to 0 of the data"},
      {"{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}",
       "takes 4 bytes; 2 numbers of type F32 need 8"},
      {"{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,0]}",
       "takes 0 bytes; 1 numbers of type F32 need 4"},
      {"{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}",
       "ends at byte 8 of the data, of which there are 4 (truncated?)"},
      {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}",
       "begins at byte 4 of the data, after a gap; it should begin at 0"},
      {"{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[9223372036854775803,"
       "9223372036854775807]}",
       "after a gap"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[256];
    snprintf(text, sizeof text, "{\"w\":%s}", cases[i].text);
    assert_refused(file_of(text, 4), cases[i].reason);
    assert_refused(file_of(text, 4), ": tensor 'w' ");
  }
}

static void wrong_places_are_refused(void **state) {
  (void)state;
  const char *pair = "{\"v\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
                     "\"w\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[%d,%d]}}";
  static const struct {
    int begin, end;
    size_t size;
    const char *reason;
  } cases[] = {
      {0, 4, 4, "tensor 'w' begins at byte 0 of the data, within another tensor"},
      {3, 7, 7,
       "tensor 'w' begins at byte 3 of the data, within another tensor; it should begin "
       "at 4"},
      {1, 3, 4, "within another tensor"},
      {2, 2, 4, "within another tensor"},
      {5, 9, 9, "tensor 'w' begins at byte 5 of the data, after a gap; it should begin at 4"},
      {4, 8, 7, "tensor 'w' ends at byte 8 of the data, of which there are 7"},
      {4, 8, 10, "has 2 bytes after its last tensor; it should end there"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[256];
    snprintf(text, sizeof text, pair, cases[i].end - cases[i].begin, cases[i].begin, cases[i].end);
    assert_refused(file_of(text, cases[i].size), cases[i].reason);
  }
  assert_refused(file_of("{}", 1), "has 1 bytes after its last tensor");
}

static void wrong_notes_are_refused(void **state) {
  (void)state;
  assert_refused(file_of("{\"__metadata__\":[]}", 0), "__metadata__ is not an object");
  assert_refused(file_of("{\"__metadata__\":null}", 0), "__metadata__ is not an object");
  assert_refused(file_of("{\"__metadata__\":{\"steps\":5}}", 0),
                 "'steps' in __metadata__ is not text; it is a map from text to text");
  assert_refused(file_of("{\"__metadata__\":{},\"__metadata__\":{}}", 0), "duplicate");
}

static void a_bool_is_zero_or_one(void **state) {
  (void)state;
  const unsigned char bad[] = {1, 0, 2};
  bytes *b = file_of("{\"w\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}", 0);
  append(b, bad, 3);
  assert_refused(b, "tensor 'w' has 2 at index 2; a BOOL is 0 or 1");
}

/* Names may be long and hold anything; the text stays one line and keeps its end. */
static void odd_names_make_one_line(void **state) {
  (void)state;
  char text[1000];
  snprintf(text, sizeof text, "{\"line\\nbreak%0500d\":{\"dtype\":\"X\\n\"}}", 0);
  assert_refused(file_of(text, 0), "tensor 'line?break000");
  assert_refused(file_of(text, 0), "of type 'X?'; BOOL, U8 to");
}

static void every_truncation_is_refused(void **state) {
  (void)state;
  unsigned char *file;
  size_t size;
  static bytes b;
  assert_int_equal(hvi_tensors_write(path, all, ALL, notes, NOTES, NULL), HVI_OK);
  assert_int_equal(hvi_file_read_bytes(&file, &size, path, sizeof b.data, NULL), HVI_OK);
  b.size = 0;
  append(&b, file, size);
  hvi_free(file);
  for (b.size = 0; b.size < size; b.size++)
    assert_refused(&b, b.size < 8 ? "the length of the header alone takes 8" : "(truncated?)");
  hvi_tensors *t;
  assert_int_equal(decode(&t, &b, NULL), HVI_OK);
  hvi_tensors_free(t);
  append(&b, "", 1);
  assert_refused(&b, "has 1 bytes after its last tensor");
}

static void files_have_limits(void **state) {
  (void)state;
  hvi_tensors *t;
  hvi_error err;
  assert_int_equal(hvi_tensors_write(path, &all[7], 1, NULL, 0, NULL), HVI_OK);
  assert_int_equal(hvi_tensors_read(&t, path, 135, &err), HVI_ERROR_INPUT);
  assert_non_null(strstr(err.text, "has 136 bytes; at most 135 are read"));
  assert_null(t);
  assert_int_equal(hvi_tensors_read(&t, path, 136, NULL), HVI_OK);
  hvi_tensors_free(t);
  assert_int_equal(hvi_tensors_read(&t, folder, 0, NULL), HVI_ERROR_IO);
  assert_int_equal(hvi_tensors_read(&t, "/nowhere.safetensors", 0, NULL), HVI_ERROR_IO);
  assert_null(t);
}

static void assert_not_written(const hvi_tensor *items, size_t count, const hvi_tensor_note *note,
                               const char *reason) {
  hvi_error err = {0};
  unlink(path);
  assert_int_equal(hvi_tensors_write(path, items, count, note, note ? 1 : 0, &err),
                   HVI_ERROR_ARGUMENT);
  if (!strstr(err.text, reason)) fail_msg("'%s' does not say '%s'", err.text, reason);
  assert_int_equal(count_files(), 0);
}

static void what_could_not_be_read_is_not_written(void **state) {
  (void)state;
  const hvi_tensor twice[] = {{"a", HVI_TENSOR_F32, 1, {1}, weights},
                              {"a", HVI_TENSOR_F64, 1, {1}, &number}};
  assert_not_written(twice, 2, NULL, "the name 'a' is given twice");
  hvi_tensor t = {"__metadata__", HVI_TENSOR_F32, 1, {1}, weights};
  assert_not_written(&t, 1, NULL, "kept for the notes");
  t.name = NULL;
  assert_not_written(&t, 1, NULL, "no name");
  t.name = "\xff";
  assert_not_written(&t, 1, NULL, "UTF-8");
  t = (hvi_tensor){"w", HVI_TENSOR_TYPE_COUNT, 1, {1}, weights};
  assert_not_written(&t, 1, NULL, "tensor 'w' has an unknown type");
  t = (hvi_tensor){"w", HVI_TENSOR_F32, 9, {1, 1, 1, 1, 1, 1, 1, 1}, weights};
  assert_not_written(&t, 1, NULL, "more than 8 axes");
  t = (hvi_tensor){"w", HVI_TENSOR_F32, 2, {SIZE_MAX, 2}, weights};
  assert_not_written(&t, 1, NULL, "too large");
  t = (hvi_tensor){"w", HVI_TENSOR_F32, 1, {1}, NULL};
  assert_not_written(&t, 1, NULL, "has no data");
  t = (hvi_tensor){"w", HVI_TENSOR_BOOL, 1, {2}, octets};
  assert_not_written(&t, 1, NULL, "has 255 at index 1; a BOOL is 0 or 1");
  assert_not_written(all, 1, &(hvi_tensor_note){"k", "\xc3"}, "UTF-8");
  assert_not_written(all, 1, &(hvi_tensor_note){"\x80", "v"}, "UTF-8");
  assert_not_written(all, 1, &(hvi_tensor_note){"k", NULL}, "without key or text");
  assert_not_written(all, 1, &(hvi_tensor_note){NULL, "v"}, "without key or text");
  char *text = calloc(16000001, 1);
  assert_non_null(text);
  memset(text, 'x', 16000000);
  assert_not_written(all, 1, &(hvi_tensor_note){"k", text}, "at most 16000000 can be read back");
  free(text);
  hvi_error err;
  assert_int_equal(hvi_tensors_write("/dev/full", all, ALL, NULL, 0, &err), HVI_ERROR_IO);
  assert_int_equal(hvi_tensors_write("/nowhere/x", all, ALL, NULL, 0, &err), HVI_ERROR_IO);
}

/* A disk with room for 4,096 bytes. */
static hvi_status write_where_little_fits(const hvi_tensor *t, hvi_error *err) {
  struct rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  struct rlimit tight = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  hvi_status status = hvi_tensors_write(path, t, 1, NULL, 0, err);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  return status;
}

static void a_failed_write_leaves_the_target(void **state) {
  (void)state;
  assert_int_equal(hvi_tensors_write(path, all, ALL, notes, NOTES, NULL), HVI_OK);
  for (size_t n = 1000; n < 1000000; n *= 10) {
    double *x = hvi_alloc_doubles(n);
    const hvi_tensor t = {"x", HVI_TENSOR_F64, 1, {n}, x};
    hvi_error err = {0};
    assert_int_equal(write_where_little_fits(&t, &err), HVI_ERROR_IO);
    assert_non_null(strstr(err.text, "t.safetensors': File too large"));
    assert_null(strchr(err.text, '\n'));
    hvi_free(x);
    hvi_tensors *old;
    assert_int_equal(hvi_tensors_read(&old, path, 0, NULL), HVI_OK);
    assert_int_equal(old->count, ALL);
    hvi_tensors_free(old);
    assert_int_equal(count_files(), 1);
  }
}

static hvi_status read_all(void *context, hvi_error *err) {
  hvi_tensors *t = (hvi_tensors *)(void *)&t;
  (void)context;
  const hvi_status status = hvi_tensors_read(&t, path, 0, err);
  if (status) assert_null(t);
  hvi_tensors_free(t);
  return status;
}

static hvi_status write_all(void *context, hvi_error *err) {
  (void)context;
  const hvi_status status = hvi_tensors_write(path, all, ALL, notes, NOTES, err);
  assert_int_equal(count_files(), 1);
  return status;
}

static void short_memory_leaves_nothing(void **state) {
  (void)state;
  assert_int_equal(hvi_tensors_write(path, all, ALL, notes, NOTES, NULL), HVI_OK);
  assert_true(starve(read_all, NULL) >= 4);
  starve(write_all, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(nothing_is_a_file_too),
      cmocka_unit_test(the_bytes_are_fixed),
      cmocka_unit_test(unaligned_files_are_read),
      cmocka_unit_test(wrong_beginnings_are_refused),
      cmocka_unit_test(broken_json_is_refused),
      cmocka_unit_test(wrong_descriptions_are_refused),
      cmocka_unit_test(wrong_places_are_refused),
      cmocka_unit_test(wrong_notes_are_refused),
      cmocka_unit_test(a_bool_is_zero_or_one),
      cmocka_unit_test(odd_names_make_one_line),
      cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(files_have_limits),
      cmocka_unit_test(what_could_not_be_read_is_not_written),
      cmocka_unit_test(a_failed_write_leaves_the_target),
      cmocka_unit_test(short_memory_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
