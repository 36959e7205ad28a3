/*
 * Rates by grid search: every rate of a method's grid on the tuning seeds. All methods get the same
 * care, temporal differences too, and no file is changed: the chosen rates stand in the experiment's
 * file beside the grids.
 *
 * A rate is judged by the final error on its median seed and on its worst: the least geometric mean
 * of the two is best. A rate that diverged on a seed has lost. One whose inner loops leave more than
 * they found (a median loss ratio above 1, with more than one inner step) is no descent on surrogates
 * and is rejected. A grid whose best rate lies at an end is extended there, and its new cells are run,
 * until the best is inside or EXTENSIONS were not enough.
 *
 * It is a study whose methods are (method x rate) and whose seeds are those of tuning.
 */
#include "base/base.h"
#include "report/csv.h"
#include "study/grid.h"
#include "study/runs.h"

enum { EXTENSIONS = 4 };

/* The study whose rates are tried: its parts as the file has them, and where results go. */
struct hvi_tuning {
  hvi_part parts[HVI_MOST_PARTS]; /* their methods with all rates that are tried */
  size_t round;
  bool extended; /* a grid was, and has cells that were not run yet */
  hvi_csv csv;
  hvi_text text, lines; /* lines: for the file */
};

/* What the seeds of one rate ended in. */
typedef struct trial {
  double rate, median, worst, score; /* score: infinite where a seed diverged, or it is rejected */
  double ratio;                      /* median loss ratio of inner loops */
  size_t seeds, diverged;
  bool rejected;
} trial;

/* A part of another kind may have the plan of the whole. */
static bool is_tuned(const hvi_part *p) { return (p->kind->flags & HVI_KIND_VALUE) != 0; }

/* Its own grid, or the part's, in ascending order; a single rate is not tried. */
static void set_grid(hvi_arm *arm, const hvi_part *p) {
  if (!is_tuned(p)) arm->rate_count = 0;
  if (is_tuned(p) && !arm->rate_count) {
    arm->rate_count = p->value->rate_count;
    memcpy(arm->rates, p->value->rates, sizeof arm->rates);
  }
  if (arm->rate_count == 1) arm->rate_count = 0;
  arm->rate_count = hvi_stats_distinct(arm->rates, arm->rate_count);
}

static bool has_grid(const hvi_study *study) {
  for (const hvi_part *p = study->parts; p < study->parts + study->part_count; p++)
    for (const hvi_arm *arm = p->methods; arm < p->methods + p->method_count; arm++)
      if (is_tuned(p) && (arm->rate_count ? arm->rate_count : p->value->rate_count) > 1)
        return true;
  return false;
}

/* A seed that is tuned on and reported would flatter. */
static hvi_status check_seeds(const hvi_study *study, hvi_error *err) {
  for (const hvi_part *p = study->parts; p < study->parts + study->part_count; p++) {
    if (!is_tuned(p)) continue;
    const size_t most =
        p->full.instances > p->quick.instances ? p->full.instances : p->quick.instances;
    const uint64_t first = p->value->tune_first, last = first + p->value->tune_seeds - 1;
    if (first <= p->seed + most - 1 && last >= p->seed)
      return hvi_error_input(
          err, "experiment '%s': tuning seeds %llu to %llu are among the reported ones", study->id,
          (unsigned long long)first, (unsigned long long)last);
  }
  return HVI_OK;
}

/* The methods of a part of the file, with the grids that are tried. */
static hvi_status copy_arms(hvi_part *p, hvi_error *err) {
  hvi_arm *copy = hvi_alloc(p->method_count, sizeof *copy);
  if (!copy) return hvi_error_memory(err, "methods");
  if (p->method_count) memcpy(copy, p->methods, p->method_count * sizeof *copy);
  p->methods = copy;
  for (size_t m = 0; m < p->method_count; m++) set_grid(&copy[m], p);
  return HVI_OK;
}

