#include "args.h"

#include "base/number.h"
#include "exit_codes.h"
#include "parse.h"
#include "talk.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void hvi_args_add(hvi_args *args, const hvi_arg *table) {
  for (; table->name && args->count < HVI_ARGS_MAX; table++) args->rows[args->count++] = *table;
}

static hvi_arg *find(hvi_args *args, const char *name, size_t length) {
  for (size_t i = 0; i < args->count; i++) {
    hvi_arg *row = &args->rows[i];
    if (row->kind == HVI_ARG_SECTION) continue;
    if (strlen(row->name) == length && memcmp(row->name, name, length) == 0) return row;
  }
  return NULL;
}

static hvi_arg *find_letter(hvi_args *args, char letter) {
  for (size_t i = 0; i < args->count; i++) {
    if (args->rows[i].letter == letter) return &args->rows[i];
  }
  return NULL;
}

bool hvi_args_given(const hvi_args *args, const char *name) {
  for (size_t i = 0; i < args->count; i++) {
    if (strcmp(args->rows[i].name, name) == 0 && args->rows[i].given) return true;
  }
  return false;
}

int hvi_choice_find(const char *choices, const char *word) {
  size_t length = strlen(word);
  for (int i = 0; length > 0; i++) {
    size_t n = strcspn(choices, "|");
    if (n == length && memcmp(choices, word, n) == 0) return i;
    if (choices[n] == '\0') break;
    choices += n + 1;
  }
  return -1;
}

const char *hvi_choice_name(const char *choices, int index, char *text, size_t size) {
  for (; index > 0; index--) choices += strcspn(choices, "|") + 1;
  snprintf(text, size, "%.*s", (int)strcspn(choices, "|"), choices);
  return text;
}

static int unknown_option(const hvi_args *args, const char *name, size_t length) {
  const char *names[HVI_ARGS_MAX + 2];
  char word[64], hint[HVI_HINT_SIZE], advice[64];
  size_t n = 0;
  for (size_t i = 0; i < args->count; i++) {
    if (args->rows[i].kind != HVI_ARG_SECTION) names[n++] = args->rows[i].name;
  }
  names[n++] = "help";
  names[n] = NULL;
  snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), name);
  snprintf(advice, sizeof advice, "'hvi %s --help' lists them", args->command);
  return hvi_complain(HVI_EXIT_USAGE, "%s has no option --%s%s", args->command, word,
                      hvi_did_you_mean(hint, word, names, advice));
}

static int bad_value(const hvi_arg *row, const char *what, const char *text) {
  const char *where = row->range ? " in " : "";
  return hvi_complain(HVI_EXIT_USAGE, "--%s takes %s%s%s, not '%s'", row->name, what, where,
                      row->range ? row->range : "", text);
}

static int bad_choice(const hvi_arg *row, const char *text) {
  return hvi_complain(HVI_EXIT_USAGE, "--%s takes one of %s, not '%s'", row->name, row->range,
                      text);
}

static int store_real(const hvi_arg *row, const char *text) {
  double x;
  if (!hvi_parse_real(&x, text) || !hvi_interval_contains(row->range, x)) {
    return bad_value(row, "a number", text);
  }
  *(double *)row->to = x;
  return HVI_EXIT_DONE;
}

static int store_size(const hvi_arg *row, const char *text) {
  size_t x;
  if (!hvi_parse_size(&x, text) || !hvi_interval_contains(row->range, (double)x)) {
    return bad_value(row, "a whole number", text);
  }
  *(size_t *)row->to = x;
  return HVI_EXIT_DONE;
}

static int store_seed(const hvi_arg *row, const char *text) {
  uint64_t x;
  if (!hvi_parse_u64(&x, text)) return bad_value(row, "a whole number from 0 to 2^64 - 1", text);
  *(uint64_t *)row->to = x;
  return HVI_EXIT_DONE;
}

static int store_choice(const hvi_arg *row, const char *text) {
  int x = hvi_choice_find(row->range, text);
  if (x < 0) return bad_choice(row, text);
  *(int *)row->to = x;
  return HVI_EXIT_DONE;
}

