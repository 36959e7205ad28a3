#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The file behind a symbolic link, so that a commit replaces the file and keeps the link. */
static char *resolve(const char *path) {
  struct stat st;
  if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
    char *target = realpath(path, NULL);
    char *copy = target ? hvi_copy_text(target) : NULL;
    free(target);
    if (copy) return copy;
  }
  return hvi_copy_text(path);
}

/* Opens a new file beside f->path under a name nobody has. Not mkstemp: its files are private to
 * the user, and asking for the umask would mean changing it for the whole process. */
static int open_temporary(hvi_file *f, hvi_error *err) {
  size_t size = strlen(f->path) + 64;
  f->temporary = hvi_alloc(size, 1);
  if (!f->temporary) {
    hvi_error_memory(err, "a file name");
    return -1;
  }
  int fd = -1;
  for (unsigned attempt = 0; attempt < 100 && fd < 0; attempt++) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(f->temporary, size, "%s.tmp.%lx%lx%x", f->path, (unsigned long)getpid(),
             (unsigned long)now.tv_nsec, attempt);
    fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) {
    hvi_error_system(err, "create", f->path);
    hvi_free(f->temporary);
    f->temporary = NULL;
  }
  return fd;
}

/* A device or a pipe (/dev/stdout) is written in place: renaming over it would destroy it. */
static int open_target(hvi_file *f, hvi_error *err) {
  struct stat st;
  if (stat(f->path, &st) != 0 || S_ISREG(st.st_mode)) return open_temporary(f, err);
  if (S_ISDIR(st.st_mode)) {
    hvi_error_set(err, HVI_ERROR_IO, "cannot create '%s': it is a folder", f->path);
    return -1;
  }
  int fd = open(f->path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) hvi_error_system(err, "open", f->path);
  return fd;
}

hvi_status hvi_file_create(hvi_file *f, const char *path, hvi_error *err) {
  hvi_error local = {0};
  if (!err) err = &local;
  *f = (hvi_file){0};
  f->path = resolve(path);
  if (!f->path) return hvi_error_memory(err, "a file name");
  int fd = open_target(f, err);
  if (fd >= 0) {
    f->stream = fdopen(fd, "w");
    if (f->stream) return HVI_OK;
    hvi_error_system(err, "open", path);
    close(fd);
  }
  hvi_status status = err->status;
  hvi_file_discard(f);
  return status;
}

/* Zero, or the errno of what kept some of the data from the disk. The reason of a write that failed
 * earlier is gone; one more byte, in a file that will be removed, asks for it again. What cannot be
 * synced (a pipe, a terminal) need not be. */
static int flush_and_close(FILE *stream) {
  bool failed_before = ferror(stream);
  if (failed_before) fputc(' ', stream);
  int code = fflush(stream) != 0 ? errno : failed_before ? EIO : 0;
  if (!code && fsync(fileno(stream)) != 0 && errno != EINVAL && errno != ENOTSUP) code = errno;
  if (fclose(stream) != 0 && !code) code = errno;
  return code;
}

hvi_status hvi_file_commit(hvi_file *f, hvi_error *err) {
  if (!f->stream) return hvi_error_set(err, HVI_ERROR_ARGUMENT, "the file is not open");
  hvi_status status = HVI_OK;
  errno = flush_and_close(f->stream);
  f->stream = NULL;
  if (errno) {
    status = hvi_error_system(err, "write", f->path);
  } else if (f->temporary) {
    if (rename(f->temporary, f->path) == 0) {
      hvi_free(f->temporary);
      f->temporary = NULL;
    } else {
      status = hvi_error_system(err, "create", f->path);
    }
  }
  hvi_file_discard(f);
  return status;
}

void hvi_file_discard(hvi_file *f) {
  if (f->stream) fclose(f->stream);
  if (f->temporary) unlink(f->temporary);
  hvi_free(f->temporary);
  hvi_free(f->path);
  *f = (hvi_file){0};
}

