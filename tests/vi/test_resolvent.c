/* The resolvent: closed forms on every kind of set, its inequality at points of Z drawn at random,
 * derivatives by differences, and an end even where there is no answer. */
#include "num/dense.h"
#include "support/basis.h"
#include "support/solve.h"
#include "support/toy.h"
#include "vi/resolvent.h"

#include <hvi/game.h>

enum { MOST = 24 };

static const double etas[] = {1e-3, 0.03, 0.5, 1.0, 7.0, 100.0, 1e3, 1e5, 1e7};
/* closed forms lose their digits for the last two */
enum { ALL_ETAS = sizeof etas / sizeof *etas, ETAS = ALL_ETAS - 2 };

/* A resolvent with memory of its own. */
typedef struct bench {
  hvi_resolvent r;
  double *memory;
} bench;

static bench bench_of(const hvi_problem *p) {
  bench b = {0};
  hvi_arena arena = {0};
  hvi_resolvent_place(&b.r, p, &arena);
  arena = (hvi_arena){.size = arena.used};
  arena.base = b.memory = hvi_alloc_doubles(arena.size);
  assert_non_null(b.memory);
  hvi_resolvent_place(&b.r, p, &arena);
  if (p->ops->affine) assert_int_equal(hvi_resolvent_linearise(&b.r, NULL, NULL, NULL), 0);
  return b;
}

static void bench_end(bench *b) { hvi_free(b->memory); }

/* F(z) = A z + b with <A x, x> >= strength |x|^2, and weights between 0.2 and 5. */
typedef struct monotone {
  toy t;
  double A[MOST * MOST], b[MOST], w[MOST], zero[MOST];
} monotone;

static void monotone_init(monotone *m, size_t n, double strength, bool weighted, uint64_t index) {
  hvi_rng rng = hvi_rng_new(3, "monotone", index);
  double B[MOST * MOST];
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n * n, B);
  hvi_rng_fill_normal(&rng, 0.0, 1.0, n, m->b);
  memset(m->zero, 0, sizeof m->zero);
  for (size_t i = 0; i < n; i++) {
    m->w[i] = exp(1.6 * (2.0 * hvi_rng_uniform(&rng) - 1.0));
    for (size_t j = 0; j < n; j++) {
      /* half of B B' / n, which may be close to singular, and a skew part */
      m->A[i * n + j] = 0.5 * dot(B + i * n, B + j * n, n) / (double)n + B[i * n + j] -
                        B[j * n + i] + (i == j ? strength : 0.0);
    }
  }
  toy_init(&m->t, identity_model(n), m->A, m->b, m->zero);
  m->t.base.weights = weighted ? m->w : NULL;
}

static double weight(const hvi_problem *p, size_t i) { return p->weights ? p->weights[i] : 1.0; }

/* v - z + eta Xi^-1 (A v + b) = 0: one step of Newton's method, whatever the size of eta or b. */
static void free_outputs_solve_a_linear_system(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 7, MOST};
  for (size_t c = 0; c < 8; c++) {
    const size_t n = sizes[c / 2];
    monotone m;
    monotone_init(&m, n, 0.1, c % 2, c);
    for (size_t i = 0; i < n && c >= 4; i++) m.b[i] *= 1e6;
    bench at = bench_of(&m.t.base);
    for (double eta = 1e-3; eta < 1e9; eta *= 10.0) {
      double G[MOST * MOST], z[MOST], x[MOST], v[MOST];
      hvi_error err;
      fill_normal(z, n, 100 + c);
      for (size_t i = 0; i < n; i++) {
        const double step = eta / weight(&m.t.base, i);
        for (size_t j = 0; j < n; j++) G[i * n + j] = step * m.A[i * n + j] + (i == j ? 1.0 : 0.0);
        x[i] = z[i] - step * m.b[i];
      }
      check_ok(hvi_dense_solve(x, G, x, n, &err), &err);
      assert_true(hvi_resolvent_solve(&at.r, v, z, eta) == eta);
      check_relative(v, x, n, 1e-10);
    }
    bench_end(&at);
    hvi_problem_free(&m.t.base);
  }
}

