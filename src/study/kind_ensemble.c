/*
 * kind: ensemble. Every method on many random instances: mean, median and quartiles, share solved,
 * with 95 % intervals; where each instance ends; and, pair by pair of methods, on how many instances
 * one ends nearer than the other.
 *
 * Where eta is tuned it is one for all instances: the one that solves most of them, and of equal ones
 * the one with the least median.
 *
 * kind: rps-scan. The paper shows one random game of rock-paper-scissors and does not print its
 * matrices. Its statements do not hold for most games, so the choice of one is part of the result:
 * here every statement is judged on many random games, the counts are reported, and the shipped game
 * (problems/rps.yaml) is the first one on which all of them hold with a factor of ten to spare: number
 * 53 of seed 1.
 *
 * Every statement is made of four numbers a method: where it ends, slope and fit of log10 of the
 * squared distance, and the largest rise, max over s < t of dist2[t] / dist2[s].
 *
 *   linear     a falling line with R^2 >= 0.95 that ends below 1e-3 (by a factor of margin)
 *   unstable   it rises again by a factor of two or more
 *   better     ends lower, by a factor of margin
 */
#include "base/base.h"
#include "study/grid.h"
#include "study/kinds.h"
#include "study/runs.h"

#include <hvi/ensemble.h>

enum { ENSEMBLE, TRIED, ENDS };
enum { ROWS = 200 }; /* about this many rows of a method */
static const double solved_below = 1e-6;

bool hvi_cell_tick_instances(void *context, size_t done) {
  const hvi_cell *c = context;
  return hvi_cell_tick(c, (double)done / (double)c->part->scale.instances);
}

static hvi_status make_instance(void *context, size_t index, hvi_problem **problem,
                                hvi_error *err) {
  return hvi_cell_problem(problem, context, index + 1, err);
}

/* A method on the part's instances 1, 2, ..., as many as its size says, over all threads. */
static hvi_status run_all(hvi_ensemble **out, const hvi_cell *c, const hvi_settings *method,
                          size_t record_every, hvi_error *err) {
  hvi_settings s = *method;
  s.max_outer = c->part->scale.iterations;
  const hvi_ensemble_settings how = {.count = c->part->scale.instances,
                                     .threads = c->study->settings->threads,
                                     .record_every = record_every,
                                     .progress = hvi_cell_tick_instances,
                                     .progress_context = (void *)c};
  return hvi_ensemble_run(out, make_instance, (void *)c, &s, &how, err);
}

/* Where no solution is known the residual stands for the squared distance. */
static const double *row_of(const hvi_ensemble *e, size_t row) {
  return (isnan(e->dist2[0]) ? e->residual : e->dist2) + row * e->count;
}

/* One row; scratch[count]. What diverged is infinite, and the mean is without it. */
static hvi_status add_row(hvi_rows *rows, size_t table, double eta, const hvi_ensemble *e,
                          size_t row, double *scratch, hvi_error *err) {
  const size_t count = e->count;
  size_t n = 0, solved = 0;
  memcpy(scratch, row_of(e, row), count * sizeof *scratch);
  const double median = hvi_stats_quantile(scratch, count, 0.5); /* sorts */
  while (n < count && isfinite(scratch[n])) solved += scratch[n++] < solved_below;
  const double share = (double)solved / (double)count;
  const hvi_stats_range middle = hvi_stats_share95(0.5, count);
  const hvi_stats_range shares = hvi_stats_share95(share, count);
  return hvi_rows_put(
      rows, table, err, (double)e->outer[row], hvi_stats_mean(scratch, n), median,
      hvi_stats_quantile(scratch, count, 0.25), hvi_stats_quantile(scratch, count, 0.75), share,
      (double)(count - n) / (double)count, hvi_stats_quantile(scratch, count, middle.low),
      hvi_stats_quantile(scratch, count, middle.high), shares.low, shares.high, eta);
}

HVI_RELEASE(hvi_ensemble)

