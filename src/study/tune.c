/*
 * Rates by grid search: every rate of a method's grid on the tuning seeds, the mean final error
 * for each, and the best. All methods get the same care, temporal differences too, and no file is
 * changed: the chosen rates stand in the experiment's file beside the grids.
 *
 * It is a study whose methods are (method x rate) and whose seeds are those of tuning.
 */
#include "base/base.h"
#include "base/number.h"
#include "report/csv.h"
#include "report/text.h"
#include "study/grid.h"
#include "study/runs.h"

/* The study whose rates are tried: its parts as the file has them, and where results go. */
struct hvi_tuning {
  hvi_part parts[HVI_MOST_PARTS];
  hvi_csv csv;
  hvi_text text;
};

/* What the seeds of one rate ended in. */
typedef struct trial {
  double rate;
  hvi_mean error;
  size_t diverged;
} trial;

/* A part of another kind may have the plan of the whole. */
static bool is_tuned(const hvi_part *p) { return (p->kind->flags & HVI_KIND_VALUE) != 0; }

static size_t rates_of(const hvi_part *p, const hvi_arm *arm, const double **rates) {
  if (!is_tuned(p)) return 0;
  *rates = arm->rate_count ? arm->rates : p->value->rates;
  return arm->rate_count ? arm->rate_count : p->value->rate_count;
}

