/*
 * The evaluation's loop: collect what the next draw needs, take an outer step, measure when due.
 *
 * The solver draws the batch of step t + 1 at the end of step t, so a stream stands one batch ahead
 * of what theta has seen. Costs are charged when a batch has been used: after step t those of
 * batches 1 .. t.
 */
#include "evaluate/evaluation.h"

#include "base/base.h"
#include "inner/optimizers.h"
#include "model/mlp.h"

bool hvi_schedule_due(const hvi_schedule *s, size_t outer, size_t last) {
  if (outer == 0 || outer == last || (s->every > 0 && outer % s->every == 0)) return true;
  /* or some 10^(j / per_decade) is rounded to it */
  const double per = (double)s->per_decade, j = round(log10((double)outer) * per);
  for (double k = fmax(j - 1.0, 0.0); per > 0.0 && k <= j + 1.0; k++)
    if ((size_t)llround(pow(10.0, k / per)) == outer) return true;
  return false;
}

/* The thread's clock and the device's. */
static double clock_of(const hvi_evaluation *e) {
  const hvi_member *m = hvi_mlp_member(e->problem->model);
  const hvi_member *gap = e->gap ? hvi_mlp_member(e->gap->model) : NULL;
  return hvi_clock_work(e->spec.settings->time_inner) + hvi_member_seconds(m) +
         hvi_member_seconds(gap);
}

hvi_status hvi_evaluation_device(const hvi_evaluation *e, hvi_error *err) {
  const hvi_member *m = hvi_mlp_member(e->problem->model);
  hvi_error why;
  if (!m || !hvi_gang_failure(hvi_member_gang(m), &why)) return HVI_OK;
  return hvi_error_set(err, why.status, "%s; the last checkpoint is good", why.text);
}

size_t hvi_evaluation_rows_at(const hvi_evaluation *e, size_t outer) {
  return hvi_value_rows(e->problem, outer / e->spec.settings->redraw_every + 1);
}

hvi_status hvi_evaluation_grow(hvi_evaluation *e, size_t rows, double *seconds, hvi_error *err) {
  const hvi_stream *s = &e->spec.stream;
  double spent = 0.0;
  if (!s->grow) return HVI_OK;
  const hvi_status status = s->grow(s->context, rows, &spent, err);
  *seconds = fmax(*seconds, spent + e->seconds.resumed);
  return status;
}

/* Rows of the batches that theta_t has seen. */
static size_t rows_used(const hvi_evaluation *e, size_t outer) {
  const size_t every = e->spec.settings->redraw_every;
  if (outer == 0) return 0;
  if (!e->spec.stream.grow) return e->spec.value.data->count;
  return hvi_value_rows(e->problem, (outer + every - 1) / every);
}

static bool gap_due(const hvi_evaluation *e, size_t outer) {
  const hvi_schedule s = {.per_decade = e->spec.gap_per_decade};
  const bool ended = e->solver->info.outcome != HVI_RUNNING;
  return s.per_decade == 0 || ended || hvi_schedule_due(&s, outer, e->spec.settings->max_outer);
}

static hvi_status measure(hvi_evaluation *e, hvi_evaluation_row *row, hvi_score *s,
                          hvi_error *err) {
  const double start = clock_of(e), *theta = hvi_evaluation_theta(e);
  const hvi_record last = hvi_solver_info(e->solver).last;
  const size_t successors = e->spec.value.returns ? 0 : last.counts.f_evals;
  const bool finite = e->solver->info.outcome != HVI_DIVERGED;
  hvi_seconds *spent = &e->seconds;
  hvi_gap gap = {.gap = NAN, .relative = NAN};
  *s = (hvi_score){.usual.error = NAN, .rare.error = NAN};
  s->error = s->interval = s->error_low = s->error_high = NAN;
  s->clean = s->relative = s->relative_clean = NAN;
  if (finite && e->spec.probe) {
    const hvi_status status = hvi_probe_score(s, e->spec.probe, e->problem, theta, NULL, err);
    /* a network whose values overflow has no score */
    if (status && status != HVI_ERROR_INPUT) return status;
  }
  if (finite && e->gap && gap_due(e, last.outer))
    HVI_TRY(hvi_bellman_gap(&gap, e->gap, theta, &e->spec.gap_settings, err));
  HVI_TRY(hvi_evaluation_device(e, err));
  spent->measure += clock_of(e) - start;
  *row = (hvi_evaluation_row){.outer = last.outer,
                              .inner = last.inner,
                              .loss0 = last.loss0,
                              .loss = last.loss,
                              .ratio = last.ratio,
                              .alpha = last.alpha,
                              .error = s->error,
                              .interval = s->interval,
                              .clean = s->clean,
                              .relative = s->relative,
                              .relative_clean = s->relative_clean,
                              .error_low = s->error_low,
                              .error_high = s->error_high,
                              .error_usual = s->usual.error,
                              .error_rare = s->rare.error,
                              .gap = gap.gap,
                              .gap_relative = gap.relative,
                              .grad_evals = last.counts.grad_evals,
                              .model_passes = last.counts.model_passes + successors,
                              .env_steps = rows_used(e, last.outer),
                              .seconds_collect = spent->collect,
                              .seconds_targets = spent->targets,
                              .seconds_inner = spent->inner,
                              .seconds_optimise = spent->targets + spent->inner,
                              .seconds = spent->collect + (spent->targets + spent->inner),
                              .seconds_measure = spent->measure};
  return HVI_OK;
}

