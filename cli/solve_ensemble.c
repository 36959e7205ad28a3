/* hvi solve --ensemble: the same method on many random instances, summed up. */
#include "base/base.h"
#include "base/number.h"
#include "num/stats.h"
#include "solve.h"

#include <hvi/ensemble.h>

enum { QUANTILES = 7, TABLE_ROWS = 20 };

static const double levels[QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
static const char *const level_names[QUANTILES] = {"min", "q05", "q25", "median",
                                                   "q75", "q95", "max"};

/* A sample's finite values in a few numbers. */
typedef struct digest {
  size_t finite;
  double mean;
  double quantiles[QUANTILES];
} digest;

/* Of e->dist2 or e->residual at a row. scratch: a double for each instance. */
static digest digest_of(const double *values, const hvi_ensemble *e, size_t row, double *scratch) {
  digest d = {.mean = NAN};
  values += row * e->count;
  for (size_t i = 0; i < e->count; i++)
    if (isfinite(values[i])) scratch[d.finite++] = values[i];
  for (size_t k = 0; k < QUANTILES; k++) d.quantiles[k] = NAN;
  if (d.finite == 0) return d;
  d.mean = hvi_stats_mean(scratch, d.finite);
  for (size_t k = 0; k < QUANTILES; k++)
    d.quantiles[k] = hvi_stats_quantile(scratch, d.finite, levels[k]);
  return d;
}

static void digest_json(hvi_json *j, const char *name, const digest *d) {
  hvi_json_open(j, name, '{');
  hvi_json_put(j, V("finite", d->finite), V("mean", d->mean));
  for (size_t k = 0; k < QUANTILES; k++) hvi_json_number(j, level_names[k], d->quantiles[k]);
  hvi_json_close(j, '}');
}

static void digest_text(const char *name, const digest *d) {
  char number[HVI_NUMBER_SIZE];
  printf("%-10smean %s", name, hvi_number_short(number, d->mean, 4));
  for (size_t k = 0; k < QUANTILES; k++)
    printf(", %s %s", level_names[k], hvi_number_short(number, d->quantiles[k], 4));
  printf(" (%zu finite)\n", d->finite);
}

static hvi_status make_instance(void *context, size_t index, hvi_problem **problem,
                                hvi_error *err) {
  return hvi_setup_instance(context, (uint64_t)index + 1, problem, err);
}

static bool on_progress(void *context, size_t done) {
  hvi_progress_update(context, done);
  return !hvi_signals_interrupted();
}

static size_t tally(const hvi_ensemble *e, hvi_outcome outcome) {
  size_t n = 0;
  for (size_t i = 0; i < e->count; i++) n += e->outcome[i] == outcome;
  return n;
}

static void table(const hvi_solve *s, const hvi_ensemble *e, double *scratch) {
  const double *values =
      s->setup.problem->solution || s->setup.problem->ops->dist2 ? e->dist2 : e->residual;
  hvi_say(&s->talk, "%s%9s %11s %11s %11s %11s %9s%s\n", hvi_tone_code(&s->talk, HVI_STRONG),
          "outer", "mean", "median", "q05", "q95", "finite", hvi_tone_code(&s->talk, HVI_PLAIN));
  for (size_t row = 0; row < e->rows; row++) {
    digest d = digest_of(values, e, row, scratch);
    hvi_say(&s->talk, "%9zu %11.4e %11.4e %11.4e %11.4e %9zu\n", e->outer[row], d.mean,
            d.quantiles[3], d.quantiles[1], d.quantiles[5], d.finite);
  }
}

/* A step rule gives each instance its own. */
static double common_eta(const hvi_solve *s) {
  return s->setup.settings.step_rule == HVI_STEP_FIXED ? s->setup.settings.eta : NAN;
}

static void rows_json(hvi_json *j, const hvi_ensemble *e, double *scratch) {
  hvi_json_open(j, "rows", '[');
  for (size_t row = 0; row < e->rows; row++) {
    digest dist2 = digest_of(e->dist2, e, row, scratch);
    digest residual = digest_of(e->residual, e, row, scratch);
    hvi_json_open(j, NULL, '{');
    hvi_json_count(j, "outer", e->outer[row]);
    digest_json(j, "dist2", &dist2);
    digest_json(j, "residual", &residual);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

static void print_json(const hvi_solve *s, const hvi_ensemble *e, const digest *dist2,
                       const digest *residual, double *scratch) {
  hvi_json j = hvi_json_begin();
  hvi_json_put(&j, V("problem", s->setup.name), V("method", s->setup.method),
               V("instances", e->count), V("lanes", e->lanes));
  hvi_json_open(&j, "outcomes", '{');
  for (int o = HVI_CONVERGED; o < HVI_OUTCOME_COUNT; o++)
    hvi_json_count(&j, hvi_outcome_name((hvi_outcome)o), tally(e, (hvi_outcome)o));
  hvi_json_close(&j, '}');
  digest_json(&j, "dist2", dist2);
  digest_json(&j, "residual", residual);
  rows_json(&j, e, scratch);
  hvi_json_open(&j, "settings", '{');
  hvi_setup_json(&j, &s->setup, common_eta(s));
  hvi_json_close(&j, '}');
  hvi_json_number(&j, "seconds", e->seconds);
  hvi_json_close(&j, '}');
}

static void print_text(const hvi_solve *s, const hvi_ensemble *e, const digest *dist2,
                       const digest *residual) {
  printf("%-10s%s, %zu random instances\n%-10s%s\n", "problem", s->setup.name, e->count, "method",
         s->setup.method);
  const char *comma = "";
  printf("%-10s", "outcomes");
  for (int o = HVI_CONVERGED; o < HVI_OUTCOME_COUNT; o++) {
    size_t n = tally(e, (hvi_outcome)o);
    if (n == 0) continue;
    printf("%s%zu %s", comma, n, hvi_outcome_name((hvi_outcome)o));
    comma = ", ";
  }
  putchar('\n');
  if (dist2->finite > 0) digest_text("dist2", dist2);
  digest_text("residual", residual);
}

static int exit_code(const hvi_solve *s, const hvi_ensemble *e) {
  if (hvi_signals_interrupted()) return HVI_EXIT_INTERRUPTED;
  bool all = tally(e, HVI_CONVERGED) == e->count;
  return s->setup.settings.tol > 0 && !all ? HVI_EXIT_SHORT : HVI_EXIT_DONE;
}

static int report(const hvi_solve *s, const hvi_ensemble *e) {
  double *scratch = hvi_alloc_doubles(e->count);
  if (!scratch || e->rows == 0) {
    hvi_free(scratch);
    return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for the statistics");
  }
  digest dist2 = digest_of(e->dist2, e, e->rows - 1, scratch);
  digest residual = digest_of(e->residual, e, e->rows - 1, scratch);
  table(s, e, scratch);
  hvi_say(&s->talk, "%.3g s, %s\n", e->seconds,
          e->lanes ? "side by side in SIMD lanes" : "one after the other");
  if (s->json)
    print_json(s, e, &dist2, &residual, scratch);
  else
    print_text(s, e, &dist2, &residual);
  hvi_free(scratch);
  return exit_code(s, e);
}

int hvi_solve_ensemble(const hvi_solve *s) {
  hvi_setup setup = s->setup;
  hvi_progress bar = hvi_progress_new(&s->talk, "instances", s->ensemble);
  hvi_ensemble_settings settings = {.count = s->ensemble,
                                    .threads = s->jobs,
                                    .record_every = s->every,
                                    .progress = on_progress,
                                    .progress_context = &bar};
  hvi_ensemble *e = NULL;
  hvi_error err;
  if (!setup.builtin) {
    return hvi_complain(HVI_EXIT_INPUT,
                        "--ensemble draws random instances of a built-in problem, "
                        "and '%s' is a file",
                        setup.name);
  }
  if (settings.record_every == 0)
    settings.record_every = (setup.settings.max_outer + TABLE_ROWS - 1) / TABLE_ROWS;
  hvi_solve_header(s, common_eta(s));
  hvi_status status = hvi_ensemble_run(&e, make_instance, &setup, &setup.settings, &settings, &err);
  hvi_progress_clear(&bar);
  int code = status == HVI_OK ? report(s, e) : hvi_complain_error(&err);
  hvi_ensemble_free(e);
  return code;
}
