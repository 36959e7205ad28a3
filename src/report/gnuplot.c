/* Running gnuplot as a program, without a shell and with its output captured. */
#include "base/error.h"
#include "base/memory.h"
#include "report/plot.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NO_FOLDER = 126 };

/* The child: only calls that are safe after fork in a program with threads. */
static void become_gnuplot(const char *folder, char *script, int output) {
  char program[] = "gnuplot", defaults[] = "-d"; /* without the user's start-up file */
  char *const argv[] = {program, defaults, script, NULL};
  int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (chdir(folder) != 0) _exit(NO_FOLDER);
  execvp(program, argv);
  _exit(NOT_FOUND);
}

/* Keeps the first line that says something; reads to the end so that the child never blocks. */
static void read_complaint(int input, char *line, size_t size) {
  char buffer[512];
  size_t used = 0;
  bool done = false;
  for (;;) {
    ssize_t n = read(input, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    for (ssize_t i = 0; i < n && !done; i++) {
      if (buffer[i] == '\n')
        done = used > 0 && strstr(line, "line ") != NULL;
      else if (used + 1 < size)
        line[used++] = buffer[i];
      line[used] = '\0';
      if (buffer[i] == '\n' && !done) line[used = 0] = '\0';
    }
  }
}

static hvi_status start(pid_t *child, int *input, const char *folder, char *script,
                        hvi_error *err) {
  int ends[2];
  if (pipe(ends) != 0) return hvi_error_system(err, "open a pipe to", "gnuplot");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  *child = fork();
  if (*child == 0) become_gnuplot(folder, script, ends[1]);
  hvi_status status = HVI_OK;
  if (*child < 0) {
    status = hvi_error_system(err, "start", "gnuplot");
    close(ends[0]);
  }
  close(ends[1]);
  *input = ends[0];
  return status;
}

static int wait_for(pid_t child) {
  int state = 0;
  while (waitpid(child, &state, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static void explain(char *note, size_t size, const char *folder, const char *script, int code,
                    const char *complaint) {
  if (code == NOT_FOUND)
    snprintf(note, size,
             "%s/%s is written but not drawn: gnuplot is not installed (Debian: gnuplot-nox)",
             folder, script);
  else
    snprintf(note, size, "%s/%s is written but not drawn: gnuplot ended with status %d%s%s", folder,
             script, code, *complaint ? ": " : "", complaint);
}

hvi_status hvi_plot_draw(const char *folder, const char *name, bool *drawn, char *note, size_t size,
                         hvi_error *err) {
  *drawn = false;
  if (size) note[0] = '\0';
  hvi_text script = {0};
  hvi_text_add(&script, "%s.gp", name);
  if (script.failed) return hvi_error_memory(err, name);
  pid_t child = 0;
  int input = -1;
  hvi_status status = start(&child, &input, folder, script.data, err);
  if (status == HVI_OK) {
    char complaint[256] = "";
    read_complaint(input, complaint, sizeof complaint);
    close(input);
    int code = wait_for(child);
    *drawn = code == 0;
    if (!*drawn) explain(note, size, folder, script.data, code, complaint);
  }
  hvi_text_free(&script);
  return status;
}
