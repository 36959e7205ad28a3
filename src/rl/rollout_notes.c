#include "rl/rollout_notes.h"

#include "base/number.h"

#include "base/error.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dst[size] = text, cut, in printable ASCII. */
static void copy_printable(char *dst, size_t size, const char *text) {
  snprintf(dst, size, "%s", text ? text : "");
  for (char *c = dst; *c; c++) {
    if (*c < ' ' || *c > '~') *c = '?';
  }
}

void hvi_notes_text(hvi_notes *n, const char *key, const char *text) {
  if (n->count == HVI_NOTES_MAX) return;
  char *own = n->texts[n->count];
  copy_printable(own, HVI_NOTE_SIZE, text);
  n->items[n->count++] = (hvi_tensor_note){key, own};
}

void hvi_notes_count(hvi_notes *n, const char *key, uint64_t x) {
  char text[32];
  snprintf(text, sizeof text, "%" PRIu64, x);
  hvi_notes_text(n, key, text);
}

void hvi_notes_real(hvi_notes *n, const char *key, double x) {
  char text[HVI_NUMBER_SIZE];
  hvi_notes_text(n, key, hvi_number_format(text, x));
}

void hvi_notes_begin(hvi_notes *n, const char *contents, const hvi_env *env,
                     const hvi_policy *policy, uint64_t seed) {
  char fingerprint[17];
  hvi_policy_fingerprint(fingerprint, policy);
  n->count = 0;
  hvi_notes_text(n, "contents", contents);
  hvi_notes_text(n, "environment", env->name);
  hvi_notes_text(n, "fingerprint", fingerprint);
  hvi_notes_text(n, "version", hvi_version());
  hvi_notes_count(n, "seed", seed);
}

void hvi_notes_lines(char lines[HVI_NOTES_LINES], const hvi_notes *n) {
  size_t used = 0;
  lines[0] = '\0';
  for (size_t i = 0; i < n->count && used < HVI_NOTES_LINES; i++) {
    const int length = snprintf(lines + used, HVI_NOTES_LINES - used, "%s=%s\n", n->items[i].key,
                                n->items[i].text);
    if (length > 0) used += (size_t)length;
  }
}

hvi_status hvi_notes_read_real(double *x, const hvi_tensors *t, const char *key, const char *path,
                               hvi_error *err) {
  const char *text = hvi_tensors_note(t, key);
  if (!text) return hvi_error_set(err, HVI_ERROR_INPUT, "'%s' has no note '%s'", path, key);
  char *end;
  *x = strtod(text, &end);
  if (end != text && *end == '\0' && !isnan(*x)) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT, "'%s': note '%s' is '%.40s', which is no number", path,
                       key, text);
}

/* A count, or 0. */
static uint64_t read_count(const hvi_tensors *t, const char *key) {
  const char *text = hvi_tensors_note(t, key);
  return text && *text != '-' ? strtoull(text, NULL, 10) : 0;
}

void hvi_notes_read_origin(hvi_provenance *o, const hvi_tensors *t) {
  copy_printable(o->environment, sizeof o->environment, hvi_tensors_note(t, "environment"));
  copy_printable(o->policy, sizeof o->policy, hvi_tensors_note(t, "policy"));
  copy_printable(o->fingerprint, sizeof o->fingerprint, hvi_tensors_note(t, "fingerprint"));
  copy_printable(o->version, sizeof o->version, hvi_tensors_note(t, "version"));
  copy_printable(o->levels, sizeof o->levels, hvi_tensors_note(t, "level"));
  o->seed = read_count(t, "seed");
  o->broken = (size_t)read_count(t, "broken");
}
