/*
 * Temporal differences with a network, for comparison with the surrogate. Over a batch of N
 * transitions, with J the Jacobian of V_theta(s), J' that of V_theta(s'), h the step size in force
 * and delta = r + gamma f V_theta(s') - V_theta(s),
 *
 *   td-target          theta += h/N J^T (r + gamma f V_target(s') - V_theta(s)),
 *                      target += rate (theta - target), or = theta every so many steps
 *   residual-gradient  theta += h/N (J - gamma f J')^T delta
 *   tdc                theta += h/N (J^T delta - gamma J'^T (f J w)),  w += h_2/N J^T (delta - J w)
 *   tdrc               likewise, and w += h_2 (... - w)
 *
 * with h_2 = second_rate h. The second weights w are those of the linear method on the features
 * grad V(s); the term with second derivatives that TDC has for networks (Bhatnagar et al., 2009) is
 * left out, as is usual. TDRC's regulariser is 1 (Ghiassian et al., 2020). The residual gradient
 * uses the successor of the sample twice, and so has another limit: docs/linear.md.
 *
 * With `adam`, theta and w move by Adam's rule (0.9, 0.999, 1e-8) along these directions.
 */
#include "base/base.h"
#include "model/mlp.h"
#include "num/adam.h"
#include "num/vec.h"
#include "problems/value/value.h"

/* A rule's state, taken apart: its workspace at a step. */
typedef struct workspace {
  const hvi_value *v;
  const hvi_value_sample *s;
  const hvi_model *m;
  size_t n;
  double *head;           /* {steps so far, 0.9^k and 0.999^k} */
  double *second;         /* [d] the target network, or w */
  double *moments[2];     /* [2 d] Adam's, of theta and of w */
  double *step, *other;   /* [d] directions */
  double *z, *next;       /* [n] V(s) and V(s') */
  double *u, *delta;      /* [n] */
  double *cache, *beyond; /* the model's, for s and for s' */
  float *x;               /* [n][obs] successors, scaled */
} workspace;

static void lay_out(workspace *k, const hvi_value *v, hvi_arena *arena) {
  const hvi_model *m = v->one.base.model;
  const size_t d = m->dim, n = m->out;
  double *x;
  const hvi_array_slot pieces[] = {{&k->head, 3},
                                   {&k->second, d},
                                   {&k->moments[0], 2 * d},
                                   {&k->moments[1], 2 * d},
                                   {&k->step, d},
                                   {&k->other, d},
                                   {&k->z, n},
                                   {&k->next, n},
                                   {&k->u, n},
                                   {&k->delta, n},
                                   {&k->cache, m->cache},
                                   {&k->beyond, m->cache},
                                   {&x, (n * v->obs + 1) / 2}};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    *pieces[i].at = hvi_arena_take(arena, pieces[i].size);
  k->v = v, k->m = m, k->n = n;
  k->x = (float *)(void *)x;
}

static size_t workspace_size(const hvi_problem *p) {
  hvi_arena arena = {0};
  workspace k;
  lay_out(&k, (const hvi_value *)p, &arena);
  return arena.used;
}

/* Up to the moments. */
static size_t kept_size(const hvi_problem *p) {
  const size_t d = p->model->dim;
  return hvi_arena_need(3) + hvi_arena_need(d) + 2 * hvi_arena_need(2 * d);
}

/* The state at this step, with V(s). */
static workspace begin_step(const hvi_problem *p, const void *sample, double *state,
                            const double *theta) {
  hvi_arena arena = {.base = state, .size = workspace_size(p)};
  workspace k;
  lay_out(&k, (const hvi_value *)p, &arena);
  k.s = sample;
  if (k.head[0] == 0.0) k.head[1] = k.head[2] = 1.0;
  k.m->ops->bind(k.m, k.cache, k.s);
  k.m->ops->eval(k.m, k.cache, theta, k.z);
  return k;
}

/* V(s') with what its gradient needs. */
static void eval_successors(const workspace *k, const double *theta) {
  const hvi_value *v = k->v;
  for (size_t i = 0; i < k->n; i++)
    hvi_value_scale_state(v, k->x + i * v->obs, v->spec.data->next + k->s->row[i] * v->obs);
  const hvi_mlp_batch batch = {.x = k->x, .rows = k->n};
  hvi_mlp_bind(k->m, k->beyond, &batch, HVI_DEVICE_OWN);
  k->m->ops->eval(k->m, k->beyond, theta, k->next);
}

/* gamma f */
static double discount(const workspace *k, size_t i) {
  return k->v->spec.data->terminated[k->s->row[i]] ? 0.0 : k->v->spec.gamma;
}

/* delta from z and next, over N */
static void find_delta(const workspace *k) {
  const float *reward = k->v->spec.data->reward;
  for (size_t i = 0; i < k->n; i++) {
    const double y = (double)reward[k->s->row[i]] + discount(k, i) * k->next[i];
    k->delta[i] = (y - k->z[i]) / (double)k->n;
  }
}