hvi_status hvi_evaluation_add(hvi_evaluation *e, const hvi_evaluation_row *row, hvi_error *err) {
  if (e->count == e->room) {
    const size_t room = e->room ? 2 * e->room : 64;
    void *rows = hvi_grow(e->rows, e->count * sizeof *row, room, sizeof *row);
    if (!rows) return hvi_error_memory(err, "the rows of an evaluation");
    e->rows = rows;
    e->room = room;
  }
  e->rows[e->count++] = *row;
  return HVI_OK;
}

static hvi_status keep_row(hvi_evaluation *e, hvi_error *err) {
  hvi_evaluation_row row;
  hvi_score unused;
  HVI_TRY(measure(e, &row, &unused, err));
  return hvi_evaluation_add(e, &row, err);
}

void hvi_evaluation_decide(hvi_evaluation *e) {
  hvi_info *info = &e->solver->info;
  const size_t last = e->spec.settings->max_outer;
  const double spent = e->seconds.collect + e->seconds.targets + e->seconds.inner;
  const size_t gradients = e->spec.max_gradients, computed = e->solver->row.counts.grad_evals;
  const bool there = last > 0 && e->solver->row.outer >= last;
  const bool full = gradients > 0 && computed >= gradients;
  const bool late = e->max_seconds > 0.0 && spent >= e->max_seconds;
  if (info->outcome != HVI_RUNNING || !(there || late || full)) return;
  info->outcome = HVI_LIMIT;
  info->reason = there ? "iteration limit" : full ? "gradient limit" : "time limit";
}

/* mean_t = (1 - h) mean_{t-1} + h theta_t with h = (q + 1) / (t + q): weights like t^q */
static void average(hvi_evaluation *e, size_t t) {
  const double q = e->spec.polyak, h = (q + 1.0) / ((double)t + q);
  const double *theta = e->solver->row.theta;
  for (size_t i = 0; e->mean && i < e->problem->model->dim; i++)
    e->mean[i] += h * (theta[i] - e->mean[i]);
}

/* The next batch, an outer step, and a row where one is due. */
static hvi_status step(hvi_evaluation *e, hvi_error *err) {
  const hvi_settings *set = e->spec.settings;
  const hvi_record *row = &e->solver->row;
  const size_t outer = row->outer + 1, gradients = row->counts.grad_evals;
  const hvi_schedule *when = &e->spec.schedule;
  double ahead = e->seconds.ahead;
  HVI_TRY(hvi_evaluation_grow(e, hvi_evaluation_rows_at(e, outer), &ahead, err));
  const double start = clock_of(e), before = row->seconds_inner;
  hvi_solver_step(e->solver);
  HVI_TRY(hvi_evaluation_device(e, err));
  average(e, outer);
  const double seconds = clock_of(e) - start;
  const double inner = set->baseline ? seconds : row->seconds_inner - before;
  e->seconds.inner += inner;
  e->seconds.targets += seconds - inner;
  e->seconds.collect = e->seconds.ahead;
  e->seconds.ahead = ahead;
  hvi_evaluation_decide(e);
  const bool running = e->solver->info.outcome == HVI_RUNNING;
  const bool more =
      when->gradients && row->counts.grad_evals / when->gradients > gradients / when->gradients;
  if (running && !more && !hvi_schedule_due(when, outer, set->max_outer)) return HVI_OK;
  return keep_row(e, err);
}

static hvi_status keep(const hvi_evaluation *e, const hvi_evaluation_watch *w, hvi_error *err) {
  HVI_TRY(hvi_evaluation_save(e, w->checkpoint, w->about, err));
  return w->saved ? w->saved(w->context, err) : HVI_OK;
}

