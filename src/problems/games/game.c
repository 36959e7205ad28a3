/*
 * Games with payoffs that are bilinear or quadratic in the outputs.
 *
 *   F_i(z) = sum_j A_ij z_j + w_i z_i + constant_i,   constant_i = q_i - w_i c_i
 *
 * Zero-sum bilinear: A_12 = A, A_21 = -A'. Polymatrix: A_ij for every pair that plays. Quadratic:
 * A_ii is the Hessian of player i's own loss. Only blocks that were given are multiplied.
 */
#include "problems/games/game.h"

#include "base/base.h"
#include "num/vec.h"
#include "problems/single.h"

/* y += A x. The sizes of the usual games are written out: there a loop costs more than its sums. */
static inline void multiply_add(double *restrict y, const double *restrict A,
                                const double *restrict x, size_t rows, size_t columns) {
  if (columns == 1 && rows == 1) {
    y[0] += A[0] * x[0];
  } else if (columns == 3) {
    for (size_t i = 0; i < rows; i++, A += 3) y[i] += A[0] * x[0] + A[1] * x[1] + A[2] * x[2];
  } else {
    for (size_t i = 0; i < rows; i++, A += columns) {
      double sum = 0.0;
      for (size_t j = 0; j < columns; j++) sum += A[j] * x[j];
      y[i] += sum;
    }
  }
}

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample, (void)theta;
  const hvi_game *game = (const hvi_game *)p;
  const hvi_block *blocks = p->model->blocks;
  const size_t n = p->model->out;
  if (n <= HVI_GAME_TINY) {
    for (size_t i = 0; i < n; i++) {
      double sum = game->constant[i];
      for (size_t j = 0; j < n; j++) sum += game->tiny[i * n + j] * z[j];
      f[i] = sum;
    }
    return;
  }
  for (size_t k = 0; k < game->player_count; k++) {
    double weight = game->weight[k];
    for (size_t i = blocks[k].z, end = i + blocks[k].out; i < end; i++)
      f[i] = weight * z[i] + game->constant[i];
  }
  for (size_t k = 0; k < game->payoff_count; k++) {
    const hvi_payoff *pay = &game->payoffs[k];
    const hvi_block *row = &blocks[pay->row], *column = &blocks[pay->column];
    multiply_add(f + row->z, pay->matrix, z + column->z, row->out, column->out);
  }
}

static void affine(const hvi_problem *p, double *A, double *b) {
  const hvi_game *game = (const hvi_game *)p;
  const hvi_block *blocks = p->model->blocks;
  size_t n = p->model->out;
  hvi_vec_zero(A, n * n);
  hvi_vec_copy(b, game->constant, n);
  for (size_t k = 0; k < game->player_count; k++)
    for (size_t i = blocks[k].z; i < blocks[k].z + blocks[k].out; i++)
      A[i * n + i] = game->weight[k];
  for (size_t k = 0; k < game->payoff_count; k++) {
    const hvi_payoff *pay = &game->payoffs[k];
    const hvi_block *row = &blocks[pay->row], *column = &blocks[pay->column];
    for (size_t i = 0; i < row->out; i++)
      for (size_t j = 0; j < column->out; j++)
        A[(row->z + i) * n + column->z + j] += pay->matrix[i * column->out + j];
  }
}

static void free_game(hvi_problem *p) {
  hvi_game *game = (hvi_game *)p;
  hvi_free(game->payoffs);
  hvi_free(game->sets);
  hvi_free(game->names);
  hvi_free(game->store);
  hvi_free(game);
}

static const hvi_problem_ops game_ops = {
    .name = "game", .operate = operate, .affine = affine, .free = free_game};

const hvi_game *hvi_game_of(const hvi_problem *p) {
  return p->ops == &game_ops ? (const hvi_game *)p : NULL;
}

