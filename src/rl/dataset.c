/*
 * Data sets: the first rows of episodes as columns. One is collected into a file, or grows in
 * memory: a collector runs episodes in groups, a round of them at a time, until there are enough
 * rows. It keeps all rows of finished groups, in the order of episodes; its data set shows those
 * that were asked for.
 */
#include <hvi/collector.h>

#include "base/base.h"
#include "rl/rollout.h"

#include <hvi/version.h>

HVI_RELEASE(hvi_collector)

#define SETTING(member) .offset = offsetof(hvi_collect_settings, member)
HVI_ROWS(static const hvi_setting collect_rows[],
    {"transitions", HVI_SETTING_COUNT, SETTING(transitions), .range = "[1,1e12]", .fallback = "100000", .help = "how many"},
    {"deterministic", HVI_SETTING_FLAG, SETTING(deterministic), .help = "the policy's mean action, without noise"},
    {0});

HVI_SETTINGS(collect, "collect", hvi_collect_settings, collect_rows, .run = hvi_rollout_defaults())

/* `done` is read, into the place of what it stands for, and never written. */
enum { OBS, ACTION, REWARD, NEXT, TERMINATED, TRUNCATED, WRITTEN, DONE = WRITTEN, COLUMNS };

#define AT(member) offsetof(hvi_dataset, member)
HVI_ROWS(static const hvi_column transitions[],
    {"obs", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(observation), AT(obs), "observation observations", false},
    {"action", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(action), AT(act), "actions", true},
    {"reward", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(reward), 0, "rewards", false},
    {"next_obs", HVI_TENSOR_F32, HVI_TENSOR_F32, AT(next), AT(obs), "next_observation next_observations", true},
    {"terminated", HVI_TENSOR_BOOL, HVI_TENSOR_BOOL, AT(terminated), 0, "terminal terminals termination terminations", true},
    {"truncated", HVI_TENSOR_BOOL, HVI_TENSOR_BOOL, AT(truncated), 0, "timeout timeouts truncation truncations", true},
    {"done", HVI_TENSOR_BOOL, HVI_TENSOR_BOOL, AT(terminated), 0, "dones", true},
    {0});

static hvi_status read_columns(void *set, const hvi_tensors *t, const hvi_names *names,
                               const hvi_subject *file);
static const hvi_columns columns = {WRITTEN,    transitions, "a data set", sizeof(hvi_dataset),
                                    AT(origin), AT(file),    read_columns};

/* Episodes with the policy's noise, as long as `rows` rows need. */
static hvi_rollout_plan plan_of(const hvi_env *env, size_t rows) {
  return (hvi_rollout_plan){.keep = HVI_KEEP_TRANSITIONS,
                            .env_stream = "episode-environment",
                            .policy_stream = "episode-policy",
                            .steps = env->time_limit < rows ? env->time_limit : rows,
                            .group = HVI_ROLLOUT_GROUP};
}

/* Row i from a row of a roll-out; returns where the next one of these begins. */
static const float *put(hvi_dataset *d, size_t i, const float *x) {
  memcpy(d->observation + i * d->obs, x, d->obs * sizeof *x);
  memcpy(d->action + i * d->act, x + d->obs, d->act * sizeof *x);
  d->reward[i] = x[d->obs + d->act];
  memcpy(d->next + i * d->obs, x + d->obs + d->act + 1, d->obs * sizeof *x);
  d->terminated[i] = x[2 * d->obs + d->act + 1] != 0.0F;
  d->truncated[i] = x[2 * d->obs + d->act + 2] != 0.0F;
  return x + 2 * d->obs + d->act + 3;
}

/* The first rows of the groups, in order. */
static hvi_status gather(hvi_dataset *d, hvi_runner *runner, hvi_error *err) {
  hvi_rollout_group group;
  for (size_t g = 0, i = 0; i < d->count; g++) {
    HVI_TRY(hvi_runner_read(runner, g, &group, err));
    d->origin.broken += group.broken;
    const float *row = group.data;
    for (size_t k = 0; k < group.rows && i < d->count; k++) row = put(d, i++, row);
  }
  return HVI_OK;
}

