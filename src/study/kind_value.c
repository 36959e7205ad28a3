/*
 * kind: value. Policy evaluation with networks: every method on every seed of every environment.
 *
 * The policy does not depend on theta, so all methods of a seed see the same batches, which are
 * simulated once (stream.h), and each is charged for them. The seed gives the first parameters too.
 * A cell is an evaluation (hvi/evaluate.h) with checkpoints; its rows are the measurements. Where
 * networks learn on a device all cells run at once, and threads collect ahead of them.
 *
 * Nothing that is missing is an error: the environment is then not run, and its claims are not judged.
 */
#include "base/base.h"
#include "base/parallel.h"
#include "base/ranks.h"
#include "base/share.h"
#include "evaluate/task.h"
#include "gpu/gang.h"
#include "report/text.h"
#include "study/kinds.h"
#include "study/stream.h"

/* What a method is: it minimises surrogates (more than one inner step, or a threshold), does not, or
 * regresses on returns. */
enum { SURROGATE, OTHER, OF_RETURNS, COLUMNS = 40 };
static const char *const groups[] = {"surrogate", "other", "returns", NULL};

typedef struct study_task {
  hvi_study *study;
  const hvi_part *part;
  const hvi_value_environment *source;
  hvi_task task;     /* its probe has at most as many states as the size says */
  bool kept;         /* its environment and policy are the run's */
  char missing[400]; /* what it needs to run; empty: nothing */
} study_task;

static bool is_own(const char *policy) { return strcmp(policy, "default") == 0; }

/* Where a missing file would be looked for. */
static const char *folder_of(const char *name) {
  return name[0] == '/' || is_own(name) ? "" : "data/";
}

static bool on_rollouts(void *study, size_t done, size_t total) {
  return hvi_study_progress(study, "a test set", 0.05 * (double)done / (double)(total ? total : 1));
}

/* The discount at the size that is run. */
static double gamma_of(const hvi_part *p) {
  return p->scale.gamma > 0.0 ? p->scale.gamma : p->value->spec.value.gamma;
}

static hvi_status make_stand_in(const study_task *t, const char *path, hvi_error *err) {
  hvi_testset_settings s = t->source->stand_in;
  hvi_rollout_report report = {0};
  s.run = (hvi_rollout_settings){.seed = 1,
                                 .threads = t->study->settings->threads,
                                 .partial = HVI_PARTIAL_RESUME,
                                 .policy_name = t->source->policy,
                                 .progress = on_rollouts,
                                 .progress_context = t->study};
  s.gamma = gamma_of(t->part);
  const hvi_status status = hvi_testset_make(path, t->task.env, t->task.policy, &s, &report, err);
  if (!status && !report.stopped)
    hvi_study_tell(t->study, "%s: no test set %s for gamma %g; made one of %zu states in %.1f s",
                   t->study->id, t->source->testset, s.gamma, s.states, report.seconds);
  return status;
}

/* OUT/testsets/ENVIRONMENT-SIZES.safetensors: studies of one run share it. A merge reads a part's. */
static hvi_status stand_in(char **path, const study_task *t, hvi_error *err) {
  const hvi_testset_settings *s = &t->source->stand_in;
  const hvi_share *share = t->study->settings->share;
  const bool merges = hvi_share_froms(share) > 0;
  HVI_OWN_BY(hvi_text_free) hvi_text text = {0};
  hvi_text_add(&text, "%s/testsets", merges ? *share->from : t->study->settings->out);
  if (text.failed) return hvi_error_memory(err, "a path");
  if (!merges) HVI_TRY(hvi_folder_make(text.data, err));
  hvi_text_add(&text, "/%s-%s-%g-%zu-%zu-%zu.safetensors", t->source->environment,
               t->task.origin.fingerprint, gamma_of(t->part), s->states, s->rollouts, s->horizon);
  *path = hvi_text_take(&text);
  if (!*path) return hvi_error_memory(err, "a path");
  hvi_ranks *ranks = hvi_share_ranks(share);
  if (!merges && !hvi_ranks_follows(ranks) && access(*path, R_OK) != 0)
    HVI_TRY(make_stand_in(t, *path, err));
  /* others read what the first rank has made */
  return ranks ? hvi_ranks_share(ranks, &t->study->stopped, sizeof t->study->stopped, err) : HVI_OK;
}