static hvi_status check_numbers(const double *x, size_t n, size_t player, const char *what,
                                hvi_error *err) {
  if (!x) return HVI_OK;
  for (size_t i = 0; i < n; i++)
    if (!isfinite(x[i]))
      return hvi_error_input(err, "player %zu: %s[%zu] is %g, not a finite number", player + 1,
                             what, i, x[i]);
  return HVI_OK;
}

static hvi_status check_box(const hvi_player *player, size_t k, hvi_error *err) {
  if (!player->lower || !player->upper)
    return hvi_error_argument(err, "player %zu: a box needs lower and upper bounds", k + 1);
  for (size_t i = 0; i < player->model->out; i++)
    if (!(player->lower[i] <= player->upper[i]))
      return hvi_error_input(err, "player %zu: lower[%zu] = %g is not below upper[%zu] = %g", k + 1,
                             i, player->lower[i], i, player->upper[i]);
  return HVI_OK;
}

static hvi_status check_set(const hvi_player *player, size_t k, hvi_error *err) {
  size_t out = player->model->out;
  switch (player->set) {
  case HVI_SET_FREE:
    return HVI_OK;
  case HVI_SET_BOX:
    return check_box(player, k, err);
  case HVI_SET_SIMPLEX:
    if (player->parts <= 1 || out % player->parts == 0) return HVI_OK;
    return hvi_error_input(err, "player %zu: %zu outputs are not %zu simplices of equal length",
                           k + 1, out, player->parts);
  case HVI_SET_SUBSPACE:
    if (player->basis && player->rank >= 1 && player->rank <= out)
      return check_numbers(player->basis, out * player->rank, k, "basis", err);
    return hvi_error_argument(err, "player %zu: a subspace needs a basis of rank 1 to %zu", k + 1,
                              out);
  }
  return hvi_error_argument(err, "player %zu: set kind %d does not exist", k + 1, (int)player->set);
}

static hvi_status check_player(const hvi_player *player, size_t k, hvi_error *err) {
  if (!player->model) return hvi_error_argument(err, "player %zu has no model", k + 1);
  if (player->model->block_count != 1)
    return hvi_error_argument(err, "player %zu: the model has %zu blocks; give each player its own",
                              k + 1, player->model->block_count);
  if (!player->theta0) return hvi_error_argument(err, "player %zu has no start (theta0)", k + 1);
  size_t out = player->model->out;
  HVI_TRY(check_numbers(player->theta0, player->model->dim, k, "theta0", err));
  HVI_TRY(check_numbers(&player->weight, 1, k, "weight", err));
  HVI_TRY(check_numbers(player->centre, out, k, "centre", err));
  HVI_TRY(check_numbers(player->linear, out, k, "linear", err));
  return check_set(player, k, err);
}

static hvi_status check_payoff(const hvi_game_spec *spec, size_t k, hvi_error *err) {
  const hvi_payoff *pay = &spec->payoffs[k];
  if (pay->row >= spec->player_count || pay->column >= spec->player_count)
    return hvi_error_input(err, "payoffs[%zu]: players %zu and %zu, but the last one is %zu", k,
                           pay->row, pay->column, spec->player_count - 1);
  if (!pay->matrix) return hvi_error_argument(err, "payoffs[%zu] has no matrix", k);
  size_t rows = spec->players[pay->row].model->out;
  size_t columns = spec->players[pay->column].model->out;
  for (size_t i = 0; i < rows * columns; i++)
    if (!isfinite(pay->matrix[i]))
      return hvi_error_input(err, "payoffs[%zu]: row %zu, column %zu is %g, not a finite number", k,
                             i / columns + 1, i % columns + 1, pay->matrix[i]);
  return HVI_OK;
}

