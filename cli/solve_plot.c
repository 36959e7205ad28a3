/*
 * hvi solve --plot: how a solve went, in small pictures.
 *
 *   residual and distance   loss ratio      per outer step
 *   a player's strategy     another's       over outer steps, the solution dashed
 *
 * NAME.gp draws NAME.png or NAME.svg from NAME.plot.csv, and all three stay.
 */
#include "base/base.h"
#include "report/csv.h"
#include "solve.h"

enum {
  OUTER,
  RESIDUAL,
  DISTANCE,
  RATIO,
  FIXED, /* columns before the outputs */
  MOST_ROWS = 1000,
  MOST_PLAYERS = 10, /* that have a panel */
  MOST_LINES = 40,   /* in it */
  MOST_LABELS = 8,   /* outputs that are told apart by colour */
  NAME_SIZE = 80
};

static const char START[] = "outer,residual,distance,ratio,alpha2";

/* Folder, name and format of the picture. */
typedef struct place {
  char *folder, *name, *data;
  const char *format;
} place;

static void free_place(place *p) {
  hvi_free(p->folder);
  hvi_free(p->name);
  hvi_free(p->data);
}

static hvi_status find_place(place *p, const char *path, hvi_error *err) {
  const char *dot = strrchr(path, '.');
  *p = (place){.format = dot ? dot + 1 : ""};
  if (strcmp(p->format, "png") != 0 && strcmp(p->format, "svg") != 0)
    return hvi_error_argument(err, "--plot: '%s' must end in .png or .svg", path);
  const bool split = hvi_path_split(&p->folder, &p->name, path, dot);
  p->data = split ? hvi_path_join(p->folder, p->name, ".plot.csv") : NULL;
  return p->data ? HVI_OK : hvi_error_memory(err, "file names");
}

