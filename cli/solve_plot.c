/*
 * hvi solve --plot: how a solve went, in small pictures.
 *
 *   residual and distance   loss ratio      per outer step
 *   a player's strategy     another's       over outer steps, the solution dashed
 *
 * NAME.plot.csv grows with the solve as a trace does (io/log.h). It has the first thousand steps,
 * every second of the next thousand, every fourth of the two thousand after these, ..., and the last.
 * At the end NAME.gp draws NAME.png or NAME.svg from it, and all three stay.
 */
#include "base/base.h"
#include "io/csv_table.h"
#include "rollout.h"
#include "solve.h"

enum {
  OUTER,
  RESIDUAL,
  DISTANCE,
  RATIO,
  ALPHA2,
  FIXED, /* columns before the outputs */
  ALL_STEPS = 1000,
  MOST_BYTES = 1 << 30,
  MOST_LABELS = 8, /* outputs that are told apart by colour */
  TITLE_SIZE = 128
};

static const char START[] = "outer,residual,distance,ratio,alpha2";

static hvi_status name_files(hvi_picture *p, const char *path, hvi_error *err) {
  const char *dot = strrchr(path, '.');
  p->format = dot ? dot + 1 : "";
  if (strcmp(p->format, "png") != 0 && strcmp(p->format, "svg") != 0)
    return hvi_error_argument(err, "--plot: '%s' must end in .png or .svg", path);
  const bool split = hvi_path_split(&p->folder, &p->name, path, dot);
  p->data = split ? hvi_path_join(p->folder, p->name, ".plot.csv") : NULL;
  return p->data ? HVI_OK : hvi_error_memory(err, "file names");
}

void hvi_picture_free(hvi_picture *p) {
  hvi_log_close(&p->rows, NULL);
  hvi_free(p->folder);
  hvi_free(p->name);
  hvi_free(p->data);
}

