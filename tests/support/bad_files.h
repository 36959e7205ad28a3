/* Files that must be refused: the first line of each says with which words, "# expect: WORDS". */
#pragma once

#include "support/check.h"

#include <hvi/problem.h>

#include <dirent.h>
#include <stdio.h>

typedef hvi_status (*bad_file_reader)(hvi_problem **p, const char *path, hvi_error *err);

static inline void check_bad_file(const char *path, const char *name, bad_file_reader reader) {
  char expect[400] = "";
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "# expect: %399[^\n]", expect), 1);
  fclose(f);
  hvi_problem *p = (hvi_problem *)(void *)expect;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = reader(&p, path, &err);
  if (status != HVI_ERROR_INPUT && status != HVI_ERROR_IO)
    fail_msg("%s: %s %s", name, hvi_status_text(status), err.text);
  assert_null(p);
  check_error(status, err.status, &err, expect);
  check_error(status, err.status, &err, name);
}

/* Every .yaml of a folder; returns how many there are. */
static inline size_t check_bad_files(const char *folder, bad_file_reader reader) {
  DIR *d = opendir(folder);
  size_t count = 0;
  assert_non_null(d);
  for (struct dirent *entry; (entry = readdir(d));) {
    if (!strstr(entry->d_name, ".yaml")) continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    check_bad_file(path, entry->d_name, reader);
    count++;
  }
  closedir(d);
  return count;
}
