/*
 * What a row of a table of settings gives: a default, a value from text and back, a check with one
 * sentence of refusal, a comparison, and a description. No other file reads kinds and ranges.
 */
#include <hvi/setting.h>

#include "base/base.h"

enum { MOST_ENTRIES = 64, MOST_ROWS = 96, VALUE_SIZE = 2048 };

/* Text that is cut off where its buffer ends, and knows how long it would be. */
typedef struct sink {
  char *text;
  size_t size, length;
} sink;

__attribute__((format(printf, 2, 3))) static void put(sink *s, const char *format, ...) {
  const bool full = s->length >= s->size;
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(full ? NULL : s->text + s->length, full ? 0 : s->size - s->length, format,
                          arguments);
  va_end(arguments);
  if (n > 0) s->length += (size_t)n;
}

/* Of each kind the size of its member, what its values are, where that does not depend on the row,
 * and what sort of numbers they are. */
static const struct {
  size_t size;
  const char *rule;
  bool is_number, is_list, is_real;
} kinds[] = {
    [HVI_SETTING_SECTION] = {.size = 0, .rule = ""},
    [HVI_SETTING_REAL] = {.size = sizeof(double),
                          .rule = "a number",
                          .is_number = true,
                          .is_real = true},
    [HVI_SETTING_COUNT] = {.size = sizeof(size_t), .rule = "a whole number", .is_number = true},
    [HVI_SETTING_SEED] = {.size = sizeof(uint64_t), .rule = "a whole number from 0 to 2^64 - 1"},
    [HVI_SETTING_FLAG] = {.size = sizeof(bool), .rule = "yes or no"},
    [HVI_SETTING_CHOICE] = {.size = sizeof(int), .rule = ""},
    [HVI_SETTING_TEXT] = {.size = sizeof(const char *), .rule = "text"},
    [HVI_SETTING_COUNTS] = {.size = sizeof(size_t), .rule = "whole numbers", .is_list = true},
    [HVI_SETTING_REALS] = {
        .size = sizeof(double), .rule = "numbers", .is_list = true, .is_real = true}};

static void *member(const hvi_setting *row, const void *settings) {
  return (char *)(uintptr_t)settings + row->offset;
}

static void *second(const hvi_setting *row, const void *settings) {
  return (char *)(uintptr_t)settings + row->second;
}

static size_t member_size(const hvi_setting *row) {
  return kinds[row->kind].size * (kinds[row->kind].is_list ? row->most : 1);
}

static size_t second_size(const hvi_setting *row) {
  if (kinds[row->kind].is_list) return sizeof(size_t);
  return kinds[row->kind].is_number && row->choices ? sizeof(int) : 0;
}

/* How many numbers there are. */
static size_t entries(const hvi_setting *row, const void *settings) {
  return kinds[row->kind].is_list ? *(const size_t *)second(row, settings) : 1;
}

/* Entry i of a list, or the number itself. */
static double number_at(const hvi_setting *row, const void *settings, size_t i) {
  const void *at = member(row, settings);
  return kinds[row->kind].is_real ? ((const double *)at)[i] : (double)((const size_t *)at)[i];
}

/* The place of the word that is chosen; -1: none, and there is a number in its place. */
static int choice_of(const hvi_setting *row, const void *settings) {
  if (row->kind == HVI_SETTING_CHOICE) return *(const int *)member(row, settings);
  return second_size(row) == sizeof(int) ? *(const int *)second(row, settings) - 1 : -1;
}

typedef struct span {
  const char *text; /* NULL: there are not so many */
  int length;       /* 0: it is no choice */
} span;

/* Word number `index` of "one||three". */
static span choice_at(const char *choices, int index) {
  for (; choices && index > 0; index--) {
    choices = strchr(choices, '|');
    if (choices) choices++;
  }
  return (span){choices, choices && index == 0 ? (int)strcspn(choices, "|") : 0};
}

static bool contains(const char *range, double x) {
  double low, high;
  if (!range) return true;
  const char *middle = hvi_parse_decimal(&low, range + 1);
  if (!middle) return false;
  const char *end = hvi_parse_decimal(&high, middle + 1);
  return end && (*range == '[' ? x >= low : x > low) && (*end == ']' ? x <= high : x < high);
}

