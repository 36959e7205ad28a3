/*
 * Scores of predicted values against values y with standard errors e.
 *
 *   error    = mean (prediction - y)^2,     interval by Student's t over the states, or by the
 *                                           bootstrap over episodes
 *   clean    = error - mean e^2,            an unbiased estimate of the error against true values;
 *                                           interval by t, of (prediction - y)^2 - e^2
 *   relative = error / var y,               relative_clean = clean / (var y - mean e^2)
 *
 * Calibration is the least-squares line of y over the prediction p: slope = cov(p, y) / var p,
 * intercept = mean y - slope * mean p. Sums are of centred numbers.
 */
#include "base/base.h"
#include "num/dense.h"
#include "num/stats.h"
#include "rl/policy.h"

#include <hvi/evaluate.h>

static const double noisy = 0.2; /* share of the variance */

static double mean_square(const double *x, size_t n) {
  return x ? hvi_vec_norm2(x, n) / (double)n : 0.0;
}

static void calibrate(hvi_score *s, const double *p, const double *y, size_t n) {
  const double mean_p = hvi_stats_mean(p, n);
  double pp = 0.0, py = 0.0, yy = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double dp = p[i] - mean_p, dy = y[i] - s->mean;
    pp += dp * dp;
    py += dp * dy;
    yy += dy * dy;
  }
  s->slope = pp > 0.0 ? py / pp : NAN;
  s->intercept = s->mean - s->slope * mean_p;
  s->correlation = pp > 0.0 && yy > 0.0 ? py / sqrt(pp * yy) : NAN;
}

hvi_status hvi_score_values(hvi_score *score, size_t n, const double *predicted,
                            const double *value, const double *standard_error, hvi_error *err) {
  if (n == 0) return hvi_error_input(err, "there are no states to score");
  if (!hvi_vec_finite(predicted, n) || !hvi_vec_finite(value, n))
    return hvi_error_input(err, "a value to score is not finite");
  HVI_NEW(double, square, n, "the squared errors of a score", err);
  for (size_t i = 0; i < n; i++) square[i] = (predicted[i] - value[i]) * (predicted[i] - value[i]);
  *score = (hvi_score){.states = n,
                       .error = hvi_stats_mean(square, n),
                       .interval = hvi_stats_interval95(square, n),
                       .noise = mean_square(standard_error, n),
                       .variance = hvi_stats_variance(value, n),
                       .mean = hvi_stats_mean(value, n),
                       .size = sqrt(mean_square(value, n))};
  score->clean = score->error - score->noise;
  for (size_t i = 0; standard_error && i < n; i++)
    square[i] -= standard_error[i] * standard_error[i];
  score->clean_interval = hvi_stats_interval95(square, n);
  score->noise_share = score->variance > 0.0 ? score->noise / score->variance : NAN;
  score->too_noisy = score->noise_share > noisy;
  score->relative = score->variance > 0.0 ? score->error / score->variance : NAN;
  const double spread = score->variance - score->noise;
  score->relative_clean = spread > 0.0 ? score->clean / spread : NAN;
  score->error_low = score->error - score->interval;
  score->error_high = score->error + score->interval;
  score->usual.error = score->usual.noise = score->rare.error = score->rare.noise = NAN;
  calibrate(score, predicted, value, n);
  return HVI_OK;
}

static double square(double x) { return x * x; }

/* Sums over each episode are all that drawing episodes needs. */
static hvi_status draw_episodes(hvi_score *s, const hvi_probe *p, const double *predicted,
                                hvi_error *err) {
  size_t most = 0, used = 0;
  for (size_t i = 0; i < p->states; i++) most = (size_t)fmax((double)most, p->episode[i] + 1.0);
  HVI_NEW(double, error, 3 * most, "the episodes of a score", err);
  double *clean = error + most, *count = clean + most;
  for (size_t i = 0; i < p->states; i++) {
    const size_t k = (size_t)p->episode[i];
    error[k] += square(predicted[i] - p->value[i]);
    clean[k] -= square(p->standard_error[i]);
    count[k] += 1.0;
  }
  for (size_t k = 0; k < most; k++) { /* not all have a state here */
    if (count[k] == 0.0) continue;
    clean[used] = error[k] + clean[k];
    error[used] = error[k];
    count[used++] = count[k];
  }
  hvi_stats_range range;
  HVI_TRY(hvi_stats_bootstrap_ratio(&range, error, count, used, err));
  /* the ratio of sums, linearised: short of a second bootstrap */
  for (size_t k = 0; k < used; k++)
    clean[k] = (clean[k] - s->clean * count[k]) * (double)used / (double)p->states;
  s->episodes = used;
  s->error_low = range.low;
  s->error_high = range.high;
  s->interval = 0.5 * (range.high - range.low);
  s->clean_interval = hvi_stats_interval95(clean, used);
  return HVI_OK;
}

