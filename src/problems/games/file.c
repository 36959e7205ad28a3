/* Reads a game from YAML: layers, starts, sets, payoffs, regularisers, into an hvi_game_spec. */
#include "problems/document.h"

#include "base/base.h"
#include "model/stack.h"
#include "problems/games/game.h"

/* More than any hidden game needs, and small enough that a hostile file cannot eat the memory. */
enum {
  MOST_PLAYERS = 10000,
  MOST_OUTPUTS = 10000,
  MOST_LAYERS = 100,
  MOST_NUMBERS = 10000000,
  MOST_IDENTITY = 1000
};

/* Kinds of sets that a file can ask for, by their numbers. */
static const char *const sets[] = {"free", "box", "simplex", NULL};

static hvi_status read_activation(hvi_reader *r, const hvi_node *layer,
                                  hvi_activation *activation) {
  const hvi_node *node = hvi_node_get(layer, "activation");
  *activation = HVI_IDENTITY;
  if (!node) return HVI_OK;
  const char *name = NULL;
  HVI_TRY(hvi_reader_text(r, node, &name));
  *activation = hvi_activation_find(name);
  if (*activation != HVI_ACTIVATION_COUNT) return HVI_OK;
  char list[200] = "";
  for (int a = 0; a < HVI_ACTIVATION_COUNT; a++)
    hvi_append(list, sizeof list, "%s%s", a ? ", " : "", hvi_activation_name((hvi_activation)a));
  return hvi_reader_fail(r, node, "unknown activation '%.40s'; there are %s", name, list);
}

static bool is_word(const hvi_node *node, const char *word) {
  return node && node->kind == HVI_NODE_SCALAR && strcmp(node->text, word) == 0;
}

/* A layer with *in inputs; zero: as many as its matrix has columns, which *in is then. */
static hvi_status read_layer(hvi_reader *r, const hvi_node *map, hvi_layer *layer, size_t *in) {
  hvi_matrix W = {.data = NULL};
  HVI_TRY(hvi_reader_keys(r, map, "a layer", "matrix matrix_file trainable out bias activation"));
  HVI_TRY(read_activation(r, map, &layer->activation));
  HVI_TRY(hvi_reader_array(r, map, "matrix", 2, &W));
  const hvi_node *node = hvi_node_get(map, "trainable"), *out = hvi_node_get(map, "out");
  bool trainable = false;
  HVI_TRY(node ? hvi_reader_bool(r, node, &trainable) : HVI_OK);
  if (trainable == (W.data != NULL))
    return hvi_reader_fail(r, map, "a layer needs either a matrix or 'trainable: true'");
  if (trainable && !out)
    return hvi_reader_fail(r, map, "a trainable layer needs 'out', its number of outputs");
  if (trainable && !*in)
    return hvi_reader_fail(r, map, "a player whose first layer is trainable needs 'input_size'");
  if (!*in) *in = W.columns;
  layer->out = W.rows;
  layer->matrix = W.data;
  HVI_TRY(out ? hvi_reader_count(r, out, MOST_OUTPUTS, &layer->out) : HVI_OK);
  HVI_TRY(trainable ? HVI_OK : hvi_reader_shape(r, &W, layer->out, *in));
  node = hvi_node_get(map, "bias");
  layer->train_bias = is_word(node, "trainable");
  if (!node || layer->train_bias) return HVI_OK;
  return hvi_reader_vector(r, node, layer->out, false, &layer->bias);
}

/* Fixed inputs, or theta itself with a length that is 0 when the first matrix is to tell. */
static hvi_status read_input(hvi_reader *r, const hvi_node *map, hvi_stack_spec *stack) {
  const hvi_node *node = hvi_node_get(map, "input"), *size = hvi_node_get(map, "input_size");
  stack->rows = 1;
  hvi_matrix X = {.data = NULL};
  HVI_TRY(is_word(node, "theta") ? HVI_OK : hvi_reader_array(r, map, "input", 2, &X));
  if (!X.data) return size ? hvi_reader_count(r, size, MOST_OUTPUTS, &stack->in) : HVI_OK;
  if (size) return hvi_reader_fail(r, size, "input_size is for an input that is theta");
  stack->input = X.data;
  stack->rows = X.rows;
  stack->in = X.columns;
  return HVI_OK;
}

