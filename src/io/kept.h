/*
 * Files that hvi keeps for itself and takes up again: checkpoints, and journals of roll-outs and of
 * the cells of a study (io/journal.h).
 *
 * What is promised, and how:
 *
 *   damage     The contents have a checksum of 64 bits. A file in which one bit has changed is
 *              refused by name, and where the one before it, path.previous, is good it is offered.
 *   settings   A head names what the file is, the version of hvi, and everything that its bits
 *              depend on. A file of another run is refused with the first item that differs.
 *   bits       The head names the level of instructions too (base/cpu.h). A file of another one is
 *              refused unless the caller accepts other bits; the result then names all levels, and
 *              that it is mixed where a device computed a part only.
 *   power      It appears whole or not at all: written under another name, synced, renamed, and the
 *              folder is synced (base/file.h).
 *   others     Never written or read through a symbolic link, never put in the place of a file that
 *              hvi did not make. A file that is replaced keeps its mode and stays as path.previous
 *              until the next one is whole.
 *   two runs   The caller holds an hvi_lock while it works with the file.
 *
 * Open formats, which people read and write too, have the checksum in the notes when hvi wrote them
 * (io/tensors_file.c) and are accepted without.
 */
#pragma once

#include "io/tensors_file.h"

enum { HVI_LEVELS_TEXT = 96, HVI_KEPT_HEAD = 192 };

typedef struct hvi_kept {
  const char *kind;       /* a word, such as "evaluation" */
  const char *about;      /* items, each ended by a semicolon or a newline */
  bool accept_other_bits; /* files of other levels of instructions too */
  const char *device;     /* that computes beside the instructions, by its level; NULL: none */
  char levels[HVI_LEVELS_TEXT]; /* that had a part so far, in order, '+' between; reading adds the
                                   file's, and both reading and writing the one in use */
  bool merges;                  /* files are put together: of their level, not of the one in use */
} hvi_kept;

/* Adds each level that is not there yet; NULL: the one in use. */
void hvi_levels_add(char levels[HVI_LEVELS_TEXT], const char *more);

/* An error when there is something at path that hvi did not make. */
hvi_status hvi_kept_check(const char *path, hvi_error *err);

/* Tensors with notes of the caller's. */
hvi_status hvi_kept_write(hvi_kept *k, const char *path, const hvi_tensors *t, hvi_error *err);
/* HVI_ERROR_MISMATCH: of a run with other settings, or of another version of hvi. */
hvi_status hvi_kept_read(hvi_tensors **t, hvi_kept *k, const char *path, hvi_error *err);

/* Puts the file's name before what a call had to say about a value of the file; hands the status on. */
hvi_status hvi_kept_blame(const char *path, hvi_status status, hvi_error *err);

/* The first line of a head, and its comparison with a file's, whose other lines are `about`. */
void hvi_kept_head(char line[HVI_KEPT_HEAD], hvi_kept *k);
hvi_status hvi_kept_match(hvi_kept *k, const char *path, const char *line, const char *about,
                          hvi_error *err);
/* Whether levels of instructions that a file names may be mixed with the one in use; adds them. */
hvi_status hvi_kept_match_levels(hvi_kept *k, const char *path, const char *levels, hvi_error *err);
