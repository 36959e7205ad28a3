/*
 * The command line of a sub-command, read from a table of options.
 *
 *   double eta = 0.1;
 *   hvi_args args = {"solve", "PROBLEM [OPTION]...", .operand = "problem"};   // and help/solve.txt
 *   hvi_args_add(&args, {.name = "eta", .kind = HVI_SETTING_REAL, .to = &eta, .range = "(0,inf)",
 *                        .help = "step size of the outer loop (0.1)"});
 *   HVI_STEP(hvi_args_parse(&args, argc, argv));   // --help, or a mistake
 *
 * `--name value` and `--name=value` are the same; options and operands may be mixed; `--` ends the
 * options; when an option is repeated the last one counts. --help (-h) is added to every table.
 * A mistake is one line on stderr, and the exit code is HVI_EXIT_USAGE.
 */
#pragma once

#include <hvi/setting.h>

typedef struct hvi_arg {
  const char *name;      /* without the dashes; NULL ends a table */
  char letter;           /* as in -q; 0: none */
  hvi_setting_kind kind; /* of a section `name` is the title; a text points into argv */
  void *to;              /* what it sets: a flag by --no-name to false */
  const char *range;     /* an interval such as "(0,1)"; NULL: anything */
  const char *value;     /* what the help calls the value; NULL: as its kind is called */
  bool repeats;          /* a text that may be given several times: hvi_texts * */
  const char *help;      /* it is broken into lines; \n breaks too */
  hvi_setting setting;   /* the row of a table, `to` being the struct, or made up of the above */
  char option[64];       /* "--inner-lr" */
  const char *given;     /* set by the parser: its text, the last one; NULL: not given */
} hvi_arg;

enum { HVI_ARGS_MAX = 96, HVI_TEXTS_MAX = 64 };

typedef struct hvi_texts {
  size_t count;
  const char *items[HVI_TEXTS_MAX];
} hvi_texts;

/* A sub-command, and a sub-command of one: `hvi env replay`. Tables end in a name of NULL. */
typedef struct hvi_verb {
  const char *name;
  int (*run)(int argc, char **argv); /* argv[0] is the name; the result is the exit code */
  const char *summary;               /* half a line */
  const char *usage;                 /* its first operand */
} hvi_verb;

typedef struct hvi_args {
  const char *command; /* "solve" */
  const char *usage;   /* what follows it: "PROBLEM [OPTION]..." */
  size_t min, max;     /* how many operands; max 0 with an `operand`: exactly one */
  const char *operand; /* what an operand is, for "needs a ..." */
  const char *also;    /* which of --json, --force, -q and -v it has: "json force quiet verbose" */
  /* filled in */
  const char *summary, *examples; /* from help/COMMAND.txt: what it does, and lines for EXAMPLES */
  const hvi_verb *verbs;          /* by hvi_args_verb */
  hvi_arg rows[HVI_ARGS_MAX];
  size_t count;
  char **operands; /* [operand_count], in argv */
  size_t operand_count;
} hvi_args;

#define hvi_args_add(args, ...) hvi_args_add_rows(args, (const hvi_arg[]){__VA_ARGS__, {0}})
void hvi_args_add_rows(hvi_args *args, const hvi_arg *table);
/* Adds -j, --jobs: 0, which is what *threads should be before, is one per core. */
void hvi_args_jobs(hvi_args *args, size_t *threads);
/* For commands with --force, of every file that they write before they begin: an exit code when
 * something is there that does not have the mark (hvi_file_ours). path NULL: fine. */
int hvi_output_check(const char *path, const char *mark);
int hvi_output_check_in(const char *folder, const char *name, const char *mark);
/* Adds an option for each setting of a table, except for those that `left_out` names, as words with
 * blanks between; NULL: all. */
void hvi_args_settings(hvi_args *args, const hvi_setting_table *table, void *settings,
                       const char *left_out);

/* Fills the destinations; the exit code. Reorders argv. */
int hvi_args_parse(hvi_args *args, int argc, char **argv);

/* When set, hvi_args_parse calls it and returns HVI_EXIT_HELP: the way to the tables of every command,
 * for completion and the manual. */
extern void (*hvi_args_visitor)(hvi_args *args, int argc, char **argv);
/* The reading alone, which does not ask whether there are too few operands, or too many. */
int hvi_args_read(hvi_args *args, int argc, char **argv);

/* Whether an option stood on the command line; '-' and '_' are the same in names. */
bool hvi_args_given(const hvi_args *args, const char *name);
/* The row of "--eta", "--eta=1" or "-o"; NULL: none. */
hvi_arg *hvi_args_find(hvi_args *args, const char *word);
/* What the help calls the value; the default as text, or "" where there is none worth telling. */
const char *hvi_arg_value(const hvi_arg *row);
const char *hvi_arg_default(const hvi_arg *row);

/* Prints "  --name  value  help" to stdout. */
void hvi_args_line(const hvi_setting *row, const char *value);

/* NULL: there is none. */
const hvi_verb *hvi_verb_find(const hvi_verb *verbs, const char *name);
/* Runs the verb that argv[1] names. Without one it
 * answers --help from args, or says which verbs there are. Returns the exit code. */
int hvi_args_verb(hvi_args *args, const hvi_verb *verbs, int argc, char **argv);
