#include "io/journal.h"

#include "base/base.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

static const char MAGIC[16] = "hvi partial 2\n";

typedef struct file_head {
  char magic[sizeof MAGIC];
  uint64_t size, checksum; /* of the head's text, which follows */
} file_head;

typedef struct record_head {
  uint64_t kind, index, size, checksum;
} record_head;

/* Where a record's contents lie; offset 0: there is no such record. */
typedef struct extent {
  uint64_t offset, size;
} extent;

/* The records of one kind, by their number. */
typedef struct record_index {
  extent *extents;
  size_t size, count;
} record_index;

struct hvi_journal {
  int fd;
  char *path;
  hvi_journal_rule rule;
  uint64_t end; /* of the last whole record */
  size_t kept, damaged;
  double synced;                /* when the file last went to the disk */
  char levels[HVI_LEVELS_TEXT]; /* as the last record of them says */
  char other[HVI_LEVELS_TEXT];  /* the level of absorbed parts, where this process has another */
  record_index records[HVI_JOURNAL_KINDS + 1];
  pthread_mutex_t lock;
};

/* One more kind of record names the levels of instructions from there on. Seconds between syncs: a
 * loss of power costs so much work. */
enum { LEVELS = HVI_JOURNAL_KINDS, MOST_HEAD = 4096, SYNC_EVERY = 1, BLOCK = 1 << 14 };

/* Groups are handed out in order, so what is missing among the records of a kind is what was under
 * way on other threads, or belongs to other parts. An index far beyond that is no index of ours. */
enum { MOST_MISSING = 4096, MOST_PARTS = 1024 };

static uint64_t record_sum(const record_head *head) {
  return hvi_checksum(HVI_HASH_START, head, offsetof(record_head, checksum));
}

static hvi_status read_at(const hvi_journal *j, void *bytes, size_t size, uint64_t offset,
                          hvi_error *err) {
  if (hvi_file_read_at(j->fd, bytes, size, offset) == size) return HVI_OK;
  return hvi_error_system(err, "read", j->path);
}

/* A head and what follows it, at the end of the last whole record. */
static bool write_end(const hvi_journal *j, const void *head, size_t head_size,
                      const void *contents, size_t size) {
  return lseek(j->fd, (off_t)j->end, SEEK_SET) >= 0 && hvi_file_write(j->fd, head, head_size) &&
         hvi_file_write(j->fd, contents, size);
}

/* Room for a record in its index. */
static hvi_status reserve(hvi_journal *j, const record_head *head, hvi_error *err) {
  record_index *r = &j->records[head->kind];
  if (head->index < r->size) return HVI_OK;
  const size_t size = 2 * (size_t)head->index + 64;
  extent *extents = hvi_grow(r->extents, r->size * sizeof *extents, size, sizeof *extents);
  if (!extents) return hvi_error_memory(err, "a list of records");
  r->extents = extents;
  r->size = size;
  return HVI_OK;
}

/* Enters the record that ends the file now. */
static void enter(hvi_journal *j, const record_head *head) {
  extent *x = &j->records[head->kind].extents[head->index];
  if (x->offset == 0) j->records[head->kind].count++;
  *x = (extent){j->end + sizeof *head, head->size};
  j->end = x->offset + head->size;
}

static bool head_is_sane(const hvi_journal *j, const record_head *head, uint64_t left) {
  return head->kind <= LEVELS && head->size <= left &&
         head->index < (j->records[head->kind].count + MOST_MISSING / MOST_PARTS) * MOST_PARTS;
}

/* Contents are summed up block by block, as they are read. */
static uint64_t add_contents(uint64_t sum, const unsigned char *contents, uint64_t size) {
  for (uint64_t done = 0; done < size; done += BLOCK)
    sum = hvi_checksum(sum, contents + done, size - done < BLOCK ? (size_t)(size - done) : BLOCK);
  return sum;
}

static hvi_status check_contents(const hvi_journal *j, const record_head *head, uint64_t offset,
                                 bool *whole, hvi_error *err) {
  unsigned char buffer[BLOCK];
  uint64_t sum = record_sum(head);
  for (uint64_t done = 0; done < head->size; done += BLOCK) {
    const uint64_t left = head->size - done;
    const size_t n = left < BLOCK ? (size_t)left : BLOCK;
    HVI_TRY(read_at(j, buffer, n, offset + done, err));
    sum = hvi_checksum(sum, buffer, n);
  }
  *whole = sum == head->checksum;
  return HVI_OK;
}