static hvi_status open_testset(study_task *t, hvi_error *err) {
  /* the file is for the discount in `value` */
  const bool own = gamma_of(t->part) == t->part->value->spec.value.gamma;
  const hvi_value_environment *p = t->source;
  const char *folder = folder_of(p->testset);
  HVI_OWN char *path = own ? hvi_study_find_file(p->testset) : NULL;
  if (!path && p->stand_in.states > 0 && !t->study->settings->full)
    HVI_TRY(stand_in(&path, t, err));
  if (path && !t->study->stopped)
    return hvi_task_testset(&t->task, path, NULL, t->part->scale.states, err);
  if (!path)
    snprintf(t->missing, sizeof t->missing,
             "needs %s%s (made by: hvi testset %s --policy %s%s --out %s%s)", folder, p->testset,
             p->environment, folder_of(p->policy), p->policy, folder, p->testset);
  return HVI_OK;
}

static hvi_status open_policy(study_task *t, hvi_error *err) {
  const char *policy = t->source->policy, *folder = folder_of(policy);
  HVI_OWN char *path = is_own(policy) ? hvi_copy_text(policy) : hvi_study_find_file(policy);
  HVI_TRY(hvi_stream_cache_task(&t->task, &t->kept, t->study->settings->streams,
                                t->source->environment, path, err));
  if (!path)
    snprintf(t->missing, sizeof t->missing, "needs %s%s (made by: hvi policy train %s --out %s%s)",
             folder, policy, t->source->environment, folder, policy);
  return HVI_OK;
}

/* A quick run without its test set makes one, or finds it, in OUT/testsets. */
static hvi_status study_task_open(study_task *t, hvi_study *study, const hvi_part *part,
                                  size_t index, hvi_error *err) {
  hvi_error why = {HVI_OK, ""};
  *t = (study_task){.study = study, .part = part, .source = &part->value->environments[index]};
  hvi_status status = open_policy(t, &why);
  const bool built = t->task.env != NULL;
  if (!status && !*t->missing) status = open_testset(t, &why);
  /* an environment that is not in this build, and a test set of another policy, count as missing */
  if ((status == HVI_ERROR_UNSUPPORTED && !built) || status == HVI_ERROR_MISMATCH) {
    snprintf(t->missing, sizeof t->missing, "%.*s", (int)sizeof t->missing - 1, why.text);
    return HVI_OK;
  }
  if (status && err) *err = why;
  return status;
}

typedef struct shared {
  study_task tasks[HVI_MOST_ENVIRONMENTS];
  hvi_streams streams; /* [environments][seeds] */
} shared;

static size_t batch_of(const hvi_part *p) { return p->scale.batch ? p->scale.batch : 1000; }

static size_t measures_of(const hvi_part *p) { return p->scale.measures ? p->scale.measures : 40; }

/* Outer steps of a method, at most: each has a gradient, where the budget is one of gradients. */
static size_t steps_of(const hvi_part *p, const hvi_arm *arm) {
  if (p->scale.gradients) return p->scale.gradients;
  return p->scale.iterations * arm->times * arm->passes;
}

static const study_task *task_of(const hvi_cell *c) {
  const shared *s = c->part->shared;
  return &s->tasks[hvi_cell_level(c, "environment")];
}

static size_t group_of(const hvi_cell *c) {
  return hvi_cell_level(c, "environment") * c->part->scale.instances + hvi_cell_level(c, "seed");
}

static void leave(hvi_part *part, size_t group) {
  shared *s = part->shared;
  hvi_shared_stream_close(&s->streams.streams[group]);
}