static bool stands_for_none(const hvi_setting *row, double x) {
  return (x == 0.0 && row->flags & HVI_SETTING_ZERO_IS_NONE) ||
         (isnan(x) && row->flags & HVI_SETTING_NAN_IS_NONE);
}

static bool good_numbers(const hvi_setting *row, const void *settings) {
  const size_t n = entries(row, settings);
  if (kinds[row->kind].is_list && n > row->most) return false;
  for (size_t i = 0; i < n; i++) {
    const double x = number_at(row, settings, i);
    if (!stands_for_none(row, x) && !(isfinite(x) && contains(row->range, x))) return false;
    for (size_t k = 0; k < i && row->flags & HVI_SETTING_DISTINCT; k++)
      if (number_at(row, settings, k) == x) return false;
  }
  return true;
}

static bool good_text(const hvi_setting *row, const char *text) {
  if (!text || !row->most) return true; /* none is given; a struct may have "" for that */
  for (const char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 127) return false;
  return strlen(text) <= row->most;
}

static bool good(const hvi_setting *row, const void *settings) {
  const int choice = choice_of(row, settings);
  if (row->kind == HVI_SETTING_CHOICE || choice != -1)
    return choice_at(row->choices, choice).length > 0;
  if (row->kind == HVI_SETTING_TEXT)
    return good_text(row, *(const char *const *)member(row, settings));
  const bool numbers = kinds[row->kind].is_number || kinds[row->kind].is_list;
  return !numbers || good_numbers(row, settings);
}

/* " above 0 and at most 1", in the digits of the range. */
static void put_range(sink *s, const char *range) {
  if (!range) return;
  const size_t n = strcspn(range + 1, ","), m = strcspn(range + n + 2, ")]");
  const char *low = range + 1, *high = range + n + 2;
  const bool bottom = strncmp(low, "-inf", 4) != 0, top = strncmp(high, "inf", 3) != 0;
  if (bottom && top && *range == '[' && high[m] == ']') {
    put(s, " from %.*s to %.*s", (int)n, low, (int)m, high);
    return;
  }
  if (bottom) put(s, " %s %.*s", *range == '[' ? "at least" : "above", (int)n, low);
  if (top)
    put(s, "%s %s %.*s", bottom ? " and" : "", high[m] == ']' ? "at most" : "below", (int)m, high);
}

static void put_words(sink *s, const char *choices, bool first) {
  span w;
  for (int i = 0; (w = choice_at(choices, i)).text; i++)
    if (w.length > 0)
      put(s, "%s%.*s", first && i == 0 ? "" : w.text[w.length] ? ", " : " or ", w.length, w.text);
}

char *hvi_setting_rule(const hvi_setting *row, char *text, size_t size) {
  sink s = {text, size, 0};
  if (kinds[row->kind].is_list)
    put(&s, "a list of %d to %zu ", row->flags & HVI_SETTING_NOT_EMPTY ? 1 : 0, row->most);
  if (row->kind == HVI_SETTING_TEXT && row->most)
    put(&s, "one line of 1 to %zu characters", row->most);
  else
    put(&s, "%s", kinds[row->kind].rule);
  put_range(&s, row->range);
  put_words(&s, row->choices, row->kind == HVI_SETTING_CHOICE);
  if (row->flags & (HVI_SETTING_ZERO_IS_NONE | HVI_SETTING_NAN_IS_NONE)) put(&s, ", or none");
  if (row->flags & HVI_SETTING_DISTINCT) put(&s, ", each once");
  return text;
}

static hvi_status refuse(const hvi_setting *row, const char *where, const char *value,
                         hvi_status status, hvi_error *err) {
  char rule[256];
  hvi_setting_rule(row, rule, sizeof rule);
  return hvi_error_set(err, status, "%s: must be %s, not '%.80s'", where ? where : row->name, rule,
                       value);
}

static void put_number(sink *s, const hvi_setting *row, const void *settings, size_t i) {
  char number[HVI_NUMBER_SIZE];
  if (kinds[row->kind].is_real)
    put(s, "%s", hvi_number_format(number, number_at(row, settings, i)));
  else
    put(s, "%zu", ((const size_t *)member(row, settings))[i]);
}