/* The levels of instructions that had a part from here on. */
static hvi_status take_levels(hvi_journal *j, hvi_kept *k, const record_head *head, uint64_t offset,
                              hvi_error *err) {
  const size_t size = head->size < HVI_LEVELS_TEXT ? (size_t)head->size : HVI_LEVELS_TEXT - 1;
  HVI_TRY(read_at(j, j->levels, size, offset, err));
  j->levels[size] = '\0';
  return hvi_kept_match_levels(k, j->path, j->levels, err);
}

/* Takes in whole records from j->end on, up to `size`. */
static hvi_status scan(hvi_journal *j, hvi_kept *k, uint64_t size, hvi_error *err) {
  record_head head;
  while (size - j->end >= sizeof head) {
    bool whole = false;
    const uint64_t offset = j->end + sizeof head;
    HVI_TRY(read_at(j, &head, sizeof head, j->end, err));
    if (!head_is_sane(j, &head, size - offset)) break;
    HVI_TRY(check_contents(j, &head, offset, &whole, err));
    if (!whole) break;
    if (head.kind == LEVELS) HVI_TRY(take_levels(j, k, &head, offset, err));
    HVI_TRY(reserve(j, &head, err));
    enter(j, &head);
    j->kept += head.kind != LEVELS;
  }
  j->damaged = (size_t)(size - j->end);
  return HVI_OK;
}

static hvi_status complain_damaged(const hvi_journal *j, hvi_error *err) {
  return hvi_error_input(err, "'%s' is damaged at its beginning; start afresh (--fresh)", j->path);
}

/* Compares the head with the run's, and finds where the records begin. */
static hvi_status compare_head(hvi_journal *j, hvi_kept *k, const file_head *head, hvi_error *err) {
  char there[MOST_HEAD];
  const size_t size = (size_t)head->size;
  HVI_TRY(read_at(j, there, size, sizeof *head, err));
  if (hvi_checksum(HVI_HASH_START, there, size) != head->checksum) return complain_damaged(j, err);
  there[size] = '\0';
  char *about = strchr(there, '\n');
  if (!about) return complain_damaged(j, err);
  *about++ = '\0';
  j->end = sizeof *head + size;
  return hvi_kept_match(k, j->path, there, about, err);
}

/* The text of a head; how long it is. */
static size_t print_head(char text[MOST_HEAD], hvi_kept *k) {
  char line[HVI_KEPT_HEAD];
  hvi_kept_head(line, k);
  return (size_t)snprintf(text, MOST_HEAD, "%s\n%s", line, k->about);
}

/* Writes a new head into an empty file. */
static hvi_status begin(hvi_journal *j, hvi_kept *k, hvi_error *err) {
  char text[MOST_HEAD];
  file_head head = {.size = print_head(text, k)};
  if (j->rule == HVI_JOURNAL_PART) return complain_damaged(j, err);
  if (head.size >= sizeof text)
    return hvi_error_argument(err, "the settings of a run are too long");
  memcpy(head.magic, MAGIC, sizeof MAGIC);
  head.checksum = hvi_checksum(HVI_HASH_START, text, (size_t)head.size);
  if (ftruncate(j->fd, 0) != 0 || !write_end(j, &head, sizeof head, text, (size_t)head.size))
    return hvi_error_system(err, "write", j->path);
  j->end = sizeof head + head.size;
  HVI_TRY(hvi_file_sync(j->fd, j->path, err));
  return hvi_folder_sync(j->path, err);
}

/* Reads the head and the records of an existing file of `size` bytes. One that was cut off within
 * its head holds nothing yet and is begun anew. */
