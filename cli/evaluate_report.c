/* What an evaluation leaves: files, pictures, and the result for people and as JSON. */
#include "base/base.h"
#include "evaluate_parts.h"

#include "json.h"
#include "report/csv.h"
#include "report/text.h"
#include "rollout.h"

#include <sys/stat.h>

HVI_RELEASE(hvi_probe)

/* What the names begin with. */
static char *make_stem(const hvi_evaluate *e) {
  hvi_text stem = {0};
  if (e->out)
    hvi_text_add(&stem, "%.*s", hvi_stem_length(e->out), e->out);
  else if (e->env_name)
    hvi_text_add(&stem, "%s-value", e->env_name);
  else
    hvi_text_add(&stem, "%.*s-value", (int)strcspn(hvi_base_name(e->data_path), "."),
                 hvi_base_name(e->data_path));
  return hvi_text_take(&stem);
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static const char *const endings[] = {"",
                                      "-calibration",
                                      ".safetensors",
                                      ".csv",
                                      ".checkpoint",
                                      "-calibration.csv",
                                      "-testset.safetensors"};

hvi_status hvi_evaluate_names(hvi_evaluate *e, hvi_error *err) {
  const char *const read[] = {e->policy_path, e->data_path, e->testset_path, e->log_path};
  const bool makes = e->env_name && !e->testset_path && e->test_states > 0;
  char **file = e->file;
  file[HVI_FILE_CURVE] = make_stem(e);
  for (size_t k = 1; k < (makes ? HVI_FILES : HVI_FILE_TESTSET); k++) {
    file[k] = *file ? hvi_join_texts(*file, endings[k]) : NULL;
    if (!file[k]) return hvi_error_memory(err, "file names");
    /* a network written over the policy that it judges would be a loss */
    for (size_t i = 0; k >= HVI_FILE_NETWORK && i < sizeof read / sizeof *read; i++)
      if (read[i] && same_file(read[i], file[k]))
        return hvi_error_argument(err, "'%s' would be overwritten: --out takes another name",
                                  read[i]);
  }
  return HVI_OK;
}

static const char pairs_header[] = "predicted,value,standard_error";

/* The columns of a row, and the noise that the error cannot fall below. */
static const char *trace_header(void) {
  const char *names = "";
  for (size_t j = 0; hvi_evaluation_column(j); j++)
    names = hvi_format("%s%s,", names, hvi_evaluation_column(j));
  return hvi_format("%snoise", names);
}

hvi_status hvi_evaluate_trace(const hvi_evaluate *e, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  hvi_csv csv = {0};
  HVI_TRY(hvi_csv_open(&csv, e->file[HVI_FILE_TRACE], trace_header(), err));
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; hvi_evaluation_column(j); j++)
      hvi_csv_number(&csv, hvi_evaluation_cell(&rows[i], j));
    hvi_csv_number(&csv, e->task.noise);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

int hvi_evaluate_outputs(const hvi_evaluate *e) {
  HVI_STEP(hvi_output_check(e->file[HVI_FILE_NETWORK], "\"contents\":\"value network\""));
  HVI_STEP(hvi_output_check(e->file[HVI_FILE_TRACE], trace_header()));
  HVI_STEP(hvi_output_check(e->log_path, "\"seconds_collect\": "));
  HVI_STEP(hvi_output_check(e->file[HVI_FILE_PAIRS], pairs_header));
  HVI_STEP(hvi_figure_check_beside(e->file[HVI_FILE_TRACE]));
  HVI_STEP(hvi_figure_check_beside(e->file[HVI_FILE_PAIRS]));
  /* one that is resumed is read, not made */
  return hvi_output_check(e->resume ? NULL : e->file[HVI_FILE_TESTSET],
                          "\"contents\":\"test set\"");
}

/* What a learning curve can show: the error, where there is a test set, or else the Bellman gap, or
 * else the loss of the surrogate, which learners without one do not have. */
typedef struct measured {
  const char *name, *label;
  double least, most; /* over the rows but the first, which has no place on a logarithmic axis */
} measured;

static measured choose(const hvi_evaluate *e) {
  static const measured all[] = {{"error", "mean squared error of the values", INFINITY, 0.0},
                                 {"gap", "Bellman gap", INFINITY, 0.0},
                                 {"loss", "loss", INFINITY, 0.0}};
  size_t count, column = 0;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  for (size_t k = e->task.probe ? 0 : 1; k < 3; k++, column = 0) {
    measured m = all[k];
    while (strcmp(hvi_evaluation_column(column), m.name) != 0) column++;
    for (size_t i = 1; i < count; i++) {
      m.least = fmin(m.least, hvi_evaluation_cell(&rows[i], column));
      m.most = fmax(m.most, hvi_evaluation_cell(&rows[i], column));
    }
    if (m.most > 0.0) return m;
  }
  return (measured){0};
}

/* Over outer steps and over seconds; an error with the noise that it cannot see below. */
static hvi_status draw_curve(const hvi_evaluate *e, const char *folder, hvi_error *err) {
  const measured what = choose(e);
  if (!what.name) {
    hvi_say("no learning curve: --testset, or --gap with --data, gives one to draw\n");
    return HVI_OK;
  }
  /* scripts of pictures look for data in their own folder */
  const char *csv = hvi_base_name(e->file[HVI_FILE_TRACE]), *y = what.name;
  const char *whose = e->env_name ? e->env_name : "the data's policy";
  const double noise = e->task.noise > 0.0 ? e->task.noise : NAN;
  const hvi_axis axis = hvi_axis_log(what.label, fmin(noise, what.least), what.most);
  const char *const over[] = {"outer", "seconds"};
  hvi_series series[2][2];
  hvi_panel panels[2];
  for (size_t k = 0; k < 2; k++) {
    series[k][0] = (hvi_series){k ? NULL : y, csv, over[k], y, NULL, HVI_MARK_LINE, 0};
    series[k][1] = (hvi_series){
        k ? NULL : "Monte-Carlo noise", csv, over[k], "noise", NULL, HVI_MARK_DASHED, 7};
    panels[k] = (hvi_panel){
        .x = {.label = k ? "seconds (collection and optimisation)" : "outer steps", .log = true},
        .y = axis,
        .series_count = isnan(noise) ? 1 : 2,
        .series = series[k]};
  }
  const hvi_plot plot = {.name = hvi_base_name(e->file[HVI_FILE_CURVE]),
                         .title = hvi_format("value of %s, gamma %g", whose, e->spec.value.gamma),
                         .columns = 2,
                         .panel_count = 2,
                         .panels = panels};
  return hvi_draw(folder, &plot, "hvi: ", err);
}

static int by_value(const void *a, const void *b) {
  const double x = ((const double *)a)[1], y = ((const double *)b)[1];
  return (x > y) - (x < y);
}

static hvi_status score_network(hvi_score *score, const hvi_evaluate *e, const hvi_probe *probe,
                                double *predicted, hvi_error *err) {
  return hvi_probe_score(score, probe, hvi_evaluation_problem(e->evaluation),
                         hvi_evaluation_theta(e->evaluation), predicted, err);
}

/* Rows in the order of their values, along which the diagonal is drawn. */
static hvi_status write_calibration(const hvi_evaluate *e, hvi_error *err) {
  const hvi_probe *p = e->task.probe;
  hvi_score score;
  hvi_csv csv = {0};
  HVI_OWN double *predicted = hvi_alloc_doubles(p->states);
  HVI_OWN double(*rows)[3] = hvi_alloc(p->states, sizeof *rows);
  if (!predicted || !rows) return hvi_error_memory(err, "predicted values");
  HVI_TRY(score_network(&score, e, p, predicted, err));
  for (size_t i = 0; i < p->states; i++)
    memcpy(rows[i], (double[]){predicted[i], p->value[i], p->standard_error[i]}, sizeof *rows);
  qsort(rows, p->states, sizeof *rows, by_value);
  HVI_TRY(hvi_csv_open(&csv, e->file[HVI_FILE_PAIRS], pairs_header, err));
  for (size_t i = 0; i < p->states; i++) {
    for (size_t k = 0; k < 3; k++) hvi_csv_number(&csv, rows[i][k]);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

static hvi_status draw_calibration(const hvi_evaluate *e, const char *folder, hvi_error *err) {
  const char *csv = hvi_base_name(e->file[HVI_FILE_PAIRS]);
  const hvi_series series[] = {
      {"states", csv, "predicted", "value", NULL, HVI_MARK_CLOUD, 0},
      {"predicted = Monte-Carlo", csv, "value", "value", NULL, HVI_MARK_LINE, 1}};
  const hvi_panel panel = {.x = {.label = "predicted value"},
                           .y = {.label = "Monte-Carlo value"},
                           .series_count = 2,
                           .series = series};
  const hvi_plot plot = {.name = hvi_base_name(e->file[HVI_FILE_CALIBRATION]),
                         .title = "predicted and Monte-Carlo values",
                         .panel_count = 1,
                         .panels = &panel};
  HVI_TRY(write_calibration(e, err));
  return hvi_draw(folder, &plot, "hvi: ", err);
}

hvi_status hvi_evaluate_draw(const hvi_evaluate *e, hvi_error *err) {
  HVI_OWN char *folder = NULL, *name = NULL;
  size_t count;
  hvi_evaluation_rows(e->evaluation, &count);
  if (!hvi_path_split(&folder, &name, e->file[HVI_FILE_CURVE], ""))
    return hvi_error_memory(err, "file names");
  if (count > 1) HVI_TRY(draw_curve(e, folder, err));
  return e->task.probe ? draw_calibration(e, folder, err) : HVI_OK;
}

/* The closed form at the states of the test set, where there is one. */
static hvi_status judge_exactly(const hvi_evaluate *e, hvi_score *score, hvi_error *err) {
  const hvi_task *t = &e->task;
  HVI_OWN_BY(hvi_probe_release) hvi_probe *exact = NULL;
  if (!t->testset || !t->env || !hvi_env_lqr(t->env)) return HVI_OK;
  const hvi_status status = hvi_probe_exact(&exact, t->testset, t->env, t->policy, err);
  if (status) return status == HVI_ERROR_UNSUPPORTED ? HVI_OK : status;
  return score_network(score, e, exact, NULL, err);
}

static const char *number(double x) { return hvi_digits(x, 4, "nan"); }

/* Where the noise of the test set hides what there is to see. */
static void print_noise(const hvi_score *s) {
  if (!s->too_noisy) return;
  printf("too noisy      %.3g %% of the variance of the test set's values is Monte-Carlo noise: "
         "the true\n"
         "               values would score an error of %s and a correlation of about %.2f\n",
         100.0 * s->noise_share, number(s->noise), sqrt(fmax(0.0, 1.0 - s->noise_share)));
  printf("               the error without noise is %s, and below %s with 97.5 %% confidence;\n"
         "               more roll-outs make better values (hvi testset --rollouts)\n",
         number(fmax(0.0, s->clean)), number(fmax(0.0, s->clean + s->clean_interval)));
}

/* The usual class of states, or the others. */
static const char *class_name(const hvi_evaluate *e, size_t label) {
  const hvi_testset *set = e->task.testset;
  hvi_class_figures f;
  if (!set || !set->label) return NULL;
  if (label > 0 && set->classes != 2) return "others";
  return hvi_testset_class(&f, set, label, &hvi_fault) ? NULL : hvi_format("%s", f.name);
}

static void print_score(const hvi_evaluate *e, const hvi_score *s) {
  const struct hvi_class_score *const classes[] = {&s->usual, &s->rare};
  printf("error          %s%s (mean squared, %s%zu states%s)\n", number(s->error),
         s->episodes ? hvi_format(", 95 %%: %s to %s", number(s->error_low), number(s->error_high))
                     : hvi_format(" +- %s", number(s->interval)),
         s->episodes ? "" : "95 % over ", s->states,
         s->episodes ? hvi_format(" of %zu episodes", s->episodes) : "");
  for (size_t k = 0; k < 2; k++)
    if (classes[k]->states > 0)
      printf("  %-14s %s in %zu states (Monte-Carlo noise %s)\n", class_name(e, k),
             number(classes[k]->error), classes[k]->states, number(classes[k]->noise));
  printf("  without noise  %s +- %s (Monte-Carlo noise %s)\n", number(s->clean),
         number(s->clean_interval), number(s->noise));
  printf("  relative       %.3g %% of the values' variance %s; without noise %.3g %%\n",
         100.0 * s->relative, number(s->variance), 100.0 * s->relative_clean);
  printf("calibration    value = %s + %s * predicted, correlation %.5f\n", number(s->intercept),
         number(s->slope), s->correlation);
  print_noise(s);
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
  const hvi_value_spec *v = &e->spec.value;
  printf("value of %s, gamma %g: network %zu", e->env_name ? e->env_name : e->data_path, v->gamma,
         v->data->obs);
  for (size_t i = 0; i < v->hidden_count; i++) printf("-%zu", v->hidden[i]);
  printf("-1 in %s\n", e->file[HVI_FILE_NETWORK]);
  if (r->score.states > 0) print_score(e, &r->score);
  if (exact->states > 0)
    printf("closed form    error %s +- %s: root %.3g %% of the root mean square value, %.3g %% of\n"
           "               the variance\n",
           number(exact->error), number(exact->interval), 100.0 * sqrt(exact->error) / exact->size,
           100.0 * exact->relative);
  printf("Bellman gap    %s of a Bellman error of %s, on %zu transitions\n", number(r->gap.gap),
         number(r->gap.error), r->gap_rows);
  print_costs(e, &r->last);
  printf("trace in %s, checkpoint in %s\n", e->file[HVI_FILE_TRACE], e->file[HVI_FILE_CHECKPOINT]);
}

static void score_json(const hvi_evaluate *e, const char *name, const hvi_score *s) {
  if (s->states == 0)
    hvi_json_put(V(name, (char *)NULL));
  else
    hvi_json_object(name, V("states", s->states), V("episodes", s->episodes), V("error", s->error),
                    V("error_low", s->error_low), V("error_high", s->error_high),
                    V("interval", s->interval), V("noise", s->noise), V("without_noise", s->clean),
                    V("without_noise_interval", s->clean_interval), V("variance", s->variance),
                    V("relative", s->relative), V("relative_without_noise", s->relative_clean),
                    V("mean_value", s->mean), V("rms_value", s->size), V("intercept", s->intercept),
                    V("slope", s->slope), V("correlation", s->correlation),
                    V("noise_share", s->noise_share), V("too_noisy", s->too_noisy),
                    V("class_usual", class_name(e, 0)), V("states_usual", s->usual.states),
                    V("error_usual", s->usual.error), V("noise_usual", s->usual.noise),
                    V("class_rare", class_name(e, 1)), V("states_rare", s->rare.states),
                    V("error_rare", s->rare.error), V("noise_rare", s->rare.noise));
}

static void network_json(const hvi_evaluate *e) {
  const hvi_value_spec *v = &e->spec.value;
  double widths[HVI_VALUE_MOST_LAYERS];
  for (size_t i = 0; i < v->hidden_count; i++) widths[i] = (double)v->hidden[i];
  hvi_json_open("network", '{');
  hvi_json_put(V("file", e->file[HVI_FILE_NETWORK]), V("inputs", v->data->obs),
               hvi_value_numbers("hidden", widths, v->hidden_count),
               V("activation", hvi_activation_name(v->activation)));
  hvi_setting_json(hvi_setting_find(hvi_evaluation_table(), "normalise"), &e->spec);
  hvi_json_close();
}

/* Those of the value problem, of the evaluation and of the method. */
static void settings_json(const hvi_evaluate *e) {
  hvi_setup s = e->setup;
  s.name = "value";
  s.many = true; /* theta0 is not listed */
  s.problem = (hvi_problem *)(uintptr_t)hvi_evaluation_problem(e->evaluation); /* read only */
  hvi_json_open("settings", '{');
  hvi_json_put(V("batch", e->batch));
  for (const hvi_setting *row = hvi_value_table()->rows; row->name; row++)
    if (hvi_words_have("replay double_sampling lambda lambda_decay returns", row->name))
      hvi_setting_json(row, &e->spec.value);
  hvi_json_put(V("polyak", e->spec.polyak));
  hvi_setup_json(&s, s.settings.eta);
}

static void print_json(const hvi_evaluate *e, const hvi_evaluation_result *r,
                       const hvi_score *exact) {
  const hvi_evaluation_status now = hvi_evaluation_state(e->evaluation);
  const hvi_evaluation_row *last = &r->last;
  hvi_json_begin();
  hvi_json_put(V("environment", e->env_name), V("data", e->data_path), V("policy", e->policy_path),
               V("gamma", e->spec.value.gamma),
               V("status", e->interrupted ? "interrupted" : hvi_outcome_name(now.outcome)),
               V("outer", now.outer), V("inner", now.inner_total), V("level", now.levels));
  network_json(e);
  score_json(e, "score", &r->score);
  score_json(e, "closed_form", exact);
  hvi_json_object("bellman", V("gap", r->gap.gap), V("error", r->gap.error),
                  V("least", r->gap.least), V("transitions", r->gap_rows));
  hvi_json_object("counts", V("grad_evals", last->grad_evals),
                  V("model_passes", last->model_passes), V("env_steps", last->env_steps));
  hvi_json_object("seconds", V("collection", last->seconds_collect),
                  V("targets", last->seconds_targets), V("inner", last->seconds_inner),
                  V("run", last->seconds), V("measuring", last->seconds_measure));
  settings_json(e);
  hvi_json_end();
}

hvi_status hvi_evaluate_report(hvi_evaluate *e, hvi_error *err) {
  const bool diverged = hvi_evaluation_state(e->evaluation).outcome == HVI_DIVERGED;
  hvi_evaluation_result r;
  hvi_score exact = {0};
  HVI_TRY(hvi_evaluation_judge(e->evaluation, &r, err));
  if (!diverged) HVI_TRY(judge_exactly(e, &exact, err));
  if (hvi_talk.json)
    print_json(e, &r, &exact);
  else if (!diverged)
    print_summary(e, &r, &exact);
  return HVI_OK;
}
