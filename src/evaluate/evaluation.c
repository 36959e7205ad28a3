/*
 * The evaluation's loop: collect what the next draw needs, take an outer step, measure when due.
 *
 * The solver draws the batch of step t + 1 at the end of step t, so a stream stands one batch ahead
 * of what theta has seen. Costs are charged when a batch has been used: after step t those of
 * batches 1 .. t.
 */
#include "evaluate/evaluation.h"

#include "base/base.h"
#include "base/clock.h"
#include "num/vec.h"

/* Whether some 10^(j / per_decade) is rounded to `outer`. */
static bool on_decades(size_t outer, size_t per_decade) {
  const double j = round(log10((double)outer) * (double)per_decade);
  for (double k = fmax(j - 1.0, 0.0); k <= j + 1.0; k++)
    if ((size_t)llround(pow(10.0, k / (double)per_decade)) == outer) return true;
  return false;
}

bool hvi_schedule_due(const hvi_schedule *s, size_t outer, size_t last) {
  if (outer == 0 || outer == last) return true;
  if (s->every > 0 && outer % s->every == 0) return true;
  return s->per_decade > 0 && on_decades(outer, s->per_decade);
}

static double clock_of(const hvi_evaluation *e) { return hvi_clock_work(e->spec.value.threads); }

static double inner_seconds(const hvi_evaluation *e) {
  return hvi_solver_info(e->solver).last.seconds_inner;
}

static size_t every(const hvi_evaluation *e) {
  return e->spec.settings.redraw_every ? e->spec.settings.redraw_every : 1;
}

size_t hvi_evaluation_rows_at(const hvi_evaluation *e, size_t outer) {
  return hvi_value_rows(e->problem, outer / every(e) + 1);
}

hvi_status hvi_evaluation_grow(hvi_evaluation *e, size_t rows, double *seconds, hvi_error *err) {
  const hvi_stream *s = &e->spec.stream;
  double spent = 0.0;
  if (!s->grow) return HVI_OK;
  const hvi_status status = s->grow(s->context, rows, &spent, err);
  *seconds = fmax(*seconds, spent + e->seconds.resumed);
  return status;
}

/* Batches that theta_t has seen. */
static size_t rows_used(const hvi_evaluation *e, size_t outer) {
  if (outer == 0) return 0;
  if (!e->spec.stream.grow) return e->spec.value.data->count;
  return hvi_value_rows(e->problem, (outer + every(e) - 1) / every(e));
}

static void fill_costs(const hvi_evaluation *e, hvi_evaluation_row *row) {
  const hvi_seconds *p = &e->seconds;
  row->env_steps = rows_used(e, row->outer);
  row->seconds_collect = p->collect;
  row->seconds_targets = p->targets;
  row->seconds_inner = p->inner;
  row->seconds_optimise = p->targets + p->inner;
  row->seconds = row->seconds_collect + row->seconds_optimise;
}

static void fill_step(const hvi_evaluation *e, hvi_evaluation_row *row) {
  const hvi_record last = hvi_solver_info(e->solver).last;
  const bool bellman = !e->spec.value.returns;
  *row = (hvi_evaluation_row){.outer = last.outer,
                              .inner = last.inner,
                              .loss0 = last.loss0,
                              .loss = last.loss,
                              .ratio = last.ratio,
                              .alpha = last.alpha,
                              .grad_evals = last.counts.grad_evals,
                              .model_passes = last.counts.model_passes};
  if (bellman) row->model_passes += last.counts.f_evals; /* successors */
  row->error = row->interval = row->clean = row->relative = row->relative_clean = row->gap = NAN;
  if (last.outer == 0) row->loss0 = row->loss = row->ratio = row->alpha = NAN;
}

