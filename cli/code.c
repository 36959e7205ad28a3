#define _GNU_SOURCE /* ST_NOEXEC, nftw */
#include "base/base.h"
#include "base/module.h"
#include "commands.h"

#include <hvi/plugin.h>

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST_WORDS = 250, NOT_FOUND = 127 };

/* A command line under construction. No shell sees it. */
typedef struct command {
  char text[1 << 15]; /* its words */
  char *argv[MOST_WORDS + 1];
  size_t used, count;
  bool failed; /* there was no room */
} command;

static void add_word(command *c, const char *begin, const char *text, size_t length) {
  const size_t room = sizeof c->text - c->used;
  char *word = c->text + c->used;
  const int size = snprintf(word, room, "%s%.*s", begin, (int)length, text) + 1;
  if ((size_t)size > room || c->count == MOST_WORDS) c->failed = true;
  if (c->failed) return;
  c->argv[c->count++] = word;
  c->used += (size_t)size;
}

static void add_path(command *c, const char *begin, const char *path) {
  add_word(c, begin, path, strlen(path));
}

/* Each word of a text, as the shell would cut it where nothing is quoted. */
static void add_words(command *c, const char *text) {
  static const char blanks[] = " \t\n";
  for (size_t n; text && *(text += strspn(text, blanks)); text += n)
    add_word(c, "", text, n = strcspn(text, blanks));
}

static bool has_headers(const char *folder) {
  char path[PATH_MAX + 96];
  snprintf(path, sizeof path, "%s/hvi/plugin.h", folder);
  return access(path, R_OK) == 0;
}

static bool ask_pkg_config(command *c) {
  char said[4096];
  FILE *pipe = popen("pkg-config --cflags hvi 2>/dev/null", "r");
  if (!pipe) return false;
  said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
  const bool known = pclose(pipe) == 0;
  if (known) add_words(c, said);
  return known;
}

/* The headers: where HVI_INCLUDE says, where they lie as seen from the program (installed, or in a
 * source tree), or where pkg-config says. */
static hvi_status add_headers(command *c, hvi_error *err) {
  char folder[PATH_MAX + 64] = "", program[PATH_MAX];
  const char *told = getenv("HVI_INCLUDE");
  if (hvi_program_folder(program))
    snprintf(folder, sizeof folder, "%s/" HVI_INCLUDE_FOLDER, program);
  if ((told && *told) || has_headers(folder))
    add_path(c, "-I", told && *told ? told : folder);
  else if (!ask_pkg_config(c))
    return hvi_error_unsupported(
        err,
        "no headers of hvi in '%s', and pkg-config knows none (Debian: libhvi-dev); "
        "HVI_INCLUDE can name their folder",
        folder);
  return HVI_OK;
}

/* cc -shared ... -o OBJECT SOURCE, with the variables that make has too. */
static hvi_status make_command(command *c, const char *source, const char *object, hvi_error *err) {
  add_words(c, getenv("CC"));
  if (c->count == 0) add_words(c, "cc");
  add_words(c, "-shared -fPIC -O2 -Wall -ffp-contract=off");
  HVI_TRY(add_headers(c, err));
  add_words(c, getenv("CPPFLAGS"));
  add_words(c, getenv("CFLAGS"));
  add_words(c, getenv("LDFLAGS"));
  add_words(c, "-o");
  add_path(c, "", object);
  add_path(c, *source == '/' ? "" : "./", source); /* no option, whatever it is called */
  add_words(c, getenv("LDLIBS"));
  add_words(c, "-lm");
  return c->failed
             ? hvi_error_input(err,
                               "CC, CFLAGS and the like have more than %d words or are too long",
                               (int)MOST_WORDS)
             : HVI_OK;
}

/* The child: only calls that are safe after fork in a program with threads. */
static void become(command *c) {
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO); /* what it has to say is talk */
  signal(SIGPIPE, SIG_DFL);
  execvp(c->argv[0], c->argv);
  _exit(NOT_FOUND);
}

static hvi_status run(command *c, const char *source, hvi_error *err) {
  const struct timespec pause = {.tv_nsec = 2000000};
  int state = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) become(c);
  if (child < 0) return hvi_error_system(err, "start", c->argv[0]);
  while (waitpid(child, &state, WNOHANG) == 0) {
    if (hvi_signals_interrupted()) kill(child, SIGTERM);
    nanosleep(&pause, NULL);
  }
  if (hvi_signals_interrupted())
    return hvi_error_io(err, "interrupted while '%s' compiled", source);
  if (WIFEXITED(state) && WEXITSTATUS(state) == NOT_FOUND)
    return hvi_error_unsupported(
        err, "there is no compiler '%s' for '%s' (Debian: gcc); CC can name another", c->argv[0],
        source);
  if (state) return hvi_error_input(err, "'%s' does not compile; see %s above", source, c->argv[0]);
  return HVI_OK;
}

/* A folder of its own under TMPDIR. What lies there must be allowed to run. */
static hvi_status make_folder(char folder[PATH_MAX], hvi_error *err) {
  const char *under = getenv("TMPDIR");
  struct statvfs about;
  if (!under || !*under) under = "/tmp";
  if (statvfs(under, &about) == 0 && (about.f_flag & ST_NOEXEC))
    return hvi_error_unsupported(
        err,
        "'%s' is mounted noexec, so that code cannot be compiled there; TMPDIR can name "
        "another folder",
        under);
  snprintf(folder, PATH_MAX, "%.*s/hvi-XXXXXX", PATH_MAX - 300, under);
  return mkdtemp(folder) ? HVI_OK : hvi_error_system(err, "make a folder in", under);
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about, (void)kind, (void)where;
  remove(path);
  return 0;
}

static hvi_status compile(const hvi_builtin **problem, const char *source, hvi_error *err) {
  char folder[PATH_MAX], object[PATH_MAX + 300];
  const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;
  struct stat about;
  if (stat(source, &about) != 0 || access(source, R_OK) != 0)
    return hvi_error_system(err, "open", source);
  if (!S_ISREG(about.st_mode)) return hvi_error_input(err, "'%s' is not a file", source);
  HVI_TRY(make_folder(folder, err));
  command c = {.used = 0};
  snprintf(object, sizeof object, "%s/%.*sso", folder, (int)strlen(name) - 1, name);
  hvi_status status = make_command(&c, source, object, err);
  if (!status) status = run(&c, source, err);
  if (!status) status = hvi_plugin_load(problem, object, err);
  /* refusals name the file that the user has */
  for (char *at; status && err && (at = strstr(err->text, object));)
    hvi_error_set(err, status, "%.*s%s%s", (int)(at - err->text), err->text, source,
                  at + strlen(object));
  nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS); /* what is loaded stays loaded */
  return status;
}

hvi_status hvi_code_load(const hvi_builtin **problem, const char *path, hvi_error *err) {
  *problem = NULL;
  return path[strlen(path) - 1] == 'c' ? compile(problem, path, err)
                                       : hvi_plugin_load(problem, path, err);
}

int hvi_code_find(const hvi_builtin **problem, const char *path) {
  const hvi_status status = hvi_code_load(problem, path, &hvi_fault);
  if (status && hvi_signals_interrupted()) return hvi_complain(HVI_EXIT_INTERRUPTED, "interrupted");
  hvi_signals_release();
  return status ? hvi_complain_fault() : HVI_EXIT_DONE;
}
