/* Projections by their optimality conditions and by brute force; residuals; tangent bases. */
#include "num/dense.h"
#include "support/toy.h"
#include "vi/sets.h"

enum { MOST = 12 };

/* The simplex by sorting, which the library does not do: the largest k with
 * x_k w_k > (sum_{i<=k} x_i - 1) / (sum_{i<=k} 1 / w_i) in falling order of x w. */
static void project_by_sorting(const double *z, const double *w, size_t n, double *out) {
  size_t order[MOST];
  for (size_t i = 0; i < n; i++) {
    size_t j = i;
    for (; j > 0 && z[order[j - 1]] * w[order[j - 1]] < z[i] * w[i]; j--) order[j] = order[j - 1];
    order[j] = i;
  }
  double sum = -1.0, scale = 0.0, tau = 0.0;
  for (size_t k = 0; k < n; k++) {
    const size_t i = order[k];
    if (k > 0 && z[i] * w[i] * (scale + 1.0 / w[i]) <= sum + z[i]) break;
    sum += z[i];
    scale += 1.0 / w[i];
    tau = sum / scale;
  }
  for (size_t i = 0; i < n; i++) out[i] = fmax(z[i] - tau / w[i], 0.0);
}

static void check_simplex(const double *z, const double *w, size_t n, double tolerance) {
  static const double ones[MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const hvi_set set = {.kind = HVI_SET_SIMPLEX, .len = n};
  double out[MOST], expected[MOST], sum = 0.0;
  hvi_set_project(&set, w, z, out);
  project_by_sorting(z, w ? w : ones, n, expected);
  check_close(out, expected, n, tolerance);
  for (size_t i = 0; i < n; i++) {
    assert_true(out[i] >= 0.0);
    sum += out[i];
  }
  check_near(sum, 1.0, tolerance);
}

static void the_simplex_agrees_with_sorting(void **state) {
  (void)state;
  hvi_rng rng = hvi_rng_new(3, "simplex", 0);
  for (int round = 0; round < 20000; round++) {
    const size_t n = 1 + hvi_rng_u32(&rng) % MOST;
    const double scale = ldexp(1.0, (int)(hvi_rng_u32(&rng) % 12) - 6);
    double z[MOST], w[MOST];
    hvi_rng_fill_normal(&rng, hvi_rng_normal(&rng), scale, n, z);
    hvi_rng_fill_uniform(&rng, 0.1, 10.0, n, w);
    check_simplex(z, NULL, n, 1e-12 * (1.0 + scale));
    check_simplex(z, w, n, 1e-11 * (1.0 + scale));
  }
}

static void ties_share_evenly(void **state) {
  (void)state;
  const hvi_set set = {.kind = HVI_SET_SIMPLEX, .len = 4};
  double out[4];
  hvi_set_project(&set, NULL, (double[]){5, 5, 5, 5}, out);
  check_close(out, (double[]){0.25, 0.25, 0.25, 0.25}, 4, 1e-15);
  hvi_set_project(&set, NULL, (double[]){2, 2, -7, 1}, out);
  check_close(out, (double[]){0.5, 0.5, 0, 0}, 4, 1e-15);
  hvi_set_project(&set, NULL, (double[]){0.2, 0.3, 0.5, 0.0}, out);
  check_close(out, (double[]){0.2, 0.3, 0.5, 0.0}, 4, 1e-15);
}

/* An element that equals the threshold may fall on either side of it by rounding, and must not be
 * taken back: the iteration over this point once went round for ever. */
static void an_element_at_the_threshold_ends_the_search(void **state) {
  (void)state;
  check_simplex((double[]){0x1.1504f5048d963p+0, 0x1.7b6c83a22a6efp+0, 0x1.ae9d6666f0bd6p+0}, NULL,
                3, 1e-15);
  hvi_rng rng = hvi_rng_new(4, "simplex", 0);
  for (int round = 0; round < 200000; round++) {
    double z[] = {0.0, 2.0 * hvi_rng_uniform(&rng), 2.0 * hvi_rng_uniform(&rng)};
    z[0] = 0.5 * (z[1] + z[2] - 1.0);
    for (int i = round % 5; i > 2; i--) z[0] = nextafter(z[0], 9.0);
    for (int i = round % 5; i < 2; i++) z[0] = nextafter(z[0], -9.0);
    check_simplex(z, NULL, 3, 1e-14);
  }
}

static void far_points_land_on_the_simplex(void **state) {
  (void)state;
  const hvi_set set = {.kind = HVI_SET_SIMPLEX, .len = 3};
  double out[3];
  hvi_set_project(&set, NULL, (double[]){1e17, 0, -1e17}, out);
  check_close(out, (double[]){1, 0, 0}, 3, 1e-15);
  hvi_set_project(&set, NULL, (double[]){-1e300, -1e300, -1e300}, out);
  check_close(out, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3}, 3, 1e-15);
  hvi_set_project(&set, NULL, (double[]){1e12 + 0.25, 1e12, 1e12 - 3}, out);
  check_close(out, (double[]){0.625, 0.375, 0}, 3, 1e-15);
}

