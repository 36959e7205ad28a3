/* hvi bench: speed, as ratios to limits measured in the same run. */
#include "base/base.h"
#include "base/embedded.h"
#include "bellman.h"
#include "commands.h"
#include "evaluate.h"
#include "games.h"
#include "gpu.h"
#include "mlp.h"
#include "profile.h"
#include "sac.h"
#include "sac_gpu.h"

static bench_options options = {.repeats = 20,
                                .outer = 1000,
                                .instances = 1000,
                                .states = 1000000,
                                .games = 10,
                                .seed = 1,
                                .progress = hvi_progress_count};

static void games_show(const void *rows, size_t i) {
  const games_row *r = (const games_row *)rows + i;
  if (i == GAMES_SMALL)
    hvi_table_begin("\ntwo players behind networks 8-w-w-4, one thread: an inner step of both");
  if (i >= GAMES_SMALL) {
    hvi_table_row(J("game", r->game), CELL("method", -6, 0, 1, "method", r->label),
                  CELL("precision", -9, 0, 1, "precision", r->single ? "single" : "double"),
                  CELL("rows", 6, 0, 1, "rows", r->rows), CELL("w", 5, 0, 1, "width", r->width),
                  CELL("us", 12, 1, 1e6, "step_seconds", r->step),
                  CELL("limit", 12, 1, 1e6, "limit_seconds", r->limit),
                  CELL("ratio", 7, 2, 1, "ratio", r->step / r->limit),
                  CELL("of FMA", 7, 2, 1, "of_fma", r->fma / r->step));
    return;
  }
  hvi_table_row(
      CELL("game", -8, 0, 1, "game", r->game), CELL("method", -8, 0, 1, "method", r->label),
      CELL("hvi", 8, 1, 1, "trajectory_ns", r->trajectory),
      CELL("by hand", 8, 1, 1, "by_hand_ns", r->by_hand),
      CELL("ratio", 6, 2, 1, "ratio", r->trajectory / r->by_hand),
      CELL("g", 5, -3, 1, "model_passes", r->model_passes),
      CELL("J'u", 5, -3, 1, "grad_evals", r->grad_evals),
      CELL("F", 5, -3, 1, "f_evals", r->f_evals), CELL("lanes", 8, 2, 1, "lanes_ns", r->lanes),
      CELL("one by one", 10, 1, 1, "one_by_one_ns", r->one_by_one),
      CELL("speed-up", 8, 2, 1, NULL, r->one_by_one / r->lanes), J("agrees", r->agrees),
      LINE("", "", NULL, r->agrees ? "" : "(the two disagree: this is a defect)"));
}

static double bandwidth(const bellman_row *r) { return r->bytes / r->seconds; }

static void bellman_show(const void *rows, size_t i) {
  const bellman_row *all = rows, *r = all + i;
  hvi_table_row(
      CELL("product", -10, 0, 1, "product", r->label),
      CELL("matrix", -18, 0, 1, "matrix", r->matrix), CELL("ms", 10, 2, 1e3, "seconds", r->seconds),
      CELL("GB/s", 8, 2, 1, "gb_per_s", 1e-9 * bandwidth(r)),
      CELL("of triad", 10, 2, 1, "of_triad", bandwidth(r) / bandwidth(&all[BELLMAN_TRIAD])));
}

static void mlp_show(const void *rows, size_t i) {
  const mlp_row *r = (const mlp_row *)rows + i, *gradient = r;
  const double rate = r->first_order ? r->flops / r->step : NAN;
  while (gradient > (const mlp_row *)rows && strcmp(gradient->optimizer, "gd") != 0) gradient--;
  hvi_table_row(CELL("layers", 6, 0, 1, "hidden_layers", r->hidden),
                CELL("batch", 6, 0, 1, "batch", r->batch),
                CELL("optimizer", -9, 0, 1, "optimizer", r->optimizer),
                CELL("us", 12, 1, 1e6, "step_seconds", r->step), J("sgemm_seconds", r->sgemm),
                J("own_seconds", r->own), CELL("GFLOP/s", 8, 1, 1, "gflop_per_s", 1e-9 * rate),
                CELL("of sgemm", 9, 2, 1, "of_sgemm", r->sgemm / r->step),
                CELL("of own", 9, 2, 1, "of_own", r->own / r->step),
                CELL("of best", 9, 2, 1, "of_best", rate / r->peak),
                CELL("of FMA", 7, 2, 1, "of_fma", rate / r->fma),
                CELL("of gd", 9, 2, 1, NULL, r->step / gradient->step));
}

