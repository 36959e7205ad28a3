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
#include "num/vec.h"
#include "problems/mdp/mdp.h"
#include "problems/mdp/trajectory.h"
#include "vi/sets.h"

/* Up to here F is also written out as a matrix. */
enum { AFFINE_STATES = 2000 };

/* The model; it borrows the process. */
typedef struct linear {
  hvi_model base;
  const hvi_mdp *mdp;
  hvi_block *blocks; /* [block_count] */
} linear;

typedef struct evaluation {
  hvi_problem base;
  hvi_problem_ops ops; /* which of the optional ones there are depends on the size */
  linear model;
  hvi_mdp *mdp;          /* owned */
  double *solution;      /* [n] this and the next two: one block */
  double *mode, *mode_f; /* [n] the slow mode, and F's change along it */
  hvi_set set;
} evaluation;

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  (void)cache;
  hvi_mdp_values(((const linear *)m)->mdp, theta, z);
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  const hvi_mdp *mdp = ((const linear *)m)->mdp;
  (void)cache, (void)theta;
  if (mdp->phi)
    hvi_dense_mul_t(out, mdp->phi, u, mdp->n, mdp->d);
  else
    hvi_vec_copy(out, u, mdp->n);
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  (void)theta;
  eval(m, cache, v, out);
}

/* The weights are those of the law, and D is known. */
static void gram(const hvi_model *m, const double *weights, double *G) {
  const hvi_mdp *mdp = ((const linear *)m)->mdp;
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

/* One state of a tabular model. */
static void copy_one(const hvi_model *m, double *cache, const double *theta, double *z) {
  (void)m, (void)cache;
  z[0] = theta[0];
}

static void multiply_one(const hvi_model *m, double *cache, const double *theta, const double *u,
                         double *out) {
  (void)m, (void)cache, (void)theta;
  out[0] = u[0];
}

static const hvi_model_ops one_ops = {
    .name = "state", .eval = copy_one, .vjp = multiply_one, .jvp = multiply_one};
static const hvi_block one_block = {.dim = 1, .out = 1};
static const hvi_model one_state = {
    .ops = &one_ops, .dim = 1, .out = 1, .block_count = 1, .blocks = &one_block};

static const hvi_model *state_alone(const hvi_model *m, size_t k) {
  (void)m, (void)k;
  return &one_state;
}

static const hvi_model_ops features_ops = {
    .name = "linear values", .eval = eval, .vjp = vjp, .jvp = jvp, .gram = gram};
static const hvi_model_ops tabular_ops = {
    .name = "tabular values", .eval = eval, .vjp = vjp, .jvp = jvp, .player = state_alone};

static hvi_status make_model(linear *l, const hvi_mdp *mdp, hvi_error *err) {
  const size_t blocks = mdp->phi ? 1 : mdp->n;
  l->mdp = mdp;
  l->blocks = hvi_alloc(blocks, sizeof *l->blocks);
  if (!l->blocks) return hvi_error_memory(err, "a linear model");
  for (size_t k = 0; k < blocks; k++)
    l->blocks[k] = (hvi_block){.theta = k, .dim = mdp->d / blocks, .z = k, .out = mdp->n / blocks};
  l->base = (hvi_model){.ops = mdp->phi ? &features_ops : &tabular_ops,
                        .dim = mdp->d,
                        .out = mdp->n,
                        .block_count = blocks,
                        .blocks = l->blocks};
  return HVI_OK;
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

/* z' = argmin 1/2 |z' - T z|^2: the gradient moves by gamma P, of norm at most gamma with Xi. */
static void sensitivity(const hvi_problem *p, double *beta, double *mu) {
  *beta = ((const evaluation *)p)->mdp->gamma;
  *mu = 1.0;
}

static void free_evaluation(hvi_problem *p) {
  evaluation *e = (evaluation *)p;
  hvi_mdp_free(e->mdp);
  hvi_free(e->model.blocks);
  hvi_free(e->solution);
  hvi_free(e);
}

/* The constant, as far as the features can show it: u = Pi 1, and Xi (u - gamma P u). At the
 * projected fixed point F is orthogonal to u, and to 1 only if that is among the values. */
static hvi_status find_mode(evaluation *e, hvi_error *err) {
  const hvi_mdp *m = e->mdp;
  double *theta = hvi_alloc_doubles(m->d);
  if (!theta) return hvi_error_memory(err, "a slow mode");
  for (size_t i = 0; i < m->n; i++) e->mode_f[i] = 1.0;
  const hvi_status status = hvi_mdp_project(m, e->mode_f, theta, err);
  if (!status) hvi_mdp_values(m, theta, e->mode);
  hvi_free(theta);
  hvi_mdp_transit(e->mode_f, m, e->mode);
  for (size_t i = 0; i < m->n; i++)
    e->mode_f[i] = m->law[i] * (e->mode[i] - m->gamma * e->mode_f[i]);
  return status;
}

static hvi_status fill(evaluation *e, hvi_error *err) {
  const hvi_mdp *m = e->mdp;
  e->ops = (hvi_problem_ops){.name = "bellman",
                             .operate = operate,
                             .affine = m->n <= AFFINE_STATES ? affine : NULL,
                             .slow_mode = slow_mode,
                             .dist2 = dist2,
                             .sensitivity = sensitivity,
                             .constants = m->phi ? constants : NULL,
                             .free = free_evaluation};
  e->base = (hvi_problem){.ops = &e->ops,
                          .model = &e->model.base,
                          .theta0 = m->theta0,
                          .weights = m->law,
                          .eta = 1.0,
                          .set_count = 1,
                          .sets = &e->set};
  HVI_TRY(make_model(&e->model, m, err));
  e->set = (hvi_set){
      .kind = HVI_SET_SUBSPACE, .len = m->n, .basis = m->phi, .mix = m->mix, .rank = m->d};
  /* with as many features as states every value function can be reached */
  if (m->d == m->n) e->set = (hvi_set){.kind = HVI_SET_FREE, .len = m->n};
  e->base.solution = e->solution = hvi_alloc_doubles(3 * m->n);
  if (!e->solution) return hvi_error_memory(err, "a solution");
  e->mode = e->solution + m->n;
  e->mode_f = e->mode + m->n;
  hvi_mdp_values(m, m->fixed_point, e->solution);
  return find_mode(e, err);
}

hvi_status hvi_mdp_problem_new(hvi_problem **problem, hvi_mdp *mdp, hvi_error *err) {
  if (!problem || !mdp) {
    hvi_mdp_free(mdp);
    return hvi_error_argument(err, "hvi_mdp_problem_new: a null pointer");
  }
  *problem = NULL;
  evaluation *e = hvi_alloc(1, sizeof *e);
  if (!e) {
    hvi_mdp_free(mdp);
    return hvi_error_memory(err, "a problem");
  }
  e->mdp = mdp;
  const hvi_status status = fill(e, err);
  if (status) {
    free_evaluation(&e->base);
    return status;
  }
  *problem = &e->base;
  return HVI_OK;
}

const hvi_mdp *hvi_mdp_of(const hvi_problem *p) {
  if (!p) return NULL;
  if (p->ops->operate == operate) return ((const evaluation *)p)->mdp;
  const hvi_trajectory *t = hvi_trajectory_of(p);
  return t ? t->mdp : NULL;
}