/* At once: Linux grants more than there is, and ends a process that uses it. */
static hvi_status check_room(const hvi_env *env, size_t rows, size_t more, hvi_status status,
                             hvi_error *err) {
  const size_t row = (2 * env->obs + env->act + 1) * sizeof(float) + 2 + more;
  if (rows <= hvi_memory_size() / row) return HVI_OK;
  return hvi_error_set(err, status,
                       "%zu transitions of %s take %zu bytes each, more than the memory of this "
                       "machine, %zu bytes",
                       rows, env->name, row, hvi_memory_size());
}

hvi_status hvi_dataset_collect(const char *path, const hvi_env *env, const hvi_policy *policy,
                               const hvi_collect_settings *s, hvi_rollout_report *report,
                               hvi_error *err) {
  HVI_OWN_BY(hvi_rollout_end) hvi_rollout_run run = {0};
  HVI_TRY(hvi_rollout_begin(&run, env, policy, &table, s, report, err));
  /* a data set is put together in memory, and read there */
  HVI_TRY(check_room(env, s->transitions, 0, HVI_ERROR_ARGUMENT, err));
  hvi_dataset d = {.count = s->transitions, .obs = env->obs, .act = env->act};
  hvi_notes_begin(&run.notes, "transitions", env, policy, s->run.seed);
  hvi_notes_add(&run.notes, "transitions", "%zu", s->transitions);
  hvi_notes_add(&run.notes, "actions", "%s", s->deterministic ? "mean" : "sampled");
  HVI_TRY(hvi_rollout_open(&run, path, &d, &columns, err));
  hvi_rollout_plan plan = plan_of(env, s->transitions);
  plan.deterministic = s->deterministic;
  plan.rows = s->transitions;
  run.total = hvi_rollout_left(&run, &plan);
  HVI_OWN_BY(hvi_runner_release) hvi_runner *runner = NULL;
  HVI_TRY(hvi_rollout_all(&runner, &run, &plan, err));
  if (!run.stopped && !hvi_rollout_apart(&run)) HVI_TRY(gather(&d, runner, err));
  hvi_notes_add(&run.notes, "broken", "%zu", d.origin.broken);
  return hvi_rollout_write(&run, err);
}

/* Reading */

#define REMARK(d, ...) hvi_append((d)->remarks, sizeof(d)->remarks, __VA_ARGS__)

/* A column where it is there. */
static hvi_status load(hvi_dataset *d, size_t column, const hvi_tensor *const *in,
                       const hvi_subject *file) {
  if (!in[column]) return HVI_OK;
  return hvi_column_load(d, &columns, &transitions[column], in[column], file);
}

/* done = terminated or truncated; where only one of the two is known, it gives the other. */
static hvi_status read_done(hvi_dataset *d, const hvi_tensor *const *in, const hvi_subject *file) {
  hvi_column rest = transitions[DONE];
  if (in[TERMINATED]) rest.data = transitions[TRUNCATED].data;
  HVI_TRY(hvi_column_load(d, &columns, &rest, in[DONE], file));
  for (size_t i = 0; i < d->count && in[TERMINATED]; i++) {
    if (d->terminated[i] && !d->truncated[i])
      return hvi_refuse(file, ": row %zu is terminated and not done", i);
    d->truncated[i] = d->truncated[i] && !d->terminated[i];
  }
  for (size_t i = 0; i < d->count && in[TRUNCATED]; i++)
    d->terminated[i] = d->terminated[i] && !d->truncated[i];
  REMARK(d, "'%.40s' is read as terminated or truncated%s\n", in[DONE]->name,
         in[TERMINATED] || in[TRUNCATED]
             ? ""
             : ", and every end as a termination: the state after it has value 0");
  return HVI_OK;
}

