/*
 * What Python sees of glue.c. cffi reads this file as it reads the library's headers.
 */
#pragma once

#include <hvi/hvi.h>

/* This OpenBLAS is the package's own: its names are hidden, and NumPy has another. */
static void hvi_py_blas_threads(int threads);
static int hvi_py_blas_count(void);
static const char *hvi_py_blas_kernels(void);

/* A row of the trace: the numbers of an hvi_record, eight bytes each. */
typedef struct hvi_py_row {
  uint64_t outer, inner;
  double loss0, loss, ratio, alpha, dist2, residual;
  uint64_t f_evals, model_passes, grad_evals, env_steps;
  double seconds;
} hvi_py_row;

typedef struct hvi_py_watch {
  bool keep, keep_points; /* rows; theta and z of each */
  void *callback;         /* a handle for hvi_py_on_row; NULL: none */
  bool failed;            /* a callable has raised, or there is no memory: the solve stops */
  bool no_memory;
  double every,
      next; /* seconds between two calls of the callback, 0: each row; when the next is due */
  size_t count, room, dim, out;
  hvi_py_row *rows; /* [count] */
  double *points;   /* [count][dim + out] */
} hvi_py_watch;

static bool hvi_py_observe(void *context, const hvi_record *row);
static void hvi_py_watch_end(hvi_py_watch *w);

/* Outer steps for about so many seconds. HVI_RUNNING: there is more to do. */
static hvi_outcome hvi_py_run(hvi_solver *s, const hvi_py_watch *w, double seconds);
/* The same of an evaluation, whose steps are long. True: it is done, or *status tells why not. */
static bool hvi_py_evaluate(hvi_evaluation *e, double seconds, hvi_status *status, hvi_error *err);

/* Callables as a model of one block, and as a problem, which takes the model over. */
static hvi_model *hvi_py_model(void *handle, size_t dim, size_t out);
static hvi_problem *hvi_py_problem(void *handle, hvi_model *m);

/* The row of a shared library (plugin.h). */
static hvi_status hvi_py_code(const hvi_builtin **kind, const char *path, hvi_error *err);
/* Refuses a word that is none of the names, with the nearest one. */
static hvi_status hvi_py_unknown(const char *where, const char *word, char **names, hvi_error *err);
/* A file at path may be written: nothing is there, or what has the mark (NULL: whatever it is). */
static hvi_status hvi_py_may_write(const char *path, const char *mark, hvi_error *err);
/* A file of these bytes, whole or not at all. */
static hvi_status hvi_py_write(const char *path, const char *bytes, size_t size, hvi_error *err);

/* What a policy is made of, for those who write it down in another form. */
typedef struct hvi_py_layer {
  size_t in, out;
  const float *weight, *bias; /* [out][in], [out] */
} hvi_py_layer;

typedef struct hvi_py_form {
  size_t layers; /* the head, of 2 act outputs with the means first, is the last; 0: linear */
  hvi_activation activation;
  bool clipped; /* and not squashed by tanh; to shift +- scale either way */
  bool noise;
  const float *scale, *shift; /* [act] */
  const double *gain;         /* [act][obs] of a linear one */
} hvi_py_form;

static hvi_py_form hvi_py_policy_form(const hvi_policy *p);
static hvi_py_layer hvi_py_policy_layer(const hvi_policy *p, size_t l);
static void hvi_py_policy_text(const hvi_policy *p, char *text);

/* Python's: cffi defines them, and takes the GIL around each call. */
static bool hvi_py_on_row(void *handle, const hvi_py_row *row, const double *theta,
                          const double *z);
static void hvi_py_on_F(void *handle, const double *theta, const double *z, double *f);
static void hvi_py_on_g(void *handle, const double *theta, double *z);
static void hvi_py_on_vjp(void *handle, const double *theta, const double *u, double *out);
static void hvi_py_on_jvp(void *handle, const double *theta, const double *v, double *out);