/* F(z) = a z + b on [low, high]: the free answer, cut off. */
static void a_box_cuts_off(void **state) {
  (void)state;
  static const double slopes[] = {0.0, 0.4, 3.0}, offsets[] = {-2.0, 0.0, 0.7};
  static const double low[] = {-0.5}, high[] = {1.0}, zero[1], w[] = {2.5};
  size_t inside = 0, below = 0, above = 0;
  for (size_t c = 0; c < 18; c++) {
    const double a = slopes[c % 3], b = offsets[c / 3 % 3], own = c / 9 ? w[0] : 1.0;
    toy t;
    toy_init(&t, identity_model(1), &a, &b, zero);
    t.sets[0] = (hvi_set){.kind = HVI_SET_BOX, .len = 1, .lower = low, .upper = high};
    t.base.weights = c / 9 ? w : NULL;
    bench at = bench_of(&t.base);
    for (size_t e = 0; e < ETAS; e++) {
      for (double z = -2.0; z <= 2.0; z += 0.25) {
        const double open = (z - etas[e] * b / own) / (1.0 + etas[e] * a / own);
        const double expected = fmin(fmax(open, low[0]), high[0]);
        double v;
        assert_true(hvi_resolvent_solve(&at.r, &v, &z, etas[e]) == etas[e]);
        check_near(v, expected, 1e-10);
        inside += expected == open, below += expected > open, above += expected < open;
      }
    }
    bench_end(&at);
    hvi_problem_free(&t.base);
  }
  assert_true(inside > 100 && below > 100 && above > 100);
}

/* y_i = max(x_i - tau / w_i, 0) with sum 1: tau by bisection. */
static void bisect_simplex(double *y, const double *x, const double *w, size_t n) {
  double low = -1e6, high = 1e6;
  for (int k = 0; k < 200; k++) {
    const double tau = 0.5 * (low + high);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += y[i] = fmax(x[i] - tau / (w ? w[i] : 1.0), 0.0);
    if (sum > 1.0)
      low = tau;
    else
      high = tau;
  }
}

/* F(z) = c Xi z + q: v = P((z - eta Xi^-1 q) / (1 + eta c)) */
static void a_simplex_projects_the_shrunk_point(void **state) {
  (void)state;
  enum { N = 9 };
  static const double strengths[] = {0.0, 0.3, 4.0};
  for (size_t c = 0; c < 6; c++) {
    const double strength = strengths[c % 3];
    monotone m;
    monotone_init(&m, N, 0.0, c / 3, 40 + c);
    const hvi_problem *p = &m.t.base;
    for (size_t i = 0; i < N * N; i++)
      m.A[i] = i % (N + 1) == 0 ? strength * weight(p, i / N) : 0.0;
    m.t.sets[0].kind = HVI_SET_SIMPLEX;
    bench at = bench_of(p);
    for (size_t e = 0; e < ETAS; e++) {
      double z[N], x[N], y[N], v[N];
      fill_normal(z, N, 300 + 10 * c + e);
      for (size_t i = 0; i < N; i++)
        x[i] = (z[i] - etas[e] * m.b[i] / weight(p, i)) / (1.0 + etas[e] * strength);
      bisect_simplex(y, x, p->weights, N);
      assert_true(hvi_resolvent_solve(&at.r, v, z, etas[e]) == etas[e]);
      check_close(v, y, N, 1e-9);
    }
    bench_end(&at);
    hvi_problem_free(&m.t.base);
  }
}

/* Rock, paper, scissors against oneself: whoever mixes evenly stays, and every even shift of the
 * moves shifts the answer. */
static void a_symmetric_game_keeps_its_symmetry(void **state) {
  (void)state;
  static const double rps[] = {0, 1, -1, -1, 0, 1, 1, -1, 0}, zero[3];
  static const double even[] = {1.0 / 3, 1.0 / 3, 1.0 / 3}, z[] = {0.7, 0.2, 0.1};
  toy t;
  toy_init(&t, identity_model(3), rps, zero, zero);
  t.sets[0].kind = HVI_SET_SIMPLEX;
  bench at = bench_of(&t.base);
  for (size_t e = 0; e < ETAS; e++) {
    double v[3], shifted[3];
    assert_true(hvi_resolvent_solve(&at.r, v, even, etas[e]) == etas[e]);
    check_close(v, even, 3, 1e-12);
    if (etas[e] > 1.0) continue; /* Newton's method may go round in circles */
    assert_true(hvi_resolvent_solve(&at.r, v, z, etas[e]) == etas[e]);
    const double moved[] = {z[2], z[0], z[1]}, expected[] = {v[2], v[0], v[1]};
    assert_true(hvi_resolvent_solve(&at.r, shifted, moved, etas[e]) == etas[e]);
    check_close(shifted, expected, 3, 1e-12);
    /* a skew game does not move anybody away from its solution */
    double before = 0.0, after = 0.0;
    for (size_t i = 0; i < 3; i++) {
      before += (z[i] - even[i]) * (z[i] - even[i]);
      after += (v[i] - even[i]) * (v[i] - even[i]);
    }
    assert_true(after < before);
  }
  bench_end(&at);
  hvi_problem_free(&t.base);
}

