#include "evaluate/stopwatch.h"

#include "base/clock.h"
#include "outer/solver.h"

/* The solver hands its settings on, in which the context is the watch. */
static hvi_stopwatch *watch_of(const hvi_optimizer_settings *s) {
  return (hvi_stopwatch *)(uintptr_t)s->context;
}

static size_t state(const hvi_optimizer_settings *s, const hvi_model *m) {
  const hvi_stopwatch *w = watch_of(s);
  return w->inside->state(&w->inner, m);
}

static void reset(const hvi_optimizer_settings *s, const hvi_model *m, double *memory) {
  const hvi_stopwatch *w = watch_of(s);
  w->inside->reset(&w->inner, m, memory);
}

static bool step(const hvi_optimizer_settings *s, double *memory, hvi_surrogate *l) {
  hvi_stopwatch *w = watch_of(s);
  const double start = hvi_clock_work(w->threads);
  const bool more = w->inside->step(&w->inner, memory, l);
  w->seconds += hvi_clock_work(w->threads) - start;
  return more;
}

void hvi_stopwatch_install(hvi_stopwatch *watch, hvi_solver *solver, size_t threads) {
  hvi_settings *s = &solver->settings;
  *watch = (hvi_stopwatch){.timed = {.name = s->optimizer->name,
                                     .summary = s->optimizer->summary,
                                     .state = state,
                                     .reset = reset,
                                     .step = step},
                           .inside = s->optimizer,
                           .threads = threads,
                           .inner = s->inner};
  s->optimizer = &watch->timed;
  s->inner.context = watch;
}
