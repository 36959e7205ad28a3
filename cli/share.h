/*
 * Runs that are shared: --part K/N leaves a folder NAME.part-K-of-N, `hvi merge` puts such folders
 * together, and under mpirun the ranks of a job do the work of one run.
 *
 * A part's folder has the journals of the run (io/journal.h) and a file `part`: which part it is, the
 * command without --part, and whether it is finished.
 */
#pragma once

#include "args.h"
#include "base/ranks.h"
#include "base/share.h"
#include "report/text.h"

/* Of this process. */
extern hvi_share hvi_shared;

/* Remembers the command line, and joins the ranks that mpirun has started; the exit code. */
int hvi_share_open(int argc, char **argv);
/* The end of the program. */
int hvi_share_close(int code);
/* For what only one process can do. */
int hvi_share_refuse(const char *what);

void hvi_args_part(hvi_args *args);
/* Before the work: where --part is given, *out becomes the part's folder, or a file of that name in
 * it; hvi_free *made at the end. begins: it takes up or replaces what is there of an earlier run. */
int hvi_share_begin(const char **out, char **made, bool file, bool begins);
/* The part is finished; `settings` says what it was made with. */
int hvi_share_end(const char *settings);

/* A word as a shell reads it, with a blank before it. */
void hvi_text_word(hvi_text *t, const char *word);

enum { HVI_PART_WORDS = 256, HVI_PART_TEXT = 8192 };
typedef struct hvi_part_file {
  const char *folder;
  struct hvi_tensors *file; /* which holds the texts */
  const char *line;         /* what, version, level of instructions */
  const char *settings;
  const char *name; /* of its journal; NULL: it has several, or is of an earlier hvi */
  bool finished;
  size_t part, parts;
  size_t word_count;
  char *words[HVI_PART_WORDS + 1]; /* "reproduce", "pennies", ... */
  char text[HVI_PART_TEXT];        /* which holds them */
} hvi_part_file;
hvi_status hvi_part_read(hvi_part_file *p, const char *folder, hvi_error *err);
/* How a part that this process would make describes itself; room for HVI_KEPT_HEAD. */
void hvi_part_line(char *line);
