/*
 * An inner optimizer of one's own, Barzilai and Borwein's: steps along the gradient whose length
 * comes from the last step s and the change y of the gradient,
 *
 *   theta <- theta - (<s, s> / <s, y>) g,      where <s, y> > 0; a short step otherwise
 *
 * A solver hands it one surrogate after the other and asks for steps until the loss has fallen by
 * alpha^2. It is compared with plain gradient descent on a hidden game.
 *
 *   make optimizer && ./optimizer
 */
#include <hvi/hvi.h>

#include <stdio.h>
#include <string.h>

/* What is remembered, as one row of doubles: whether there is a past, theta[d] and g[d] of it. The
 * solver allocates it once; no step allocates anything. */
static size_t bb_state(const hvi_optimizer_settings *s, const hvi_model *m) {
  (void)s;
  return 1 + 2 * m->dim;
}

/* A new target is another function: its gradients are not to be compared with those before. */
static void bb_reset(const hvi_optimizer_settings *s, const hvi_model *m, double *state) {
  (void)s, (void)m;
  state[0] = 0.0;
}

static double length(const hvi_optimizer_settings *s, const double *state, const double *theta,
                     const double *g, size_t d) {
  const double *theta_before = state + 1, *g_before = state + 1 + d;
  double ss = 0.0, sy = 0.0;
  if (state[0] == 0.0) return s->lr;
  for (size_t i = 0; i < d; i++) {
    const double step = theta[i] - theta_before[i];
    ss += step * step;
    sy += step * (g[i] - g_before[i]);
  }
  return sy > 0.0 ? ss / sy : s->lr;
}

/* One step: read `now`, write `next`, probe it, and accept it if it is to count. */
static bool bb_step(const hvi_optimizer_settings *s, double *state, hvi_surrogate *l) {
  const size_t d = l->model->dim;
  const double *g = hvi_surrogate_gradient(l), *theta = l->now->theta;
  double h = length(s, state, theta, g, d);
  const double before = l->now->loss;
  state[0] = 1.0;
  memcpy(state + 1, theta, d * sizeof *theta);
  memcpy(state + 1 + d, g, d * sizeof *g);
  for (int halvings = 0; halvings < 30; halvings++, h /= 2) {
    for (size_t i = 0; i < d; i++) l->next->theta[i] = theta[i] - h * g[i];
    if (hvi_surrogate_probe(l) > before) continue;
    hvi_surrogate_accept(l);
    return true;
  }
  return false; /* no further progress: the loop ends where it stands */
}

static const hvi_optimizer barzilai_borwein = {
    "bb", "gradient steps of Barzilai and Borwein's length", bb_state, bb_reset, bb_step};

static int run(const hvi_problem *game, hvi_settings s, const hvi_optimizer *optimizer) {
  hvi_solver *solver = NULL;
  hvi_error err;
  s.optimizer = optimizer;
  s.eta = 0.05;
  s.alpha = 0.1;         /* the loss of each surrogate falls by 100, */
  s.inner_steps = 10000; /* or so many steps are taken */
  s.inner.lr = 3.0;
  s.max_outer = 10000;
  s.tol = 1e-6;
  if (hvi_solver_new(&solver, game, &s, &err)) return puts(err.text), 1;
  hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  printf("%-3s %s after %zu outer and %zu inner steps, %zu gradients\n", optimizer->name,
         hvi_outcome_name(info.outcome), info.last.outer, info.inner_total,
         info.last.counts.grad_evals);
  hvi_solver_free(solver);
  return 0;
}

int main(void) {
  hvi_problem *game = NULL;
  hvi_error err;
  if (hvi_builtin_new(&game, "rps", NULL, 0, 1, 0, &err)) return puts(err.text), 1;
  const hvi_settings s = hvi_method_settings("gd"); /* its loop; the optimizer is set above */
  const int failed = run(game, s, s.optimizer) || run(game, s, &barzilai_borwein);
  hvi_problem_free(game);
  return failed;
}
