/* `hvi evaluate`: the value function of a policy, from an environment or from data. */
#pragma once

#include "args.h"
#include "base/file.h"
#include "device.h"
#include "evaluate/task.h"
#include "io/log.h"
#include "setup.h"

/* Names that begin alike: of the two pictures, without an ending, and of the files. */
enum {
  HVI_FILE_CURVE,
  HVI_FILE_CALIBRATION,
  HVI_FILE_NETWORK,
  HVI_FILE_TRACE,
  HVI_FILE_CHECKPOINT,
  HVI_FILE_PAIRS, /* what the calibration shows */
  HVI_FILE_TESTSET,
  HVI_FILES
};

typedef struct hvi_evaluate {
  /* as asked for */
  hvi_setup setup; /* the method; its seed is the seed of everything */
  const char *env_name, *policy_path, *data_path, *testset_path, *out, *log_path;
  size_t steps, test_states, every, threads, gap_rows;
  double standard_error; /* of a test set that has none; NaN: exact */
  hvi_policy_options policy;
  hvi_device_options device;
  hvi_texts map, testset_map; /* names of columns in the data and in the test set */
  bool gap, resume, fresh;

  /* as made */
  hvi_lock lock; /* on the checkpoint */
  hvi_log log;
  size_t logged;         /* outer steps in it; HVI_LOG_NEW: none */
  char *file[HVI_FILES]; /* the test set's: NULL where none is made */
  char about[HVI_EVALUATION_ABOUT];
  size_t batch; /* new transitions of an outer step */
  hvi_task task;
  hvi_dataset gap_data;     /* the first rows of the task's */
  hvi_collector *collector; /* NULL: data of a file */
  hvi_evaluation_spec spec; /* its settings are those of the setup */
  hvi_evaluation *evaluation;
  size_t first, shown; /* the step it started from; rows that were told */
  bool interrupted, resumed;
} hvi_evaluate;

/* Fills in the names of the files, none of which may be one that is read. */
hvi_status hvi_evaluate_names(hvi_evaluate *e, hvi_error *err);
/* An exit code when a file is there that hvi did not make. */
int hvi_evaluate_outputs(const hvi_evaluate *e);
hvi_status hvi_evaluate_trace(const hvi_evaluate *e, hvi_error *err);
/* The learning curve and the calibration. That gnuplot is missing is no error. */
hvi_status hvi_evaluate_draw(const hvi_evaluate *e, hvi_error *err);

/* Measures the end and prints it. */
hvi_status hvi_evaluate_report(hvi_evaluate *e, hvi_error *err);
