/*
 * kind: rps-scan. The paper shows one random game of rock-paper-scissors and does not print its
 * matrices. Its statements do not hold for most games, so the choice of one is part of the result:
 * here every statement is judged on many random games, the counts are reported, and the shipped game
 * is the first one on which all of them hold with a factor of ten to spare.
 *
 * Every statement is made of four numbers a method: where it ends, slope and fit of log10 of the
 * squared distance, and the largest rise, max over s < t of dist2[t] / dist2[s].
 *
 *   linear     a falling line with R^2 >= 0.95 that ends below 1e-3 (by a factor of margin)
 *   unstable   it rises again by a factor of two or more
 *   better     ends lower, by a factor of margin
 */
#include "base/base.h"
#include "num/stats.h"
#include "num/vec.h"
#include "problems/games/file.h"
#include "study/kinds.h"
#include "study/runs.h"

enum { PHGD, LM1, LM5, GD10, GD100, GDA, METHODS, CLAIMS = 7, COLUMNS = 17, EVERY = 10 };

static const char *const labels[METHODS] = {"PHGD", "LM(1)", "LM(5)", "GD(10)", "GD(100)", "GDA"};
static const double choice_margin = 10;

typedef struct measures {
  double end[METHODS], slope[METHODS], r2[METHODS], rise[METHODS];
} measures;

/* y[rows]: every tenth squared distance of method k. */
static void measure(measures *m, size_t k, const double *y, size_t rows) {
  const hvi_stats_line line = hvi_stats_log_line(y, rows, HVI_STUDY_ROUNDING);
  const double last = y[rows - 1];
  m->end[k] = isfinite(last) ? fmax(last, HVI_STUDY_ROUNDING) : INFINITY;
  m->slope[k] = line.slope / EVERY;
  m->r2[k] = line.r2;
  m->rise[k] = hvi_rise_of(y, rows);
}

static bool is_linear(const measures *m, size_t k, double margin) {
  return m->slope[k] < 0 && m->r2[k] >= 0.95 && m->end[k] * margin <= 1e-3;
}

static bool beats(const measures *m, size_t better, size_t worse, double margin) {
  return m->end[better] * margin < m->end[worse];
}

/* Which statements hold; true: all of them. Where one says better or worse, the factor must be at
 * least margin. */
static bool judge_game(double holds[CLAIMS], const measures *m, double margin) {
  const bool all[CLAIMS] = {is_linear(m, PHGD, margin),
                            is_linear(m, LM1, margin),
                            beats(m, PHGD, GDA, margin) && beats(m, LM1, GDA, margin),
                            m->rise[GDA] >= 2,
                            beats(m, GD10, GDA, margin) && m->rise[GD10] <= m->rise[GDA],
                            beats(m, GD10, GD100, margin),
                            beats(m, LM1, LM5, margin)};
  bool every = true;
  for (size_t k = 0; k < CLAIMS; k++) {
    holds[k] = all[k];
    every = every && all[k];
  }
  return every;
}

/* Game number `index`, which is the problem's instance index + 1. */
static hvi_status add_game(hvi_rows *rows, hvi_ensemble *const *e, size_t index, double *y,
                           hvi_error *err) {
  measures m;
  double row[COLUMNS] = {(double)(index + 1)}, clearly[CLAIMS];
  for (size_t k = 0; k < METHODS; k++) {
    for (size_t i = 0; i < e[k]->rows; i++) y[i] = e[k]->dist2[i * e[k]->count + index];
    measure(&m, k, y, e[k]->rows);
    row[1 + k] = m.end[k];
  }
  row[COLUMNS - 2] = judge_game(row + 1 + METHODS, &m, 1);
  row[COLUMNS - 3] = judge_game(clearly, &m, choice_margin);
  row[COLUMNS - 1] = NAN;
  return hvi_rows_add(rows, 0, row, err);
}

typedef struct games {
  hvi_ensemble *of[METHODS];
} games;

