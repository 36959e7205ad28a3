/* Test sets: making one, reading it, and what it can tell apart. The formulas are in
 * <hvi/testset.h>. */
#include <hvi/testset.h>

#include "base/base.h"
#include "base/ranks.h"
#include "base/share.h"
#include "num/stats.h"
#include "rl/rollout.h"

#include <limits.h>

#define SETTING(member) .offset = offsetof(hvi_testset_settings, member)
HVI_ROWS(static const hvi_setting testset_rows[],
    {"states", HVI_SETTING_COUNT, SETTING(states), .range = "[1,1e9]", .fallback = "10000", .help = "states"},
    {"rollouts", HVI_SETTING_COUNT, SETTING(rollouts), .range = "[2,1e6]", .fallback = "10", .help = "roll-outs from each"},
    {"horizon", HVI_SETTING_COUNT, SETTING(horizon), .range = "[1,1e9]", .fallback = "500", .help = "steps of a roll-out"},
    {"gamma", HVI_SETTING_REAL, SETTING(gamma), .range = "(0,1)", .fallback = "0.99", .help = "discount"},
    {"visits", HVI_SETTING_COUNT, SETTING(visits), .range = "[0,1e10]",
     .help = "visited states to choose from at least, in whole episodes (0: five times --states)"},
    {"episodes", HVI_SETTING_COUNT, SETTING(episodes), .range = "[1,1e5]", .fallback = "200",
     .help = "episodes to choose from at least (or --states of them, where that is fewer)"},
    {0});

HVI_SETTINGS(testset, "testset", hvi_testset_settings, testset_rows, .run = hvi_rollout_defaults())

enum { RETURN = 4, EPISODE = 7, CLASS, COLUMNS };
#define AT(member) offsetof(hvi_testset, member)
HVI_ROWS(static const hvi_column testset_columns[],
    {"obs", HVI_TENSOR_F32, HVI_TENSOR_F64, AT(observation), AT(obs), "observation observations", false},
    {"state", HVI_TENSOR_F64, HVI_TENSOR_F64, AT(states), AT(state), NULL, true},
    {"value", HVI_TENSOR_F64, HVI_TENSOR_F64, AT(value), 0, "values", false},
    {"standard_error", HVI_TENSOR_F64, HVI_TENSOR_F64, AT(standard_error), 0, "standard_errors", true},
    {"returns", HVI_TENSOR_F64, HVI_TENSOR_F64, AT(returns), AT(rollouts), NULL, true},
    {"length", HVI_TENSOR_I32, HVI_TENSOR_F64, AT(length), AT(rollouts), NULL, true},
    {"terminated", HVI_TENSOR_BOOL, HVI_TENSOR_F64, AT(terminated), AT(rollouts), NULL, true},
    {"episode", HVI_TENSOR_I32, HVI_TENSOR_F64, AT(episode), 0, NULL, true},
    {"class", HVI_TENSOR_I32, HVI_TENSOR_F64, AT(label), 0, NULL, true},
    {0});
static hvi_status read_columns(void *set, const hvi_tensors *t, const hvi_names *names,
                               const hvi_subject *file);
static const hvi_columns columns = {
    COLUMNS, testset_columns, "a test set", sizeof(hvi_testset), offsetof(hvi_testset, origin),
    0,       read_columns};

/* Kinds of records in the journal. */
enum { STATES, RETURNS };
/* Roll-outs start from groups of states; so many of them run side by side. */
enum { GROUP_STATES = 8, WIDTH = 16 };
/* Episodes, and classes of a file that does not name them. */
enum { MOST_EPISODES = 10000000, MOST_CLASSES = 100 };

static const size_t NOT_CHOSEN = SIZE_MAX;

void hvi_testset_free(hvi_testset *t) {
  hvi_columns_free(t, &columns);
  hvi_free(t);
}

static double weight_after(const hvi_testset *t) { return pow(t->gamma, (double)t->horizon); }

/* Value and standard error from the returns of state i and the tail. */
static void average(const hvi_testset *t, size_t i, double *value, double *standard_error) {
  const double *returns = t->returns + i * t->rollouts, *ended = t->terminated + i * t->rollouts;
  const double rest = weight_after(t) * t->tail, n = (double)t->rollouts;
  double sum = 0.0, squares = 0.0;
  for (size_t r = 0; r < t->rollouts; r++) sum += returns[r] + (1.0 - ended[r]) * rest;
  *value = sum / n;
  for (size_t r = 0; r < t->rollouts; r++) {
    const double d = returns[r] + (1.0 - ended[r]) * rest - *value;
    squares += d * d;
  }
  *standard_error = sqrt(squares / (n - 1.0) / n);
}

