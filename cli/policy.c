/* hvi policy: scores, what a file holds, and the way to training, which is in policy_train.c. */
#include "rl/policy.h"
#include "base/base.h"
#include "base/suggest.h"
#include "commands.h"
#include "io/npy.h"
#include "json.h"
#include "num/vec.h"
#include "rollout.h"
#include "talk.h"

static hvi_status score(hvi_rollout_job *job, hvi_rollout_report *report, hvi_error *err) {
  return hvi_rollout_returns(job->result, job->task.env, job->task.policy, job->settings, report,
                             err);
}

static void score_text(const hvi_rollout_job *job, const hvi_returns *r) {
  const hvi_returns_settings *s = job->settings;
  printf("%s, %zu episodes, %s actions\n", job->task.env->name, r->episodes,
         s->deterministic ? "mean" : "sampled");
  printf("mean return   %.6g%s\n", r->mean,
         isnan(r->half_width) ? "" : hvi_format(" +- %.3g (95 %%)", r->half_width));
  printf("deviation     %.4g\n", r->sd);
  printf("range         %.6g .. %.6g\n", r->least, r->most);
  printf("length        %.6g (%.0f .. %.0f), %zu ended before the time limit\n", r->mean_length,
         r->shortest, r->longest, r->terminated);
}

static void score_json(const hvi_rollout_job *job, const hvi_returns *r) {
  const hvi_returns_settings *s = job->settings;
  hvi_json_begin();
  hvi_json_put(V("env", job->task.env->name), V("policy", job->policy_path),
               V("episodes", r->episodes), V("seed", s->run.seed),
               V("deterministic", s->deterministic), V("mean", r->mean),
               V("half_width_95", r->half_width), V("sd", r->sd), V("min", r->least),
               V("max", r->most), V("mean_length", r->mean_length), V("terminated", r->terminated),
               hvi_value_numbers("returns", r->returns, r->episodes),
               hvi_value_numbers("lengths", r->length, r->episodes));
  hvi_json_end();
}

static int show_score(const hvi_rollout_job *job, const hvi_rollout_report *report) {
  hvi_returns *const *returns = job->result;
  (void)report;
  (hvi_talk.json ? score_json : score_text)(job, *returns);
  return HVI_EXIT_DONE;
}

static int policy_score(int argc, char **argv) {
  hvi_returns_settings s = hvi_returns_defaults();
  hvi_returns *returns = NULL;
  hvi_rollout_job job = {"episodes", hvi_returns_table(), 'n', &s, &s.run, score,
                         show_score, .result = &returns};
  hvi_args args = {"policy score", "ENV --policy FILE [OPTION]...",
                   "Runs whole episodes under a policy and prints their mean return with its 95 %\n"
                   "Student interval, and their lengths. Rewards are not discounted.",
                   .examples = "  hvi policy score half_cheetah --policy half_cheetah.safetensors\n"
                               "  hvi policy score lqr --policy default --episodes 100 --json"};
  const int code = hvi_rollout_command(&job, &args, argc, argv);
  hvi_returns_free(returns);
  return code;
}

