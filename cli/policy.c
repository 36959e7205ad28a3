/* hvi policy: scores, what a file holds, and the way to training, which is in policy_train.c. */
#include "rl/policy.h"
#include "base/base.h"
#include "commands.h"
#include "rollout.h"

static hvi_status score(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err) {
  return hvi_rollout_returns(job->result, job->task.env, job->task.policy, job->settings, report,
                             err);
}

static int show_score(const hvi_rollout_job *job, const hvi_rollout_report *report) {
  const hvi_returns *r = *(hvi_returns *const *)job->result;
  const hvi_returns_settings *s = job->settings;
  (void)report;
  if (!hvi_talk.json)
    printf("%s, %zu episodes, %s actions\n", job->task.env->name, r->episodes,
           s->deterministic ? "mean" : "sampled");
  hvi_json_begin();
  hvi_show(J("env", job->task.env->name), J("policy", job->policy_path), J("episodes", r->episodes),
           J("seed", s->run.seed), J("deterministic", s->deterministic),
           LINE("mean return",
                isnan(r->half_width) ? "" : hvi_format(" +- %.3g (95 %%)", r->half_width), "mean",
                r->mean),
           J("half_width_95", r->half_width), LINE("deviation", "", "sd", r->sd),
           LINE("range", hvi_format(" .. %.6g", r->most), "min", r->least), J("max", r->most),
           LINE("length", hvi_format(" (%.0f .. %.0f)", r->shortest, r->longest), "mean_length",
                r->mean_length),
           LINE("terminated", " before the time limit", "terminated", r->terminated));
  hvi_json_put(hvi_value_numbers("returns", r->returns, r->episodes),
               hvi_value_numbers("lengths", r->length, r->episodes));
  hvi_json_end();
  return HVI_EXIT_DONE;
}

static int policy_score(int argc, char **argv) {
  hvi_returns_settings s = hvi_returns_defaults();
  hvi_returns *returns = NULL;
  hvi_rollout_job job = {"episodes", hvi_returns_table(), 'n', &s, &s.run, score,
                         show_score, .result = &returns};
  hvi_args args = {"policy score", .usage = "ENV --policy FILE [OPTION]..."};
  const int code = hvi_rollout_command(&job, &args, argc, argv);
  hvi_returns_free(returns);
  return code;
}

