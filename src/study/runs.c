#include "study/runs.h"

#include "base/base.h"

/* Levels of the column of seeds in order of appearance, and which one a row has. */
typedef struct levels {
  size_t count;
  double *seed;  /* [count] */
  size_t *level; /* [rows]; SIZE_MAX: the filters leave the row out */
} levels;

static size_t level_of(levels *l, double seed, size_t guess) {
  /* rows of a run lie together, as a rule */
  if (guess < l->count && l->seed[guess] == seed) return guess;
  for (size_t i = 0; i < l->count; i++)
    if (l->seed[i] == seed) return i;
  l->seed[l->count] = seed;
  return l->count++;
}

static void find_levels(levels *l, const hvi_table *t, const hvi_table_filter *filters,
                        size_t count) {
  const size_t column = hvi_table_find(t, "seed");
  size_t last = 0;
  for (size_t i = 0; i < t->rows; i++) {
    l->level[i] = SIZE_MAX;
    if (!hvi_table_matches(t, i, filters, count)) continue;
    const double seed = column < t->columns ? hvi_table_get(t, i, column) : NAN;
    l->level[i] = last = isnan(seed) ? 0 : level_of(l, seed, last);
  }
}

/* Rows of the method, sorted by level. */
static bool sort_rows(hvi_runs *r, const levels *l, double method) {
  const hvi_table *t = r->table;
  const size_t column = hvi_table_find(t, "method");
  r->start = hvi_alloc(r->seeds + 2, sizeof *r->start); /* one more to count in */
  r->row = hvi_alloc(t->rows, sizeof *r->row);
  r->work = hvi_alloc_doubles(t->rows + 2 * r->seeds);
  if (!r->start || !r->row || !r->work) return false;
  /* start[s + 2] counts the rows of seed s, then start[s + 1] is where its next one goes */
  for (size_t i = 0; i < t->rows; i++)
    if (l->level[i] != SIZE_MAX && hvi_table_get(t, i, column) == method)
      r->start[l->level[i] + 2]++;
  for (size_t s = 2; s <= r->seeds; s++) r->start[s] += r->start[s - 1];
  for (size_t i = 0; i < t->rows; i++)
    if (l->level[i] != SIZE_MAX && hvi_table_get(t, i, column) == method)
      r->row[r->start[l->level[i] + 1]++] = i;
  return true;
}

hvi_status hvi_runs_find(hvi_runs *r, const hvi_table *t, double method,
                         const hvi_table_filter *filters, size_t count, hvi_error *err) {
  *r = (hvi_runs){
      .table = t, .outer = hvi_table_find(t, "outer"), .diverged = hvi_table_find(t, "diverged")};
  HVI_NEW(double, seed, t->rows, "the runs of a method", err);
  HVI_NEW(size_t, level, t->rows, "the runs of a method", err);
  levels l = {.seed = seed, .level = level};
  find_levels(&l, t, filters, count);
  r->seeded = l.count > 0;
  r->seeds = l.count ? l.count : 1;
  if (sort_rows(r, &l, method)) return HVI_OK;
  hvi_runs_free(r);
  return hvi_error_memory(err, "the runs of a method");
}

void hvi_runs_free(hvi_runs *r) {
  hvi_free(r->start);
  hvi_free(r->row);
  hvi_free(r->work);
  *r = (hvi_runs){0};
}

static size_t rows_of(const hvi_runs *r, size_t seed) {
  return r->start[seed + 1] - r->start[seed];
}

static double get(const hvi_runs *r, size_t seed, size_t i, size_t column) {
  return hvi_table_get(r->table, r->row[r->start[seed] + i], column);
}

static double place_of(const hvi_runs *r, size_t seed, size_t i, size_t x) {
  return get(r, seed, i, x) + (r->times != 0.0 ? r->times * get(r, seed, i, r->also) : 0.0);
}

double hvi_runs_last(const hvi_runs *r, size_t seed, size_t x) {
  return place_of(r, seed, rows_of(r, seed) - 1, x);
}

static double last_of(const hvi_runs *r, size_t seed, size_t column) {
  return get(r, seed, rows_of(r, seed) - 1, column);
}

static bool has_diverged(const hvi_runs *r, size_t seed) {
  return r->diverged < r->table->columns && rows_of(r, seed) &&
         last_of(r, seed, r->diverged) == 1.0;
}

static double between(double x0, double y0, double x1, double y1, double x) {
  if (!(x1 > x0)) return y1;
  const double share = (x - x0) / (x1 - x0);
  if (y0 > 0.0 && y1 > 0.0) return exp((1.0 - share) * log(y0) + share * log(y1));
  return (1.0 - share) * y0 + share * y1;
}

double hvi_runs_value(const hvi_runs *r, size_t seed, size_t x, size_t y, double X) {
  double x0 = NAN, y0 = NAN;
  for (size_t i = 0; i < rows_of(r, seed); i++) {
    const double x1 = place_of(r, seed, i, x), y1 = get(r, seed, i, y);
    if (isnan(y1)) continue;
    if (x1 == X) return y1;
    if (x1 > X) return isnan(y0) ? NAN : between(x0, y0, x1, y1, X);
    x0 = x1, y0 = y1;
  }
  /* values that have overflown have no error */
  const bool lost = !isnan(y0) && isnan(last_of(r, seed, y));
  return has_diverged(r, seed) || lost ? INFINITY : y0;
}

double hvi_runs_finish(const hvi_runs *r, size_t x) {
  double end = INFINITY;
  for (int also_diverged = 0; also_diverged < 2 && !isfinite(end); also_diverged++)
    for (size_t s = 0; s < r->seeds; s++)
      if (rows_of(r, s) && (also_diverged || !has_diverged(r, s)))
        end = fmin(end, last_of(r, s, x));
  return end;
}

