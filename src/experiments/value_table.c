/* The tables of a study: a curve a method and axis, where each method ended, levels to compare
 * with. */
#include "experiments/value_table.h"

#include "base/error.h"
#include "base/memory.h"
#include "report/csv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void hvi_study_curve_name(char name[HVI_STUDY_NAME], const hvi_study_results *r, size_t place,
                          size_t contender, hvi_study_axis axis) {
  char slug[48];
  hvi_study_slug(slug, sizeof slug, r->names[place]);
  snprintf(name, HVI_STUDY_NAME, "%s-%s-%s", slug, r->experiment->contenders[contender].slug,
           hvi_study_axis_names[axis]);
}

static hvi_status open_table(hvi_csv *csv, const hvi_run *run, const char *name, const char *header,
                             hvi_error *err) {
  char *path = hvi_run_path(run, name, ".csv");
  const hvi_status status =
      path ? hvi_csv_open(csv, path, header, err) : hvi_error_memory(err, "a path");
  hvi_free(path);
  return status;
}

/* The curve of most rows; the others are measured at the same outer steps. */
static const hvi_study_curve *longest(const hvi_study_results *r, size_t place, size_t contender) {
  const hvi_study_curve *best = hvi_study_at(r, place, contender, 0);
  for (size_t s = 1; s < r->seeds; s++) {
    const hvi_study_curve *c = hvi_study_at(r, place, contender, s);
    if (c->count > best->count) best = c;
  }
  return best;
}

/* Row `row` on the axis: the mean over the seeds that have it. */
static double place_of_row(const hvi_study_results *r, size_t place, size_t contender,
                           hvi_study_axis axis, size_t row) {
  double sum = 0.0, n = 0.0;
  for (size_t s = 0; s < r->seeds; s++) {
    const hvi_study_curve *c = hvi_study_at(r, place, contender, s);
    if (row >= c->count) continue;
    sum += hvi_study_x(&c->rows[row], axis);
    n += 1.0;
  }
  return sum / n;
}

static void add_mean(hvi_csv *csv, hvi_study_mean m) {
  const bool known = isfinite(m.value);
  hvi_csv_number(csv, known ? m.value : NAN);
  hvi_csv_number(csv, known ? m.value - m.half : NAN);
  hvi_csv_number(csv, known ? m.value + m.half : NAN);
}

