/*
 * hvi man: manual pages, from the tables of options, verbs and commands. What no table has (exit
 * status, environment, columns of files) stands in man/NAME.roff, after the options of page NAME. In
 * that of hvi(1), a comment such as .\" ENV makes room for the list that the word stands for.
 */
#include "base/base.h"
#include "base/embedded.h"
#include "commands.h"

#include <hvi/version.h>

#include <ctype.h>

static struct {
  char wanted[64];    /* "env replay" */
  bool pages, found;  /* the names of all pages instead; whether there was one */
  const char *parent; /* the command that a verb belongs to, or NULL */
  const char *about;  /* of the page to come */
} book;

/* Letters that troff would take for something else. */
static void put_letters(const char *text, size_t n) {
  static const char *const names[256] = {['-'] = "\\-",   ['\\'] = "\\e",  ['\''] = "\\(aq",
                                         ['^'] = "\\(ha", ['~'] = "\\(ti", ['`'] = "\\(ga"};
  for (; n > 0; n--, text++) {
    const char *name = names[(unsigned char)*text];
    printf("%.*s", name ? 4 : 1, name ? name : text);
  }
}

/* Words into short lines, a sentence at the beginning of one; an empty line parts paragraphs. */
static void put_prose(const char *text) {
  size_t column = 0;
  for (size_t n; *(text += strspn(text, " \n")); text += n) {
    n = strcspn(text, " \n");
    if (column == 0 && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
    put_letters(text, n);
    const bool ends = strchr(".?!", text[n - 1]) != NULL;
    column = ends || column + n > 60 ? 0 : column + n + 1;
    if (text[n]) putchar(column ? ' ' : '\n');
    if (strncmp(text + n, "\n\n", 2) == 0) printf("%s.PP\n", column ? "\n" : "");
  }
  putchar('\n');
}

/* Names to fill in are slanted, what is typed as it stands is bold. */
static void put_usage(const char *usage) {
  static const char fonts[] = "RIB";
  int font = 0;
  for (const char *c = usage; *c; c++) {
    const int now = isupper((unsigned char)*c)                ? 1
                    : islower((unsigned char)*c) || *c == '-' ? 2
                    : isdigit((unsigned char)*c)              ? font
                                                              : 0;
    if (now != font) printf("\\f%c", fonts[now]);
    if (c == usage || *c != '|' || c[-1] != '|') put_letters(c, 1); /* a choice without a name */
    font = now;
  }
  fputs(font ? "\\fR\n" : "\n", stdout);
}

static void put_entry(const char *name, const char *about) {
  fputs(".TP\n.B ", stdout);
  put_letters(name, strlen(name));
  putchar('\n');
  put_prose(about);
}

/* "Step size. A number above 0; default 0.1." A help that begins with whom it is for, as "lm: ...",
 * keeps its letter. */
static void put_help(const hvi_arg *row) {
  char rule[256] = "A";
  const char *preset = hvi_arg_default(row), *help = row->help;
  const bool counts = row->kind != HVI_SETTING_TEXT && row->kind != HVI_SETTING_FLAG &&
                      row->kind != HVI_SETTING_CHOICE;
  const bool name = strchr(",:", help[strcspn(help, " ") - 1]) != NULL;
  if (counts) hvi_setting_rule(&row->setting, rule, sizeof rule);
  rule[0] = (char)toupper((unsigned char)rule[0]);
  const char *fallback =
      *preset ? hvi_format("%s %s", counts ? "; default" : " Default", preset) : "";
  if (*preset && row->kind == HVI_SETTING_FLAG)
    fallback = hvi_format(" Set by default; --no-%s: not", row->option + 2);
  put_prose(hvi_format("%c%s.%s%s%s%s", name ? *help : toupper((unsigned char)*help), help + 1,
                       counts ? " " : "", counts ? rule : "", fallback,
                       counts || *fallback ? "." : ""));
}

/* "-o, --out FILE", "--target plain|optimistic", "--eta X|theorem|best", and what it does. */
static void put_option(const hvi_arg *row) {
  const char *letter = row->letter ? hvi_format("-%c, ", row->letter) : "";
  const char *choices = row->setting.choices, *value = hvi_arg_value(row);
  if (row->kind == HVI_SETTING_SECTION) {
    printf(".SS %c%s\n", toupper((unsigned char)*row->name), row->name + 1);
    return;
  }
  if (row->kind == HVI_SETTING_CHOICE)
    value = choices + strspn(choices, "|");
  else if (choices)
    value = hvi_format("%s|%s", value, choices);
  puts(".TP");
  put_usage(hvi_format("%s%s%s%s", letter, row->option, *value ? " " : "", value));
  put_help(row);
}

/* man/NAME.roff, where there is one. */
static void put_rest(const char *name) {
  const char *text = hvi_embedded_find(hvi_embedded_man, name);
  for (const char *line = text ? text : "", *next; *line; line = next) {
    const hvi_vocabulary *v = hvi_vocabularies;
    next = line + strcspn(line, "\n");
    next += *next == '\n';
    while (v->word && strncmp(line, hvi_format(".\\\" %s\n", v->word), strlen(v->word) + 5) != 0)
      v++;
    if (v->word)
      v->list(put_entry);
    else
      printf("%.*s", (int)(next - line), line);
  }
}

/* "hvi-env-replay" of "env replay". */
static const char *page_name(const char *command) {
  static char name[64];
  snprintf(name, sizeof name, "hvi%s%s", *command ? "-" : "", command);
  for (char *c = name; *c; c++)
    if (*c == ' ') *c = '-';
  return name;
}

static void put_reference(const char *command, const char *end) {
  fputs(".BR ", stdout);
  put_letters(page_name(command), strlen(page_name(command)));
  printf(" (1)%s\n", end);
}

static void put_head(const char *name, const char *about) {
  fputs(".TH ", stdout);
  for (const char *c = name; *c; c++) put_letters(&(char){(char)toupper((unsigned char)*c)}, 1);
  printf(" 1 \"%s\" \"hvi %s\" \"User Commands\"\n.SH NAME\n", HVI_DATE, hvi_version());
  put_letters(name, strlen(name));
  fputs(" \\- ", stdout);
  put_prose(about);
  fputs(".SH SYNOPSIS\n", stdout);
}

static void put_command(const hvi_args *args) {
  put_head(page_name(args->command), book.about);
  put_usage(hvi_format("hvi %s %s", args->command, args->usage));
  fputs(".SH DESCRIPTION\n", stdout);
  put_prose(args->summary);
  for (const hvi_verb *v = args->verbs; v && v->name; v++) put_entry(v->name, v->summary);
  fputs(".SH OPTIONS\n", stdout);
  for (size_t i = 0; i < args->count; i++) put_option(&args->rows[i]);
  fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nthe options in short.\n", stdout);
  put_rest(page_name(args->command));
  if (args->examples) {
    fputs(".SH EXAMPLES\n.nf\n", stdout);
    put_letters(args->examples, strlen(args->examples));
    fputs("\n.fi\n", stdout);
  }
  fputs(".SH SEE ALSO\n", stdout);
  if (book.parent) put_reference(book.parent, ",");
  for (const hvi_verb *v = args->verbs; v && v->name; v++)
    put_reference(hvi_format("%s %s", args->command, v->name), ",");
  put_reference("", "");
}

static void put_overview(void) {
  put_head("hvi", "solve hidden monotone variational inequalities with surrogate losses");
  put_usage("hvi COMMAND [ARGUMENT]...");
  put_rest("hvi");
  puts(".SH SEE ALSO");
  for (const hvi_verb *c = hvi_commands; c->name; c++) put_reference(c->name, c[1].name ? "," : "");
}

static void turn_to(const hvi_verb *v, const char *parent) {
  char word[32];
  snprintf(word, sizeof word, "%s", v->name);
  book.about = v->summary;
  book.parent = parent;
  v->run(1, (char *[]){word, NULL});
}

/* Sees the table of a command, and goes on to those of its verbs. */
static void visit(hvi_args *args, int argc, char **argv) {
  (void)argc, (void)argv;
  const bool wanted = strcmp(book.wanted, args->command) == 0;
  if (book.pages) puts(page_name(args->command));
  if (wanted) put_command(args);
  book.found |= wanted;
  for (const hvi_verb *v = args->verbs; v && v->name; v++) turn_to(v, args->command);
}

int hvi_cli_man(int argc, char **argv) {
  hvi_args args = {argv[0], "[COMMAND [VERB]] [OPTION]...", .max = 2};
  hvi_args_add(&args,
               {"pages", 0, HVI_SETTING_FLAG, &book.pages, .help = "the names of all pages"});
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  const char *name = args.operand_count > 0 ? args.operands[0] : "";
  const char *verb = args.operand_count > 1 ? args.operands[1] : "";
  snprintf(book.wanted, sizeof book.wanted, "%s%s%s", name, *verb ? " " : "", verb);
  if (*name && !hvi_verb_find(hvi_commands, name)) return hvi_command_unknown(name);
  if (book.pages) puts(page_name(""));
  if (!*name && !book.pages) put_overview();
  hvi_args_visitor = visit;
  for (const hvi_verb *c = hvi_commands; c->name; c++) turn_to(c, NULL);
  return book.found || !*name ? HVI_EXIT_DONE : hvi_misuse("%s has no '%s'", name, verb);
}