/* Columns with Q' Xi Q = I, from an orthonormal basis of Xi^1/2 times anything. */
static void weighted_basis(double *Q, const hvi_problem *p, size_t n, size_t rank, uint64_t index) {
  double B[MOST * MOST];
  fill_normal(B, n * rank, index);
  fill_basis(Q, B, n, rank);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < rank; j++) Q[i * rank + j] /= sqrt(weight(p, i));
}

/* v = Q c with (I + eta Q' A Q) c = Q' (Xi z - eta b) */
static void a_subspace_solves_in_its_basis(void **state) {
  (void)state;
  enum { N = 10, RANK = 4 };
  for (size_t c = 0; c < 2; c++) {
    monotone m;
    double Q[N * RANK];
    monotone_init(&m, N, 0.1, c, 60 + c);
    weighted_basis(Q, &m.t.base, N, RANK, 61);
    m.t.sets[0] = (hvi_set){.kind = HVI_SET_SUBSPACE, .len = N, .basis = Q, .rank = RANK};
    bench at = bench_of(&m.t.base);
    for (double eta = 1e-3; eta < 1e9; eta *= 10.0) {
      double z[N], v[N], expected[N] = {0}, G[RANK * RANK], x[RANK];
      hvi_error err;
      fill_normal(z, N, 600 + c);
      for (size_t k = 0; k < RANK; k++) {
        x[k] = 0.0;
        for (size_t i = 0; i < N; i++)
          x[k] += Q[i * RANK + k] * (weight(&m.t.base, i) * z[i] - eta * m.b[i]);
        for (size_t l = 0; l < RANK; l++) {
          G[k * RANK + l] = k == l ? 1.0 : 0.0;
          for (size_t i = 0; i < N * N; i++)
            G[k * RANK + l] += eta * Q[i / N * RANK + k] * m.A[i] * Q[i % N * RANK + l];
        }
      }
      check_ok(hvi_dense_solve(x, G, x, RANK, &err), &err);
      for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < RANK; k++) expected[i] += Q[i * RANK + k] * x[k];
      assert_true(hvi_resolvent_solve(&at.r, v, z, eta) == eta);
      check_close(v, expected, N, 1e-10);
    }
    bench_end(&at);
    hvi_problem_free(&m.t.base);
  }
}

/* A point of Z, without the library's projections: corners now and then. */
static void draw_point(const hvi_problem *p, double *y, hvi_rng *rng) {
  for (size_t k = 0; k < p->set_count; k++) {
    const hvi_set *set = &p->sets[k];
    double *at = y + set->begin, sum = 0.0;
    const bool corner = hvi_rng_uniform(rng) < 0.3;
    for (size_t i = 0; i < set->len; i++) {
      const double u = hvi_rng_uniform(rng), share = corner ? round(u) : u;
      at[i] = 3.0 * hvi_rng_normal(rng);
      if (set->kind == HVI_SET_BOX) at[i] = set->lower[i] + share * (set->upper[i] - set->lower[i]);
      if (set->kind == HVI_SET_SIMPLEX) sum += at[i] = -log(1.0 - u);
    }
    if (set->kind == HVI_SET_SIMPLEX) {
      const size_t vertex = (size_t)(hvi_rng_uniform(rng) * (double)set->len);
      for (size_t i = 0; i < set->len; i++) at[i] = corner ? (double)(i == vertex) : at[i] / sum;
    }
    if (set->kind != HVI_SET_SUBSPACE) continue;
    double c[MOST];
    hvi_rng_fill_normal(rng, 0.0, 2.0, set->rank, c);
    for (size_t i = 0; i < set->len; i++) at[i] = dot(set->basis + i * set->rank, c, set->rank);
  }
}

