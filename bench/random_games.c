#include "random_games.h"

#include "base/base.h"

enum {
  MOST_PLAYERS = 5,
  MOST_LAYERS = 3,
  MOST_PAYOFFS = MOST_PLAYERS * MOST_PLAYERS,
  MOST_OUT = 6,
  MOST_WIDTH = 1024, /* of a layer */
  MOST_COLUMNS = 40  /* of G in a player's own G G' */
};

const char *const random_kind_names[RANDOM_KINDS] = {"two-player", "polymatrix", "quadratic",
                                                     "monotone", "box"};

typedef struct player {
  size_t in, rows, layer_count, dim, out; /* of all rows */
  hvi_layer layers[MOST_LAYERS];
  double *input; /* [rows][in]; NULL: theta */
  double *linear;
} player;

struct random_game {
  random_kind kind;
  bool large;
  hvi_pool *pool; /* of all arrays */
  hvi_problem *problem;
  size_t player_count, payoff_count, out;
  player players[MOST_PLAYERS];
  size_t begin[MOST_PLAYERS + 1], theta[MOST_PLAYERS + 1]; /* where a player's part begins */
  hvi_payoff payoffs[MOST_PAYOFFS];
  double weight;
  bool failed; /* for want of memory */
};

static double *take(random_game *g, size_t n) {
  double *x = g->failed ? NULL : hvi_pool_take(&g->pool, n + 1, sizeof *x);
  if (!x) g->failed = true;
  return x;
}

static double *normal(random_game *g, hvi_rng *rng, double sd, size_t n) {
  double *x = take(g, n);
  if (x) hvi_rng_fill_normal(rng, 0.0, sd, n, x);
  return x;
}

static size_t pick(hvi_rng *rng, size_t least, size_t most) {
  return least + (size_t)(hvi_rng_uniform(rng) * (double)(most - least + 1));
}

static hvi_activation last_activation(random_kind kind) {
  return kind == RANDOM_QUADRATIC ? HVI_IDENTITY : kind == RANDOM_BOX ? HVI_SIGMOID : HVI_SOFTMAX;
}

static void draw_player(random_game *g, player *p, hvi_rng *rng) {
  static const hvi_activation hidden[] = {HVI_TANH, HVI_CELU, HVI_SOFTPLUS, HVI_GELU,
                                          HVI_LEAKY_RELU};
  const bool network = hvi_rng_uniform(rng) < (g->large ? 0.75 : 0.5);
  const size_t out = network || !g->large ? pick(rng, 2, MOST_OUT) : pick(rng, 300, 800);
  const size_t least = g->large ? 24 : 2, most = g->large ? 60 : 12; /* hidden units beyond out */
  p->layer_count = g->large && network ? MOST_LAYERS : pick(rng, 1, MOST_LAYERS);
  p->rows = !network ? 1 : g->large ? pick(rng, 60, 250) : pick(rng, 1, 6);
  p->in = network ? pick(rng, 2, 6) : out + pick(rng, 0, 2 * out);
  p->input = network ? normal(g, rng, 1.0, p->rows * p->in) : NULL;
  p->dim = network ? 0 : p->in;
  size_t in = p->in;
  for (size_t l = 0; l < p->layer_count; l++) {
    hvi_layer *y = &p->layers[l];
    const bool last = l + 1 == p->layer_count;
    y->out = last ? out : out + pick(rng, least, most);
    y->activation = last ? last_activation(g->kind) : hidden[pick(rng, 0, 4)];
    y->train_bias = network;
    y->matrix = network ? NULL : normal(g, rng, 1.0 / sqrt((double)in), y->out * in);
    if (network) p->dim += y->out * (in + 1);
    in = y->out;
  }
  p->out = p->rows * out;
}

static double activate(hvi_activation a, double x) {
  switch (a) {
  case HVI_TANH:
    return tanh(x);
  case HVI_CELU:
    return x > 0.0 ? x : expm1(x);
  case HVI_SOFTPLUS:
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
  case HVI_GELU:
    return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
  case HVI_LEAKY_RELU:
    return x > 0.0 ? x : 0.01 * x;
  case HVI_SIGMOID:
    return 1.0 / (1.0 + exp(-x));
  default:
    return x;
  }
}

static void softmax(double *x, size_t n) {
  double most = x[0], sum = 0.0;
  for (size_t i = 1; i < n; i++) most = fmax(most, x[i]);
  for (size_t i = 0; i < n; i++) sum += x[i] = exp(x[i] - most);
  for (size_t i = 0; i < n; i++) x[i] /= sum;
}

