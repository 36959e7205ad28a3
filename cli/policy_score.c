/*
 * hvi policy score: the return of a policy over whole episodes.
 *
 * Episode k has generators of its own, for the environment and for the policy's noise, so its
 * return is the same on whichever thread it runs.
 */
#include "args.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "exit_codes.h"
#include "json.h"
#include "num/stats.h"
#include "policy.h"
#include "rollout.h"
#include "signals.h"

#include <math.h>
#include <string.h>

/* What one thread works with. */
typedef struct player {
  hvi_env *env;
  float *scratch;
  double *obs, *action;
} player;

typedef struct scoring {
  size_t episodes, threads;
  bool deterministic, json;
  uint64_t seed;
  const char *file;
  hvi_env *env;
  hvi_policy *policy;
  player *players;  /* [threads] */
  double *returns;  /* [episodes] */
  double *lengths;  /* [episodes] */
  bool *terminated; /* [episodes] */
} scoring;

static hvi_status play(void *context, size_t episode, size_t worker, hvi_error *err) {
  scoring *s = context;
  player *p = &s->players[worker];
  hvi_rng world = hvi_rng_new(s->seed, "score world", episode);
  hvi_rng noise = hvi_rng_new(s->seed, "score noise", episode);
  hvi_transition t = {0};
  double sum = 0.0, length = 0.0;
  hvi_env_reset(p->env, &world);
  while (!t.terminated && !t.truncated) {
    hvi_env_observe(p->env, p->obs);
    hvi_policy_act(s->policy, p->scratch, 1, p->obs, s->deterministic ? NULL : &noise, p->action);
    t = hvi_env_step(p->env, p->action, &world);
    if (t.broken)
      return hvi_error_set(err, HVI_ERROR_INPUT,
                           "the simulation of episode %zu broke down at step %.0f", episode,
                           length);
    if (hvi_signals_interrupted()) return hvi_error_set(err, HVI_ERROR_UNSUPPORTED, "interrupted");
    sum += t.reward;
    length += 1.0;
  }
  s->returns[episode] = sum;
  s->lengths[episode] = length;
  s->terminated[episode] = t.terminated;
  return HVI_OK;
}

static hvi_status prepare(scoring *s, hvi_error *err) {
  s->players = hvi_alloc(s->threads, sizeof *s->players);
  s->returns = hvi_alloc_doubles(s->episodes);
  s->lengths = hvi_alloc_doubles(s->episodes);
  s->terminated = hvi_alloc(s->episodes, sizeof *s->terminated);
  if (!s->players || !s->returns || !s->lengths || !s->terminated)
    return hvi_error_memory(err, "the episodes");
  for (size_t i = 0; i < s->threads; i++) {
    player *p = &s->players[i];
    const hvi_status status = hvi_env_clone(s->env, &p->env, err);
    if (status != HVI_OK) return status;
    p->scratch = hvi_alloc(hvi_policy_scratch(s->policy, 1), sizeof *p->scratch);
    p->obs = hvi_alloc_doubles(s->env->obs);
    p->action = hvi_alloc_doubles(s->env->act);
    if (!p->scratch || !p->obs || !p->action) return hvi_error_memory(err, "the episodes");
  }
  return HVI_OK;
}

static void clear(scoring *s) {
  for (size_t i = 0; s->players && i < s->threads; i++) {
    hvi_env_free(s->players[i].env);
    hvi_free(s->players[i].scratch);
    hvi_free(s->players[i].obs);
    hvi_free(s->players[i].action);
  }
  hvi_free(s->players);
  hvi_free(s->returns);
  hvi_free(s->lengths);
  hvi_free(s->terminated);
  hvi_policy_free(s->policy);
  hvi_env_free(s->env);
}

typedef struct summary {
  double mean, half_width, sd, least, most, shortest, longest, length;
  size_t terminated;
} summary;

static void range_of(double *least, double *most, const double *x, size_t n) {
  *least = *most = x[0];
  for (size_t i = 1; i < n; i++) {
    *least = fmin(*least, x[i]);
    *most = fmax(*most, x[i]);
  }
}

static summary summarise(const scoring *s) {
  const size_t n = s->episodes;
  summary r = {.mean = hvi_stats_mean(s->returns, n),
               .half_width = hvi_stats_interval95(s->returns, n),
               .sd = sqrt(hvi_stats_variance(s->returns, n)),
               .length = hvi_stats_mean(s->lengths, n)};
  range_of(&r.least, &r.most, s->returns, n);
  range_of(&r.shortest, &r.longest, s->lengths, n);
  for (size_t i = 0; i < n; i++) r.terminated += s->terminated[i] ? 1U : 0U;
  return r;
}

