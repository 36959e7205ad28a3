/* The key `value` of an experiment: environments, network, data, panels and tuning. */
#ifndef HVI_EXPERIMENTS_VALUE_PLAN_H
#define HVI_EXPERIMENTS_VALUE_PLAN_H

#include "experiments/experiment.h"

#include <hvi/value.h>

/* What a figure can show over what. */
typedef enum hvi_study_axis {
  HVI_BY_OUTER,
  HVI_BY_SECONDS,
  HVI_BY_GRADIENTS,
  HVI_BY_THRESHOLD, /* each method is a point: its alpha^2, and where it ended */
  HVI_STUDY_AXES
} hvi_study_axis;

typedef enum hvi_study_measure {
  HVI_OF_ERROR, /* on the test set */
  HVI_OF_GAP,   /* Bellman gap */
  HVI_OF_RATIO, /* of losses, alpha^2 as reached */
  HVI_OF_INNER, /* steps of an outer step */
  HVI_STUDY_MEASURES
} hvi_study_measure;

/* As files call them, ending in NULL; value_plan.c. */
extern const char *const hvi_study_axis_names[], *const hvi_study_measure_names[];

typedef struct hvi_study_panel {
  hvi_study_axis x;
  hvi_study_measure y;
} hvi_study_panel;

typedef struct hvi_study_place {
  const char *environment, *policy, *testset;
  /* a quick run without the test set makes one of this size; 0 states: it does not */
  size_t stand_in_states, stand_in_rollouts, stand_in_horizon;
} hvi_study_place;

enum { HVI_MOST_PLACES = 4, HVI_MOST_PANELS = 6 };

typedef enum hvi_study_scaling {
  HVI_SCALE_NOTHING, /* as in the paper */
  HVI_SCALE_STATES,  /* inputs of the network */
  HVI_SCALE_ALL      /* and its output */
} hvi_study_scaling;

typedef struct hvi_study_plan {
  size_t place_count;
  hvi_study_place places[HVI_MOST_PLACES];
  const char *runs; /* another experiment that makes the same runs; NULL: none */
  size_t hidden_count, hidden[HVI_VALUE_MOST_LAYERS];
  double gamma;
  bool random_draws; /* offline: batches at random; otherwise all of the data at once */
  bool gap;          /* offline: the Bellman gap is measured */
  hvi_study_scaling scaling;
  size_t per_decade; /* measurements at powers of 10, beside the evenly spaced ones */
  double checkpoint; /* seconds between checkpoints of a piece */
  size_t chain;      /* outer steps of the exact panel; 0: none */
  size_t panel_count;
  hvi_study_panel panels[HVI_MOST_PANELS];
  /* tuning: seeds tune_first, tune_first + 1, ..., none of them reported */
  size_t tune_seeds, tune_first;
  size_t rate_count;
  double rates[HVI_MOST_RATES];
} hvi_study_plan;

hvi_status hvi_study_plan_parse(hvi_study_plan **plan, const struct hvi_node *map,
                                const char *origin, hvi_error *err);

#endif
