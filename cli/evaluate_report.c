/* What came out of an evaluation, for people and as JSON. */
#include "evaluate_parts.h"

#include "base/number.h"
#include "base/suggest.h"

#include <math.h>
#include <stdio.h>

/* The closed form at the states of the test set, where there is one. */
static hvi_status judge_exactly(const hvi_evaluate *e, hvi_score *score, hvi_error *err) {
  const hvi_task *t = &e->task;
  hvi_probe *exact = NULL;
  if (!t->testset || !t->env || !hvi_env_lqr(t->env)) return HVI_OK;
  hvi_status status = hvi_probe_exact(&exact, t->testset, t->env, t->policy, err);
  if (status == HVI_ERROR_UNSUPPORTED) return HVI_OK;
  if (!status) {
    status = hvi_probe_score(score, exact, hvi_evaluation_problem(e->evaluation),
                             hvi_evaluation_theta(e->evaluation), NULL, err);
  }
  hvi_probe_free(exact);
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

static void print_costs(const hvi_evaluate *e, const hvi_evaluation_row *row) {
  const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
  printf("cost           %zu outer and %zu inner steps, %zu gradients, %zu model passes,\n"
         "               %zu %s\n",
         now.outer, now.inner_total, row->grad_evals, row->model_passes, row->env_steps,
         e->collector ? "environment steps" : "transitions");
  printf("seconds        %.2f: collection %.2f, targets %.2f, inner steps %.2f; measuring %.2f\n",
         row->seconds, row->seconds_collect, row->seconds_targets, row->seconds_inner,
         row->seconds_measure);
}

static void print_summary(const hvi_evaluate *e, const hvi_evaluation_result *r,
                          const hvi_score *exact) {
  char a[HVI_NUMBER_SIZE], b[HVI_NUMBER_SIZE];
  const hvi_value_spec *v = &e->spec.value;
  printf("value of %s, gamma %g: network %zu", e->env_name ? e->env_name : e->data_path,
         e->spec.value.gamma, v->data->obs);
  for (size_t i = 0; i < v->hidden_count; i++) printf("-%zu", v->hidden[i]);
  printf("-1 in %s\n", e->file[HVI_FILE_NETWORK]);
  if (r->score.states > 0) print_score(&r->score);
  if (exact->states > 0) print_exact(exact);
  printf("Bellman gap    %s of a Bellman error of %s, on %zu transitions\n", number(a, r->gap.gap),
         number(b, r->gap.error), r->gap_rows);
  print_costs(e, &r->last);
  printf("trace in %s, checkpoint in %s\n", e->file[HVI_FILE_TRACE], e->file[HVI_FILE_CHECKPOINT]);
}

/* Members of a struct as members of an object. */
static void write_members(hvi_json *j, const char *name, const hvi_setting *rows, const void *x) {
  hvi_json_open(j, name, '{');
  for (; rows->name; rows++) hvi_setting_json(j, rows, x);
  hvi_json_close(j, '}');
}

/* clang-format off */
#define AT(member) .offset = offsetof(hvi_score, member)
static const hvi_setting score_rows[] = {
    {"states", HVI_SETTING_COUNT, AT(states)},
    {"error", HVI_SETTING_REAL, AT(error)},
    {"interval", HVI_SETTING_REAL, AT(interval)},
    {"noise", HVI_SETTING_REAL, AT(noise)},
    {"without_noise", HVI_SETTING_REAL, AT(clean)},
    {"variance", HVI_SETTING_REAL, AT(variance)},
    {"relative", HVI_SETTING_REAL, AT(relative)},
    {"relative_without_noise", HVI_SETTING_REAL, AT(relative_clean)},
    {"mean_value", HVI_SETTING_REAL, AT(mean)},
    {"rms_value", HVI_SETTING_REAL, AT(size)},
    {"intercept", HVI_SETTING_REAL, AT(intercept)},
    {"slope", HVI_SETTING_REAL, AT(slope)},
    {"correlation", HVI_SETTING_REAL, AT(correlation)},
    {0},
};
#undef AT
#define AT(member) .offset = offsetof(hvi_evaluation_result, member)
static const hvi_setting gap_rows[] = {
    {"gap", HVI_SETTING_REAL, AT(gap.gap)},
    {"error", HVI_SETTING_REAL, AT(gap.error)},
    {"least", HVI_SETTING_REAL, AT(gap.least)},
    {"transitions", HVI_SETTING_COUNT, AT(gap_rows)},
    {0},
};
static const hvi_setting count_rows[] = {
    {"grad_evals", HVI_SETTING_COUNT, AT(last.grad_evals)},
    {"model_passes", HVI_SETTING_COUNT, AT(last.model_passes)},
    {"env_steps", HVI_SETTING_COUNT, AT(last.env_steps)},
    {0},
};
static const hvi_setting second_rows[] = {
    {"collection", HVI_SETTING_REAL, AT(last.seconds_collect)},
    {"targets", HVI_SETTING_REAL, AT(last.seconds_targets)},
    {"inner", HVI_SETTING_REAL, AT(last.seconds_inner)},
    {"run", HVI_SETTING_REAL, AT(last.seconds)},
    {"measuring", HVI_SETTING_REAL, AT(last.seconds_measure)},
    {0},
};
#undef AT
/* clang-format on */

static void score_json(hvi_json *j, const char *name, const hvi_score *s) {
  if (s->states > 0) {
    write_members(j, name, score_rows, s);
  } else {
    hvi_json_text(j, name, NULL);
  }
}

static void network_json(hvi_json *j, const hvi_evaluate *e) {
  const hvi_value_spec *v = &e->spec.value;
  double widths[HVI_VALUE_MOST_LAYERS];
  for (size_t i = 0; i < v->hidden_count; i++) widths[i] = (double)v->hidden[i];
  hvi_json_text(j, "level", hvi_evaluation_state(e->evaluation).levels);
  hvi_json_open(j, "network", '{');
  hvi_json_text(j, "file", e->file[HVI_FILE_NETWORK]);
  hvi_json_count(j, "inputs", v->data->obs);
  hvi_json_numbers(j, "hidden", widths, v->hidden_count);
  hvi_json_text(j, "activation", hvi_activation_name(v->activation));
  hvi_setting_json(j, hvi_setting_find(hvi_evaluation_table(), "normalise"), &e->spec);
  hvi_json_close(j, '}');
}

/* Those of the value problem, of the evaluation and of the method. */
static void settings_json(hvi_json *j, const hvi_evaluate *e) {
  hvi_setup s = e->setup;
  s.name = "value";
  s.many = true; /* theta0 is not listed */
  s.problem = (hvi_problem *)(uintptr_t)hvi_evaluation_problem(e->evaluation); /* read only */
  hvi_json_open(j, "settings", '{');
  hvi_json_count(j, "batch", e->batch);
  for (const hvi_setting *row = hvi_value_table()->rows; row->name; row++)
    if (hvi_words_have("replay double_sampling lambda lambda_decay returns", row->name))
      hvi_setting_json(j, row, &e->spec.value);
  hvi_json_number(j, "polyak", e->spec.polyak);
  hvi_setup_json(j, &s, s.settings.eta);
  hvi_json_close(j, '}');
}

static void print_json(const hvi_evaluate *e, const hvi_evaluation_result *r,
                       const hvi_score *exact) {
  const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
  hvi_json j = {0};
  hvi_json_open(&j, NULL, '{');
  hvi_json_count(&j, "schema_version", 1);
  hvi_json_text(&j, "environment", e->env_name);
  hvi_json_text(&j, "data", e->data_path);
  hvi_json_text(&j, "policy", e->policy_path);
  hvi_json_number(&j, "gamma", e->spec.value.gamma);
  hvi_json_text(&j, "status", e->interrupted ? "interrupted" : hvi_outcome_name(now.outcome));
  hvi_json_count(&j, "outer", now.outer);
  hvi_json_count(&j, "inner", now.inner_total);
  network_json(&j, e);
  score_json(&j, "score", &r->score);
  score_json(&j, "closed_form", exact);
  write_members(&j, "bellman", gap_rows, r);
  write_members(&j, "counts", count_rows, r);
  write_members(&j, "seconds", second_rows, r);
  settings_json(&j, e);
  hvi_json_close(&j, '}');
}

hvi_status hvi_evaluate_report(hvi_evaluate *e, hvi_error *err) {
  const bool diverged = hvi_evaluation_state(e->evaluation).outcome == HVI_DIVERGED;
  hvi_evaluation_result r;
  hvi_score exact = {0};
  hvi_status status = hvi_evaluation_judge(e->evaluation, &r, err);
  if (!status && !diverged) status = judge_exactly(e, &exact, err);
  if (status) return status;
  if (e->json) {
    print_json(e, &r, &exact);
  } else if (!diverged) {
    print_summary(e, &r, &exact);
  }
  return HVI_OK;
}