static double mean_square(const double *x, size_t n, double center) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += (x[i] - center) * (x[i] - center);
  return sum / (double)n;
}

hvi_testset_figures hvi_testset_judge(const hvi_testset *t) {
  const size_t rollouts = t->count * t->rollouts;
  const bool told = t->rollouts > 0; /* how the values were made */
  hvi_testset_figures f = {
      .mean_value = hvi_stats_mean(t->value, t->count),
      .sd_value = sqrt(hvi_stats_variance(t->value, t->count)),
      .mean_error = hvi_stats_mean(t->standard_error, t->count),
      .noise_floor = mean_square(t->standard_error, t->count, 0.0),
      .terminated_share = told ? hvi_stats_mean(t->terminated, rollouts) : NAN,
      .mean_length = told ? hvi_stats_mean(t->length, rollouts) : NAN,
      .after = told ? weight_after(t) : NAN,
  };
  double most = 0.0;
  for (size_t i = 0; i < t->count; i++) most = fmax(most, fabs(t->value[i] - t->tail));
  f.put_back = f.after * (1.0 - f.terminated_share) * t->tail;
  f.missing_bound = f.after * (t->reward_bound / (1.0 - t->gamma) + fabs(t->tail));
  f.missing_most = f.after * most;
  f.missing_typical = f.after * sqrt(mean_square(t->value, t->count, t->tail));
  f.below_error = f.missing_typical < f.mean_error;
  return f;
}

/* Word number k, or the number itself where there are no words. */
static void name_class(char name[32], const char *words, size_t k) {
  snprintf(name, 32, "%zu", k);
  while (k-- > 0 && *words) words += strcspn(words, " ") + 1;
  if (*words) snprintf(name, 32, "%.*s", (int)strcspn(words, " "), words);
}

hvi_status hvi_testset_class(hvi_class_figures *f, const hvi_testset *t, size_t label,
                             hvi_error *err) {
  HVI_NEW(double, episode, t->count, "the episodes of a class", err);
  const double mean = hvi_stats_mean(t->value, t->count);
  double sum = 0.0, squares = 0.0;
  *f = (hvi_class_figures){.name = "all"};
  if (label < t->classes) name_class(f->name, t->class_names, label);
  for (size_t i = 0; i < t->count; i++) {
    if (label < t->classes && t->label[i] != (double)label) continue;
    if (t->episode) episode[f->count] = t->episode[i];
    sum += t->value[i];
    squares += (t->value[i] - mean) * (t->value[i] - mean);
    f->count++;
  }
  f->episodes = t->episode ? hvi_stats_distinct(episode, f->count) : 0;
  f->mean_value = sum / (double)f->count;
  f->variance_share = squares / (mean_square(t->value, t->count, mean) * (double)t->count);
  return HVI_OK;
}

/* The states: whole episodes, and a uniform choice among the states on their way. */

/* row[visited]: which row of the test set a visited state becomes. The first `count` entries of a
 * random permutation, by exchanging in order[visited]. */
static void choose(size_t *row, size_t *order, size_t visited, size_t count, uint64_t seed) {
  hvi_rng rng = hvi_rng_new(seed, "choose-states", 0);
  for (size_t i = 0; i < visited; i++) {
    order[i] = i;
    row[i] = NOT_CHOSEN;
  }
  for (size_t i = 0; i < count; i++) {
    const size_t k = i + (size_t)(hvi_rng_uniform(&rng) * (double)(visited - i));
    row[order[k]] = i;
    order[k] = order[i];
  }
}

/* x: saved state and observation. */
static void copy_state(const hvi_testset *t, const hvi_env *env, size_t row, size_t episode,
                       const double *x) {
  memcpy(t->states + row * t->state, x, t->state * sizeof *x);
  memcpy(t->observation + row * t->obs, x + t->state, t->obs * sizeof *x);
  t->episode[row] = (double)episode;
  if (t->label) t->label[row] = (double)env->ops->classify(env, x + t->state);
}