static hvi_status score(const hvi_evaluation *e, hvi_evaluation_row *row, hvi_score *s,
                        hvi_error *err) {
  const hvi_status status =
      hvi_probe_score(s, e->spec.probe, e->problem, hvi_evaluation_theta(e), NULL, err);
  /* a network whose values overflow has no score */
  if (status) return status == HVI_ERROR_INPUT ? HVI_OK : status;
  row->error = s->error;
  row->interval = s->interval;
  row->clean = s->clean;
  row->relative = s->relative;
  row->relative_clean = s->relative_clean;
  return HVI_OK;
}

/* A row of the present theta, and its score. */
static hvi_status measure(hvi_evaluation *e, hvi_evaluation_row *row, hvi_score *s,
                          hvi_error *err) {
  const double start = clock_of(e);
  hvi_gap gap;
  hvi_status status = HVI_OK;
  fill_step(e, row);
  fill_costs(e, row);
  *s = (hvi_score){0};
  if (e->outcome != HVI_DIVERGED) {
    if (e->spec.probe) status = score(e, row, s, err);
    if (!status && e->gap) {
      status = hvi_bellman_gap(&gap, e->gap, hvi_evaluation_theta(e), &e->spec.gap_settings, err);
      if (!status) row->gap = gap.gap;
    }
  }
  e->seconds.measure += clock_of(e) - start;
  row->seconds_measure = e->seconds.measure;
  return status;
}

hvi_status hvi_evaluation_extend(hvi_evaluation *e, hvi_error *err) {
  if (e->count < e->room) return HVI_OK;
  const size_t room = e->room ? 2 * e->room : 64;
  hvi_evaluation_row *rows = hvi_alloc(room, sizeof *rows);
  if (!rows) return hvi_error_memory(err, "the rows of an evaluation");
  if (e->count > 0) memcpy(rows, e->rows, e->count * sizeof *rows);
  hvi_free(e->rows);
  e->rows = rows;
  e->room = room;
  return HVI_OK;
}

static hvi_status keep_row(hvi_evaluation *e, hvi_error *err) {
  hvi_score unused;
  hvi_status status = hvi_evaluation_extend(e, err);
  if (!status) status = measure(e, &e->rows[e->count], &unused, err);
  if (!status) e->count++;
  return status;
}

void hvi_evaluation_decide(hvi_evaluation *e) {
  const hvi_settings *s = &e->spec.settings;
  const hvi_info info = hvi_solver_info(e->solver);
  e->outcome = info.outcome;
  e->reason = info.reason;
  if (e->outcome != HVI_RUNNING) return;
  const double spent = e->seconds.collect + e->seconds.targets + e->seconds.inner;
  if (s->max_outer > 0 && info.last.outer >= s->max_outer) {
    e->outcome = HVI_LIMIT;
    e->reason = "iteration limit";
  } else if (e->max_seconds > 0.0 && spent >= e->max_seconds) {
    e->outcome = HVI_LIMIT;
    e->reason = "time limit";
  }
}

static void charge(hvi_evaluation *e, double seconds, double inner) {
  const bool baseline = e->spec.settings.baseline != HVI_BASELINE_NONE;
  e->seconds.inner += baseline ? seconds : inner;
  e->seconds.targets += baseline ? 0.0 : seconds - inner;
}

/* mean_t = (1 - h) mean_{t-1} + h theta_t with h = (q + 1) / (t + q): weights like t^q */
static void average(hvi_evaluation *e, size_t t) {
  const double q = e->spec.polyak, h = (q + 1.0) / ((double)t + q);
  const double *theta = hvi_solver_info(e->solver).last.theta;
  for (size_t i = 0; e->mean && i < e->problem->model->dim; i++)
    e->mean[i] += h * (theta[i] - e->mean[i]);
}

hvi_status hvi_evaluation_step(hvi_evaluation *e, hvi_error *err) {
  if (e->outcome != HVI_RUNNING) return HVI_OK;
  const size_t outer = hvi_solver_info(e->solver).last.outer + 1;
  double ahead = e->seconds.ahead;
  HVI_TRY(hvi_evaluation_grow(e, hvi_evaluation_rows_at(e, outer), &ahead, err));
  const double start = clock_of(e), inner = inner_seconds(e);
  hvi_solver_step(e->solver);
  average(e, outer);
  charge(e, clock_of(e) - start, inner_seconds(e) - inner);
  e->seconds.collect = e->seconds.ahead;
  e->seconds.ahead = ahead;
  hvi_evaluation_decide(e);
  const bool last = e->outcome != HVI_RUNNING;
  if (!last && !hvi_schedule_due(&e->spec.schedule, outer, e->spec.settings.max_outer))
    return HVI_OK;
  return keep_row(e, err);
}

