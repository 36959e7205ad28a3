/* Adam, averages and normal draws, in every build of the kernels in single precision. */
#include "net/builds.h"

#include "num/philox.h"

static void adam_follows_its_formula(void **state) {
  (void)state;
  const hvi_adam_step s = {.beta1 = 0.9f,
                           .beta2 = 0.999f,
                           .epsilon = 1e-8f,
                           .rate = 3e-3f,
                           .scale = 1.0f / (1.0f - 0.999f),
                           .keep = 0.999f};
  const double b1 = (double)s.beta1, b2 = (double)s.beta2;
  FOR_KERNELS(k) {
    for (size_t n = 1; n < 70; n += 3) {
      float *theta = random_numbers(n, 1), *m = random_numbers(n, 2), *v = random_numbers(n, 3),
            *g = random_numbers(n, 4);
      double *expected = malloc(3 * n * sizeof *expected);
      for (size_t i = 0; i < n; i++) {
        v[i] = fabsf(v[i]);
        if (i % 7 == 3) m[i] = v[i] = g[i] = 0.0f;
        double *e = expected + 3 * i;
        e[1] = b1 * (double)m[i] + (1.0 - b1) * (double)g[i];
        e[2] = b2 * (double)v[i] + (1.0 - b2) * (double)g[i] * (double)g[i];
        e[0] = (double)s.keep * (double)theta[i] -
               (double)s.rate * e[1] / (sqrt((double)s.scale * e[2]) + (double)s.epsilon);
      }
      k->adam(theta, m, v, g, n, &s);
      for (size_t i = 0; i < n; i++) {
        check_near((double)theta[i], expected[3 * i], 5e-7);
        check_near((double)m[i], expected[3 * i + 1], 5e-7);
        check_near((double)v[i], expected[3 * i + 2], 5e-7);
      }
      free(theta);
      free(m);
      free(v);
      free(g);
      free(expected);
    }
  }
}

static void follow_moves_by_tau(void **state) {
  (void)state;
  FOR_KERNELS(k) {
    for (size_t n = 1; n < 70; n++) {
      float *target = random_numbers(n, 1), *source = random_numbers(n, 2),
            *old = random_numbers(n, 1);
      k->follow(target, source, n, 0.005f);
      for (size_t i = 0; i < n; i++) {
        const double t = (double)old[i], s = (double)source[i];
        check_near((double)target[i], t + (double)0.005f * (s - t), 5e-7);
      }
      k->follow(target, target, n, 0.5f);
      free(target);
      free(source);
      free(old);
    }
  }
}

/* The draws of one block by the C library, in double precision. */
static void block_exactly(double z[4], const hvi_rng *rng, uint64_t block) {
  const uint64_t at = ((uint64_t)rng->counter[1] << 32 | rng->counter[0]) + block;
  const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), rng->counter[2],
                               rng->counter[3]};
  uint32_t word[4];
  hvi_philox_block(word, counter, rng->key);
  for (size_t i = 0; i < 4; i += 2) {
    const double u = ((double)(word[i] >> 1) + 0.5) * 0x1p-31;
    const double radius = sqrt(-2.0 * log(u)), turn = (double)word[i + 1] * 0x1p-32;
    z[i] = radius * cos(2.0 * acos(-1.0) * turn);
    z[i + 1] = radius * sin(2.0 * acos(-1.0) * turn);
  }
}

static void check_normals(const hvi_net_kernels *k, hvi_rng rng, size_t n) {
  const hvi_rng start = rng;
  float *out = numbers(n);
  k->normals(out, n, &rng);
  for (size_t i = 0; i < n; i++) {
    double z[4];
    block_exactly(z, &start, i / 4);
    /* near u = 1 a float is too coarse for the radius, which is small there */
    check_near((double)out[i], z[i % 4], 2e-6 + 4e-4 * (fabs(z[i % 4]) < 1e-2));
  }
  hvi_rng after = start;
  const uint64_t at = ((uint64_t)start.counter[1] << 32 | start.counter[0]) + (n + 3) / 4;
  after.counter[0] = (uint32_t)at;
  after.counter[1] = (uint32_t)(at >> 32);
  after.used = 4;
  assert_int_equal(hvi_rng_u32(&rng), hvi_rng_u32(&after));
  free(out);
}

static void normals_are_those_of_the_stream(void **state) {
  (void)state;
  FOR_KERNELS(k) {
    hvi_rng rng = hvi_rng_new(5, "normals", 3);
    for (size_t n = 0; n < 140; n += n < 12 ? 1 : 7) check_normals(k, rng, n);
    rng.counter[0] = UINT32_C(0xFFFFFFF9); /* the carry into the high word */
    check_normals(k, rng, 100);
    hvi_rng_u32(&rng); /* a block in use is given up */
    check_normals(k, rng, 9);
  }
}

/* Fewer draws are the beginning of more; whole blocks can be drawn in any pieces. */
static void normals_do_not_depend_on_chunks(void **state) {
  (void)state;
  enum { N = 1000 };
  float all[N], parts[N];
  FOR_KERNELS(k) {
    hvi_rng a = hvi_rng_new(6, "chunks", 0), b = a;
    k->normals(all, N, &a);
    for (size_t i = 0, n; i < N; i += n) {
      n = 4 * (1 + i % 23);
      if (n > N - i) n = N - i;
      k->normals(parts + i, n, &b);
    }
    assert_memory_equal(all, parts, sizeof all);
    assert_memory_equal(a.counter, b.counter, sizeof a.counter);
    hvi_rng c = hvi_rng_new(6, "chunks", 0);
    k->normals(parts, 333, &c);
    assert_memory_equal(all, parts, 333 * sizeof *all);
  }
}

/* Moments, tails and the correlation of neighbours, within five standard errors. */
static void normals_are_normal(void **state) {
  (void)state;
  enum { N = 1 << 18 };
  float *x = numbers(N);
  FOR_KERNELS(k) {
    hvi_rng rng = hvi_rng_new(9, "moments", 0);
    k->normals(x, N, &rng);
    double moment[5] = {0}, beside = 0.0, tail[3] = {0};
    for (size_t i = 0; i < N; i++) {
      const double z = (double)x[i];
      for (int m = 1; m < 5; m++) moment[m] += pow(z, m) / N;
      for (int t = 0; t < 3; t++) tail[t] += fabs(z) > t + 1.0;
      if (i > 0) beside += z * (double)x[i - 1] / N;
    }
    const double error = 5.0 / sqrt(N);
    check_near(moment[1], 0.0, error);
    check_near(moment[2], 1.0, error * sqrt(2.0));
    check_near(moment[3], 0.0, error * sqrt(15.0));
    check_near(moment[4], 3.0, error * sqrt(96.0));
    check_near(beside, 0.0, error);
    for (int t = 0; t < 3; t++) {
      const double share = erfc((t + 1.0) * sqrt(0.5));
      check_near(tail[t] / N, share, error * sqrt(share * (1.0 - share)));
    }
  }
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adam_follows_its_formula),
      cmocka_unit_test(follow_moves_by_tau),
      cmocka_unit_test(normals_are_those_of_the_stream),
      cmocka_unit_test(normals_do_not_depend_on_chunks),
      cmocka_unit_test(normals_are_normal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
