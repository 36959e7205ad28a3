/*
 * The checker: each structural fault has its line and crashes nobody; each planted fault of a model,
 * an operator, a set or a sample fails its own test; what is right passes.
 */
#include <hvi/check.h>

#include "support/models.h"
#include "support/networks.h"
#include "support/starve.h"
#include "support/toy.h"

#include <hvi/builtin.h>
#include <hvi/ensemble.h>
#include <hvi/theory.h>

#include <float.h>

/* Two players, z = tanh(theta + 0.1 theta^3) by player, with a fault that can be planted. */
enum { D = 5, FIRST = 2 };

typedef enum fault {
  NONE,
  VJP_SIGN,
  JVP_SIGN,
  JVP_FACTOR,
  VJP_ONE_ENTRY,
  VJP_ADDS,
  EVAL_FORGETS,
  JVP_BEYOND,
  CACHE_BEYOND,
  CACHE_STALE,
  EVAL_COUNTS,
  PLAYERS_MIX,
  PLAYER_DIFFERS,
  PLAYER_NAN,
  JACOBIAN_WRONG,
  JACOBIAN_SINGLE, /* by 5e-5, of a model that computes in floats */
  GRAM_WRONG,
  OUTER_WRONG,
  F_NAN,
  F_COUNTS,
  F_FORGETS,
  F_BEYOND,
  AFFINE_WRONG,
  CONSTANTS_WRONG,
  DRAW_COUNTS,
  DRAW_NAN,
  SEEK_WRONG,
  FAULTS
} fault;

typedef struct plant {
  hvi_problem base;
  hvi_model model, player[2];
  hvi_set set;
  fault fault;
} plant;

static fault planted; /* what the models, who do not know their problem, look at */
static size_t calls;

static double bent(double t) { return tanh(t + 0.1 * t * t * t); }
static double slope(double t) { return (1.0 - bent(t) * bent(t)) * (1.0 + 0.3 * t * t); }

static void eval(const hvi_model *m, double *cache, const double *theta, double *z) {
  const bool stale = planted == CACHE_STALE && cache[0] != 0.0;
  for (size_t i = 0; i < m->dim; i++) {
    if (!stale) cache[i] = slope(theta[i]);
    z[i] = bent(theta[i]);
  }
  if (planted == EVAL_COUNTS) z[0] += 1e-9 * (double)(++calls % 2);
  if (planted == PLAYERS_MIX && m->block_count > 1) z[0] += 1e-3 * theta[FIRST];
  if (planted == PLAYER_DIFFERS && m->block_count == 1) z[0] *= 1.01;
  if (planted == PLAYER_NAN && m->block_count == 1) z[0] = NAN; /* and not in the last place */
  if (planted == EVAL_FORGETS) z[m->dim - 1] = NAN;
  if (planted == CACHE_BEYOND && m->block_count > 1) cache[m->cache] = 1.0;
}

static void product(const hvi_model *m, double *cache, const double *u, double *out) {
  for (size_t i = 0; i < m->dim; i++) out[i] = cache[i] * u[i];
}

static void vjp(const hvi_model *m, double *cache, const double *theta, const double *u,
                double *out) {
  (void)theta;
  const double before = out[0];
  product(m, cache, u, out);
  if (planted == VJP_ADDS) out[0] += before;
  if (planted == VJP_ONE_ENTRY) out[1] *= 1.0001;
  if (planted == VJP_SIGN)
    for (size_t i = 0; i < m->dim; i++) out[i] = -out[i];
}

static void jvp(const hvi_model *m, double *cache, const double *theta, const double *v,
                double *out) {
  (void)theta;
  product(m, cache, v, out);
  for (size_t i = 0; i < m->dim; i++)
    out[i] *= planted == JVP_SIGN ? -1.0 : planted == JVP_FACTOR ? 1.00001 : 1.0;
  if (planted == JVP_BEYOND && m->block_count > 1) out[m->out] = 0.0;
}

static const hvi_model *player(const hvi_model *m, size_t k) {
  return &((const plant *)(const void *)((const char *)m - offsetof(plant, model)))->player[k];
}

