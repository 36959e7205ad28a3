/*
 * Policy evaluation from end to end: transitions in, a value network and its error out.
 *
 *   hvi_evaluation_new(&e, &spec, err);
 *   while (!hvi_evaluation_state(e).done) hvi_evaluation_step(e, err);     or hvi_evaluation_run
 *   rows = hvi_evaluation_rows(e, &count);            a row per measurement
 *   hvi_value_save(hvi_evaluation_problem(e), hvi_evaluation_theta(e), path, err);
 *
 * An evaluation is a value problem (value.h) and the one outer loop (solver.h): before each outer
 * step the rows that it draws are collected, and collection, targets, inner steps and measuring
 * have clocks of their own. Measuring is never charged to the run.
 *
 * The first half of this header is measures alone, for values from anywhere.
 */
#ifndef HVI_EVALUATE_H
#define HVI_EVALUATE_H

#include <hvi/collector.h>
#include <hvi/solver.h>
#include <hvi/testset.h>
#include <hvi/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How good predicted values are, against values whose standard errors are known. With values y_i =
 * V_i + noise of variance e_i^2, the mean squared error counts the noise once more: its expectation
 * is the mean of (prediction - V)^2 plus the mean of e^2. Likewise the variance of y.
 */
typedef struct hvi_score {
  size_t states;
  double error;    /* mean of (prediction - y)^2 */
  double interval; /* error +- this covers 95 % (Student's t over the states); with episodes
                            half of what is between the two that follow */
  double error_low, error_high; /* cover 95 %: bootstrap over episodes, or error -+ interval */
  double noise;                 /* mean of e^2: what the true values would score */
  double clean;          /* error - noise; below 0 by chance where the prediction is perfect */
  double clean_interval; /* clean +- this covers 95 % (Student's t over states, or episodes) */
  double variance;       /* of y over the states */
  double relative;       /* error / variance */
  double relative_clean; /* clean / (variance - noise); NaN where noise is all there is */
  double mean, size;     /* mean of y, and the root of the mean of y^2 */
  /* calibration: the least-squares line y = intercept + slope * prediction, and the correlation;
   * NaN where the predictions are all the same */
  double intercept, slope, correlation;
  double noise_share; /* noise / variance; NaN where all values are the same */
  bool too_noisy;     /* it is above 0.2: the true values themselves would have a correlation below
                         0.9, and `clean` is what there is to judge by */
  size_t episodes;    /* that the states are from; 0: not known */
  /* States of the environment's usual class, and of the others; error and noise are NaN where there
   * are none. Without classes both are empty. */
  struct hvi_class_score {
    size_t states;
    double error, noise;
  } usual, rare;
} hvi_score;

/* predicted[n], value[n], standard_error[n] or NULL: exact values. */
HVI_API hvi_status hvi_score_values(hvi_score *score, size_t n, const double *predicted,
                                    const double *value, const double *standard_error,
                                    hvi_error *err);

/* The states of a test set, as the networks see them, with their values; or any other states. */
typedef struct hvi_probe {
  size_t states, obs;
  float *observation;     /* [states][obs] */
  double *value;          /* [states] */
  double *standard_error; /* [states] */
  double gamma;           /* 0: not known, and taken to be that of the evaluation */
  double *episode;        /* [states] as in hvi_testset; NULL: not known */
  double *label;          /* [states] likewise; 0 is the usual class */
} hvi_probe;

/* The states and values of a test set. */
HVI_API hvi_status hvi_probe_of_testset(hvi_probe **probe, const hvi_testset *set, hvi_error *err);
/* The same states with their values in closed form, standard errors 0: for a linear-Gaussian policy
 * on lqr. HVI_ERROR_UNSUPPORTED for anything else. */
HVI_API hvi_status hvi_probe_exact(hvi_probe **probe, const hvi_testset *set, const hvi_env *lqr,
                                   const hvi_policy *policy, hvi_error *err);
HVI_API void hvi_probe_free(hvi_probe *probe);

/* hvi_score_values for the states of a probe, with its episodes and classes: states of one episode
 * are alike, so whole episodes are drawn anew for the intervals. */
