/* The parts of `hvi evaluate`: the value function of a policy, from an environment or from data. */
#ifndef HVI_CLI_EVALUATE_PARTS_H
#define HVI_CLI_EVALUATE_PARTS_H

#include "base/file.h"
#include "setup.h"
#include "talk.h"

#include <hvi/evaluate.h>

typedef struct hvi_evaluate {
  /* as asked for */
  hvi_talk talk;
  hvi_setup setup; /* the method; its seed is the seed of everything */
  const char *env_name, *policy_path, *data_path, *testset_path, *out;
  size_t steps, test_states, every, threads;
  int normalise; /* 1: yes */
  bool gap, resume, fresh, json;

  /* as made */
  hvi_lock lock;                             /* on the checkpoint */
  char *stem;                                /* what the names of the files begin with */
  char *network, *trace, *checkpoint, *kept; /* files; kept: the test set made here, or NULL */
  char *about;                               /* everything that the bits depend on, in words */
  size_t batch;                              /* new transitions of an outer step */
  hvi_env *env;
  hvi_policy *policy;
  hvi_collector *collector;
  hvi_dataset *data; /* of a file */
  hvi_scales scales;
  hvi_testset *testset;
  hvi_probe *probe;
  hvi_evaluation_spec spec; /* its settings first as asked for */
  hvi_evaluation *evaluation;
} hvi_evaluate;

/* What came out. */
typedef struct hvi_evaluated {
  hvi_evaluation_row last;
  hvi_score score; /* states 0: no test set */
  hvi_score exact; /* the same where a closed form is known */
  hvi_gap gap;     /* NaN: none */
  size_t gap_rows;
  bool interrupted;
} hvi_evaluated;

/* Environment, policy, data, test set and spec; evaluate_open.c. These return exit codes. */
int hvi_evaluate_open(hvi_evaluate *e, const hvi_args *args);
void hvi_evaluate_close(hvi_evaluate *e);
/* Fills in the names of the files, none of which may be one that is read; evaluate_names.c. */
int hvi_evaluate_names(hvi_evaluate *e);
/* Fills in `about`; evaluate_about.c. */
int hvi_evaluate_about(hvi_evaluate *e);
/* The method in force, from the defaults and the options; evaluate_method.c. */
int hvi_evaluate_method(hvi_evaluate *e, const hvi_args *args);

/* Adds the options of the method; evaluate_method.c. */
void hvi_evaluate_method_options(hvi_evaluate *e, hvi_args *args);

/* The files; evaluate_files.c. An error when one is there that hvi did not make, or when another
 * run has them; locked from then on. `there`: a checkpoint is. */
int hvi_evaluate_claim(hvi_evaluate *e, bool *there);
/* The network and the trace, whole or not at all: */
hvi_status hvi_evaluate_save(const hvi_evaluate *e, hvi_error *err);
hvi_status hvi_evaluate_trace(const hvi_evaluate *e, hvi_error *err); /* the trace alone */
/* The learning curve and the calibration. That gnuplot is missing is no error. */
hvi_status hvi_evaluate_draw(const hvi_evaluate *e, hvi_error *err);

/* Measures the end; evaluate_report.c. */
hvi_status hvi_evaluate_judge(hvi_evaluate *e, hvi_evaluated *r, hvi_error *err);
void hvi_evaluate_summary(const hvi_evaluate *e, const hvi_evaluated *r);
void hvi_evaluate_json(const hvi_evaluate *e, const hvi_evaluated *r);

#endif
