/* Files that hvi keeps for itself: damage, other settings, other levels, links, modes, two runs. */
#define _XOPEN_SOURCE 700 /* mkdtemp, setenv, symlink */
#include "io/kept.h"

#include "base/blas.h"
#include "rl/rollout_folder.h"

#include <cblas.h>
#include <sys/stat.h>

static const char about[] = "seed 1; batch 60; method lm";
static const double numbers[] = {1.5, -2.0, 3e300};
static char previous[128], lock_name[128];

static int enter_kept(void **state) {
  unsetenv("HVI_CPU_LEVEL");
  if (enter(state) != 0) return -1;
  snprintf(previous, sizeof previous, "%s.previous", here.file);
  snprintf(lock_name, sizeof lock_name, "%s.lock", here.file);
  return 0;
}

static hvi_kept head(void) { return (hvi_kept){.kind = "test", .about = about}; }

static hvi_status save(const char *path, double first, hvi_error *err) {
  hvi_kept k = head();
  double x[] = {first, numbers[1], numbers[2]};
  hvi_tensor items[] = {{"x", HVI_TENSOR_F64, 1, {3}, x},
                        {"none", HVI_TENSOR_F32, 2, {0, 4}, NULL}};
  hvi_tensor_note notes[] = {{"remark", "of the caller's"}};
  const hvi_tensors t = {2, items, 1, notes, NULL};
  return hvi_kept_write(&k, path, &t, err);
}

/* What comes out is what went in. */
static hvi_status load(const char *path, hvi_error *err) {
  hvi_kept k = head();
  hvi_tensors *t;
  const hvi_status status = hvi_kept_read(&t, &k, path, err);
  if (status) return status;
  assert_memory_equal(hvi_tensors_find(t, "x")->data, numbers, sizeof numbers);
  assert_string_equal(hvi_tensors_note(t, "remark"), "of the caller's");
  hvi_tensors_free(t);
  return HVI_OK;
}

/* Every bit of the file, and every length short of its own. */
static void a_changed_bit_is_refused(void **state) {
  (void)state;
  hvi_error err;
  size_t size;
  check_ok(save(here.file, numbers[0], &err), &err);
  check_ok(load(here.file, &err), &err);
  unsigned char *bytes = file_bytes(here.file, &size);
  for (size_t at = 0; at < 8 * size; at++) {
    bytes[at / 8] ^= (unsigned char)(1u << (at % 8));
    write_bytes(here.other, bytes, size);
    bytes[at / 8] ^= (unsigned char)(1u << (at % 8));
    if (load(here.other, &err) != HVI_ERROR_INPUT || !strstr(err.text, here.other))
      fail_msg("bit %zu of byte %zu: %s", at % 8, at / 8, err.text);
  }
  for (size_t cut = 0; cut < size; cut++) {
    write_bytes(here.other, bytes, cut);
    if (load(here.other, &err) != HVI_ERROR_INPUT) fail_msg("cut at %zu", cut);
  }
  hvi_free(bytes);
}

/* An open file with a checksum is held to it, and needs none. */
static void open_files_may_lack_the_checksum(void **state) {
  (void)state;
  hvi_error err;
  hvi_tensors *t;
  const hvi_tensor item = {"x", HVI_TENSOR_F64, 1, {3}, numbers};
  check_ok(hvi_tensors_write(here.file, &item, 1, NULL, 0, &err), &err);
  check_ok(hvi_tensors_read(&t, here.file, 0, &err), &err);
  assert_int_equal(t->note_count, 0);
  hvi_tensors_free(t);
  check_error(load(here.file, &err), HVI_ERROR_INPUT, &err, "is no test");
  size_t size;
  unsigned char *bytes = file_bytes(here.file, &size);
  bytes[size - 1] ^= 1;
  write_bytes(here.other, bytes, size);
  check_error(hvi_tensors_read(&t, here.other, 0, &err), HVI_ERROR_INPUT, &err, "is damaged");
  /* the same numbers under a key that is not the checksum's */
  for (size_t i = 0; i + 12 < size; i++)
    if (memcmp(bytes + i, "hvi.checksum", 12) == 0) bytes[i] = 'H';
  write_bytes(here.other, bytes, size);
  check_ok(hvi_tensors_read(&t, here.other, 0, &err), &err);
  hvi_tensors_free(t);
  check_error(load(here.other, &err), HVI_ERROR_INPUT, &err, "it has no checksum");
  /* where hvi computed, it left one */
  const hvi_tensor_note level = {"level", "baseline"};
  check_ok(hvi_tensors_write(here.file, &item, 1, &level, 1, &err), &err);
  hvi_free(bytes);
  bytes = file_bytes(here.file, &size);
  for (size_t i = 0; i + 12 < size; i++)
    if (memcmp(bytes + i, "hvi.checksum", 12) == 0) bytes[i] = 'H';
  write_bytes(here.other, bytes, size);
  check_error(hvi_tensors_read(&t, here.other, 0, &err), HVI_ERROR_INPUT, &err,
              "it has hvi's note 'level' and not its checksum");
  hvi_free(bytes);
}

