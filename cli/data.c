/* hvi data and hvi testset: transitions of a policy, states with their values, and what is in a file
 * of either. */
#include "base/base.h"
#include "commands.h"
#include "rollout.h"

HVI_RELEASE(hvi_dataset)
HVI_RELEASE(hvi_testset)

typedef struct episodes {
  size_t terminated, truncated;
  double reward;              /* mean */
  double mean_return, length; /* of the whole episodes */
} episodes;

static episodes count_episodes(const hvi_dataset *d) {
  episodes e = {0};
  double sum = 0.0, running = 0.0, ended = 0.0;
  size_t whole = 0, ended_rows = 0;
  for (size_t i = 0; i < d->count; i++) {
    sum += (double)d->reward[i];
    running += (double)d->reward[i];
    if (!d->terminated[i] && !d->truncated[i]) continue;
    e.terminated += d->terminated[i];
    e.truncated += d->truncated[i] && !d->terminated[i];
    whole++;
    ended += running;
    ended_rows = i + 1;
    running = 0.0;
  }
  e.reward = sum / (double)d->count;
  e.mean_return = whole ? ended / (double)whole : NAN;
  e.length = whole ? (double)ended_rows / (double)whole : NAN;
  return e;
}

static const char *or_null(const char *text) { return *text ? text : NULL; }

static const char *or_unknown(const char *text) { return *text ? text : "unknown"; }

/* Opens the object; the text begins with a line on what the file holds. */
static void show_origin(const char *path, const char *contents, const hvi_provenance *o) {
  hvi_json_begin();
  hvi_show(J("file", path), J("contents", contents), J("environment", or_null(o->environment)),
           J("policy", or_null(o->policy)), J("fingerprint", or_null(o->fingerprint)),
           LINE("environment", "", NULL, or_unknown(o->environment)),
           LINE("policy",
                *o->fingerprint ? hvi_format(" (%s)", o->fingerprint) : " (no fingerprint)", NULL,
                or_unknown(o->policy)),
           LINE("seed", "", "seed", o->seed), J("version", or_null(o->version)),
           LINE("made by hvi", "", NULL, or_unknown(o->version)), J("level", or_null(o->levels)),
           LINE(o->broken ? "failed physics" : NULL, "", "broken", o->broken));
}

static void show_dataset(const char *path, const hvi_dataset *d) {
  const episodes e = count_episodes(d);
  if (!hvi_talk.json)
    printf("%s: %zu transitions, observations of %zu numbers, actions of %zu\n", path, d->count,
           d->obs, d->act);
  show_origin(path, "transitions", &d->origin);
  hvi_show(J("transitions", d->count), J("obs", d->obs), J("act", d->act),
           LINE("episodes", hvi_format(" terminated, %zu at the time limit", e.truncated),
                "terminated", e.terminated),
           J("truncated", e.truncated), LINE("mean reward", "", "mean_reward", e.reward),
           LINE("mean return", " of whole episodes", "mean_return", e.mean_return),
           LINE("mean length", " steps", "mean_length", e.length),
           J("remarks", or_null(d->remarks)));
  if (!hvi_talk.json) printf("%s", d->remarks);
}

/* How many episodes there are, and what few states may carry the variance. */
static hvi_status show_classes(const hvi_testset *s, hvi_error *err) {
  hvi_class_figures f;
  HVI_TRY(hvi_testset_class(&f, s, s->classes, err));
  hvi_show(LINE(f.episodes ? "episodes" : NULL, "", "episodes", f.episodes));
  if (s->classes) hvi_table_begin("classes of states:");
  hvi_json_open("classes", '[');
  for (size_t k = 0; k < s->classes; k++) {
    HVI_TRY(hvi_testset_class(&f, s, k, err));
    hvi_table_row(CELL("class", -12, 0, 1, "name", (const char *)f.name),
                  CELL("states", 8, 0, 1, "count", f.count),
                  CELL("episodes", 8, 0, 1, "episodes", f.episodes),
                  CELL("mean value", 11, -4, 1, "mean_value", f.mean_value),
                  CELL("% of variance", 13, 1, 100, "variance_share", f.variance_share));
  }
  hvi_json_close();
  return HVI_OK;
}

