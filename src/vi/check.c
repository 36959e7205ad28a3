/*
 * Problems at random points: the set, the operator, samples and the solution, and the report.
 *
 * Pairs of outputs say how monotone F is, near and far ones as in constants.c. In many dimensions they
 * seldom point the worst way. So F is also linearised at some points, A, and the pair along the
 * eigenvector of the smallest eigenvalue of (B'AB + B'A'B) / 2 is one more, B spanning the directions
 * of Z.
 */
#include "base/base.h"
#include "num/dense.h"
#include "vi/checker.h"
#include "vi/sets.h"

#include <float.h>

/* Outputs up to which F is linearised, and written out as a matrix. */
enum { MOST_LINEARISED = 200, MOST_DENSE = 2000, LINEARISED_POINTS = 5, REACH_DRAWS = 32 };

#define AT(member) .offset = offsetof(hvi_check_settings, member)
HVI_ROWS(static const hvi_setting rows[],
    {"points", HVI_SETTING_COUNT, AT(points), .range = "[1,1e6]", .fallback = "20", .help = "random points and directions of each test"},
    {"spread", HVI_SETTING_REAL, AT(spread), .range = "(0,inf)", .fallback = "1", .help = "how far they lie from the start, in each parameter"},
    {"tolerance", HVI_SETTING_REAL, AT(tolerance), .range = "(0,1)", .fallback = "1e-6", .help = "largest relative error of derivatives"},
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "of the points"},
    {0});

/* Each test's limit is max(share * tolerance, rounding * noise, least). */
typedef struct test_row {
  const char *name, *what;
  double share, rounding;
  bool warns; /* no mistake by itself */
  double least;
} test_row;
HVI_ROWS(static const test_row tests[HVI_CHECK_COUNT],
    [HVI_CHECK_ARRAYS] = {"arrays", "eval, vjp and jvp write all of their results and nothing else", 0, 0, false, 0},
    [HVI_CHECK_DETERMINISM] = {"determinism", "same theta, same bits, whatever the cache held before", 0, 0, false, 0},
    [HVI_CHECK_JVP] = {"jvp", "J v against differences of g", 1, 0, false, 0},
    [HVI_CHECK_VJP] = {"vjp", "J'u against differences of g", 1, 0, false, 0},
    [HVI_CHECK_ADJOINT] = {"adjoint", "<u, J v> = <J'u, v>", 1e-3, 100, false, 0},
    [HVI_CHECK_PLAYERS] = {"players", "a player moves its own outputs, as its own model says", 1e-3, 100, false, 0},
    [HVI_CHECK_MATRICES] = {"matrices", "jacobian, gram and outer_gram against jvp and vjp", 1e-3, 100, false, 0},
    [HVI_CHECK_SETS] = {"sets", "outputs lie in Z", 1e-3, 100, false, 0},
    [HVI_CHECK_REACH] = {"reach", "outputs go everywhere in Z (share that they leave out)", 0, 0, true, 0.5},
    [HVI_CHECK_OPERATOR] = {"operator", "F is finite, written whole, and the same each time", 0, 0, false, 0},
    [HVI_CHECK_AFFINE] = {"affine", "F(z) = A z + b", 1e-3, 0, false, 0},
    [HVI_CHECK_MONOTONE] = {"monotone", "<F(x) - F(y), x - y> >= 0 (-mu / L)", 1e-3, 0, true, 0},
    [HVI_CHECK_CONSTANTS] = {"constants", "no pair contradicts the exact mu and L", 1, 0, false, 0},
    [HVI_CHECK_SOLUTION] = {"solution", "the known solution lies in Z, with no residual", 1, 0, false, 0},
    [HVI_CHECK_DRAWS] = {"draws", "same generator, same sample, and F of it is finite", 0, 0, false, 0},
    [HVI_CHECK_SEEK] = {"seek", "a sample after seek goes on as one that was drawn", 0, 0, false, 0});

HVI_SETTINGS(check, "check", hvi_check_settings, rows, .pair = NULL)

