/* hvi: the program. Finds the sub-command and makes sure that what it printed has arrived. */
#include "base/base.h"
#include "base/blas.h"
#include "base/embedded.h"
#include "commands.h"
#include "share.h"

#include <cblas.h>
#include <hvi/version.h>
#include <jansson.h>

#include <fcntl.h>

HVI_ROWS(const hvi_verb hvi_commands[],
    {"solve", hvi_cli_solve, "solve a built-in problem or your own: YAML, a C file, a shared library", "PROBLEM"},
    {"check", hvi_cli_check, "what kind of problem it is, and whether its derivatives and sets are right", "PROBLEM"},
    {"inspect", hvi_cli_inspect, "what theory says about a problem and a method, and what to change", "PROBLEM"},
    {"reproduce", hvi_cli_reproduce, "the figures and claims of the paper", "[ID...]"},
    {"bench", hvi_cli_bench, "speed, as ratios to limits measured in the same run", "[NAME]"},
    {"env", hvi_cli_env, "environments: what there is, replays of actions, speed", "VERB"},
    {"policy", hvi_cli_policy, "policies: training by soft actor-critic, scores", "VERB"},
    {"data", hvi_cli_data, "transitions of a policy as a file, and what such files hold", "VERB"},
    {"testset", hvi_cli_testset, "states that a policy visits, with their Monte-Carlo values", "ENV"},
    {"evaluate", hvi_cli_evaluate, "a value network for a policy or its transitions, and how good it is", "ENV"},
    {"merge", hvi_cli_merge, "parts of a run (--part K/N) become the whole", "DIR..."},
    {"list", hvi_cli_list, "problems, methods, optimizers, experiments and their kinds", "[NAME]"},
    {"info", hvi_cli_info, "version, compiler, processor, libraries", ""},
    {"man", hvi_cli_man, "the manual page of a command", "[COMMAND]"},
    {"completion", hvi_cli_completion, "completion of command lines for bash, zsh and fish", "SHELL"},
    {0});

enum { COMMAND_COUNT = sizeof hvi_commands / sizeof *hvi_commands - 1 };

static void print_usage(FILE *out) {
  fputs("usage: hvi COMMAND [ARGUMENT]...\n\n"
        "Solves hidden monotone variational inequalities with surrogate losses.\n\n"
        "commands:\n",
        out);
  for (const hvi_verb *c = hvi_commands; c->name; c++)
    fprintf(out, "  %-10s %-9s  %s\n", c->name, c->usage, c->summary);
  fprintf(out, "\n%s", hvi_embedded_find(hvi_embedded_help, "hvi"));
}

int hvi_command_unknown(const char *name) {
  const char *names[COMMAND_COUNT + 2] = {[COMMAND_COUNT] = "help"};
  for (size_t i = 0; i < COMMAND_COUNT; i++) names[i] = hvi_commands[i].name;
  return hvi_misuse("there is no command '%s'%s", name,
                    hvi_did_you_mean(name, names, "'hvi --help' lists them"));
}

static bool asks_for_help(const char *word) {
  return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* `hvi help NAME VERB`, which stands for `hvi NAME VERB --help`. */
static int help(int argc, char **argv) {
  char dashes[] = "--help";
  if (argc == 0 || asks_for_help(argv[0])) {
    print_usage(stdout);
    return HVI_EXIT_DONE;
  }
  const hvi_verb *c = hvi_verb_find(hvi_commands, argv[0]);
  if (!c) return hvi_command_unknown(argv[0]);
  return c->run(argc == 1 ? 2 : 3, (char *[]){argv[0], argc == 1 ? dashes : argv[1], dashes, NULL});
}

static int dispatch(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stderr);
    return HVI_EXIT_USAGE;
  }
  const char *name = argv[1];
  if (asks_for_help(name)) return help(argc - 2, argv + 2);
  if (strcmp(name, "complete") == 0) return hvi_cli_complete(argc - 2, argv + 2);
  if (strcmp(name, "--version") == 0) {
    if (argc > 2) return hvi_misuse("--version stands alone: 'hvi --version'");
    printf("hvi %s\n", hvi_version());
    return HVI_EXIT_DONE;
  }
  if (name[0] == '-') return hvi_misuse("a command comes first, then its options; not '%s'", name);
  const hvi_verb *c = hvi_verb_find(hvi_commands, name);
  return c ? c->run(argc - 1, argv + 1) : hvi_command_unknown(name);
}

/* A full disk or a closed pipe shows here at the latest. Of a reader that has left, as `head` does,
 * nothing is said. */
static int close_stdout(int code) {
  errno = 0;
  const bool failed =
      fflush(stdout) != 0 || ferror(stdout) != 0; /* the reader may leave just here */
  const bool left = errno == EPIPE || hvi_reader_left();
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

/* OpenBLAS asks this when it is loaded, before main, and would look at OPENBLAS_NUM_THREADS. The
 * program needs none of its threads: its own work in fixed chunks, and where memory is short those of
 * OpenBLAS never stop asking for it. */
__attribute__((visibility("default"))) int openblas_num_threads_env(void);
int openblas_num_threads_env(void) { return 1; }

/* Before that it reads other variables, and then chooses kernels by the type of processor: for one
 * that it does not know, the slowest. */
__attribute__((visibility("default"))) void openblas_read_env(void);
void openblas_read_env(void) {
  const char *core = hvi_blas_core(hvi_cpu_level());
  if (core) setenv("OPENBLAS_CORETYPE", core, 0);
}

/* A report of coverage, where the program was built for one, is written here and not by exit. */
extern void __gcov_dump(void) __attribute__((weak));

/* Leaves at once: what was printed has arrived, and what was written is on the disk. A normal exit
 * would run the shutdown of libraries, which may wait for threads of theirs. */
_Noreturn static void leave(int code) {
  fflush(stderr);
  if (__gcov_dump) __gcov_dump();
  _exit(code);
}

/* Where its buffer cannot grow, Jansson (2.14, lex_scan_string) loses letters and writes beyond it. So
 * without memory for JSON the program ends here, while other threads may compute. */
static void *json_memory(size_t size) {
  void *p = malloc(size);
  if (!p) leave(hvi_complain(HVI_EXIT_SYSTEM, "out of memory for JSON"));
  return p;
}

int main(int argc, char **argv) {
  occupy_standard_streams();
  json_set_alloc_funcs(json_memory, free);
  hvi_talk_start();
  openblas_set_num_threads(1); /* where it has not asked */
  int code = hvi_cpu_level_check(&hvi_fault) ? hvi_complain_fault() : hvi_share_open(argc, argv);
  if (!code) code = dispatch(argc, argv);
  code = hvi_share_close(code == HVI_EXIT_HELP ? HVI_EXIT_DONE : code);
  code = close_stdout(hvi_signals_exit(code));
#if defined(HVI_NORMAL_EXIT)
  return code; /* sanitizers report on the normal path */
#else
  leave(code);
#endif
}