/* New rows of a draw. */
static size_t fresh_rows(const hvi_value_spec *v) {
  return v->batch > v->replay ? v->batch - v->replay : 0;
}

/* The rows that the last step was fitted to, or the first ones of fixed data. */
static hvi_dataset last_batch(const hvi_evaluation *e) {
  const size_t outer = hvi_solver_info(e->solver).last.outer, batch = fresh_rows(&e->spec.value);
  hvi_dataset d = *e->spec.value.data;
  if (!e->spec.stream.grow) {
    if (batch > 0 && batch < d.count) d.count = batch;
    return d;
  }
  const size_t draw = outer > 0 ? (outer - 1) / every(e) : 0;
  const size_t first = hvi_value_rows(e->problem, draw + 1) - batch;
  d.observation += first * d.obs;
  d.action += first * d.act;
  d.reward += first;
  d.next += first * d.obs;
  d.terminated += first;
  d.truncated += first;
  d.count = batch;
  return d;
}

static hvi_status judge_gap(const hvi_evaluation *e, hvi_evaluation_result *r, hvi_error *err) {
  const hvi_dataset rows = e->spec.gap ? *e->spec.gap : last_batch(e);
  hvi_gap_settings search = e->spec.gap_settings;
  hvi_problem *p = NULL;
  r->gap_rows = rows.count;
  const bool known = isfinite(r->last.gap); /* on the same data: only the error is missing */
  if (known) search.steps = 0;
  hvi_status status = hvi_gap_problem(&p, &e->spec.value, &rows, err);
  if (!status) status = hvi_bellman_gap(&r->gap, p, hvi_evaluation_theta(e), &search, err);
  if (!status && known) r->gap.gap = r->last.gap, r->gap.least = r->gap.error - r->last.gap;
  hvi_problem_free(p);
  return status;
}

hvi_status hvi_evaluation_judge(hvi_evaluation *e, hvi_evaluation_result *r, hvi_error *err) {
  hvi_status status = HVI_OK;
  *r = (hvi_evaluation_result){.last = e->rows[e->count - 1], .gap = {NAN, NAN, NAN}};
  if (e->outcome == HVI_DIVERGED) return HVI_OK;
  if (r->last.outer < hvi_solver_info(e->solver).last.outer) {
    status = measure(e, &r->last, &r->score, err);
  } else if (e->spec.probe && isfinite(r->last.error)) {
    status =
        hvi_probe_score(&r->score, e->spec.probe, e->problem, hvi_evaluation_theta(e), NULL, err);
  }
  return status ? status : judge_gap(e, r, err);
}

static hvi_status keep(const hvi_evaluation *e, const hvi_evaluation_watch *w, hvi_error *err) {
  const hvi_status status = hvi_evaluation_save(e, w->checkpoint, w->about, err);
  return status || !w->saved ? status : w->saved(w->context, err);
}

hvi_status hvi_evaluation_run(hvi_evaluation *e, const hvi_evaluation_watch *w, hvi_error *err) {
  size_t outer = hvi_solver_info(e->solver).last.outer, kept = outer;
  double saved = hvi_clock_now();
  hvi_status status = HVI_OK;
  while (e->outcome == HVI_RUNNING && !status) {
    const bool stop = !w->progress(w->context, e);
    const bool due =
        (w->every > 0 && outer % w->every == 0) || hvi_clock_now() - saved >= w->seconds;
    if (stop || (due && outer > kept)) {
      status = keep(e, w, err);
      saved = hvi_clock_now();
      kept = outer;
    }
    if (stop || status) break;
    status = hvi_evaluation_step(e, err);
    outer++;
  }
  const bool ended = e->outcome != HVI_RUNNING && e->outcome != HVI_DIVERGED;
  return !status && w->end && ended ? keep(e, w, err) : status;
}