static hvi_status copy_states(const hvi_rollout_run *run, hvi_runner *runner, const size_t *row,
                              size_t episodes, hvi_error *err) {
  const hvi_testset *t = run->set;
  hvi_rollout_group group;
  for (size_t g = 0, e = 0; e < episodes; g++) {
    HVI_TRY(hvi_runner_read(runner, g, &group, err));
    const double *x = group.data;
    for (size_t k = 0; k < group.count && e < episodes; k++, e++) {
      for (const double *end = x + (size_t)group.episodes[k].length * (t->state + t->obs); x < end;
           x += t->state + t->obs, row++)
        if (*row != NOT_CHOSEN) copy_state(t, run->env, *row, e, x);
    }
  }
  return HVI_OK;
}

/* Fills in observation, states, episode and label. */
static hvi_status fill_states(hvi_rollout_run *run, const hvi_rollout_plan *plan, hvi_error *err) {
  hvi_testset *set = run->set;
  hvi_rollout_group group;
  size_t visited = 0, episodes = 0;
  HVI_OWN_BY(hvi_runner_release) hvi_runner *runner = NULL;
  HVI_TRY(hvi_rollout_all(&runner, run, plan, err));
  if (run->stopped || run->follows) return HVI_OK;
  /* what there is to choose from: whole episodes, as few as give enough states */
  for (size_t g = 0; visited < plan->rows || episodes < plan->least; g++) {
    HVI_TRY(hvi_runner_read(runner, g, &group, err));
    set->origin.broken += group.broken;
    for (size_t e = 0; e < group.count && (visited < plan->rows || episodes < plan->least); e++) {
      visited += (size_t)group.episodes[e].length;
      episodes++;
    }
  }
  HVI_OWN size_t *row = hvi_alloc(visited, 2 * sizeof *row);
  if (!row) return hvi_error_memory(err, "a choice of states");
  choose(row, row + visited, visited, set->count, run->settings->seed);
  hvi_notes_add(&run->notes, "visited", "%zu", visited);
  hvi_notes_add(&run->notes, "episodes", "%zu", episodes);
  return copy_states(run, runner, row, episodes, err);
}

/* The returns: from each state R roll-outs, which the time limit does not end. */

static hvi_rollout_plan returns_plan(const hvi_testset *set) {
  return (hvi_rollout_plan){.keep = HVI_KEEP_RETURNS,
                            .kind = RETURNS,
                            .noun = "roll-out",
                            .env_stream = "rollout-environment",
                            .policy_stream = "rollout-policy",
                            .endless = true,
                            .steps = set->horizon,
                            .group = GROUP_STATES * set->rollouts,
                            .width = WIDTH,
                            .episodes = set->count * set->rollouts,
                            .starts = set->states,
                            .per_start = set->rollouts,
                            .gamma = set->gamma};
}

static hvi_status fill_returns(hvi_rollout_run *run, const hvi_rollout_plan *plan, hvi_error *err) {
  hvi_testset *set = run->set;
  hvi_rollout_group group;
  HVI_OWN_BY(hvi_runner_release) hvi_runner *runner = NULL;
  HVI_TRY(hvi_rollout_all(&runner, run, plan, err));
  if (run->stopped || hvi_rollout_apart(run)) return HVI_OK;
  for (size_t g = 0, row = 0; row < plan->episodes; g++) {
    HVI_TRY(hvi_runner_read(runner, g, &group, err));
    set->origin.broken += group.broken;
    for (size_t i = 0; i < group.count; i++, row++) {
      set->returns[row] = group.episodes[i].total;
      set->length[row] = group.episodes[i].length;
      set->terminated[row] = group.episodes[i].terminated;
    }
  }
  const double living = 1.0 - hvi_stats_mean(set->terminated, plan->episodes);
  set->tail = hvi_stats_mean(set->returns, plan->episodes) / (1.0 - weight_after(set) * living);
  for (size_t i = 0; i < set->count; i++) average(set, i, &set->value[i], &set->standard_error[i]);
  return HVI_OK;
}

/* The whole: settings, states, returns, the file. */

static hvi_status check(const hvi_testset_settings *s, hvi_error *err) {
  size_t rollouts, steps, visits;
  if (s->visits && s->visits < s->states)
    return hvi_error_argument(err, "%zu states cannot be chosen among %zu visited ones", s->states,
                              s->visits);
  if (s->horizon > INT_MAX || !hvi_multiply_sizes(s->states, s->rollouts, &rollouts) ||
      !hvi_multiply_sizes(rollouts, s->horizon, &steps) ||
      !hvi_multiply_sizes(s->states, 5, &visits))
    return hvi_error_argument(err, "the test set is too large to be counted");
  return HVI_OK;
}