static void jacobian(const hvi_model *m, double *cache, const double *theta, double *J) {
  (void)theta;
  for (size_t i = 0; i < m->out * m->dim; i++) J[i] = 0.0;
  for (size_t i = 0; i < m->out; i++)
    J[i * m->dim + i] = cache[i] * (planted == JACOBIAN_WRONG    ? 1.001
                                    : planted == JACOBIAN_SINGLE ? 1.00005
                                                                 : 1.0);
}

static void gram(const hvi_model *m, const double *weights, double *G) {
  (void)weights; /* an identity, which this J is not */
  for (size_t i = 0; i < m->dim * m->dim; i++) G[i] = i % (m->dim + 1) == 0;
}

static void outer_gram(const hvi_model *m, double *cache, const double *theta, double *K,
                       double *work) {
  (void)theta, (void)work;
  for (size_t i = 0; i < m->out; i++)
    for (size_t j = 0; j <= i; j++)
      K[i * m->out + j] = i != j ? 0.0 : cache[i] * (planted == OUTER_WRONG ? 1.0 : cache[i]);
}

static const hvi_model_ops model_ops = {
    .name = "bent", .eval = eval, .vjp = vjp, .jvp = jvp, .player = player};
static const hvi_model_ops player_ops = {.name = "bent",
                                         .eval = eval,
                                         .vjp = vjp,
                                         .jvp = jvp,
                                         .jacobian = jacobian,
                                         .outer_gram = outer_gram};
static const hvi_model_ops gram_ops = {
    .name = "bent", .eval = eval, .vjp = vjp, .jvp = jvp, .gram = gram};

/* F(z) = 2 z + skew part, and z_i of the first player against that of the second. */
static void operate(const hvi_problem *p, const void *sample, const double *theta, const double *z,
                    double *f) {
  (void)p, (void)theta;
  for (size_t i = 0; i < D; i++) f[i] = 2.0 * z[i] + (sample ? *(const double *)sample : 0.0);
  f[0] += 3.0 * z[D - 1];
  f[D - 1] -= 3.0 * z[0];
  if (planted == F_NAN) f[1] = z[1] > 0.0 ? NAN : f[1];
  if (planted == F_COUNTS) f[1] += 1e-9 * (double)(++calls % 2);
  if (planted == F_FORGETS) f[2] = NAN;
  if (planted == F_BEYOND) f[D] = 1.0;
}

static void affine(const hvi_problem *p, double *A, double *b) {
  (void)p;
  for (size_t i = 0; i < D * D; i++) A[i] = i % (D + 1) == 0 ? 2.0 : 0.0;
  for (size_t i = 0; i < D; i++) b[i] = 0.0;
  A[D - 1] = 3.0;
  A[(D - 1) * D] = planted == AFFINE_WRONG ? 3.0 : -3.0;
}

static hvi_status constants(const hvi_problem *p, hvi_constants *c, hvi_error *err) {
  (void)p, (void)err;
  *c = (hvi_constants){.mu = planted == CONSTANTS_WRONG ? 2.1 : 2.0, sqrt(13.0), .exact = true};
  return HVI_OK;
}

static void draw(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)p, (void)theta;
  double *s = sample;
  s[0] = hvi_rng_normal(rng) + s[1];
  s[1] += 1.0; /* how many were drawn before */
  if (planted == DRAW_COUNTS) s[0] += (double)++calls;
  if (planted == DRAW_NAN) s[0] = NAN;
}

static void seek(const hvi_problem *p, void *sample, size_t draws) {
  (void)p;
  ((double *)sample)[1] = (double)draws + (planted == SEEK_WRONG ? 1.0 : 0.0);
}

static const hvi_problem_ops plain_ops = {
    .name = "plant", .operate = operate, .affine = affine, .constants = constants};
static const hvi_problem_ops drawn_ops = {
    .name = "plant", .operate = operate, .draw = draw, .seek = seek};

static const hvi_block blocks[] = {{0, FIRST, 0, FIRST, 0},
                                   {FIRST, D - FIRST, FIRST, D - FIRST, FIRST}};
static const hvi_block alone[] = {{0, FIRST, 0, FIRST, 0}, {0, D - FIRST, 0, D - FIRST, 0}};
static const hvi_block whole = {0, D, 0, D, 0};
static const double zero[D], low[D] = {-1, -1, -1, -1, -1}, high[D] = {1, 1, 1, 1, 1};

