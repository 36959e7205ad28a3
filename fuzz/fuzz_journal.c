/*
 * Partial files: records of any kind, index and contents, with checksums that fit, are either taken
 * over, and can be read, or cut off. The input is a row of records: a byte for the kind, two for the
 * index, one for the size, one that is added to what the head says of the size, and the contents.
 */
#include "base/hash.h"
#include "io/journal.h"

#include "harness.h"

typedef struct record_head { /* as in src/io/journal.c */
  uint64_t kind, index, size, checksum;
} record_head;

enum { FIXED = 5 };

/* The next record of the input at the end of the file; how many bytes of the input it takes. */
static size_t put(uint8_t **end, const uint8_t *data, size_t size) {
  const size_t n = data[3] < size - FIXED ? data[3] : size - FIXED;
  record_head head = {data[0], data[1] | (uint64_t)data[2] << 8 * (1 + data[2] % 7), n + data[4],
                      0};
  if (data[0] < 0x80) head.kind %= 4; /* mostly such as there are */
  head.checksum = hvi_checksum(HVI_HASH_START, &head, offsetof(record_head, checksum));
  head.checksum = hvi_checksum(head.checksum, data + FIXED, n);
  memcpy(*end, &head, sizeof head);
  memcpy(*end + sizeof head, data + FIXED, n);
  *end += sizeof head + n;
  return FIXED + n;
}

/* The head of a journal of this run, as hvi writes it, once. */
static size_t begin(hvi_kept *head, const char *path, uint8_t *room) {
  static uint8_t first[4096];
  static size_t size;
  hvi_journal *j = NULL;
  if (!size) {
    if (hvi_journal_open(&j, fuzz_path(), head, HVI_JOURNAL_NEW, NULL)) abort();
    hvi_journal_close(j);
    FILE *from = fopen(path, "rb");
    if (!from || !(size = fread(first, 1, sizeof first, from))) abort();
    fclose(from);
  }
  memcpy(room, first, size);
  return size;
}

static void read_all(hvi_journal *j) {
  char contents[512];
  for (unsigned kind = 0; kind < HVI_JOURNAL_KINDS; kind++)
    for (size_t i = 0, size = 0; i < 512; i++)
      if (hvi_journal_has(j, kind, i, &size) && size <= sizeof contents &&
          hvi_journal_read(j, kind, i, contents, size, NULL))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char path[128];
  hvi_kept head = {.kind = "fuzz", .about = "nothing;"};
  hvi_journal *j = NULL;
  hvi_error err = {HVI_OK, ""};
  /* a record takes more room than its input, 5 bytes at least */
  HVI_OWN uint8_t *file = hvi_alloc(4096 + size * (1 + sizeof(record_head)), 1);
  if (!file) abort();
  if (!path[0]) snprintf(path, sizeof path, "%s.partial", fuzz_path());
  uint8_t *end = file + begin(&head, path, file);
  for (size_t n; size >= FIXED; data += n, size -= n) n = put(&end, data, size);
  fuzz_put(path, file, (size_t)(end - file));
  const hvi_status status = hvi_journal_open(&j, fuzz_path(), &head, HVI_JOURNAL_RESUME, &err);
  fuzz_verdict(status, j, &err);
  if (!status) {
    read_all(j);
    if (hvi_journal_append(j, 0, hvi_journal_kept(j), "x", 1, &err)) abort();
  }
  hvi_journal_close(j);
  return 0;
}
