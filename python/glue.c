/*
 * What lies between libhvi and Python: callables as models and operators, a trace that is kept
 * without Python, and a solve in slices, between which Python looks at its signals.
 *
 * cffi compiles this file with declarations made from the library's own headers. Functions named
 * hvi_py_on_... are Python's; cffi defines them, and takes the GIL around each call.
 */
#include "base/file.h"
#include "rl/policy.h"

#include <hvi/hvi.h>

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool hvi_py_on_row(void *handle, const hvi_record *row);
static void hvi_py_on_F(void *handle, const double *theta, const double *z, double *f);
static void hvi_py_on_g(void *handle, const double *theta, double *z);
static void hvi_py_on_vjp(void *handle, const double *theta, const double *u, double *out);
static void hvi_py_on_jvp(void *handle, const double *theta, const double *v, double *out);

/* This OpenBLAS is the package's own: its names are hidden, and NumPy has another. */
static void hvi_py_blas_threads(int threads) { openblas_set_num_threads(threads); }
static int hvi_py_blas_count(void) { return openblas_get_num_threads(); }

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

static bool grow(hvi_py_watch *w) {
  const size_t room = w->room ? 2 * w->room : 256, width = w->dim + w->out;
  hvi_py_row *rows = realloc(w->rows, room * sizeof *rows);
  if (rows) w->rows = rows;
  double *points = w->keep_points ? realloc(w->points, room * width * sizeof *points) : NULL;
  if (points) w->points = points;
  if (!rows || (w->keep_points && !points)) return false;
  w->room = room;
  return true;
}

static bool keep(hvi_py_watch *w, const hvi_record *r) {
  if (w->count == w->room && !grow(w)) return !(w->failed = w->no_memory = true);
  const hvi_counts *c = &r->counts;
  w->rows[w->count] = (hvi_py_row){
      r->outer,    r->inner,   r->loss0,        r->loss,       r->ratio,     r->alpha,  r->dist2,
      r->residual, c->f_evals, c->model_passes, c->grad_evals, c->env_steps, r->seconds};
  if (w->keep_points) {
    double *to = w->points + w->count * (w->dim + w->out);
    memcpy(to, r->theta, w->dim * sizeof *to);
    memcpy(to + w->dim, r->z, w->out * sizeof *to);
  }
  w->count++;
  return true;
}

static void hvi_py_watch_end(hvi_py_watch *w) {
  free(w->rows);
  free(w->points);
  w->rows = NULL;
  w->points = NULL;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool hvi_py_observe(void *context, const hvi_record *row) {
  hvi_py_watch *w = context;
  if (w->failed || (w->keep && !keep(w, row))) return false;
  if (!w->callback || (w->every > 0 && now() < w->next)) return true;
  w->next = now() + w->every;
  return hvi_py_on_row(w->callback, row) && !w->failed;
}

/* Outer steps for about so many seconds. HVI_RUNNING: there is more to do. */
static hvi_outcome hvi_py_run(hvi_solver *s, const hvi_py_watch *w, double seconds) {
  const double end = now() + seconds;
  hvi_outcome outcome;
  do outcome = hvi_solver_step(s);
  while (outcome == HVI_RUNNING && !w->failed && now() < end);
  return outcome == HVI_RUNNING ? outcome : hvi_solver_run(s); /* has ended: the seconds of it */
}

/* The same of an evaluation, whose steps are long. True: it is done, or *status tells why not. */
static bool hvi_py_evaluate(hvi_evaluation *e, double seconds, hvi_status *status, hvi_error *err) {
  const double end = now() + seconds;
  do *status = hvi_evaluation_step(e, err);
  while (!*status && !hvi_evaluation_state(e).done && now() < end);
  return *status || hvi_evaluation_state(e).done;
}

/* Callables as a model and a problem; what they point at belongs to the Python object. */
typedef struct model {
  hvi_model base;
  hvi_block block;
  void *handle;
} model;

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  (void)cache;
  hvi_py_on_g(((const model *)m)->handle, theta, z);
}
static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  (void)cache;
  hvi_py_on_vjp(((const model *)m)->handle, theta, u, out);
}
static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  (void)cache;
  hvi_py_on_jvp(((const model *)m)->handle, theta, v, out);
}
static void free_model(hvi_model *m) { free(m); }

static const hvi_model_ops model_ops = {
    .name = "Python", .eval = eval, .vjp = vjp, .jvp = jvp, .free = free_model};

static hvi_model *hvi_py_model(void *handle, size_t dim, size_t out) {
  model *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->block = (hvi_block){.dim = dim, .out = out};
  m->base =
      (hvi_model){.ops = &model_ops, .dim = dim, .out = out, .block_count = 1, .blocks = &m->block};
  m->handle = handle;
  return &m->base;
}

typedef struct problem {
  hvi_problem base;
  void *handle;
} problem;

static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample;
  hvi_py_on_F(((const problem *)p)->handle, theta, z, f);
}
static void free_problem(hvi_problem *p) { free(p); }

static const hvi_problem_ops problem_ops = {
    .name = "problem", .operate = operate, .free = free_problem};

/* Takes the model over. */
static hvi_problem *hvi_py_problem(void *handle, hvi_model *m) {
  problem *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->base.ops = &problem_ops;
  p->base.model = m;
  p->handle = handle;
  return &p->base;
}

/* A file at path may be written: nothing is there, or what has the mark (NULL: whatever it is). */
static hvi_status hvi_py_may_write(const char *path, const char *mark, hvi_error *err) {
  return hvi_file_ours(path, mark, err);
}

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

static hvi_py_form hvi_py_policy_form(const hvi_policy *p) {
  return (hvi_py_form){.layers = p->net ? p->net->layer_count : 0,
                       .activation = p->net ? p->net->layers[0].activation : HVI_IDENTITY,
                       .clipped = p->form.clipped,
                       .noise = !p->net || p->form.deviation != HVI_DEVIATION_NONE,
                       .scale = p->scale,
                       .shift = p->shift,
                       .gain = p->gain};
}

static hvi_py_layer hvi_py_policy_layer(const hvi_policy *p, size_t l) {
  const hvi_net_layer *y = &p->net->layers[l];
  return (hvi_py_layer){y->in, y->out, p->weights + y->weight, p->weights + y->bias};
}

static void hvi_py_policy_text(const hvi_policy *p, char text[HVI_POLICY_TEXT]) {
  hvi_policy_describe(text, p);
}