/* Where episodes end, and how. */
static hvi_status read_ends(hvi_dataset *d, const hvi_tensor *const *in, const hvi_subject *file) {
  if (!in[TERMINATED] && !in[DONE])
    return hvi_refuse(file, ": no tensor 'terminated' (or terminals, terminations) nor 'done'");
  HVI_TRY(load(d, TERMINATED, in, file));
  HVI_TRY(load(d, TRUNCATED, in, file));
  if (in[DONE] && !(in[TERMINATED] && in[TRUNCATED])) HVI_TRY(read_done(d, in, file));
  if (d->truncated) return HVI_OK;
  HVI_TRY(hvi_new(&d->truncated, d->count, "a tensor", file->err));
  d->cuts_unknown = !in[DONE];
  if (d->cuts_unknown)
    REMARK(d, "no 'truncated': where episodes are cut is not known, and lambda targets and returns "
              "are refused\n");
  return HVI_OK;
}

/* Row `to` is what row `from` was. */
static void move_row(hvi_dataset *d, size_t to, size_t from) {
  d->reward[to] = d->reward[from];
  d->terminated[to] = d->terminated[from];
  d->truncated[to] = d->truncated[from];
  if (d->act) memmove(d->action + to * d->act, d->action + from * d->act, d->act * sizeof(float));
}

/*
 * obs and next_obs out of one array of observations x[rows]. With a row more for each episode, as
 * Minari has them one after the other, each row is followed by its successor. With as many rows as
 * there are steps, as in D4RL, the successor of the last step of an episode is missing: a terminated
 * row needs none, and any other is dropped.
 */
static hvi_status pair_rows(hvi_dataset *d, const float *x, size_t rows, const hvi_subject *file) {
  const size_t steps = d->count;
  const bool whole = rows > steps;
  size_t at = 0, kept = 0;
  for (size_t i = 0; i < steps && rows >= steps; i++, at++) {
    const bool ends = d->terminated[i] || d->truncated[i];
    const bool last = !whole && (ends || i + 1 == steps);
    if (at + (last ? 0 : 1) >= rows) break;
    if (last && !d->terminated[i]) { /* the episode is cut a row earlier */
      if (kept > 0 && !d->terminated[kept - 1]) d->truncated[kept - 1] = true;
      continue;
    }
    memcpy(d->observation + kept * d->obs, x + at * d->obs, d->obs * sizeof *x);
    memcpy(d->next + kept * d->obs, x + (at + (last ? 0 : 1)) * d->obs, d->obs * sizeof *x);
    move_row(d, kept++, i);
    at += whole && (ends || i + 1 == steps);
  }
  if (at != rows || (whole && kept < steps) || kept == 0)
    return hvi_refuse(file,
                      ": no tensor 'next_obs', and %zu rows of 'obs' do not go with %zu steps: one "
                      "a step is needed, or one more for each episode",
                      rows, steps);
  d->count = kept;
  REMARK(d, "no 'next_obs': it is the observation of the row that follows");
  if (kept < steps)
    REMARK(d, "; %zu rows at the ends of episodes, which have none, dropped", steps - kept);
  REMARK(d, "\n");
  return HVI_OK;
}

static hvi_status derive_next(hvi_dataset *d, const hvi_tensor *x, const hvi_subject *file) {
  hvi_dataset states = {.obs = 0};
  if (d->cuts_unknown)
    return hvi_refuse(file, ": no tensor 'next_obs' (or next_observations); the next row's 'obs' "
                            "can stand for it where 'truncated' tells the ends of episodes");
  const hvi_status status = hvi_column_load(&states, &columns, &transitions[OBS], x, file);
  HVI_OWN float *rows = states.observation;
  if (status) return status;
  d->obs = states.obs;
  d->observation = hvi_alloc(d->count, d->obs * sizeof *rows);
  d->next = hvi_alloc(d->count, d->obs * sizeof *rows);
  if (!d->observation || !d->next) return hvi_error_memory(file->err, "a tensor");
  return pair_rows(d, rows, states.count, file);
}