/* A player without layers plays theta itself: one layer with the identity matrix. */
static hvi_status make_identity(hvi_reader *r, const hvi_node *map, hvi_stack_spec *stack,
                                hvi_layer *layer) {
  if (stack->input) return hvi_reader_fail(r, map, "a player with fixed inputs needs layers");
  hvi_matrix start = {.rows = 0};
  HVI_TRY(stack->in ? HVI_OK : hvi_reader_array(r, map, "start", 1, &start));
  if (!stack->in) stack->in = start.rows;
  if (stack->in < 1 || stack->in > MOST_IDENTITY)
    return hvi_reader_fail(
        r, map, "a player without layers needs 1 to %d parameters, by 'start' or 'input_size'",
        MOST_IDENTITY);
  double *identity = hvi_reader_doubles(r, stack->in * stack->in);
  if (!identity) return hvi_error_memory(r->err, r->name);
  for (size_t i = 0; i < stack->in; i++) identity[i * stack->in + i] = 1.0;
  *layer = (hvi_layer){.out = stack->in, .matrix = identity};
  stack->layer_count = 1;
  return HVI_OK;
}

static hvi_status read_layers(hvi_reader *r, const hvi_node *map, hvi_stack_spec *stack,
                              hvi_layer *layers) {
  HVI_TRY(read_input(r, map, stack));
  const hvi_node *list = hvi_node_get(map, "layers");
  if (!list) return make_identity(r, map, stack, layers);
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > MOST_LAYERS)
    return hvi_reader_fail(r, list, "layers must be a list of 1 to %d layers", MOST_LAYERS);
  size_t in = stack->in, numbers = 0;
  for (const hvi_node *node = list->first; node; node = node->next) {
    hvi_layer *layer = &layers[stack->layer_count];
    HVI_TRY(read_layer(r, node, layer, &in));
    numbers += (layer->matrix ? 0 : in * layer->out) + (layer->train_bias ? layer->out : 0);
    if (numbers > MOST_NUMBERS || stack->rows > MOST_NUMBERS / layer->out)
      return hvi_reader_fail(r, node, "more than %d parameters or outputs", MOST_NUMBERS);
    if (stack->layer_count++ == 0) stack->in = in;
    in = layer->out;
  }
  return HVI_OK;
}

/* The player's model; on simplices there is one for each fixed input. */
static hvi_status read_model(hvi_reader *r, const hvi_node *map, hvi_precision precision,
                             hvi_player *player) {
  hvi_layer layers[MOST_LAYERS] = {{.out = 0}};
  hvi_stack_spec stack = {.layers = layers, .precision = precision};
  HVI_TRY(read_layers(r, map, &stack, layers));
  hvi_error why = {HVI_OK, ""};
  hvi_status status = hvi_stack_new(&player->model, &stack, &why);
  if (status) return hvi_error_set(r->err, status, "%s:%u: %s", r->name, map->line, why.text);
  const bool softmax = layers[stack.layer_count - 1].activation == HVI_SOFTMAX;
  player->set = softmax ? HVI_SET_SIMPLEX : HVI_SET_FREE;
  player->parts = stack.rows;
  return HVI_OK;
}

typedef struct builder {
  hvi_reader r;
  uint64_t seed, instance;
  const hvi_node *root;
  hvi_precision precision; /* of the players' networks */
  size_t player_count;
  hvi_player *players; /* [player_count]; a model that is NULL is not made yet */
  size_t payoff_count;
  hvi_payoff *payoffs; /* as many as the file can hold */
  const double *solution;
} builder;

