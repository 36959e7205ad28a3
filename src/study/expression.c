/*
 * The text is worked out while it is read, by recursive descent over levels of operators:
 *
 *   or, and, not, one of < <= > >= == !=, + -, * /, then { +- } operand [ "^" operand ]
 *   operand = number | word | name | table "." name | function "(" ... ")" | "(" expression ")"
 *
 * A value is one item, or many: a column is one item a row, a sample one a seed, and operators and
 * functions go over the items. An error jumps out of it all; what was allocated is the evaluator's.
 */
#include "study/expression.h"

#include "base/base.h"
#include "study/runs.h"

#include <ctype.h>
#include <setjmp.h>

enum { DEEPEST = 64, LONGEST = 64 /* of names and words, with the end */ };

enum kind { NUMBER, TRUTH, WORD };
enum extent { ONE, ROWS, SEEDS };

typedef struct value {
  enum kind kind;
  enum extent over;
  double number;      /* of one: its number, or its hvi_truth; of seeds: the factor before them */
  size_t count;       /* of items */
  double *many;       /* [count] numbers, truths, or indices of words */
  double noise;       /* in a sample */
  const char *label;  /* the method that a sample is of; NULL: it was computed */
  char word[LONGEST]; /* of one */
  const char *const *words; /* of many: what the column may have */
  const char *from, *to;    /* its text */
} value;

/* The function that goes over rows, if we are inside of one, and of which table they are. */
typedef struct row_scope {
  const struct function *of;
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
  jmp_buf failed;
  hvi_pool *pool;   /* of values, until the end */
  hvi_runs runs[2]; /* of a method, and of those of its group that were looked at */
  size_t depth;
  row_scope rows;
} evaluator;

typedef struct column_at {
  const hvi_table *table;
  size_t index;
} column_at;

/* What a function of curves was given. */
typedef struct arguments {
  column_at y;
  size_t x;
  double word; /* index of a method, or of a group */
  double number[3];
  const char *label; /* the word */
} arguments;

/* What is made of the numbers of rows or seeds, and of the curve of a seed. */
enum reduction { MAX, MIN, MEAN, SUM, COUNT, FIRST, LAST, HALF, LOW, HIGH, MEDIAN, EVERY, ANY };
enum curve { END, AT, SLOPE, R2, TYPICAL, RISE, FINISH };

typedef struct function {
  const char *name;
  value (*call)(evaluator *e, const struct function *f, const char *at);
  enum reduction reduce;
  enum curve curve;
  const char *letters; /* of curves, after the column: see read_arguments */
  double (*map)(double x);
  double (*of_two)(double x, double y);
} function;

static value expression(evaluator *e);

static value number(double x) { return (value){.kind = NUMBER, .number = x, .count = 1}; }
static value truth(double t) { return (value){.kind = TRUTH, .number = t, .count = 1}; }

/* text[length] in at most size bytes, then `end`; in one line, and with no half of a letter. */
static void clip(char *out, size_t size, const char *text, size_t length, const char *end) {
  size_t most = size - 1 - strlen(end), n = length < most ? length : most;
  if (n < length)
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
  for (size_t i = 0; i < n; i++) out[i] = iscntrl((unsigned char)text[i]) ? ' ' : text[i];
  strcpy(out + n, end);
}

/* `meant` is the nearest known name, or NULL. */
__attribute__((format(printf, 4, 5))) _Noreturn static void
fail(evaluator *e, const char *at, const char *meant, const char *format, ...) {
  enum { BEFORE = 24, SHOWN = 64 };
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
  longjmp(e->failed, 1);
}

/* The nearer of the two to what was written; NULL when neither is near. */
static const char *nearer(const char *written, const char *one, const char *other) {
  return hvi_suggest(written, (const char *const[]){one, other, NULL});
}

static double *take(evaluator *e, size_t count) {
  double *x = hvi_pool_take(&e->pool, count, sizeof *x);
  if (x) return x;
  e->status = hvi_error_memory(e->err, "an expression");
  longjmp(e->failed, 1);
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
  if (strncmp(here(e), symbol, length) != 0) return false;
  if (is_letter(*symbol) && is_part(e->at[length])) return false;
  e->at += length;
  return true;
}

