/* The sub-commands. argv[0] is the command's name; the result is the exit code. */
#pragma once

int hvi_cli_solve(int argc, char **argv);
int hvi_cli_inspect(int argc, char **argv);
int hvi_cli_reproduce(int argc, char **argv);
int hvi_cli_bench(int argc, char **argv);
int hvi_cli_env(int argc, char **argv);
int hvi_cli_policy(int argc, char **argv);
int hvi_cli_policy_train(int argc, char **argv); /* a verb of it */
int hvi_cli_data(int argc, char **argv);
int hvi_cli_testset(int argc, char **argv);
int hvi_cli_evaluate(int argc, char **argv);
int hvi_cli_list(int argc, char **argv);
int hvi_cli_info(int argc, char **argv);
