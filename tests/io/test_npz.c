/* .npz archives and folders of .npy files against what NumPy wrote: tests/golden/arrays.py made the
 * files, damaged ones too, which are the fuzzer's seeds. */
#include "io/npy.h"
#include "report/folder.h"
#include "support/check.h"
#include "support/starve.h"

#define ARRAYS HVI_SOURCE_DIR "/tests/golden/arrays/"
#define SEEDS  HVI_SOURCE_DIR "/fuzz/seeds/fuzz_npz/"

static void check_array(const hvi_tensors *t, const char *name, hvi_tensor_type type, size_t dims,
                        const size_t *shape, const double *numbers) {
  const hvi_tensor *x = hvi_tensors_find(t, name);
  double got[24];
  hvi_error err;
  if (!x) fail_msg("no array '%s'", name);
  assert_int_equal(x->type, type);
  assert_int_equal(x->dims, dims);
  for (size_t i = 0; i < dims; i++) assert_int_equal(x->shape[i], shape[i]);
  assert_int_equal((uintptr_t)x->data % hvi_tensor_type_size(type), 0);
  check_ok(hvi_tensor_doubles(got, x, &err), &err);
  check_same_bits(got, numbers, hvi_tensor_count(x));
}

#define SHAPE(...)                                                                                 \
  sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t), (const size_t[]) { __VA_ARGS__ }
#define NUMBERS(...)                                                                               \
  (const double[]) { __VA_ARGS__ }

static void check_all(const char *path) {
  hvi_tensors *t;
  hvi_error err;
  double count[24];
  for (size_t i = 0; i < 24; i++) count[i] = (double)i;
  check_ok(hvi_tensors_open(&t, path, 0, &err), &err);
  assert_int_equal(t->count, 13); /* twelve and gamma */
  check_array(t, "f8", HVI_TENSOR_F64, SHAPE(2, 3), NUMBERS(0, 0.25, 0.5, 0.75, 1, 1.25));
  check_array(t, "f4", HVI_TENSOR_F32, SHAPE(2, 3), NUMBERS(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5));
  check_array(t, "f2", HVI_TENSOR_F16, SHAPE(2), NUMBERS(1.5, -2));
  check_array(t, "i8", HVI_TENSOR_I64, SHAPE(2), NUMBERS(-0x1p53, 7));
  check_array(t, "i4", HVI_TENSOR_I32, SHAPE(2), NUMBERS(-3, 70000));
  check_array(t, "i2", HVI_TENSOR_I16, SHAPE(2), NUMBERS(-300, 300));
  check_array(t, "i1", HVI_TENSOR_I8, SHAPE(2), NUMBERS(-128, 127));
  check_array(t, "u8", HVI_TENSOR_U64, SHAPE(2), NUMBERS(0x1p63, 1));
  check_array(t, "u4", HVI_TENSOR_U32, SHAPE(1), NUMBERS(4294967295.0));
  check_array(t, "u2", HVI_TENSOR_U16, SHAPE(2, 3, 4), count);
  check_array(t, "u1", HVI_TENSOR_U8, SHAPE(0, 3), NUMBERS(0));
  check_array(t, "b1", HVI_TENSOR_BOOL, SHAPE(3), NUMBERS(1, 0, 1));
  check_array(t, "gamma", HVI_TENSOR_F64, 0, NULL, NUMBERS(0.99));
  assert_string_equal(hvi_tensors_note(t, "gamma"), "0.99");
  assert_string_equal(hvi_tensors_note(t, "env"), "lqr");
  assert_string_equal(hvi_tensors_note(t, "bytes"), "abc");
  assert_string_equal(hvi_tensors_note(t, "objects"), "an array of type '|O', which is not read");
  assert_non_null(strstr(hvi_tensors_note(t, "names"), "'<U1'"));
  assert_non_null(strstr(hvi_tensors_note(t, "record"), "'structure'"));
  assert_non_null(strstr(hvi_tensors_note(t, "complex"), "'<c16'"));
  assert_int_equal(t->note_count, 7);
  hvi_tensors_free(t);
}

static void archives_of_numpy_are_read(void **state) {
  (void)state;
  check_all(ARRAYS "stored.npz");
  check_all(ARRAYS "deflated.npz");
}