const char *hvi_check_verdict_name(hvi_check_verdict v) {
  static const char *const names[] = {"skipped", "passed", "warning", "failed"};
  return (unsigned)v < sizeof names / sizeof *names ? names[v] : "unknown";
}

void hvi_check_judge(hvi_checker *c, hvi_check_test test, double value, const char *format, ...) {
  hvi_check_result *r = &c->report->results[test];
  if (r->verdict == HVI_CHECK_SKIPPED) r->verdict = HVI_CHECK_PASSED, r->worst = 0.0;
  if (value <= r->worst || isnan(r->worst)) return;
  r->worst = value;
  if (value <= r->limit) return;
  r->verdict = tests[test].warns ? HVI_CHECK_WARNED : HVI_CHECK_FAILED;
  const int n = c->point ? snprintf(r->text, sizeof r->text, "point %zu: ", c->point) : 0;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(r->text + n, sizeof r->text - (size_t)n, format, arguments);
  va_end(arguments);
}

/* The next point: theta around theta0, by `scale` times the spread; u and v anywhere. */
static void move(hvi_checker *c, double scale) {
  for (size_t i = 0; i < c->d; i++)
    c->theta[i] = c->p->theta0[i] + c->s->spread * scale * hvi_rng_normal(&c->rng);
  hvi_rng_fill_normal(&c->rng, 0.0, 1.0, c->d, c->v);
  hvi_rng_fill_normal(&c->rng, 0.0, 1.0, c->n, c->u);
}

