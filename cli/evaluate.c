/* hvi evaluate: a value network for a policy, and how good it is. */
#include "base/base.h"
#include "evaluate_parts.h"

#include "base/parallel.h"
#include "commands.h"
#include "evaluate/evaluation.h"
#include "model/mlp.h"
#include "rollout.h"

/* Options of a solve that have no meaning here, or another name. */
static const char left_out[] = "iters tol tol_relative rounding restarts max_evals stall_window "
                               "growth_bound alternating trace_decay error_alpha error_angle seed";

static void add_options(hvi_evaluate *e, hvi_args *args) {
  hvi_args_add(args,
      {.name = "policy"},
      {"policy", 0, HVI_SETTING_TEXT, &e->policy_path, .value = "FILE", .help = "the policy (.safetensors), or 'default': the environment's own"});
  hvi_args_settings(args, hvi_policy_table(), &e->policy, NULL);
  hvi_args_add(args,
      {.name = "data"},
      {"data", 0, HVI_SETTING_TEXT, &e->data_path, .value = "FILE",
       .help = "transitions instead of an environment: .safetensors ('hvi data collect'), .npz, or a folder of .npy"},
      {"map", 0, HVI_SETTING_TEXT, &e->map, .value = "COLUMN=NAME", .repeats = true,
       .help = "with --data: the array NAME is that column (obs, action, reward, next_obs, terminated, truncated, done)"},
      {"testset", 0, HVI_SETTING_TEXT, &e->testset_path, .value = "FILE",
       .help = "states and values to measure the error with ('hvi testset', or obs and value of one's own)"},
      {"testset-map", 0, HVI_SETTING_TEXT, &e->testset_map, .value = "COLUMN=NAME", .repeats = true,
       .help = "with --testset: the array NAME is that column (obs, value, standard_error, episode, class)"},
      {"standard-error", 0, HVI_SETTING_REAL, &e->standard_error, .range = "[0,inf)", .help = "of each value of a --testset that does not say (0)"},
      {"test-states", 0, HVI_SETTING_COUNT, &e->test_states, .range = "[0,1e9]",
       .help = "without --testset: states of a small one made from ENV first (0: none)"});
  hvi_args_settings(args, hvi_value_table(), &e->spec.value, "draw threads");
  hvi_args_add(args,
      {.name = "method"},
      {"method", 0, HVI_SETTING_TEXT, &e->setup.method, .value = "METHOD",
       .help = "an optimizer (adamw), a preset or a baseline ('hvi list'), or td-target, residual-gradient, tdc, tdrc"});
  hvi_args_settings(args, hvi_evaluation_table(), &e->spec, NULL);
  hvi_args_settings(args, hvi_settings_table(), &e->setup.asked, left_out);
  hvi_args_add(args,
      {.name = "run"},
      {"steps", 0, HVI_SETTING_COUNT, &e->steps, .range = "[1,1e9]", .help = "outer steps"},
      {"jobs", 'j', HVI_SETTING_COUNT, &e->threads, .range = "[0,1024]", .help = "threads (0: one per core); the results are the same for any"},
      {"checkpoint-every", 0, HVI_SETTING_COUNT, &e->every, .range = "[1,1e9]", .help = "outer steps between checkpoints"},
      {"resume", 0, HVI_SETTING_FLAG, &e->resume, .help = "go on from the checkpoint, if there is one"},
      {"fresh", 0, HVI_SETTING_FLAG, &e->fresh, .help = "begin anew although there is a checkpoint"},
      {"accept-other-bits", 0, HVI_SETTING_FLAG, &e->spec.accept_other_bits, .help = "go on from what another level of instructions computed"},
      {"out", 'o', HVI_SETTING_TEXT, &e->out, .value = "NAME", .help = "what the names of the files begin with (ENV-value)"},
      {"log", 0, HVI_SETTING_TEXT, &e->log_path, .value = "FILE.jsonl", .help = "a JSON object an outer step, as it happens"},
      {"gap", 0, HVI_SETTING_FLAG, &e->gap, .help = "with --data: the Bellman gap on the data, at measurements (otherwise at the end, on one batch)"},
      {"gap-rows", 0, HVI_SETTING_COUNT, &e->gap_rows, .help = "first rows of --data that the gap is measured on (0: all)"});
}

