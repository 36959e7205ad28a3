/*
 * Files that appear whole or not at all, survive a loss of power, and are read with a limit.
 *
 * A file is written under a temporary name in its folder, synced and renamed, and then the folder
 * is synced. A file that is replaced keeps its mode. A signal ends no write. Temporaries that a
 * killed run left are removed when the same file is made again.
 */
#pragma once

#include <hvi/error.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A file under construction. A device or pipe such as /dev/stdout is written in place, without a
 * temporary. */
typedef struct hvi_file {
  FILE *stream; /* knows this struct, which does not move */
  int fd, code; /* that the stream writes to; errno of its first failure */
  char *path, *temporary;
  bool keep; /* what is replaced becomes path.previous */
} hvi_file;

/* Through symbolic links: the file behind one is replaced, and the link stays. */
hvi_status hvi_file_create(hvi_file *f, const char *path, hvi_error *err);
/* The same for a file that hvi keeps for itself: never through a link, and the file that it
 * replaces stays as path.previous. */
hvi_status hvi_file_replace(hvi_file *f, const char *path, hvi_error *err);
/* A file that grows in place and can be followed: locked, so that of two runs the second gets an
 * error, and cut off after its first `keep` bytes. There is no temporary: what was flushed stays,
 * however the run ends. */
hvi_status hvi_file_grow(hvi_file *f, const char *path, uint64_t keep, hvi_error *err);
/* What was written so far goes to the disk; an error also when an earlier write has failed. */
hvi_status hvi_file_flush(hvi_file *f, hvi_error *err);
/* Flushes, syncs, closes and renames; on any failure (a full disk too) removes the temporary and
 * leaves an existing target as it was. */
hvi_status hvi_file_commit(hvi_file *f, hvi_error *err);
/* Gives up: removes the temporary; closes what grows. Fine after a commit and on a zeroed hvi_file. */
void hvi_file_discard(hvi_file *f);

/* The rule for what is there already, and whether a file can be made there at all: an error unless
 * path is free, empty, a device or a pipe, or a file that has `mark` among its first or last 4,096
 * bytes. A mark is text that only files made for the same purpose have: a header line of a CSV, a
 * note in a header; NULL: any file may be replaced. */
hvi_status hvi_file_ours(const char *path, const char *mark, hvi_error *err);
/* Removes what processes that were killed left under names of the form START PID '.' ..., the PID in
 * hexadecimal. What a living one writes is left alone. */
void hvi_file_sweep(const char *start);
/* An error when there is something at path that is not a file: a link, a folder, a device. */
hvi_status hvi_file_plain(const char *path, hvi_error *err);
/* path.previous; hvi_free it. NULL without memory. */
char *hvi_file_previous(const char *path);
/* Renames path to path.previous, on the disk too; fine when it is not there. The next file that is
 * created at path has its mode. */
hvi_status hvi_file_set_aside(const char *path, hvi_error *err);
/* To the disk: an open file; the folder that a path lies in, after a rename. */
hvi_status hvi_file_sync(int fd, const char *path, hvi_error *err);
hvi_status hvi_folder_sync(const char *path, hvi_error *err);

/* A run's claim to the files whose names begin with `path`: path.lock, locked while the run lasts.
 * The system lets go of it however the run ends. */
typedef struct hvi_lock {
  int fd;
  char *path;
} hvi_lock;

/* An error that names `path` when another run has it. */
hvi_status hvi_lock_take(hvi_lock *lock, const char *path, hvi_error *err);
/* Removes path.lock. Fine on a zeroed lock. */
void hvi_lock_release(hvi_lock *lock);
/* Opens (flags as for open; it is made when it is not there) and locks a file that grows in place.
 * A device or a pipe is not locked. Of a file that another run has, the error names `owner`. */
hvi_status hvi_file_open_locked(int *fd, const char *path, int flags, const char *owner,
                                hvi_error *err);

/* Writes all of it, past signals; false with errno. */
bool hvi_file_write(int fd, const void *bytes, size_t size);
/* Reads past signals; returns how many bytes there are. Fewer than `size` leave errno, 0 at the end
 * of the file. */
size_t hvi_file_read_at(int fd, void *bytes, size_t size, uint64_t offset);

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