static void folders_are_read(void **state) {
  const char *f = *state;
  hvi_tensors *t;
  hvi_error err;
  const double x[] = {1, 2, 3, 4};
  check_error(hvi_tensors_open(&t, f, 0, &err), HVI_ERROR_INPUT, &err, "folder without .npy");
  check_ok(hvi_npy_write(in(f, "b.npy"), x, 2, (const size_t[]){2, 2}, HVI_NPY_ROWS, &err), &err);
  check_ok(hvi_npy_write(in(f, "a.npy"), x, 1, (const size_t[]){3}, HVI_NPY_ROWS, &err), &err);
  check_ok(hvi_file_write_text(in(f, "notes.txt"), "no array", &err), &err);
  check_ok(hvi_tensors_open(&t, f, 0, &err), &err);
  assert_int_equal(t->count, 2);
  assert_string_equal(t->items[0].name, "a");
  check_array(t, "a", HVI_TENSOR_F64, SHAPE(3), x);
  check_array(t, "b", HVI_TENSOR_F64, SHAPE(2, 2), x);
  hvi_tensors_free(t);
  check_error(hvi_tensors_open(&t, f, 200, &err), HVI_ERROR_INPUT, &err, "at most 48 are read");
  check_ok(hvi_file_write_text(in(f, "c.npy"), "no array", &err), &err);
  check_error(hvi_tensors_open(&t, f, 0, &err), HVI_ERROR_INPUT, &err,
              "'c.npy' is not a .npy file");
  assert_null(t);
}

static void too_many_files_are_refused(void **state) {
  const char *f = *state;
  hvi_tensors *t;
  hvi_error err;
  for (int i = 0; i <= 10000; i++) {
    char name[20];
    snprintf(name, sizeof name, "%d.npy", i);
    FILE *file = fopen(in(f, name), "w");
    assert_non_null(file);
    fclose(file);
  }
  check_error(hvi_tensors_open(&t, f, 0, &err), HVI_ERROR_INPUT, &err,
              ".npy files; at most 10000 are read");
  assert_null(t);
}

static void what_is_wrong_is_said_in_a_line(void **state) {
  (void)state;
  static const struct {
    const char *file, *words;
  } faults[] = {{"twice.npz", "'x.npy' is there twice"},
                {"bzip2.npz", "'x.npy' is compressed by method 12; NumPy stores or deflates"},
                {"short.npz", "'x.npy' has 31 bytes of numbers; its shape and type need 32"},
                {"text.npz", "'x.npy' is not a .npy file"},
                {"bool.npz", "has 2 at index 0; a BOOL is 0 or 1"},
                {"checksum.npz", "'x.npy' is damaged: CRC error"},
                {"bomb.npz", "announces 4294967280 bytes; its "},
                {"longer.npz", "'x.npy' is damaged"},
                {"encrypted.npz", "'x.npy' is encrypted"},
                {"cut.npz", "is no .npz file that can be read"}};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    char path[300];
    hvi_tensors *t;
    hvi_error err;
    snprintf(path, sizeof path, SEEDS "%s", faults[i].file);
    check_error(hvi_tensors_open(&t, path, 0, &err), HVI_ERROR_INPUT, &err, faults[i].words);
    if (!strstr(err.text, faults[i].file)) fail_msg("'%s' does not name the file", err.text);
    assert_null(t);
  }
}

static void other_members_are_left_alone(void **state) {
  (void)state;
  hvi_tensors *t;
  hvi_error err;
  check_ok(hvi_tensors_open(&t, SEEDS "other.npz", 0, &err), &err);
  assert_int_equal(t->count, 1);
  assert_string_equal(t->items[0].name, "a/b");
  hvi_tensors_free(t);
  check_ok(hvi_tensors_open(&t, SEEDS "empty.npz", 0, &err), &err);
  assert_int_equal(t->count, 0);
  hvi_tensors_free(t);
  check_error(hvi_tensors_open(&t, SEEDS "deflated_one.npz", 8000, &err), HVI_ERROR_INPUT, &err,
              "larger than what is read at most");
  check_error(hvi_tensors_open(&t, "/nowhere.npz", 0, &err), HVI_ERROR_IO, &err, "/nowhere");
}

static hvi_status read_stored(void *context, hvi_error *err) {
  hvi_tensors *t;
  (void)context;
  const hvi_status status = hvi_tensors_open(&t, ARRAYS "stored.npz", 0, err);
  assert_int_equal(t == NULL, status != HVI_OK);
  hvi_tensors_free(t);
  return status;
}

static void without_memory_it_says_so(void **state) {
  (void)state;
  assert_true(starve(read_stored, NULL) > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(archives_of_numpy_are_read),
      cmocka_unit_test(folders_are_read),
      cmocka_unit_test(too_many_files_are_refused),
      cmocka_unit_test(what_is_wrong_is_said_in_a_line),
      cmocka_unit_test(other_members_are_left_alone),
      cmocka_unit_test(without_memory_it_says_so),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
