#include "args.h"

#include "base/base.h"
#include "base/number.h"
#include "base/suggest.h"
#include "talk.h"

void hvi_args_add(hvi_args *args, const hvi_arg *table) {
  for (; table->name && args->count < HVI_ARGS_MAX; table++) args->rows[args->count++] = *table;
}

void hvi_args_json(hvi_args *args, bool *json) {
  const hvi_arg row = {"json", 0, HVI_ARG_FLAG, json, .help = "the result as one JSON object"};
  hvi_args_add(args, (hvi_arg[]){row, {0}});
}

/* An option as a setting: a row of a table, or made up for an option of the program alone. */
static hvi_setting setting_of(const hvi_arg *row) {
  if (row->setting) return *row->setting;
  const bool choice = row->kind == HVI_ARG_CHOICE;
  return (hvi_setting){.name = row->name,
                       .kind = (hvi_setting_kind)row->kind,
                       .range = choice ? NULL : row->range,
                       .choices = choice ? row->range : NULL,
                       .help = row->help};
}

void hvi_args_settings(hvi_args *args, const hvi_setting_table *table, void *settings,
                       const char *left_out) {
  for (const hvi_setting *s = table->rows; s->name; s++) {
    if (hvi_words_have(left_out, s->name)) continue;
    hvi_args_add(args, (hvi_arg[]){{.name = s->name,
                                    .kind = (hvi_arg_kind)s->kind,
                                    .to = settings,
                                    .help = s->help,
                                    .setting = s},
                                   {0}});
  }
}

static char fold(char c) { return c == '_' ? '-' : c; }

static bool is_name(const hvi_arg *row, const char *name, size_t length) {
  if (row->kind == HVI_ARG_SECTION || strlen(row->name) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (fold(row->name[i]) != fold(name[i])) return false;
  return true;
}

static hvi_arg *find(hvi_args *args, const char *name, size_t length) {
  for (size_t i = 0; i < args->count; i++)
    if (is_name(&args->rows[i], name, length)) return &args->rows[i];
  return NULL;
}

static hvi_arg *find_letter(hvi_args *args, char letter) {
  for (size_t i = 0; i < args->count; i++)
    if (args->rows[i].letter == letter) return &args->rows[i];
  return NULL;
}

bool hvi_args_given(const hvi_args *args, const char *name) {
  for (size_t i = 0; i < args->count; i++)
    if (args->rows[i].given && is_name(&args->rows[i], name, strlen(name))) return true;
  return false;
}

const char *hvi_args_name(const hvi_arg *row, char text[HVI_OPTION_SIZE]) {
  snprintf(text, HVI_OPTION_SIZE, "--%s", row->name);
  for (char *c = text; *c; c++) *c = fold(*c);
  return text;
}

static int unknown_option(const hvi_args *args, const char *name, size_t length) {
  const char *names[HVI_ARGS_MAX + 2];
  char options[HVI_ARGS_MAX][HVI_OPTION_SIZE], word[64], hint[HVI_HINT_SIZE], advice[64];
  size_t n = 0;
  for (size_t i = 0; i < args->count; i++) {
    if (args->rows[i].kind == HVI_ARG_SECTION) continue;
    names[n] = hvi_args_name(&args->rows[i], options[n]) + 2;
    n++;
  }
  names[n++] = "help";
  names[n] = NULL;
  snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), name);
  snprintf(advice, sizeof advice, "'hvi %s --help' lists them", args->command);
  return hvi_misuse("%s has no option --%s%s", args->command, word,
                    hvi_did_you_mean(hint, word, names, advice));
}

static int store_texts(hvi_arg *row, const char *text) {
  hvi_texts *list = row->to;
  if (!*text) return hvi_misuse("--%s: must be text, not ''", row->name);
  if (list->count == HVI_TEXTS_MAX)
    return hvi_misuse("--%s is given more than %d times", row->name, HVI_TEXTS_MAX);
  list->items[list->count++] = text;
  return HVI_EXIT_DONE;
}

