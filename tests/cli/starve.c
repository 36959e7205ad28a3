/*
 * Memory that runs out, for any program: preloaded, it lets allocation number STARVE_AT fail, with
 * STARVE_ON also all that follow, and writes how many there were to the file STARVE_COUNT. Programs
 * that are started from there have memory. Built with -DNEXT it asks the next library for memory, such
 * as a sanitizer's, otherwise glibc.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
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

static int refuse(void) {
  if (!started) return 0;
  const char *at = getenv("STARVE_AT");
  const long now = ++count, first = at ? atol(at) : -1;
  if (now != first && !(at && now > first && getenv("STARVE_ON"))) return 0;
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

__attribute__((constructor)) static void start(void) {
  started = 1;
  unsetenv("LD_PRELOAD");
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