static void plant_init(plant *t, fault f) {
  planted = f;
  calls = 0;
  *t = (plant){.fault = f};
  t->model = (hvi_model){
      .ops = &model_ops, .dim = D, .out = D, .cache = D, .block_count = 2, .blocks = blocks};
  for (size_t k = 0; k < 2; k++) {
    t->player[k] = (hvi_model){.ops = &player_ops, .block_count = 1, .blocks = &alone[k]};
    t->player[k].dim = t->player[k].out = t->player[k].cache = alone[k].dim;
  }
  if (f == JACOBIAN_SINGLE) t->model.noise = FLT_EPSILON;
  if (f == GRAM_WRONG) {
    t->model.ops = &gram_ops;
    t->model.block_count = 1;
    t->model.blocks = &whole;
  }
  t->set = (hvi_set){.kind = HVI_SET_BOX, .len = D, .lower = low, .upper = high};
  const bool drawn = f == DRAW_COUNTS || f == DRAW_NAN || f == SEEK_WRONG;
  t->base = (hvi_problem){.ops = drawn ? &drawn_ops : &plain_ops,
                          .model = &t->model,
                          .theta0 = zero,
                          .solution = zero,
                          .sample_bytes = drawn ? 2 * sizeof(double) : 0,
                          .set_count = 1,
                          .sets = &t->set};
}

static hvi_check checked(const hvi_problem *p, hvi_status expected) {
  hvi_check report;
  hvi_error err = {HVI_OK, ""};
  const hvi_status status = hvi_problem_check(&report, p, NULL, &err);
  if (status != expected) fail_msg("%s: status %d %s", p->ops->name, status, err.text);
  for (size_t i = 0; i < HVI_CHECK_COUNT; i++) {
    const hvi_check_result *r = &report.results[i];
    assert_non_null(r->name);
    assert_int_equal(*r->text != '\0', r->verdict > HVI_CHECK_PASSED);
    assert_null(strchr(r->text, '\n'));
  }
  return report;
}

/* A fault fails this test, with these words. */
static void every_planted_fault_is_found(void **state) {
  (void)state;
  static const struct {
    hvi_check_test test;
    const char *words;
  } expected[FAULTS] = {
      [VJP_SIGN] = {HVI_CHECK_VJP, "the sign is wrong"},
      [JVP_SIGN] = {HVI_CHECK_JVP, "J v of output"},
      [JVP_FACTOR] = {HVI_CHECK_JVP, "J v of output"},
      [VJP_ONE_ENTRY] = {HVI_CHECK_VJP, "differences of g give"},
      [VJP_ADDS] = {HVI_CHECK_ARRAYS, "vjp leaves element 1 of 5 at nan"},
      [EVAL_FORGETS] = {HVI_CHECK_ARRAYS, "eval leaves element 5 of 5 at nan"},
      [JVP_BEYOND] = {HVI_CHECK_ARRAYS, "jvp writes beyond its 5 results"},
      [CACHE_BEYOND] = {HVI_CHECK_ARRAYS, "eval writes beyond the cache of 5 doubles"},
      [CACHE_STALE] = {HVI_CHECK_DETERMINISM, "after an evaluation elsewhere"},
      [EVAL_COUNTS] = {HVI_CHECK_DETERMINISM, "eval gives other bits"},
      [PLAYERS_MIX] = {HVI_CHECK_PLAYERS, "player"},
      [PLAYER_DIFFERS] = {HVI_CHECK_PLAYERS, "alone has other outputs"},
      [PLAYER_NAN] = {HVI_CHECK_PLAYERS, "alone has other outputs"},
      [JACOBIAN_SINGLE] = {HVI_CHECK_MATRICES, "jacobian"},
      [JACOBIAN_WRONG] = {HVI_CHECK_MATRICES, "jacobian"},
      [GRAM_WRONG] = {HVI_CHECK_MATRICES, "gram is not J' Xi J"},
      [OUTER_WRONG] = {HVI_CHECK_MATRICES, "outer_gram is not J J'"},
      [F_NAN] = {HVI_CHECK_OPERATOR, "F leaves element 2 of 5 at nan"},
      [F_COUNTS] = {HVI_CHECK_OPERATOR, "F is not the same the second time"},
      [F_FORGETS] = {HVI_CHECK_OPERATOR, "F leaves element 3 of 5 at nan"},
      [F_BEYOND] = {HVI_CHECK_OPERATOR, "operate writes beyond its 5 results"},
      [AFFINE_WRONG] = {HVI_CHECK_AFFINE, "element 5 of F"},
      [CONSTANTS_WRONG] = {HVI_CHECK_CONSTANTS, "mu = 2.1 and L = 3.60555 are given"},
      [DRAW_COUNTS] = {HVI_CHECK_DRAWS, "two draws with the same generator differ"},
      [DRAW_NAN] = {HVI_CHECK_DRAWS, "not finite"},
      [SEEK_WRONG] = {HVI_CHECK_SEEK, "differs from the one after seek"},
  };
  for (fault f = NONE + 1; f < FAULTS; f++) {
    plant t;
    plant_init(&t, f);
    const hvi_check report = checked(&t.base, HVI_ERROR_INPUT);
    const hvi_check_result *r = &report.results[expected[f].test];
    if (r->verdict != HVI_CHECK_FAILED || !strstr(r->text, expected[f].words))
      fail_msg("fault %d: %s %s '%s'", (int)f, r->name, hvi_check_verdict_name(r->verdict),
               r->text);
    assert_true(report.failed >= 1);
    /* vjp alone is wrong: J v and F are not blamed for it */
    if (f == VJP_SIGN) assert_int_equal(report.results[HVI_CHECK_JVP].verdict, HVI_CHECK_PASSED);
    if (f == JVP_SIGN) assert_int_equal(report.results[HVI_CHECK_VJP].verdict, HVI_CHECK_PASSED);
  }
}