static hvi_status resume(hvi_journal *j, hvi_kept *k, uint64_t size, const file_head *head,
                         hvi_error *err) {
  if (size < sizeof *head) return begin(j, k, err);
  if (head->size >= MOST_HEAD) return complain_damaged(j, err);
  if (size - sizeof *head < head->size) {
    char own[MOST_HEAD];
    const bool torn = size - sizeof *head < print_head(own, k);
    return torn ? begin(j, k, err) : complain_damaged(j, err);
  }
  HVI_TRY(compare_head(j, k, head, err));
  HVI_TRY(scan(j, k, size, err));
  if (j->rule == HVI_JOURNAL_PART) return HVI_OK;
  if (j->damaged && ftruncate(j->fd, (off_t)j->end) != 0)
    return hvi_error_system(err, "write", j->path);
  if (!strchr(k->levels, '+') || strcmp(j->levels, k->levels) == 0) return HVI_OK;
  /* a run of another level goes on: the journal says so from here on */
  return hvi_journal_append(j, LEVELS, 0, k->levels, strlen(k->levels), err);
}

static hvi_status start(hvi_journal *j, hvi_kept *k, hvi_error *err) {
  static const file_head nothing;
  const int flags = (j->rule == HVI_JOURNAL_PART ? O_RDONLY : O_RDWR) | O_NOFOLLOW;
  struct stat st;
  file_head head = nothing;
  HVI_TRY(hvi_file_plain(j->path, err));
  HVI_TRY(hvi_file_open_locked(&j->fd, j->path, flags, j->path, err));
  if (fstat(j->fd, &st) != 0) return hvi_error_system(err, "read", j->path);
  const uint64_t size = (uint64_t)st.st_size;
  const size_t got = size < sizeof head ? (size_t)size : sizeof head;
  if (size == 0) return begin(j, k, err);
  if (j->rule == HVI_JOURNAL_NEW)
    return hvi_error_argument(
        err, "'%s' is left from an earlier run: go on with it (--resume) or start afresh (--fresh)",
        j->path);
  HVI_TRY(read_at(j, &head, got, 0, err));
  /* a loss of power before the first sync may leave zeros in the place of the head */
  if (size < sizeof head + MOST_HEAD && memcmp(&head, &nothing, got) == 0) return begin(j, k, err);
  if (memcmp(head.magic, MAGIC, got < sizeof MAGIC ? got : sizeof MAGIC) != 0)
    return hvi_error_input(
        err, "'%s' is there and is not the partial file of a run: hvi does not replace it",
        j->path);
  return j->rule == HVI_JOURNAL_FRESH ? begin(j, k, err) : resume(j, k, size, &head, err);
}

static void release(hvi_journal **j) { hvi_journal_close(*j); }

hvi_status hvi_journal_open(hvi_journal **journal, const char *path, hvi_kept *k,
                            hvi_journal_rule rule, hvi_error *err) {
  *journal = NULL;
  HVI_OWN_BY(release) hvi_journal *j = NULL;
  HVI_TRY(hvi_new(&j, 1, "a partial file", err));
  j->fd = -1;
  j->rule = rule;
  j->synced = hvi_clock_now();
  pthread_mutex_init(&j->lock, NULL);
  j->path = hvi_join_texts(path, ".partial");
  HVI_TRY(j->path ? start(j, k, err) : hvi_error_memory(err, "a file name"));
  HVI_GIVE(journal, j);
}

void hvi_journal_close(hvi_journal *j) {
  if (!j) return;
  if (j->fd >= 0) {
    hvi_file_sync(j->fd, j->path, NULL); /* should this fail, the next reader finds what is whole */
    close(j->fd);
  }
  for (size_t k = 0; k < HVI_JOURNAL_KINDS + 1; k++) hvi_free(j->records[k].extents);
  pthread_mutex_destroy(&j->lock);
  hvi_free(j->path);
  hvi_free(j);
}

void hvi_journal_remove(hvi_journal *j) {
  unlink(j->path);
  close(j->fd);
  j->fd = -1;
  hvi_journal_close(j);
}

size_t hvi_journal_kept(const hvi_journal *j) { return j->kept; }
size_t hvi_journal_damaged(const hvi_journal *j) { return j->damaged; }
size_t hvi_journal_count(const hvi_journal *j, unsigned kind) { return j->records[kind].count; }

static extent find(hvi_journal *j, unsigned kind, size_t number) {
  pthread_mutex_lock(&j->lock);
  const record_index *r = &j->records[kind];
  const extent x = number < r->size ? r->extents[number] : (extent){0, 0};
  pthread_mutex_unlock(&j->lock);
  return x;
}

bool hvi_journal_has(hvi_journal *j, unsigned kind, size_t index, size_t *size) {
  const extent x = find(j, kind, index);
  if (size) *size = (size_t)x.size;
  return x.offset != 0;
}

