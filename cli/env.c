/* hvi env: the environments, what they are like, what they answer to actions, and their speed. */
#include "env.h"
#include "base/base.h"
#include "base/parallel.h"
#include "commands.h"
#include "rollout.h"

HVI_RELEASE(hvi_env)

static const char operand[] = "name of an environment";

static int list_all(void) {
  size_t count;
  const hvi_env_kind *kinds = hvi_env_list(&count);
  hvi_error missing = {HVI_OK, ""};
  for (size_t k = 0; k < count; k++) {
    HVI_OWN_BY(hvi_env_release) hvi_env *env = NULL;
    const hvi_status status = hvi_env_new(&env, kinds[k].name, &hvi_fault);
    if (status && status != HVI_ERROR_UNSUPPORTED) return hvi_complain_fault();
    if (status && !missing.status) missing = hvi_fault;
    hvi_table_row(
        CELL("name", -13, 0, 1, "name", kinds[k].name),
        CELL("obs", 5, 0, 1, "obs", env ? (double)env->obs : NAN),
        CELL("act", 5, 0, 1, "act", env ? (double)env->act : NAN),
        CELL("needs", -8, 0, 1, "needs", kinds[k].needs), J("available", (bool)(env != NULL)),
        CELL("there", -5, 0, 1, NULL, env ? "yes" : "no"),
        J("missing", env ? NULL : hvi_fault.text), CELL("", 0, 0, 1, "summary", kinds[k].summary));
  }
  if (missing.status && !hvi_talk.json) printf("\n%s\n", missing.text);
  return HVI_EXIT_DONE;
}

static int env_list(int argc, char **argv) {
  hvi_args args = {"env list", .usage = "[OPTION]...", .also = "json"};
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  hvi_json_begin();
  hvi_json_open("environments", '[');
  const int code = list_all();
  hvi_json_end();
  return code;
}

static int env_info(int argc, char **argv) {
  hvi_args args = {"env info", "ENV [OPTION]...", .operand = operand, .also = "json"};
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  HVI_OWN_BY(hvi_env_release) hvi_env *env = NULL;
  HVI_CALL(hvi_env_new(&env, args.operands[0], &hvi_fault));
  const char *range = isfinite(env->low) ? hvi_format(" numbers in [%g, %g]", env->low, env->high)
                                         : " numbers, any";
  hvi_json_begin();
  hvi_show(
      LINE("name", "", "name", env->name), LINE("observation", " numbers", "obs", env->obs),
      LINE("action", range, "act", env->act), LINE("saved state", " numbers", "state", env->state),
      J("low", env->low), J("high", env->high),
      LINE("time limit", " steps", "time_limit", env->time_limit),
      LINE(env->dt > 0.0 ? "a step" : NULL, " s", "dt", env->dt), J("noisy", env->noisy),
      LINE("noise", "", NULL, env->noisy ? "at the start and in every step" : "at the start only"),
      LINE("reward", " at most, in size", "reward_bound", env->reward_bound));
  hvi_json_end();
  return HVI_EXIT_DONE;
}

/* What a replay was asked for, and what it made. */
typedef struct replay {
  const char *actions_path, *state_path, *out_path, *save_path;
  uint64_t seed;
  bool seeded;
  /* made on the way */
  hvi_env *env;
  hvi_array actions; /* [steps][act] */
  size_t steps;
  double *rows;  /* [steps][obs + 2] */
  double *state; /* [state] at the end, in the same piece of memory */
  hvi_replay got;
} replay;

static int load_state(replay *r) {
  const size_t size = r->env->state;
  HVI_OWN_BY(hvi_array_free) hvi_array state = {0};
  HVI_STEP(
      hvi_read_rows(&state, r->state_path, size, hvi_format("a saved state of %s", r->env->name)));
  if (state.size != size)
    return hvi_bad_input("'%s' has %zu states; one is needed", r->state_path, state.size / size);
  hvi_env_restore(r->env, state.data);
  return HVI_EXIT_DONE;
}

