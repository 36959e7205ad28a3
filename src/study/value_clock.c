/*
 * What data must cost for a method to win on the clock. Tables of a study of kind value:
 *   costs      the error of every method on every seed at the time at which the first method of the
 *              list, TD(0), has used its data, if a batch of data costs so many inner steps
 *   breakeven  its means and intervals, and the ratio to the first method, paired by seed
 *   wins       for each method the least cost from which on its ratio is below 1, and from which on
 *              the whole interval is; infinite: none of those looked at
 *   clocks     what a batch costs here, as measured, and at speeds that the file gives
 *
 * Time is counted in inner steps: a run that has used b batches and done w inner steps of work is at
 * c b + w. Work is passes and gradients (column `work`), so that the curves do not depend on the
 * machine; only the marks do.
 */
#include "base/base.h"
#include "num/stats.h"
#include "study/kinds.h"
#include "study/runs.h"

enum { COSTS = 25 }; /* 10^-1 .. 10^5, four a decade */

static double cost_at(size_t i) { return pow(10.0, (double)i / 4.0 - 1.0); }

/* Two methods in an environment: the first of the list, and the one that is looked at. */
typedef struct pair {
  hvi_study *study;
  const hvi_part *part;
  size_t environment, method;
  hvi_runs first, own;
  double *error; /* [2][seeds] of the first, and of the other; then without noise; then room */
} pair;

static size_t column(const pair *p, const char *name) { return hvi_table_find(p->own.table, name); }

static hvi_table *table(const pair *p, const char *name) {
  return hvi_study_table(p->study, p->part, name);
}

/* Errors of both when the first one's data are used up, seed by seed, if a batch costs that much. */
static void meet(pair *p, double cost) {
  const size_t work = column(p, "work"), error = column(p, "error"), seeds = p->own.seeds;
  p->first.also = p->own.also = column(p, "batches");
  p->first.times = p->own.times = cost;
  for (size_t s = 0; s < seeds; s++) {
    const double end = hvi_runs_last(&p->first, s, work);
    p->error[s] = hvi_runs_value(&p->first, s, work, error, end);
    p->error[seeds + s] = hvi_runs_value(&p->own, s, work, error, end);
  }
  p->first.times = p->own.times = 0.0;
}

/* The ratio to the first method, without the noise that both errors have. */
static hvi_ratio ratio_of(const pair *p) {
  const size_t n = p->own.seeds;
  const double noise = hvi_table_get(p->own.table, p->own.row[0], column(p, "error_noise"));
  double *bare = p->error + 2 * n;
  for (size_t i = 0; i < 2 * n; i++) {
    const double e = p->error[i];
    bare[i] = noise > 0.0 && isfinite(e) ? fmax(e - noise, 0.05 * noise) : e;
  }
  return hvi_ratio_of(bare + n, bare, n, 1.0, p->error + 4 * n);
}

/* Rows of a method at one cost. */
static hvi_status add_cost(pair *p, size_t at, hvi_ratio *q, hvi_error *err) {
  const size_t n = p->own.seeds, seed = column(p, "seed");
  const double cost = cost_at(at), environment = (double)p->environment, method = (double)p->method;
  const hvi_table *runs = p->own.table;
  meet(p, cost);
  *q = ratio_of(p);
  const hvi_mean m = hvi_mean_of(p->error + n, n, p->error + 4 * n);
  const bool known = isfinite(m.value);
  HVI_TRY(hvi_table_put(table(p, "breakeven"), err, environment, method, cost,
                        known ? m.value : NAN, known ? m.value - m.half : NAN,
                        known ? m.value + m.half : NAN, q->ratio, q->low, q->high));
  for (size_t s = 0; s < n; s++) {
    const size_t row = p->own.row[p->own.start[s]];
    const double e = p->error[n + s];
    HVI_TRY(hvi_table_put(table(p, "costs"), err, environment, method,
                          hvi_table_get(runs, row, seed), (double)at, cost, isfinite(e) ? e : NAN,
                          hvi_table_get(runs, row, column(p, "error_noise")),
                          isfinite(e) ? NAN : 1.0, hvi_table_get(runs, row, column(p, "group"))));
  }
  return HVI_OK;
}

