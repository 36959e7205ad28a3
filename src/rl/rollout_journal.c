#define _DEFAULT_SOURCE /* flock */
#include "rl/rollout_journal.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[16] = "hvi partial 1\n";

typedef struct file_head {
  char magic[sizeof MAGIC];
  uint64_t size, checksum; /* of the settings, which follow */
} file_head;

typedef struct record_head {
  uint64_t kind, index, size, checksum;
} record_head;

/* Where a record's contents lie; offset 0: there is no such record. */
typedef struct place {
  uint64_t offset, size;
} place;

typedef struct shelf {
  place *places;
  size_t room, count;
} shelf;

struct hvi_journal {
  int fd;
  char *path;
  uint64_t end; /* of the last whole record */
  size_t kept, damaged;
  shelf shelves[HVI_JOURNAL_KINDS];
  pthread_mutex_t lock;
};

/* Groups are handed out in order, so what is missing among the records of a kind is what was under
 * way on other threads. An index far beyond that is no index of ours. */
enum { MOST_MISSING = 4 * HVI_ROLLOUT_MAX_THREADS };

static uint64_t record_hash(const record_head *head) {
  return hvi_hash_bytes(HVI_HASH_START, head, offsetof(record_head, checksum));
}

/* False with errno; a file that ends early gives errno 0. */
static bool read_at(int fd, void *bytes, size_t size, uint64_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = 0;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static bool write_at(int fd, const void *bytes, size_t size, uint64_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static bool make_room(shelf *s, size_t index) {
  if (index < s->room) return true;
  const size_t room = 2 * index + 64;
  place *places = hvi_alloc(room, sizeof *places);
  if (!places) return false;
  if (s->places) memcpy(places, s->places, s->room * sizeof *places);
  hvi_free(s->places);
  s->places = places;
  s->room = room;
  return true;
}

static void put(shelf *s, size_t index, uint64_t offset, uint64_t size) {
  if (s->places[index].offset == 0) s->count++;
  s->places[index] = (place){offset, size};
}

static bool head_is_sane(const hvi_journal *j, const record_head *head, uint64_t left) {
  return head->kind < HVI_JOURNAL_KINDS && head->size <= left &&
         head->index < j->shelves[head->kind].count + MOST_MISSING;
}

/* Whether contents[size] at the offset have the checksum; *whole. An error: the disk. */
static bool hash_contents(const hvi_journal *j, const record_head *head, uint64_t offset,
                          bool *whole) {
  unsigned char buffer[1 << 14];
  uint64_t hash = record_hash(head);
  for (uint64_t done = 0; done < head->size;) {
    const uint64_t left = head->size - done;
    const size_t n = left < sizeof buffer ? (size_t)left : sizeof buffer;
    if (!read_at(j->fd, buffer, n, offset + done)) return false;
    hash = hvi_hash_bytes(hash, buffer, n);
    done += n;
  }
  *whole = hash == head->checksum;
  return true;
}

/* Takes in whole records from j->end on, up to `size`. */
static hvi_status scan(hvi_journal *j, uint64_t size, hvi_error *err) {
  record_head head;
  while (size - j->end >= sizeof head) {
    bool whole = false;
    const uint64_t offset = j->end + sizeof head;
    if (!read_at(j->fd, &head, sizeof head, j->end)) return hvi_error_system(err, "read", j->path);
    if (!head_is_sane(j, &head, size - offset)) break;
    if (!hash_contents(j, &head, offset, &whole)) return hvi_error_system(err, "read", j->path);
    if (!whole) break;
    shelf *s = &j->shelves[head.kind];
    if (!make_room(s, (size_t)head.index)) return hvi_error_memory(err, "a list of records");
    put(s, (size_t)head.index, offset, head.size);
    j->end = offset + head.size;
    j->kept++;
  }
  j->damaged = (size_t)(size - j->end);
  return HVI_OK;
}

/* The line of each text in which they first differ. */
static hvi_status complain_settings(const hvi_journal *j, const char *there, const char *here,
                                    hvi_error *err) {
  size_t line = 0;
  for (size_t i = 0; there[i] && there[i] == here[i]; i++) {
    if (there[i] == '\n') line = i + 1;
  }
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' belongs to a run with other settings (%.*s, not %.*s); resume that "
                       "one, or start afresh (--fresh)",
                       j->path, (int)strcspn(there + line, "\n"), there + line,
                       (int)strcspn(here + line, "\n"), here + line);
}

static hvi_status complain_foreign(const hvi_journal *j, hvi_error *err) {
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "'%s' is not the partial file of a run, or is damaged at its beginning; "
                       "start afresh (--fresh)",
                       j->path);
}