/* The start as written; drawn when it is not, and for instances 1, 2, ... */
static hvi_status read_start(builder *b, const hvi_node *map, size_t k, hvi_player *player) {
  hvi_reader *r = &b->r;
  hvi_matrix start;
  HVI_TRY(hvi_reader_array(r, map, "start", 1, &start));
  size_t dim = player->model->dim;
  if (start.data && start.rows != dim)
    return hvi_reader_fail(
        r, start.node, "the start has %zu numbers; the player has %zu parameters", start.rows, dim);
  const hvi_node *node = hvi_node_get(map, "start_sd");
  double sd = 1.0;
  if (node) HVI_TRY(hvi_reader_number(r, node, false, &sd));
  if (sd < 0.0) return hvi_reader_fail(r, node, "start_sd = %g must not be negative", sd);
  if (!start.data && !node)
    return hvi_reader_fail(r, map, "player %zu needs 'start' or 'start_sd'", k + 1);
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

/* What is written, where the model's last layer is not to tell. */
static hvi_status read_outputs(hvi_reader *r, const hvi_node *map, hvi_player *player) {
  const hvi_node *node = hvi_node_get(map, "outputs");
  const hvi_node *lower = hvi_node_get(map, "lower"), *upper = hvi_node_get(map, "upper");
  const char *kind = NULL;
  HVI_TRY(node ? hvi_reader_text(r, node, &kind) : HVI_OK);
  const bool box = kind && strcmp(kind, "box") == 0;
  if (!box && (lower || upper))
    return hvi_reader_fail(r, lower ? lower : upper, "bounds need 'outputs: box'");
  if (!kind) return HVI_OK;
  size_t k = 0;
  while (sets[k] && strcmp(kind, sets[k]) != 0) k++;
  if (!sets[k])
    return hvi_reader_fail(r, node, "outputs '%.40s' must be simplex, box or free", kind);
  player->set = (hvi_set_kind)k;
  if (!box) return HVI_OK;
  if (!lower || !upper) return hvi_reader_fail(r, node, "a box needs 'lower' and 'upper'");
  const size_t n = player->model->out;
  HVI_TRY(hvi_reader_vector(r, lower, n, true, &player->lower));
  HVI_TRY(hvi_reader_vector(r, upper, n, true, &player->upper));
  for (size_t i = 0; i < n; i++)
    if (player->lower[i] > player->upper[i])
      return hvi_reader_fail(r, lower, "lower bound %g is above upper bound %g", player->lower[i],
                             player->upper[i]);
  return HVI_OK;
}

static hvi_status read_regulariser(builder *b, const hvi_node *map, hvi_player *player) {
  const hvi_node *node = hvi_node_get(map, "regulariser");
  if (!node) node = hvi_node_get(b->root, "regulariser");
  if (!node) return HVI_OK;
  HVI_TRY(hvi_reader_keys(&b->r, node, "a regulariser", "weight centre"));
  const hvi_node *weight = hvi_node_get(node, "weight"), *centre = hvi_node_get(node, "centre");
  if (!weight) return hvi_reader_fail(&b->r, node, "a regulariser needs 'weight'");
  HVI_TRY(hvi_reader_number(&b->r, weight, false, &player->weight));
  if (!centre) return HVI_OK;
  return hvi_reader_vector(&b->r, centre, player->model->out, false, &player->centre);
}

static void add_payoff(builder *b, size_t row, size_t column, const double *matrix) {
  b->payoffs[b->payoff_count++] = (hvi_payoff){row, column, matrix};
}

static hvi_status need_matrix(builder *b, const hvi_node *map, const char *what, size_t rows,
                              size_t columns, hvi_matrix *A) {
  HVI_TRY(hvi_reader_array(&b->r, map, "matrix", 2, A));
  if (!A->data) return hvi_reader_fail(&b->r, map, "%s needs 'matrix' or 'matrix_file'", what);
  return hvi_reader_shape(&b->r, A, rows, columns);
}

/* Loss 1/2 z'Qz + q'z of a player: F gets the symmetric part of Q, and q. */
static hvi_status read_quadratic(builder *b, const hvi_node *map, size_t k, hvi_player *player) {
  const hvi_node *node = hvi_node_get(map, "quadratic");
  if (!node) return HVI_OK;
  size_t n = player->model->out;
  HVI_TRY(hvi_reader_keys(&b->r, node, "quadratic", "matrix matrix_file linear"));
  const hvi_node *linear = hvi_node_get(node, "linear");
  if (linear) HVI_TRY(hvi_reader_vector(&b->r, linear, n, false, &player->linear));
  if (linear && !hvi_node_get(node, "matrix") && !hvi_node_get(node, "matrix_file")) return HVI_OK;
  hvi_matrix Q;
  HVI_TRY(need_matrix(b, node, "quadratic", n, n, &Q));
  double *S = hvi_reader_doubles(&b->r, n * n);
  if (!S) return hvi_error_memory(b->r.err, b->r.name);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) S[i * n + j] = 0.5 * Q.data[i * n + j] + 0.5 * Q.data[j * n + i];
  add_payoff(b, k, k, S);
  return HVI_OK;
}

