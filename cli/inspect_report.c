/* The result of an inspection on stdout: an aligned table for people, or one JSON object. */
#include "base/number.h"
#include "inspect.h"
#include "json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS = 5, NAME = 22, NUMBER = 12, WIDTH = 88 };

/* One row: a name, a number, and a remark. */
__attribute__((format(printf, 3, 4))) static void row(const char *name, double x,
                                                      const char *remark, ...) {
  char number[HVI_NUMBER_SIZE];
  printf("  %-*s%-*s", NAME, name, NUMBER, isnan(x) ? "-" : hvi_number_short(number, x, DIGITS));
  va_list args;
  va_start(args, remark);
  vprintf(remark, args);
  va_end(args);
  putchar('\n');
}

/* A bound on a setting that may not exist. */
static void bound(const char *name, double x, const char *remark) {
  if (x > 0.0)
    row(name, x, "%s", remark);
  else
    printf("  %-*s%-*s%s\n", NAME, name, NUMBER, "none", remark);
}

void hvi_inspect_paragraph(const char *label, const char *text) {
  size_t column = (size_t)printf("%s", label);
  while (*text) {
    const size_t length = strcspn(text, " ");
    if (column + length + 1 > WIDTH) {
      printf("\n ");
      column = 1;
    }
    column += (size_t)printf(" %.*s", (int)length, text);
    text += length + strspn(text + length, " ");
  }
  putchar('\n');
}

static void constants_table(const hvi_inspection *i) {
  const hvi_constants *c = &i->constants;
  printf("constants of F on the outputs");
  if (c->exact)
    printf(" (exact: F is affine)\n");
  else
    printf(" (sampled, %zu pairs: mu is at most, L at least this)\n", c->pairs);
  row("mu", c->mu, "strong monotonicity");
  row("L", c->lipschitz, "Lipschitz constant");
}

static void settings_table(const hvi_inspection *i) {
  const hvi_rates *r = &i->rates;
  printf("step size\n");
  row("eta", i->eta, "in force");
  bound("largest eta", r->eta_max, "2 mu / L^2: the exact step contracts below");
  bound("best eta", r->eta_best, "mu / L^2: smallest kappa");
  bound("theorem's eta", r->eta_theorem, "2 mu / 5 L^2");
  if (!isnan(r->rho)) bound("largest eta at alpha", r->eta_alpha, "rho < 1 below");
  printf("inner accuracy\n");
  if (!isnan(i->alpha)) row("alpha", i->alpha, "asked for");
  row("alpha reached", i->alpha_worst, "worst step; median %.3g", i->alpha_median);
  if (!isnan(i->step_share)) {
    row("share of exact step", i->step_share, "|z_t+1 - z_t| / |z_t^* - z_t|, median");
  }
  bound("largest alpha", r->alpha_max, "mu / L, for any eta");
  bound("largest alpha at eta", r->alpha_eta, "rho < 1 below");
  bound("theorem's alpha", r->alpha_theorem, "mu / 2L");
}

static void rates_table(const hvi_inspection *i) {
  const char *what = i->by_residual ? "squared residual" : "|z - z*|^2";
  printf("rate per outer step (%s)\n", what);
  row("kappa^2", i->rates.kappa2, "bound for the exact step");
  row("exact step, observed", i->rate_exact, "%s", i->by_residual ? "" : "near z*");
  row("rho", i->rates.rho, "bound for these settings");
  row("observed", i->rate_observed, "run of %zu steps: %s, residual %.3g", i->outer,
      hvi_outcome_name(i->outcome), i->residual);
  for (size_t k = 0; k < i->variant_count; k++) {
    const hvi_variant *v = &i->variants[k];
    char name[64];
    snprintf(name, sizeof name, "with %zu inner", v->inner);
    row(name, v->rate, "alpha %.3g, share of exact step %.3g", v->alpha_median, v->step_share);
  }
}