_Noreturn static void missing(evaluator *e, const char *what) {
  const char *quote = *here(e) ? "'" : "";
  fail(e, e->at, NULL, "%s is missing before %s%.16s%s", what, quote, *e->at ? e->at : "the end",
       quote);
}

static void need(evaluator *e, const char *symbol) {
  const char what[] = {'\'', *symbol, '\'', '\0'};
  if (!accept(e, symbol)) missing(e, what);
}

/* A name, or a word in quotes of either kind. */
static void read_text(evaluator *e, char out[LONGEST], bool quoted) {
  const char *from = here(e), *to = from;
  if (quoted && !is_quote(*from)) fail(e, from, NULL, "a name in quotes is missing");
  if (!quoted && !is_letter(*from)) missing(e, "a name");
  if (quoted && !(to = strchr(from + 1, *from))) fail(e, from, NULL, "a quote is not closed");
  while (!quoted && is_part(*to)) to++;
  e->at = to + quoted;
  from += quoted;
  if (to - from >= LONGEST) fail(e, from, NULL, "a name of more than %d bytes", LONGEST - 1);
  memcpy(out, from, (size_t)(to - from));
  out[to - from] = '\0';
}

/* The entry of that name in a list whose entries begin with their name, a NULL after the last. NULL:
 * there is none, and `meant` becomes the nearest one. */
static const void *look_up(const void *list, size_t size, const char *name, const char **meant) {
  const char *known;
  for (const char *p = list; p && memcpy(&known, p, sizeof known) && known; p += size) {
    if (strcmp(known, name) == 0) return p;
    *meant = nearer(name, known, *meant);
  }
  return NULL;
}

static column_at find_column(evaluator *e, const char *at, const hvi_table *t, const char *name) {
  const char *meant = NULL;
  const hvi_column *list = t ? t->column : NULL, *found = look_up(list, sizeof *list, name, &meant);
  if (!found) fail(e, at, meant, "unknown column '%s'", name);
  return (column_at){t, (size_t)(found - list)};
}

/* The rest of TABLE.column. */
static column_at read_other(evaluator *e, const char *at, const char *table) {
  char name[LONGEST];
  const char *meant = NULL, *from = here(e);
  for (const hvi_table *t = e->scope->tables; t < e->scope->tables + e->scope->table_count; t++) {
    meant = nearer(table, t->name, meant);
    if (strcmp(t->name, table) != 0) continue;
    read_text(e, name, false);
    return find_column(e, from, t, name);
  }
  fail(e, at, meant, "unknown table '%s'", table);
}

static column_at read_column(evaluator *e) {
  char name[LONGEST];
  const char *at = here(e);
  const bool quoted = is_quote(*at);
  read_text(e, name, quoted);
  if (quoted) need(e, ".");
  return quoted || accept(e, ".") ? read_other(e, at, name)
                                  : find_column(e, at, e->scope->own, name);
}

static value new_many(evaluator *e, enum kind kind, enum extent over, size_t count) {
  double *many = take(e, count);
  return (value){.kind = kind, .over = over, .number = 1.0, .count = count, .many = many};
}

static value column_here(evaluator *e, const char *at, column_at c) {
  const hvi_column *column = &c.table->column[c.index];
  if (!e->rows.of)
    fail(e, at, NULL, "column '%s' is not one number; max, mean, end, ... make one of it",
         column->name);
  if (!e->rows.table) e->rows.table = c.table;
  if (e->rows.table != c.table)
    fail(e, at, NULL, "'%s' is a column of '%s', and the rows are those of '%s'", column->name,
         c.table->name, e->rows.table->name);
  value v = new_many(e, column->words ? WORD : NUMBER, ROWS, c.table->rows);
  v.words = column->words;
  for (size_t i = 0; i < v.count; i++) v.many[i] = hvi_table_get(c.table, i, c.index);
  return v;
}

