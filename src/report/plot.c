/* Figures as files: the script, and what gnuplot makes of it. gnuplot runs as a program, without a shell
 * and with its output captured. */
#define _GNU_SOURCE /* memfd_create */
#include "report/plot.h"

#include "base/base.h"
#include "report/plot_data.h"
#include "report/text.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* No axis goes below: what is smaller is rounding. */
static const double LOWEST = 1e-16;

hvi_axis hvi_axis_log(const char *label, double smallest, double largest) {
  hvi_axis axis = {.label = label, .log = true};
  if (!(smallest > 0) || !(largest >= smallest) || isinf(largest)) return axis;
  axis.low = pow(10, floor(log10(fmax(smallest, LOWEST))));
  axis.high = pow(10, ceil(log10(fmax(largest, LOWEST))));
  if (axis.high <= axis.low) axis.high = 10 * axis.low;
  return axis;
}

static const char *const endings[] = {".gp", ".png", ".svg", ".json"};
enum { ENDINGS = sizeof endings / sizeof *endings, PICTURES = 3 };

static bool draws(const char *format, const char *ending) {
  return !format || strcmp(format, ending + 1) == 0;
}

/* A script has its first line as a mark. Pictures have none: they are hvi's when a script of hvi's
 * stands beside them. */
hvi_status hvi_plot_check(const char *folder, const char *name, const char *format,
                          hvi_error *err) {
  bool script = false;
  for (size_t i = 0; i < ENDINGS; i++) {
    HVI_OWN char *path = hvi_path_join(folder, name, endings[i]);
    if (!path) return hvi_error_memory(err, "a path");
    if (i == 0) script = access(path, F_OK) == 0;
    if (i > 0 && !draws(format, endings[i])) continue;
    HVI_TRY(hvi_file_ours(path, i > 0 && script ? NULL : HVI_SCRIPT_START, err));
  }
  return HVI_OK;
}

hvi_status hvi_plot_write(const char *folder, const hvi_plot *plot, hvi_error *err) {
  if (!plot->panel_count) return hvi_error_argument(err, "a figure without panels");
  HVI_OWN_BY(hvi_plot_data_clear) hvi_plot_data data = {0};
  HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
  HVI_TRY(hvi_plot_read(&data, folder, plot, err));
  HVI_TRY(hvi_plot_script(&t, plot, &data, err));
  HVI_OWN char *path = hvi_path_join(folder, plot->name, ".gp");
  if (!plot->replace) HVI_TRY(hvi_plot_check(folder, plot->name, plot->format, err));
  if (!path) return hvi_error_memory(err, plot->name);
  HVI_TRY(hvi_text_write(&t, path, err));
  return draws(plot->format, ".json") ? hvi_plot_json(folder, plot, &data, err) : HVI_OK;
}

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

/* The first line that says something. */
static void find_complaint(char *complaint, size_t size, int said) {
  char text[4096], *rest = NULL;
  text[hvi_file_read_at(said, text, sizeof text - 1, 0)] = '\0';
  for (char *l = strtok_r(text, "\n", &rest); l && !*complaint; l = strtok_r(NULL, "\n", &rest))
    if (strstr(l, "line ")) snprintf(complaint, size, "%s", l);
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
  const int said = memfd_create("gnuplot", MFD_CLOEXEC);
  snprintf(assign, sizeof assign, "stem='./%s'", stem);
  const pid_t child = said >= 0 ? fork() : -1;
  if (child == 0) become_gnuplot(folder, script, assign, said);
  const hvi_status status = child < 0 ? hvi_error_system(err, "start", "gnuplot") : HVI_OK;
  const int code = status ? 0 : wait_for(child);
  if (code) find_complaint(complaint, sizeof complaint, said);
  if (said >= 0) close(said);
  if (status) return status;
  if (code == NOT_FOUND)
    snprintf(note, HVI_PLOT_NOTE,
             "%s/%s is written but not drawn: gnuplot is not installed (Debian: gnuplot-nox)",
             folder, script + 2);
  if (code == 0 || code == NOT_FOUND) return HVI_OK;
  return hvi_error_io(err, "%s/%s is written but not drawn: gnuplot ended with status %d%s%s",
                      folder, script + 2, code, *complaint ? ": " : "", complaint);
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
  FILE *file = fopen(from, "r");
  hvi_status status =
      file && is_whole(file, ending)
          ? hvi_file_sync(fileno(file), to, err)
          : hvi_error_io(err, "cannot write '%s': the picture is %s; is the disk full?", to,
                         file ? "cut short" : "missing");
  if (file) fclose(file);
  if (status) return status;
  if (stat(to, &old) == 0) chmod(from, old.st_mode & 07777);
  return rename(from, to) == 0 ? hvi_folder_sync(to, err) : hvi_error_system(err, "create", to);
}

hvi_status hvi_plot_draw(const char *folder, const hvi_plot *plot, char note[HVI_PLOT_NOTE],
                         hvi_error *err) {
  const char *name = plot->name;
  char stem[STEM_SIZE];
  HVI_OWN char *script = hvi_path_join(".", name, ".gp");
  note[0] = '\0';
  const int start = snprintf(stem, sizeof stem, ".hvi-drawing-%08x-",
                             (unsigned)hvi_hash_bytes(HVI_HASH_START, name, strlen(name)));
  HVI_OWN char *left = hvi_path_join(folder, stem, "");
  if (left) hvi_file_sweep(left);
  snprintf(stem + start, sizeof stem - (size_t)start, "%lx", (unsigned long)getpid());
  hvi_status status = script ? run(folder, script, stem, note, err) : hvi_error_memory(err, name);
  for (size_t i = 1; i < PICTURES && !*note; i++) {
    HVI_OWN char *from = hvi_path_join(folder, stem, endings[i]);
    HVI_OWN char *to = hvi_path_join(folder, name, endings[i]);
    if (!status && draws(plot->format, endings[i]))
      status = from && to ? settle(from, to, endings[i], err) : hvi_error_memory(err, "a path");
    if (status && from) unlink(from);
  }
  return status;
}

hvi_status hvi_plot_make(const char *folder, const hvi_plot *plot, char note[HVI_PLOT_NOTE],
                         hvi_error *err) {
  HVI_TRY(hvi_plot_write(folder, plot, err));
  return hvi_plot_draw(folder, plot, note, err);
}