HVI_API hvi_status hvi_probe_compare(hvi_score *score, const hvi_probe *probe,
                                     const double *predicted, hvi_error *err);
/* Score of a value problem's network; predicted[states], or NULL. */
HVI_API hvi_status hvi_probe_score(hvi_score *score, const hvi_probe *probe,
                                   const hvi_problem *value, const double *theta, double *predicted,
                                   hvi_error *err);

/*
 * The Bellman gap on a fixed data set of n transitions,
 *
 *   BE(theta', theta) = 1/n sum_i (V_theta'(s_i) - r_i - gamma f_i V_theta(s'_i))^2
 *   gap = BE(theta, theta) - inf over theta' of BE(theta', theta)
 *
 * what a perfect fit to the present targets would still gain. The infimum is the least that AdamW
 * finds from theta on, so the gap is a lower bound, and never below 0.
 */
typedef struct hvi_gap_settings {
  size_t steps;    /* of AdamW, each on all of the data */
  double lr;       /* of the first step; */
  double lr_decay; /* of step k: lr * lr_decay^k */
} hvi_gap_settings;

/* 500 steps at 1e-4, decay 0.995. */
HVI_API hvi_gap_settings hvi_gap_defaults(void);

typedef struct hvi_gap {
  double gap;
  double error, least; /* BE(theta, theta), and the infimum as found */
  /* gap / the variance of the present targets: the share of what is to be explained that a refit
   * would still gain. The gap itself grows with the square of the values' level: values that are
   * all near 0 have a small one however wrong they are. */
  double relative;
} hvi_gap;

/* `value` is a value problem that draws HVI_VALUE_ALL, without a buffer and with lambda 0. Its data
 * are those that are there now. */
HVI_API hvi_status hvi_bellman_gap(hvi_gap *gap, const hvi_problem *value, const double *theta,
                                   const hvi_gap_settings *s, hvi_error *err);

/*
 * Scales for hvi_value_spec from the first rows of a data set: center and spread of each entry of
 * the states (a spread of 1 where it is constant), shift and scale of the values. The shift is the
 * constant with mean TD error 0, mean r / (1 - gamma mean f); the scale is the standard deviation
 * of the discounted returns within the rows, with the shift where they are cut.
 */
typedef struct hvi_scales {
  double *center, *spread; /* [obs] */
  double shift, scale;
} hvi_scales;

/* Scales of the first `rows` rows; hvi_scales_free gives the arrays back. */
HVI_API hvi_status hvi_scales_new(hvi_scales *scales, const hvi_dataset *data, size_t rows,
                                  double gamma, hvi_error *err);
HVI_API void hvi_scales_free(hvi_scales *scales);

/*
 * Where transitions come from while an evaluation runs. grow makes value.data hold `rows` rows at
 * least, always the same ones, and tells the seconds that collecting the first `rows` rows took: so
 * several evaluations can share one stream, each being charged for it. find and skip are for
 * evaluations that are taken up again, and optional: find says where a stream stood when it was
 * about to make `row`, and skip goes there, so that rows before it need not be made anew. With
 * returns as targets the rows of all max_outer steps are asked for at once: draws start over among
 * those whose return is known.
 */
typedef struct hvi_stream {
  hvi_status (*grow)(void *context, size_t rows, double *seconds, hvi_error *err);
  hvi_collector_mark (*find)(void *context, size_t row);
  hvi_status (*skip)(void *context, hvi_collector_mark mark, hvi_error *err);
  void *context;
} hvi_stream;

/* value.data is then hvi_collector_data. Rows are charged at the collector's mean speed. */
HVI_API hvi_stream hvi_stream_of_collector(hvi_collector *c);

/* At which outer steps to measure; at the start and at max_outer always. */
typedef struct hvi_schedule {
  size_t every;      /* multiples of it; 0: none */
  size_t per_decade; /* steps 10^(j / per_decade), rounded; 0: none */
  size_t gradients;  /* and each time that so many more were computed; 0: not */
} hvi_schedule;

/* What is scaled as the first rows of the data suggest. */
typedef enum hvi_normalisation {
  HVI_NORMALISE_NONE,   /* the scales of hvi_value_spec are the caller's */
  HVI_NORMALISE_STATES, /* inputs of the network */
  HVI_NORMALISE_ALL     /* and its output */
} hvi_normalisation;

