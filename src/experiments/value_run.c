/*
 * The kind `value`: places are opened, the work is cut into pieces, pieces are run, and their files
 * are read back for tables, figures and claims. Interrupted anywhere, finished pieces and
 * checkpoints stay, and a run that resumes does the rest.
 */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "experiments/value_study.h"
#include "report/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_place(const hvi_study_plan *p, const char *environment) {
  size_t i = 0;
  while (i < p->place_count && strcmp(p->places[i].environment, environment) != 0) i++;
  return i < p->place_count;
}

static hvi_status check_exceptions(const hvi_experiment *e, hvi_error *err) {
  for (size_t m = 0; m < e->contender_count; m++) {
    const hvi_contender *c = &e->contenders[m];
    for (size_t i = 0; i < c->exception_count; i++)
      if (!is_place(e->study, c->exceptions[i].environment))
        return hvi_error_set(err, HVI_ERROR_INPUT,
                             "experiment '%s', method '%s': rate_at names '%.60s', which is none "
                             "of its places",
                             e->id, c->label, c->exceptions[i].environment);
  }
  return HVI_OK;
}

static hvi_status check(const hvi_run *run, hvi_error *err) {
  const hvi_experiment *e = run->experiment;
  if (!e->study || !e->contender_count)
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "experiment '%s': kind value needs the keys value and methods", e->id);
  if (e->study->gap && !run->scale->offline)
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "experiment '%s': the Bellman gap is that of a fixed data set; give "
                         "`offline`, its size, under quick and full",
                         e->id);
  if (run->scale->instances > 1000)
    return hvi_error_set(err, HVI_ERROR_INPUT, "experiment '%s': at most 1000 instances", e->id);
  return check_exceptions(e, err);
}

static void tell_missing(const hvi_study *study, size_t place) {
  const hvi_run *run = study->run;
  char line[512];
  snprintf(line, sizeof line, "%s: %s not run: %s", run->experiment->id,
           study->plan->places[place].environment, study->sites[place].missing);
  if (run->settings->message) run->settings->message(run->settings->context, line);
}

hvi_status hvi_study_open(hvi_study *study, hvi_run *run, hvi_error *err) {
  *study = (hvi_study){.run = run, .plan = run->experiment->study};
  hvi_status status = check(run, err);
  for (size_t i = 0; !status && !run->stopped && i < study->plan->place_count; i++) {
    status = hvi_study_site_open(&study->sites[i], run, i, err);
    if (!status && *study->sites[i].missing) tell_missing(study, i);
  }
  study->seeds = run->scale->instances;
  study->contenders = run->experiment->contender_count;
  return status;
}

void hvi_study_close(hvi_study *study) {
  for (size_t i = 0; i < HVI_MOST_PLACES; i++) hvi_study_site_close(&study->sites[i]);
  hvi_free(study->pieces);
  hvi_free(study->folder);
  *study = (hvi_study){0};
}

/* The loop's settings for this problem: eta 1, unless it is a rule's step size. */
hvi_settings hvi_study_settings(const hvi_contender *c, const char *environment) {
  hvi_settings s = hvi_contender_at(c, environment);
  if (!c->eta_given && s.baseline == HVI_BASELINE_NONE) s.eta = 1.0;
  return s;
}

/* In inner steps; a threshold ends them about half way. */
static double cost_of(const hvi_scale *scale, const hvi_settings *s, bool gap) {
  const double steps = (double)hvi_study_steps(scale, s);
  double inner = s->baseline ? 2.0 : (double)s->inner_steps;
  if (s->alpha > 0.0) inner *= 0.5;
  const double measures = (double)hvi_study_measures(scale);
  return steps * (inner + 1.0) + (gap ? 500.0 * measures : 0.0);
}

static hvi_study_piece make_piece(const hvi_study *study, size_t place, size_t seed_index,
                                  size_t contender, uint64_t seed) {
  const hvi_contender *c = &study->run->experiment->contenders[contender];
  hvi_study_piece p = {.place = place,
                       .contender = contender,
                       .group = place * study->seeds + seed_index,
                       .seed = seed,
                       .settings = hvi_study_settings(c, study->plan->places[place].environment),
                       .rate = NAN};
  p.cost = cost_of(study->run->scale, &p.settings, study->plan->gap);
  snprintf(p.name, sizeof p.name, "%s-%s-%llu", study->sites[place].slug, c->slug,
           (unsigned long long)seed);
  return p;
}

size_t hvi_study_rates(const hvi_study *study, size_t contender, const double **rates) {
  const hvi_contender *c = &study->run->experiment->contenders[contender];
  *rates = c->rate_count ? c->rates : study->plan->rates;
  const size_t count = c->rate_count ? c->rate_count : study->plan->rate_count;
  return count > 1 ? count : 0;
}