static void without_a_fault_all_pass(void **state) {
  (void)state;
  plant t;
  plant_init(&t, NONE);
  hvi_check r = checked(&t.base, HVI_OK);
  assert_int_equal(r.failed + r.warned, 0);
  assert_true(r.affine);
  assert_true(!r.theta_in_F);
  assert_true(r.zero_sum);
  assert_int_equal(r.monotonicity, HVI_STRONGLY_MONOTONE);
  check_near(r.mu, 2.0, 1e-9);
  for (size_t i = 0; i < HVI_CHECK_DRAWS; i++)
    assert_int_equal(r.results[i].verdict, HVI_CHECK_PASSED);
  plant_init(&t, DRAW_NAN);
  planted = NONE;
  r = checked(&t.base, HVI_OK);
  assert_int_equal(r.results[HVI_CHECK_SEEK].verdict, HVI_CHECK_PASSED);
}

/* Sets that are too small fail; those that are too large, and solutions that are none, are told. */
static void sets_and_solutions_are_compared(void **state) {
  (void)state;
  static const double half[D] = {0.5, 0.5, 0.5, 0.5, 0.5}, wide[D] = {9, 9, 9, 9, 9};
  plant t;
  plant_init(&t, NONE);
  t.set.upper = half;
  hvi_check r = checked(&t.base, HVI_ERROR_INPUT);
  assert_int_equal(r.results[HVI_CHECK_SETS].verdict, HVI_CHECK_FAILED);
  t.set.upper = wide;
  r = checked(&t.base, HVI_OK);
  assert_int_equal(r.results[HVI_CHECK_REACH].verdict, HVI_CHECK_WARNED);
  hvi_check_settings loose = hvi_check_defaults();
  loose.tolerance = 1e-2; /* of derivatives: a share of a set is something else */
  assert_int_equal(hvi_problem_check(&r, &t.base, &loose, NULL), HVI_OK);
  assert_int_equal(r.results[HVI_CHECK_REACH].verdict, HVI_CHECK_WARNED);
  t.set = (hvi_set){.kind = HVI_SET_FREE, .len = D};
  r = checked(&t.base, HVI_OK);
  assert_non_null(strstr(r.results[HVI_CHECK_REACH].text, "however far theta goes"));
  plant_init(&t, NONE);
  t.base.solution = half;
  r = checked(&t.base, HVI_ERROR_INPUT);
  assert_non_null(strstr(r.results[HVI_CHECK_SOLUTION].text, "should be zero"));
}

