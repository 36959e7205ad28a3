/* Whole episodes: the score of a policy, and what happens under given actions. */
#include "base/base.h"
#include "num/stats.h"
#include "rl/rollout.h"

HVI_RELEASE(hvi_returns)

#define AT(member) .offset = offsetof(hvi_returns_settings, member)
HVI_ROWS(static const hvi_setting returns_rows[],
    {"episodes", HVI_SETTING_COUNT, AT(episodes), .range = "[1,1e7]", .fallback = "20", .help = "whole episodes"},
    {"deterministic", HVI_SETTING_FLAG, AT(deterministic), .help = "the policy's mean action, without noise"},
    {0});

HVI_SETTINGS(returns, "returns", hvi_returns_settings, returns_rows, .run = hvi_rollout_defaults())

static void range_of(double *least, double *most, const double *x, size_t n) {
  *least = *most = x[0];
  for (size_t i = 1; i < n; i++) {
    *least = fmin(*least, x[i]);
    *most = fmax(*most, x[i]);
  }
}

static void summarise(hvi_returns *s) {
  const size_t n = s->episodes;
  s->mean = hvi_stats_mean(s->returns, n);
  s->half_width = hvi_stats_interval95(s->returns, n);
  s->sd = sqrt(hvi_stats_variance(s->returns, n));
  s->mean_length = hvi_stats_mean(s->length, n);
  range_of(&s->least, &s->most, s->returns, n);
  range_of(&s->shortest, &s->longest, s->length, n);
}

static hvi_status gather(hvi_returns *s, hvi_runner *runner, hvi_error *err) {
  hvi_rollout_group group;
  for (size_t g = 0, e = 0; e < s->episodes; g++) {
    HVI_TRY(hvi_runner_read(runner, g, &group, err));
    for (size_t i = 0; i < group.count; i++, e++) {
      s->returns[e] = group.episodes[i].total;
      s->length[e] = group.episodes[i].length;
      s->terminated += group.episodes[i].terminated != 0.0;
      if (group.episodes[i].broken == 0.0) continue;
      return hvi_error_input(err, "the simulation of episode %zu broke down at step %.0f", e,
                             s->length[e] - 1.0);
    }
  }
  summarise(s);
  return HVI_OK;
}

hvi_status hvi_rollout_returns(hvi_returns **returns, const hvi_env *env, const hvi_policy *policy,
                               const hvi_returns_settings *s, hvi_rollout_report *report,
                               hvi_error *err) {
  *returns = NULL;
  HVI_OWN_BY(hvi_rollout_end) hvi_rollout_run run = {0};
  HVI_TRY(hvi_rollout_begin(&run, env, policy, &table, s, report, err));
  HVI_MAKE(hvi_returns, made, "returns", err);
  HVI_TRY(hvi_new(&made->returns, 2 * s->episodes, "returns", err));
  made->length = made->returns + s->episodes;
  made->episodes = s->episodes;
  /* groups are large for the network's sake, but every thread gets one */
  const size_t share = s->episodes / hvi_rollout_threads(&s->run);
  const size_t group = share < HVI_ROLLOUT_GROUP ? share : HVI_ROLLOUT_GROUP;
  const hvi_rollout_plan plan = {.keep = HVI_KEEP_RETURNS,
                                 .env_stream = "score world",
                                 .policy_stream = "score noise",
                                 .deterministic = s->deterministic,
                                 .steps = env->time_limit,
                                 .group = group > 0 ? group : 1,
                                 .episodes = s->episodes,
                                 .gamma = 1.0};
  run.total = hvi_rollout_left(&run, &plan);
  HVI_OWN_BY(hvi_runner_release) hvi_runner *runner = NULL;
  HVI_TRY(hvi_rollout_all(&runner, &run, &plan, err));
  if (run.stopped) return HVI_OK;
  HVI_TRY(gather(made, runner, err));
  HVI_GIVE(returns, made);
}

void hvi_returns_free(hvi_returns *s) {
  if (!s) return;
  hvi_free(s->returns);
  hvi_free(s);
}

hvi_replay hvi_env_replay(hvi_env *env, const double *actions, size_t steps, hvi_rng *noise,
                          double *rows, bool (*stop)(void *context), void *context) {
  hvi_replay r = {0};
  while (r.done < steps && !r.terminated && !(stop && stop(context))) {
    const hvi_transition t = hvi_env_step(env, actions + r.done * env->act, noise);
    double *row = rows + r.done++ * (env->obs + 2);
    hvi_env_observe(env, row);
    row[env->obs] = t.reward;
    row[env->obs + 1] = t.terminated ? 1.0 : 0.0;
    r.sum += t.reward;
    r.terminated = t.terminated;
    r.broken = t.broken;
    if (t.truncated && !r.limit_at) r.limit_at = r.done;
  }
  return r;
}
