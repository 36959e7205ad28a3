/*
 * A loss of power, replayed.
 *
 * Built with -DRECORD as a library, it is put before a program (LD_PRELOAD) and writes down in
 * $POWER_LOG what the program does to files below $POWER_ROOT: create, write, truncate, rename,
 * link, unlink, and what it syncs. Built as a program,
 *
 *   power BASE LOG OUT SEED [any|end [nosync]]
 *
 * makes in OUT what a disk may hold that held BASE before and lost power at some event. BASE.inodes
 * names the files that were in the program's folder then: lines of number, blank, name. What was
 * synced is there. Of the rest any part may be: every write or truncation of a file by itself, the
 * last one torn, and every change of a folder by itself. A sync of a file keeps its contents, that
 * of a folder its names. At `end` the power is lost after the last event. With `nosync` the disk ignores syncs: the plant that a test must notice.
 * Without SEED it prints how many events there are.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names are relative to the root. */
typedef struct event {
  char
      kind; /* C create (a folder, too), W write, T truncate, R rename, L link, U unlink, S sync, D sync a folder */
  uint64_t inode, at, size; /* of W the offset and the bytes that follow; of T the length */
  char name[256], to[256];
} event;

#ifdef RECORD
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The part of a path below the root; NULL: it is elsewhere. */
static const char *below(char full[PATH_MAX], const char *path) {
  const char *root = getenv("POWER_ROOT");
  char folder[PATH_MAX], *slash;
  if (!root || !getenv("POWER_LOG") || strlen(path) + 2 > sizeof folder) return NULL;
  snprintf(folder, sizeof folder, "%s%s", strchr(path, '/') ? "" : "./", path);
  slash = strrchr(folder, '/');
  *slash = '\0';
  if (!realpath(*folder ? folder : "/", full)) return NULL;
  strcat(strcat(full, "/"), slash + 1);
  const size_t n = strlen(root);
  return strncmp(full, root, n) == 0 && full[n] == '/' ? full + n + 1 : NULL;
}