static hvi_status add_method(pair *p, hvi_error *err) {
  double from = INFINITY, surely = INFINITY;
  for (size_t i = 0; i < COSTS; i++) {
    hvi_ratio q;
    HVI_TRY(add_cost(p, i, &q, err));
    from = q.ratio < 1.0 ? fmin(from, cost_at(i)) : INFINITY;
    surely = q.less > 0 ? fmin(surely, cost_at(i)) : INFINITY;
  }
  return hvi_table_put(table(p, "wins"), err, (double)p->environment, (double)p->method, from,
                       surely);
}

/* What a batch costs in inner steps: here, as the first method has paid for it, and elsewhere. */
static hvi_status add_clocks(const pair *p, hvi_error *err) {
  const hvi_part *part = p->part;
  const hvi_runs *r = &p->first;
  double collect = 0.0, batches = 0.0, inner = 0.0, steps = 0.0;
  for (size_t s = 0; s < r->seeds; s++) {
    collect += hvi_runs_last(r, s, column(p, "seconds_collect"));
    batches += hvi_runs_last(r, s, column(p, "batches"));
    inner += hvi_runs_last(r, s, column(p, "seconds_inner"));
    steps += hvi_runs_last(r, s, column(p, "grad_evals"));
  }
  const double step = inner / steps, rows = (double)(part->scale.batch ? part->scale.batch : 1000);
  for (size_t i = 0; part->value->clock_names[i]; i++) {
    const double seconds =
        i == 0 ? collect / batches : rows / part->value->environments[p->environment].clocks[i - 1];
    if (!(seconds > 0.0) || !isfinite(seconds)) continue;
    HVI_TRY(hvi_table_put(table(p, "clocks"), err, (double)p->environment, (double)i,
                          seconds / step, 1000.0 * seconds, 1000.0 * step));
  }
  return HVI_OK;
}

static hvi_status fill(hvi_study *study, const hvi_part *part, size_t environment, hvi_error *err) {
  const hvi_table *runs = hvi_study_table(study, part, "runs");
  const hvi_table_filter here = {.column = "environment",
                                 .word = part->value->environments[environment].environment};
  pair p = {.study = study, .part = part, .environment = environment};
  hvi_status status = hvi_runs_find(&p.first, runs, 0.0, &here, 1, err);
  HVI_OWN double *error = p.error = status ? NULL : hvi_alloc_doubles(6 * p.first.seeds);
  if (!status && !error) status = hvi_error_memory(err, "costs");
  for (; !status && p.method < part->method_count; p.method++) {
    status = hvi_runs_find(&p.own, runs, (double)p.method, &here, 1, err);
    if (!status) status = add_method(&p, err);
    if (!status && p.method == 0) status = add_clocks(&p, err);
    hvi_runs_free(&p.own);
  }
  hvi_runs_free(&p.first);
  return status;
}

hvi_status hvi_value_clock_extend(hvi_study *study, const hvi_part *part, hvi_error *err) {
  const hvi_table *runs = hvi_study_table(study, part, "runs");
  const hvi_column environment = runs->column[hvi_table_find(runs, "environment")];
  const hvi_column method = runs->column[hvi_table_find(runs, "method")];
  const hvi_column group = runs->column[hvi_table_find(runs, "group")];
  const hvi_column costs[] = {
      environment, method, {.name = "seed outer cost error error_noise diverged"}, group, {0}};
  const hvi_column breakeven[] = {
      environment,
      method,
      {.name = "cost error error_low error_high ratio ratio_low ratio_high"},
      {0}};
  const hvi_column wins[] = {environment, method, {.name = "from surely"}, {0}};
  const hvi_column clocks[] = {environment,
                               {"clock", part->value->clock_names},
                               {.name = "cost batch_ms inner_step_ms"},
                               {0}};
  HVI_TRY(hvi_study_add_table(study, part, "costs", costs, NULL, err));
  HVI_TRY(hvi_study_add_table(study, part, "breakeven", breakeven, "environment method", err));
  HVI_TRY(hvi_study_add_table(study, part, "wins", wins, NULL, err));
  return hvi_study_add_table(study, part, "clocks", clocks, "environment clock", err);
}

hvi_status hvi_value_clock_derive(hvi_study *study, const hvi_part *part, hvi_error *err) {
  for (size_t i = 0; i < part->value->environment_count; i++)
    if (!part->kind->missing(part, part->value->environments[i].environment))
      HVI_TRY(fill(study, part, i, err));
  return HVI_OK;
}
