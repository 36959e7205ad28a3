/*
 * kind: rps-scan. The paper shows one random game of rock-paper-scissors and does not print its
 * matrices. Its statements do not hold for most games, so the choice of one is part of the result:
 * here every statement is judged on many random games, the counts are reported, and the shipped game
 * (problems/rps.yaml) is the first one on which all of them hold with a factor of ten to spare.
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
#include "study/grid.h"
#include "study/kinds.h"
#include "study/runs.h"

enum { PHGD, LM1, LM5, GD10, GD100, GDA, METHODS, CLAIMS = 7 };

static const char *const labels[METHODS] = {"PHGD", "LM(1)", "LM(5)", "GD(10)", "GD(100)", "GDA"};
static const double choice_margin = 10;

/* A method on a game. */
typedef struct measure {
  double end, slope, r2, rise;
} measure;

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

/* Whether the shipped game starts where the chosen instance does: the draw is the same. */
static bool is_shipped(const hvi_cell *c, size_t instance) {
  HVI_OWN_BY(hvi_problem_release) hvi_problem *shipped = NULL;
  HVI_OWN_BY(hvi_problem_release) hvi_problem *drawn = NULL;
  return hvi_cell_problem(&shipped, c, 0, NULL) == HVI_OK &&
         hvi_cell_problem(&drawn, c, instance, NULL) == HVI_OK &&
         shipped->model->dim == drawn->model->dim &&
         hvi_vec_dist2(shipped->theta0, drawn->theta0, shipped->model->dim) == 0;
}

static hvi_status extend(hvi_study *study, hvi_part *part, hvi_error *err) {
  /* `method` is here so that it is not among the factors in front, and is never written */
  const hvi_kind_table table = {
      "",
      {{.name = "method instance phgd lm1 lm5 gd10 gd100 gda phgd_linear lm1_linear gda_poor "
                "gda_unstable gd10_beats_gda gd10_beats_gd100 lm1_beats_lm5 all_with_margin all "
                "shipped"}},
      NULL};
  for (size_t k = 0; k < METHODS; k++)
    if (hvi_part_method(part, labels[k]) == part->method_count)
      return hvi_error_input(err, "kind rps-scan lacks the method %s", labels[k]);
  return hvi_part_add_table(study, part, &table, err);
}

/* The statements on one game; `first` is the cell of the first method. */
static void judge_row(double *row, const hvi_table *ends, const hvi_part *p, size_t first,
                      size_t game) {
  measure m[METHODS];
  double clearly[CLAIMS];
  *row++ = NAN;
  *row++ = (double)(game + 1);
  for (size_t k = 0; k < METHODS; k++) {
    const double *end = hvi_ensemble_end(ends, p, first + hvi_part_method(p, labels[k]), game);
    const double floor = isfinite(*end) ? fmax(*end, HVI_STUDY_ROUNDING) : INFINITY;
    m[k] = (measure){floor, end[1], end[2], end[3]};
    *row++ = floor;
  }
  row[CLAIMS] = judge_game(clearly, m, choice_margin);
  row[CLAIMS + 1] = judge_game(row, m, 1);
  row[CLAIMS + 2] = NAN;
}

/* Marks the first game with room to spare, at the first level of all factors: 1 where it is shipped. */
static hvi_status derive(hvi_study *study, hvi_part *part, hvi_error *err) {
  hvi_table *t = hvi_study_table(study, part, ""), *ends = hvi_study_table(study, part, "ends");
  const size_t margin = hvi_table_find(t, "all_with_margin"), games = part->scale.instances;
  double row[HVI_MOST_COLUMNS];
  for (size_t i = 0; i < part->cells / part->method_count * games; i++) {
    const size_t first = i / games * part->method_count;
    const hvi_cell c = hvi_cell_at(study, part, first);
    hvi_cell_levels(&c, t, row);
    judge_row(row + hvi_table_find(t, "method"), ends, part, first, i % games);
    HVI_TRY(hvi_table_add(t, row, err));
  }
  size_t chosen = 0;
  while (chosen < games && hvi_table_get(t, chosen, margin) == 0.0) chosen++;
  const hvi_cell c = {.study = study, .part = part};
  if (chosen < games)
    t->at[chosen * t->columns + hvi_table_find(t, "shipped")] = is_shipped(&c, chosen + 1);
  return HVI_OK;
}

const hvi_kind hvi_kind_rps_scan = {.name = "rps-scan",
                                    .summary = "how often the statements about rps hold",
                                    .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS | HVI_KIND_ALONE |
                                             HVI_KIND_SETTINGS,
                                    .numbers = HVI_TUNED,
                                    .tables = {HVI_ENSEMBLE_TABLES},
                                    .run = hvi_ensemble_cell,
                                    .extend = extend,
                                    .derive = derive};