hvi_status hvi_evaluation_run(hvi_evaluation *e, const hvi_evaluation_watch *w, hvi_error *err) {
  static const hvi_evaluation_watch nobody = {.seconds = INFINITY};
  if (!w) w = &nobody;
  const hvi_outcome *now = &e->solver->info.outcome;
  const size_t first = e->solver->row.outer;
  size_t outer = first, kept = first;
  double saved = hvi_clock_now();
  for (; *now == HVI_RUNNING && (!w->steps || outer < first + w->steps); outer++) {
    const bool stop = w->progress && !w->progress(w->context, e);
    const bool due =
        (w->every > 0 && outer % w->every == 0) || hvi_clock_now() - saved >= w->seconds;
    if (stop || (due && outer > kept)) {
      HVI_TRY(keep(e, w, err));
      saved = hvi_clock_now();
      kept = outer;
    }
    if (stop) return HVI_OK;
    HVI_TRY(step(e, err));
  }
  const bool ended = *now != HVI_RUNNING && *now != HVI_DIVERGED;
  return w->end && ended ? keep(e, w, err) : HVI_OK;
}

hvi_status hvi_evaluation_step(hvi_evaluation *e, hvi_error *err) {
  return hvi_evaluation_run(e, &(hvi_evaluation_watch){.steps = 1}, err);
}

static size_t fresh_rows(const hvi_value_spec *v) {
  return v->batch > v->replay ? v->batch - v->replay : 0;
}

/* The rows that the last step was fitted to, or the first ones of fixed data. */
static hvi_dataset last_batch(const hvi_evaluation *e) {
  const size_t outer = e->solver->row.outer, batch = fresh_rows(&e->spec.value);
  hvi_dataset d = *e->spec.value.data;
  if (!e->spec.stream.grow) {
    if (batch > 0 && batch < d.count) d.count = batch;
    return d;
  }
  const size_t first = hvi_evaluation_rows_at(e, outer > 0 ? outer - 1 : 0) - batch;
  d.observation += first * d.obs;
  d.action += first * d.act;
  d.reward += first;
  d.next += first * d.obs;
  d.terminated += first;
  d.truncated += first;
  d.count = batch;
  return d;
}

HVI_RELEASE(hvi_problem)

static hvi_status judge_gap(const hvi_evaluation *e, hvi_evaluation_result *r, hvi_error *err) {
  const hvi_dataset rows = e->spec.gap ? *e->spec.gap : last_batch(e);
  hvi_gap_settings search = e->spec.gap_settings;
  HVI_OWN_BY(hvi_problem_release) hvi_problem *p = NULL;
  r->gap_rows = rows.count;
  const bool known = isfinite(r->last.gap); /* on the same data: only the error is missing */
  if (known) search.steps = 0;
  HVI_TRY(hvi_gap_problem(&p, &e->spec.value, &rows, err));
  HVI_TRY(hvi_bellman_gap(&r->gap, p, hvi_evaluation_theta(e), &search, err));
  if (!known) return HVI_OK;
  r->gap.gap = r->last.gap, r->gap.relative = r->last.gap_relative;
  r->gap.least = r->gap.error - r->last.gap;
  return HVI_OK;
}

hvi_status hvi_evaluation_judge(hvi_evaluation *e, hvi_evaluation_result *r, hvi_error *err) {
  const double *theta = hvi_evaluation_theta(e);
  *r = (hvi_evaluation_result){.last = e->rows[e->count - 1], .gap = {NAN, NAN, NAN, NAN}};
  if (e->solver->info.outcome == HVI_DIVERGED) return HVI_OK;
  hvi_status status = HVI_OK;
  if (r->last.outer < e->solver->row.outer)
    status = measure(e, &r->last, &r->score, err);
  else if (e->spec.probe && isfinite(r->last.error))
    status = hvi_probe_score(&r->score, e->spec.probe, e->problem, theta, NULL, err);
  if (!status) status = judge_gap(e, r, err);
  HVI_TRY(hvi_evaluation_device(e, err)); /* the cause, where it is lost */
  return status;
}

static hvi_status check(const hvi_evaluation_spec *s, hvi_error *err) {
  const hvi_probe *p = s->probe;
  const hvi_dataset *d = s->value.data;
  if (!d || !s->settings) return hvi_error_argument(err, "an evaluation needs data and settings");
  if (s->stream.grow && s->value.draw != HVI_VALUE_FRESH)
    return hvi_error_argument(err, "a stream of data goes with fresh draws");
  if (s->stream.grow && s->value.returns && s->settings->max_outer == 0)
    return hvi_error_argument(
        err, "returns come after the states: a stream needs max_outer to know how far");
  if (p && p->obs != d->obs)
    return hvi_error_input(err, "the test set has observations of length %zu, and the data of %zu",
                           p->obs, d->obs);
  if (p && p->gamma > 0.0 && p->gamma != s->value.gamma)
    return hvi_error_input(err, "the test set is for gamma %g, not %g", p->gamma, s->value.gamma);
  if (s->gap && s->gap->obs != d->obs)
    return hvi_error_input(err,
                           "the data for the Bellman gap have observations of length %zu, not %zu",
                           s->gap->obs, d->obs);
  return hvi_setting_check(hvi_evaluation_table(), s, err);
}

