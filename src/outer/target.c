/*
 * The target of a surrogate, frozen for the inner loop.
 *
 *   plain        v = z_t - eta Xi^-1 F_t
 *   optimistic   v = z_t - eta Xi^-1 (2 F_t - F_{t-1})
 *   averaged     v = the mean of the last tau plain targets
 *   accelerated  v = z' - eta Xi^-1 F(z'),  z' being z_t corrected (accelerate_*.c)
 *
 * F_{t-1} and the earlier targets are those of the earlier iterates on the current sample. An
 * output of weight zero keeps <eta F, z - z_t> as it is, with v = z_t.
 */
#include "num/vec.h"
#include "outer/solver.h"

static double step_size(const hvi_solver *s, size_t i) {
  const hvi_model *m = s->problem->model;
  size_t k = 0;
  while (s->settings.player_eta && i >= m->blocks[k].z + m->blocks[k].out) k++;
  return s->shrink * s->eta[k];
}

/* v[out] of a block from outputs z and operator f */
static void plain(const hvi_solver *s, const hvi_block *b, const double *z, const double *f,
                  double *v) {
  const double *w = s->problem->weights ? s->problem->weights + b->z : NULL;
  const bool by_player = s->settings.player_eta;
  const double eta = s->shrink * s->eta[0];
  if (!w && !by_player) {
    for (size_t i = 0; i < b->out; i++) v[i] = z[i] - eta * f[i];
    return;
  }
  for (size_t i = 0; i < b->out; i++) {
    const double step = by_player ? step_size(s, b->z + i) : eta;
    v[i] = !w ? z[i] - step * f[i] : w[i] > 0.0 ? z[i] - step * f[i] / w[i] : z[i];
  }
}

static void optimistic(hvi_solver *s, const hvi_block *b, double *v) {
  const double *f = s->f + b->z, *before = hvi_past_f(s, 1) + b->z;
  double *used = s->projected + b->z; /* free until the floor is looked for */
  for (size_t i = 0; i < b->out; i++) used[i] = 2.0 * f[i] - before[i];
  plain(s, b, s->z + b->z, used, v);
}

static void averaged(hvi_solver *s, const hvi_block *b, double *v) {
  const size_t known = hvi_past_count(s), most = s->settings.average - 1;
  const size_t others = known < most ? known : most;
  double *one = s->projected + b->z;
  plain(s, b, s->z + b->z, s->f + b->z, v);
  for (size_t k = 1; k <= others; k++) {
    plain(s, b, hvi_past_z(s, k) + b->z, hvi_past_f(s, k) + b->z, one);
    hvi_vec_add(v, 1.0, one, b->out);
  }
  hvi_vec_scale(v, 1.0 / (double)(others + 1), b->out);
}

static void set_linear(const hvi_solver *s, const hvi_block *b, const double *f, double *linear) {
  const double *w = s->problem->weights + b->z;
  for (size_t i = 0; i < b->out; i++) linear[i] = w[i] > 0.0 ? 0.0 : step_size(s, b->z + i) * f[i];
}

/* z' and F(z') */
static void accelerate(hvi_solver *s) {
  const size_t n = s->problem->model->out;
  hvi_vec_copy(s->moved_z, s->z, n);
  hvi_vec_copy(s->moved_f, s->f, n);
  if (s->problem->ops->slow_mode) hvi_solver_correct_mode(s);
  if (s->settings.accelerate == HVI_ACCELERATE_ANDERSON) hvi_solver_correct_anderson(s);
}

void hvi_solver_set_target(hvi_solver *s, hvi_turn *turn) {
  hvi_surrogate *l = &turn->room.l;
  const hvi_block *b = &turn->block;
  const double *z = s->z + b->z, *f = s->f + b->z;
  hvi_past_renew(s);
  if (s->settings.accelerate) {
    accelerate(s);
    z = s->moved_z;
    f = s->moved_f;
  }
  if (s->settings.target == HVI_TARGET_OPTIMISTIC && hvi_past_count(s) > 0) {
    optimistic(s, b, l->target);
  } else if (s->settings.target == HVI_TARGET_AVERAGED) {
    averaged(s, b, l->target);
  } else {
    plain(s, b, z, f, l->target);
  }
  if (l->linear) set_linear(s, b, f, l->linear);
  hvi_past_keep(s, turn);
  hvi_surrogate_freeze(l);
}