/* <v - z + eta Xi^-1 F(v), y - v>_Xi >= 0 at many y, and v is in Z. */
static void check_inequality(const hvi_problem *p, double eta, const double *z, const double *v,
                             hvi_rng *rng) {
  const size_t n = p->model->out;
  double f[MOST], y[MOST], normal[MOST], size = 0.0;
  p->ops->operate(p, NULL, NULL, v, f);
  for (size_t i = 0; i < n; i++) {
    normal[i] = weight(p, i) * (v[i] - z[i]) + eta * f[i];
    size += fabs(weight(p, i) * (fabs(v[i]) + fabs(z[i]))) + eta * fabs(f[i]);
  }
  for (int k = 0; k < 40; k++) {
    draw_point(p, y, rng);
    double product = 0.0, length = 1.0;
    for (size_t i = 0; i < n; i++) {
      product += normal[i] * (y[i] - v[i]);
      length = fmax(length, fabs(y[i] - v[i]));
    }
    if (!(product >= -1e-9 * (1.0 + size) * length))
      fail_msg("%s, eta %g: the inequality fails by %g", p->ops->name, eta, product);
  }
  hvi_problem_project(p, v, y);
  check_close(y, v, n, 1e-10);
}

/* There is an answer for every eta, also where Newton's method alone goes round in circles. */
static void check_problem(const hvi_problem *p, uint64_t index) {
  const size_t n = p->model->out;
  hvi_rng rng = hvi_rng_new(5, "points", index);
  bench at = bench_of(p);
  assert_true(hvi_resolvent_fits(p));
  for (size_t e = 0; e < ALL_ETAS; e++) {
    double z[MOST], v[MOST];
    draw_point(p, z, &rng);
    if (index % 2)
      for (size_t i = 0; i < n; i++) z[i] += hvi_rng_normal(&rng); /* z need not be in Z */
    const double eta = etas[e] / at.r.lipschitz;
    if (hvi_resolvent_solve(&at.r, v, z, eta) != eta)
      fail_msg("%s %d: no resolvent for eta L = %g", p->ops->name, (int)index, etas[e]);
    check_inequality(p, eta, z, v, &rng);
  }
  bench_end(&at);
}

static void built_in_games_satisfy_the_inequality(void **state) {
  (void)state;
  static const char *const names[] = {"pennies", "rps", "quadratic", "counterexample"};
  for (size_t k = 0; k < 4; k++) {
    for (uint64_t instance = 0; instance < 20; instance++) {
      hvi_problem *p = builtin(names[k], instance);
      assert_true(p->model->out <= MOST);
      check_problem(p, instance);
      hvi_problem_free(p);
    }
  }
}

/* Boxes, simplices, subspaces and free outputs side by side, with weights and without. */
static void random_problems_satisfy_the_inequality(void **state) {
  (void)state;
  enum { N = 16, RANK = 2 };
  static const double low[] = {-1, -0.2, 0, -INFINITY}, high[] = {1, 0.1, INFINITY, 0.5};
  for (uint64_t k = 0; k < 60; k++) {
    monotone m;
    double Q[4 * RANK], lower[4], upper[4];
    monotone_init(&m, N, 0.02, k % 2, 1000 + k);
    for (size_t i = 0; i < 4; i++) {
      lower[i] = fmax(low[i], -5.0);
      upper[i] = fmin(high[i], 5.0);
    }
    hvi_problem head = m.t.base;
    head.weights = m.t.base.weights ? m.w + 12 : NULL;
    weighted_basis(Q, &head, 4, RANK, 2000 + k);
    m.t.base.set_count = 4;
    m.t.sets[0] = (hvi_set){.kind = HVI_SET_SIMPLEX, .len = 5};
    m.t.sets[1] =
        (hvi_set){.kind = HVI_SET_BOX, .begin = 5, .len = 4, .lower = lower, .upper = upper};
    m.t.sets[2] = (hvi_set){.kind = k % 3 ? HVI_SET_SIMPLEX : HVI_SET_FREE, .begin = 9, .len = 3};
    m.t.sets[3] =
        (hvi_set){.kind = HVI_SET_SUBSPACE, .begin = 12, .len = 4, .basis = Q, .rank = RANK};
    check_problem(&m.t.base, k);
    hvi_problem_free(&m.t.base);
  }
}