static hvi_status read_columns(void *set, const hvi_tensors *t, const hvi_names *names,
                               const hvi_subject *file) {
  hvi_dataset *d = set;
  const hvi_tensor *in[COLUMNS];
  size_t renamed = 0;
  for (size_t k = 0; k < COLUMNS; k++) {
    const hvi_column *c = &transitions[k];
    HVI_TRY(hvi_column_find(&in[k], c, t, names, file));
    if (in[k] && strcmp(in[k]->name, c->name) != 0)
      REMARK(d, "%s%s is '%.40s'", renamed++ ? ", " : "", c->name, in[k]->name);
  }
  if (renamed) REMARK(d, "\n");
  if (in[NEXT]) HVI_TRY(load(d, OBS, in, file));
  HVI_TRY(load(d, REWARD, in, file));
  HVI_TRY(read_ends(d, in, file));
  HVI_TRY(load(d, ACTION, in, file));
  if (!in[ACTION])
    REMARK(d, "no 'action': the values of the policy that made the data need none\n");
  return in[NEXT] ? load(d, NEXT, in, file) : derive_next(d, in[OBS], file);
}

hvi_status hvi_dataset_read(hvi_dataset **data, const char *path, const hvi_names *names,
                            hvi_error *err) {
  return hvi_columns_read(data, &columns, path, names, err);
}

hvi_status hvi_dataset_of(hvi_dataset **data, const hvi_tensors *arrays, const char *name,
                          const hvi_names *names, hvi_error *err) {
  if (!data || !arrays || !name) return hvi_error_argument(err, "hvi_dataset_of: a null pointer");
  hvi_columns copied = columns;
  hvi_tensors view = *arrays, *t = &view;
  copied.owner = 0;
  return hvi_columns_of(data, &copied, &t, name, names, err);
}

hvi_status hvi_dataset_load(hvi_dataset **data, const char *path, hvi_error *err) {
  return hvi_dataset_read(data, path, NULL, err);
}

void hvi_dataset_free(hvi_dataset *d) {
  hvi_columns_free(d, &columns);
  hvi_free(d);
}

bool hvi_dataset_continues(const hvi_dataset *d, size_t row) {
  if (row + 1 >= d->count || d->terminated[row] || d->truncated[row]) return false;
  return memcmp(d->next + row * d->obs, d->observation + (row + 1) * d->obs,
                d->obs * sizeof *d->next) == 0;
}

/* Collectors */

struct hvi_collector {
  size_t capacity;
  hvi_dataset data;
  size_t filled;              /* rows there are, at least data.count */
  size_t skipped;             /* of them, not simulated */
  uint64_t episode;           /* the next one; that of the last row where the capacity cuts it */
  uint64_t *episodes;         /* [capacity] of each row */
  size_t threads, group_rows; /* rows of a group at most */
  hvi_rollout_settings settings;
  hvi_rollout_run run;
  hvi_runner *runner; /* with memory for `threads` groups */
  double seconds;
};

/* Takes the rows of a group over; an episode that goes on beyond the room there is does not count. */
static void put_group(hvi_collector *c, uint64_t first, const hvi_rollout_group *g) {
  const float *row = g->data;
  const hvi_dataset *d = &c->data;
  for (size_t e = 0; e < g->count && c->filled < c->capacity; e++) {
    size_t left = (size_t)g->episodes[e].length;
    for (; left > 0 && c->filled < c->capacity; left--) {
      c->episodes[c->filled] = first + e;
      row = put(&c->data, c->filled++, row);
    }
    if (left == 0 && (d->terminated[c->filled - 1] || d->truncated[c->filled - 1]))
      c->episode = first + e + 1;
  }
  c->data.origin.broken += g->broken;
}

/* A group for each thread that is likely to be of use. */
static hvi_status run_round(hvi_collector *c, hvi_error *err) {
  const size_t likely = (c->capacity - c->filled) / c->group_rows + 1;
  const size_t count = likely < c->threads ? likely : c->threads;
  const uint64_t first = c->episode;
  hvi_rollout_group group;
  HVI_TRY(hvi_runner_run(c->runner, first, count, err));
  for (size_t k = 0; k < count; k++) {
    HVI_TRY(hvi_runner_read(c->runner, k, &group, err));
    put_group(c, first + k * HVI_ROLLOUT_GROUP, &group);
  }
  return HVI_OK;
}

