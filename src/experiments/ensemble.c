/* Every method on many random instances: mean, median, quartiles and the share that is solved. */
#include "base/error.h"
#include "base/memory.h"
#include "experiments/kinds.h"
#include "num/stats.h"
#include "report/csv.h"

#include <hvi/ensemble.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 200 }; /* about this many rows in a table */
static const double solved_below = 1e-6;

/* Where one contender's share of the progress lies. */
typedef struct part {
  hvi_run *run;
  const char *doing;
  double share, weight;
} part;

static bool report(void *context, size_t done) {
  const part *p = context;
  double all = (double)p->run->scale->instances;
  return hvi_run_progress(p->run, p->doing, p->share + p->weight * (double)done / all);
}

static hvi_status make_instance(void *context, size_t index, hvi_problem **problem,
                                hvi_error *err) {
  return hvi_experiment_problem(problem, context, index + 1, err);
}

hvi_status hvi_ensemble_contender(hvi_ensemble **out, hvi_run *run, const hvi_contender *c,
                                  size_t record_every, double share, double weight,
                                  hvi_error *err) {
  part p = {run, c->label, share, weight};
  hvi_settings method = c->settings;
  method.max_outer = run->scale->iterations;
  hvi_ensemble_settings s = {.count = run->scale->instances,
                             .threads = run->threads,
                             .record_every = record_every,
                             .progress = report,
                             .progress_context = &p};
  return hvi_ensemble_run(out, make_instance, (void *)run->experiment, &method, &s, err);
}

static void free_summary(hvi_summary *s) {
  hvi_ensemble_free(s->ensemble);
  hvi_free(s->mean);
  *s = (hvi_summary){0};
}

/* One row: what is finite goes into the figures, what is not is counted. */
static void sum_up_row(hvi_summary *s, size_t row, double *scratch) {
  const double *x = s->ensemble->dist2 + row * s->count;
  size_t n = 0, solved = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (!isfinite(x[i])) continue;
    solved += x[i] < solved_below;
    scratch[n++] = x[i];
  }
  s->mean[row] = n ? hvi_stats_mean(scratch, n) : NAN;
  s->median[row] = n ? hvi_stats_quantile(scratch, n, 0.5) : NAN;
  s->low[row] = n ? hvi_stats_quantile(scratch, n, 0.25) : NAN;
  s->high[row] = n ? hvi_stats_quantile(scratch, n, 0.75) : NAN;
  s->solved[row] = (double)solved / (double)s->count;
  s->diverged[row] = (double)(s->count - n) / (double)s->count;
}

static hvi_status sum_up(hvi_summary *s, hvi_error *err) {
  s->rows = s->ensemble->rows;
  s->count = s->ensemble->count;
  s->outer = s->ensemble->outer;
  s->mean = hvi_alloc_doubles(6 * s->rows);
  double *scratch = hvi_alloc_doubles(s->count);
  if (!s->mean || !scratch) {
    hvi_free(scratch);
    return hvi_error_memory(err, "a summary");
  }
  s->median = s->mean + s->rows;
  s->low = s->median + s->rows;
  s->high = s->low + s->rows;
  s->solved = s->high + s->rows;
  s->diverged = s->solved + s->rows;
  for (size_t row = 0; row < s->rows; row++) sum_up_row(s, row, scratch);
  hvi_free(scratch);
  return HVI_OK;
}