/* What does not go together. */
static int check_options(const hvi_evaluate *e) {
  const struct {
    bool broken;
    const char *text;
  } rules[] = {
      {!e->env_name == !e->data_path,
       "evaluate takes an environment with --policy FILE, or --data FILE, and not both"},
      {e->env_name && !e->policy_path, "the policy is missing: --policy FILE"},
      {e->data_path && e->policy_path, "--policy goes with an environment, not with --data"},
      {e->resume && e->fresh, "--resume and --fresh exclude each other"},
      {e->env_name && e->map.count > 0, "--map goes with --data"},
      {e->testset_map.count > 0 && !e->testset_path, "--testset-map goes with --testset"},
      {!isnan(e->standard_error) && !e->testset_path, "--standard-error goes with --testset"},
      {e->gap_rows != HVI_EVALUATION_ROWS && !e->gap, "--gap-rows goes with --gap"},
      {e->gap && e->env_name,
       "--gap goes with --data; otherwise the Bellman gap is that of the last batch"}};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i].broken) return hvi_complain(HVI_EXIT_USAGE, "%s", rules[i].text);
  return HVI_EXIT_DONE;
}

/* The method in force, from the defaults and the options. */
static int choose_method(hvi_evaluate *e, const hvi_args *args) {
  hvi_setup *s = &e->setup;
  const char *given[HVI_ARGS_MAX + 1] = {NULL};
  for (size_t i = 0, n = 0; i < args->count; i++)
    if (args->rows[i].given) given[n++] = args->rows[i].setting.name;
  s->settings = hvi_method_settings("gd");
  s->settings.seed = s->seed = e->spec.seed;
  const bool learns = hvi_method_apply(&s->settings, s->method, hvi_value_rules()) &&
                      s->settings.baseline == HVI_BASELINE_RULE;
  HVI_STEP(learns ? hvi_setup_apply(s, args) : hvi_setup_method(s, args));
  HVI_CALL(hvi_evaluation_choose(&e->spec, &s->settings, s->method, given, e->data_path != NULL,
                                 &hvi_fault));
  s->settings.max_outer = e->steps;
  return HVI_EXIT_DONE;
}

/* The solver draws one batch ahead. */
static hvi_status open_environment(hvi_evaluate *e, hvi_error *err) {
  hvi_evaluation_spec *s = &e->spec;
  size_t rows;
  HVI_TRY(hvi_task_open(&e->task, e->env_name, e->policy_path, &e->policy, err));
  hvi_say_policy(e->task.policy);
  if (!hvi_multiply_sizes(s->value.buffer + e->steps + 1, e->batch, &rows)) rows = 0;
  s->value.draw = HVI_VALUE_FRESH;
  s->value.batch = e->batch + s->value.replay;
  HVI_TRY(hvi_collector_new(&e->collector, e->task.env, e->task.policy, e->setup.seed, e->threads,
                            rows, err));
  s->stream = hvi_stream_of_collector(e->collector);
  s->value.data = hvi_collector_data(e->collector);
  return HVI_OK;
}

static hvi_status open_data(hvi_evaluate *e, hvi_error *err) {
  hvi_evaluation_spec *s = &e->spec;
  const hvi_names names = {e->map.count, e->map.items};
  HVI_TRY(hvi_task_open_data(&e->task, e->data_path, &names, err));
  hvi_say("%s", e->task.data->remarks);
  s->value.data = e->task.data;
  s->value.draw = e->batch > 0 && e->batch < e->task.data->count ? HVI_VALUE_RANDOM : HVI_VALUE_ALL;
  e->gap_data = *e->task.data;
  if (e->gap_rows > 0 && e->gap_rows < e->gap_data.count) e->gap_data.count = e->gap_rows;
  if (e->gap) s->gap = &e->gap_data;
  return HVI_OK;
}

/* What the gap costs beside the solve, in passes over rows. */
static void announce_gap(const hvi_evaluate *e) {
  const size_t each = e->spec.gap_per_decade ? e->spec.gap_per_decade : e->spec.schedule.per_decade;
  const size_t every = e->spec.gap_per_decade ? 0 : e->spec.schedule.every;
  size_t times = 0;
  for (size_t t = 0; t <= e->steps; t++)
    times += hvi_schedule_due(&(hvi_schedule){.every = every, .per_decade = each}, t, e->steps) &&
             hvi_schedule_due(&e->spec.schedule, t, e->steps);
  const size_t rows = e->task.data->count, batch = e->batch && e->batch < rows ? e->batch : rows;
  const double gap = (double)times * (double)e->spec.gap_settings.steps * (double)e->gap_data.count;
  const double solve = (double)e->steps * (double)e->setup.settings.inner_steps * (double)batch;
  hvi_say("Bellman gap: %zu times %zu steps of AdamW on %zu rows, about %.2g times the work of the "
          "solve\n",
          times, e->spec.gap_settings.steps, e->gap_data.count, gap / fmax(solve, 1.0));
}