static void put_value(sink *s, const hvi_setting *row, const void *settings) {
  const void *at = member(row, settings);
  const size_t count = entries(row, settings);
  const span w = choice_at(row->choices, choice_of(row, settings));
  if (w.length > 0) {
    put(s, "%.*s", w.length, w.text);
  } else if (row->kind == HVI_SETTING_CHOICE) {
    put(s, "%d", *(const int *)at);
  } else if (choice_of(row, settings) != -1) {
    put(s, "rule %d", *(const int *)second(row, settings));
  } else if (row->kind == HVI_SETTING_SEED) {
    put(s, "%" PRIu64, *(const uint64_t *)at);
  } else if (row->kind == HVI_SETTING_FLAG) {
    put(s, "%s", *(const bool *)at ? "yes" : "no");
  } else if (row->kind == HVI_SETTING_TEXT) {
    const char *text = *(const char *const *)at;
    put(s, "%s", text && *text ? text : "none");
  } else if (count == 0 ||
             (kinds[row->kind].is_number && stands_for_none(row, number_at(row, settings, 0)))) {
    put(s, "none");
  } else if (kinds[row->kind].is_list && count > row->most) {
    put(s, "%zu of them", count);
  } else {
    for (size_t i = 0; i < count; i++) {
      if (i) put(s, ",");
      put_number(s, row, settings, i);
    }
  }
}

char *hvi_setting_format(const hvi_setting *row, const void *settings, char *text, size_t size) {
  if (size) *text = '\0';
  if (row->kind != HVI_SETTING_SECTION) put_value(&(sink){text, size, 0}, row, settings);
  return text;
}

static bool store_list(const hvi_setting *row, void *at, size_t *count, const char *text) {
  const bool empty = !*text || strcmp(text, "none") == 0;
  double x[MOST_ENTRIES];
  *count = 0;
  if (empty) return !(row->flags & HVI_SETTING_NOT_EMPTY);
  if (!hvi_parse_list(x, row->most, count, text)) return false;
  for (size_t i = 0; i < *count; i++)
    if (row->kind == HVI_SETTING_REALS)
      ((double *)at)[i] = x[i];
    else if (x[i] >= 0.0 && x[i] <= 9e15 && x[i] == floor(x[i]))
      ((size_t *)at)[i] = (size_t)x[i];
    else
      return false;
  return true;
}

/* A word in the number's place is number `word` of the choices; -1: the text is none. */
static bool store_number(const hvi_setting *row, void *at, int *chosen, int word,
                         const char *text) {
  const bool none = strcmp(text, "none") == 0;
  if (row->choices) *chosen = word + 1;
  if (word >= 0) return true;
  if (none && row->flags & HVI_SETTING_NAN_IS_NONE) return *(double *)at = NAN, true;
  if (none && row->flags & HVI_SETTING_ZERO_IS_NONE) return memset(at, 0, member_size(row)), true;
  if (row->kind == HVI_SETTING_REAL)
    return hvi_parse_real(at, text) && contains(row->range, *(double *)at);
  uint64_t count;
  if (!hvi_parse_u64(&count, text) || count > SIZE_MAX) return false;
  *(size_t *)at = (size_t)count;
  return contains(row->range, (double)count);
}

/* Whether the text is of the kind; the range comes later. */
static bool store(const hvi_setting *row, void *settings, const char *text) {
  void *at = member(row, settings), *also = second(row, settings);
  const bool flag = row->kind == HVI_SETTING_FLAG;
  const int word =
      hvi_words_find(flag ? "no|yes|false|true" : row->choices, '|', text, strlen(text));
  switch (row->kind) {
  case HVI_SETTING_REAL:
  case HVI_SETTING_COUNT:
    return store_number(row, at, also, word, text);
  case HVI_SETTING_SEED:
    return hvi_parse_u64(at, text);
  case HVI_SETTING_FLAG:
    *(bool *)at = word % 2 == 1;
    return word >= 0;
  case HVI_SETTING_CHOICE:
    *(int *)at = word;
    return word >= 0;
  case HVI_SETTING_COUNTS:
  case HVI_SETTING_REALS:
    return store_list(row, at, also, text);
  case HVI_SETTING_TEXT:
    *(const char **)at = text;
    return *text != '\0';
  default:
    return false;
  }
}

