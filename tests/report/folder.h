/* A folder of a test's own, and files read back. */
#ifndef HVI_TESTS_REPORT_FOLDER_H
#define HVI_TESTS_REPORT_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Group set-up: *state becomes the path of a new folder. */
static int make_folder(void **state) {
  static char path[64];
  strcpy(path, "/tmp/hvi-test-XXXXXX");
  *state = mkdtemp(path);
  return *state ? 0 : -1;
}

static void remove_tree(const char *path) {
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    char inner[1024];
    struct stat info;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
    if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode))
      remove_tree(inner);
    else
      unlink(inner);
  }
  if (d) closedir(d);
  rmdir(path);
}

static int remove_folder(void **state) {
  remove_tree(*state);
  return 0;
}

/* folder/name in a buffer that lives until the next call but three. */
static inline const char *in(const char *folder, const char *name) {
  static char paths[4][1024];
  static size_t next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

/* The whole file (hvi_free it); fails the test when it cannot be read. */
static inline char *slurp(const char *path) {
  hvi_error err;
  char *text = NULL;
  if (hvi_file_read_text(&text, path, 1 << 24, &err) != HVI_OK) fail_msg("%s", err.text);
  return text;
}

static inline bool exists(const char *path) { return access(path, F_OK) == 0; }

static inline void write_file(const char *path, const char *text) {
  hvi_error err;
  if (hvi_file_write_text(path, text, &err) != HVI_OK) fail_msg("%s", err.text);
}

#endif