double hvi_check_size(const double *x, size_t n) {
  double most = 0.0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

double hvi_check_gap(const double *x, const double *y, size_t n, size_t *at) {
  double most = 0.0;
  for (size_t i = *at = 0; i < n && !isnan(most); i++)
    if (!(fabs(x[i] - y[i]) <= most)) most = fabs(x[i] - y[i]), *at = i;
  return most;
}

/* The gap in units of 1 + |x|. */
static double apart(const double *x, const double *y, size_t n, size_t *at) {
  return hvi_check_gap(x, y, n, at) / (1.0 + hvi_check_size(x, n));
}

bool hvi_check_untouched(const double *guard) {
  for (size_t i = 0; i < HVI_GUARD; i++)
    if (guard[i] != HVI_GUARD_VALUE) return false;
  return true;
}

void hvi_check_written(hvi_checker *c, hvi_check_test test, const char *what, const char *by,
                       const double *x, size_t n) {
  size_t i = 0;
  while (i < n && isfinite(x[i])) i++;
  hvi_check_judge(c, test, i < n, "%s leaves element %zu of %zu at %g", what, i + 1, n, x[i]);
  hvi_check_judge(c, test, !hvi_check_untouched(x + n), "%s writes beyond its %zu results", by, n);
}

/* f[n] = F(z), which was not a number before. */
static void operate(const hvi_checker *c, const void *sample, const double *z, double *f) {
  for (size_t i = 0; i < c->n; i++) f[i] = NAN;
  c->p->ops->operate(c->p, sample, c->theta, z, f);
}

/* Both caches stand for this sample from now on; NULL: the mean. */
static void bind(hvi_checker *c, const void *sample) {
  if (!c->m->ops->bind) return;
  c->m->ops->bind(c->m, c->cache, sample);
  c->m->ops->bind(c->m, c->used, sample);
}

/* The model's outputs and F on a sample, or the mean. */
static void evaluate(hvi_checker *c, const void *sample, double *z, double *f) {
  bind(c, sample);
  c->m->ops->eval(c->m, c->cache, c->theta, z);
  operate(c, sample, z, f);
}

/* Set and operator at the point. */
static void check_point(hvi_checker *c) {
  const size_t n = c->n;
  size_t at;
  evaluate(c, NULL, c->z, c->f);
  operate(c, NULL, c->z, c->f_again);
  hvi_problem_project(c->p, c->z, c->work);
  const double outside = apart(c->z, c->work, n, &at);
  hvi_check_judge(c, HVI_CHECK_SETS, outside, "output %zu is %.6g, and the nearest of its set %.6g",
                  at + 1, c->z[at], c->work[at]);
  hvi_check_written(c, HVI_CHECK_OPERATOR, "F", "operate", c->f, n);
  hvi_check_judge(c, HVI_CHECK_OPERATOR, memcmp(c->f, c->f_again, n * sizeof *c->f) != 0,
                  "F is not the same the second time");
}

/* Whether A has A_ij = -A_ji' for every two players. */
static bool cancels(const hvi_model *m, const double *A) {
  const size_t n = m->out;
  double most = 0.0, sum = 0.0;
  for (const hvi_block *b = m->blocks; b < m->blocks + m->block_count; b++) {
    for (size_t i = b->z; i < b->z + b->out; i++) {
      for (size_t j = 0; j < b->z; j++) {
        sum = fmax(sum, fabs(A[i * n + j] + A[j * n + i]));
        most = fmax(most, fabs(A[i * n + j]));
      }
    }
  }
  return most > 0.0 && sum <= 1e-12 * most;
}

/* J is that of the model on a sample, where there are such; F is the mean. */
static hvi_status check_points(hvi_checker *c, hvi_error *err) {
  const hvi_problem *p = c->p;
  for (c->point = 1; c->point <= c->s->points; c->point++) {
    move(c, c->point > 1);
    if (p->ops->draw && c->m->ops->bind) {
      p->ops->draw(p, c->theta, c->sample, &c->rng);
      bind(c, c->sample);
    }
    hvi_check_model(c);
    if (c->point <= 2) HVI_TRY(hvi_check_matrices(c, err));
    check_point(c);
    if (!p->ops->affine || !c->A) continue;
    size_t at;
    hvi_vec_copy(c->work, c->b, c->n);
    hvi_dense_mul_add(c->work, c->A, c->z, c->n, c->n);
    const double off = apart(c->f, c->work, c->n, &at);
    hvi_check_judge(c, HVI_CHECK_AFFINE, off, "element %zu of F is %.9g, and A z + b is %.9g",
                    at + 1, c->f[at], c->work[at]);
  }
  c->point = 0;
  return HVI_OK;
}

/* Counts the pair (z, f), (z_again, f_again), and keeps it when it is the worst. */
static void add_pair(hvi_checker *c) {
  const size_t n = c->n;
  double *const x[] = {c->z, c->f};
  const double *const y[] = {c->z_again, c->f_again};
  if (!(apart(c->z, c->z_again, n, &(size_t){0}) > 1e-6)) return;
  hvi_vec_copy(c->u, c->z, n);
  if (!hvi_constants_add(&c->report->constants, c->p, c->B, c->rank, x, y) || !c->s->pair) return;
  hvi_vec_copy(c->s->pair, c->u, n);
  hvi_vec_copy(c->s->pair + n, c->z_again, n);
}

/* Half way between two outputs: whether F is there half way too. */
static double bend(hvi_checker *c) {
  const size_t n = c->n;
  for (size_t i = 0; i < n; i++) c->work[i] = 0.5 * (c->z[i] + c->z_again[i]);
  operate(c, NULL, c->work, c->forth);
  for (size_t i = 0; i < n; i++) c->work[i] = 0.5 * (c->f[i] + c->f_again[i]);
  return apart(c->work, c->forth, n, &(size_t){0});
}

/* The pair from the point along which the linearised F is least monotone. */
static hvi_status add_worst(hvi_checker *c, hvi_error *err) {
  const size_t n = c->n, k = c->rank;
  HVI_OWN double *C = NULL;
  double *w, *work, *eigen;
  HVI_TRY(hvi_new_arrays("a linear operator", err, {&C, k * k}, {&w, k}, {&work, 2 * n * n},
                         {&eigen, hvi_dense_eigen_work(k)}));
  hvi_problem_linearise(c->p, c->A, c->b, c->theta, c->z, c->f, work);
  hvi_matrix_restrict(C, c->A, c->B, n, k, work);
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j <= i; j++)
      C[i * k + j] = C[j * k + i] = 0.5 * (C[i * k + j] + C[j * k + i]);
  if (!hvi_dense_eigen(w, C, k, eigen)) return HVI_OK;
  hvi_dense_mul(c->z_again, c->B, C, n, k);
  for (size_t i = 0; i < n; i++) c->z_again[i] = c->z[i] + 1e-3 * c->z_again[i];
  operate(c, NULL, c->z_again, c->f_again);
  add_pair(c);
  return HVI_OK;
}