/* The start, measured. */
static hvi_status begin(hvi_evaluation *e, hvi_error *err) {
  const size_t d = e->problem->model->dim;
  if (e->spec.polyak > 0.0) {
    double *mean = hvi_alloc_doubles(d);
    if (!mean) return hvi_error_memory(err, "an evaluation");
    hvi_vec_copy(mean, hvi_evaluation_theta(e), d);
    e->mean = mean;
  }
  const hvi_status status =
      hvi_evaluation_grow(e, hvi_evaluation_rows_at(e, 0), &e->seconds.ahead, err);
  return status ? status : keep_row(e, err);
}

static hvi_status check(const hvi_evaluation_spec *s, hvi_error *err) {
  const hvi_probe *p = s->probe;
  const hvi_dataset *d = s->value.data;
  if (!d) return hvi_error_argument(err, "an evaluation needs data");
  if (s->stream.grow && s->value.draw != HVI_VALUE_FRESH)
    return hvi_error_argument(err, "a stream of data goes with fresh draws");
  if (s->stream.grow && s->value.returns && s->settings.max_outer == 0) {
    return hvi_error_argument(
        err, "returns come after the states: a stream needs max_outer to know how far");
  }
  if (p && p->obs != d->obs) {
    return hvi_error_input(err, "the test set has observations of length %zu, and the data of %zu",
                           p->obs, d->obs);
  }
  if (p && p->gamma != s->value.gamma)
    return hvi_error_input(err, "the test set is for gamma %g, not %g", p->gamma, s->value.gamma);
  if (s->gap && s->gap->obs != d->obs) {
    return hvi_error_input(err,
                           "the data for the Bellman gap have observations of length %zu, not %zu",
                           s->gap->obs, d->obs);
  }
  return hvi_setting_check(hvi_evaluation_table(), s, err);
}

/* At least what making the problem asks for. Returns are known when all rows are there; so much
 * data serve the whole run, and are charged as draws go through them. */
static hvi_status first_rows(hvi_evaluation *e, hvi_error *err) {
  const hvi_value_spec *v = &e->spec.value;
  const size_t steps = v->returns && e->spec.stream.grow ? e->spec.settings.max_outer : 0;
  size_t rows;
  double seconds = 0.0;
  if (steps > SIZE_MAX / 4 || v->buffer > SIZE_MAX / 4 ||
      !hvi_multiply_sizes(v->buffer + steps + 1, fresh_rows(v), &rows))
    return hvi_error_argument(err, "%zu steps with a buffer of %zu are too many", steps, v->buffer);
  return hvi_evaluation_grow(e, rows, &seconds, err);
}

/* Scales from what is there first: the same rows, however often a run is taken up again. */
static hvi_status normalise(hvi_evaluation *e, hvi_error *err) {
  hvi_value_spec *v = &e->spec.value;
  size_t rows = e->spec.normalise_rows ? e->spec.normalise_rows : fresh_rows(v);
  if (e->spec.normalise == HVI_NORMALISE_NONE) return HVI_OK;
  if (rows == 0 || rows > v->data->count) rows = v->data->count;
  HVI_TRY(hvi_scales_new(&e->scales, v->data, rows, v->gamma, err));
  v->center = e->scales.center;
  v->spread = e->scales.spread;
  if (e->spec.normalise == HVI_NORMALISE_STATES) return HVI_OK;
  v->shift = e->scales.shift;
  v->scale = e->scales.scale;
  return HVI_OK;
}