static hvi_status compare_settings(hvi_journal *j, const file_head *head, const char *settings,
                                   hvi_error *err) {
  char there[4096];
  const size_t size = (size_t)head->size;
  if (!read_at(j->fd, there, size, sizeof *head)) return hvi_error_system(err, "read", j->path);
  if (hvi_hash_bytes(HVI_HASH_START, there, size) != head->checksum) {
    return complain_foreign(j, err);
  }
  there[size] = '\0';
  if (strcmp(there, settings) != 0) return complain_settings(j, there, settings, err);
  j->end = sizeof *head + size;
  return HVI_OK;
}

/* Writes a new header into an empty file. */
static hvi_status begin(hvi_journal *j, const char *settings, hvi_error *err) {
  file_head head = {.size = strlen(settings)};
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  head.checksum = hvi_hash_bytes(HVI_HASH_START, settings, (size_t)head.size);
  if (ftruncate(j->fd, 0) != 0 || !write_at(j->fd, &head, sizeof head, 0) ||
      !write_at(j->fd, settings, (size_t)head.size, sizeof head)) {
    return hvi_error_system(err, "write", j->path);
  }
  j->end = sizeof head + head.size;
  return HVI_OK;
}

/* Reads the header and the records of an existing file of `size` bytes. One that was cut off within
 * its header holds nothing yet and is begun anew. */
static hvi_status resume(hvi_journal *j, uint64_t size, const char *settings, hvi_error *err) {
  file_head head = {.size = 0};
  const size_t got = size < sizeof head ? (size_t)size : sizeof head;
  if (!read_at(j->fd, &head, got, 0)) return hvi_error_system(err, "read", j->path);
  if (memcmp(head.magic, MAGIC, got < sizeof MAGIC ? got : sizeof MAGIC) != 0 ||
      head.size >= 4096) {
    return complain_foreign(j, err);
  }
  if (got < sizeof head) return begin(j, settings, err);
  if (size - sizeof head < head.size) {
    const bool torn = size - sizeof head < strlen(settings);
    return torn ? begin(j, settings, err) : complain_foreign(j, err);
  }
  hvi_status status = compare_settings(j, &head, settings, err);
  if (!status) status = scan(j, size, err);
  if (!status && j->damaged && ftruncate(j->fd, (off_t)j->end) != 0) {
    status = hvi_error_system(err, "write", j->path);
  }
  return status;
}

static hvi_status open_file(hvi_journal *j, uint64_t *size, hvi_error *err) {
  struct stat st;
  j->fd = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (j->fd < 0) return hvi_error_system(err, "create", j->path);
  const bool taken = flock(j->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (fstat(j->fd, &st) != 0) return hvi_error_system(err, "read", j->path);
  if (taken || st.st_nlink == 0) {
    return hvi_error_set(err, HVI_ERROR_IO, "'%s' is in use: another run is making this file",
                         j->path);
  }
  if (!S_ISREG(st.st_mode)) {
    return hvi_error_set(err, HVI_ERROR_IO, "cannot write '%s': it is not a regular file", j->path);
  }
  *size = (uint64_t)st.st_size;
  return HVI_OK;
}

static hvi_status start(hvi_journal *j, const char *settings, hvi_partial rule, hvi_error *err) {
  uint64_t size = 0;
  const hvi_status status = open_file(j, &size, err);
  if (status) return status;
  if (size == 0 || rule == HVI_PARTIAL_FRESH) return begin(j, settings, err);
  if (rule == HVI_PARTIAL_RESUME) return resume(j, size, settings, err);
  return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                       "'%s' is left from an earlier run: go on with it (--resume) or start afresh "
                       "(--fresh)",
                       j->path);
}