/* Text of a file that may come from anywhere: no control characters reach the terminal. */
static void print_line(const char *title, const char *text) {
  char line[400];
  snprintf(line, sizeof line, "%-13s %s", title, text);
  for (char *c = line; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
  puts(line);
}

static void info_text(const hvi_policy *p, const hvi_tensors *t) {
  char text[HVI_POLICY_TEXT];
  printf("form          %s\n", hvi_policy_describe(text, p));
  printf("observation   %zu numbers\n", p->obs);
  printf("action        %zu numbers\n", p->act);
  if (p->net) {
    printf("hidden       ");
    for (size_t l = 0; l + 1 < p->net->layer_count; l++) printf(" %zu", p->net->layers[l].out);
    printf("\nparameters    %zu\n", p->net->dim);
  }
  for (size_t i = 0; i < t->note_count; i++) print_line(t->notes[i].key, t->notes[i].text);
  for (size_t i = 0; i < t->count; i++)
    if (!hvi_policy_uses(p, t->items[i].name)) print_line("not used", t->items[i].name);
}

static void info_json(const hvi_policy *p, const hvi_tensors *t) {
  char text[HVI_POLICY_TEXT];
  hvi_json_begin();
  hvi_json_put(V("form", p->net ? "actor" : "linear-Gaussian"), V("layout", p->layout),
               V("actions", hvi_policy_describe(text, p)), V("obs", p->obs), V("act", p->act));
  hvi_json_open("hidden", '[');
  for (size_t l = 0; p->net && l + 1 < p->net->layer_count; l++)
    hvi_json_put(V(NULL, p->net->layers[l].out));
  hvi_json_close();
  hvi_json_open("notes", '{');
  for (size_t i = 0; i < t->note_count; i++) hvi_json_put(V(t->notes[i].key, t->notes[i].text));
  hvi_json_close();
  hvi_json_open("not_used", '[');
  for (size_t i = 0; i < t->count; i++)
    if (!hvi_policy_uses(p, t->items[i].name)) hvi_json_put(V(NULL, t->items[i].name));
  hvi_json_end();
}

static int policy_info(int argc, char **argv) {
  hvi_args args = {"policy info", "FILE [OPTION]...",
                   "Prints the sizes of a policy, the notes of its file, and tensors\n"
                   "that are there but not used.",
                   "  hvi policy info half_cheetah.safetensors", .operand = "policy file"};
  hvi_policy_options options = {0};
  hvi_args_settings(&args, hvi_policy_table(), &options, NULL);
  hvi_args_json(&args);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  HVI_OWN_BY(hvi_policy_release) hvi_policy *policy = NULL;
  HVI_OWN_BY(hvi_tensors_release) hvi_tensors *tensors = NULL;
  HVI_CALL(hvi_policy_read(&policy, args.operands[0], &options, &hvi_fault));
  HVI_CALL(hvi_tensors_open(&tensors, args.operands[0], 0, &hvi_fault));
  (hvi_talk.json ? info_json : info_text)(policy, tensors);
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
  hvi_args args = {
      "policy act", "ENV --policy FILE --obs FILE [OPTION]...",
      "Prints the actions of a policy, without noise, in the observations of a file: to\n"
      "compare with the program that trained it.",
      "  hvi policy act pendulum --policy sb3-sac.safetensors --obs obs.npy",
      .operand = "environment"};
  /* clang-format off */
  hvi_args_add(&args,
      {"policy", 0, HVI_SETTING_TEXT, &path, .value = "FILE", .help = "the policy (.safetensors), or 'default': the environment's own"},
      {"obs", 0, HVI_SETTING_TEXT, &obs_path, .value = "FILE", .help = ".npy file of observations, one a row"},
      {"out", 'o', HVI_SETTING_TEXT, &out, .value = "FILE", .help = ".npy file to write instead of stdout"});
  /* clang-format on */
  hvi_args_settings(&args, hvi_policy_table(), &options, NULL);
  hvi_args_talk(&args);
  hvi_args_force(&args);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  if (!path || !obs_path) return hvi_misuse("policy act needs --policy FILE and --obs FILE");
  HVI_STEP(hvi_output_check(out, HVI_NPY_ACTIONS));
  HVI_OWN_BY(hvi_task_close) hvi_task task = {0};
  HVI_OWN_BY(hvi_array_free) hvi_array obs = {0};
  HVI_CALL(hvi_task_open(&task, args.operands[0], path, &options, &hvi_fault));
  hvi_say_policy(task.policy);
  HVI_CALL(hvi_npy_read(&obs, obs_path, 0, &hvi_fault));
  const size_t width = task.policy->obs;
  if (obs.dims != 2 || obs.shape[1] != width)
    return hvi_bad_input("'%s' should have rows of %zu numbers", obs_path, width);
  if (!hvi_vec_finite(obs.data, obs.size))
    return hvi_bad_input("'%s' has a number that is not finite", obs_path);
  return act_all(task.policy, &obs, out);
}

int hvi_cli_policy(int argc, char **argv) {
  static const hvi_verb verbs[] = {
      {"train", hvi_cli_policy_train, "an actor by soft actor-critic"},
      {"score", policy_score, "the return of a policy, with its interval"},
      {"info", policy_info, "what a policy file holds"},
      {"act", policy_act, "its actions in given observations"},
      {0}};
  hvi_args args = {"policy", "train|score|info|act [OPTION]...",
                   "Policies: making them, measuring them, and what their files hold.",
                   .examples = "  hvi policy train half_cheetah --seed 1 --out hc.safetensors\n"
                               "  hvi policy score half_cheetah --policy hc.safetensors\n"
                               "  hvi policy info hc.safetensors"};
  return hvi_args_verb(&args, verbs, argc, argv);
}
