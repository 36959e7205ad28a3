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

HVI_RELEASE(hvi_ensemble)

/* A method on a game. */
typedef struct measure {
  double end, slope, r2, rise;
} measure;

/* Method k on all games: m[instances][METHODS], of every tenth squared distance. */
static hvi_status measure_method(measure *m, size_t k, const hvi_cell *c, hvi_error *err) {
  const size_t method = hvi_part_method(c->part, labels[k]);
  HVI_OWN_BY(hvi_ensemble_release) hvi_ensemble *e = NULL;
  if (method == c->part->method_count)
    return hvi_error_input(err, "kind rps-scan lacks the method %s", labels[k]);
  HVI_TRY(hvi_ensemble_of_cell(&e, c, &c->part->methods[method].settings, EVERY, err));
  HVI_OWN double *y = hvi_alloc_doubles(e->rows);
  if (!y) return hvi_error_memory(err, "a scan");
  for (size_t game = 0; game < e->count; game++) {
    for (size_t i = 0; i < e->rows; i++) y[i] = e->dist2[i * e->count + game];
    const hvi_stats_line line = hvi_stats_log_line(y, e->rows, HVI_STUDY_ROUNDING);
    const double last = y[e->rows - 1];
    m[game * METHODS + k] =
        (measure){.end = isfinite(last) ? fmax(last, HVI_STUDY_ROUNDING) : INFINITY,
                  .slope = line.slope / EVERY,
                  .r2 = line.r2,
                  .rise = hvi_rise_of(y, e->rows)};
  }
  return HVI_OK;
}

static bool is_linear(measure m, double margin) {
  return m.slope < 0 && m.r2 >= 0.95 && m.end * margin <= 1e-3;
}

static bool beats(measure better, measure worse, double margin) {
  return better.end * margin < worse.end;
}

/* Which statements hold; true: all of them. Where one says better or worse, the factor must be at
 * least margin. */
static bool judge_game(double holds[CLAIMS], const measure m[METHODS], double margin) {
  const bool all[CLAIMS] = {is_linear(m[PHGD], margin),
                            is_linear(m[LM1], margin),
                            beats(m[PHGD], m[GDA], margin) && beats(m[LM1], m[GDA], margin),
                            m[GDA].rise >= 2,
                            beats(m[GD10], m[GDA], margin) && m[GD10].rise <= m[GDA].rise,
                            beats(m[GD10], m[GD100], margin),
                            beats(m[LM1], m[LM5], margin)};
  bool every = true;
  for (size_t k = 0; k < CLAIMS; k++) {
    holds[k] = all[k];
    every = every && all[k];
  }
  return every;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const size_t games = c->part->scale.instances;
  HVI_OWN measure *all = hvi_alloc(games, METHODS * sizeof *all);
  if (!all) return hvi_error_memory(err, "a scan");
  for (size_t k = 0; k < METHODS; k++) {
    HVI_TRY(measure_method(all, k, c, err));
    if (!hvi_cell_tick(c, (double)(k + 1) / METHODS)) return HVI_OK;
  }
  for (size_t i = 0; i < games; i++) {
    const measure *m = all + i * METHODS;
    double row[COLUMNS] = {(double)(i + 1)}, clearly[CLAIMS];
    for (size_t k = 0; k < METHODS; k++) row[1 + k] = m[k].end;
    row[COLUMNS - 3] = judge_game(clearly, m, choice_margin);
    row[COLUMNS - 2] = judge_game(row + 1 + METHODS, m, 1);
    row[COLUMNS - 1] = NAN;
    HVI_TRY(hvi_rows_add(rows, 0, row, err));
  }
  return HVI_OK;
}

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