/* A name, which no player before has. */
static hvi_status read_name(builder *b, const hvi_node *map, size_t k) {
  const hvi_node *node = hvi_node_get(map, "name");
  const char *name = NULL;
  if (!node) return HVI_OK;
  HVI_TRY(hvi_reader_text(&b->r, node, &name));
  const char *fault = hvi_player_name_fault(name);
  if (fault) return hvi_reader_fail(&b->r, node, "a player's name %s", fault);
  for (size_t i = 0; i < k; i++)
    if (b->players[i].name && strcmp(b->players[i].name, name) == 0)
      return hvi_reader_fail(&b->r, node, "player %zu is called '%s' already", i + 1, name);
  b->players[k].name = name;
  return HVI_OK;
}

/* A player by number, from 1, or by name. */
static hvi_status read_who(builder *b, const hvi_node *node, size_t *k) {
  for (*k = 1; node->kind == HVI_NODE_SCALAR && *k <= b->player_count; ++*k)
    if (b->players[*k - 1].name && strcmp(b->players[*k - 1].name, node->text) == 0) return HVI_OK;
  double number;
  if (node->kind == HVI_NODE_SCALAR && !hvi_parse_real(&number, node->text))
    return hvi_reader_fail(&b->r, node, "no player is called '%.40s'", node->text);
  return hvi_reader_count(&b->r, node, b->player_count, k);
}

static hvi_status read_player(builder *b, const hvi_node *map, size_t k) {
  hvi_player *player = &b->players[k];
  HVI_TRY(hvi_reader_keys(&b->r, map, "a player",
                          "layers name start start_file start_sd input input_file input_size "
                          "outputs lower upper regulariser quadratic"));
  HVI_TRY(read_name(b, map, k));
  HVI_TRY(read_model(&b->r, map, b->precision, player));
  HVI_TRY(read_start(b, map, k, player));
  HVI_TRY(read_outputs(&b->r, map, player));
  HVI_TRY(read_regulariser(b, map, player));
  return read_quadratic(b, map, k, player);
}

static hvi_status read_players(builder *b) {
  const hvi_node *list = hvi_node_get(b->root, "players");
  if (!list) return hvi_reader_fail(&b->r, b->root, "a game needs 'players'");
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > MOST_PLAYERS)
    return hvi_reader_fail(&b->r, list, "players must be a list of 1 to %d players", MOST_PLAYERS);
  const hvi_node *payoffs = hvi_node_get(b->root, "payoffs");
  const hvi_node *pairs = payoffs ? hvi_node_get(payoffs, "polymatrix") : NULL;
  b->players = hvi_alloc(list->count, sizeof *b->players);
  b->payoffs = hvi_alloc(list->count + 2 + (pairs ? pairs->count : 0), sizeof *b->payoffs);
  if (!b->players || !b->payoffs) return hvi_error_memory(b->r.err, b->r.name);
  b->player_count = list->count;
  size_t k = 0;
  for (const hvi_node *node = list->first; node; node = node->next)
    HVI_TRY(read_player(b, node, k++));
  return HVI_OK;
}

/* Player 1 pays z_1'A z_2 to player 2: F_1 = A z_2, F_2 = -A' z_1. */
static hvi_status read_zero_sum(builder *b, const hvi_node *node) {
  HVI_TRY(hvi_reader_keys(&b->r, node, "zero_sum", "matrix matrix_file"));
  if (b->player_count != 2)
    return hvi_reader_fail(&b->r, node, "zero_sum is for two players; there are %zu",
                           b->player_count);
  size_t m = b->players[0].model->out, n = b->players[1].model->out;
  hvi_matrix A;
  HVI_TRY(need_matrix(b, node, "zero_sum", m, n, &A));
  double *minus = hvi_reader_doubles(&b->r, m * n);
  if (!minus) return hvi_error_memory(b->r.err, b->r.name);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) minus[j * m + i] = 0.0 - A.data[i * n + j];
  add_payoff(b, 0, 1, A.data);
  add_payoff(b, 1, 0, minus);
  return HVI_OK;
}