static hvi_status check_spec(const hvi_game_spec *spec, hvi_error *err) {
  size_t n = 0;
  for (size_t k = 0; k < spec->player_count; k++) {
    HVI_TRY(check_player(&spec->players[k], k, err));
    n += spec->players[k].model->out;
  }
  if (spec->payoff_count && !spec->payoffs)
    return hvi_error_argument(err, "a game with %zu payoffs has none", spec->payoff_count);
  for (size_t k = 0; k < spec->payoff_count; k++) HVI_TRY(check_payoff(spec, k, err));
  for (size_t i = 0; spec->solution && i < n; i++)
    if (!isfinite(spec->solution[i]))
      return hvi_error_input(err, "solution[%zu] is %g, not a finite number", i, spec->solution[i]);
  return HVI_OK;
}

const char *hvi_player_name_fault(const char *name) {
  double number;
  const size_t length = strlen(name);
  if (length == 0 || length > HVI_NAME_MOST) return "must have 1 to 40 bytes";
  if (name[0] == ' ' || name[length - 1] == ' ') return "must not begin or end with a blank";
  if (hvi_parse_real(&number, name)) return "must not be a number";
  for (const char *c = name; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f || strchr(",\"'`", *c))
      return "must be without commas, quotes and control characters: it heads a column of a CSV";
  return NULL;
}

enum { NAME_SIZE = HVI_NAME_MOST + 1 };

/* Own copies, and names for those who have none; no names at all where nobody has. */
static hvi_status copy_names(hvi_game *game, const hvi_game_spec *spec, hvi_error *err) {
  size_t count = 0;
  for (size_t k = 0; k < spec->player_count; k++) count += spec->players[k].name != NULL;
  if (count == 0) return HVI_OK;
  game->names = hvi_alloc(spec->player_count, sizeof *game->names + NAME_SIZE);
  if (!game->names) return hvi_error_memory(err, "the names of players");
  char *text = (char *)(game->names + spec->player_count);
  for (size_t k = 0; k < spec->player_count; k++, text += NAME_SIZE) {
    const char *name = spec->players[k].name, *fault = name ? hvi_player_name_fault(name) : NULL;
    if (fault) return hvi_error_input(err, "player %zu: the name %s", k + 1, fault);
    if (name)
      strcpy(text, name);
    else
      snprintf(text, NAME_SIZE, "player%zu", k + 1);
    game->names[k] = text;
    for (size_t i = 0; i < k; i++)
      if (strcmp(game->names[i], text) == 0)
        return hvi_error_input(err, "players %zu and %zu have one name, '%s'", i + 1, k + 1, text);
  }
  game->base.players = game->names;
  return HVI_OK;
}

/* Copies x[n] to where *at stands in the game's store, and moves on. */
static const double *keep(double **at, const double *x, size_t n) {
  double *copy = *at;
  hvi_vec_copy(copy, x, n);
  *at += n;
  return copy;
}

static size_t count_parts(const hvi_player *player) {
  return player->set == HVI_SET_SIMPLEX && player->parts > 1 ? player->parts : 1;
}

/* Writes the player's factors of Z, which begin at output z, and returns how many there are. */
static size_t copy_sets(hvi_set *sets, const hvi_player *player, size_t z, double **at) {
  size_t out = player->model->out, parts = count_parts(player);
  for (size_t i = 0; i < parts; i++)
    sets[i] = (hvi_set){.kind = player->set, .begin = z + i * (out / parts), .len = out / parts};
  if (player->set == HVI_SET_BOX) {
    sets->lower = keep(at, player->lower, out);
    sets->upper = keep(at, player->upper, out);
  } else if (player->set == HVI_SET_SUBSPACE) {
    sets->basis = keep(at, player->basis, out * player->rank);
    sets->rank = player->rank;
  }
  return parts;
}

