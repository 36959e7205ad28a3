/*
 * The built-in Markov chains.
 *
 *   walk     on 0 .. n-1, stays with probability 1/2, else left or right, a blocked move stays;
 *            reward i / (n - 1); Phi: Legendre polynomials, orthonormal on [-1, 1]. The law is
 *            uniform, the second eigenvalue 1/2 + 1/2 cos(pi / n): it mixes slowly.
 *   blocks   two blocks of n / 2 states with dense random rows, and probability 0.01 of leaving a
 *            block; rewards U[0, 1]; Phi: a column of ones and U[0, 1]
 *   random   `branch` successors a state, one of them the next state so that all reach each other,
 *            with random probabilities; rewards U[0, 1]; Phi: a column of ones and U[-1, 1]
 */
#include "base/base.h"
#include "num/sparse.h"
#include "problems/mdp/mdp.h"
#include "problems/options.h"

typedef struct chain_options {
  int kind, data, scale;
  size_t states, features, branch, wait;
  int usual_features; /* 1: as many as the kind is used to */
  double gamma, ridge;
} chain_options;

enum { WALK, BLOCKS, RANDOM };
enum { DENSE_STATES = 5000 };

#define AT(member) .offset = offsetof(chain_options, member)
HVI_TABLE(const hvi_setting_table hvi_chain_options, "chain", chain_options,
    {"kind", HVI_SETTING_CHOICE, AT(kind), .choices = "walk|blocks|random", .fallback = "walk", .help = "which chain"},
    {"states", HVI_SETTING_COUNT, AT(states), .range = "[0,5e7]", .fallback = "0", .help = "0: 100, or 1000 for random"},
    {"features", HVI_SETTING_COUNT, AT(features), .range = "[0,1024]", .choices = "usual",
     .second = offsetof(chain_options, usual_features), .fallback = "usual",
     .help = "columns of Phi; usual: 3 for walk, 5 for blocks, 10 for random; 0: tabular"},
    {"gamma", HVI_SETTING_REAL, AT(gamma), .range = "[0,1)", .fallback = "0.9", .help = "discount"},
    {"branch", HVI_SETTING_COUNT, AT(branch), .range = "[1,1000]", .fallback = "8", .help = "successors of a state, for random"},
    {"data", HVI_SETTING_CHOICE, AT(data), .choices = "exact|trajectory", .fallback = "exact",
     .help = "all states at once, or one transition a step"},
    {"ridge", HVI_SETTING_REAL, AT(ridge), .range = "[0,1e6]", .fallback = "1e-6", .help = "added to D_hat, for trajectory"},
    {"wait", HVI_SETTING_COUNT, AT(wait), .range = "[0,1e9]", .fallback = "0",
     .help = "transitions before the first step, for trajectory; 0: 2 features"},
    {"scale", HVI_SETTING_CHOICE, AT(scale), .choices = "none|trace|lambda", .fallback = "trace",
     .help = "gd's unit of step size, for trajectory: 1, 1/trace or 1/lambda_max of D_hat"},
    {0});

_Static_assert(HVI_SET_RANK == 1024, "the most features of a chain");

/* Row by row of a sparse matrix: the next entry. */
static void put(hvi_sparse *S, size_t *at, size_t column, double value) {
  S->column[*at] = (uint32_t)column;
  S->value[(*at)++] = value;
}

static hvi_status draw_walk(hvi_mdp *m, hvi_error *err) {
  const size_t n = m->n, d = m->phi ? m->d : 0;
  HVI_TRY(hvi_sparse_new(&m->sparse, n, n, 3 * n, err));
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    const bool first = i == 0, last = i + 1 == n;
    if (!first) put(&m->sparse, &at, i - 1, 0.25);
    put(&m->sparse, &at, i, 0.5 + 0.25 * (first + last));
    if (!last) put(&m->sparse, &at, i + 1, 0.25);
    m->sparse.start[i + 1] = at;
    const double share = n > 1 ? (double)i / (double)(n - 1) : 0.0, x = 2.0 * share - 1.0;
    m->reward[i] = share;
    /* (k + 1) P_{k+1} = (2 k + 1) x P_k - k P_{k-1}; |P_k|^2 = 2 / (2 k + 1) */
    double before = 0.0, now = 1.0;
    for (size_t k = 0; k < d; k++) {
      const double degree = (double)k;
      m->phi[i * d + k] = sqrt(degree + 0.5) * now;
      const double after = ((2.0 * degree + 1.0) * x * now - degree * before) / (degree + 1.0);
      before = now;
      now = after;
    }
  }
  return HVI_OK;
}