static hvi_status read_pair(builder *b, const hvi_node *map) {
  HVI_TRY(hvi_reader_keys(&b->r, map, "a polymatrix entry", "row column matrix matrix_file"));
  const hvi_node *row = hvi_node_get(map, "row"), *column = hvi_node_get(map, "column");
  if (!row || !column)
    return hvi_reader_fail(&b->r, map, "a polymatrix entry needs 'row' and 'column', two players");
  size_t i = 1, j = 1;
  HVI_TRY(read_who(b, row, &i));
  HVI_TRY(read_who(b, column, &j));
  hvi_matrix A;
  HVI_TRY(need_matrix(b, map, "a polymatrix entry", b->players[i - 1].model->out,
                      b->players[j - 1].model->out, &A));
  add_payoff(b, i - 1, j - 1, A.data);
  return HVI_OK;
}

static hvi_status read_payoffs(builder *b) {
  const hvi_node *node = hvi_node_get(b->root, "payoffs");
  if (!node) return HVI_OK;
  HVI_TRY(hvi_reader_keys(&b->r, node, "payoffs", "zero_sum polymatrix"));
  const hvi_node *zero_sum = hvi_node_get(node, "zero_sum");
  const hvi_node *list = hvi_node_get(node, "polymatrix");
  if (zero_sum) HVI_TRY(read_zero_sum(b, zero_sum));
  if (!list) return HVI_OK;
  if (list->kind != HVI_NODE_LIST) return hvi_reader_fail(&b->r, list, "polymatrix must be a list");
  for (const hvi_node *entry = list->first; entry; entry = entry->next)
    HVI_TRY(read_pair(b, entry));
  return HVI_OK;
}

static hvi_status read_solution(builder *b) {
  hvi_matrix z;
  size_t n = 0;
  HVI_TRY(hvi_reader_array(&b->r, b->root, "solution", 1, &z));
  for (size_t k = 0; k < b->player_count; k++) n += b->players[k].model->out;
  b->solution = z.data;
  if (!z.data || z.rows == n) return HVI_OK;
  return hvi_reader_fail(&b->r, z.node,
                         "the solution has %zu numbers; the players have %zu outputs", z.rows, n);
}

static hvi_status read_precision(builder *b) {
  const hvi_node *node = hvi_node_get(b->root, "precision");
  const char *word = NULL;
  hvi_error why = {HVI_OK, ""};
  if (!node) return HVI_OK;
  HVI_TRY(hvi_reader_text(&b->r, node, &word));
  if (hvi_setting_parse(hvi_precision_table.rows, &b->precision, word, NULL, &why))
    return hvi_reader_fail(&b->r, node, "%s", why.text);
  return HVI_OK;
}

static hvi_status read_game(builder *b) {
  HVI_TRY(hvi_reader_keys(&b->r, b->root, "the game",
                          "players name payoffs regulariser solution solution_file precision"));
  HVI_TRY(read_precision(b));
  HVI_TRY(read_players(b));
  HVI_TRY(read_payoffs(b));
  return read_solution(b);
}

static hvi_status build(builder *b, hvi_problem **game) {
  hvi_status status = read_game(b);
  if (status) {
    for (size_t k = 0; k < b->player_count; k++) hvi_model_free(b->players[k].model);
    return status;
  }
  hvi_game_spec spec = {b->player_count, b->players, b->payoff_count, b->payoffs, b->solution};
  hvi_error why = {HVI_OK, ""};
  status = hvi_game_new(game, &spec, &why);
  return status ? hvi_error_set(b->r.err, status, "%s: %s", b->r.name, why.text) : HVI_OK;
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
  HVI_OWN_BY(hvi_document_free) hvi_document d = {0};
  *game = NULL;
  HVI_TRY(hvi_document_parse(&d, text, name, folder, err));
  return hvi_game_read(game, &d, seed, instance, err);
}
