/*
 * Writes a game as YAML that reads back to the same bits.
 *
 * A game keeps weight and constant_i = q_i - w_i c_i, not q and c. Where -w_i z*_i is that constant
 * the solution is written as the centre, otherwise the constant as a linear term.
 */
#include "base/base.h"
#include "base/file.h"
#include "base/number.h"
#include "model/stack.h"
#include "problems/games/file.h"
#include "problems/games/game.h"

static bool same_bits(double x, double y) { return memcmp(&x, &y, sizeof x) == 0; }

/* key [x_1, x_2, ...] end */
static void write_list(FILE *f, const char *key, const double *x, size_t n, const char *end) {
  char number[HVI_NUMBER_SIZE];
  fprintf(f, "%s[", key);
  for (size_t i = 0; i < n; i++) fprintf(f, "%s%s", i ? ", " : "", hvi_number_format(number, x[i]));
  fprintf(f, "]%s", end);
}

/* The same, or one number that stands for all of them. */
static void write_vector(FILE *f, const char *key, const double *x, size_t n, const char *end) {
  char number[HVI_NUMBER_SIZE];
  size_t same = 1;
  while (same < n && same_bits(x[same], x[0])) same++;
  if (same < n)
    write_list(f, key, x, n, end);
  else
    fprintf(f, "%s%s%s", key, hvi_number_format(number, x[0]), end);
}

static void write_matrix(FILE *f, const char *key, int indent, const double *A, size_t m,
                         size_t n) {
  fprintf(f, "%s:\n", key);
  for (size_t i = 0; i < m; i++) {
    fprintf(f, "%*s", indent + 2, "");
    write_list(f, "- ", A + i * n, n, "\n");
  }
}

static void write_layer(FILE *f, const hvi_stack_layer *layer) {
  fputs("      - ", f);
  if (layer->matrix)
    write_matrix(f, "matrix", 8, layer->matrix, layer->out, layer->in);
  else
    fprintf(f, "trainable: true\n        out: %zu\n", layer->out);
  if (layer->train_bias) fputs("        bias: trainable\n", f);
  if (layer->bias) write_vector(f, "        bias: ", layer->bias, layer->out, "\n");
  if (layer->activation != HVI_IDENTITY)
    fprintf(f, "        activation: %s\n", hvi_activation_name(layer->activation));
}

/* Whether reading "centre: z*" would give the constants that the game has. */
static bool centred(const hvi_game *game, const hvi_block *block, double weight) {
  const double *z = game->base.solution;
  for (size_t i = block->z; i < block->z + block->out; i++)
    if (!same_bits(0.0 - (z ? weight * z[i] : 0.0), game->constant[i])) return false;
  return true;
}

static void write_terms(FILE *f, const hvi_game *game, size_t k) {
  const hvi_block *block = &game->base.model->blocks[k];
  const double *z = game->base.solution, *weight = &game->weight[k];
  const bool centre = centred(game, block, *weight);
  if (*weight != 0.0) {
    write_vector(f, "    regulariser: {weight: ", weight, 1, "");
    if (centre && z) write_vector(f, ", centre: ", z + block->z, block->out, "");
    fputs("}\n", f);
  }
  if (!centre)
    write_list(f, "    quadratic: {linear: ", game->constant + block->z, block->out, "}\n");
}

static const hvi_stack *player_stack(const hvi_game *game, size_t k) {
  const hvi_model *m = game->base.model;
  return hvi_stack_of(game->player_count == 1 ? m : m->ops->player(m, k));
}

static void write_player(FILE *f, const hvi_game *game, size_t k, const hvi_set *set) {
  const hvi_block *block = &game->base.model->blocks[k];
  const hvi_stack *stack = player_stack(game, k);
  if (game->base.players) fprintf(f, "  - name: '%s'\n", game->base.players[k]);
  write_list(f,
             game->base.players ? "    start: " : "  - start: ", game->base.theta0 + block->theta,
             block->dim, "\n");
  if (stack->input)
    write_matrix(f, "    input", 4, stack->input, stack->rows, stack->in);
  else if (!stack->layers[0].matrix)
    fprintf(f, "    input_size: %zu\n", stack->in);
  fputs("    layers:\n", f);
  for (size_t i = 0; i < stack->layer_count; i++) write_layer(f, &stack->layers[i]);
  fprintf(f, "    outputs: %s\n", hvi_game_sets[set->kind]);
  if (set->kind == HVI_SET_BOX) {
    write_vector(f, "    lower: ", set->lower, set->len, "\n");
    write_vector(f, "    upper: ", set->upper, set->len, "\n");
  }
  write_terms(f, game, k);
}

