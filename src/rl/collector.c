/*
 * Episodes in groups, one group a thread, until there are enough rows. All rows of finished groups
 * are kept, in the order of episodes; the data set shows those that were asked for.
 */
#include <hvi/collector.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "rl/rollout_row.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EPISODES = 8 };

/* A thread's group: its episodes side by side, and their rows, `cap` for each. */
typedef struct group {
  hvi_collector *collector;
  uint64_t first; /* episode */
  size_t length[EPISODES];
  size_t broken;
  float *rows;
  hvi_lockstep *lockstep;
} group;

struct hvi_collector {
  const hvi_env *env;
  uint64_t seed;
  size_t capacity, cap, row_floats;
  hvi_dataset data;
  size_t filled;      /* rows there are, at least data.count */
  size_t skipped;     /* of them, not simulated */
  uint64_t episode;   /* the next one */
  uint64_t *episodes; /* [capacity + 1] that were taken, and */
  size_t *starts;     /* [capacity + 1] where each begins */
  size_t taken;
  size_t threads;
  group *groups; /* [threads] */
  hvi_rollout_settings quiet;
  hvi_meter meter;
  double seconds;
};

static void begin(void *context, size_t job, hvi_env *env, hvi_rng *env_rng, hvi_rng *policy_rng) {
  group *g = context;
  *env_rng = hvi_rng_new(g->collector->seed, "episode-environment", g->first + job);
  *policy_rng = hvi_rng_new(g->collector->seed, "episode-policy", g->first + job);
  hvi_env_reset(env, env_rng);
  g->length[job] = 0;
}

static bool take(void *context, size_t job, const hvi_env *env, const hvi_lockstep_step *step) {
  group *g = context;
  const hvi_collector *c = g->collector;
  const size_t row = g->length[job]++;
  hvi_row_write(g->rows + (job * c->cap + row) * c->row_floats, env, step);
  g->broken += step->result.broken;
  return !step->result.terminated && !step->result.truncated && row + 1 < c->cap;
}

static hvi_status run_group(void *context, size_t number, size_t worker, hvi_error *err) {
  (void)worker;
  hvi_collector *c = context;
  group *g = &c->groups[number];
  g->first = c->episode + number * EPISODES;
  g->broken = 0;
  const hvi_lockstep_task task = {.count = EPISODES,
                                  .context = g,
                                  .begin = begin,
                                  .take = take,
                                  .noun = "episode",
                                  .first = (size_t)g->first};
  return hvi_lockstep_run(g->lockstep, &task, &c->meter, err);
}

/* Takes the rows of an episode over; false when it goes on beyond the room there is. */
static bool put_episode(hvi_collector *c, const group *g, size_t e) {
  c->episodes[c->taken] = g->first + e;
  c->starts[c->taken++] = c->filled;
  for (size_t i = 0; i < g->length[e]; i++) {
    if (c->filled == c->capacity) return false;
    hvi_columns_put(&c->data, c->filled++, g->rows + (e * c->cap + i) * c->row_floats);
  }
  return c->data.terminated[c->filled - 1] || c->data.truncated[c->filled - 1];
}

static void put_group(hvi_collector *c, const group *g) {
  for (size_t e = 0; e < EPISODES && c->filled < c->capacity; e++) {
    if (put_episode(c, g, e)) c->episode = g->first + e + 1;
  }
  c->data.origin.broken += g->broken;
}

/* A group for each thread that is likely to be of use. */
static hvi_status run_round(hvi_collector *c, hvi_error *err) {
  const size_t likely = (c->capacity - c->filled) / (EPISODES * c->cap) + 1;
  const size_t count = likely < c->threads ? likely : c->threads;
  const hvi_status status = hvi_parallel_run(count, c->threads, run_group, c, err);
  if (status) return status;
  for (size_t k = 0; k < count; k++) put_group(c, &c->groups[k]);
  return HVI_OK;
}

hvi_status hvi_collector_need(hvi_collector *c, size_t rows, hvi_error *err) {
  if (rows > c->capacity) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "%zu rows are more than the %zu that the collector has room for", rows,
                         c->capacity);
  }
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
  return (hvi_collector_cost){
      .steps = c->meter.steps, .skipped = c->skipped, .seconds = c->seconds};
}

