/*
 * Experiments: a problem, a list of methods, and what to do with them, from a YAML file.
 *
 *   id: pennies
 *   title: Hidden matching pennies
 *   kind: trajectory            # trajectory, timing, ensemble, ...
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
} hvi_scale;

typedef struct hvi_contender {
  const char *label;
  char slug[48]; /* the label as part of a file name, unlike any other's */
  hvi_settings settings;
  size_t style;   /* of its lines; its place in the list unless told otherwise */
  bool highlight; /* trajectory: its path is drawn; ensemble: its band is drawn */
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
  bool builtin;       /* one of the paper's: its claims are judged */
  char *text;         /* the YAML itself */
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
struct hvi_node;
hvi_status hvi_contender_parse(hvi_contender *c, const struct hvi_node *map, const char *origin,
                               hvi_error *err);

/* Makes the problem: instance 0 is the fixed one, others are draws by the experiment's seed. */
hvi_status hvi_experiment_problem(hvi_problem **p, const hvi_experiment *e, uint64_t instance,
                                  hvi_error *err);

#endif