hvi_status hvi_file_write_text(const char *path, const char *text, hvi_error *err) {
  hvi_file f;
  hvi_status status = hvi_file_create(&f, path, err);
  if (status != HVI_OK) return status;
  fputs(text, f.stream); /* a failure stays in the stream and is found by the commit */
  return hvi_file_commit(&f, err);
}

/* Checks kind and size of an open file. */
static hvi_status check_readable(size_t *size, int fd, const char *path, size_t max_bytes,
                                 hvi_error *err) {
  struct stat st;
  if (fstat(fd, &st) != 0) return hvi_error_system(err, "read", path);
  if (!S_ISREG(st.st_mode)) {
    return hvi_error_set(err, HVI_ERROR_IO, "cannot read '%s': it is not a regular file", path);
  }
  if ((uintmax_t)st.st_size > max_bytes) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has %ju bytes; at most %zu are read", path,
                         (uintmax_t)st.st_size, max_bytes);
  }
  *size = (size_t)st.st_size;
  return HVI_OK;
}

/* Reads up to *size bytes; *size becomes what was there. */
static bool read_fully(int fd, unsigned char *bytes, size_t *size) {
  size_t done = 0;
  while (done < *size) {
    ssize_t n = read(fd, bytes + done, *size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    if (n == 0) break;
    done += (size_t)n;
  }
  *size = done;
  return true;
}

static hvi_status read_open(unsigned char **bytes, size_t *size, int fd, const char *path,
                            size_t max_bytes, hvi_error *err) {
  hvi_status status = check_readable(size, fd, path, max_bytes, err);
  if (status != HVI_OK) return status;
  unsigned char *content = *size < SIZE_MAX ? hvi_alloc(*size + 1, 1) : NULL;
  if (!content) return hvi_error_memory(err, "the contents of a file");
  if (!read_fully(fd, content, size)) {
    hvi_free(content);
    return hvi_error_system(err, "read", path);
  }
  content[*size] = 0;
  *bytes = content;
  return HVI_OK;
}

hvi_status hvi_file_read_bytes(unsigned char **bytes, size_t *size, const char *path,
                               size_t max_bytes, hvi_error *err) {
  *bytes = NULL;
  *size = 0;
  /* without O_NONBLOCK, opening a named pipe would wait for a writer */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return hvi_error_system(err, "open", path);
  hvi_status status = read_open(bytes, size, fd, path, max_bytes, err);
  close(fd);
  return status;
}

hvi_status hvi_file_read_text(char **text, const char *path, size_t max_bytes, hvi_error *err) {
  unsigned char *bytes;
  size_t size;
  *text = NULL;
  hvi_status status = hvi_file_read_bytes(&bytes, &size, path, max_bytes, err);
  if (status != HVI_OK) return status;
  const unsigned char *nul = memchr(bytes, 0, size);
  if (nul) {
    status = hvi_error_set(err, HVI_ERROR_INPUT, "'%s' is not a text file: byte %zu is zero", path,
                           (size_t)(nul - bytes));
    hvi_free(bytes);
    return status;
  }
  *text = (char *)bytes;
  return HVI_OK;
}

static hvi_status make_one(const char *path, hvi_error *err) {
  if (mkdir(path, 0777) == 0) return HVI_OK;
  int code = errno;
  struct stat st;
  if (stat(path, &st) == 0) {
    if (S_ISDIR(st.st_mode)) return HVI_OK;
    return hvi_error_set(err, HVI_ERROR_IO, "cannot make folder '%s': a file has this name", path);
  }
  errno = code;
  return hvi_error_system(err, "make folder", path);
}

hvi_status hvi_folder_make(const char *path, hvi_error *err) {
  if (!path[0]) return hvi_error_set(err, HVI_ERROR_ARGUMENT, "a folder needs a name");
  char *prefix = hvi_copy_text(path);
  if (!prefix) return hvi_error_memory(err, "a file name");
  hvi_status status = HVI_OK;
  for (char *p = prefix + 1; *p && status == HVI_OK; p++) {
    if (*p != '/') continue;
    *p = 0;
    status = make_one(prefix, err);
    *p = '/';
  }
  if (status == HVI_OK) status = make_one(prefix, err);
  hvi_free(prefix);
  return status;
}