/* The one direction in which F falls is found among twenty, and the pair shows it. */
static void what_is_not_monotone_is_shown(void **state) {
  (void)state;
  enum { N = 20 };
  static double A[N * N], b[N], start[N], pair[2 * N];
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < N; j++)
      A[i * N + j] = (i == j) - 1.05 / N; /* mu = -0.05 along (1, ..) */
  toy t;
  toy_init(&t, identity_model(N), A, b, start);
  for (int opaque = 0; opaque < 2; opaque++) {
    if (opaque) t.base.ops = &toy_opaque_ops;
    hvi_check r;
    hvi_check_settings s = hvi_check_defaults();
    hvi_error err;
    s.pair = pair;
    check_ok(hvi_problem_check(&r, &t.base, &s, &err), &err);
    assert_int_equal(r.monotonicity, HVI_NOT_MONOTONE);
    assert_int_equal(r.results[HVI_CHECK_MONOTONE].verdict, HVI_CHECK_WARNED);
    assert_int_equal(r.constants.exact, !opaque);
    check_near(r.mu, -0.05, 1e-4);
    double f[2][N], rise = 0.0, step2 = 0.0;
    for (size_t k = 0; k < 2; k++) toy_operate(&t.base, NULL, NULL, pair + k * N, f[k]);
    for (size_t i = 0; i < N; i++) {
      rise += (f[0][i] - f[1][i]) * (pair[i] - pair[N + i]);
      step2 += (pair[i] - pair[N + i]) * (pair[i] - pair[N + i]);
    }
    check_near(rise / step2, r.mu, 1e-9);
  }
  t.cubic = 1.0;
  assert_false(checked(&t.base, HVI_OK).affine);
  hvi_problem_free(&t.base);
}

/* Nothing is expected of a pair but a saddle: mu = 0. */
static void monotone_is_not_strongly_monotone(void **state) {
  (void)state;
  static const double skew[] = {0, 1, -1, 0}, b[2], start[] = {0.3, -0.2};
  toy t;
  toy_init(&t, identity_model(2), skew, b, start);
  assert_int_equal(checked(&t.base, HVI_OK).monotonicity, HVI_MONOTONE);
  hvi_problem_free(&t.base);
}

/* F(z) = z over a model, around theta0 = 0: a kink of relu without biases. */
static void model_passes(const char *name, hvi_model *m, double tolerance) {
  const size_t n = m->out;
  double *A = calloc(n * n + n + m->dim, sizeof *A);
  for (size_t k = 0; k < n; k++) A[k * n + k] = 1.0;
  hvi_check_settings s = hvi_check_defaults();
  hvi_check report;
  hvi_error err;
  toy t;
  toy_init(&t, m, A, A + n * n, A + n * n + n);
  s.tolerance = tolerance;
  s.points = 10;
  print_message("%s\n", name);
  check_ok(hvi_problem_check(&report, &t.base, &s, &err), &err);
  assert_true(report.results[HVI_CHECK_ADJOINT].worst <= 1e-5 * tolerance + 10.0 * m->noise);
  assert_int_equal(report.results[HVI_CHECK_JVP].verdict, HVI_CHECK_PASSED);
  assert_int_equal(report.results[HVI_CHECK_VJP].verdict, HVI_CHECK_PASSED);
  hvi_problem_free(&t.base);
  free(A);
}

static void right_models_pass(void **state) {
  (void)state;
  for (size_t i = 0; i < MODEL_CASES; i++)
    model_passes(model_cases[i].name, make_model(&model_cases[i]), 1e-7);
  for (size_t i = 0; i < NETWORK_CASES; i++) /* in single precision */
    if (network_cases[i].rows < 100)
      model_passes(network_cases[i].name, make_network(&network_cases[i], 1, true), 1e-3);
}

