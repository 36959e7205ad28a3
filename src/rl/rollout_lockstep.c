#include "rl/rollout_lockstep.h"

#include "base/error.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Steps between two looks at the meter: a fraction of a second, whatever a step costs. */
enum { LOOK_AFTER = 512 };

static bool take_memory(hvi_lockstep *l) {
  l->envs = hvi_alloc(l->width, sizeof *l->envs);
  l->job = hvi_alloc(l->width, sizeof *l->job);
  l->env_rng = hvi_alloc(l->width, sizeof *l->env_rng);
  l->policy_rng = hvi_alloc(l->width, sizeof *l->policy_rng);
  l->now = hvi_alloc_doubles(l->width * l->obs);
  l->act_on = hvi_alloc_doubles(l->width * l->act);
  l->next = hvi_alloc_doubles(l->obs);
  l->scratch = hvi_alloc(hvi_policy_scratch(l->policy, l->width), sizeof *l->scratch);
  return l->envs && l->job && l->env_rng && l->policy_rng && l->now && l->act_on && l->next &&
         l->scratch;
}

hvi_status hvi_lockstep_new(hvi_lockstep **lockstep, const hvi_env *env, const hvi_policy *policy,
                            size_t width, bool deterministic, hvi_error *err) {
  *lockstep = NULL;
  hvi_lockstep *l = hvi_alloc(1, sizeof *l);
  if (!l) return hvi_error_memory(err, "roll-outs");
  l->policy = policy;
  l->deterministic = deterministic;
  l->width = width;
  l->obs = env->obs;
  l->act = env->act;
  hvi_status status = take_memory(l) ? HVI_OK : hvi_error_memory(err, "roll-outs");
  for (size_t i = 0; i < width && !status; i++) status = hvi_env_clone(env, &l->envs[i], err);
  if (status) {
    hvi_lockstep_free(l);
    return status;
  }
  *lockstep = l;
  return HVI_OK;
}

void hvi_lockstep_free(hvi_lockstep *l) {
  if (!l) return;
  for (size_t i = 0; l->envs && i < l->width; i++) hvi_env_free(l->envs[i]);
  hvi_free(l->envs);
  hvi_free(l->job);
  hvi_free(l->env_rng);
  hvi_free(l->policy_rng);
  hvi_free(l->now);
  hvi_free(l->act_on);
  hvi_free(l->next);
  hvi_free(l->scratch);
  hvi_free(l);
}

static void start(hvi_lockstep *l, const hvi_lockstep_task *t, size_t place, size_t job) {
  l->job[place] = job;
  t->begin(t->context, job, l->envs[place], &l->env_rng[place], &l->policy_rng[place]);
  hvi_env_observe(l->envs[place], l->now + place * l->obs);
}

/* The job in `place` is over; the one in the last place moves there, with its environment. */
static void leave(hvi_lockstep *l, size_t place, size_t last) {
  hvi_env *env = l->envs[place];
  l->envs[place] = l->envs[last];
  l->envs[last] = env;
  l->job[place] = l->job[last];
  l->env_rng[place] = l->env_rng[last];
  l->policy_rng[place] = l->policy_rng[last];
  memmove(l->now + place * l->obs, l->now + last * l->obs, l->obs * sizeof *l->now);
}

/* Files keep floats. */
static bool fits_floats(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!(fabs(x[i]) <= (double)FLT_MAX)) return false;
  }
  return true;
}

/* One step of the job in `place`; *over is whether it was its last. */
static hvi_status step(hvi_lockstep *l, const hvi_lockstep_task *t, size_t place, bool *over,
                       hvi_error *err) {
  hvi_env *env = l->envs[place];
  hvi_lockstep_step row = {
      .obs = l->now + place * l->obs, .action = l->act_on + place * l->act, .next = l->next};
  row.result = hvi_env_step(env, row.action, &l->env_rng[place]);
  hvi_env_observe(env, l->next);
  if (!fits_floats(l->next, l->obs) || !fits_floats(&row.result.reward, 1) ||
      !fits_floats(row.action, l->act)) {
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "%s %zu: an action, observation or reward is not finite or beyond 3e38; "
                         "the policy does not hold environment '%s'",
                         t->noun, t->first + l->job[place], env->name);
  }
  *over = !t->take(t->context, l->job[place], env, &row);
  memcpy(l->now + place * l->obs, l->next, l->obs * sizeof *l->now);
  return HVI_OK;
}

hvi_status hvi_lockstep_run(hvi_lockstep *l, const hvi_lockstep_task *task, hvi_meter *meter,
                            hvi_error *err) {
  size_t busy = 0, next_job = 0, made = 0;
  for (;;) {
    while (busy < l->width && next_job < task->count) start(l, task, busy++, next_job++);
    if (busy == 0) break;
    hvi_policy_act(l->policy, l->scratch, busy, l->now, l->deterministic ? NULL : l->policy_rng,
                   l->act_on);
    made += busy;
    /* downwards: who moves into a place that became free has made its step already */
    for (size_t place = busy; place-- > 0;) {
      bool over = false;
      const hvi_status status = step(l, task, place, &over, err);
      if (status) return status;
      if (over) leave(l, place, --busy);
    }
    if (made < LOOK_AFTER) continue;
    if (!hvi_meter_add(meter, made, 0)) return HVI_OK;
    made = 0;
  }
  hvi_meter_add(meter, made, 0);
  return HVI_OK;
}
