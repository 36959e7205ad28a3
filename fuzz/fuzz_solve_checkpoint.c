/* The state of a solve: any row of doubles is either taken over, and the solve goes on to an outcome,
 * or refused in one line. The first byte chooses the method. */
#include <hvi/builtin.h>
#include <hvi/solver.h>

#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const methods[] = {"lm", "adam", "phgd", "auto"};
  static hvi_problem *game;
  hvi_settings settings = hvi_settings_defaults();
  hvi_solver *solver = NULL;
  hvi_error err = {HVI_OK, ""};
  if (size == 0 || (!game && hvi_builtin_new(&game, "pennies", NULL, 0, 0, 0, NULL))) return 0;
  if (!hvi_method_apply(&settings, methods[data[0] % 4], NULL)) abort();
  settings.max_outer = 8;
  if (hvi_solver_new(&solver, game, &settings, NULL)) abort();
  const size_t n = hvi_solver_state(solver), bytes = n * sizeof(double);
  double *state = malloc(bytes);
  hvi_solver_save(solver, state);
  memcpy(state, data + 1, size - 1 < bytes ? size - 1 : bytes);
  const hvi_status status = hvi_solver_restore(solver, state, &err);
  fuzz_verdict(status, status ? NULL : solver, &err);
  if (!status) hvi_solver_run(solver);
  hvi_solver_free(solver);
  free(state);
  return 0;
}
