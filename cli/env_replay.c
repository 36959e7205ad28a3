/* hvi env replay: what happens under given actions, row by row. */
#include "env_verbs.h"

#include "args.h"
#include "base/memory.h"
#include "exit_codes.h"
#include "io/npy.h"
#include "json.h"
#include "num/vec.h"
#include "signals.h"
#include "talk.h"

#include <hvi/rollout.h>

#include <stdio.h>
#include <string.h>

typedef struct replay {
  const char *actions_path, *state_path, *out_path, *save_path;
  uint64_t seed;
  bool seeded, json;
  /* made on the way */
  hvi_env *env;
  hvi_array actions; /* [steps][act] */
  double *rows;      /* [steps][obs + 2] */
  double *state;     /* [state] at the end */
  hvi_replay got;
  bool interrupted;
} replay;

/* An .npy file of finite numbers in rows of `width`; one row may come without its axis. */
static int read_rows(hvi_array *a, const char *path, size_t width, const char *what) {
  hvi_error err = {HVI_OK, ""};
  if (hvi_npy_read(a, path, 0, &err)) return hvi_complain_error(&err);
  const bool flat = a->dims == 1 && (a->shape[0] == width || width == 1);
  if (!flat && !(a->dims == 2 && a->shape[1] == width)) {
    return hvi_complain(HVI_EXIT_INPUT, "'%s' should have rows of %zu numbers: %s", path, width,
                        what);
  }
  if (!hvi_vec_finite(a->data, a->size)) {
    return hvi_complain(HVI_EXIT_INPUT, "'%s' has a number that is not finite", path);
  }
  return HVI_EXIT_DONE;
}

static int load_state(replay *r) {
  hvi_array state = {0};
  char what[96];
  snprintf(what, sizeof what, "a saved state of %s", r->env->name);
  int code = read_rows(&state, r->state_path, r->env->state, what);
  if (!code && state.size != r->env->state) {
    code = hvi_complain(HVI_EXIT_INPUT, "'%s' has %zu states; one is needed", r->state_path,
                        state.size / r->env->state);
  }
  if (!code) hvi_env_restore(r->env, state.data);
  hvi_array_free(&state);
  return code;
}

static int load(replay *r, const char *name) {
  hvi_error err = {HVI_OK, ""};
  char what[96];
  if (hvi_env_new(&r->env, name, &err)) return hvi_complain_error(&err);
  snprintf(what, sizeof what, "an action of %s each", r->env->name);
  int code = read_rows(&r->actions, r->actions_path, r->env->act, what);
  if (!code && r->state_path) code = load_state(r);
  if (code) return code;
  const size_t steps = r->actions.size / r->env->act;
  r->rows = hvi_alloc(steps, (r->env->obs + 2) * sizeof(double));
  r->state = hvi_alloc_doubles(r->env->state);
  if (r->rows && r->state) return HVI_EXIT_DONE;
  return hvi_complain(HVI_EXIT_SYSTEM, "out of memory: a replay of %zu steps", steps);
}

static bool stop(void *context) {
  (void)context;
  return hvi_signals_interrupted();
}

static void run(replay *r) {
  hvi_rng rng = hvi_rng_new(r->seed, "replay", 0);
  hvi_rng *noise = r->seeded ? &rng : NULL;
  const size_t steps = r->actions.size / r->env->act;
  if (!r->state_path) hvi_env_reset(r->env, noise);
  r->got = hvi_env_replay(r->env, r->actions.data, steps, noise, r->rows, stop, NULL);
  r->interrupted = r->got.done < steps && !r->got.terminated;
}

static int write_files(replay *r) {
  hvi_error err = {HVI_OK, ""};
  const size_t shape[] = {r->got.done, r->env->obs + 2};
  if (r->out_path && hvi_npy_write(r->out_path, r->rows, 2, shape, &err)) {
    return hvi_complain_error(&err);
  }
  if (!r->save_path) return HVI_EXIT_DONE;
  hvi_env_save(r->env, r->state);
  if (hvi_npy_write(r->save_path, r->state, 1, &r->env->state, &err)) {
    return hvi_complain_error(&err);
  }
  return HVI_EXIT_DONE;
}

