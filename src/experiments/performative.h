/*
 * The parts of the experiment `performative`: runs of the built-in problems of performative
 * prediction, row by row over deployments, and the judges of what came out.
 */
#ifndef HVI_EXPERIMENTS_PERFORMATIVE_H
#define HVI_EXPERIMENTS_PERFORMATIVE_H

#include "experiments/run.h"

#include <hvi/performative.h>

/* What stands at a deployment; a value that is not known is NaN. */
typedef struct hvi_deployment {
  double dist2; /* to the stable point */
  double step;  /* |theta - theta of the deployment before| */
  hvi_performative_measures measures;
} hvi_deployment;

/* One solve. What comes first is given, the rest is the result. */
typedef struct hvi_deploy_job {
  const char *label, *problem;
  size_t option_count;
  hvi_option options[4];
  uint64_t seed, instance;
  hvi_settings settings; /* redraw_every outer steps make a deployment */
  size_t rounds;         /* deployments */
  bool measured;         /* every deployment is measured, where that takes an evaluation */
  size_t retrain_every;  /* rounds between those whose gap takes a solve; 0: none */

  size_t count;         /* rows: the start, then one after each round; fewer when it diverged */
  hvi_deployment *rows; /* [rounds + 1] */
  hvi_outcome outcome;
} hvi_deploy_job;

/* Runs the jobs over threads. */
hvi_status hvi_deploy_run(hvi_deploy_job *jobs, size_t count, size_t threads, hvi_error *err);
void hvi_deploy_free(hvi_deploy_job *jobs, size_t count);

/* How much a model retrained on what theta brings about would gain: the surrogate with eta = 1 of
 * a fresh draw, solved by adaptive Levenberg-Marquardt from theta. */
hvi_status hvi_deploy_retrain(double *gap, const hvi_problem *p, const double *theta, uint64_t seed,
                              hvi_error *err);

/* A column for each job: value(row) by deployment, empty where a run ended before. */
typedef double (*hvi_deploy_value)(const hvi_deployment *row);
hvi_status hvi_deploy_table(const hvi_run *run, const char *name, const hvi_deploy_job *jobs,
                            size_t count, const char *const *columns, hvi_deploy_value value,
                            hvi_error *err);
double hvi_deploy_dist2(const hvi_deployment *row);
double hvi_deploy_gap(const hvi_deployment *row);

/* dist2 at the end; infinite when the run diverged. */
double hvi_deploy_end(const hvi_deploy_job *job);

/* The methods of the figures: settings of the one loop, with this eta. */
hvi_settings hvi_deploy_method(const char *method, double eta, size_t inner);

/* The parts: each writes its CSV, draws its figure and hands its figures to its judge. */
hvi_status hvi_performative_linear_part(hvi_run *run, hvi_error *err);
hvi_status hvi_performative_mean_part(hvi_run *run, hvi_error *err);
hvi_status hvi_performative_credit_part(hvi_run *run, hvi_error *err);
hvi_status hvi_performative_rir_part(hvi_run *run, hvi_error *err);
/* All of them: the kind `performative`. */
hvi_status hvi_performative_run(hvi_run *run, hvi_error *err);

/* Judges, apart from the runs so that a test can hand them figures that violate a claim. */
enum { HVI_LINEAR_METHODS = 4 }; /* RRM, RGD, Surr-GD, LM */
typedef struct hvi_linear_figures {
  size_t runs;
  double end[HVI_LINEAR_METHODS]; /* worst dist2 at the end over that at the start, beta / mu < 1 */
  double rrm_over;     /* largest |z_{t+1} - z*|^2 / |z_t - z*|^2 over (beta/mu)^2, exact inner */
  double theorem_over; /* the same over 1 - mu^2 / 5 L^2, at the theorem's eta and alpha */
  /* beyond: eps = 1.1 */
  double beyond_growth[2]; /* orthogonal, skew: last contraction of RRM */
  double beyond_end[2][3]; /* smaller eta, optimistic, averaged: dist2 at the end / at the start */
} hvi_linear_figures;
void hvi_claims_performative_linear(hvi_claims *claims, const hvi_linear_figures *f);

enum { HVI_GREEDY, HVI_LAZY, HVI_MEAN_PLANS };
typedef struct hvi_mean_figures {
  size_t seeds;
  double stable;
  double mean[HVI_MEAN_PLANS];  /* theta at the end, over seeds */
  double error[HVI_MEAN_PLANS]; /* standard error of that mean */
  double rms[HVI_MEAN_PLANS];   /* of theta - stable at the end */
  double goal;                  /* root mean square error, and what it takes to stay below it: */
  double deployments[HVI_MEAN_PLANS], samples[HVI_MEAN_PLANS];
  double slope[HVI_MEAN_PLANS]; /* of log mean square error against log samples, late */
} hvi_mean_figures;
void hvi_claims_performative_mean(hvi_claims *claims, const hvi_mean_figures *f);

enum { HVI_CREDIT_CASES = 4 };
typedef struct hvi_credit_figures {
  double eps[HVI_CREDIT_CASES];
  double rrm_second[HVI_CREDIT_CASES]; /* dist2 after the second round, over |theta*|^2 */
  double lm_end[HVI_CREDIT_CASES];     /* gap at the end over that at the start */
  double gd_end[HVI_CREDIT_CASES];     /* Surr-GD */
  double rgd_end[HVI_CREDIT_CASES];
  double parameter_limit; /* eps that the parameters' test covers */
} hvi_credit_figures;
void hvi_claims_performative_credit(hvi_claims *claims, const hvi_credit_figures *f);

enum { HVI_RIR_CASES = 4 };
typedef struct hvi_rir_figures {
  double delta[HVI_RIR_CASES];
  double gap_start[HVI_RIR_CASES], gap_end[HVI_RIR_CASES]; /* of Surr-Adam: repeated training */
  double noise[HVI_RIR_CASES]; /* gap of a stable point on a fresh draw: about d loss / n */
  double step_start[HVI_RIR_CASES], step_end[HVI_RIR_CASES]; /* |theta_{t+1} - theta_t| */
} hvi_rir_figures;
void hvi_claims_performative_rir(hvi_claims *claims, const hvi_rir_figures *f);

#endif
