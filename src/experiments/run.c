#include "experiments/run.h"

#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "experiments/kinds.h"
#include "experiments/linear.h"
#include "experiments/performative.h"
#include "experiments/theory_run.h"
#include "experiments/value_study.h"
#include "report/text.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct kind {
  const char *name;
  hvi_run_fn run;
  bool needs_methods; /* a problem and a list of methods */
} kind;

static const kind kinds[] = {
    {"trajectory", hvi_trajectory_run, true}, {"timing", hvi_timing_run, true},
    {"ensemble", hvi_ensembles_run, true},    {"theory", hvi_theory_run, false},
    {"linear", hvi_linear_run, false},        {"performative", hvi_performative_run, false},
    {"value", hvi_study_run, false},
};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

bool hvi_run_progress(hvi_run *run, const char *doing, double share) {
  const hvi_reproduce_settings *s = run->settings;
  if (s->progress && !s->progress(s->context, run->experiment->id, doing, share))
    run->stopped = true;
  return !run->stopped;
}

char *hvi_run_path(const hvi_run *run, const char *name, const char *ending) {
  return hvi_path_join(run->folder, name, ending);
}

hvi_status hvi_run_figure(hvi_run *run, const hvi_plot *plot, hvi_error *err) {
  char note[400];
  bool drawn = false;
  hvi_status status = hvi_plot_write(run->folder, plot, err);
  if (status == HVI_OK)
    status = hvi_plot_draw(run->folder, plot->name, &drawn, note, sizeof note, err);
  if (status != HVI_OK) return status;
  if (!drawn && run->settings->message) run->settings->message(run->settings->context, note);
  hvi_claims_figure(run->claims, plot->name);
  return HVI_OK;
}

/* Texts of any length, told apart by a byte that is in none. */
static uint64_t hash_text(uint64_t hash, const char *text) {
  return hvi_hash_bytes(hvi_hash_bytes(hash, text, strlen(text)), "\xff", 1);
}

/* Everything that decides the result: the experiment, how much of it, the game, the program. */
static hvi_status hash_settings(char *out, size_t size, const hvi_experiment *e, bool full,
                                hvi_error *err) {
  uint64_t hash = hash_text(HVI_HASH_START, e->text);
  hash = hash_text(hash, full ? "full" : "quick");
  hash = hash_text(hash, hvi_version());
  for (const hvi_embedded *f = hvi_embedded_problems; e->problem && f->name; f++)
    if (strcmp(f->name, e->problem) == 0) hash = hash_text(hash, f->text);
  if (e->problem_path) {
    char *text = NULL;
    hvi_status status = hvi_file_read_text(&text, e->problem_path, (size_t)64 << 20, err);
    if (status != HVI_OK) return status;
    hash = hash_text(hash, text);
    hvi_free(text);
  }
  if (e->study) hash = hvi_hash_count(hash, hvi_study_hash(e));
  snprintf(out, size, "%016" PRIx64, hash);
  return HVI_OK;
}

static hvi_status find_kind(const kind **out, const hvi_experiment *e, hvi_error *err) {
  for (size_t i = 0; i < KIND_COUNT; i++) {
    if (strcmp(kinds[i].name, e->kind) != 0) continue;
    *out = &kinds[i];
    if (!kinds[i].needs_methods || (e->contender_count && e->problem)) return HVI_OK;
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "experiment '%s': kind %s needs the keys problem and methods", e->id,
                         e->kind);
  }
  char list[160] = "";
  for (size_t i = 0; i < KIND_COUNT; i++) {
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", kinds[i].name);
  }
  return hvi_error_set(err, HVI_ERROR_INPUT, "experiment '%s': unknown kind '%.60s'; there are %s",
                       e->id, e->kind, list);
}

static hvi_status run_kind(const kind *k, hvi_run *run, const char *path, hvi_error *err) {
  const hvi_experiment *e = run->experiment;
  double started = hvi_clock_now();
  remove(path); /* claims.json says that the folder is complete, so it comes last and goes first */
  snprintf(run->claims->experiment, sizeof run->claims->experiment, "%s", e->id);
  snprintf(run->claims->title, sizeof run->claims->title, "%s", e->title);
  snprintf(run->claims->mode, sizeof run->claims->mode, "%s", run->full ? "full" : "quick");
  if (!hvi_run_progress(run, "starting", 0)) return HVI_OK;
  hvi_status status = k->run(run, err);
  run->claims->seconds = hvi_clock_now() - started;
  if (status != HVI_OK || run->stopped) return status;
  return hvi_claims_write(run->claims, path, err);
}

/* An earlier run counts when it had the same settings; one that cannot be read does not. */
static bool finished_before(hvi_claims *claims, const char *path, const char *hash) {
  if (hvi_claims_read(claims, path, NULL) != HVI_OK) return false;
  if (strcmp(claims->settings_hash, hash) == 0) return true;
  hvi_claims_clear(claims);
  return false;
}

hvi_status hvi_reproduce(hvi_claims *claims, bool *stopped, const hvi_experiment *e,
                         const hvi_reproduce_settings *s, hvi_error *err) {
  *claims = (hvi_claims){0};
  *stopped = false;
  const kind *k = NULL;
  char hash[sizeof claims->settings_hash];
  hvi_status status = find_kind(&k, e, err);
  if (status == HVI_OK) status = hash_settings(hash, sizeof hash, e, s->full, err);
  if (status != HVI_OK) return status;
  char *folder = hvi_path_join(s->out, e->id, "");
  char *path = folder ? hvi_path_join(folder, "claims.json", "") : NULL;
  if (!path) status = hvi_error_memory(err, "a path");
  if (status == HVI_OK) status = hvi_folder_make(folder, err);
  if (status == HVI_OK && !(s->resume && finished_before(claims, path, hash))) {
    hvi_run run = {.experiment = e,
                   .full = s->full,
                   .scale = s->full ? &e->full : &e->quick,
                   .threads = s->threads,
                   .folder = folder,
                   .claims = claims,
                   .settings = s};
    memcpy(claims->settings_hash, hash, sizeof hash);
    status = run_kind(k, &run, path, err);
    *stopped = run.stopped;
  }
  if (status != HVI_OK || *stopped) hvi_claims_clear(claims);
  hvi_free(path);
  hvi_free(folder);
  return status;
}

hvi_status hvi_reproduce_tune(char **text, bool *stopped, const hvi_experiment *e,
                              const hvi_reproduce_settings *s, hvi_error *err) {
  hvi_claims none = {0};
  char *folder = hvi_path_join(s->out, e->id, "");
  hvi_status status = folder ? hvi_folder_make(folder, err) : hvi_error_memory(err, "a path");
  hvi_run run = {.experiment = e,
                 .full = s->full,
                 .scale = s->full ? &e->full : &e->quick,
                 .threads = s->threads,
                 .folder = folder,
                 .claims = &none,
                 .settings = s};
  *text = NULL;
  if (status == HVI_OK) status = hvi_study_tune(text, &run, err);
  *stopped = run.stopped;
  hvi_free(folder);
  return status;
}
