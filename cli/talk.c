#include "talk.h"

#include "base/base.h"
#include "report/text.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

hvi_terminal hvi_talk;
hvi_error hvi_fault;

int hvi_complain(int code, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  /* one line, whatever stood on the command line */
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
  if (hvi_talk.follows) { /* hvi_share_close tells the first rank */
    if (!hvi_fault.status) hvi_error_set(&hvi_fault, HVI_ERROR_ARGUMENT, "%s", text);
    return code;
  }
  fflush(stdout);
  fprintf(stderr, "hvi: %s\n", text);
  return code;
}

bool hvi_reader_left(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

int hvi_complain_fault(void) {
  const hvi_status s = hvi_fault.status;
  if (s == HVI_ERROR_IO && strstr(hvi_fault.text, strerror(EPIPE)) && hvi_reader_left())
    return HVI_EXIT_PIPE; /* it was /dev/stdout */
  const bool system = s == HVI_ERROR_IO || s == HVI_ERROR_MEMORY;
  const int other = system ? HVI_EXIT_SYSTEM : HVI_EXIT_INPUT;
  return hvi_complain(s == HVI_ERROR_ARGUMENT ? HVI_EXIT_USAGE : other, "%s", hvi_fault.text);
}

void hvi_say(const char *format, ...) {
  va_list args;
  if (hvi_talk.quiet || hvi_talk.follows) return;
  fflush(stdout);
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
}

const char *hvi_format(const char *format, ...) {
  static char texts[8][1024];
  static size_t next;
  char *text = texts[next++ % 8];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof texts[0], format, args);
  va_end(args);
  return text;
}

const char *hvi_digits(double x, int digits, const char *unknown) {
  char number[HVI_NUMBER_SIZE];
  return isnan(x) ? unknown : hvi_format("%s", hvi_number_short(number, x, digits));
}

const char *hvi_did_you_mean(const char *word, const char *const *names, const char *advice) {
  /* a word that many other programs have */
  const char *nearest = hvi_suggest(strcmp(word, "--threads") == 0 ? "--jobs" : word, names);
  return nearest ? hvi_format("; did you mean '%s'?", nearest) : hvi_format("; %s", advice);
}

const char *hvi_toned(hvi_tone tone, const char *text) {
  static const int codes[] = {[HVI_GOOD] = 32, [HVI_BAD] = 31, [HVI_WARN] = 33, [HVI_STRONG] = 1};
  return hvi_talk.colour ? hvi_format("\033[%dm%s\033[0m", codes[tone], text) : text;
}

hvi_status hvi_draw(const char *folder, const hvi_plot *plot, const char *prefix, hvi_error *err) {
  char note[HVI_PLOT_NOTE];
  hvi_plot drawn = *plot;
  drawn.replace = hvi_talk.force;
  HVI_TRY(hvi_plot_make(folder, &drawn, note, err));
  if (*note) hvi_say("%s%s\n", prefix, note);
  return HVI_OK;
}

int hvi_figure_check(const char *folder, const char *name) {
  if (!hvi_talk.force) HVI_CALL(hvi_plot_check(folder, name, NULL, &hvi_fault));
  return HVI_EXIT_DONE;
}

int hvi_figure_check_beside(const char *csv) {
  HVI_OWN char *folder = NULL, *name = NULL;
  if (!hvi_path_split(&folder, &name, csv, ".csv"))
    return hvi_complain(HVI_EXIT_SYSTEM, "out of memory for file names");
  return hvi_figure_check(folder, name);
}

static volatile sig_atomic_t interrupted; /* the signal's number */

static void on_signal(int number) { interrupted = number; }

static void catch_signals(void (*handler)(int)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = handler;
  action.sa_flags = (int)SA_RESETHAND | SA_RESTART; /* no write is cut short */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

void hvi_talk_start(void) {
  const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
  hvi_talk.live = isatty(STDERR_FILENO) == 1 && term && strcmp(term, "dumb") != 0;
  hvi_talk.colour = hvi_talk.live && !(plain && *plain);
  catch_signals(SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of their writing */
}

static atomic_bool watched; /* somebody looks at the flag */

bool hvi_signals_interrupted(void) {
  if (!atomic_load(&watched) && !atomic_exchange(&watched, true)) catch_signals(on_signal);
  return interrupted != 0;
}

void hvi_signals_release(void) {
  if (atomic_exchange(&watched, false)) catch_signals(SIG_DFL);
}

int hvi_signals_exit(int code) {
  return code == HVI_EXIT_INTERRUPTED && interrupted == SIGTERM ? 128 + SIGTERM : code;
}

static struct {
  char title[64];
  size_t total;
  double started, shown, moved, first; /* moved: when the share became `first` */
  bool visible, told;
} bar;

void hvi_progress_start(const char *title, size_t total) {
  bar.started = bar.shown = hvi_clock_now();
  bar.total = total;
  bar.moved = bar.first = 0.0;
  bar.told = false;
  hvi_progress_title(title);
}

void hvi_progress_title(const char *title) { snprintf(bar.title, sizeof bar.title, "%s", title); }

/* "2:05", or "1:02:05". */
static const char *time_text(double seconds) {
  const unsigned long s = seconds < 1e6 ? (unsigned long)ceil(seconds) : 1000000ul;
  return s < 3600 ? hvi_format("%lu:%02lu", s / 60, s % 60)
                  : hvi_format("%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
}

/* Where there is no bar, one line says of a long run that it is long, as soon as that is known: what was
 * done before the first share, such as collecting data, is not done for each. */
static void announce(double now, double share) {
  enum { LOOK_AFTER = 3, ENOUGH = 30, LONG = 60 };
  const double least = 0.01; /* less of the whole, seen for a short time, is a guess */
  if (bar.first == 0.0) bar.moved = now, bar.first = share;
  const double passed = now - bar.moved, gained = share - bar.first;
  if (bar.told || passed < (gained < least ? ENOUGH : LOOK_AFTER) || gained <= 0.0) return;
  bar.told = true;
  const double rate = gained / passed;
  const double all = now - bar.started + (1.0 - share) / rate;
  if (all > LONG) hvi_say("hvi: %s: this takes about %s\n", bar.title, time_text(all));
}

void hvi_progress_update(size_t done) {
  static const char full[] = "##############################";
  static const char empty[] = "..............................";
  if (hvi_talk.quiet || bar.total == 0) return;
  const double now = hvi_clock_now(), share = fmin((double)done / (double)bar.total, 1.0);
  if (!hvi_talk.live) announce(now, share);
  if (!hvi_talk.live) return;
  const int width = sizeof full - 1, filled = (int)(share * width);
  if (now - bar.shown < 0.1) return;
  bar.shown = now;
  bar.visible = true;
  fprintf(stderr, "\r%s [%.*s%.*s] %3.0f %%  %s left \033[K", bar.title, filled, full,
          width - filled, empty, 100 * share,
          time_text(share > 0 ? (now - bar.started) * (1 / share - 1) : 1e6));
  fflush(stderr);
}

bool hvi_progress_count(void *nothing, size_t done, size_t total) {
  (void)nothing;
  bar.total = total;
  hvi_progress_update(done);
  return !hvi_signals_interrupted();
}

void hvi_progress_clear(void) {
  if (bar.visible) fputs("\r\033[K", stderr);
  bar.visible = false;
}

hvi_status hvi_progress_end(hvi_status status) {
  hvi_progress_clear();
  return status;
}