/* In inner steps; a threshold ends them about half way. */
static double cost_of(const hvi_cell *c) {
  hvi_settings s;
  if (*task_of(c)->missing || hvi_cell_settings(&s, c, NULL)) return 0.0;
  double inner = s.baseline ? 2.0 : (double)s.inner_steps;
  if (s.alpha > 0.0) inner *= 0.5;
  const double gap = c->part->value->gap ? 500.0 * (double)measures_of(c->part) : 0.0;
  const double steps = (double)steps_of(c->part, hvi_cell_method(c));
  return (c->part->scale.gradients ? steps * (inner + 1.0) / inner : steps * (inner + 1.0)) + gap;
}

/* The stream of a cell, long enough for all of its group: for their buffers, their steps, and the
 * batch that is drawn ahead. */
static hvi_status open_reader(hvi_stream_reader *r, const hvi_cell *c, hvi_error *err) {
  const hvi_part *p = c->part;
  shared *s = p->shared;
  size_t batches = 0;
  for (const hvi_arm *arm = p->methods; arm < p->methods + p->method_count; arm++) {
    const size_t own = arm->value.buffer + steps_of(p, arm) / arm->passes + 1;
    if (own > batches) batches = own;
  }
  const size_t rows = p->scale.offline ? p->scale.offline : batches * batch_of(p);
  return hvi_stream_reader_open(r, &s->streams.streams[group_of(c)], &task_of(c)->task,
                                hvi_cell_seed(c), batch_of(p), rows, err);
}

/* What a cell evaluates, but for its transitions. */
static hvi_status spec_of(hvi_evaluation_spec *e, hvi_settings *s, const hvi_cell *c,
                          hvi_error *err) {
  const hvi_part *p = c->part;
  const hvi_arm *arm = hvi_cell_method(c);
  *e = p->value->spec;
  hvi_value_spec *v = &e->value;
  HVI_TRY(hvi_cell_settings(s, c, err));
  const size_t steps = s->max_outer = steps_of(p, arm), gradients = p->scale.gradients;
  if (arm->passes > 1) s->redraw_every = arm->passes;
  if (arm->normalise_given) e->normalise = arm->normalise;
  e->settings = s;
  e->max_gradients = gradients;
  e->seed = hvi_cell_seed(c);
  e->accept_other_bits = c->study->settings->accept_other_bits;
  e->probe = task_of(c)->task.probe;
  const size_t span = steps > measures_of(p) ? steps / measures_of(p) : 1;
  if (gradients)
    e->schedule = (hvi_schedule){.gradients = span};
  else
    e->schedule.every = span;
  v->device = c->study->settings->device;
  v->gamma = gamma_of(p);
  for (size_t i = 0; p->scale.width && i < v->hidden_count; i++) v->hidden[i] = p->scale.width;
  v->replay = arm->value.replay * batch_of(p) / 1000; /* beside each 1,000 fresh rows */
  v->replay_rare = arm->value.replay_rare;
  v->batch = batch_of(p) + v->replay;
  v->buffer = arm->value.buffer;
  v->lambda = arm->value.lambda;
  v->returns = arm->value.returns;
  return HVI_OK;
}

/* Online the rows come with the steps; offline they are all there before the first. */
static hvi_status fill_data(hvi_evaluation_spec *e, hvi_stream_reader *reader, const hvi_part *p,
                            hvi_error *err) {
  double seconds;
  e->value.data = &reader->data;
  if (p->scale.offline) {
    if (p->value->gap) e->gap = &reader->data;
    return hvi_stream_reader_grow(reader, p->scale.offline, &seconds, err);
  }
  e->value.draw = HVI_VALUE_FRESH;
  e->stream = (hvi_stream){.grow = hvi_stream_reader_grow, .context = reader};
  return HVI_OK;
}

static bool on_step(void *context, const hvi_evaluation *e) {
  const hvi_cell *c = context;
  const hvi_evaluation_status state = hvi_evaluation_state(e);
  const size_t gradients = c->part->scale.gradients;
  return hvi_cell_tick(c, gradients ? (double)state.grad_evals / (double)gradients
                                    : (double)state.outer / (double)state.max_outer);
}

