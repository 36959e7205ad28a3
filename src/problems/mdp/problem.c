/*
 * The projected Bellman error as a variational inequality over all states.
 *
 *   z = Phi theta,   F(z) = Xi (z - r - gamma P z),   Z = range of Phi,   in the norm of Xi
 *
 * The solution is z* = Pi T z*, the projected fixed point. With eta = 1 the target is T z_t.
 * Tabular, every state is a player with one parameter: J is diagonal, and no step decomposes it.
 */
#include "base/base.h"
#include "num/dense.h"
#include "problems/mdp/mdp.h"
#include "problems/mdp/trajectory.h"
#include "vi/sets.h"

/* Up to here F is also written out as a matrix. */
enum { AFFINE_STATES = 2000 };

typedef struct evaluation {
  hvi_single one;
  hvi_problem_ops ops;   /* which of the optional ones there are depends on the size */
  hvi_mdp *mdp;          /* owned */
  double *solution;      /* [n] this and the next two: one block */
  double *mode, *mode_f; /* [n] the slow mode, and F's change along it */
} evaluation;

static const hvi_mdp *mdp_of(const hvi_model *m) {
  return ((const evaluation *)hvi_single_of(m))->mdp;
}

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  (void)cache;
  hvi_mdp_values(mdp_of(m), theta, z);
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  (void)cache, (void)theta;
  hvi_dense_mul_t(out, mdp_of(m)->phi, u, m->out, m->dim);
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  (void)theta;
  eval(m, cache, v, out);
}

/* The weights are those of the law, and D is known. */
static void gram(const hvi_model *m, const double *weights, double *G) {
  const hvi_mdp *mdp = mdp_of(m);
  if (weights == mdp->law) {
    hvi_vec_copy(G, mdp->gram, mdp->d * mdp->d);
    return;
  }
  hvi_vec_zero(G, mdp->d * mdp->d);
  for (size_t i = 0; i < mdp->n; i++) {
    const double *row = mdp->phi + i * mdp->d, w = weights ? weights[i] : 1.0;
    for (size_t j = 0; j < mdp->d; j++) hvi_vec_add(G + j * mdp->d, w * row[j], row, mdp->d);
  }
}

/* Tabular: of all states, or of one. */
static void copy(const hvi_model *m, double *cache, const double *theta, double *z) {
  (void)cache;
  hvi_vec_copy(z, theta, m->dim);
}

static void copy_product(const hvi_model *m, double *cache, const double *theta, const double *u,
                         double *out) {
  (void)theta;
  copy(m, cache, u, out);
}

static const hvi_model *state_alone(const hvi_model *m, size_t k);
static const hvi_model_ops features_ops = {
    .name = "linear values", .eval = eval, .vjp = vjp, .jvp = jvp, .gram = gram};
static const hvi_model_ops tabular_ops = {.name = "tabular values",
                                          .eval = copy,
                                          .vjp = copy_product,
                                          .jvp = copy_product,
                                          .player = state_alone};

static const hvi_model *state_alone(const hvi_model *m, size_t k) {
  static const hvi_block block = {.dim = 1, .out = 1};
  static const hvi_model one = {
      .ops = &tabular_ops, .dim = 1, .out = 1, .block_count = 1, .blocks = &block};
  (void)m, (void)k;
  return &one;
}

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  const hvi_mdp *m = ((const evaluation *)p)->mdp;
  (void)sample, (void)theta;
  hvi_mdp_transit(f, m, z);
  for (size_t i = 0; i < m->n; i++) f[i] = m->law[i] * (z[i] - m->reward[i] - m->gamma * f[i]);
}

/* A = Xi (I - gamma P), b = -Xi r */
static void affine(const hvi_problem *p, double *A, double *b) {
  const hvi_mdp *m = ((const evaluation *)p)->mdp;
  hvi_vec_zero(A, m->n * m->n);
  for (size_t i = 0; i < m->n; i++) {
    const hvi_mdp_row row = hvi_mdp_row_of(m, i);
    double *to = A + i * m->n;
    for (size_t k = 0; k < row.count; k++)
      to[hvi_mdp_column(&row, k)] += -m->law[i] * m->gamma * row.value[k];
    to[i] += m->law[i];
    b[i] = -m->law[i] * m->reward[i];
  }
}

static double dist2(const hvi_problem *p, const double *theta) {
  const hvi_mdp *m = ((const evaluation *)p)->mdp;
  return hvi_mdp_distance2(m, theta, m->fixed_point);
}

/* In the norm of Xi on the range of Phi. */
static hvi_status constants(const hvi_problem *p, hvi_constants *c, hvi_error *err) {
  const hvi_mdp *m = ((const evaluation *)p)->mdp;
  return hvi_matrix_constants(c, m->reduced, m->d, err);
}

static void slow_mode(const hvi_problem *p, const void *sample, double *u, double *df,
                      double *test) {
  const evaluation *e = (const evaluation *)p;
  (void)sample;
  hvi_vec_copy(u, e->mode, e->mdp->n);
  hvi_vec_copy(test, e->mode, e->mdp->n);
  hvi_vec_copy(df, e->mode_f, e->mdp->n);
}

