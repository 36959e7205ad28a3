/*
 * Plans: can lanes run this, and which slot holds which number? And an instance put into its lane:
 * into the same slots as the others, if it has the same shape.
 *
 * Yes for games whose players are stacks of fixed layers with theta as input, over boxes, simplices
 * and free outputs, with an optimizer whose steps need no decision of their own, and a plain
 * target. Everything else is left to the ordinary solver.
 */
#include "base/base.h"
#include "ensemble/lanes.h"
#include "inner/optimizers.h"
#include "model/stack.h"
#include "problems/games/game.h"

/* Beyond these sizes lanes fall out of the caches and the ordinary solver's LAPACK wins. */
enum { MOST_SLOTS = 4096, MOST_RANK = 32, MOST_SIMPLEX = 32 };

static const hvi_optimizer *const rules[] = {
    [HVI_LANES_GD] = &hvi_optimizer_gd,     [HVI_LANES_MOMENTUM] = &hvi_optimizer_momentum,
    [HVI_LANES_ADAM] = &hvi_optimizer_adam, [HVI_LANES_ADAMW] = &hvi_optimizer_adamw,
    [HVI_LANES_GN] = &hvi_optimizer_gn,     [HVI_LANES_DGN] = &hvi_optimizer_dgn,
    [HVI_LANES_LM] = &hvi_optimizer_lm,
};

static bool find_rule(hvi_lanes_rule *rule, const hvi_settings *s) {
  size_t i = 0, count = sizeof rules / sizeof *rules;
  while (i < count && rules[i] != s->optimizer) i++;
  if (i == count) return false;
  *rule = (hvi_lanes_rule)i;
  if (*rule == HVI_LANES_DGN && s->inner.line_search) return false;
  if (*rule == HVI_LANES_LM && s->inner.adapt_damping) return false;
  return *rule < HVI_LANES_GN || s->inner.linear != HVI_SOLVE_MATRIX_FREE;
}

static bool settings_fit(const hvi_settings *s) {
  return !s->baseline && s->target == HVI_TARGET_PLAIN && !s->accelerate && !s->alternating &&
         (s->alpha == 0.0 || s->floor == HVI_FLOOR_ZERO) && s->max_f_evals == 0 &&
         s->max_seconds == 0.0;
}

static bool activation_fits(hvi_activation a) {
  return a == HVI_IDENTITY || a == HVI_CELU || a == HVI_SIGMOID || a == HVI_SOFTMAX ||
         a == HVI_TANH || a == HVI_RELU || a == HVI_LEAKY_RELU;
}

/* Player k's model as a stack, or NULL when it is something else. */
static const hvi_stack *player_stack(const hvi_problem *p, size_t k) {
  const hvi_model *m = p->model;
  return hvi_stack_of(m->ops->player ? m->ops->player(m, k) : m);
}

static bool player_fits(const hvi_stack *stack) {
  if (!stack || stack->input || stack->layer_count == 0) return false;
  for (size_t i = 0; i < stack->layer_count; i++) {
    const hvi_stack_layer *layer = &stack->layers[i];
    if (!layer->matrix || layer->train_bias || !activation_fits(layer->activation)) return false;
  }
  const hvi_model *m = &stack->base;
  return m->out <= MOST_RANK || m->dim <= MOST_RANK;
}

static bool problem_fits(const hvi_problem *p) {
  if (!hvi_game_of(p) || p->weights) return false;
  for (size_t k = 0; k < p->model->block_count; k++)
    if (!player_fits(player_stack(p, k))) return false;
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    if (set->kind == HVI_SET_SUBSPACE) return false;
    if (set->kind == HVI_SET_SIMPLEX && set->len > MOST_SIMPLEX) return false;
  }
  return true;
}

/* The next n slots. */
static size_t take(hvi_lanes_plan *plan, size_t n) {
  const size_t first = plan->slots;
  plan->slots += n;
  return first;
}

static void grow(size_t *most, size_t n) { *most = n > *most ? n : *most; }

static void place_layers(hvi_lanes_plan *plan, hvi_lanes_player *player, hvi_lanes_layer *layers,
                         const hvi_stack *stack) {
  player->layers = layers;
  player->layer_count = stack->layer_count;
  for (size_t i = 0; i < stack->layer_count; i++) {
    const hvi_stack_layer *from = &stack->layers[i];
    const bool last = i + 1 == stack->layer_count;
    layers[i] = (hvi_lanes_layer){.in = from->in,
                                  .out = from->out,
                                  .activation = from->activation,
                                  .biased = from->bias != NULL,
                                  .matrix = take(plan, from->in * from->out),
                                  .bias = take(plan, from->bias ? from->out : 0),
                                  .y = last ? plan->z + player->z : take(plan, from->out),
                                  .slope = take(plan, from->out)};
    grow(&plan->widest, from->in);
    grow(&plan->widest, from->out);
  }
}