static hvi_status begin(hvi_evaluate *e, hvi_evaluation **evaluation, hvi_error *err) {
  const hvi_status status = hvi_evaluation_new(evaluation, &e->spec, err);
  if (!status || !hvi_device_dismiss(&e->spec.value.device, &e->device)) return status;
  return hvi_evaluation_new(evaluation, &e->spec, err);
}

/* A small test set beside the network. Settings that do not go together are told before, and not
 * after. */
static hvi_status make_testset(hvi_evaluate *e, const char *path, hvi_error *err) {
  hvi_evaluation *trial = NULL;
  hvi_rollout_report report;
  hvi_testset_settings s = hvi_testset_defaults();
  s.run = (hvi_rollout_settings){.seed = e->setup.seed,
                                 .threads = e->threads,
                                 .partial = e->resume ? HVI_PARTIAL_RESUME : HVI_PARTIAL_FRESH,
                                 .accept_other_bits = e->spec.accept_other_bits,
                                 .policy_name = hvi_base_name(e->policy_path),
                                 .progress = hvi_progress_count};
  s.states = e->test_states;
  s.gamma = e->spec.value.gamma;
  HVI_TRY(begin(e, &trial, err));
  hvi_evaluation_free(trial);
  hvi_progress_start("test set", 1);
  HVI_TRY(hvi_progress_end(hvi_testset_make(path, e->task.env, e->task.policy, &s, &report, err)));
  e->interrupted = report.stopped;
  if (!report.stopped)
    hvi_say("test set of %zu states: %zu steps in %.1f s\n", s.states, report.steps,
            report.seconds);
  return HVI_OK;
}

/* The one that was asked for, or a small one, which may be of an earlier run. */
static hvi_status open_testset(hvi_evaluate *e, bool gamma_given, hvi_error *err) {
  const char *made = e->file[HVI_FILE_TESTSET], *path = made ? made : e->testset_path;
  const hvi_names names = {e->testset_map.count, e->testset_map.items};
  const double known = isnan(e->standard_error) ? 0.0 : e->standard_error;
  if (!path) return HVI_OK;
  if (made && !(e->resume && access(made, F_OK) == 0)) HVI_TRY(make_testset(e, made, err));
  if (e->interrupted) return HVI_OK;
  HVI_TRY(hvi_task_testset(&e->task, path, &names, 0, err));
  const hvi_testset *set = e->task.testset;
  if (made && set->count != e->test_states)
    return hvi_error_argument(err, "'%s' has %zu states, not %zu; --fresh makes a new one", path,
                              set->count, e->test_states);
  if (made && set->origin.seed != e->setup.seed)
    return hvi_error_argument(err, "'%s' is of seed %llu, not %llu; --fresh makes a new one", path,
                              (unsigned long long)set->origin.seed,
                              (unsigned long long)e->setup.seed);
  if (set->gamma == 0.0 && !gamma_given)
    return hvi_error_argument(
        err, "'%s' does not say for which discount its values are: --gamma X, or a note gamma",
        path);
  if (!set->exact && !isnan(e->standard_error))
    return hvi_error_argument(err, "--standard-error: '%s' has standard errors of its own", path);
  for (size_t i = 0; set->exact && i < set->count; i++) e->task.probe->standard_error[i] = known;
  if (set->exact) e->task.noise = known * known;
  if (set->exact)
    hvi_say("the test set has no standard_error: its values count as %s\n",
            isnan(e->standard_error) ? "exact" : hvi_format("known to %g", known));
  e->spec.probe = e->task.probe;
  if (!made && !gamma_given) e->spec.value.gamma = set->gamma;
  return HVI_OK;
}

