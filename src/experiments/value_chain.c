/*
 * The accelerations where everything is known: value iteration on the slow random walk over 100
 * states, gamma 0.99, exact steps, distance to the values over outer steps. The constant is its
 * slowest mode, and there are more.
 */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/value_study.h"
#include "report/csv.h"

#include <math.h>

enum { KINDS = 3 };

typedef struct keeper {
  double *dist2;
  size_t room;
} keeper;

static bool keep(void *context, const hvi_record *row) {
  const keeper *k = context;
  if (row->outer < k->room) k->dist2[row->outer] = row->dist2;
  return true;
}

static hvi_status solve(double *dist2, size_t steps, hvi_acceleration how, hvi_error *err) {
  static const hvi_option options[] = {{"kind", "walk"}, {"features", "0"}, {"gamma", "0.99"}};
  hvi_problem *p = NULL;
  hvi_solver *solver = NULL;
  keeper k = {dist2, steps + 1};
  hvi_settings s = hvi_settings_defaults();
  hvi_method_find("projected")->apply(&s);
  s.eta = 1.0;
  s.accelerate = how;
  s.memory = 5;
  s.max_outer = steps;
  s.stall_window = 0;
  s.observe = keep;
  s.observer_context = &k;
  for (size_t i = 0; i <= steps; i++) dist2[i] = NAN;
  hvi_status status = hvi_builtin_new(&p, "chain", options, 3, 1, 0, err);
  if (!status) status = hvi_solver_new(&solver, p, &s, err);
  if (!status) hvi_solver_run(solver);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return status;
}

static hvi_status write_table(const hvi_run *run, const double *dist2, size_t steps,
                              hvi_error *err) {
  hvi_csv csv;
  char *path = hvi_run_path(run, "chain", ".csv");
  const hvi_status status = path ? hvi_csv_open(&csv, path, "outer,plain,mode,anderson", err)
                                 : hvi_error_memory(err, "a path");
  hvi_free(path);
  if (status) return status;
  for (size_t t = 0; t <= steps; t++) {
    hvi_csv_count(&csv, t);
    for (size_t k = 0; k < KINDS; k++) hvi_csv_number(&csv, dist2[k * (steps + 1) + t]);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

hvi_status hvi_study_chain(hvi_run *run, hvi_error *err) {
  static const hvi_acceleration kinds[KINDS] = {HVI_ACCELERATE_NONE, HVI_ACCELERATE_MODE,
                                                HVI_ACCELERATE_ANDERSON};
  const size_t steps = run->experiment->study->chain;
  double *dist2 = hvi_alloc_doubles(KINDS * (steps + 1));
  hvi_status status = dist2 ? HVI_OK : hvi_error_memory(err, "a chain");
  for (size_t k = 0; k < KINDS && !status; k++)
    status = solve(dist2 + k * (steps + 1), steps, kinds[k], err);
  if (!status) status = write_table(run, dist2, steps, err);
  hvi_free(dist2);
  return status;
}
