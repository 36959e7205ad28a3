/* Reads a game from YAML: layers, starts, sets, payoffs, regularisers, into an hvi_game_spec. */
#include "problems/games/file.h"

#include "base/error.h"
#include "base/memory.h"
#include "problems/games/layers.h"

#include <stdio.h>
#include <string.h>

enum { MOST_PLAYERS = 10000 };

typedef struct builder {
  hvi_reader r;
  uint64_t seed, instance;
  const hvi_node *root;
  size_t player_count;
  hvi_player *players; /* [player_count]; a model that is NULL is not made yet */
  size_t payoff_count, payoff_room;
  hvi_payoff *payoffs;
  const double *solution;
} builder;

/* The start as written; drawn when it is not, and for instances 1, 2, ... */
static hvi_status read_start(builder *b, const hvi_node *map, size_t k, hvi_player *player) {
  hvi_reader *r = &b->r;
  hvi_matrix start;
  hvi_status status = hvi_reader_column(r, map, "start", &start);
  size_t dim = player->model->dim;
  if (!status && start.data && start.rows != dim)
    status = hvi_reader_fail(
        r, start.node, "the start has %zu numbers; the player has %zu parameters", start.rows, dim);
  const hvi_node *node = hvi_node_get(map, "start_sd");
  double sd = 1.0;
  if (!status && node) status = hvi_reader_number(r, node, false, &sd);
  if (!status && sd < 0.0)
    status = hvi_reader_fail(r, node, "start_sd = %g must not be negative", sd);
  if (!status && !start.data && !node)
    status = hvi_reader_fail(r, map, "player %zu needs 'start' or 'start_sd'", k + 1);
  if (status) return status;
  player->theta0 = start.data;
  if (start.data && b->instance == 0) return HVI_OK;
  double *theta0 = hvi_reader_doubles(r, dim);
  if (!theta0) return hvi_error_memory(r->err, r->name);
  /* one stream per player, so that adding a player changes nobody else's start */
  char stream[32];
  snprintf(stream, sizeof stream, "start %zu", k + 1);
  hvi_rng rng = hvi_rng_new(b->seed, stream, b->instance);
  hvi_rng_fill_normal(&rng, 0.0, sd, dim, theta0);
  player->theta0 = theta0;
  return HVI_OK;
}

static hvi_status read_outputs(builder *b, const hvi_node *map, hvi_player *player,
                               const hvi_layers_info *info) {
  hvi_reader *r = &b->r;
  const hvi_node *node = hvi_node_get(map, "outputs");
  const hvi_node *lower = hvi_node_get(map, "lower"), *upper = hvi_node_get(map, "upper");
  const char *kind = info->last == HVI_SOFTMAX ? "simplex" : "free";
  hvi_status status = node ? hvi_reader_text(r, node, &kind) : HVI_OK;
  if (status) return status;
  bool box = strcmp(kind, "box") == 0;
  if (!box && (lower || upper))
    return hvi_reader_fail(r, lower ? lower : upper, "bounds need 'outputs: box'");
  if (strcmp(kind, "free") == 0) {
    player->set = HVI_SET_FREE;
  } else if (strcmp(kind, "simplex") == 0) {
    player->set = HVI_SET_SIMPLEX;
    player->parts = info->rows;
  } else if (box) {
    player->set = HVI_SET_BOX;
    if (!lower || !upper) return hvi_reader_fail(r, node, "a box needs 'lower' and 'upper'");
    status = hvi_reader_vector(r, lower, player->model->out, true, &player->lower);
    if (!status) status = hvi_reader_vector(r, upper, player->model->out, true, &player->upper);
    for (size_t i = 0; i < player->model->out && !status; i++)
      if (player->lower[i] > player->upper[i])
        status = hvi_reader_fail(r, lower, "lower bound %g is above upper bound %g",
                                 player->lower[i], player->upper[i]);
  } else {
    status = hvi_reader_fail(r, node, "outputs '%.40s' must be simplex, box or free", kind);
  }
  return status;
}

static hvi_status read_regulariser(builder *b, const hvi_node *map, hvi_player *player) {
  static const char *const known[] = {"weight", "centre", NULL};
  const hvi_node *node = hvi_node_get(map, "regulariser");
  if (!node) node = hvi_node_get(b->root, "regulariser");
  if (!node) return HVI_OK;
  hvi_status status = hvi_reader_keys(&b->r, node, "a regulariser", known);
  if (status) return status;
  const hvi_node *weight = hvi_node_get(node, "weight"), *centre = hvi_node_get(node, "centre");
  if (!weight) return hvi_reader_fail(&b->r, node, "a regulariser needs 'weight'");
  status = hvi_reader_number(&b->r, weight, false, &player->weight);
  if (!status && centre)
    status = hvi_reader_vector(&b->r, centre, player->model->out, false, &player->centre);
  return status;
}

