/*
 * The file of a data set or a test set: columns, which say what tensor of the file is what array of
 * a struct, and notes on what was asked for, what came out and where it came from.
 *
 * A table of columns is all that allocation, reading and writing need. The struct begins with its
 * number of rows, a size_t.
 */
#pragma once

#include "base/error.h"

#include <hvi/rollout.h>
#include <hvi/tensors.h>

enum { HVI_NOTES_MAX = 32, HVI_NOTE_SIZE = 128, HVI_NOTES_LINES = 2048 };

typedef struct hvi_notes {
  size_t count;
  hvi_tensor_note items[HVI_NOTES_MAX];
  char texts[HVI_NOTES_MAX][HVI_NOTE_SIZE];
} hvi_notes;

/* A note, cut to HVI_NOTE_SIZE; what is not printable ASCII becomes '?'. `key` is kept. */
void hvi_notes_add(hvi_notes *n, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The shortest text that reads back to the same bits. */
void hvi_notes_real(hvi_notes *n, const char *key, double x);

/* The notes that every run begins with: contents, environment, the policy's fingerprint, version
 * and seed. */
void hvi_notes_begin(hvi_notes *n, const char *contents, const hvi_env *env,
                     const hvi_policy *policy, uint64_t seed);
/* All notes as lines key=text: the settings of a journal. */
void hvi_notes_lines(char lines[HVI_NOTES_LINES], const hvi_notes *n);

/* A number out of the notes of a file; an error names both when it is missing or not one. */
hvi_status hvi_notes_read_real(double *x, const hvi_tensors *t, const char *key,
                               const hvi_subject *file);

typedef struct hvi_column {
  const char *name;             /* in the file */
  hvi_tensor_type file, memory; /* types; in memory F32 (float), F64 (double) or BOOL (bool) */
  size_t data, width; /* offsets of the pointer and of a row's length; width 0: a number a row */
  const char *others; /* further names that files of others give it, with blanks between */
  bool optional;
} hvi_column;

typedef struct hvi_columns {
  size_t count;
  const hvi_column *items;
  const char *what;    /* "a data set", for errors */
  size_t size, origin; /* of the struct; offset of its hvi_provenance */
  size_t owner;        /* offset of an hvi_tensors *, whose numbers may be columns; 0: none */
  /* Finds and loads the columns, reads other notes, checks the whole. */
  hvi_status (*read)(void *s, const hvi_tensors *t, const hvi_names *names,
                     const hvi_subject *file);
} hvi_columns;

/* Zeros, as many as rows and widths in the struct say; false without memory. */
bool hvi_columns_alloc(void *s, const hvi_columns *columns);
/* Frees the columns; not the struct, which may be NULL. */
void hvi_columns_free(void *s, const hvi_columns *columns);

/* Reads a file into a struct of its own, to which `out` points then; numbers must be finite, and
 * rows and widths agree. */
hvi_status hvi_columns_read(void *out, const hvi_columns *columns, const char *path,
                            const hvi_names *names, hvi_error *err);
/* The same of tensors in memory, called `path` in errors; they are taken over where the columns have
 * an owner, and *t is then NULL. */
hvi_status hvi_columns_of(void *out, const hvi_columns *columns, hvi_tensors **t, const char *path,
                          const hvi_names *names, hvi_error *err);
/* The tensor that is this column, under a name that was given or one that is known. NULL: it is
 * optional and not there. Two candidates are refused, and both named. */
hvi_status hvi_column_find(const hvi_tensor **found, const hvi_column *c, const hvi_tensors *t,
                           const hvi_names *names, const hvi_subject *file);
/* Checks a tensor against the lengths that are known, or learns them, and takes its numbers over: as
 * they lie where `owner` of the columns says so and the types agree. */
hvi_status hvi_column_load(void *s, const hvi_columns *columns, const hvi_column *c,
                           const hvi_tensor *t, const hvi_subject *file);
hvi_status hvi_columns_write(const char *path, const void *s, const hvi_columns *columns,
                             const hvi_notes *notes, hvi_error *err);