hvi_status hvi_setting_parse(const hvi_setting *row, void *settings, const char *text,
                             const char *where, hvi_error *err) {
  char old[MOST_ENTRIES * sizeof(double)], old_second[sizeof(size_t)];
  void *at = member(row, settings), *also = second(row, settings);
  memcpy(old, at, member_size(row));
  memcpy(old_second, also, second_size(row));
  if (store(row, settings, text) && good(row, settings)) return HVI_OK;
  memcpy(at, old, member_size(row));
  memcpy(also, old_second, second_size(row));
  return refuse(row, where, text, HVI_ERROR_INPUT, err);
}

static bool same_name(const char *a, const char *b) {
  for (; *a && *b; a++, b++)
    if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b))) return false;
  return *a == *b;
}

const hvi_setting *hvi_setting_find(const hvi_setting_table *t, const char *name) {
  for (const hvi_setting *row = t->rows; row->name; row++)
    if (row->kind != HVI_SETTING_SECTION && same_name(row->name, name)) return row;
  return NULL;
}

hvi_status hvi_setting_set(const hvi_setting_table *t, void *settings, const char *name,
                           const char *text, hvi_error *err) {
  const hvi_setting *row = hvi_setting_find(t, name);
  if (row) return hvi_setting_parse(row, settings, text, NULL, err);
  const char *names[MOST_ROWS + 1];
  size_t n = 0;
  for (row = t->rows; row->name && n < MOST_ROWS; row++)
    if (row->kind != HVI_SETTING_SECTION) names[n++] = row->name;
  names[n] = NULL;
  return hvi_suggest_refuse(err, t->name, "key", name, names);
}

void hvi_setting_defaults(const hvi_setting_table *t, void *settings) {
  for (const hvi_setting *row = t->rows; row->name; row++) {
    memset(member(row, settings), 0, member_size(row));
    memset(second(row, settings), 0, second_size(row));
    if (row->fallback) store(row, settings, row->fallback);
  }
}

hvi_status hvi_setting_check(const hvi_setting_table *t, const void *settings, hvi_error *err) {
  char value[VALUE_SIZE];
  for (const hvi_setting *row = t->rows; row->name; row++)
    if (!good(row, settings))
      return refuse(row, NULL, hvi_setting_format(row, settings, value, sizeof value),
                    HVI_ERROR_ARGUMENT, err);
  return HVI_OK;
}

bool hvi_setting_used(const hvi_setting *row, const char *method) {
  if (!row->used_by || !method) return true;
  for (size_t n; *method; method += n + (method[n] == ' ')) {
    n = strcspn(method, " ");
    if (hvi_words_find(row->used_by, ' ', method, n) >= 0) return true;
  }
  return false;
}

bool hvi_setting_equal(const hvi_setting *row, const void *a, const void *b) {
  char left[VALUE_SIZE], right[VALUE_SIZE];
  return strcmp(hvi_setting_format(row, a, left, sizeof left),
                hvi_setting_format(row, b, right, sizeof right)) == 0;
}

void hvi_setting_copy(const hvi_setting *row, void *to, const void *from) {
  memcpy(member(row, to), member(row, from), member_size(row));
  memcpy(second(row, to), second(row, from), second_size(row));
}

static bool counts(const hvi_setting *row, const char *method) {
  return row->kind != HVI_SETTING_SECTION && !(row->flags & HVI_SETTING_NO_RESULT) &&
         hvi_setting_used(row, method);
}

const hvi_setting *hvi_setting_differ(const hvi_setting_table *t, const void *a, const void *b,
                                      const char *method) {
  for (const hvi_setting *row = t->rows; row->name; row++)
    if (counts(row, method) && !hvi_setting_equal(row, a, b)) return row;
  return NULL;
}

size_t hvi_setting_describe(const hvi_setting_table *t, const void *settings, const char *method,
                            char *text, size_t size) {
  sink s = {text, size, 0};
  if (size) *text = '\0';
  for (const hvi_setting *row = t->rows; row->name; row++) {
    if (!counts(row, method)) continue;
    put(&s, "%s%s ", s.length ? "; " : "", row->name);
    put_value(&s, row, settings);
  }
  return s.length;
}
