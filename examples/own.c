/*
 * A problem of one's own as code: firms that decide how much to produce (a Cournot market).
 *
 *   F_i(z) = c + d z_i^2 - (a - b sum_j z_j) + b z_i        marginal cost - marginal revenue
 *   z_i    = h (1 + tanh(w . theta_i)),  w = (0.8, 0.6)     the firm's own model, z_i in [0, 2h]
 *
 * F is nonlinear, and monotone for z >= 0: its Jacobian is b (I + 1 1') + 2 d diag(z). With equal
 * costs all firms produce the same, and z solves d z^2 + b (n + 1) z = a - c: the solution is known.
 *
 *   hvi solve own.c --set firms=5                  # compiles and loads this file
 *   hvi list own.c; hvi check own.c                # its options; its derivatives
 *   make own && ./own                              # the same file as a program
 */
#include <hvi/hvi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100, DIM = 2 };
static const double w[DIM] = {0.8, 0.6};

/* The options, a row each: `--set firms=5` on the command line, `options: {firms: 5}` in a file. */
typedef struct market_options {
  size_t firms;
  double price, slope, cost, convexity, half;
} market_options;

#define AT(member) .offset = offsetof(market_options, member)
static const hvi_setting rows[] = {
    {"firms", HVI_SETTING_COUNT, AT(firms), .range = "[1,100]", .fallback = "3", .help = "n"},
    {"price", HVI_SETTING_REAL, AT(price), .range = "(0,inf)", .fallback = "10", .help = "a"},
    {"slope", HVI_SETTING_REAL, AT(slope), .range = "(0,inf)", .fallback = "1", .help = "b"},
    {"cost", HVI_SETTING_REAL, AT(cost), .range = "[0,inf)", .fallback = "1", .help = "c"},
    {"convexity", HVI_SETTING_REAL, AT(convexity), .range = "[0,inf)", .fallback = "0.5",
     .help = "d"},
    {"half", HVI_SETTING_REAL, AT(half), .range = "(0,inf)", .fallback = "2.5", .help = "h"},
    {0}};
static const hvi_setting_table options = {"market", sizeof(market_options), rows};

/* The model of one firm. It is constant; what an evaluation leaves for the derivatives, here the
 * slope dz / d(w . theta), goes into the cache. */
typedef struct firm {
  hvi_model base; /* first, so that a pointer to one is a pointer to the other */
  hvi_block block;
  double half;
} firm;

static void firm_eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const double half = ((const firm *)m)->half, t = tanh(w[0] * theta[0] + w[1] * theta[1]);
  z[0] = half * (1.0 + t);
  cache[0] = half * (1.0 - t * t);
}

/* out = J'u */
static void firm_vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                     double *out) {
  (void)m, (void)theta;
  for (size_t k = 0; k < DIM; k++) out[k] = cache[0] * w[k] * u[0];
}

/* out = J v */
static void firm_jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                     double *out) {
  (void)m, (void)theta;
  out[0] = cache[0] * (w[0] * v[0] + w[1] * v[1]);
}

static void firm_free(hvi_model *m) { free(m); }

static const hvi_model_ops firm_ops = {
    .name = "firm", .eval = firm_eval, .vjp = firm_vjp, .jvp = firm_jvp, .free = firm_free};

static hvi_model *firm_new(double half) {
  firm *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->block = (hvi_block){.dim = DIM, .out = 1};
  f->base = (hvi_model){
      .ops = &firm_ops, .dim = DIM, .out = 1, .cache = 1, .block_count = 1, .blocks = &f->block};
  f->half = half;
  return &f->base;
}

/* The problem: one block of memory, constant once it is made, so that threads can share it. */
typedef struct market {
  hvi_problem base;
  market_options o;
  double cost[MOST], lower[MOST], upper[MOST], solution[MOST], theta0[MOST * DIM];
  char name[MOST][32];
  const char *names[MOST];
  hvi_set box;
} market;

