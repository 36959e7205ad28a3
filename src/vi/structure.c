/*
 * What a problem must have before anything is computed with it. Nothing of it is called but `player`,
 * so that a solver can ask each time one is made.
 */
#include "base/base.h"
#include "vi/sets.h"

#define REFUSE_IF(fault, ...)                                                                      \
  do {                                                                                             \
    if (fault) return hvi_error_argument(err, __VA_ARGS__);                                        \
  } while (0)

/* Puts a name before the line of a fault. */
static hvi_status name_fault(hvi_error *err, hvi_status status, const char *who) {
  return status && err ? hvi_error_set(err, status, "%s: %s", who, err->text) : status;
}

static hvi_status check_model(const hvi_model *m, hvi_error *err) {
  REFUSE_IF(!m, "there is no model");
  REFUSE_IF(!m->ops, "the model has no ops");
  REFUSE_IF(!m->ops->eval, "the model has no eval");
  REFUSE_IF(!m->ops->vjp, "the model has no vjp, the product J'u");
  REFUSE_IF(!m->ops->jvp, "the model has no jvp, the product J v");
  REFUSE_IF(!m->dim || !m->out, "the model has %zu parameters and %zu outputs: at least 1 each",
            m->dim, m->out);
  REFUSE_IF(!m->block_count,
            "the model's block_count is 0: it is the number of players, at least 1");
  REFUSE_IF(!m->blocks, "the model has no blocks: an array of block_count = %zu", m->block_count);
  REFUSE_IF(!(m->noise >= 0.0 && m->noise < 1.0),
            "the model's noise is %g: a relative error, 0 for that of doubles", m->noise);
  return HVI_OK;
}

/* A player's own model has the sizes of its block. */
static hvi_status check_player(const hvi_model *m, size_t k, hvi_error *err) {
  const hvi_block *b = &m->blocks[k];
  const hvi_model *one = m->ops->player(m, k);
  REFUSE_IF(!one, "ops->player gives no model for player %zu", k + 1);
  char who[32];
  snprintf(who, sizeof who, "player %zu", k + 1);
  HVI_TRY(name_fault(err, check_model(one, err), who));
  REFUSE_IF(one->dim != b->dim || one->out != b->out || one->block_count != 1,
            "the model of player %zu has %zu parameters and %zu outputs, its block %zu and %zu",
            k + 1, one->dim, one->out, b->dim, b->out);
  REFUSE_IF(b->cache > m->cache || one->cache > m->cache - b->cache,
            "the cache of player %zu reaches beyond the model's %zu doubles", k + 1, m->cache);
  return HVI_OK;
}

static hvi_status check_blocks(const hvi_model *m, hvi_error *err) {
  size_t theta = 0, z = 0;
  REFUSE_IF(m->block_count > 1 && !m->ops->player,
            "a model of %zu players needs ops->player, the model of one of them", m->block_count);
  for (size_t k = 0; k < m->block_count; k++) {
    const hvi_block *b = &m->blocks[k];
    REFUSE_IF(b->theta != theta || b->z != z,
              "block %zu begins at parameter %zu and output %zu, and the one before ends at %zu "
              "and %zu",
              k + 1, b->theta, b->z, theta, z);
    REFUSE_IF(b->dim > m->dim - theta || b->out > m->out - z,
              "block %zu reaches beyond the model's %zu parameters and %zu outputs", k + 1, m->dim,
              m->out);
    theta += b->dim;
    z += b->out;
    if (m->ops->player) HVI_TRY(check_player(m, k, err));
  }
  REFUSE_IF(theta != m->dim || z != m->out,
            "the blocks cover %zu of %zu parameters and %zu of %zu outputs", theta, m->dim, z,
            m->out);
  return HVI_OK;
}