static hvi_status add_payoff(builder *b, size_t row, size_t column, const double *matrix) {
  if (b->payoff_count == b->payoff_room) {
    size_t room = 2 * b->payoff_room + 8;
    hvi_payoff *more = hvi_alloc(room, sizeof *more);
    if (!more) return hvi_error_memory(b->r.err, b->r.name);
    if (b->payoff_count) memcpy(more, b->payoffs, b->payoff_count * sizeof *more);
    hvi_free(b->payoffs);
    b->payoffs = more;
    b->payoff_room = room;
  }
  b->payoffs[b->payoff_count++] = (hvi_payoff){row, column, matrix};
  return HVI_OK;
}

static hvi_status need_matrix(builder *b, const hvi_node *map, const char *what, size_t rows,
                              size_t columns, hvi_matrix *A) {
  hvi_status status = hvi_reader_matrix(&b->r, map, "matrix", A);
  if (status) return status;
  if (!A->data) return hvi_reader_fail(&b->r, map, "%s needs 'matrix' or 'matrix_file'", what);
  return hvi_reader_shape(&b->r, A, rows, columns);
}

/* Loss 1/2 z'Qz + q'z of a player: F gets the symmetric part of Q, and q. */
static hvi_status read_quadratic(builder *b, const hvi_node *map, size_t k, hvi_player *player) {
  static const char *const known[] = {"matrix", "matrix_file", "linear", NULL};
  const hvi_node *node = hvi_node_get(map, "quadratic");
  if (!node) return HVI_OK;
  size_t n = player->model->out;
  hvi_status status = hvi_reader_keys(&b->r, node, "quadratic", known);
  const hvi_node *linear = status ? NULL : hvi_node_get(node, "linear");
  if (linear) status = hvi_reader_vector(&b->r, linear, n, false, &player->linear);
  if (status) return status;
  bool pure = linear && !hvi_node_get(node, "matrix") && !hvi_node_get(node, "matrix_file");
  if (pure) return HVI_OK;
  hvi_matrix Q;
  status = need_matrix(b, node, "quadratic", n, n, &Q);
  if (status) return status;
  double *S = hvi_reader_doubles(&b->r, n * n);
  if (!S) return hvi_error_memory(b->r.err, b->r.name);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) S[i * n + j] = 0.5 * Q.data[i * n + j] + 0.5 * Q.data[j * n + i];
  return add_payoff(b, k, k, S);
}

static hvi_status read_player(builder *b, const hvi_node *map, size_t k) {
  static const char *const known[] = {
      "layers",     "name",    "start", "start_file", "start_sd",    "input",     "input_file",
      "input_size", "outputs", "lower", "upper",      "regulariser", "quadratic", NULL};
  hvi_player *player = &b->players[k];
  hvi_layers_info info = {1, HVI_IDENTITY};
  hvi_status status = hvi_reader_keys(&b->r, map, "a player", known);
  if (!status) status = hvi_layers_read(&player->model, &info, &b->r, map);
  if (!status) status = read_start(b, map, k, player);
  if (!status) status = read_outputs(b, map, player, &info);
  if (!status) status = read_regulariser(b, map, player);
  if (!status) status = read_quadratic(b, map, k, player);
  return status;
}

static hvi_status read_players(builder *b) {
  const hvi_node *list = hvi_node_get(b->root, "players");
  if (!list) return hvi_reader_fail(&b->r, b->root, "a game needs 'players'");
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > MOST_PLAYERS)
    return hvi_reader_fail(&b->r, list, "players must be a list of 1 to %d players", MOST_PLAYERS);
  b->players = hvi_alloc(list->count, sizeof *b->players);
  if (!b->players) return hvi_error_memory(b->r.err, b->r.name);
  b->player_count = list->count;
  size_t k = 0;
  hvi_status status = HVI_OK;
  for (const hvi_node *node = list->first; node && !status; node = node->next)
    status = read_player(b, node, k++);
  return status;
}

/* Player 1 pays z_1'A z_2 to player 2: F_1 = A z_2, F_2 = -A' z_1. */
static hvi_status read_zero_sum(builder *b, const hvi_node *node) {
  static const char *const known[] = {"matrix", "matrix_file", NULL};
  hvi_status status = hvi_reader_keys(&b->r, node, "zero_sum", known);
  if (status) return status;
  if (b->player_count != 2)
    return hvi_reader_fail(&b->r, node, "zero_sum is for two players; there are %zu",
                           b->player_count);
  size_t m = b->players[0].model->out, n = b->players[1].model->out;
  hvi_matrix A;
  status = need_matrix(b, node, "zero_sum", m, n, &A);
  if (status) return status;
  double *minus = hvi_reader_doubles(&b->r, m * n);
  if (!minus) return hvi_error_memory(b->r.err, b->r.name);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) minus[j * m + i] = 0.0 - A.data[i * n + j];
  status = add_payoff(b, 0, 1, A.data);
  return status ? status : add_payoff(b, 1, 0, minus);
}