static value named(evaluator *e, const char *at, const char *name) {
  const char *meant = NULL;
  const hvi_table *t = e->scope->own;
  const hvi_column *column = look_up(t ? t->column : NULL, sizeof *column, name, &meant);
  const struct hvi_constant *constant =
      column && e->rows.of ? NULL : look_up(e->scope->constants, sizeof *constant, name, &meant);
  if (constant) return number(constant->value);
  if (!column) fail(e, at, meant, "unknown name '%s'", name);
  return column_here(e, at, (column_at){t, (size_t)(column - t->column)});
}

static const hvi_measure *find_finding(const hvi_findings *f, const char *name) {
  for (size_t i = 0; i < f->count; i++)
    if (strcmp(f->items[i].name, name) == 0) return &f->items[i];
  return NULL;
}

/* A finding under `name`, or under the text itself where that already means another value; `parts`
 * come after it and end in NULL. What was found before is not added again. */
static void add_findings(evaluator *e, const char *from, const char *name, const char *const *parts,
                         const double *values) {
  hvi_findings *f = e->findings;
  char chosen[sizeof f->items->name];
  if (!f) return;
  clip(chosen, sizeof chosen, name, strlen(name), "");
  const hvi_measure *same = find_finding(f, chosen);
  if (same && same->value != values[0] && !(isnan(same->value) && isnan(values[0]))) {
    clip(chosen, sizeof chosen, from, (size_t)(e->at - from), "");
    same = find_finding(f, chosen);
  }
  for (size_t k = 0; !same && parts[k] && f->count < HVI_MOST_FINDINGS; k++) {
    hvi_measure *item = &f->items[f->count++];
    clip(item->name, sizeof item->name, chosen, strlen(chosen), parts[k]);
    item->value = values[k];
  }
}

