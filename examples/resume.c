/*
 * A solve that is saved, and taken up again by another process.
 *
 *   make resume
 *   ./resume state        # the first half; leaves the file `state`
 *   ./resume state        # the second half, and a run that was never stopped beside it
 *
 * Between two steps a solver's state is a row of doubles. Restored into a new solver of the same
 * problem and settings it goes on with the same bits.
 */
#include <hvi/hvi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 400 };

/* The same in both processes: only then does the state mean something. */
static hvi_status make(hvi_problem **game, hvi_solver **solver, hvi_error *err) {
  hvi_settings s = hvi_method_settings("lm");
  s.inner.damping = 0.02;
  s.tol = 1e-7;
  const hvi_status status = hvi_builtin_new(game, "pennies", NULL, 0, 1, 0, err);
  return status ? status : hvi_solver_new(solver, *game, &s, err);
}

/* Under another name first, so that the file is whole or not there. */
static int save(const hvi_solver *solver, const char *path) {
  const size_t count = hvi_solver_state(solver);
  double *state = malloc(count * sizeof *state);
  char temporary[4096];
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  FILE *file = state ? fopen(temporary, "wb") : NULL;
  if (!file) return free(state), perror(path), 1;
  hvi_solver_save(solver, state);
  const int short_write = fwrite(state, sizeof *state, count, file) != count;
  free(state);
  if (fclose(file) != 0 || short_write || rename(temporary, path) != 0) return perror(path), 1;
  return 0;
}

static int restore(hvi_solver *solver, FILE *file) {
  const size_t count = hvi_solver_state(solver);
  double *state = malloc(count * sizeof *state);
  hvi_error err = {HVI_OK, "the file is of another solve"};
  const int right = state && fread(state, sizeof *state, count, file) == count &&
                    fgetc(file) == EOF && hvi_solver_restore(solver, state, &err) == HVI_OK;
  if (!right) puts(err.text);
  free(state);
  return !right;
}

/* Straight through, for comparison. */
static int same_as_unstopped(const hvi_info *resumed, size_t d) {
  hvi_problem *game = NULL;
  hvi_solver *solver = NULL;
  if (make(&game, &solver, NULL)) return 0;
  hvi_solver_run(solver);
  const hvi_info whole = hvi_solver_info(solver);
  const int same = memcmp(whole.last.theta, resumed->last.theta, d * sizeof(double)) == 0;
  hvi_solver_free(solver);
  hvi_problem_free(game);
  return same;
}

static int second_half(hvi_solver *solver, FILE *file, size_t d) {
  if (restore(solver, file)) return 1;
  printf("goes on after %zu outer steps\n", hvi_solver_info(solver).last.outer);
  hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  printf("%s (%s) after %zu outer steps, residual %.3e\n", hvi_outcome_name(info.outcome),
         info.reason, info.last.outer, info.last.residual);
  printf("a run that was never stopped ends in %s\n",
         same_as_unstopped(&info, d) ? "the same bits" : "other bits");
  return 0;
}

static int first_half(hvi_solver *solver, const char *path) {
  for (int t = 0; t < HALF; t++)
    if (hvi_solver_step(solver) != HVI_RUNNING) return puts("it ended before it was stopped"), 1;
  if (save(solver, path)) return 1;
  printf("saved after %d outer steps, residual %.3e\n", HALF,
         hvi_solver_info(solver).last.residual);
  return 0;
}

int main(int argc, char **argv) {
  hvi_problem *game = NULL;
  hvi_solver *solver = NULL;
  hvi_error err;
  if (argc != 2) return fprintf(stderr, "usage: %s FILE\n", argv[0]), 2;
  if (make(&game, &solver, &err)) return puts(err.text), 1;
  FILE *file = fopen(argv[1], "rb");
  const int failed =
      file ? second_half(solver, file, game->model->dim) : first_half(solver, argv[1]);
  if (file) fclose(file);
  hvi_solver_free(solver);
  hvi_problem_free(game);
  return failed;
}
