#define _GNU_SOURCE /* fopencookie, flock, realpath */
#include "base/file.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What a stream writes to. A signal does not end a write, and the first failure is remembered:
 * stdio knows only that there was one. */
struct hvi_file_sink {
  int fd, code;
};

static ssize_t write_sink(void *cookie, const char *bytes, size_t size) {
  struct hvi_file_sink *s = cookie;
  for (size_t done = 0; done < size && !s->code;) {
    const ssize_t n = write(s->fd, bytes + done, size - done);
    if (n < 0 && errno != EINTR) s->code = errno;
    if (n > 0) done += (size_t)n;
  }
  return s->code ? 0 : (ssize_t)size;
}

static bool open_stream(hvi_file *f, int fd) {
  f->sink = hvi_alloc(1, sizeof *f->sink);
  if (!f->sink) return false;
  *f->sink = (struct hvi_file_sink){fd, 0};
  f->stream = fopencookie(f->sink, "w", (cookie_io_functions_t){.write = write_sink});
  if (f->stream) return true;
  hvi_free(f->sink);
  f->sink = NULL;
  return false;
}

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
 * the user, and asking for the umask would mean changing it for the whole process. A file that is
 * replaced keeps its mode. */
static hvi_status open_temporary(int *fd, hvi_file *f, const struct stat *old, hvi_error *err) {
  const mode_t mode = old ? old->st_mode & 07777 : 0666;
  const size_t size = strlen(f->path) + 64;
  f->temporary = hvi_alloc(size, 1);
  if (!f->temporary) return hvi_error_memory(err, "a file name");
  for (unsigned attempt = 0; attempt < 100 && *fd < 0; attempt++) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(f->temporary, size, "%s.tmp.%lx%lx%x", f->path, (unsigned long)getpid(),
             (unsigned long)now.tv_nsec, attempt);
    *fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
    if (*fd < 0 && errno != EEXIST) break;
  }
  if (*fd >= 0 && (!old || fchmod(*fd, mode) == 0)) return HVI_OK;
  const hvi_status status = hvi_error_system(err, "create", f->path);
  if (*fd >= 0) {
    close(*fd);
    return status;
  }
  hvi_free(f->temporary); /* the name is somebody else's */
  f->temporary = NULL;
  return status;
}

/* A device or a pipe (/dev/stdout) is written in place: renaming over it would destroy it. */
static hvi_status open_target(int *fd, hvi_file *f, hvi_error *err) {
  struct stat st;
  const bool there = stat(f->path, &st) == 0;
  if (!there || S_ISREG(st.st_mode)) return open_temporary(fd, f, there ? &st : NULL, err);
  if (S_ISDIR(st.st_mode))
    return hvi_error_set(err, HVI_ERROR_IO, "cannot create '%s': it is a folder", f->path);
  *fd = open(f->path, O_WRONLY | O_CLOEXEC);
  return *fd < 0 ? hvi_error_system(err, "open", f->path) : HVI_OK;
}

static hvi_status begin(hvi_file *f, hvi_error *err) {
  int fd = -1;
  hvi_status status = f->path ? open_target(&fd, f, err) : hvi_error_memory(err, "a file name");
  if (!status && !open_stream(f, fd)) {
    status = hvi_error_memory(err, "a file");
    close(fd);
  }
  if (status) hvi_file_discard(f);
  return status;
}

hvi_status hvi_file_create(hvi_file *f, const char *path, hvi_error *err) {
  *f = (hvi_file){.path = resolve(path)};
  return begin(f, err);
}

hvi_status hvi_file_plain(const char *path, hvi_error *err) {
  struct stat st;
  if (lstat(path, &st) != 0 || S_ISREG(st.st_mode)) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_IO,
                       "'%s' is %s; hvi keeps what it needs itself in plain files", path,
                       S_ISLNK(st.st_mode) ? "a symbolic link" : "no file");
}

hvi_status hvi_file_replace(hvi_file *f, const char *path, hvi_error *err) {
  *f = (hvi_file){.keep = true};
  HVI_TRY(hvi_file_plain(path, err));
  f->path = hvi_copy_text(path);
  return begin(f, err);
}

/* Zero, or an errno. What cannot be synced (a pipe, a terminal) need not be. */
static int sync_fd(int fd) {
  int failed;
  do failed = fsync(fd);
  while (failed && errno == EINTR);
  return failed && errno != EINVAL && errno != ENOTSUP ? errno : 0;
}

hvi_status hvi_file_sync(int fd, const char *path, hvi_error *err) {
  errno = sync_fd(fd);
  return errno ? hvi_error_system(err, "write", path) : HVI_OK;
}

hvi_status hvi_folder_sync(const char *path, hvi_error *err) {
  char *folder = hvi_copy_text(path);
  if (!folder) return hvi_error_memory(err, "a file name");
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0';
  const int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  hvi_free(folder);
  /* a folder that may be written and not read cannot be synced */
  if (fd < 0) return HVI_OK;
  const hvi_status status = hvi_file_sync(fd, path, err);
  close(fd);
  return status;
}

/* Zero, or the errno of what kept some of the data from the disk. */
static int flush_and_close(hvi_file *f) {
  const bool failed = ferror(f->stream) || fflush(f->stream) != 0;
  int code = f->sink->code ? f->sink->code : failed ? EIO : 0;
  if (!code) code = sync_fd(f->sink->fd);
  fclose(f->stream);
  if (close(f->sink->fd) != 0 && !code && errno != EINTR) code = errno;
  hvi_free(f->sink);
  f->stream = NULL;
  f->sink = NULL;
  return code;
}

/* path.previous becomes another name of the file that is about to be replaced. Where a file system
 * has no hard links there is none. */
