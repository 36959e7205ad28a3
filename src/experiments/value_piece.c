/* One method on one seed: an evaluation with checkpoints, and its result as a file. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "experiments/value_study.h"
#include "report/text.h"

#include <hvi/version.h>

#include <stdio.h>
#include <unistd.h>

size_t hvi_study_batch(const hvi_scale *s) { return s->batch ? s->batch : 1000; }

size_t hvi_study_measures(const hvi_scale *s) { return s->measures ? s->measures : 40; }

size_t hvi_study_steps(const hvi_scale *scale, const hvi_settings *s) {
  if (!scale->gradients) return scale->iterations;
  const size_t inner = s->baseline || !s->inner_steps ? 1 : s->inner_steps;
  return scale->gradients > inner ? scale->gradients / inner : 1;
}

/* Network, data and targets of a run, as the file has them. */
static hvi_value_spec value_of(const hvi_study *study, const hvi_study_piece *piece) {
  const hvi_scale *s = study->run->scale;
  const hvi_value_spec *c = &study->run->experiment->contenders[piece->contender].value;
  hvi_value_spec v = study->plan->value;
  for (size_t i = 0; s->width && i < v.hidden_count; i++) v.hidden[i] = s->width;
  v.batch = hvi_study_batch(s);
  v.buffer = c->buffer;
  v.lambda = c->lambda;
  v.returns = c->returns;
  v.threads = 1;
  if (!s->offline)
    v.draw = HVI_VALUE_FRESH;
  else if (v.draw != HVI_VALUE_RANDOM)
    v.draw = HVI_VALUE_ALL;
  return v;
}

char *hvi_study_piece_about(const hvi_study *study, const hvi_study_piece *piece) {
  const hvi_scale *s = study->run->scale;
  const hvi_study_site *site = &study->sites[piece->place];
  const hvi_settings *settings = &piece->settings;
  const hvi_value_spec v = value_of(study, piece);
  hvi_text t = {0};
  hvi_text_add(&t, "hvi %s; %s; %s", hvi_version(), site->place->environment, site->identity);
  hvi_text_add(&t, "; run seed %llu; steps %zu; offline %zu; measures %zu; per_decade %zu",
               (unsigned long long)piece->seed, hvi_study_steps(s, settings), s->offline,
               s->measures, study->plan->per_decade);
  hvi_text_add(&t, "; normalise %d; gap %d; baseline %d; method %s", (int)study->plan->scaling,
               (int)study->plan->gap, (int)settings->baseline,
               settings->baseline == HVI_BASELINE_RULE ? settings->rule->name
                                                       : settings->optimizer->name);
  hvi_text_settings(&t, hvi_value_table(), &v, NULL);
  hvi_text_settings(&t, hvi_settings_table(), settings, NULL);
  return hvi_text_take(&t);
}

/* What an evaluation points at. */
typedef struct desk {
  const hvi_study *study;
  const hvi_study_piece *piece;
  hvi_study_tap *tap;
  hvi_scales scales;
  hvi_evaluation_spec spec;
  hvi_evaluation *evaluation;
  char *about, *result, *checkpoint;
} desk;

/* Online the rows come with the steps; offline they are all there before the first. */
static hvi_status fill_data(desk *d, hvi_error *err) {
  const hvi_scale *s = d->study->run->scale;
  hvi_value_spec *v = &d->spec.value;
  double seconds;
  *v = value_of(d->study, d->piece);
  v->data = &d->tap->data;
  if (!s->offline) {
    d->spec.stream = (hvi_stream){.grow = hvi_study_tap_grow, .context = d->tap};
    return hvi_study_tap_grow(d->tap, v->batch, &seconds, err);
  }
  if (d->study->plan->gap) d->spec.gap = v->data;
  return hvi_study_tap_grow(d->tap, s->offline, &seconds, err);
}

/* From the first batch, so that all methods of a seed have the same. */
static hvi_status fill_scales(desk *d, hvi_error *err) {
  hvi_value_spec *v = &d->spec.value;
  const hvi_study_scaling scaling = d->study->plan->scaling;
  if (scaling == HVI_SCALE_NOTHING) return HVI_OK;
  const size_t rows = v->batch < v->data->count ? v->batch : v->data->count;
  const hvi_status status = hvi_scales_new(&d->scales, v->data, rows, v->gamma, err);
  if (status) return status;
  v->center = d->scales.center;
  v->spread = d->scales.spread;
  if (scaling == HVI_SCALE_STATES) return HVI_OK;
  v->shift = d->scales.shift;
  v->scale = d->scales.scale;
  return HVI_OK;
}