/* A_12 = A and A_21 = -A' and nothing else. */
static bool zero_sum(const hvi_game *game) {
  const hvi_payoff *pay = game->payoffs;
  if (game->player_count != 2 || game->payoff_count != 2 || pay[0].row != 0 || pay[0].column != 1 ||
      pay[1].row != 1 || pay[1].column != 0)
    return false;
  const size_t m = game->base.model->blocks[0].out, n = game->base.model->blocks[1].out;
  for (size_t i = 0; i < m * n; i++)
    if (!same_bits(0.0 - pay[0].matrix[i], pay[1].matrix[i % n * m + i / n])) return false;
  return true;
}

static void write_payoffs(FILE *f, const hvi_game *game) {
  const hvi_block *blocks = game->base.model->blocks;
  if (!game->payoff_count) return;
  fputs("payoffs:\n", f);
  if (zero_sum(game)) {
    fputs("  zero_sum:\n    ", f);
    write_matrix(f, "matrix", 4, game->payoffs[0].matrix, blocks[0].out, blocks[1].out);
    return;
  }
  fputs("  polymatrix:\n", f);
  for (size_t k = 0; k < game->payoff_count; k++) {
    const hvi_payoff *pay = &game->payoffs[k];
    fprintf(f, "    - row: %zu\n      column: %zu\n      ", pay->row + 1, pay->column + 1);
    write_matrix(f, "matrix", 6, pay->matrix, blocks[pay->row].out, blocks[pay->column].out);
  }
}

static void write_game(FILE *f, const hvi_game *game, const char *comment) {
  for (size_t n; comment && *comment; comment += n + (comment[n] != '\0')) {
    n = strcspn(comment, "\n");
    fprintf(f, "# %.*s\n", (int)n, comment);
  }
  fputs("players:\n", f);
  const hvi_set *set = game->base.sets;
  for (size_t k = 0; k < game->player_count; k++) {
    write_player(f, game, k, set);
    /* a player with several inputs has several simplices */
    const hvi_block *block = &game->base.model->blocks[k];
    while (set < game->base.sets + game->base.set_count && set->begin < block->z + block->out)
      set++;
  }
  if (game->base.model->noise > 0.0) fputs("precision: single\n", f);
  write_payoffs(f, game);
  if (game->base.solution)
    write_list(f, "solution: ", game->base.solution, game->base.model->out, "\n");
}

/* The problem as a game that the schema can express, or NULL. */
static const hvi_game *expressible(const hvi_problem *problem) {
  const hvi_game *game = hvi_game_of(problem);
  for (size_t k = 0; game && k < game->player_count; k++)
    if (!player_stack(game, k)) game = NULL;
  for (size_t i = 0; game && i < problem->set_count; i++)
    if (problem->sets[i].kind == HVI_SET_SUBSPACE) game = NULL;
  return game;
}

hvi_status hvi_game_format(char **text, const hvi_problem *problem, const char *comment,
                           hvi_error *err) {
  *text = NULL;
  const hvi_game *game = expressible(problem);
  if (!game)
    return hvi_error_set(
        err, HVI_ERROR_UNSUPPORTED,
        "only games of layers, with free, box or simplex outputs, can be written as YAML");
  char *buffer = NULL;
  size_t size;
  FILE *f = open_memstream(&buffer, &size);
  if (f) {
    write_game(f, game, comment);
    const bool failed = ferror(f) != 0;
    if (fclose(f) == 0 && !failed) *text = hvi_copy_text(buffer);
  }
  free(buffer);
  return *text ? HVI_OK : hvi_error_memory(err, "the text of a game");
}

hvi_status hvi_game_write_yaml(const char *path, const hvi_problem *problem, const char *comment,
                               hvi_error *err) {
  HVI_OWN char *text = NULL;
  HVI_TRY(hvi_game_format(&text, problem, comment, err));
  return hvi_file_write_text(path, text, err);
}