/* What came out, for those who open the file elsewhere. */
static void add_results(hvi_notes *n, const hvi_testset *set) {
  const hvi_testset_figures f = hvi_testset_judge(set);
  hvi_notes_add(n, "broken", "%zu", set->origin.broken);
  hvi_notes_real(n, "reward_bound", set->reward_bound);
  hvi_notes_real(n, "tail", set->tail);
  hvi_notes_real(n, "mean_value", f.mean_value);
  hvi_notes_real(n, "mean_standard_error", f.mean_error);
  hvi_notes_real(n, "noise_floor", f.noise_floor);
  hvi_notes_real(n, "terminated_share", f.terminated_share);
  hvi_notes_real(n, "missing_bound", f.missing_bound);
  hvi_notes_real(n, "missing_most", f.missing_most);
  hvi_notes_real(n, "missing_typical", f.missing_typical);
}

hvi_status hvi_testset_make(const char *path, const hvi_env *env, const hvi_policy *policy,
                            const hvi_testset_settings *s, hvi_rollout_report *report,
                            hvi_error *err) {
  hvi_columns own = columns;
  HVI_OWN_BY(hvi_rollout_end) hvi_rollout_run run = {0};
  HVI_TRY(hvi_rollout_begin(&run, env, policy, &table, s, report, err));
  HVI_TRY(check(s, err));
  if (!env->ops->classes) own.count = CLASS;
  const size_t least = s->episodes < s->states ? s->episodes : s->states;
  const size_t visits = s->visits ? s->visits : 5 * s->states;
  hvi_testset set = {.count = s->states,
                     .obs = env->obs,
                     .state = env->state,
                     .rollouts = s->rollouts,
                     .horizon = s->horizon,
                     .gamma = s->gamma,
                     .reward_bound = env->reward_bound};
  hvi_notes_begin(&run.notes, "test set", env, policy, s->run.seed);
  hvi_notes_add(&run.notes, "states", "%zu", s->states);
  hvi_notes_add(&run.notes, "rollouts", "%zu", s->rollouts);
  hvi_notes_add(&run.notes, "horizon", "%zu", s->horizon);
  hvi_notes_real(&run.notes, "gamma", s->gamma);
  hvi_notes_add(&run.notes, "visits", "%zu", visits);
  hvi_notes_add(&run.notes, "least_episodes", "%zu", least);
  if (env->ops->classes) hvi_notes_add(&run.notes, "classes", "%s", env->ops->classes);
  HVI_TRY(hvi_rollout_open(&run, path, &set, &own, err));
  const hvi_rollout_plan states = {.keep = HVI_KEEP_STATES,
                                   .kind = STATES,
                                   .env_stream = "visit-environment",
                                   .policy_stream = "visit-policy",
                                   .steps = env->time_limit,
                                   .group = HVI_ROLLOUT_GROUP,
                                   .every = true,
                                   .rows = visits,
                                   .least = least};
  const hvi_rollout_plan returns = returns_plan(&set);
  const size_t visiting = hvi_rollout_left(&run, &states);
  run.total = visiting + hvi_rollout_left(&run, &returns);
  HVI_TRY(fill_states(&run, &states, err));
  run.done = visiting; /* which was an estimate */
  hvi_ranks *ranks = hvi_share_ranks(s->run.share);
  if (!run.stopped && ranks)
    HVI_TRY(hvi_ranks_share(ranks, set.states, set.count * set.state * sizeof *set.states, err));
  if (!run.stopped) HVI_TRY(fill_returns(&run, &returns, err));
  if (!run.stopped && !hvi_rollout_apart(&run)) add_results(&run.notes, &set);
  return hvi_rollout_write(&run, err);
}

static hvi_status load_notes(hvi_testset *s, const hvi_tensors *t, const hvi_subject *file) {
  double horizon = 1.0;
  const bool told = s->rollouts > 0;
  if (told || hvi_tensors_note(t, "gamma")) {
    HVI_TRY(hvi_notes_read_real(&s->gamma, t, "gamma", file));
    if (!(s->gamma > 0.0 && s->gamma < 1.0))
      return hvi_refuse(file, ": gamma %g is out of range, which is between 0 and 1", s->gamma);
  }
  if (!told) return HVI_OK;
  HVI_TRY(hvi_notes_read_real(&horizon, t, "horizon", file));
  s->reward_bound = INFINITY;
  if (hvi_tensors_note(t, "reward_bound"))
    HVI_TRY(hvi_notes_read_real(&s->reward_bound, t, "reward_bound", file));
  if (hvi_tensors_note(t, "tail")) HVI_TRY(hvi_notes_read_real(&s->tail, t, "tail", file));
  if (!(horizon >= 1.0 && horizon <= INT_MAX && s->reward_bound >= 0.0 && isfinite(s->tail)))
    return hvi_refuse(file, ": horizon %g, reward bound %g or tail %g is out of range", horizon,
                      s->reward_bound, s->tail);
  s->horizon = (size_t)horizon;
  return HVI_OK;
}

