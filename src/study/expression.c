/*
 * The text is worked out while it is read, by recursive descent over levels of operators:
 *
 *   or, and, not, one of < <= > >= == !=, + -, * /, then { +- } operand [ "^" operand ]
 *   operand = number | word | name | table "." name | function "(" ... ")" | "(" expression ")"
 *
 * What goes over rows is read once without looking at any (`probe`), which finds errors and the
 * table, and then once a row. After an error nothing is accepted any more, so that every loop ends.
 */
#include "study/expression.h"

#include "base/base.h"
#include "base/suggest.h"
#include "num/stats.h"
#include "study/runs.h"

#include <ctype.h>
#include <stdarg.h>

enum { DEEPEST = 64, LONGEST = 64 /* of names and words, with the end */ };

typedef enum kind { NUMBER, SAMPLE, TRUTH, WORD } kind;

typedef struct value {
  kind kind;
  double number; /* of a sample: the factor before it */
  hvi_truth truth;
  size_t count; /* of a sample */
  double *sample;
  double noise;       /* in a sample */
  const char *label;  /* the method that a sample is of; NULL: it was computed */
  const char *chosen; /* the method, by lowest or best */
  char word[LONGEST];
  const char *const *words; /* that a column may have; NULL: written in the text */
  const char *from, *to;    /* its text */
} value;

/* Memory of samples, which lives until the end. */
typedef struct block {
  struct block *next;
  double x[];
} block;

/* Whether columns may be named, and of which table they are. */
typedef struct row_scope {
  bool inside;
  const hvi_table *table; /* NULL: none was named yet */
  const char *nested;     /* what would go over rows, or make a sample, in every row */
} row_scope;

typedef struct evaluator {
  const char *text, *at;
  const hvi_scope *scope;
  hvi_findings *findings;
  const char *where, *first; /* first: the column of the first finding */
  hvi_error *err;
  hvi_status status;
  block *blocks;
  size_t depth, row;
  bool probe;
  row_scope rows;
} evaluator;

typedef struct column_at {
  const hvi_table *table;
  size_t index;
} column_at;

/* What a function of curves was given. */
typedef struct arguments {
  column_at y;
  size_t x, words;
  double word[3]; /* indices of methods, or of a group */
  double number[3];
  const char *label; /* the last word */
} arguments;

/* What is made of the numbers of rows or seeds, and of the curve of a seed. */
typedef enum reduction {
  MAX,
  MIN,
  MEAN,
  MEDIAN,
  SUM,
  COUNT,
  FIRST,
  LAST,
  EVERY,
  ANY,
  HALF
} reduction;
typedef enum curve { END, AT, SLOPE, R2, TYPICAL, RISE, FINISH } curve;

typedef struct function {
  const char *name;
  value (*call)(evaluator *e, const struct function *f, const char *at);
  reduction reduce;
  curve curve;
  const char *letters; /* of curves, after the column: see read_arguments */
  double (*map)(double x);
  double (*of_two)(double x, double y);
} function;

static value expression(evaluator *e);

static value number(double x) { return (value){.kind = NUMBER, .number = x}; }
static value truth(hvi_truth t) { return (value){.kind = TRUTH, .truth = t}; }
static hvi_truth truth_of(bool holds) { return holds ? HVI_TRUE : HVI_FALSE; }

/* text[length] in at most size bytes, then `end`; in one line, and with no half of a letter. */
static void clip(char *out, size_t size, const char *text, size_t length, const char *end) {
  size_t most = size - 1 - strlen(end), n = length < most ? length : most;
  if (n < length)
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
  for (size_t i = 0; i < n; i++) out[i] = iscntrl((unsigned char)text[i]) ? ' ' : text[i];
  strcpy(out + n, end);
}

/* `meant` is the nearest known name, or NULL. */
__attribute__((format(printf, 4, 5))) static value
fail(evaluator *e, const char *at, const char *meant, const char *format, ...) {
  enum { BEFORE = 24, SHOWN = 64 };
  if (e->status) return number(NAN);
  char what[200], place[SHOWN + 4];
  va_list list;
  va_start(list, format);
  vsnprintf(what, sizeof what, format, list);
  va_end(list);
  clip(what, sizeof what, what, strlen(what), "");
  const char *from = at - e->text > BEFORE ? at - BEFORE : e->text;
  while (from < at && ((unsigned char)*from & 0xc0) == 0x80) from++;
  const bool all = strlen(from) <= SHOWN;
  clip(place, sizeof place, from, all ? strlen(from) : SHOWN, all ? "" : "...");
  e->status = hvi_error_input(e->err, "%s: %s in '%s%s'%s%s%s", e->where, what,
                              from > e->text ? "..." : "", place, meant ? "; did you mean '" : "",
                              meant ? meant : "", meant ? "'?" : "");
  return number(NAN);
}

/* The nearer of the two to what was written; NULL when neither is near. */
static const char *nearer(const char *written, const char *one, const char *other) {
  return hvi_suggest(written, (const char *const[]){one, other, NULL});
}