int hvi_history_check(const char *path) {
  HVI_OWN_BY(free_place) place p = {0};
  HVI_CALL(find_place(&p, path, &hvi_fault));
  HVI_STEP(hvi_output_check(p.data, START));
  if (!hvi_talk.force) HVI_CALL(hvi_plot_check(p.folder, p.name, p.format, &hvi_fault));
  return HVI_EXIT_DONE;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static const hvi_model *model_of(const hvi_history *h) { return h->asked->setup.problem->model; }
static size_t panels_of(const hvi_history *h) {
  return least(model_of(h)->block_count, MOST_PLAYERS);
}
static size_t lines_of(const hvi_history *h, size_t k) {
  return least(model_of(h)->blocks[k].out, MOST_LINES);
}

hvi_status hvi_history_open(hvi_history *h, const hvi_solve *asked, hvi_error *err) {
  *h = (hvi_history){.columns = FIXED, .stride = 1};
  if (!asked->plot) return HVI_OK;
  h->asked = asked;
  for (size_t k = 0; k < panels_of(h); k++) h->columns += lines_of(h, k);
  h->data = hvi_alloc_doubles(MOST_ROWS * h->columns);
  h->outputs = hvi_alloc(h->columns, sizeof *h->outputs);
  if (!h->data || !h->outputs) return hvi_error_memory(err, "the rows of a picture");
  size_t *at = h->outputs;
  for (size_t k = 0; k < panels_of(h); k++) {
    const hvi_block *b = &model_of(h)->blocks[k];
    const size_t count = lines_of(h, k);
    for (size_t j = 0; j < count; j++) *at++ = b->z + j * b->out / count;
  }
  return HVI_OK;
}

void hvi_history_free(hvi_history *h) {
  hvi_free(h->data);
  hvi_free(h->outputs);
}

/* Every other row goes. */
static void thin(hvi_history *h) {
  h->stride *= 2;
  size_t kept = 0;
  for (size_t i = 0; i < h->rows; i++) {
    const double *row = h->data + i * h->columns;
    if ((size_t)row[OUTER] % h->stride == 0)
      memmove(h->data + kept++ * h->columns, row, h->columns * sizeof *row);
  }
  h->rows = kept;
}

void hvi_history_add(hvi_history *h, const hvi_record *row, bool force) {
  if (!h->asked || (row->outer % h->stride != 0 && !force)) return;
  if (h->rows > 0 && h->data[(h->rows - 1) * h->columns] >= (double)row->outer) return;
  if (h->rows == MOST_ROWS) thin(h);
  if (row->outer % h->stride != 0 && !force) return;
  double *x = h->data + h->rows++ * h->columns;
  x[OUTER] = (double)row->outer;
  x[RESIDUAL] = row->residual;
  x[DISTANCE] = sqrt(row->dist2);
  x[RATIO] = row->ratio;
  for (size_t i = FIXED; i < h->columns; i++) x[i] = row->z[h->outputs[i - FIXED]];
}

void hvi_history_restore(hvi_history *h, const hvi_tensor *rows, size_t step) {
  if (!h->asked || !rows || rows->type != HVI_TENSOR_F64 || rows->dims != 2 ||
      rows->shape[0] > MOST_ROWS || rows->shape[1] != h->columns)
    return;
  h->rows = rows->shape[0];
  memcpy(h->data, rows->data, h->rows * h->columns * sizeof *h->data);
  while (h->rows > 0 && !(h->data[(h->rows - 1) * h->columns] <= (double)step)) h->rows--;
  /* the second row is the first that the stride let through */
  const double second = h->rows > 1 ? h->data[h->columns] : 1.0;
  while ((double)h->stride < second) h->stride *= 2;
}

/* A picture under construction. */
typedef struct drawing {
  const hvi_history *h;
  char *file;    /* of the data, in the picture's folder */
  bool labelled; /* some player has more than one output */
  size_t series_count, panel_count;
  hvi_series series[2 * MOST_PLAYERS * MOST_LINES + FIXED];
  hvi_panel panels[MOST_PLAYERS + 2];
  char titles[MOST_PLAYERS][2 * NAME_SIZE];
  char names[MOST_PLAYERS * MOST_LINES][NAME_SIZE]; /* of columns */
  char solutions[MOST_PLAYERS * MOST_LINES][NAME_SIZE];
} drawing;

/* Output j of player k: the column's name, and the one of its solution. */
static hvi_status name_columns(drawing *d, hvi_error *err) {
  const hvi_history *h = d->h;
  for (size_t k = 0, i = 0; k < panels_of(h); k++)
    for (size_t j = 0; j < lines_of(h, k); j++, i++) {
      HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
      const size_t output = h->outputs[i] - model_of(h)->blocks[k].z;
      hvi_trace_column(&t, "z", h->asked->setup.problem, k, output);
      if (t.failed) return hvi_error_memory(err, "names of columns");
      snprintf(d->names[i], NAME_SIZE, "%s", t.data);
      snprintf(d->solutions[i], NAME_SIZE, "z*%s", t.data + 1);
    }
  return HVI_OK;
}

static bool has_solution(const hvi_history *h) { return h->asked->setup.problem->solution; }

static hvi_status write_data(const drawing *d, const char *path, hvi_error *err) {
  const hvi_history *h = d->h;
  const double alpha = h->asked->setup.settings.alpha;
  HVI_OWN_BY(hvi_text_free) hvi_text header = {0};
  hvi_csv csv;
  hvi_text_add(&header, "%s", START);
  for (size_t i = 0; i < h->columns - FIXED; i++) hvi_text_add(&header, ",%s", d->names[i]);
  for (size_t i = 0; i < h->columns - FIXED && has_solution(h); i++)
    hvi_text_add(&header, ",%s", d->solutions[i]);
  if (header.failed) return hvi_error_memory(err, path);
  HVI_TRY(hvi_csv_open(&csv, path, header.data, err));
  for (size_t r = 0; r < h->rows; r++) {
    const double *row = h->data + r * h->columns;
    for (size_t i = 0; i < FIXED; i++) hvi_csv_number(&csv, isfinite(row[i]) ? row[i] : NAN);
    hvi_csv_number(&csv, alpha > 0 ? alpha * alpha : NAN);
    for (size_t i = FIXED; i < h->columns; i++) hvi_csv_number(&csv, row[i]);
    for (size_t i = 0; i < h->columns - FIXED && has_solution(h); i++)
      hvi_csv_number(&csv, h->asked->setup.problem->solution[h->outputs[i]]);
    hvi_csv_end(&csv);
  }
  return hvi_csv_close(&csv, err);
}

static void add_series(drawing *d, const char *label, const char *y, hvi_mark mark, size_t style) {
  d->series[d->series_count++] = (hvi_series){
      .label = label, .file = d->file, .x = "outer", .y = y, .mark = mark, .style = style};
  d->panels[d->panel_count].series_count++;
}

/* Begins a panel, whose series follow. */
static hvi_panel *begin_panel(drawing *d, const char *title) {
  hvi_panel *p = &d->panels[d->panel_count];
  *p = (hvi_panel){
      .title = title, .x = {.label = "outer step"}, .series = d->series + d->series_count};
  return p;
}

/* A column's smallest and largest number above zero; infinity and zero where there is none. */
static void range_of(const hvi_history *h, size_t column, double *low, double *high) {
  for (size_t i = 0; i < h->rows; i++) {
    const double x = h->data[i * h->columns + column];
    if (!(x > 0) || isinf(x)) continue;
    *low = fmin(*low, x);
    *high = fmax(*high, x);
  }
}

static void add_progress(drawing *d) {
  double low[FIXED] = {INFINITY, INFINITY, INFINITY, INFINITY}, high[FIXED] = {0};
  for (size_t i = RESIDUAL; i < FIXED; i++) range_of(d->h, i, &low[i], &high[i]);
  const bool residual = high[RESIDUAL] > 0, distance = high[DISTANCE] > 0;
  if (residual || distance) {
    begin_panel(d, residual && distance ? "residual and distance"
                   : residual           ? "residual"
                                        : "distance")
        ->y =
        hvi_axis_log("", fmin(low[RESIDUAL], low[DISTANCE]), fmax(high[RESIDUAL], high[DISTANCE]));
    d->panels[d->panel_count].y.floor = true;
    if (residual) add_series(d, "residual", "residual", HVI_MARK_SOLID, 6);
    if (distance) add_series(d, "|z − z*|", "distance", HVI_MARK_SOLID, 7);
    d->panel_count++;
  }
  if (!(high[RATIO] > 0)) return;
  const double alpha = d->h->asked->setup.settings.alpha, bound = alpha * alpha;
  begin_panel(d, "loss ratio of the inner loop")->y =
      hvi_axis_log("", alpha > 0 ? fmin(low[RATIO], bound) : low[RATIO], fmax(high[RATIO], bound));
  d->panels[d->panel_count].y.floor = true;
  add_series(d, "loss after / before", "ratio", HVI_MARK_SOLID, 9);
  if (alpha > 0) add_series(d, "α²", "alpha2", HVI_MARK_DASHED, 9);
  d->panel_count++;
}

/* From the bounds of a player's outputs, where they have some. */
static hvi_axis strategy_axis(const hvi_problem *p, const hvi_block *b) {
  const hvi_set *set = p->sets;
  for (size_t i = 0; i < p->set_count && p->sets[i].begin <= b->z; i++) set = &p->sets[i];
  double low = 0, high = 1;
  if (set->kind == HVI_SET_BOX) {
    low = INFINITY;
    high = -INFINITY;
    for (size_t i = 0; i < set->len; i++) {
      low = fmin(low, set->lower[i]);
      high = fmax(high, set->upper[i]);
    }
  }
  const bool bounded = set->kind == HVI_SET_SIMPLEX || set->kind == HVI_SET_BOX;
  const double margin = 0.02 * (high - low);
  if (!bounded || !isfinite(margin) || !(margin > 0)) return (hvi_axis){0};
  return (hvi_axis){.low = low - margin, .high = high + margin};
}

/* Strategies of player k, whose first line is number `first` of all. */
static void add_player(drawing *d, size_t k, size_t first) {
  static const size_t styles[MOST_LABELS] = {0, 1, 2, 3, 4, 5, 8, 9};
  static const char *const labels[MOST_LABELS] = {"output 1", "output 2", "output 3", "output 4",
                                                  "output 5", "output 6", "output 7", "output 8"};
  const hvi_problem *p = d->h->asked->setup.problem;
  const hvi_block *b = &p->model->blocks[k];
  const size_t count = lines_of(d->h, k);
  const bool few = b->out <= MOST_LABELS;
  char *title = d->titles[k];
  if (p->players)
    snprintf(title, NAME_SIZE, "%s", p->players[k]);
  else if (p->model->block_count > 1)
    snprintf(title, NAME_SIZE, "player %zu", k + 1);
  else
    snprintf(title, NAME_SIZE, "outputs");
  if (count < b->out)
    snprintf(title + strlen(title), NAME_SIZE, ": %zu of %zu outputs", count, b->out);
  hvi_panel *panel = begin_panel(d, title);
  panel->plain = true;
  panel->y = strategy_axis(p, b);
  for (size_t j = 0; j < count; j++) {
    const size_t style = styles[j % MOST_LABELS];
    add_series(d, few && d->labelled ? labels[j] : NULL, d->names[first + j],
               few ? HVI_MARK_LINE : HVI_MARK_THIN, style);
    if (few && has_solution(d->h))
      add_series(d, "solution", d->solutions[first + j], HVI_MARK_DASHED, style);
  }
  d->panel_count++;
}

/* As square as may be. */
static size_t columns_for(size_t panels) { return panels <= 4 ? 2 : panels <= 9 ? 3 : 4; }

hvi_status hvi_history_draw(const hvi_history *h, const char *title, hvi_error *err) {
  if (!h->asked || h->rows == 0) return HVI_OK;
  HVI_OWN_BY(free_place) place at = {0};
  HVI_TRY(find_place(&at, h->asked->plot, err));
  HVI_OWN drawing *d = hvi_alloc(1, sizeof *d);
  HVI_OWN char *file = hvi_join_texts(at.name, ".plot.csv");
  if (!d || !file) return hvi_error_memory(err, "a picture");
  d->h = h;
  d->file = file;
  HVI_TRY(name_columns(d, err));
  HVI_TRY(write_data(d, at.data, err));
  add_progress(d);
  for (size_t k = 0; k < panels_of(h); k++) d->labelled |= lines_of(h, k) > 1;
  for (size_t k = 0, first = 0; k < panels_of(h); first += lines_of(h, k++))
    add_player(d, k, first);
  const size_t players = model_of(h)->block_count;
  if (panels_of(h) < players)
    title = hvi_format("%s; %zu of %zu players", title, panels_of(h), players);
  const hvi_plot plot = {.name = at.name,
                         .title = title,
                         .columns = columns_for(d->panel_count),
                         .panel_count = d->panel_count,
                         .panels = d->panels,
                         .format = at.format};
  return hvi_draw(at.folder, &plot, "hvi: ", err);
}