static void the_one_before_is_kept_and_offered(void **state) {
  (void)state;
  hvi_error err;
  check_ok(save(here.file, numbers[0], &err), &err);
  assert_int_equal(entries(false), 1);
  check_ok(save(here.file, 7.0, &err), &err);
  assert_int_equal(entries(false), 2);
  check_ok(load(previous, &err), &err);
  write_bytes(here.file, "torn", 4);
  check_error(load(here.file, &err), HVI_ERROR_INPUT, &err, "the one before it is good: mv");
  write_bytes(previous, "torn", 4);
  check_error(load(here.file, &err), HVI_ERROR_INPUT, &err, "is damaged");
  assert_null(strstr(err.text, "previous"));
  assert_int_equal(unlink(here.file), 0);
  assert_int_equal(unlink(previous), 0);
  assert_int_equal(entries(false), 0);
}

/* A run that is killed between its two renames leaves both names on one file. */
static void one_file_under_both_names_is_replaced(void **state) {
  (void)state;
  hvi_error err;
  check_ok(save(here.file, numbers[0], &err), &err);
  assert_int_equal(link(here.file, previous), 0);
  check_ok(save(here.file, 7.0, &err), &err);
  assert_int_equal(entries(false), 2);
  check_ok(load(previous, &err), &err);
}

static void other_settings_are_named(void **state) {
  (void)state;
  hvi_error err;
  hvi_tensors *t;
  check_ok(save(here.file, 1.5, &err), &err);
  hvi_kept k = {.kind = "test", .about = "seed 1; batch 61; method lm"};
  check_error(hvi_kept_read(&t, &k, here.file, &err), HVI_ERROR_MISMATCH, &err,
              "'batch 60', not 'batch 61'");
  k = (hvi_kept){.kind = "checkpoint", .about = about};
  check_error(hvi_kept_read(&t, &k, here.file, &err), HVI_ERROR_INPUT, &err, "is no checkpoint");
  assert_null(t);
  k = head();
  check_error(hvi_kept_match(&k, "file", "test; hvi 0.0.0; level baseline", about, &err),
              HVI_ERROR_MISMATCH, &err, "was made by hvi 0.0.0, and this is hvi ");
}

static void another_level_is_refused_or_noted(void **state) {
  (void)state;
  hvi_error err;
  hvi_tensors *t;
  char both[HVI_LEVELS_TEXT] = "";
  if (hvi_cpu_level() == HVI_CPU_BASELINE) skip();
  setenv("HVI_CPU_LEVEL", "baseline", 1);
  hvi_levels_add(both, NULL);
  unsetenv("HVI_CPU_LEVEL");
  hvi_levels_add(both, NULL);
  setenv("HVI_CPU_LEVEL", "baseline", 1);
  check_ok(save(here.file, numbers[0], &err), &err);
  check_ok(load(here.file, &err), &err);
  unsetenv("HVI_CPU_LEVEL");
  check_error(load(here.file, &err), HVI_ERROR_INPUT, &err, "computed with baseline");
  hvi_kept k = head();
  k.accept_other_bits = true;
  check_ok(hvi_kept_read(&t, &k, here.file, &err), &err);
  assert_string_equal(k.levels, both);
  /* what is made of both is of neither */
  t->note_count = 0;
  check_ok(hvi_kept_write(&k, here.file, t, &err), &err);
  hvi_tensors_free(t);
  check_error(load(here.file, &err), HVI_ERROR_INPUT, &err, both);
}

