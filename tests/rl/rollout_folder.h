/* A folder of its own for each test of roll-outs, and files as bytes. */
#ifndef HVI_TESTS_RL_ROLLOUT_FOLDER_H
#define HVI_TESTS_RL_ROLLOUT_FOLDER_H

#include "base/file.h"
#include "base/memory.h"
#include "support/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct { char path[64], file[96], other[96], partial[96]; } here;

static inline int enter(void **state) {
  (void)state;
  snprintf(here.path, sizeof here.path, "/tmp/hvi-rollout-XXXXXX");
  if (!mkdtemp(here.path)) return -1;
  snprintf(here.file, sizeof here.file, "%s/file", here.path);
  snprintf(here.other, sizeof here.other, "%s/other", here.path);
  snprintf(here.partial, sizeof here.partial, "%s/file.partial", here.path);
  return 0;
}

/* Visits what is in the folder; removes it or counts it. */
static inline size_t entries(bool delete) {
  size_t count = 0;
  DIR *dir = opendir(here.path);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    char name[400];
    if (e->d_name[0] == '.') continue;
    count++;
    snprintf(name, sizeof name, "%s/%s", here.path, e->d_name);
    if (delete) remove(name);
  }
  closedir(dir);
  return count;
}

static inline int leave(void **state) {
  (void)state;
  entries(true);
  return rmdir(here.path);
}

static inline unsigned char *file_bytes(const char *path, size_t *size) {
  unsigned char *bytes;
  hvi_error err;
  check_ok(hvi_file_read_bytes(&bytes, size, path, (size_t)1 << 30, &err), &err);
  return bytes;
}

static inline void write_bytes(const char *path, const void *bytes, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

static inline void check_same_files(const char *a, const char *b) {
  size_t a_size, b_size;
  unsigned char *x = file_bytes(a, &a_size), *y = file_bytes(b, &b_size);
  assert_int_equal(a_size, b_size);
  assert_memory_equal(x, y, a_size);
  hvi_free(x);
  hvi_free(y);
}

#endif