static int store_text(const hvi_arg *row, const char *text) {
  if (!*text) return hvi_complain(HVI_EXIT_USAGE, "--%s is empty", row->name);
  if (row->kind == HVI_ARG_TEXT) {
    *(const char **)row->to = text;
    return HVI_EXIT_DONE;
  }
  hvi_texts *list = row->to;
  if (list->count == HVI_TEXTS_MAX) {
    return hvi_complain(HVI_EXIT_USAGE, "--%s is given more than %d times", row->name,
                        HVI_TEXTS_MAX);
  }
  list->items[list->count++] = text;
  return HVI_EXIT_DONE;
}

static int store(hvi_arg *row, const char *text) {
  row->given = true;
  switch (row->kind) {
  case HVI_ARG_REAL:
    return store_real(row, text);
  case HVI_ARG_SIZE:
    return store_size(row, text);
  case HVI_ARG_SEED:
    return store_seed(row, text);
  case HVI_ARG_CHOICE:
    return store_choice(row, text);
  default:
    return store_text(row, text);
  }
}

static void set_flag(hvi_arg *row, bool on) {
  row->given = true;
  *(bool *)row->to = on;
}

/* The flag that "no-NAME" turns off. */
static hvi_arg *find_negated(hvi_args *args, const char *name, size_t length) {
  hvi_arg *row =
      length > 3 && memcmp(name, "no-", 3) == 0 ? find(args, name + 3, length - 3) : NULL;
  return row && row->kind == HVI_ARG_FLAG ? row : NULL;
}

/* Whether what follows a text option is more likely the next option than its value. */
static bool swallows_option(const hvi_arg *row, const char *next) {
  return (row->kind == HVI_ARG_TEXT || row->kind == HVI_ARG_TEXTS) && strncmp(next, "--", 2) == 0;
}

/* One "--name", "--no-name", "--name=value" or "--name value"; *used is how many words it took. */
static int read_long(hvi_args *args, const char *word, const char *next, int *used) {
  const char *name = word + 2, *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  hvi_arg *row = find(args, name, length);
  const bool negated = !row && (row = find_negated(args, name, length)) != NULL;
  *used = 1;
  if (!row) return unknown_option(args, name, length);
  if (row->kind == HVI_ARG_FLAG) {
    if (equals) return hvi_complain(HVI_EXIT_USAGE, "--%s takes no value", row->name);
    set_flag(row, !negated);
    return HVI_EXIT_DONE;
  }
  if (equals) return store(row, equals + 1);
  if (!next || swallows_option(row, next)) {
    return hvi_complain(HVI_EXIT_USAGE, "--%s needs a value: --%s %s", row->name, row->name,
                        row->value ? row->value : "VALUE");
  }
  *used = 2;
  return store(row, next);
}

/* "-q", or several flags at once as in "-qv". */
static int read_letters(hvi_args *args, const char *word, const char *next, int *used) {
  *used = 1;
  for (const char *c = word + 1; *c; c++) {
    hvi_arg *row = find_letter(args, *c);
    if (!row) {
      return hvi_complain(HVI_EXIT_USAGE, "%s has no option -%c; 'hvi %s --help' lists them",
                          args->command, *c, args->command);
    }
    if (row->kind != HVI_ARG_FLAG) {
      const char *value = c[1] ? c + 1 : next;
      if (!value) return hvi_complain(HVI_EXIT_USAGE, "-%c needs a value", *c);
      *used = c[1] ? 1 : 2;
      return store(row, value);
    }
    set_flag(row, true);
  }
  return HVI_EXIT_DONE;
}

static bool asks_for_help(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  }
  return false;
}

static int check_operands(const hvi_args *args) {
  const char *what = args->operand ? args->operand : "operand";
  if (args->operand_count < args->min) {
    const char *article = strchr("aeiou", what[0]) ? "an" : "a";
    return hvi_complain(HVI_EXIT_USAGE, "%s needs %s %s: hvi %s %s", args->command, article, what,
                        args->command, args->usage);
  }
  if (args->operand_count <= args->max) return HVI_EXIT_DONE;
  return hvi_complain(HVI_EXIT_USAGE, "%s does not know what to do with '%s': hvi %s %s",
                      args->command, args->operands[args->max], args->command, args->usage);
}

