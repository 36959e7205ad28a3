/*
 * The parts of the experiment `theory`: each puts one statement of the paper to a test.
 *
 * A part measures on a grid, writes its CSV, and hands the worst figures it met to its judge, which
 * adds the claims. The judges stand alone so that a test can hand them figures that violate a
 * bound.
 */
#ifndef HVI_EXPERIMENTS_THEORY_H
#define HVI_EXPERIMENTS_THEORY_H

#include "report/claims.h"

#include <hvi/solver.h>

#include <stdint.h>

typedef struct hvi_theory_part {
  const char *folder; /* for the CSV */
  hvi_claims *claims;
  bool full; /* finer grids, more seeds */
  uint64_t seed;
} hvi_theory_part;

/* A measured value may exceed its bound by this share: rounding. */
extern const double hvi_theory_slack;

/* The deterministic theorem: |z_{t+1} - z*|^2 <= rho |z_t - z*|^2 with inner errors of exactly
 * alpha. */
typedef struct hvi_theory_rate_worst {
  size_t runs, steps;
  double over_rho;        /* largest contraction observed / rho */
  double over_rho_erring; /* the same where alpha > 0 */
  double over_sharp;      /* there, against (kappa + alpha eta L)^2 */
  double over_theorem;    /* at eta = 2 mu / 5 L^2, alpha = mu / 2L, against 1 - mu^2 / 5 L^2 */
} hvi_theory_rate_worst;
hvi_status hvi_theory_rate(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_rate_judge(hvi_claims *claims, const hvi_theory_rate_worst *w);

/* What the paper misprints: the bound 2 mu / L on eta, and the signs of both games. */
typedef struct hvi_theory_printed_worst {
  double below;    /* slowest rate of the exact step at 0.9 times 2 mu / L^2 */
  double above;    /* fastest at 1.1 times that */
  double printed;  /* fastest at 0.9 times the printed 2 mu / L */
  double mu[2];    /* of pennies and rps with the printed signs */
  double exact[2]; /* and the fastest rate of their exact step over a range of eta */
} hvi_theory_printed_worst;
hvi_status hvi_theory_printed(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_printed_judge(hvi_claims *claims, const hvi_theory_printed_worst *w);

/* The counterexample: divergence at alpha = 1/sqrt(2) for every eta; convergence below mu / L. */
typedef struct hvi_theory_counter_worst {
  size_t etas, alphas;
  double growth_error;   /* of |z_{t+1}| / |z_t| against sqrt(1 + eta^2), relative */
  double alpha_error;    /* of the alpha reached against 1/sqrt(2) */
  double least_growth;   /* over all eta */
  double small_over_rho; /* alpha < mu / L, eta by the theorem: largest contraction / rho */
  double small_slowest;  /* and the largest contraction itself */
} hvi_theory_counter_worst;
hvi_status hvi_theory_counter(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_counter_judge(hvi_claims *claims, const hvi_theory_counter_worst *w);

/* Scalar minimisation: it converges for every alpha < 1. */
typedef struct hvi_theory_scalar_worst {
  size_t runs;
  double descent;     /* largest excess of f(z_{t+1}) over its bound, relative to |f(z_1)| */
  double convex_end;  /* largest |z_t - z_t^*| at the end over that at the start */
  double general_end; /* the same for the function that is not convex */
  double alpha_most;
} hvi_theory_scalar_worst;
hvi_status hvi_theory_scalar(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_scalar_judge(hvi_claims *claims, const hvi_theory_scalar_worst *w);

/* The lemma: |z_{t+1} - z_t^*| <= alpha eta |F(z_t) - F(z*)|. */
typedef struct hvi_theory_lemma_worst {
  size_t runs, steps;
  double error;   /* largest |z_{t+1} - z_t^*| / (alpha eta |F(z_t) - F(z*)|) */
  double gap;     /* largest (l_t - l_t^*) / (eta^2 / 2 |F(z_t) - F(z*)|^2) */
  double outside; /* share of steps whose target lay outside Z */
} hvi_theory_lemma_worst;
hvi_status hvi_theory_lemma(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_lemma_judge(hvi_claims *claims, const hvi_theory_lemma_worst *w);

/* Vanishing errors: inner errors that tend to zero suffice, whatever alpha is. */
typedef struct hvi_theory_vanish_worst {
  double recursion;   /* largest |z_{t+1} - z*| / (kappa |z_t - z*| + |error_t|) */
  double end;         /* largest |z - z*| at the end over that at the start */
  double alpha_late;  /* largest alpha in the last half of the bursts' run */
  double alpha_max;   /* mu / L */
  double control_end; /* the same end with errors that do not vanish */
} hvi_theory_vanish_worst;
hvi_status hvi_theory_vanish(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_vanish_judge(hvi_claims *claims, const hvi_theory_vanish_worst *w);

/* The stochastic theorem: the neighbourhood of the stochastic case. */
typedef struct hvi_theory_noise_worst {
  size_t cells, seeds;
  double over_recursion; /* largest upper end of the mean's interval over the bound, any step */
  double over_limit;     /* the same at the end over the recursion's fixed point */
  double least_over;     /* smallest at the end: how loose the bound is */
  double sigma_slope;    /* of log E against log sigma */
  double quiet_end;      /* without noise: last mean over the first */
} hvi_theory_noise_worst;
hvi_status hvi_theory_noise(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_noise_judge(hvi_claims *claims, const hvi_theory_noise_worst *w);

/* PL of the composition: f o g is mu sigma_min^2-PL. */
typedef struct hvi_theory_pl_worst {
  size_t samples;
  double least;         /* smallest |grad|^2 / (2 mu sigma_min^2 (f - inf)) */
  double least_largest; /* the same with the largest singular value: has to fail */
} hvi_theory_pl_worst;
hvi_status hvi_theory_pl(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_pl_judge(hvi_claims *claims, const hvi_theory_pl_worst *w);

/* Sensitivity to alpha on both games. */
enum { HVI_THEORY_ALPHAS = 32 };
typedef struct hvi_theory_alpha_run {
  double alpha, alpha_median, alpha_worst;
  size_t outer, inner, grad_evals; /* to the goal */
  bool reached, capped;            /* the goal; the cap on inner steps, at least once */
} hvi_theory_alpha_run;
typedef struct hvi_theory_alpha_curve {
  const char *game, *file; /* a built-in problem; of its CSV */
  hvi_step_rule rule;
  double eta, alpha_max, alpha_eta, kappa2;
  size_t count;
  hvi_theory_alpha_run runs[HVI_THEORY_ALPHAS]; /* in order of alpha */
} hvi_theory_alpha_curve;
hvi_status hvi_theory_alpha(const hvi_theory_part *part, hvi_error *err);
void hvi_theory_alpha_judge(hvi_claims *claims, const hvi_theory_alpha_curve *curves, size_t count);

#endif
