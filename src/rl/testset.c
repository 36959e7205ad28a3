/* Test sets in memory, and what they can tell apart. The formulas are in <hvi/testset.h>. */
#include "base/error.h"
#include "base/memory.h"
#include "num/stats.h"
#include "rl/testset_parts.h"

#include <math.h>

hvi_status hvi_testset_new(hvi_testset **set, const hvi_env *env, const hvi_testset_settings *s,
                           hvi_error *err) {
  *set = NULL;
  hvi_testset *t = hvi_alloc(1, sizeof *t);
  if (!t) return hvi_error_memory(err, "a test set");
  t->count = s->states;
  t->obs = env->obs;
  t->state = env->state;
  t->rollouts = s->rollouts;
  t->horizon = s->horizon;
  t->gamma = s->gamma;
  t->reward_bound = env->reward_bound;
  t->observation = hvi_alloc(t->count, t->obs * sizeof(double));
  t->states = hvi_alloc(t->count, t->state * sizeof(double));
  t->value = hvi_alloc_doubles(t->count);
  t->standard_error = hvi_alloc_doubles(t->count);
  t->returns = hvi_alloc(t->count, t->rollouts * sizeof(double));
  t->length = hvi_alloc(t->count, t->rollouts * sizeof(double));
  t->terminated = hvi_alloc(t->count, t->rollouts * sizeof(double));
  if (!t->observation || !t->states || !t->value || !t->standard_error || !t->returns ||
      !t->length || !t->terminated) {
    hvi_testset_free(t);
    return hvi_error_memory(err, "a test set");
  }
  *set = t;
  return HVI_OK;
}

void hvi_testset_free(hvi_testset *t) {
  if (!t) return;
  hvi_free(t->observation);
  hvi_free(t->states);
  hvi_free(t->value);
  hvi_free(t->standard_error);
  hvi_free(t->returns);
  hvi_free(t->length);
  hvi_free(t->terminated);
  hvi_free(t);
}

static double weight_after(const hvi_testset *t) { return pow(t->gamma, (double)t->horizon); }

double hvi_testset_find_tail(const hvi_testset *t) {
  const size_t rollouts = t->count * t->rollouts;
  const double living = 1.0 - hvi_stats_mean(t->terminated, rollouts);
  return hvi_stats_mean(t->returns, rollouts) / (1.0 - weight_after(t) * living);
}

void hvi_testset_average(const hvi_testset *t, size_t i, double *value, double *standard_error) {
  const double *returns = t->returns + i * t->rollouts, *ended = t->terminated + i * t->rollouts;
  const double rest = weight_after(t) * t->tail, n = (double)t->rollouts;
  double sum = 0.0, squares = 0.0;
  for (size_t r = 0; r < t->rollouts; r++) sum += returns[r] + (1.0 - ended[r]) * rest;
  *value = sum / n;
  for (size_t r = 0; r < t->rollouts; r++) {
    const double d = returns[r] + (1.0 - ended[r]) * rest - *value;
    squares += d * d;
  }
  *standard_error = sqrt(squares / (n - 1.0) / n);
}

static double mean_square(const double *x, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
  return sum / (double)n;
}

/* of |x - center|: the largest, and the root mean square */
static double farthest(const double *x, size_t n, double center, double *typical) {
  double most = 0.0, squares = 0.0;
  for (size_t i = 0; i < n; i++) {
    most = fmax(most, fabs(x[i] - center));
    squares += (x[i] - center) * (x[i] - center);
  }
  *typical = sqrt(squares / (double)n);
  return most;
}

hvi_testset_figures hvi_testset_judge(const hvi_testset *t) {
  const size_t rollouts = t->count * t->rollouts;
  hvi_testset_figures f = {
      .mean_value = hvi_stats_mean(t->value, t->count),
      .sd_value = sqrt(hvi_stats_variance(t->value, t->count)),
      .mean_error = hvi_stats_mean(t->standard_error, t->count),
      .noise_floor = mean_square(t->standard_error, t->count),
      .terminated_share = hvi_stats_mean(t->terminated, rollouts),
      .mean_length = hvi_stats_mean(t->length, rollouts),
      .after = weight_after(t),
  };
  double typical;
  f.put_back = f.after * (1.0 - f.terminated_share) * t->tail;
  f.missing_bound = f.after * (t->reward_bound / (1.0 - t->gamma) + fabs(t->tail));
  f.missing_most = f.after * farthest(t->value, t->count, t->tail, &typical);
  f.missing_typical = f.after * typical;
  f.below_error = f.missing_typical < f.mean_error;
  return f;
}
