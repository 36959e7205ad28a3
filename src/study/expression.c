/*
 * The text is worked out while it is read, by recursive descent:
 *
 *   expression = both { "or" both },  both = truth { "and" truth },  truth = { "not" } comparison
 *   comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ],  sum = product { +- product }
 *   product = signed { ("*" | "/") signed },  signed = { +- } operand [ "^" signed ]
 *   operand = number | word | name | table "." name | function "(" ... ")" | "(" expression ")"
 *
 * What goes over rows is read once without looking at any (`probe`), which finds errors and the
 * table, and then once a row. After an error nothing is accepted any more, so that every loop ends.
 */
#include "study/expression.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "num/stats.h"
#include "study/runs.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

typedef struct function {
  const char *name;
  value (*call)(evaluator *e, const struct function *f, const char *at);
  double (*map)(double x);
  double (*reduce)(double *x, size_t n);
  double (*of)(const hvi_runs *r, size_t seed, const arguments *a);
  const char *letters; /* of curves, after the column: see read_arguments */
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
static value fail(evaluator *e, const char *at, const char *meant, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static value fail(evaluator *e, const char *at, const char *meant, const char *format, ...) {
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
  clip(place, sizeof place, from, strlen(from), "");
  if (strlen(from) > SHOWN) clip(place, sizeof place, from, SHOWN, "...");
  e->status = hvi_error_set(e->err, HVI_ERROR_INPUT, "%s: %s in '%s%s'%s%s%s", e->where, what,
                            from > e->text ? "..." : "", place, meant ? "; did you mean '" : "",
                            meant ? meant : "", meant ? "'?" : "");
  return number(NAN);
}

/* The nearer of the two to what was written; NULL when neither is near. */
static const char *nearer(const char *written, const char *one, const char *other) {
  return hvi_suggest(written, (const char *const[]){one, other, NULL});
}

static const char *nearest_column(const hvi_table *t, const char *written, const char *meant) {
  for (size_t i = 0; t && i < t->columns; i++) meant = nearer(written, t->column[i].name, meant);
  return meant;
}

static double *take(evaluator *e, size_t count) {
  size_t bytes;
  block *b = hvi_multiply_sizes(count + 1, sizeof(double), &bytes) ? hvi_alloc(1, sizeof *b + bytes)
                                                                   : NULL;
  if (!b) {
    if (!e->status) e->status = hvi_error_memory(e->err, "an expression");
    return NULL;
  }
  b->next = e->blocks;
  e->blocks = b;
  return b->x;
}

static void release(evaluator *e, block *until) {
  while (e->blocks != until) {
    block *b = e->blocks;
    e->blocks = b->next;
    hvi_free(b);
  }
}

static bool is_letter(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool is_part(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *here(evaluator *e) {
  while (*e->at == ' ' || *e->at == '\t' || *e->at == '\n' || *e->at == '\r') e->at++;
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

static bool copy_word(evaluator *e, char out[LONGEST], const char *from, const char *to) {
  if (to - from >= LONGEST) {
    fail(e, from, NULL, "a name of more than %d bytes", LONGEST - 1);
    return false;
  }
  memcpy(out, from, (size_t)(to - from));
  out[to - from] = '\0';
  return true;
}

static bool read_name(evaluator *e, char name[LONGEST]) {
  const char *from = here(e);
  if (e->status) return false;
  if (!is_letter(*from)) return missing(e, "a name"), false;
  while (is_part(*e->at)) e->at++;
  return copy_word(e, name, from, e->at);
}

static bool is_quote(char c) { return c == '"' || c == '\''; }

/* Words stand in quotes of either kind. */
static bool read_word(evaluator *e, char word[LONGEST]) {
  const char *from = here(e);
  if (e->status) return false;
  const char *to = is_quote(*from) ? strchr(from + 1, *from) : NULL;
  if (!to) {
    fail(e, from, NULL, is_quote(*from) ? "a quote is not closed" : "a name in quotes is missing");
    return false;
  }
  e->at = to + 1;
  return copy_word(e, word, from + 1, to);
}

static const hvi_table *find_table(evaluator *e, const char *at, const char *name) {
  const char *meant = NULL;
  for (size_t i = 0; i < e->scope->table_count; i++) {
    if (strcmp(e->scope->tables[i].name, name) == 0) return &e->scope->tables[i];
    meant = nearer(name, e->scope->tables[i].name, meant);
  }
  fail(e, at, meant, "unknown table '%s'", name);
  return NULL;
}

static bool find_column(evaluator *e, const char *at, column_at *c, const char *name) {
  c->index = c->table ? hvi_table_find(c->table, name) : 0;
  if (c->table && c->index < c->table->columns) return true;
  fail(e, at, nearest_column(c->table, name, NULL), "unknown column '%s'", name);
  return false;
}

/* The rest of TABLE.column. */
static bool read_other(evaluator *e, const char *at, column_at *c, const char *table) {
  char name[LONGEST];
  c->table = find_table(e, at, table);
  const char *from = here(e);
  return c->table && read_name(e, name) && find_column(e, from, c, name);
}

static bool read_column(evaluator *e, column_at *c) {
  char name[LONGEST];
  const char *at = here(e);
  if (is_quote(*at)) return read_word(e, name) && need(e, ".") && read_other(e, at, c, name);
  if (!read_name(e, name)) return false;
  if (accept(e, ".")) return read_other(e, at, c, name);
  c->table = e->scope->own;
  return find_column(e, at, c, name);
}

static const struct hvi_constant *find_constant(const hvi_scope *scope, const char *name) {
  const struct hvi_constant *c = scope->constants;
  while (c && c->name && strcmp(c->name, name) != 0) c++;
  return c && c->name ? c : NULL;
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
  column_at c = {.table = e->scope->own};
  const struct hvi_constant *constant = find_constant(e->scope, name);
  if (c.table) c.index = hvi_table_find(c.table, name);
  const bool is_column = c.table && c.index < c.table->columns;
  if (is_column && (e->rows.inside || !constant)) return column_here(e, at, c);
  if (constant) return number(constant->value);
  const char *meant = nearest_column(c.table, name, NULL);
  for (constant = e->scope->constants; constant && constant->name; constant++)
    meant = nearer(name, constant->name, meant);
  return fail(e, at, meant, "unknown name '%s'", name);
}

static void add_finding(evaluator *e, const char *name, const char *end, double x) {
  hvi_findings *f = e->findings;
  if (!f || f->count == HVI_MOST_FINDINGS) return;
  hvi_finding *item = &f->items[f->count++];
  clip(item->name, sizeof item->name, name, strlen(name), end);
  item->value = x;
}

/* Under `name`: 1 when that is a finding of this value, -1 of another one, 0 when it is free. */
static int is_found(const evaluator *e, const char *name, double x) {
  for (size_t i = 0; e->findings && i < e->findings->count; i++) {
    const hvi_finding *f = &e->findings->items[i];
    if (strcmp(f->name, name) == 0) return f->value == x || (isnan(f->value) && isnan(x)) ? 1 : -1;
  }
  return 0;
}

/* `name`, or the text itself where that already means something else. False: it is a repeat. */
static bool choose_name(const evaluator *e, char out[64], const char *name, const char *from,
                        double x) {
  clip(out, 64, name, strlen(name), "");
  int found = is_found(e, out, x);
  if (found < 0) {
    clip(out, 64, from, (size_t)(e->at - from), "");
    found = is_found(e, out, x);
  }
  return found == 0;
}

static void find_mean(evaluator *e, const char *from, const value *v, const char *y) {
  char name[2 * LONGEST], chosen[64];
  double *work = take(e, v->count);
  if (!work) return;
  if (!e->first) e->first = y;
  const hvi_mean m = hvi_mean_of(v->sample, v->count, work);
  if (strcmp(y, e->first) == 0)
    snprintf(name, sizeof name, "%.63s", v->label);
  else
    snprintf(name, sizeof name, "%.63s: %.40s", v->label, y);
  if (!choose_name(e, chosen, name, from, m.value)) return;
  add_finding(e, chosen, "", m.value);
  if (v->count > 1) add_finding(e, chosen, ", half width", m.half);
}

static void find_ratio(evaluator *e, const char *from, const char *a, const char *b, hvi_ratio q) {
  char name[3 * LONGEST], chosen[64];
  snprintf(name, sizeof name, "%.63s %s %.63s", a, q.difference ? "minus" : "over", b);
  if (!choose_name(e, chosen, name, from, q.ratio)) return;
  add_finding(e, chosen, "", q.ratio);
  add_finding(e, chosen, ", lower end", q.low);
  add_finding(e, chosen, ", upper end", q.high);
}

static bool is_numeric(evaluator *e, const char *at, const value *v) {
  if (v->kind == NUMBER || v->kind == SAMPLE) return true;
  fail(e, at, NULL, "a number is needed, not a %s", v->kind == TRUTH ? "truth" : "word");
  return false;
}

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
static bool pair_sizes(evaluator *e, const char *at, const value *a, const value *b,
                       size_t *count) {
  *count = a->kind == SAMPLE ? a->count : b->count;
  if (a->kind != SAMPLE || b->kind != SAMPLE || a->count == b->count) return true;
  fail(e, at, NULL, "samples of %zu and of %zu seeds", a->count, b->count);
  return false;
}

/* Seed by seed; a number counts for every seed. A positive factor stays beside its sample. */
static value combine(evaluator *e, const char *at, double (*f)(double, double), value a, value b) {
  size_t count;
  if (e->status || !is_numeric(e, at, &a) || !is_numeric(e, at, &b)) return number(NAN);
  if (a.kind == NUMBER && b.kind == NUMBER) return number(f(a.number, b.number));
  if (a.kind == NUMBER && a.number > 0.0 && isfinite(a.number) && f == times)
    return b.number *= a.number, b;
  if (b.kind == NUMBER && b.number > 0.0 && isfinite(b.number) && (f == times || f == over))
    return a.number = f(a.number, b.number), a;
  value v = {.kind = SAMPLE, .number = 1.0};
  if (!pair_sizes(e, at, &a, &b, &count) || !(v.sample = take(e, count))) return number(NAN);
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
  if (e->status || !is_numeric(e, at, &a)) return number(NAN);
  if (a.kind == NUMBER) return number(f->map(a.number));
  value v = {.kind = SAMPLE, .number = 1.0, .count = a.count, .sample = take(e, a.count)};
  for (size_t i = 0; v.sample && i < v.count; i++) v.sample[i] = f->map(item(&a, i));
  return v;
}

static value call_of_two(evaluator *e, const function *f, const char *at) {
  const value a = argument(e, ","), b = argument(e, ")");
  return combine(e, at, strcmp(f->name, "least") == 0 ? least : most, a, b);
}

static value call_finite(evaluator *e, const function *f, const char *at) {
  const value a = argument(e, ")");
  (void)f;
  if (e->status || !is_numeric(e, at, &a)) return number(NAN);
  bool all = true;
  for (size_t i = 0; i < (a.kind == SAMPLE ? a.count : 1); i++) all = all && isfinite(item(&a, i));
  return truth(truth_of(all));
}

static double largest(double *x, size_t n) {
  double y = n ? x[0] : NAN;
  for (size_t i = 1; i < n; i++) y = most(y, x[i]);
  return y;
}

static double smallest(double *x, size_t n) {
  double y = n ? x[0] : NAN;
  for (size_t i = 1; i < n; i++) y = least(y, x[i]);
  return y;
}

static double middle(double *x, size_t n) {
  return isnan(largest(x, n)) ? NAN : hvi_stats_quantile(x, n, 0.5);
}

static double sum(double *x, size_t n) {
  double y = 0.0;
  for (size_t i = 0; i < n; i++) y += x[i];
  return y;
}

static double count(double *x, size_t n) {
  double y = 0.0;
  for (size_t i = 0; i < n; i++) y += isnan(x[i]) ? 0.0 : 1.0;
  return y;
}

static double mean(double *x, size_t n) { return hvi_stats_mean(x, n); }
static double first(double *x, size_t n) { return n ? x[0] : NAN; }
static double last(double *x, size_t n) { return n ? x[n - 1] : NAN; }
/* Of no rows nothing is known. */
static double every(double *x, size_t n) { return n ? smallest(x, n) : NAN; }
static double any(double *x, size_t n) { return n ? largest(x, n) : 0.0; }
static double half(double *x, size_t n) { return hvi_stats_interval95(x, n); }

static bool gives_truth(const function *f) { return f->reduce == every || f->reduce == any; }

static value reduced(const function *f, double *x, size_t n) {
  const double y = f->reduce(x, n);
  if (!gives_truth(f)) return number(y);
  return truth(isnan(y) ? HVI_UNDECIDED : truth_of(y != 0.0));
}

/* Of a sample: mean and half width leave out seeds without a value. */
static value reduce_sample(evaluator *e, const function *f, const char *at, const value *v) {
  const size_t n = v->kind == SAMPLE ? v->count : 1;
  double *x = take(e, n), *work = take(e, n);
  if (e->status || !is_numeric(e, at, v)) return number(NAN);
  for (size_t i = 0; i < n; i++) x[i] = item(v, i);
  if (f->reduce != mean && f->reduce != half) return reduced(f, x, n);
  const hvi_mean m = hvi_mean_of(x, n, work);
  return number(f->reduce == mean ? m.value : m.half);
}

/* What a row adds: false counts as nothing where rows are counted. */
static double entry(const function *f, const value *v) {
  if (v->kind == NUMBER) return v->number;
  return v->truth == HVI_TRUE ? 1.0 : f->reduce == count ? NAN : 0.0;
}

static value reduce_rows(evaluator *e, const function *f, const char *what, const char *which) {
  const hvi_table *t = e->rows.table;
  block *const mark = e->blocks;
  double *x = take(e, t->rows);
  size_t n = 0;
  for (e->row = 0; e->row < t->rows && !e->status; e->row++) {
    if (!hvi_table_matches(t, e->row, e->scope->filters, e->scope->filter_count)) continue;
    e->at = which;
    if (which && expression(e).truth != HVI_TRUE) continue;
    e->at = what;
    const value v = expression(e);
    x[n++] = entry(f, &v);
  }
  const value y = e->status ? number(NAN) : reduced(f, x, n);
  release(e, mark);
  return y;
}

/* What the probe has found must be what the function takes; which may be NULL. */
static void check_rows(evaluator *e, const function *f, const char *at, const value *what,
                       const value *which) {
  const bool condition = gives_truth(f),
             either = (f->reduce == count || f->reduce == mean) && what->kind != WORD;
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
    v = reduce_sample(e, f, at, &v);
  }
  e->at = end;
  e->rows = outer;
  e->rows.nested = at;
  return v;
}

/* A word of that column of the table. */
static void read_word_of(evaluator *e, const char *name, arguments *a) {
  char word[LONGEST];
  const hvi_table *t = a->y.table;
  const char *at = here(e), *meant = NULL;
  column_at c = {.table = t};
  if (!find_column(e, at, &c, name) || !read_word(e, word)) return;
  const char *const *words = t->column[c.index].words;
  for (size_t i = 0; words && words[i]; i++) {
    if (strcmp(words[i], word) == 0) {
      a->word[a->words++] = (double)i;
      a->label = words[i];
      return;
    }
    meant = nearer(word, words[i], meant);
  }
  fail(e, at, meant, "unknown %s '%s'", name, word);
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
    switch (*letters) {
    case 'm':
    case 'g':
      read_word_of(e, *letters == 'm' ? "method" : "group", a);
      break;
    case 'x':
      if (!read_column(e, &x)) return false;
      if (x.table != a->y.table) fail(e, e->at, NULL, "columns of two tables");
      a->x = x.index;
      break;
    case 'n':
      a->number[numbers++] = read_number(e);
      break;
    default:
      a->number[2] = read_number(e);
      if (!e->probe && !(a->number[2] >= 1.0)) fail(e, e->at, NULL, "a number from 1 is needed");
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
  snprintf(name, sizeof name, "%.63s_noise", y);
  const struct hvi_constant *constant = find_constant(e->scope, name);
  const size_t column = hvi_table_find(r->table, name);
  if (column == r->table->columns) return constant ? constant->value : 0.0;
  return hvi_table_get(r->table, r->row[r->start[r->seeds] - 1], column);
}

static double of_end(const hvi_runs *r, size_t seed, const arguments *a) {
  return hvi_runs_value(r, seed, a->x, a->y.index, INFINITY);
}

static double of_at(const hvi_runs *r, size_t seed, const arguments *a) {
  return hvi_runs_value(r, seed, a->x, a->y.index, a->number[0]);
}

static hvi_window window_of(const arguments *a) {
  return (hvi_window){a->number[0], a->number[1], a->number[2]};
}

static double of_slope(const hvi_runs *r, size_t seed, const arguments *a) {
  return hvi_runs_line(r, seed, a->y.index, window_of(a)).slope;
}

static double of_r2(const hvi_runs *r, size_t seed, const arguments *a) {
  return hvi_runs_line(r, seed, a->y.index, window_of(a)).r2;
}

static double of_typical(const hvi_runs *r, size_t seed, const arguments *a) {
  return hvi_runs_typical(r, seed, a->y.index, window_of(a));
}

static double of_rise(const hvi_runs *r, size_t seed, const arguments *a) {
  return hvi_runs_rise(r, seed, a->y.index, window_of(a));
}

/* One number a seed; without seeds, a number. */
static value sample_of(evaluator *e, const function *f, const char *at, const hvi_runs *r,
                       const arguments *a) {
  const char *y = a->y.table->column[a->y.index].name;
  value v = {.kind = SAMPLE, .number = 1.0, .count = r->seeds, .label = a->label};
  v.sample = take(e, r->seeds);
  for (size_t s = 0; v.sample && s < r->seeds; s++) v.sample[s] = f->of(r, s, a);
  if (e->status) return number(NAN);
  if (f->of == of_end || f->of == of_at) {
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
    v = f->of ? sample_of(e, f, at, &r, &a) : number(hvi_runs_finish(&r, a.y.index));
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
    {.name = "max", .call = call_reduce, .reduce = largest},
    {.name = "min", .call = call_reduce, .reduce = smallest},
    {.name = "mean", .call = call_reduce, .reduce = mean},
    {.name = "median", .call = call_reduce, .reduce = middle},
    {.name = "sum", .call = call_reduce, .reduce = sum},
    {.name = "count", .call = call_reduce, .reduce = count},
    {.name = "first", .call = call_reduce, .reduce = first},
    {.name = "last", .call = call_reduce, .reduce = last},
    {.name = "every", .call = call_reduce, .reduce = every},
    {.name = "any", .call = call_reduce, .reduce = any},
    {.name = "half", .call = call_reduce, .reduce = half},
    {.name = "worst", .call = call_reduce, .reduce = largest},
    {.name = "end", .call = call_curve, .of = of_end, .letters = "m"},
    {.name = "at", .call = call_curve, .of = of_at, .letters = "mxn"},
    {.name = "slope", .call = call_curve, .of = of_slope, .letters = "mnno"},
    {.name = "r2", .call = call_curve, .of = of_r2, .letters = "mnno"},
    {.name = "typical", .call = call_curve, .of = of_typical, .letters = "mnn"},
    {.name = "rise", .call = call_curve, .of = of_rise, .letters = "mo"},
    {.name = "finish", .call = call_curve, .letters = "m"},
    {.name = "ordered", .call = call_ordered, .letters = "mmm"},
    {.name = "lowest", .call = call_group, .of = of_at, .letters = "g"},
    {.name = "best", .call = call_group, .of = of_at, .letters = "gxn"},
    {.name = "least", .call = call_of_two},
    {.name = "most", .call = call_of_two},
    {.name = "finite", .call = call_finite},
    {.name = "abs", .call = call_map, .map = fabs},
    {.name = "sqrt", .call = call_map, .map = sqrt},
    {.name = "log", .call = call_map, .map = log},
    {.name = "log10", .call = call_map, .map = log10},
    {.name = "exp", .call = call_map, .map = exp},
    {.name = "floor", .call = call_map, .map = floor},
};

static value call(evaluator *e, const char *at, const char *name) {
  const char *meant = NULL;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    if (strcmp(functions[i].name, name) == 0) return functions[i].call(e, &functions[i], at);
    meant = nearer(name, functions[i].name, meant);
  }
  return fail(e, at, meant, "unknown function '%s'", name);
}

/* Something that begins with a name, or with a word in quotes. */
static value operand_named(evaluator *e, const char *at) {
  value v = {.kind = WORD};
  column_at c;
  const bool quoted = is_quote(*at);
  if (quoted ? !read_word(e, v.word) : !read_name(e, v.word)) return number(NAN);
  if (accept(e, ".")) return read_other(e, at, &c, v.word) ? column_here(e, at, c) : number(NAN);
  if (quoted) return v;
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
  if (accept(e, "^")) {
    if (++e->depth > DEEPEST) return fail(e, e->at, NULL, "too many '^' in one another");
    v = combine(e, at, power, v, signed_operand(e));
    e->depth--;
  }
  return negative ? combine(e, at, minus, number(0.0), v) : v;
}

static value product(evaluator *e) {
  const char *at = here(e);
  value v = signed_operand(e);
  for (;;) {
    if (accept(e, "*"))
      v = combine(e, at, times, v, signed_operand(e));
    else if (accept(e, "/"))
      v = combine(e, at, over, v, signed_operand(e));
    else
      return v;
  }
}

static value total(evaluator *e) {
  const char *at = here(e);
  value v = product(e);
  for (;;) {
    if (accept(e, "+"))
      v = combine(e, at, plus, v, product(e));
    else if (accept(e, "-"))
      v = combine(e, at, minus, v, product(e));
    else
      return v;
  }
}

/* One side of a comparison, and its text. */
typedef struct side {
  value v;
  const char *from, *to;
} side;

static side read_side(evaluator *e) {
  side s = {.from = here(e)};
  s.v = total(e);
  s.to = e->at;
  while (s.to > s.from && isspace((unsigned char)s.to[-1])) s.to--;
  return s;
}

static void name_side(char name[LONGEST], const side *s) {
  if (s->v.label)
    clip(name, LONGEST, s->v.label, strlen(s->v.label), "");
  else
    clip(name, LONGEST, s->from, (size_t)(s->to - s->from), "");
}

/* A word in quotes must be one that the column can have. */
static value compare_words(evaluator *e, const side *a, const side *b, bool equal) {
  const side *text = a->v.words ? b : a, *column = a->v.words ? a : b;
  const char *const *words = column->v.words, *meant = NULL;
  bool known = !words || text->v.words;
  for (; words && *words && !known; words++) {
    known = strcmp(*words, text->v.word) == 0;
    meant = nearer(text->v.word, *words, meant);
  }
  if (!known) return fail(e, text->from, meant, "no row can have '%s'", text->v.word);
  return truth(truth_of((strcmp(a->v.word, b->v.word) == 0) == equal));
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
static value compare_samples(evaluator *e, const char *from, const side *a, const side *b) {
  size_t n;
  char names[2][LONGEST];
  if (e->probe) return truth(HVI_UNDECIDED);
  if (!pair_sizes(e, from, &a->v, &b->v, &n)) return number(NAN);
  const double *x = bare(e, &a->v, n), *y = bare(e, &b->v, n);
  double *work = take(e, n);
  if (e->status) return number(NAN);
  const double margin =
      (b->v.kind == SAMPLE ? b->v.number : 1.0) / (a->v.kind == SAMPLE ? a->v.number : 1.0);
  const hvi_ratio q = hvi_ratio_of(x, y, n, margin, work);
  name_side(names[0], a);
  name_side(names[1], b);
  find_ratio(e, from, names[0], names[1], q);
  return truth(q.less > 0 ? HVI_TRUE : q.less < 0 ? HVI_FALSE : HVI_UNDECIDED);
}

static bool compare_numbers(const char *op, double a, double b) {
  if (*op == '!') return a != b;
  return (*op == '<' && a < b) || (*op == '>' && a > b) || (op[1] == '=' && a == b);
}

static value comparison(evaluator *e) {
  static const char *const operators[] = {"<=", ">=", "==", "!=", "<", ">", NULL};
  const side a = read_side(e);
  const char *op = NULL;
  for (size_t i = 0; operators[i] && !op; i++)
    if (accept(e, operators[i])) op = operators[i];
  if (!op) return a.v;
  const side b = read_side(e);
  const bool equality = *op == '=' || *op == '!';
  if (e->status) return number(NAN);
  if (a.v.kind == WORD && b.v.kind == WORD && equality) return compare_words(e, &a, &b, *op == '=');
  if (!is_numeric(e, a.from, &a.v) || !is_numeric(e, b.from, &b.v)) return number(NAN);
  if (a.v.kind == NUMBER && b.v.kind == NUMBER)
    return truth(truth_of(compare_numbers(op, a.v.number, b.v.number)));
  if (equality) return fail(e, a.from, NULL, "samples are not compared by '%s'", op);
  return *op == '<' ? compare_samples(e, a.from, &a, &b) : compare_samples(e, a.from, &b, &a);
}

static bool is_truth(evaluator *e, const char *at, const value *v, const char *word) {
  if (!e->status && v->kind != TRUTH) fail(e, at, NULL, "'%s' takes truths, such as a < b", word);
  return !e->status;
}

static value negation(evaluator *e) {
  const char *at = here(e);
  bool negative = false, any_not = false;
  while (accept(e, "not")) negative = !negative, any_not = true;
  value v = comparison(e);
  if (any_not && !is_truth(e, at, &v, "not")) return number(NAN);
  if (negative && v.truth != HVI_UNDECIDED) v.truth = truth_of(v.truth == HVI_FALSE);
  return v;
}

/* The one that decides alone (false for and, true for or), then the undecided, then the other. */
static value join(evaluator *e, const char *at, const char *word, value a, value b) {
  const hvi_truth winner = truth_of(word[0] == 'o');
  if (!is_truth(e, at, &a, word) || !is_truth(e, at, &b, word)) return number(NAN);
  if (a.truth == winner || b.truth == winner) return truth(winner);
  return a.truth == HVI_UNDECIDED ? a : b;
}

static value conjunction(evaluator *e) {
  const char *at = here(e);
  value v = negation(e);
  while (accept(e, "and")) v = join(e, at, "and", v, negation(e));
  return v;
}

static value expression(evaluator *e) {
  const char *at = here(e);
  if (e->depth == DEEPEST) return fail(e, at, NULL, "too many parentheses in one another");
  e->depth++;
  value v = conjunction(e);
  while (accept(e, "or")) v = join(e, at, "or", v, conjunction(e));
  e->depth--;
  return v;
}

/* Hands the value over. */
static void hand_over(evaluator *e, hvi_quantity *q, const value *v) {
  q->kind = v->kind == SAMPLE  ? HVI_QUANTITY_SAMPLE
            : v->kind == TRUTH ? HVI_QUANTITY_TRUTH
                               : HVI_QUANTITY_NUMBER;
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
  release(&e, NULL);
  return e.status;
}
