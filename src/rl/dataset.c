/* Data sets: collecting one, which is the first rows of episodes as columns, and reading it. */
#include "base/error.h"
#include "base/memory.h"
#include "rl/rollout.h"
#include "rl/rollout_settings.h"

#include <string.h>

#define AT(member) offsetof(hvi_dataset, member)
static const hvi_column transitions[] = {
    {"obs", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(observation), AT(obs)},
    {"action", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(action), AT(act)},
    {"reward", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(reward), 0},
    {"next_obs", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(next), AT(obs)},
    {"terminated", HVI_TENSOR_BOOL, HVI_TENSOR_BOOL, AT(terminated), 0},
    {"truncated", HVI_TENSOR_BOOL, HVI_TENSOR_BOOL, AT(truncated), 0},
};
#undef AT
static const hvi_columns columns = {6, transitions, "a data set"};

hvi_rollout_plan hvi_dataset_plan(const hvi_env *env, size_t rows) {
  return (hvi_rollout_plan){.keep = HVI_KEEP_TRANSITIONS,
                            .noun = "episode",
                            .env_stream = "episode-environment",
                            .policy_stream = "episode-policy",
                            .steps = env->time_limit < rows ? env->time_limit : rows,
                            .group = HVI_ROLLOUT_GROUP,
                            .width = HVI_ROLLOUT_GROUP};
}

bool hvi_dataset_alloc(hvi_dataset *d, const hvi_env *env, size_t capacity) {
  const size_t count = d->count;
  d->count = capacity;
  d->obs = env->obs;
  d->act = env->act;
  const bool good = hvi_columns_alloc(d, &columns);
  d->count = count;
  return good;
}

void hvi_dataset_clear(hvi_dataset *d) { hvi_columns_free(d, &columns); }

const float *hvi_dataset_put(hvi_dataset *d, size_t i, const float *x) {
  memcpy(d->observation + i * d->obs, x, d->obs * sizeof *x);
  memcpy(d->action + i * d->act, x + d->obs, d->act * sizeof *x);
  d->reward[i] = x[d->obs + d->act];
  memcpy(d->next + i * d->obs, x + d->obs + d->act + 1, d->obs * sizeof *x);
  d->terminated[i] = x[2 * d->obs + d->act + 1] != 0.0F;
  d->truncated[i] = x[2 * d->obs + d->act + 2] != 0.0F;
  return x + 2 * d->obs + d->act + 3;
}

/* The first rows of the groups, in order. */
static hvi_status gather(void *context, hvi_runner *runner, hvi_error *err) {
  hvi_dataset *d = context;
  hvi_rollout_rows rows;
  for (size_t g = 0, i = 0; i < d->count; g++) {
    const hvi_status status = hvi_runner_rows(runner, g, &rows, err);
    if (status) return status;
    d->origin.broken += rows.broken;
    const float *row = rows.data;
    for (size_t k = 0; k < rows.count && i < d->count; k++) row = hvi_dataset_put(d, i++, row);
  }
  return HVI_OK;
}

static hvi_status fill(const hvi_rollout_file *file, hvi_rollout_run *run, hvi_notes *notes,
                       hvi_error *err) {
  const hvi_collect_settings *s = file->settings;
  hvi_dataset *d = file->set;
  hvi_rollout_plan plan = hvi_dataset_plan(run->env, s->transitions);
  plan.deterministic = s->deterministic;
  plan.rows = s->transitions;
  run->total = hvi_rollout_left(run, &plan);
  const hvi_status status = hvi_rollout_all(run, &plan, gather, d, err);
  hvi_notes_count(notes, "broken", d->origin.broken);
  return status;
}

/* A data set is put together in memory, and read there. */
static hvi_status check_size(const hvi_env *env, size_t count, hvi_error *err) {
  const size_t row = (2 * env->obs + env->act + 1) * sizeof(float) + 2, most = hvi_memory_size();
  if (count <= most / row) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                       "%zu transitions of %s take %zu bytes each, more than the memory of this "
                       "machine, %zu bytes",
                       count, env->name, row, most);
}

hvi_status hvi_dataset_collect(const char *path, const hvi_env *env, const hvi_policy *policy,
                               const hvi_collect_settings *s, hvi_rollout_report *report,
                               hvi_error *err) {
  if (report) *report = (hvi_rollout_report){0};
  hvi_status status = hvi_rollout_check(env, policy, s ? &s->run : NULL, err);
  if (!status) status = hvi_setting_check(hvi_collect_table(), s, err);
  if (!status) status = check_size(env, s->transitions, err);
  if (status) return status;
  hvi_notes notes;
  hvi_notes_begin(&notes, "transitions", env, policy, s->run.seed);
  hvi_notes_count(&notes, "transitions", s->transitions);
  hvi_notes_text(&notes, "actions", s->deterministic ? "mean" : "sampled");
  hvi_dataset d = {.count = s->transitions, .obs = env->obs, .act = env->act};
  hvi_rollout_run run = {.env = env, .policy = policy, .settings = &s->run};
  const hvi_rollout_file file = {
      .path = path, .set = &d, .columns = &columns, .settings = s, .fill = fill};
  return hvi_rollout_make(&file, &run, &notes, report, err);
}

hvi_status hvi_dataset_load(hvi_dataset **data, const char *path, hvi_error *err) {
  hvi_error local;
  hvi_tensors *t;
  if (!err) err = &local;
  *data = NULL;
  const hvi_status status = hvi_tensors_read(&t, path, 0, err);
  if (status) return status;
  hvi_dataset *d = hvi_alloc(1, sizeof *d);
  if (!d) hvi_error_memory(err, "a data set");
  const bool good = d && hvi_columns_load(d, &columns, t, path, err);
  if (good) hvi_notes_read_origin(&d->origin, t);
  hvi_tensors_free(t);
  if (!good) {
    hvi_dataset_free(d);
    return err->status;
  }
  *data = d;
  return HVI_OK;
}

void hvi_dataset_free(hvi_dataset *d) {
  if (!d) return;
  hvi_dataset_clear(d);
  hvi_free(d);
}

bool hvi_dataset_continues(const hvi_dataset *d, size_t row) {
  if (row + 1 >= d->count || d->terminated[row] || d->truncated[row]) return false;
  return memcmp(d->next + row * d->obs, d->observation + (row + 1) * d->obs,
                d->obs * sizeof *d->next) == 0;
}
