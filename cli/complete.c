/*
 * hvi completion: scripts that complete command lines, in completion/. They hold no lists. On every
 * Tab they run `hvi complete WORD...`, with the words up to the cursor, and hvi answers from the
 * tables that it would read these words by, a candidate a line:
 *
 *   --method<Tab>an optimizer, a preset or a baseline
 *   :files                                             names of files fit, too; or :folders
 */
#include "base/base.h"
#include "base/embedded.h"
#include "commands.h"

#include <ctype.h>

/* Where the cursor is. */
static struct {
  const char *word;    /* as far as it stands */
  size_t lead;         /* how much of it is settled: "--eta=" */
  const char *problem; /* the first operand, or NULL */
  bool verbs_only;     /* after `help`, whose words name a command */
} at;

static void offer(const char *word, const char *about) {
  const char *begun = at.word + at.lead;
  if (strncmp(word, begun, strlen(begun)) == 0)
    printf("%.*s%s\t%.*s\n", (int)at.lead, at.word, word, (int)strcspn(about, "\n"), about);
}

/* "plain|optimistic" word by word. */
static void offer_choices(const char *choices) {
  for (size_t n; *choices; choices += n + (choices[n] == '|')) {
    n = strcspn(choices, "|]");
    if (n > 0) offer(hvi_format("%.*s", (int)n, choices), "");
    if (choices[n] == ']') return;
  }
}

/* KEY=VALUE: of the problem that is solved. */
static void offer_keys(void) {
  const char *begun = at.word + at.lead, *equals = strchr(begun, '=');
  const hvi_builtin *b = at.problem ? hvi_builtin_find(at.problem) : NULL;
  for (const hvi_setting *key = b ? b->options->rows : NULL; key && key->name; key++) {
    const size_t n = strlen(key->name);
    if (!equals) offer(hvi_format("%s=", key->name), key->help);
    if (!equals || strncmp(key->name, begun, n) != 0 || begun[n] != '=') continue;
    at.lead += n + 1;
    if (key->choices) offer_choices(key->choices);
    return;
  }
}

/* What "ENV", "[ID|FILE]...", "LIST|FILE", "FILE.csv" or "games|mlp" stand for. */
static void offer_kind(const char *text) {
  text += *text == '[';
  if (islower((unsigned char)*text)) offer_choices(text);
  if (strncmp(text, "KEY=", 4) == 0) offer_keys();
  for (size_t n; isupper((unsigned char)*text); text += n + (text[n] == '|')) {
    n = strcspn(text, "| ].");
    const char *word = hvi_format("%.*s", (int)n, text);
    for (const hvi_vocabulary *v = hvi_vocabularies; v->word; v++)
      if (strcmp(v->word, word) == 0) v->list(offer);
    if (hvi_words_have("FILE PROBLEM", word)) puts(":files");
    if (hvi_words_have("DIR FOLDER", word)) puts(":folders");
  }
}

static void offer_options(const hvi_args *args) {
  for (size_t i = 0; i < args->count; i++) {
    const hvi_arg *row = &args->rows[i];
    if (row->kind == HVI_SETTING_SECTION || (row->given && !row->repeats)) continue;
    offer(row->option, row->help);
    if (row->kind == HVI_SETTING_FLAG && *hvi_arg_default(row))
      offer(hvi_format("--no-%s", row->option + 2), hvi_format("not: %s", row->help));
  }
  offer("--help", "this command's options");
}

/* Sees the table of the command, and its words without the one at the cursor. */
static void complete(hvi_args *args, int argc, char **argv) {
  const char *last = argc > 1 ? argv[argc - 1] : "", *equals = strchr(at.word, '=');
  const hvi_arg *open = strchr(last, '=') ? NULL : hvi_args_find(args, last);
  if (open && open->kind == HVI_SETTING_FLAG) open = NULL;
  hvi_args_read(args, argc - (open != NULL), argv); /* complaints are for whoever looks at stderr */
  at.problem = args->operand_count > 0 ? args->operands[0] : NULL;
  if (!open && equals && (open = hvi_args_find(args, at.word)))
    at.lead = (size_t)(equals + 1 - at.word);
  for (const hvi_verb *v = args->verbs; !open && v && v->name; v++) offer(v->name, v->summary);
  if (at.verbs_only) return;
  if (open && open->setting.choices) offer_choices(open->setting.choices);
  if (open && open->value) offer_kind(open->value);
  if (open) return;
  if (at.word[0] == '-' || (args->operand_count >= args->max && !args->verbs))
    offer_options(args);
  else if (!args->verbs)
    offer_kind(args->usage);
}

int hvi_cli_complete(int argc, char **argv) {
  at.word = argc > 0 ? argv[argc - 1] : "";
  at.verbs_only = argc > 1 && hvi_words_have("help man", argv[0]) && at.word[0] != '-';
  argc -= at.verbs_only;
  argv += at.verbs_only;
  if (argc > 1) {
    const hvi_verb *c = hvi_verb_find(hvi_commands, argv[0]);
    hvi_args_visitor = complete;
    return c ? c->run(argc - 1, argv) : hvi_command_unknown(argv[0]);
  }
  offer_kind("COMMAND");
  if (!at.verbs_only) offer_choices("help|--help|--version");
  return HVI_EXIT_DONE;
}

int hvi_cli_completion(int argc, char **argv) {
  hvi_args args = {argv[0], "bash|zsh|fish", .operand = "shell"};
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  const char *script = hvi_embedded_find(hvi_embedded_completion, args.operands[0]);
  if (!script)
    return hvi_misuse("completion: must be one of bash, zsh, fish, not '%s'", args.operands[0]);
  fputs(script, stdout);
  return HVI_EXIT_DONE;
}