typedef struct trial {
  const hvi_cell *cell;
  hvi_rows *rows;
  double *scratch; /* [rows of an ensemble or instances, whichever are more] */
} trial;

static hvi_status try_eta(double *score, void *context, const hvi_settings *s, hvi_error *err) {
  const trial *t = context;
  HVI_OWN_BY(hvi_ensemble_release) hvi_ensemble *e = NULL;
  HVI_TRY(run_all(&e, t->cell, s, s->max_outer, err));
  HVI_TRY(add_row(t->rows, TRIED, s->eta, e, e->rows - 1, t->scratch, err));
  const double *sorted = t->scratch, median = sorted[e->count / 2];
  *score = isfinite(median) ? median / (1.0 + median) : 1.0;
  for (size_t i = 0; i < e->count; i++) *score += !(sorted[i] < solved_below);
  return HVI_OK;
}

/* Where an instance ends, the line through log10 of its distances, and how far it rose again. */
static hvi_status add_ends(hvi_rows *rows, const hvi_ensemble *e, size_t every, double *y,
                           hvi_error *err) {
  for (size_t k = 0; k < e->count; k++) {
    for (size_t i = 0; i < e->rows; i++) y[i] = row_of(e, i)[k];
    const hvi_stats_line line = hvi_stats_log_line(y, e->rows, HVI_STUDY_ROUNDING);
    HVI_TRY(hvi_rows_put(rows, ENDS, err, (double)(k + 1), y[e->rows - 1],
                         line.slope / (double)every, line.r2, hvi_rise_of(y, e->rows)));
  }
  return HVI_OK;
}

static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  const hvi_scale *size = &c->part->scale;
  const size_t every = size->iterations / (size->measures ? size->measures : ROWS);
  HVI_OWN_BY(hvi_ensemble_release) hvi_ensemble *e = NULL;
  HVI_NEW(double, scratch, size->instances + size->iterations + 2, "an ensemble", err);
  hvi_settings s;
  HVI_TRY(hvi_cell_settings(&s, c, err));
  s.max_outer = size->iterations;
  HVI_TRY(hvi_cell_tune(&s, c, try_eta, &(trial){c, rows, scratch}, err));
  HVI_TRY(run_all(&e, c, &s, every ? every : 1, err));
  for (size_t i = 0; i < e->rows; i++) HVI_TRY(add_row(rows, ENSEMBLE, s.eta, e, i, scratch, err));
  return add_ends(rows, e, every ? every : 1, scratch, err);
}

/* The end of an instance in the table of ends, which has those of the part's instances cell by cell;
 * then decades an iteration, r2 and rise of its distances. */
static const double *end_of(const hvi_table *ends, const hvi_part *p, size_t cell,
                            size_t instance) {
  const size_t row = cell * p->scale.instances + instance;
  return &ends->at[row * ends->columns + hvi_table_find(ends, "dist2")];
}

static hvi_status extend(hvi_study *study, hvi_part *p, hvi_error *err) {
  const char *const *words = p->factors[p->factor_count - 1].text;
  const hvi_kind_table pairs = {
      "pairs",
      {{"method", words}, {"other", words}, {.name = "nearer tied share share_low share_high"}},
      NULL};
  return hvi_part_add_table(study, p, &pairs, err);
}

/* Methods run on the same instances. The share is of those that differ by more than rounding. */
static hvi_status compare(hvi_study *study, hvi_part *p, size_t cell, size_t other,
                          hvi_error *err) {
  hvi_table *t = hvi_study_table(study, p, "pairs");
  const hvi_table *ends = hvi_study_table(study, p, "ends");
  const hvi_cell c = hvi_cell_at(study, p, cell);
  double row[HVI_MOST_COLUMNS], all = (double)p->scale.instances, nearer = 0.0, tied = 0.0;
  for (size_t i = 0; i < p->scale.instances; i++) {
    const double a = fmax(*end_of(ends, p, cell, i), HVI_STUDY_ROUNDING);
    const double b = fmax(*end_of(ends, p, other, i), HVI_STUDY_ROUNDING);
    nearer += a < b;
    tied += a == b;
  }
  const double share = nearer / (all - tied);
  const hvi_stats_range r = hvi_stats_share95(share, (size_t)(all - tied));
  const double own[] = {
      (double)(other % p->method_count), nearer / all, tied / all, share, r.low, r.high};
  hvi_cell_levels(&c, t, row);
  memcpy(row + t->columns - sizeof own / sizeof *own, own, sizeof own);
  return hvi_table_add(t, row, err);
}

