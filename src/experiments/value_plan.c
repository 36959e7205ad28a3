/* The key `value` of an experiment: places, network, data, panels and tuning. */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/fields.h"
#include "experiments/value_study.h"

#include <math.h>
#include <string.h>

const char *const hvi_study_axis_names[] = {"outer", "seconds", "gradients", "threshold", NULL};
const char *const hvi_study_measure_names[] = {"error", "gap", "ratio", "inner", NULL};

static hvi_status wrong_list(const hvi_node *n, const char *what, size_t most, const char *origin,
                             hvi_error *err) {
  return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must be a list of 1 to %zu %s", origin,
                       n->line, n->key, most, what);
}

static hvi_status read_stand_in(hvi_study_place *p, const hvi_node *map, const char *origin,
                                hvi_error *err) {
  static const char *const keys[] = {"states", "rollouts", "horizon", NULL};
  size_t *const to[] = {&p->stand_in_states, &p->stand_in_rollouts, &p->stand_in_horizon};
  p->stand_in_states = 300;
  p->stand_in_rollouts = 5;
  p->stand_in_horizon = 300;
  hvi_status status = hvi_field_keys(map, keys, origin, err);
  for (size_t i = 0; keys[i] && !status; i++) {
    const hvi_node *node = hvi_node_get(map, keys[i]);
    if (node) status = hvi_field_count(to[i], node, 2, 1000000, origin, err);
  }
  return status;
}

static hvi_status read_place(hvi_study_place *p, const hvi_node *map, const char *origin,
                             hvi_error *err) {
  static const char *const keys[] = {"environment", "policy", "testset", "stand_in", NULL};
  const char **const to[] = {&p->environment, &p->policy, &p->testset};
  hvi_status status = hvi_field_keys(map, keys, origin, err);
  for (size_t i = 0; i < 3 && !status; i++) {
    const hvi_node *node = hvi_node_get(map, keys[i]);
    if (node)
      status = hvi_field_text(to[i], node, origin, err);
    else
      status = hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: a place needs the key '%s'", origin,
                             map->line, keys[i]);
  }
  const hvi_node *stand_in = status ? NULL : hvi_node_get(map, "stand_in");
  return stand_in ? read_stand_in(p, stand_in, origin, err) : status;
}

static hvi_status read_places(hvi_study_plan *p, const hvi_node *list, const char *origin,
                              hvi_error *err) {
  hvi_status status = HVI_OK;
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > HVI_MOST_PLACES)
    return wrong_list(list, "places", HVI_MOST_PLACES, origin, err);
  for (const hvi_node *n = list->first; n && !status; n = n->next) {
    const hvi_study_place *last = &p->places[p->place_count];
    status = read_place(&p->places[p->place_count++], n, origin, err);
    for (const hvi_study_place *other = p->places; !status && other < last; other++)
      if (strcmp(other->environment, last->environment) == 0)
        status = hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: environment '%.60s' is there twice",
                               origin, n->line, last->environment);
  }
  return status;
}

static hvi_status read_panels(hvi_study_plan *p, const hvi_node *list, const char *origin,
                              hvi_error *err) {
  static const char *const keys[] = {"x", "y", NULL};
  hvi_status status = HVI_OK;
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > HVI_MOST_PANELS)
    return wrong_list(list, "panels", HVI_MOST_PANELS, origin, err);
  for (const hvi_node *n = list->first; n && !status; n = n->next) {
    size_t x = 0, y = 0;
    const hvi_node *node;
    status = hvi_field_keys(n, keys, origin, err);
    if (!status && (node = hvi_node_get(n, "x")))
      status = hvi_field_choice(&x, node, hvi_study_axis_names, origin, err);
    if (!status && (node = hvi_node_get(n, "y")))
      status = hvi_field_choice(&y, node, hvi_study_measure_names, origin, err);
    p->panels[p->panel_count++] = (hvi_study_panel){(hvi_study_axis)x, (hvi_study_measure)y};
  }
  return status;
}

static hvi_status read_hidden(hvi_study_plan *p, const hvi_node *list, const char *origin,
                              hvi_error *err) {
  hvi_status status = HVI_OK;
  if (list->kind != HVI_NODE_LIST || list->count > HVI_VALUE_MOST_LAYERS)
    return wrong_list(list, "widths", HVI_VALUE_MOST_LAYERS, origin, err);
  p->hidden_count = 0;
  for (const hvi_node *n = list->first; n && !status; n = n->next)
    status = hvi_field_count(&p->hidden[p->hidden_count++], n, 1, 65536, origin, err);
  return status;
}

