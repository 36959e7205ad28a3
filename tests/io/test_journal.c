#define _XOPEN_SOURCE 700 /* mkdtemp, setenv */
#include "io/journal.h"

#include "base/cpu.h"
#include "rl/rollout_folder.h"

#include <signal.h>
#include <sys/resource.h>

static const char settings[] = "environment=lqr\nseed=1\nstates=5\n";
#define MAGIC "hvi partial 2"
enum { RECORDS = 6, LONGEST = 50 };

/* Records of both kinds, out of order, of different lengths, one of them empty. */
static const struct {
  unsigned kind;
  size_t index, size;
} records[RECORDS] = {{0, 1, 20}, {0, 0, 0}, {1, 0, 33}, {0, 2, 7}, {1, 3, LONGEST}, {1, 1, 16}};

static void fill(unsigned char *bytes, size_t r) {
  for (size_t i = 0; i < records[r].size; i++) bytes[i] = (unsigned char)(31 * r + 7 * i + 1);
}

static hvi_status try_open(hvi_journal **j, const char *path, const char *about,
                           hvi_journal_rule rule, hvi_error *err) {
  hvi_kept head = {.kind = "test", .about = about};
  return hvi_journal_open(j, path, &head, rule, err);
}

static hvi_journal *open_journal(hvi_journal_rule rule) {
  hvi_journal *j;
  hvi_error err;
  check_ok(try_open(&j, here.file, settings, rule, &err), &err);
  return j;
}

static void append(hvi_journal *j, size_t r) {
  unsigned char bytes[LONGEST];
  hvi_error err;
  fill(bytes, r);
  check_ok(hvi_journal_append(j, records[r].kind, records[r].index, bytes, records[r].size, &err),
           &err);
}

/* The first `count` records are there, and no other. */
static void check_records(hvi_journal *j, size_t count) {
  for (size_t r = 0; r < RECORDS; r++) {
    unsigned char wanted[LONGEST], got[LONGEST];
    size_t size;
    hvi_error err;
    assert_int_equal(hvi_journal_has(j, records[r].kind, records[r].index, &size), r < count);
    if (r >= count) continue;
    assert_int_equal(size, records[r].size);
    fill(wanted, r);
    check_ok(hvi_journal_read(j, records[r].kind, records[r].index, got, size, &err), &err);
    assert_memory_equal(got, wanted, size);
  }
}

/* A journal with all records, closed; ends[r] is the file's length after r records. */
static void make_journal(size_t ends[RECORDS + 1]) {
  hvi_journal *j = open_journal(HVI_JOURNAL_NEW);
  for (size_t r = 0;; r++) {
    hvi_free(file_bytes(here.partial, &ends[r]));
    if (r == RECORDS) break;
    append(j, r);
  }
  check_records(j, RECORDS);
  hvi_journal_close(j);
}

/* Power that is lost before the first sync may leave zeros, and no more than a head of them. */
static void a_blank_journal_is_begun_anew(void **state) {
  (void)state;
  static const unsigned char zeros[8192];
  const size_t sizes[] = {1, 14, 32, 100, 4000};
  hvi_journal *j;
  hvi_error err;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    write_bytes(here.partial, zeros, sizes[i]);
    j = open_journal(HVI_JOURNAL_RESUME);
    assert_int_equal(hvi_journal_kept(j), 0);
    append(j, 0);
    hvi_journal_close(j);
    j = open_journal(HVI_JOURNAL_RESUME);
    check_records(j, 1);
    hvi_journal_remove(j);
  }
  write_bytes(here.partial, zeros, sizeof zeros);
  check_error(try_open(&j, here.file, settings, HVI_JOURNAL_RESUME, &err), HVI_ERROR_INPUT, &err,
              "is not the partial file");
}

static void what_was_appended_is_there_again(void **state) {
  (void)state;
  size_t ends[RECORDS + 1];
  make_journal(ends);
  hvi_journal *j = open_journal(HVI_JOURNAL_RESUME);
  assert_int_equal(hvi_journal_kept(j), RECORDS);
  assert_int_equal(hvi_journal_damaged(j), 0);
  check_records(j, RECORDS);
  assert_false(hvi_journal_has(j, 0, 3, NULL));
  assert_false(hvi_journal_has(j, 1, 100000, NULL));
  hvi_journal_remove(j);
  assert_int_equal(entries(false), 0);
}

