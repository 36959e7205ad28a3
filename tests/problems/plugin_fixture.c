/* One source of several small libraries with a problem, right and wrong; tests/CMakeLists.txt gives the
 * macros. It calls nothing of libhvi, so that any program can load it. */
#include <hvi/plugin.h>

#include <stdlib.h>

#ifndef FIXTURE_ABI
#define FIXTURE_ABI 0
#endif

typedef struct point {
  hvi_problem base;
  hvi_model model;
  hvi_block block;
  hvi_set set;
  double theta0, at;
} point;

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  (void)m, (void)cache;
  z[0] = theta[0];
}

static void product(const hvi_model *m, double *cache, const double *theta, const double *u,
                    double *out) {
  (void)m, (void)cache, (void)theta;
  out[0] = u[0];
}

static const hvi_model_ops model_ops = {
    .name = "identity", .eval = eval, .vjp = product, .jvp = product};

/* F(z) = z - at */
static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)sample, (void)theta;
  f[0] = z[0] - ((const point *)p)->at;
}

static void drop(hvi_problem *p) { free(p); }

static const hvi_problem_ops ops = {.name = "point", .operate = operate, .free = drop};

typedef struct point_options {
  double at;
  const char *word;
} point_options;

static const hvi_setting rows[] = {
    {"at", HVI_SETTING_REAL, .offset = offsetof(point_options, at), .fallback = "2"},
    {"word", HVI_SETTING_TEXT, .offset = offsetof(point_options, word)},
    {0}};
static const hvi_setting_table options = {"point", sizeof(point_options), rows};

static hvi_status make(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  const point_options *v = o->values;
  point *p = calloc(1, sizeof *p);
  if (!p) return HVI_ERROR_MEMORY;
  (void)problem, (void)err;
  p->at = v->at + (double)o->instance + (o->given[0] ? 0.25 : 0.0) + (o->given[1] ? 0.5 : 0.0);
  p->block = (hvi_block){.dim = 1, .out = 1};
  p->model = (hvi_model){&model_ops, 1, 1, .block_count = 1, .blocks = &p->block};
  p->set = (hvi_set){.kind = HVI_SET_FREE, .len = 1};
  p->base = (hvi_problem){.ops = &ops, .model = &p->model, .theta0 = &p->theta0, .sets = &p->set};
#ifndef FIXTURE_NO_SET
  p->base.set_count = 1;
#endif
#ifndef FIXTURE_NOTHING
  *problem = &p->base;
#else
  free(p);
#endif
#ifdef FIXTURE_FAILS
  return HVI_ERROR_INPUT; /* with an unfinished problem, and without a text */
#else
  return HVI_OK;
#endif
}

#ifdef FIXTURE_NO_TABLE
#define hvi_plugin_problem somebody_elses_problem
extern const hvi_plugin hvi_plugin_problem;
#endif
const hvi_plugin hvi_plugin_problem = {HVI_PLUGIN_ABI + FIXTURE_ABI,
                                       {"point", "a point on a line", &options, make}};
