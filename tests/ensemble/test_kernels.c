/* Every build of the kernels that this CPU runs: its activations against the C library, and its
 * agreement with the build for every CPU. */
#include "ensemble/games.h"

#include "base/memory.h"
#include "ensemble/lanes.h"
#include "support/ulps.h"

#include <float.h>

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

/* FMA or not. */
static void compare(const chunk *a, const chunk *b, const char *name, const char *problem) {
  const hvi_lanes_plan *plan = a->plan;
  const size_t slots[] = {plan->z, plan->z + plan->n - 1, HVI_SLOT_RESIDUAL2, HVI_SLOT_LOSS};
  for (size_t k = 0; k < sizeof slots / sizeof *slots; k++) {
    size_t different = 0;
    for (size_t i = 0; i < HVI_LANES; i++) {
      const double x = a->slots[slots[k]].at[i], y = b->slots[slots[k]].at[i];
      different += difference(x, y) > 1e-7;
    }
    if (different > 0)
      fail_msg("%s, %s on %s: %zu lanes differ", name, plan->damped ? "lm" : "gd", problem,
               different);
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
  const char *const names[] = {"gd", "lm"};
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

/* A player whose outputs are s(x) and, of softmax, the shares of x and 0; no constraints. */
static hvi_status make_unit(void *context, size_t index, hvi_problem **p, hvi_error *err) {
  const hvi_activation *s = context;
  static const double W[] = {1.0, 0.0}, A[4] = {0}, theta0[] = {0.0};
  const size_t out = *s == HVI_SOFTMAX ? 2 : 1;
  const hvi_layer layer = {.out = out, .matrix = W, .activation = *s};
  const hvi_stack_spec stack = {.in = 1, .rows = 1, .layer_count = 1, .layers = &layer};
  hvi_player player = {.set = HVI_SET_FREE, .weight = 1.0, .theta0 = theta0};
  const hvi_payoff payoff = {.row = 0, .column = 0, .matrix = A};
  const hvi_game_spec spec = {
      .player_count = 1, .players = &player, .payoff_count = 1, .payoffs = &payoff};
  (void)index;
  const hvi_status status = hvi_stack_new(&player.model, &stack, err);
  return status ? status : hvi_game_new(p, &spec, err);
}

/* s(x) and s'(x) by the C library. */
static long double activated(hvi_activation s, long double x, long double *slope) {
  const long double e = expl(-fabsl(x)), e2 = expl(-2.0L * fabsl(x));
  switch (s) {
  case HVI_CELU:
    *slope = x > 0.0L ? 1.0L : e;
    return x > 0.0L ? x : expm1l(x);
  case HVI_TANH:
    *slope = 4.0L * e2 / ((1.0L + e2) * (1.0L + e2));
    return tanhl(x);
  default: /* sigmoid; softmax of x and 0 keeps no slope */
    *slope = e / ((1.0L + e) * (1.0L + e));
    return x > 0.0L ? 1.0L / (1.0L + e) : e / (1.0L + e);
  }
}

static void check_unit(const hvi_lanes_kernel *k, const chunk *c, hvi_activation s,
                       const hvi_lane *x, const double bound[2]) {
  c->slots[c->plan->theta] = *x;
  k->start(c->plan, c->slots);
  for (size_t i = 0; i < HVI_LANES; i++) {
    long double slope;
    const long double exact = activated(s, x->at[i], &slope);
    const double y = c->slots[c->plan->z].at[i], d = c->slots[c->plan->layers[0].slope].at[i];
    if (!(ulps(y, exact) < bound[0]) || (s != HVI_SOFTMAX && !(ulps(d, slope) < bound[1])))
      fail_msg("%s, activation %d at %.17g: %.17g, slope %.17g, not %.20Lg, %.20Lg", k->name,
               (int)s, x->at[i], y, d, exact, slope);
  }
}

/* Units in the last place of values and slopes, far beyond where slopes underflow. Those of celu are
 * exp and exp(x) - 1 themselves; the others have a division and a square more. */
static void activations_are_accurate(void **state) {
  (void)state;
  if (!yardstick_is_finer()) skip();
  static const struct {
    hvi_activation s;
    double bound[2];
  } all[] = {{HVI_CELU, {2.0, 2.0}},
             {HVI_SIGMOID, {3.0, 5.0}},
             {HVI_TANH, {4.0, 5.0}},
             {HVI_SOFTMAX, {3.0, 0.0}}};
  const double width[] = {800.0, 380.0, 40.0, 2.0, 1e-3};
  const hvi_settings settings = hvi_method_settings("gd");
  for (size_t j = 0; j < sizeof all / sizeof *all; j++) {
    chunk c;
    hvi_activation s = all[j].s;
    load(&c, make_unit, (const char *)&s, &settings);
    for (const hvi_lanes_kernel *const *k = hvi_lanes_kernels(); *k; k++) {
      hvi_rng rng = hvi_rng_new(2, "activations", 0);
      hvi_lane x = {{0.0, -0.0, 1e4, -1e4, DBL_MAX, -DBL_MAX, DBL_MIN, -DBL_MIN}};
      for (size_t t = 0; t < 1000; t++) {
        check_unit(*k, &c, s, &x, all[j].bound);
        const double w = width[t % (sizeof width / sizeof *width)];
        hvi_rng_fill_uniform(&rng, -w, w, HVI_LANES, x.at);
      }
    }
    hvi_free(c.slots);
    hvi_free(c.plan);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(activations_are_accurate),
      cmocka_unit_test(all_builds_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
