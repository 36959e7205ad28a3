/* The picture of an inspection: the theorem's rates over eta, and where the settings stand. */
#include "base/error.h"
#include "base/memory.h"
#include "inspect.h"
#include "report/csv.h"
#include "report/plot.h"
#include "report/text.h"

#include <math.h>

enum { POINTS = 200 };

/* As far as the curves are worth drawing. */
static double last_eta(const hvi_inspection *i) {
  return 1.25 * fmax(i->eta, fmax(i->rates.eta_max, 0.0));
}

static hvi_status write_curves(const char *path, const hvi_inspection *i, hvi_error *err) {
  hvi_csv csv;
  hvi_status status = hvi_csv_open(&csv, path, "eta,kappa2,rho,rho_theorem,one", err);
  if (status != HVI_OK) return status;
  const double alpha = fmax(i->alpha, i->alpha_worst);
  for (int k = 0; k <= POINTS; k++) {
    const double eta = last_eta(i) * k / POINTS;
    const hvi_rates r = hvi_theory_rates(i->constants.mu, i->constants.lipschitz, eta, alpha);
    const hvi_rates small =
        hvi_theory_rates(i->constants.mu, i->constants.lipschitz, eta, r.alpha_theorem);
    const double row[] = {eta, r.kappa2, r.rho, small.rho, 1.0};
    for (size_t c = 0; c < sizeof row / sizeof *row; c++) hvi_csv_number(&csv, row[c]);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

static hvi_status write_points(const char *path, const hvi_inspection *i, hvi_error *err) {
  hvi_csv csv;
  hvi_status status = hvi_csv_open(&csv, path, "eta,observed,exact", err);
  if (status != HVI_OK) return status;
  hvi_csv_number(&csv, i->eta);
  hvi_csv_number(&csv, i->rate_observed);
  hvi_csv_number(&csv, i->rate_exact);
  hvi_csv_end(&csv);
  return hvi_csv_close(&csv, err);
}

/* From below everything to a little above one: a large rho may leave the picture. */
static hvi_axis rate_axis(const hvi_inspection *i) {
  const hvi_constants *c = &i->constants;
  const hvi_rates last = hvi_theory_rates(c->mu, c->lipschitz, last_eta(i), 0.0);
  const hvi_rates best = hvi_theory_rates(c->mu, c->lipschitz, fmax(last.eta_best, 0.0), 0.0);
  const double low = fmin(best.kappa2, fmin(i->rate_observed, i->rate_exact));
  const double high = fmax(last.kappa2, fmax(i->rate_observed, i->rate_exact));
  const double margin = 0.3 * (fmax(high, 1.0) - fmin(low, 1.0)) + 1e-6;
  return (hvi_axis){.label = "rate of |z - z*|^2 per outer step",
                    .low = fmin(low, 1.0) - margin,
                    .high = fmax(high, 1.0) + margin};
}

static hvi_status draw(const hvi_inspect *s, const hvi_inspection *i, hvi_error *err) {
  static const char curves[] = "inspect.csv", points[] = "inspect-observed.csv";
  const hvi_series series[] = {
      {"κ², exact step", curves, "eta", "kappa2", NULL, HVI_MARK_LINE, 0},
      {"ρ at the α reached", curves, "eta", "rho", NULL, HVI_MARK_LINE, 1},
      {"ρ at α = μ / 2L", curves, "eta", "rho_theorem", NULL, HVI_MARK_LINE, 4},
      {NULL, curves, "eta", "one", NULL, HVI_MARK_DASHED, 7},
      {"observed", points, "eta", "observed", NULL, HVI_MARK_POINTS, 3},
      {"observed, exact step", points, "eta", "exact", NULL, HVI_MARK_POINTS, 2}};
  const hvi_panel panel = {.x = {.label = "η"},
                           .y = rate_axis(i),
                           .series_count = sizeof series / sizeof *series,
                           .series = series};
  const hvi_plot plot = {
      .name = "inspect", .title = s->setup.name, .panel_count = 1, .panels = &panel};
  char note[HVI_PLOT_NOTE];
  const hvi_status status = hvi_plot_make(s->plot, &plot, note, err);
  if (status == HVI_OK && *note) hvi_say(&s->talk, "%s\n", note);
  return status;
}

hvi_status hvi_inspect_plot(const hvi_inspect *s, const hvi_inspection *i, hvi_error *err) {
  char *curves = hvi_path_join(s->plot, "inspect", ".csv");
  char *points = hvi_path_join(s->plot, "inspect-observed", ".csv");
  hvi_status status = curves && points ? HVI_OK : hvi_error_memory(err, "a path");
  if (status == HVI_OK) status = write_curves(curves, i, err);
  if (status == HVI_OK) status = write_points(points, i, err);
  if (status == HVI_OK) status = draw(s, i, err);
  hvi_free(curves);
  hvi_free(points);
  return status;
}
