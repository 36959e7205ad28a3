/*
 * Plans: can lanes run this, and which slot holds which number? One walk over a problem places its
 * numbers, and writes them when it is given a lane. An instance has the shape of the others when its
 * own plan has the same tables.
 *
 * Yes for games whose players are stacks of fixed layers without biases, with theta as input and identity,
 * celu, sigmoid, softmax or tanh, over boxes, simplices and free outputs, with an optimizer that keeps no
 * state and whose steps need no decision of their own (gd, lm), and a plain target; for lm where no player
 * has more outputs than parameters. All else is left to the ordinary solver.
 */
#include "base/base.h"
#include "ensemble/lanes.h"
#include "inner/optimizers.h"
#include "problems/games/game.h"

/* Beyond these sizes lanes fall out of the caches and the ordinary solver's LAPACK wins. */
enum { MOST_SLOTS = 4096, MOST_RANK = 32, MOST_SIMPLEX = 32 };

static bool is_damped(const hvi_settings *s) { return s->optimizer == &hvi_optimizer_lm; }

static bool settings_fit(const hvi_settings *s) {
  const bool plain = s->inner.linear != HVI_SOLVE_MATRIX_FREE && !s->inner.adapt_damping;
  if (s->optimizer != &hvi_optimizer_gd && !(is_damped(s) && plain)) return false;
  return !s->baseline && s->target == HVI_TARGET_PLAIN && !s->accelerate && !s->alternating &&
         s->step_rule != HVI_STEP_ADAPTIVE && s->eta_decay == 0.0 && s->inner_lr_decay == 0.0 &&
         s->alpha == 0.0 && !s->tol_relative && s->max_f_evals == 0 && s->max_seconds == 0.0;
}

/* Player k's model as a stack, or NULL when it is something else. */
static const hvi_stack *player_stack(const hvi_problem *p, size_t k) {
  const hvi_model *m = p->model;
  return hvi_stack_of(m->ops->player ? m->ops->player(m, k) : m);
}

static bool player_fits(const hvi_stack *stack, bool damped) {
  if (!stack || stack->input || stack->layer_count == 0) return false;
  for (size_t i = 0; i < stack->layer_count; i++) {
    const hvi_stack_layer *layer = &stack->layers[i];
    const bool known = layer->activation <= HVI_TANH; /* identity, celu, sigmoid, softmax, tanh */
    if (!layer->matrix || layer->bias || layer->train_bias || !known) return false;
  }
  const hvi_model *m = &stack->model.base;
  return m->out <= MOST_RANK && (!damped || m->out <= m->dim);
}

static bool problem_fits(const hvi_problem *p, bool damped) {
  if (!hvi_game_of(p) || p->weights) return false;
  for (size_t k = 0; k < p->model->block_count; k++)
    if (!player_fits(player_stack(p, k), damped)) return false;
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    if (set->kind == HVI_SET_SUBSPACE) return false;
    if (set->kind == HVI_SET_SIMPLEX && set->len > MOST_SIMPLEX) return false;
  }
  return true;
}

/* The next n slots, with x[n] in them if there are both a lane and numbers for it. */
static size_t take(hvi_lanes_plan *plan, double *lane, const double *x, size_t n) {
  const size_t first = plan->slots;
  for (size_t i = 0; lane && x && i < n; i++) lane[(first + i) * HVI_LANES] = x[i];
  plan->slots += n;
  return first;
}

static size_t room(hvi_lanes_plan *plan, size_t n) { return take(plan, NULL, NULL, n); }

static void grow(size_t *most, size_t n) { *most = n > *most ? n : *most; }

static void place_layers(hvi_lanes_plan *plan, double *lane, const hvi_lanes_player *player,
                         const hvi_stack *stack) {
  for (size_t i = 0; i < stack->layer_count; i++) {
    const hvi_stack_layer *from = &stack->layers[i];
    const bool last = i + 1 == stack->layer_count;
    plan->layers[player->first_layer + i] =
        (hvi_lanes_layer){.in = from->in,
                          .out = from->out,
                          .activation = from->activation,
                          .matrix = take(plan, lane, from->matrix, from->in * from->out),
                          .y = last ? plan->z + player->z : room(plan, from->out),
                          .slope = room(plan, from->out)};
    grow(&plan->widest, from->in);
    grow(&plan->widest, from->out);
  }
}

static void place_players(hvi_lanes_plan *plan, double *lane, const hvi_problem *p, double eta) {
  size_t used = 0, scratch = 0;
  for (size_t k = 0; k < plan->player_count; k++) {
    const hvi_block *block = &p->model->blocks[k];
    const hvi_stack *stack = player_stack(p, k);
    hvi_lanes_player *player = &plan->players[k];
    *player = (hvi_lanes_player){.dim = block->dim,
                                 .out = block->out,
                                 .theta = block->theta,
                                 .z = block->z,
                                 .layer_count = stack->layer_count,
                                 .first_layer = used,
                                 .eta = take(plan, lane, &eta, 1),
                                 .weight = take(plan, lane, &hvi_game_of(p)->weight[k], 1)};
    place_layers(plan, lane, player, stack);
    used += stack->layer_count;
    if (!plan->damped) continue;
    player->jacobian = room(plan, block->out * block->dim);
    grow(&scratch, block->out * block->out + block->out);
  }
  plan->scratch = room(plan, scratch);
}

