/* Tasks as a study has them. */
#include "study/task.h"

#include "base/base.h"
#include "base/file.h"
#include "base/module.h"
#include "report/text.h"

#include <limits.h>
#include <unistd.h>

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

static bool is_own(const char *policy) { return strcmp(policy, "default") == 0; }

/* Where a missing file would be looked for. */
static const char *folder_of(const char *name) {
  return name[0] == '/' || is_own(name) ? "" : "data/";
}

static void need_policy(hvi_study_task *t) {
  const hvi_value_environment *p = t->source;
  const char *folder = folder_of(p->policy);
  snprintf(t->missing, sizeof t->missing, "needs %s%s (made by: hvi policy train %s --out %s%s)",
           folder, p->policy, p->environment, folder, p->policy);
}

static void need_testset(hvi_study_task *t) {
  const hvi_value_environment *p = t->source;
  const char *folder = folder_of(p->testset);
  snprintf(t->missing, sizeof t->missing,
           "needs %s%s (made by: hvi testset %s --policy %s%s --out %s%s)", folder, p->testset,
           p->environment, folder_of(p->policy), p->policy, folder, p->testset);
}

static bool on_rollouts(void *study, size_t done, size_t total) {
  return hvi_study_progress(study, "a test set", 0.05 * (double)done / (double)(total ? total : 1));
}

double hvi_part_gamma(const hvi_part *p) {
  return p->scale.gamma > 0.0 ? p->scale.gamma : p->value->spec.value.gamma;
}

static hvi_status make_stand_in(const hvi_study_task *t, const char *path, hvi_error *err) {
  hvi_testset_settings s = t->source->stand_in;
  hvi_rollout_report report = {0};
  s.run = (hvi_rollout_settings){.seed = 1,
                                 .threads = t->study->settings->threads,
                                 .partial = HVI_PARTIAL_RESUME,
                                 .policy_name = t->source->policy,
                                 .progress = on_rollouts,
                                 .progress_context = t->study};
  s.gamma = hvi_part_gamma(t->part);
  const hvi_status status = hvi_testset_make(path, t->task.env, t->task.policy, &s, &report, err);
  if (!status && !report.stopped)
    hvi_study_tell(t->study, "%s: no test set %s for gamma %g; made one of %zu states in %.1f s",
                   t->study->id, t->source->testset, s.gamma, s.states, report.seconds);
  return status;
}

/* OUT/testsets/ENVIRONMENT-SIZES.safetensors: studies of one run share it. */
static hvi_status stand_in(char **path, const hvi_study_task *t, hvi_error *err) {
  const hvi_testset_settings *s = &t->source->stand_in;
  HVI_OWN_BY(hvi_text_free) hvi_text text = {0};
  hvi_text_add(&text, "%s/testsets", t->study->settings->out);
  if (text.failed) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_folder_make(text.data, err));
  hvi_text_add(&text, "/%s-%s-%g-%zu-%zu-%zu.safetensors", t->source->environment,
               t->task.origin.fingerprint, hvi_part_gamma(t->part), s->states, s->rollouts,
               s->horizon);
  *path = hvi_text_take(&text);
  if (!*path) return hvi_error_memory(err, "a path");
  return access(*path, R_OK) == 0 ? HVI_OK : make_stand_in(t, *path, err);
}

static hvi_status open_testset(hvi_study_task *t, hvi_error *err) {
  /* the file is for the discount in `value` */
  const bool own = hvi_part_gamma(t->part) == t->part->value->spec.value.gamma;
  HVI_OWN char *path = own ? hvi_study_find_file(t->source->testset) : NULL;
  if (!path && t->source->stand_in.states > 0 && !t->study->settings->full)
    HVI_TRY(stand_in(&path, t, err));
  if (!path) return need_testset(t), HVI_OK;
  return t->study->stopped ? HVI_OK
                           : hvi_task_testset(&t->task, path, NULL, t->part->scale.states, err);
}

static hvi_status open_policy(hvi_study_task *t, hvi_error *err) {
  const char *policy = t->source->policy;
  HVI_OWN char *path = is_own(policy) ? hvi_copy_text(policy) : hvi_study_find_file(policy);
  HVI_TRY(hvi_task_open(&t->task, t->source->environment, path, NULL, err));
  if (!path) need_policy(t);
  return HVI_OK;
}

hvi_status hvi_study_task_open(hvi_study_task *t, hvi_study *study, const hvi_part *part,
                               size_t index, hvi_error *err) {
  hvi_error why = {HVI_OK, ""};
  *t = (hvi_study_task){.study = study, .part = part, .source = &part->value->environments[index]};
  hvi_status status = open_policy(t, &why);
  const bool built = t->task.env != NULL;
  if (!status && !*t->missing) status = open_testset(t, &why);
  /* an environment that is not in this build, and a test set of another policy, count as missing */
  if ((status == HVI_ERROR_UNSUPPORTED && !built) || status == HVI_ERROR_MISMATCH) {
    snprintf(t->missing, sizeof t->missing, "%.*s", (int)sizeof t->missing - 1, why.text);
    return HVI_OK;
  }
  if (status && err) *err = why;
  return status;
}