static void sac_show(const void *rows, size_t i) {
  const sac_row *r = (const sac_row *)rows + i;
  const double both = r->critics + r->actor;
  hvi_table_row(CELL("sizes of", -14, 0, 1, "env", r->env),
                CELL("critics, ms", 12, 2, 1e3, "critics_seconds", r->critics),
                CELL("actor, ms", 9, 2, 1e3, "actor_seconds", r->actor),
                CELL("both, ms", 9, 2, 1e3, "update_seconds", both), J("sgemm_seconds", r->sgemm),
                CELL("GFLOP/s", 8, 1, 1, "gflop_per_s", 1e-9 * r->flops / both),
                CELL("of sgemm", 9, 2, 1, "of_sgemm", r->sgemm / both),
                CELL("of FMA", 7, 2, 1, "of_fma", r->flops / both / r->fma));
}

static void evaluate_show(const void *rows, size_t i) {
  const evaluate_row *r = (const evaluate_row *)rows + i;
  const double overhead = r->step / (r->targets + r->inner) - 1.0;
  if (r->available)
    hvi_table_row(CELL("environment", -13, 0, 1, "env", r->env),
                  CELL("collect", 9, 2, 1e3, "collect_seconds", r->collect),
                  CELL("targets", 9, 2, 1e3, "targets_seconds", r->targets),
                  CELL("inner", 9, 1, 1e3, "inner_seconds", r->inner), J("sgemm_seconds", r->sgemm),
                  CELL("of sgemm", 9, 2, 1, "of_sgemm", r->sgemm / r->inner),
                  CELL("of FMA", 7, 2, 1, "of_fma", r->fma / r->inner), J("step_seconds", r->step),
                  CELL("loop, %", 9, 2, 100.0, "overhead", overhead),
                  CELL("cores", 5, 0, 1, "cores", r->cores),
                  J("step_seconds_on_all_cores", r->together),
                  CELL("seeds, %", 9, 1, 100.0, NULL, r->together / r->step - 1.0),
                  CELL("measure", 9, 2, 1e3, "measure_seconds", r->measure));
  else if (!hvi_talk.json)
    printf("  %-13s not in this build\n", r->env);
}

static void solve_show(const void *rows, size_t i) {
  const solve_row *r = (const solve_row *)rows + i;
  hvi_table_row(
      CELL("method", -14, 0, 1, "method", r->method), CELL("kind", -12, 0, 1, "kind", r->kind),
      CELL("solved", 6, 0, 1, "solved", r->solved), CELL("of", 6, 0, 1, "games", r->games),
      CELL("F evals", 10, -4, 1, "f_evals", r->evals),
      CELL("seconds", 12, -3, 1, "seconds", r->seconds),
      CELL("slowest", 10, -3, 1, "slowest_seconds", r->slowest));
}

static void gpu_show(const void *rows, size_t i) {
  const gpu_row *r = (const gpu_row *)rows + i;
  hvi_table_row(CELL("layers", 6, 0, 1, "hidden_layers", r->hidden),
                CELL("seeds", 6, 0, 1, "seeds", r->seeds),
                CELL("precision", -9, 0, 1, "precision", r->precision),
                CELL("us", 9, 1, 1e6, "step_seconds", 1e-6 * r->us.step),
                CELL("cuBLAS", 9, 1, 1e6, "cublas_seconds", 1e-6 * r->us.products),
                CELL("floor", 9, 1, 1e6, "floor_seconds", 1e-6 * r->us.floor),
                CELL("of cuBLAS", 10, 2, 1, "of_cublas", r->us.step / r->us.products),
                CELL("of floor", 10, 2, 1, "of_floor", r->us.step / r->us.floor));
}