hvi_mean hvi_mean_of(const double *y, size_t n, double *work) {
  size_t count = 0;
  bool diverged = false;
  for (size_t i = 0; i < n; i++) {
    if (isfinite(y[i])) work[count++] = y[i];
    diverged = diverged || isinf(y[i]);
  }
  if (diverged) return (hvi_mean){INFINITY, NAN, count};
  return (hvi_mean){hvi_stats_mean(work, count), hvi_stats_interval95(work, count), count};
}

hvi_mean hvi_runs_mean(const hvi_runs *r, size_t x, size_t y, double X) {
  for (size_t s = 0; s < r->seeds; s++) r->work[s] = hvi_runs_value(r, s, x, y, X);
  return hvi_mean_of(r->work, r->seeds, r->work + r->seeds);
}

double hvi_runs_least(const hvi_runs *r, size_t y, double *X) {
  double least = INFINITY;
  *X = NAN;
  for (size_t i = 0; i < rows_of(r, 0); i++) {
    const double x = get(r, 0, i, r->outer);
    const hvi_mean m = hvi_runs_mean(r, r->outer, y, x);
    if (m.count == r->seeds && m.value < least) least = m.value, *X = x;
  }
  return least;
}

static bool is_in(const hvi_runs *r, size_t seed, size_t i, hvi_window w) {
  const double outer = get(r, seed, i, r->outer);
  return outer >= w.first && outer <= w.last && fmod(outer, w.every) == 0.0;
}

hvi_stats_line hvi_runs_line(const hvi_runs *r, size_t seed, size_t y, hvi_window w) {
  hvi_stats_fit fit = {0};
  for (size_t i = 0; i < rows_of(r, seed); i++) {
    const double value = get(r, seed, i, y);
    if (!is_in(r, seed, i, w) || !isfinite(value) || value <= HVI_STUDY_ROUNDING) continue;
    hvi_stats_fit_add(&fit, get(r, seed, i, r->outer) / w.every, log10(value));
  }
  hvi_stats_line line = hvi_stats_fit_line(&fit);
  line.slope /= w.every;
  return line;
}

/* The values of y in the window, into r->work. */
static size_t gather(const hvi_runs *r, size_t seed, size_t y, hvi_window w) {
  size_t n = 0;
  for (size_t i = 0; i < rows_of(r, seed); i++)
    if (is_in(r, seed, i, w)) r->work[n++] = get(r, seed, i, y);
  return n;
}

double hvi_runs_typical(const hvi_runs *r, size_t seed, size_t y, hvi_window w) {
  return hvi_stats_finite_quantile(r->work, gather(r, seed, y, w), 0.5);
}

double hvi_rise_of(const double *y, size_t n) {
  double lowest = INFINITY, rise = 1.0;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(y[i])) return INFINITY;
    const double x = fmax(y[i], HVI_STUDY_ROUNDING);
    lowest = fmin(lowest, x);
    rise = fmax(rise, x / lowest);
  }
  return rise;
}

double hvi_runs_rise(const hvi_runs *r, size_t seed, size_t y, hvi_window w) {
  return has_diverged(r, seed) ? INFINITY : hvi_rise_of(r->work, gather(r, seed, y, w));
}

/* Logarithms of a / b where both are finite, or differences where one is negative; how many. */
static size_t pair_up(double *d, const double *a, const double *b, size_t n, double margin,
                      bool *difference) {
  double least = INFINITY;
  size_t count = 0;
  *difference = false;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(a[i]) || !isfinite(b[i])) continue;
    *difference = *difference || a[i] < 0.0 || b[i] < 0.0;
    if (a[i] > 0.0) least = fmin(least, a[i]);
    if (b[i] > 0.0) least = fmin(least, b[i]);
  }
  if (!isfinite(least)) least = 1.0;
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(a[i]) || !isfinite(b[i])) continue;
    d[count++] =
        *difference ? a[i] - margin * b[i] : log(fmax(a[i], least)) - log(fmax(b[i], least));
  }
  return count;
}

/* Who diverged on a seed loses, unless ahead on the others, or the rival diverged too. */
static hvi_ratio of_diverged(double mean, bool a, bool b) {
  if (!b && !(mean < 0.0)) return (hvi_ratio){INFINITY, NAN, NAN, -1, false};
  if (!a && !(mean > 0.0)) return (hvi_ratio){0.0, NAN, NAN, 1, false};
  return (hvi_ratio){NAN, NAN, NAN, 0, false};
}

hvi_ratio hvi_ratio_of(const double *a, const double *b, size_t n, double margin, double *work) {
  bool lost_a = false, lost_b = false, difference;
  for (size_t i = 0; i < n; i++) {
    lost_a = lost_a || a[i] == INFINITY;
    lost_b = lost_b || b[i] == INFINITY;
  }
  const size_t count = pair_up(work, a, b, n, margin, &difference);
  const double mean = hvi_stats_mean(work, count), half = hvi_stats_interval95(work, count);
  if (lost_a || lost_b) return of_diverged(mean, lost_a, lost_b);
  hvi_ratio q = {mean, mean - half, mean + half, 0, difference};
  if (!difference) q = (hvi_ratio){exp(mean), exp(mean - half), exp(mean + half), 0, false};
  /* at a margin of 1 the logarithms tell finer than what exp makes of them */
  if (difference || margin == 1.0)
    q.less = mean + half < 0.0 ? 1 : mean - half > 0.0 ? -1 : 0;
  else
    q.less = q.high < margin ? 1 : q.low > margin || q.ratio == INFINITY ? -1 : 0;
  return q;
}
