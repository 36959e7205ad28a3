#include "io/kept.h"

#include "base/base.h"
#include "base/blas.h"

#include <hvi/version.h>

/* The last word on a run of which a device, or one of several, computed a part only: the others are
 * those of a run that is all the device's. */
static const char MIXED[] = "mixed";
/* How the notes of the head are called, and how a header begins. */
static const char HEAD_KEY[] = "hvi.kept", ABOUT_KEY[] = "about";
static const char TENSORS_START[] = "{\"" HVI_TENSORS_NOTES "\":{\"" HVI_TENSORS_CHECKSUM "\":\"";
enum { OWN_NOTES = 2 };

void hvi_levels_add(char levels[HVI_LEVELS_TEXT], const char *more) {
  char own[HVI_LEVELS_TEXT];
  hvi_blas_level(own, sizeof own);
  if (!more) more = own;
  for (size_t n; *more; more += n + (more[n] == '+')) {
    const size_t used = strlen(levels);
    n = strcspn(more, "+");
    if (hvi_words_find(levels, '+', more, n) < 0)
      snprintf(levels + used, HVI_LEVELS_TEXT - used, "%s%.*s", used ? "+" : "", (int)n, more);
  }
}

static bool is_of_cpu(const char *level, size_t length) {
  for (int i = HVI_CPU_BASELINE; i <= HVI_CPU_AVX512; i++) {
    const char *name = hvi_cpu_level_name((enum hvi_cpu_level)i);
    const size_t n = strlen(name);
    if (n <= length && memcmp(name, level, n) == 0 && (n == length || level[n] == '-')) return true;
  }
  return false;
}

/* Whether a device of these levels is not among those. */
static bool other_device(const char *levels, const char *those) {
  for (size_t n; *levels; levels += n + (levels[n] == '+')) {
    n = strcspn(levels, "+");
    if (!is_of_cpu(levels, n) && hvi_words_find(those, '+', levels, n) < 0) return true;
  }
  return false;
}

hvi_status hvi_kept_match_levels(hvi_kept *k, const char *path, const char *levels,
                                 hvi_error *err) {
  char own[HVI_LEVELS_TEXT] = "";
  hvi_levels_add(own, !k->merges ? NULL : *k->levels ? k->levels : levels);
  if (k->device) hvi_levels_add(own, k->device);
  const bool other = other_device(levels, own) || other_device(own, levels);
  if (strcmp(levels, own) != 0 && !k->accept_other_bits)
    return hvi_error_input(
        err,
        "'%s' was computed with %s%s, not with %s, and would go on with other bits: %s, "
        "--accept-other-bits mixes them",
        path, levels, other ? "" : " instructions", own,
        k->merges ? "parts share their level"
        : other   ? "--device says where networks learn"
                  : "HVI_CPU_LEVEL and OPENBLAS_CORETYPE set the level");
  hvi_levels_add(k->levels, levels);
  hvi_levels_add(k->levels, own);
  if (other) hvi_levels_add(k->levels, MIXED);
  return HVI_OK;
}

void hvi_kept_head(char line[HVI_KEPT_HEAD], hvi_kept *k) {
  if (!k->merges) hvi_levels_add(k->levels, NULL);
  if (k->device) hvi_levels_add(k->levels, k->device);
  snprintf(line, HVI_KEPT_HEAD, "%s; hvi %s; level %s", k->kind, hvi_version(), k->levels);
}

static hvi_status complain_other(const char *path, const char *was, const char *is,
                                 hvi_error *err) {
  size_t at = 0; /* the first item that is not in both */
  for (size_t i = 0; was[i] && was[i] == is[i]; i++)
    if (was[i] == ';' || was[i] == '\n') at = i + 1 + (was[i + 1] == ' ');
  return hvi_error_set(err, HVI_ERROR_MISMATCH,
                       "'%s' was made with '%.*s', not '%.*s': go on with those settings, or begin "
                       "anew (--fresh)",
                       path, (int)strcspn(was + at, ";\n"), was + at, (int)strcspn(is + at, ";\n"),
                       is + at);
}

