/*
 * Random strongly monotone problems built backwards from a solution.
 *
 *   F(z) = A (z - z*) + nu,                      A = Q B Q',  Q random orthogonal
 *   B = diag of [[m_k, -r_k], [r_k, m_k]],       z = g(theta),  z* = g(theta*)
 *
 * Block norms l_k = sqrt(m_k^2 + r_k^2) rise geometrically from mu to L and m_k = max(mu, l_k
 * sqrt(1 - rotation^2)), so the smallest eigenvalue of A's symmetric part is exactly mu and its
 * norm exactly L. (An odd n begins with a block of one, mu.)
 *
 * Every g is chosen so that its reachable set Z is known exactly: all of R^n, a box, or, for a
 * linear g with d < n, the range of its matrix. nu is orthogonal to that range (zero elsewhere): F
 * need not vanish at a solution.
 */
#include "base/base.h"
#include "num/dense.h"
#include "problems/options.h"

#include <hvi/game.h>

typedef struct quadratic_options {
  size_t n, d;
  double mu, lipschitz, rotation, normal;
  int g;
} quadratic_options;

enum { G_LINEAR, G_CELU, G_TANH, G_SOFTPLUS, G_IDENTITY };

#define AT(member) .offset = offsetof(quadratic_options, member)
HVI_TABLE(const hvi_setting_table hvi_quadratic_options, "quadratic", quadratic_options,
    {"n", HVI_SETTING_COUNT, AT(n), .range = "[3,1000]", .fallback = "8", .help = "outputs"},
    {"mu", HVI_SETTING_REAL, AT(mu), .range = "[1e-6,1e6]", .fallback = "1", .help = "strong monotonicity"},
    {"L", HVI_SETTING_REAL, AT(lipschitz), .range = "[1e-6,1e6]", .fallback = "5", .help = "Lipschitz constant, at least mu"},
    {"rotation", HVI_SETTING_REAL, AT(rotation), .range = "[0,1]", .fallback = "0.5", .help = "0: a gradient field; 1: all rotation"},
    {"g", HVI_SETTING_CHOICE, AT(g), .choices = "linear|celu|tanh|softplus|identity", .fallback = "linear", .help = "the model"},
    {"d", HVI_SETTING_COUNT, AT(d), .range = "[0,1000]", .fallback = "0", .help = "parameters; 0: n"},
    {"normal", HVI_SETTING_REAL, AT(normal), .range = "[0,1e6]", .fallback = "0", .help = "|F(z*)|, for linear g with d < n"},
    {0});

typedef struct draft {
  size_t n, d;
  double *A;              /* [n][n]; this and all others: one block */
  double *W;              /* [n][d] the model's matrix */
  double *basis;          /* [n][rank] of W's range when d < n */
  double *theta0, *z;     /* start; solution */
  double *linear;         /* nu - A z* */
  double *lower, *upper;  /* [n] */
  double *first, *second; /* celu: [W; -W] and [I, -I] */
  double *work;           /* [n max d]^2 twice, and vectors */
} draft;

/* A = Q B Q', row by row of Q' at a time: Q B has two columns of Q in each block. */
static hvi_status draw_operator(draft *t, const quadratic_options *v, hvi_rng *rng,
                                hvi_error *err) {
  size_t n = t->n, blocks = (n + 1) / 2;
  double mu = v->mu, L = v->lipschitz;
  double cosine = sqrt(1.0 - v->rotation * v->rotation);
  double *Q = t->work, *B = t->work + n * n;
  HVI_TRY(hvi_dense_random_orthogonal(Q, n, rng, err));
  hvi_vec_zero(B, n * n);
  for (size_t k = 0, i = 0; k < blocks; k++) {
    double l = k + 1 == blocks ? L : mu * pow(L / mu, (double)k / (double)(blocks - 1));
    double m = fmin(l, fmax(mu, l * cosine)), r = sqrt(l * l - m * m);
    B[i * n + i] = m;
    i++;
    if (k == 0 && n % 2 == 1) continue;
    B[i * n + i] = m;
    B[(i - 1) * n + i] = -r;
    B[i * n + i - 1] = r;
    i++;
  }
  /* (Q B) Q' by rows: row i of A is Q times row i of Q B */
  hvi_dense_matmul(t->A, Q, B, n, n, n);
  for (size_t i = 0; i < n; i++) {
    hvi_dense_mul(B, Q, t->A + i * n, n, n);
    hvi_vec_copy(t->A + i * n, B, n);
  }
  return HVI_OK;
}

