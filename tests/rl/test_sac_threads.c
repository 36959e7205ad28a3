/* The critics on two threads: the same bits as on one, also when the number changes on the way. */
#include "rl/walk_env.h"
#include "support/check.h"

#include "rl/sac_parts.h"

#include <stdatomic.h>

static hvi_sac *new_trainer(size_t threads) {
  hvi_error err;
  hvi_env *env;
  hvi_sac *sac;
  hvi_sac_settings s = hvi_sac_defaults();
  s.batch = HVI_NET_ROWS + 20;
  s.buffer = 1000;
  s.start = 10;
  s.hidden[0] = s.hidden[1] = 24;
  s.threads = threads;
  check_ok(walk_new(&env, &err), &err);
  check_ok(hvi_sac_new(&sac, env, &s, &err), &err);
  hvi_env_free(env);
  return sac;
}

static void check_same(const hvi_sac *a, const hvi_sac *b) {
  assert_memory_equal(a->actor.weights, b->actor.weights, a->actor_net->weights * sizeof(float));
  for (size_t i = 0; i < 2; i++) {
    const hvi_sac_critic *x = &a->critics[i], *y = &b->critics[i];
    assert_memory_equal(x->learner.weights, y->learner.weights, a->critic_net->dim * sizeof(float));
    assert_memory_equal(x->target, y->target, a->critic_net->dim * sizeof(float));
  }
  assert_memory_equal(&a->numbers, &b->numbers, sizeof a->numbers);
  assert_true(a->temperature.log_alpha == b->temperature.log_alpha);
}

static void two_threads_are_one(void **state) {
  (void)state;
  hvi_error err;
  hvi_sac *one = new_trainer(1), *two = new_trainer(2), *both = new_trainer(1);
  for (size_t i = 0; i < 60; i++) {
    check_ok(hvi_sac_step(one, &err), &err);
    check_ok(hvi_sac_step(two, &err), &err);
    if (i % 7 == 0) check_ok(hvi_sac_set_threads(both, 1 + i / 7 % 2, &err), &err);
    check_ok(hvi_sac_step(both, &err), &err);
  }
  check_same(one, two);
  check_same(one, both);
  check_error(hvi_sac_set_threads(both, 0, &err), HVI_ERROR_ARGUMENT, &err,
              "threads: must be a whole number from 1 to 2, not '");
  hvi_sac_free(one);
  hvi_sac_free(two);
  hvi_sac_free(both);
}

typedef struct tally {
  atomic_int sides[2];
} tally;

static void count_side(void *context, size_t side) {
  tally *t = context;
  atomic_fetch_add(&t->sides[side], 1);
}

static void every_job_is_done_once(void **state) {
  (void)state;
  hvi_error err;
  hvi_twins *twins;
  tally t = {{0, 0}};
  check_ok(hvi_twins_new(&twins, &err), &err);
  for (int i = 1; i <= 2000; i++) {
    hvi_twins_run(twins, count_side, &t);
    assert_int_equal(atomic_load(&t.sides[0]), i);
    assert_int_equal(atomic_load(&t.sides[1]), i);
  }
  hvi_twins_free(twins);
  hvi_twins_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_threads_are_one),
      cmocka_unit_test(every_job_is_done_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
