/* Instances into lanes: the same slots for each, if they have the same shape. */
#include "ensemble/lanes.h"
#include "model/stack.h"
#include "problems/games/game.h"

#include <math.h>

static bool layer_matches(const hvi_lanes_layer *a, const hvi_stack_layer *b) {
  return a->in == b->in && a->out == b->out && a->activation == b->activation && b->matrix &&
         !b->train_bias && a->biased == (b->bias != NULL);
}

static bool player_matches(const hvi_lanes_player *player, const hvi_stack *stack) {
  if (!stack || stack->input || stack->layer_count != player->layer_count) return false;
  if (stack->base.dim != player->dim || stack->base.out != player->out) return false;
  for (size_t i = 0; i < player->layer_count; i++) {
    if (!layer_matches(&player->layers[i], &stack->layers[i])) return false;
  }
  return true;
}

static bool payoff_matches(const hvi_lanes_payoff *a, const hvi_payoff *b,
                           const hvi_block *blocks) {
  return a->row == blocks[b->row].z && a->column == blocks[b->column].z;
}

static bool set_matches(const hvi_lanes_set *a, const hvi_set *b) {
  return a->kind == b->kind && a->begin == b->begin && a->len == b->len;
}

static bool matches(const hvi_lanes_plan *plan, const hvi_problem *p) {
  const hvi_game *game = hvi_game_of(p);
  if (!game || p->weights || p->model->block_count != plan->player_count) return false;
  if (game->payoff_count != plan->payoff_count || p->set_count != plan->set_count) return false;
  for (size_t k = 0; k < plan->player_count; k++) {
    if (!player_matches(&plan->players[k], hvi_lanes_player_stack(p, k))) return false;
  }
  for (size_t k = 0; k < plan->payoff_count; k++) {
    if (!payoff_matches(&plan->payoffs[k], &game->payoffs[k], p->model->blocks)) return false;
  }
  for (size_t k = 0; k < plan->set_count; k++) {
    if (!set_matches(&plan->sets[k], &p->sets[k])) return false;
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
  for (size_t i = 0; i < plan->n; i++) {
    slots[plan->solution + i].at[lane] = game->base.solution ? game->base.solution[i] : NAN;
  }
}

bool hvi_lanes_load(const hvi_lanes_plan *plan, hvi_lane *slots, size_t lane, const hvi_problem *p,
                    const hvi_settings *s, double eta) {
  if (!matches(plan, p)) return false;
  const hvi_game *game = hvi_game_of(p);
  const bool own_eta = s->player_eta && s->step_rule == HVI_STEP_FIXED;
  put(slots, plan->theta, lane, s->theta0 ? s->theta0 : p->theta0, plan->d);
  put_game(plan, slots, lane, game);
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_lanes_player *player = &plan->players[k];
    slots[player->eta].at[lane] = own_eta ? s->player_eta[k] : eta;
    slots[player->weight].at[lane] = game->weight[k];
    put_player(player, slots, lane, hvi_lanes_player_stack(p, k));
  }
  slots[plan->active].at[lane] = 1.0;
  return true;
}