/* No point of a fine grid on the set is nearer. */
static void no_grid_point_is_nearer(void **state) {
  (void)state;
  const hvi_set set = {.kind = HVI_SET_SIMPLEX, .len = 3};
  const double z[] = {0.9, 0.4, -0.2}, w[] = {1.0, 3.0, 0.5};
  double out[3], nearest = 0.0;
  hvi_set_project(&set, w, z, out);
  for (int k = 0; k < 3; k++) nearest += w[k] * (z[k] - out[k]) * (z[k] - out[k]);
  for (int i = 0; i <= 200; i++) {
    for (int j = 0; i + j <= 200; j++) {
      const double y[] = {i / 200.0, j / 200.0, (200 - i - j) / 200.0};
      double far = 0.0;
      for (int k = 0; k < 3; k++) far += w[k] * (z[k] - y[k]) * (z[k] - y[k]);
      assert_true(far >= nearest - 1e-15);
    }
  }
}

static void a_box_clamps(void **state) {
  (void)state;
  const double lower[] = {0, -INFINITY, 2, -1}, upper[] = {1, 0, 2, INFINITY};
  const hvi_set set = {.kind = HVI_SET_BOX, .len = 4, .lower = lower, .upper = upper};
  double out[4];
  hvi_set_project(&set, NULL, (double[]){1.5, -1e300, 7, -4}, out);
  check_close(out, (double[]){1, -1e300, 2, -1}, 4, 0.0);
  hvi_set_project(&set, NULL, (double[]){0.5, 3, 2, 4}, out);
  check_close(out, (double[]){0.5, 0, 2, 4}, 4, 0.0);
}

/* An orthonormal basis [n][rank] of the range of a drawn matrix. */
static void draw_basis(double *basis, size_t n, size_t rank, uint64_t index) {
  double A[MOST * MOST];
  size_t found;
  hvi_error err;
  fill_normal(A, n * rank, index);
  check_ok(hvi_dense_range(basis, &found, A, n, rank, 1e-12, &err), &err);
  assert_int_equal(found, rank);
}

static void a_subspace_takes_the_nearest_point(void **state) {
  (void)state;
  double basis[MOST * 3], z[8], out[8], again[8];
  draw_basis(basis, 8, 3, 1);
  fill_normal(z, 8, 2);
  const hvi_set set = {.kind = HVI_SET_SUBSPACE, .len = 8, .basis = basis, .rank = 3};
  hvi_set_project(&set, NULL, z, out);
  hvi_set_project(&set, NULL, out, again);
  check_close(again, out, 8, 1e-14);
  for (size_t r = 0; r < 3; r++) {
    double c = 0.0;
    for (size_t i = 0; i < 8; i++) c += basis[i * 3 + r] * (z[i] - out[i]);
    check_near(c, 0.0, 1e-14); /* what is left over is orthogonal to it */
  }
}

/* A product of all four kinds over 11 outputs, with or without weights. */
static void all_kinds(toy *t, const double *basis, const double *weights) {
  static const double zero[MOST * MOST], lower[] = {-0.5, 0.0}, upper[] = {0.5, INFINITY};
  toy_init(t, identity_model(11), zero, zero, zero);
  t->sets[0] = (hvi_set){.kind = HVI_SET_FREE, .begin = 0, .len = 2};
  t->sets[1] = (hvi_set){.kind = HVI_SET_BOX, .begin = 2, .len = 2, .lower = lower, .upper = upper};
  t->sets[2] = (hvi_set){.kind = HVI_SET_SIMPLEX, .begin = 4, .len = 3};
  t->sets[3] = (hvi_set){.kind = HVI_SET_SUBSPACE, .begin = 7, .len = 4, .basis = basis, .rank = 2};
  t->base.set_count = 4;
  t->base.weights = weights;
}