/* Rewards, and features of which the first is one. */
static void draw_rest(hvi_mdp *m, double low, uint64_t seed, uint64_t instance) {
  hvi_rng rng = hvi_rng_new(seed, "chain rewards", instance);
  hvi_rng_fill_uniform(&rng, 0.0, 1.0, m->n, m->reward);
  if (!m->phi) return;
  rng = hvi_rng_new(seed, "chain features", instance);
  hvi_rng_fill_uniform(&rng, low, 1.0, m->n * m->d, m->phi);
  for (size_t i = 0; i < m->n; i++) m->phi[i * m->d] = 1.0;
}

static void scale_to(double *x, size_t n, double total) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i];
  for (size_t i = 0; i < n; i++) x[i] *= total / sum;
}

static hvi_status draw_blocks(hvi_mdp *m, uint64_t seed, uint64_t instance, hvi_error *err) {
  const size_t n = m->n, half = n / 2;
  if (n < 2 || n > DENSE_STATES)
    return hvi_error_input(err, "chain: states = %zu; kind=blocks is dense and takes 2 to %d", n,
                           (int)DENSE_STATES);
  HVI_TRY(hvi_new(&m->P, n * n, "the transitions", err));
  hvi_rng rng = hvi_rng_new(seed, "chain transitions", instance);
  hvi_rng_fill_uniform(&rng, 0.0, 1.0, n * n, m->P);
  for (size_t i = 0; i < n; i++) {
    scale_to(m->P + i * n, half, i < half ? 0.99 : 0.01);
    scale_to(m->P + i * n + half, n - half, i < half ? 0.01 : 0.99);
  }
  draw_rest(m, 0.0, seed, instance);
  return HVI_OK;
}

static hvi_status draw_random(hvi_mdp *m, size_t branch, uint64_t seed, uint64_t instance,
                              hvi_error *err) {
  const size_t n = m->n;
  HVI_TRY(hvi_sparse_new(&m->sparse, n, n, n * branch, err));
  hvi_rng rng = hvi_rng_new(seed, "chain transitions", instance);
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t begin = at;
    for (size_t k = 0; k < branch; k++) {
      /* 1 - u is above zero */
      const size_t to = k == 0 ? (i + 1) % n : (size_t)(hvi_rng_uniform(&rng) * (double)n);
      put(&m->sparse, &at, to, 1.0 - hvi_rng_uniform(&rng));
    }
    scale_to(m->sparse.value + begin, branch, 1.0);
    m->sparse.start[i + 1] = at;
  }
  draw_rest(m, -1.0, seed, instance);
  return hvi_sparse_tidy(&m->sparse, err);
}

/* Keys that the chosen kind does not read are a mistake, unless they say the default. */
static hvi_status check_use(const chain_options *v, hvi_error *err) {
  static const char for_trajectory[] = "ridge wait scale";
  chain_options usual = {0};
  hvi_setting_defaults(&hvi_chain_options, &usual);
  for (const hvi_setting *row = hvi_chain_options.rows; row->name; row++) {
    if (hvi_setting_equal(row, v, &usual)) continue;
    if (strcmp(row->name, "branch") == 0 && v->kind != RANDOM)
      return hvi_error_input(err, "chain: branch is for kind=random");
    if (strstr(for_trajectory, row->name) && !v->data)
      return hvi_error_input(err, "chain: %s is for data=trajectory", row->name);
  }
  return HVI_OK;
}

hvi_status hvi_chain_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  static const size_t usual_states[] = {100, 100, 1000}, usual_features[] = {3, 5, 10};
  const chain_options *v = (const void *)o->values;
  const size_t n = v->states > 0 ? v->states : usual_states[v->kind];
  const size_t d = v->usual_features ? usual_features[v->kind] : v->features;
  HVI_TRY(check_use(v, err));
  HVI_OWN_BY(hvi_mdp_release) hvi_mdp *own = hvi_mdp_draft(n, d, v->gamma);
  hvi_mdp *m = own;
  if (!m) return hvi_error_memory(err, "a chain");
  if (v->kind == WALK) HVI_TRY(draw_walk(m, err));
  if (v->kind == BLOCKS) HVI_TRY(draw_blocks(m, o->seed, o->instance, err));
  if (v->kind == RANDOM) HVI_TRY(draw_random(m, v->branch, o->seed, o->instance, err));
  if (o->instance > 0) hvi_mdp_draw_start(m, o->seed, o->instance);
  hvi_error why = {HVI_OK, ""};
  if (hvi_mdp_finish(m, &why)) return hvi_error_set(err, why.status, "chain: %s", why.text);
  own = NULL;
  if (!v->data) return hvi_mdp_problem_new(problem, m, err);
  hvi_trajectory_settings s = hvi_trajectory_defaults(m);
  s.ridge = v->ridge;
  if (v->wait > 0) s.wait = v->wait;
  s.scale = (hvi_trajectory_scale)v->scale; /* the choices are in the enum's order */
  return hvi_trajectory_problem_new(problem, m, &s, err);
}
