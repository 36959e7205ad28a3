/* What came out of an evaluation, for people and as JSON. */
#include "base/number.h"
#include "evaluate_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The rows that the last step was fitted to, or the first ones of a file: as a data set. */
static hvi_dataset last_batch(const hvi_evaluate *e) {
  hvi_dataset d = *e->spec.value.data;
  if (!e->collector) {
    if (!e->gap && e->batch > 0 && d.count > e->batch) d.count = e->batch;
    return d;
  }
  const size_t every = e->spec.settings.redraw_every ? e->spec.settings.redraw_every : 1;
  const size_t outer = hvi_evaluation_state(e->evaluation).outer;
  const size_t draw = outer > 0 ? (outer - 1) / every : 0;
  const size_t first = hvi_value_rows(hvi_evaluation_problem(e->evaluation), draw + 1) - e->batch;
  d.observation += first * d.obs;
  d.action += first * d.act;
  d.reward += first;
  d.next += first * d.obs;
  d.terminated += first;
  d.truncated += first;
  d.count = e->batch;
  return d;
}

static hvi_status judge_gap(hvi_evaluate *e, hvi_evaluated *r, hvi_error *err) {
  const hvi_dataset rows = last_batch(e);
  hvi_value_spec s = e->spec.value;
  hvi_problem *p = NULL;
  s.data = &rows;
  r->gap_rows = rows.count;
  hvi_gap_settings search = e->spec.gap_settings;
  const bool known = isfinite(r->last.gap); /* on the same data: only the error is missing */
  if (known) search.steps = 0;
  hvi_status status = hvi_gap_problem(&p, &s, err);
  if (!status) {
    status = hvi_bellman_gap(&r->gap, p, hvi_evaluation_theta(e->evaluation), &search, err);
  }
  if (!status && known) r->gap.gap = r->last.gap, r->gap.least = r->gap.error - r->last.gap;
  hvi_problem_free(p);
  return status;
}

/* The closed form at the states of the test set, where there is one. */
static hvi_status judge_exactly(hvi_evaluate *e, hvi_evaluated *r, hvi_error *err) {
  hvi_probe *exact = NULL;
  if (!e->testset || !e->env || !hvi_env_lqr(e->env)) return HVI_OK;
  hvi_status status = hvi_probe_exact(&exact, e->testset, e->env, e->policy, err);
  if (status == HVI_ERROR_UNSUPPORTED) return HVI_OK;
  if (!status) {
    status = hvi_probe_score(&r->exact, exact, hvi_evaluation_problem(e->evaluation),
                             hvi_evaluation_theta(e->evaluation), NULL, err);
  }
  hvi_probe_free(exact);
  return status;
}

hvi_status hvi_evaluate_judge(hvi_evaluate *e, hvi_evaluated *r, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  hvi_status status = HVI_OK;
  r->last = rows[count - 1];
  if (r->last.outer < hvi_evaluation_state(e->evaluation).outer) {
    status = hvi_evaluation_measure(e->evaluation, &r->last, &r->score, err);
  } else if (e->probe && isfinite(r->last.error)) { /* values that overflow have no score */
    status = hvi_probe_score(&r->score, e->probe, hvi_evaluation_problem(e->evaluation),
                             hvi_evaluation_theta(e->evaluation), NULL, err);
  }
  if (!status) status = judge_exactly(e, r, err);
  if (!status) status = judge_gap(e, r, err);
  return status;
}

static const char *number(char text[HVI_NUMBER_SIZE], double x) {
  return hvi_number_short(text, x, 4);
}

static void print_score(const hvi_score *s) {
  char a[HVI_NUMBER_SIZE], b[HVI_NUMBER_SIZE], c[HVI_NUMBER_SIZE];
  printf("error          %s +- %s (mean squared, 95 %% over %zu states)\n", number(a, s->error),
         number(b, s->interval), s->states);
  printf("  without noise  %s (Monte-Carlo noise %s)\n", number(a, s->clean), number(b, s->noise));
  printf("  relative       %.3g %% of the values' variance %s; without noise %.3g %%\n",
         100.0 * s->relative, number(c, s->variance), 100.0 * s->relative_clean);
  printf("calibration    value = %s + %s * predicted, correlation %.5f\n", number(a, s->intercept),
         number(b, s->slope), s->correlation);
}

static void print_exact(const hvi_score *s) {
  char a[HVI_NUMBER_SIZE], b[HVI_NUMBER_SIZE];
  printf("closed form    error %s +- %s: root %.3g %% of the root mean square value, %.3g %% of\n"
         "               the variance\n",
         number(a, s->error), number(b, s->interval), 100.0 * sqrt(s->error) / s->size,
         100.0 * s->relative);
}

static void print_costs(const hvi_evaluate *e, const hvi_evaluated *r) {
  const hvi_evaluation_row *row = &r->last;
  const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
  printf("cost           %zu outer and %zu inner steps, %zu gradients, %zu model passes,\n"
         "               %zu %s\n",
         now.outer, now.inner_total, row->grad_evals, row->model_passes, row->env_steps,
         e->collector ? "environment steps" : "transitions");
  printf("seconds        %.2f: collection %.2f, targets %.2f, inner steps %.2f; measuring %.2f\n",
         row->seconds, row->seconds_collect, row->seconds_targets, row->seconds_inner,
         row->seconds_measure);
}