static int open_replay(replay *r, const char *name) {
  HVI_CALL(hvi_env_new(&r->env, name, &hvi_fault));
  HVI_STEP(hvi_read_rows(&r->actions, r->actions_path, r->env->act,
                         hvi_format("an action of %s each", r->env->name)));
  if (r->state_path) HVI_STEP(load_state(r));
  r->steps = r->actions.size / r->env->act;
  const size_t size = r->steps * (r->env->obs + 2); /* the file had these steps */
  r->rows = hvi_alloc_doubles(size + r->env->state);
  if (!r->rows)
    return hvi_complain(HVI_EXIT_SYSTEM, "out of memory: a replay of %zu steps", r->steps);
  r->state = r->rows + size;
  return HVI_EXIT_DONE;
}

static bool stop_replay(void *context) {
  (void)context;
  return hvi_signals_interrupted();
}

static void show_replay(const replay *r) {
  const size_t obs = r->env->obs, shown = r->out_path ? 0 : r->got.done;
  hvi_json_begin();
  hvi_json_put(V("name", r->env->name), V("steps", r->got.done), V("return", r->got.sum),
               V("terminated", r->got.terminated), V("broken", r->got.broken));
  if (r->got.limit_at) hvi_json_put(V("time_limit_at", r->got.limit_at));
  if (!r->out_path) hvi_json_open("rows", '[');
  for (const double *row = r->rows; row < r->rows + shown * (obs + 2); row += obs + 2)
    hvi_json_object(NULL, hvi_value_numbers("observation", row, obs), V("reward", row[obs]),
                    V("terminated", (bool)(row[obs + 1] != 0.0)));
  hvi_json_end();
  if (hvi_talk.json) return;
  printf("%s: %zu steps, return %.17g\n", r->env->name, r->got.done, r->got.sum);
  if (r->got.limit_at) printf("the time limit was reached at step %zu\n", r->got.limit_at);
  if (r->got.terminated && !r->got.broken)
    printf("the episode terminated at step %zu of %zu\n", r->got.done, r->steps);
}