/* What the second-order methods need; returns the room a player needs for a while. */
static size_t place_linear(hvi_lanes_plan *plan, hvi_lanes_player *player) {
  const size_t k = player->out < player->dim ? player->out : player->dim;
  if (plan->rule < HVI_LANES_GN) return 0;
  player->jacobian = take(plan, player->out * player->dim);
  if (plan->rule != HVI_LANES_LM) {
    player->rows = take(plan, player->out * player->dim);
    player->turned = take(plan, player->out <= player->dim ? k : k * k);
    player->squares = take(plan, k);
    player->scale = take(plan, 1);
  }
  const size_t room = k * k + k + 4;
  return room > player->out ? room : player->out;
}

static void place_players(hvi_lanes_plan *plan, const hvi_problem *p) {
  size_t used = 0, room = 0;
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_block *block = &p->model->blocks[k];
    const hvi_stack *stack = player_stack(p, k);
    hvi_lanes_player *player = &plan->players[k];
    *player = (hvi_lanes_player){
        .dim = block->dim, .out = block->out, .theta = block->theta, .z = block->z};
    player->eta = take(plan, 1);
    player->weight = take(plan, 1);
    place_layers(plan, player, plan->layers + used, stack);
    used += stack->layer_count;
    grow(&room, place_linear(plan, player));
  }
  plan->scratch = take(plan, room);
}

static void place_game(hvi_lanes_plan *plan, const hvi_problem *p) {
  const hvi_game *game = hvi_game_of(p);
  for (size_t k = 0; k < game->payoff_count; k++) {
    const hvi_block *row = &p->model->blocks[game->payoffs[k].row];
    const hvi_block *column = &p->model->blocks[game->payoffs[k].column];
    plan->payoffs[k] = (hvi_lanes_payoff){.row = row->z,
                                          .rows = row->out,
                                          .column = column->z,
                                          .columns = column->out,
                                          .matrix = take(plan, row->out * column->out)};
  }
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    const size_t bounds = set->kind == HVI_SET_BOX ? set->len : 0;
    plan->sets[k] = (hvi_lanes_set){.kind = set->kind,
                                    .begin = set->begin,
                                    .len = set->len,
                                    .lower = take(plan, bounds),
                                    .upper = take(plan, bounds)};
    grow(&plan->widest, set->len);
  }
}

static void place(hvi_lanes_plan *plan, const hvi_problem *p) {
  const size_t d = plan->d = p->model->dim, n = plan->n = p->model->out;
  const bool stateful = plan->rule >= HVI_LANES_MOMENTUM && plan->rule <= HVI_LANES_ADAMW;
  size_t *const vectors_d[] = {&plan->theta, &plan->step};
  size_t *const vectors_n[] = {&plan->z, &plan->z_last,   &plan->f,      &plan->target,
                               &plan->r, &plan->solution, &plan->offset, &plan->gap};
  size_t *const single[] = {&plan->power1, &plan->power2, &plan->active, &plan->running,
                            &plan->loss0,  &plan->loss,   &plan->dist2,  &plan->residual2,
                            &plan->bound2, &plan->still};
  for (size_t i = 0; i < sizeof vectors_d / sizeof *vectors_d; i++) *vectors_d[i] = take(plan, d);
  for (size_t i = 0; i < sizeof vectors_n / sizeof *vectors_n; i++) *vectors_n[i] = take(plan, n);
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) *single[i] = take(plan, 1);
  plan->first = take(plan, stateful ? d : 0);
  plan->second = take(plan, stateful ? d : 0);
  place_players(plan, p);
  place_game(plan, p);
  plan->back = take(plan, 2 * plan->widest);
}

static bool allocate(hvi_lanes_plan *plan, const hvi_problem *p) {
  size_t layers = 0;
  plan->player_count = p->model->block_count;
  plan->payoff_count = hvi_game_of(p)->payoff_count;
  plan->set_count = p->set_count;
  for (size_t k = 0; k < plan->player_count; k++) layers += player_stack(p, k)->layer_count;
  plan->players = hvi_alloc(plan->player_count, sizeof *plan->players);
  plan->layers = hvi_alloc(layers, sizeof *plan->layers);
  plan->payoffs = hvi_alloc(plan->payoff_count, sizeof *plan->payoffs);
  plan->sets = hvi_alloc(plan->set_count, sizeof *plan->sets);
  return plan->players && plan->layers && plan->payoffs && plan->sets;
}