static void sac_gpu_show(const void *rows, size_t i) {
  const sac_gpu_row *r = (const sac_gpu_row *)rows + i;
  hvi_table_row(CELL("seeds", 6, 0, 1, "seeds", r->seeds),
                CELL("us", 9, 1, 1e6, "step_seconds", r->step),
                CELL("device", 9, 1, 1e6, "device_seconds", r->device),
                CELL("CPU, one", 9, 1, 1e6, "cpu_seconds", r->cpu),
                CELL("times", 9, 1, 1, "times", (double)r->seeds * r->cpu / r->step));
}

/* Each measures rows, and shows them one by one: as JSON, or in tables. */
static games_row games[GAMES_ROWS];
static bellman_row bellman[BELLMAN_ROWS];
static mlp_row mlp[MLP_ROWS];
static sac_row sac[SAC_ROWS];
static evaluate_row evaluate[EVALUATE_ROWS];
static gpu_row gpu[GPU_ROWS];
static sac_gpu_row sac_gpu[SAC_GPU_ROWS];
static solve_row solve[SOLVE_ROWS];

/* From GPU on, those that run only when they are named. */
enum { GAMES, BELLMAN, MLP, SAC, EVALUATE, GPU, SAC_GPU, SOLVE, BENCHMARKS };

#define BENCHMARK(name, count) #name, name, count, bench_##name##_run, name##_show

/* help/bench-NAME.txt has the title, an empty line, and notes. */
static const struct {
  const char *name;
  void *rows;
  size_t count;
  hvi_status (*run)(void *rows, size_t *done, const bench_options *o, hvi_error *err);
  void (*show)(const void *rows, size_t i);
} benchmarks[BENCHMARKS] = {
    [GAMES] = {BENCHMARK(games, GAMES_ROWS)},
    [BELLMAN] = {BENCHMARK(bellman, BELLMAN_ROWS)},
    [MLP] = {BENCHMARK(mlp, MLP_ROWS)},
    [SAC] = {BENCHMARK(sac, SAC_ROWS)},
    [EVALUATE] = {BENCHMARK(evaluate, EVALUATE_ROWS)},
    [GPU] = {BENCHMARK(gpu, GPU_ROWS)},
    [SAC_GPU] = {"sac-gpu", sac_gpu, SAC_GPU_ROWS, bench_sac_gpu_run, sac_gpu_show},
    [SOLVE] = {BENCHMARK(solve, 1)},
};

static bool ran[BENCHMARKS];
static size_t done[BENCHMARKS]; /* rows, before an error or a stop */

static void print_text(size_t k, bool alone) {
  const char *title =
      hvi_embedded_find(hvi_embedded_help, hvi_format("bench-%s", benchmarks[k].name));
  const char *notes = strstr(title, "\n\n");
  if (!alone && k > 0) printf("\n");
  hvi_table_begin(hvi_format("%.*s", (int)(notes - title), title));
  if (k == GAMES) printf("(ensembles of %zu instances)\n", options.instances);
  if (k == BELLMAN) printf("(%zu states)\n", options.states);
  if (k == EVALUATE) printf("(batches of %d, %d steps of adamw)\n", EVALUATE_BATCH, EVALUATE_INNER);
  if (k == SOLVE)
    printf("(%zu of each kind, seeds from %llu)\n", options.games,
           (unsigned long long)options.seed);
  for (size_t i = 0; i < done[k]; i++) benchmarks[k].show(benchmarks[k].rows, i);
  fputs(notes + 2, stdout);
}

static int run_one(size_t k, bool alone) {
  ran[k] = true;
  hvi_progress_start(benchmarks[k].name, benchmarks[k].count);
  HVI_CALL(hvi_progress_end(benchmarks[k].run(benchmarks[k].rows, &done[k], &options, &hvi_fault)));
  if (!hvi_talk.json) print_text(k, alone);
  return done[k] < benchmarks[k].count ? HVI_EXIT_INTERRUPTED : HVI_EXIT_DONE;
}

