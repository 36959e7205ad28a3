/* The notes of a file: what was asked for, what came out, and where it came from. */
#ifndef HVI_RL_ROLLOUT_NOTES_H
#define HVI_RL_ROLLOUT_NOTES_H

#include <hvi/rollout.h>
#include <hvi/tensors.h>

enum { HVI_NOTES_MAX = 32, HVI_NOTE_SIZE = 128, HVI_NOTES_LINES = 2048 };

typedef struct hvi_notes {
  size_t count;
  hvi_tensor_note items[HVI_NOTES_MAX];
  char texts[HVI_NOTES_MAX][HVI_NOTE_SIZE];
} hvi_notes;

/* Text is cut to HVI_NOTE_SIZE; what is not printable ASCII becomes '?'. `key` is kept. */
void hvi_notes_text(hvi_notes *n, const char *key, const char *text);
void hvi_notes_count(hvi_notes *n, const char *key, uint64_t x);
/* The shortest text that reads back to the same bits. */
void hvi_notes_real(hvi_notes *n, const char *key, double x);

/* The notes that every run begins with: contents, environment, the policy's fingerprint, version
 * and seed. */
void hvi_notes_begin(hvi_notes *n, const char *contents, const hvi_env *env,
                     const hvi_policy *policy, uint64_t seed);
/* All notes as lines key=text: the settings of a journal. */
void hvi_notes_lines(char lines[HVI_NOTES_LINES], const hvi_notes *n);

/* A number out of the notes of a file; an error names both when it is missing or not one. */
hvi_status hvi_notes_read_real(double *x, const hvi_tensors *t, const char *key, const char *path,
                               hvi_error *err);
void hvi_notes_read_origin(hvi_provenance *origin, const hvi_tensors *t);

#endif