/* Values are what their returns and the tail say, up to rounding; lengths are within the horizon.
 */
static hvi_status check_returns(const hvi_testset *s, const hvi_subject *file) {
  if (s->rollouts < 2)
    return hvi_refuse(file, " has one roll-out a state, should have two or more");
  for (size_t i = 0; i < s->count; i++) {
    double value, error;
    average(s, i, &value, &error);
    const double slack = 1e-6 * (fabs(value) + error + 1e-300);
    if (!(fabs(value - s->value[i]) <= slack && fabs(error - s->standard_error[i]) <= slack))
      return hvi_refuse(file, ": value or standard error of state %zu is not that of its returns",
                        i);
  }
  for (size_t i = 0; i < s->count * s->rollouts; i++) {
    if (s->length[i] >= 1.0 && s->length[i] <= (double)s->horizon) continue;
    return hvi_refuse(file, ": a roll-out of %g steps; the horizon is %zu", s->length[i],
                      s->horizon);
  }
  return HVI_OK;
}

/* Numbers of episodes or classes, of which there are `below`. */
static hvi_status check_numbers(const double *x, const hvi_testset *s, size_t below,
                                const char *what, const hvi_subject *file) {
  for (size_t i = 0; x && i < s->count; i++)
    if (!(x[i] >= 0.0 && x[i] < (double)below && x[i] == floor(x[i])))
      return hvi_refuse(file, ": state %zu is of %s %g, should be a whole number below %zu", i,
                        what, x[i], below);
  return HVI_OK;
}

static hvi_status load_groups(hvi_testset *s, const hvi_tensors *t, const hvi_subject *file) {
  const char *names = hvi_tensors_note(t, "classes");
  size_t named = names ? 1 : 0;
  for (const char *c = names; c && *c; c++) named += *c == ' ';
  HVI_TRY(check_numbers(s->episode, s, MOST_EPISODES, "episode", file));
  HVI_TRY(check_numbers(s->label, s, names ? named : MOST_CLASSES, "class", file));
  snprintf(s->class_names, sizeof s->class_names, "%s", names ? names : "");
  s->classes = s->label ? named : 0;
  for (size_t i = 0; s->label && i < s->count; i++)
    s->classes = (size_t)fmax((double)s->classes, s->label[i] + 1.0);
  return HVI_OK;
}

/* Roll-outs are told in full, or not at all. */
static hvi_status read_columns(void *set, const hvi_tensors *t, const hvi_names *names,
                               const hvi_subject *file) {
  hvi_testset *s = set;
  const bool told = hvi_tensors_find(t, "returns") != NULL;
  for (size_t k = 0; k < COLUMNS; k++) {
    hvi_column c = testset_columns[k];
    const hvi_tensor *x;
    if (k >= RETURN && k < EPISODE && !told) continue;
    c.optional = c.optional && (!told || k >= EPISODE);
    HVI_TRY(hvi_column_find(&x, &c, t, names, file));
    if (x) HVI_TRY(hvi_column_load(s, &columns, &c, x, file));
  }
  HVI_TRY(load_notes(s, t, file));
  HVI_TRY(load_groups(s, t, file));
  s->exact = !s->standard_error;
  if (s->exact) s->standard_error = hvi_alloc_doubles(s->count);
  if (!s->standard_error) return hvi_error_memory(file->err, "a tensor");
  for (size_t i = 0; i < s->count; i++)
    if (s->standard_error[i] < 0.0)
      return hvi_refuse(file, ": the standard error of state %zu is %g, which is negative", i,
                        s->standard_error[i]);
  return told ? check_returns(s, file) : HVI_OK;
}

hvi_status hvi_testset_read(hvi_testset **set, const char *path, const hvi_names *names,
                            hvi_error *err) {
  return hvi_columns_read(set, &columns, path, names, err);
}

hvi_status hvi_testset_load(hvi_testset **set, const char *path, hvi_error *err) {
  return hvi_testset_read(set, path, NULL, err);
}