/* All parameters; exactly. */
static size_t modes(const hvi_problem *p, size_t *work) {
  *work = 0;
  return p->model->dim;
}

/* Phi' Xi (I - gamma P) Phi c = Phi' Xi (r - (I - gamma P) Phi theta) */
static size_t equations(const hvi_problem *p, const void *sample, const double *theta,
                        const hvi_modes_settings *s, hvi_modes *e) {
  const hvi_mdp *m = ((const evaluation *)p)->mdp;
  const size_t d = m->d;
  (void)sample, (void)s;
  hvi_vec_zero(e->G, d * d);
  if (m->phi) {
    hvi_vec_copy(e->half[0].A, m->C, d * d);
    hvi_vec_copy(e->half[0].b, m->b, d);
    hvi_vec_copy(e->G, m->gram, d * d);
  } else {
    affine(p, e->half[0].A, e->half[0].b);
    hvi_vec_scale(e->half[0].b, -1.0, d);
    for (size_t j = 0; j < d; j++) e->G[j * d + j] = m->law[j];
  }
  for (size_t j = 0; j < d; j++) e->half[0].b[j] -= hvi_vec_dot(e->half[0].A + j * d, theta, d);
  return 0;
}

/* z' = argmin 1/2 |z' - T z|^2: the gradient moves by gamma P, of norm at most gamma with Xi. */
static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  *beta = ((const evaluation *)p)->mdp->gamma;
  *mu = 1.0;
}

static void free_evaluation(hvi_problem *p) {
  hvi_mdp_free(((evaluation *)p)->mdp);
  hvi_single_free(p);
}

/* The constant, as far as the features can show it: u = Pi 1, and Xi (u - gamma P u). At the
 * projected fixed point F is orthogonal to u, and to 1 only if that is among the values. */
static hvi_status find_mode(evaluation *e, hvi_error *err) {
  const hvi_mdp *m = e->mdp;
  HVI_NEW(double, theta, m->d, "a slow mode", err);
  for (size_t i = 0; i < m->n; i++) e->mode_f[i] = 1.0;
  HVI_TRY(hvi_mdp_project(m, e->mode_f, theta, err));
  hvi_mdp_values(m, theta, e->mode);
  hvi_mdp_transit(e->mode_f, m, e->mode);
  for (size_t i = 0; i < m->n; i++)
    e->mode_f[i] = m->law[i] * (e->mode[i] - m->gamma * e->mode_f[i]);
  return HVI_OK;
}

static hvi_status fill(evaluation *e, hvi_error *err) {
  const hvi_mdp *m = e->mdp;
  const size_t n = m->n;
  e->ops = (hvi_problem_ops){.name = "bellman",
                             .operate = operate,
                             .affine = n <= AFFINE_STATES ? affine : NULL,
                             .slow_mode = slow_mode,
                             .modes = modes,
                             .equations = equations,
                             .dist2 = dist2,
                             .sensitivity = sensitivity,
                             .constants = m->phi ? constants : NULL,
                             .free = free_evaluation};
  hvi_single_init(&e->one, &e->ops, m->phi ? &features_ops : &tabular_ops, m->d, n, 0);
  HVI_TRY(hvi_new_arrays("a problem", err, {&e->solution, n}, {&e->mode, n}, {&e->mode_f, n}));
  e->one.owned[0] = e->solution;
  if (!m->phi) {
    hvi_block *blocks = e->one.owned[1] = hvi_alloc(n, sizeof *blocks);
    if (!blocks) return hvi_error_memory(err, "a linear model");
    for (size_t k = 0; k < n; k++) blocks[k] = (hvi_block){k, 1, k, 1, 0};
    e->one.model.blocks = blocks;
    e->one.model.block_count = n;
  }
  /* with as many features as states every value function can be reached */
  if (m->d < n)
    e->one.set =
        (hvi_set){.kind = HVI_SET_SUBSPACE, .len = n, .basis = m->phi, .mix = m->mix, .rank = m->d};
  e->one.base.theta0 = m->theta0;
  e->one.base.weights = m->law;
  e->one.base.solution = e->solution;
  hvi_mdp_values(m, m->fixed_point, e->solution);
  return find_mode(e, err);
}

hvi_status hvi_mdp_problem_new(hvi_problem **problem, hvi_mdp *mdp, hvi_error *err) {
  HVI_OWN_BY(hvi_mdp_release) hvi_mdp *own = mdp;
  if (!problem || !mdp) return hvi_error_argument(err, "hvi_mdp_problem_new: a null pointer");
  evaluation *e = hvi_alloc(1, sizeof *e);
  *problem = NULL;
  if (!e) return hvi_error_memory(err, "a problem");
  e->mdp = mdp;
  own = NULL;
  return hvi_problem_settle(problem, &e->one.base, fill(e, err));
}

const hvi_mdp *hvi_mdp_of(const hvi_problem *p) {
  if (!p) return NULL;
  if (p->ops->operate == operate) return ((const evaluation *)p)->mdp;
  const hvi_trajectory *t = hvi_trajectory_of(p);
  return t ? t->mdp : NULL;
}