/* Killed at any moment: the file ends anywhere. */
static void a_journal_cut_anywhere_keeps_its_whole_records(void **state) {
  (void)state;
  size_t ends[RECORDS + 1], size;
  make_journal(ends);
  unsigned char *bytes = file_bytes(here.partial, &size);
  for (size_t cut = 0; cut <= size; cut++) {
    size_t whole = 0;
    while (whole < RECORDS && ends[whole + 1] <= cut) whole++;
    write_bytes(here.partial, bytes, cut);
    hvi_journal *j = open_journal(HVI_JOURNAL_RESUME);
    assert_int_equal(hvi_journal_kept(j), whole);
    check_records(j, whole);
    for (size_t r = whole; r < RECORDS; r++) append(j, r);
    check_records(j, RECORDS);
    hvi_journal_close(j);
    size_t again;
    unsigned char *repaired = file_bytes(here.partial, &again);
    assert_int_equal(again, size);
    assert_memory_equal(repaired, bytes, size);
    hvi_free(repaired);
  }
  hvi_free(bytes);
}

/* One bit anywhere: an error in the header, or the record and all after it are dropped. */
static void a_changed_bit_is_noticed(void **state) {
  (void)state;
  size_t ends[RECORDS + 1], size;
  make_journal(ends);
  unsigned char *bytes = file_bytes(here.partial, &size);
  for (size_t at = 0; at < size; at++) {
    hvi_journal *j;
    hvi_error err;
    bytes[at] ^= (unsigned char)(1u << (at % 8));
    write_bytes(here.partial, bytes, size);
    bytes[at] ^= (unsigned char)(1u << (at % 8));
    const hvi_status status = try_open(&j, here.file, settings, HVI_JOURNAL_RESUME, &err);
    if (at < ends[0]) {
      check_error(status, HVI_ERROR_INPUT, &err,
                  at < sizeof MAGIC + 2 ? "is not the partial file" : "damaged at its beginning");
      continue;
    }
    size_t whole = 0;
    while (ends[whole + 1] <= at) whole++;
    check_ok(status, &err);
    assert_int_equal(hvi_journal_kept(j), whole);
    assert_int_equal(hvi_journal_damaged(j), size - ends[whole]);
    check_records(j, whole);
    hvi_journal_close(j);
  }
  hvi_free(bytes);
}

static void an_old_journal_is_not_overwritten_unasked(void **state) {
  (void)state;
  hvi_journal *j;
  hvi_error err;
  size_t ends[RECORDS + 1];
  make_journal(ends);
  check_error(try_open(&j, here.file, settings, HVI_JOURNAL_NEW, &err), HVI_ERROR_ARGUMENT, &err,
              "--resume");
  assert_null(j);
  j = open_journal(HVI_JOURNAL_RESUME);
  check_records(j, RECORDS);
  hvi_journal_close(j);
  j = open_journal(HVI_JOURNAL_FRESH);
  check_records(j, 0);
  hvi_journal_close(j);
}

static void other_settings_are_named(void **state) {
  (void)state;
  hvi_journal *j;
  hvi_error err;
  size_t ends[RECORDS + 1];
  make_journal(ends);
  check_error(
      try_open(&j, here.file, "environment=lqr\nseed=12\nstates=5\n", HVI_JOURNAL_RESUME, &err),
      HVI_ERROR_MISMATCH, &err, "'seed=1', not 'seed=12'");
  write_bytes(here.partial, "precious", 8);
  for (hvi_journal_rule rule = HVI_JOURNAL_RESUME; rule <= HVI_JOURNAL_FRESH; rule++) {
    check_error(try_open(&j, here.file, settings, rule, &err), HVI_ERROR_INPUT, &err,
                "is not the partial file of a run");
  }
  size_t size;
  unsigned char *bytes = file_bytes(here.partial, &size);
  assert_memory_equal(bytes, "precious", 8);
  hvi_free(bytes);
}

