/* Every table of settings: each row is complete, and each field refuses a value below, above and of
 * the wrong kind in the same words from the command line, from YAML and in a C call. */
#include "../../cli/args.c"

#include "base/number.h"
#include "io/yaml.h"
#include "study/fields.h"
#include "study/study.h"

#include <hvi/builtin.h>
#include <hvi/sac.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

const hvi_embedded hvi_embedded_help[] = {{NULL, NULL}};

static char said[4096]; /* what the command line said last */

hvi_terminal hvi_talk;
hvi_error hvi_fault;
int hvi_complain_fault(void) { return HVI_EXIT_SYSTEM; }

int hvi_complain(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(said, sizeof said, format, arguments);
  va_end(arguments);
  return code;
}

const char *hvi_format(const char *format, ...) {
  static char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

const char *hvi_did_you_mean(const char *word, const char *const *names, const char *advice) {
  (void)word, (void)names;
  return advice;
}

static const hvi_setting_table *table_at(size_t i) {
  const hvi_builtin *b = hvi_builtin_list();
  for (size_t k = 0; hvi_setting_table_at(k); k++)
    if (i-- == 0) return hvi_setting_table_at(k);
  for (; b->name; b++)
    if (i-- == 0) return b->options;
  return hvi_study_table_at(i);
}

static void *defaults_of(const hvi_setting_table *t) {
  void *s = calloc(1, t->size + 1);
  assert_non_null(s);
  hvi_setting_defaults(t, s);
  return s;
}

/* What follows "WHERE: ", which must be there. */
static const char *after(const char *text, const char *where) {
  const size_t n = strlen(where);
  if (strncmp(text, where, n) != 0 || strncmp(text + n, ": ", 2) != 0)
    fail_msg("'%s' does not begin with '%s: '", text, where);
  return text + n + 2;
}

static const char *from_command_line(const hvi_setting_table *t, const hvi_setting *row,
                                     const char *value) {
  char word[1024], where[64];
  char *argv[] = {word, word, NULL};
  void *s = defaults_of(t);
  hvi_args args = {.command = "test", .usage = ""};
  snprintf(where, sizeof where, "--%s", row->name);
  for (char *c = where; *c; c++) *c = *c == '_' ? '-' : *c;
  snprintf(word, sizeof word, "%s=%s", where, value);
  hvi_args_settings(&args, t, s, NULL);
  *said = '\0';
  const int code = hvi_args_parse(&args, 2, argv);
  free(s);
  if (!code) fail_msg("%s: --%s takes '%s'", t->name, row->name, value);
  assert_int_equal(code, HVI_EXIT_USAGE);
  return after(said, where);
}

static const char *from_yaml(const hvi_setting_table *t, const hvi_setting *row, const char *value,
                             hvi_error *err) {
  const bool list = row->kind == HVI_SETTING_COUNTS || row->kind == HVI_SETTING_REALS;
  char text[1024], where[128];
  void *s = defaults_of(t);
  hvi_tree *tree = NULL;
  snprintf(text, sizeof text, list ? "%s: ['%s']\n" : "%s: '%s'\n", row->name, value);
  snprintf(where, sizeof where, "f.yaml:1: %s", row->name);
  if (hvi_tree_parse(&tree, text, "f.yaml", err)) fail_msg("%s", err->text);
  const hvi_field_part parts[] = {{.table = t, .settings = s}, {0}};
  const hvi_status status = hvi_field_map(parts, NULL, tree->root, "f.yaml", err);
  hvi_tree_free(tree);
  free(s);
  if (status != HVI_ERROR_INPUT) fail_msg("%s: %s takes '%s'", t->name, row->name, value);
  return after(err->text, where);
}

/* Puts a number into a member, whatever the table says of it. */
static bool poke(const hvi_setting *row, void *s, double x) {
  void *at = (char *)s + row->offset, *second = (char *)s + row->second;
  const bool whole = x >= 0.0 && x < 1e18 && x == floor(x);
  if (row->choices && row->kind != HVI_SETTING_CHOICE) *(int *)second = 0;
  switch (row->kind) {
  case HVI_SETTING_REAL:
    return *(double *)at = x, true;
  case HVI_SETTING_COUNT:
    return whole && (*(size_t *)at = (size_t)x, true);
  case HVI_SETTING_CHOICE:
    return fabs(x) < 1e9 && (*(int *)at = (int)x, true);
  case HVI_SETTING_REALS:
    return *(size_t *)second = 1, *(double *)at = x, true;
  case HVI_SETTING_COUNTS:
    return whole && (*(size_t *)second = 1, *(size_t *)at = (size_t)x, true);
  default:
    return false;
  }
}

static void check_call(const hvi_setting_table *t, const hvi_setting *row, const void *s,
                       const char *words) {
  hvi_error err;
  if (hvi_setting_check(t, s, &err) != HVI_ERROR_ARGUMENT)
    fail_msg("%s: %s is not refused", t->name, row->name);
  assert_string_equal(after(err.text, row->name), words);
}

static size_t refusals;

static void refused_alike(const hvi_setting_table *t, const hvi_setting *row, const char *value) {
  char words[2048];
  hvi_error err;
  snprintf(words, sizeof words, "%s", from_command_line(t, row, value));
  assert_string_equal(from_yaml(t, row, value, &err), words);
  assert_int_equal(strncmp(words, "must be ", 8), 0);
  refusals++;
  char *end;
  const double x = strtod(value, &end);
  void *s = defaults_of(t);
  const bool none = x == 0.0 && row->flags & HVI_SETTING_ZERO_IS_NONE; /* in a struct */
  if (*value && !*end && !none && poke(row, s, x)) check_call(t, row, s, words);
  free(s);
}

/* A number below the range and one above it, where it has ends. */
static void outside(const hvi_setting_table *t, const hvi_setting *row) {
  char *middle, *end, text[HVI_NUMBER_SIZE];
  const double low = strtod(row->range + 1, &middle), high = strtod(middle + 1, &end);
  if (isfinite(low)) {
    hvi_number_format(text, low - 1.0);
    refused_alike(t, row, text);
  }
  if (isfinite(low) && *row->range == '(' && !(row->flags & HVI_SETTING_ZERO_IS_NONE)) {
    hvi_number_format(text, low);
    refused_alike(t, row, text);
  }
  if (isfinite(high)) {
    hvi_number_format(text, *end == ')' ? high : high + 1.0);
    refused_alike(t, row, text);
  }
}

static void every_field_is_refused_in_the_same_words(void **state) {
  (void)state;
  const hvi_setting_table *t;
  for (size_t i = 0; (t = table_at(i)); i++) {
    for (const hvi_setting *row = t->rows; row->name; row++) {
      if (row->kind == HVI_SETTING_SECTION) continue;
      const bool text = row->kind == HVI_SETTING_TEXT;
      if (!text) refused_alike(t, row, "what");
      const bool nan_is_none = row->flags & HVI_SETTING_NAN_IS_NONE; /* in a struct */
      if (!text && row->kind != HVI_SETTING_FLAG && !nan_is_none) refused_alike(t, row, "nan");
      if (row->kind == HVI_SETTING_CHOICE) refused_alike(t, row, "99");
      if (row->kind == HVI_SETTING_FLAG) refused_alike(t, row, "2");
      if (row->kind == HVI_SETTING_SEED || row->kind == HVI_SETTING_COUNT)
        refused_alike(t, row, "-1"), refused_alike(t, row, "18446744073709551616");
      if (row->kind == HVI_SETTING_COUNT) refused_alike(t, row, "1.5");
      if (row->range) outside(t, row);
      if (text) refused_alike(t, row, "");
    }
  }
  assert_true(refusals > 300);
}

/* A list that is too long, or a text. */
static void lists_and_texts_have_an_end(void **state) {
  (void)state;
  const hvi_setting_table *t;
  size_t seen = 0;
  hvi_error err;
  for (size_t i = 0; (t = table_at(i)); i++) {
    for (const hvi_setting *row = t->rows; row->name; row++) {
      void *s = defaults_of(t);
      char text[1024] = "";
      if (row->kind == HVI_SETTING_COUNTS || row->kind == HVI_SETTING_REALS) {
        for (size_t k = 0; k <= row->most; k++) sprintf(text + strlen(text), "%zu,", k + 1);
        text[strlen(text) - 1] = '\0';
        from_command_line(t, row, text);
        *(size_t *)(void *)((char *)s + row->second) = row->most + 1;
        assert_int_equal(hvi_setting_check(t, s, &err), HVI_ERROR_ARGUMENT);
        seen++;
      } else if (row->kind == HVI_SETTING_TEXT && row->most) {
        memset(text, 'x', row->most + 1);
        refused_alike(t, row, text);
        *(const char **)(void *)((char *)s + row->offset) = text;
        char words[2048];
        snprintf(words, sizeof words, "%s", from_command_line(t, row, text));
        check_call(t, row, s, words);
        seen++;
      }
      free(s);
    }
  }
  assert_true(seen > 10);
}

static void every_row_is_complete(void **state) {
  (void)state;
  const hvi_setting_table *t;
  size_t tables = 0;
  hvi_error err;
  for (size_t i = 0; (t = table_at(i)); i++, tables++) {
    void *s = defaults_of(t), *other = defaults_of(t);
    char text[4096], value[2048];
    if (hvi_setting_check(t, s, &err)) fail_msg("%s: its defaults: %s", t->name, err.text);
    assert_null(hvi_setting_differ(t, s, other, NULL));
    for (const hvi_setting *row = t->rows; row->name; row++) {
      if (row->kind == HVI_SETTING_SECTION) continue;
      if (!row->help || strchr(row->help, '\n')) fail_msg("%s: %s: help", t->name, row->name);
      assert_ptr_equal(hvi_setting_find(t, row->name), row);
      /* the default is a value like others, and a value's text gives it back */
      if (row->fallback && *row->fallback &&
          hvi_setting_parse(row, other, row->fallback, NULL, &err))
        fail_msg("%s: %s: %s", t->name, row->name, err.text);
      hvi_setting_format(row, s, value, sizeof value);
      const bool no_text = row->kind == HVI_SETTING_TEXT && strcmp(value, "none") == 0;
      if (!no_text && hvi_setting_parse(row, other, value, NULL, &err) && strcmp(value, "none"))
        fail_msg("%s: %s: %s", t->name, row->name, err.text);
      assert_true(hvi_setting_equal(row, s, other));
    }
    const size_t length = hvi_setting_describe(t, s, NULL, text, sizeof text);
    assert_true(length < sizeof text);
    assert_true(strlen(text) == length);
    free(s);
    free(other);
  }
  assert_true(tables >= 20);
}

static void names_are_set_and_compared(void **state) {
  (void)state;
  const hvi_setting_table *t = hvi_settings_table();
  hvi_settings a = hvi_method_settings("gd"), b = a;
  hvi_error err;
  char text[64];
  assert_int_equal(hvi_setting_set(t, &a, "inner-lr", "0.25", &err), HVI_OK);
  assert_true(a.inner.lr == 0.25);
  assert_string_equal(hvi_setting_differ(t, &a, &b, "gd")->name, "inner_lr");
  assert_null(hvi_setting_differ(t, &a, &b, "lm"));
  assert_int_equal(hvi_setting_set(t, &a, "eta", "best", &err), HVI_OK);
  assert_int_equal(a.step_rule, HVI_STEP_BEST);
  assert_string_equal(hvi_setting_format(hvi_setting_find(t, "eta"), &a, text, sizeof text),
                      "best");
  assert_int_equal(hvi_setting_set(t, &a, "eta", "3", &err), HVI_OK);
  assert_true(a.step_rule == HVI_STEP_FIXED);
  assert_true(a.eta == 3.0);
  assert_int_equal(hvi_setting_set(t, &a, "inner_rl", "1", &err), HVI_ERROR_INPUT);
  assert_string_equal(err.text, "solver: unknown key 'inner_rl'; did you mean 'inner_lr'?");
  a.max_outer = 5; /* where a run stops does not change its numbers */
  a.eta = b.eta, a.inner.lr = b.inner.lr;
  assert_null(hvi_setting_differ(t, &a, &b, NULL));
}

/* A refusal leaves the member as it was; cut-off text ends and tells its length. */
static void refusals_change_nothing(void **state) {
  (void)state;
  hvi_sac_settings s = hvi_sac_defaults();
  const hvi_setting *hidden = hvi_setting_find(hvi_sac_table(), "hidden");
  char text[8];
  assert_int_equal(hvi_setting_parse(hidden, &s, "8,0", NULL, NULL), HVI_ERROR_INPUT);
  assert_int_equal(hvi_setting_parse(hidden, &s, "1,2,3,4,5,6,7,8,9", NULL, NULL), HVI_ERROR_INPUT);
  assert_int_equal(s.hidden_count, 2);
  assert_int_equal(s.hidden[0], 256);
  assert_int_equal(hvi_setting_parse(hidden, &s, "none", NULL, NULL), HVI_OK);
  assert_int_equal(s.hidden_count, 0);
  const size_t length = hvi_setting_describe(hvi_sac_table(), &s, NULL, text, sizeof text);
  assert_true(length > sizeof text);
  assert_string_equal(text, "seed 1;");
  assert_int_equal(hvi_setting_describe(hvi_sac_table(), &s, NULL, NULL, 0), length);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_field_is_refused_in_the_same_words),
      cmocka_unit_test(lists_and_texts_have_an_end),
      cmocka_unit_test(every_row_is_complete),
      cmocka_unit_test(names_are_set_and_compared),
      cmocka_unit_test(refusals_change_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