hvi_status hvi_journal_open(hvi_journal **journal, const char *path, const char *settings,
                            hvi_partial rule, hvi_error *err) {
  *journal = NULL;
  const size_t length = strlen(path) + sizeof ".partial";
  hvi_journal *j = hvi_alloc(1, sizeof *j);
  if (!j) return hvi_error_memory(err, "a partial file");
  j->fd = -1;
  pthread_mutex_init(&j->lock, NULL);
  j->path = hvi_alloc(length, 1);
  hvi_status status = HVI_OK;
  if (!j->path) {
    status = hvi_error_memory(err, "a file name");
  } else {
    snprintf(j->path, length, "%s.partial", path);
    status = start(j, settings, rule, err);
  }
  if (status) {
    hvi_journal_close(j);
    return status;
  }
  *journal = j;
  return HVI_OK;
}

void hvi_journal_close(hvi_journal *j) {
  if (!j) return;
  if (j->fd >= 0) close(j->fd);
  for (size_t k = 0; k < HVI_JOURNAL_KINDS; k++) hvi_free(j->shelves[k].places);
  pthread_mutex_destroy(&j->lock);
  hvi_free(j->path);
  hvi_free(j);
}

void hvi_journal_remove(hvi_journal *j) {
  unlink(j->path);
  hvi_journal_close(j);
}

size_t hvi_journal_kept(const hvi_journal *j) { return j->kept; }
size_t hvi_journal_damaged(const hvi_journal *j) { return j->damaged; }

static place find(hvi_journal *j, unsigned kind, size_t index) {
  pthread_mutex_lock(&j->lock);
  const shelf *s = &j->shelves[kind];
  const place p = index < s->room ? s->places[index] : (place){0, 0};
  pthread_mutex_unlock(&j->lock);
  return p;
}

bool hvi_journal_has(hvi_journal *j, unsigned kind, size_t index, size_t *size) {
  const place p = find(j, kind, index);
  if (size) *size = (size_t)p.size;
  return p.offset != 0;
}

static hvi_status append(hvi_journal *j, const record_head *head, const void *contents,
                         hvi_error *err) {
  const uint64_t offset = j->end + sizeof *head;
  shelf *s = &j->shelves[head->kind];
  if (!make_room(s, (size_t)head->index)) return hvi_error_memory(err, "a list of records");
  if (!write_at(j->fd, head, sizeof *head, j->end) ||
      !write_at(j->fd, contents, (size_t)head->size, offset)) {
    const hvi_status status = hvi_error_system(err, "write", j->path);
    /* should this fail too, the next reader stops at the torn record */
    const int ignored = ftruncate(j->fd, (off_t)j->end);
    (void)ignored;
    return status;
  }
  put(s, (size_t)head->index, offset, head->size);
  j->end = offset + head->size;
  return HVI_OK;
}

hvi_status hvi_journal_append(hvi_journal *j, unsigned kind, size_t index, const void *contents,
                              size_t size, hvi_error *err) {
  record_head head = {.kind = kind, .index = index, .size = size};
  head.checksum = hvi_hash_bytes(record_hash(&head), contents, size);
  pthread_mutex_lock(&j->lock);
  const hvi_status status = append(j, &head, contents, err);
  pthread_mutex_unlock(&j->lock);
  return status;
}

hvi_status hvi_journal_read(hvi_journal *j, unsigned kind, size_t index, void *contents,
                            size_t size, hvi_error *err) {
  const place p = find(j, kind, index);
  if (p.offset == 0 || size > p.size) {
    return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': record %zu is missing or too short", j->path,
                         index);
  }
  if (read_at(j->fd, contents, size, p.offset)) return HVI_OK;
  return hvi_error_system(err, "read", j->path);
}
