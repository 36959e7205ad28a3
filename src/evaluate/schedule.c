#include "evaluate/schedule.h"

#include <math.h>

/* Whether some 10^(j / per_decade) is rounded to `outer`. */
static bool on_decades(size_t outer, size_t per_decade) {
  const double j = round(log10((double)outer) * (double)per_decade);
  for (double k = fmax(j - 1.0, 0.0); k <= j + 1.0; k++) {
    if ((size_t)llround(pow(10.0, k / (double)per_decade)) == outer) return true;
  }
  return false;
}

bool hvi_schedule_due(const hvi_schedule *s, size_t outer, size_t last) {
  if (outer == 0 || outer == last) return true;
  if (s->every > 0 && outer % s->every == 0) return true;
  return s->per_decade > 0 && on_decades(outer, s->per_decade);
}
