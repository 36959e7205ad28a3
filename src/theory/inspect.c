/*
 * An inspection: constants, a run under the settings as they are, the exact step beside it, and,
 * where eta is too large for the exact step, the same run with fewer and with more inner steps.
 */
#include "base/error.h"
#include "theory/exact.h"
#include "theory/verdict.h"

#include <math.h>

enum { FACTOR = 10, MOST_STEPS = 100000000 };

static hvi_status check(const hvi_inspection *out, const hvi_problem *p, const hvi_settings *s,
                        size_t steps, hvi_error *err) {
  if (!out || !p || !s) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "an inspection needs a problem and settings");
  }
  if (steps == 0 || steps > MOST_STEPS) {
    return hvi_error_set(err, HVI_ERROR_ARGUMENT, "steps = %zu: it must lie in [1, %d]", steps,
                         MOST_STEPS);
  }
  return HVI_OK;
}

static hvi_status add_variant(hvi_inspection *out, const hvi_problem *p, const hvi_settings *s,
                              size_t inner, size_t steps, hvi_error *err) {
  hvi_settings other = *s;
  hvi_watch w;
  other.inner_steps = inner;
  hvi_status status = hvi_watch_run(&w, p, &other, steps, err);
  if (status) return status;
  out->variants[out->variant_count++] = (hvi_variant){
      .inner = inner, .alpha_median = w.alpha_median, .step_share = w.step_share, .rate = w.rate};
  return HVI_OK;
}

static hvi_status add_variants(hvi_inspection *out, const hvi_problem *p, const hvi_settings *s,
                               size_t steps, hvi_error *err) {
  const size_t own = s->inner_steps;
  hvi_status status = HVI_OK;
  if (own > 1) {
    const size_t fewer = own < FACTOR ? 1 : own / FACTOR;
    status = add_variant(out, p, s, fewer, steps, err);
  }
  if (!status && own < MOST_STEPS / FACTOR) {
    status = add_variant(out, p, s, own * FACTOR, steps, err);
  }
  return status;
}

static bool wants_variants(const hvi_inspection *out, const hvi_problem *p, const hvi_settings *s) {
  return out->constants.mu > 0.0 && out->eta >= out->rates.eta_max && s->alpha == 0.0 &&
         hvi_watch_is_plain(p, s) && !s->player_eta;
}

static hvi_status measure(hvi_inspection *out, hvi_watch *w, const hvi_problem *p,
                          const hvi_settings *s, size_t steps, hvi_error *err) {
  hvi_status status = hvi_problem_constants(&out->constants, p, err);
  if (!status) status = hvi_watch_run(w, p, s, steps, err);
  if (status) return status;
  out->eta = s->player_eta ? s->player_eta[0] : w->eta;
  out->alpha = s->alpha > 0.0 && !s->baseline ? s->alpha : NAN;
  out->alpha_median = w->alpha_median;
  out->alpha_worst = w->alpha_worst;
  out->step_share = w->step_share;
  out->rates = hvi_theory_rates(out->constants.mu, out->constants.lipschitz, out->eta,
                                fmax(out->alpha, out->alpha_worst));
  out->rate_observed = w->rate;
  out->by_residual = !p->solution && !p->ops->dist2;
  out->outcome = w->outcome;
  out->outer = w->outer;
  out->dist2 = w->dist2;
  out->residual = w->residual;
  return hvi_exact_rate(&out->rate_exact, p, s, out->eta, steps, err);
}

hvi_status hvi_theory_inspect(hvi_inspection *out, const hvi_problem *p, const hvi_settings *s,
                              size_t steps, hvi_error *err) {
  hvi_status status = check(out, p, s, steps, err);
  if (status) return status;
  *out = (hvi_inspection){.rate_exact = NAN};
  hvi_watch w;
  status = measure(out, &w, p, s, steps, err);
  if (!status && wants_variants(out, p, s)) status = add_variants(out, p, s, steps, err);
  if (!status) hvi_verdict_reach(out, p, s, &w);
  return status;
}
