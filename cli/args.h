/*
 * The command line of a sub-command, read from a table of options.
 *
 *   double eta = 0.1;
 *   hvi_args args = {"solve", "PROBLEM [OPTION]...", summary, examples, .operand = "problem"};
 *   hvi_args_add(&args, (hvi_arg[]){
 *     {.name = "eta", .kind = HVI_ARG_REAL, .to = &eta, .range = "(0,inf)", .value = "X",
 *      .help = "step size of the outer loop (0.1)"},
 *     {0}});
 *   int code;
 *   if (!hvi_args_parse(&args, argc, argv, &code)) return code;   // --help, or a mistake
 *
 * `--name value` and `--name=value` are the same; options and operands may be mixed; `--` ends the
 * options; when an option is repeated the last one counts. --help (-h) is added to every table.
 * A mistake is one line on stderr, and the exit code is HVI_EXIT_USAGE.
 */
#pragma once

#include <hvi/setting.h>

/* Kinds of settings, and one that only a command line has. */
typedef enum hvi_arg_kind {
  HVI_ARG_SECTION = HVI_SETTING_SECTION, /* no option: `name` is a title in the help */
  HVI_ARG_FLAG = HVI_SETTING_FLAG,       /* bool *: set to true, by --no-name to false */
  HVI_ARG_REAL = HVI_SETTING_REAL,       /* double *: finite */
  HVI_ARG_SIZE = HVI_SETTING_COUNT,      /* size_t *: 0, 1, ...; 1e3 will do */
  HVI_ARG_SEED = HVI_SETTING_SEED,       /* uint64_t * */
  HVI_ARG_CHOICE = HVI_SETTING_CHOICE,   /* int *: position in `range`, as in "one|two|three" */
  HVI_ARG_TEXT = HVI_SETTING_TEXT,       /* const char **: points into argv */
  HVI_ARG_TEXTS = 100                    /* hvi_texts *: may be given several times */
} hvi_arg_kind;

typedef struct hvi_arg {
  const char *name; /* without the dashes; NULL ends a table */
  char letter;      /* as in -q; 0: none */
  hvi_arg_kind kind;
  void *to;
  const char *range;          /* an interval such as "(0,1)", or the choices; NULL: anything */
  const char *value;          /* what the help calls the value; NULL: as its kind is called */
  const char *help;           /* it is broken into lines; \n breaks too */
  const hvi_setting *setting; /* row of a table; `to` is then the struct */
  bool given;                 /* set by the parser */
} hvi_arg;

enum { HVI_ARGS_MAX = 96, HVI_TEXTS_MAX = 64, HVI_OPTION_SIZE = 64 };

typedef struct hvi_texts {
  size_t count;
  const char *items[HVI_TEXTS_MAX];
} hvi_texts;

typedef struct hvi_args {
  const char *command;  /* "solve" */
  const char *usage;    /* what follows it: "PROBLEM [OPTION]..." */
  const char *summary;  /* what it does, a line or more, without a newline at the end */
  const char *examples; /* lines for the EXAMPLES section, without a newline at the end */
  size_t min, max;      /* how many operands; max 0 with an `operand`: exactly one */
  const char *operand;  /* what an operand is, for "needs a ..." */
  /* filled in */
  hvi_arg rows[HVI_ARGS_MAX];
  size_t count;
  char **operands; /* [operand_count], in argv */
  size_t operand_count;
} hvi_args;

/* Adds the rows of a table that ends in a NULL name. */
void hvi_args_add(hvi_args *args, const hvi_arg *table);
/* Adds --json. */
void hvi_args_json(hvi_args *args, bool *json);
/* Adds an option for each setting of a table, except for those that `left_out` names, as words with
 * blanks between; NULL: all. */
void hvi_args_settings(hvi_args *args, const hvi_setting_table *table, void *settings,
                       const char *left_out);

/* Fills the destinations. False: the command is over, with *code. Reorders argv. */
bool hvi_args_parse(hvi_args *args, int argc, char **argv, int *code);

/* Whether an option stood on the command line; '-' and '_' are the same in names. */
bool hvi_args_given(const hvi_args *args, const char *name);

/* "--inner-lr" */
const char *hvi_args_name(const hvi_arg *row, char text[HVI_OPTION_SIZE]);
/* Prints "  --name  value  help" to stdout. */
void hvi_args_line(const hvi_setting *row, const char *value);

/* A sub-command of a sub-command: `hvi env replay`. */
typedef struct hvi_verb {
  const char *name;
  int (*run)(int argc, char **argv); /* argv[0] is the verb */
} hvi_verb;

/* Runs the verb that argv[1] names, out of a table that ends with a name of NULL. Without one it
 * answers --help from args, or says which verbs there are. Returns the exit code. */
int hvi_args_verb(hvi_args *args, const hvi_verb *verbs, int argc, char **argv);