static void what_is_not_there_is_not_read(void **state) {
  (void)state;
  unsigned char bytes[LONGEST];
  char about[5000] = "";
  size_t ends[RECORDS + 1];
  hvi_journal *j;
  hvi_error err;
  memset(about, 'x', sizeof about - 1);
  check_error(try_open(&j, here.file, about, HVI_JOURNAL_NEW, &err), HVI_ERROR_ARGUMENT, &err,
              "the settings of a run are too long");
  assert_null(j);
  make_journal(ends);
  j = open_journal(HVI_JOURNAL_RESUME);
  check_error(hvi_journal_read(j, 0, 77, bytes, 0, &err), HVI_ERROR_INPUT, &err,
              "record 77 is missing");
  check_error(hvi_journal_read(j, 0, 2, bytes, 8, &err), HVI_ERROR_INPUT, &err, "too short");
  hvi_journal_close(j);
}

static void two_runs_do_not_share_a_journal(void **state) {
  (void)state;
  hvi_journal *first = open_journal(HVI_JOURNAL_NEW), *second;
  hvi_error err;
  append(first, 0);
  check_error(try_open(&second, here.file, settings, HVI_JOURNAL_FRESH, &err), HVI_ERROR_IO, &err,
              "in use");
  check_records(first, 1);
  hvi_journal_close(first);
  first = open_journal(HVI_JOURNAL_RESUME);
  check_records(first, 1);
  hvi_journal_close(first);
}

