#include "args.h"

#include "base/base.h"
#include "base/embedded.h"
#include "report/text.h"
#include "talk.h"

void (*hvi_args_visitor)(hvi_args *args, int argc, char **argv);

/* "--inner-lr" of inner_lr. */
static void name_option(char *option, size_t size, const char *name) {
  snprintf(option, size, "--%s", name);
  for (char *c = option; *c; c++)
    if (*c == '_') *c = '-';
}

void hvi_args_add_rows(hvi_args *args, const hvi_arg *table) {
  for (; table->name && args->count < HVI_ARGS_MAX; table++) {
    hvi_arg *row = &args->rows[args->count++];
    *row = *table;
    name_option(row->option, sizeof row->option, row->name);
    if (row->setting.name) continue;
    row->setting = (hvi_setting){row->name, row->kind, .range = row->range, .help = row->help};
  }
}

HVI_ROWS(static const hvi_arg shared[],
    {"json", 0, HVI_SETTING_FLAG, &hvi_talk.json, .help = "the result as one JSON object"},
    {"force", 0, HVI_SETTING_FLAG, &hvi_talk.force, .help = "replace files that hvi did not make for this"},
    {"quiet", 'q', HVI_SETTING_FLAG, &hvi_talk.quiet, .help = "say nothing but results and complaints"},
    {"verbose", 'v', HVI_SETTING_FLAG, &hvi_talk.verbose, .help = "say more"});

void hvi_args_jobs(hvi_args *args, size_t *threads) {
  hvi_args_add(args, {"jobs", 'j', HVI_SETTING_COUNT, threads, .range = "[0,1024]",
                      .help = "threads (0: one per core); the results are the same for any"});
}

int hvi_output_check(const char *path, const char *mark) {
  if (path) HVI_CALL(hvi_file_ours(path, hvi_talk.force ? NULL : mark, &hvi_fault));
  return HVI_EXIT_DONE;
}

int hvi_output_check_in(const char *folder, const char *name, const char *mark) {
  HVI_OWN char *path = hvi_path_join(folder, name, "");
  if (!path) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for a path");
  return hvi_output_check(path, mark);
}

void hvi_args_settings(hvi_args *args, const hvi_setting_table *table, void *settings,
                       const char *left_out) {
  for (const hvi_setting *s = table->rows; s->name; s++)
    if (!hvi_words_have(left_out, s->name))
      hvi_args_add(
          args, {.name = s->name, .kind = s->kind, .to = settings, .help = s->help, .setting = *s});
}

