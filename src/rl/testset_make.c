/* Making a test set: the states first, then their returns, then the file. */
#include "base/error.h"
#include "base/memory.h"
#include "rl/rollout_settings.h"
#include "rl/testset_parts.h"

#include <limits.h>

static hvi_status check(const hvi_testset_settings *s, hvi_error *err) {
  size_t rollouts, steps, visits;
  const hvi_status status = hvi_setting_check(hvi_testset_table(), s, err);
  if (status) return status;
  if (s->visits && s->visits < s->states) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "%zu states cannot be chosen among %zu visited ones", s->states,
                         s->visits);
  }
  if (s->horizon > INT_MAX || !hvi_multiply_sizes(s->states, s->rollouts, &rollouts) ||
      !hvi_multiply_sizes(rollouts, s->horizon, &steps) ||
      !hvi_multiply_sizes(s->states, 5, &visits)) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "the test set is too large to be counted");
  }
  return HVI_OK;
}

/* The settings; those that decide the results. */
static void describe(hvi_notes *n, const hvi_env *env, const hvi_policy *policy,
                     const hvi_testset_settings *s) {
  hvi_notes_begin(n, "test set", env, policy, s->run.seed);
  hvi_notes_count(n, "states", s->states);
  hvi_notes_count(n, "rollouts", s->rollouts);
  hvi_notes_count(n, "horizon", s->horizon);
  hvi_notes_real(n, "gamma", s->gamma);
  hvi_notes_count(n, "visits", s->visits ? s->visits : 5 * s->states);
}

/* *finished: the file is there. */
static hvi_status run(hvi_testset *set, hvi_crew *crew, const char *path, hvi_notes *notes,
                      const hvi_testset_settings *s, bool *finished, hvi_error *err) {
  size_t visited, episodes;
  crew->meter.total = hvi_testset_visits_left(crew, s) + hvi_testset_steps_left(crew, set);
  hvi_status status = hvi_testset_visit(set, crew, s, &visited, &episodes, err);
  if (status || crew->meter.stopped) return status;
  status = hvi_testset_roll(set, crew, s, err);
  if (status || crew->meter.stopped) return status;
  hvi_notes_text(notes, "policy", s->run.policy_name);
  hvi_notes_text(notes, "level", crew->levels);
  hvi_notes_count(notes, "visited", visited);
  hvi_notes_count(notes, "episodes", episodes);
  status = hvi_testset_write(path, set, notes, err);
  *finished = !status;
  return status;
}

hvi_status hvi_testset_make(const char *path, const hvi_env *env, const hvi_policy *policy,
                            const hvi_testset_settings *s, hvi_rollout_report *report,
                            hvi_error *err) {
  if (report) *report = (hvi_rollout_report){0};
  hvi_status status = hvi_crew_check(path, env, policy, s ? &s->run : NULL, err);
  if (!status) status = check(s, err);
  if (status) return status;
  hvi_testset *set;
  status = hvi_testset_new(&set, env, s, err);
  if (status) return status;
  hvi_notes notes;
  hvi_crew crew;
  bool finished = false;
  describe(&notes, env, policy, s);
  status = hvi_crew_open(&crew, path, env, policy, &notes, &s->run, err);
  if (!status) status = run(set, &crew, path, &notes, s, &finished, err);
  hvi_crew_close(&crew, finished, report);
  hvi_testset_free(set);
  return status;
}