/* Time is counted here, and a solver wants a limit of its own. */
static void adapt_settings(hvi_evaluation *e) {
  hvi_settings *s = &e->spec.settings;
  s->seed = e->spec.seed;
  e->max_seconds = s->max_seconds;
  if (s->max_outer == 0 && s->max_seconds > 0.0) s->max_outer = SIZE_MAX;
  s->max_seconds = 0.0;
  s->observe = NULL;
  s->time_inner = e->spec.value.threads > 1 ? e->spec.value.threads : 1;
}

hvi_status hvi_evaluation_new(hvi_evaluation **evaluation, const hvi_evaluation_spec *spec,
                              hvi_error *err) {
  *evaluation = NULL;
  HVI_TRY(check(spec, err));
  hvi_evaluation *e = hvi_alloc(1, sizeof *e);
  if (!e) return hvi_error_memory(err, "an evaluation");
  e->spec = *spec;
  adapt_settings(e);
  e->reason = "";
  hvi_levels_add(e->levels, NULL);
  hvi_status status = first_rows(e, err);
  if (!status) status = normalise(e, err);
  if (!status) status = hvi_value_new(&e->problem, &e->spec.value, spec->seed, err);
  if (!status && spec->gap) status = hvi_gap_problem(&e->gap, &e->spec.value, spec->gap, err);
  if (!status) status = hvi_solver_new(&e->solver, e->problem, &e->spec.settings, err);
  if (!status) status = begin(e, err);
  if (status) {
    hvi_evaluation_free(e);
    return status;
  }
  *evaluation = e;
  return HVI_OK;
}

void hvi_evaluation_free(hvi_evaluation *e) {
  if (!e) return;
  hvi_solver_free(e->solver);
  hvi_problem_free(e->gap);
  hvi_problem_free(e->problem);
  hvi_scales_free(&e->scales);
  hvi_free(e->mean);
  hvi_free(e->rows);
  hvi_free(e);
}

hvi_evaluation_status hvi_evaluation_state(const hvi_evaluation *e) {
  const hvi_info info = hvi_solver_info(e->solver);
  return (hvi_evaluation_status){.done = e->outcome != HVI_RUNNING,
                                 .outcome = e->outcome,
                                 .reason = e->reason,
                                 .outer = info.last.outer,
                                 .inner_total = info.inner_total,
                                 .max_outer = e->spec.settings.max_outer,
                                 .levels = e->levels};
}

const hvi_evaluation_row *hvi_evaluation_rows(const hvi_evaluation *e, size_t *count) {
  *count = e->count;
  return e->rows;
}

const hvi_problem *hvi_evaluation_problem(const hvi_evaluation *e) { return e->problem; }

const double *hvi_evaluation_theta(const hvi_evaluation *e) {
  if (e->mean) return e->mean;
  const double *theta = hvi_solver_info(e->solver).last.theta, *given = e->spec.settings.theta0;
  return theta ? theta : given ? given : e->problem->theta0;
}

/* A collector as a stream. It runs groups of episodes and stands ahead of what was asked for, so
 * that rows are charged at its mean speed and not when they happen to be made; those that it has
 * skipped, in an evaluation that was taken up again, were charged before. */
static hvi_status grow_collector(void *context, size_t rows, double *seconds, hvi_error *err) {
  const hvi_status status = hvi_collector_need(context, rows, err);
  const hvi_collector_cost cost = hvi_collector_spent(context);
  const double made = rows > cost.skipped ? (double)(rows - cost.skipped) : 0.0;
  *seconds = cost.steps > 0 ? cost.seconds * made / (double)cost.steps : 0.0;
  return status;
}

static hvi_collector_mark find_row(void *context, size_t row) {
  return hvi_collector_find(context, row);
}

static hvi_status skip_to(void *context, hvi_collector_mark mark, hvi_error *err) {
  /* rows that are there already need no skipping */
  const hvi_collector_mark now = hvi_collector_find(context, (size_t)-1);
  return mark.row > now.row ? hvi_collector_skip(context, mark, err) : HVI_OK;
}

hvi_stream hvi_stream_of_collector(hvi_collector *c) {
  return (hvi_stream){.grow = grow_collector, .find = find_row, .skip = skip_to, .context = c};
}