/* Two points of a pair, at the same scale. */
static void take_pair(hvi_checker *c, size_t i) {
  const double scale = ldexp(1.0, (int)(i % 9) - 6);
  move(c, scale);
  evaluate(c, NULL, c->z_again, c->f_again);
  move(c, scale);
  evaluate(c, NULL, c->z, c->f);
}

static hvi_status check_pairs(hvi_checker *c, hvi_error *err) {
  const size_t n = c->n;
  hvi_check *r = c->report;
  bool straight = true;
  for (size_t i = 0; i < 10 * c->s->points; i++) {
    take_pair(c, i);
    operate(c, NULL, c->z_again, c->forth);
    r->theta_in_F |= memcmp(c->forth, c->f_again, n * sizeof *c->forth) != 0;
    straight = straight && bend(c) <= 1e-9;
    add_pair(c);
  }
  /* points half way have no theta */
  r->affine =
      r->results[HVI_CHECK_AFFINE].verdict == HVI_CHECK_PASSED || (straight && !r->theta_in_F);
  if (r->theta_in_F || c->rank == 0 || n > MOST_LINEARISED) return HVI_OK;
  for (size_t i = 0; i < LINEARISED_POINTS && i < c->s->points; i++) {
    take_pair(c, 6);
    HVI_TRY(add_worst(c, err));
  }
  return HVI_OK;
}

/* What pairs say of F, and of the problem's own constants. */
static hvi_status check_constants(hvi_checker *c, hvi_error *err) {
  const hvi_problem *p = c->p;
  hvi_check *r = c->report;
  hvi_constants *known = &r->constants, own = {0};
  known->mu = INFINITY;
  HVI_TRY(check_pairs(c, err));
  r->pairs = known->pairs;
  r->mu = known->mu;
  r->lipschitz = known->lipschitz;
  if (r->pairs == 0) known->mu = 0.0;
  if (r->pairs == 0) return HVI_OK;
  if (p->ops->constants || (p->ops->affine && c->A))
    if (hvi_problem_constants(&own, p, err) == HVI_ERROR_MEMORY) return HVI_ERROR_MEMORY;
  if (own.exact) {
    *known = own;
    hvi_check_judge(c, HVI_CHECK_CONSTANTS,
                    fmax(own.mu - r->mu, c->B ? r->lipschitz - own.lipschitz : 0.0) /
                        (own.lipschitz + DBL_MIN),
                    "mu = %.6g and L = %.6g are given, and a pair has %.6g and %.6g", own.mu,
                    own.lipschitz, r->mu, r->lipschitz);
  }
  const double mu = fmin(r->mu, known->mu), zero = 1e-9 * known->lipschitz;
  r->monotonicity = mu > zero     ? HVI_STRONGLY_MONOTONE
                    : mu >= -zero ? HVI_MONOTONE
                                  : HVI_NOT_MONOTONE;
  hvi_check_judge(c, HVI_CHECK_MONOTONE, -mu / (known->lipschitz + DBL_MIN),
                  "<F(x) - F(y), x - y> goes down to %.4g |x - y|^2: F is not monotone", mu);
  return HVI_OK;
}