typedef struct hvi_evaluation_spec {
  hvi_value_spec value; /* its data, and what it points at, outlive the evaluation */
  hvi_normalisation normalise;
  size_t normalise_rows; /* at most so many rows; 0: those of the first batch */
  uint64_t seed;         /* of the first parameters, and of the draws */
  /* Of the loop; the evaluation's solver has a copy. seed and observer are not used, max_seconds is
   * of `seconds`. */
  const hvi_settings *settings;
  size_t max_gradients; /* ends with the outer step in which so many are reached; 0: no limit */
  /* What is measured and saved: 0: theta_t. Otherwise the mean of theta_1 .. theta_t in which
   * theta_s weighs about s^polyak; targets are made with theta_t all the same. The noise of single
   * batches averages out, and theta lags behind by t / (polyak + 2) steps. */
  double polyak;
  hvi_stream stream;      /* all zero: the data are all there */
  const hvi_probe *probe; /* for the error; NULL: none */
  const hvi_dataset *gap; /* data for the Bellman gap at measurements; NULL: none */
  hvi_gap_settings gap_settings;
  size_t gap_per_decade; /* the gap at steps 10^(j / this) and at the end alone; 0: always */
  hvi_schedule schedule;
  bool accept_other_bits; /* restores a state of another level of instructions too */
} hvi_evaluation_spec;

/* What `hvi evaluate` starts from, obs-64-64-1 ReLU networks among it, and the settings of its
 * loop; src/evaluate/settings.c is the only place where they stand. Settings, data, probe and
 * stream of the spec are the caller's. lambda has to be set to 0 for rules, random draws and
 * returns. */
HVI_API hvi_evaluation_spec hvi_evaluation_defaults(void);
HVI_API hvi_settings hvi_evaluation_settings(void);
/* The rest of what `hvi evaluate` does before it opens its data. `s` are the settings of `method`
 * with what was asked for (hvi_settings_take); `given` has the names of that, and of what was set in
 * the spec, and ends in NULL. Everything else becomes what suits the method and the data. What does not
 * go together is refused, and so is method auto: it is for problems. */
HVI_API hvi_status hvi_evaluation_choose(hvi_evaluation_spec *spec, hvi_settings *s,
                                         const char *method, const char *const *given,
                                         bool from_data, hvi_error *err);
/* Rows of data that scales and gaps are made of, and gaps between powers of 10, unless asked for. */
enum { HVI_EVALUATION_ROWS = 10000, HVI_EVALUATION_GAPS = 1 };
/* Those members that are its own and those of the gap; hvi_value_table and hvi_settings_table have
 * the others. */
HVI_API const hvi_setting_table *hvi_evaluation_table(void);

/* One measurement. A value that does not exist is NaN. Costs are from the start to this theta.
 * Seconds are of the thread's processor where one thread does the work, so that other programs do
 * not count, and of the wall's clock where there are more. */
typedef struct hvi_evaluation_row {
  size_t outer;
  size_t inner;              /* steps of this outer step */
  double loss0, loss, ratio; /* of this outer step, as in hvi_record */
  double alpha;
  double error, interval, clean, relative, relative_clean; /* as in hvi_score */
  double error_low, error_high, error_usual, error_rare;   /* likewise: usual.error, rare.error */
  double gap, gap_relative;
  size_t grad_evals;
  size_t model_passes;     /* over a batch of states, or of their successors */
  size_t env_steps;        /* rows of the batches used so far; all rows where there is no stream */
  double seconds_collect;  /* for those batches */
  double seconds_targets;  /* draws, those of a buffer too, values of successors, targets */
  double seconds_inner;    /* the inner steps */
  double seconds_optimise; /* targets and inner */
  double seconds;          /* collect and optimise */
  double seconds_measure;  /* charged to nobody */
} hvi_evaluation_row;

/* The row as a table: names of the columns, NULL past the last, and what stands in them. */
HVI_API const char *hvi_evaluation_column(size_t column);
HVI_API double hvi_evaluation_cell(const hvi_evaluation_row *row, size_t column);

typedef struct hvi_evaluation hvi_evaluation;