static hvi_status prepare(desk *d, hvi_error *err) {
  const hvi_scale *s = d->study->run->scale;
  const size_t measures = hvi_study_measures(s);
  d->spec = hvi_evaluation_defaults();
  d->spec.seed = d->piece->seed;
  d->spec.settings = d->piece->settings;
  d->spec.settings.inner_lr_decay = d->spec.polyak = 0.0; /* a method is what its file says */
  d->spec.probe = d->study->sites[d->piece->place].probe;
  const size_t steps = d->spec.settings.max_outer = hvi_study_steps(s, &d->piece->settings);
  d->spec.schedule = (hvi_schedule){.every = steps > measures ? steps / measures : 1,
                                    .per_decade = d->study->plan->per_decade};
  hvi_status status = fill_data(d, err);
  if (!status) status = fill_scales(d, err);
  d->about = hvi_study_piece_about(d->study, d->piece);
  d->result = hvi_path_join(d->study->folder, d->piece->name, ".csv");
  d->checkpoint = hvi_path_join(d->study->folder, d->piece->name, ".checkpoint");
  if (!status && !(d->about && d->result && d->checkpoint)) status = hvi_error_memory(err, "a run");
  return status;
}

/* From a checkpoint when there is one that fits; otherwise from the start. */
static hvi_status begin(desk *d, hvi_error *err) {
  const hvi_status status = hvi_evaluation_new(&d->evaluation, &d->spec, err);
  if (status || !d->study->reuse || access(d->checkpoint, R_OK) != 0) return status;
  if (!hvi_evaluation_restore(d->evaluation, d->checkpoint, d->about, NULL)) return HVI_OK;
  hvi_evaluation_free(d->evaluation);
  return hvi_evaluation_new(&d->evaluation, &d->spec, err);
}

static hvi_status step_on(desk *d, bool *stopped, hvi_study_tick tick, void *context,
                          hvi_error *err) {
  const double all = (double)d->spec.settings.max_outer;
  hvi_status status = HVI_OK;
  double saved = hvi_clock_now();
  hvi_evaluation_status state = hvi_evaluation_state(d->evaluation);
  while (!state.done && !status) {
    *stopped = !tick(context, (double)state.outer / all);
    const bool due = hvi_clock_now() - saved >= d->study->plan->checkpoint;
    if (*stopped || (due && state.outer > 0)) {
      status = hvi_evaluation_save(d->evaluation, d->checkpoint, d->about, err);
      saved = hvi_clock_now();
    }
    if (*stopped || status) break;
    status = hvi_evaluation_step(d->evaluation, err);
    state = hvi_evaluation_state(d->evaluation);
  }
  return status;
}

static hvi_status write_result(const desk *d, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(d->evaluation, &count);
  const hvi_study_curve curve = {.count = count,
                                 .rows = (hvi_evaluation_row *)rows,
                                 .diverged =
                                     hvi_evaluation_state(d->evaluation).outcome == HVI_DIVERGED};
  const hvi_status status = hvi_study_curve_write(d->result, d->about, &curve, err);
  if (!status) remove(d->checkpoint);
  return status;
}

hvi_status hvi_study_piece_run(const hvi_study *study, const hvi_study_piece *piece,
                               hvi_study_tap *tap, hvi_study_tick tick, void *context,
                               hvi_error *err) {
  desk d = {.study = study, .piece = piece, .tap = tap};
  bool stopped = false;
  hvi_status status = prepare(&d, err);
  if (!status) status = begin(&d, err);
  if (!status) status = step_on(&d, &stopped, tick, context, err);
  if (!status && !stopped) status = write_result(&d, err);
  hvi_evaluation_free(d.evaluation);
  hvi_scales_free(&d.scales);
  hvi_free(d.about);
  hvi_free(d.result);
  hvi_free(d.checkpoint);
  return status;
}