static void market_operate(const hvi_problem *p, const void *sample, const double *theta,
                           const double *z, double *f) {
  const market *m = (const market *)p;
  double total = 0.0;
  (void)sample, (void)theta;
  for (size_t i = 0; i < m->o.firms; i++) total += z[i];
  for (size_t i = 0; i < m->o.firms; i++)
    f[i] = m->cost[i] + m->o.convexity * z[i] * z[i] - m->o.price + m->o.slope * (total + z[i]);
}

/* The model is freed before. */
static void market_free(hvi_problem *p) { free(p); }

static const hvi_problem_ops market_ops = {
    .name = "market", .operate = market_operate, .free = market_free};

/* Players side by side. hvi_players_new takes the firms over, also when it fails. */
static hvi_status make_model(hvi_model **model, const market_options *o, hvi_error *err) {
  hvi_model *firms[MOST];
  for (size_t i = 0; i < o->firms; i++) {
    firms[i] = firm_new(o->half);
    if (firms[i]) continue;
    while (i > 0) hvi_model_free(firms[--i]);
    return hvi_error_set(err, HVI_ERROR_MEMORY, "market: out of memory");
  }
  return hvi_players_new(model, o->firms, firms, err);
}

/* Equal costs, where z is known; instances 1, 2, ... draw costs and start. */
static void fill(market *m, uint64_t seed, uint64_t instance) {
  const market_options *o = &m->o;
  const double n = (double)o->firms, b = o->slope * (n + 1.0), gain = o->price - o->cost;
  const double root = sqrt(b * b + 4.0 * o->convexity * gain);
  const double z = o->convexity > 0.0 ? (root - b) / (2.0 * o->convexity) : gain / b;
  hvi_rng rng = hvi_rng_new(seed, "market", instance);
  for (size_t i = 0; i < o->firms; i++) {
    m->cost[i] = o->cost * (instance > 0 ? hvi_rng_range(&rng, 0.5, 1.5) : 1.0);
    m->upper[i] = 2.0 * o->half;
    m->solution[i] = fmin(fmax(z, 0.0), m->upper[i]);
    snprintf(m->name[i], sizeof m->name[i], "firm %zu", i + 1);
    m->names[i] = m->name[i];
  }
  if (instance > 0) hvi_rng_fill_normal(&rng, 0.0, 0.5, o->firms * DIM, m->theta0);
}

static hvi_status make(hvi_problem **problem, const hvi_options *o, hvi_error *err) {
  market *m = calloc(1, sizeof *m);
  if (!m) return hvi_error_set(err, HVI_ERROR_MEMORY, "market: out of memory");
  m->o = *(const market_options *)o->values;
  fill(m, o->seed, o->instance);
  m->box = (hvi_set){.kind = HVI_SET_BOX, .len = m->o.firms, .lower = m->lower, .upper = m->upper};
  m->base = (hvi_problem){.ops = &market_ops,
                          .players = m->names,
                          .theta0 = m->theta0,
                          .solution = o->instance > 0 ? NULL : m->solution,
                          .set_count = 1,
                          .sets = &m->box};
  *problem = &m->base; /* freed for us when what follows fails */
  return make_model(&m->base.model, &m->o, err);
}

/* The one name that hvi looks for. */
const hvi_plugin hvi_plugin_problem = {
    HVI_PLUGIN_ABI, {"market", "firms that decide how much to produce", &options, make}};

/* As a program of its own; `hvi solve own.c` does not look at this. */
int main(void) {
  hvi_problem *p = NULL;
  hvi_solver *solver = NULL;
  hvi_error err;
  const hvi_option five = {"firms", "5"};
  if (hvi_builtin_make(&p, &hvi_plugin_problem.problem, &five, 1, 1, 0, &err))
    return puts(err.text), 1;
  const hvi_settings s = hvi_settings_defaults();
  if (hvi_solver_new(&solver, p, &s, &err)) return puts(err.text), 1;
  hvi_solver_run(solver);
  const hvi_info info = hvi_solver_info(solver);
  printf("%s: each of %zu firms produces %.6f; the closed form is %.6f\n",
         hvi_outcome_name(info.outcome), p->model->out, info.last.z[0], p->solution[0]);
  hvi_solver_free(solver);
  hvi_problem_free(p);
  return 0;
}
