#include "talk.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/suggest.h"

#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

static bool is_set(const char *variable) {
  const char *value = getenv(variable);
  return value && *value;
}

hvi_talk hvi_talk_new(void) {
  const char *term = getenv("TERM");
  hvi_talk talk = {.terminal = isatty(STDERR_FILENO) == 1};
  bool dumb = !term || strcmp(term, "dumb") == 0;
  if (dumb) talk.terminal = false;
  talk.colour = talk.terminal && !is_set("NO_COLOR");
  return talk;
}

void hvi_talk_options(hvi_talk *talk, hvi_args *args) {
  /* clang-format off */
  hvi_args_add(args, (hvi_arg[]){
      {"quiet", 'q', HVI_ARG_FLAG, &talk->quiet, .help = "say nothing but complaints"},
      {"verbose", 'v', HVI_ARG_FLAG, &talk->verbose, .help = "say more"},
      {0}});
  /* clang-format on */
}

int hvi_complain(int code, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  /* one line, whatever stood on the command line */
  for (char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
  fflush(stdout);
  fprintf(stderr, "hvi: %s\n", text);
  return code;
}

int hvi_complain_error(const hvi_error *err) {
  const hvi_status s = err->status;
  const bool system = s == HVI_ERROR_IO || s == HVI_ERROR_MEMORY;
  return hvi_complain(s == HVI_ERROR_ARGUMENT ? HVI_EXIT_USAGE
                      : system                ? HVI_EXIT_SYSTEM
                                              : HVI_EXIT_INPUT,
                      "%s", err->text);
}

void hvi_say(const hvi_talk *talk, const char *format, ...) {
  va_list args;
  if (talk->quiet) return;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
}

const char *hvi_did_you_mean(char hint[HVI_HINT_SIZE], const char *word, const char *const *names,
                             const char *advice) {
  const char *nearest = hvi_suggest(word, names);
  if (nearest)
    snprintf(hint, HVI_HINT_SIZE, "; did you mean '%s'?", nearest);
  else
    snprintf(hint, HVI_HINT_SIZE, "; %s", advice);
  return hint;
}

const char *hvi_tone_code(const hvi_talk *talk, hvi_tone tone) {
  static const char *const codes[] = {
      [HVI_PLAIN] = "\033[0m", [HVI_GOOD] = "\033[32m",  [HVI_BAD] = "\033[31m",
      [HVI_WARN] = "\033[33m", [HVI_STRONG] = "\033[1m", [HVI_FAINT] = "\033[2m",
  };
  return talk->colour ? codes[tone] : "";
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
  (void)number;
  interrupted = 1;
}

void hvi_signals_install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_handler = on_signal;
  action.sa_flags = (int)SA_RESETHAND | SA_RESTART; /* no write is cut short */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  action.sa_handler = SIG_IGN;
  action.sa_flags = 0;
  sigaction(SIGPIPE, &action, NULL);
}

bool hvi_signals_interrupted(void) { return interrupted != 0; }

hvi_progress hvi_progress_new(const hvi_talk *talk, const char *title, size_t total) {
  hvi_progress p = {.talk = talk, .total = total, .started = hvi_clock_now()};
  snprintf(p.title, sizeof p.title, "%s", title);
  p.shown = p.started;
  return p;
}

/* "2:05", or "1:02:05". */
static void format_time(char *text, size_t size, double seconds) {
  unsigned long s = seconds < 1e6 ? (unsigned long)ceil(seconds) : 1000000ul;
  if (s < 3600)
    snprintf(text, size, "%lu:%02lu", s / 60, s % 60);
  else
    snprintf(text, size, "%lu:%02lu:%02lu", s / 3600, s / 60 % 60, s % 60);
}

void hvi_progress_update(hvi_progress *p, size_t done) {
  enum { WIDTH = 30 };
  char bar[WIDTH + 1], left[32];
  if (!p->talk->terminal || p->talk->quiet || p->total == 0) return;
  double now = hvi_clock_now();
  if (now - p->shown < 0.1) return;
  p->shown = now;
  p->visible = true;
  double share = done < p->total ? (double)done / (double)p->total : 1;
  size_t filled = (size_t)(share * WIDTH);
  memset(bar, '.', WIDTH);
  memset(bar, '#', filled);
  bar[WIDTH] = '\0';
  format_time(left, sizeof left, share > 0 ? (now - p->started) * (1 / share - 1) : 1e6);
  fprintf(stderr, "\r%s [%s] %3.0f %%  %s left \033[K", p->title, bar, 100 * share, left);
  fflush(stderr);
}

bool hvi_progress_count(void *progress, size_t done, size_t total) {
  hvi_progress *p = progress;
  p->total = total;
  hvi_progress_update(p, done);
  return !hvi_signals_interrupted();
}

void hvi_progress_clear(hvi_progress *p) {
  if (!p->visible) return;
  fputs("\r\033[K", stderr);
  p->visible = false;
}