hvi_status hvi_kept_match(hvi_kept *k, const char *path, const char *line, const char *about,
                          hvi_error *err) {
  char kind[32], version[32], levels[HVI_LEVELS_TEXT];
  if (sscanf(line, "%31[^;]; hvi %31[^;]; level %95[a-zA-Z0-9+-]", kind, version, levels) != 3 ||
      strcmp(kind, k->kind) != 0)
    return hvi_error_input(err, "'%s' is no %s", path, k->kind);
  if (strcmp(version, hvi_version()) != 0)
    return hvi_error_set(err, HVI_ERROR_MISMATCH, "'%s' was made by hvi %s, and this is hvi %s",
                         path, version, hvi_version());
  if (strcmp(about, k->about) == 0) return hvi_kept_match_levels(k, path, levels, err);
  /* what BLAS has drawn is another problem on another level: that is told */
  hvi_kept as_asked = *k;
  as_asked.merges = false;
  if (!hvi_kept_match_levels(&as_asked, path, levels, err))
    return complain_other(path, about, k->about, err);
  return err->status = HVI_ERROR_MISMATCH;
}

hvi_status hvi_kept_check(const char *path, hvi_error *err) {
  char start[HVI_TENSORS_PREFIX + sizeof TENSORS_START] = "";
  HVI_TRY(hvi_file_plain(path, err));
  FILE *file = fopen(path, "rb");
  /* what cannot be looked at, for want of memory too, may be anybody's */
  if (!file) return errno == ENOENT ? HVI_OK : hvi_error_system(err, "read", path);
  const size_t size = fread(start, 1, sizeof start - 1, file);
  fclose(file);
  if (size == sizeof start - 1 && strcmp(start + HVI_TENSORS_PREFIX, TENSORS_START) == 0)
    return HVI_OK;
  return hvi_error_io(err, "'%s' is there and hvi did not make it: it is not replaced", path);
}

hvi_status hvi_kept_write(hvi_kept *k, const char *path, const hvi_tensors *t, hvi_error *err) {
  char line[HVI_KEPT_HEAD];
  HVI_TRY(hvi_kept_check(path, err));
  const size_t count = t->note_count + OWN_NOTES;
  HVI_NEW(hvi_tensor_note, notes, count, "a list of notes", err);
  hvi_kept_head(line, k);
  notes[0] = (hvi_tensor_note){HEAD_KEY, line};
  notes[1] = (hvi_tensor_note){ABOUT_KEY, k->about};
  for (size_t i = 0; i < t->note_count; i++) notes[OWN_NOTES + i] = t->notes[i];
  const hvi_tensors all = {t->count, t->items, count, notes, NULL};
  return hvi_tensors_store(path, &all, true, err);
}

static hvi_status read_checked(hvi_tensors **out, const char *path, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_TRY(hvi_file_plain(path, err));
  HVI_TRY(hvi_tensors_read(&t, path, 0, err));
  if (!((hvi_tensors_owner *)t->owned)->checked) return hvi_error_input(err, "it has no checksum");
  HVI_GIVE(out, t);
}

static hvi_status complain_damaged(const char *path, const char *why, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  HVI_OWN char *previous = hvi_file_previous(path);
  if (!previous || read_checked(&t, previous, NULL) != HVI_OK)
    return hvi_error_input(err, "'%s' is damaged: %s", path, why);
  return hvi_error_input(
      err, "'%s' is damaged: %s; the one before it is good: mv '%s' '%s' goes on from there", path,
      why, previous, path);
}

hvi_status hvi_kept_read(hvi_tensors **out, hvi_kept *k, const char *path, hvi_error *err) {
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *t = NULL;
  hvi_error why = {HVI_OK, ""};
  *out = NULL;
  const hvi_status status = read_checked(&t, path, &why);
  if (status == HVI_ERROR_INPUT) return complain_damaged(path, why.text, err);
  if (status) return hvi_error_set(err, status, "%s", why.text);
  const char *line = hvi_tensors_note(t, HEAD_KEY), *about = hvi_tensors_note(t, ABOUT_KEY);
  HVI_TRY(hvi_kept_match(k, path, line && about ? line : "", about, err));
  HVI_GIVE(out, t);
}

hvi_status hvi_kept_blame(const char *path, hvi_status status, hvi_error *err) {
  const bool bad = status == HVI_ERROR_INPUT || status == HVI_ERROR_ARGUMENT;
  return bad && err ? hvi_error_set(err, HVI_ERROR_INPUT, "'%s': %s", path, err->text) : status;
}
