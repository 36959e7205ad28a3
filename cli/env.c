/* hvi env: the environments, what they are like, and the way to the verbs that run them. */
#include "env_verbs.h"

#include "args.h"
#include "commands.h"
#include "exit_codes.h"
#include "json.h"
#include "talk.h"
#include "verbs.h"

#include <hvi/env.h>

#include <math.h>
#include <stdio.h>

static void list_row(const hvi_env_kind *kind, const hvi_env *env) {
  char obs[24] = "-", act[24] = "-";
  if (env) {
    snprintf(obs, sizeof obs, "%zu", env->obs);
    snprintf(act, sizeof act, "%zu", env->act);
  }
  printf("  %-13s %5s %5s  %-8s %-5s  %s\n", kind->name, obs, act, kind->needs ? kind->needs : "-",
         env ? "yes" : "no", kind->summary);
}

static void list_json(hvi_json *j, const hvi_env_kind *kind, const hvi_env *env,
                      const hvi_error *why) {
  hvi_json_open(j, NULL, '{');
  hvi_json_text(j, "name", kind->name);
  hvi_json_text(j, "summary", kind->summary);
  hvi_json_text(j, "needs", kind->needs);
  hvi_json_bool(j, "available", env != NULL);
  if (env) {
    hvi_json_count(j, "obs", env->obs);
    hvi_json_count(j, "act", env->act);
  } else {
    hvi_json_text(j, "missing", why->text);
  }
  hvi_json_close(j, '}');
}

static int list_all(hvi_json *j) {
  size_t count;
  hvi_error missing = {HVI_OK, ""};
  const hvi_env_kind *kinds = hvi_env_list(&count);
  for (size_t k = 0; k < count; k++) {
    hvi_env *env = NULL;
    hvi_error err = {HVI_OK, ""};
    const hvi_status status = hvi_env_new(&env, kinds[k].name, &err);
    if (status && status != HVI_ERROR_UNSUPPORTED) return hvi_complain_error(&err);
    if (status && !missing.status) missing = err;
    if (j) {
      list_json(j, &kinds[k], env, &err);
    } else {
      list_row(&kinds[k], env);
    }
    hvi_env_free(env);
  }
  if (missing.status && !j) printf("\n%s\n", missing.text);
  return HVI_EXIT_DONE;
}

static hvi_arg json_option(bool *json) {
  return (hvi_arg){
      .name = "json", .kind = HVI_ARG_FLAG, .to = json, .help = "as one JSON object on stdout"};
}

static int env_list(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {.command = "env list",
                   .usage = "[OPTION]...",
                   .summary = "Lists the environments, with the lengths of an observation and an "
                              "action, and which of them\nneed a library and have it.",
                   .examples = "  hvi env list\n  hvi env list --json"};
  hvi_args_add(&args, (hvi_arg[]){json_option(&json), {0}});
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  if (!json) {
    printf("  %-13s %5s %5s  %-8s %-5s\n", "name", "obs", "act", "needs", "there");
    return list_all(NULL);
  }
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_open(&j, "environments", '[');
  code = list_all(&j);
  hvi_json_close(&j, ']');
  hvi_json_close(&j, '}');
  return code;
}

static void info_json(const hvi_env *env) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "name", env->name);
  hvi_json_count(&j, "obs", env->obs);
  hvi_json_count(&j, "act", env->act);
  hvi_json_count(&j, "state", env->state);
  hvi_json_number(&j, "low", env->low);
  hvi_json_number(&j, "high", env->high);
  hvi_json_count(&j, "time_limit", env->time_limit);
  hvi_json_number(&j, "dt", env->dt);
  hvi_json_bool(&j, "noisy", env->noisy);
  hvi_json_number(&j, "reward_bound", env->reward_bound);
  hvi_json_close(&j, '}');
}

static void info_text(const hvi_env *env) {
  printf("name          %s\n", env->name);
  printf("observation   %zu numbers\n", env->obs);
  if (isfinite(env->low)) {
    printf("action        %zu numbers in [%g, %g]\n", env->act, env->low, env->high);
  } else {
    printf("action        %zu numbers, any\n", env->act);
  }
  printf("saved state   %zu numbers\n", env->state);
  printf("time limit    %zu steps\n", env->time_limit);
  if (env->dt > 0.0) printf("a step        %g s\n", env->dt);
  printf("noise         %s\n", env->noisy ? "at the start and in every step" : "at the start only");
  if (isfinite(env->reward_bound)) printf("reward        at most %g in size\n", env->reward_bound);
}

static int env_info(int argc, char **argv) {
  bool json = false;
  int code;
  hvi_args args = {.command = "env info",
                   .usage = "ENV [OPTION]...",
                   .summary = "Prints the sizes, ranges and limits of an environment.",
                   .examples = "  hvi env info ant\n  hvi env info pendulum --json",
                   .min = 1,
                   .max = 1,
                   .operand = "name of an environment"};
  hvi_args_add(&args, (hvi_arg[]){json_option(&json), {0}});
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  hvi_env *env = NULL;
  hvi_error err = {HVI_OK, ""};
  if (hvi_env_new(&env, args.operands[0], &err)) return hvi_complain_error(&err);
  if (json) {
    info_json(env);
  } else {
    info_text(env);
  }
  hvi_env_free(env);
  return HVI_EXIT_DONE;
}

int hvi_cli_env(int argc, char **argv) {
  static const hvi_verb verbs[] = {{"list", env_list},
                                   {"info", env_info},
                                   {"replay", hvi_cli_env_replay},
                                   {"bench", hvi_cli_env_bench},
                                   {NULL, NULL}};
  hvi_args args = {.command = "env",
                   .usage = "list|info|replay|bench [ENV] [OPTION]...",
                   .summary = "list     the environments that there are\n"
                              "info     sizes, ranges and limits of one\n"
                              "replay   what happens under given actions\n"
                              "bench    steps per second, next to the physics alone\n\n"
                              "'hvi env replay --help' shows the options of one of them.",
                   .examples = "  hvi env list\n"
                               "  hvi env info half_cheetah\n"
                               "  hvi env replay ant --actions actions.npy --out rows.npy\n"
                               "  hvi env bench ant --threads 2"};
  return hvi_verbs_run(verbs, &args, argc, argv);
}