hvi_status hvi_collector_need(hvi_collector *c, size_t rows, hvi_error *err) {
  if (rows > c->capacity)
    return hvi_error_argument(err, "%zu rows are more than the %zu that the collector has room for",
                              rows, c->capacity);
  hvi_status status = HVI_OK;
  const double start = hvi_clock_work(c->threads);
  const bool more = c->filled < rows;
  while (!status && c->filled < rows) status = run_round(c, err);
  if (more) c->seconds += hvi_clock_work(c->threads) - start;
  if (!status && c->data.count < rows) c->data.count = rows;
  return status;
}

const hvi_dataset *hvi_collector_data(const hvi_collector *c) { return &c->data; }

hvi_collector_cost hvi_collector_spent(const hvi_collector *c) {
  return (hvi_collector_cost){.steps = c->run.steps, .skipped = c->skipped, .seconds = c->seconds};
}

hvi_collector_mark hvi_collector_find(const hvi_collector *c, size_t row) {
  const uint64_t *episode = c->episodes;
  const bool cut = c->filled > 0 && episode[c->filled - 1] == c->episode;
  if (row >= c->filled && !cut)
    return (hvi_collector_mark){.episode = c->episode, .row = c->filled};
  size_t start = row < c->filled ? row : c->filled - 1;
  while (start > 0 && episode[start - 1] == episode[start]) start--;
  return (hvi_collector_mark){.episode = episode[start], .row = start};
}

hvi_status hvi_collector_skip(hvi_collector *c, hvi_collector_mark mark, hvi_error *err) {
  const hvi_collector_mark known = hvi_collector_find(c, mark.row);
  const bool there = mark.row <= c->filled;
  const bool fits = there ? known.row == mark.row && known.episode == mark.episode
                          : mark.row <= c->capacity && mark.episode > c->episode;
  if (!fits)
    return hvi_error_argument(
        err, "episode %zu does not begin at row %zu of at most %zu: the mark is of another run",
        (size_t)mark.episode, mark.row, c->capacity);
  if (there) return HVI_OK;
  c->data.truncated[mark.row - 1] = true; /* what follows is another episode */
  c->skipped += mark.row - c->filled;
  c->filled = mark.row;
  c->episode = mark.episode;
  if (c->data.count < mark.row) c->data.count = mark.row;
  return HVI_OK;
}

hvi_status hvi_collector_new(hvi_collector **collector, const hvi_env *env,
                             const hvi_policy *policy, uint64_t seed, size_t threads,
                             size_t capacity, hvi_error *err) {
  *collector = NULL;
  HVI_MAKE(hvi_collector, c, "a collector", err);
  c->settings = (hvi_rollout_settings){.seed = seed, .threads = threads};
  HVI_TRY(hvi_rollout_begin(&c->run, env, policy, hvi_rollout_table(), &c->settings, NULL, err));
  if (capacity == 0 || capacity > SIZE_MAX / 2)
    return hvi_error_argument(err, "a collector needs room for a transition at "
                                   "least, and for what memory can hold at most");
  HVI_TRY(check_room(env, capacity, sizeof *c->episodes, HVI_ERROR_MEMORY, err));
  c->capacity = capacity;
  c->threads = hvi_rollout_threads(&c->settings);
  c->data = (hvi_dataset){.count = capacity, .obs = env->obs, .act = env->act};
  hvi_provenance *o = &c->data.origin;
  snprintf(o->environment, sizeof o->environment, "%s", env->name);
  snprintf(o->version, sizeof o->version, "%s", hvi_version());
  hvi_policy_fingerprint(o->fingerprint, policy);
  o->seed = seed;
  c->episodes = hvi_alloc(capacity, sizeof *c->episodes);
  if (!hvi_columns_alloc(&c->data, &columns) || !c->episodes)
    return hvi_error_memory(err, "collected transitions");
  c->data.count = 0;
  const hvi_rollout_plan plan = plan_of(env, capacity);
  c->group_rows = HVI_ROLLOUT_GROUP * plan.steps;
  HVI_TRY(hvi_runner_new(&c->runner, &c->run, &plan, c->threads, err));
  HVI_GIVE(collector, c);
}

void hvi_collector_free(hvi_collector *c) {
  if (!c) return;
  hvi_runner_free(c->runner);
  hvi_free(c->episodes);
  hvi_columns_free(&c->data, &columns);
  hvi_free(c);
}