static int store(hvi_arg *row, const char *text) {
  const hvi_setting setting = setting_of(row);
  char name[HVI_OPTION_SIZE];
  hvi_error err;
  row->given = true;
  if (row->kind == HVI_ARG_TEXTS) return store_texts(row, text);
  if (hvi_setting_parse(&setting, row->to, text, hvi_args_name(row, name), &err) == HVI_OK)
    return HVI_EXIT_DONE;
  return hvi_misuse("%s", err.text);
}

/* The flag that "no-NAME" turns off. */
static hvi_arg *find_negated(hvi_args *args, const char *name, size_t length) {
  hvi_arg *row =
      length > 3 && memcmp(name, "no-", 3) == 0 ? find(args, name + 3, length - 3) : NULL;
  return row && row->kind == HVI_ARG_FLAG ? row : NULL;
}

/* What the help calls the value. */
static const char *value_name(const hvi_arg *row) {
  static const char *const names[] = {
      [HVI_SETTING_REAL] = "X",        [HVI_SETTING_COUNT] = "N",
      [HVI_SETTING_SEED] = "S",        [HVI_SETTING_CHOICE] = "KIND",
      [HVI_SETTING_TEXT] = "TEXT",     [HVI_SETTING_COUNTS] = "N,N,...",
      [HVI_SETTING_REALS] = "X,X,...", [HVI_SETTING_FLAG] = ""};
  if (row->value) return row->value;
  return row->kind == HVI_ARG_TEXTS ? "TEXT" : names[row->kind];
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
  char text[HVI_OPTION_SIZE];
  const bool negated = !row && (row = find_negated(args, name, length)) != NULL;
  *used = 1;
  if (!row) return unknown_option(args, name, length);
  if (negated && equals) return hvi_misuse("--no-%s takes no value", hvi_args_name(row, text) + 2);
  if (equals) return store(row, equals + 1);
  if (row->kind == HVI_ARG_FLAG) return store(row, negated ? "no" : "yes");
  if (!next || swallows_option(row, next)) {
    hvi_args_name(row, text);
    return hvi_misuse("%s needs a value: %s %s", text, text, value_name(row));
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
      return hvi_misuse("%s has no option -%c; 'hvi %s --help' lists them", args->command, *c,
                        args->command);
    }
    if (row->kind != HVI_ARG_FLAG) {
      const char *value = c[1] ? c + 1 : next;
      if (!value) return hvi_misuse("-%c needs a value", *c);
      *used = c[1] ? 1 : 2;
      return store(row, value);
    }
    store(row, "yes");
  }
  return HVI_EXIT_DONE;
}

static bool asks_for_help(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}

static int check_operands(const hvi_args *args) {
  const char *what = args->operand ? args->operand : "operand";
  if (args->operand_count < args->min) {
    const char *article = strchr("aeiou", what[0]) ? "an" : "a";
    return hvi_misuse("%s needs %s %s: hvi %s %s", args->command, article, what, args->command,
                      args->usage);
  }
  if (args->operand_count <= args->max) return HVI_EXIT_DONE;
  return hvi_misuse("%s does not know what to do with '%s': hvi %s %s", args->command,
                    args->operands[args->max], args->command, args->usage);
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

enum { HELP_COLUMN = 28, HELP_WIDTH = 64 };

/* "-q, --quiet" or "    --eta X". */
static void print_name(const hvi_arg *row) {
  char text[2 * HVI_OPTION_SIZE], name[HVI_OPTION_SIZE];
  const char letter[] = {'-', row->letter, ',', ' ', '\0'}, *value = value_name(row);
  hvi_args_name(row, name);
  snprintf(text, sizeof text, "%s%s%s%s", row->letter ? letter : "    ", name, *value ? " " : "",
           value);
  printf("  %-26s", text);
  if (strlen(text) > 25) printf("\n  %-26s", "");
}

/* The value that holds when the option is not given, where it is a choice, a flag that is set or a
 * number other than zero, which mostly stands for "none". */
static void default_text(const hvi_arg *row, char *text, size_t size) {
  const hvi_setting s = setting_of(row);
  char value[128] = "", name[HVI_OPTION_SIZE];
  const bool silent = row->kind == HVI_ARG_TEXT || row->kind == HVI_ARG_TEXTS;
  if (!silent) hvi_setting_format(&s, row->to, value, sizeof value);
  if (row->kind == HVI_ARG_FLAG && strcmp(value, "yes") == 0)
    snprintf(value, sizeof value, "--no-%s: not", hvi_args_name(row, name) + 2);
  const bool zero = !*value || hvi_words_have("0 no none nan", value);
  const bool shown = !zero || row->kind == HVI_ARG_CHOICE;
  snprintf(text, size, "%s%s%s", shown ? " [" : "", shown ? value : "", shown ? "]" : "");
}

/* Text broken into lines at blanks, each after the first indented. */
static void print_wrapped(const char *text, int indent) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    if (n > HELP_WIDTH) {
      for (n = HELP_WIDTH; n > 0 && text[n] != ' ';) n--;
      if (n == 0) n = strcspn(text, " \n");
    }
    printf("%.*s\n", (int)n, text);
    text += n + (text[n] != '\0');
    if (*text) printf("%*s", indent, "");
  }
}