hvi_status hvi_study_write_curve(const hvi_run *run, const hvi_study_results *r, size_t place,
                                 size_t contender, hvi_study_axis axis, hvi_error *err) {
  char name[HVI_STUDY_NAME], header[256];
  hvi_csv csv;
  hvi_study_curve_name(name, r, place, contender, axis);
  snprintf(header, sizeof header,
           "%s,error,error_low,error_high,gap,gap_low,gap_high,ratio,ratio_low,ratio_high,inner,"
           "inner_low,inner_high,seeds",
           hvi_study_axis_names[axis]);
  const hvi_status status = open_table(&csv, run, name, header, err);
  if (status) return status;
  const size_t rows = longest(r, place, contender)->count;
  for (size_t i = 0; i < rows; i++) {
    const double x = place_of_row(r, place, contender, axis, i);
    hvi_study_mean m = {0};
    if (axis == HVI_BY_SECONDS && !(x > 0.0)) continue; /* it has no place on a logarithmic axis */
    hvi_csv_number(&csv, x);
    for (size_t k = 0; k < HVI_STUDY_MEASURES; k++) {
      const hvi_study_mean of =
          hvi_study_mean_at(r, place, contender, axis, (hvi_study_measure)k, x);
      if (k == 0) m = of;
      add_mean(&csv, of);
    }
    hvi_csv_count(&csv, m.seeds);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

hvi_status hvi_study_write_thresholds(const hvi_run *run, const hvi_study_results *r, size_t place,
                                      hvi_study_measure measure, hvi_error *err) {
  char name[HVI_STUDY_NAME], slug[48], header[128];
  hvi_csv csv;
  const char *y = hvi_study_measure_names[measure];
  hvi_study_slug(slug, sizeof slug, r->names[place]);
  snprintf(name, sizeof name, "%s-thresholds-%s", slug, y);
  snprintf(header, sizeof header, "method,threshold,%s,%s_low,%s_high", y, y, y);
  const hvi_status status = open_table(&csv, run, name, header, err);
  if (status) return status;
  for (size_t m = 0; m < r->contenders; m++) {
    const hvi_contender *c = &r->experiment->contenders[m];
    if (!(c->settings.alpha > 0.0)) continue;
    hvi_csv_text(&csv, c->label);
    hvi_csv_number(&csv, c->settings.alpha * c->settings.alpha);
    add_mean(&csv, hvi_study_mean_at(r, place, m, HVI_BY_OUTER, measure, INFINITY));
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

hvi_status hvi_study_write_levels(const hvi_run *run, const char *name, const double x[2],
                                  double lowest, double noise, hvi_error *err) {
  hvi_csv csv;
  const hvi_status status = open_table(&csv, run, name, "x,lowest,noise", err);
  if (status) return status;
  for (size_t i = 0; i < 2; i++) {
    hvi_csv_number(&csv, x[i]);
    hvi_csv_number(&csv, lowest);
    hvi_csv_number(&csv, noise);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

/* A number of the last rows, as a mean over the seeds. */
static double last_mean(const hvi_study_results *r, size_t place, size_t contender,
                        double (*number)(const hvi_evaluation_row *)) {
  double sum = 0.0;
  for (size_t s = 0; s < r->seeds; s++) {
    const hvi_study_curve *c = hvi_study_at(r, place, contender, s);
    sum += number(&c->rows[c->count - 1]) / (double)r->seeds;
  }
  return sum;
}

static double clean(const hvi_evaluation_row *row) { return row->clean; }
static double relative(const hvi_evaluation_row *row) { return row->relative_clean; }
static double gradients(const hvi_evaluation_row *row) { return (double)row->grad_evals; }
static double env_steps(const hvi_evaluation_row *row) { return (double)row->env_steps; }
static double collect(const hvi_evaluation_row *row) { return row->seconds_collect; }
static double targets(const hvi_evaluation_row *row) { return row->seconds_targets; }
static double inner(const hvi_evaluation_row *row) { return row->seconds_inner; }
static double measuring(const hvi_evaluation_row *row) { return row->seconds_measure; }

static void add_summary(hvi_csv *csv, const hvi_study_results *r, size_t place, size_t contender) {
  static double (*const numbers[])(const hvi_evaluation_row *) = {
      clean, relative, gradients, env_steps, collect, targets, inner, measuring};
  const hvi_study_mean error =
      hvi_study_mean_at(r, place, contender, HVI_BY_OUTER, HVI_OF_ERROR, INFINITY);
  const hvi_study_mean gap =
      hvi_study_mean_at(r, place, contender, HVI_BY_OUTER, HVI_OF_GAP, INFINITY);
  const hvi_study_least least = hvi_study_least_of(r, place, contender, HVI_OF_ERROR);
  const hvi_study_spread ends = hvi_study_spread_of(r, place, contender, HVI_OF_ERROR);
  size_t diverged = 0;
  for (size_t s = 0; s < r->seeds; s++) diverged += hvi_study_at(r, place, contender, s)->diverged;
  hvi_csv_text(csv, r->names[place]);
  hvi_csv_text(csv, r->experiment->contenders[contender].label);
  const double x[] = {error.value, error.half, ends.median, ends.worst,     least.value,
                      least.x,     gap.value,  gap.half,    r->noise[place]};
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) hvi_csv_number(csv, x[i]);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    hvi_csv_number(csv, last_mean(r, place, contender, numbers[i]));
  hvi_csv_count(csv, r->seeds);
  hvi_csv_count(csv, diverged);
  hvi_csv_end(csv);
}

hvi_status hvi_study_write_summary(const hvi_run *run, const hvi_study_results *r, hvi_error *err) {
  hvi_csv csv;
  const hvi_status status =
      open_table(&csv, run, "summary",
                 "environment,method,error,half_width,median,worst,least_error,at_outer,gap,"
                 "gap_half_width,noise,clean,relative_clean,gradients,env_steps,seconds_collect,"
                 "seconds_targets,"
                 "seconds_inner,seconds_measure,seeds,diverged",
                 err);
  if (status) return status;
  for (size_t p = 0; p < r->places; p++)
    for (size_t m = 0; m < r->contenders && !r->missing[p]; m++) add_summary(&csv, r, p, m);
  return hvi_csv_close(&csv, err);
}