/* A zero-sum game of a simplex against a box, without a regulariser: monotone and no more. */
static void zero_sum_games_satisfy_the_inequality(void **state) {
  (void)state;
  static const double low[] = {-1, -1, 0}, high[] = {1, 2, 3}, start[4];
  for (uint64_t k = 0; k < 40; k++) {
    double M[12], back[12], q[4];
    hvi_problem *p;
    hvi_error err;
    fill_normal(M, 12, 3000 + k);
    fill_normal(q, 4, 4000 + k);
    for (size_t i = 0; i < 12; i++) back[i % 3 * 4 + i / 3] = -M[i];
    const hvi_player players[] = {
        {.model = identity_model(4), .theta0 = start, .set = HVI_SET_SIMPLEX, .linear = q},
        {.model = identity_model(3),
         .theta0 = start,
         .set = HVI_SET_BOX,
         .lower = low,
         .upper = high}};
    const hvi_payoff payoffs[] = {{0, 1, M}, {1, 0, back}};
    const hvi_game_spec spec = {
        .player_count = 2, .players = players, .payoff_count = 2, .payoffs = payoffs};
    check_ok(hvi_game_new(&p, &spec, &err), &err);
    check_problem(p, k);
    hvi_problem_free(p);
  }
}

/* Steps too large for the digits, F that is no number, a system that is singular: an end, and an
 * answer only where there is one. */
static void what_cannot_be_solved_ends(void **state) {
  (void)state;
  for (uint64_t k = 0; k < 20; k++) {
    monotone m;
    hvi_rng rng = hvi_rng_new(6, "ends", k);
    monotone_init(&m, 12, 0.0, k % 2, 5000 + k);
    m.t.base.set_count = 2;
    m.t.sets[0] = (hvi_set){.kind = HVI_SET_SIMPLEX, .len = 6};
    m.t.sets[1] = (hvi_set){.kind = HVI_SET_SIMPLEX, .begin = 6, .len = 6};
    bench at = bench_of(&m.t.base);
    for (double eta = 1e4; eta < 1e20; eta *= 100.0) {
      double z[12], v[12];
      draw_point(&m.t.base, z, &rng);
      const double reached = hvi_resolvent_solve(&at.r, v, z, eta);
      assert_true(reached <= eta);
      if (reached > 0.0) check_inequality(&m.t.base, reached, z, v, &rng);
    }
    bench_end(&at);
    hvi_problem_free(&m.t.base);
  }
  static const double minus[] = {-1, 0, 0, -1}, zero[2], holed[] = {NAN, 0.0}, z[] = {1.0, 2.0};
  double v[2];
  toy t;
  toy_init(&t, identity_model(2), minus, zero, zero);
  bench at = bench_of(&t.base);
  const double reached = hvi_resolvent_solve(&at.r, v, z, 1.0); /* (I - I) v = z: far out */
  assert_true(reached > 0.9 && reached <= 1.0);
  for (size_t i = 0; i < 2; i++) {
    assert_true(v[i] > 10.0);
    check_near(v[i] * (1.0 - reached), z[i], 1e-12 * v[i]);
  }
  bench_end(&at);
  t.b = holed;
  at = bench_of(&t.base);
  assert_true(hvi_resolvent_solve(&at.r, v, z, 0.5) == 0.0);
  bench_end(&at);
  hvi_problem_free(&t.base);
}

/* F(z) = A z + b + c z^3: A + 3 c diag(z^2), and the same F at z. */
static void differences_are_the_derivative(void **state) {
  (void)state;
  enum { N = 6 };
  monotone m;
  size_t calls = 0;
  monotone_init(&m, N, 0.5, true, 70);
  m.t.base.ops = &toy_opaque_ops;
  m.t.cubic = 0.7;
  m.t.calls = &calls;
  bench at = bench_of(&m.t.base);
  for (uint64_t k = 0; k < 10; k++) {
    double z[N], f[N], sum = 0.0;
    fill_normal(z, N, 80 + k);
    toy_operate(&m.t.base, NULL, NULL, z, f);
    calls = 0;
    assert_int_equal(hvi_resolvent_linearise(&at.r, m.zero, z, f), N);
    assert_int_equal(calls, N);
    for (size_t i = 0; i < N; i++) {
      for (size_t j = 0; j < N; j++) {
        const double exact = m.A[i * N + j] + (i == j ? 2.1 * z[i] * z[i] : 0.0);
        check_near(at.r.A[i * N + j], exact, 1e-5);
        sum += exact * exact / (m.w[i] * m.w[i]);
      }
      check_near(dot(at.r.A + i * N, z, N) + at.r.b[i], f[i], 1e-12);
    }
    /* at least the largest singular value of Xi^-1 A, which no power iteration passes */
    check_near(at.r.lipschitz, sqrt(sum), 1e-4);
  }
  bench_end(&at);
  hvi_problem_free(&m.t.base);
}