static void print_json(void) {
  hvi_json_begin();
  hvi_json_put(V("repeats", options.repeats));
  for (size_t k = 0; k < BENCHMARKS; k++) {
    if (!ran[k]) continue;
    if (k == GAMES) hvi_json_put(V("outer", options.outer), V("instances", options.instances));
    if (k == BELLMAN) hvi_json_put(V("states", options.states));
    hvi_json_open(benchmarks[k].name, '[');
    for (size_t i = 0; i < done[k]; i++) benchmarks[k].show(benchmarks[k].rows, i);
    hvi_json_close();
  }
  hvi_json_end();
}

/* only: the name of a benchmark, or NULL for all. */
static int run_bench(const char *only) {
  int code = HVI_EXIT_DONE;
  bool known = !only;
  for (size_t k = 0; k < BENCHMARKS && code == HVI_EXIT_DONE; k++) {
    if (only ? strcmp(only, benchmarks[k].name) != 0 : k >= GPU) continue;
    known = true;
    code = run_one(k, only != NULL);
  }
  if (!known)
    return hvi_misuse("there is no benchmark '%s'; there are: games, bellman, mlp, sac, evaluate, "
                      "gpu, sac-gpu, solve",
                      only);
  if (hvi_talk.json && (code == HVI_EXIT_DONE || code == HVI_EXIT_INTERRUPTED)) print_json();
  return code;
}

/* Before hours of work. */
static int check_out(const char *folder) {
  if (!folder) return HVI_EXIT_DONE;
  HVI_CALL(hvi_folder_make(folder, &hvi_fault));
  HVI_STEP(hvi_output_check_in(folder, "profile-evals.csv", "cost,"));
  HVI_STEP(hvi_output_check_in(folder, "profile-seconds.csv", "cost,"));
  return hvi_figure_check(folder, "profile");
}

int hvi_cli_bench(int argc, char **argv) {
  hvi_args args = {argv[0], "[games|bellman|mlp|sac|evaluate|gpu|sac-gpu|solve] [OPTION]...",
                   .max = 1, .operand = "name of a benchmark", .also = "json force quiet verbose"};
  hvi_args_add(&args,
      {"repeats", 0, HVI_SETTING_COUNT, &options.repeats, .range = "[1,1000000]", .help = "repeats of each measurement"},
      {"iters", 0, HVI_SETTING_COUNT, &options.outer, .range = "[10,100000000]", .help = "outer steps of one trajectory"},
      {"instances", 0, HVI_SETTING_COUNT, &options.instances, .range = "[1,1000000]", .help = "instances of an ensemble"},
      {"states", 0, HVI_SETTING_COUNT, &options.states, .range = "[8,100000000]", .help = "states of the processes"},
      {"games", 0, HVI_SETTING_COUNT, &options.games, .range = "[1,100000]", .help = "solve: random problems of each of seven kinds"},
      {"method", 0, HVI_SETTING_TEXT, &options.method, .value = "METHOD", .help = "solve: this method alone, instead of auto and fixed"},
      {"named", 0, HVI_SETTING_COUNT, &options.named, .range = "[0,100000]", .help = "solve: of all these, evenly over the kinds, those that every named method gets too, 2 s each"},
      {"large", 0, HVI_SETTING_FLAG, &options.large, .help = "solve: five kinds of games of hundreds to thousands of outputs, a minute each"},
      {"seed", 0, HVI_SETTING_SEED, &options.seed, .help = "solve: of the first problem of each kind"},
      {"out", 0, HVI_SETTING_TEXT, &options.out, .value = "FOLDER", .help = "solve: where the performance profile goes"});
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  options.force = hvi_talk.force;
  HVI_STEP(check_out(options.out));
  return run_bench(args.operand_count == 1 ? args.operands[0] : NULL);
}
