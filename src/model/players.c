/*
 * Several players side by side: g(theta) = (h_1(theta_1), ..., h_K(theta_K)).
 *
 * The Jacobian is block-diagonal, and every product goes player by player. So does the dense
 * Jacobian of any model, by products with unit vectors.
 */
#include "base/base.h"
#include "model/stack.h"
#include "num/vec.h"

typedef struct players {
  hvi_model base;
  hvi_block *blocks;   /* [block_count], behind the players in memory */
  hvi_model *player[]; /* [block_count], owned */
} players;

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const players *p = (const players *)m;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &p->blocks[k];
    p->player[k]->ops->eval(p->player[k], cache + b->cache, theta + b->theta, z + b->z);
  }
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  const players *p = (const players *)m;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &p->blocks[k];
    p->player[k]->ops->vjp(p->player[k], cache + b->cache, theta + b->theta, u + b->z,
                           out + b->theta);
  }
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  const players *p = (const players *)m;
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &p->blocks[k];
    p->player[k]->ops->jvp(p->player[k], cache + b->cache, theta + b->theta, v + b->theta,
                           out + b->z);
  }
}

static const hvi_model *player(const hvi_model *m, size_t k) {
  return ((const players *)m)->player[k];
}

static void drop(hvi_model *m) {
  for (size_t k = 0; k < m->block_count; k++) hvi_model_free(((players *)m)->player[k]);
  hvi_free(m);
}

static const hvi_model_ops players_ops = {
    .name = "players", .eval = eval, .vjp = vjp, .jvp = jvp, .player = player, .free = drop};

/* Places the players one after another in theta, z and the cache; `from` may be where they are. */
static void lay_out(players *p, size_t count, hvi_model *const *from) {
  hvi_model *m = &p->base;
  *m = (hvi_model){.dim = 0};
  p->blocks = (void *)(p->player + count);
  for (size_t k = 0; k < count; k++) {
    const hvi_model *one = p->player[k] = from[k];
    p->blocks[k] = (hvi_block){
        .theta = m->dim, .dim = one->dim, .z = m->out, .out = one->out, .cache = m->cache};
    m->dim += one->dim;
    m->out += one->out;
    m->cache += one->cache;
    m->noise = fmax(m->noise, one->noise);
  }
  m->block_count = count;
  m->blocks = p->blocks;
  m->ops = &players_ops;
}

hvi_status hvi_players_new(hvi_model **model, size_t count, hvi_model *const *from,
                           hvi_error *err) {
  *model = NULL;
  if (count == 0 || !from) return hvi_error_argument(err, "there must be at least one player");
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < count && !status; k++)
    if (!from[k] || from[k]->block_count != 1)
      status = hvi_error_argument(err, "player %zu is not a model of one player", k + 1);
  players *p = NULL;
  if (!status) p = hvi_alloc(1, sizeof *p + count * (sizeof *p->player + sizeof *p->blocks));
  if (!p) {
    for (size_t k = 0; k < count; k++) hvi_model_free(from[k]);
    return status ? status : hvi_error_memory(err, "the players' models");
  }
  lay_out(p, count, from);
  *model = &p->base;
  return HVI_OK;
}

hvi_status hvi_model_set_precision(hvi_model *m, hvi_precision precision, size_t *changed,
                                   hvi_error *err) {
  if (!m) return hvi_error_argument(err, "hvi_model_set_precision: a null pointer");
  hvi_stack *stack = hvi_stack_of(m) ? (hvi_stack *)m : NULL;
  if (stack && changed && stack->input) ++*changed;
  if (stack) return hvi_stack_set_precision(stack, precision, err);
  if (m->ops->free != drop) return HVI_OK;
  players *p = (players *)m;
  hvi_status status = HVI_OK;
  for (size_t k = 0; k < m->block_count && !status; k++)
    status = hvi_model_set_precision(p->player[k], precision, changed, err);
  lay_out(p, m->block_count, p->player);
  return status;
}

void hvi_model_free(hvi_model *m) {
  if (m && m->ops && m->ops->free) m->ops->free(m);
}

void hvi_model_jacobian(const hvi_model *m, double *cache, const double *theta, size_t k, double *J,
                        double *scratch) {
  const hvi_block *b = &m->blocks[k];
  const hvi_model *one = m->ops->player ? m->ops->player(m, k) : m;
  const size_t n = b->out, d = b->dim;
  cache += b->cache;
  theta += b->theta;
  if (one->ops->jacobian) {
    one->ops->jacobian(one, cache, theta, J);
    return;
  }
  if (n <= d) {
    /* row i is J' e_i */
    hvi_vec_zero(scratch, n);
    for (size_t i = 0; i < n; i++) {
      scratch[i] = 1.0;
      one->ops->vjp(one, cache, theta, scratch, J + i * d);
      scratch[i] = 0.0;
    }
    return;
  }
  double *unit = scratch, *column = scratch + d;
  hvi_vec_zero(unit, d);
  for (size_t j = 0; j < d; j++) {
    unit[j] = 1.0;
    one->ops->jvp(one, cache, theta, unit, column);
    for (size_t i = 0; i < n; i++) J[i * d + j] = column[i];
    unit[j] = 0.0;
  }
}