static void print_text(const scoring *s) {
  const summary r = summarise(s);
  printf("%s, %zu episodes, %s actions\n", s->env->name, s->episodes,
         s->deterministic ? "mean" : "sampled");
  if (isnan(r.half_width)) {
    printf("mean return   %.6g\n", r.mean);
  } else {
    printf("mean return   %.6g +- %.3g (95 %%)\n", r.mean, r.half_width);
  }
  printf("deviation     %.4g\n", r.sd);
  printf("range         %.6g .. %.6g\n", r.least, r.most);
  printf("length        %.6g (%.0f .. %.0f), %zu ended before the time limit\n", r.length,
         r.shortest, r.longest, r.terminated);
}

static void print_json(const scoring *s) {
  const summary r = summarise(s);
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "env", s->env->name);
  hvi_json_text(&j, "policy", s->file);
  hvi_json_count(&j, "episodes", s->episodes);
  hvi_json_count(&j, "seed", s->seed);
  hvi_json_bool(&j, "deterministic", s->deterministic);
  hvi_json_number(&j, "mean", r.mean);
  hvi_json_number(&j, "half_width_95", r.half_width);
  hvi_json_number(&j, "sd", r.sd);
  hvi_json_number(&j, "min", r.least);
  hvi_json_number(&j, "max", r.most);
  hvi_json_number(&j, "mean_length", r.length);
  hvi_json_count(&j, "terminated", r.terminated);
  hvi_json_numbers(&j, "returns", s->returns, s->episodes);
  hvi_json_numbers(&j, "lengths", s->lengths, s->episodes);
  hvi_json_close(&j, '}');
}

static hvi_status open_policy(scoring *s, const char *name, hvi_error *err) {
  const hvi_status status = hvi_env_new(&s->env, name, err);
  return status ? status : hvi_rollout_policy(&s->policy, s->file, s->env, err);
}

static int score(scoring *s, const char *name) {
  hvi_error err = {HVI_OK, ""};
  hvi_status status = open_policy(s, name, &err);
  if (s->threads == 0) s->threads = hvi_parallel_cores();
  if (s->threads > s->episodes) s->threads = s->episodes;
  if (status == HVI_OK) status = prepare(s, &err);
  if (status == HVI_OK) status = hvi_parallel_run(s->episodes, s->threads, play, s, &err);
  if (status != HVI_OK && hvi_signals_interrupted())
    return hvi_complain(HVI_EXIT_INTERRUPTED, "interrupted");
  if (status != HVI_OK) return hvi_complain_error(&err);
  if (s->json) {
    print_json(s);
  } else {
    print_text(s);
  }
  return HVI_EXIT_DONE;
}

static void describe(hvi_args *args, scoring *s) {
  hvi_args_add(args, (hvi_arg[]){{.name = "policy",
                                  .kind = HVI_ARG_TEXT,
                                  .to = &s->file,
                                  .value = "FILE",
                                  .help = "the policy, or \"default\" for lqr's own (required)"},
                                 {.name = "episodes",
                                  .letter = 'n',
                                  .kind = HVI_ARG_SIZE,
                                  .to = &s->episodes,
                                  .range = "[1,10000000]",
                                  .value = "N",
                                  .help = "whole episodes"},
                                 {.name = "deterministic",
                                  .kind = HVI_ARG_FLAG,
                                  .to = &s->deterministic,
                                  .help = "the mean action, without noise"},
                                 {.name = "seed",
                                  .kind = HVI_ARG_SEED,
                                  .to = &s->seed,
                                  .value = "S",
                                  .help = "of first states and noise"},
                                 {.name = "threads",
                                  .kind = HVI_ARG_SIZE,
                                  .to = &s->threads,
                                  .range = "[0,1024]",
                                  .value = "N",
                                  .help = "threads (0: one per core); the result is the same"},
                                 {.name = "json",
                                  .kind = HVI_ARG_FLAG,
                                  .to = &s->json,
                                  .help = "one JSON object on stdout"},
                                 {0}});
}

int hvi_cli_policy_score(int argc, char **argv) {
  int code;
  scoring s = {.episodes = 20, .seed = 1};
  hvi_args args = {
      .command = "policy score",
      .usage = "ENV --policy FILE [OPTION]...",
      .summary = "Runs whole episodes under a policy and prints their mean return with its 95 %\n"
                 "Student interval, and their lengths. Rewards are not discounted.",
      .examples = "  hvi policy score half_cheetah --policy half_cheetah.safetensors\n"
                  "  hvi policy score lqr --policy default --episodes 100 --json",
      .min = 1,
      .max = 1,
      .operand = "environment"};
  describe(&args, &s);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  if (!s.file) return hvi_complain(HVI_EXIT_USAGE, "policy score needs --policy FILE");
  code = score(&s, args.operands[0]);
  clear(&s);
  return code;
}
