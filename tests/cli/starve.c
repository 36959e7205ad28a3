/*
 * Memory that runs out, for any program: preloaded, it lets allocation number STARVE_AT fail, with
 * STARVE_ON also all that follow, and writes how many there were to the file STARVE_COUNT. Programs
 * that are started from there have memory. STARVE_SWEEP, as "FIRST STEP LAST", runs the program once for each
 * of these allocations, forked before its main: it prints what did not end as a lack of memory should,
 * and a last line "N tried, N held"; STARVE_SAME: output without clocks is compared. Built with
 * -DNEXT it asks the next library for memory, such as a sanitizer's, otherwise glibc. A sanitizer
 * that asks where a thread's stack lies cannot do without, so that these requests do not count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef NEXT
#define REAL(name, glibc) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#else
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
#define REAL(name, glibc) glibc
#endif

static atomic_long count;

static int started; /* libraries before the program are none of its business */

static long fails_at = -1;

static _Thread_local int aside; /* within a call that is not the program's own */

static int refuse(void) {
  if (!started || aside) return 0;
  const long now = ++count;
  if (now != fails_at && !(fails_at > 0 && now > fails_at && getenv("STARVE_ON"))) return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) { return refuse() ? NULL : REAL(malloc, __libc_malloc)(size); }
void *calloc(size_t n, size_t size) {
  return refuse() ? NULL : REAL(calloc, __libc_calloc)(n, size);
}
void *realloc(void *p, size_t size) {
  return refuse() ? NULL : REAL(realloc, __libc_realloc)(p, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  return refuse() ? NULL : REAL(aligned_alloc, __libc_memalign)(alignment, size);
}

#ifdef NEXT
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attributes) {
  aside++;
  const int code = REAL(pthread_getattr_np, )(thread, attributes);
  aside--;
  return code;
}
#endif

enum { MOST_TEXT = 1 << 16 };

/* What a file in memory holds; a text of static memory, one for each slot. */
static const char *contents(int fd, int slot) {
  static char text[3][MOST_TEXT];
  const ssize_t n = pread(fd, text[slot], MOST_TEXT - 1, 0);
  text[slot][n > 0 ? n : 0] = '\0';
  close(fd);
  return text[slot];
}

/* Exit status 5 and lines of hvi's that name memory; or nothing but the same output. glibc's loader
 * ends a program itself where it cannot go back, with 127 and these words. Jansson drops a letter of a
 * text when its buffer cannot grow, and says nothing; the checksum finds it. */
static int holds(int status, const char *out, const char *err, const char *same) {
  if (!WIFEXITED(status)) return 0;
  if (WEXITSTATUS(status) == 0) return !same || strcmp(out, same) == 0;
  if (WEXITSTATUS(status) == 127 && strstr(err, "memory")) return 1;
  if (WEXITSTATUS(status) == 3 && strstr(err, "is damaged: the checksum")) return 1;
  for (const char *at = err; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
    if (strncmp(at, "hvi: ", 5) != 0) return 0;
  return WEXITSTATUS(status) == 5 && strcasestr(err, "memory");
}

/* Runs main in a child; 0 there. */
static pid_t fork_at(long at, int *out, int *err) {
  *out = memfd_create("out", MFD_CLOEXEC);
  *err = memfd_create("err", MFD_CLOEXEC);
  const pid_t child = fork();
  if (child) return child;
  dup2(*out, STDOUT_FILENO);
  dup2(*err, STDERR_FILENO);
  fails_at = at;
  return 0;
}

/* Returns in children alone. */
static void sweep(long first, long step, long last) {
  long tried = 0, held = 0;
  int out, err, status;
  const char *same = NULL;
  for (long at = first - 2 * step; at <= last; at += step) {
    /* twice without a failure, to see whether the output is always the same */
    const int plain = at < first;
    const pid_t child = fork_at(plain ? -1 : at, &out, &err);
    if (child == 0) return;
    waitpid(child, &status, 0);
    const char *said = contents(err, 1), *result = contents(out, plain ? 0 : 2);
    if (plain) {
      static char before[MOST_TEXT];
      same = getenv("STARVE_SAME") && strcmp(before, result) == 0 ? result : NULL;
      strcpy(before, result);
      continue;
    }
    const int good = holds(status, result, said, same);
    if (!good) printf("allocation %ld: status %x, %.200s\n", at, (unsigned)status, said);
    fflush(stdout); /* or the next child writes it too */
    tried++;
    held += good;
  }
  printf("%ld tried, %ld held\n", tried, held);
  fflush(stdout);
  _exit(tried != held);
}

__attribute__((constructor)) static void start(void) {
  const char *at = getenv("STARVE_AT"), *range = getenv("STARVE_SWEEP");
  long first, step, last;
  unsetenv("LD_PRELOAD");
  if (at) fails_at = atol(at);
  if (range && sscanf(range, "%ld %ld %ld", &first, &step, &last) == 3) sweep(first, step, last);
  started = 1;
}

static void tell(void) {
  const char *path = getenv("STARVE_COUNT");
  const long total = count;
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld\n", total);
  fclose(file);
}

/* However a program leaves: by exit, or at once. */
__attribute__((destructor)) static void at_exit(void) { tell(); }

void _exit(int code) {
  tell();
  for (;;) syscall(SYS_exit_group, code);
}