/* How far the outputs go, at so many times a step from the start. */
static void widen(hvi_checker *c, double scale, double *low, double *high) {
  for (size_t i = 0; i < c->n; i++) low[i] = INFINITY, high[i] = -INFINITY;
  for (size_t k = 0; k < REACH_DRAWS; k++) {
    move(c, scale / c->s->spread);
    c->m->ops->eval(c->m, c->cache, c->theta, c->z);
    for (size_t i = 0; i < c->n; i++) {
      low[i] = fmin(low[i], c->z[i]);
      high[i] = fmax(high[i], c->z[i]);
    }
  }
}

/* Far out the outputs fill their sets or go on growing; of a simplex one must. */
static void check_reach(hvi_checker *c) {
  double *low = c->work, *high = c->f, *low_near = c->z_again, *high_near = c->f_again;
  widen(c, 16.0, low_near, high_near);
  widen(c, 64.0, low, high);
  for (const hvi_set *s = c->p->sets; s < c->p->sets + c->p->set_count; s++) {
    const bool box = s->kind == HVI_SET_BOX, simplex = s->kind == HVI_SET_SIMPLEX;
    double least = INFINITY;
    for (size_t k = 0, best = s->begin; k < s->len && s->kind != HVI_SET_SUBSPACE; k++) {
      const size_t i = s->begin + k;
      const double width = box ? s->upper[k] - s->lower[k] : simplex ? 1.0 : INFINITY;
      const double near = high_near[i] - low_near[i], far = high[i] - low[i];
      low[i] = fmin(low[i], low_near[i]);
      high[i] = fmax(high[i], high_near[i]);
      const double left =
          far >= 1.2 * near || width == 0.0 ? 0.0 : 1.0 - (high[i] - low[i]) / width;
      if (!simplex || left < least) least = left, best = i;
      if (simplex && (k + 1 < s->len || s->len == 1)) continue;
      hvi_check_judge(c, HVI_CHECK_REACH, least,
                      "output %zu stays within [%.4g, %.4g] however far theta goes, and its set is "
                      "larger",
                      best + 1, low[best], high[best]);
    }
  }
}

static void check_solution(hvi_checker *c) {
  const hvi_problem *p = c->p;
  size_t at;
  if (!p->solution || c->report->theta_in_F) return;
  hvi_problem_project(p, p->solution, c->work);
  const double outside = apart(p->solution, c->work, c->n, &at);
  hvi_check_judge(c, HVI_CHECK_SOLUTION, outside, "element %zu of the solution, %.6g, is not in Z",
                  at + 1, p->solution[at]);
  operate(c, NULL, p->solution, c->f);
  const double residual = hvi_problem_residual(p, p->solution, c->f);
  hvi_check_judge(c, HVI_CHECK_SOLUTION, residual / (1.0 + hvi_vec_norm(p->solution, c->n)),
                  "the residual at the known solution is %.4g, and should be zero", residual);
}

/* Whether z or f differ in a bit from those that came again. */
static bool changed(const hvi_checker *c) {
  const size_t bytes = c->n * sizeof *c->z;
  return memcmp(c->z, c->z_again, bytes) || memcmp(c->f, c->f_again, bytes);
}

static void check_draws(hvi_checker *c) {
  const hvi_problem *p = c->p;
  const size_t times = 5;
  char *one = c->sample, *two = one + p->sample_bytes;
  if (!p->ops->draw) return;
  memset(one, 0, 2 * p->sample_bytes);
  hvi_rng a = c->rng, b = c->rng, before = a;
  move(c, 1.0);
  for (c->point = 1; c->point <= times; c->point++) {
    before = a;
    p->ops->draw(p, c->theta, one, &a);
    p->ops->draw(p, c->theta, two, &b);
    evaluate(c, one, c->z, c->f);
    evaluate(c, two, c->z_again, c->f_again);
    hvi_check_judge(c, HVI_CHECK_DRAWS, !hvi_vec_finite(c->z, c->n) || !hvi_vec_finite(c->f, c->n),
                    "outputs or F of a sample are not finite");
    hvi_check_judge(c, HVI_CHECK_DRAWS, changed(c), "two draws with the same generator differ");
  }
  c->point = 0;
  if (!p->ops->seek) return;
  memset(two, 0, p->sample_bytes);
  p->ops->seek(p, two, times - 1);
  p->ops->draw(p, c->theta, two, &before);
  evaluate(c, two, c->z_again, c->f_again);
  hvi_check_judge(c, HVI_CHECK_SEEK, changed(c), "draw %zu differs from the one after seek to %zu",
                  times, times - 1);
}

