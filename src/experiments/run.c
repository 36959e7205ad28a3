#include "experiments/run.h"

#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "experiments/kinds.h"
#include "experiments/linear.h"
#include "experiments/performative.h"
#include "experiments/theory_run.h"
#include "experiments/value_study.h"
#include "io/kept.h"
#include "report/text.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
  char note[HVI_PLOT_NOTE];
  const hvi_status status = hvi_plot_make(run->folder, plot, note, err);
  if (status != HVI_OK) return status;
  if (*note && run->settings->message) run->settings->message(run->settings->context, note);
  hvi_claims_figure(run->claims, plot->name);
  return HVI_OK;
}

/* FNV-1a: names a set of settings, no more. */
static uint64_t hash_text(uint64_t hash, const char *text) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return (hash ^ 0xFF) * UINT64_C(1099511628211);
}

/* Everything that decides the result: the experiment, how much of it, the game, the program. */
static hvi_status hash_settings(char *out, size_t size, const hvi_experiment *e, bool full,
                                hvi_error *err) {
  uint64_t hash = hash_text(UINT64_C(14695981039346656037), e->text);
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
  if (e->study) hash = (hash ^ hvi_study_hash(e)) * UINT64_C(1099511628211);
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
  hvi_levels_add(run->claims->levels, NULL);
  if (status != HVI_OK || run->stopped) return status;
  return hvi_claims_write(run->claims, path, err);
}

/* An earlier run counts when it had the same settings. A damaged file, or one of another level of
 * instructions, is an error. */
static hvi_status look_for_claims(bool *finished, hvi_claims *claims, const char *path,
                                  const char *hash, const hvi_reproduce_settings *s,
                                  hvi_error *err) {
  hvi_kept head = {.accept_other_bits = s->accept_other_bits};
  *finished = false;
  if (!s->resume || access(path, F_OK) != 0) return HVI_OK;
  hvi_status status = hvi_claims_read(claims, path, err);
  if (status) return status;
  *finished = claims->checked && strcmp(claims->settings_hash, hash) == 0;
  if (*finished) status = hvi_kept_match_levels(&head, path, claims->levels, err);
  if (status || !*finished) hvi_claims_clear(claims);
  return status;
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
  bool finished = false;
  hvi_lock lock = {-1, NULL};
  if (status == HVI_OK) status = hvi_folder_make(folder, err);
  if (status == HVI_OK) status = hvi_lock_take(&lock, path, err);
  if (status == HVI_OK) status = look_for_claims(&finished, claims, path, hash, s, err);
  if (status == HVI_OK && !finished) {
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
  hvi_lock_release(&lock);
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