/* A level has kernels of BLAS of its own; with others it is named after them too. */
static void other_kernels_of_blas_are_another_level(void **state) {
  (void)state;
  char text[64], expected[64];
  const enum hvi_cpu_level level = hvi_cpu_level();
  const char *own = hvi_blas_core(level), *core = openblas_get_corename();
  hvi_blas_level(text, sizeof text);
  snprintf(expected, sizeof expected, "%s-%s", hvi_cpu_level_name(level), core);
  assert_string_equal(text, own && strcmp(own, core) == 0 ? hvi_cpu_level_name(level) : expected);
  hvi_error err;
  hvi_kept k = head();
  check_error(hvi_kept_match_levels(&k, "file", "baseline-Barcelona", &err), HVI_ERROR_INPUT, &err,
              "OPENBLAS_CORETYPE");
}

/* `levels` with this machine's own for its first baseline: BLAS may have other kernels. */
static const char *here_for(const char *levels) {
  static char text[2][128];
  static int turn;
  char own[64];
  const char *at = strstr(levels, "baseline"), *rest = at ? at + strlen("baseline") : "";
  hvi_blas_level(own, sizeof own);
  turn = !turn;
  snprintf(text[turn], sizeof *text, "%.*s%s%s", at ? (int)(at - levels) : 128, levels,
           at ? own : "", rest);
  return text[turn];
}

/* What a device had a part in is of the device alone, or says that it is mixed. */
static void a_device_is_named_and_so_is_a_mixture(void **state) {
  (void)state;
  static const struct {
    const char *file, *device, *said, *result; /* of instructions the baseline */
  } cases[] = {{"baseline", "", NULL, "baseline"},
               {"baseline+one-a", "one-a", NULL, "baseline+one-a"},
               {"baseline", "one-a", "--device", "baseline+one-a+mixed"},
               {"baseline+one-a", "", "--device", "baseline+one-a+mixed"},
               {"baseline+one-a", "two", "--device", "baseline+one-a+two+mixed"},
               {"baseline+one-a+mixed", "one-a", "--device", "baseline+one-a+mixed"},
               {"baseline+one-a+mixed", "", "--device", "baseline+one-a+mixed"},
               {"avx2+one-a", "one-a", "HVI_CPU_LEVEL", "avx2+one-a+baseline"},
               {"avx2", "", "HVI_CPU_LEVEL", "avx2+baseline"}};
  setenv("HVI_CPU_LEVEL", "baseline", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hvi_error err = {HVI_OK, ""};
    hvi_kept k = {.device = *cases[i].device ? cases[i].device : NULL};
    const hvi_status status = hvi_kept_match_levels(&k, "file", here_for(cases[i].file), &err);
    if (!cases[i].said) check_ok(status, &err);
    if (cases[i].said) check_error(status, HVI_ERROR_INPUT, &err, cases[i].said);
    assert_int_equal(strstr(err.text, "--device") != NULL,
                     strstr(err.text, "HVI_CPU") == NULL && status);
    k.accept_other_bits = true;
    check_ok(hvi_kept_match_levels(&k, "file", here_for(cases[i].file), &err), &err);
    assert_string_equal(k.levels, here_for(cases[i].result));
  }
  unsetenv("HVI_CPU_LEVEL");
}

/* Files that are put together are of one level, whatever this process has. */
static void a_merge_has_the_level_of_its_files(void **state) {
  (void)state;
  static const struct {
    const char *first, *second, *result;
  } cases[] = {{"avx2+one-a", "avx2+one-a", "avx2+one-a"},
               {"avx2", "avx512", "avx2+avx512"},
               {"avx2+one-a", "avx512+one-a", "avx2+one-a+avx512"},
               {"avx2", "avx2+one-a", "avx2+one-a+mixed"},
               {"avx2+one-a", "avx2", "avx2+one-a+mixed"},
               {"avx2+one-a", "avx2+two", "avx2+one-a+two+mixed"}};
  setenv("HVI_CPU_LEVEL", "baseline", 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hvi_error err = {HVI_OK, ""};
    char line[HVI_KEPT_HEAD];
    hvi_kept k = {.kind = "test", .merges = true};
    const bool alike = strcmp(cases[i].first, cases[i].second) == 0;
    check_ok(hvi_kept_match_levels(&k, "file", cases[i].first, &err), &err);
    assert_string_equal(k.levels, cases[i].first);
    const hvi_status status = hvi_kept_match_levels(&k, "file", cases[i].second, &err);
    if (!alike) check_error(status, HVI_ERROR_INPUT, &err, "parts share their level");
    k.accept_other_bits = !alike;
    for (int time = 0; time < 2; time++) { /* once more: the same */
      check_ok(hvi_kept_match_levels(&k, "file", cases[i].first, &err), &err);
      check_ok(hvi_kept_match_levels(&k, "file", cases[i].second, &err), &err);
      assert_string_equal(k.levels, cases[i].result);
    }
    hvi_kept_head(line, &k);
    assert_string_equal(strrchr(line, ' ') + 1, cases[i].result);
  }
  unsetenv("HVI_CPU_LEVEL");
}

