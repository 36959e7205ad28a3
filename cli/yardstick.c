/*
 * The exact update is gn with one inner step and eta 1: LSPE along a trajectory, projected value
 * iteration over all states. Its solver has the seed of the one it is compared with, so it sees the
 * same transitions, and it is stepped as far as the row at hand.
 *
 *   exact_theta   |theta - theta_exact|
 *   exact_value   |Phi theta - Phi theta_exact|_Xi
 *
 * The rest is hvi_mdp_measures.
 */
#include "yardstick.h"

#include "base/error.h"
#include "base/memory.h"

#include <hvi/mdp.h>

#include <math.h>
#include <stdint.h>

enum { COLUMNS = 6 };

static const char *const names[COLUMNS] = {"exact_theta",    "exact_value", "to_fixed_point",
                                           "to_true_values", "mspbe",       "bellman_gap"};

struct hvi_yardstick {
  const hvi_mdp *mdp;
  hvi_solver *exact;
  double *difference; /* [d] */
  double *values;     /* [n] */
};

static hvi_settings exact_settings(const hvi_settings *solve) {
  hvi_settings s = hvi_settings_defaults();
  hvi_method_apply(&s, "gn", NULL);
  s.eta = 1.0;
  s.seed = solve->seed;
  s.redraw_every = solve->redraw_every;
  s.theta0 = solve->theta0;
  s.max_outer = SIZE_MAX;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  return s;
}

hvi_status hvi_yardstick_new(hvi_yardstick **out, const hvi_setup *s, hvi_error *err) {
  *out = NULL;
  const hvi_mdp *mdp = hvi_mdp_of(s->problem);
  if (!mdp) return HVI_OK;
  hvi_yardstick *y = hvi_alloc(1, sizeof *y);
  if (!y) return hvi_error_memory(err, "a yardstick");
  const hvi_settings settings = exact_settings(&s->settings);
  y->mdp = mdp;
  y->difference = hvi_alloc_doubles(hvi_mdp_features(mdp));
  y->values = hvi_alloc_doubles(hvi_mdp_states(mdp));
  hvi_status status = y->difference && y->values ? HVI_OK : hvi_error_memory(err, "a yardstick");
  if (status == HVI_OK) status = hvi_solver_new(&y->exact, s->problem, &settings, err);
  if (status != HVI_OK) {
    hvi_yardstick_free(y);
    return status;
  }
  *out = y;
  return HVI_OK;
}

/* Row 0 is the start, which both share. */
static void compare(hvi_yardstick *y, const hvi_record *row, double *theta2, double *value2) {
  const size_t d = hvi_mdp_features(y->mdp), n = hvi_mdp_states(y->mdp);
  *theta2 = *value2 = 0.0;
  while (hvi_solver_info(y->exact).last.outer < row->outer)
    if (hvi_solver_step(y->exact) != HVI_RUNNING) break;
  if (row->outer == 0) return;
  const hvi_record exact = hvi_solver_info(y->exact).last;
  for (size_t i = 0; i < d; i++) {
    y->difference[i] = row->theta[i] - exact.theta[i];
    *theta2 += y->difference[i] * y->difference[i];
  }
  hvi_mdp_values(y->mdp, y->difference, y->values);
  for (size_t s = 0; s < n; s++) *value2 += hvi_mdp_law(y->mdp)[s] * y->values[s] * y->values[s];
}

static void fill(void *context, const hvi_record *row, double *values) {
  hvi_yardstick *y = context;
  hvi_mdp_measures m = {NAN, NAN, NAN, NAN};
  double theta2, value2;
  compare(y, row, &theta2, &value2);
  if (hvi_mdp_measure(&m, y->mdp, row->theta, NULL) != HVI_OK)
    m = (hvi_mdp_measures){NAN, NAN, NAN, NAN};
  const double all[COLUMNS] = {sqrt(theta2),     sqrt(value2), m.to_fixed_point,
                               m.to_true_values, m.mspbe,      m.bellman_gap};
  for (size_t i = 0; i < COLUMNS; i++) values[i] = all[i];
}

void hvi_yardstick_columns(hvi_yardstick *y, hvi_trace_settings *t) {
  if (!y) return;
  t->extra = COLUMNS;
  t->extra_names = names;
  t->fill = fill;
  t->fill_context = y;
}

void hvi_yardstick_free(hvi_yardstick *y) {
  if (!y) return;
  hvi_solver_free(y->exact);
  hvi_free(y->difference);
  hvi_free(y->values);
  hvi_free(y);
}