static hvi_status check_set(const hvi_set *s, size_t k, hvi_error *err) {
  const bool box = s->kind == HVI_SET_BOX, subspace = s->kind == HVI_SET_SUBSPACE;
  const size_t most = s->len < HVI_SET_RANK ? s->len : (size_t)HVI_SET_RANK;
  REFUSE_IF(!box && !subspace && s->kind != HVI_SET_FREE && s->kind != HVI_SET_SIMPLEX,
            "set %zu is of kind %d: there is no such kind", k + 1, (int)s->kind);
  REFUSE_IF(box && (!s->lower || !s->upper), "set %zu is a box without %s bounds", k + 1,
            s->lower ? "upper" : "lower");
  for (size_t i = 0; box && i < s->len; i++)
    REFUSE_IF(!(s->lower[i] <= s->upper[i]), "set %zu: lower[%zu] = %g is above upper[%zu] = %g",
              k + 1, i, s->lower[i], i, s->upper[i]);
  REFUSE_IF(subspace && !s->basis, "set %zu is a subspace without a basis", k + 1);
  REFUSE_IF(subspace && (s->rank == 0 || s->rank > most),
            "set %zu: a rank of %zu in %zu outputs: it must lie in [1, %zu]", k + 1, s->rank,
            s->len, most);
  return HVI_OK;
}

static hvi_status check_sets(const hvi_problem *p, hvi_error *err) {
  const size_t n = p->model->out;
  size_t covered = 0;
  REFUSE_IF(p->set_count > 0 && !p->sets, "there are no sets, and set_count is %zu", p->set_count);
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *s = &p->sets[k];
    REFUSE_IF(s->begin != covered, "set %zu begins at output %zu, and the one before ends at %zu",
              k + 1, s->begin, covered);
    REFUSE_IF(s->len == 0 || s->len > n - covered, "set %zu has a len of %zu, of %zu outputs",
              k + 1, s->len, n);
    HVI_TRY(check_set(s, k, err));
    covered += s->len;
  }
  REFUSE_IF(covered != n, "its sets cover %zu of %zu outputs", covered, n);
  for (size_t i = 0; p->weights && i < n; i++) {
    const bool linear = p->weights[i] == 0.0 && p->ops->resample;
    REFUSE_IF(!linear && !(p->weights[i] > 0.0 && isfinite(p->weights[i])),
              "weight %zu is %g: it must be positive", i + 1, p->weights[i]);
  }
  return HVI_OK;
}

/* Functions that go together, and what else the struct holds. */
static hvi_status check_rest(const hvi_problem *p, hvi_error *err) {
  const hvi_problem_ops *ops = p->ops;
  REFUSE_IF(ops->draw && !p->sample_bytes, "it draws samples, and sample_bytes is 0");
  REFUSE_IF(!ops->draw && p->sample_bytes, "sample_bytes is %zu, and there is no draw",
            p->sample_bytes);
  REFUSE_IF(!ops->draw && (ops->seek || ops->resample), "%s needs draw",
            ops->seek ? "seek" : "resample");
  REFUSE_IF(ops->resample && !p->model->ops->bind, "resample needs a model with bind");
  REFUSE_IF(ops->lift && !ops->slow_mode, "lift needs slow_mode");
  REFUSE_IF(!(p->eta >= 0.0 && isfinite(p->eta)), "eta = %g: a step size, or 0", p->eta);
  for (const hvi_rule *const *r = ops->rules; r && *r; r++)
    REFUSE_IF(!(*r)->name || !(*r)->state || !(*r)->step, "a rule lacks its name, state or step");
  for (size_t i = 0; p->solution && i < p->model->out; i++)
    REFUSE_IF(!isfinite(p->solution[i]), "solution %zu is %g: it must be finite", i + 1,
              p->solution[i]);
  for (size_t k = 0; p->players && k < p->model->block_count; k++)
    REFUSE_IF(!p->players[k], "player %zu of %zu has no name", k + 1, p->model->block_count);
  return HVI_OK;
}

static hvi_status check_all(const hvi_problem *p, hvi_error *err) {
  REFUSE_IF(!p->ops->operate, "its ops have no operate, the operator F");
  HVI_TRY(check_model(p->model, err));
  HVI_TRY(check_blocks(p->model, err));
  HVI_TRY(check_sets(p, err));
  return check_rest(p, err);
}

hvi_status hvi_problem_structure(const hvi_problem *p, hvi_error *err) {
  REFUSE_IF(!p, "there is no problem");
  REFUSE_IF(!p->ops, "problem: it has no ops");
  REFUSE_IF(!p->ops->name, "problem: its ops have no name");
  return name_fault(err, check_all(p, err), p->ops->name);
}
