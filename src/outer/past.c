/* Earlier iterates, as targets look back at them. */
#include "num/vec.h"
#include "outer/solver.h"

size_t hvi_past_count(const hvi_solver *s) {
  return s->row.outer < s->past.depth ? s->row.outer : s->past.depth;
}

static size_t slot(const hvi_solver *s, size_t k) { return (s->row.outer - k) % s->past.depth; }

const double *hvi_past_z(const hvi_solver *s, size_t k) {
  return s->past.z + slot(s, k) * s->problem->model->out;
}

const double *hvi_past_f(const hvi_solver *s, size_t k) {
  return s->past.f + slot(s, k) * s->problem->model->out;
}

void hvi_past_renew(hvi_solver *s) {
  const hvi_past *past = &s->past;
  const hvi_problem *p = s->problem;
  const hvi_model *m = p->model;
  if (!past->theta || p->one_sample) return; /* z and F of the past are still theirs */
  if (m->ops->bind) m->ops->bind(m, past->cache, s->sample);
  for (size_t k = 1; k <= hvi_past_count(s); k++) {
    const double *theta = past->theta + slot(s, k) * m->dim;
    double *z = past->z + slot(s, k) * m->out, *f = past->f + slot(s, k) * m->out;
    m->ops->eval(m, past->cache, theta, z);
    p->ops->operate(p, s->sample, theta, z, f);
    s->row.counts.model_passes++;
    s->row.counts.f_evals++;
  }
}

void hvi_past_keep(hvi_solver *s, const hvi_turn *turn) {
  const hvi_past *past = &s->past;
  const hvi_model *m = s->problem->model;
  const hvi_block *b = &turn->block;
  if (past->depth == 0) return;
  const size_t at = slot(s, 0);
  hvi_vec_copy(past->z + at * m->out + b->z, s->z + b->z, b->out);
  hvi_vec_copy(past->f + at * m->out + b->z, s->f + b->z, b->out);
  if (past->theta) {
    hvi_vec_copy(past->theta + at * m->dim + b->theta, turn->room.l.now->theta, b->dim);
  }
}
