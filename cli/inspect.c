/* hvi inspect: what theory says about a problem and a method, and what a short run does. */
#include "base/base.h"
#include "commands.h"
#include "setup.h"

#include <hvi/performative.h>
#include <hvi/theory.h>

enum { DIGITS = 5, NAME = 22, NUMBER = 12, WIDTH = 88 };

static void line(const char *name, const char *number, const char *remark) {
  printf("  %-*s%-*s%s\n", NAME, name, NUMBER, number, remark);
}

static void row(const char *name, double x, const char *remark) {
  line(name, hvi_digits(x, DIGITS, "-"), remark);
}

/* A bound on a setting that may not exist. */
static void bound(const char *name, double x, const char *remark) {
  line(name, hvi_digits(x > 0.0 ? x : NAN, DIGITS, "none"), remark);
}

/* A paragraph, broken at blanks, under a label. */
static void paragraph(const char *label, const char *text) {
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

/* The contraction test of repeated risk minimisation, for problems whose data answer to the model:
 * what such a problem says of itself. The built-in ones say which of their keys decides. */
static bool find_coverage(hvi_performative_coverage *c, const hvi_problem *p) {
  if (hvi_performative_cover(c, p)) return true;
  if (!p->ops->sensitivity) return false;
  *c = (hvi_performative_coverage){
      .limit = NAN, .parameter_beta = NAN, .parameter_mu = NAN, .parameter_limit = NAN};
  p->ops->sensitivity(p, &c->beta, &c->mu);
  return true;
}

static void coverage_rows(const hvi_performative_coverage *c) {
  if (c->key && isinf(c->limit))
    printf("  %-*severy %s\n", NAME, "covered", c->key);
  else if (c->key)
    printf("  %-*s%s %s %s\n", NAME, "covered", c->key, c->below ? "below" : "above",
           hvi_digits(c->limit, DIGITS, "nan"));
  if (isnan(c->parameter_beta)) return;
  row("beta, parameters", c->parameter_beta, "the same test in theta, near the stable point");
  row("mu, parameters", c->parameter_mu, "");
  printf("  %-*s%s below %s\n", NAME, "covered, parameters", c->key,
         hvi_digits(c->parameter_limit, DIGITS, "nan"));
}

static void deployment_table(const hvi_setup *s) {
  hvi_performative_coverage c;
  if (!find_coverage(&c, s->problem)) return;
  const double q = c.beta / c.mu;
  printf("repeated risk minimisation (data that answer to the model)\n");
  row("beta", c.beta, "sensitivity of the loss's gradient to what is deployed");
  row("mu of the loss", c.mu, "strong convexity");
  row("beta / mu", q,
      q < 1.0 ? "covered: each exact retraining contracts by this"
              : "not covered: it must be below 1");
  /* an exact step with eta = 1 contracts by q, and |z - T z| <= (1 + q) |z - z*| */
  if (q < 1.0 && s->problem->eta == 1.0)
    row("largest alpha, eta 1", (1.0 - q) / (1.0 + q), "(1 - q) / (1 + q), q = beta / mu");
  coverage_rows(&c);
  if (c.how) paragraph("  how     ", c.how);
}

static void deployment_json(const hvi_setup *s) {
  hvi_performative_coverage c;
  if (!find_coverage(&c, s->problem)) return;
  const char *side = c.below ? "below" : "above";
  hvi_json_object("repeated_minimisation", V("beta", c.beta), V("mu", c.mu),
                  V("ratio", c.beta / c.mu), V("covered", (bool)(c.beta < c.mu)), V("key", c.key),
                  V("limit", c.limit), V("side", c.key ? side : NULL),
                  V("parameter_beta", c.parameter_beta), V("parameter_mu", c.parameter_mu),
                  V("parameter_limit", c.parameter_limit), V("how", c.how));
}

static void constants_table(const hvi_inspection *i) {
  const hvi_constants *c = &i->constants;
  printf("constants of F on the outputs (%s)\n",
         c->exact ? "exact: F is affine"
                  : hvi_format("sampled, %zu pairs: mu is at most, L at least this", c->pairs));
  row("mu", c->mu, "strong monotonicity");
  row("L", c->lipschitz, "Lipschitz constant");
}

static void accuracy_rows(const hvi_inspection *i) {
  printf("inner accuracy\n");
  if (!isnan(i->alpha)) row("alpha", i->alpha, "asked for");
  row("alpha reached", i->alpha_worst, hvi_format("worst step; median %.3g", i->alpha_median));
}

static const char *run_word(const hvi_inspection *i) {
  return hvi_format("run of %zu steps: %s, residual %.3g", i->outer, hvi_outcome_name(i->outcome),
                    i->residual);
}

/* Steps that adapt: of the theorem's bounds none is about them. */
static void adaptive_tables(const hvi_inspection *i) {
  const bool proximal = isinf(i->rates.eta_max);
  printf("step size\n");
  row("eta", i->eta, "at the end of the run");
  if (proximal) line("largest eta", "none", "proximal targets: the model alone bounds it");
  accuracy_rows(i);
  printf("rate per outer step (%s)\n", i->by_residual ? "squared residual" : "|z - z*|^2");
  if (proximal) row("resolvent", i->rates.kappa2, "1 / (1 + eta mu)^2 at the last eta");
  row("observed", i->rate_observed, run_word(i));
  line("new starts", hvi_format("%zu", i->restarts), "");
}

static void settings_table(const hvi_inspection *i) {
  const hvi_rates *r = &i->rates;
  printf("step size\n");
  row("eta", i->eta, "in force");
  bound("largest eta", r->eta_max, "2 mu / L^2: the exact step contracts below");
  bound("best eta", r->eta_best, "mu / L^2: smallest kappa");
  bound("theorem's eta", r->eta_theorem, "2 mu / 5 L^2");
  if (!isnan(r->rho)) bound("largest eta at alpha", r->eta_alpha, "rho < 1 below");
  accuracy_rows(i);
  if (!isnan(i->step_share))
    row("share of exact step", i->step_share, "|z_t+1 - z_t| / |z_t^* - z_t|, median");
  bound("largest alpha", r->alpha_max, "mu / L, for any eta");
  bound("largest alpha at eta", r->alpha_eta, "rho < 1 below");
  bound("theorem's alpha", r->alpha_theorem, "mu / 2L");
}

static void rates_table(const hvi_inspection *i) {
  printf("rate per outer step (%s)\n", i->by_residual ? "squared residual" : "|z - z*|^2");
  row("kappa^2", i->rates.kappa2, "bound for the exact step");
  row("exact step, observed", i->rate_exact, i->by_residual ? "" : "near z*");
  row("rho", i->rates.rho, "bound for these settings");
  row("observed", i->rate_observed, run_word(i));
  for (size_t k = 0; k < i->variant_count; k++) {
    const hvi_variant *v = &i->variants[k];
    row(hvi_format("with %zu inner", v->inner), v->rate,
        hvi_format("alpha %.3g, share of exact step %.3g", v->alpha_median, v->step_share));
  }
}

static void print_table(const hvi_setup *s, const hvi_inspection *i) {
  const hvi_settings *o = &s->settings;
  char text[32];
  printf("problem   %s\nmethod    %s", s->name, s->method);
  const hvi_setting *target = hvi_setting_find(hvi_settings_table(), "target");
  if (o->automatic)
    printf(", which chose %s, %s targets", o->optimizer->name,
           hvi_setting_format(target, o, text, sizeof text));
  if (!o->baseline) printf(", inner %zu", o->inner_steps);
  printf("\n\n");
  constants_table(i);
  deployment_table(s);
  if (i->obstacle == HVI_OBSTACLE_ADAPTIVE) {
    adaptive_tables(i);
  } else {
    settings_table(i);
    rates_table(i);
  }
  printf("\nverdict   %s\n", hvi_verdict_name(i->verdict));
  paragraph("why      ", i->explanation);
  if (*i->advice) paragraph("change   ", i->advice);
}

static void run_json(const hvi_inspection *i) {
  const hvi_rates *r = &i->rates;
  hvi_json_object("rates", V("kappa2", r->kappa2), V("rho", r->rho), V("rho_sharp", r->rho_sharp),
                  V("eta_max", r->eta_max), V("eta_best", r->eta_best),
                  V("eta_theorem", r->eta_theorem), V("eta_alpha", r->eta_alpha),
                  V("alpha_max", r->alpha_max), V("alpha_eta", r->alpha_eta),
                  V("alpha_theorem", r->alpha_theorem), V("rho_theorem", r->rho_theorem));
  hvi_json_object(
      "run", V("outcome", hvi_outcome_name(i->outcome)), V("converging", i->converging),
      V("arrived", i->arrived), V("outer", i->outer), V("restarts", i->restarts),
      V("dist2", i->dist2), V("residual", i->residual), V("alpha_median", i->alpha_median),
      V("alpha_worst", i->alpha_worst), V("step_share", i->step_share), V("rate", i->rate_observed),
      V("rate_exact", i->rate_exact), V("rate_of", i->by_residual ? "residual2" : "dist2"));
  hvi_json_open("variants", '[');
  for (const hvi_variant *v = i->variants; v < i->variants + i->variant_count; v++)
    hvi_json_object(NULL, V("inner", v->inner), V("alpha_median", v->alpha_median),
                    V("step_share", v->step_share), V("rate", v->rate));
  hvi_json_close();
}

static void print_json(const hvi_setup *s, const hvi_inspection *i) {
  const hvi_constants *c = &i->constants;
  hvi_json_begin();
  hvi_json_put(
      V("problem", s->name), V("method", s->method), V("verdict", hvi_verdict_name(i->verdict)),
      V("obstacle", hvi_obstacle_name(i->obstacle)), V("explanation", (const char *)i->explanation),
      V("advice", *i->advice ? i->advice : NULL));
  hvi_json_object("constants", V("mu", c->mu), V("lipschitz", c->lipschitz), V("exact", c->exact),
                  V("pairs", c->pairs));
  deployment_json(s);
  run_json(i);
  hvi_json_open("settings", '{');
  hvi_setup_json(s, i->eta);
  hvi_json_end();
}

int hvi_cli_inspect(int argc, char **argv) {
  HVI_OWN_BY(hvi_setup_free) hvi_setup s = hvi_setup_new();
  size_t steps = 1000; /* of the run */
  hvi_inspection i;
  hvi_args args = {argv[0], "PROBLEM [OPTION]...", .operand = "problem",
                   .also = "json quiet verbose"};
  hvi_setup_options(&s, &args);
  hvi_args_add(&args,
      {.name = "inspection"},
      {"steps", 0, HVI_SETTING_COUNT, &steps, .range = "[1,1e8]", .help = "outer steps of the run (1000, or --iters)"});
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  HVI_STEP(hvi_setup_make(&s, &args));
  const size_t iters = s.settings.max_outer;
  if (hvi_args_given(&args, "iters") && !hvi_args_given(&args, "steps") && iters > 0) steps = iters;
  HVI_CALL(hvi_theory_inspect(&i, s.problem, &s.settings, steps, &hvi_fault));
  (hvi_talk.json ? print_json : print_table)(&s, &i);
  return HVI_EXIT_DONE;
}