/* One row of a player's outputs. */
static void forward(const player *p, const double *theta, size_t row, double *z) {
  double x[3 * MOST_WIDTH], y[MOST_WIDTH];
  const double *weights = p->input ? theta : theta + p->in;
  const double *input = p->input ? p->input + row * p->in : theta;
  memcpy(x, input, p->in * sizeof *x);
  size_t in = p->in;
  for (size_t l = 0; l < p->layer_count; l++) {
    const hvi_layer *layer = &p->layers[l];
    const double *W = layer->matrix ? layer->matrix : weights;
    for (size_t i = 0; i < layer->out; i++) {
      y[i] = layer->matrix ? 0.0 : weights[layer->out * in + i];
      for (size_t j = 0; j < in; j++) y[i] += W[i * in + j] * x[j];
      y[i] = activate(layer->activation, y[i]);
    }
    if (layer->activation == HVI_SOFTMAX) softmax(y, layer->out);
    if (!layer->matrix) weights += layer->out * (in + 1);
    in = layer->out;
    memcpy(x, y, in * sizeof *x);
  }
  memcpy(z, x, in * sizeof *z);
}

static void outputs(const random_game *g, const double *theta, double *z) {
  for (size_t k = 0; k < g->player_count; k++) {
    const player *p = &g->players[k];
    for (size_t row = 0; row < p->rows; row++)
      forward(p, theta + g->theta[k], row, z + g->begin[k] + row * (p->out / p->rows));
  }
}

/* F(z), without the linear terms while there are none. */
static void operate(const random_game *g, const double *z, double *f) {
  for (size_t k = 0; k < g->player_count; k++)
    for (size_t i = 0; i < g->players[k].out; i++) {
      const size_t at = g->begin[k] + i;
      f[at] = g->weight * z[at] + (g->players[k].linear ? g->players[k].linear[i] : 0.0);
    }
  for (const hvi_payoff *pay = g->payoffs; pay < g->payoffs + g->payoff_count; pay++) {
    const size_t columns = g->players[pay->column].out;
    for (size_t i = 0; i < g->players[pay->row].out; i++)
      for (size_t j = 0; j < columns; j++)
        f[g->begin[pay->row] + i] += pay->matrix[i * columns + j] * z[g->begin[pay->column] + j];
  }
}

/* Onto the simplex: the largest k with x_k above the mean excess of the k largest, by sorting. */
static void project_simplex(double *x, size_t n) {
  double sorted[MOST_WIDTH], sum = 0.0, tau = 0.0;
  for (size_t i = 0; i < n; i++) {
    size_t k = i;
    for (; k > 0 && sorted[k - 1] < x[i]; k--) sorted[k] = sorted[k - 1];
    sorted[k] = x[i];
  }
  for (size_t k = 0; k < n; k++) {
    sum += sorted[k];
    if (sorted[k] > (sum - 1.0) / (double)(k + 1)) tau = (sum - 1.0) / (double)(k + 1);
  }
  for (size_t i = 0; i < n; i++) x[i] = fmax(x[i] - tau, 0.0);
}

static void project(const random_game *g, double *x) {
  for (size_t k = 0; k < g->player_count; k++) {
    const player *p = &g->players[k];
    const size_t len = p->out / p->rows;
    double *own = x + g->begin[k];
    for (size_t r = 0; r < p->rows && last_activation(g->kind) == HVI_SOFTMAX; r++)
      project_simplex(own + r * len, len);
    for (size_t i = 0; i < p->out && g->kind == RANDOM_BOX; i++)
      own[i] = fmin(fmax(own[i], 0.0), 1.0);
  }
}

double random_game_residual(const random_game *g, const double *theta) {
  HVI_OWN double *z = hvi_alloc_doubles(2 * g->out);
  double sum = 0.0;
  if (!z) return NAN;
  double *x = z + g->out;
  outputs(g, theta, z);
  operate(g, z, x);
  for (size_t i = 0; i < g->out; i++) x[i] = z[i] - x[i];
  project(g, x);
  for (size_t i = 0; i < g->out; i++) sum += (z[i] - x[i]) * (z[i] - x[i]);
  return sqrt(sum);
}

/* A_ji = -A_ij', and the quadratic kinds' own G G'. */
static void draw_payoffs(random_game *g, double scale, hvi_rng *rng) {
  const bool own = g->kind == RANDOM_QUADRATIC || g->kind == RANDOM_BOX;
  for (size_t i = 0; i < g->player_count; i++)
    for (size_t j = i + 1; j < g->player_count; j++) {
      const size_t m = g->players[i].out, n = g->players[j].out;
      double *A = normal(g, rng, scale / sqrt((double)(m > n ? m : n)), m * n), *B = take(g, m * n);
      for (size_t k = 0; B && k < m * n; k++) B[k % n * m + k / n] = -A[k];
      g->payoffs[g->payoff_count++] = (hvi_payoff){i, j, A};
      g->payoffs[g->payoff_count++] = (hvi_payoff){j, i, B};
    }
  for (size_t i = 0; own && i < g->player_count; i++) {
    const size_t n = g->players[i].out, w = n < MOST_COLUMNS ? n : MOST_COLUMNS;
    double *G = normal(g, rng, sqrt(scale / (double)n), n * w), *Q = take(g, n * n);
    for (size_t k = 0; Q && k < n * n * w; k++)
      Q[k / w] += G[k / (n * w) * w + k % w] * G[k / w % n * w + k % w];
    g->payoffs[g->payoff_count++] = (hvi_payoff){i, i, Q};
  }
}

