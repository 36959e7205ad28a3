/*
 * Faults of a disk, for any program: preloaded, it counts the calls that reach files below
 * $FAULT_ROOT and adds the letter of each to the file $FAULT_LOG. Call number $FAULT_AT, and with
 * $FAULT_ON all that follow, is the fault that $FAULT_KIND names:
 *
 *   kill             the process is killed before the call
 *   eio, enospc      the call fails
 *   eintr            the call is interrupted before it has done anything; a close, when it has
 *   short            half of the bytes are written or read
 *
 * $FAULT_CALLS are the letters of calls that count: o open to create, i any other open, c close,
 * w write, s fsync, t truncate, r rename, l link, u unlink, m mkdir, p pread. Programs that are
 * started from there are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

typedef enum fault { NONE, FAILS, SHORT } fault;

static atomic_long count;

__attribute__((constructor)) static void start(void) { unsetenv("LD_PRELOAD"); }

static bool is_below(const char *full) {
  const char *root = getenv("FAULT_ROOT");
  const size_t n = root ? strlen(root) : 0;
  return root && strncmp(full, root, n) == 0 && (full[n] == '/' || !full[n]);
}

/* A path of a file that may not be there yet. */
static bool is_path(const char *path) {
  char folder[PATH_MAX], full[PATH_MAX];
  if (strlen(path) + 3 > sizeof folder) return false;
  snprintf(folder, sizeof folder, "%s%s", strchr(path, '/') ? "" : "./", path);
  char *slash = strrchr(folder, '/');
  slash[slash == folder] = '\0';
  return realpath(folder, full) && is_below(full);
}

static bool is_file(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return false;
  path[n] = '\0';
  return is_below(path);
}

static void note(char call) {
  const char *path = getenv("FAULT_LOG");
  const int fd = path ? REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT, 0644) : -1;
  if (fd < 0) return;
  if (REAL(write)(fd, &call, 1) != 1) abort();
  REAL(close)(fd);
}

/* What becomes of a call. */
static fault meet(char call) {
  const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND"), *calls = getenv("FAULT_CALLS");
  const int code = errno;
  if (calls && !strchr(calls, call)) return NONE;
  const long now = ++count, first = at ? atol(at) : 0;
  note(call);
  errno = code;
  if (!at || !kind || !(now == first || (now > first && getenv("FAULT_ON")))) return NONE;
  if (strcmp(kind, "kill") == 0) raise(SIGKILL);
  if (strcmp(kind, "short") == 0) return SHORT;
  errno = strcmp(kind, "eio") == 0 ? EIO : strcmp(kind, "enospc") == 0 ? ENOSPC : EINTR;
  return FAILS;
}

int open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  va_end(args);
  if (is_path(path) && meet(flags & O_CREAT ? 'o' : 'i') == FAILS) return -1;
  return REAL(open)(path, flags, mode);
}

ssize_t write(int fd, const void *bytes, size_t size) {
  const fault f = is_file(fd) ? meet('w') : NONE;
  return f == FAILS ? -1 : REAL(write)(fd, bytes, f == SHORT && size > 1 ? size / 2 : size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at) {
  const fault f = is_file(fd) ? meet('p') : NONE;
  return f == FAILS ? -1 : REAL(pread)(fd, bytes, f == SHORT && size > 1 ? size / 2 : size, at);
}

/* As on Linux: the descriptor is gone, whatever the call says. */
int close(int fd) {
  const bool fails = is_file(fd) && meet('c') == FAILS;
  const int code = errno, closed = REAL(close)(fd);
  if (fails) errno = code;
  return fails ? -1 : closed;
}

int fsync(int fd) { return is_file(fd) && meet('s') == FAILS ? -1 : REAL(fsync)(fd); }
int ftruncate(int fd, off_t length) {
  return is_file(fd) && meet('t') == FAILS ? -1 : REAL(ftruncate)(fd, length);
}
int rename(const char *from, const char *to) {
  return is_path(to) && meet('r') == FAILS ? -1 : REAL(rename)(from, to);
}
int link(const char *from, const char *to) {
  return is_path(to) && meet('l') == FAILS ? -1 : REAL(link)(from, to);
}
int unlink(const char *path) {
  return is_path(path) && meet('u') == FAILS ? -1 : REAL(unlink)(path);
}
int mkdir(const char *path, mode_t mode) {
  return is_path(path) && meet('m') == FAILS ? -1 : REAL(mkdir)(path, mode);
}