static hvi_status append(hvi_journal *j, const record_head *head, const void *contents,
                         hvi_error *err) {
  HVI_TRY(reserve(j, head, err));
  if (!write_end(j, head, sizeof *head, contents, (size_t)head->size)) {
    const hvi_status status = hvi_error_system(err, "write", j->path);
    /* should this fail too, the next reader stops at the torn record */
    const int ignored = ftruncate(j->fd, (off_t)j->end);
    (void)ignored;
    return status;
  }
  enter(j, head);
  const double now = hvi_clock_now();
  if (now - j->synced < SYNC_EVERY) return HVI_OK;
  j->synced = now;
  return hvi_file_sync(j->fd, j->path, err);
}

hvi_status hvi_journal_append(hvi_journal *j, unsigned kind, size_t index, const void *contents,
                              size_t size, hvi_error *err) {
  record_head head = {.kind = kind, .index = index, .size = size};
  head.checksum = add_contents(record_sum(&head), contents, size);
  if (*j->other)
    return hvi_error_input(err, "'%s': unit %zu is in no part, and they are of another level: %s",
                           j->path, index, j->other);
  pthread_mutex_lock(&j->lock);
  const hvi_status status = append(j, &head, contents, err);
  pthread_mutex_unlock(&j->lock);
  return status;
}

hvi_status hvi_journal_read(hvi_journal *j, unsigned kind, size_t index, void *contents,
                            size_t size, hvi_error *err) {
  const extent x = find(j, kind, index);
  if (x.offset == 0 || size > x.size)
    return hvi_error_input(err, "'%s': record %zu is missing or too short", j->path, index);
  return read_at(j, contents, size, x.offset, err);
}

static hvi_status absorb_kind(hvi_journal *j, hvi_journal *from, unsigned kind, bool renumber,
                              hvi_error *err) {
  for (size_t i = 0, size; i < from->records[kind].size; i++) {
    const size_t to = renumber ? j->records[kind].count : i;
    if (!hvi_journal_has(from, kind, i, &size) || hvi_journal_has(j, kind, to, NULL)) continue;
    HVI_NEW(unsigned char, bytes, size, "a record of a part", err);
    HVI_TRY(hvi_journal_read(from, kind, i, bytes, size, err));
    HVI_TRY(hvi_journal_append(j, kind, to, bytes, size, err));
  }
  return HVI_OK;
}

static hvi_status absorb(hvi_journal *j, const char *whole, const char *folder, const char *name,
                         hvi_kept *head, bool renumber, hvi_error *err) {
  HVI_OWN char *start = hvi_join_texts(folder, "/"),
               *path = start ? hvi_join_texts(start, name) : NULL;
  HVI_OWN char *file = path ? hvi_join_texts(path, ".partial") : NULL,
               *own = hvi_join_texts(whole, ".partial");
  HVI_OWN_BY(release) hvi_journal *from = NULL;
  struct stat one, other;
  if (!file || !own) return hvi_error_memory(err, "a file name");
  if (stat(file, &one) != 0) return hvi_error_system(err, "read", file);
  if (stat(own, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino)
    return hvi_error_input(err, "'%s' is a part's: the whole goes elsewhere", own);
  HVI_TRY(hvi_journal_open(&from, path, head, HVI_JOURNAL_PART, err));
  for (unsigned k = 0; j && k < HVI_JOURNAL_KINDS; k++)
    HVI_TRY(absorb_kind(j, from, k, renumber, err));
  return HVI_OK;
}

hvi_status hvi_journal_absorb(hvi_journal *j, const char *whole, const hvi_share *share,
                              const char *name, hvi_kept *head, bool renumber, hvi_error *err) {
  char own[HVI_LEVELS_TEXT] = "";
  hvi_levels_add(own, NULL);
  head->merges = hvi_share_froms(share) > 0;
  if (share && share->name) name = share->name;
  for (size_t i = 0; i < hvi_share_froms(share); i++)
    HVI_TRY(absorb(j, whole, share->from[i], name, head, renumber, err));
  if (j && head->merges && hvi_words_find(head->levels, '+', own, strlen(own)) < 0)
    memcpy(j->other, head->levels, sizeof j->other);
  return HVI_OK;
}