/* W = U diag(s) V' with singular values s from 1/2 to 2, and U's first columns as basis. */
static hvi_status draw_matrix(draft *t, hvi_rng *rng, hvi_error *err) {
  size_t n = t->n, d = t->d, m = n > d ? n : d, rank = n < d ? n : d;
  double *U = t->work, *V = t->work + m * m;
  HVI_TRY(hvi_dense_random_orthogonal(U, n, rng, err));
  HVI_TRY(hvi_dense_random_orthogonal(V, d, rng, err));
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < rank; k++) t->basis[i * rank + k] = U[i * n + k];
  hvi_vec_zero(t->W, n * d);
  for (size_t k = 0; k < rank; k++) {
    double s = hvi_rng_range(rng, 0.5, 2.0);
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < d; j++) t->W[i * d + j] += s * U[i * n + k] * V[j * d + k];
  }
  return HVI_OK;
}

/* z = [I, -I] CELU([W; -W] theta): each CELU(y) - CELU(-y) is odd and reaches all of R. */
static hvi_status make_celu(hvi_model **model, draft *t, hvi_error *err) {
  size_t n = t->n, d = t->d;
  for (size_t i = 0; i < n * d; i++) {
    t->first[i] = t->W[i];
    t->first[n * d + i] = -t->W[i];
  }
  hvi_vec_zero(t->second, 2 * n * n);
  for (size_t i = 0; i < n; i++) {
    t->second[i * 2 * n + i] = 1.0;
    t->second[i * 2 * n + n + i] = -1.0;
  }
  hvi_layer layers[] = {{.out = 2 * n, .matrix = t->first, .activation = HVI_CELU},
                        {.out = n, .matrix = t->second, .activation = HVI_IDENTITY}};
  hvi_stack_spec spec = {.in = d, .rows = 1, .layer_count = 2, .layers = layers};
  return hvi_stack_new(model, &spec, err);
}

static hvi_status make_model(hvi_player *player, draft *t, int g, hvi_error *err) {
  player->set = HVI_SET_FREE;
  if (g == G_CELU) return make_celu(&player->model, t, err);
  hvi_layer layer = {.out = t->n, .matrix = t->W, .activation = HVI_IDENTITY};
  if (g == G_TANH || g == G_SOFTPLUS) {
    layer.activation = g == G_TANH ? HVI_TANH : HVI_SOFTPLUS;
    player->set = HVI_SET_BOX;
    for (size_t i = 0; i < t->n; i++) {
      t->lower[i] = g == G_TANH ? -1.0 : 0.0;
      t->upper[i] = g == G_TANH ? 1.0 : INFINITY;
    }
    player->lower = t->lower;
    player->upper = t->upper;
  } else if (t->d < t->n) {
    player->set = HVI_SET_SUBSPACE;
    player->basis = t->basis;
    player->rank = t->d;
  }
  hvi_stack_spec spec = {.in = t->d, .rows = 1, .layer_count = 1, .layers = &layer};
  return hvi_stack_new(&player->model, &spec, err);
}

/* z* = g(theta*). Half the spread of the start keeps z* well inside a bounded Z. */
static hvi_status draw_solution(draft *t, const hvi_model *model, hvi_rng *rng, hvi_error *err) {
  HVI_NEW(double, cache, model->cache, "a quadratic problem", err);
  hvi_rng_fill_normal(rng, 0.0, 0.5, t->d, t->work);
  hvi_rng_fill_normal(rng, 0.0, 1.0, t->d, t->theta0);
  model->ops->eval(model, cache, t->work, t->z);
  return HVI_OK;
}

