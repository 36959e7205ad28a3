/*
 * kind: linear. Both chains of the projected Bellman error, thousands of trajectories each: Surr-GD
 * against the exact update, and other learners against the projected fixed point.
 *
 * `instances` is the number of trajectories and `iterations` their length; the inner steps are the
 * paper's 1, 5, 10, 50 and 100, and the step sizes of the learners are the same for all of them.
 */
#include "experiments/linear.h"

#include "base/error.h"
#include "base/memory.h"
#include "experiments/linear_stats.h"

#include <hvi/builtin.h>

#include <math.h>

enum { FIRST_TIME = 10, PER_DECADE = 20, MOST_ROWS = 256, LEAST_STEPS = 1000 };

static const char *const chains[2] = {"walk", "blocks"};

/* Where one chain's share of the progress lies. */
typedef struct part {
  hvi_run *run;
  size_t chain;
} part;

static bool report(void *context, size_t done) {
  const part *p = context;
  const double share = (double)done / (double)p->run->scale->instances;
  return hvi_run_progress(p->run, chains[p->chain], ((double)p->chain + share) / 2.0);
}

/* Evenly spaced on a logarithmic axis, ending at `steps`. */
static size_t spread_times(size_t *time, size_t steps) {
  size_t rows = 0;
  for (size_t k = 0; rows < MOST_ROWS - 1; k++) {
    const double t = FIRST_TIME * pow(10.0, (double)k / PER_DECADE);
    if (t >= (double)steps - 0.5) break;
    const size_t whole = (size_t)(t + 0.5);
    if (rows == 0 || whole > time[rows - 1]) time[rows++] = whole;
  }
  time[rows++] = steps;
  return rows;
}

static hvi_status simulate(hvi_linear_summary *s, hvi_run *run, size_t chain, size_t rows,
                           hvi_error *err) {
  part where = {run, chain};
  const hvi_option options[] = {{"kind", chains[chain]}, {"data", "trajectory"}};
  const hvi_linear_settings settings = {.runs = run->scale->instances,
                                        .steps = run->scale->iterations,
                                        .rows = rows,
                                        .time = s->time,
                                        .seed = run->experiment->seed << 32,
                                        .threads = run->threads,
                                        .rate = 0.3,
                                        .decay = 1e-3,
                                        .second_rate = 1.0,
                                        .progress = report,
                                        .context = &where};
  hvi_problem *p = NULL;
  hvi_status status = hvi_builtin_new(&p, "chain", options, 2, run->experiment->seed, 0, err);
  if (!status) status = hvi_linear_limits(&s->residual_limit, &s->bellman_limit, p, err);
  if (!status) status = hvi_linear_simulate(&s->runs, p, &settings, err);
  hvi_problem_free(p);
  if (status || run->stopped) return status;
  status = hvi_linear_sum_up(s, err);
  return status ? status : hvi_linear_write(run, s, err);
}

hvi_status hvi_linear_run(hvi_run *run, hvi_error *err) {
  size_t time[MOST_ROWS];
  hvi_linear_summary both[2] = {{.chain = chains[0], .time = time},
                                {.chain = chains[1], .time = time}};
  if (run->scale->iterations < LEAST_STEPS || run->scale->instances < 2)
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "experiment '%s': kind linear needs at least %d iterations and 2 "
                         "instances",
                         run->experiment->id, (int)LEAST_STEPS);
  const size_t rows = spread_times(time, run->scale->iterations);
  hvi_status status = HVI_OK;
  for (size_t c = 0; c < 2 && !status && !run->stopped; c++)
    status = simulate(&both[c], run, c, rows, err);
  if (!status && !run->stopped) status = hvi_linear_draw(run, both, err);
  if (!status && !run->stopped && run->experiment->builtin)
    for (size_t c = 0; c < 2; c++) hvi_claims_linear(run->claims, &both[c]);
  for (size_t c = 0; c < 2; c++) hvi_linear_summary_free(&both[c]);
  return status;
}
