/* The squashed Gaussian: its density integrates to one, and its pull-back is the derivative. */
#include "support/check.h"

#include "base/memory.h"
#include "rl/policy.h"

enum { ROWS = 5, ACT = 3, N = ROWS * ACT };

static float scale[ACT] = {1.0F, 2.0F, 0.5F}, shift[ACT] = {0.0F, 1.0F, -0.25F};

typedef struct rig {
  hvi_squash s;
  float *memory;
  float head[ROWS * 2 * ACT];
} rig;

static void set_up(rig *r, const hvi_net_kernels *kernels, uint64_t index) {
  double numbers[ROWS * 2 * ACT];
  hvi_net net = {.kernels = kernels};
  const hvi_policy actor = {.act = ACT, .net = &net, .scale = scale, .shift = shift};
  r->memory = hvi_alloc(hvi_squash_size(ROWS, ACT), sizeof *r->memory);
  assert_non_null(r->memory);
  hvi_squash_bind(&r->s, &actor, r->memory, ROWS);
  fill_normal(numbers, ROWS * 2 * ACT, index);
  /* spreads of a tenth or so: 1 - y^2 keeps most of its digits */
  for (size_t i = 0; i < ROWS * 2 * ACT; i++)
    r->head[i] = (float)(i / ACT % 2 ? 0.3 * numbers[i] - 0.1 : 0.7 * numbers[i]);
  fill_normal(numbers, N, index + 1000);
  for (size_t i = 0; i < N; i++) r->s.noise[i] = (float)numbers[i];
}

/* weights . actions + w sum log pi, in double, row by row. */
static double loss(const double *head, const float *noise, const double *weights, double w) {
  double sum = 0.0;
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t j = 0; j < ACT; j++) {
      const double m = head[i * 2 * ACT + j], h = head[i * 2 * ACT + ACT + j];
      const double e = (double)noise[i * ACT + j], std = exp(-5.0 + 3.5 * (tanh(h) + 1.0));
      const double y = tanh(m + std * e), c = (double)scale[j];
      sum += weights[i * ACT + j] * (c * y + (double)shift[j]);
      sum += w * (-0.5 * e * e - log(std * sqrt(2.0 * acos(-1.0))));
      sum -= w * log(c * (1.0 - y * y) + 1e-6);
    }
  }
  return sum;
}

static void pull_back_is_the_derivative(void **state) {
  (void)state;
  const hvi_net_kernels *const *k = hvi_net_kernel_list();
  for (; *k; k++) {
    rig r;
    double weights[N], head[ROWS * 2 * ACT], expected[ROWS * 2 * ACT], got[ROWS * 2 * ACT];
    float actions[N], pull[N], dhead[ROWS * 2 * ACT];
    const double w = 0.3, h = 1e-6;
    set_up(&r, *k, 1);
    fill_normal(weights, N, 77);
    for (size_t i = 0; i < N; i++) pull[i] = (float)weights[i];
    for (size_t i = 0; i < ROWS * 2 * ACT; i++) head[i] = (double)r.head[i];
    hvi_squash_read(&r.s, r.head, 0, 2); /* in two parts, as slices of a batch come */
    hvi_squash_read(&r.s, r.head + 2 * 2 * ACT, 2, ROWS - 2);
    hvi_squash_sample(&r.s, ROWS, actions, ACT);
    hvi_squash_log_prob(&r.s, ROWS);
    hvi_squash_pull(&r.s, ROWS, (float)w, pull, dhead);
    double direct = 0.0;
    for (size_t i = 0; i < N; i++) direct += weights[i] * (double)actions[i];
    for (size_t i = 0; i < ROWS; i++) direct += w * (double)r.s.log_prob[i];
    check_near(direct, loss(head, r.s.noise, weights, w), 1e-4);
    for (size_t i = 0; i < ROWS * 2 * ACT; i++) {
      const double at = head[i];
      head[i] = at + h;
      const double above = loss(head, r.s.noise, weights, w);
      head[i] = at - h;
      expected[i] = (above - loss(head, r.s.noise, weights, w)) / (2.0 * h);
      head[i] = at;
      got[i] = (double)dhead[i];
    }
    check_close(got, expected, ROWS * 2 * ACT, 2e-4);
    hvi_free(r.memory);
  }
}

/* One action in [-1, 3]: the density over the range, from the noise that leads to each point. */
static void density_integrates_to_one(void **state) {
  (void)state;
  enum { POINTS = 20000 };
  float two = 2.0F, one = 1.0F;
  const double m = 0.4, h = 0.55, std = exp(-5.0 + 3.5 * (tanh(h) + 1.0));
  hvi_net net = {.kernels = hvi_net_kernel_list()[0]};
  const hvi_policy actor = {.act = 1, .net = &net, .scale = &two, .shift = &one};
  hvi_squash s;
  float *memory = hvi_alloc(hvi_squash_size(1, 1), sizeof *memory), action;
  const float head[2] = {(float)m, (float)h};
  double sum = 0.0;
  assert_non_null(memory);
  hvi_squash_bind(&s, &actor, memory, 1);
  for (size_t i = 0; i < POINTS; i++) {
    const double a = -1.0 + 4.0 * ((double)i + 0.5) / POINTS;
    s.noise[0] = (float)((atanh((a - 1.0) / 2.0) - m) / std);
    hvi_squash_read(&s, head, 0, 1);
    hvi_squash_sample(&s, 1, &action, 1);
    hvi_squash_log_prob(&s, 1);
    check_near((double)action, a, 1e-5);
    sum += exp((double)s.log_prob[0]) * 4.0 / POINTS;
  }
  check_near(sum, 1.0, 1e-3);
  hvi_free(memory);
}

/* Far out in the tails tanh is one: log-probabilities and derivatives stay numbers. */
static void saturation_stays_finite(void **state) {
  (void)state;
  rig r;
  float actions[N], pull[N], dhead[ROWS * 2 * ACT];
  set_up(&r, hvi_net_kernel_list()[0], 2);
  for (size_t i = 0; i < ROWS * 2 * ACT; i++) r.head[i] = i % 2 ? 40.0F : -40.0F;
  for (size_t i = 0; i < N; i++) pull[i] = 1.0F;
  hvi_squash_read(&r.s, r.head, 0, ROWS);
  hvi_squash_sample(&r.s, ROWS, actions, ACT);
  hvi_squash_log_prob(&r.s, ROWS);
  hvi_squash_pull(&r.s, ROWS, 1.0F, pull, dhead);
  for (size_t i = 0; i < N; i++) {
    assert_true(fabsf(actions[i] - shift[i % ACT]) <= scale[i % ACT]);
    assert_true(isfinite(dhead[i]));
    assert_true(isfinite(dhead[N + i]));
  }
  for (size_t i = 0; i < ROWS; i++) assert_true(isfinite(r.s.log_prob[i]));
  hvi_free(r.memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pull_back_is_the_derivative),
      cmocka_unit_test(density_integrates_to_one),
      cmocka_unit_test(saturation_stays_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