/* linear = nu - A z*, nu a random vector of the given length orthogonal to the basis. */
static void draw_linear(draft *t, const hvi_player *player, double normal, hvi_rng *rng) {
  double *nu = t->work, *along = t->work + t->n;
  hvi_dense_mul(t->linear, t->A, t->z, t->n, t->n);
  hvi_vec_scale(t->linear, -1.0, t->n);
  if (player->set != HVI_SET_SUBSPACE || normal == 0.0) return;
  hvi_rng_fill_normal(rng, 0.0, 1.0, t->n, nu);
  for (int pass = 0; pass < 2; pass++) {
    /* twice, because the first leaves a rounding error along the basis */
    hvi_dense_mul_t(along, t->basis, nu, t->n, t->d);
    hvi_vec_scale(along, -1.0, t->d);
    hvi_dense_mul_add(nu, t->basis, along, t->n, t->d);
  }
  hvi_vec_add(t->linear, normal / sqrt(hvi_vec_norm2(nu, t->n)), nu, t->n);
}

static hvi_status make_game(hvi_problem **problem, draft *t, const quadratic_options *v,
                            hvi_rng *rng, hvi_error *err) {
  hvi_player player = {.theta0 = t->theta0, .linear = t->linear};
  HVI_TRY(draw_operator(t, v, rng, err));
  HVI_TRY(draw_matrix(t, rng, err));
  if (v->g == G_IDENTITY)
    for (size_t i = 0; i < t->n * t->n; i++) t->W[i] = i % (t->n + 1) == 0 ? 1.0 : 0.0;
  HVI_TRY(make_model(&player, t, v->g, err));
  const hvi_status status = draw_solution(t, player.model, rng, err);
  if (status) {
    hvi_model_free(player.model);
    return status;
  }
  draw_linear(t, &player, v->normal, rng);
  const hvi_payoff payoff = {0, 0, t->A};
  return hvi_game_new(problem, &(hvi_game_spec){1, &player, 1, &payoff, t->z}, err);
}

static hvi_status check(const quadratic_options *v, size_t n, size_t d, hvi_error *err) {
  int g = v->g;
  if (v->lipschitz < v->mu)
    return hvi_error_input(err, "quadratic: L = %g must be at least mu = %g", v->lipschitz, v->mu);
  if (g == G_IDENTITY && d != n)
    return hvi_error_input(err, "quadratic: g = identity needs d = n = %zu", n);
  if (g != G_LINEAR && d < n)
    return hvi_error_input(
        err, "quadratic: d = %zu is below n = %zu, which only g = linear can have", d, n);
  if (v->normal > 0.0 && d >= n)
    return hvi_error_input(err, "quadratic: normal = %g needs d < n = %zu", v->normal, n);
  return HVI_OK;
}

hvi_status hvi_quadratic_new(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  const quadratic_options *v = (const void *)o->values;
  const size_t n = v->n, d = v->d ? v->d : n, m = n > d ? n : d;
  draft t = {.n = n, .d = d};
  HVI_TRY(check(v, n, d, err));
  HVI_TRY(hvi_new_arrays("a quadratic problem", err, {&t.A, n * n}, {&t.W, n * d},
                         {&t.basis, n * n}, {&t.theta0, d}, {&t.z, n}, {&t.linear, n},
                         {&t.lower, n}, {&t.upper, n}, {&t.first, 2 * n * d},
                         {&t.second, 2 * n * n}, {&t.work, 2 * m * m + 4 * m}));
  hvi_rng rng = hvi_rng_new(o->seed, "quadratic", o->instance);
  HVI_OWN double *owned = t.A;
  return make_game(problem, &t, v, &rng, err);
}