void hvi_inspect_table(const hvi_inspect *s, const hvi_inspection *i) {
  const hvi_settings *o = &s->setup.settings;
  printf("problem   %s\nmethod    %s", s->setup.name, s->setup.method);
  if (!o->baseline) printf(", inner %zu", o->inner_steps);
  printf("\n\n");
  constants_table(i);
  hvi_inspect_deployment_table(s);
  settings_table(i);
  rates_table(i);
  printf("\nverdict   %s\n", hvi_verdict_name(i->verdict));
  hvi_inspect_paragraph("why      ", i->explanation);
  if (*i->advice) hvi_inspect_paragraph("change   ", i->advice);
}

static void rates_json(hvi_json *j, const hvi_rates *r) {
  hvi_json_open(j, "rates", '{');
  hvi_json_number(j, "kappa2", r->kappa2);
  hvi_json_number(j, "rho", r->rho);
  hvi_json_number(j, "rho_sharp", r->rho_sharp);
  hvi_json_number(j, "eta_max", r->eta_max);
  hvi_json_number(j, "eta_best", r->eta_best);
  hvi_json_number(j, "eta_theorem", r->eta_theorem);
  hvi_json_number(j, "eta_alpha", r->eta_alpha);
  hvi_json_number(j, "alpha_max", r->alpha_max);
  hvi_json_number(j, "alpha_eta", r->alpha_eta);
  hvi_json_number(j, "alpha_theorem", r->alpha_theorem);
  hvi_json_number(j, "rho_theorem", r->rho_theorem);
  hvi_json_close(j, '}');
}

static void run_json(hvi_json *j, const hvi_inspection *i) {
  hvi_json_open(j, "run", '{');
  hvi_json_text(j, "outcome", hvi_outcome_name(i->outcome));
  hvi_json_bool(j, "converging", i->converging);
  hvi_json_count(j, "outer", i->outer);
  hvi_json_number(j, "dist2", i->dist2);
  hvi_json_number(j, "residual", i->residual);
  hvi_json_number(j, "alpha_median", i->alpha_median);
  hvi_json_number(j, "alpha_worst", i->alpha_worst);
  hvi_json_number(j, "step_share", i->step_share);
  hvi_json_number(j, "rate", i->rate_observed);
  hvi_json_number(j, "rate_exact", i->rate_exact);
  hvi_json_text(j, "rate_of", i->by_residual ? "residual2" : "dist2");
  hvi_json_close(j, '}');
}

static void variants_json(hvi_json *j, const hvi_inspection *i) {
  hvi_json_open(j, "variants", '[');
  for (size_t k = 0; k < i->variant_count; k++) {
    hvi_json_open(j, NULL, '{');
    hvi_json_count(j, "inner", i->variants[k].inner);
    hvi_json_number(j, "alpha_median", i->variants[k].alpha_median);
    hvi_json_number(j, "step_share", i->variants[k].step_share);
    hvi_json_number(j, "rate", i->variants[k].rate);
    hvi_json_close(j, '}');
  }
  hvi_json_close(j, ']');
}

void hvi_inspect_json(const hvi_inspect *s, const hvi_inspection *i) {
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "problem", s->setup.name);
  hvi_json_text(&j, "method", s->setup.method);
  hvi_json_text(&j, "verdict", hvi_verdict_name(i->verdict));
  hvi_json_text(&j, "obstacle", hvi_obstacle_name(i->obstacle));
  hvi_json_text(&j, "explanation", i->explanation);
  hvi_json_text(&j, "advice", *i->advice ? i->advice : NULL);
  hvi_json_open(&j, "constants", '{');
  hvi_json_number(&j, "mu", i->constants.mu);
  hvi_json_number(&j, "lipschitz", i->constants.lipschitz);
  hvi_json_bool(&j, "exact", i->constants.exact);
  hvi_json_count(&j, "pairs", i->constants.pairs);
  hvi_json_close(&j, '}');
  hvi_inspect_deployment_json(&j, s);
  rates_json(&j, &i->rates);
  run_json(&j, i);
  variants_json(&j, i);
  hvi_json_open(&j, "settings", '{');
  hvi_setup_json(&j, &s->setup, i->eta);
  hvi_json_close(&j, '}');
  hvi_json_close(&j, '}');
}