/* At least what making the problem asks for. Returns are known when all rows are there; so much
 * data serve the whole run, and are charged as draws go through them. */
static hvi_status first_rows(hvi_evaluation *e, hvi_error *err) {
  const hvi_value_spec *v = &e->spec.value;
  const size_t steps = v->returns && e->spec.stream.grow ? e->spec.settings->max_outer : 0;
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

/* The solver's settings: time is counted here, and a solver wants a limit of its own. */
static void adapt_settings(hvi_evaluation *e, hvi_settings *s) {
  e->spec.settings = s;
  e->max_seconds = s->max_seconds;
  s->seed = e->spec.seed;
  if (s->max_outer == 0 && s->max_seconds > 0.0) s->max_outer = SIZE_MAX;
  s->max_seconds = 0.0;
  s->observe = NULL;
  s->time_inner = e->spec.value.threads > 1 ? e->spec.value.threads : 1;
}

/* A device takes first-order steps of networks that it can compute; others are taken here. */
static hvi_status make_problem(hvi_evaluation *e, hvi_settings *s, hvi_error *err) {
  hvi_device_descent d;
  const bool first_order = hvi_optimizer_descent(&d, s->optimizer, &s->inner);
  if (!s->baseline && (!first_order || s->floor == HVI_FLOOR_ESTIMATED))
    e->spec.value.device = NULL;
  HVI_TRY(hvi_value_new(&e->problem, &e->spec.value, e->spec.seed, err));
  const hvi_member *m = hvi_mlp_member(e->problem->model);
  if (!m) return HVI_OK;
  e->device = hvi_gang_about(hvi_member_gang(m))->level;
  hvi_levels_add(e->levels, e->device);
  s->time_inner = 1; /* the thread waits for the device, whose clock is another */
  return HVI_OK;
}

HVI_RELEASE(hvi_evaluation)

hvi_status hvi_evaluation_new(hvi_evaluation **evaluation, const hvi_evaluation_spec *spec,
                              hvi_error *err) {
  *evaluation = NULL;
  HVI_TRY(check(spec, err));
  HVI_OWN_BY(hvi_evaluation_release) hvi_evaluation *e = hvi_alloc(1, sizeof *e);
  if (e) e->solver = hvi_solver_open(spec->settings);
  if (!e || !e->solver) return hvi_error_memory(err, "an evaluation");
  e->spec = *spec;
  adapt_settings(e, &e->solver->settings);
  hvi_levels_add(e->levels, NULL);
  HVI_TRY(first_rows(e, err));
  HVI_TRY(normalise(e, err));
  HVI_TRY(make_problem(e, &e->solver->settings, err));
  if (spec->gap) HVI_TRY(hvi_gap_problem(&e->gap, &e->spec.value, spec->gap, err));
  HVI_TRY(hvi_solver_fill(e->solver, e->problem, err));
  if (spec->polyak > 0.0) e->mean = hvi_copy_doubles(e->solver->theta, e->problem->model->dim);
  if (spec->polyak > 0.0 && !e->mean) return hvi_error_memory(err, "an evaluation");
  HVI_TRY(hvi_evaluation_grow(e, hvi_evaluation_rows_at(e, 0), &e->seconds.ahead, err));
  HVI_TRY(keep_row(e, err)); /* the start, measured */
  HVI_GIVE(evaluation, e);
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
  const hvi_solver *s = e->solver;
  return (hvi_evaluation_status){.done = s->info.outcome != HVI_RUNNING,
                                 .outcome = s->info.outcome,
                                 .reason = s->info.reason,
                                 .outer = s->row.outer,
                                 .inner_total = s->info.inner_total,
                                 .grad_evals = s->row.counts.grad_evals,
                                 .max_outer = e->spec.settings->max_outer,
                                 .levels = e->levels};
}

const hvi_evaluation_row *hvi_evaluation_rows(const hvi_evaluation *e, size_t *count) {
  *count = e->count;
  return e->rows;
}

const hvi_problem *hvi_evaluation_problem(const hvi_evaluation *e) { return e->problem; }

const double *hvi_evaluation_theta(const hvi_evaluation *e) {
  return e->mean ? e->mean : e->solver->theta;
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