static hvi_status derive(hvi_study *study, hvi_part *p, hvi_error *err) {
  const size_t methods = p->method_count;
  for (size_t cell = 0; cell < p->cells; cell++)
    for (size_t m = 0, other = cell - cell % methods; m < methods; m++, other++)
      if (other != cell) HVI_TRY(compare(study, p, cell, other, err));
  return HVI_OK;
}

#define COLUMNS                                                                                    \
  "outer mean median quartile1 quartile3 solved diverged median_low median_high solved_low "       \
  "solved_high eta"
/* What the cells of both kinds are. */
#define CELLS                                                                                      \
  .flags = HVI_KIND_PROBLEM | HVI_KIND_METHODS | HVI_KIND_ALONE | HVI_KIND_SETTINGS,               \
  .numbers = HVI_TUNED, .run = run,                                                                \
  .tables = {[ENSEMBLE] = {"ensemble", {{.name = COLUMNS}}, "method"},                             \
             [TRIED] = {"tried", {{.name = COLUMNS}}, "method"},                                   \
             [ENDS] = {"ends", {{.name = "instance dist2 decades_per_iteration r2 rise"}}, NULL}}

const hvi_kind hvi_kind_ensemble = {.name = "ensemble",
                                    .summary = "every method on many random instances",
                                    CELLS,
                                    .extend = extend,
                                    .derive = derive};

enum { PHGD, LM1, LM5, GD10, GD100, GDA, METHODS, CLAIMS = 7 };

static const char *const labels[METHODS] = {"PHGD", "LM(1)", "LM(5)", "GD(10)", "GD(100)", "GDA"};
static const double choice_margin = 10;

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

static hvi_status extend_scan(hvi_study *study, hvi_part *part, hvi_error *err) {
  /* `method` is here so that it is not among the factors in front, and is never written */
  const hvi_kind_table table = {
      "",
      {{.name = "method instance phgd lm1 lm5 gd10 gd100 gda phgd_linear lm1_linear gda_poor "
                "gda_unstable gd10_beats_gda gd10_beats_gd100 lm1_beats_lm5 all_with_margin all"}},
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
    const double *end = end_of(ends, p, first + hvi_part_method(p, labels[k]), game);
    const double floor = isfinite(*end) ? fmax(*end, HVI_STUDY_ROUNDING) : INFINITY;
    m[k] = (measure){floor, end[1], end[2], end[3]};
    *row++ = floor;
  }
  row[CLAIMS] = judge_game(clearly, m, choice_margin);
  row[CLAIMS + 1] = judge_game(row, m, 1);
}

static hvi_status derive_scan(hvi_study *study, hvi_part *part, hvi_error *err) {
  hvi_table *t = hvi_study_table(study, part, ""), *ends = hvi_study_table(study, part, "ends");
  const size_t games = part->scale.instances;
  double row[HVI_MOST_COLUMNS];
  for (size_t i = 0; i < part->cells / part->method_count * games; i++) {
    const size_t first = i / games * part->method_count;
    const hvi_cell c = hvi_cell_at(study, part, first);
    hvi_cell_levels(&c, t, row);
    judge_row(row + hvi_table_find(t, "method"), ends, part, first, i % games);
    HVI_TRY(hvi_table_add(t, row, err));
  }
  return HVI_OK;
}

const hvi_kind hvi_kind_rps_scan = {.name = "rps-scan",
                                    .summary = "how often the statements about rps hold",
                                    CELLS,
                                    .extend = extend_scan,
                                    .derive = derive_scan};