/* x += h g, or Adam's step that way */
static void ascend(const hvi_rule_settings *s, const workspace *k, double *x, const double *g,
                   double h, double *moments) {
  const size_t d = k->m->dim;
  if (!s->adam) {
    hvi_vec_add(x, h, g, d);
    return;
  }
  const hvi_adam_rates rates = {.beta1 = 0.9,
                                .beta2 = 0.999,
                                .epsilon = 1e-8,
                                .rate = -h / (1.0 - k->head[1]),
                                .scale = 1.0 / (1.0 - k->head[2]),
                                .keep = 1.0};
  hvi_adam_update(x, moments, moments + d, g, &rates, d);
}

/* theta's own step, the first of those that a step takes. */
static void step_theta(const hvi_rule_settings *s, const workspace *k, double *theta, double eta) {
  k->head[0] += 1.0;
  k->head[1] *= 0.9;
  k->head[2] *= 0.999;
  ascend(s, k, theta, k->step, eta, k->moments[0]);
}

static void td_target(const hvi_rule_settings *s, const hvi_problem *p, const void *sample,
                      double eta, double *state, double *theta) {
  const workspace k = begin_step(p, sample, state, theta);
  if (k.head[0] == 0.0) hvi_vec_copy(k.second, theta, k.m->dim);
  const bool all = k.v->spec.draw == HVI_VALUE_ALL;
  const hvi_value_states successors = {k.v->spec.data->next, k.s->row, k.n,
                                       all ? HVI_DEVICE_SUCCESSORS : HVI_DEVICE_OWN};
  hvi_value_forward(k.v, k.s->scratch, k.second, &successors, k.next);
  find_delta(&k);
  k.m->ops->vjp(k.m, k.cache, theta, k.delta, k.step);
  step_theta(s, &k, theta, eta);
  const double rate = fmin(s->second_rate, 1.0);
  if (s->copy_every == 0)
    for (size_t j = 0; j < k.m->dim; j++)
      k.second[j] = (1.0 - rate) * k.second[j] + rate * theta[j];
  else if (fmod(k.head[0], (double)s->copy_every) == 0.0)
    hvi_vec_copy(k.second, theta, k.m->dim);
}

/* step = J^T delta - J'^T (gamma f u) */
static void correct(const workspace *k, const double *theta, const double *u) {
  for (size_t i = 0; i < k->n; i++) k->next[i] = discount(k, i) * u[i];
  k->m->ops->vjp(k->m, k->beyond, theta, k->next, k->other);
  k->m->ops->vjp(k->m, k->cache, theta, k->delta, k->step);
  hvi_vec_add(k->step, -1.0, k->other, k->m->dim);
}

static void residual_gradient(const hvi_rule_settings *s, const hvi_problem *p, const void *sample,
                              double eta, double *state, double *theta) {
  const workspace k = begin_step(p, sample, state, theta);
  eval_successors(&k, theta);
  find_delta(&k);
  correct(&k, theta, k.delta);
  step_theta(s, &k, theta, eta);
}

static void corrected(const hvi_rule_settings *s, const hvi_problem *p, const void *sample,
                      double eta, double beta, double *state, double *theta) {
  const workspace k = begin_step(p, sample, state, theta);
  eval_successors(&k, theta);
  find_delta(&k);
  k.m->ops->jvp(k.m, k.cache, theta, k.second, k.u);
  hvi_vec_scale(k.u, 1.0 / (double)k.n, k.n);
  correct(&k, theta, k.u);
  /* w's direction: J^T (delta - J w) - beta w, J w over N being in u */
  for (size_t i = 0; i < k.n; i++) k.u[i] = k.delta[i] - k.u[i];
  k.m->ops->vjp(k.m, k.cache, theta, k.u, k.other);
  hvi_vec_add(k.other, -beta, k.second, k.m->dim);
  step_theta(s, &k, theta, eta);
  ascend(s, &k, k.second, k.other, eta * s->second_rate, k.moments[1]);
}

static void tdc(const hvi_rule_settings *s, const hvi_problem *p, const void *sample, double eta,
                double *state, double *theta) {
  corrected(s, p, sample, eta, 0.0, state, theta);
}

static void tdrc(const hvi_rule_settings *s, const hvi_problem *p, const void *sample, double eta,
                 double *state, double *theta) {
  corrected(s, p, sample, eta, 1.0, state, theta);
}

HVI_ROWS(static const hvi_rule rules[],
    {"td-target", "temporal differences against a target network that follows (--second-rate)",
     "td-target rules-of-networks", 2, 1, workspace_size, td_target, kept_size},
    {"residual-gradient", "descends the squared error of sampled transitions; another limit",
     "residual-gradient rules-of-networks", 2, 2, workspace_size, residual_gradient, kept_size},
    {"tdc", "temporal differences with gradient correction (--second-rate)", "tdc rules-of-networks", 3, 3, workspace_size, tdc, kept_size},
    {"tdrc", "tdc with its second weights drawn to zero (--second-rate)", "tdrc rules-of-networks", 3, 3, workspace_size, tdrc, kept_size});

const hvi_rule *const *hvi_value_rules(void) {
  static const hvi_rule *const list[] = {&rules[0], &rules[1], &rules[2], &rules[3], NULL};
  return list;
}
