/*
 * Matrix-free: LSMR on J v and J'u of the whole model, damped by sqrt(lambda). Started at zero it
 * tends to the minimum-norm solution, so no cut-off is needed. State: {sqrt(Xi) r[n] | room[n] |
 * LSMR's}.
 */
#include "inner/least_squares_forms.h"

#include "num/lsmr.h"
#include "num/vec.h"

#include <math.h>

static size_t state_size(const hvi_model *m) { return hvi_lsmr_work(m->out, m->dim) + 2 * m->out; }

/* sqrt(Xi) J as a linear map; `room` holds n doubles. */
typedef struct jacobian_map {
  hvi_surrogate *l;
  double *room;
} jacobian_map;

static void apply(void *context, const double *x, double *y) {
  const jacobian_map *map = context;
  hvi_surrogate *l = map->l;
  l->model->ops->jvp(l->model, l->now->cache, l->now->theta, x, y);
  for (size_t i = 0; l->weights && i < l->model->out; i++) y[i] *= sqrt(l->weights[i]);
  l->counts->model_passes++;
}

static void apply_t(void *context, const double *y, double *x) {
  const jacobian_map *map = context;
  hvi_surrogate *l = map->l;
  for (size_t i = 0; l->weights && i < l->model->out; i++)
    map->room[i] = sqrt(l->weights[i]) * y[i];
  l->model->ops->vjp(l->model, l->now->cache, l->now->theta, l->weights ? map->room : y, x);
  l->counts->grad_evals++;
}

static bool solve(const hvi_linear_step *step) {
  const hvi_optimizer_settings *s = step->settings;
  hvi_surrogate *l = step->l;
  const double *residual = step->residual;
  const size_t n = l->model->out, d = l->model->dim;
  double *state = step->state;
  double *r = state, *work = state + 2 * n;
  jacobian_map map = {l, state + n};
  const hvi_linear_map J = {n, d, apply, apply_t, &map};
  for (size_t i = 0; i < n; i++) r[i] = residual[i] * (l->weights ? sqrt(l->weights[i]) : 1.0);
  const size_t most = s->linear_iters ? s->linear_iters : 4 * (n + d);
  /* beyond the rounding of its products there is nothing to gain */
  const double tol = fmax(s->linear_tol, l->model->noise);
  hvi_lsmr_solve(step->delta, &J, r, sqrt(step->lambda), tol, most, work);
  return hvi_vec_finite(step->delta, d);
}

const hvi_linear_form hvi_linear_matrix_free = {state_size, solve};
