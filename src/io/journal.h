/*
 * FILE.partial: what a long run has finished, in a form that may be cut off at any moment.
 *
 * A head (io/kept.h), then records, each with kind, index, size and a checksum over all of these
 * and its contents. Records are only ever appended, and go to the disk once a second. Reading stops
 * at the first one that is not whole; what follows is computed again. Numbers are in the machine's
 * own order: a partial file is for the machine that wrote it.
 */
#pragma once

#include "base/share.h"
#include "io/kept.h"

#include <stddef.h>

enum { HVI_JOURNAL_KINDS = 2 };

typedef struct hvi_journal hvi_journal;

/* A file that is there already: an error, go on with it, begin anew, read it and leave it as it is. */
typedef enum hvi_journal_rule {
  HVI_JOURNAL_NEW,
  HVI_JOURNAL_RESUME,
  HVI_JOURNAL_FRESH,
  HVI_JOURNAL_PART
} hvi_journal_rule;

/* The journal of the run that makes `path`. It is locked: of two runs at once the second gets an
 * error. The levels of instructions of what was there are added to the head's. */
hvi_status hvi_journal_open(hvi_journal **journal, const char *path, hvi_kept *head,
                            hvi_journal_rule rule, hvi_error *err);
/* Keeps the file. */
void hvi_journal_close(hvi_journal *j);
/* Removes the file as well. */
void hvi_journal_remove(hvi_journal *j);

/* Records found at the start; bytes after them that were of no use. */
size_t hvi_journal_kept(const hvi_journal *j);
size_t hvi_journal_damaged(const hvi_journal *j);
/* Records of a kind that there are now. */
size_t hvi_journal_count(const hvi_journal *j, unsigned kind);
/* Takes over what the journals FOLDER/name of the parts of a merge, which must be there and have the
 * same head, have and this one lacks; renumber: all of it, behind what is there. Nothing can be appended
 * then where this process has another level than they. To be called with NULL before the journal is
 * opened, so that the head takes over their level, and that none of them is opened as that of the run
 * that makes `whole`. The share may have another name for them. */
hvi_status hvi_journal_absorb(hvi_journal *j, const char *whole, const hvi_share *share,
                              const char *name, hvi_kept *head, bool renumber, hvi_error *err);

/* These may be called by several threads at once. */
/* Whether there is a record, and how long it is. */
bool hvi_journal_has(hvi_journal *j, unsigned kind, size_t index, size_t *size);
/* Each record once. After an error the journal is as it was. */
hvi_status hvi_journal_append(hvi_journal *j, unsigned kind, size_t index, const void *contents,
                              size_t size, hvi_error *err);
/* The first `size` bytes of a record that is there. */
hvi_status hvi_journal_read(hvi_journal *j, unsigned kind, size_t index, void *contents,
                            size_t size, hvi_error *err);