static struct hvi_class_score score_class(const hvi_probe *p, const double *predicted, bool rare) {
  struct hvi_class_score c = {0};
  for (size_t i = 0; i < p->states; i++) {
    if ((p->label[i] > 0.0) != rare) continue;
    c.states++;
    c.error += square(predicted[i] - p->value[i]);
    c.noise += square(p->standard_error[i]);
  }
  c.error /= (double)c.states; /* 0/0 where there are none */
  c.noise /= (double)c.states;
  return c;
}

hvi_status hvi_probe_compare(hvi_score *score, const hvi_probe *p, const double *predicted,
                             hvi_error *err) {
  HVI_TRY(hvi_score_values(score, p->states, predicted, p->value, p->standard_error, err));
  if (p->label) score->usual = score_class(p, predicted, false);
  if (p->label) score->rare = score_class(p, predicted, true);
  return p->episode ? draw_episodes(score, p, predicted, err) : HVI_OK;
}

void hvi_probe_free(hvi_probe *probe) {
  if (!probe) return;
  hvi_free(probe->observation);
  hvi_free(probe->value); /* and the arrays after it */
  hvi_free(probe);
}

HVI_RELEASE(hvi_probe)

/* States with values to compare with: those of a test set, or in closed form on lqr. */
hvi_status hvi_probe_of_testset(hvi_probe **probe, const hvi_testset *set, hvi_error *err) {
  *probe = NULL;
  HVI_MAKE(hvi_probe, p, "a test set", err);
  *p = (hvi_probe){.states = set->count, .obs = set->obs, .gamma = set->gamma};
  p->observation = hvi_alloc(set->count, set->obs * sizeof *p->observation);
  const double *const from[] = {set->value, set->standard_error, set->episode, set->label};
  double **const to[] = {&p->value, &p->standard_error, &p->episode, &p->label};
  double *at = p->value = hvi_alloc_doubles(4 * set->count);
  if (!p->observation || !at) return hvi_error_memory(err, "a test set");
  for (size_t k = 0; k < 4; k++, at += set->count)
    if (from[k]) *to[k] = memcpy(at, from[k], set->count * sizeof *at);
  for (size_t i = 0; i < set->count * set->obs; i++) p->observation[i] = (float)set->observation[i];
  HVI_GIVE(probe, p);
}

hvi_status hvi_probe_exact(hvi_probe **probe, const hvi_testset *set, const hvi_env *env,
                           const hvi_policy *policy, hvi_error *err) {
  const hvi_lqr *lqr = hvi_env_lqr(env);
  *probe = NULL;
  if (!lqr || !policy->gain)
    return hvi_error_unsupported(
        err, "a closed form is known for linear-Gaussian policies on lqr alone");
  HVI_TRY(hvi_policy_check(policy, env, err));
  const size_t n = lqr->n;
  if (set->obs != n)
    return hvi_error_input(err, "the test set has observations of length %zu, and %s of %zu",
                           set->obs, env->name, n);
  double c;
  HVI_NEW(double, P, (n * n), "the matrix of a value", err);
  HVI_TRY(hvi_lqr_value(lqr, policy->gain, policy->std, set->gamma, P, &c, err));
  HVI_TRY(hvi_probe_of_testset(probe, set, err));
  for (size_t i = 0; i < set->count; i++) {
    (*probe)->value[i] = -(hvi_dense_quadratic(P, set->observation + i * n, n) + c);
    (*probe)->standard_error[i] = 0.0;
  }
  return HVI_OK;
}

hvi_status hvi_probe_score(hvi_score *score, const hvi_probe *probe, const hvi_problem *value,
                           const double *theta, double *predicted, hvi_error *err) {
  const size_t n = probe->states;
  HVI_OWN double *own = predicted ? NULL : hvi_alloc_doubles(n);
  if (!predicted) predicted = own;
  if (!predicted) return hvi_error_memory(err, "predicted values");
  HVI_TRY(hvi_value_predict(value, theta, probe->observation, n, predicted, err));
  return hvi_probe_compare(score, probe, predicted, err);
}