static bool has_grid(const hvi_study *study) {
  const double *rates;
  for (const hvi_part *p = study->parts; p < study->parts + study->part_count; p++)
    for (size_t m = 0; m < p->method_count; m++)
      if (rates_of(p, &p->methods[m], &rates) > 1) return true;
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

/* The part's methods at each of their rates, on the tuning seeds. */
static hvi_status expand(hvi_part *p, const hvi_part *file, hvi_error *err) {
  size_t count = 0;
  const double *rates;
  for (size_t m = 0; m < file->method_count; m++) count += rates_of(p, &file->methods[m], &rates);
  p->method_count = 0;
  p->methods = hvi_alloc(count, sizeof *p->methods);
  if (!p->methods) return hvi_error_memory(err, "methods");
  for (const hvi_arm *from = file->methods; from < file->methods + file->method_count; from++) {
    const size_t each = rates_of(p, from, &rates);
    for (size_t k = 0; k < each; k++) {
      hvi_arm *arm = &p->methods[p->method_count++];
      const char *key;
      *arm = *from;
      arm->rate = rates[k];
      hvi_arm_rate(&arm->settings, &key);
      snprintf(arm->slug, sizeof arm->slug, "%.24s-%s-%g", from->slug, key, rates[k]);
      arm->label = arm->slug;
    }
  }
  if (!is_tuned(p)) return HVI_OK;
  p->seed = p->value->tune_first;
  p->quick.instances = p->full.instances = p->value->tune_seeds;
  return HVI_OK;
}

static hvi_status sum_up(trial *t, hvi_study *study, const hvi_part *p, size_t method,
                         const char *environment, hvi_error *err) {
  const hvi_table *runs = hvi_study_table(study, p, "runs");
  const hvi_table_filter where = {.column = "environment", .word = environment};
  hvi_runs r;
  HVI_TRY(hvi_runs_find(&r, runs, (double)method, &where, 1, err));
  t->rate = p->methods[method].rate;
  t->error = hvi_runs_mean(&r, r.outer, hvi_table_find(runs, "error"), INFINITY);
  t->diverged = r.seeds - t->error.count;
  if (t->diverged) t->error.value = INFINITY, t->error.half = NAN;
  hvi_runs_free(&r);
  return HVI_OK;
}

/* The rate that the file has in this environment. */
static double rate_of_file(hvi_study *study, hvi_part *p, size_t method, size_t environment) {
  const char *key;
  hvi_settings s = p->methods[method].settings;
  p->methods[method].rate = 0.0;
  for (size_t i = 0; i < p->cells; i++) {
    const hvi_cell c = hvi_cell_at(study, p, i);
    if (hvi_cell_level(&c, "method") != method || hvi_cell_level(&c, "environment") != environment)
      continue;
    if (hvi_cell_settings(&s, &c, NULL) == HVI_OK) break;
  }
  return *hvi_arm_rate(&s, &key);
}

/* A row of the CSV, and a few words. */
static void report_trial(struct hvi_tuning *o, const char *const words[3], const trial *t,
                         bool first, bool best) {
  char number[HVI_NUMBER_SIZE];
  for (size_t i = 0; i < 3; i++) hvi_csv_text(&o->csv, words[i]);
  hvi_csv_number(&o->csv, t->rate);
  hvi_csv_number(&o->csv, t->error.value);
  hvi_csv_number(&o->csv, t->error.half);
  hvi_csv_count(&o->csv, t->error.count);
  hvi_csv_count(&o->csv, t->diverged);
  hvi_csv_count(&o->csv, best);
  hvi_csv_end(&o->csv);
  hvi_text_add(&o->text, " %s%g -> %s", first ? "" : "| ", t->rate,
               hvi_number_short(number, t->error.value, 3));
  if (t->diverged) hvi_text_add(&o->text, " (%zu diverged)", t->diverged);
}

/* A method of the file in an environment: its rates are the methods from `first` on. */
static hvi_status compare_rates(hvi_study *study, hvi_part *p, size_t environment,
                                const hvi_arm *arm, size_t first, hvi_error *err) {
  struct hvi_tuning *o = study->tuning;
  const char *where = p->value->environments[environment].environment, *key;
  const double *rates;
  const size_t count = rates_of(p, arm, &rates);
  trial trials[HVI_MOST_RATES];
  size_t best = 0;
  hvi_settings s = arm->settings;
  hvi_arm_rate(&s, &key);
  for (size_t k = 0; k < count; k++) {
    HVI_TRY(sum_up(&trials[k], study, p, first + k, where, err));
    if (trials[k].error.value < trials[best].error.value) best = k;
  }
  if (count == 0) return HVI_OK;
  hvi_text_add(&o->text, "%s, %s:", where, arm->label);
  for (size_t k = 0; k < count; k++)
    report_trial(o, (const char *const[]){where, arm->label, key}, &trials[k], k == 0, k == best);
  hvi_text_add(&o->text, "\n  best: %s %g%s; in the file: %g\n", key, trials[best].rate,
               best == 0 || best + 1 == count ? ", at an end of the grid" : "",
               rate_of_file(study, p, first, environment));
  return HVI_OK;
}

static hvi_status report_part(hvi_study *study, hvi_part *p, const hvi_part *file, hvi_error *err) {
  const hvi_value_plan *plan = p->value;
  hvi_text *text = &study->tuning->text;
  const double *rates;
  hvi_text_add(text, "%s%s%s: mean final error on seeds %zu to %zu\n", study->id,
               *p->name ? ", " : "", p->name, plan->tune_first,
               plan->tune_first + plan->tune_seeds - 1);
  for (size_t e = 0; e < plan->environment_count; e++) {
    const char *where = plan->environments[e].environment, *missing = p->kind->missing(p, where);
    if (missing) hvi_text_add(text, "%s not run: %s\n", where, missing);
    for (size_t m = 0, first = 0; m < file->method_count && !missing; m++) {
      HVI_TRY(compare_rates(study, p, e, &file->methods[m], first, err));
      first += rates_of(p, &file->methods[m], &rates);
    }
  }
  return HVI_OK;
}

static const char header[] = "environment,method,key,rate,error,half_width,seeds,diverged,best";

hvi_status hvi_study_check_rates(const hvi_study *study, hvi_error *err) {
  HVI_OWN char *path = hvi_study_path(study, "tune", ".csv");
  return path ? hvi_file_ours(path, header, err) : hvi_error_memory(err, "a path");
}

hvi_status hvi_study_report_rates(hvi_study *study, hvi_error *err) {
  HVI_OWN char *path = hvi_study_path(study, "tune", ".csv");
  if (!path) return hvi_error_memory(err, "a path");
  HVI_TRY(hvi_csv_open(&study->tuning->csv, path, header, err));
  for (size_t i = 0; i < study->part_count; i++)
    if (study->parts[i].cells)
      HVI_TRY(report_part(study, &study->parts[i], &study->tuning->parts[i], err));
  return hvi_csv_close(&study->tuning->csv, err);
}

hvi_status hvi_study_tune(char **text, bool *stopped, hvi_study *study, const hvi_study_settings *s,
                          hvi_error *err) {
  hvi_claims claims = {0};
  size_t expanded = 0;
  *text = NULL;
  *stopped = false;
  if (!has_grid(study))
    return hvi_error_input(
        err, "experiment '%s' has no rates to tune; those of kind value may have", study->id);
  HVI_TRY(check_seeds(study, err));
  HVI_OWN struct hvi_tuning *o = study->tuning = hvi_alloc(1, sizeof *o);
  if (!o) return hvi_error_memory(err, "methods");
  memcpy(o->parts, study->parts, sizeof o->parts);
  hvi_status status = HVI_OK;
  for (; expanded < study->part_count && !status; expanded++)
    status = expand(&study->parts[expanded], &o->parts[expanded], err);
  if (!status) status = hvi_study_run(&claims, stopped, study, s, err);
  for (size_t i = 0; i < expanded; i++) hvi_free(study->parts[i].methods);
  memcpy(study->parts, o->parts, sizeof o->parts);
  study->tuning = NULL;
  hvi_claims_clear(&claims);
  hvi_csv_discard(&o->csv);
  if (!status && !*stopped && !(*text = hvi_text_take(&o->text)))
    status = hvi_error_memory(err, "a table");
  hvi_text_free(&o->text);
  return status;
}