static void built_in_problems_pass(void **state) {
  (void)state;
  for (const hvi_builtin *b = hvi_builtin_list(); b->name; b++) {
    for (uint64_t instance = 0; instance < 2; instance++) {
      hvi_problem *p;
      hvi_error err;
      const hvi_option small = {"rows", "200"}; /* of the large ones */
      const bool large = strncmp(b->name, "credit", 6) == 0;
      check_ok(hvi_builtin_new(&p, b->name, &small, large, 1, instance, &err), &err);
      const hvi_check r = checked(p, HVI_OK);
      assert_int_equal(r.warned, 0);
      hvi_problem_free(p);
    }
  }
}

/* One thing changed in a problem that was right. */
#define WRONG(change, words)                                                                       \
  do {                                                                                             \
    plant t;                                                                                       \
    plant_init(&t, NONE);                                                                          \
    hvi_problem *p = &t.base;                                                                      \
    hvi_model *m = &t.model;                                                                       \
    hvi_set set = t.set;                                                                           \
    hvi_model_ops mo = model_ops;                                                                  \
    hvi_problem_ops po = plain_ops;                                                                \
    hvi_block bl[2] = {blocks[0], blocks[1]};                                                      \
    p->ops = &po, p->sets = &set, m->ops = &mo, m->blocks = bl;                                    \
    change;                                                                                        \
    refused_by_all(p, words);                                                                      \
  } while (0)

/* The ensemble frees what it is handed: nothing, for a problem that nobody allocated. */
static hvi_status hand_out(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  (void)index, (void)err;
  *p = context;
  return HVI_OK;
}

static void refused_by_all(hvi_problem *p, const char *words) {
  const hvi_settings s = hvi_settings_defaults();
  hvi_solver *solver = (hvi_solver *)(void *)&solver;
  hvi_error err;
  hvi_certificate certificate;
  hvi_constants found;
  hvi_inspection inspection;
  hvi_ensemble *ensemble;
  check_error(hvi_problem_check(NULL, p, NULL, &err), HVI_ERROR_ARGUMENT, &err, words);
  assert_int_equal(hvi_problem_check(NULL, p, NULL, NULL), HVI_ERROR_ARGUMENT);
  check_error(hvi_solver_new(&solver, p, &s, &err), HVI_ERROR_ARGUMENT, &err, words);
  assert_null(solver);
  check_error(hvi_problem_judge(&certificate, p, zero, &err), HVI_ERROR_ARGUMENT, &err, words);
  check_error(hvi_problem_constants(&found, p, &err), HVI_ERROR_ARGUMENT, &err, words);
  check_error(hvi_theory_inspect(&inspection, p, &s, 10, &err), HVI_ERROR_ARGUMENT, &err, words);
  const hvi_ensemble_settings many = {.count = 1, .threads = 1};
  check_error(hvi_ensemble_run(&ensemble, hand_out, p, &s, &many, &err), HVI_ERROR_ARGUMENT, &err,
              words);
  assert_null(ensemble);
}