static void links_and_foreign_files_are_left_alone(void **state) {
  (void)state;
  hvi_error err;
  size_t size;
  write_bytes(here.other, "precious", 8);
  assert_int_equal(symlink(here.other, here.file), 0);
  check_error(save(here.file, 1, &err), HVI_ERROR_IO, &err, "symbolic link");
  check_error(load(here.file, &err), HVI_ERROR_IO, &err, "symbolic link");
  check_error(save(here.other, 1, &err), HVI_ERROR_IO, &err, "hvi did not make it");
  check_error(hvi_kept_check(here.path, &err), HVI_ERROR_IO, &err, "no file");
  unsigned char *bytes = file_bytes(here.other, &size);
  assert_int_equal(size, 8);
  assert_memory_equal(bytes, "precious", 8);
  hvi_free(bytes);
}

static void a_replaced_file_keeps_its_mode(void **state) {
  (void)state;
  hvi_error err;
  struct stat st;
  const mode_t modes[] = {0600, 0664, 0640};
  for (size_t i = 0; i < 3; i++) {
    check_ok(save(here.file, numbers[0], &err), &err);
    assert_int_equal(chmod(here.file, modes[i]), 0);
    check_ok(save(here.file, numbers[0], &err), &err);
    assert_int_equal(stat(here.file, &st), 0);
    assert_int_equal(st.st_mode & 07777, modes[i]);
    check_ok(hvi_file_write_text(here.file, "text", &err), &err);
    assert_int_equal(stat(here.file, &st), 0);
    assert_int_equal(st.st_mode & 07777, modes[i]);
    assert_int_equal(remove(here.file), 0);
  }
}

static void of_two_runs_the_second_is_refused(void **state) {
  (void)state;
  hvi_error err;
  hvi_lock first, second;
  check_ok(hvi_lock_take(&first, here.file, &err), &err);
  check_error(hvi_lock_take(&second, here.file, &err), HVI_ERROR_IO, &err, "is in use");
  assert_non_null(strstr(err.text, here.file));
  hvi_lock_release(&second);
  hvi_lock_release(&first);
  assert_int_equal(entries(false), 0);
  check_ok(hvi_lock_take(&second, here.file, &err), &err);
  hvi_lock_release(&second);
  hvi_lock_release(&second);
  /* left by a run that was killed; a link; somebody else's */
  write_bytes(lock_name, "", 0);
  check_ok(hvi_lock_take(&first, here.file, &err), &err);
  hvi_lock_release(&first);
  assert_int_equal(symlink(here.other, lock_name), 0);
  check_error(hvi_lock_take(&first, here.file, &err), HVI_ERROR_IO, &err, "symbolic link");
  assert_int_equal(remove(lock_name), 0);
  write_bytes(lock_name, "precious", 8);
  check_error(hvi_lock_take(&first, here.file, &err), HVI_ERROR_IO, &err, "no lock of hvi's");
  assert_int_equal(entries(false), 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_kept, leave)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(a_changed_bit_is_refused),
      IN_FOLDER(open_files_may_lack_the_checksum),
      IN_FOLDER(the_one_before_is_kept_and_offered),
      IN_FOLDER(one_file_under_both_names_is_replaced),
      IN_FOLDER(other_settings_are_named),
      IN_FOLDER(another_level_is_refused_or_noted),
      cmocka_unit_test(other_kernels_of_blas_are_another_level),
      cmocka_unit_test(a_device_is_named_and_so_is_a_mixture),
      cmocka_unit_test(a_merge_has_the_level_of_its_files),
      IN_FOLDER(links_and_foreign_files_are_left_alone),
      IN_FOLDER(a_replaced_file_keeps_its_mode),
      IN_FOLDER(of_two_runs_the_second_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