static double group_of_method(const hvi_evaluation_spec *e) {
  const hvi_settings *s = e->settings;
  if (e->value.returns) return OF_RETURNS;
  return !s->baseline && (s->inner_steps > 1 || s->alpha > 0.0) ? SURROGATE : OTHER;
}

/* The measurements, and what a judge wants to know beside them. */
static hvi_status add_rows(hvi_rows *rows, const hvi_evaluation_spec *spec, const hvi_evaluation *e,
                           double noise, hvi_error *err) {
  const bool online = spec->stream.grow;
  size_t count;
  const hvi_evaluation_row *r = hvi_evaluation_rows(e, &count);
  const bool diverged = hvi_evaluation_state(e).outcome == HVI_DIVERGED;
  const double alpha = spec->settings->alpha;
  for (size_t i = 0; i < count; i++) {
    double x[COLUMNS];
    size_t k = 0;
    for (; hvi_evaluation_column(k); k++) x[k] = hvi_evaluation_cell(&r[i], k);
    if (r[i].outer == 0) x[1] = NAN; /* inner steps: there was none yet to take any */
    x[k++] = noise;
    x[k++] = online ? (double)r[i].env_steps / (double)(spec->value.batch - spec->value.replay)
                    : (double)r[i].outer;
    x[k++] = ((double)r[i].model_passes + 2.0 * (double)r[i].grad_evals) / 3.0;
    x[k++] = alpha > 0.0 ? alpha * alpha : NAN;
    x[k++] = i + 1 == count && diverged ? 1.0 : NAN;
    x[k] = group_of_method(spec);
    HVI_TRY(hvi_rows_add(rows, 0, x, err));
  }
  return HVI_OK;
}

HVI_RELEASE(hvi_evaluation)

/* From a checkpoint when there is one that fits; otherwise from the start. */
static hvi_status run(const hvi_cell *c, hvi_rows *rows, hvi_error *err) {
  hvi_stream_reader reader;
  hvi_evaluation_spec spec;
  hvi_settings settings;
  HVI_OWN_BY(hvi_evaluation_release) hvi_evaluation *e = NULL;
  if (*task_of(c)->missing) return HVI_OK;
  HVI_TRY(spec_of(&spec, &settings, c, err));
  HVI_TRY(open_reader(&reader, c, err));
  HVI_TRY(fill_data(&spec, &reader, c->part, err));
  HVI_OWN char *about = hvi_cell_describe(c);
  HVI_OWN char *checkpoint = hvi_cell_checkpoint(c);
  const hvi_evaluation_watch watch = {.checkpoint = checkpoint,
                                      .about = about,
                                      .seconds = c->part->value->checkpoint,
                                      .progress = on_step,
                                      .context = (void *)(uintptr_t)c};
  if (!about || !checkpoint) return hvi_error_memory(err, "a run");
  HVI_TRY(hvi_evaluation_new(&e, &spec, err));
  if (c->study->settings->resume && access(checkpoint, R_OK) == 0)
    HVI_TRY(hvi_evaluation_restore(e, checkpoint, about, err));
  HVI_TRY(hvi_evaluation_run(e, &watch, err));
  if (!hvi_evaluation_state(e).done) return HVI_OK;
  HVI_TRY(add_rows(rows, &spec, e, task_of(c)->task.noise, err));
  HVI_OWN char *previous = hvi_file_previous(checkpoint);
  remove(checkpoint);
  if (previous) remove(previous);
  return HVI_OK;
}

/* The policy gives the transitions; the gap is measured or not. */
static void describe(const hvi_cell *c, hvi_text *t) {
  const study_task *task = task_of(c);
  hvi_evaluation_spec spec;
  hvi_settings settings;
  char text[HVI_EVALUATION_ABOUT];
  if (*task->missing || spec_of(&spec, &settings, c, NULL)) {
    hvi_text_add(t, "; %s", task->missing);
    return;
  }
  hvi_evaluation_describe(text, &spec);
  hvi_text_add(t, "; policy %s; gap %d; steps %zu; %s", task->task.origin.fingerprint,
               c->part->value->gap, settings.max_outer, text);
}