static hvi_status run(hvi_checker *c, hvi_error *err) {
  const size_t d = c->d + HVI_GUARD, n = c->n + HVI_GUARD, cache = c->m->cache + HVI_GUARD;
  const bool dense = c->n <= MOST_DENSE;
  const size_t square = dense ? c->n * c->n : 0;
  double **const all[] = {&c->theta, &c->v,       &c->other,   &c->back,  &c->back_again,
                          &c->u,     &c->z,       &c->z_again, &c->forth, &c->forth_again,
                          &c->f,     &c->f_again, &c->work,    &c->b,     &c->cache,
                          &c->used,  &c->slopes};
  HVI_OWN double *memory =
      hvi_alloc_doubles(5 * d + (9 + 2 * HVI_LADDER) * n + 2 * cache + 2 * square);
  HVI_OWN void *sample = c->sample = hvi_alloc(2, c->p->sample_bytes);
  if (!memory || !sample) return hvi_error_memory(err, "a check");
  double *next = memory + 2 * square;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    *all[i] = next;
    next += i < 5 ? d : i < 14 ? n : i < 16 ? cache : 2 * HVI_LADDER * n;
    for (size_t k = 1; k <= HVI_GUARD; k++) next[-(ptrdiff_t)k] = HVI_GUARD_VALUE;
  }
  if (dense) c->A = memory, c->B = memory + square;
  if (dense) hvi_problem_tangent(c->p, c->B, &c->rank);
  if (dense && c->p->ops->affine) {
    c->p->ops->affine(c->p, c->A, c->b);
    c->report->zero_sum = cancels(c->m, c->A);
  }
  HVI_TRY(check_points(c, err));
  HVI_TRY(check_constants(c, err));
  check_solution(c);
  check_reach(c);
  check_draws(c);
  return HVI_OK;
}

hvi_status hvi_problem_check(hvi_check *report, const hvi_problem *p, const hvi_check_settings *s,
                             hvi_error *err) {
  const hvi_check_settings defaults = hvi_check_defaults();
  if (report) *report = (hvi_check){0};
  HVI_TRY(hvi_problem_structure(p, err));
  if (!report) return HVI_OK;
  const hvi_model *m = p->model;
  hvi_checker c = {
      .p = p, .m = m, .n = m->out, .d = m->dim, .s = s ? s : &defaults, .report = report};
  HVI_TRY(hvi_setting_check(&table, c.s, err));
  if (!p->theta0)
    return hvi_error_argument(err, "%s: there is no theta0 to check around", p->ops->name);
  c.noise = fmax(m->noise, DBL_EPSILON);
  c.rng = hvi_rng_new(c.s->seed, "check", 0);
  for (size_t i = 0; i < HVI_CHECK_COUNT; i++) {
    const double limit = fmax(tests[i].share * c.s->tolerance, tests[i].rounding * c.noise);
    report->results[i] = (hvi_check_result){tests[i].name, tests[i].what, .worst = NAN,
                                            .limit = fmax(limit, tests[i].least)};
  }
  HVI_TRY(run(&c, err));
  const hvi_check_result *first = NULL;
  for (const hvi_check_result *r = report->results; r < report->results + HVI_CHECK_COUNT; r++) {
    report->failed += r->verdict == HVI_CHECK_FAILED;
    report->warned += r->verdict == HVI_CHECK_WARNED;
    if (!first && r->verdict == HVI_CHECK_FAILED) first = r;
  }
  if (!first) return HVI_OK;
  return hvi_error_input(err, "%s: %s: %s", p->ops->name, first->name, first->text);
}