/* The part's methods at each of their rates, on the tuning seeds. */
static hvi_status expand(hvi_part *p, const hvi_part *grids, hvi_error *err) {
  size_t count = 0;
  for (size_t m = 0; m < grids->method_count; m++) count += grids->methods[m].rate_count;
  p->method_count = 0;
  HVI_TRY(hvi_new(&p->methods, count, "methods", err));
  for (const hvi_arm *from = grids->methods; from < grids->methods + grids->method_count; from++)
    for (size_t k = 0; k < from->rate_count; k++) {
      hvi_arm *arm = &p->methods[p->method_count++];
      const char *key;
      *arm = *from;
      arm->rate = from->rates[k];
      hvi_arm_rate(&arm->settings, &key);
      snprintf(arm->slug, sizeof arm->slug, "%.24s-%s-%g", from->slug, key, arm->rate);
      arm->label = arm->slug;
    }
  if (!is_tuned(p)) return HVI_OK;
  p->seed = p->value->tune_first;
  p->quick.instances = p->full.instances = p->value->tune_seeds;
  return HVI_OK;
}

/* The median of the loss ratios of all rows that have one; into work. */
static double median_ratio(const hvi_runs *r, double *work) {
  const size_t column = hvi_table_find(r->table, "ratio");
  const size_t n = r->start[r->seeds];
  for (size_t i = 0; i < n; i++) work[i] = hvi_table_get(r->table, r->row[i], column);
  return hvi_stats_finite_quantile(work, n, 0.5);
}

static hvi_status sum_up(trial *t, hvi_study *study, const hvi_part *p, size_t method,
                         const char *environment, hvi_error *err) {
  const hvi_table *runs = hvi_study_table(study, p, "runs");
  const hvi_table_filter where = {.column = "environment", .word = environment};
  const size_t error = hvi_table_find(runs, "error");
  const hvi_arm *arm = &p->methods[method];
  hvi_runs r;
  HVI_TRY(hvi_runs_find(&r, runs, (double)method, &where, 1, err));
  *t = (trial){.rate = arm->rate, .seeds = r.seeds, .ratio = median_ratio(&r, r.work)};
  t->rejected = arm->settings.inner_steps > 1 && !arm->settings.baseline && t->ratio > 1.0;
  for (size_t s = 0; s < r.seeds; s++) {
    const double e = hvi_runs_value(&r, s, r.outer, error, INFINITY);
    r.work[s] = isfinite(e) ? e : INFINITY;
    if (!isfinite(e)) t->diverged++;
    t->worst = fmax(t->worst, r.work[s]);
  }
  t->median = hvi_stats_quantile(r.work, r.seeds, 0.5);
  t->score = t->diverged || t->rejected ? INFINITY : sqrt(t->median * t->worst);
  hvi_runs_free(&r);
  return HVI_OK;
}

static double rate_of_file(hvi_study *study, hvi_part *p, size_t method, size_t environment) {
  const char *key;
  hvi_arm *arm = &p->methods[method];
  const double tried = arm->rate;
  hvi_settings s = arm->settings;
  arm->rate = 0.0;
  for (size_t i = 0; i < p->cells; i++) {
    const hvi_cell c = hvi_cell_at(study, p, i);
    if (hvi_cell_level(&c, "method") != method || hvi_cell_level(&c, "environment") != environment)
      continue;
    if (hvi_cell_settings(&s, &c, NULL) == HVI_OK) break;
  }
  arm->rate = tried;
  return *hvi_arm_rate(&s, &key);
}

/* A row of the CSV, and a few words. */
static void report_trial(struct hvi_tuning *o, const char *const words[3], const trial *t,
                         bool first, bool best) {
  char median[HVI_NUMBER_SIZE], worst[HVI_NUMBER_SIZE];
  for (size_t i = 0; i < 3; i++) hvi_csv_text(&o->csv, words[i]);
  const double numbers[] = {t->rate,          t->median,           t->worst,    t->ratio,
                            (double)t->seeds, (double)t->diverged, t->rejected, best};
  for (size_t i = 0; i < 8; i++) hvi_csv_number(&o->csv, numbers[i]);
  hvi_csv_end(&o->csv);
  hvi_text_add(&o->text, " %s%g -> %s, worst %s", first ? "" : "| ", t->rate,
               hvi_number_short(median, t->median, 3), hvi_number_short(worst, t->worst, 3));
  if (t->diverged) hvi_text_add(&o->text, " (%zu diverged)", t->diverged);
  if (t->rejected) hvi_text_add(&o->text, " (rejected: not descent, loss ratio %.3g)", t->ratio);
}

