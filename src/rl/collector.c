/*
 * Episodes in groups, a round of them at a time, until there are enough rows. All rows of finished
 * groups are kept, in the order of episodes; the data set shows those that were asked for.
 */
#include <hvi/collector.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "rl/rollout.h"

#include <hvi/version.h>

#include <inttypes.h>
#include <stdio.h>

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

/* Takes the rows of an episode over; false when it goes on beyond the room there is. */
static bool put_episode(hvi_collector *c, uint64_t episode, size_t length, const float **row) {
  for (size_t i = 0; i < length; i++) {
    if (c->filled == c->capacity) return false;
    c->episodes[c->filled] = episode;
    *row = hvi_dataset_put(&c->data, c->filled++, *row);
  }
  return c->data.terminated[c->filled - 1] || c->data.truncated[c->filled - 1];
}

static void put_group(hvi_collector *c, uint64_t first, const hvi_rollout_rows *rows) {
  const float *row = rows->data;
  for (size_t e = 0; e < HVI_ROLLOUT_GROUP && c->filled < c->capacity; e++) {
    if (put_episode(c, first + e, rows->length[e], &row)) c->episode = first + e + 1;
  }
  c->data.origin.broken += rows->broken;
}

/* A group for each thread that is likely to be of use. */
static hvi_status run_round(hvi_collector *c, hvi_error *err) {
  const size_t likely = (c->capacity - c->filled) / c->group_rows + 1;
  const size_t count = likely < c->threads ? likely : c->threads;
  const uint64_t first = c->episode;
  hvi_rollout_rows rows;
  hvi_status status = hvi_runner_run(c->runner, first, count, err);
  for (size_t k = 0; k < count && !status; k++) {
    status = hvi_runner_rows(c->runner, k, &rows, err);
    if (!status) put_group(c, first + k * HVI_ROLLOUT_GROUP, &rows);
  }
  return status;
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
  return (hvi_collector_cost){.steps = c->run.steps, .skipped = c->skipped, .seconds = c->seconds};
}

hvi_collector_mark hvi_collector_find(const hvi_collector *c, size_t row) {
  const uint64_t *episode = c->episodes;
  const bool cut = c->filled > 0 && episode[c->filled - 1] == c->episode;
  if (row >= c->filled && !cut) {
    return (hvi_collector_mark){.episode = c->episode, .row = c->filled};
  }
  size_t start = row < c->filled ? row : c->filled - 1;
  while (start > 0 && episode[start - 1] == episode[start]) start--;
  return (hvi_collector_mark){.episode = episode[start], .row = start};
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

static hvi_status fill(hvi_collector *c, hvi_error *err) {
  const hvi_rollout_plan plan = hvi_dataset_plan(c->run.env, c->capacity);
  c->group_rows = HVI_ROLLOUT_GROUP * plan.steps;
  c->episodes = hvi_alloc(c->capacity, sizeof *c->episodes);
  if (!c->episodes || !hvi_dataset_alloc(&c->data, c->run.env, c->capacity)) {
    return hvi_error_memory(err, "collected transitions");
  }
  return hvi_runner_new(&c->runner, &c->run, &plan, c->threads, err);
}

hvi_status hvi_collector_new(hvi_collector **collector, const hvi_env *env,
                             const hvi_policy *policy, uint64_t seed, size_t threads,
                             size_t capacity, hvi_error *err) {
  const hvi_rollout_settings settings = {.seed = seed, .threads = threads};
  *collector = NULL;
  hvi_status status = hvi_rollout_check(env, policy, &settings, err);
  if (status) return status;
  if (capacity == 0 || capacity > SIZE_MAX / 2) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT,
                         "a collector needs room for a transition at "
                         "least, and for what memory can hold at most");
  }
  hvi_collector *c = hvi_alloc(1, sizeof *c);
  if (!c) return hvi_error_memory(err, "a collector");
  c->capacity = capacity;
  c->settings = settings;
  c->threads = hvi_rollout_threads(&settings);
  c->run = (hvi_rollout_run){.env = env, .policy = policy, .settings = &c->settings};
  tell_origin(&c->data.origin, env, policy, seed);
  hvi_rollout_start(&c->run);
  status = fill(c, err);
  if (status) {
    hvi_collector_free(c);
    return status;
  }
  *collector = c;
  return HVI_OK;
}

void hvi_collector_free(hvi_collector *c) {
  if (!c) return;
  hvi_runner_free(c->runner);
  hvi_rollout_end(&c->run, NULL);
  hvi_free(c->episodes);
  hvi_dataset_clear(&c->data);
  hvi_free(c);
}