static void copy_numbers(hvi_game *game, const hvi_game_spec *spec, size_t n, size_t d) {
  double *theta0 = game->store, *at = theta0 + d;
  game->base.theta0 = theta0;
  game->base.sets = game->sets;
  game->weight = at;
  game->constant = game->weight + spec->player_count;
  at = game->constant + n;
  for (size_t k = 0, z = 0; k < spec->player_count; k++) {
    const hvi_player *player = &spec->players[k];
    size_t out = player->model->out;
    keep(&theta0, player->theta0, player->model->dim);
    game->weight[k] = player->weight;
    for (size_t i = 0; i < out; i++)
      game->constant[z + i] = (player->linear ? player->linear[i] : 0.0) -
                              (player->centre ? player->weight * player->centre[i] : 0.0);
    game->base.set_count += copy_sets(game->sets + game->base.set_count, player, z, &at);
    z += out;
  }
  for (size_t k = 0; k < spec->payoff_count; k++) {
    const hvi_payoff *pay = &spec->payoffs[k];
    size_t size = spec->players[pay->row].model->out * spec->players[pay->column].model->out;
    game->payoffs[k] = (hvi_payoff){pay->row, pay->column, keep(&at, pay->matrix, size)};
  }
  game->base.solution = spec->solution ? keep(&at, spec->solution, n) : NULL;
}

/* Everything but the model; NULL when there is no memory. */
static hvi_game *new_game(const hvi_game_spec *spec) {
  hvi_game *game = hvi_alloc(1, sizeof *game);
  if (!game) return NULL;
  size_t n = 0, d = 0, set_count = 0, more = 0;
  for (size_t k = 0; k < spec->player_count; k++) {
    n += spec->players[k].model->out;
    d += spec->players[k].model->dim;
    set_count += count_parts(&spec->players[k]);
    /* a basis, or room for two bounds */
    more += spec->players[k].model->out *
            (spec->players[k].set == HVI_SET_SUBSPACE ? spec->players[k].rank : 2);
  }
  for (size_t k = 0; k < spec->payoff_count; k++)
    more += spec->players[spec->payoffs[k].row].model->out *
            spec->players[spec->payoffs[k].column].model->out;
  *game = (hvi_game){.base.ops = &game_ops,
                     .player_count = spec->player_count,
                     .payoff_count = spec->payoff_count,
                     .store = hvi_alloc_doubles(d + spec->player_count + 2 * n + more),
                     .sets = hvi_alloc(set_count, sizeof *game->sets),
                     .payoffs = hvi_alloc(spec->payoff_count, sizeof *game->payoffs)};
  if (!game->store || !game->sets || !game->payoffs) {
    free_game(&game->base);
    return NULL;
  }
  copy_numbers(game, spec, n, d);
  return game;
}

static void free_models(const hvi_game_spec *spec) {
  for (size_t k = 0; k < spec->player_count; k++) hvi_model_free(spec->players[k].model);
}

/* The players' models as one; on failure all of them are gone. */
static hvi_status join_models(hvi_model **joint, const hvi_game_spec *spec, hvi_error *err) {
  *joint = spec->players[0].model;
  if (spec->player_count == 1) return HVI_OK;
  HVI_OWN hvi_model **models = hvi_alloc(spec->player_count, sizeof(hvi_model *));
  for (size_t k = 0; models && k < spec->player_count; k++) models[k] = spec->players[k].model;
  *joint = NULL;
  if (models) return hvi_players_new(joint, spec->player_count, models, err);
  free_models(spec);
  return hvi_error_memory(err, "the players of a game");
}

hvi_status hvi_game_new(hvi_problem **problem, const hvi_game_spec *spec, hvi_error *err) {
  if (!problem || !spec || (spec->player_count && !spec->players))
    return hvi_error_argument(err, "hvi_game_new: a null pointer");
  *problem = NULL;
  if (!spec->player_count) return hvi_error_argument(err, "a game needs at least one player");
  hvi_status status = check_spec(spec, err);
  hvi_game *game = status ? NULL : new_game(spec);
  if (!game) {
    free_models(spec);
    return status ? status : hvi_error_memory(err, "a game");
  }
  status = join_models(&game->base.model, spec, err);
  if (!status) status = copy_names(game, spec, err);
  double constant[HVI_GAME_TINY];
  if (!status && game->base.model->out <= HVI_GAME_TINY) affine(&game->base, game->tiny, constant);
  return hvi_problem_settle(problem, &game->base, status);
}