static bool is_name(const hvi_arg *row, const char *name, size_t length) {
  const char *own = row->option + 2;
  if (row->kind == HVI_SETTING_SECTION || strlen(own) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (own[i] != (name[i] == '_' ? '-' : name[i])) return false;
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

hvi_arg *hvi_args_find(hvi_args *args, const char *word) {
  if (strncmp(word, "--", 2) == 0) return find(args, word + 2, strcspn(word + 2, "="));
  return word[0] == '-' && word[1] && !word[2] ? find_letter(args, word[1]) : NULL;
}

bool hvi_args_given(const hvi_args *args, const char *name) {
  for (size_t i = 0; i < args->count; i++)
    if (args->rows[i].given && is_name(&args->rows[i], name, strlen(name))) return true;
  return false;
}

static int unknown_option(const hvi_args *args, const char *name, size_t length) {
  const char *names[HVI_ARGS_MAX + 2] = {NULL};
  const char *word = hvi_format("--%.*s", (int)(length < 64 ? length : 63), name);
  size_t n = 0;
  for (size_t i = 0; i < args->count; i++)
    if (args->rows[i].kind != HVI_SETTING_SECTION) names[n++] = args->rows[i].option;
  names[n] = "--help";
  return hvi_misuse(
      "%s has no option %s%s", args->command, word,
      hvi_did_you_mean(word, names, hvi_format("'hvi %s --help' lists them", args->command)));
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
  row->given = text;
  if (row->repeats) return store_texts(row, text);
  if (!hvi_setting_parse(&row->setting, row->to, text, row->option, &hvi_fault))
    return HVI_EXIT_DONE;
  return hvi_misuse("%s", hvi_fault.text);
}

const char *hvi_arg_value(const hvi_arg *row) {
  static const char *const names[] = {
      [HVI_SETTING_REAL] = "X",        [HVI_SETTING_COUNT] = "N",
      [HVI_SETTING_SEED] = "S",        [HVI_SETTING_CHOICE] = "KIND",
      [HVI_SETTING_TEXT] = "TEXT",     [HVI_SETTING_COUNTS] = "N,N,...",
      [HVI_SETTING_REALS] = "X,X,...", [HVI_SETTING_FLAG] = ""};
  return row->value ? row->value : names[row->kind];
}

/* One "--name", "--no-name", "--name=value" or "--name value"; *used becomes 2 where it took two
 * words. */
static int read_long(hvi_args *args, const char *word, const char *next, int *used) {
  const char *name = word + 2, *equals = strchr(name, '=');
  const size_t length = equals ? (size_t)(equals - name) : strlen(name);
  hvi_arg *row = find(args, name, length);
  const bool negated = !row && length > 3 && memcmp(name, "no-", 3) == 0;
  if (negated) row = find(args, name + 3, length - 3);
  if (!row || (negated && row->kind != HVI_SETTING_FLAG)) return unknown_option(args, name, length);
  if (negated && equals) return hvi_misuse("--no-%s takes no value", row->option + 2);
  if (equals) return store(row, equals + 1);
  if (row->kind == HVI_SETTING_FLAG) return store(row, negated ? "no" : "yes");
  /* what follows a text option is more likely the next option than its value */
  if (!next || (row->kind == HVI_SETTING_TEXT && strncmp(next, "--", 2) == 0))
    return hvi_misuse("%s needs a value: %s %s", row->option, row->option, hvi_arg_value(row));
  *used = 2;
  return store(row, next);
}

/* "-q", or several flags at once as in "-qv". */
static int read_letters(hvi_args *args, const char *word, const char *next, int *used) {
  for (const char *c = word + 1; *c; c++) {
    hvi_arg *row = find_letter(args, *c);
    if (!row)
      return hvi_misuse("%s has no option -%c; 'hvi %s --help' lists them", args->command, *c,
                        args->command);
    if (row->kind != HVI_SETTING_FLAG) {
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
int hvi_args_read(hvi_args *args, int argc, char **argv) {
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
  return HVI_EXIT_DONE;
}

enum { HELP_COLUMN = 28, HELP_WIDTH = 64 };

/* A choice, a flag that is set or a number other than zero, which mostly stands for "none". */
const char *hvi_arg_default(const hvi_arg *row) {
  char value[128] = "";
  if (row->kind != HVI_SETTING_TEXT && row->kind != HVI_SETTING_SECTION)
    hvi_setting_format(&row->setting, row->to, value, sizeof value);
  const bool zero = !*value || hvi_words_have("0 no none nan", value);
  return zero && row->kind != HVI_SETTING_CHOICE ? "" : hvi_format("%s", value);
}

static const char *default_text(const hvi_arg *row) {
  const char *value = hvi_arg_default(row);
  if (!*value) return "";
  return row->kind == HVI_SETTING_FLAG ? hvi_format(" [--no-%s: not]", row->option + 2)
                                       : hvi_format(" [%s]", value);
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

/* "-q, --quiet" or "    --eta X", and what it does. */
static void print_option(const hvi_arg *row) {
  const char *value = hvi_arg_value(row),
             *letter = row->letter ? hvi_format("-%c, ", row->letter) : "    ";
  if (row->kind == HVI_SETTING_SECTION) {
    printf("\n%s:\n", row->name);
    return;
  }
  const char *text = hvi_format("%s%s%s%s", letter, row->option, *value ? " " : "", value);
  printf("  %-26s", text);
  if (strlen(text) > 25) printf("\n  %-26s", "");
  print_wrapped(hvi_format("%s%s", row->help, default_text(row)), HELP_COLUMN);
}

void hvi_args_line(const hvi_setting *row, const char *value) {
  char option[64];
  name_option(option, sizeof option, row->name);
  printf("  %-20s %-12s ", option, value);
  print_wrapped(row->help, 36);
}

static void print_help(const hvi_args *args) {
  printf("usage: hvi %s %s\n\n%s\n", args->command, args->usage, args->summary);
  if (args->verbs) printf("\nverbs ('hvi help %s VERB' has the options of one):\n", args->command);
  for (const hvi_verb *v = args->verbs; v && v->name; v++)
    printf("  %-9s %-4s  %s\n", v->name, v->usage, v->summary);
  if (args->count == 0 || args->rows[0].kind != HVI_SETTING_SECTION) printf("\noptions:\n");
  for (size_t i = 0; i < args->count; i++) print_option(&args->rows[i]);
  printf("  %-26sthis help\n", "-h, --help");
  if (args->examples) printf("\nEXAMPLES\n%s\n", args->examples);
}

/* help/env-replay.txt of "env replay": the summary, then the examples. */
static void read_texts(hvi_args *args) {
  static const char title[] = "\n\nEXAMPLES\n";
  static char text[4096];
  snprintf(text, sizeof text, "%s", args->command);
  for (char *c = text; *c; c++)
    if (*c == ' ') *c = '-';
  const char *found = hvi_embedded_find(hvi_embedded_help, text);
  snprintf(text, sizeof text, "%.*s", found ? (int)strlen(found) - 1 : 0, found ? found : "");
  char *end = strstr(text, title);
  if (end) *end = '\0';
  args->summary = text;
  args->examples = end ? end + strlen(title) : NULL;
}

int hvi_args_parse(hvi_args *args, int argc, char **argv) {
  if (args->operand && args->max == 0) args->min = args->max = 1;
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
    if (hvi_words_have(args->also, shared[i].name)) hvi_args_add(args, shared[i]);
  read_texts(args);
  if (hvi_args_visitor)
    hvi_args_visitor(args, argc, argv);
  else if (asks_for_help(argc, argv))
    print_help(args);
  else {
    HVI_STEP(hvi_args_read(args, argc, argv));
    return check_operands(args);
  }
  return HVI_EXIT_HELP;
}

const hvi_verb *hvi_verb_find(const hvi_verb *verbs, const char *name) {
  while (verbs->name && strcmp(verbs->name, name) != 0) verbs++;
  return verbs->name ? verbs : NULL;
}

enum { MOST_VERBS = 8 };

static int unknown_verb(const hvi_verb *verbs, const char *command, const char *word) {
  const char *names[MOST_VERBS + 1] = {NULL}, *all = "there are";
  for (size_t k = 0; k < MOST_VERBS && verbs[k].name; k++) {
    names[k] = verbs[k].name;
    all = hvi_format("%s%s %s", all, k > 0 ? "," : "", verbs[k].name);
  }
  return hvi_misuse("%s has no '%s'%s", command, word, hvi_did_you_mean(word, names, all));
}

int hvi_args_verb(hvi_args *args, const hvi_verb *verbs, int argc, char **argv) {
  const hvi_verb *v = argc > 1 ? hvi_verb_find(verbs, argv[1]) : NULL;
  if (v) return v->run(argc - 1, argv + 1);
  if (argc > 1 && argv[1][0] != '-') return unknown_verb(verbs, args->command, argv[1]);
  args->operand = "verb";
  args->verbs = verbs;
  HVI_STEP(hvi_args_parse(args, argc, argv));
  return unknown_verb(verbs, args->command, args->operands[0]);
}