/* One more rate beyond the end `low` or not, by the factor that comes before it in the grid. */
static void extend(struct hvi_tuning *o, hvi_arm *arm, bool low) {
  const size_t n = arm->rate_count;
  double *r = arm->rates, next;
  char text[32];
  if (n < 2 || n == HVI_MOST_RATES) return;
  const double end = low ? r[0] : r[n - 1], one = low ? r[1] : r[n - 2];
  next = n > 2 ? one * end / (low ? r[2] : r[n - 3]) : end * end / one;
  snprintf(text, sizeof text, "%.3g", next);
  next = strtod(text, NULL);
  if (low) memmove(r + 1, r, n * sizeof *r);
  r[low ? 0 : n] = next;
  arm->rate_count++;
  o->extended = true;
}

/* A method in an environment: its rates are the part's methods from `first` on. */
static hvi_status compare_rates(hvi_study *study, hvi_part *p, size_t environment,
                                const hvi_arm *arm, size_t first, int *end, hvi_error *err) {
  struct hvi_tuning *o = study->tuning;
  const char *where = p->value->environments[environment].environment, *key;
  const size_t count = arm->rate_count;
  trial trials[HVI_MOST_RATES] = {{.score = INFINITY}};
  size_t best = 0;
  hvi_settings s = arm->settings;
  hvi_arm_rate(&s, &key);
  for (size_t k = 0; k < count; k++) {
    HVI_TRY(sum_up(&trials[k], study, p, first + k, where, err));
    if (trials[k].score < trials[best].score) best = k;
  }
  const bool found = isfinite(trials[best].score), top = found && best + 1 == count;
  *end = !found || best == 0 ? -1 : top ? 1 : 0;
  hvi_text_add(&o->text, "%s, %s:", where, arm->label);
  for (size_t k = 0; k < count; k++)
    report_trial(o, (const char *const[]){where, arm->label, key}, &trials[k], k == 0,
                 found && k == best);
  hvi_text_add(&o->text, "\n  best: %s %g%s; in the file: %g\n", key,
               found ? trials[best].rate : NAN, *end ? ", at an end of the grid" : "",
               rate_of_file(study, p, first, environment));
  if (found)
    hvi_text_add(&o->lines, "%s{environment: %s, size: %s, %s: %g}",
                 o->lines.data && o->lines.data[o->lines.length - 1] == '}' ? ", " : "", where,
                 study->settings->full ? "full" : "quick", key, trials[best].rate);
  return HVI_OK;
}

/* A method in all environments; its grid is extended where a best rate lies at an end. */
static hvi_status compare_arm(hvi_study *study, hvi_part *p, hvi_arm *arm, size_t first,
                              hvi_error *err) {
  struct hvi_tuning *o = study->tuning;
  bool low = false, high = false;
  if (arm->rate_count == 0) return HVI_OK;
  hvi_text_add(&o->lines, "  %s: at: [", arm->label);
  for (size_t e = 0; e < p->value->environment_count; e++) {
    int end = 0;
    if (p->kind->missing(p, p->value->environments[e].environment)) continue;
    HVI_TRY(compare_rates(study, p, e, arm, first, &end, err));
    low = low || end < 0;
    high = high || end > 0;
  }
  hvi_text_add(&o->lines, "]\n");
  if (low && o->round < EXTENSIONS) extend(o, arm, true);
  if (high && o->round < EXTENSIONS) extend(o, arm, false);
  return HVI_OK;
}