static void rows_json(hvi_json *j, const replay *r) {
  const size_t obs = r->env->obs;
  hvi_json_open(j, "rows", '[');
  for (size_t t = 0; t < r->got.done; t++) {
    const double *row = r->rows + t * (obs + 2);
    hvi_json_open(j, NULL, '{');
    hvi_json_numbers(j, "observation", row, obs);
    hvi_json_number(j, "reward", row[obs]);
    hvi_json_bool(j, "terminated", row[obs + 1] != 0.0);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static void print_json(const replay *r) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "name", r->env->name);
  hvi_json_count(&j, "steps", r->got.done);
  hvi_json_number(&j, "return", r->got.sum);
  hvi_json_bool(&j, "terminated", r->got.terminated);
  hvi_json_bool(&j, "broken", r->got.broken);
  if (r->got.limit_at) hvi_json_count(&j, "time_limit_at", r->got.limit_at);
  if (!r->out_path) rows_json(&j, r);
  hvi_json_close(&j, '}');
}

static void print_text(const replay *r) {
  printf("%s: %zu steps, return %.17g\n", r->env->name, r->got.done, r->got.sum);
  if (r->got.limit_at) printf("the time limit was reached at step %zu\n", r->got.limit_at);
  if (r->got.terminated && !r->got.broken) {
    printf("the episode terminated at step %zu of %zu\n", r->got.done,
           r->actions.size / r->env->act);
  }
}

static int finish(replay *r) {
  const int code = write_files(r);
  if (code) return code;
  if (r->json) {
    print_json(r);
  } else {
    print_text(r);
  }
  if (r->got.broken) {
    return hvi_complain(
        HVI_EXIT_DIVERGED,
        "the simulation broke at step %zu: its numbers left the range it can handle", r->got.done);
  }
  return r->interrupted ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static void add_options(replay *r, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {"actions", 0, HVI_ARG_TEXT, &r->actions_path, .value = "FILE", .help = ".npy file of actions, one row a step"},
      {"state", 0, HVI_ARG_TEXT, &r->state_path, .value = "FILE",
       .help = ".npy file of a saved state to start from (the initial state without noise)"},
      {"seed", 0, HVI_ARG_SEED, &r->seed,
       .help = "draw the initial state, and the noise of steps where there is any; without it there is no noise"},
      {"out", 0, HVI_ARG_TEXT, &r->out_path, .value = "FILE",
       .help = "write rows of observation, reward, terminated (0 or 1) as an .npy file"},
      {"save-state", 0, HVI_ARG_TEXT, &r->save_path, .value = "FILE", .help = "write the state at the end, for --state"},
      {"json", 0, HVI_ARG_FLAG, &r->json, .help = "one JSON object on stdout, with the rows unless --out"},
      {0}});
  /* clang-format on */
}

int hvi_cli_env_replay(int argc, char **argv) {
  hvi_talk talk = hvi_talk_new();
  replay r = {0};
  int code;
  hvi_args args = {
      .command = "env replay",
      .usage = "ENV --actions FILE [OPTION]...",
      .summary =
          "Gives an environment the actions of a file and keeps what it answers. Stops where "
          "the episode\nterminates; the time limit is passed over. Observations, states and "
          "rewards repeat to the bit.",
      .examples = "  hvi env replay ant --actions a.npy --out rows.npy\n"
                  "  hvi env replay half_cheetah --actions a.npy --save-state s.npy\n"
                  "  hvi env replay half_cheetah --actions b.npy --state s.npy --json",
      .min = 1,
      .max = 1,
      .operand = "name of an environment"};
  add_options(&r, &args);
  hvi_talk_options(&talk, &args);
  if (!hvi_args_parse(&args, argc, argv, &code)) return code;
  if (!r.actions_path) return hvi_complain(HVI_EXIT_USAGE, "env replay needs --actions FILE");
  r.seeded = hvi_args_given(&args, "seed");
  code = load(&r, args.operands[0]);
  if (!code) {
    run(&r);
    code = finish(&r);
  }
  hvi_env_free(r.env);
  hvi_array_free(&r.actions);
  hvi_free(r.rows);
  hvi_free(r.state);
  return code;
}