static void the_residual_is_its_definition(void **state) {
  (void)state;
  const double weights[] = {1, 2, 3, 4, 5, 0.5, 0.25, 1, 1, 1, 1};
  double basis[MOST * 2], z[11], f[11], raw[11], step[11], back[11];
  draw_basis(basis, 4, 2, 3);
  for (int weighted = 0; weighted < 2; weighted++) {
    const double *w = weighted ? weights : NULL;
    toy t;
    all_kinds(&t, basis, w);
    for (uint64_t round = 0; round < 200; round++) {
      fill_normal(raw, 11, 2 * round);
      fill_normal(f, 11, 2 * round + 1);
      hvi_problem_project(&t.base, raw, z);
      for (size_t i = 0; i < 11; i++) step[i] = z[i] - f[i] / (w ? w[i] : 1.0);
      hvi_problem_project(&t.base, step, back);
      double sum = 0.0;
      for (size_t i = 0; i < 11; i++) sum += (w ? w[i] : 1.0) * (z[i] - back[i]) * (z[i] - back[i]);
      check_near(hvi_problem_residual(&t.base, z, f), sqrt(sum), 1e-12 * (1.0 + sqrt(sum)));
    }
    hvi_problem_free(&t.base);
  }
}

/* z solves the VI of the constant operator f = z - v exactly when z is the projection of v. */
static void the_residual_vanishes_at_solutions_only(void **state) {
  (void)state;
  double basis[MOST * 2], v[11], z[11], f[11];
  draw_basis(basis, 4, 2, 3);
  toy t;
  all_kinds(&t, basis, NULL);
  for (uint64_t round = 0; round < 100; round++) {
    fill_normal(v, 11, 500 + round);
    hvi_problem_project(&t.base, v, z);
    for (size_t i = 0; i < 11; i++) f[i] = z[i] - v[i];
    check_near(hvi_problem_residual(&t.base, z, f), 0.0, 1e-13);
    f[0] += 0.125;
    check_near(hvi_problem_residual(&t.base, z, f), 0.125, 1e-13);
  }
  hvi_problem_free(&t.base);
}

/* Orthonormal columns, and moving along one from an inner point stays in the set's directions. */
static void the_tangent_basis_is_orthonormal(void **state) {
  (void)state;
  double basis[MOST * 2], B[11 * 11];
  size_t rank;
  draw_basis(basis, 4, 2, 3);
  toy t;
  all_kinds(&t, basis, NULL);
  hvi_problem_tangent(&t.base, B, &rank);
  assert_int_equal(rank, 2 + 2 + 2 + 2);
  for (size_t i = 0; i < rank; i++) {
    for (size_t j = 0; j < rank; j++) {
      double sum = 0.0;
      for (size_t r = 0; r < 11; r++) sum += B[r * rank + i] * B[r * rank + j];
      check_near(sum, i == j ? 1.0 : 0.0, 1e-14);
    }
    check_near(B[4 * rank + i] + B[5 * rank + i] + B[6 * rank + i], 0.0, 1e-15);
    double part[4], projected[4];
    for (size_t r = 0; r < 4; r++) part[r] = B[(7 + r) * rank + i];
    hvi_set_project(&t.sets[3], NULL, part, projected);
    check_close(projected, part, 4, 1e-14);
  }
  hvi_problem_free(&t.base);
}

static void a_pinned_box_has_no_direction(void **state) {
  (void)state;
  static const double zero[9], lower[] = {0, 1, 0}, upper[] = {1, 1, 1};
  double B[9];
  size_t rank;
  toy t;
  toy_init(&t, identity_model(3), zero, zero, zero);
  t.sets[0] = (hvi_set){.kind = HVI_SET_BOX, .len = 3, .lower = lower, .upper = upper};
  hvi_problem_tangent(&t.base, B, &rank);
  assert_int_equal(rank, 2);
  check_close(B, (double[]){1, 0, 0, 0, 0, 1}, 6, 0.0);
  hvi_problem_free(&t.base);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_simplex_agrees_with_sorting),
      cmocka_unit_test(ties_share_evenly),
      cmocka_unit_test(an_element_at_the_threshold_ends_the_search),
      cmocka_unit_test(far_points_land_on_the_simplex),
      cmocka_unit_test(no_grid_point_is_nearer),
      cmocka_unit_test(a_box_clamps),
      cmocka_unit_test(a_subspace_takes_the_nearest_point),
      cmocka_unit_test(the_residual_is_its_definition),
      cmocka_unit_test(the_residual_vanishes_at_solutions_only),
      cmocka_unit_test(the_tangent_basis_is_orthonormal),
      cmocka_unit_test(a_pinned_box_has_no_direction),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