static double *take(evaluator *e, size_t count) {
  size_t bytes;
  block *b = hvi_multiply_sizes(count + 1, sizeof(double), &bytes) ? hvi_alloc(1, sizeof *b + bytes)
                                                                   : NULL;
  if (!b && !e->status) e->status = hvi_error_memory(e->err, "an expression");
  if (!b) return NULL;
  b->next = e->blocks;
  e->blocks = b;
  return b->x;
}

static bool is_letter(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool is_part(char c) { return isalnum((unsigned char)c) || c == '_'; }
static bool is_quote(char c) { return c == '"' || c == '\''; }

static const char *here(evaluator *e) {
  e->at += strspn(e->at, " \t\n\r");
  return e->at;
}

/* Goes past a symbol, or a whole word. */
static bool accept(evaluator *e, const char *symbol) {
  const size_t length = strlen(symbol);
  if (e->status || strncmp(here(e), symbol, length) != 0) return false;
  if (is_letter(*symbol) && is_part(e->at[length])) return false;
  e->at += length;
  return true;
}

static value missing(evaluator *e, const char *what) {
  const char *quote = *here(e) ? "'" : "";
  return fail(e, e->at, NULL, "%s is missing before %s%.16s%s", what, quote,
              *e->at ? e->at : "the end", quote);
}

static bool need(evaluator *e, const char *symbol) {
  const char what[] = {'\'', *symbol, '\'', '\0'};
  const bool found = accept(e, symbol);
  if (!found) missing(e, what);
  return found;
}

/* A name, or a word in quotes of either kind. */
static bool read_text(evaluator *e, char out[LONGEST], bool quoted) {
  const char *from = here(e), *to = from;
  if (e->status) return false;
  if (quoted && !is_quote(*from)) return fail(e, from, NULL, "a name in quotes is missing"), false;
  if (!quoted && !is_letter(*from)) return missing(e, "a name"), false;
  if (quoted && !(to = strchr(from + 1, *from)))
    return fail(e, from, NULL, "a quote is not closed"), false;
  while (!quoted && is_part(*to)) to++;
  e->at = to + quoted;
  from += quoted;
  if (to - from >= LONGEST)
    return fail(e, from, NULL, "a name of more than %d bytes", LONGEST - 1), false;
  memcpy(out, from, (size_t)(to - from));
  out[to - from] = '\0';
  return true;
}

/* The entry of that name in a list whose entries begin with their name, a NULL after the last. NULL:
 * there is none, and `meant` becomes the nearest one. */
static const void *look_up(const void *list, size_t size, const char *name, const char **meant) {
  const char *known;
  for (const char *p = list; p && memcpy(&known, p, sizeof known) && known; p += size)
    if (strcmp(known, name) == 0) return p;
  for (const char *p = list; p && memcpy(&known, p, sizeof known) && known; p += size)
    *meant = nearer(name, known, *meant);
  return NULL;
}

static bool find_table(evaluator *e, const char *at, column_at *c, const char *name) {
  const char *meant = NULL;
  for (size_t i = 0; i < e->scope->table_count; i++) {
    c->table = &e->scope->tables[i];
    if (strcmp(c->table->name, name) == 0) return true;
    meant = nearer(name, c->table->name, meant);
  }
  return fail(e, at, meant, "unknown table '%s'", name), false;
}

static bool find_column(evaluator *e, const char *at, column_at *c, const char *name) {
  const char *meant = NULL;
  const hvi_column *list = c->table ? c->table->column : NULL;
  const hvi_column *found = look_up(list, sizeof *list, name, &meant);
  if (!found) return fail(e, at, meant, "unknown column '%s'", name), false;
  c->index = (size_t)(found - list);
  return true;
}

/* The rest of TABLE.column. */
static bool read_other(evaluator *e, const char *at, column_at *c, const char *table) {
  char name[LONGEST];
  if (!find_table(e, at, c, table)) return false;
  const char *from = here(e);
  return read_text(e, name, false) && find_column(e, from, c, name);
}

static bool read_column(evaluator *e, column_at *c) {
  char name[LONGEST];
  const char *at = here(e);
  const bool quoted = is_quote(*at);
  if (!read_text(e, name, quoted)) return false;
  if (quoted ? need(e, ".") : accept(e, ".")) return read_other(e, at, c, name);
  c->table = e->scope->own;
  return !e->status && find_column(e, at, c, name);
}

static value column_here(evaluator *e, const char *at, column_at c) {
  const hvi_column *column = &c.table->column[c.index];
  if (!e->rows.inside)
    return fail(e, at, NULL, "column '%s' is not one number; max, mean, end, ... make one of it",
                column->name);
  if (!e->rows.table) e->rows.table = c.table;
  if (e->rows.table != c.table)
    return fail(e, at, NULL, "'%s' is a column of '%s', and the rows are those of '%s'",
                column->name, c.table->name, e->rows.table->name);
  if (!column->words) return number(e->probe ? NAN : hvi_table_get(c.table, e->row, c.index));
  value v = {.kind = WORD, .words = column->words};
  const char *word = e->probe ? NULL : hvi_table_word(c.table, e->row, c.index);
  if (word) clip(v.word, sizeof v.word, word, strlen(word), "");
  return v;
}

static value named(evaluator *e, const char *at, const char *name) {
  const char *meant = NULL;
  const hvi_table *t = e->scope->own;
  const hvi_column *column = look_up(t ? t->column : NULL, sizeof *column, name, &meant);
  const struct hvi_constant *constant =
      column && e->rows.inside ? NULL
                               : look_up(e->scope->constants, sizeof *constant, name, &meant);
  if (constant) return number(constant->value);
  return column ? column_here(e, at, (column_at){t, (size_t)(column - t->column)})
                : fail(e, at, meant, "unknown name '%s'", name);
}

/* A finding under `name`, or under the text itself where that already means another value; `parts`
 * come after it and end in NULL. What was found before is not added again. */
static void add_findings(evaluator *e, const char *from, const char *name, const char *const *parts,
                         const double *values) {
  hvi_findings *f = e->findings;
  char chosen[sizeof f->items->name];
  clip(chosen, sizeof chosen, name, strlen(name), "");
  for (size_t i = 0; f && i < f->count; i++) {
    if (strcmp(f->items[i].name, chosen) != 0) continue;
    const double x = f->items[i].value;
    if (x == values[0] || (isnan(x) && isnan(values[0]))) return;
    char text[sizeof chosen];
    clip(text, sizeof text, from, (size_t)(e->at - from), "");
    if (strcmp(text, chosen) == 0) return;
    strcpy(chosen, text);
    i = (size_t)-1;
  }
  for (size_t k = 0; f && parts[k] && f->count < HVI_MOST_FINDINGS; k++) {
    hvi_finding *item = &f->items[f->count++];
    clip(item->name, sizeof item->name, chosen, strlen(chosen), parts[k]);
    item->value = values[k];
  }
}

static void find_mean(evaluator *e, const char *from, const value *v, const char *y) {
  char name[2 * LONGEST];
  double *work = take(e, v->count);
  if (!work) return;
  if (!e->first) e->first = y;
  const hvi_mean m = hvi_mean_of(v->sample, v->count, work);
  const bool usual = strcmp(y, e->first) == 0;
  snprintf(name, sizeof name, "%.63s%s%.40s", v->label, usual ? "" : ": ", usual ? "" : y);
  add_findings(e, from, name, (const char *[]){"", v->count > 1 ? ", half width" : NULL, NULL},
               (double[]){m.value, m.half});
}

/* One side of a comparison: its method, or its text. */
static void name_side(char name[LONGEST], const value *v) {
  const char *to = v->to;
  while (to > v->from && isspace((unsigned char)to[-1])) to--;
  const char *text = v->label ? v->label : v->from;
  clip(name, LONGEST, text, v->label ? strlen(v->label) : (size_t)(to - v->from), "");
}

static void find_ratio(evaluator *e, const char *from, const value *a, const value *b,
                       hvi_ratio q) {
  static const char *const parts[] = {"", ", lower end", ", upper end", NULL};
  char name[3 * LONGEST], names[2][LONGEST];
  name_side(names[0], a);
  name_side(names[1], b);
  snprintf(name, sizeof name, "%s %s %s", names[0], q.difference ? "minus" : "over", names[1]);
  add_findings(e, from, name, parts, (double[]){q.ratio, q.low, q.high});
}

static bool is_numeric(evaluator *e, const value *v) {
  if (v->kind == TRUTH || v->kind == WORD)
    fail(e, v->from, NULL, "a number is needed, not a %s", v->kind == TRUTH ? "truth" : "word");
  return !e->status;
}

static size_t items(const value *v) { return v->kind == SAMPLE ? v->count : 1; }

static double item(const value *v, size_t i) {
  return v->kind == SAMPLE ? v->sample[i] * v->number : v->number;
}

static double least(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }
static double most(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }
static double power(double a, double b) { return b == 2.0 ? a * a : pow(a, b); }
static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double over(double a, double b) { return a / b; }

/* Seeds of two samples, or of the one that is. */
static bool pair_sizes(evaluator *e, const value *a, const value *b, size_t *count) {
  *count = a->kind == SAMPLE ? a->count : b->count;
  if (a->kind == SAMPLE && b->kind == SAMPLE && a->count != b->count)
    fail(e, a->from, NULL, "samples of %zu and of %zu seeds", a->count, b->count);
  return !e->status;
}

/* Seed by seed; a number counts for every seed. A positive factor stays beside its sample. */
static value combine(evaluator *e, double (*f)(double, double), value a, value b) {
  size_t count;
  if (e->status || !is_numeric(e, &a) || !is_numeric(e, &b)) return number(NAN);
  if (a.kind == NUMBER && b.kind == NUMBER) return number(f(a.number, b.number));
  if (a.kind == NUMBER && a.number > 0.0 && isfinite(a.number) && f == times)
    return b.number *= a.number, b;
  if (b.kind == NUMBER && b.number > 0.0 && isfinite(b.number) && (f == times || f == over))
    return a.number = f(a.number, b.number), a;
  value v = {.kind = SAMPLE, .number = 1.0};
  if (!pair_sizes(e, &a, &b, &count) || !(v.sample = take(e, count))) return number(NAN);
  v.count = count;
  for (size_t i = 0; i < count; i++) v.sample[i] = f(item(&a, i), item(&b, i));
  return v;
}

static value argument(evaluator *e, const char *end) {
  const value v = expression(e);
  need(e, end);
  return v;
}

static value call_map(evaluator *e, const function *f, const char *at) {
  value a = argument(e, ")");
  (void)at;
  if (e->status || !is_numeric(e, &a)) return number(NAN);
  if (a.kind == NUMBER) return number(f->map(a.number));
  value v = {.kind = SAMPLE, .number = 1.0, .count = a.count, .sample = take(e, a.count)};
  for (size_t i = 0; v.sample && i < v.count; i++) v.sample[i] = f->map(item(&a, i));
  return v;
}

static value call_of_two(evaluator *e, const function *f, const char *at) {
  const value a = argument(e, ","), b = argument(e, ")");
  (void)at;
  return combine(e, f->of_two, a, b);
}

static value call_finite(evaluator *e, const function *f, const char *at) {
  const value a = argument(e, ")");
  (void)f, (void)at;
  if (e->status || !is_numeric(e, &a)) return number(NAN);
  bool all = true;
  for (size_t i = 0; i < items(&a); i++) all = all && isfinite(item(&a, i));
  return truth(truth_of(all));
}

static bool gives_truth(const function *f) { return f->reduce == EVERY || f->reduce == ANY; }

/* Of no rows sum and count are 0, any is false, and nothing is known of the others. */
static value reduced(const function *f, double *x, size_t n) {
  double low = n ? x[0] : NAN, high = low, sum = 0.0, count = 0.0;
  for (size_t i = 0; i < n; i++) {
    low = least(low, x[i]);
    high = most(high, x[i]);
    sum += x[i];
    count += isnan(x[i]) ? 0.0 : 1.0;
  }
  if (f->reduce == EVERY) return truth(n ? truth_of(low != 0.0) : HVI_UNDECIDED);
  if (f->reduce == ANY) return truth(truth_of(n && high != 0.0));
  if (f->reduce == MEDIAN) return number(isnan(high) ? NAN : hvi_stats_quantile(x, n, 0.5));
  const double made[] = {[MAX] = high,
                         [MIN] = low,
                         [MEAN] = hvi_stats_mean(x, n),
                         [SUM] = sum,
                         [COUNT] = count,
                         [FIRST] = n ? x[0] : NAN,
                         [LAST] = n ? x[n - 1] : NAN,
                         [HALF] = hvi_stats_interval95(x, n)};
  return number(made[f->reduce]);
}

/* Of a sample: mean and half width leave out seeds without a value. */
static value reduce_sample(evaluator *e, const function *f, const value *v) {
  const size_t n = items(v);
  double *x = take(e, n), *work = take(e, n);
  if (e->status || !is_numeric(e, v)) return number(NAN);
  for (size_t i = 0; i < n; i++) x[i] = item(v, i);
  if (f->reduce != MEAN && f->reduce != HALF) return reduced(f, x, n);
  const hvi_mean m = hvi_mean_of(x, n, work);
  return number(f->reduce == MEAN ? m.value : m.half);
}

static value reduce_rows(evaluator *e, const function *f, const char *what, const char *which) {
  const hvi_table *t = e->rows.table;
  double *x = take(e, t->rows);
  size_t n = 0;
  for (e->row = 0; e->row < t->rows && !e->status; e->row++) {
    if (!hvi_table_matches(t, e->row, e->scope->filters, e->scope->filter_count)) continue;
    e->at = which;
    if (which && expression(e).truth != HVI_TRUE) continue;
    e->at = what;
    const value v = expression(e);
    /* where rows are counted, those of which a condition is false are not */
    const double no = f->reduce == COUNT ? NAN : 0.0;
    x[n++] = v.kind == NUMBER ? v.number : v.truth == HVI_TRUE ? 1.0 : no;
  }
  return e->status ? number(NAN) : reduced(f, x, n);
}

/* What the probe has found must be what the function takes; which may be NULL. */
static void check_rows(evaluator *e, const function *f, const char *at, const value *what,
                       const value *which) {
  const bool condition = gives_truth(f);
  const bool either = (f->reduce == COUNT || f->reduce == MEAN) && what->kind != WORD;
  if (e->rows.table && e->rows.nested)
    fail(e, e->rows.nested, NULL, "inside '%s' a row has columns and constants alone", f->name);
  else if (!e->rows.table && (condition || which))
    fail(e, at, NULL, "'%s' goes over rows: name a column", f->name);
  else if (which && which->kind != TRUTH)
    fail(e, at, NULL, "the second argument of '%s' is a condition", f->name);
  else if (!either && (what->kind == WORD || (what->kind == TRUTH) != condition))
    fail(e, at, NULL, "the first argument of '%s' is a %s", f->name,
         condition ? "condition" : "number");
}

/* max(what, which) and its like, over rows or over the seeds of a sample. */
static value call_reduce(evaluator *e, const function *f, const char *at) {
  const row_scope outer = e->rows;
  const bool probe = e->probe;
  const char *what = e->at, *which = NULL;
  e->rows = (row_scope){.inside = true};
  e->probe = true;
  value v = expression(e), condition = {0};
  if (accept(e, ",")) {
    which = e->at;
    condition = expression(e);
  }
  need(e, ")");
  const char *end = e->at;
  if (!e->status) check_rows(e, f, at, &v, which ? &condition : NULL);
  e->probe = probe;
  if (e->status || probe) {
    v = gives_truth(f) ? truth(HVI_UNDECIDED) : number(NAN);
  } else if (e->rows.table) {
    v = reduce_rows(e, f, what, which);
  } else {
    e->rows.inside = false;
    e->at = what;
    v = expression(e);
    v = reduce_sample(e, f, &v);
  }
  e->at = end;
  e->rows = outer;
  e->rows.nested = at;
  return v;
}

/* A word of that column of the table. */
static void read_word_of(evaluator *e, const char *name, arguments *a) {
  char word[LONGEST];
  const char *at = here(e), *meant = NULL;
  column_at c = {.table = a->y.table};
  if (!find_column(e, at, &c, name) || !read_text(e, word, true)) return;
  const char *const *words = c.table->column[c.index].words;
  const char *const *found = look_up(words, sizeof *words, word, &meant);
  if (!found) {
    fail(e, at, meant, "unknown %s '%s'", name, word);
    return;
  }
  a->word[a->words++] = (double)(found - words);
  a->label = *found;
}

static double read_number(evaluator *e) {
  const char *at = here(e);
  const value v = expression(e);
  if (v.kind != NUMBER && !(e->probe && v.kind == SAMPLE)) fail(e, at, NULL, "a number is needed");
  return v.number;
}

/* Each letter is an argument: m, g a word of column method, group; x a column; n a number; o a
 * number that may be left out. */
static bool read_arguments(evaluator *e, const char *letters, arguments *a) {
  size_t numbers = 0;
  *a = (arguments){.number = {-INFINITY, INFINITY, 1.0}};
  column_at x;
  if (!read_column(e, &a->y)) return false;
  a->x = hvi_table_find(a->y.table, "outer");
  for (; *letters && !e->status; letters++) {
    if (*letters == 'o' && !accept(e, ",")) continue;
    if (*letters != 'o' && !need(e, ",")) return false;
    if (*letters == 'm' || *letters == 'g') {
      read_word_of(e, *letters == 'm' ? "method" : "group", a);
    } else if (*letters == 'x') {
      if (!read_column(e, &x)) return false;
      if (x.table != a->y.table) fail(e, e->at, NULL, "columns of two tables");
      a->x = x.index;
    } else {
      const size_t k = *letters == 'o' ? 2 : numbers++;
      a->number[k] = read_number(e);
      if (k == 2 && !e->probe && !(a->number[2] >= 1.0))
        fail(e, e->at, NULL, "a number from 1 is needed");
    }
  }
  return need(e, ")");
}

/* Runs of a method, which must have rows unless there is no `label`. */
static bool find_runs(evaluator *e, const char *at, hvi_runs *r, const hvi_table *t, double method,
                      const char *label) {
  const hvi_scope *s = e->scope;
  if (!e->status) e->status = hvi_runs_find(r, t, method, s->filters, s->filter_count, e->err);
  if (!e->status && label && r->start[r->seeds] == 0) fail(e, at, NULL, "'%s' has no rows", label);
  return !e->status;
}

/* Column y_noise of the last row, or the constant: what samples of column y contain of noise. */
static double noise_of(evaluator *e, const hvi_runs *r, const char *y) {
  char name[2 * LONGEST];
  const char *unused = NULL;
  snprintf(name, sizeof name, "%.63s_noise", y);
  const struct hvi_constant *constant =
      look_up(e->scope->constants, sizeof *constant, name, &unused);
  const size_t column = hvi_table_find(r->table, name);
  if (column == r->table->columns) return constant ? constant->value : 0.0;
  return hvi_table_get(r->table, r->row[r->start[r->seeds] - 1], column);
}

static double of_seed(const hvi_runs *r, size_t seed, curve c, const arguments *a) {
  const hvi_window w = {a->number[0], a->number[1], a->number[2]};
  const size_t y = a->y.index;
  if (c == END || c == AT)
    return hvi_runs_value(r, seed, a->x, y, c == END ? INFINITY : a->number[0]);
  if (c == TYPICAL) return hvi_runs_typical(r, seed, y, w);
  if (c == RISE) return hvi_runs_rise(r, seed, y, w);
  const hvi_stats_line line = hvi_runs_line(r, seed, y, w);
  return c == SLOPE ? line.slope : line.r2;
}

/* One number a seed; without seeds, a number. */
static value sample_of(evaluator *e, const function *f, const char *at, const hvi_runs *r,
                       const arguments *a) {
  const char *y = a->y.table->column[a->y.index].name;
  value v = {.kind = SAMPLE, .number = 1.0, .count = r->seeds, .label = a->label};
  v.sample = take(e, r->seeds);
  for (size_t s = 0; v.sample && s < r->seeds; s++) v.sample[s] = of_seed(r, s, f->curve, a);
  if (e->status) return number(NAN);
  if (f->curve == END || f->curve == AT) {
    find_mean(e, at, &v, y);
    v.noise = noise_of(e, r, y);
  }
  return r->seeded ? v : number(v.sample[0]);
}

/* Reads the arguments; true when there is something to work out. */
static bool begin_curve(evaluator *e, const function *f, const char *at, arguments *a) {
  e->rows.nested = at;
  if (!read_arguments(e, f->letters, a)) return false;
  column_at c = {.table = a->y.table};
  if (!find_column(e, at, &c, "method")) return false;
  /* the last row of a method is the last one even where nothing is counted */
  const bool by_steps = strcmp(f->letters, "m") != 0 && a->x == c.table->columns;
  if (by_steps && !find_column(e, at, &c, "outer")) return false;
  if (a->x == c.table->columns) a->x = a->y.index;
  return !e->probe;
}

/* A sample, or where the runs finish. */
static value call_curve(evaluator *e, const function *f, const char *at) {
  arguments a;
  hvi_runs r = {0};
  value v = {.kind = SAMPLE, .number = 1.0};
  if (!begin_curve(e, f, at, &a)) return v;
  if (find_runs(e, at, &r, a.y.table, a.word[0], a.label))
    v = f->curve == FINISH ? number(hvi_runs_finish(&r, a.y.index)) : sample_of(e, f, at, &r, &a);
  hvi_runs_free(&r);
  return v;
}

static value call_ordered(evaluator *e, const function *f, const char *at) {
  arguments a;
  hvi_runs r[3] = {{0}};
  double ordered = 0.0, all = 0.0, y[3];
  if (!begin_curve(e, f, at, &a)) return number(NAN);
  bool found = true;
  for (size_t k = 0; k < 3 && found; k++)
    found = find_runs(e, at, &r[k], a.y.table, a.word[k], a.label);
  for (size_t i = 1; found && i < r[0].start[1]; i++) {
    const double x = hvi_table_get(a.y.table, r[0].row[i], a.x);
    for (size_t k = 0; k < 3; k++) y[k] = hvi_runs_mean(&r[k], a.x, a.y.index, x).value;
    all += 1.0;
    ordered += y[2] <= y[1] && y[1] < y[0] ? 1.0 : 0.0;
  }
  for (size_t k = 0; k < 3; k++) hvi_runs_free(&r[k]);
  return number(ordered / all);
}

/* The first method of the group whose mean is least: anywhere, or at the X that was given. */
static bool choose_method(evaluator *e, const function *f, arguments *a, hvi_runs *best) {
  const hvi_table *t = a->y.table;
  const size_t group = hvi_table_find(t, "group");
  const char *const *words = t->column[hvi_table_find(t, "method")].words;
  const double X = a->number[0];
  double lowest = INFINITY;
  for (size_t m = 0; words && words[m]; m++) {
    hvi_runs r;
    double x = X, y = NAN;
    if (!find_runs(e, e->at, &r, t, (double)m, NULL)) return false;
    const bool member = r.start[r.seeds] && hvi_table_get(t, r.row[0], group) == a->word[0];
    if (member && f->letters[1]) y = hvi_runs_mean(&r, a->x, a->y.index, X).value;
    if (member && !f->letters[1]) y = hvi_runs_least(&r, a->y.index, &x);
    const bool better = member && (!best->table || y < lowest);
    hvi_runs_free(better ? best : &r);
    if (!better) continue;
    *best = r;
    lowest = y;
    a->label = words[m];
    a->number[0] = x;
  }
  return best->table != NULL;
}

static value call_group(evaluator *e, const function *f, const char *at) {
  arguments a;
  hvi_runs best = {0};
  value v = {.kind = SAMPLE, .number = 1.0};
  if (!begin_curve(e, f, at, &a)) return v;
  if (choose_method(e, f, &a, &best))
    v = sample_of(e, f, at, &best, &a);
  else
    fail(e, at, NULL, "no method of group '%s' has rows", a.label);
  v.chosen = a.label;
  hvi_runs_free(&best);
  return v;
}

static const function functions[] = {
    {"max", call_reduce, .reduce = MAX},
    {"min", call_reduce, .reduce = MIN},
    {"mean", call_reduce, .reduce = MEAN},
    {"median", call_reduce, .reduce = MEDIAN},
    {"sum", call_reduce, .reduce = SUM},
    {"count", call_reduce, .reduce = COUNT},
    {"first", call_reduce, .reduce = FIRST},
    {"last", call_reduce, .reduce = LAST},
    {"every", call_reduce, .reduce = EVERY},
    {"any", call_reduce, .reduce = ANY},
    {"half", call_reduce, .reduce = HALF},
    {"worst", call_reduce, .reduce = MAX},
    {"end", call_curve, .curve = END, .letters = "m"},
    {"at", call_curve, .curve = AT, .letters = "mxn"},
    {"slope", call_curve, .curve = SLOPE, .letters = "mnno"},
    {"r2", call_curve, .curve = R2, .letters = "mnno"},
    {"typical", call_curve, .curve = TYPICAL, .letters = "mnn"},
    {"rise", call_curve, .curve = RISE, .letters = "mo"},
    {"finish", call_curve, .curve = FINISH, .letters = "m"},
    {"ordered", call_ordered, .letters = "mmm"},
    {"lowest", call_group, .curve = AT, .letters = "g"},
    {"best", call_group, .curve = AT, .letters = "gxn"},
    {"least", call_of_two, .of_two = least},
    {"most", call_of_two, .of_two = most},
    {"finite", call_finite, .reduce = EVERY},
    {"abs", call_map, .map = fabs},
    {"sqrt", call_map, .map = sqrt},
    {"log", call_map, .map = log},
    {"log10", call_map, .map = log10},
    {"exp", call_map, .map = exp},
    {"floor", call_map, .map = floor},
    {.name = NULL},
};

static value call(evaluator *e, const char *at, const char *name) {
  const char *meant = NULL;
  const function *f = look_up(functions, sizeof *f, name, &meant);
  return f ? f->call(e, f, at) : fail(e, at, meant, "unknown function '%s'", name);
}

/* Something that begins with a name, or with a word in quotes. */
static value operand_named(evaluator *e, const char *at) {
  value v = {.kind = WORD};
  column_at c;
  if (!read_text(e, v.word, is_quote(*at))) return number(NAN);
  if (accept(e, ".")) return read_other(e, at, &c, v.word) ? column_here(e, at, c) : number(NAN);
  if (is_quote(*at)) return v;
  return accept(e, "(") ? call(e, at, v.word) : named(e, at, v.word);
}

static value operand(evaluator *e) {
  const char *at = here(e);
  if (e->status) return number(NAN);
  if (accept(e, "(")) return argument(e, ")");
  if (is_quote(*at) || is_letter(*at)) return operand_named(e, at);
  if (!isdigit((unsigned char)*at) && *at != '.') return missing(e, "a value");
  char *end;
  const double x = strtod(at, &end);
  if (end == at) return fail(e, at, NULL, "'.' is no number");
  e->at = end;
  return number(x);
}

/* -2^2 is -4. */
static value signed_operand(evaluator *e) {
  const char *at = here(e);
  bool negative = false;
  for (bool more = true; more;) {
    const bool sign = accept(e, "-");
    negative = negative != sign;
    more = sign || accept(e, "+");
  }
  value v = operand(e);
  v.from = at;
  if (accept(e, "^")) {
    if (++e->depth > DEEPEST) return fail(e, e->at, NULL, "too many '^' in one another");
    v = combine(e, power, v, signed_operand(e));
    e->depth--;
  }
  v.from = at;
  return negative ? combine(e, minus, number(0.0), v) : v;
}

/* A word in quotes must be one that the column can have. */
static value compare_words(evaluator *e, const value *a, const value *b, bool equal) {
  const value *text = a->words ? b : a;
  const char *const *words = a->words ? a->words : b->words, *meant = NULL;
  if (words && !text->words && !look_up(words, sizeof *words, text->word, &meant))
    return fail(e, text->from, meant, "no row can have '%s'", text->word);
  return truth(truth_of((strcmp(a->word, b->word) == 0) == equal));
}

/* A sample without its factor and its noise, of which less than a twentieth cannot be told. */
static double *bare(evaluator *e, const value *v, size_t count) {
  double *x = take(e, count);
  for (size_t i = 0; x && i < count; i++) {
    x[i] = v->kind == SAMPLE ? v->sample[i] : v->number;
    if (v->kind == SAMPLE && v->noise > 0.0 && isfinite(x[i]))
      x[i] = fmax(x[i] - v->noise, 0.05 * v->noise);
  }
  return x;
}

/* a < b, seed by seed. */
static value compare_samples(evaluator *e, const char *from, const value *a, const value *b) {
  size_t n;
  if (e->probe) return truth(HVI_UNDECIDED);
  if (!pair_sizes(e, a, b, &n)) return number(NAN);
  const double *x = bare(e, a, n), *y = bare(e, b, n);
  double *work = take(e, n);
  if (e->status) return number(NAN);
  const double margin =
      (b->kind == SAMPLE ? b->number : 1.0) / (a->kind == SAMPLE ? a->number : 1.0);
  const hvi_ratio q = hvi_ratio_of(x, y, n, margin, work);
  find_ratio(e, from, a, b, q);
  return truth(q.less > 0 ? HVI_TRUE : q.less < 0 ? HVI_FALSE : HVI_UNDECIDED);
}

static value compare(evaluator *e, const char *op, value a, value b) {
  const bool equality = *op == '=' || *op == '!';
  const double x = a.number, y = b.number;
  if (e->status) return number(NAN);
  if (a.kind == WORD && b.kind == WORD && equality) return compare_words(e, &a, &b, *op == '=');
  if (!is_numeric(e, &a) || !is_numeric(e, &b)) return number(NAN);
  if (a.kind == NUMBER && b.kind == NUMBER)
    return truth(truth_of(*op == '!' ? x != y
                                     : (*op == '<' && x < y) || (*op == '>' && x > y) ||
                                           (op[1] == '=' && x == y)));
  if (equality) return fail(e, a.from, NULL, "samples are not compared by '%s'", op);
  return *op == '<' ? compare_samples(e, a.from, &a, &b) : compare_samples(e, a.from, &b, &a);
}

static bool is_truth(evaluator *e, const value *v, const char *word) {
  if (v->kind != TRUTH) fail(e, v->from, NULL, "'%s' takes truths, such as a < b", word);
  return !e->status;
}

/* The one that decides alone (false for and, true for or), then the undecided, then the other. */
static value join(evaluator *e, const char *word, value a, value b) {
  const hvi_truth winner = truth_of(word[0] == 'o');
  if (!is_truth(e, &a, word) || !is_truth(e, &b, word)) return number(NAN);
  if (a.truth == winner || b.truth == winner) return truth(winner);
  return a.truth == HVI_UNDECIDED ? a : b;
}

enum { OR, AND, NOT, COMPARISON, TOTAL, PRODUCT, SIGNED };

static const struct operation {
  const char *symbol;
  int level;
  double (*f)(double, double);
} operations[] = {
    {"or", OR, NULL},         {"and", AND, NULL},       {"<=", COMPARISON, NULL},
    {">=", COMPARISON, NULL}, {"==", COMPARISON, NULL}, {"!=", COMPARISON, NULL},
    {"<", COMPARISON, NULL},  {">", COMPARISON, NULL},  {"+", TOTAL, plus},
    {"-", TOTAL, minus},      {"*", PRODUCT, times},    {"/", PRODUCT, over},
    {NULL, 0, NULL},
};

static const struct operation *accept_operation(evaluator *e, int level) {
  const struct operation *o = operations;
  while (o->symbol && (o->level != level || !accept(e, o->symbol))) o++;
  return o->symbol ? o : NULL;
}

static value operation(evaluator *e, int level) {
  const char *at = here(e);
  bool negative = false, any_not = false;
  if (level == SIGNED) return signed_operand(e);
  while (level == NOT && accept(e, "not")) negative = !negative, any_not = true;
  value v = operation(e, level + 1);
  if (any_not && !is_truth(e, &v, "not")) return number(NAN);
  if (negative && v.truth != HVI_UNDECIDED) v.truth = truth_of(v.truth == HVI_FALSE);
  const struct operation *o = accept_operation(e, level);
  while (o) {
    const value b = operation(e, level + 1);
    v = o->f                  ? combine(e, o->f, v, b)
        : level == COMPARISON ? compare(e, o->symbol, v, b)
                              : join(e, o->symbol, v, b);
    v.from = at;
    o = level == COMPARISON ? NULL : accept_operation(e, level);
  }
  v.from = at;
  v.to = e->at;
  return v;
}

static value expression(evaluator *e) {
  if (e->depth == DEEPEST) return fail(e, here(e), NULL, "too many parentheses in one another");
  e->depth++;
  const value v = operation(e, OR);
  e->depth--;
  return v;
}

/* Hands the value over. */
static void hand_over(evaluator *e, hvi_quantity *q, const value *v) {
  static const hvi_quantity_kind kinds[] = {
      [NUMBER] = HVI_QUANTITY_NUMBER, [SAMPLE] = HVI_QUANTITY_SAMPLE, [TRUTH] = HVI_QUANTITY_TRUTH};
  q->kind = kinds[v->kind];
  q->truth = v->truth;
  q->number = v->number;
  if (v->chosen) clip(q->which, sizeof q->which, v->chosen, strlen(v->chosen), "");
  if (v->kind != SAMPLE) return;
  q->number = NAN;
  q->sample = hvi_alloc_doubles(v->count);
  if (!q->sample) {
    e->status = hvi_error_memory(e->err, "a sample");
    return;
  }
  q->count = v->count;
  for (size_t i = 0; i < v->count; i++) q->sample[i] = item(v, i);
}

void hvi_quantity_free(hvi_quantity *q) {
  hvi_free(q->sample);
  *q = (hvi_quantity){.number = NAN};
}

hvi_status hvi_expression_eval(hvi_quantity *q, const char *text, const hvi_scope *scope,
                               hvi_findings *findings, const char *where, hvi_error *err) {
  evaluator e = {
      .text = text, .at = text, .scope = scope, .findings = findings, .where = where, .err = err};
  if (findings) findings->count = 0;
  *q = (hvi_quantity){.number = NAN};
  const value v = expression(&e);
  if (!e.status && *here(&e)) fail(&e, e.at, NULL, "'%.16s' does not belong here", e.at);
  if (!e.status && v.kind == WORD) fail(&e, text, NULL, "a word is no value");
  if (!e.status) hand_over(&e, q, &v);
  if (e.status) hvi_quantity_free(q);
  for (block *b = e.blocks, *next; b; b = next) {
    next = b->next;
    hvi_free(b);
  }
  return e.status;
}
