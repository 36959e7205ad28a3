/*
 * kind: value. Policy evaluation with networks: the methods of an experiment on shared streams of
 * transitions, and what came of them.
 *
 *   plan      what the file says (value_plan.c)
 *   site      a place of the plan with what was found for it: environment, policy, test set
 *   piece     one method on one seed at one site: a run with a result file of its own
 *   results   the rows of all pieces, for tables, figures and judges
 *
 * The policy does not depend on theta, so all methods of a seed see the same batches, which are
 * simulated once (value_stream.c), and each is charged for them. The seed gives the first
 * parameters too.
 */
#ifndef HVI_EXPERIMENTS_VALUE_STUDY_H
#define HVI_EXPERIMENTS_VALUE_STUDY_H

#include "experiments/run.h"

#include <hvi/evaluate.h>

struct hvi_node;

/* What a figure can show over what. */
typedef enum hvi_study_axis {
  HVI_BY_OUTER,
  HVI_BY_SECONDS,
  HVI_BY_GRADIENTS,
  HVI_BY_THRESHOLD, /* each method is a point: its alpha^2, and where it ended */
  HVI_STUDY_AXES
} hvi_study_axis;

typedef enum hvi_study_measure {
  HVI_OF_ERROR, /* on the test set */
  HVI_OF_GAP,   /* Bellman gap */
  HVI_OF_RATIO, /* of losses, alpha^2 as reached */
  HVI_OF_INNER, /* steps of an outer step */
  HVI_STUDY_MEASURES
} hvi_study_measure;

/* As files call them, ending in NULL; value_plan.c. */
extern const char *const hvi_study_axis_names[], *const hvi_study_measure_names[];

typedef struct hvi_study_panel {
  hvi_study_axis x;
  hvi_study_measure y;
} hvi_study_panel;

typedef struct hvi_study_place {
  const char *environment, *policy, *testset;
  /* a quick run without the test set makes one of this size; 0 states: it does not */
  hvi_testset_settings stand_in;
} hvi_study_place;

enum { HVI_MOST_PLACES = 4, HVI_MOST_PANELS = 6 };

typedef enum hvi_study_scaling {
  HVI_SCALE_NOTHING, /* as in the paper */
  HVI_SCALE_STATES,  /* inputs of the network */
  HVI_SCALE_ALL      /* and its output */
} hvi_study_scaling;

typedef struct hvi_study_plan {
  size_t place_count;
  hvi_study_place places[HVI_MOST_PLACES];
  const char *runs;     /* another experiment that makes the same runs; NULL: none */
  hvi_value_spec value; /* hidden, gamma, and draw: offline at random, or all of the data at once */
  bool gap;             /* offline: the Bellman gap is measured */
  hvi_study_scaling scaling;
  size_t per_decade; /* measurements at powers of 10, beside the evenly spaced ones */
  double checkpoint; /* seconds between checkpoints of a piece */
  size_t chain;      /* outer steps of the exact panel; 0: none */
  size_t panel_count;
  hvi_study_panel panels[HVI_MOST_PANELS];
  /* tuning: seeds tune_first, tune_first + 1, ..., none of them reported */
  size_t tune_seeds, tune_first;
  size_t rate_count;
  double rates[HVI_MOST_RATES];
} hvi_study_plan;

hvi_status hvi_study_plan_parse(hvi_study_plan **plan, const struct hvi_node *map,
                                const char *origin, hvi_error *err);

/* The tables of what it is read by, one after the other; NULL past the last. */
const hvi_setting_table *hvi_study_table_at(size_t index);

/* Where a file is: as named, in $HVI_DATA, in ./data, or beside the program (../data,
 * ../share/hvi). hvi_free it; NULL when it is nowhere. value_site.c */
char *hvi_study_find(const char *name);

typedef struct hvi_study_site {
  const hvi_study_place *place;
  char slug[40];     /* part of file names */
  char missing[400]; /* what it needs to run; empty: nothing */
  char identity[80]; /* of policy and test set */
  hvi_env *env;
  hvi_policy *policy;
  hvi_probe *probe; /* at most as many states as the scale says */
  double noise;     /* what the true values would score */
} hvi_study_site;

/* An environment's name as part of a file's. */
void hvi_study_slug(char *slug, size_t size, const char *name);
/* What is not there makes `missing`, not an error. A stand-in is made, or found, in
 * out/testsets. */
hvi_status hvi_study_site_open(hvi_study_site *site, hvi_run *run, size_t place, hvi_error *err);
void hvi_study_site_close(hvi_study_site *site);
/* Names of what is missing and hashes of what is there: part of what decides the result. */
uint64_t hvi_study_hash(const hvi_experiment *e);

