/* hvi data: transitions of a policy, and what is in a file of them or in a test set. */
#include "args.h"
#include "base/number.h"
#include "commands.h"
#include "exit_codes.h"
#include "json.h"
#include "rollout.h"
#include "verbs.h"

#include <hvi/tensors.h>
#include <hvi/testset.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The episodes of a data set. */
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

/* Figures of a test set: its values, and what the horizon cuts off. */
enum { VALUES = 7, CUT = 6 };

/* A number of the text, the JSON object, or both; where it is not finite the text has no line. */
typedef struct figure {
  const char *key;          /* NULL: not in the JSON */
  const char *label, *unit; /* NULL: not in the text */
  double value;
} figure;

static void figures_text(const figure *f, size_t count) {
  char number[HVI_NUMBER_SIZE];
  for (size_t i = 0; i < count; i++) {
    if (!f[i].label || !isfinite(f[i].value)) continue;
    printf("%-17s%s%s\n", f[i].label, hvi_number_short(number, f[i].value, 6), f[i].unit);
  }
}

static void figures_json(hvi_json *j, const figure *f, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (f[i].key) hvi_json_number(j, f[i].key, f[i].value);
  }
}

static void origin_text(const hvi_provenance *o) {
  printf("%-17s%s\n", "environment", *o->environment ? o->environment : "unknown");
  printf("%-17s%s (%s)\n", "policy", *o->policy ? o->policy : "unknown",
         *o->fingerprint ? o->fingerprint : "no fingerprint");
  printf("%-17s%" PRIu64 "\n", "seed", o->seed);
  printf("%-17s%s\n", "made by hvi", *o->version ? o->version : "unknown");
  if (o->broken) printf("%-17s%zu\n", "failed physics", o->broken);
}

static void json_begin(hvi_json *j, const char *path, const char *contents,
                       const hvi_provenance *o) {
  hvi_json_open(j, NULL, '{');
  hvi_json_count(j, "schema_version", 1);
  hvi_json_text(j, "file", path);
  hvi_json_text(j, "contents", contents);
  hvi_json_text(j, "environment", *o->environment ? o->environment : NULL);
  hvi_json_text(j, "policy", *o->policy ? o->policy : NULL);
  hvi_json_text(j, "fingerprint", *o->fingerprint ? o->fingerprint : NULL);
  hvi_json_text(j, "version", *o->version ? o->version : NULL);
  hvi_json_text(j, "level", *o->levels ? o->levels : NULL);
  hvi_json_count(j, "seed", o->seed);
  hvi_json_count(j, "broken", o->broken);
}

static void json_end(hvi_json *j, const hvi_rollout_report *r) {
  if (r) {
    hvi_json_open(j, "run", '{');
    hvi_json_count(j, "steps", r->steps);
    hvi_json_number(j, "seconds", r->seconds);
    hvi_json_count(j, "resumed_groups", r->resumed);
    hvi_json_count(j, "damaged_bytes", r->damaged);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, '}');
}

static void show_dataset(const char *path, const hvi_dataset *d, bool json,
                         const hvi_rollout_report *report) {
  const episodes e = count_episodes(d);
  const figure figures[] = {{"mean_reward", "mean reward", "", e.reward},
                            {"mean_return", "mean return", " of whole episodes", e.mean_return},
                            {"mean_length", "mean length", " steps", e.length}};
  if (json) {
    hvi_json j = {0};
    json_begin(&j, path, "transitions", &d->origin);
    hvi_json_count(&j, "transitions", d->count);
    hvi_json_count(&j, "obs", d->obs);
    hvi_json_count(&j, "act", d->act);
    hvi_json_count(&j, "terminated", e.terminated);
    hvi_json_count(&j, "truncated", e.truncated);
    figures_json(&j, figures, 3);
    json_end(&j, report);
    return;
  }
  printf("%s: %zu transitions, observations of %zu numbers, actions of %zu\n", path, d->count,
         d->obs, d->act);
  origin_text(&d->origin);
  printf("%-17s%zu terminated, %zu at the time limit\n", "episodes", e.terminated, e.truncated);
  figures_text(figures, 3);
}

static void testset_json(const char *path, const hvi_testset *s, const figure *values,
                         const figure *cut, const hvi_rollout_report *report) {
  hvi_json j = {0};
  json_begin(&j, path, "test set", &s->origin);
  hvi_json_count(&j, "states", s->count);
  hvi_json_count(&j, "rollouts", s->rollouts);
  hvi_json_count(&j, "horizon", s->horizon);
  hvi_json_number(&j, "gamma", s->gamma);
  hvi_json_count(&j, "obs", s->obs);
  hvi_json_count(&j, "state", s->state);
  figures_json(&j, values, VALUES);
  hvi_json_open(&j, "truncation", '{');
  figures_json(&j, cut, CUT);
  hvi_json_bool(&j, "below_standard_error", hvi_testset_judge(s).below_error);
  hvi_json_close(&j, '}');
  json_end(&j, report);
}