/* Everything, and where an earlier run stood. */
static hvi_status open_all(hvi_evaluate *e, const hvi_args *args, hvi_error *err) {
  const char *checkpoint = e->file[HVI_FILE_CHECKPOINT];
  HVI_TRY(hvi_lock_take(&e->lock, checkpoint, err));
  const bool there = access(checkpoint, F_OK) == 0;
  if (there && !e->resume && !e->fresh)
    return hvi_error_argument(err, "'%s' is there: --resume goes on from it, --fresh begins anew",
                              checkpoint);
  if (e->fresh) HVI_TRY(hvi_kept_check(checkpoint, err));
  e->spec.settings = &e->setup.settings;
  e->spec.value.threads = hvi_parallel_threads(e->threads);
  HVI_TRY(e->env_name ? open_environment(e, err) : open_data(e, err));
  HVI_TRY(open_testset(e, hvi_args_given(args, "gamma"), err));
  if (e->interrupted) return HVI_OK;
  HVI_TRY(begin(e, &e->evaluation, err));
  hvi_evaluation_describe(e->about, &e->spec);
  if (there && e->resume) {
    HVI_TRY(hvi_evaluation_restore(e->evaluation, checkpoint, e->about, err));
    e->first = hvi_evaluation_state(e->evaluation).outer;
    e->resumed = true;
    hvi_say("going on from step %zu\n", e->first);
  }
  if (e->task.data && e->batch > e->task.data->count)
    hvi_say("--batch %zu: each step takes all %zu transitions\n", e->batch, e->task.data->count);
  if (e->gap) announce_gap(e);
  return HVI_OK;
}

/* A row as it comes, with the gap where it is measured. */
static void show_row(const hvi_evaluate *e, const hvi_evaluation_row *r) {
  if (r->outer == 0)
    hvi_say("%8s %11s %11s %11s%s %9s %9s\n", "outer", "error", "relative", "loss",
            e->gap ? "         gap" : "", "collect s", "optim. s");
  hvi_say("%8zu %11s %11s %11s%s %9.2f %9.2f\n", r->outer, hvi_digits(r->error, 4, "-"),
          hvi_digits(r->relative, 3, "-"), hvi_digits(r->loss, 4, "-"),
          e->gap ? hvi_format(" %11s", hvi_digits(r->gap, 4, "-")) : "", r->seconds_collect,
          r->seconds_optimise);
}

/* A line for each outer step; what was not measured there is null. On the disk before a checkpoint. */
static void log_step(hvi_evaluate *e, size_t outer, const hvi_evaluation_row *row) {
  const hvi_evaluation_row none = {.error = NAN, .relative = NAN, .clean = NAN, .gap = NAN};
  const hvi_record last = hvi_solver_info(e->evaluation->solver).last;
  const hvi_seconds *s = &e->evaluation->seconds;
  if (e->logged != HVI_LOG_NEW && outer <= e->logged) return;
  if (row->outer != outer) row = &none;
  hvi_log_put(&e->log, V("outer", outer), V("inner", last.inner), V("loss0", last.loss0),
              V("loss", last.loss), V("error", row->error), V("without_noise", row->clean),
              V("relative", row->relative), V("gap", row->gap), V("seconds_collect", s->collect),
              V("seconds_optimise", s->targets + s->inner));
  e->logged = outer;
  if (outer % e->every == 0) hvi_log_flush(&e->log, &hvi_fault);
}

/* Before each step, and at the end. */
static bool show(void *context, const hvi_evaluation *evaluation) {
  hvi_evaluate *e = context;
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(evaluation, &count);
  if (e->log_path) log_step(e, hvi_evaluation_state(evaluation).outer, &rows[count - 1]);
  if (e->shown < count) hvi_progress_clear();
  while (e->shown < count) show_row(e, &rows[e->shown++]);
  const size_t outer = hvi_evaluation_state(evaluation).outer;
  const double last = rows[count - 1].error;
  hvi_progress_title(isnan(last)
                         ? hvi_format("step %zu", outer)
                         : hvi_format("step %zu, error %s", outer, hvi_digits(last, 3, NULL)));
  hvi_progress_update(outer - e->first);
  return !hvi_signals_interrupted();
}

/* The network and the trace beside a checkpoint. */
static hvi_status save_rest(void *context, hvi_error *err) {
  const hvi_evaluate *e = context;
  HVI_TRY(hvi_value_save(hvi_evaluation_problem(e->evaluation), hvi_evaluation_theta(e->evaluation),
                         e->file[HVI_FILE_NETWORK], err));
  return hvi_evaluate_trace(e, err);
}

static bool has_diverged(const hvi_evaluate *e) {
  return hvi_evaluation_state(e->evaluation).outcome == HVI_DIVERGED;
}

