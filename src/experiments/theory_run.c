/* The experiment `theory`: its parts in the order of the paper, and the figure that shows them. */
#include "experiments/theory_run.h"
#include "experiments/run.h"
#include "experiments/theory.h"

typedef struct part {
  const char *doing;
  hvi_status (*run)(const hvi_theory_part *part, hvi_error *err);
} part;

static const part parts[] = {
    {"the linear rate", hvi_theory_rate},
    {"misprints", hvi_theory_printed},
    {"the counterexample", hvi_theory_counter},
    {"minimisation", hvi_theory_scalar},
    {"the lemma", hvi_theory_lemma},
    {"vanishing errors", hvi_theory_vanish},
    {"the stochastic case", hvi_theory_noise},
    {"the PL inequality", hvi_theory_pl},
    {"sensitivity to alpha", hvi_theory_alpha},
};

enum { PARTS = sizeof parts / sizeof *parts };

#define SERIES(list) .series_count = sizeof(list) / sizeof *(list), .series = (list)

static hvi_status draw_bounds(hvi_run *run, hvi_error *err) {
  static const hvi_series rate[] = {
      {"error away from z*", "rate.csv", "rho", "away", NULL, HVI_MARK_POINTS, 1},
      {"error aside", "rate.csv", "rho", "aside", NULL, HVI_MARK_POINTS, 2},
      {"error at random", "rate.csv", "rho", "random", NULL, HVI_MARK_POINTS, 0},
      {"bound", "rate.csv", "rho", "rho", NULL, HVI_MARK_DASHED, 6}};
  static const hvi_series counter[] = {
      {"measured", "counterexample.csv", "eta", "least_growth", NULL, HVI_MARK_POINTS, 5},
      {"sqrt(1 + η²) - 1", "counterexample.csv", "eta", "expected", NULL, HVI_MARK_DASHED, 7}};
  static const hvi_series vanish[] = {
      {"errors 1 / (t + 1)", "vanishing.csv", "step", "harmonic", NULL, HVI_MARK_LINE, 0},
      {"errors 1 / sqrt(t + 1)", "vanishing.csv", "step", "root", NULL, HVI_MARK_LINE, 1},
      {"errors in bursts", "vanishing.csv", "step", "bursts", NULL, HVI_MARK_POINTS, 2},
      {"constant errors", "vanishing.csv", "step", "constant", NULL, HVI_MARK_LINE, 3}};
  const hvi_panel panels[] = {{.title = "Linear rate: contraction per step",
                               .x = {.label = "ρ"},
                               .y = {.label = "largest contraction observed"},
                               SERIES(rate)},
                              {.title = "Counterexample: growth of |z| per step",
                               .x = {.label = "η", .log = true},
                               .y = {.label = "growth - 1", .log = true},
                               SERIES(counter)},
                              {.title = "Inner errors that tend to zero",
                               .x = {.label = "outer iteration", .log = true},
                               .y = {.label = "|z - z*|", .log = true},
                               SERIES(vanish)}};
  const hvi_plot plot = {.name = "theory-bounds",
                         .title = "Theorem, counterexample and vanishing errors",
                         .panel_count = 3,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

static hvi_status draw_more(hvi_run *run, hvi_error *err) {
  static const hvi_series noise[] = {
      {"largest η", "noise-curves.csv", "sigma", "observed1", NULL, HVI_MARK_LINE, 0},
      {"its bound", "noise-curves.csv", "sigma", "limit1", NULL, HVI_MARK_DASHED, 0},
      {"a quarter of it", "noise-curves.csv", "sigma", "observed3", NULL, HVI_MARK_LINE, 1},
      {"its bound ", "noise-curves.csv", "sigma", "limit3", NULL, HVI_MARK_DASHED, 1}};
  static const hvi_series pl[] = {
      {"½|z - v|²", "pl.csv", "sigma2", "square", NULL, HVI_MARK_POINTS, 5},
      {"Σ x² + 3 sin²x", "pl.csv", "sigma2", "wavy", NULL, HVI_MARK_POINTS, 4},
      {"bound σ²", "pl.csv", "sigma2", "sigma2", NULL, HVI_MARK_DASHED, 6}};
  static const hvi_series outer[] = {
      {"pennies, η = μ / L²", "alpha-pennies-best.csv", "alpha", "outer_reached", NULL,
       HVI_MARK_LINE, 2},
      {"pennies, η = 0.1", "alpha-pennies-0p1.csv", "alpha", "outer_reached", NULL, HVI_MARK_LINE,
       3},
      {"rps, η = μ / L²", "alpha-rps-best.csv", "alpha", "outer_reached", NULL, HVI_MARK_LINE, 8},
      {"rps, η = 0.1", "alpha-rps-0p1.csv", "alpha", "outer_reached", NULL, HVI_MARK_LINE, 9}};
  hvi_series grads[4];
  for (size_t i = 0; i < 4; i++) {
    grads[i] = outer[i];
    grads[i].y = "grads_reached";
  }
  const hvi_panel panels[] = {
      {.title = "Stochastic case: ½|z - z*|² at the end",
       .x = {.label = "σ", .log = true},
       .y = {.label = "mean over seeds", .log = true},
       SERIES(noise)},
      {.title = "PL of the composition",
       .x = {.label = "σ_{min}^2", .log = true, .low = 1e-9, .high = 10},
       .y = {.label = "|∇|^2 / (2 μ (f - inf))", .log = true, .low = 1e-9, .high = 1e4},
       SERIES(pl)},
      {.title = "Outer iterations to |z - z*|² = 1e-6",
       .x = {.label = "α"},
       .y = {.label = "outer iterations", .log = true},
       SERIES(outer)},
      {.title = "Gradient computations to the same",
       .x = {.label = "α"},
       .y = {.label = "gradients", .log = true},
       SERIES(grads)}};
  const hvi_plot plot = {.name = "theory-alpha",
                         .title = "Neighbourhood, PL and sensitivity to alpha",
                         .columns = 2,
                         .panel_count = 4,
                         .panels = panels};
  return hvi_run_figure(run, &plot, err);
}

hvi_status hvi_theory_run(hvi_run *run, hvi_error *err) {
  const hvi_theory_part own = {.folder = run->folder,
                               .claims = run->claims,
                               .full = run->full,
                               .seed = run->experiment->seed};
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < PARTS && !status; i++) {
    if (!hvi_run_progress(run, parts[i].doing, (double)i / (PARTS + 1))) return HVI_OK;
    status = parts[i].run(&own, err);
  }
  if (!status && !hvi_run_progress(run, "figures", (double)PARTS / (PARTS + 1))) return HVI_OK;
  if (!status) status = draw_bounds(run, err);
  if (!status) status = draw_more(run, err);
  return status;
}
