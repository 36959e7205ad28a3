/* Files that appear whole or not at all, and are read with a limit. */
#ifndef HVI_BASE_FILE_H
#define HVI_BASE_FILE_H

#include <hvi/error.h>

#include <stdbool.h>
#include <stdio.h>

/* A file under construction: a temporary name in the target's folder, renamed on commit. A device
 * or pipe such as /dev/stdout is written in place, without a temporary. */
typedef struct hvi_file {
  FILE *stream;
  char *path, *temporary;
} hvi_file;

hvi_status hvi_file_create(hvi_file *f, const char *path, hvi_error *err);
/* Flushes, syncs, closes and renames; on any failure (a full disk too) removes the temporary and
 * leaves an existing target as it was. */
hvi_status hvi_file_commit(hvi_file *f, hvi_error *err);
/* Gives up: removes the temporary. Fine after a commit and on a zeroed hvi_file. */
void hvi_file_discard(hvi_file *f);

/* Writes text to path, whole or not at all. */
hvi_status hvi_file_write_text(const char *path, const char *text, hvi_error *err);
/* Reads a whole file (hvi_free it); one zero byte follows the *size bytes. An error when it is not
 * a regular file or is over max_bytes. */
hvi_status hvi_file_read_bytes(unsigned char **bytes, size_t *size, const char *path,
                               size_t max_bytes, hvi_error *err);
/* Reads a whole file as a NUL-terminated string (hvi_free it); an error when it is not a regular
 * file, is over max_bytes, or contains a NUL byte. */
hvi_status hvi_file_read_text(char **text, const char *path, size_t max_bytes, hvi_error *err);

/* Makes a folder and its parents; fine when it exists. */
hvi_status hvi_folder_make(const char *path, hvi_error *err);

#endif