static void find_mean(evaluator *e, const char *from, const value *v, const char *y) {
  char name[2 * LONGEST];
  if (!e->first) e->first = y;
  const hvi_mean m = hvi_mean_of(v->many, v->count, take(e, v->count));
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

static void need_number(evaluator *e, const value *v) {
  if (v->kind != NUMBER)
    fail(e, v->from, NULL, "a number is needed, not a %s", v->kind == TRUTH ? "truth" : "word");
}

static void need_truth(evaluator *e, const value *v, const char *word) {
  if (v->kind != TRUTH) fail(e, v->from, NULL, "'%s' takes truths, such as a < b", word);
}

static double item(const value *v, size_t i) {
  return v->over == ONE ? v->number : v->many[i] * v->number;
}

static double *items(value *v) { return v->over == ONE ? &v->number : v->many; }

static double least(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }
static double most(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }
static double power(double a, double b) { return b == 2.0 ? a * a : pow(a, b); }
static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double over(double a, double b) { return a / b; }
static double less(double a, double b) { return a < b; }
static double at_most(double a, double b) { return a <= b; }
static double more(double a, double b) { return a > b; }
static double at_least(double a, double b) { return a >= b; }
static double equal(double a, double b) { return a == b; }
static double unequal(double a, double b) { return a != b; }
/* The one that decides alone, then the undecided, then the other. */
static double both(double a, double b) { return a == HVI_FALSE || b == HVI_FALSE ? 0 : fmax(a, b); }
static double either(double a, double b) { return a == HVI_TRUE || b == HVI_TRUE ? 1 : fmax(a, b); }
static double not_so(double a) { return a == HVI_UNDECIDED ? a : 1.0 - a; }
static double is_finite(double a) { return isfinite(a); }

_Noreturn static void fail_nested(evaluator *e) {
  fail(e, e->rows.nested, NULL, "inside '%s' a row has columns and constants alone",
       e->rows.of->name);
}

/* A value with room for as many items as two have; one item goes with any number. */
static value room_for(evaluator *e, enum kind kind, const value *a, const value *b) {
  if (a->over == ONE && b->over == ONE) return (value){.kind = kind, .count = 1};
  if (a->over != ONE && b->over != ONE && a->over != b->over) fail_nested(e);
  if (a->over != ONE && b->over != ONE && a->count != b->count)
    fail(e, a->from, NULL, "samples of %zu and of %zu seeds", a->count, b->count);
  const value *many = a->over == ONE ? b : a;
  return new_many(e, kind, many->over, many->count);
}

static value zip(evaluator *e, enum kind kind, double (*f)(double, double), const value *a,
                 const value *b) {
  value v = room_for(e, kind, a, b);
  for (size_t i = 0; i < v.count; i++) items(&v)[i] = f(item(a, i), item(b, i));
  return v;
}

static value map(evaluator *e, enum kind kind, double (*f)(double), const value *a) {
  value v = room_for(e, kind, a, a);
  for (size_t i = 0; i < v.count; i++) items(&v)[i] = f(item(a, i));
  return v;
}

/* A positive factor stays beside its sample. */
static value combine(evaluator *e, double (*f)(double, double), value a, value b) {
  need_number(e, &a);
  need_number(e, &b);
  if (f == times && a.over == ONE && b.over == SEEDS) return combine(e, f, b, a);
  if (a.over != SEEDS || b.over != ONE || !(b.number > 0.0) || isinf(b.number) ||
      (f != times && f != over))
    return zip(e, NUMBER, f, &a, &b);
  a.number = f(a.number, b.number);
  return a;
}

static value argument(evaluator *e, const char *end) {
  const value v = expression(e);
  need(e, end);
  return v;
}

/* A function of one number or two. */
static value call_map(evaluator *e, const function *f, const char *at) {
  (void)at;
  const value a = argument(e, f->of_two ? "," : ")");
  if (f->of_two) return combine(e, f->of_two, a, argument(e, ")"));
  need_number(e, &a);
  return map(e, NUMBER, f->map, &a);
}

/* Of a sample: whether all of it is. */
static value call_finite(evaluator *e, const function *f, const char *at) {
  (void)f, (void)at;
  const value a = argument(e, ")");
  need_number(e, &a);
  const value v = map(e, TRUTH, is_finite, &a);
  value all = truth(HVI_TRUE);
  for (size_t i = 0; i < v.count; i++) all.number = both(all.number, item(&v, i));
  return v.over == ROWS ? v : all;
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
  if (f->reduce == EVERY) return truth(n ? low != 0.0 : HVI_UNDECIDED);
  if (f->reduce == ANY) return truth(n && high != 0.0);
  if (f->reduce == MEDIAN) return number(isnan(high) ? NAN : hvi_stats_quantile(x, n, 0.5));
  const double first = n ? x[0] : NAN, last = n ? x[n - 1] : NAN;
  const double mean = hvi_stats_mean(x, n), half = hvi_stats_interval95(x, n);
  const bool bounds = f->reduce == LOW || f->reduce == HIGH;
  const hvi_stats_range share = hvi_stats_share95(bounds ? mean : NAN, n);
  const double made[] = {high,  low,  mean, sum,       count,
                         first, last, half, share.low, share.high}; /* as in the enum */
  return number(made[f->reduce]);
}

/* Whether `what`, and `which` if it is not NULL, are what the function takes. */
static void check_rows(evaluator *e, const char *at, const value *what, const value *which) {
  const function *f = e->rows.of;
  const bool condition = gives_truth(f);
  const bool share = f->reduce == MEAN || f->reduce == LOW || f->reduce == HIGH;
  const bool any = (f->reduce == COUNT || share) && what->kind != WORD;
  if (e->rows.table && e->rows.nested) fail_nested(e);
  if (!e->rows.table && (condition || which))
    fail(e, at, NULL, "'%s' goes over rows: name a column", f->name);
  if (which && which->kind != TRUTH)
    fail(e, at, NULL, "the second argument of '%s' is a condition", f->name);
  if (!any && (what->kind == WORD || (what->kind == TRUTH) != condition))
    fail(e, at, NULL, "the first argument of '%s' is a %s", f->name,
         condition ? "condition" : "number");
  if (!e->rows.table) need_number(e, what);
}

/* Items that count, of rows those of which the condition is true; how many. */
static size_t gather(evaluator *e, double *x, const value *what, const value *which) {
  const hvi_table *t = e->rows.table;
  /* where rows are counted, those of which a condition is false are not */
  const double no = e->rows.of->reduce == COUNT ? NAN : 0.0;
  size_t n = 0;
  for (size_t i = 0; i < (t ? t->rows : what->count); i++) {
    if (t && !hvi_table_matches(t, i, e->scope->filters, e->scope->filter_count)) continue;
    if (item(which, i) != HVI_TRUE) continue;
    const double made = item(what, i);
    x[n++] = what->kind == NUMBER || made == HVI_TRUE ? made : no;
  }
  return n;
}

/* max(what, which) and its like, over rows or over the seeds of a sample, of which mean and half
 * width leave out those without a value. */
static value call_reduce(evaluator *e, const function *f, const char *at) {
  const row_scope outer = e->rows;
  e->rows = (row_scope){.of = f};
  const value what = expression(e);
  const bool chosen = accept(e, ",");
  const value which = chosen ? expression(e) : truth(HVI_TRUE);
  need(e, ")");
  check_rows(e, at, &what, chosen ? &which : NULL);
  double *x = take(e, e->rows.table ? e->rows.table->rows : what.count);
  const size_t n = gather(e, x, &what, &which);
  value v = reduced(f, x, n);
  if (!e->rows.table && (f->reduce == MEAN || f->reduce == HALF)) {
    const hvi_mean m = hvi_mean_of(x, n, take(e, n));
    v = number(f->reduce == MEAN ? m.value : m.half);
  }
  e->rows = outer;
  e->rows.nested = at;
  return v;
}

/* A word of that column of the table. */
static void read_word_of(evaluator *e, const char *name, arguments *a) {
  char word[LONGEST];
  const char *at = here(e), *meant = NULL;
  const column_at c = find_column(e, at, a->y.table, name);
  read_text(e, word, true);
  const char *const *words = c.table->column[c.index].words;
  const char *const *found = look_up(words, sizeof *words, word, &meant);
  if (!found) fail(e, at, meant, "unknown %s '%s'", name, word);
  a->word = (double)(found - words);
  a->label = *found;
}

/* Each letter is an argument: m, g a word of column method, group; x a column; n a number; o a
 * number that may be left out. */
static void read_argument(evaluator *e, char letter, arguments *a, size_t *numbers) {
  if (letter == 'm' || letter == 'g') {
    read_word_of(e, letter == 'm' ? "method" : "group", a);
  } else if (letter == 'x') {
    const column_at x = read_column(e);
    if (x.table != a->y.table) fail(e, e->at, NULL, "columns of two tables");
    a->x = x.index;
  } else {
    const size_t k = letter == 'o' ? 2 : (*numbers)++;
    const char *at = here(e);
    const value v = expression(e);
    if (v.kind != NUMBER || v.over != ONE) fail(e, at, NULL, "a number is needed");
    a->number[k] = v.number;
    if (k == 2 && !e->scope->empty && !(a->number[2] >= 1.0))
      fail(e, e->at, NULL, "a number from 1 is needed");
  }
}

static arguments read_arguments(evaluator *e, const function *f, const char *at) {
  size_t numbers = 0;
  e->rows.nested = at;
  arguments a = {.y = read_column(e), .number = {-INFINITY, INFINITY, 1.0}};
  const hvi_table *t = a.y.table;
  a.x = hvi_table_find(t, "outer");
  for (const char *letter = f->letters; *letter; letter++) {
    if (*letter == 'o' && !accept(e, ",")) continue;
    if (*letter != 'o') need(e, ",");
    read_argument(e, *letter, &a, &numbers);
  }
  need(e, ")");
  find_column(e, at, t, "method");
  /* the last row of a method is the last one even where nothing is counted */
  if (a.x == t->columns && strcmp(f->letters, "m") != 0) find_column(e, at, t, "outer");
  if (a.x == t->columns) a.x = a.y.index;
  return a;
}

/* Runs number k of the evaluator: those of a method, which must have rows unless it has no label. */
static const hvi_runs *find_runs(evaluator *e, size_t k, const char *at, const hvi_table *t,
                                 double method, const char *label) {
  hvi_runs *r = &e->runs[k];
  hvi_runs_free(r);
  e->status = hvi_runs_find(r, t, method, e->scope->filters, e->scope->filter_count, e->err);
  if (e->status) longjmp(e->failed, 1);
  if (label && r->start[r->seeds] == 0) fail(e, at, NULL, "'%s' has no rows", label);
  return r;
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

static double of_seed(const hvi_runs *r, size_t seed, enum curve c, const arguments *a) {
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
static value sample_of(evaluator *e, const function *f, const char *at, const arguments *a) {
  const char *y = a->y.table->column[a->y.index].name;
  const hvi_runs *r = &e->runs[0];
  value v = new_many(e, NUMBER, SEEDS, r->seeds);
  v.label = a->label;
  for (size_t s = 0; s < r->seeds; s++) v.many[s] = of_seed(r, s, f->curve, a);
  if (f->curve == END || f->curve == AT) {
    find_mean(e, at, &v, y);
    v.noise = noise_of(e, r, y);
  }
  return r->seeded ? v : number(v.many[0]);
}

/* What a curve of no rows yet gives: a sample where there are seeds. */
static value not_yet(evaluator *e, const hvi_table *t) {
  if (hvi_table_find(t, "seed") == t->columns) return number(NAN);
  value v = new_many(e, NUMBER, SEEDS, 1);
  v.many[0] = NAN;
  return v;
}

/* A sample, or where the runs finish. */
static value call_curve(evaluator *e, const function *f, const char *at) {
  const arguments a = read_arguments(e, f, at);
  if (e->scope->empty) return f->curve == FINISH ? number(NAN) : not_yet(e, a.y.table);
  const hvi_runs *r = find_runs(e, 0, at, a.y.table, a.word, a.label);
  return f->curve == FINISH ? number(hvi_runs_finish(r, a.y.index)) : sample_of(e, f, at, &a);
}

/* The first method of the group whose mean is least: anywhere, or at the X that was given. */
static value call_group(evaluator *e, const function *f, const char *at) {
  arguments a = read_arguments(e, f, at);
  const hvi_table *t = a.y.table;
  const size_t group = hvi_table_find(t, "group");
  const char *const *words = t->column[hvi_table_find(t, "method")].words;
  const char *best = NULL;
  double X = a.number[0], lowest = INFINITY;
  if (e->scope->empty) return not_yet(e, t);
  for (size_t m = 0; words && words[m]; m++) {
    const hvi_runs *r = find_runs(e, 1, at, t, (double)m, NULL);
    if (!r->start[r->seeds] || hvi_table_get(t, r->row[0], group) != a.word) continue;
    const double y = f->letters[1] ? hvi_runs_mean(r, a.x, a.y.index, X).value
                                   : hvi_runs_least(r, a.y.index, &X);
    if (best && !(y < lowest)) continue;
    const hvi_runs other = e->runs[0];
    e->runs[0] = e->runs[1];
    e->runs[1] = other;
    best = words[m];
    lowest = y;
    a.number[0] = X;
  }
  if (!best) fail(e, at, NULL, "no method of group '%s' has rows", a.label);
  a.label = best;
  return sample_of(e, f, at, &a);
}

static const function functions[] = {{"max", call_reduce, .reduce = MAX},
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
                                     {"low", call_reduce, .reduce = LOW},
                                     {"high", call_reduce, .reduce = HIGH},
                                     {"worst", call_reduce, .reduce = MAX},
                                     {"end", call_curve, .curve = END, .letters = "m"},
                                     {"at", call_curve, .curve = AT, .letters = "mxn"},
                                     {"slope", call_curve, .curve = SLOPE, .letters = "mnno"},
                                     {"r2", call_curve, .curve = R2, .letters = "mnno"},
                                     {"typical", call_curve, .curve = TYPICAL, .letters = "mnn"},
                                     {"rise", call_curve, .curve = RISE, .letters = "mo"},
                                     {"finish", call_curve, .curve = FINISH, .letters = "m"},
                                     {"lowest", call_group, .curve = AT, .letters = "g"},
                                     {"best", call_group, .curve = AT, .letters = "gxn"},
                                     {"least", call_map, .of_two = least},
                                     {"most", call_map, .of_two = most},
                                     {"finite", call_finite, .reduce = EVERY},
                                     {"abs", call_map, .map = fabs},
                                     {"sqrt", call_map, .map = sqrt},
                                     {"log", call_map, .map = log},
                                     {"log10", call_map, .map = log10},
                                     {"exp", call_map, .map = exp},
                                     {"floor", call_map, .map = floor},
                                     {.name = NULL}};

/* Something that begins with a name, or with a word in quotes. */
static value operand_named(evaluator *e, const char *at) {
  value v = {.kind = WORD};
  const char *meant = NULL;
  read_text(e, v.word, is_quote(*at));
  if (accept(e, ".")) return column_here(e, at, read_other(e, at, v.word));
  if (is_quote(*at)) return v;
  if (!accept(e, "(")) return named(e, at, v.word);
  const function *f = look_up(functions, sizeof *f, v.word, &meant);
  if (!f) fail(e, at, meant, "unknown function '%s'", v.word);
  return f->call(e, f, at);
}

static value operand(evaluator *e) {
  const char *at = here(e);
  if (accept(e, "(")) return argument(e, ")");
  if (is_quote(*at) || is_letter(*at)) return operand_named(e, at);
  if (!isdigit((unsigned char)*at) && *at != '.') missing(e, "a value");
  char *end;
  const double x = strtod(at, &end);
  if (end == at) fail(e, at, NULL, "'.' is no number");
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
    if (++e->depth > DEEPEST) fail(e, e->at, NULL, "too many '^' in one another");
    v = combine(e, power, v, signed_operand(e));
    e->depth--;
  }
  v.from = at;
  return negative ? combine(e, minus, number(0.0), v) : v;
}

/* Nothing in a row is a word of no letters. */
static const char *word_at(const value *v, size_t i) {
  if (!v->words) return v->word;
  return isnan(v->many[i]) ? "" : v->words[(size_t)v->many[i]];
}

/* A word in quotes must be one that the column can have. */
static value compare_words(evaluator *e, const value *a, const value *b, bool wanted) {
  const value *text = a->words ? b : a;
  const char *const *words = a->words ? a->words : b->words, *meant = NULL;
  if (words && !text->words && !look_up(words, sizeof *words, text->word, &meant))
    fail(e, text->from, meant, "no row can have '%s'", text->word);
  value v = room_for(e, TRUTH, a, b);
  for (size_t i = 0; i < v.count; i++)
    items(&v)[i] = (strcmp(word_at(a, i), word_at(b, i)) == 0) == wanted;
  return v;
}

/* A sample without its factor and its noise, of which less than a twentieth cannot be told. */
static double *bare(evaluator *e, const value *v, size_t count) {
  double *x = take(e, count);
  for (size_t i = 0; i < count; i++) {
    x[i] = v->over == ONE ? v->number : v->many[i];
    if (v->noise > 0.0 && isfinite(x[i])) x[i] = fmax(x[i] - v->noise, 0.05 * v->noise);
  }
  return x;
}

/* a < b, seed by seed. */
static value compare_samples(evaluator *e, const char *from, const value *a, const value *b) {
  const size_t n = room_for(e, TRUTH, a, b).count;
  const double *x = bare(e, a, n), *y = bare(e, b, n);
  const double margin = (b->over == ONE ? 1.0 : b->number) / (a->over == ONE ? 1.0 : a->number);
  const hvi_ratio q = hvi_ratio_of(x, y, n, margin, take(e, n));
  find_ratio(e, from, a, b, q);
  return truth(q.less > 0 ? HVI_TRUE : q.less < 0 ? HVI_FALSE : HVI_UNDECIDED);
}

enum { OR, AND, NOT, COMPARISON, TOTAL, PRODUCT, SIGNED };

typedef struct operation {
  const char *symbol;
  int level;
  double (*f)(double, double);
} operation;

static const operation operations[] = {{"or", OR, either},
                                       {"and", AND, both},
                                       {"<=", COMPARISON, at_most},
                                       {">=", COMPARISON, at_least},
                                       {"==", COMPARISON, equal},
                                       {"!=", COMPARISON, unequal},
                                       {"<", COMPARISON, less},
                                       {">", COMPARISON, more},
                                       {"+", TOTAL, plus},
                                       {"-", TOTAL, minus},
                                       {"*", PRODUCT, times},
                                       {"/", PRODUCT, over},
                                       {NULL, 0, NULL}};

static value compare(evaluator *e, const operation *o, const value *a, const value *b) {
  const bool equality = o->f == equal || o->f == unequal;
  if (a->kind == WORD && b->kind == WORD && equality) return compare_words(e, a, b, o->f == equal);
  need_number(e, a);
  need_number(e, b);
  if (a->over != SEEDS && b->over != SEEDS) return zip(e, TRUTH, o->f, a, b);
  if (equality) fail(e, a->from, NULL, "samples are not compared by '%s'", o->symbol);
  return *o->symbol == '<' ? compare_samples(e, a->from, a, b) : compare_samples(e, a->from, b, a);
}

static value operate(evaluator *e, const operation *o, const value *a, const value *b) {
  if (o->level > COMPARISON) return combine(e, o->f, *a, *b);
  if (o->level == COMPARISON) return compare(e, o, a, b);
  need_truth(e, a, o->symbol);
  need_truth(e, b, o->symbol);
  return zip(e, TRUTH, o->f, a, b);
}

static const operation *accept_operation(evaluator *e, int level) {
  const operation *o = operations;
  while (o->symbol && (o->level != level || !accept(e, o->symbol))) o++;
  return o->symbol ? o : NULL;
}

static value read_level(evaluator *e, int level) {
  if (level == SIGNED) return signed_operand(e);
  const char *at = here(e);
  size_t nots = 0;
  while (level == NOT && accept(e, "not")) nots++;
  value v = read_level(e, level + 1);
  if (nots) need_truth(e, &v, "not");
  if (nots % 2) v = map(e, TRUTH, not_so, &v);
  const operation *o = accept_operation(e, level);
  while (o) {
    const value b = read_level(e, level + 1);
    v = operate(e, o, &v, &b);
    v.from = at;
    o = level == COMPARISON ? NULL : accept_operation(e, level);
  }
  v.from = at;
  v.to = e->at;
  return v;
}

static value expression(evaluator *e) {
  if (e->depth == DEEPEST) fail(e, here(e), NULL, "too many parentheses in one another");
  e->depth++;
  const value v = read_level(e, OR);
  e->depth--;
  return v;
}

/* Works out the whole text; not finished after an error. */
static void evaluate(evaluator *e, hvi_quantity *q) {
  if (setjmp(e->failed)) return;
  const value v = expression(e);
  if (*here(e)) fail(e, e->at, NULL, "'%.16s' does not belong here", e->at);
  if (v.kind == WORD) fail(e, e->text, NULL, "a word is no value");
  if (v.kind == TRUTH) {
    q->kind = HVI_QUANTITY_TRUTH;
    q->truth = (hvi_truth)v.number;
  } else if (v.over == ONE) {
    q->number = v.number;
  } else {
    q->kind = HVI_QUANTITY_SAMPLE;
    q->sample = hvi_alloc_doubles(v.count);
    q->count = v.count;
    if (!q->sample) e->status = hvi_error_memory(e->err, "a sample");
    for (size_t i = 0; q->sample && i < v.count; i++) q->sample[i] = item(&v, i);
  }
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
  evaluate(&e, q);
  if (e.status) hvi_quantity_free(q);
  for (size_t k = 0; k < 2; k++) hvi_runs_free(&e.runs[k]);
  hvi_pool_free(e.pool);
  return e.status;
}
