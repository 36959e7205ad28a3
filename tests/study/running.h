/* Running whole studies, and comparing what they leave on disk. */
#ifndef HVI_TESTS_STUDY_RUNNING_H
#define HVI_TESTS_STUDY_RUNNING_H

#include "report/folder.h"
#include "support/check.h"

#include "study/study.h"

/* Who is told how far a study is, and when it stops it. */
typedef struct watcher {
  size_t calls, stop_after; /* 0: never */
  char said[1000];
} watcher;

static inline bool watch(void *context, const char *id, const char *doing, double share) {
  watcher *w = context;
  assert_non_null(id);
  assert_non_null(doing);
  assert_true(share >= 0.0);
  assert_true(share <= 1.0);
  w->calls++;
  return w->stop_after == 0 || w->calls < w->stop_after;
}

static inline void listen(void *context, const char *line) {
  watcher *w = context;
  snprintf(w->said, sizeof w->said, "%s", line);
}

/* Runs a file's text, or the built-in study of that id. hvi_claims_clear. */
static inline hvi_claims run_study(const char *text, hvi_study_settings s, watcher *w,
                                   bool *stopped) {
  hvi_study *study = NULL;
  hvi_claims claims = {0};
  hvi_error err;
  if (w) s.progress = watch, s.message = listen, s.context = w;
  hvi_status status = strchr(text, '\n') ? hvi_study_parse(&study, text, "test", &err)
                                         : hvi_study_open(&study, text, NULL, &err);
  if (!status) status = hvi_study_run(&claims, stopped, study, &s, &err);
  check_ok(status, &err);
  hvi_study_free(study);
  return claims;
}

/* It must end; gives the calls of the watcher. */
static inline size_t finish_study(const char *text, hvi_study_settings s) {
  watcher w = {0};
  bool stopped = true;
  hvi_claims c = run_study(text, s, &w, &stopped);
  assert_false(stopped);
  hvi_claims_clear(&c);
  return w.calls;
}

/* A CSV read back: cells as text, without quotes in them. */
typedef struct csv {
  char *text;
  size_t columns, rows; /* without the header */
  const char **cell;    /* [1 + rows][columns] */
} csv;

static inline csv read_csv(const char *path) {
  csv t = {.text = slurp(path)};
  size_t count = 1;
  for (const char *c = t.text; *c; c++) count += *c == ',' || *c == '\n';
  t.cell = hvi_alloc(count, sizeof *t.cell);
  size_t n = 0;
  char *from = t.text;
  for (char *c = t.text; *c; c++) {
    if (*c != ',' && *c != '\n') continue;
    t.cell[n++] = from;
    if (*c == '\n') t.rows++;
    if (*c == '\n' && !t.columns) t.columns = n;
    *c = '\0';
    from = c + 1;
  }
  t.rows--;
  assert_int_equal(n, (t.rows + 1) * t.columns);
  return t;
}

static inline void free_csv(csv *t) {
  hvi_free(t->cell);
  hvi_free(t->text);
}

static inline const char *cell_of(const csv *t, size_t row, const char *column) {
  size_t c = 0;
  while (c < t->columns && strcmp(t->cell[c], column) != 0) c++;
  if (c == t->columns) fail_msg("no column '%s'", column);
  return t->cell[(row + 1) * t->columns + c];
}

static inline double number_in_csv(const csv *t, size_t row, const char *column) {
  return strtod(cell_of(t, row, column), NULL);
}

static inline bool is_clock(const char *name) {
  return strstr(name, "seconds") || strstr(name, "clocks") || strstr(name, "_ns") ||
         strncmp(name, "ns_", 3) == 0 || strcmp(name, "ratio_to_gda") == 0;
}

/* Quartiles of times are times. */
static inline bool is_time(const char *file, const char *name) {
  return is_clock(name) || (strcmp(file, "times.csv") == 0 &&
                            (strcmp(name, "median") == 0 || strncmp(name, "quartile", 8) == 0));
}

static inline void same_csv(const char *name, const char *one, const char *other) {
  csv a = read_csv(one), b = read_csv(other);
  assert_int_equal(a.columns, b.columns);
  assert_int_equal(a.rows, b.rows);
  for (size_t i = 0; i < (a.rows + 1) * a.columns; i++)
    if (!is_time(name, a.cell[i % a.columns]) && strcmp(a.cell[i], b.cell[i]) != 0)
      fail_msg("%s: %s in row %zu is %s and %s", name, a.cell[i % a.columns], i / a.columns,
               a.cell[i], b.cell[i]);
  free_csv(&a);
  free_csv(&b);
}

/* Every CSV of one folder is in the other, with the same bits, clocks apart; how many there are. */
static inline size_t same_tables(const char *one, const char *other) {
  DIR *d = opendir(one);
  size_t count = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    if (!strstr(e->d_name, ".csv") || is_clock(e->d_name)) continue;
    char a[600], b[600];
    snprintf(a, sizeof a, "%s/%s", one, e->d_name);
    snprintf(b, sizeof b, "%s/%s", other, e->d_name);
    same_csv(e->d_name, a, b);
    count++;
  }
  closedir(d);
  return count;
}

#endif