static void show_testset(const char *path, const hvi_testset *s, bool json,
                         const hvi_rollout_report *report) {
  const hvi_testset_figures f = hvi_testset_judge(s);
  const figure values[VALUES] = {
      {"mean_value", "mean value", "", f.mean_value},
      {"sd_value", "spread of values", " (standard deviation over states)", f.sd_value},
      {"mean_standard_error", "standard error", " on average", f.mean_error},
      {"noise_floor", "noise floor", " (mean squared standard error)", f.noise_floor},
      {"terminated_share", NULL, NULL, f.terminated_share},
      {NULL, "terminated", " % of roll-outs", 100.0 * f.terminated_share},
      {"mean_length", "mean length", " steps", f.mean_length}};
  const figure cut[CUT] = {
      {"share", "after horizon", " of a value (gamma^H)", f.after},
      {"tail", NULL, NULL, s->tail},
      {"put_back", "  put back", ", from the mean value", f.put_back},
      {"typical", "  lacking",
       f.below_error ? " typically, below the mean standard error"
                     : " typically, NOT below the mean standard error: take a longer horizon",
       f.missing_typical},
      {"largest", "  at most", ", by the values found", f.missing_most},
      {"bound", "  at most", ", by the bound on rewards", f.missing_bound}};
  if (json) {
    testset_json(path, s, values, cut, report);
    return;
  }
  printf("%s: %zu states, %zu roll-outs of %zu steps each, gamma %g\n", path, s->count, s->rollouts,
         s->horizon, s->gamma);
  origin_text(&s->origin);
  figures_text(values, VALUES);
  figures_text(cut, CUT);
}

static int file_info(const char *path, bool json, const hvi_rollout_report *report) {
  hvi_tensors *t;
  hvi_testset *set = NULL;
  hvi_dataset *data = NULL;
  hvi_error err;
  if (hvi_tensors_read(&t, path, 0, &err)) return hvi_complain_error(&err);
  const bool values = hvi_tensors_find(t, "returns") != NULL;
  hvi_tensors_free(t);
  if (values ? hvi_testset_load(&set, path, &err) : hvi_dataset_load(&data, path, &err)) {
    return hvi_complain_error(&err);
  }
  if (set) show_testset(path, set, json, report);
  if (data) show_dataset(path, data, json, report);
  hvi_testset_free(set);
  hvi_dataset_free(data);
  return HVI_EXIT_DONE;
}

int hvi_rollout_info(const hvi_rollout_job *job, const hvi_rollout_report *report) {
  return file_info(job->out, job->json, report);
}

static hvi_status collect(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err) {
  return hvi_dataset_collect(job->out, job->env, job->policy, job->settings, report, err);
}

static int data_collect(int argc, char **argv) {
  hvi_collect_settings s = hvi_collect_defaults();
  hvi_rollout_job job = {.doing = "transitions",
                         .table = hvi_collect_table(),
                         .letter = 'n',
                         .settings = &s,
                         .rollout = &s.run,
                         .writes = true,
                         .run = collect,
                         .show = hvi_rollout_info};
  hvi_args args = {
      .command = "data collect",
      .usage = "ENV --policy FILE --out FILE [OPTION]...",
      .summary =
          "Runs episodes of ENV under a policy and writes their first N transitions, in order:\n"
          "obs, action, reward, next_obs, terminated, truncated. A run that was stopped, also by\n"
          "kill -9, goes on with --resume and ends in the same bits.",
      .examples =
          "  hvi data collect lqr --policy default -n 10000 --out lqr.safetensors\n"
          "  hvi data collect ant --policy ant.safetensors -n 1e6 --out ant-data.safetensors"};
  return hvi_rollout_command(&job, &args, argc, argv);
}

static int data_info(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {.command = "data info",
                   .usage = "FILE [OPTION]...",
                   .summary = "Prints what a data set ('hvi data collect') or a test set ('hvi "
                              "testset') holds.",
                   .examples = "  hvi data info ant-data.safetensors\n"
                               "  hvi data info ant-testset.safetensors --json",
                   .min = 1,
                   .max = 1,
                   .operand = "file"};
  hvi_args_add(&args, (hvi_arg[]){
                          {.name = "json",
                           .kind = HVI_ARG_FLAG,
                           .to = &json,
                           .help = "the result as one JSON object"},
                          {0},
                      });
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  return file_info(args.operands[0], json, NULL);
}

int hvi_cli_data(int argc, char **argv) {
  static const hvi_verb verbs[] = {{"collect", data_collect}, {"info", data_info}, {NULL, NULL}};
  hvi_args args = {.command = "data",
                   .usage = "collect|info [OPTION]...",
                   .summary = "collect   transitions of a policy in an environment\n"
                              "info      what a data set or a test set holds\n\n"
                              "'hvi data collect --help' shows the options of one of them.",
                   .examples =
                       "  hvi data collect lqr --policy default -n 10000 --out lqr.safetensors\n"
                       "  hvi data info lqr.safetensors"};
  return hvi_verbs_run(verbs, &args, argc, argv);
}
