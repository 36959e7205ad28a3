/* The parts of `hvi solve`. */
#pragma once

#include "io/kept.h"
#include "io/log.h"
#include "report/text.h"
#include "setup.h"

#include <hvi/ensemble.h>
#include <hvi/mdp.h>

typedef struct hvi_solve {
  hvi_setup setup;
  const char *trace, *log, *plot, *save, *checkpoint; /* files, or NULL */
  bool trace_z;                                       /* z in the trace, however long */
  bool resume, fresh, accept_other_bits;
  double checkpoint_every; /* seconds */
  size_t every;            /* rows of the table */
  size_t ensemble, jobs;   /* instances; threads */
  const hvi_args *args;    /* the command line, whose first rows are those of `hvi inspect` too */
  size_t shared_options;   /* as many */
} hvi_solve;

/* Before the iterations: the problem, the method and the rules to stop. eta is NaN where each
 * instance has its own. */
void hvi_solve_header(const hvi_setup *s, double eta);

/* Many random instances; returns the exit code. */
int hvi_solve_ensemble(const hvi_solve *s);
/* What the problem is, in a number. */
hvi_status hvi_solve_fingerprint(uint64_t *hash, const hvi_setup *s, hvi_error *err);

/* How every trace begins. */
#define HVI_TRACE_START "outer,inner,loss0,loss,ratio,dist2,residual,"

/* What a row of any file about a solve has. */
#define HVI_RECORD_VALUES(r)                                                                       \
  V("outer", (r)->outer), V("inner", (r)->inner), V("loss0", (r)->loss0), V("loss", (r)->loss),    \
      V("ratio", (r)->ratio), V("dist2", (r)->dist2), V("residual", (r)->residual),                \
      V("f_evals", (r)->counts.f_evals), V("model_passes", (r)->counts.model_passes),              \
      V("grad_evals", (r)->counts.grad_evals), V("env_steps", (r)->counts.env_steps),              \
      V("seconds", (r)->seconds), V("alpha", (r)->alpha)

typedef struct hvi_solve_trace {
  const hvi_solve *asked; /* NULL: there is no trace */
  hvi_log log;
  /* what policy evaluation is traced beside */
  const hvi_mdp *mdp; /* NULL: no process is behind the problem */
  hvi_solver *exact;
  double *difference, *values; /* [d], [n] */
} hvi_solve_trace;

/* Rows after the step are cut off. */
hvi_status hvi_trace_open(hvi_solve_trace *t, const hvi_solve *asked, size_t step, hvi_error *err);
void hvi_trace_row(hvi_solve_trace *t, const hvi_record *row);
void hvi_trace_free(hvi_solve_trace *t);
/* Whether it has columns for z. */
bool hvi_trace_has_z(const hvi_solve *s);

/* The picture of a solve, and the rows that it is drawn from. */
enum { HVI_PICTURE_PLAYERS = 10, HVI_PICTURE_LINES = 40 }; /* at most; lines of a player */

typedef struct hvi_picture {
  const hvi_setup *setup; /* NULL: there is no picture */
  char *folder, *name, *data;
  const char *format;
  hvi_log rows;
  bool empty;   /* there are none */
  size_t count; /* of outputs, and which they are */
  size_t outputs[HVI_PICTURE_PLAYERS * HVI_PICTURE_LINES];
} hvi_picture;

/* Whether there may be a picture of that name, or NULL; an exit code. */
int hvi_picture_check(const char *path);
/* Rows after the step are cut off. */
hvi_status hvi_picture_open(hvi_picture *p, const hvi_solve *asked, size_t step, hvi_error *err);
/* A row, if it is due, or the last. */
void hvi_picture_row(hvi_picture *p, const hvi_record *row, bool last);
/* At the end, when the rows are closed. */
hvi_status hvi_picture_draw(const hvi_picture *p, const hvi_info *info, hvi_error *err);
void hvi_picture_free(hvi_picture *p);

typedef struct hvi_solve_files {
  const hvi_solve *asked;
  hvi_solver *solver;
  hvi_solve_trace trace;
  hvi_log log;
  hvi_picture picture;
  /* the checkpoint */
  hvi_lock lock;
  hvi_kept head;
  char *about;
  double *state;  /* [hvi_solver_state] before the last step */
  double written; /* on the clock */
  size_t resumed; /* the outer step that it goes on from; HVI_LOG_NEW: it begins anew */
} hvi_solve_files;

/* Whether the files may be written, before work begins; an exit code. */
int hvi_solve_files_check(const hvi_solve *s);
/* Opens them, and restores the solver where a run is resumed; an exit code. */
int hvi_solve_files_open(hvi_solve_files *f, const hvi_solve *s, hvi_solver *solver);
/* What there is to remark about them. */
void hvi_solve_files_tell(const hvi_solve_files *f);
/* Before a step: keeps the state, and writes a checkpoint when one is due. */
hvi_status hvi_solve_files_keep(hvi_solve_files *f, hvi_error *err);
/* After it. */
void hvi_solve_files_row(hvi_solve_files *f, const hvi_record *row);
/* At the end: completes all of them. The exit code of the last that failed, or `code`. */
int hvi_solve_files_close(hvi_solve_files *f, const hvi_info *info, int code);
void hvi_solve_files_free(hvi_solve_files *f);