static void it_fits_or_not(void **state) {
  (void)state;
  hvi_model m = {.out = 600};
  double w[600];
  for (size_t i = 0; i < 600; i++) w[i] = 1.0;
  hvi_problem p = {.ops = &toy_affine_ops, .model = &m};
  assert_true(hvi_resolvent_fits(&p));
  p.weights = w;
  assert_true(hvi_resolvent_fits(&p));
  w[599] = 0.0;
  assert_false(hvi_resolvent_fits(&p));
  p.weights = NULL;
  p.ops = &toy_noisy_ops;
  assert_false(hvi_resolvent_fits(&p));
  hvi_arena arena = {0};
  hvi_resolvent r = {0};
  p.ops = &toy_affine_ops;
  hvi_resolvent_place(&r, &p, &arena);
  assert_true(r.exact && arena.used >= 2 * 600 * 600);
  m.out = 601;
  arena = (hvi_arena){0};
  hvi_resolvent_place(&r, &p, &arena);
  assert_true(!r.exact && arena.used < 601 * 10);
}

/* The same resolvent by evaluations of F: within a tenth of the step, also where F is not affine. */
static void approached_resolvents_are_near(void **state) {
  (void)state;
  enum { N = 16 };
  for (uint64_t k = 0; k < 40; k++) {
    monotone m;
    size_t calls = 0;
    double z[N], v[N], w[N];
    hvi_rng rng = hvi_rng_new(8, "approach", k);
    monotone_init(&m, N, 0.02, k % 2, 6000 + k);
    m.t.base.set_count = 2;
    m.t.sets[0] = (hvi_set){.kind = HVI_SET_SIMPLEX, .len = 9};
    m.t.sets[1] = (hvi_set){.kind = HVI_SET_FREE, .begin = 9, .len = 7};
    bench at = bench_of(&m.t.base);
    m.t.calls = &calls;
    draw_point(&m.t.base, z, &rng);
    for (double eta = 1e-3; eta < 10.0; eta *= 7.0) {
      assert_true(hvi_resolvent_solve(&at.r, w, z, eta) == eta);
      double f[N];
      toy_operate(&m.t.base, NULL, NULL, z, f);
      calls = 0;
      const size_t evals = hvi_resolvent_approach(&at.r, v, m.zero, z, f, eta);
      assert_int_equal(calls, evals);
      assert_true(evals < HVI_RESOLVENT_EVALS);
      double far = 0.0, step = 0.0;
      for (size_t i = 0; i < N; i++) {
        far += weight(&m.t.base, i) * (v[i] - w[i]) * (v[i] - w[i]);
        step += weight(&m.t.base, i) * (w[i] - z[i]) * (w[i] - z[i]);
      }
      /* |v - w| <= (1 + Lipschitz of H) |natural residual|, H being strongly monotone */
      const double bound = 0.15 * (2.0 + eta * at.r.lipschitz) * 5.0;
      assert_true(sqrt(far) <= bound * sqrt(step));
      if (eta * at.r.lipschitz < 1.0) assert_true(sqrt(far) <= 0.3 * sqrt(step));
    }
    bench_end(&at);
    hvi_problem_free(&m.t.base);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(free_outputs_solve_a_linear_system),
      cmocka_unit_test(a_box_cuts_off),
      cmocka_unit_test(a_simplex_projects_the_shrunk_point),
      cmocka_unit_test(a_symmetric_game_keeps_its_symmetry),
      cmocka_unit_test(a_subspace_solves_in_its_basis),
      cmocka_unit_test(built_in_games_satisfy_the_inequality),
      cmocka_unit_test(random_problems_satisfy_the_inequality),
      cmocka_unit_test(zero_sum_games_satisfy_the_inequality),
      cmocka_unit_test(what_cannot_be_solved_ends),
      cmocka_unit_test(differences_are_the_derivative),
      cmocka_unit_test(it_fits_or_not),
      cmocka_unit_test(approached_resolvents_are_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
