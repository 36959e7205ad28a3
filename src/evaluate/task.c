#include "evaluate/task.h"

#include "base/base.h"
#include "num/vec.h"

hvi_status hvi_task_open(hvi_task *t, const char *environment, const char *policy,
                         const hvi_policy_options *options, hvi_error *err) {
  *t = (hvi_task){.noise = NAN};
  HVI_TRY(hvi_env_new(&t->env, environment, err));
  if (!policy) return HVI_OK;
  HVI_TRY(strcmp(policy, "default") == 0 ? hvi_policy_of_env(&t->policy, t->env, err)
                                         : hvi_policy_read(&t->policy, policy, options, err));
  HVI_TRY(hvi_policy_fit(t->policy, t->env, err));
  snprintf(t->origin.environment, sizeof t->origin.environment, "%s", t->env->name);
  hvi_policy_fingerprint(t->origin.fingerprint, t->policy);
  return HVI_OK;
}

hvi_status hvi_task_open_data(hvi_task *t, const char *path, const hvi_names *names,
                              hvi_error *err) {
  *t = (hvi_task){.noise = NAN};
  HVI_TRY(hvi_dataset_read(&t->data, path, names, err));
  t->origin = t->data->origin;
  return HVI_OK;
}

/* Notes that are missing fit anything. */
static bool differ(const char *a, const char *b) { return *a && *b && strcmp(a, b) != 0; }

static hvi_status check_origin(const hvi_task *t, const char *path, hvi_error *err) {
  const hvi_provenance *is = &t->origin, *set = &t->testset->origin;
  if (differ(is->environment, set->environment))
    return hvi_error_set(err, HVI_ERROR_MISMATCH, "'%s' is a test set of %s, not of %s", path,
                         set->environment, is->environment);
  if (differ(is->fingerprint, set->fingerprint))
    return hvi_error_set(err, HVI_ERROR_MISMATCH,
                         "'%s' is a test set of another policy (%s, not %s)", path,
                         set->fingerprint, is->fingerprint);
  return HVI_OK;
}

hvi_status hvi_task_testset(hvi_task *t, const char *path, const hvi_names *names, size_t states,
                            hvi_error *err) {
  HVI_TRY(hvi_testset_read(&t->testset, path, names, err));
  HVI_TRY(check_origin(t, path, err));
  HVI_TRY(hvi_probe_of_testset(&t->probe, t->testset, err));
  hvi_probe *p = t->probe;
  if (states > 0 && states < p->states) p->states = states;
  t->noise = hvi_vec_norm2(p->standard_error, p->states) / (double)p->states;
  return HVI_OK;
}

void hvi_task_close(hvi_task *t) {
  hvi_probe_free(t->probe);
  hvi_testset_free(t->testset);
  hvi_dataset_free(t->data);
  hvi_policy_free(t->policy);
  hvi_env_free(t->env);
  *t = (hvi_task){.noise = NAN};
}