/* Text of a file that may come from anywhere: no control characters reach the terminal. */
static void show_note(const char *title, const char *name, const char *text) {
  char line[400];
  if (hvi_talk.json) {
    hvi_json_put(V(name, text));
    return;
  }
  snprintf(line, sizeof line, "%-16s %s", title, text);
  for (char *c = line; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  puts(line);
}

static void show_policy(const hvi_policy *p, const hvi_tensors *t) {
  char text[HVI_POLICY_TEXT];
  const char *hidden = "";
  for (size_t l = 0; p->net && l + 1 < p->net->layer_count; l++)
    hidden = hvi_format("%s%s%zu", hidden, l > 0 ? " " : "", p->net->layers[l].out);
  hvi_policy_describe(text, p);
  hvi_json_begin();
  hvi_show(J("form", p->net ? "actor" : "linear-Gaussian"), J("layout", p->layout),
           LINE("form", "", "actions", (const char *)text),
           LINE("observation", " numbers", "obs", p->obs),
           LINE("action", " numbers", "act", p->act));
  if (p->net) hvi_show(LINE("hidden", "", NULL, hidden), LINE("parameters", "", NULL, p->net->dim));
  hvi_json_open("hidden", '[');
  for (size_t l = 0; p->net && l + 1 < p->net->layer_count; l++)
    hvi_json_put(V(NULL, p->net->layers[l].out));
  hvi_json_close();
  hvi_json_open("notes", '{');
  for (size_t i = 0; i < t->note_count; i++)
    show_note(t->notes[i].key, t->notes[i].key, t->notes[i].text);
  hvi_json_close();
  hvi_json_open("not_used", '[');
  for (size_t i = 0; i < t->count; i++)
    if (!hvi_policy_uses(p, t->items[i].name)) show_note("not used", NULL, t->items[i].name);
  hvi_json_end();
}

static int policy_info(int argc, char **argv) {
  hvi_args args = {"policy info", "FILE [OPTION]...", .operand = "policy file", .also = "json"};
  hvi_policy_options options = {0};
  hvi_args_settings(&args, hvi_policy_table(), &options, NULL);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  HVI_OWN_BY(hvi_policy_release) hvi_policy *policy = NULL;
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *tensors = NULL;
  HVI_CALL(hvi_policy_read(&policy, args.operands[0], &options, &hvi_fault));
  HVI_CALL(hvi_tensors_open(&tensors, args.operands[0], 0, &hvi_fault));
  show_policy(policy, tensors);
  return HVI_EXIT_DONE;
}

/* Mean actions, a batch of rows at a time. */
static int act_all(const hvi_policy *p, const hvi_array *obs, const char *out) {
  const size_t rows = obs->size / p->obs, shape[] = {rows, p->act};
  HVI_OWN double *actions = hvi_alloc(rows, p->act * sizeof *actions);
  HVI_OWN float *scratch = hvi_alloc(hvi_policy_scratch(p, HVI_POLICY_ROWS), sizeof *scratch);
  if (!actions || !scratch)
    return hvi_complain(HVI_EXIT_SYSTEM, "out of memory: %zu actions", rows);
  for (size_t i = 0; i < rows; i += HVI_POLICY_ROWS) {
    const size_t n = rows - i < HVI_POLICY_ROWS ? rows - i : HVI_POLICY_ROWS;
    hvi_policy_act(p, scratch, n, obs->data + i * p->obs, NULL, actions + i * p->act);
  }
  if (out) HVI_CALL(hvi_npy_write(out, actions, 2, shape, HVI_NPY_ACTIONS, &hvi_fault));
  for (size_t i = 0; !out && i < rows * p->act; i++)
    printf("%.9g%c", actions[i], (i + 1) % p->act ? ' ' : '\n');
  return HVI_EXIT_DONE;
}

static int policy_act(int argc, char **argv) {
  const char *path = NULL, *obs_path = NULL, *out = NULL;
  hvi_policy_options options = {0};
  hvi_args args = {"policy act", "ENV --policy FILE --obs FILE [OPTION]...",
                   .operand = "environment", .also = "force quiet verbose"};
  hvi_args_add(&args,
      {"policy", 0, HVI_SETTING_TEXT, &path, .value = "FILE", .help = "the policy (.safetensors), or 'default': the environment's own"},
      {"obs", 0, HVI_SETTING_TEXT, &obs_path, .value = "FILE", .help = ".npy file of observations, one a row"},
      {"out", 'o', HVI_SETTING_TEXT, &out, .value = "FILE", .help = ".npy file to write instead of stdout"});
  hvi_args_settings(&args, hvi_policy_table(), &options, NULL);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  if (!path || !obs_path) return hvi_misuse("policy act needs --policy FILE and --obs FILE");
  HVI_STEP(hvi_output_check(out, HVI_NPY_ACTIONS));
  HVI_OWN_BY(hvi_task_close) hvi_task task = {0};
  HVI_OWN_BY(hvi_array_free) hvi_array obs = {0};
  HVI_CALL(hvi_task_open(&task, args.operands[0], path, &options, &hvi_fault));
  hvi_say_policy(task.policy);
  HVI_STEP(hvi_read_rows(&obs, obs_path, task.policy->obs,
                         hvi_format("an observation of %s each", task.env->name)));
  return act_all(task.policy, &obs, out);
}

int hvi_cli_policy(int argc, char **argv) {
  static const hvi_verb verbs[] = {
      {"train", hvi_cli_policy_train, "an actor by soft actor-critic", "ENV"},
      {"score", policy_score, "the return of a policy, with its interval", "ENV"},
      {"info", policy_info, "what a policy file holds", "FILE"},
      {"act", policy_act, "its actions in given observations", "ENV"},
      {0}};
  hvi_args args = {"policy", .usage = "train|score|info|act [OPTION]..."};
  return hvi_args_verb(&args, verbs, argc, argv);
}
