/*
 * The command line of a sub-command, read from a table of options.
 *
 *   double eta = 0.1;
 *   hvi_args args = {.command = "solve", .usage = "PROBLEM [OPTION]...", .min = 1, .max = 1, ...};
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
#ifndef HVI_CLI_ARGS_H
#define HVI_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hvi_arg_kind {
  HVI_ARG_SECTION, /* no option: `name` is a title in the help */
  HVI_ARG_FLAG,    /* bool *: set to true */
  HVI_ARG_REAL,    /* double *: finite */
  HVI_ARG_SIZE,    /* size_t *: 0, 1, ...; 1e3 will do */
  HVI_ARG_SEED,    /* uint64_t * */
  HVI_ARG_CHOICE,  /* int *: position in `range`, as in "plain|optimistic|averaged" */
  HVI_ARG_TEXT,    /* const char **: points into argv */
  HVI_ARG_TEXTS    /* hvi_texts *: may be given several times */
} hvi_arg_kind;

typedef struct hvi_arg {
  const char *name; /* without the dashes; NULL ends a table */
  char letter;      /* as in -q; 0: none */
  hvi_arg_kind kind;
  void *to;
  const char *range; /* an interval such as "(0,1)", "[0,inf)", or the choices; NULL: anything */
  const char *value; /* what the help calls the value: "X", "FILE" */
  const char *help;  /* one line, or several separated by \n */
  bool given;        /* set by the parser */
} hvi_arg;

enum { HVI_ARGS_MAX = 96, HVI_TEXTS_MAX = 64 };

typedef struct hvi_texts {
  size_t count;
  const char *items[HVI_TEXTS_MAX];
} hvi_texts;

typedef struct hvi_args {
  const char *command;  /* "solve" */
  const char *usage;    /* what follows it: "PROBLEM [OPTION]..." */
  const char *summary;  /* what it does, a line or more, without a newline at the end */
  const char *examples; /* lines for the EXAMPLES section, without a newline at the end */
  size_t min, max;      /* how many operands */
  const char *operand;  /* what an operand is, for "needs a ..." */
  /* filled in */
  hvi_arg rows[HVI_ARGS_MAX];
  size_t count;
  char **operands; /* [operand_count], in argv */
  size_t operand_count;
} hvi_args;

/* Adds the rows of a table that ends in a NULL name. */
void hvi_args_add(hvi_args *args, const hvi_arg *table);

/* Fills the destinations. False: the command is over, with *code. Reorders argv. */
bool hvi_args_parse(hvi_args *args, int argc, char **argv, int *code);

/* Whether an option stood on the command line. */
bool hvi_args_given(const hvi_args *args, const char *name);

/* Prints the help to stdout. */
void hvi_args_help(const hvi_args *args);

/* The position of a word in "one|two|three", or -1. */
int hvi_choice_find(const char *choices, const char *word);
/* Word number `index` of them, copied to text. */
const char *hvi_choice_name(const char *choices, int index, char *text, size_t size);

#endif