static hvi_status read_pair(builder *b, const hvi_node *map) {
  static const char *const known[] = {"row", "column", "matrix", "matrix_file", NULL};
  hvi_status status = hvi_reader_keys(&b->r, map, "a polymatrix entry", known);
  if (status) return status;
  const hvi_node *row = hvi_node_get(map, "row"), *column = hvi_node_get(map, "column");
  if (!row || !column)
    return hvi_reader_fail(&b->r, map, "a polymatrix entry needs 'row' and 'column', two players");
  size_t i = 1, j = 1;
  status = hvi_reader_count(&b->r, row, b->player_count, &i);
  if (!status) status = hvi_reader_count(&b->r, column, b->player_count, &j);
  hvi_matrix A;
  if (!status)
    status = need_matrix(b, map, "a polymatrix entry", b->players[i - 1].model->out,
                         b->players[j - 1].model->out, &A);
  return status ? status : add_payoff(b, i - 1, j - 1, A.data);
}

static hvi_status read_payoffs(builder *b) {
  static const char *const known[] = {"zero_sum", "polymatrix", NULL};
  const hvi_node *node = hvi_node_get(b->root, "payoffs");
  if (!node) return HVI_OK;
  hvi_status status = hvi_reader_keys(&b->r, node, "payoffs", known);
  if (status) return status;
  const hvi_node *zero_sum = hvi_node_get(node, "zero_sum");
  const hvi_node *list = hvi_node_get(node, "polymatrix");
  if (zero_sum) status = read_zero_sum(b, zero_sum);
  if (status || !list) return status;
  if (list->kind != HVI_NODE_LIST) return hvi_reader_fail(&b->r, list, "polymatrix must be a list");
  for (const hvi_node *entry = list->first; entry && !status; entry = entry->next)
    status = read_pair(b, entry);
  return status;
}

static hvi_status read_solution(builder *b) {
  hvi_matrix z;
  hvi_status status = hvi_reader_column(&b->r, b->root, "solution", &z);
  size_t n = 0;
  for (size_t k = 0; k < b->player_count; k++) n += b->players[k].model->out;
  if (!status && z.data && z.rows != n)
    status = hvi_reader_fail(
        &b->r, z.node, "the solution has %zu numbers; the players have %zu outputs", z.rows, n);
  b->solution = z.data;
  return status;
}

static hvi_status build(builder *b, hvi_problem **game) {
  static const char *const known[] = {"players",  "name",          "payoffs", "regulariser",
                                      "solution", "solution_file", NULL};
  hvi_status status = hvi_reader_keys(&b->r, b->root, "the game", known);
  if (!status) status = read_players(b);
  if (!status) status = read_payoffs(b);
  if (!status) status = read_solution(b);
  if (status) {
    for (size_t k = 0; k < b->player_count; k++) hvi_model_free(b->players[k].model);
    return status;
  }
  hvi_game_spec spec = {b->player_count, b->players, b->payoff_count, b->payoffs, b->solution};
  hvi_error why = {HVI_OK, ""};
  status = hvi_game_new(game, &spec, &why);
  if (status) hvi_error_set(b->r.err, status, "%s: %s", b->r.name, why.text);
  return status;
}

hvi_status hvi_game_read(hvi_problem **game, const hvi_document *d, uint64_t seed,
                         uint64_t instance, hvi_error *err) {
  *game = NULL;
  builder b = {.r = {.name = d->name, .folder = d->folder, .err = err},
               .seed = seed,
               .instance = instance,
               .root = d->root};
  const hvi_status status = build(&b, game);
  hvi_free(b.players);
  hvi_free(b.payoffs);
  hvi_reader_clear(&b.r);
  return status;
}

hvi_status hvi_game_parse(hvi_problem **game, const char *text, const char *name,
                          const char *folder, uint64_t seed, uint64_t instance, hvi_error *err) {
  hvi_document d;
  *game = NULL;
  hvi_status status = hvi_document_parse(&d, text, name, folder, err);
  if (!status) status = hvi_game_read(game, &d, seed, instance, err);
  hvi_document_free(&d);
  return status;
}

hvi_status hvi_game_load_instance(hvi_problem **game, const char *path, uint64_t seed,
                                  uint64_t instance, hvi_error *err) {
  if (!game || !path)
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "hvi_game_load: a null pointer");
  hvi_document d;
  *game = NULL;
  hvi_status status = hvi_document_read(&d, path, err);
  if (!status) status = hvi_game_read(game, &d, seed, instance, err);
  hvi_document_free(&d);
  return status;
}

hvi_status hvi_game_load(hvi_problem **game, const char *path, hvi_error *err) {
  return hvi_game_load_instance(game, path, 0, 0, err);
}
