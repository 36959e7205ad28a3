/*
 * The places of a study: what was found of environment, policy and test set. Nothing that is
 * missing is an error: the place is then not run, and its claims are not judged.
 *
 * Files are looked for as named, under $HVI_DATA, under ./data, and beside the program: in ../data
 * for one built in a source tree, in ../share/hvi for one that is installed. The program itself
 * remembers no path.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "experiments/value_study.h"
#include "report/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* folder/below/name if it can be read. */
static char *try_path(const char *folder, const char *below, const char *name) {
  hvi_text path = {0};
  if (folder) hvi_text_add(&path, "%s%s/", folder, below);
  hvi_text_add(&path, "%s", name);
  if (path.failed || access(path.data, R_OK) != 0) hvi_text_free(&path);
  return path.data ? hvi_text_take(&path) : NULL;
}

char *hvi_study_find(const char *name) {
  char here[PATH_MAX] = "";
  const char *variable = getenv("HVI_DATA");
  char *found = try_path(NULL, "", name);
  if (found || name[0] == '/') return found;
  if (variable && *variable) found = try_path(variable, "", name);
  if (!found) found = try_path("data", "", name);
  const ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
  char *slash = length > 0 ? strrchr(here, '/') : NULL;
  if (slash) *slash = '\0';
  if (!found && slash) found = try_path(here, "/../data", name);
  if (!found && slash) found = try_path(here, "/../share/hvi", name);
  return found;
}

static bool is_own_policy(const hvi_study_place *p) { return strcmp(p->policy, "default") == 0; }

/* Where a missing file would be looked for. */
static const char *folder_of(const char *name) { return name[0] == '/' ? "" : "data/"; }

static void need_policy(hvi_study_site *site) {
  const hvi_study_place *p = site->place;
  snprintf(site->missing, sizeof site->missing,
           "needs %s%s (made by: hvi policy train %s --out %s%s)", folder_of(p->policy), p->policy,
           p->environment, folder_of(p->policy), p->policy);
}

static void need_testset(hvi_study_site *site) {
  const hvi_study_place *p = site->place;
  snprintf(site->missing, sizeof site->missing,
           "needs %s%s (made by: hvi testset %s --policy %s%s --out %s%s)", folder_of(p->testset),
           p->testset, p->environment, is_own_policy(p) ? "" : folder_of(p->policy), p->policy,
           folder_of(p->testset), p->testset);
}

static hvi_status open_env(hvi_study_site *site, hvi_error *err) {
  hvi_error why = {HVI_OK, ""};
  const hvi_status status = hvi_env_new(&site->env, site->place->environment, &why);
  if (status && err) *err = why;
  if (status != HVI_ERROR_UNSUPPORTED) return status;
  snprintf(site->missing, sizeof site->missing, "%.*s", (int)sizeof site->missing - 1, why.text);
  return HVI_OK;
}

static hvi_status open_policy(hvi_study_site *site, hvi_error *err) {
  if (is_own_policy(site->place)) return hvi_policy_of_env(&site->policy, site->env, err);
  char *path = hvi_study_find(site->place->policy);
  if (!path) return need_policy(site), HVI_OK;
  hvi_status status = hvi_policy_load(&site->policy, path, err);
  if (!status) status = hvi_policy_check(site->policy, site->env, err);
  hvi_free(path);
  return status;
}

/* What a stand-in is being made for, and its share of the run's progress. */
static bool on_rollouts(void *context, size_t done, size_t total) {
  return hvi_run_progress(context, "a test set", 0.05 * (double)done / (double)(total ? total : 1));
}

static hvi_status make_stand_in(hvi_study_site *site, hvi_run *run, const char *path,
                                hvi_error *err) {
  const hvi_study_place *p = site->place;
  hvi_testset_settings s = hvi_testset_defaults();
  hvi_rollout_report report = {0};
  char note[200];
  s.run = (hvi_rollout_settings){.seed = 1,
                                 .threads = run->threads,
                                 .partial = HVI_PARTIAL_RESUME,
                                 .policy_name = p->policy,
                                 .progress = on_rollouts,
                                 .progress_context = run};
  s.states = p->stand_in.states;
  s.rollouts = p->stand_in.rollouts;
  s.horizon = p->stand_in.horizon;
  s.gamma = run->experiment->study->value.gamma;
  const hvi_status status = hvi_testset_make(path, site->env, site->policy, &s, &report, err);
  if (status || report.stopped) return status;
  snprintf(note, sizeof note, "%s: %s is not there; made one of %zu states in %.1f s",
           run->experiment->id, p->testset, s.states, report.seconds);
  if (run->settings->message) run->settings->message(run->settings->context, note);
  return HVI_OK;
}

