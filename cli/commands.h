/*
 * The sub-commands with what they are written with, and the names that their operands and options
 * take.
 *
 * A usage ("ENV --policy FILE") and the name of an option's value ("METHOD") say what belongs there:
 * completion and the manual go by these words.
 */
#pragma once

#include "args.h"
#include "json.h"
#include "report/claims.h"
#include "talk.h"

#include <hvi/builtin.h>

extern const hvi_verb hvi_commands[];
/* Complains of a name that is none of them. */
int hvi_command_unknown(const char *name);

/* What a word such as ENV stands for: all names, each with half a line about it. */
typedef void hvi_each(const char *name, const char *about);
typedef struct hvi_vocabulary {
  const char *word;
  void (*list)(hvi_each *each);
} hvi_vocabulary;
extern const hvi_vocabulary hvi_vocabularies[]; /* ending in a word of NULL */
/* NULL for a name of one of these vocabularies, which have blanks between; otherwise the nearest, or
 * the advice, as hvi_did_you_mean has it. */
const char *hvi_name_unknown(const char *vocabularies, const char *word, const char *advice);

/* Problems as code: NAME.c is compiled by the machine's compiler into a folder that is gone afterwards,
 * and NAME.so is loaded as it is (docs/own-problems.md). The second one complains itself, and returns
 * the exit code. code.c */
hvi_status hvi_code_load(const hvi_builtin **problem, const char *path, hvi_error *err);
int hvi_code_find(const hvi_builtin **problem, const char *path);

int hvi_cli_solve(int argc, char **argv);
int hvi_cli_check(int argc, char **argv);
int hvi_cli_inspect(int argc, char **argv);
int hvi_cli_reproduce(int argc, char **argv);
int hvi_cli_bench(int argc, char **argv);
int hvi_cli_env(int argc, char **argv);
int hvi_cli_policy(int argc, char **argv);
int hvi_cli_policy_train(int argc, char **argv); /* a verb of it */
int hvi_cli_data(int argc, char **argv);
int hvi_cli_testset(int argc, char **argv);
int hvi_cli_evaluate(int argc, char **argv);
int hvi_cli_merge(int argc, char **argv);
int hvi_cli_list(int argc, char **argv);
int hvi_cli_info(int argc, char **argv);
/* The program, the machine, the time and this command. */
hvi_made hvi_made_now(int argc, char **argv);
int hvi_cli_man(int argc, char **argv);
int hvi_cli_completion(int argc, char **argv);
/* What the scripts of `hvi completion` ask for; argv is the command line, to the cursor. */
int hvi_cli_complete(int argc, char **argv);