static int run_replay(replay *r) {
  hvi_rng rng = hvi_rng_new(r->seed, "replay", 0), *noise = r->seeded ? &rng : NULL;
  if (!r->state_path) hvi_env_reset(r->env, noise);
  r->got = hvi_env_replay(r->env, r->actions.data, r->steps, noise, r->rows, stop_replay, NULL);
  const size_t shape[] = {r->got.done, r->env->obs + 2};
  hvi_env_save(r->env, r->state);
  if (r->out_path)
    HVI_CALL(hvi_npy_write(r->out_path, r->rows, 2, shape, HVI_NPY_ROWS, &hvi_fault));
  if (r->save_path)
    HVI_CALL(hvi_npy_write(r->save_path, r->state, 1, &r->env->state, HVI_NPY_STATE, &hvi_fault));
  show_replay(r);
  if (r->got.broken)
    return hvi_complain(
        HVI_EXIT_DIVERGED,
        "the simulation broke at step %zu: its numbers left the range it can handle", r->got.done);
  return r->got.done < r->steps && !r->got.terminated ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static int env_replay(int argc, char **argv) {
  replay r = {0};
  hvi_args args = {"env replay", "ENV --actions FILE [OPTION]...", .operand = operand,
                   .also = "force quiet verbose"};
  hvi_args_add(&args,
      {"actions", 0, HVI_SETTING_TEXT, &r.actions_path, .value = "FILE", .help = ".npy file of actions, one row a step"},
      {"state", 0, HVI_SETTING_TEXT, &r.state_path, .value = "FILE",
       .help = ".npy file of a saved state to start from (the initial state without noise)"},
      {"seed", 0, HVI_SETTING_SEED, &r.seed,
       .help = "draw the initial state, and the noise of steps where there is any; without it there is no noise"},
      {"out", 0, HVI_SETTING_TEXT, &r.out_path, .value = "FILE", .help = "write rows of observation, reward, terminated (0 or 1) as an .npy file"},
      {"save-state", 0, HVI_SETTING_TEXT, &r.save_path, .value = "FILE", .help = "write the state at the end, for --state"},
      {"json", 0, HVI_SETTING_FLAG, &hvi_talk.json, .help = "one JSON object on stdout, with the rows unless --out"});
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  if (!r.actions_path) return hvi_misuse("env replay needs --actions FILE");
  HVI_STEP(hvi_output_check(r.out_path, HVI_NPY_ROWS));
  HVI_STEP(hvi_output_check(r.save_path, HVI_NPY_STATE));
  r.seeded = hvi_args_given(&args, "seed");
  int code = open_replay(&r, args.operands[0]);
  if (!code) code = run_replay(&r);
  hvi_env_free(r.env);
  hvi_array_free(&r.actions);
  hvi_free(r.rows);
  return code;
}

#define RATE(label, after, name, seconds)                                                          \
  { .value = V(name, 1.0 / (seconds)), .title = label, .unit = after, .digits = 1 }

static void show_bench(const hvi_env *env, const env_bench_result *r, const env_bench_options *o) {
  if (!hvi_talk.json)
    printf("%s, %zu steps, the fastest of %zu: steps per second\n", env->name, o->steps,
           o->repeats);
  hvi_json_begin();
  hvi_show(J("name", env->name), J("steps", o->steps), J("repeats", o->repeats),
           J("threads", o->threads), J("batch", r->batch),
           RATE("one environment", "", "steps_per_s", r->one),
           RATE("bare loop", " of mj_step", "bare_steps_per_s", r->bare),
           LINE("one of bare", "", "of_bare", r->bare / r->one),
           RATE("batch", hvi_format(" with %zu of them on 1 thread", r->batch),
                "batch_steps_per_s_1_thread", r->batch_one),
           RATE("", hvi_format(" on %zu threads", o->threads), "batch_steps_per_s", r->batch_all),
           LINE("", " times one thread", "scaling", r->batch_one / r->batch_all),
           J("agrees", r->agrees));
  hvi_json_end();
  if (!r->agrees && !hvi_talk.json) puts("two runs that should agree do not: this is a defect");
}

static int env_bench(int argc, char **argv) {
  HVI_OWN_BY(hvi_env_release) hvi_env *env = NULL;
  env_bench_options o = {.repeats = 10, .steps = 1000, .progress = hvi_progress_count};
  env_bench_result result;
  bool done;
  hvi_args args = {"env bench", "ENV [OPTION]...", .operand = operand,
                   .also = "json quiet verbose"};
  hvi_args_add(&args,
      {"steps", 0, HVI_SETTING_COUNT, &o.steps, .range = "[1,1000000000]", .help = "steps of one measurement"},
      {"repeats", 0, HVI_SETTING_COUNT, &o.repeats, .range = "[1,1000000]", .help = "repeats of each measurement"});
  hvi_args_jobs(&args, &o.threads);
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  o.threads = hvi_parallel_threads(o.threads);
  HVI_CALL(hvi_env_new(&env, args.operands[0], &hvi_fault));
  hvi_progress_start("env", o.repeats);
  HVI_CALL(hvi_progress_end(bench_env_run(&result, &done, env, &o, &hvi_fault)));
  if (done) show_bench(env, &result, &o);
  return hvi_signals_interrupted() ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

int hvi_cli_env(int argc, char **argv) {
  static const hvi_verb verbs[] = {
      {"list", env_list, "the environments that there are", ""},
      {"info", env_info, "sizes, ranges and limits of one", "ENV"},
      {"replay", env_replay, "what happens under given actions", "ENV"},
      {"bench", env_bench, "steps per second, next to the physics alone", "ENV"},
      {0}};
  hvi_args args = {"env", .usage = "list|info|replay|bench [ENV] [OPTION]..."};
  return hvi_args_verb(&args, verbs, argc, argv);
}
