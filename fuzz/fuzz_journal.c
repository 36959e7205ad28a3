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
static size_t put(FILE *to, const uint8_t *data, size_t size) {
  const size_t n = data[3] < size - FIXED ? data[3] : size - FIXED;
  record_head head = {data[0], data[1] | (uint64_t)data[2] << 8 * (1 + data[2] % 7), n + data[4],
                      0};
  if (data[0] < 0x80) head.kind %= 4; /* mostly such as there are */
  head.checksum = hvi_checksum(HVI_HASH_START, &head, offsetof(record_head, checksum));
  head.checksum = hvi_checksum(head.checksum, data + FIXED, n);
  fwrite(&head, sizeof head, 1, to);
  fwrite(data + FIXED, 1, n, to);
  return FIXED + n;
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
  char path[128];
  hvi_kept head = {.kind = "fuzz", .about = "nothing;"};
  hvi_journal *j = NULL;
  hvi_error err = {HVI_OK, ""};
  snprintf(path, sizeof path, "%s.partial", fuzz_path());
  unlink(path);
  if (hvi_journal_open(&j, fuzz_path(), &head, HVI_JOURNAL_NEW, &err)) abort();
  hvi_journal_close(j);
  FILE *to = fopen(path, "ab");
  if (!to) abort();
  for (size_t n; size >= FIXED; data += n, size -= n) n = put(to, data, size);
  fclose(to);
  const hvi_status status = hvi_journal_open(&j, fuzz_path(), &head, HVI_JOURNAL_RESUME, &err);
  fuzz_verdict(status, j, &err);
  if (!status) {
    read_all(j);
    if (hvi_journal_append(j, 0, hvi_journal_kept(j), "x", 1, &err)) abort();
  }
  hvi_journal_close(j);
  return 0;
}