static void place_game(hvi_lanes_plan *plan, double *lane, const hvi_problem *p) {
  for (size_t k = 0; k < plan->payoff_count; k++) {
    const hvi_payoff *from = &hvi_game_of(p)->payoffs[k];
    const hvi_block *row = &p->model->blocks[from->row], *column = &p->model->blocks[from->column];
    plan->payoffs[k] =
        (hvi_lanes_payoff){.row = row->z,
                           .column = column->z,
                           .columns = column->out,
                           .matrix = take(plan, lane, from->matrix, row->out * column->out)};
  }
  for (size_t k = 0; k < plan->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    const size_t bounds = set->kind == HVI_SET_BOX ? set->len : 0;
    plan->sets[k] = (hvi_lanes_set){.kind = set->kind,
                                    .begin = set->begin,
                                    .len = set->len,
                                    .lower = take(plan, lane, set->lower, bounds),
                                    .upper = take(plan, lane, set->upper, bounds)};
    grow(&plan->widest, set->len);
  }
}

static void place(hvi_lanes_plan *plan, double *lane, const hvi_problem *p, double eta) {
  const size_t d = plan->d = p->model->dim, n = plan->n = p->model->out;
  size_t *const places[] = {&plan->z, &plan->z_last, &plan->f, &plan->target, &plan->r, &plan->gap};
  plan->slots = HVI_SLOT_COUNT;
  plan->theta = take(plan, lane, plan->method->theta0 ? plan->method->theta0 : p->theta0, d);
  plan->step = room(plan, d);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) *places[i] = room(plan, n);
  plan->solution = take(plan, lane, p->solution, n);
  plan->offset = take(plan, lane, hvi_game_of(p)->constant, n);
  place_players(plan, lane, p, eta);
  place_game(plan, lane, p);
  plan->back = room(plan, 2 * plan->widest);
  if (!lane) return;
  lane[HVI_SLOT_ACTIVE * HVI_LANES] = 1.0;
  for (size_t i = 0; !p->solution && i < n; i++) lane[(plan->solution + i) * HVI_LANES] = NAN;
}

/* An empty plan and its tables, in one block. */
static hvi_lanes_plan *allocate(const hvi_problem *p) {
  const size_t players = p->model->block_count, payoffs = hvi_game_of(p)->payoff_count;
  size_t layers = 0;
  for (size_t k = 0; k < players; k++) layers += player_stack(p, k)->layer_count;
  const size_t size = players * sizeof(hvi_lanes_player) + layers * sizeof(hvi_lanes_layer) +
                      payoffs * sizeof(hvi_lanes_payoff) + p->set_count * sizeof(hvi_lanes_set);
  hvi_lanes_plan *plan = hvi_alloc(1, sizeof *plan + size);
  if (!plan) return NULL;
  plan->player_count = players;
  plan->payoff_count = payoffs;
  plan->set_count = p->set_count;
  plan->table_size = size;
  plan->players = (void *)(plan + 1);
  plan->layers = (void *)(plan->players + players);
  plan->payoffs = (void *)(plan->layers + layers);
  plan->sets = (void *)(plan->payoffs + payoffs);
  return plan;
}

hvi_status hvi_lanes_plan_new(hvi_lanes_plan **out, const hvi_problem *p, const hvi_settings *s,
                              hvi_error *err) {
  *out = NULL;
  if (!settings_fit(s) || !problem_fits(p, is_damped(s))) return HVI_OK;
  hvi_lanes_plan *plan = allocate(p);
  if (!plan) return hvi_error_memory(err, "an ensemble's plan");
  plan->method = s;
  plan->damped = is_damped(s);
  plan->tol2 = s->tol * s->tol;
  plan->growth_bound = s->growth_bound > 0.0 ? s->growth_bound : INFINITY;
  plan->stall_window = s->stall_window > 0 ? (double)s->stall_window : INFINITY;
  place(plan, NULL, p, 0.0);
  if (plan->slots <= MOST_SLOTS)
    *out = plan;
  else
    hvi_free(plan);
  return HVI_OK;
}

hvi_status hvi_lanes_load(const hvi_lanes_plan *plan, hvi_lane *slots, size_t lane,
                          const hvi_problem *p, double eta, bool *fits, hvi_error *err) {
  HVI_OWN hvi_lanes_plan *own = NULL;
  HVI_TRY(hvi_lanes_plan_new(&own, p, plan->method, err));
  *fits = own && own->player_count == plan->player_count &&
          own->payoff_count == plan->payoff_count && own->table_size == plan->table_size &&
          memcmp(own->players, plan->players, plan->table_size) == 0;
  if (*fits) place(own, (double *)slots + lane, p, eta);
  return HVI_OK;
}
