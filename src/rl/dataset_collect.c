/* Collecting a data set: episodes in groups, then their first rows as columns. */
#include "base/error.h"
#include "base/memory.h"
#include "rl/rollout_group.h"
#include "rl/rollout_row.h"
#include "rl/rollout_settings.h"

static void write_row(const hvi_env *env, const hvi_lockstep_step *step, unsigned char *row,
                      unsigned char *next_row) {
  (void)next_row;
  if (step) hvi_row_write((float *)(void *)row, env, step);
}

/* Takes the first rows of the groups, in order; *broken counts failed simulations in them. */
static hvi_status gather(hvi_dataset *d, const hvi_group_plan *p, size_t count, size_t *broken,
                         hvi_error *err) {
  hvi_group_head head;
  const unsigned char *rows;
  size_t there;
  for (size_t g = 0; d->count < count; g++) {
    const hvi_status status = hvi_group_read(p, g, &head, &rows, &there, err);
    if (status) return status;
    *broken += (size_t)head.broken;
    for (size_t i = 0; i < there && d->count < count; i++) {
      hvi_columns_put(d, d->count++, (const float *)(const void *)(rows + i * p->row_bytes));
    }
  }
  return HVI_OK;
}

static hvi_status write_file(const char *path, const hvi_dataset *d, const hvi_notes *notes,
                             hvi_error *err) {
  const hvi_tensor items[] = {
      {"obs", HVI_TENSOR_F32, 2, {d->count, d->obs}, d->observation},
      {"action", HVI_TENSOR_F32, 2, {d->count, d->act}, d->action},
      {"reward", HVI_TENSOR_F32, 1, {d->count}, d->reward},
      {"next_obs", HVI_TENSOR_F32, 2, {d->count, d->obs}, d->next},
      {"terminated", HVI_TENSOR_BOOL, 1, {d->count}, d->terminated},
      {"truncated", HVI_TENSOR_BOOL, 1, {d->count}, d->truncated},
  };
  return hvi_tensors_write(path, items, sizeof items / sizeof items[0], notes->items, notes->count,
                           err);
}

static hvi_status finish(const char *path, const hvi_group_plan *p, hvi_notes *notes,
                         const hvi_collect_settings *s, hvi_error *err) {
  hvi_dataset d = {0};
  size_t broken = 0;
  const bool room = hvi_columns_new(&d, p->crew->env, s->transitions);
  hvi_status status = room ? HVI_OK : hvi_error_memory(err, "a data set");
  if (!status) status = gather(&d, p, s->transitions, &broken, err);
  hvi_notes_text(notes, "policy", s->run.policy_name);
  hvi_notes_text(notes, "level", p->crew->levels);
  hvi_notes_count(notes, "broken", broken);
  if (!status) status = write_file(path, &d, notes, err);
  hvi_columns_free(&d);
  return status;
}

static hvi_status run(hvi_crew *crew, const char *path, hvi_notes *notes,
                      const hvi_collect_settings *s, bool *finished, hvi_error *err) {
  const size_t limit = crew->env->time_limit;
  const hvi_group_plan plan = {.crew = crew,
                               .env_stream = "episode-environment",
                               .policy_stream = "episode-policy",
                               .seed = s->run.seed,
                               .wanted = s->transitions,
                               .cap = limit < s->transitions ? limit : s->transitions,
                               .row_bytes = hvi_row_floats(crew->env) * sizeof(float),
                               .write = write_row};
  const size_t there = hvi_group_rows(&plan);
  crew->meter.total = there < s->transitions ? s->transitions - there : 0;
  hvi_status status = hvi_group_run(&plan, s->deterministic, err);
  if (status || crew->meter.stopped) return status;
  status = finish(path, &plan, notes, s, err);
  *finished = !status;
  return status;
}

/* A data set is put together in memory, and read there. */
static hvi_status check_size(const hvi_env *env, size_t transitions, hvi_error *err) {
  const size_t row = (2 * env->obs + env->act + 1) * sizeof(float) + 2, most = hvi_memory_size();
  if (transitions <= most / row) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                       "%zu transitions of %s take %zu bytes each, more than the memory of this "
                       "machine, %zu bytes",
                       transitions, env->name, row, most);
}

hvi_status hvi_dataset_collect(const char *path, const hvi_env *env, const hvi_policy *policy,
                               const hvi_collect_settings *s, hvi_rollout_report *report,
                               hvi_error *err) {
  if (report) *report = (hvi_rollout_report){0};
  hvi_status status = hvi_crew_check(path, env, policy, s ? &s->run : NULL, err);
  if (status) return status;
  status = hvi_setting_check(hvi_collect_table(), s, err);
  if (!status) status = check_size(env, s->transitions, err);
  if (status) return status;
  hvi_notes notes;
  hvi_notes_begin(&notes, "transitions", env, policy, s->run.seed);
  hvi_notes_count(&notes, "transitions", s->transitions);
  hvi_notes_text(&notes, "actions", s->deterministic ? "mean" : "sampled");
  hvi_crew crew;
  bool finished = false;
  status = hvi_crew_open(&crew, path, env, policy, &notes, &s->run, err);
  if (!status) status = run(&crew, path, &notes, s, &finished, err);
  hvi_crew_close(&crew, finished, report);
  return status;
}
