#define _GNU_SOURCE /* fopencookie, flock, memmem, realpath */
#include "base/file.h"

#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

bool hvi_file_write(int fd, const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(fd, (const char *)bytes + done, size - done);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) done += (size_t)n;
  }
  return true;
}

/* The first failure is remembered: stdio knows only that there was one. */
static ssize_t write_stream(void *cookie, const char *bytes, size_t size) {
  hvi_file *f = cookie;
  if (!f->code && !hvi_file_write(f->fd, bytes, size)) f->code = errno;
  return f->code ? 0 : (ssize_t)size;
}

/* The file behind a symbolic link, so that a commit replaces the file and keeps the link. */
static char *resolve(const char *path) {
  struct stat st;
  const bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
  HVI_OWN char *target = is_link ? realpath(path, NULL) : NULL;
  return hvi_copy_text(target ? target : path);
}

/* The folder that a path lies in; the caller owns it. NULL without memory. */
static char *folder_of(const char *path) {
  char *folder = hvi_copy_text(path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (slash) slash[slash == folder] = '\0';
  if (!folder || slash) return folder;
  hvi_free(folder);
  return hvi_copy_text(".");
}

/* Whether the writer of a temporary is gone. Its process may be one of another machine, so the lock
 * has a say too: the writer holds it until the file is whole. */
static bool is_orphan(int folder, const char *name, unsigned long pid) {
  if (pid == 0 || pid > INT_MAX || kill((pid_t)pid, 0) == 0 || errno != ESRCH) return false;
  const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const bool unlocked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  return unlocked;
}

void hvi_file_sweep(const char *start) {
  HVI_OWN char *path = folder_of(start);
  DIR *folder = path ? opendir(path) : NULL;
  const char *slash = strrchr(start, '/'), *base = slash ? slash + 1 : start;
  for (const struct dirent *e; folder && (e = readdir(folder));) {
    char *end;
    if (strncmp(e->d_name, base, strlen(base)) != 0) continue;
    const unsigned long pid = strtoul(e->d_name + strlen(base), &end, 16);
    if (*end == '.' && is_orphan(dirfd(folder), e->d_name, pid))
      unlinkat(dirfd(folder), e->d_name, 0);
  }
  if (folder) closedir(folder);
}

/* The lock on an open file, unless another run has it, or has just removed the file. */
static bool claim(int fd, const char *path) {
  struct stat is, named;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(fd, &is) == 0 && lstat(path, &named) == 0 && is.st_dev == named.st_dev &&
         is.st_ino == named.st_ino;
}

/* Opens a new file beside f->path under a name nobody has. Not mkstemp: its files are private to
 * the user, and asking for the umask would mean changing it for the whole process. A file that is
 * replaced keeps its mode. */
static hvi_status open_temporary(hvi_file *f, const struct stat *old, hvi_error *err) {
  const mode_t mode = old ? old->st_mode & 07777 : 0666;
  const size_t size = strlen(f->path) + 64;
  HVI_NEW(char, name, size, "a file name", err);
  snprintf(name, size, "%s.tmp.", f->path);
  hvi_file_sweep(name);
  for (unsigned attempt = 0; attempt < 100 && f->fd < 0; attempt++) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, size, "%s.tmp.%lx.%lx%x", f->path, (unsigned long)getpid(),
             (unsigned long)now.tv_nsec, attempt);
    f->fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
    if (f->fd < 0 && errno != EEXIST) break;
    if (f->fd >= 0 && !claim(f->fd, name)) {
      close(f->fd);
      f->fd = -1;
    }
  }
  if (f->fd < 0) return hvi_error_system(err, "create", f->path);
  f->temporary = name;
  name = NULL;
  return !old || fchmod(f->fd, mode) == 0 ? HVI_OK : hvi_error_system(err, "create", f->path);
}

/* Opens without waiting for whoever reads a pipe: without a reader it is an error. */
static int open_at_once(const char *path, int flags) {
  const int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0666);
  if (fd >= 0) fcntl(fd, F_SETFL, flags & ~O_CREAT);
  if (fd < 0 && errno == ENXIO) errno = EPIPE;
  return fd;
}

