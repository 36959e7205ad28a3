#include "study/kinds.h"
#include "base/base.h"

const char *const hvi_outcome_words[] = {"running",  "converged", "limit", "stalled",
                                         "diverged", "stopped",   NULL};

#define ADDRESS(name) &hvi_kind_##name,
const hvi_kind *const hvi_kinds[] = {HVI_KINDS(ADDRESS) NULL};

double hvi_cell_number_or(const hvi_cell *c, const char *factor, double otherwise) {
  const double x = hvi_cell_number(c, factor);
  return isnan(x) ? otherwise : x;
}

uint64_t hvi_cell_instance(const hvi_cell *c) {
  const double given = hvi_cell_number(c, "instance");
  return given > 0.0 ? (uint64_t)given : 0;
}

size_t hvi_part_method(const hvi_part *p, const char *label) {
  size_t m = 0;
  while (m < p->method_count && strcmp(p->methods[m].label, label) != 0) m++;
  return m;
}

hvi_settings hvi_settings_to_end(const char *method, double eta, size_t steps) {
  hvi_settings s = hvi_method_settings(method);
  s.eta = eta;
  s.max_outer = steps;
  s.stall_window = 0;
  s.growth_bound = 0.0;
  s.rounding = false;
  return s;
}

hvi_status hvi_cell_apply_method(hvi_settings *s, const hvi_cell *c, hvi_error *err) {
  const char *method = hvi_cell_word(c, "method");
  if (!method || hvi_method_apply(s, method, NULL)) return HVI_OK;
  return hvi_error_input(err, "%s: unknown method '%.60s'", c->study->origin, method);
}

hvi_status hvi_solve(hvi_info *info, const hvi_problem *p, const hvi_settings *s,
                     hvi_observer observe, void *context, hvi_error *err) {
  hvi_settings own = *s;
  hvi_solver *solver;
  own.observe = observe;
  own.observer_context = context;
  HVI_TRY(hvi_solver_new(&solver, p, &own, err));
  hvi_solver_run(solver);
  *info = hvi_solver_info(solver);
  hvi_solver_free(solver);
  return HVI_OK;
}

hvi_status hvi_cell_tune(hvi_settings *s, const hvi_cell *c, hvi_score_fn *score, void *context,
                         hvi_error *err) {
  const double low = hvi_cell_number(c, "eta_low"), high = hvi_cell_number(c, "eta_high");
  const double levels = hvi_cell_number(c, "eta_levels");
  double best = INFINITY, x;
  if (isnan(low) && isnan(high) && isnan(levels)) return HVI_OK;
  if (!(low > 0.0 && high > low && levels >= 2.0))
    return hvi_error_input(err, "%s: eta_low, eta_high and eta_levels: 0 < low < high, from 2 on",
                           c->study->origin);
  hvi_settings trial = *s;
  trial.step_rule = HVI_STEP_FIXED;
  for (double i = 0.0; i < levels; i++) {
    trial.eta = low * pow(high / low, i / (levels - 1.0));
    HVI_TRY(score(&x, context, &trial, err));
    if (i == 0.0 || x < best) *s = trial, best = x;
  }
  return HVI_OK;
}
