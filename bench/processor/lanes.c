/* 1,000 random games side by side, one thread: nanoseconds per outer step and game.
 * scripts/bench-processor.sh builds it for several numbers of lanes. */
#include <hvi/builtin.h>
#include <hvi/ensemble.h>
#include <hvi/solver.h>

#include <math.h>
#include <stdio.h>

static hvi_status make(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  return hvi_builtin_new(p, context, NULL, 0, 1, index + 1, err);
}

int main(void) {
  static const struct {
    const char *game, *method;
    size_t inner;
  } rows[] = {{"pennies", "gd", 1}, {"pennies", "gd", 10}, {"pennies", "lm", 1}, {"rps", "gd", 1}};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    hvi_settings s = hvi_method_settings("gd");
    hvi_error err = {0};
    double best = INFINITY;
    hvi_method_apply(&s, rows[k].method, NULL);
    s.inner_steps = rows[k].inner;
    s.eta = 0.1;
    s.max_outer = 1000;
    s.stall_window = 0;
    const hvi_ensemble_settings e = {.count = 1000, .threads = 1, .record_every = 1000};
    for (int r = 0; r < 20; r++) {
      hvi_ensemble *out;
      if (hvi_ensemble_run(&out, make, (void *)rows[k].game, &s, &e, &err)) return 1;
      best = fmin(best, out->seconds);
      hvi_ensemble_free(out);
    }
    printf("  %s %s(%zu) %.2f", rows[k].game, rows[k].method, rows[k].inner, 1e3 * best);
  }
  printf("\n");
  return 0;
}