static void print_option(const hvi_arg *row) {
  char preset[160], text[1024];
  if (row->kind == HVI_ARG_SECTION) {
    printf("\n%s:\n", row->name);
    return;
  }
  print_name(row);
  default_text(row, preset, sizeof preset);
  snprintf(text, sizeof text, "%s%s", row->help, preset);
  print_wrapped(text, HELP_COLUMN);
}

void hvi_args_line(const hvi_setting *row, const char *value) {
  char name[HVI_OPTION_SIZE];
  printf("  %-20s %-12s ", hvi_args_name(&(hvi_arg){.name = row->name}, name), value);
  print_wrapped(row->help, 36);
}

static void print_help(const hvi_args *args) {
  printf("usage: hvi %s %s\n\n%s\n", args->command, args->usage, args->summary);
  if (args->count == 0 || args->rows[0].kind != HVI_ARG_SECTION) printf("\noptions:\n");
  for (size_t i = 0; i < args->count; i++) print_option(&args->rows[i]);
  printf("  %-26sthis help\n", "-h, --help");
  if (args->examples) printf("\nEXAMPLES\n%s\n", args->examples);
}

bool hvi_args_parse(hvi_args *args, int argc, char **argv, int *code) {
  if (args->operand && args->max == 0) args->min = args->max = 1;
  if (asks_for_help(argc, argv)) {
    print_help(args);
    *code = HVI_EXIT_DONE;
    return false;
  }
  *code = read_words(args, argc, argv);
  return *code == HVI_EXIT_DONE;
}

enum { MOST_VERBS = 8 };

static int unknown_verb(const hvi_verb *verbs, const char *command, const char *word) {
  const char *names[MOST_VERBS + 1] = {NULL};
  char hint[HVI_HINT_SIZE], all[96] = "there are";
  for (size_t k = 0; k < MOST_VERBS && verbs[k].name; k++) {
    const size_t used = strlen(all);
    names[k] = verbs[k].name;
    snprintf(all + used, sizeof all - used, "%s %s", k > 0 ? "," : "", verbs[k].name);
  }
  return hvi_misuse("%s has no '%s'%s", command, word, hvi_did_you_mean(hint, word, names, all));
}

int hvi_args_verb(hvi_args *args, const hvi_verb *verbs, int argc, char **argv) {
  int code;
  for (const hvi_verb *v = verbs; argc > 1 && v->name; v++)
    if (strcmp(argv[1], v->name) == 0) return v->run(argc - 1, argv + 1);
  if (argc > 1 && argv[1][0] != '-') return unknown_verb(verbs, args->command, argv[1]);
  args->operand = "verb";
  if (!hvi_args_parse(args, argc, argv, &code)) return code;
  return unknown_verb(verbs, args->command, args->operands[0]);
}