/* OUT/testsets/ENVIRONMENT-SIZES.safetensors: experiments of one run share it. */
static hvi_status stand_in(char **path, hvi_study_site *site, hvi_run *run, hvi_error *err) {
  const hvi_study_place *p = site->place;
  hvi_text t = {0};
  char print[17];
  hvi_policy_fingerprint(print, site->policy);
  hvi_text_add(&t, "%s/testsets", run->settings->out);
  hvi_status status = t.failed ? hvi_error_memory(err, "a path") : hvi_folder_make(t.data, err);
  hvi_text_add(&t, "/%s-%s-%g-%zu-%zu-%zu.safetensors", p->environment, print,
               run->experiment->study->value.gamma, p->stand_in.states, p->stand_in.rollouts,
               p->stand_in.horizon);
  *path = hvi_text_take(&t);
  if (!status && !*path) status = hvi_error_memory(err, "a path");
  if (!status && access(*path, R_OK) != 0) status = make_stand_in(site, run, *path, err);
  return status;
}

/* Whether the test set is of this policy; one of another one counts as missing. */
static bool is_of_policy(hvi_study_site *site, const hvi_testset *set, const char *path) {
  char print[17];
  hvi_policy_fingerprint(print, site->policy);
  if (!*set->origin.fingerprint || strcmp(set->origin.fingerprint, print) == 0) return true;
  snprintf(site->missing, sizeof site->missing,
           "'%.200s' is of another policy (%s) than %.60s (%s)", path, set->origin.fingerprint,
           site->place->policy, print);
  return false;
}

static hvi_status read_testset(hvi_study_site *site, const hvi_run *run, const char *path,
                               hvi_error *err) {
  hvi_testset *set = NULL;
  hvi_status status = hvi_testset_load(&set, path, err);
  if (!status && is_of_policy(site, set, path))
    status = hvi_probe_of_testset(&site->probe, set, err);
  hvi_testset_free(set);
  hvi_probe *p = site->probe;
  if (status || !p) return status;
  if (run->scale->states > 0 && run->scale->states < p->states) p->states = run->scale->states;
  site->noise = hvi_probe_noise(p);
  return HVI_OK;
}

static hvi_status open_testset(hvi_study_site *site, hvi_run *run, hvi_error *err) {
  const hvi_study_place *p = site->place;
  char *path = hvi_study_find(p->testset);
  hvi_status status = HVI_OK;
  if (!path && p->stand_in.states > 0 && !run->full) status = stand_in(&path, site, run, err);
  if (!path && !status) need_testset(site);
  if (path && !status && !run->stopped) status = read_testset(site, run, path, err);
  hvi_free(path);
  return status;
}

enum { MAX_BYTES = 1 << 30 };

static void identify(hvi_study_site *site) {
  const hvi_probe *p = site->probe;
  char print[17];
  hvi_policy_fingerprint(print, site->policy);
  uint64_t hash =
      hvi_hash_bytes(HVI_HASH_START, p->observation, p->states * p->obs * sizeof(float));
  hash = hvi_hash_bytes(hash, p->value, p->states * sizeof *p->value);
  snprintf(site->identity, sizeof site->identity,
           "policy %s, test set %016" PRIx64 " of %zu states", print, hash, p->states);
}

void hvi_study_slug(char *slug, size_t size, const char *name) {
  snprintf(slug, size, "%.*s", (int)size - 1, name);
  for (char *c = slug; *c; c++)
    if (*c == '_' || *c == '/' || *c == '.') *c = '-';
}

hvi_status hvi_study_site_open(hvi_study_site *site, hvi_run *run, size_t place, hvi_error *err) {
  *site = (hvi_study_site){.place = &run->experiment->study->places[place]};
  hvi_study_slug(site->slug, sizeof site->slug, site->place->environment);
  hvi_status status = open_env(site, err);
  if (!status && !*site->missing) status = open_policy(site, err);
  if (!status && !*site->missing) status = open_testset(site, run, err);
  if (!status && site->probe) identify(site);
  return status;
}

void hvi_study_site_close(hvi_study_site *site) {
  hvi_probe_free(site->probe);
  hvi_policy_free(site->policy);
  hvi_env_free(site->env);
  *site = (hvi_study_site){0};
}

static uint64_t hash_file(uint64_t hash, const char *name) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  char *path = hvi_study_find(name);
  hash = hvi_hash_bytes(hash, name, strlen(name) + 1);
  if (path && hvi_file_read_bytes(&bytes, &size, path, MAX_BYTES, NULL) == HVI_OK)
    hash = hvi_hash_bytes(hash, bytes, size);
  hvi_free(bytes);
  hvi_free(path);
  return hash;
}

uint64_t hvi_study_hash(const hvi_experiment *e) {
  uint64_t hash = HVI_HASH_START;
  size_t kinds = 0;
  const hvi_env_kind *kind = hvi_env_list(&kinds);
  for (size_t i = 0; i < kinds; i++) {
    const bool available = hvi_env_available(kind[i].name, NULL) == HVI_OK;
    hash = hvi_hash_bytes(hash, &available, sizeof available);
  }
  for (size_t i = 0; i < e->study->place_count; i++) {
    hash = hash_file(hash, e->study->places[i].policy);
    hash = hash_file(hash, e->study->places[i].testset);
  }
  return hash;
}
