#define _DEFAULT_SOURCE     /* usleep */
#define _XOPEN_SOURCE   700 /* mkdtemp, nftw */
#include "base/file.h"

#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Every test works in a fresh folder. */
typedef struct folder {
  char path[64];
  char file[128];
} folder;

static folder here;

static bool refuse;

bool hvi_alloc_allowed(size_t bytes) {
  (void)bytes;
  return !refuse;
}

static int enter(void **state) {
  strcpy(here.path, "/tmp/hvi-file-XXXXXX");
  if (!mkdtemp(here.path)) return -1;
  snprintf(here.file, sizeof here.file, "%s/target", here.path);
  *state = &here;
  return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
  (void)st, (void)kind, (void)at;
  return remove(path);
}

static int leave(void **state) {
  (void)state;
  chmod(here.path, 0777);
  return nftw(here.path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static size_t count_entries(const char *path) {
  size_t count = 0;
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) count += e->d_name[0] != '.';
  closedir(dir);
  return count;
}

static void assert_content(const char *path, const char *expected) {
  char *text;
  assert_int_equal(hvi_file_read_text(&text, path, 1 << 20, NULL), HVI_OK);
  assert_string_equal(text, expected);
  hvi_free(text);
}

static void text_is_written_and_read_back(void **state) {
  folder *f = *state;
  assert_int_equal(hvi_file_write_text(f->file, "eta,0.1\n", NULL), HVI_OK);
  assert_content(f->file, "eta,0.1\n");
  assert_int_equal(hvi_file_write_text(f->file, "", NULL), HVI_OK);
  assert_content(f->file, "");
  assert_int_equal(count_entries(f->path), 1);
}

static void permissions_follow_the_umask(void **state) {
  folder *f = *state;
  struct stat st;
  mode_t old = umask(027);
  hvi_status status = hvi_file_write_text(f->file, "x", NULL);
  umask(old);
  assert_int_equal(status, HVI_OK);
  assert_int_equal(stat(f->file, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0640);
}

static void a_target_appears_only_at_commit(void **state) {
  folder *f = *state;
  hvi_file out;
  assert_int_equal(hvi_file_write_text(f->file, "old", NULL), HVI_OK);
  assert_int_equal(hvi_file_create(&out, f->file, NULL), HVI_OK);
  fputs("new", out.stream);
  fflush(out.stream);
  assert_content(f->file, "old");
  assert_int_equal(count_entries(f->path), 2);
  assert_int_equal(hvi_file_commit(&out, NULL), HVI_OK);
  assert_content(f->file, "new");
  assert_int_equal(count_entries(f->path), 1);
  hvi_file_discard(&out);
  assert_int_equal(hvi_file_commit(&out, NULL), HVI_ERROR_ARGUMENT);
}

static void a_discarded_file_leaves_nothing(void **state) {
  folder *f = *state;
  hvi_file out;
  assert_int_equal(hvi_file_write_text(f->file, "old", NULL), HVI_OK);
  assert_int_equal(hvi_file_create(&out, f->file, NULL), HVI_OK);
  fputs("new", out.stream);
  hvi_file_discard(&out);
  hvi_file_discard(&out);
  assert_content(f->file, "old");
  assert_int_equal(count_entries(f->path), 1);
}

static void two_writers_do_not_meet(void **state) {
  folder *f = *state;
  hvi_file a, b;
  assert_int_equal(hvi_file_create(&a, f->file, NULL), HVI_OK);
  assert_int_equal(hvi_file_create(&b, f->file, NULL), HVI_OK);
  assert_string_not_equal(a.temporary, b.temporary);
  fputs("a", a.stream);
  fputs("b", b.stream);
  assert_int_equal(hvi_file_commit(&b, NULL), HVI_OK);
  assert_int_equal(hvi_file_commit(&a, NULL), HVI_OK);
  assert_content(f->file, "a");
}

/* Writes `size` bytes where only 4,096 fit. */
static hvi_status write_beyond_limit(const char *path, size_t size, hvi_error *err) {
  struct rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  struct rlimit tight = {.rlim_cur = 4096, .rlim_max = old.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  char *text = hvi_alloc(size + 1, 1);
  memset(text, 'x', size);
  setrlimit(RLIMIT_FSIZE, &tight);
  hvi_status status = hvi_file_write_text(path, text, err);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  hvi_free(text);
  return status;
}

static void a_failed_write_leaves_the_target(void **state) {
  folder *f = *state;
  hvi_error err;
  assert_int_equal(hvi_file_write_text(f->file, "old", NULL), HVI_OK);
  for (size_t size = 5000; size < 2000000; size *= 20) {
    assert_int_equal(write_beyond_limit(f->file, size, &err), HVI_ERROR_IO);
    assert_non_null(strstr(err.text, "File too large"));
    assert_non_null(strstr(err.text, f->file));
    assert_content(f->file, "old");
    assert_int_equal(count_entries(f->path), 1);
  }
}

static void a_full_device_is_an_error(void **state) {
  (void)state;
  hvi_error err;
  assert_int_equal(hvi_file_write_text("/dev/full", "x", &err), HVI_ERROR_IO);
  assert_string_equal(err.text, "cannot write '/dev/full': No space left on device");
  assert_int_equal(hvi_file_write_text("/dev/null", "x", &err), HVI_OK);
  struct stat st;
  assert_int_equal(stat("/dev/null", &st), 0);
  assert_true(S_ISCHR(st.st_mode));
}

static void folders_that_cannot_be_written(void **state) {
  folder *f = *state;
  hvi_error err;
  char path[200];
  snprintf(path, sizeof path, "%s/missing/target", f->path);
  assert_int_equal(hvi_file_write_text(path, "x", &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "No such file or directory"));
  assert_int_equal(hvi_file_write_text(f->path, "x", &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "it is a folder"));
  assert_int_equal(hvi_file_write_text("", "x", &err), HVI_ERROR_IO);
  if (geteuid() == 0) return; /* permissions do not bind the superuser */
  chmod(f->path, 0555);
  assert_int_equal(hvi_file_write_text(f->file, "x", &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "Permission denied"));
}

static void a_link_is_kept(void **state) {
  folder *f = *state;
  char link[200];
  struct stat st;
  snprintf(link, sizeof link, "%s/link", f->path);
  assert_int_equal(hvi_file_write_text(f->file, "old", NULL), HVI_OK);
  assert_int_equal(symlink("target", link), 0);
  assert_int_equal(hvi_file_write_text(link, "new", NULL), HVI_OK);
  assert_content(f->file, "new");
  assert_int_equal(lstat(link, &st), 0);
  assert_true(S_ISLNK(st.st_mode));
}

static void what_is_set_aside_gives_its_mode_on(void **state) {
  folder *f = *state;
  char previous[200];
  struct stat st;
  snprintf(previous, sizeof previous, "%s.previous", f->file);
  assert_int_equal(hvi_file_set_aside(f->file, NULL), HVI_OK);
  assert_int_equal(hvi_file_write_text(f->file, "old", NULL), HVI_OK);
  assert_int_equal(chmod(f->file, 0600), 0);
  assert_int_equal(hvi_file_set_aside(f->file, NULL), HVI_OK);
  assert_content(previous, "old");
  assert_int_not_equal(stat(f->file, &st), 0);
  assert_int_equal(hvi_file_write_text(f->file, "new", NULL), HVI_OK);
  assert_int_equal(stat(f->file, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
}

static void reading_has_limits(void **state) {
  folder *f = *state;
  hvi_error err;
  char *text;
  assert_int_equal(hvi_file_write_text(f->file, "12345", NULL), HVI_OK);
  assert_int_equal(hvi_file_read_text(&text, f->file, 5, &err), HVI_OK);
  hvi_free(text);
  assert_int_equal(hvi_file_read_text(&text, f->file, 4, &err), HVI_ERROR_INPUT);
  assert_null(text);
  assert_non_null(strstr(err.text, "has 5 bytes; at most 4 are read"));
  assert_int_equal(hvi_file_read_text(&text, "/dev/zero", 100, &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "not a regular file"));
  assert_int_equal(hvi_file_read_text(&text, f->path, 1 << 20, &err), HVI_ERROR_IO);
  assert_int_equal(hvi_file_read_text(&text, "/nowhere/at/all", 100, &err), HVI_ERROR_IO);
  assert_string_equal(err.text, "cannot open '/nowhere/at/all': No such file or directory");
}

static void a_pipe_is_refused_without_waiting(void **state) {
  folder *f = *state;
  char *text;
  assert_int_equal(mkfifo(f->file, 0600), 0);
  assert_int_equal(hvi_file_read_text(&text, f->file, 100, NULL), HVI_ERROR_IO);
}

static void a_zero_byte_is_not_text(void **state) {
  folder *f = *state;
  hvi_error err;
  char *text;
  unsigned char *bytes;
  size_t size;
  hvi_file out;
  assert_int_equal(hvi_file_create(&out, f->file, NULL), HVI_OK);
  fwrite("ab\0c", 1, 4, out.stream);
  assert_int_equal(hvi_file_commit(&out, NULL), HVI_OK);
  assert_int_equal(hvi_file_read_text(&text, f->file, 100, &err), HVI_ERROR_INPUT);
  assert_null(text);
  assert_non_null(strstr(err.text, "byte 2 is zero"));
  assert_int_equal(hvi_file_read_bytes(&bytes, &size, f->file, 100, &err), HVI_OK);
  assert_int_equal(size, 4);
  assert_memory_equal(bytes, "ab\0c", 5);
  hvi_free(bytes);
}

static void folders_are_made_with_their_parents(void **state) {
  folder *f = *state;
  hvi_error err;
  char path[300];
  struct stat st;
  snprintf(path, sizeof path, "%s/a//b/c/", f->path);
  assert_int_equal(hvi_folder_make(path, &err), HVI_OK);
  assert_int_equal(hvi_folder_make(path, &err), HVI_OK);
  assert_int_equal(stat(path, &st), 0);
  assert_true(S_ISDIR(st.st_mode));
  assert_int_equal(hvi_file_write_text(f->file, "x", NULL), HVI_OK);
  assert_int_equal(hvi_folder_make(f->file, &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "a file has this name"));
  snprintf(path, sizeof path, "%s/deeper", f->file);
  assert_int_equal(hvi_folder_make(path, &err), HVI_ERROR_IO);
  assert_int_equal(hvi_folder_make("/proc/hvi/x", &err), HVI_ERROR_IO);
  assert_int_equal(hvi_folder_make("", &err), HVI_ERROR_ARGUMENT);
  assert_int_equal(hvi_folder_make("/", &err), HVI_OK);
}

static volatile sig_atomic_t alarms;
static void on_alarm(int number) {
  (void)number;
  alarms++;
}

enum { PIPED = 1 << 20 };

static void *read_slowly(void *input) {
  static char buffer[4096];
  size_t *count = malloc(sizeof *count);
  *count = 0;
  for (ssize_t n; (n = read(*(int *)input, buffer, sizeof buffer)) != 0;) {
    if (n > 0) *count += (size_t)n;
    usleep(200);
  }
  return count;
}

/* Signals in the midst of writes to a pipe that is full: not a byte is lost. */
static void a_signal_ends_no_write(void **state) {
  (void)state;
  int ends[2];
  char path[64];
  pthread_t reader;
  hvi_file out;
  hvi_error err;
  size_t *count;
  struct sigaction action; /* it stays: an alarm may still be under way at the end */
  sigset_t alarm_only;
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm; /* without SA_RESTART */
  assert_int_equal(pipe(ends), 0);
  snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm_only, NULL); /* the reader's */
  assert_int_equal(pthread_create(&reader, NULL, read_slowly, &ends[0]), 0);
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
  sigaction(SIGALRM, &action, NULL);
  assert_int_equal(hvi_file_create(&out, path, NULL), HVI_OK);
  close(ends[1]);
  setitimer(ITIMER_REAL, &often, NULL);
  for (size_t i = 0; i < PIPED; i++) fputc('x', out.stream);
  const hvi_status status = hvi_file_commit(&out, &err);
  setitimer(ITIMER_REAL, &never, NULL);
  assert_int_equal(pthread_join(reader, (void **)&count), 0);
  close(ends[0]);
  if (status) fail_msg("%s", err.text);
  assert_int_equal(*count, PIPED);
  assert_true(alarms > 0);
  free(count);
}

static void no_memory_is_reported(void **state) {
  folder *f = *state;
  char *text;
  assert_int_equal(hvi_file_write_text(f->file, "old", NULL), HVI_OK);
  refuse = true;
  hvi_status wrote = hvi_file_write_text(f->file, "new", NULL);
  hvi_status read = hvi_file_read_text(&text, f->file, 100, NULL);
  hvi_status made = hvi_folder_make(f->path, NULL);
  refuse = false;
  assert_int_equal(wrote, HVI_ERROR_MEMORY);
  assert_int_equal(read, HVI_ERROR_MEMORY);
  assert_int_equal(made, HVI_ERROR_MEMORY);
  assert_content(f->file, "old");
}

/* A file NAME that process `pid` seems to have left. */
static void leave_behind(const char *format, int pid) {
  char path[256];
  const int used = snprintf(path, sizeof path, "%s/", here.path);
  snprintf(path + used, sizeof path - (size_t)used, format, (unsigned)pid);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
}

static bool is_there(const char *format, int pid) {
  char path[256];
  const int used = snprintf(path, sizeof path, "%s/", here.path);
  snprintf(path + used, sizeof path - (size_t)used, format, (unsigned)pid);
  return access(path, F_OK) == 0;
}

/* Of the temporaries only those of the same target whose process is gone. */
static void what_a_killed_run_left_is_removed(void **state) {
  const pid_t dead = fork();
  (void)state;
  if (dead == 0) _exit(0);
  assert_int_equal(waitpid(dead, NULL, 0), dead);
  static const char *const stay[] = {"other.tmp.%x.1", "target.tmp.%x",   "target.tmp.%x-1",
                                     "target.tmp.",    "target.tmp.x.%x", "my-target.tmp.%x.1"};
  for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) leave_behind(stay[i], dead);
  leave_behind("target.tmp.%x.1234", dead);
  leave_behind("target.tmp.%x.5678.previous", dead);
  leave_behind("target.tmp.%x.locked", dead);
  leave_behind("target.tmp.%x.1", getpid());
  leave_behind("target.tmp.%x.1", getppid());
  char path[256];
  snprintf(path, sizeof path, "%s/target.tmp.%x.locked", here.path, (unsigned)dead);
  const int fd = open(path, O_RDONLY);
  assert_int_equal(flock(fd, LOCK_EX), 0); /* by a process of another machine */
  assert_int_equal(hvi_file_write_text(here.file, "new", NULL), HVI_OK);
  assert_content(here.file, "new");
  assert_false(is_there("target.tmp.%x.1234", dead));
  assert_false(is_there("target.tmp.%x.5678.previous", dead));
  assert_true(is_there("target.tmp.%x.locked", dead));
  assert_true(is_there("target.tmp.%x.1", getpid()));
  assert_true(is_there("target.tmp.%x.1", getppid()));
  for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) assert_true(is_there(stay[i], dead));
  close(fd);
}

/* A file that is being written is locked, and so no other run takes it for a left-over. */
static void what_is_written_is_locked(void **state) {
  hvi_file f;
  (void)state;
  assert_int_equal(hvi_file_create(&f, here.file, NULL), HVI_OK);
  const int fd = open(f.temporary, O_RDONLY);
  assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1);
  close(fd);
  hvi_file_discard(&f);
}

static void what_is_there_is_asked_for(void **state) {
  static char large[3 * 4096];
  char below[160];
  hvi_error err;
  (void)state;
  assert_int_equal(hvi_file_ours(here.file, "a,b\n", &err), HVI_OK);
  assert_int_equal(hvi_file_write_text(here.file, "", NULL), HVI_OK);
  assert_int_equal(hvi_file_ours(here.file, "a,b\n", &err), HVI_OK);
  assert_int_equal(hvi_file_write_text(here.file, "a,b\n1,2\n", NULL), HVI_OK);
  assert_int_equal(hvi_file_ours(here.file, "a,b\n", &err), HVI_OK);
  assert_int_equal(hvi_file_ours(here.file, "a,c\n", &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "--force"));
  assert_int_equal(hvi_file_ours(here.file, NULL, &err), HVI_OK);
  /* marks count at both ends and not between */
  for (int at = 0; at < 3; at++) {
    memset(large, '.', sizeof large - 1);
    memcpy(large + (at == 0 ? 100 : at == 1 ? 6000 : (int)sizeof large - 100), "mark", 4);
    assert_int_equal(hvi_file_write_text(here.file, large, NULL), HVI_OK);
    assert_int_equal(hvi_file_ours(here.file, "mark", &err), at == 1 ? HVI_ERROR_IO : HVI_OK);
  }
  assert_int_equal(hvi_file_ours("/dev/null", "mark", &err), HVI_OK);
  /* what can never be made is told beforehand, also under --force */
  assert_int_equal(hvi_file_ours(here.path, NULL, &err), HVI_ERROR_IO);
  assert_non_null(strstr(err.text, "it is a folder"));
  snprintf(below, sizeof below, "%s/nowhere/x", here.path);
  assert_int_equal(hvi_file_ours(below, NULL, &err), HVI_ERROR_IO);
  snprintf(below, sizeof below, "%s/x", here.file);
  assert_int_equal(hvi_file_ours(below, NULL, &err), HVI_ERROR_IO);
  refuse = true;
  assert_int_equal(hvi_file_ours(here.file, "mark", &err), HVI_ERROR_MEMORY);
  refuse = false;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_FOLDER(text_is_written_and_read_back),
      IN_FOLDER(permissions_follow_the_umask),
      IN_FOLDER(a_target_appears_only_at_commit),
      IN_FOLDER(a_discarded_file_leaves_nothing),
      IN_FOLDER(two_writers_do_not_meet),
      IN_FOLDER(a_failed_write_leaves_the_target),
      IN_FOLDER(a_full_device_is_an_error),
      IN_FOLDER(folders_that_cannot_be_written),
      IN_FOLDER(a_link_is_kept),
      IN_FOLDER(reading_has_limits),
      IN_FOLDER(a_pipe_is_refused_without_waiting),
      IN_FOLDER(a_zero_byte_is_not_text),
      IN_FOLDER(folders_are_made_with_their_parents),
      IN_FOLDER(what_is_set_aside_gives_its_mode_on),
      IN_FOLDER(a_signal_ends_no_write),
      IN_FOLDER(no_memory_is_reported),
      IN_FOLDER(what_a_killed_run_left_is_removed),
      IN_FOLDER(what_is_written_is_locked),
      IN_FOLDER(what_is_there_is_asked_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