static void structural_faults_have_their_line(void **state) {
  (void)state;
  static const double nan_weights[D] = {1, 1, NAN, 1, 1}, negative[D] = {1, 1, 1, 1, -1};
  static const char *const names[2] = {"row", NULL};
  static const hvi_rule nameless = {0};
  static const hvi_rule *const rules[] = {&nameless, NULL};
  WRONG(p->ops = NULL, "problem: it has no ops");
  WRONG(po.name = NULL, "problem: its ops have no name");
  WRONG(po.operate = NULL, "plant: its ops have no operate");
  WRONG(p->model = NULL, "plant: there is no model");
  WRONG(m->ops = NULL, "the model has no ops");
  WRONG(mo.eval = NULL, "the model has no eval");
  WRONG(mo.vjp = NULL, "the model has no vjp");
  WRONG(mo.jvp = NULL, "the model has no jvp");
  WRONG(m->out = 0, "the model has 5 parameters and 0 outputs: at least 1 each");
  WRONG(m->block_count = 0, "block_count is 0: it is the number of players, at least 1");
  WRONG(m->blocks = NULL, "the model has no blocks");
  WRONG(m->noise = NAN, "noise is nan");
  WRONG(m->block_count = 1, "the blocks cover 2 of 5 parameters and 2 of 5 outputs");
  WRONG(bl[1].theta = 1,
        "block 2 begins at parameter 1 and output 2, and the one before ends at 2");
  WRONG(bl[1].z = 3, "block 2 begins at parameter 2 and output 3");
  WRONG(bl[1].dim = SIZE_MAX, "block 2 reaches beyond the model's 5 parameters and 5 outputs");
  WRONG(mo.player = NULL, "a model of 2 players needs ops->player");
  WRONG(t.player[1].dim = 1, "the model of player 2 has 1 parameters and 3 outputs");
  WRONG(t.player[1].cache = 9, "the cache of player 2 reaches beyond the model's 5 doubles");
  WRONG(t.player[0].ops = NULL, "plant: player 1: the model has no ops");
  WRONG(p->set_count = 0, "its sets cover 0 of 5 outputs");
  WRONG(p->sets = NULL, "there are no sets, and set_count is 1");
  WRONG(set.begin = 1, "set 1 begins at output 1, and the one before ends at 0");
  WRONG(set.len = 4, "its sets cover 4 of 5 outputs");
  WRONG(set.len = 6, "set 1 has a len of 6, of 5 outputs");
  WRONG(set.kind = (hvi_set_kind)99, "set 1 is of kind 99: there is no such kind");
  WRONG(set.lower = NULL, "set 1 is a box without lower bounds");
  WRONG(set.upper = NULL, "set 1 is a box without upper bounds");
  WRONG((set.lower = high, set.upper = low), "set 1: lower[0] = 1 is above upper[0] = -1");
  WRONG(set.upper = nan_weights + 2, "is above upper[0] = nan");
  WRONG(set.kind = HVI_SET_SUBSPACE, "set 1 is a subspace without a basis");
  WRONG((set.kind = HVI_SET_SUBSPACE, set.basis = zero, set.rank = 6),
        "a rank of 6 in 5 outputs: it must lie in [1, 5]");
  WRONG((set.kind = HVI_SET_SUBSPACE, set.basis = zero), "a rank of 0 in 5 outputs");
  WRONG(p->weights = nan_weights, "weight 3 is nan: it must be positive");
  WRONG(p->weights = negative, "weight 5 is -1: it must be positive");
  WRONG(p->solution = nan_weights, "solution 3 is nan: it must be finite");
  WRONG(p->weights = zero, "weight 1 is 0: it must be positive");
  WRONG(p->sample_bytes = 8, "sample_bytes is 8, and there is no draw");
  WRONG(po.draw = draw, "it draws samples, and sample_bytes is 0");
  WRONG(po.seek = seek, "seek needs draw");
  WRONG(p->eta = -1.0, "eta = -1: a step size, or 0");
  WRONG(p->players = names, "player 2 of 2 has no name");
  WRONG(po.rules = rules, "a rule lacks its name, state or step");
}

static void null_pointers_are_arguments(void **state) {
  (void)state;
  const hvi_settings s = hvi_settings_defaults();
  const hvi_ensemble_settings many = {.count = 1};
  plant t;
  hvi_solver *solver;
  hvi_inspection inspection;
  hvi_certificate certificate;
  hvi_check report;
  hvi_check_settings none = {0};
  plant_init(&t, NONE);
  const hvi_status got[] = {hvi_problem_check(NULL, NULL, NULL, NULL),
                            hvi_problem_check(&report, NULL, NULL, NULL),
                            hvi_problem_check(&report, &t.base, &none, NULL),
                            hvi_solver_new(NULL, &t.base, &s, NULL),
                            hvi_solver_new(&solver, NULL, &s, NULL),
                            hvi_solver_new(&solver, &t.base, NULL, NULL),
                            hvi_theory_inspect(NULL, &t.base, &s, 1, NULL),
                            hvi_theory_inspect(&inspection, &t.base, NULL, 1, NULL),
                            hvi_problem_judge(NULL, &t.base, zero, NULL),
                            hvi_problem_judge(&certificate, &t.base, NULL, NULL),
                            hvi_problem_constants(NULL, &t.base, NULL),
                            hvi_ensemble_run(NULL, hand_out, &t.base, &s, &many, NULL)};
  for (size_t i = 0; i < sizeof got / sizeof *got; i++)
    assert_int_equal(got[i], HVI_ERROR_ARGUMENT);
  t.base.theta0 = NULL;
  hvi_error err;
  check_error(hvi_problem_check(&report, &t.base, NULL, &err), HVI_ERROR_ARGUMENT, &err,
              "there is no theta0 to check around");
}

