/* The contraction test of repeated risk minimisation, as part of an inspection. */
#include "base/number.h"
#include "inspect.h"
#include "json.h"

#include <hvi/performative.h>

#include <math.h>
#include <stdio.h>

enum { DIGITS = 5 };

static void row(const char *name, double x, const char *remark) {
  char number[HVI_NUMBER_SIZE];
  printf("  %-22s%-12s%s\n", name, isnan(x) ? "-" : hvi_number_short(number, x, DIGITS), remark);
}

/* What a problem says of itself; the built-in ones say which of their keys decides. */
static bool find(hvi_performative_coverage *c, const hvi_problem *p) {
  if (hvi_performative_cover(c, p)) return true;
  if (!p->ops->sensitivity) return false;
  *c = (hvi_performative_coverage){
      .limit = NAN, .parameter_beta = NAN, .parameter_mu = NAN, .parameter_limit = NAN};
  p->ops->sensitivity(p, &c->beta, &c->mu);
  return true;
}

/* An exact step with eta = 1 contracts by q, and |z - T z| <= (1 + q) |z - z*|. */
static double largest_alpha(double q) { return (1.0 - q) / (1.0 + q); }

static void range_row(const hvi_performative_coverage *c) {
  char text[64], limit[HVI_NUMBER_SIZE];
  if (!c->key) return;
  if (isinf(c->limit)) {
    snprintf(text, sizeof text, "every %s", c->key);
  } else {
    snprintf(text, sizeof text, "%s %s %s", c->key, c->below ? "below" : "above",
             hvi_number_short(limit, c->limit, DIGITS));
  }
  printf("  %-22s%s\n", "covered", text);
}

static void parameter_rows(const hvi_performative_coverage *c) {
  char limit[HVI_NUMBER_SIZE];
  if (isnan(c->parameter_beta)) return;
  row("beta, parameters", c->parameter_beta, "the same test in theta, near the stable point");
  row("mu, parameters", c->parameter_mu, "");
  printf("  %-22s%s below %s\n", "covered, parameters", c->key,
         hvi_number_short(limit, c->parameter_limit, DIGITS));
}

void hvi_inspect_deployment_table(const hvi_inspect *s) {
  hvi_performative_coverage c;
  if (!find(&c, s->setup.problem)) return;
  const double q = c.beta / c.mu;
  printf("repeated risk minimisation (data that answer to the model)\n");
  row("beta", c.beta, "sensitivity of the loss's gradient to what is deployed");
  row("mu of the loss", c.mu, "strong convexity");
  row("beta / mu", q,
      q < 1.0 ? "covered: each exact retraining contracts by this"
              : "not covered: it must be below 1");
  if (q < 1.0 && s->setup.problem->eta == 1.0) {
    row("largest alpha, eta 1", largest_alpha(q), "(1 - q) / (1 + q), q = beta / mu");
  }
  range_row(&c);
  parameter_rows(&c);
  if (c.how) hvi_inspect_paragraph("  how     ", c.how);
}

void hvi_inspect_deployment_json(hvi_json *j, const hvi_inspect *s) {
  hvi_performative_coverage c;
  if (!find(&c, s->setup.problem)) return;
  hvi_json_open(j, "repeated_minimisation", '{');
  hvi_json_number(j, "beta", c.beta);
  hvi_json_number(j, "mu", c.mu);
  hvi_json_number(j, "ratio", c.beta / c.mu);
  hvi_json_bool(j, "covered", c.beta < c.mu);
  hvi_json_text(j, "key", c.key);
  hvi_json_number(j, "limit", c.limit);
  hvi_json_text(j, "side", c.key ? (c.below ? "below" : "above") : NULL);
  hvi_json_number(j, "parameter_beta", c.parameter_beta);
  hvi_json_number(j, "parameter_mu", c.parameter_mu);
  hvi_json_number(j, "parameter_limit", c.parameter_limit);
  hvi_json_text(j, "how", c.how);
  hvi_json_close(j, '}');
}
