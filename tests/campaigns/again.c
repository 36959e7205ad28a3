/* again SECONDS: solves one built-in problem after the other by several methods, from new to free. */
#include <hvi/hvi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int solve(const char *name, const char *method) {
  hvi_problem *p = NULL;
  hvi_solver *solver = NULL;
  hvi_error err;
  if (hvi_builtin_new(&p, name, NULL, 0, 0, 0, &err)) return puts(err.text), 1;
  hvi_settings s = hvi_settings_defaults();
  int failed = !hvi_method_apply(&s, method, NULL);
  s.max_outer = 20;
  failed = failed || hvi_solver_new(&solver, p, &s, &err);
  if (!failed) hvi_solver_run(solver);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return failed;
}

int main(int argc, char **argv) {
  static const char *const problems[] = {"pennies", "rps", "quadratic"};
  static const char *const methods[] = {"auto", "lm", "adam", "phgd"};
  const time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 1);
  long count = 0;
  for (; time(NULL) < end; count++)
    if (solve(problems[count % 3], methods[count / 3 % 4])) return 1;
  return printf("again: %ld solves in one process\n", count) < 0;
}