static hvi_status show_testset(const char *path, const hvi_testset *s, hvi_error *err) {
  const hvi_testset_figures f = hvi_testset_judge(s);
  if (!hvi_talk.json)
    printf("%s: %zu states, %sgamma %s\n", path, s->count,
           s->rollouts ? hvi_format("%zu roll-outs of %zu steps each, ", s->rollouts, s->horizon)
                       : "",
           s->gamma > 0.0 ? hvi_format("%g", s->gamma) : "not known");
  show_origin(path, "test set", &s->origin);
  hvi_show(J("states", s->count), J("rollouts", s->rollouts), J("horizon", s->horizon),
           J("gamma", s->gamma > 0.0 ? s->gamma : NAN), J("obs", s->obs), J("state", s->state),
           LINE("mean value", "", "mean_value", f.mean_value),
           LINE("spread of values", " (standard deviation over states)", "sd_value", f.sd_value),
           LINE("standard error", " on average", "mean_standard_error", f.mean_error),
           LINE("noise floor", " (mean squared standard error)", "noise_floor", f.noise_floor),
           J("terminated_share", f.terminated_share),
           LINE("terminated", " % of roll-outs", NULL, 100.0 * f.terminated_share),
           LINE("mean length", " steps", "mean_length", f.mean_length));
  hvi_json_open("truncation", '{');
  hvi_show(LINE("after horizon", " of a value (gamma^H)", "share", f.after), J("tail", s->tail),
           LINE("  put back", ", from the mean value", "put_back", f.put_back),
           LINE("  lacking",
                f.below_error
                    ? " typically, below the mean standard error"
                    : " typically, NOT below the mean standard error: take a longer horizon",
                "typical", f.missing_typical),
           LINE("  at most", ", by the values found", "largest", f.missing_most),
           LINE("  at most", ", by the bound on rewards", "bound", f.missing_bound),
           J("below_standard_error", f.below_error));
  hvi_json_close();
  return show_classes(s, err);
}

/* r: of the run that made the file, or NULL. */
static int file_info(const char *path, const hvi_texts *map, const hvi_rollout_report *r) {
  HVI_OWN_BY(hvi_testset_release) hvi_testset *set = NULL;
  HVI_OWN_BY(hvi_dataset_release) hvi_dataset *data = NULL;
  hvi_tensors *t;
  HVI_CALL(hvi_tensors_open(&t, path, 0, &hvi_fault));
  const bool values = hvi_tensors_find(t, "value") || hvi_tensors_find(t, "values");
  hvi_tensors_free(t);
  HVI_CALL(values ? hvi_testset_load(&set, path, &hvi_fault)
                  : hvi_dataset_read(&data, path, map ? &(hvi_names){map->count, map->items} : NULL,
                                     &hvi_fault));
  if (set) HVI_CALL(show_testset(path, set, &hvi_fault));
  if (data) show_dataset(path, data);
  if (r)
    hvi_json_object("run", V("steps", r->steps), V("seconds", r->seconds),
                    V("resumed_groups", r->resumed), V("damaged_bytes", r->damaged));
  hvi_json_end();
  return HVI_EXIT_DONE;
}

static int show_job(const hvi_rollout_job *job, const hvi_rollout_report *report) {
  return file_info(job->out, NULL, report);
}

static hvi_status collect(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err) {
  return hvi_dataset_collect(job->out, job->task.env, job->task.policy, job->settings, report, err);
}

static int data_collect(int argc, char **argv) {
  hvi_collect_settings s = hvi_collect_defaults();
  hvi_rollout_job job = {"transitions", hvi_collect_table(),
                         'n',           &s,
                         &s.run,        collect,
                         show_job,      .mark = "\"contents\":\"transitions\""};
  hvi_args args = {"data collect", .usage = "ENV --policy FILE --out FILE [OPTION]..."};
  return hvi_rollout_command(&job, &args, argc, argv);
}

static int data_info(int argc, char **argv) {
  hvi_args args = {"data info", "FILE [OPTION]...", .operand = "file", .also = "json"};
  hvi_texts map = {0};
  hvi_args_add(&args, {"map", 0, HVI_SETTING_TEXT, &map, .value = "COLUMN=NAME", .repeats = true,
                       .help = "the array NAME is that column of a data set"});
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  return file_info(args.operands[0], &map, NULL);
}

int hvi_cli_data(int argc, char **argv) {
  static const hvi_verb verbs[] = {
      {"collect", data_collect, "transitions of a policy in an environment", "ENV"},
      {"info", data_info, "what a data set or a test set holds", "FILE"},
      {0}};
  hvi_args args = {"data", .usage = "collect|info [OPTION]..."};
  return hvi_args_verb(&args, verbs, argc, argv);
}

static hvi_status make_testset(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err) {
  return hvi_testset_make(job->out, job->task.env, job->task.policy, job->settings, report, err);
}

int hvi_cli_testset(int argc, char **argv) {
  hvi_testset_settings s = hvi_testset_defaults();
  hvi_rollout_job job = {
      "roll-outs", hvi_testset_table(), 0,        &s,
      &s.run,      make_testset,        show_job, .mark = "\"contents\":\"test set\""};
  hvi_args args = {argv[0], .usage = "ENV --policy FILE --out FILE [OPTION]..."};
  return hvi_rollout_command(&job, &args, argc, argv);
}