static void add_pieces(hvi_study *study, size_t place, size_t seed_index, bool tune) {
  const uint64_t first = tune ? study->plan->tune_first : study->run->experiment->seed;
  for (size_t m = 0; m < study->contenders; m++) {
    const double *rates = NULL;
    const size_t count = tune ? hvi_study_rates(study, m, &rates) : 1;
    for (size_t k = 0; k < count; k++) {
      hvi_study_piece p = make_piece(study, place, seed_index, m, first + seed_index);
      if (tune) {
        const char *key;
        const size_t used = strlen(p.name);
        *hvi_contender_rate(&p.settings, &key) = p.rate = rates[k];
        char rate[HVI_NUMBER_SIZE];
        snprintf(p.name + used, sizeof p.name - used, "-%s-%s", key,
                 hvi_number_format(rate, p.rate));
      }
      study->pieces[study->piece_count++] = p;
    }
  }
}

/* Pieces that an earlier run finished. */
static hvi_status mark_finished(hvi_study *study, hvi_error *err) {
  for (size_t i = 0; i < study->piece_count; i++) {
    hvi_study_piece *p = &study->pieces[i];
    hvi_study_curve curve = {0};
    char *path = hvi_path_join(study->folder, p->name, ".csv");
    char *about = hvi_study_piece_about(study, p);
    if (path && about) p->finished = hvi_study_curve_read(&curve, path, about);
    hvi_free(curve.rows);
    const bool good = path && about;
    hvi_free(path);
    hvi_free(about);
    if (!good) return hvi_error_memory(err, "a run");
  }
  return HVI_OK;
}

/* The pieces' folder: the experiment's own, or that of the one whose runs these are. */
static hvi_status choose_folder(hvi_study *study, bool tune, hvi_error *err) {
  const hvi_run *run = study->run;
  const char *runs = tune ? NULL : study->plan->runs;
  hvi_text t = {0};
  if (runs)
    hvi_text_add(&t, "%s/%s/pieces", run->settings->out, runs);
  else
    hvi_text_add(&t, "%s/%s", run->folder, tune ? "tune" : "pieces");
  study->folder = hvi_text_take(&t);
  /* the same settings give the same runs, whoever made them */
  study->reuse = run->settings->resume || runs;
  return study->folder ? hvi_folder_make(study->folder, err) : hvi_error_memory(err, "a path");
}

hvi_status hvi_study_cut(hvi_study *study, bool tune, hvi_error *err) {
  if (tune) study->seeds = study->plan->tune_seeds;
  const size_t most = tune ? HVI_MOST_RATES : 1;
  study->pieces = hvi_alloc(study->plan->place_count * study->seeds * study->contenders * most,
                            sizeof *study->pieces);
  if (!study->pieces) return hvi_error_memory(err, "an experiment");
  for (size_t p = 0; p < study->plan->place_count; p++)
    for (size_t s = 0; s < study->seeds && !*study->sites[p].missing; s++)
      add_pieces(study, p, s, tune);
  const hvi_status status = choose_folder(study, tune, err);
  return status || !study->reuse ? status : mark_finished(study, err);
}

hvi_status hvi_study_collect(hvi_study_results *r, const hvi_study *study, hvi_error *err) {
  *r = (hvi_study_results){.experiment = study->run->experiment,
                           .places = study->plan->place_count,
                           .contenders = study->contenders,
                           .seeds = study->seeds};
  r->curves = hvi_alloc(r->places * r->contenders * r->seeds, sizeof *r->curves);
  if (!r->curves) return hvi_error_memory(err, "results");
  for (size_t p = 0; p < r->places; p++) {
    r->names[p] = study->plan->places[p].environment;
    r->missing[p] = *study->sites[p].missing ? study->sites[p].missing : NULL;
    r->noise[p] = study->sites[p].noise;
  }
  for (size_t i = 0; i < study->piece_count; i++) {
    const hvi_study_piece *p = &study->pieces[i];
    const size_t seed = p->group % study->seeds;
    hvi_study_curve *to = &r->curves[(p->place * r->contenders + p->contender) * r->seeds + seed];
    char *path = hvi_path_join(study->folder, p->name, ".csv");
    char *about = hvi_study_piece_about(study, p);
    const bool read = path && about && hvi_study_curve_read(to, path, about);
    hvi_free(path);
    hvi_free(about);
    if (!read)
      return hvi_error_set(err, HVI_ERROR_IO, "cannot read '%s/%s.csv'", study->folder, p->name);
  }
  return HVI_OK;
}

void hvi_study_results_free(hvi_study_results *r) {
  for (size_t i = 0; r->curves && i < r->places * r->contenders * r->seeds; i++)
    hvi_free(r->curves[i].rows);
  hvi_free(r->curves);
  *r = (hvi_study_results){0};
}

static hvi_status finish(hvi_study *study, hvi_error *err) {
  hvi_study_results r = {0};
  hvi_status status = hvi_study_collect(&r, study, err);
  if (!status && study->plan->chain) status = hvi_study_chain(study->run, err);
  if (!status) status = hvi_value_study_draw(study->run, &r, err);
  if (!status && study->run->experiment->builtin) hvi_claims_study(study->run->claims, &r);
  hvi_study_results_free(&r);
  return status;
}

hvi_status hvi_value_study_run(hvi_run *run, hvi_error *err) {
  hvi_study study;
  hvi_status status = hvi_study_open(&study, run, err);
  if (!status && !run->stopped) status = hvi_study_cut(&study, false, err);
  if (!status && !run->stopped) status = hvi_study_work(&study, err);
  if (!status && !run->stopped) status = finish(&study, err);
  hvi_study_close(&study);
  return status;
}