/* Operands move to the front of argv, in order. */
static int read_words(hvi_args *args, int argc, char **argv) {
  bool options = true;
  args->operands = argv + 1;
  for (int i = 1, used = 1; i < argc; i += used) {
    char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
    int code = HVI_EXIT_DONE;
    used = 1;
    if (options && strcmp(word, "--") == 0)
      options = false;
    else if (options && strncmp(word, "--", 2) == 0)
      code = read_long(args, word, next, &used);
    else if (options && word[0] == '-' && word[1])
      code = read_letters(args, word, next, &used);
    else
      args->operands[args->operand_count++] = word;
    if (code != HVI_EXIT_DONE) return code;
  }
  return check_operands(args);
}

bool hvi_args_parse(hvi_args *args, int argc, char **argv, int *code) {
  if (asks_for_help(argc, argv)) {
    hvi_args_help(args);
    *code = HVI_EXIT_DONE;
    return false;
  }
  *code = read_words(args, argc, argv);
  return *code == HVI_EXIT_DONE;
}

/* "-q, --quiet" or "    --eta X". */
static void print_name(const hvi_arg *row) {
  char text[64];
  int length;
  if (row->letter)
    length = snprintf(text, sizeof text, "-%c, --%s", row->letter, row->name);
  else
    length = snprintf(text, sizeof text, "    --%s", row->name);
  if (row->value && length > 0 && (size_t)length < sizeof text) {
    snprintf(text + length, sizeof text - (size_t)length, " %s", row->value);
  }
  printf("  %-26s", text);
  if (strlen(text) > 25) printf("\n  %-26s", "");
}

/* The value that holds when the option is not given, where it is a choice, a flag that is set or a
 * number other than zero, which mostly stands for "none". */
static void default_text(const hvi_arg *row, char *text, size_t size) {
  char value[HVI_NUMBER_SIZE] = "";
  if (row->kind == HVI_ARG_REAL && !isnan(*(const double *)row->to)) {
    hvi_number_short(value, *(const double *)row->to, 6);
  }
  if (row->kind == HVI_ARG_SIZE) snprintf(value, sizeof value, "%zu", *(const size_t *)row->to);
  if (row->kind == HVI_ARG_SEED) {
    snprintf(value, sizeof value, "%" PRIu64, *(const uint64_t *)row->to);
  }
  if (row->kind == HVI_ARG_CHOICE) {
    hvi_choice_name(row->range, *(const int *)row->to, value, sizeof value);
  }
  if (row->kind == HVI_ARG_FLAG && *(const bool *)row->to) {
    snprintf(value, sizeof value, "--no-%.20s: not", row->name);
  }
  bool shown = *value && strcmp(value, "0") != 0;
  snprintf(text, size, "%s%s%s", shown ? " [" : "", shown ? value : "", shown ? "]" : "");
}

static void print_option(const hvi_arg *row) {
  char preset[64];
  if (row->kind == HVI_ARG_SECTION) {
    printf("\n%s:\n", row->name);
    return;
  }
  const char *help = row->help;
  print_name(row);
  for (const char *end; (end = strchr(help, '\n')) != NULL; help = end + 1) {
    printf("%.*s\n  %-26s", (int)(end - help), help, "");
  }
  default_text(row, preset, sizeof preset);
  printf("%s%s\n", help, preset);
}

void hvi_args_help(const hvi_args *args) {
  printf("usage: hvi %s %s\n\n%s\n", args->command, args->usage, args->summary);
  if (args->count == 0 || args->rows[0].kind != HVI_ARG_SECTION) printf("\noptions:\n");
  for (size_t i = 0; i < args->count; i++) print_option(&args->rows[i]);
  printf("  %-26sthis help\n", "-h, --help");
  if (args->examples) printf("\nEXAMPLES\n%s\n", args->examples);
}
