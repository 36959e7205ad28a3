/* Running gnuplot as a program, without a shell and with its output captured. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/plot.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NO_FOLDER = 126, STEM_SIZE = 48 };

/* The child: only calls that are safe after fork in a program with threads. The script's name
 * begins with "./", so that it is no option and no command. */
static void become_gnuplot(const char *folder, char *script, char *assign, int output) {
  char program[] = "gnuplot", defaults[] = "-d"; /* without the user's start-up file */
  char before[] = "-e";
  char *const argv[] = {program, defaults, before, assign, script, NULL};
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

static hvi_status start(pid_t *child, int *input, const char *folder, char *script, char *assign,
                        hvi_error *err) {
  int ends[2];
  if (pipe(ends) != 0) return hvi_error_system(err, "open a pipe to", "gnuplot");
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  *child = fork();
  if (*child == 0) become_gnuplot(folder, script, assign, ends[1]);
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

/* Runs the script. What it draws is called STEM.png and STEM.svg. */
static hvi_status run(const char *folder, char *script, const char *stem, char note[HVI_PLOT_NOTE],
                      hvi_error *err) {
  char assign[STEM_SIZE + 16], complaint[256] = "";
  pid_t child = 0;
  int input = -1;
  snprintf(assign, sizeof assign, "stem='./%s'", stem);
  hvi_status status = start(&child, &input, folder, script, assign, err);
  if (status != HVI_OK) return status;
  read_complaint(input, complaint, sizeof complaint);
  close(input);
  const int code = wait_for(child);
  if (code == NOT_FOUND)
    snprintf(note, HVI_PLOT_NOTE,
             "%s/%s is written but not drawn: gnuplot is not installed (Debian: gnuplot-nox)",
             folder, script + 2);
  else if (code != 0)
    status = hvi_error_set(err, HVI_ERROR_IO,
                           "%s/%s is written but not drawn: gnuplot ended with status %d%s%s",
                           folder, script + 2, code, *complaint ? ": " : "", complaint);
  return status;
}

/* A picture's last bytes, blanks apart, say that it is whole. */
static bool is_whole(FILE *file, const char *ending) {
  static const char png_end[] = "\0\0\0\0IEND\xae\x42\x60\x82", svg_end[] = "</svg>";
  const bool png = strcmp(ending, ".png") == 0;
  const size_t size = png ? sizeof png_end - 1 : sizeof svg_end - 1;
  char end[16];
  if (fseek(file, -(long)sizeof end, SEEK_END) != 0) return false;
  size_t length = fread(end, 1, sizeof end, file);
  while (!png && length > 0 && end[length - 1] == '\n') length--;
  return length >= size && memcmp(end + length - size, png ? png_end : svg_end, size) == 0;
}

/* Puts a picture that is whole in its place, with the mode of the one that it replaces. */
static hvi_status settle(const char *from, const char *to, const char *ending, hvi_error *err) {
  struct stat old;
  hvi_status status = HVI_OK;
  FILE *file = fopen(from, "r");
  if (!file || !is_whole(file, ending)) {
    status =
        hvi_error_set(err, HVI_ERROR_IO, "cannot write '%s': the picture is %s; is the disk full?",
                      to, file ? "cut short" : "missing");
  }
  if (status == HVI_OK) status = hvi_file_sync(fileno(file), to, err);
  if (file) fclose(file);
  if (status == HVI_OK && stat(to, &old) == 0) chmod(from, old.st_mode & 07777);
  if (status == HVI_OK && rename(from, to) != 0) status = hvi_error_system(err, "create", to);
  return status == HVI_OK ? hvi_folder_sync(to, err) : status;
}

hvi_status hvi_plot_draw(const char *folder, const char *name, char note[HVI_PLOT_NOTE],
                         hvi_error *err) {
  char stem[STEM_SIZE];
  hvi_text script = {0};
  note[0] = '\0';
  snprintf(stem, sizeof stem, ".hvi-drawing-%lx", (unsigned long)getpid());
  hvi_text_add(&script, "./%s.gp", name);
  hvi_status status =
      script.failed ? hvi_error_memory(err, name) : run(folder, script.data, stem, note, err);
  hvi_text_free(&script);
  static const char *const endings[] = {".png", ".svg"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings && !*note; i++) {
    char *from = hvi_path_join(folder, stem, endings[i]),
         *to = hvi_path_join(folder, name, endings[i]);
    if (status == HVI_OK)
      status = from && to ? settle(from, to, endings[i], err) : hvi_error_memory(err, "a path");
    if (status != HVI_OK && from) unlink(from);
    hvi_free(from);
    hvi_free(to);
  }
  return status;
}
