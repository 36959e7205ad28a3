/* Modules: where they are looked for, and what is wrong with one that cannot be used. */
#include "support/check.h"

#include "base/module.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* HVI_FIXTURES: the folder with the modules of module_fixture.c. */

static void look_in(const char *folders) {
  assert_int_equal(setenv("HVI_MODULE_PATH", folders, 1), 0);
}

static void check_refused(const char *name, const char *words) {
  const hvi_module *m = (const hvi_module *)(const void *)name;
  hvi_error err = {HVI_OK, ""};
  check_error(hvi_module_open(&m, name, &err), HVI_ERROR_UNSUPPORTED, &err, words);
  assert_null(m);
  assert_int_equal(hvi_module_open(&m, name, NULL), HVI_ERROR_UNSUPPORTED);
}

static void a_module_is_found_and_works(void **state) {
  (void)state;
  static const char *const folders[] = {HVI_FIXTURES, "/nowhere:" HVI_FIXTURES,
                                        "::/nowhere::" HVI_FIXTURES ":/elsewhere"};
  for (size_t k = 0; k < sizeof folders / sizeof folders[0]; k++) {
    const hvi_module *m = NULL;
    hvi_error err = {HVI_OK, ""};
    look_in(folders[k]);
    check_ok(hvi_module_open(&m, "good", &err), &err);
    assert_string_equal(m->name, "good");
    assert_string_equal(hvi_module_path(m), HVI_FIXTURES "/libhvi_good.so");
    int (*const *functions)(void) = m->functions;
    assert_int_equal(functions[0](), 42);
  }
}

static void a_missing_one_says_where_it_was_looked_for(void **state) {
  (void)state;
  char here[4096];
  const ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
  assert_true(length > 0);
  here[length] = '\0';
  *strrchr(here, '/') = '\0';
  look_in("/nowhere:/elsewhere");
  check_refused("missing", "no libhvi_missing.so in ");
  check_refused("missing", here);
  check_refused("missing", "/hvi, /nowhere, /elsewhere; ");
  check_refused("missing", "HVI_MODULE_PATH");
  assert_int_equal(unsetenv("HVI_MODULE_PATH"), 0);
  check_refused("missing", "/hvi; ");
  /* more folders than the line has room for */
  char many[4096] = "";
  for (size_t k = 0; k < 300; k++) strcat(many, "/nowhere/x:");
  look_in(many);
  check_refused("missing", "HVI_MODULE_PATH");
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  look_in(HVI_FIXTURES);
  char words[64];
  snprintf(words, sizeof words, "has interface %d, and this program needs %d", HVI_MODULE_ABI + 1,
           (int)HVI_MODULE_ABI);
  check_refused("abi", words);
  check_refused("name", "is the module 'somebody', not 'name'");
  check_refused("version", "belongs to hvi 9.9.9, and this is hvi 0.");
  check_refused("table", "libhvi_table.so' is not a module of hvi");
  check_refused("fails", "the fixture will not start");
  check_refused("undefined", "hvi_function_of_nobody");
}

static void write_file(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static void damaged_files_are_refused(void **state) {
  (void)state;
  char folder[] = "/tmp/hvi-module-XXXXXX", path[64];
  static char bytes[1 << 20];
  FILE *file = fopen(HVI_FIXTURES "/libhvi_good.so", "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  assert_int_equal(fclose(file), 0);
  assert_true(size > 1000);
  assert_true(size < sizeof bytes);
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/libhvi_good.so", folder);
  look_in(folder);
  for (size_t k = 0; k < 40; k++) {
    write_file(path, bytes, k < 38 ? size * k / 38 : k == 38 ? size - 1 : 63);
    check_refused("good", "is damaged or no shared library");
  }
  write_file(path, "not a library, but long enough to be the head of one: ................", 70);
  check_refused("good", path);
  if (geteuid() != 0) {
    assert_int_equal(chmod(path, 0), 0);
    check_refused("good", "Permission denied");
  }
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkdir(path, 0700), 0);
  check_refused("good", "is damaged or no shared library");
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

static void *open_good(void *context) {
  const hvi_module **m = context;
  hvi_module_open(m, "good", NULL);
  return NULL;
}

static void threads_get_the_same_one(void **state) {
  (void)state;
  enum { THREADS = 8 };
  pthread_t thread[THREADS];
  const hvi_module *m[THREADS] = {NULL};
  look_in(HVI_FIXTURES);
  for (size_t k = 0; k < THREADS; k++)
    assert_int_equal(pthread_create(&thread[k], NULL, open_good, &m[k]), 0);
  for (size_t k = 0; k < THREADS; k++) assert_int_equal(pthread_join(thread[k], NULL), 0);
  assert_non_null(m[0]);
  for (size_t k = 1; k < THREADS; k++) assert_ptr_equal(m[k], m[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_get_the_same_one),
      cmocka_unit_test(a_module_is_found_and_works),
      cmocka_unit_test(a_missing_one_says_where_it_was_looked_for),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(damaged_files_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
