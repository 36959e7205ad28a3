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
