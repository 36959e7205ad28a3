#include "study/task.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
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

char *hvi_task_find(const char *name) {
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

static bool is_own_policy(const hvi_value_environment *p) {
  return strcmp(p->policy, "default") == 0;
}

/* Where a missing file would be looked for. */
static const char *folder_of(const char *name) { return name[0] == '/' ? "" : "data/"; }

static void need_policy(hvi_task *task) {
  const hvi_value_environment *p = task->source;
  snprintf(task->missing, sizeof task->missing,
           "needs %s%s (made by: hvi policy train %s --out %s%s)", folder_of(p->policy), p->policy,
           p->environment, folder_of(p->policy), p->policy);
}

static void need_testset(hvi_task *task) {
  const hvi_value_environment *p = task->source;
  snprintf(task->missing, sizeof task->missing,
           "needs %s%s (made by: hvi testset %s --policy %s%s --out %s%s)", folder_of(p->testset),
           p->testset, p->environment, is_own_policy(p) ? "" : folder_of(p->policy), p->policy,
           folder_of(p->testset), p->testset);
}

static hvi_status open_env(hvi_task *task, hvi_error *err) {
  hvi_error why = {HVI_OK, ""};
  const hvi_status status = hvi_env_new(&task->env, task->source->environment, &why);
  if (status && err) *err = why;
  if (status != HVI_ERROR_UNSUPPORTED) return status;
  snprintf(task->missing, sizeof task->missing, "%.*s", (int)sizeof task->missing - 1, why.text);
  return HVI_OK;
}

static hvi_status open_policy(hvi_task *task, hvi_error *err) {
  if (is_own_policy(task->source)) return hvi_policy_of_env(&task->policy, task->env, err);
  char *path = hvi_task_find(task->source->policy);
  if (!path) return need_policy(task), HVI_OK;
  hvi_status status = hvi_policy_load(&task->policy, path, err);
  if (!status) status = hvi_policy_check(task->policy, task->env, err);
  hvi_free(path);
  return status;
}

typedef struct stand_in_of {
  hvi_task *task;
  hvi_study *study;
  const hvi_part *part;
} stand_in_of;

static bool on_rollouts(void *context, size_t done, size_t total) {
  return hvi_study_progress(context, "a test set",
                            0.05 * (double)done / (double)(total ? total : 1));
}

static hvi_status make_stand_in(const stand_in_of *o, const char *path, hvi_error *err) {
  const hvi_value_environment *p = o->task->source;
  hvi_testset_settings s = p->stand_in;
  hvi_rollout_report report = {0};
  s.run = (hvi_rollout_settings){.seed = 1,
                                 .threads = o->study->settings->threads,
                                 .partial = HVI_PARTIAL_RESUME,
                                 .policy_name = p->policy,
                                 .progress = on_rollouts,
                                 .progress_context = o->study};
  s.gamma = o->part->value->value.gamma;
  const hvi_status status = hvi_testset_make(path, o->task->env, o->task->policy, &s, &report, err);
  if (!status && !report.stopped)
    hvi_study_tell(o->study, "%s: %s is not there; made one of %zu states in %.1f s", o->study->id,
                   p->testset, s.states, report.seconds);
  return status;
}

/* OUT/testsets/ENVIRONMENT-SIZES.safetensors: studies of one run share it. */
static hvi_status stand_in(char **path, const stand_in_of *o, hvi_error *err) {
  const hvi_value_environment *p = o->task->source;
  hvi_text t = {0};
  char print[17];
  hvi_policy_fingerprint(print, o->task->policy);
  hvi_text_add(&t, "%s/testsets", o->study->settings->out);
  hvi_status status = t.failed ? hvi_error_memory(err, "a path") : hvi_folder_make(t.data, err);
  hvi_text_add(&t, "/%s-%s-%g-%zu-%zu-%zu.safetensors", p->environment, print,
               o->part->value->value.gamma, p->stand_in.states, p->stand_in.rollouts,
               p->stand_in.horizon);
  *path = hvi_text_take(&t);
  if (!status && !*path) status = hvi_error_memory(err, "a path");
  if (!status && access(*path, R_OK) != 0) status = make_stand_in(o, *path, err);
  return status;
}

/* Whether the test set is of this policy; one of another one counts as missing. */
static bool is_of_policy(hvi_task *task, const hvi_testset *set, const char *path) {
  char print[17];
  hvi_policy_fingerprint(print, task->policy);
  if (!*set->origin.fingerprint || strcmp(set->origin.fingerprint, print) == 0) return true;
  snprintf(task->missing, sizeof task->missing,
           "'%.200s' is of another policy (%s) than %.60s (%s)", path, set->origin.fingerprint,
           task->source->policy, print);
  return false;
}

static hvi_status read_testset(hvi_task *task, size_t states, const char *path, hvi_error *err) {
  hvi_testset *set = NULL;
  hvi_status status = hvi_testset_load(&set, path, err);
  if (!status && is_of_policy(task, set, path))
    status = hvi_probe_of_testset(&task->probe, set, err);
  hvi_testset_free(set);
  hvi_probe *p = task->probe;
  if (status || !p) return status;
  if (states > 0 && states < p->states) p->states = states;
  task->noise = hvi_probe_noise(p);
  return HVI_OK;
}

static hvi_status open_testset(const stand_in_of *o, hvi_error *err) {
  char *path = hvi_task_find(o->task->source->testset);
  hvi_status status = HVI_OK;
  if (!path && o->task->source->stand_in.states > 0 && !o->study->settings->full)
    status = stand_in(&path, o, err);
  if (!path && !status) need_testset(o->task);
  if (path && !status && !o->study->stopped)
    status = read_testset(o->task, o->part->scale.states, path, err);
  hvi_free(path);
  return status;
}

static void identify(hvi_task *task) {
  const hvi_probe *p = task->probe;
  char print[17];
  hvi_policy_fingerprint(print, task->policy);
  uint64_t hash =
      hvi_hash_bytes(HVI_HASH_START, p->observation, p->states * p->obs * sizeof(float));
  hash = hvi_hash_bytes(hash, p->value, p->states * sizeof *p->value);
  snprintf(task->identity, sizeof task->identity,
           "policy %s, test set %016" PRIx64 " of %zu states", print, hash, p->states);
}

hvi_status hvi_task_open(hvi_task *task, hvi_study *study, const hvi_part *part, size_t index,
                         hvi_error *err) {
  *task = (hvi_task){.source = &part->value->environments[index]};
  const stand_in_of o = {task, study, part};
  hvi_status status = open_env(task, err);
  if (!status && !*task->missing) status = open_policy(task, err);
  if (!status && !*task->missing) status = open_testset(&o, err);
  if (!status && task->probe) identify(task);
  return status;
}

void hvi_task_close(hvi_task *task) {
  hvi_probe_free(task->probe);
  hvi_policy_free(task->policy);
  hvi_env_free(task->env);
  *task = (hvi_task){0};
}