/* Number of the episode among those taken that holds a row there is. */
static size_t holder(const hvi_collector *c, size_t row) {
  size_t low = 0, high = c->taken; /* starts[low] <= row < starts[high] */
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (c->starts[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

hvi_collector_mark hvi_collector_find(const hvi_collector *c, size_t row) {
  const bool cut = c->taken > 0 && c->episodes[c->taken - 1] == c->episode;
  if (row >= c->filled && !cut) {
    return (hvi_collector_mark){.episode = c->episode, .row = c->filled};
  }
  const size_t k = row >= c->filled ? c->taken - 1 : holder(c, row);
  return (hvi_collector_mark){.episode = c->episodes[k], .row = c->starts[k]};
}

hvi_status hvi_collector_skip(hvi_collector *c, hvi_collector_mark mark, hvi_error *err) {
  const hvi_collector_mark known = hvi_collector_find(c, mark.row);
  const bool there = mark.row <= c->filled;
  const bool fits = there ? known.row == mark.row && known.episode == mark.episode
                          : mark.row <= c->capacity && mark.episode > c->episode;
  if (!fits) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "episode %" PRIu64
                         " does not begin at row %zu of at most %zu: the mark is "
                         "of another run",
                         mark.episode, mark.row, c->capacity);
  }
  if (there) return HVI_OK;
  c->data.truncated[mark.row - 1] = true; /* what follows is another episode */
  c->skipped += mark.row - c->filled;
  c->filled = mark.row;
  c->episode = mark.episode;
  if (c->data.count < mark.row) c->data.count = mark.row;
  return HVI_OK;
}

static void tell_origin(hvi_provenance *o, const hvi_env *env, const hvi_policy *policy,
                        uint64_t seed) {
  snprintf(o->environment, sizeof o->environment, "%s", env->name);
  snprintf(o->version, sizeof o->version, "%s", hvi_version());
  hvi_policy_fingerprint(o->fingerprint, policy);
  o->seed = seed;
}

static hvi_status equip(hvi_collector *c, const hvi_policy *policy, hvi_error *err) {
  c->groups = hvi_alloc(c->threads, sizeof *c->groups);
  c->episodes = hvi_alloc(c->capacity + 1, sizeof *c->episodes);
  c->starts = hvi_alloc(c->capacity + 1, sizeof *c->starts);
  if (!c->groups || !c->episodes || !c->starts || !hvi_columns_new(&c->data, c->env, c->capacity)) {
    return hvi_error_memory(err, "collected transitions");
  }
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < c->threads && !status; k++) {
    group *g = &c->groups[k];
    g->collector = c;
    g->rows = hvi_alloc(c->cap, EPISODES * c->row_floats * sizeof *g->rows);
    status = g->rows ? hvi_lockstep_new(&g->lockstep, c->env, policy, EPISODES, false, err)
                     : hvi_error_memory(err, "a group of episodes");
  }
  return status;
}

static hvi_status check(const hvi_env *env, const hvi_policy *policy, size_t threads,
                        size_t capacity, hvi_error *err) {
  if (!env || !policy) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "collecting needs an environment and a policy");
  }
  if (capacity == 0 || capacity > SIZE_MAX / 2) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "a collector needs room for a transition at "
                         "least, and for what memory can hold at most");
  }
  if (threads > HVI_ROLLOUT_MAX_THREADS) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%zu threads are too many; at most %d", threads,
                         HVI_ROLLOUT_MAX_THREADS);
  }
  return hvi_policy_check(policy, env, err);
}

hvi_status hvi_collector_new(hvi_collector **collector, const hvi_env *env,
                             const hvi_policy *policy, uint64_t seed, size_t threads,
                             size_t capacity, hvi_error *err) {
  *collector = NULL;
  hvi_status status = check(env, policy, threads, capacity, err);
  if (status) return status;
  hvi_collector *c = hvi_alloc(1, sizeof *c);
  if (!c) return hvi_error_memory(err, "a collector");
  c->env = env;
  c->seed = seed;
  c->capacity = capacity;
  c->cap = env->time_limit < capacity ? env->time_limit : capacity;
  c->row_floats = hvi_row_floats(env);
  c->threads = threads ? threads : hvi_parallel_cores();
  tell_origin(&c->data.origin, env, policy, seed);
  hvi_meter_start(&c->meter, &c->quiet, 0);
  status = equip(c, policy, err);
  if (status) {
    hvi_collector_free(c);
    return status;
  }
  *collector = c;
  return HVI_OK;
}

void hvi_collector_free(hvi_collector *c) {
  if (!c) return;
  for (size_t k = 0; c->groups && k < c->threads; k++) {
    hvi_lockstep_free(c->groups[k].lockstep);
    hvi_free(c->groups[k].rows);
  }
  hvi_free(c->groups);
  hvi_free(c->episodes);
  hvi_free(c->starts);
  hvi_columns_free(&c->data);
  hvi_meter_end(&c->meter);
  hvi_free(c);
}
