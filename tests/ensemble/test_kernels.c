/* Every build of the kernels that this CPU runs: its agreement with the build for
 * every CPU. */
#include "ensemble/games.h"

#include "base/memory.h"
#include "ensemble/lanes.h"

typedef struct chunk {
  hvi_lanes_plan *plan;
  hvi_lane *slots;
} chunk;

static void load(chunk *c, hvi_instance_fn make, const char *name, const hvi_settings *s) {
  hvi_error err;
  for (size_t i = 0; i < HVI_LANES; i++) {
    hvi_problem *p;
    assert_int_equal(make((void *)(uintptr_t)name, i, &p, &err), HVI_OK);
    if (i == 0) {
      assert_int_equal(hvi_lanes_plan_new(&c->plan, p, s, &err), HVI_OK);
      assert_non_null(c->plan);
      c->slots = hvi_alloc(c->plan->slots, sizeof *c->slots);
    }
    bool fits = false;
    assert_int_equal(hvi_lanes_load(c->plan, c->slots, i, p, s->eta, &fits, &err), HVI_OK);
    assert_true(fits);
    hvi_problem_free(p);
  }
}

static void iterate(chunk *c, const hvi_lanes_kernel *k, size_t inner) {
  k->start(c->plan, c->slots);
  for (size_t i = 0; i < HVI_LANES; i++) c->slots[HVI_SLOT_BOUND2].at[i] = INFINITY;
  for (int t = 0; t < 10; t++) k->step(c->plan, c->slots, inner, t == 9);
  assert_false(k->ended(c->plan, c->slots));
}

/* FMA or not, a few lanes may part where a step goes through a nearly singular Jacobian. */
static void compare(const chunk *a, const chunk *b, const char *name, const char *problem) {
  const hvi_lanes_plan *plan = a->plan;
  const size_t slots[] = {plan->z, plan->z + plan->n - 1, HVI_SLOT_RESIDUAL2, HVI_SLOT_LOSS};
  const size_t allowed = plan->rule == HVI_LANES_GN || plan->rule == HVI_LANES_DGN ? 4 : 0;
  for (size_t k = 0; k < sizeof slots / sizeof *slots; k++) {
    size_t different = 0;
    for (size_t i = 0; i < HVI_LANES; i++) {
      const double x = a->slots[slots[k]].at[i], y = b->slots[slots[k]].at[i];
      different += difference(x, y) > 1e-7;
    }
    if (different > allowed)
      fail_msg("%s, rule %d on %s: %zu lanes differ", name, (int)plan->rule, problem, different);
  }
}

static void builds_agree(hvi_instance_fn make, const char *name, const hvi_settings *s) {
  chunk reference;
  load(&reference, make, name, s);
  iterate(&reference, &hvi_lanes_baseline, 3);
  for (const hvi_lanes_kernel *const *k = hvi_lanes_kernels(); *k; k++) {
    chunk c;
    load(&c, make, name, s);
    iterate(&c, *k, 3);
    compare(&c, &reference, (*k)->name, name);
    hvi_free(c.slots);
    hvi_free(c.plan);
  }
  hvi_free(reference.slots);
  hvi_free(reference.plan);
}

static void all_builds_agree(void **state) {
  (void)state;
  const char *const names[] = {"gd", "momentum", "adam", "adamw", "gn", "dgn", "lm"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    hvi_settings s = hvi_method_settings("gd");
    hvi_method_apply(&s, names[i], NULL);
    s.eta = 0.02;
    s.inner.lr = 0.1;
    builds_agree(make_builtin, "pennies", &s);
    builds_agree(make_builtin, "rps", &s);
    builds_agree(make_zoo, "zoo", &s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_builds_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
