/*
 * Results at full size that come with the program: docs/results/ID. What a page shows of one is
 * copied into OUT/ID/full, so that OUT can be moved. claims.json is copied last and says which.
 */
#include "base/base.h"
#include "base/module.h"
#include "report/text.h"
#include "study/study.h"

#include <limits.h>

enum { MAX_BYTES = 32 << 20 };

char *hvi_study_find_file(const char *name) {
  char here[PATH_MAX], built[PATH_MAX + 16] = "", installed[PATH_MAX + 16] = "";
  if (hvi_program_folder(here)) {
    snprintf(built, sizeof built, "%s/../data", here);
    snprintf(installed, sizeof installed, "%s/../share/hvi", here);
  }
  if (access(name, R_OK) == 0) return hvi_copy_text(name);
  const char *const folders[] = {getenv("HVI_DATA"), "data", built, installed};
  for (size_t i = 0; name[0] != '/' && i < sizeof folders / sizeof *folders; i++) {
    char *path = folders[i] && *folders[i] ? hvi_path_join(folders[i], name, "") : NULL;
    if (path && access(path, R_OK) == 0) return path;
    hvi_free(path);
  }
  return NULL;
}

/* From the working folder, beside the program, or where data are; hvi_free it. */
static char *find(const char *id) {
  static const char *const places[] = {"docs/results", "../docs/results", "results"};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char name[200];
    snprintf(name, sizeof name, "%s/%.60s/claims.json", places[i], id);
    char *found = hvi_study_find_file(name);
    if (found) return found;
  }
  return NULL;
}

/* Text of either file, or "" where there is none; hvi_free it. */
static char *text_of(const char *path) {
  char *text = NULL;
  return hvi_file_read_text(&text, path, MAX_BYTES, NULL) == HVI_OK ? text : hvi_copy_text("");
}

static void copy(const char *from, const char *to, const char *name, const char *ending) {
  HVI_OWN char *source = hvi_path_join(from, name, ending),
               *target = hvi_path_join(to, name, ending);
  HVI_OWN unsigned char *bytes = NULL;
  size_t size;
  hvi_file file;
  if (!source || !target || hvi_file_read_bytes(&bytes, &size, source, MAX_BYTES, NULL) ||
      hvi_file_create(&file, target, NULL))
    return;
  fwrite(bytes, 1, size, file.stream);
  hvi_file_commit(&file, NULL);
}

static void copy_all(const hvi_claims *full, const char *from, const char *to) {
  static const char *const endings[] = {".svg", ".png", ".gp", ".json"};
  if (hvi_folder_make(to, NULL)) return;
  for (size_t i = 0; i < full->figure_count; i++)
    for (size_t k = 0; k < sizeof endings / sizeof *endings && !strchr(full->figures[i].name, '/');
         k++)
      copy(from, to, full->figures[i].name, endings[k]);
  copy(from, to, "made-by", ".txt");
  copy(from, to, "claims", ".json");
}

void hvi_study_attach_full(hvi_claims *c, const char *out) {
  HVI_OWN char *path = strcmp(c->mode, "full") != 0 ? find(c->experiment) : NULL;
  HVI_OWN char *from = NULL, *name = NULL, *own = hvi_path_join(out, c->experiment, "/full");
  if (!path || !own || !hvi_path_split(&from, &name, path, ".json")) return;
  c->full = hvi_alloc(1, sizeof *c->full);
  if (!c->full || hvi_claims_read(c->full, path, NULL)) {
    hvi_free(c->full);
    c->full = NULL;
    return;
  }
  HVI_OWN char *why = hvi_path_join(from, "outdated", ".txt"), *line = why ? text_of(why) : NULL;
  HVI_OWN char *there = hvi_path_join(own, "claims", ".json"), *is = there ? text_of(there) : NULL;
  HVI_OWN char *shipped = text_of(path);
  if (line) snprintf(c->outdated, sizeof c->outdated, "%.*s", (int)strcspn(line, "\n"), line);
  if (is && shipped && strcmp(is, shipped) != 0) copy_all(c->full, from, own);
}