static hvi_status write_summary(const hvi_run *run, const hvi_summary *s, hvi_error *err) {
  char name[80];
  hvi_csv csv;
  snprintf(name, sizeof name, "ensemble-%s", s->contender->slug);
  char *path = hvi_run_path(run, name, ".csv");
  hvi_status status =
      path ? hvi_csv_open(&csv, path, "outer,mean,median,quartile1,quartile3,solved,diverged", err)
           : hvi_error_memory(err, "a path");
  hvi_free(path);
  if (status != HVI_OK) return status;
  for (size_t row = 0; row < s->rows; row++) {
    hvi_csv_count(&csv, s->outer[row]);
    const double x[] = {s->mean[row], s->median[row], s->low[row],
                        s->high[row], s->solved[row], s->diverged[row]};
    for (size_t k = 0; k < sizeof x / sizeof *x; k++) hvi_csv_number(&csv, x[k]);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

static hvi_status run_one(hvi_summary *s, hvi_run *run, size_t index, hvi_error *err) {
  const hvi_experiment *e = run->experiment;
  size_t every = run->scale->iterations / ROWS;
  double weight = 1 / (double)e->contender_count;
  s->contender = &e->contenders[index];
  hvi_status status = hvi_ensemble_contender(&s->ensemble, run, s->contender, every ? every : 1,
                                             (double)index * weight, weight, err);
  if (status == HVI_OK && !run->stopped) status = sum_up(s, err);
  if (status == HVI_OK && !run->stopped) status = write_summary(run, s, err);
  return status;
}

/* From the smallest to the largest positive value of two columns over all methods. */
static hvi_axis axis_of(const char *label, const hvi_summary *items, size_t count, bool mean) {
  double smallest = INFINITY, largest = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t row = 0; row < items[i].rows; row++) {
      double y = mean ? items[i].mean[row] : items[i].median[row];
      if (!(y > 0)) continue;
      smallest = fmin(smallest, y);
      largest = fmax(largest, y);
    }
  return hvi_axis_log(label, smallest, largest);
}

/* The figure's series and the names they point to. */
typedef struct drawing {
  char (*files)[80];
  hvi_series *mean, *median, *solved;
  size_t count, bands;
} drawing;

static bool make_series(drawing *d, const hvi_summary *items, size_t count) {
  d->files = hvi_alloc(count, sizeof *d->files);
  d->mean = hvi_alloc(4 * count, sizeof *d->mean);
  if (!d->files || !d->mean) return false;
  d->solved = d->mean + count;
  d->median = d->solved + count; /* bands first, to lie behind the lines */
  d->count = count;
  for (size_t i = 0; i < count; i++) d->bands += items[i].contender->highlight;
  for (size_t i = 0, band = 0; i < count; i++) {
    const hvi_contender *c = items[i].contender;
    const char *file = d->files[i];
    snprintf(d->files[i], sizeof d->files[i], "ensemble-%s.csv", c->slug);
    d->mean[i] = (hvi_series){c->label, file, "outer", "mean", NULL, HVI_MARK_LINE, c->style};
    d->solved[i] = (hvi_series){c->label, file, "outer", "solved", NULL, HVI_MARK_LINE, c->style};
    d->median[d->bands + i] =
        (hvi_series){c->label, file, "outer", "median", NULL, HVI_MARK_LINE, c->style};
    if (c->highlight)
      d->median[band++] =
          (hvi_series){NULL, file, "outer", "quartile1", "quartile3", HVI_MARK_BAND, c->style};
  }
  return true;
}

static hvi_status draw(hvi_run *run, const hvi_summary *items, size_t count, hvi_error *err) {
  drawing d = {0};
  hvi_status status = HVI_OK;
  if (make_series(&d, items, count)) {
    hvi_axis time = {.label = "outer iteration t"}, share = {.label = "share", .high = 1};
    hvi_axis mean = axis_of("mean |z_t − z*|^2", items, count, true);
    hvi_axis median = axis_of("median |z_t − z*|^2", items, count, false);
    hvi_panel panels[] = {
        {"Mean squared distance", time, mean, count, d.mean, NULL},
        {"Median (bands: quartiles)", time, median, count + d.bands, d.median, NULL},
        {"Share of instances below 10^{-6}", time, share, count, d.solved, NULL}};
    hvi_plot plot = {run->experiment->id, run->experiment->title, 0, 3, panels};
    status = hvi_run_figure(run, &plot, err);
  } else {
    status = hvi_error_memory(err, "a figure");
  }
  hvi_free(d.files);
  hvi_free(d.mean);
  return status;
}

static void judge(hvi_run *run, const hvi_summary *items, size_t count) {
  const char *id = run->experiment->id;
  if (!run->experiment->builtin) return;
  if (strcmp(id, "pennies-random") == 0) hvi_claims_pennies_random(run->claims, items, count);
  if (strcmp(id, "rps-random") == 0) hvi_claims_rps_random(run->claims, items, count);
}

hvi_status hvi_ensembles_run(hvi_run *run, hvi_error *err) {
  size_t count = run->experiment->contender_count;
  hvi_summary *items = hvi_alloc(count, sizeof *items);
  if (!items) return hvi_error_memory(err, "ensembles");
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < count && status == HVI_OK && !run->stopped; i++)
    status = run_one(&items[i], run, i, err);
  if (status == HVI_OK && !run->stopped) status = draw(run, items, count, err);
  if (status == HVI_OK && !run->stopped) judge(run, items, count);
  for (size_t i = 0; i < count; i++) free_summary(&items[i]);
  hvi_free(items);
  return status;
}