static hvi_status read_tune(hvi_study_plan *p, const hvi_node *map, const char *origin,
                            hvi_error *err) {
  static const char *const keys[] = {"seeds", "first", "rates", NULL};
  const hvi_node *node;
  hvi_status status = hvi_field_keys(map, keys, origin, err);
  if (!status && (node = hvi_node_get(map, "seeds")))
    status = hvi_field_count(&p->tune_seeds, node, 1, 1000, origin, err);
  if (!status && (node = hvi_node_get(map, "first")))
    status = hvi_field_count(&p->tune_first, node, 0, (size_t)1 << 53, origin, err);
  if (!status && (node = hvi_node_get(map, "rates")))
    status = hvi_field_rates(p->rates, &p->rate_count, HVI_MOST_RATES, node, origin, err);
  return status;
}

static hvi_status read_simple(hvi_study_plan *p, const hvi_node *map, const char *origin,
                              hvi_error *err) {
  static const char *const draws[] = {"all", "random", NULL};
  static const char *const scalings[] = {"none", "states", "all", NULL};
  const hvi_node *node;
  size_t i = 0;
  hvi_status status = HVI_OK;
  if ((node = hvi_node_get(map, "runs"))) status = hvi_field_text(&p->runs, node, origin, err);
  if (!status && (node = hvi_node_get(map, "gamma")))
    status = hvi_field_real(&p->gamma, node, (hvi_interval){0, 1, false, true}, origin, err);
  if (!status && (node = hvi_node_get(map, "draw"))) {
    status = hvi_field_choice(&i, node, draws, origin, err);
    p->random_draws = i == 1;
  }
  if (!status && (node = hvi_node_get(map, "normalise"))) {
    status = hvi_field_choice(&i, node, scalings, origin, err);
    p->scaling = (hvi_study_scaling)i;
  }
  if (!status && (node = hvi_node_get(map, "gap")))
    status = hvi_field_flag(&p->gap, node, origin, err);
  if (!status && (node = hvi_node_get(map, "per_decade")))
    status = hvi_field_count(&p->per_decade, node, 0, 100, origin, err);
  if (!status && (node = hvi_node_get(map, "checkpoint")))
    status =
        hvi_field_real(&p->checkpoint, node, (hvi_interval){0, 1e6, false, false}, origin, err);
  if (!status && (node = hvi_node_get(map, "chain")))
    status = hvi_field_count(&p->chain, node, 1, 100000, origin, err);
  return status;
}

static hvi_status read_plan(hvi_study_plan *p, const hvi_node *map, const char *origin,
                            hvi_error *err) {
  static const char *const keys[] = {"places", "runs",      "hidden", "gamma",      "draw",
                                     "gap",    "tune",      "panels", "per_decade", "checkpoint",
                                     "chain",  "normalise", NULL};
  const hvi_node *node;
  hvi_status status = hvi_field_keys(map, keys, origin, err);
  if (!status && !(node = hvi_node_get(map, "places")))
    status = hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: value needs the key 'places'", origin,
                           map->line);
  if (!status) status = read_places(p, node, origin, err);
  if (!status) status = read_simple(p, map, origin, err);
  if (!status && (node = hvi_node_get(map, "hidden"))) status = read_hidden(p, node, origin, err);
  if (!status && (node = hvi_node_get(map, "panels"))) status = read_panels(p, node, origin, err);
  if (!status && (node = hvi_node_get(map, "tune"))) status = read_tune(p, node, origin, err);
  return status;
}

hvi_status hvi_study_plan_parse(hvi_study_plan **plan, const hvi_node *map, const char *origin,
                                hvi_error *err) {
  hvi_study_plan *p = *plan = hvi_alloc(1, sizeof *p);
  if (!p) return hvi_error_memory(err, "an experiment");
  p->hidden_count = 2;
  p->hidden[0] = p->hidden[1] = 256;
  p->gamma = 0.99;
  p->checkpoint = 60.0;
  p->panel_count = 0;
  p->tune_seeds = 3;
  p->tune_first = 1001;
  hvi_status status = read_plan(p, map, origin, err);
  if (!status && !p->panel_count) {
    p->panels[p->panel_count++] = (hvi_study_panel){HVI_BY_OUTER, HVI_OF_ERROR};
    p->panels[p->panel_count++] = (hvi_study_panel){HVI_BY_SECONDS, HVI_OF_ERROR};
  }
  return status; /* the experiment owns it, also when this fails */
}