static hvi_status build(random_game *g, const double *start, const double *z, hvi_error *err) {
  hvi_player players[MOST_PLAYERS] = {{0}};
  double *ones = take(g, g->out), *zeros = take(g, g->out);
  const bool simplex = last_activation(g->kind) == HVI_SOFTMAX;
  if (g->failed) return hvi_error_memory(err, "a random game");
  for (size_t i = 0; i < g->out; i++) ones[i] = 1.0;
  for (size_t k = 0; k < g->player_count; k++) {
    const player *p = &g->players[k];
    const hvi_stack_spec stack = {.in = p->in,
                                  .input = p->input,
                                  .rows = p->rows,
                                  .layer_count = p->layer_count,
                                  .layers = p->layers};
    hvi_player *q = &players[k];
    const hvi_status status = hvi_stack_new(&q->model, &stack, err);
    for (size_t i = 0; status && i < k; i++) hvi_model_free(players[i].model);
    if (status) return status;
    q->theta0 = start + g->theta[k];
    q->set = simplex ? HVI_SET_SIMPLEX : g->kind == RANDOM_BOX ? HVI_SET_BOX : HVI_SET_FREE;
    q->parts = simplex ? p->rows : 0;
    q->lower = zeros;
    q->upper = ones;
    q->linear = p->linear;
    q->weight = g->weight;
  }
  const hvi_game_spec spec = {g->player_count, players, g->payoff_count, g->payoffs, z};
  return hvi_game_new(&g->problem, &spec, err);
}

static hvi_status draw(random_game *g, hvi_rng *rng, hvi_error *err) {
  const bool own = g->kind == RANDOM_QUADRATIC || g->kind == RANDOM_BOX;
  g->player_count = g->kind == RANDOM_POLYMATRIX ? pick(rng, 3, 5) : own ? pick(rng, 1, 3) : 2;
  const double condition = pow(10.0, hvi_rng_range(rng, 0.0, 2.0)); /* about L / mu */
  for (size_t k = 0; k < g->player_count; k++) {
    draw_player(g, &g->players[k], rng);
    g->begin[k + 1] = g->begin[k] + g->players[k].out;
    g->theta[k + 1] = g->theta[k] + g->players[k].dim;
  }
  g->out = g->begin[g->player_count];
  const double scale = pow(10.0, hvi_rng_range(rng, -0.5, 0.5));
  draw_payoffs(g, scale, rng);
  g->weight = g->kind == RANDOM_MONOTONE ? 0.0 : 2.0 * scale / condition;
  double *theta = take(g, g->theta[g->player_count]), *start = take(g, g->theta[g->player_count]);
  double *z = take(g, g->out), *f = take(g, g->out);
  if (g->failed) return hvi_error_memory(err, "a random game");
  for (size_t k = 0; k < g->player_count; k++) {
    const double sd = g->players[k].input ? 0.5 : 1.0;
    hvi_rng_fill_normal(rng, 0.0, sd, g->players[k].dim, theta + g->theta[k]);
    hvi_rng_fill_normal(rng, 0.0, sd, g->players[k].dim, start + g->theta[k]);
  }
  outputs(g, theta, z);
  operate(g, z, f);
  for (size_t i = 0; i < g->out; i++) f[i] = -f[i];
  for (size_t k = 0; k < g->player_count; k++) g->players[k].linear = f + g->begin[k];
  return build(g, start, z, err);
}

HVI_RELEASE(random_game)

hvi_status random_game_new(random_game **game, random_kind kind, bool large, uint64_t seed,
                           hvi_error *err) {
  HVI_OWN_BY(random_game_release) random_game *g = hvi_alloc(1, sizeof *g);
  hvi_rng rng = hvi_rng_new(seed, random_kind_names[kind], 0);
  if (!g) return hvi_error_memory(err, "a random game");
  g->kind = kind;
  g->large = large;
  HVI_TRY(draw(g, &rng, err));
  *game = g;
  g = NULL;
  return HVI_OK;
}

const hvi_problem *random_game_problem(const random_game *g) { return g->problem; }

void random_game_free(random_game *g) {
  if (!g) return;
  hvi_problem_free(g->problem);
  hvi_pool_free(g->pool);
  hvi_free(g);
}