/* Grows the stream as far as the first batch, and measures the start. */
HVI_API hvi_status hvi_evaluation_new(hvi_evaluation **e, const hvi_evaluation_spec *spec,
                                      hvi_error *err);
HVI_API void hvi_evaluation_free(hvi_evaluation *e);

/* One outer step of hvi_evaluation_run, and a measurement where one is due. When done it does
 * nothing. */
HVI_API hvi_status hvi_evaluation_step(hvi_evaluation *e, hvi_error *err);

typedef struct hvi_evaluation_status {
  bool done;           /* the outcome is no longer HVI_RUNNING */
  hvi_outcome outcome; /* HVI_LIMIT is the usual end */
  const char *reason;
  size_t outer, inner_total, grad_evals;
  size_t max_outer;   /* where it ends at the latest */
  const char *levels; /* of instructions that had a part in it, '+' between */
} hvi_evaluation_status;
/* Where the evaluation stands. */
HVI_API hvi_evaluation_status hvi_evaluation_state(const hvi_evaluation *e);

/* The rows so far; the pointer is good until the next step. */
HVI_API const hvi_evaluation_row *hvi_evaluation_rows(const hvi_evaluation *e, size_t *count);

/* What came out: the present theta, whether a measurement was due or not. After a divergence it is
 * the last row alone. */
typedef struct hvi_evaluation_result {
  hvi_evaluation_row last;
  hvi_score score; /* states 0: no test set, or values that overflow */
  hvi_gap gap; /* on the spec's data for it, otherwise on the rows of the last step; NaN: none */
  size_t gap_rows;
} hvi_evaluation_result;
/* Measures theta as it stands, whenever it is called. */
HVI_API hvi_status hvi_evaluation_judge(hvi_evaluation *e, hvi_evaluation_result *result,
                                        hvi_error *err);

/* The value problem, and theta[problem->model->dim] as it stands: the mean, with polyak. */
HVI_API const hvi_problem *hvi_evaluation_problem(const hvi_evaluation *e);
HVI_API const double *hvi_evaluation_theta(const hvi_evaluation *e);

/*
 * Everything the next step depends on, as one .safetensors file that appears whole or not at all.
 * Restored into a new evaluation of the same spec it goes on to the same bits, the clocks apart: a
 * stream collects anew what the next draws need, and that time is not counted twice. Text from the
 * caller about what the settings were travels along: a restore with another text is refused, and
 * the error shows both (HVI_ERROR_MISMATCH). A file in which a bit has changed is refused, and so
 * is one of another level of instructions, unless the spec accepts other bits. A file that is
 * replaced stays as path.previous.
 */
HVI_API hvi_status hvi_evaluation_save(const hvi_evaluation *e, const char *path, const char *about,
                                       hvi_error *err);
HVI_API hvi_status hvi_evaluation_restore(hvi_evaluation *e, const char *path, const char *about,
                                          hvi_error *err);

enum { HVI_EVALUATION_ABOUT = 8192 };
/* Such a text: everything that the bits depend on, contents of data and probe among it, but for how
 * far the run goes. */
HVI_API void hvi_evaluation_describe(char text[HVI_EVALUATION_ABOUT], const hvi_evaluation_spec *s);

/* How a run is watched and kept. */
typedef struct hvi_evaluation_watch {
  const char *checkpoint, *about; /* as in hvi_evaluation_save */
  size_t every;                   /* outer steps between checkpoints; 0: by the seconds alone */
  double seconds;                 /* or so many seconds */
  bool end;                       /* one at the end too, unless it diverged */
  size_t steps;                   /* at most so many now; 0: to the end */
  /* Before each step; false stops, and leaves a checkpoint. Optional. */
  bool (*progress)(void *context, const hvi_evaluation *e);
  /* After each checkpoint, for what belongs to it; optional. */
  hvi_status (*saved)(void *context, hvi_error *err);
  void *context;
} hvi_evaluation_watch;

/* To the end, or as far as the watch lets it; NULL: nobody watches. */
HVI_API hvi_status hvi_evaluation_run(hvi_evaluation *e, const hvi_evaluation_watch *watch,
                                      hvi_error *err);

#ifdef __cplusplus
}
#endif

#endif