hvi_status hvi_lanes_plan_new(hvi_lanes_plan **out, const hvi_problem *p, const hvi_settings *s,
                              hvi_error *err) {
  hvi_lanes_rule rule;
  *out = NULL;
  if (!settings_fit(s) || !find_rule(&rule, s) || !problem_fits(p)) return HVI_OK;
  hvi_lanes_plan *plan = hvi_alloc(1, sizeof *plan);
  if (!plan) return hvi_error_memory(err, "an ensemble's plan");
  *plan =
      (hvi_lanes_plan){.rule = rule,
                       .inner = s->inner,
                       .alpha = s->alpha,
                       .keep_state = s->keep_state,
                       .tol2 = s->tol * s->tol,
                       .growth_bound = s->growth_bound > 0.0 ? s->growth_bound : INFINITY,
                       .stall_window = s->stall_window > 0 ? (double)s->stall_window : INFINITY};
  if (!allocate(plan, p)) {
    hvi_lanes_plan_free(plan);
    return hvi_error_memory(err, "an ensemble's plan");
  }
  place(plan, p);
  if (plan->slots > MOST_SLOTS) {
    hvi_lanes_plan_free(plan);
    return HVI_OK;
  }
  *out = plan;
  return HVI_OK;
}

void hvi_lanes_plan_free(hvi_lanes_plan *plan) {
  if (!plan) return;
  hvi_free(plan->players);
  hvi_free(plan->layers);
  hvi_free(plan->payoffs);
  hvi_free(plan->sets);
  hvi_free(plan);
}

static bool player_matches(const hvi_lanes_player *player, const hvi_stack *stack) {
  if (stack->layer_count != player->layer_count) return false;
  if (stack->base.dim != player->dim || stack->base.out != player->out) return false;
  for (size_t i = 0; i < player->layer_count; i++) {
    const hvi_lanes_layer *a = &player->layers[i];
    const hvi_stack_layer *b = &stack->layers[i];
    if (a->in != b->in || a->out != b->out || a->activation != b->activation) return false;
    if (a->biased != (b->bias != NULL)) return false;
  }
  return true;
}

/* Whether a problem that lanes can run has the plan's shape. */
static bool matches(const hvi_lanes_plan *plan, const hvi_problem *p) {
  const hvi_game *game = hvi_game_of(p);
  if (p->model->block_count != plan->player_count || p->set_count != plan->set_count) return false;
  if (game->payoff_count != plan->payoff_count) return false;
  for (size_t k = 0; k < plan->player_count; k++)
    if (!player_matches(&plan->players[k], player_stack(p, k))) return false;
  for (size_t k = 0; k < plan->payoff_count; k++) {
    const hvi_lanes_payoff *a = &plan->payoffs[k];
    const hvi_payoff *b = &game->payoffs[k];
    if (a->row != p->model->blocks[b->row].z) return false;
    if (a->column != p->model->blocks[b->column].z) return false;
  }
  for (size_t k = 0; k < plan->set_count; k++) {
    const hvi_lanes_set *a = &plan->sets[k];
    const hvi_set *b = &p->sets[k];
    if (a->kind != b->kind || a->begin != b->begin || a->len != b->len) return false;
  }
  return true;
}

static void put(hvi_lane *slots, size_t slot, size_t lane, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) slots[slot + i].at[lane] = x[i];
}

static void put_player(const hvi_lanes_player *player, hvi_lane *slots, size_t lane,
                       const hvi_stack *stack) {
  for (size_t i = 0; i < player->layer_count; i++) {
    const hvi_lanes_layer *to = &player->layers[i];
    put(slots, to->matrix, lane, stack->layers[i].matrix, to->in * to->out);
    if (to->biased) put(slots, to->bias, lane, stack->layers[i].bias, to->out);
  }
}

static void put_game(const hvi_lanes_plan *plan, hvi_lane *slots, size_t lane,
                     const hvi_game *game) {
  put(slots, plan->offset, lane, game->constant, plan->n);
  for (size_t k = 0; k < plan->payoff_count; k++) {
    const hvi_lanes_payoff *to = &plan->payoffs[k];
    put(slots, to->matrix, lane, game->payoffs[k].matrix, to->rows * to->columns);
  }
  for (size_t k = 0; k < plan->set_count; k++) {
    const hvi_lanes_set *to = &plan->sets[k];
    if (to->kind != HVI_SET_BOX) continue;
    put(slots, to->lower, lane, game->base.sets[k].lower, to->len);
    put(slots, to->upper, lane, game->base.sets[k].upper, to->len);
  }
  for (size_t i = 0; i < plan->n; i++)
    slots[plan->solution + i].at[lane] = game->base.solution ? game->base.solution[i] : NAN;
}

bool hvi_lanes_load(const hvi_lanes_plan *plan, hvi_lane *slots, size_t lane, const hvi_problem *p,
                    const hvi_settings *s, double eta) {
  if (!problem_fits(p) || !matches(plan, p)) return false;
  const hvi_game *game = hvi_game_of(p);
  const bool own_eta = s->player_eta && s->step_rule == HVI_STEP_FIXED;
  put(slots, plan->theta, lane, s->theta0 ? s->theta0 : p->theta0, plan->d);
  put_game(plan, slots, lane, game);
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *player = &plan->players[k];
    slots[player->eta].at[lane] = own_eta ? s->player_eta[k] : eta;
    slots[player->weight].at[lane] = game->weight[k];
    put_player(player, slots, lane, player_stack(p, k));
  }
  slots[plan->active].at[lane] = 1.0;
  return true;
}