/* A disk that is full in the middle of a record. */
static void a_full_disk_leaves_the_journal_whole(void **state) {
  (void)state;
  struct rlimit old, tight;
  unsigned char bytes[LONGEST];
  hvi_error err;
  hvi_journal *j = open_journal(HVI_JOURNAL_NEW);
  append(j, 0);
  size_t size;
  hvi_free(file_bytes(here.partial, &size));
  getrlimit(RLIMIT_FSIZE, &old);
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  for (size_t room = 0; room < 32 + records[2].size; room += 5) {
    tight = (struct rlimit){.rlim_cur = size + room, .rlim_max = old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    fill(bytes, 2);
    const hvi_status status =
        hvi_journal_append(j, records[2].kind, records[2].index, bytes, records[2].size, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    check_error(status, HVI_ERROR_IO, &err, "cannot write");
    check_records(j, 1);
  }
  signal(SIGXFSZ, handler);
  append(j, 1);
  append(j, 2);
  hvi_journal_close(j);
  j = open_journal(HVI_JOURNAL_RESUME);
  assert_int_equal(hvi_journal_damaged(j), 0);
  check_records(j, 3);
  hvi_journal_close(j);
}

/* What a link at FILE.partial points at is neither read nor written. */
static void a_link_is_not_followed(void **state) {
  (void)state;
  hvi_journal *j;
  hvi_error err;
  size_t size;
  write_bytes(here.file, "precious", 8);
  assert_int_equal(symlink(here.file, here.partial), 0);
  for (hvi_journal_rule rule = HVI_JOURNAL_NEW; rule <= HVI_JOURNAL_FRESH; rule++) {
    check_error(try_open(&j, here.file, settings, rule, &err), HVI_ERROR_IO, &err,
                "a symbolic link");
  }
  unsigned char *bytes = file_bytes(here.file, &size);
  assert_int_equal(size, 8);
  assert_memory_equal(bytes, "precious", 8);
  hvi_free(bytes);
}

/* Records of another level of instructions are taken up only when that is asked for, and from then
 * on the journal names both. */
static void another_level_is_refused_or_noted(void **state) {
  (void)state;
  hvi_journal *j;
  hvi_error err;
  size_t ends[RECORDS + 1];
  char both[HVI_LEVELS_TEXT] = "";
  unsetenv("HVI_CPU_LEVEL");
  if (hvi_cpu_level() == HVI_CPU_BASELINE) skip();
  setenv("HVI_CPU_LEVEL", "baseline", 1);
  make_journal(ends);
  hvi_levels_add(both, NULL);
  unsetenv("HVI_CPU_LEVEL");
  hvi_levels_add(both, NULL);
  check_error(try_open(&j, here.file, settings, HVI_JOURNAL_RESUME, &err), HVI_ERROR_INPUT, &err,
              "--accept-other-bits");
  for (int time = 0; time < 2; time++) {
    hvi_kept head = {.kind = "test", .about = settings, .accept_other_bits = true};
    check_ok(hvi_journal_open(&j, here.file, &head, HVI_JOURNAL_RESUME, &err), &err);
    assert_string_equal(head.levels, both);
    check_records(j, RECORDS);
    assert_int_equal(hvi_journal_kept(j), RECORDS);
    hvi_journal_close(j);
  }
  setenv("HVI_CPU_LEVEL", "baseline", 1);
  check_error(try_open(&j, here.file, settings, HVI_JOURNAL_RESUME, &err), HVI_ERROR_INPUT, &err,
              both);
  unsetenv("HVI_CPU_LEVEL");
}

/* The parts of a merge give it their level; it leaves them alone, and computes nothing at another. */
static void parts_are_absorbed_at_their_own_level(void **state) {
  (void)state;
  const char *parts[] = {here.path};
  const hvi_share share = {.from_count = 1, .from = parts};
  const char *name = strrchr(here.file, '/') + 1;
  char path[300], own[HVI_LEVELS_TEXT] = "";
  size_t ends[RECORDS + 1], size, after;
  hvi_journal *j;
  hvi_error err;
  snprintf(path, sizeof path, "%s/whole", here.path);
  unsetenv("HVI_CPU_LEVEL");
  make_journal(ends);
  hvi_levels_add(own, NULL);
  HVI_OWN unsigned char *before = file_bytes(here.partial, &size);
  hvi_kept into_part = {.kind = "test", .about = settings};
  check_error(hvi_journal_absorb(NULL, here.file, &share, name, &into_part, false, &err),
              HVI_ERROR_INPUT, &err, "is a part's");
  for (int lower = 0; lower < 2; lower++) {
    hvi_kept head = {.kind = "test", .about = settings};
    if (lower) setenv("HVI_CPU_LEVEL", "baseline", 1);
    const bool other = lower && strncmp(own, "baseline", 8) != 0;
    check_ok(hvi_journal_absorb(NULL, path, &share, name, &head, false, &err), &err);
    check_ok(hvi_journal_open(&j, path, &head, HVI_JOURNAL_FRESH, &err), &err);
    check_ok(hvi_journal_absorb(j, path, &share, name, &head, false, &err), &err);
    assert_string_equal(head.levels, own);
    check_records(j, RECORDS);
    const hvi_status status = hvi_journal_append(j, 0, 9, "x", 1, &err);
    if (other) check_error(status, HVI_ERROR_INPUT, &err, "in no part");
    assert_int_equal(status != HVI_OK, other);
    hvi_journal_close(j);
    head = (hvi_kept){.kind = "test", .about = settings, .accept_other_bits = true};
    check_ok(hvi_journal_open(&j, path, &head, HVI_JOURNAL_RESUME, &err), &err);
    assert_int_equal(strncmp(head.levels, own, strlen(own)), 0);
    hvi_journal_close(j);
  }
  unsetenv("HVI_CPU_LEVEL");
  HVI_OWN unsigned char *left = file_bytes(here.partial, &after);
  assert_int_equal(after, size);
  assert_memory_equal(left, before, size);
}

static void a_folder_that_is_not_there_is_an_error(void **state) {
  (void)state;
  hvi_journal *j;
  hvi_error err;
  check_error(try_open(&j, "/nowhere/at/all", settings, HVI_JOURNAL_RESUME, &err), HVI_ERROR_IO,
              &err, "/nowhere/at/all.partial");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_blank_journal_is_begun_anew, enter, leave),
      cmocka_unit_test_setup_teardown(what_was_appended_is_there_again, enter, leave),
      cmocka_unit_test_setup_teardown(a_journal_cut_anywhere_keeps_its_whole_records, enter, leave),
      cmocka_unit_test_setup_teardown(a_changed_bit_is_noticed, enter, leave),
      cmocka_unit_test_setup_teardown(an_old_journal_is_not_overwritten_unasked, enter, leave),
      cmocka_unit_test_setup_teardown(other_settings_are_named, enter, leave),
      cmocka_unit_test_setup_teardown(what_is_not_there_is_not_read, enter, leave),
      cmocka_unit_test_setup_teardown(two_runs_do_not_share_a_journal, enter, leave),
      cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_journal_whole, enter, leave),
      cmocka_unit_test_setup_teardown(a_link_is_not_followed, enter, leave),
      cmocka_unit_test_setup_teardown(another_level_is_refused_or_noted, enter, leave),
      cmocka_unit_test_setup_teardown(parts_are_absorbed_at_their_own_level, enter, leave),
      cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_an_error, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
