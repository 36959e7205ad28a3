/*
 * Rates by grid search: every rate of a method's grid on the tuning seeds, the mean final error
 * for each, and the best. All methods get the same care, temporal differences too, and no file is
 * changed: the chosen rates stand in the experiment's file beside the grids.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "experiments/value_stats.h"
#include "num/stats.h"
#include "report/csv.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

enum { MOST_SEEDS = 1000 };

/* The final errors of one rate. */
typedef struct trial {
  double rate, mean, half;
  size_t seeds, diverged;
} trial;

static hvi_status read_final(double *error, const hvi_study *study, const hvi_study_piece *p,
                             hvi_error *err) {
  hvi_study_curve c = {0};
  char *path = hvi_path_join(study->folder, p->name, ".csv");
  char *about = hvi_study_piece_about(study, p);
  const bool read = path && about && hvi_study_curve_read(&c, path, about);
  *error = read ? hvi_study_value(&c, HVI_BY_OUTER, HVI_OF_ERROR, INFINITY) : NAN;
  hvi_free(c.rows);
  hvi_free(about);
  hvi_free(path);
  return read ? HVI_OK
              : hvi_error_set(err, HVI_ERROR_IO, "cannot read '%s/%s.csv'", study->folder, p->name);
}

/* The pieces of one place, contender and rate. */
static hvi_status sum_up(trial *t, const hvi_study *study, size_t place, size_t contender,
                         double rate, hvi_error *err) {
  double errors[MOST_SEEDS];
  *t = (trial){.rate = rate};
  for (size_t i = 0; i < study->piece_count; i++) {
    const hvi_study_piece *p = &study->pieces[i];
    double error;
    if (p->place != place || p->contender != contender || p->rate != rate) continue;
    const hvi_status status = read_final(&error, study, p, err);
    if (status) return status;
    if (!isfinite(error))
      t->diverged++;
    else if (t->seeds < MOST_SEEDS)
      errors[t->seeds++] = error;
  }
  t->mean = t->diverged ? INFINITY : hvi_stats_mean(errors, t->seeds);
  t->half = t->diverged ? NAN : hvi_stats_interval95(errors, t->seeds);
  return HVI_OK;
}

static void tell(hvi_text *text, const char *where, const hvi_contender *c, const char *key,
                 const trial *trials, size_t count, size_t best) {
  hvi_settings s = hvi_study_settings(c, where);
  const char *unused;
  char number[HVI_NUMBER_SIZE];
  hvi_text_add(text, "%s, %s:", where, c->label);
  for (size_t k = 0; k < count; k++) {
    hvi_text_add(text, " %s%g -> %s", k ? "| " : "", trials[k].rate,
                 hvi_number_short(number, trials[k].mean, 3));
    if (trials[k].diverged) hvi_text_add(text, " (%zu diverged)", trials[k].diverged);
  }
  hvi_text_add(text, "\n  best: %s %g", key, trials[best].rate);
  if (best == 0 || best + 1 == count) hvi_text_add(text, ", at an end of the grid");
  hvi_text_add(text, "; in the file: %g\n", *hvi_contender_rate(&s, &unused));
}

static hvi_status tune_one(hvi_csv *csv, hvi_text *text, const hvi_study *study, size_t place,
                           size_t contender, hvi_error *err) {
  const hvi_contender *c = &study->run->experiment->contenders[contender];
  const double *rates;
  const size_t count = hvi_study_rates(study, contender, &rates);
  const char *where = study->plan->places[place].environment, *key;
  hvi_settings s = c->settings;
  trial trials[HVI_MOST_RATES];
  size_t best = 0;
  hvi_contender_rate(&s, &key);
  for (size_t k = 0; k < count; k++) {
    const hvi_status status = sum_up(&trials[k], study, place, contender, rates[k], err);
    if (status) return status;
    if (trials[k].mean < trials[best].mean) best = k;
  }
  for (size_t k = 0; k < count; k++) {
    hvi_csv_text(csv, where);
    hvi_csv_text(csv, c->label);
    hvi_csv_text(csv, key);
    hvi_csv_number(csv, trials[k].rate);
    hvi_csv_number(csv, trials[k].mean);
    hvi_csv_number(csv, trials[k].half);
    hvi_csv_count(csv, trials[k].seeds);
    hvi_csv_count(csv, trials[k].diverged);
    hvi_csv_count(csv, k == best);
    hvi_csv_end(csv);
  }
  if (count) tell(text, where, c, key, trials, count, best);
  return HVI_OK;
}

static hvi_status report(hvi_text *text, const hvi_study *study, hvi_error *err) {
  hvi_csv csv = {0};
  char *path = hvi_run_path(study->run, "tune", ".csv");
  hvi_status status =
      path ? hvi_csv_open(&csv, path,
                          "environment,method,key,rate,error,half_width,seeds,diverged,best", err)
           : hvi_error_memory(err, "a path");
  hvi_text_add(text, "%s: mean final error on seeds %zu to %zu\n", study->run->experiment->id,
               study->plan->tune_first, study->plan->tune_first + study->seeds - 1);
  for (size_t p = 0; p < study->plan->place_count && !status; p++) {
    if (*study->sites[p].missing)
      hvi_text_add(text, "%s not run: %s\n", study->plan->places[p].environment,
                   study->sites[p].missing);
    for (size_t m = 0; m < study->contenders && !*study->sites[p].missing && !status; m++)
      status = tune_one(&csv, text, study, p, m, err);
  }
  if (!status) status = hvi_csv_close(&csv, err);
  hvi_csv_discard(&csv);
  hvi_free(path);
  return status;
}

static bool has_grid(const hvi_experiment *e) {
  bool found = false;
  for (size_t m = 0; m < e->contender_count && !found; m++) {
    const size_t own = e->contenders[m].rate_count;
    found = (own ? own : e->study->rate_count) > 1;
  }
  return found;
}

/* A seed that is tuned on and reported would flatter. */
static hvi_status check_seeds(const hvi_experiment *e, hvi_error *err) {
  const size_t most =
      e->full.instances > e->quick.instances ? e->full.instances : e->quick.instances;
  const uint64_t first = e->study->tune_first, last = first + e->study->tune_seeds - 1;
  if (first > e->seed + most - 1 || last < e->seed) return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "experiment '%s': tuning seeds %llu to %llu are among the reported ones",
                       e->id, (unsigned long long)first, (unsigned long long)last);
}

hvi_status hvi_study_tune(char **out, hvi_run *run, hvi_error *err) {
  hvi_study study = {0};
  hvi_text text = {0};
  *out = NULL;
  if (!run->experiment->study || !has_grid(run->experiment))
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "experiment '%s' has no rates to tune; those of kind value may have",
                         run->experiment->id);
  hvi_status status = check_seeds(run->experiment, err);
  if (!status) status = hvi_study_open(&study, run, err);
  if (!status && !run->stopped) status = hvi_study_cut(&study, true, err);
  if (!status && !run->stopped) status = hvi_study_work(&study, err);
  if (!status && !run->stopped) status = report(&text, &study, err);
  hvi_study_close(&study);
  if (!status && !run->stopped && !(*out = hvi_text_take(&text)))
    status = hvi_error_memory(err, "a table");
  hvi_text_free(&text);
  return status;
}
