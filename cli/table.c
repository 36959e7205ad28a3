#include "table.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 20 };

hvi_screen hvi_screen_new(const hvi_talk *talk, size_t every, size_t total) {
  const double unknown = 1e6;
  double last = total > 0 ? (double)total : unknown;
  return (hvi_screen){.talk = talk,
                      .every = every,
                      .factor = pow(last, 1.0 / (ROWS - 4)),
                      .bar = hvi_progress_new(talk, "solving", total)};
}

/* 1, 2, 5, 10, 20, 50, ...: the nearest from below, when it lies beyond `now`. */
static size_t round_down(double x, size_t now) {
  double unit = pow(10, floor(log10(x) + 1e-12)), lead = x / unit;
  double steps = floor(lead * 2 + 1e-9) / 2; /* to half a leading digit */
  double rounded = floor(steps * unit);
  return rounded > (double)now ? (size_t)rounded : (size_t)ceil(x);
}

size_t hvi_screen_after(size_t now, size_t every, double factor) {
  if (every > 0) return now - now % every + every;
  double next = (double)now * factor;
  if (next < (double)now + 1) return now + 1;
  return next < 1e15 ? round_down(next, now) : now + 1;
}

static const char *cell(char text[HVI_NUMBER_SIZE], double x, int digits) {
  if (isnan(x))
    snprintf(text, HVI_NUMBER_SIZE, "-");
  else
    snprintf(text, HVI_NUMBER_SIZE, "%.*e", digits - 1, x);
  return text;
}

static void print_head(const hvi_screen *t) {
  hvi_say(t->talk, "%s%9s %7s %10s %9s %10s %10s", hvi_tone_code(t->talk, HVI_STRONG), "outer",
          "inner", "loss", "ratio", "residual", "dist2");
  if (t->talk->verbose) {
    hvi_say(t->talk, " %10s %9s %9s %9s %9s", "loss0", "alpha", "F evals", "passes", "grads");
  }
  hvi_say(t->talk, " %9s%s\n", "seconds", hvi_tone_code(t->talk, HVI_PLAIN));
}

static void print_row(const hvi_screen *t, const hvi_record *r) {
  char a[HVI_NUMBER_SIZE], b[HVI_NUMBER_SIZE], c[HVI_NUMBER_SIZE], d[HVI_NUMBER_SIZE];
  hvi_say(t->talk, "%9zu %7zu %10s %9s %10s %10s", r->outer, r->inner, cell(a, r->loss, 4),
          cell(b, r->ratio, 3), cell(c, r->residual, 4), cell(d, r->dist2, 4));
  if (t->talk->verbose) {
    hvi_say(t->talk, " %10s %9s %9zu %9zu %9zu", cell(a, r->loss0, 4), cell(b, r->alpha, 3),
            r->counts.f_evals, r->counts.model_passes, r->counts.grad_evals);
  }
  hvi_say(t->talk, " %9.4f\n", r->seconds);
}

static void show(hvi_screen *t, const hvi_record *row) {
  hvi_progress_clear(&t->bar);
  if (!t->started) print_head(t);
  t->started = true;
  print_row(t, row);
  t->last = row->outer;
}

void hvi_screen_row(hvi_screen *t, const hvi_record *row) {
  if (t->talk->quiet) return;
  /* the clock is not worth a look at every iteration */
  if (row->outer % 64 == 0) hvi_progress_update(&t->bar, row->outer);
  if (row->outer < t->next) return;
  show(t, row);
  t->next = hvi_screen_after(row->outer, t->every, t->factor);
}

void hvi_screen_end(hvi_screen *t, const hvi_record *last) {
  hvi_progress_clear(&t->bar);
  if (!t->talk->quiet && (!t->started || last->outer != t->last)) show(t, last);
}
