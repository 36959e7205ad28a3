#include "rl/rollout_crew.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "rl/rollout_settings.h"

#include <string.h>

hvi_status hvi_crew_check(const char *path, const hvi_env *env, const hvi_policy *policy,
                          const hvi_rollout_settings *s, hvi_error *err) {
  if (!path || !env || !policy || !s) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "roll-outs need a file, an environment, a policy and settings");
  }
  const hvi_status status = hvi_setting_check(hvi_rollout_table(), s, err);
  return status ? status : hvi_policy_check(policy, env, err);
}

hvi_status hvi_crew_open(hvi_crew *c, const char *path, const hvi_env *env,
                         const hvi_policy *policy, const hvi_notes *settings,
                         const hvi_rollout_settings *s, hvi_error *err) {
  char lines[HVI_NOTES_LINES];
  *c = (hvi_crew){.env = env, .policy = policy, .started = hvi_clock_now(), .threads = 0};
  hvi_notes_lines(lines, settings);
  hvi_kept head = {
      .kind = "run of roll-outs", .about = lines, .accept_other_bits = s->accept_other_bits};
  const hvi_status status =
      hvi_journal_open(&c->journal, path, &head, (hvi_journal_rule)s->partial, err);
  memcpy(c->levels, head.levels, sizeof c->levels);
  if (!status) hvi_meter_start(&c->meter, s, 0);
  return status;
}

static void dismiss(hvi_crew *c) {
  for (size_t i = 0; i < c->threads; i++) {
    if (c->workers) hvi_lockstep_free(c->workers[i]);
    if (c->buffers) hvi_free(c->buffers[i]);
  }
  hvi_free(c->workers);
  hvi_free(c->buffers);
  c->workers = NULL;
  c->buffers = NULL;
  c->threads = 0;
}

static size_t threads_for(const hvi_crew *c, size_t groups) {
  size_t threads = c->meter.settings->threads;
  if (threads == 0) threads = hvi_parallel_cores();
  if (threads > HVI_ROLLOUT_MAX_THREADS) threads = HVI_ROLLOUT_MAX_THREADS;
  if (threads > groups) threads = groups;
  return threads ? threads : 1;
}

hvi_status hvi_crew_equip(hvi_crew *c, size_t groups, size_t width, bool deterministic,
                          size_t count, size_t size, hvi_error *err) {
  dismiss(c);
  const size_t threads = threads_for(c, groups);
  c->workers = hvi_alloc(threads, sizeof *c->workers);
  c->buffers = hvi_alloc(threads, sizeof *c->buffers);
  if (!c->workers || !c->buffers) return hvi_error_memory(err, "roll-outs");
  c->threads = threads;
  for (size_t i = 0; i < threads; i++) {
    const hvi_status status =
        hvi_lockstep_new(&c->workers[i], c->env, c->policy, width, deterministic, err);
    if (status) return status;
    c->buffers[i] = hvi_alloc(count, size);
    if (!c->buffers[i]) return hvi_error_memory(err, "a group of roll-outs");
  }
  return HVI_OK;
}

void hvi_crew_close(hvi_crew *c, bool finished, hvi_rollout_report *report) {
  dismiss(c);
  if (!c->journal) return;
  if (report) {
    *report = (hvi_rollout_report){.stopped = c->meter.stopped && !finished,
                                   .resumed = hvi_journal_kept(c->journal),
                                   .damaged = hvi_journal_damaged(c->journal),
                                   .steps = c->meter.steps,
                                   .seconds = hvi_clock_now() - c->started};
  }
  hvi_meter_end(&c->meter);
  if (finished)
    hvi_journal_remove(c->journal);
  else
    hvi_journal_close(c->journal);
  c->journal = NULL;
}