void hvi_evaluate_summary(const hvi_evaluate *e, const hvi_evaluated *r) {
  char a[HVI_NUMBER_SIZE], b[HVI_NUMBER_SIZE];
  const hvi_value_spec *v = &e->spec.value;
  printf("value of %s, gamma %g: network %zu", e->env_name ? e->env_name : e->data_path,
         e->spec.value.gamma, v->data->obs);
  for (size_t i = 0; i < v->hidden_count; i++) printf("-%zu", v->hidden[i]);
  printf("-1 in %s\n", e->network);
  if (r->score.states > 0) print_score(&r->score);
  if (r->exact.states > 0) print_exact(&r->exact);
  printf("Bellman gap    %s of a Bellman error of %s, on %zu transitions\n", number(a, r->gap.gap),
         number(b, r->gap.error), r->gap_rows);
  print_costs(e, r);
  printf("trace in %s, checkpoint in %s\n", e->trace, e->checkpoint);
}

static void score_json(hvi_json *j, const char *name, const hvi_score *s) {
  if (s->states == 0) {
    hvi_json_text(j, name, NULL);
    return;
  }
  hvi_json_open(j, name, '{');
  hvi_json_count(j, "states", s->states);
  hvi_json_number(j, "error", s->error);
  hvi_json_number(j, "interval", s->interval);
  hvi_json_number(j, "noise", s->noise);
  hvi_json_number(j, "without_noise", s->clean);
  hvi_json_number(j, "variance", s->variance);
  hvi_json_number(j, "relative", s->relative);
  hvi_json_number(j, "relative_without_noise", s->relative_clean);
  hvi_json_number(j, "mean_value", s->mean);
  hvi_json_number(j, "rms_value", s->size);
  hvi_json_number(j, "intercept", s->intercept);
  hvi_json_number(j, "slope", s->slope);
  hvi_json_number(j, "correlation", s->correlation);
  hvi_json_close(j, '}');
}

static void gap_json(hvi_json *j, const hvi_evaluated *r) {
  hvi_json_open(j, "bellman", '{');
  hvi_json_number(j, "gap", r->gap.gap);
  hvi_json_number(j, "error", r->gap.error);
  hvi_json_number(j, "least", r->gap.least);
  hvi_json_count(j, "transitions", r->gap_rows);
  hvi_json_close(j, '}');
}

static void costs_json(hvi_json *j, const hvi_evaluation_row *row) {
  hvi_json_open(j, "counts", '{');
  hvi_json_count(j, "grad_evals", row->grad_evals);
  hvi_json_count(j, "model_passes", row->model_passes);
  hvi_json_count(j, "env_steps", row->env_steps);
  hvi_json_close(j, '}');
  hvi_json_open(j, "seconds", '{');
  hvi_json_number(j, "collection", row->seconds_collect);
  hvi_json_number(j, "targets", row->seconds_targets);
  hvi_json_number(j, "inner", row->seconds_inner);
  hvi_json_number(j, "run", row->seconds);
  hvi_json_number(j, "measuring", row->seconds_measure);
  hvi_json_close(j, '}');
}

static void network_json(hvi_json *j, const hvi_evaluate *e) {
  const hvi_value_spec *v = &e->spec.value;
  double widths[HVI_VALUE_MOST_LAYERS];
  for (size_t i = 0; i < v->hidden_count; i++) widths[i] = (double)v->hidden[i];
  hvi_json_text(j, "level", hvi_evaluation_state(e->evaluation).levels);
  hvi_json_open(j, "network", '{');
  hvi_json_text(j, "file", e->network);
  hvi_json_count(j, "inputs", v->data->obs);
  hvi_json_numbers(j, "hidden", widths, v->hidden_count);
  hvi_json_text(j, "activation", hvi_activation_name(v->activation));
  hvi_json_bool(j, "normalise", e->normalise);
  hvi_json_close(j, '}');
}

static void settings_json(hvi_json *j, const hvi_evaluate *e) {
  hvi_setup s = e->setup;
  s.name = "value";
  s.many = true; /* theta0 is not listed */
  s.problem = (hvi_problem *)(uintptr_t)hvi_evaluation_problem(e->evaluation); /* read only */
  hvi_json_open(j, "settings", '{');
  hvi_json_count(j, "batch", e->spec.value.batch - e->spec.value.replay);
  hvi_json_count(j, "replay", e->spec.value.replay);
  hvi_json_count(j, "double_sampling", e->spec.value.buffer);
  hvi_json_number(j, "lambda", e->spec.value.lambda);
  hvi_json_number(j, "lambda_decay", e->spec.value.lambda_decay);
  hvi_json_bool(j, "returns", e->spec.value.returns);
  hvi_json_number(j, "polyak", e->spec.polyak);
  hvi_setup_json(j, &s, s.settings.eta);
  hvi_json_close(j, '}');
}

void hvi_evaluate_json(const hvi_evaluate *e, const hvi_evaluated *r) {
  const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "environment", e->env_name);
  hvi_json_text(&j, "data", e->data_path);
  hvi_json_text(&j, "policy", e->policy_path);
  hvi_json_number(&j, "gamma", e->spec.value.gamma);
  hvi_json_text(&j, "status", r->interrupted ? "interrupted" : hvi_outcome_name(now.outcome));
  hvi_json_count(&j, "outer", now.outer);
  hvi_json_count(&j, "inner", now.inner_total);
  network_json(&j, e);
  score_json(&j, "score", &r->score);
  score_json(&j, "closed_form", &r->exact);
  gap_json(&j, r);
  costs_json(&j, &r->last);
  settings_json(&j, e);
  hvi_json_close(&j, '}');
}
