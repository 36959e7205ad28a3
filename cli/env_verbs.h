/* The verbs of `hvi env`; argv[0] is the verb. */
#ifndef HVI_CLI_ENV_VERBS_H
#define HVI_CLI_ENV_VERBS_H

int hvi_cli_env_replay(int argc, char **argv);
int hvi_cli_env_bench(int argc, char **argv);

#endif