/* Whatever the method: a value that is no choice is refused, by auto too. */
static void choices_out_of_range_are_refused(void **state) {
  (void)state;
  static const char *const methods[] = {"auto", "gd", "extragradient"};
  plant t;
  plant_init(&t, NONE);
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
    for (int bad = -1; bad < 100; bad += 100) {
      hvi_settings s[6];
      for (size_t i = 0; i < 6; i++) s[i] = hvi_method_settings(methods[k]);
      s[0].target = (hvi_target)bad;
      s[1].accelerate = (hvi_acceleration)bad;
      s[2].floor = (hvi_floor)bad;
      s[3].step_rule = (hvi_step_rule)bad;
      s[4].baseline = (hvi_baseline)bad;
      s[5].inner.linear = (hvi_solve_form)bad;
      for (size_t i = 0; i < 6; i++) {
        hvi_solver *solver;
        assert_int_equal(hvi_solver_new(&solver, &t.base, &s[i], NULL), HVI_ERROR_ARGUMENT);
        assert_null(solver);
      }
    }
  }
}

/* A problem as a user writes it: a struct of its own, and a model by the library. */
typedef struct own {
  hvi_problem base;
  hvi_set set;
  double theta0[2];
  double *target;
} own;

static void own_operate(const hvi_problem *p, const void *sample, const double *theta,
                        const double *z, double *f) {
  (void)sample, (void)theta;
  for (size_t i = 0; i < 2; i++) f[i] = z[i] - ((const own *)p)->target[i];
}

static void own_free(hvi_problem *p) {
  free(((own *)p)->target);
  free(p);
}

static void a_users_problem_leaks_nothing(void **state) {
  (void)state;
  static const hvi_problem_ops ops = {.name = "own", .operate = own_operate, .free = own_free};
  own *p = calloc(1, sizeof *p);
  p->target = calloc(2, sizeof *p->target);
  p->set = (hvi_set){.kind = HVI_SET_FREE, .len = 2};
  p->base = (hvi_problem){.ops = &ops,
                          .model = identity_model(2),
                          .theta0 = p->theta0,
                          .solution = p->target,
                          .set_count = 1,
                          .sets = &p->set};
  checked(&p->base, HVI_OK);
  hvi_problem_free(&p->base);
  hvi_problem_free(NULL);
}

static hvi_status check_once(void *context, hvi_error *err) {
  hvi_check report;
  const hvi_check_settings s = {.points = 2, .spread = 1.0, .tolerance = 1e-6};
  return hvi_problem_check(&report, context, &s, err);
}

static void no_memory_is_an_error(void **state) {
  (void)state;
  plant t;
  plant_init(&t, NONE);
  assert_true(starve(check_once, &t.base) >= 4);
}

static void the_same_seed_gives_the_same_report(void **state) {
  (void)state;
  hvi_problem *p;
  hvi_error err;
  check_ok(hvi_builtin_new(&p, "rps", NULL, 0, 1, 3, &err), &err);
  const hvi_check a = checked(p, HVI_OK), b = checked(p, HVI_OK);
  assert_true(a.mu == b.mu && a.lipschitz == b.lipschitz);
  for (size_t i = 0; i < HVI_CHECK_COUNT; i++)
    assert_memory_equal(&a.results[i].worst, &b.results[i].worst, sizeof(double));
  hvi_problem_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(structural_faults_have_their_line),
      cmocka_unit_test(null_pointers_are_arguments),
      cmocka_unit_test(choices_out_of_range_are_refused),
      cmocka_unit_test(without_a_fault_all_pass),
      cmocka_unit_test(every_planted_fault_is_found),
      cmocka_unit_test(sets_and_solutions_are_compared),
      cmocka_unit_test(what_is_not_monotone_is_shown),
      cmocka_unit_test(monotone_is_not_strongly_monotone),
      cmocka_unit_test(right_models_pass),
      cmocka_unit_test(built_in_problems_pass),
      cmocka_unit_test(a_users_problem_leaks_nothing),
      cmocka_unit_test(no_memory_is_an_error),
      cmocka_unit_test(the_same_seed_gives_the_same_report),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
