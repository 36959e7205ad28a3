/* hvi: the program. Finds the sub-command and makes sure that what it printed has arrived. */
#include "base/base.h"
#include "base/cpu.h"
#include "commands.h"
#include "talk.h"

#include <cblas.h>
#include <hvi/version.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* clang-format off */
static const struct command {
  const char *name, *usage, *summary;
  int (*run)(int argc, char **argv);
} commands[] = {
    {"solve", "PROBLEM", "solve a built-in problem or one from a YAML file", hvi_cli_solve},
    {"inspect", "PROBLEM", "what theory says about a problem and a method, and what to change", hvi_cli_inspect},
    {"reproduce", "[ID...]", "the figures and claims of the paper", hvi_cli_reproduce},
    {"bench", "[NAME]", "speed, as ratios to limits measured in the same run", hvi_cli_bench},
    {"env", "VERB", "environments: what there is, replays of actions, speed", hvi_cli_env},
    {"policy", "VERB", "policies: training by soft actor-critic, scores", hvi_cli_policy},
    {"data", "VERB", "transitions of a policy as a file, and what such files hold", hvi_cli_data},
    {"testset", "ENV", "states that a policy visits, with their Monte-Carlo values", hvi_cli_testset},
    {"evaluate", "ENV", "a value network for a policy or its transitions, and how good it is", hvi_cli_evaluate},
    {"list", "[NAME]", "problems, methods, optimizers, experiments and their kinds", hvi_cli_list},
    {"info", "", "version, compiler, processor, libraries", hvi_cli_info},
};
/* clang-format on */

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_usage(FILE *out) {
  fputs("usage: hvi COMMAND [ARGUMENT]...\n\n"
        "Solves hidden monotone variational inequalities with surrogate losses.\n\n"
        "commands:\n",
        out);
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    fprintf(out, "  %-9s %-8s  %s\n", commands[i].name, commands[i].usage, commands[i].summary);
  fputs("\n"
        "  hvi help COMMAND    the options of a command\n"
        "  hvi --version       the version\n"
        "\n"
        "EXAMPLES\n"
        "  hvi solve pennies --method gd --inner 10 --inner-lr 1\n"
        "  hvi inspect pennies --method gn --eta 0.1\n"
        "  hvi reproduce pennies --quick --out out\n",
        out);
}

static const struct command *find(const char *name) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

static int unknown_command(const char *name) {
  const char *names[COMMAND_COUNT + 2] = {[COMMAND_COUNT] = "help"};
  for (size_t i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
  return hvi_misuse("there is no command '%s'%s", name,
                    hvi_did_you_mean(name, names, "'hvi --help' lists them"));
}

/* `hvi help NAME`, which stands for `hvi NAME --help`. */
static int help(char *name) {
  char dashes[] = "--help";
  if (!name) {
    print_usage(stdout);
    return HVI_EXIT_DONE;
  }
  const struct command *c = find(name);
  return c ? c->run(2, (char *[]){name, dashes, NULL}) : unknown_command(name);
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stderr);
    return HVI_EXIT_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
    return help(argv[2]);
  if (strcmp(name, "--version") == 0) {
    if (argc > 2) return hvi_misuse("--version stands alone: 'hvi --version'");
    printf("hvi %s\n", hvi_version());
    return HVI_EXIT_DONE;
  }
  if (name[0] == '-') return hvi_misuse("a command comes first, then its options; not '%s'", name);
  const struct command *c = find(name);
  return c ? c->run(argc - 1, argv + 1) : unknown_command(name);
}

/* A full disk or a closed pipe shows here at the latest. Of a reader that has left, as `head` does,
 * nothing is said. */
static int close_stdout(int code) {
  const bool left = hvi_reader_left();
  errno = 0;
  const bool failed = ferror(stdout) != 0;
  if (fclose(stdout) == 0 && !failed) return code;
  if (left) return HVI_EXIT_PIPE;
  fprintf(stderr, "hvi: cannot write to standard output: %s\n",
          errno ? strerror(errno) : "a write failed");
  return HVI_EXIT_SYSTEM;
}

/* A file opened later must not take the place of a standard stream that came closed. What is put
 * there cannot be written to, so that close_stdout notices. */
static void occupy_standard_streams(void) {
  int fd;
  do fd = open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

/* A report of coverage, where the program was built for one, is written here and not by exit. */
extern void __gcov_dump(void) __attribute__((weak));

/* Leaves at once: what was printed has arrived, and what was written is on the disk. A normal exit
 * would run OpenBLAS's shutdown, which waits for its threads, and these never stop asking for
 * memory that there is not. Sanitizers report on the normal path. */
_Noreturn static void leave(int code) {
#if defined(HVI_NORMAL_EXIT)
  exit(code);
#else
  fflush(stderr);
  if (__gcov_dump) __gcov_dump();
  _exit(code);
#endif
}

int main(int argc, char **argv) {
  occupy_standard_streams();
  hvi_talk_start();
  openblas_set_num_threads(1); /* the program's own threads work in fixed chunks */
  const int code = hvi_cpu_level_check(&hvi_fault) ? hvi_complain_fault() : dispatch(argc, argv);
  leave(close_stdout(code == HVI_EXIT_HELP ? HVI_EXIT_DONE : code));
}
