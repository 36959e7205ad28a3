/* What an evaluation leaves: files, pictures, and the result for people and as JSON. */
#include "base/base.h"
#include "evaluate_parts.h"

#include "base/number.h"
#include "base/suggest.h"
#include "io/kept.h"
#include "report/csv.h"
#include "report/plot.h"
#include "report/text.h"
#include "rollout.h"

#include <sys/stat.h>
#include <unistd.h>

/* What the names begin with. */
static char *make_stem(const hvi_evaluate *e) {
  static const char ending[] = ".safetensors";
  const char *name = e->out ? e->out : e->env_name;
  size_t length = name ? strlen(name) : 0;
  if (!name) {
    name = hvi_rollout_base_name(e->data_path);
    length = strcspn(name, ".");
  }
  const size_t tail = strlen(ending);
  if (e->out && length > tail && strcmp(name + length - tail, ending) == 0) length -= tail;
  hvi_text stem = {0};
  hvi_text_add(&stem, "%.*s%s", (int)length, name, e->out ? "" : "-value");
  return hvi_text_take(&stem);
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

hvi_status hvi_evaluate_names(hvi_evaluate *e, hvi_error *err) {
  static const char *const endings[HVI_FILES] = {"",
                                                 "-calibration",
                                                 ".safetensors",
                                                 ".csv",
                                                 ".checkpoint",
                                                 "-calibration.csv",
                                                 "-testset.safetensors"};
  const char *const read[] = {e->policy_path, e->data_path, e->testset_path};
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

/* The columns of a row, and the noise that the error cannot fall below. */
static char *trace_header(void) {
  hvi_text t = {0};
  for (size_t j = 0; hvi_evaluation_column(j); j++)
    hvi_text_add(&t, "%s,", hvi_evaluation_column(j));
  hvi_text_add(&t, "noise");
  return hvi_text_take(&t);
}

hvi_status hvi_evaluate_trace(const hvi_evaluate *e, hvi_error *err) {
  size_t count;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  char *header = trace_header();
  hvi_csv csv = {0};
  if (!header) return hvi_error_memory(err, "a trace");
  hvi_status status = hvi_csv_open(&csv, e->file[HVI_FILE_TRACE], header, err);
  hvi_free(header);
  if (status) return status;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; hvi_evaluation_column(j); j++)
      hvi_csv_number(&csv, hvi_evaluation_cell(&rows[i], j));
    hvi_csv_number(&csv, e->task.noise);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

/* A trace that is there is one of hvi's, by its header. */
static hvi_status check_trace(const hvi_evaluate *e, hvi_error *err) {
  const char *path = e->file[HVI_FILE_TRACE];
  char *text = NULL, *header = trace_header();
  hvi_status status = header ? HVI_OK : hvi_error_memory(err, "a trace");
  struct stat st;
  if (!status && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    status = hvi_file_read_text(&text, path, (size_t)st.st_size, err);
  if (text && strncmp(text, header, strlen(header)) != 0) {
    status = hvi_error_set(
        err, HVI_ERROR_IO,
        "'%s' is there and is no trace of an evaluation: --out takes another name", path);
  }
  hvi_free(text);
  hvi_free(header);
  return status;
}

hvi_status hvi_evaluate_claim(hvi_evaluate *e, bool *there, hvi_error *err) {
  const char *checkpoint = e->file[HVI_FILE_CHECKPOINT], *network = e->file[HVI_FILE_NETWORK];
  HVI_TRY(hvi_lock_take(&e->lock, checkpoint, err));
  *there = access(checkpoint, F_OK) == 0;
  const bool told = e->resume || e->fresh;
  if (*there && !told)
    return hvi_error_argument(err, "'%s' is there: --resume goes on from it, --fresh begins anew",
                              checkpoint);
  if (!told && access(network, F_OK) == 0)
    return hvi_error_set(
        err, HVI_ERROR_ARGUMENT,
        "'%s' is there and its checkpoint is not: --fresh makes another one in its place", network);
  hvi_status status = check_trace(e, err);
  return !status && e->fresh ? hvi_kept_check(checkpoint, err) : status;
}

/* The name in its folder, where the script of a picture looks for it. */
static const char *name_of(const hvi_evaluate *e, size_t file) {
  return hvi_rollout_base_name(e->file[file]);
}

static hvi_status draw_plot(const hvi_evaluate *e, const char *folder, const hvi_plot *plot,
                            hvi_error *err) {
  char note[HVI_PLOT_NOTE];
  const hvi_status status = hvi_plot_make(folder, plot, note, err);
  if (!status && *note) hvi_say(&e->talk, "hvi: %s\n", note);
  return status;
}

/* What a learning curve can show: the error, where there is a test set, or else the Bellman gap, or
 * else the loss of the surrogate, which learners without one do not have. */
typedef struct measured {
  const char *name, *label;
  double least, most; /* over the rows but the first, which has no place on a logarithmic axis */
} measured;

static void find_range(measured *m, const hvi_evaluate *e) {
  size_t count, column = 0;
  const hvi_evaluation_row *rows = hvi_evaluation_rows(e->evaluation, &count);
  while (strcmp(hvi_evaluation_column(column), m->name) != 0) column++;
  m->least = INFINITY, m->most = 0.0;
  for (size_t i = 1; i < count; i++) {
    m->least = fmin(m->least, hvi_evaluation_cell(&rows[i], column));
    m->most = fmax(m->most, hvi_evaluation_cell(&rows[i], column));
  }
}

static measured choose(const hvi_evaluate *e) {
  measured m[] = {{.name = "error", .label = "mean squared error of the values"},
                  {.name = "gap", .label = "Bellman gap"},
                  {.name = "loss", .label = "loss"},
                  {0}};
  size_t k = e->task.probe ? 0 : 1;
  for (; m[k].name; k++) {
    find_range(&m[k], e);
    if (m[k].most > 0.0) break;
  }
  return m[k];
}

/* Over outer steps and over seconds; an error with the noise that it cannot see below. */
static hvi_status draw_curve(const hvi_evaluate *e, const char *folder, hvi_error *err) {
  const measured what = choose(e);
  if (!what.name) {
    hvi_say(&e->talk, "no learning curve: --testset, or --gap with --data, gives one to draw\n");
    return HVI_OK;
  }
  char title[160];
  const char *csv = name_of(e, HVI_FILE_TRACE), *y = what.name;
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
  snprintf(title, sizeof title, "value of %s, gamma %g",
           e->env_name ? e->env_name : "the data's policy", e->spec.value.gamma);
  const hvi_plot plot = {.name = name_of(e, HVI_FILE_CURVE),
                         .title = title,
                         .columns = 2,
                         .panel_count = 2,
                         .panels = panels};
  return draw_plot(e, folder, &plot, err);
}

typedef struct state_pair {
  double predicted, value, standard_error;
} state_pair;

static int by_value(const void *a, const void *b) {
  const double x = ((const state_pair *)a)->value, y = ((const state_pair *)b)->value;
  return (x > y) - (x < y);
}

/* Rows in the order of their values, along which the diagonal is drawn. */
static hvi_status write_pairs(const char *path, state_pair *pairs, size_t count, hvi_error *err) {
  hvi_csv csv = {0};
  HVI_TRY(hvi_csv_open(&csv, path, "predicted,value,standard_error", err));
  qsort(pairs, count, sizeof *pairs, by_value);
  for (size_t i = 0; i < count; i++) {
    hvi_csv_number(&csv, pairs[i].predicted);
    hvi_csv_number(&csv, pairs[i].value);
    hvi_csv_number(&csv, pairs[i].standard_error);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

static hvi_status write_calibration(const hvi_evaluate *e, hvi_error *err) {
  const hvi_probe *p = e->task.probe;
  hvi_score score;
  double *predicted = hvi_alloc_doubles(p->states);
  state_pair *pairs = hvi_alloc(p->states, sizeof *pairs);
  hvi_status status = predicted && pairs ? HVI_OK : hvi_error_memory(err, "predicted values");
  if (!status) {
    status = hvi_probe_score(&score, p, hvi_evaluation_problem(e->evaluation),
                             hvi_evaluation_theta(e->evaluation), predicted, err);
  }
  for (size_t i = 0; !status && i < p->states; i++)
    pairs[i] = (state_pair){predicted[i], p->value[i], p->standard_error[i]};
  if (!status) status = write_pairs(e->file[HVI_FILE_PAIRS], pairs, p->states, err);
  hvi_free(predicted);
  hvi_free(pairs);
  return status;
}

static hvi_status draw_calibration(const hvi_evaluate *e, const char *folder, hvi_error *err) {
  const char *csv = name_of(e, HVI_FILE_PAIRS);
  const hvi_series series[] = {
      {"states", csv, "predicted", "value", NULL, HVI_MARK_CLOUD, 0},
      {"predicted = Monte-Carlo", csv, "value", "value", NULL, HVI_MARK_LINE, 1}};
  const hvi_panel panel = {.x = {.label = "predicted value"},
                           .y = {.label = "Monte-Carlo value"},
                           .series_count = 2,
                           .series = series};
  const hvi_plot plot = {.name = name_of(e, HVI_FILE_CALIBRATION),
                         .title = "predicted and Monte-Carlo values",
                         .panel_count = 1,
                         .panels = &panel};
  const hvi_status status = write_calibration(e, err);
  return status ? status : draw_plot(e, folder, &plot, err);
}

hvi_status hvi_evaluate_draw(const hvi_evaluate *e, hvi_error *err) {
  char *folder = NULL, *name = NULL;
  size_t count;
  hvi_evaluation_rows(e->evaluation, &count);
  hvi_status status = hvi_path_split(&folder, &name, e->file[HVI_FILE_CURVE], "")
                          ? HVI_OK
                          : hvi_error_memory(err, "file names");
  if (!status && count > 1) status = draw_curve(e, folder, err);
  if (!status && e->task.probe) status = draw_calibration(e, folder, err);
  hvi_free(folder);
  hvi_free(name);
  return status;
}

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
  if (s->states > 0)
    write_members(j, name, score_rows, s);
  else
    hvi_json_text(j, name, NULL);
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
  if (e->json)
    print_json(e, &r, &exact);
  else if (!diverged)
    print_summary(e, &r, &exact);
  return HVI_OK;
}