/* To the end, or to Ctrl-C. Networks that are not numbers are not kept; how it went is. */
static hvi_status run(hvi_evaluate *e, hvi_error *err) {
  const hvi_evaluation_watch watch = {.checkpoint = e->file[HVI_FILE_CHECKPOINT],
                                      .about = e->about,
                                      .every = e->every,
                                      .seconds = INFINITY,
                                      .end = true,
                                      .progress = show,
                                      .saved = save_rest,
                                      .context = e};
  HVI_TRY(hvi_log_open(&e->log, e->log_path, NULL, e->resumed ? e->first : HVI_LOG_NEW, err));
  e->logged = e->log.last;
  hvi_progress_start("", e->steps > e->first ? e->steps - e->first : 1);
  hvi_status status = hvi_evaluation_run(e->evaluation, &watch, err);
  show(e, e->evaluation);
  if (!status) status = hvi_log_close(&e->log, err);
  hvi_progress_clear();
  e->interrupted = !status && !hvi_evaluation_state(e->evaluation).done;
  return status || !has_diverged(e) ? status : hvi_evaluate_trace(e, err);
}

static int evaluate(hvi_evaluate *e, const hvi_args *args) {
  HVI_CALL(hvi_evaluate_names(e, &hvi_fault));
  HVI_STEP(hvi_evaluate_outputs(e));
  HVI_STEP(hvi_device_open(&e->spec.value.device, &e->device, NULL));
  HVI_CALL(hvi_device_lost(&e->spec.value.device, open_all(e, args, &hvi_fault)));
  if (e->interrupted)
    return hvi_complain(HVI_EXIT_INTERRUPTED,
                        "interrupted while the test set was made; --resume goes on from here");
  if (e->spec.value.device && !hvi_mlp_member(hvi_evaluation_problem(e->evaluation)->model))
    hvi_say("hvi: this network, or this method, stays on the CPU\n");
  HVI_CALL(hvi_device_lost(&e->spec.value.device, run(e, &hvi_fault)));
  HVI_CALL(hvi_device_lost(&e->spec.value.device, hvi_evaluate_report(e, &hvi_fault)));
  const bool diverged = has_diverged(e), drawn = diverged || !hvi_evaluate_draw(e, &hvi_fault);
  const int code = drawn ? HVI_EXIT_DONE : hvi_complain_fault();
  const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
  if (e->interrupted)
    return hvi_complain(HVI_EXIT_INTERRUPTED,
                        "interrupted at step %zu of %zu; --resume goes on from here", now.outer,
                        e->steps);
  if (diverged)
    return hvi_complain(HVI_EXIT_DIVERGED,
                        "diverged at step %zu: %s; a smaller --inner-lr may help", now.outer,
                        now.reason);
  return code;
}

static void close_all(hvi_evaluate *e) {
  hvi_log_close(&e->log, NULL);
  hvi_lock_release(&e->lock);
  hvi_evaluation_free(e->evaluation);
  hvi_collector_free(e->collector);
  hvi_task_close(&e->task);
  hvi_gang_close(e->spec.value.device);
  for (size_t i = 0; i < HVI_FILES; i++) hvi_free(e->file[i]);
}

int hvi_cli_evaluate(int argc, char **argv) {
  const hvi_settings settings = hvi_evaluation_settings();
  HVI_OWN_BY(close_all)
  hvi_evaluate e = {.setup = hvi_setup_new(),
                    .steps = settings.max_outer,
                    .test_states = 100,
                    .every = 50,
                    .gap_rows = HVI_EVALUATION_ROWS,
                    .standard_error = NAN,
                    .task = {.noise = NAN},
                    .spec = hvi_evaluation_defaults()};
  hvi_args args = {argv[0], "ENV --policy FILE [OPTION]... | --data FILE [OPTION]...", .max = 1,
                   .operand = "environment", .also = "json force quiet verbose"};
  e.spec.gap_per_decade = HVI_EVALUATION_GAPS;
  e.setup.method = settings.optimizer->name;
  e.setup.asked = settings;
  add_options(&e, &args);
  hvi_args_device(&args, &e.device, NULL);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  e.env_name = args.operand_count == 1 ? args.operands[0] : NULL;
  e.batch = e.spec.value.batch;
  HVI_STEP(check_options(&e));
  HVI_STEP(choose_method(&e, &args));
  return evaluate(&e, &args);
}
