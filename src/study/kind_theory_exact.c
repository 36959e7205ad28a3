/*
 * kind: theory-exact. The rate of the exact step z <- Pi(z - eta F(z)), which shows three misprints
 * by what they do.
 *
 * The proof of the theorem lets the exact step contract for eta < 2 mu / L; kappa^2 =
 * 1 - 2 eta mu + eta^2 L^2 < 1 asks for eta < 2 mu / L^2. An F = mu I + rotation of norm L attains
 * kappa, so just above the latter its exact step expands, and far below the former too.
 *
 * Both games are printed with a plus before player 2's regulariser, so that F loses
 * 2 w (z_2 - c_2): its symmetric part is then diag(w, -w), and the exact step expands for every
 * eta. With the level printed of the factor `regulariser` the game is the printed one; `weight` is w.
 */
#include "base/base.h"
#include "study/kinds.h"
#include "study/theory_lab.h"

/* A mended game with the printed signs put back. */
typedef struct misprint {
  hvi_problem base;
  hvi_problem *game;
  double weight;
} misprint;

static void misprint_operate(const hvi_problem *p, const void *sample, const double *theta,
                             const double *z, double *f) {
  const misprint *m = (const misprint *)p;
  const hvi_block *second = &p->model->blocks[1];
  m->game->ops->operate(m->game, sample, theta, z, f);
  for (size_t i = second->z; i < second->z + second->out; i++)
    f[i] -= 2.0 * m->weight * (z[i] - p->solution[i]);
}

static void misprint_affine(const hvi_problem *p, double *A, double *b) {
  const misprint *m = (const misprint *)p;
  const hvi_block *second = &p->model->blocks[1];
  m->game->ops->affine(m->game, A, b);
  for (size_t i = second->z; i < second->z + second->out; i++) {
    A[i * p->model->out + i] -= 2.0 * m->weight;
    b[i] += 2.0 * m->weight * p->solution[i];
  }
}

static void misprint_free(hvi_problem *p) {
  hvi_problem_free(((misprint *)p)->game);
  hvi_free(p);
}

static const hvi_problem_ops misprint_ops = {.name = "misprint",
                                             .operate = misprint_operate,
                                             .affine = misprint_affine,
                                             .free = misprint_free};

/* In the place of the mended game. */
static hvi_status put_back(hvi_problem **p, const hvi_cell *c, hvi_error *err) {
  hvi_problem *game = *p;
  const double weight = hvi_cell_number(c, "weight");
  if (isnan(weight) || game->model->block_count < 2 || !game->solution || !game->ops->affine)
    return hvi_error_input(err, "%s: a regulariser needs a game of two and its weight",
                           c->study->origin);
  misprint *m = hvi_alloc(1, sizeof *m);
  if (!m) return hvi_error_memory(err, "a game");
  *m = (misprint){.base = *game, .game = game, .weight = weight};
  m->base.ops = &misprint_ops;
  *p = &m->base;
  return HVI_OK;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const char *sign = hvi_cell_word(c, "regulariser");
  hvi_lab lab;
  hvi_constants k = {0};
  double rate = NAN;
  hvi_status status = hvi_lab_open(&lab, c, err);
  if (!status && sign && strcmp(sign, "printed") == 0) status = put_back(&lab.problem, c, err);
  if (!status) status = hvi_problem_constants(&k, lab.problem, err);
  if (!status)
    status =
        hvi_exact_rate(&rate, lab.problem, &lab.settings, lab.eta, lab.settings.max_outer, err);
  if (!status) status = hvi_rows_add(rows, 0, (double[]){k.mu, rate}, err);
  hvi_problem_free(lab.problem);
  return status;
}

static const hvi_column columns[] = {{.name = "monotonicity exact_rate"}, {0}};
static const hvi_kind_table tables[] = {{"", columns, NULL}, {0}};

const hvi_kind hvi_kind_theory_exact = {
    .name = "theory-exact", .summary = "the rate of the exact step", .tables = tables, .run = run};