int hvi_picture_check(const char *path) {
  HVI_OWN_BY(hvi_picture_free) hvi_picture p = {0};
  if (!path) return HVI_EXIT_DONE;
  HVI_CALL(name_files(&p, path, &hvi_fault));
  HVI_STEP(hvi_output_check(p.data, START));
  if (!hvi_talk.force) HVI_CALL(hvi_plot_check(p.folder, p.name, p.format, &hvi_fault));
  return HVI_EXIT_DONE;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t panels_of(const hvi_model *m) { return least(m->block_count, HVI_PICTURE_PLAYERS); }
static size_t lines_of(const hvi_block *b) { return least(b->out, HVI_PICTURE_LINES); }

hvi_status hvi_picture_open(hvi_picture *p, const hvi_solve *asked, size_t step, hvi_error *err) {
  const hvi_problem *problem = asked->setup.problem;
  HVI_OWN_BY(hvi_text_free) hvi_text header = {0};
  if (!asked->plot) return HVI_OK;
  p->setup = &asked->setup;
  HVI_TRY(name_files(p, asked->plot, err));
  for (size_t k = 0; k < panels_of(problem->model); k++) {
    const hvi_block *b = &problem->model->blocks[k];
    const size_t count = lines_of(b);
    for (size_t j = 0; j < count; j++) p->outputs[p->count++] = b->z + j * b->out / count;
  }
  /* by number: in a name, gnuplot would read some characters as its own */
  hvi_text_add(&header, "%s", START);
  for (size_t i = 0; i < p->count; i++) hvi_text_add(&header, ",z%zu", p->outputs[i] + 1);
  for (size_t i = 0; i < p->count && problem->solution; i++)
    hvi_text_add(&header, ",z*%zu", p->outputs[i] + 1);
  if (header.failed) return hvi_error_memory(err, p->data);
  HVI_TRY(hvi_log_open(&p->rows, p->data, header.data, step, err));
  p->empty = p->rows.last == HVI_LOG_NEW;
  return HVI_OK;
}

static bool is_due(size_t outer) {
  size_t stride = 1;
  while (outer / stride >= ALL_STEPS) stride *= 2;
  return outer % stride == 0;
}

static double finite(double x) { return isfinite(x) ? x : NAN; }

void hvi_picture_row(hvi_picture *p, const hvi_record *row, bool last) {
  if (!p->rows.file.stream || (!is_due(row->outer) && !last)) return;
  const double *solution = p->setup->problem->solution, alpha = p->setup->settings.alpha;
  p->empty = false;
  double z[2][HVI_PICTURE_PLAYERS * HVI_PICTURE_LINES];
  for (size_t i = 0; i < p->count; i++) {
    z[0][i] = finite(row->z[p->outputs[i]]);
    z[1][i] = solution ? solution[p->outputs[i]] : NAN;
  }
  hvi_log_put(&p->rows, V("outer", row->outer), V("residual", finite(row->residual)),
              V("distance", finite(sqrt(row->dist2))), V("ratio", finite(row->ratio)),
              V("alpha2", alpha > 0 ? alpha * alpha : NAN), hvi_value_numbers("z", z[0], p->count),
              hvi_value_numbers("z*", z[1], solution ? p->count : 0));
}

typedef struct drawing {
  const hvi_picture *picture;
  const hvi_problem *problem;
  const char *file; /* of the data, in the picture's folder */
  hvi_table data;   /* and what is in it */
  bool labelled;    /* some player has more than one output */
  size_t series_count, panel_count;
  hvi_series series[2 * HVI_PICTURE_PLAYERS * HVI_PICTURE_LINES + FIXED];
  hvi_panel panels[HVI_PICTURE_PLAYERS + 2];
  char titles[HVI_PICTURE_PLAYERS][TITLE_SIZE];
} drawing;

static void add_series(drawing *d, const char *label, size_t column, hvi_mark mark, size_t style) {
  d->series[d->series_count++] = (hvi_series){.label = label,
                                              .file = d->file,
                                              .x = d->data.names[OUTER],
                                              .y = d->data.names[column],
                                              .mark = mark,
                                              .style = style};
  d->panels[d->panel_count - 1].series_count++;
}

/* Begins a panel, whose series follow. */
static hvi_panel *begin_panel(drawing *d, const char *title, hvi_axis y) {
  hvi_panel *p = &d->panels[d->panel_count++];
  *p = (hvi_panel){
      .title = title, .x = {.label = "outer step"}, .y = y, .series = d->series + d->series_count};
  return p;
}

/* A logarithmic axis for two columns; gnuplot's own where nothing in them is above zero. */
static hvi_axis axis_of(const drawing *d, size_t first, size_t second) {
  double low = INFINITY, high = 0;
  for (size_t i = 0; i < 2 * d->data.rows; i++) {
    const double x = d->data.data[i / 2 * d->data.columns + (i % 2 ? first : second)];
    if (!(x > 0)) continue;
    low = fmin(low, x);
    high = fmax(high, x);
  }
  hvi_axis axis = hvi_axis_log("", low, high);
  axis.floor = true;
  return axis;
}

static bool has(const drawing *d, size_t column) { return axis_of(d, column, column).high > 0; }

static void add_progress(drawing *d) {
  const bool residual = has(d, RESIDUAL), distance = has(d, DISTANCE);
  if (residual || distance)
    begin_panel(d,
                residual && distance ? "residual and distance"
                : residual           ? "residual"
                                     : "distance",
                axis_of(d, RESIDUAL, DISTANCE));
  if (residual) add_series(d, "residual", RESIDUAL, HVI_MARK_SOLID, 6);
  if (distance) add_series(d, "|z − z*|", DISTANCE, HVI_MARK_SOLID, 7);
  if (!has(d, RATIO)) return;
  begin_panel(d, "loss ratio of the inner loop", axis_of(d, RATIO, ALPHA2));
  add_series(d, "loss after / before", RATIO, HVI_MARK_SOLID, 9);
  if (has(d, ALPHA2)) add_series(d, "α²", ALPHA2, HVI_MARK_DASHED, 9);
}

/* From the bounds of a player's outputs, where they have some. */
static hvi_axis strategy_axis(const hvi_problem *p, const hvi_block *b) {
  const hvi_set *set = p->sets, *end = p->sets + p->set_count;
  while (set + 1 < end && set[1].begin <= b->z) set++;
  const bool box = set->kind == HVI_SET_BOX;
  double low = box ? INFINITY : 0, high = box ? -INFINITY : 1;
  for (size_t i = 0; box && i < set->len; i++) {
    low = fmin(low, set->lower[i]);
    high = fmax(high, set->upper[i]);
  }
  const double margin = 0.02 * (high - low);
  const bool bounded = (box || set->kind == HVI_SET_SIMPLEX) && margin > 0 && isfinite(margin);
  return bounded ? (hvi_axis){.low = low - margin, .high = high + margin} : (hvi_axis){0};
}

/* Strategies of player k, whose first line is number `first` of all. */
static void add_player(drawing *d, size_t k, size_t first) {
  static const size_t styles[MOST_LABELS] = {0, 1, 2, 3, 4, 5, 8, 9};
  static const char *const labels[MOST_LABELS] = {"output 1", "output 2", "output 3", "output 4",
                                                  "output 5", "output 6", "output 7", "output 8"};
  const hvi_problem *p = d->problem;
  const hvi_block *b = &p->model->blocks[k];
  const size_t count = lines_of(b), column = FIXED + first;
  const bool few = b->out <= MOST_LABELS;
  const char *name = p->players                  ? p->players[k]
                     : p->model->block_count > 1 ? hvi_format("player %zu", k + 1)
                                                 : "outputs";
  const char *share = count < b->out ? hvi_format(": %zu of %zu outputs", count, b->out) : "";
  snprintf(d->titles[k], TITLE_SIZE, "%.*s%s", (int)(TITLE_SIZE - 1 - strlen(share)), name, share);
  begin_panel(d, d->titles[k], strategy_axis(p, b))->plain = true;
  for (size_t j = 0; j < count; j++) {
    const size_t style = styles[j % MOST_LABELS];
    add_series(d, few && d->labelled ? labels[j] : NULL, column + j,
               few ? HVI_MARK_SOLID : HVI_MARK_THIN, style);
    if (few && p->solution)
      add_series(d, "solution", column + d->picture->count + j, HVI_MARK_DASHED, style);
  }
}

hvi_status hvi_picture_draw(const hvi_picture *p, const hvi_info *info, hvi_error *err) {
  if (!p->setup || p->empty) return HVI_OK;
  const hvi_model *m = p->setup->problem->model;
  const size_t players = panels_of(m);
  HVI_NEW(drawing, d, 1, "a picture", err);
  d->picture = p;
  d->problem = p->setup->problem;
  d->file = hvi_base_name(p->data);
  HVI_TRY(hvi_table_read(&d->data, p->data, HVI_TABLE_NAMED, MOST_BYTES, err));
  add_progress(d);
  for (size_t k = 0; k < players; k++) d->labelled |= m->blocks[k].out > 1;
  for (size_t k = 0, first = 0; k < players; first += lines_of(&m->blocks[k++]))
    add_player(d, k, first);
  const char *title =
      hvi_format("%s, %s: %s after %zu outer steps", hvi_base_name(p->setup->name),
                 p->setup->method, hvi_outcome_name(info->outcome), info->last.outer);
  if (players < m->block_count)
    title = hvi_format("%s; %zu of %zu players", title, players, m->block_count);
  const hvi_plot plot = {.name = p->name,
                         .title = title,
                         .columns = d->panel_count <= 4   ? 2
                                    : d->panel_count <= 9 ? 3
                                                          : 4, /* nearly square */
                         .panel_count = d->panel_count,
                         .panels = d->panels,
                         .format = p->format};
  const hvi_status status = hvi_draw(p->folder, &plot, "hvi: ", err);
  hvi_table_clear(&d->data);
  return status;
}