static void close_part(hvi_part *part) {
  shared *s = part->shared;
  if (!s) return;
  hvi_streams_close(&s->streams);
  for (study_task *t = s->tasks; t < s->tasks + HVI_MOST_ENVIRONMENTS; t++) {
    if (t->kept) t->task.env = NULL, t->task.policy = NULL;
    hvi_task_close(&t->task);
  }
  hvi_free(s);
  part->shared = NULL;
}

static hvi_status open_part(hvi_study *study, hvi_part *part, hvi_error *err) {
  const size_t streams = part->value->environment_count * part->scale.instances;
  const size_t cores = study->settings->threads ? study->settings->threads : hvi_parallel_cores();
  shared *s = part->shared = hvi_alloc(1, sizeof *s);
  HVI_OWN char *folder = hvi_study_path(study, "checkpoints", "");
  if (!s || !folder) return hvi_error_memory(err, "a study");
  if (part->value->gap && !part->scale.offline)
    return hvi_error_input(err,
                           "experiment '%s': the Bellman gap is that of a fixed data set; give "
                           "`offline`, its size, under quick and full",
                           study->id);
  HVI_TRY(hvi_streams_open(&s->streams, streams, study->settings->device ? cores : 0,
                           study->settings->streams, err));
  HVI_TRY(hvi_folder_make(folder, err));
  for (size_t i = 0; i < part->value->environment_count && !study->stopped; i++) {
    HVI_TRY(study_task_open(&s->tasks[i], study, part, i, err));
    if (*s->tasks[i].missing)
      hvi_study_tell(study, "%s: %s not run: %s", study->id,
                     part->value->environments[i].environment, s->tasks[i].missing);
  }
  return HVI_OK;
}

/* Which of the two learning waited for. */
static void tell(hvi_study *study, hvi_part *part) {
  const shared *s = part->shared;
  hvi_gang *device = study->settings->device;
  double busy, idle;
  if (!device || !s || s->streams.readers == 0) return; /* no cell ran */
  hvi_gang_seconds(device, &busy, &idle);
  busy -= part->busy, idle -= part->idle;
  const double waited = s->streams.waited / (double)s->streams.readers;
  const char *which = busy >= idle          ? "the device"
                      : waited > 0.5 * idle ? "collection"
                                            : "the processor's share of learning";
  hvi_study_tell(study,
                 "%s%s%s: device busy %.1f s of %.1f s; a learner waited %.1f s for data: %s was "
                 "the bottleneck",
                 study->id, *part->name ? " " : "", part->name, busy, busy + idle, waited, which);
}

static const char *missing(const hvi_part *part, const char *environment) {
  const shared *s = part->shared;
  for (size_t i = 0; s && i < part->value->environment_count; i++)
    if (strcmp(part->value->environments[i].environment, environment) == 0)
      return *s->tasks[i].missing ? s->tasks[i].missing : NULL;
  return NULL;
}

/* The columns of hvi_evaluation_column; the noise in `error`; batches of data used; work in inner
 * steps, of which a pass is a third and a gradient the rest; the threshold alpha^2; whether it
 * diverged; what the method is. */
const hvi_kind hvi_kind_value = {
    .name = "value",
    .summary = "policy evaluation with networks, several seeds",
    .flags = HVI_KIND_METHODS | HVI_KIND_SEEDS | HVI_KIND_VALUE,
    .tables = {{"runs",
                {{.name = "outer inner loss0 loss ratio alpha error interval clean relative "
                          "relative_clean error_low error_high error_usual error_rare gap "
                          "gap_relative "
                          "grad_evals model_passes env_steps seconds_collect seconds_targets "
                          "seconds_inner seconds_optimise seconds seconds_measure error_noise "
                          "batches work threshold diverged"},
                 {"group", groups}},
                NULL}},
    .open = open_part,
    .close = close_part,
    .run = run,
    .describe = describe,
    .cost = cost_of,
    .group = group_of,
    .leave = leave,
    .tell = tell,
    .extend = hvi_value_extend,
    .derive = hvi_value_derive,
    .missing = missing};
