/*
 * What lies between libhvi and Python: callables as models and operators, a trace that is kept
 * without Python, and a solve in slices, between which Python looks at its signals.
 *
 * cffi compiles this file with declarations made from glue.h and the library's own headers.
 */
#include "glue.h"

#include "base/blas.h"
#include "base/file.h"
#include "base/suggest.h"
#include "rl/policy.h"

#include <hvi/plugin.h>

#include <cblas.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* OpenBLAS chooses its kernels when it is loaded, by a variable or by the type of processor. Here it
 * reads the library's choice, as in the program; the environment stays as it is, for NumPy's. */
char *__real_getenv(const char *name);
char *__wrap_getenv(const char *name) {
  char *value = __real_getenv(name);
  const bool kernels = !value && strcmp(name, "OPENBLAS_CORETYPE") == 0;
  return kernels ? (char *)hvi_blas_core(hvi_cpu_level()) : value;
}

static void hvi_py_blas_threads(int threads) { openblas_set_num_threads(threads); }
static const char *hvi_py_blas_kernels(void) { return openblas_get_corename(); }
static int hvi_py_blas_count(void) { return openblas_get_num_threads(); }

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

static hvi_py_row row_of(const hvi_record *r) {
  const hvi_counts *c = &r->counts;
  return (hvi_py_row){r->outer,      r->inner,     r->loss0,    r->loss,    r->ratio,
                      r->alpha,      r->dist2,     r->residual, c->f_evals, c->model_passes,
                      c->grad_evals, c->env_steps, r->seconds};
}

static bool keep(hvi_py_watch *w, const hvi_record *r) {
  if (w->count == w->room && !grow(w)) return !(w->failed = w->no_memory = true);
  w->rows[w->count] = row_of(r);
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

static bool hvi_py_observe(void *context, const hvi_record *r) {
  hvi_py_watch *w = context;
  if (w->failed || (w->keep && !keep(w, r))) return false;
  if (!w->callback || (w->every > 0 && now() < w->next)) return true;
  w->next = now() + w->every;
  const hvi_py_row row = row_of(r);
  return hvi_py_on_row(w->callback, &row, r->theta, r->z) && !w->failed;
}

static hvi_outcome hvi_py_run(hvi_solver *s, const hvi_py_watch *w, double seconds) {
  const double end = now() + seconds;
  hvi_outcome outcome;
  do outcome = hvi_solver_step(s);
  while (outcome == HVI_RUNNING && !w->failed && now() < end);
  return outcome == HVI_RUNNING ? outcome : hvi_solver_run(s); /* has ended: the seconds of it */
}

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

static hvi_problem *hvi_py_problem(void *handle, hvi_model *m) {
  problem *p = m ? calloc(1, sizeof *p) : NULL;
  if (!p) return hvi_model_free(m), NULL;
  p->base.ops = &problem_ops;
  p->base.model = m;
  p->handle = handle;
  return &p->base;
}

static hvi_status hvi_py_code(const hvi_builtin **kind, const char *path, hvi_error *err) {
  return hvi_plugin_load(kind, path, err);
}

static hvi_status hvi_py_unknown(const char *where, const char *word, char **names,
                                 hvi_error *err) {
  return hvi_suggest_refuse(err, where, "argument", word, (const char *const *)names);
}

static hvi_status hvi_py_may_write(const char *path, const char *mark, hvi_error *err) {
  return hvi_file_ours(path, mark, err);
}

static hvi_status hvi_py_write(const char *path, const char *bytes, size_t size, hvi_error *err) {
  hvi_file f;
  const hvi_status status = hvi_file_create(&f, path, err);
  if (status) return status;
  fwrite(bytes, 1, size, f.stream);
  return hvi_file_commit(&f, err);
}

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

static void hvi_py_policy_text(const hvi_policy *p, char *text) { hvi_policy_describe(text, p); }