/* A device or a pipe (/dev/stdout) is written in place: renaming over it would destroy it. */
static hvi_status open_target(hvi_file *f, hvi_error *err) {
  struct stat st;
  HVI_OWN char *previous = hvi_file_previous(f->path);
  const bool there =
      stat(f->path, &st) == 0 || (previous && lstat(previous, &st) == 0 && S_ISREG(st.st_mode));
  if (!there || S_ISREG(st.st_mode)) return open_temporary(f, there ? &st : NULL, err);
  if (S_ISDIR(st.st_mode)) return hvi_error_io(err, "cannot create '%s': it is a folder", f->path);
  f->fd = open_at_once(f->path, O_WRONLY);
  return f->fd < 0 ? hvi_error_system(err, "open", f->path) : HVI_OK;
}

/* The stream over f->fd, where that could be opened. */
static hvi_status begin(hvi_file *f, hvi_status status, hvi_error *err) {
  if (!status) f->stream = fopencookie(f, "w", (cookie_io_functions_t){.write = write_stream});
  if (f->stream) return HVI_OK;
  if (!status) status = hvi_error_memory(err, "a file");
  if (f->fd >= 0) close(f->fd);
  hvi_file_discard(f);
  return status;
}

hvi_status hvi_file_create(hvi_file *f, const char *path, hvi_error *err) {
  *f = (hvi_file){.path = resolve(path), .fd = -1};
  return begin(f, f->path ? open_target(f, err) : hvi_error_memory(err, "a file name"), err);
}

static bool has_mark(const char *path, uint64_t size, const char *mark) {
  enum { END = 4096 };
  char bytes[END];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const uint64_t ends[] = {0, size > END ? size - END : 0};
  bool found = false;
  for (size_t k = 0; fd >= 0 && k < 2 && !found; k++)
    found = memmem(bytes, hvi_file_read_at(fd, bytes, END, ends[k]), mark, strlen(mark));
  if (fd >= 0) close(fd);
  return found;
}

/* Whether a file can be made is found by making one and giving it up. */
hvi_status hvi_file_ours(const char *path, const char *mark, hvi_error *err) {
  struct stat st;
  hvi_file probe;
  const bool there = stat(path, &st) == 0;
  if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return HVI_OK;
  HVI_TRY(hvi_file_create(&probe, path, err));
  hvi_file_discard(&probe);
  if (!there || !mark || st.st_size == 0 || has_mark(path, (uint64_t)st.st_size, mark))
    return HVI_OK;
  return hvi_error_io(err, "'%s' is there, and hvi did not make it for this: --force replaces it",
                      path);
}

hvi_status hvi_file_plain(const char *path, hvi_error *err) {
  struct stat st;
  if (lstat(path, &st) != 0 || S_ISREG(st.st_mode)) return HVI_OK;
  return hvi_error_io(err, "'%s' is %s; hvi keeps what it needs itself in plain files", path,
                      S_ISLNK(st.st_mode) ? "a symbolic link" : "no file");
}

