/*
 * Experiments: a problem, a list of methods, and what to do with them, from a YAML file.
 *
 *   id: pennies
 *   title: Hidden matching pennies
 *   kind: trajectory            # trajectory, timing, ensemble, value, ...
 *   problem: pennies            # a built-in name, or a game file beside this one
 *   options: {weight: 0.75}     # of a built-in problem
 *   seed: 1
 *   quick: {iterations: 1000}
 *   full: {iterations: 10000}
 *   methods:
 *     - {label: PHGD, method: phgd, eta: 0.01}
 *     - {label: GD(10), method: gd, eta: 0.1, inner: 10, lr: 1}
 *
 * The paper's are built in; a file of one's own compares methods on one's own game.
 */
#ifndef HVI_EXPERIMENTS_EXPERIMENT_H
#define HVI_EXPERIMENTS_EXPERIMENT_H

#include <hvi/builtin.h>
#include <hvi/solver.h>

/* How much to do. */
typedef struct hvi_scale {
  size_t iterations; /* outer iterations of a run */
  size_t instances;  /* ensemble; for rps, of the scan */
  size_t repeats;    /* timing: the fastest counts */
  /* value: iterations are outer steps, instances seeds; 0: not given */
  size_t batch;     /* transitions of an outer step */
  size_t offline;   /* transitions of a fixed data set */
  size_t gradients; /* that each method may compute, instead of iterations */
  size_t states;    /* of the test set; 0: all */
  size_t width;     /* of all hidden layers, instead of those in `value` */
  size_t measures;  /* evenly spaced */
} hvi_scale;

struct hvi_node;
struct hvi_text;
/* Reads a size; the key `grid` is left to the caller. */
hvi_status hvi_scale_parse(hvi_scale *s, const struct hvi_node *map, const char *origin,
                           hvi_error *err);
void hvi_scale_describe(struct hvi_text *t, const hvi_scale *s);

enum { HVI_MOST_RATES = 16, HVI_MOST_EXCEPTIONS = 4 };

/* The rate of a method in one environment, where it is another than elsewhere. */
typedef struct hvi_rate_at {
  const char *environment;
  double rate;
} hvi_rate_at;

typedef struct hvi_contender {
  const char *label;
  char slug[48]; /* the label as part of a file name, unlike any other's */
  hvi_settings settings;
  size_t style;   /* of its lines; its place in the list unless told otherwise */
  bool highlight; /* trajectory: its path is drawn; ensemble: its band is drawn */
  /* value: */
  bool eta_given;
  size_t double_sampling; /* batches of the buffer; 0: none */
  double lambda;          /* how far targets look ahead; 0: one step */
  bool returns;           /* targets are Monte-Carlo returns: a level to compare with */
  size_t rate_count;
  double rates[HVI_MOST_RATES]; /* what hvi_contender_rate is chosen from; none: the experiment's */
  size_t exception_count;
  hvi_rate_at exceptions[HVI_MOST_EXCEPTIONS];
} hvi_contender;

typedef struct hvi_experiment {
  const char *id, *title;
  const char *kind;
  const char *problem; /* NULL: the kind brings its own */
  size_t option_count;
  hvi_option *options;
  uint64_t seed;
  hvi_scale quick, full;
  size_t contender_count;
  hvi_contender *contenders;
  struct hvi_study_plan *study; /* of kind value; NULL: none */
  bool builtin;                 /* one of the paper's: its claims are judged */
  char *text;                   /* the YAML itself */
  char *problem_path; /* of a game file, relative to where the program runs; NULL: built in */
  void *tree;         /* holds the strings */
} hvi_experiment;

/* Finds a built-in experiment by its ID or reads a file (a name with a '/' or a '.'). An unknown ID
 * gives HVI_ERROR_INPUT with the nearest one. */
hvi_status hvi_experiment_new(hvi_experiment **e, const char *name, hvi_error *err);
/* The same from text; `origin` names it in errors, and a relative problem file is looked for beside
 * it. */
hvi_status hvi_experiment_parse(hvi_experiment **e, const char *text, const char *origin,
                                hvi_error *err);
void hvi_experiment_free(hvi_experiment *e);

/* IDs of the built-in experiments in the order of the paper, ending in NULL. */
const char *const *hvi_experiment_ids(void);

/* The contender with that label, or NULL. */
const hvi_contender *hvi_experiment_contender(const hvi_experiment *e, const char *label);

/* Reads the settings of one method; contender.c. */
hvi_status hvi_contender_parse(hvi_contender *c, const struct hvi_node *map, const char *origin,
                               hvi_error *err);

/* Its settings in words, all of those that a file can set: `s` is c->settings or nearly so. */
void hvi_contender_describe(struct hvi_text *t, const hvi_contender *c, const hvi_settings *s);
/* The settings with the rate that holds in an environment. */
hvi_settings hvi_contender_at(const hvi_contender *c, const char *environment);
/* What is tuned: a gradient method's lr, lm's damping, the eta of everything else; and its key. */
double *hvi_contender_rate(hvi_settings *s, const char **key);

/* Makes the problem: instance 0 is the fixed one, others are draws by the experiment's seed. */
hvi_status hvi_experiment_problem(hvi_problem **p, const hvi_experiment *e, uint64_t instance,
                                  hvi_error *err);

#endif