static void note(const event *e, const void *bytes) {
  const int code = errno;
  pthread_mutex_lock(&lock);
  const int fd = REAL(open)(getenv("POWER_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (fd < 0 || REAL(write)(fd, e, sizeof *e) < 0 || REAL(write)(fd, bytes, e->size) < 0) abort();
  close(fd);
  pthread_mutex_unlock(&lock);
  errno = code;
}

/* An open file below the root; it may have lost its name. */
static bool known(int fd, uint64_t *inode) {
  char link[64], path[PATH_MAX], full[PATH_MAX];
  struct stat st;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0 || path[0] != '/') return false;
  path[n] = '\0';
  if (!below(full, path) || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  *inode = st.st_ino;
  return true;
}

int open(const char *path, int flags, ...) {
  char full[PATH_MAX];
  va_list args;
  va_start(args, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  va_end(args);
  struct stat st;
  const bool there = lstat(path, &st) == 0;
  const int fd = REAL(open)(path, flags, mode);
  const char *name = fd >= 0 && (flags & O_CREAT) && !there ? below(full, path) : NULL;
  if (name && fstat(fd, &st) == 0) {
    event e = {.kind = 'C', .inode = st.st_ino};
    snprintf(e.name, sizeof e.name, "%s", name);
    note(&e, "");
  }
  return fd;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  event e = {.kind = 'W'};
  const bool ours = known(fd, &e.inode);
  const off_t at = ours ? lseek(fd, 0, SEEK_CUR) : 0;
  const ssize_t n = REAL(write)(fd, bytes, size);
  e.at = (uint64_t)at;
  e.size = n > 0 ? (uint64_t)n : 0;
  if (ours && n > 0) note(&e, bytes);
  return n;
}

int ftruncate(int fd, off_t length) {
  event e = {.kind = 'T', .at = (uint64_t)length};
  const int failed = REAL(ftruncate)(fd, length);
  if (!failed && known(fd, &e.inode)) note(&e, "");
  return failed;
}

int fsync(int fd) {
  char link[64], path[PATH_MAX], full[PATH_MAX];
  struct stat st;
  event e = {.kind = 'S'};
  const int failed = REAL(fsync)(fd);
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (failed || n <= 0 || fstat(fd, &st) != 0) return failed;
  path[n] = '\0';
  e.inode = st.st_ino;
  if (S_ISREG(st.st_mode) && known(fd, &e.inode)) note(&e, "");
  if (!S_ISDIR(st.st_mode)) return 0;
  e.kind = 'D';
  strcat(path, "/x");
  const char *name = below(full, path);
  if (name) snprintf(e.name, sizeof e.name, "%.*s", (int)strlen(name) - 1, name);
  if (name) note(&e, "");
  return 0;
}

int mkdir(const char *path, mode_t mode) {
  char full[PATH_MAX];
  const int failed = REAL(mkdir)(path, mode);
  const char *name = failed ? NULL : below(full, path);
  event e = {.kind = 'C'};
  if (name) snprintf(e.name, sizeof e.name, "%.250s/", name);
  if (name) note(&e, "");
  return failed;
}

static void note_names(char kind, const char *from, const char *to) {
  char a[PATH_MAX], b[PATH_MAX];
  event e = {.kind = kind};
  const char *name = below(a, from), *new_name = to ? below(b, to) : "";
  if (!name || !new_name) return;
  snprintf(e.name, sizeof e.name, "%s", name);
  snprintf(e.to, sizeof e.to, "%s", new_name);
  note(&e, "");
}

int rename(const char *from, const char *to) {
  const int failed = REAL(rename)(from, to);
  if (!failed) note_names('R', from, to);
  return failed;
}

int link(const char *from, const char *to) {
  const int failed = REAL(link)(from, to);
  if (!failed) note_names('L', from, to);
  return failed;
}

int unlink(const char *path) {
  const int failed = REAL(unlink)(path);
  if (!failed) note_names('U', path, NULL);
  return failed;
}

int remove(const char *path) {
  const int failed = REAL(remove)(path);
  if (!failed) note_names('U', path, NULL);
  return failed;
}

#else

enum { MOST_FILES = 4096, MOST_NAMES = 4096 };

typedef struct contents {
  char *bytes;
  uint64_t size;
} contents;

/* A file as the program sees it, and as it was last synced. */
typedef struct file {
  uint64_t inode; /* 0: that of a file of BASE */
  contents disk;
  size_t *pending, pending_count; /* events */
} file;

typedef struct name {
  char text[256];
  int now, disk; /* file; -1: none */
} name;

static event *events;
static const char **payload;
static size_t count;
static file files[MOST_FILES];
static int file_count;
static name names[MOST_NAMES];
static size_t name_count;
static uint64_t state;

static uint32_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

static void die(const char *what) {
  perror(what);
  exit(2);
}

static char *read_all(const char *path, uint64_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) die(path);
  fseek(f, 0, SEEK_END);
  *size = (uint64_t)ftell(f);
  rewind(f);
  char *bytes = malloc(*size + 1);
  if (fread(bytes, 1, *size, f) != *size) die(path);
  fclose(f);
  return bytes;
}

static name *find(const char *text) {
  for (size_t i = 0; i < name_count; i++)
    if (strcmp(names[i].text, text) == 0) return &names[i];
  snprintf(names[name_count].text, sizeof names->text, "%s", text);
  names[name_count].now = names[name_count].disk = -1;
  return &names[name_count++];
}

static void take_base(const char *base) {
  char path[PATH_MAX], text[256];
  unsigned long long inode;
  snprintf(path, sizeof path, "%.2000s.inodes", base);
  FILE *list = fopen(path, "r");
  if (!list) die(path);
  while (fscanf(list, "%llu %255[^\n]", &inode, text) == 2) {
    file *f = &files[file_count];
    snprintf(path, sizeof path, "%.2000s/%s", base, text);
    f->inode = inode;
    f->disk.bytes = read_all(path, &f->disk.size);
    name *n = find(text);
    n->now = n->disk = file_count++;
  }
  fclose(list);
}

static void apply(contents *c, const event *e, const char *bytes, uint64_t size) {
  const uint64_t end = e->kind == 'T' ? e->at : e->at + size;
  if (e->kind == 'T' || end > c->size) {
    c->bytes = realloc(c->bytes, end + 1);
    if (end > c->size) memset(c->bytes + c->size, 0, end - c->size);
    c->size = end;
  }
  if (e->kind == 'W') memcpy(c->bytes + e->at, bytes, size);
}

static file *of_inode(uint64_t inode) {
  for (int i = file_count; i-- > 0;) /* numbers are used again: the latest counts */
    if (files[i].inode == inode) return &files[i];
  fprintf(stderr, "an unknown file\n");
  exit(2);
}

/* A change of names: what becomes of the names `from` and `to`. */
static void change(const event *e, bool disk, const int *known) {
  name *a = find(e->name), *b = *e->to ? find(e->to) : NULL;
  int *from = disk ? &a->disk : &a->now, *to = b ? (disk ? &b->disk : &b->now) : NULL;
  if (e->kind == 'C') *from = *known;
  if (e->kind == 'R' || e->kind == 'L') *to = *known;
  if (e->kind == 'U' || e->kind == 'R') *from = -1;
}

/* The name of a folder ends in a slash. */
static bool in_folder(const char *folder, const char *text) {
  const size_t n = strlen(folder);
  if (strncmp(folder, text, n) != 0 || !text[n]) return false;
  const char *slash = strchr(text + n, '/');
  return !slash || !slash[1];
}

/* Whether a folder above it was made and is not on the disk. */
static bool is_lost(const char *text) {
  for (size_t i = 0; i < name_count; i++) {
    const size_t n = strlen(names[i].text);
    if (names[i].disk < 0 && names[i].text[n - 1] == '/' && strncmp(names[i].text, text, n) == 0)
      return true;
  }
  return false;
}

/* Everything up to an event; what is not synced is then kept or lost by chance. */
static void run(size_t until, bool nosync) {
  int *of = calloc(count + 1, sizeof *of); /* the file that an event of names is about */
  bool *pending = calloc(count + 1, sizeof *pending);
  for (size_t i = 0; i < until; i++) {
    const event *e = &events[i];
    if (e->kind == 'C') {
      files[file_count].inode = e->inode;
      of[i] = file_count++;
    } else if (strchr("RL", e->kind)) {
      of[i] = find(e->name)->now;
    }
    if (strchr("CRLU", e->kind)) {
      change(e, false, &of[i]);
      pending[i] = true;
    }
    if (strchr("WT", e->kind)) {
      file *f = of_inode(e->inode);
      f->pending = realloc(f->pending, (f->pending_count + 1) * sizeof *f->pending);
      f->pending[f->pending_count++] = i;
    }
    if (e->kind == 'S' && !nosync) {
      file *f = of_inode(e->inode);
      for (size_t k = 0; k < f->pending_count; k++)
        apply(&f->disk, &events[f->pending[k]], payload[f->pending[k]], events[f->pending[k]].size);
      f->pending_count = 0;
    }
    for (size_t k = 0; k <= i && e->kind == 'D' && !nosync; k++)
      if (pending[k] && in_folder(e->name, events[k].name)) {
        change(&events[k], true, &of[k]);
        pending[k] = false;
      }
  }
  const uint32_t share = draw() % 3; /* little, half, or most of what is pending is kept */
  for (size_t k = 0; k < until; k++)
    if (pending[k] && draw() % 4 <= share + (share == 2)) change(&events[k], true, &of[k]);
  const uint32_t data = draw() % 4; /* none, or some */
  for (int i = 0; i < file_count; i++)
    for (size_t k = 0; k < files[i].pending_count; k++) {
      const size_t at = files[i].pending[k];
      const bool last = k + 1 == files[i].pending_count;
      const uint64_t size = events[at].size;
      if (draw() % 3 < data)
        apply(&files[i].disk, &events[at], payload[at], last && size ? draw() % (size + 1) : size);
    }
}

static void put(const char *out) {
  for (size_t i = 0; i < name_count; i++) {
    char path[PATH_MAX];
    if (names[i].disk < 0 || is_lost(names[i].text)) continue;
    snprintf(path, sizeof path, "%.2000s/%s", out, names[i].text);
    for (char *c = path + strlen(out) + 1; (c = strchr(c, '/')); c++) {
      *c = '\0';
      mkdir(path, 0755);
      *c = '/';
    }
    if (path[strlen(path) - 1] == '/') continue;
    const contents *c = &files[names[i].disk].disk;
    FILE *f = fopen(path, "wb");
    if (!f || (c->size && fwrite(c->bytes, 1, c->size, f) != c->size) || fclose(f)) die(path);
  }
}

int main(int argc, char **argv) {
  uint64_t size;
  if (argc < 3) return 2;
  char *log = read_all(argv[2], &size);
  for (uint64_t at = 0; at < size; count++) {
    events = realloc(events, (count + 1) * sizeof *events);
    payload = realloc(payload, (count + 1) * sizeof *payload);
    memcpy(&events[count], log + at, sizeof *events);
    payload[count] = log + at + sizeof *events;
    at += sizeof *events + events[count].size;
  }
  if (argc < 5) return printf("%zu\n", count) < 0;
  state = strtoull(argv[4], NULL, 10) * 2654435761u + 1;
  for (int i = 0; i < 8; i++) draw();
  take_base(argv[1]);
  run(argc > 5 && strcmp(argv[5], "end") == 0 ? count : draw() % (count + 1), argc > 6);
  put(argv[3]);
  return 0;
}
#endif
