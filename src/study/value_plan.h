/* The key `value` of a study: environments, network, data and tuning. */
#pragma once

#include "io/yaml.h"
#include "study/arm.h"

#include <hvi/evaluate.h>

typedef struct hvi_value_environment {
  const char *environment, *policy, *testset;
  /* a quick run without the test set makes one of this size; 0 states: it does not */
  hvi_testset_settings stand_in;
  double clocks[8]; /* steps a second of other simulators, in the order of the plan's names */
  size_t clock_count;
} hvi_value_environment;

enum { HVI_MOST_ENVIRONMENTS = 4, HVI_MOST_CLOCKS = 8 };

typedef struct hvi_value_plan {
  size_t environment_count;
  hvi_value_environment environments[HVI_MOST_ENVIRONMENTS];
  /* What every cell starts from: hidden, gamma, draw (offline at random, or all of the data at
   * once), normalise and per_decade are the file's. */
  hvi_evaluation_spec spec;
  const char *clock_names[HVI_MOST_CLOCKS + 2]; /* the one that is run first; ending in NULL */
  bool gap;                                     /* offline: the Bellman gap is measured */
  double checkpoint;                            /* seconds between checkpoints of a cell */
  /* tuning: seeds tune_first, tune_first + 1, ..., none of them reported */
  size_t tune_seeds, tune_first;
  const char *tuned; /* how the file's rates were found; NULL: not said */
  size_t rate_count;
  double rates[HVI_MOST_RATES];
} hvi_value_plan;

hvi_status hvi_value_plan_parse(hvi_value_plan **plan, const hvi_node *map, const char *origin,
                                hvi_error *err);
/* The tables of what it is read by, one after the other; NULL past the last. */
const hvi_setting_table *hvi_value_table_at(size_t index);