hvi_status hvi_file_replace(hvi_file *f, const char *path, hvi_error *err) {
  *f = (hvi_file){.keep = true, .fd = -1};
  HVI_TRY(hvi_file_plain(path, err));
  f->path = hvi_copy_text(path);
  return begin(f, f->path ? open_target(f, err) : hvi_error_memory(err, "a file name"), err);
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

static hvi_status open_growing(hvi_file *f, uint64_t keep, hvi_error *err) {
  struct stat st;
  if (!f->path) return hvi_error_memory(err, "a file name");
  if (lstat(f->path, &st) == 0 && S_ISLNK(st.st_mode) && stat(f->path, &st) != 0)
    return hvi_error_io(err, "cannot create '%s': it is a link to nothing", f->path);
  HVI_TRY(hvi_file_open_locked(&f->fd, f->path, O_WRONLY, f->path, err));
  /* a pipe or a terminal cannot be cut and need not be */
  const bool cut = ftruncate(f->fd, (off_t)keep) == 0 || errno == EINVAL;
  if (cut && (lseek(f->fd, 0, SEEK_END) >= 0 || errno == ESPIPE)) return HVI_OK;
  return hvi_error_system(err, "write", f->path);
}

hvi_status hvi_file_grow(hvi_file *f, const char *path, uint64_t keep, hvi_error *err) {
  *f = (hvi_file){.path = resolve(path), .fd = -1};
  return begin(f, open_growing(f, keep, err), err);
}

/* Zero, or the errno of what kept some of the data from the disk. */
static int flush(hvi_file *f) {
  const bool failed = ferror(f->stream) || fflush(f->stream) != 0;
  return f->code ? f->code : failed ? EIO : sync_fd(f->fd);
}

hvi_status hvi_file_flush(hvi_file *f, hvi_error *err) {
  errno = flush(f);
  return errno ? hvi_error_system(err, "write", f->path) : HVI_OK;
}

hvi_status hvi_folder_sync(const char *path, hvi_error *err) {
  HVI_OWN char *folder = folder_of(path);
  if (!folder) return hvi_error_memory(err, "a file name");
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* a folder that may be written and not read cannot be synced */
  if (fd < 0) return HVI_OK;
  const hvi_status status = hvi_file_sync(fd, path, err);
  close(fd);
  return status;
}

static int flush_and_close(hvi_file *f) {
  int code = flush(f);
  fclose(f->stream);
  if (close(f->fd) != 0 && !code && errno != EINTR) code = errno;
  f->stream = NULL;
  return code;
}

/* path.previous becomes another name of the file that is about to be replaced. Where a file system
 * has no hard links there is none. */
static hvi_status keep_previous(const hvi_file *f, hvi_error *err) {
  HVI_OWN char *previous = hvi_file_previous(f->path), *link_name = hvi_file_previous(f->temporary);
  if (!previous || !link_name) return hvi_error_memory(err, "a file name");
  if (link(f->path, link_name) != 0) return HVI_OK;
  const bool renamed = rename(link_name, previous) == 0;
  /* after a kill in between both are names of one file already, and rename leaves such as they are */
  unlink(link_name);
  return renamed ? HVI_OK : hvi_error_system(err, "create", previous);
}

static hvi_status put_in_place(hvi_file *f, hvi_error *err) {
  if (f->keep) HVI_TRY(keep_previous(f, err));
  if (rename(f->temporary, f->path) != 0) return hvi_error_system(err, "create", f->path);
  hvi_free(f->temporary);
  f->temporary = NULL;
  return hvi_folder_sync(f->path, err);
}

hvi_status hvi_file_commit(hvi_file *f, hvi_error *err) {
  if (!f->stream) return hvi_error_argument(err, "the file is not open");
  errno = flush_and_close(f);
  const hvi_status status = errno          ? hvi_error_system(err, "write", f->path)
                            : f->temporary ? put_in_place(f, err)
                                           : HVI_OK;
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

hvi_status hvi_file_set_aside(const char *path, hvi_error *err) {
  HVI_OWN char *previous = hvi_file_previous(path);
  if (!previous) return hvi_error_memory(err, "a file name");
  if (rename(path, previous) == 0) return hvi_folder_sync(path, err);
  return errno == ENOENT ? HVI_OK : hvi_error_system(err, "rename", path);
}

hvi_status hvi_file_open_locked(int *fd, const char *path, int flags, const char *owner,
                                hvi_error *err) {
  struct stat st;
  *fd = open_at_once(path, flags | O_CREAT);
  if (*fd < 0) return hvi_error_system(err, "create", path);
  if (fstat(*fd, &st) == 0 && !S_ISREG(st.st_mode)) return HVI_OK;
  if (claim(*fd, path)) return HVI_OK;
  close(*fd);
  *fd = -1;
  return hvi_error_io(err, "'%s' is in use: another run is writing it", owner);
}

hvi_status hvi_lock_take(hvi_lock *lock, const char *path, hvi_error *err) {
  struct stat st;
  *lock = (hvi_lock){-1, NULL};
  HVI_OWN char *name = hvi_join_texts(path, ".lock");
  if (!name) return hvi_error_memory(err, "a file name");
  HVI_TRY(hvi_file_plain(name, err));
  HVI_TRY(hvi_file_open_locked(&lock->fd, name, O_RDWR | O_NOFOLLOW, path, err));
  if (fstat(lock->fd, &st) != 0 || st.st_size != 0) {
    close(lock->fd);
    return hvi_error_io(err, "'%s' has contents: it is no lock of hvi's", name);
  }
  HVI_GIVE(&lock->path, name);
}

void hvi_lock_release(hvi_lock *lock) {
  if (!lock->path) return;
  unlink(lock->path);
  close(lock->fd);
  hvi_free(lock->path);
  *lock = (hvi_lock){-1, NULL};
}

hvi_status hvi_file_write_text(const char *path, const char *text, hvi_error *err) {
  hvi_file f;
  HVI_TRY(hvi_file_create(&f, path, err));
  fputs(text, f.stream); /* a failure stays in the stream and is found by the commit */
  return hvi_file_commit(&f, err);
}

size_t hvi_file_read_at(int fd, void *bytes, size_t size, uint64_t offset) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = 0;
    if (n <= 0) break;
    done += (size_t)n;
  }
  return done;
}

