/*
 * A data set that grows while it is in use: transitions of a policy in an environment, as
 * hvi_dataset_collect defines them (the first rows of episodes 0, 1, 2, ... under a seed),
 * simulated when they are asked for. The bits are the same for any number of threads, and whether
 * rows were asked for one at a time or all at once.
 *
 * Rows lie where they are from the start: there is memory for `capacity` of them, and a problem may
 * hold the data set while it grows. A collector belongs to one thread at a time.
 */
#ifndef HVI_COLLECTOR_H
#define HVI_COLLECTOR_H

#include <hvi/rollout.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hvi_collector hvi_collector;

/* `env` and `policy` outlive it; threads: 0 for one per core. */
HVI_API hvi_status hvi_collector_new(hvi_collector **collector, const hvi_env *env,
                                     const hvi_policy *policy, uint64_t seed, size_t threads,
                                     size_t capacity, hvi_error *err);
HVI_API void hvi_collector_free(hvi_collector *c);

/* Its data set, with as many rows as have been asked for. */
HVI_API const hvi_dataset *hvi_collector_data(const hvi_collector *c);

/* Simulates until there are `rows` rows, at most `capacity`. Episodes run in groups, so that rows
 * which are asked for next are often there already. An error leaves the data as they were. */
HVI_API hvi_status hvi_collector_need(hvi_collector *c, size_t rows, hvi_error *err);

/* What has been simulated, with rows that nobody has asked for yet. */
typedef struct hvi_collector_cost {
  size_t steps;   /* simulated by this collector */
  size_t skipped; /* rows that an earlier one has simulated */
  double seconds; /* of the processor with one thread, otherwise of the wall's clock */
} hvi_collector_cost;
/* What collecting has taken so far. */
HVI_API hvi_collector_cost hvi_collector_spent(const hvi_collector *c);

/* Where an episode begins. */
typedef struct hvi_collector_mark {
  uint64_t episode;
  size_t row;
} hvi_collector_mark;

/* The episode that holds `row`, one of those there are or the one after the last. */
HVI_API hvi_collector_mark hvi_collector_find(const hvi_collector *c, size_t row);

/* Goes on with the episode of a mark, found in an earlier run with the same environment, policy and
 * seed: rows from there on are the same as if all had been simulated. Those before it that are not
 * there yet stay zero, the last of them cut off, and are not to be used. */
HVI_API hvi_status hvi_collector_skip(hvi_collector *c, hvi_collector_mark mark, hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