static void games_free(games *g) {
  for (size_t k = 0; k < METHODS; k++) hvi_ensemble_free(g->of[k]);
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  HVI_OWN_BY(games_free) games g = {0};
  for (size_t k = 0; k < METHODS; k++) {
    const size_t m = hvi_part_method(c->part, labels[k]);
    if (m == c->part->method_count)
      return hvi_error_input(err, "kind rps-scan lacks the method %s", labels[k]);
    HVI_TRY(hvi_ensemble_of_cell(&g.of[k], c, &c->part->methods[m].settings, EVERY, err));
    if (!hvi_cell_tick(c, (double)(k + 1) / METHODS)) return HVI_OK;
  }
  HVI_OWN double *y = hvi_alloc_doubles(g.of[0]->rows);
  if (!y) return hvi_error_memory(err, "a scan");
  for (size_t i = 0; i < g.of[0]->count; i++) HVI_TRY(add_game(rows, g.of, i, y, err));
  return HVI_OK;
}

HVI_RELEASE(hvi_problem)

/* The chosen game as a file: problems/rps.yaml is a copy of it. */
static hvi_status write_chosen(const hvi_cell *c, size_t instance, size_t count, size_t clear,
                               hvi_error *err) {
  char comment[400];
  HVI_OWN_BY(hvi_problem_release) hvi_problem *game = NULL;
  HVI_OWN char *path = hvi_study_path(c->study, "chosen-game", ".yaml");
  snprintf(comment, sizeof comment,
           "Hidden rock-paper-scissors: softmax(A2 CELU(A1 theta)) for each player.\n"
           "Random instance %zu of seed %llu: the first on which every statement of the paper's\n"
           "Section 5.1 holds with each comparison by a factor of %g; of %zu instances %zu do.\n"
           "Chosen and written by `hvi reproduce rps`, which reports the whole scan.",
           instance, (unsigned long long)c->part->seed, choice_margin, count, clear);
  if (!path) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_cell_problem(&game, c, instance, err));
  return hvi_game_write_yaml(path, game, comment, err);
}

/* Whether the shipped game starts where the chosen instance does: the draw is the same. */
static bool is_shipped(const hvi_cell *c, size_t instance) {
  HVI_OWN_BY(hvi_problem_release) hvi_problem *shipped = NULL;
  HVI_OWN_BY(hvi_problem_release) hvi_problem *drawn = NULL;
  return hvi_cell_problem(&shipped, c, 0, NULL) == HVI_OK &&
         hvi_cell_problem(&drawn, c, instance, NULL) == HVI_OK &&
         shipped->model->dim == drawn->model->dim &&
         hvi_vec_dist2(shipped->theta0, drawn->theta0, shipped->model->dim) == 0;
}

/* Marks the first game with room to spare, and writes it. */
static hvi_status derive(hvi_study *study, hvi_part *part, hvi_error *err) {
  hvi_table *t = hvi_study_table(study, part, "");
  const size_t margin = hvi_table_find(t, "all_with_margin"), first = hvi_table_find(t, "instance");
  size_t chosen = t->rows, clear = 0;
  for (size_t i = 0; i < t->rows; i++) {
    if (hvi_table_get(t, i, margin) == 0.0) continue;
    if (clear++ == 0) chosen = i;
  }
  if (chosen == t->rows) return HVI_OK;
  const hvi_cell c = {.study = study, .part = part};
  const size_t instance = (size_t)hvi_table_get(t, chosen, first);
  t->at[chosen * t->columns + hvi_table_find(t, "shipped")] = is_shipped(&c, instance);
  return write_chosen(&c, instance, t->rows, clear, err);
}

const hvi_kind hvi_kind_rps_scan = {
    .name = "rps-scan",
    .summary = "how often the statements about rps hold",
    .flags = HVI_KIND_PROBLEM | HVI_KIND_ALONE,
    .tables = {{"",
                {{.name = "instance phgd lm1 lm5 gd10 gd100 gda phgd_linear lm1_linear gda_poor "
                          "gda_unstable gd10_beats_gda gd10_beats_gd100 lm1_beats_lm5 "
                          "all_with_margin all shipped"}},
                NULL}},
    .run = run,
    .derive = derive};