/* A stream of transitions that several pieces read; value_stream.c. */
typedef struct hvi_study_stream hvi_study_stream;
hvi_status hvi_study_stream_new(hvi_study_stream **stream, const hvi_study_site *site,
                                uint64_t seed, size_t batch, size_t rows, hvi_error *err);
void hvi_study_stream_free(hvi_study_stream *s);

/* One reader: its data set has as many rows as it has asked for. */
typedef struct hvi_study_tap {
  hvi_study_stream *stream;
  hvi_dataset data;
} hvi_study_tap;
void hvi_study_tap_open(hvi_study_tap *tap, hvi_study_stream *stream);
hvi_status hvi_study_tap_grow(void *tap, size_t rows, double *seconds, hvi_error *err);

/* One run. */
typedef struct hvi_study_piece {
  size_t place, contender, group; /* pieces of a group share a stream */
  uint64_t seed;
  hvi_settings settings; /* ready for the evaluation */
  double rate;           /* as tuned; NaN: the contender's own */
  double cost;           /* about, in inner steps */
  char name[128];        /* of its files */
  bool taken, finished;
} hvi_study_piece;

/* The experiment under way. */
typedef struct hvi_study {
  hvi_run *run;
  const hvi_study_plan *plan;
  char *folder; /* of the pieces */
  bool reuse;   /* finished pieces are taken as they are */
  hvi_study_site sites[HVI_MOST_PLACES];
  size_t seeds, contenders;
  size_t piece_count;
  hvi_study_piece *pieces;
} hvi_study;

hvi_status hvi_study_open(hvi_study *study, hvi_run *run, hvi_error *err);
void hvi_study_close(hvi_study *study);
/* Pieces for every site that can run: the contenders' own rates, or a grid of them. */
hvi_status hvi_study_cut(hvi_study *study, bool tune, hvi_error *err);
/* The grid of a contender: its own or the plan's. One rate is no grid: there is nothing to tune. */
size_t hvi_study_rates(const hvi_study *study, size_t contender, const double **rates);
/* Runs what is not finished, over threads; value_work.c. */
hvi_status hvi_study_work(hvi_study *study, hvi_error *err);

/* Rows of a batch and measurements of a run, where the file does not say. */
size_t hvi_study_batch(const hvi_scale *scale);
size_t hvi_study_measures(const hvi_scale *scale);
/* A contender's settings in an environment: eta is 1 where the file gives none. */
hvi_settings hvi_study_settings(const hvi_contender *c, const char *environment);

/* Outer steps of a contender, widths in force. */
size_t hvi_study_steps(const hvi_scale *scale, const hvi_settings *s);

/* One piece from start to end; tick is told how far it is and says whether to go on.
 * value_piece.c */
typedef bool (*hvi_study_tick)(void *context, double share);
hvi_status hvi_study_piece_run(const hvi_study *study, const hvi_study_piece *piece,
                               hvi_study_tap *tap, hvi_study_tick tick, void *context,
                               hvi_error *err);
/* Everything that decides a piece's result, in a line; hvi_free it. */
char *hvi_study_piece_about(const hvi_study *study, const hvi_study_piece *piece);

/* Rows of one piece. */
typedef struct hvi_study_curve {
  size_t count;
  hvi_evaluation_row *rows;
  bool diverged;
} hvi_study_curve;

/* The result file of a piece, PATH.csv; reading says whether there is one of the same `about`.
 * value_file.c */
hvi_status hvi_study_curve_write(const char *path, const char *about, const hvi_study_curve *curve,
                                 hvi_error *err);
bool hvi_study_curve_read(hvi_study_curve *curve, const char *path, const char *about);

/* What the judges see. */
typedef struct hvi_study_results {
  const hvi_experiment *experiment;
  size_t places, contenders, seeds;
  const char *names[HVI_MOST_PLACES];   /* environments */
  const char *missing[HVI_MOST_PLACES]; /* why a place was not run; NULL: it was */
  double noise[HVI_MOST_PLACES];
  hvi_study_curve *curves; /* [place][contender][seed] */
} hvi_study_results;

hvi_status hvi_study_collect(hvi_study_results *r, const hvi_study *study, hvi_error *err);
void hvi_study_results_free(hvi_study_results *r);

/* The kind, its figures, its tuning. */
hvi_status hvi_study_run(hvi_run *run, hvi_error *err);
hvi_status hvi_study_draw(hvi_run *run, const hvi_study_results *r, hvi_error *err);
hvi_status hvi_study_chain(hvi_run *run, hvi_error *err);
/* Runs the grid, writes tune.csv, and tells what is best; hvi_free the text. */
hvi_status hvi_study_tune(char **text, hvi_run *run, hvi_error *err);

/* The claims of an experiment of the paper, by its ID; claims_value.c. */
void hvi_claims_study(hvi_claims *claims, const hvi_study_results *r);

#endif