static hvi_status read_open(unsigned char **bytes, size_t *size, int fd, const char *path,
                            size_t max_bytes, hvi_error *err) {
  struct stat st;
  if (fstat(fd, &st) != 0) return hvi_error_system(err, "read", path);
  if (!S_ISREG(st.st_mode))
    return hvi_error_io(err, "cannot read '%s': it is not a regular file", path);
  if ((uintmax_t)st.st_size > max_bytes)
    return hvi_error_input(err, "'%s' has %ju bytes; at most %zu are read", path,
                           (uintmax_t)st.st_size, max_bytes);
  const size_t there = (size_t)st.st_size;
  HVI_OWN unsigned char *content = there < SIZE_MAX ? hvi_alloc(there + 1, 1) : NULL;
  if (!content) return hvi_error_memory(err, "the contents of a file");
  *size = hvi_file_read_at(fd, content, there, 0);
  if (*size < there && errno) return hvi_error_system(err, "read", path);
  content[*size] = 0;
  HVI_GIVE(bytes, content);
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
  HVI_OWN unsigned char *bytes = NULL;
  size_t size;
  *text = NULL;
  HVI_TRY(hvi_file_read_bytes(&bytes, &size, path, max_bytes, err));
  const unsigned char *nul = memchr(bytes, 0, size);
  if (nul)
    return hvi_error_input(err, "'%s' is not a text file: byte %zu is zero", path,
                           (size_t)(nul - bytes));
  *text = (char *)bytes;
  bytes = NULL;
  return HVI_OK;
}

static hvi_status make_one(const char *path, hvi_error *err) {
  struct stat st;
  if (mkdir(path, 0777) == 0) return hvi_folder_sync(path, err);
  const int code = errno;
  const bool there = stat(path, &st) == 0;
  if (there && S_ISDIR(st.st_mode)) return HVI_OK;
  if (there) return hvi_error_io(err, "cannot make folder '%s': a file has this name", path);
  errno = code;
  return hvi_error_system(err, "make folder", path);
}

hvi_status hvi_folder_make(const char *path, hvi_error *err) {
  if (!path[0]) return hvi_error_argument(err, "a folder needs a name");
  HVI_OWN char *prefix = hvi_copy_text(path);
  if (!prefix) return hvi_error_memory(err, "a file name");
  for (char *p = prefix + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    HVI_TRY(make_one(prefix, err));
    *p = '/';
  }
  return make_one(prefix, err);
}