static hvi_status keep_previous(const hvi_file *f, hvi_error *err) {
  char *previous = hvi_file_previous(f->path);
  char *link_name = hvi_file_previous(f->temporary);
  hvi_status status = previous && link_name ? HVI_OK : hvi_error_memory(err, "a file name");
  if (!status && link(f->path, link_name) == 0 && rename(link_name, previous) != 0) {
    unlink(link_name);
    status = hvi_error_system(err, "create", previous);
  }
  hvi_free(previous);
  hvi_free(link_name);
  return status;
}

static hvi_status put_in_place(hvi_file *f, hvi_error *err) {
  HVI_TRY(f->keep ? keep_previous(f, err) : HVI_OK);
  if (rename(f->temporary, f->path) != 0) return hvi_error_system(err, "create", f->path);
  hvi_free(f->temporary);
  f->temporary = NULL;
  return hvi_folder_sync(f->path, err);
}

hvi_status hvi_file_commit(hvi_file *f, hvi_error *err) {
  if (!f->stream) return hvi_error_argument(err, "the file is not open");
  hvi_status status = HVI_OK;
  errno = flush_and_close(f);
  if (errno)
    status = hvi_error_system(err, "write", f->path);
  else if (f->temporary)
    status = put_in_place(f, err);
  hvi_file_discard(f);
  return status;
}

void hvi_file_discard(hvi_file *f) {
  if (f->stream) flush_and_close(f);
  if (f->temporary) unlink(f->temporary);
  hvi_free(f->temporary);
  hvi_free(f->path);
  *f = (hvi_file){0};
}

char *hvi_file_previous(const char *path) { return hvi_join_texts(path, ".previous"); }

/* The lock on an open file, unless another run has it, or has just removed the file. */
static bool claim(int fd, const char *path) {
  struct stat is, named;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(fd, &is) == 0 && lstat(path, &named) == 0 && is.st_dev == named.st_dev &&
         is.st_ino == named.st_ino;
}

/* Of a file that another run has, the error names `owner`. */
static hvi_status open_locked(int *fd, const char *path, int flags, const char *owner,
                              hvi_error *err) {
  struct stat st;
  *fd = open(path, flags | O_CREAT | O_CLOEXEC, 0666);
  if (*fd < 0) return hvi_error_system(err, "create", path);
  if (fstat(*fd, &st) == 0 && !S_ISREG(st.st_mode)) return HVI_OK;
  if (claim(*fd, path)) return HVI_OK;
  close(*fd);
  *fd = -1;
  return hvi_error_set(err, HVI_ERROR_IO, "'%s' is in use: another run is writing it", owner);
}

hvi_status hvi_file_open_locked(int *fd, const char *path, int flags, hvi_error *err) {
  return open_locked(fd, path, flags, path, err);
}

hvi_status hvi_lock_take(hvi_lock *lock, const char *path, hvi_error *err) {
  struct stat st;
  *lock = (hvi_lock){-1, hvi_join_texts(path, ".lock")};
  if (!lock->path) return hvi_error_memory(err, "a file name");
  hvi_status status = hvi_file_plain(lock->path, err);
  if (!status) status = open_locked(&lock->fd, lock->path, O_RDWR | O_NOFOLLOW, path, err);
  if (!status && (fstat(lock->fd, &st) != 0 || st.st_size != 0))
    status =
        hvi_error_set(err, HVI_ERROR_IO, "'%s' has contents: it is no lock of hvi's", lock->path);
  if (!status) return HVI_OK;
  if (lock->fd >= 0) close(lock->fd);
  hvi_free(lock->path);
  *lock = (hvi_lock){-1, NULL};
  return status;
}

void hvi_lock_release(hvi_lock *lock) {
  if (lock->path) {
    unlink(lock->path);
    close(lock->fd);
  }
  hvi_free(lock->path);
  *lock = (hvi_lock){-1, NULL};
}

hvi_status hvi_file_write_text(const char *path, const char *text, hvi_error *err) {
  hvi_file f;
  HVI_TRY(hvi_file_create(&f, path, err));
  fputs(text, f.stream); /* a failure stays in the stream and is found by the commit */
  return hvi_file_commit(&f, err);
}

/* Reads up to *size bytes; *size becomes what was there. */
static bool read_fully(int fd, unsigned char *bytes, size_t *size) {
  size_t done = 0;
  for (ssize_t n = 1; done < *size && n != 0;) {
    n = read(fd, bytes + done, *size - done);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) done += (size_t)n;
  }
  *size = done;
  return true;
}

static hvi_status read_open(unsigned char **bytes, size_t *size, int fd, const char *path,
                            size_t max_bytes, hvi_error *err) {
  struct stat st;
  if (fstat(fd, &st) != 0) return hvi_error_system(err, "read", path);
  if (!S_ISREG(st.st_mode))
    return hvi_error_set(err, HVI_ERROR_IO, "cannot read '%s': it is not a regular file", path);
  if ((uintmax_t)st.st_size > max_bytes)
    return hvi_error_input(err, "'%s' has %ju bytes; at most %zu are read", path,
                           (uintmax_t)st.st_size, max_bytes);
  size_t there = (size_t)st.st_size;
  unsigned char *content = there < SIZE_MAX ? hvi_alloc(there + 1, 1) : NULL;
  if (!content) return hvi_error_memory(err, "the contents of a file");
  if (!read_fully(fd, content, &there)) {
    hvi_free(content);
    return hvi_error_system(err, "read", path);
  }
  content[there] = 0;
  *bytes = content;
  *size = there;
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
    status = hvi_error_input(err, "'%s' is not a text file: byte %zu is zero", path,
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
  if (!path[0]) return hvi_error_argument(err, "a folder needs a name");
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