static hvi_status report_part(hvi_study *study, size_t index, hvi_error *err) {
  hvi_part *p = &study->parts[index];
  const hvi_part *grids = &study->tuning->parts[index];
  const hvi_value_plan *plan = p->value;
  hvi_text *text = &study->tuning->text;
  hvi_text_add(text, "%s%s%s: final error on seeds %zu to %zu, median and worst\n", study->id,
               *p->name ? ", " : "", p->name, plan->tune_first,
               plan->tune_first + plan->tune_seeds - 1);
  for (size_t e = 0; e < plan->environment_count; e++) {
    const char *where = plan->environments[e].environment, *missing = p->kind->missing(p, where);
    if (missing) hvi_text_add(text, "%s not run: %s\n", where, missing);
  }
  for (size_t m = 0, first = 0; m < grids->method_count; m++) {
    const size_t count = grids->methods[m].rate_count;
    HVI_TRY(compare_arm(study, p, &grids->methods[m], first, err));
    first += count;
  }
  return HVI_OK;
}

static const char header[] =
    "environment,method,key,rate,median,worst,ratio,seeds,diverged,rejected,best";

hvi_status hvi_study_check_rates(const hvi_study *study, hvi_error *err) {
  HVI_OWN char *path = hvi_study_path(study, "tune", ".csv");
  return path ? hvi_file_ours(path, header, err) : hvi_error_memory(err, "a path");
}

hvi_status hvi_study_report_rates(hvi_study *study, hvi_error *err) {
  struct hvi_tuning *o = study->tuning;
  HVI_OWN char *path = hvi_study_path(study, "tune", ".csv");
  if (!path) return hvi_error_memory(err, "a path");
  hvi_text_free(&o->text);
  hvi_text_free(&o->lines);
  HVI_TRY(hvi_csv_open(&o->csv, path, header, err));
  for (size_t i = 0; i < study->part_count; i++)
    if (study->parts[i].cells) HVI_TRY(report_part(study, i, err));
  hvi_text_add(&o->text, "for the file:\n%s", o->lines.data ? o->lines.data : "");
  return hvi_csv_close(&o->csv, err);
}

/* One round: every rate of every grid; cells of an earlier round are taken from the journal. */
static hvi_status run_round(bool *stopped, hvi_study *study, hvi_study_settings s, hvi_error *err) {
  struct hvi_tuning *o = study->tuning;
  hvi_claims claims = {0};
  size_t expanded = 0;
  hvi_status status = HVI_OK;
  o->extended = false;
  s.resume = s.resume || o->round > 0;
  for (; expanded < study->part_count && !status; expanded++) {
    study->parts[expanded] = o->parts[expanded];
    status = expand(&study->parts[expanded], &o->parts[expanded], err);
  }
  if (!status) status = hvi_study_run(&claims, stopped, study, &s, err);
  for (size_t i = 0; i < expanded; i++) hvi_free(study->parts[i].methods);
  hvi_claims_clear(&claims);
  return status;
}

hvi_status hvi_study_tune(char **text, bool *stopped, hvi_study *study, const hvi_study_settings *s,
                          hvi_error *err) {
  *text = NULL;
  *stopped = false;
  if (!has_grid(study))
    return hvi_error_input(
        err, "experiment '%s' has no rates to tune; those of kind value may have", study->id);
  HVI_TRY(check_seeds(study, err));
  HVI_NEW(struct hvi_tuning, o, 1, "methods", err);
  HVI_NEW(hvi_part, file, HVI_MOST_PARTS, "methods", err);
  memcpy(file, study->parts, sizeof study->parts);
  memcpy(o->parts, study->parts, sizeof o->parts);
  study->tuning = o;
  hvi_status status = HVI_OK;
  size_t copied = 0;
  for (; copied < study->part_count && !status; copied++)
    status = copy_arms(&o->parts[copied], err);
  if (status) copied--;
  do
    if (!status) status = run_round(stopped, study, *s, err);
  while (!status && !*stopped && o->extended && o->round++ < EXTENSIONS);
  for (size_t i = 0; i < copied; i++) hvi_free(o->parts[i].methods);
  memcpy(study->parts, file, sizeof study->parts);
  study->tuning = NULL;
  hvi_csv_discard(&o->csv);
  const bool told = !*stopped || o->text.length > 0; /* by rounds before the one that was stopped */
  if (!status && told && !(*text = hvi_text_take(&o->text)))
    status = hvi_error_memory(err, "a table");
  hvi_text_free(&o->text);
  hvi_text_free(&o->lines);
  return status;
}
