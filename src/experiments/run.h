/*
 * Running experiments: what every kind of experiment is given, and the order of things around it.
 *
 * To add a kind: write `hvi_status hvi_<kind>_run(hvi_run *run, hvi_error *err)`, add it to the
 * table in run.c, and describe experiments of that kind in experiments/<id>.yaml. To judge an
 * experiment: write claims_<id>.c.
 */
#ifndef HVI_EXPERIMENTS_RUN_H
#define HVI_EXPERIMENTS_RUN_H

#include "experiments/experiment.h"
#include "report/claims.h"
#include "report/plot.h"

/* One experiment under way. */
typedef struct hvi_run {
  const hvi_experiment *experiment;
  bool full;              /* else quick */
  const hvi_scale *scale; /* the experiment's quick or full one */
  size_t threads;         /* 0: one per core */
  const char *folder;     /* OUT/ID, exists */
  hvi_claims *claims;     /* to be filled: claims and names of figures */
  const struct hvi_reproduce_settings *settings;
  bool stopped; /* the user wants to stop: return HVI_OK as soon as possible */
} hvi_run;

typedef hvi_status (*hvi_run_fn)(hvi_run *run, hvi_error *err);

/* Says how far the experiment is (share in [0, 1], `doing` in a few words). False: stop;
 * run->stopped is then set. Call it between steps, from one thread at a time. */
bool hvi_run_progress(hvi_run *run, const char *doing, double share);
/* Path of a file in the experiment's folder; hvi_free it. NULL without memory. */
char *hvi_run_path(const hvi_run *run, const char *name, const char *ending);
/* Writes a figure's script, draws it, and adds it to the list. */
hvi_status hvi_run_figure(hvi_run *run, const hvi_plot *plot, hvi_error *err);

/* What the program asks for. */
typedef struct hvi_reproduce_settings {
  const char *out; /* folder */
  bool full, resume;
  bool accept_other_bits; /* take up what was computed on another level of instructions */
  size_t threads;         /* 0: one per core */
  /* How far an experiment is; false stops. Optional. */
  bool (*progress)(void *context, const char *id, const char *doing, double share);
  /* A line worth telling, e.g. that gnuplot is missing. Optional. */
  void (*message)(void *context, const char *line);
  void *context;
} hvi_reproduce_settings;

/* Runs one experiment and writes OUT/ID/ with claims.json last, or, when resuming, reads the
 * claims of an earlier run with the same settings. `*stopped`: the user stopped it, and claims is
 * empty. */
hvi_status hvi_reproduce(hvi_claims *claims, bool *stopped, const hvi_experiment *e,
                         const hvi_reproduce_settings *s, hvi_error *err);

/* Runs the grid of rates of an experiment of kind value on its tuning seeds, writes
 * OUT/ID/tune.csv, and tells which are best; hvi_free the text. */
hvi_status hvi_reproduce_tune(char **text, bool *stopped, const hvi_experiment *e,
                              const hvi_reproduce_settings *s, hvi_error *err);

/* Writes OUT/index.html: the experiments given, and the paper's others that OUT has from before. */
hvi_status hvi_reproduce_page(const char *out, const hvi_claims *claims, size_t count,
                              hvi_error *err);

#endif
