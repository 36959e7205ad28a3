/* Policies: actions against the formulas in double, row by row, and what does not fit. */
#include "rl/walk_env.h"
#include "support/check.h"

#include "rl/policy.h"

enum { OBS = 7, ACT = 3, ROWS = 37 };
static const size_t hidden[] = {20, 33};

static hvi_policy *new_actor(uint64_t seed) {
  hvi_error err;
  hvi_policy *p;
  check_ok(hvi_policy_actor(&p, OBS, ACT, 2, hidden, HVI_RELU, &err), &err);
  hvi_rng rng = hvi_rng_new(seed, "tests", 0);
  hvi_net_init_kaiming(p->net, p->weights, &rng);
  for (size_t i = 0; i < p->net->dim; i++) p->weights[i] *= 2.0F;
  for (size_t j = 0; j < ACT; j++) {
    p->scale[j] = 0.5F + (float)j;
    p->shift[j] = -1.0F + (float)j;
  }
  hvi_net_prepare(p->net, p->weights);
  return p;
}

/* The formulas of policy.h. */
static void expected_action(double *action, const hvi_policy *p, const double *obs,
                            const double *noise) {
  double from[64], to[64];
  for (size_t i = 0; i < OBS; i++) from[i] = (double)(float)obs[i];
  for (size_t l = 0; l < 3; l++) {
    const hvi_net_layer *y = &p->net->layers[l];
    for (size_t o = 0; o < y->out; o++) {
      to[o] = (double)p->weights[y->bias + o];
      for (size_t i = 0; i < y->in; i++)
        to[o] += (double)p->weights[y->weight + o * y->in + i] * from[i];
      if (l < 2) to[o] = fmax(to[o], 0.0);
    }
    memcpy(from, to, sizeof from);
  }
  for (size_t j = 0; j < ACT; j++) {
    const double std = exp(-5.0 + 3.5 * (tanh(from[ACT + j]) + 1.0));
    action[j] = (double)p->scale[j] * tanh(from[j] + std * noise[j]) + (double)p->shift[j];
  }
}

static void actors_follow_the_formulas(void **state) {
  (void)state;
  hvi_policy *p = new_actor(1);
  double obs[ROWS * OBS], action[ROWS * ACT], expected[ROWS * ACT], noise[ACT];
  hvi_rng rngs[ROWS], copies[ROWS];
  float *scratch = hvi_alloc(hvi_policy_scratch(p, ROWS), sizeof *scratch);
  assert_int_equal(hvi_policy_obs(p), OBS);
  assert_int_equal(hvi_policy_act_size(p), ACT);
  fill_normal(obs, ROWS * OBS, 3);
  for (int sampled = 0; sampled < 2; sampled++) {
    for (size_t i = 0; i < ROWS; i++) copies[i] = rngs[i] = hvi_rng_new(5, "tests", i);
    hvi_policy_act(p, scratch, ROWS, obs, sampled ? rngs : NULL, action);
    for (size_t i = 0; i < ROWS; i++) {
      for (size_t j = 0; j < ACT; j++) noise[j] = sampled ? hvi_rng_normal(&copies[i]) : 0.0;
      expected_action(expected + i * ACT, p, obs + i * OBS, noise);
      assert_memory_equal(&rngs[i], sampled ? &copies[i] : &rngs[i], sizeof rngs[i]);
    }
    check_close(action, expected, ROWS * ACT, 1e-5);
  }
  hvi_free(scratch);
  hvi_policy_free(p);
}

static void rows_do_not_see_each_other(void **state) {
  (void)state;
  hvi_policy *p = new_actor(2);
  double obs[ROWS * OBS], all[ROWS * ACT], one[ACT];
  hvi_rng rngs[ROWS];
  float *scratch = hvi_alloc(hvi_policy_scratch(p, ROWS), sizeof *scratch);
  fill_normal(obs, ROWS * OBS, 4);
  for (size_t i = 0; i < ROWS; i++) rngs[i] = hvi_rng_new(6, "tests", i);
  hvi_policy_act(p, scratch, ROWS, obs, rngs, all);
  for (size_t i = 0; i < ROWS; i++) {
    hvi_rng rng = hvi_rng_new(6, "tests", i);
    hvi_policy_act(p, scratch, 1, obs + i * OBS, &rng, one);
    check_same_bits(one, all + i * ACT, ACT);
  }
  hvi_free(scratch);
  hvi_policy_free(p);
}

static void linear_policies_are_linear(void **state) {
  (void)state;
  hvi_error err;
  hvi_policy *p;
  const double gain[6] = {1.0, -2.0, 3.0, 0.5, 0.0, -1.0}, std[2] = {0.25, 0.0};
  const double obs[3] = {1.0, 2.0, 4.0};
  double action[2];
  check_ok(hvi_policy_linear(&p, 3, 2, gain, std, &err), &err);
  hvi_policy_act(p, NULL, 1, obs, NULL, action);
  check_near(action[0], 9.0, 0.0);
  check_near(action[1], -3.5, 0.0);
  hvi_rng rng = hvi_rng_new(1, "tests", 0), copy = rng;
  hvi_policy_act(p, NULL, 1, obs, &rng, action);
  check_near(action[0], 9.0 + 0.25 * hvi_rng_normal(&copy), 1e-15);
  check_near(action[1], -3.5, 0.0);
  hvi_policy_free(p);
  const double bad[2] = {0.1, -0.1}, worse[2] = {NAN, 0.0};
  check_error(hvi_policy_linear(&p, 3, 2, gain, bad, &err), HVI_ERROR_INPUT, &err, "negative");
  check_error(hvi_policy_linear(&p, 3, 2, gain, worse, &err), HVI_ERROR_INPUT, &err, "finite");
  check_error(hvi_policy_linear(&p, 0, 2, gain, std, &err), HVI_ERROR_ARGUMENT, &err, "needs");
  assert_null(p);
}

static void environments_bring_their_policy(void **state) {
  (void)state;
  hvi_error err;
  hvi_env *lqr, *walk;
  hvi_policy *p, *none;
  check_ok(hvi_env_new(&lqr, "lqr", &err), &err);
  check_ok(walk_new(&walk, &err), &err);
  check_ok(hvi_policy_of_env(&p, lqr, &err), &err);
  const hvi_lqr *matrices = hvi_env_lqr(lqr);
  check_same_bits(p->gain, matrices->K, matrices->m * matrices->n);
  check_ok(hvi_policy_check(p, lqr, &err), &err);
  check_error(hvi_policy_check(p, walk, &err), HVI_ERROR_INPUT, &err, "'walk' has 3 and 2");
  hvi_policy_free(p);
  hvi_env_free(lqr);
  check_error(hvi_policy_of_env(&none, walk, &err), HVI_ERROR_UNSUPPORTED, &err, "walk");
  assert_null(none);
  hvi_env_free(walk);
  hvi_policy_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(actors_follow_the_formulas),
      cmocka_unit_test(rows_do_not_see_each_other),
      cmocka_unit_test(linear_policies_are_linear),
      cmocka_unit_test(environments_bring_their_policy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
