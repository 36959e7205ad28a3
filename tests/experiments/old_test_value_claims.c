/* The judges of policy evaluation, on planted curves: claims that hold, that do not, that are open.
 */
#include "support/check.h"

#include "base/memory.h"
#include "experiments/claims_value.h"
#include "report/claims.h"

#include <stdlib.h>
#include <unistd.h>

enum { SEEDS = 6, ROWS = 5, MOST = 8 };

/* Labels, and the error, gap and ratio that each ends at; from 1e6 on a line of the logarithm. */
typedef struct planted {
  const char *label;
  size_t inner;
  double alpha;
  double end, spread; /* seed k ends at end * exp(+-spread) */
  double gap, ratio;
  double seconds; /* of an outer step */
  bool diverged;
} planted;

typedef struct garden {
  hvi_experiment experiment;
  hvi_contender contenders[MOST];
  hvi_study_plan plan;
  hvi_study_results r;
} garden;

static double wobble(size_t seed, double spread) {
  return exp(spread * (seed % 2 ? 1.0 : -1.0) * (1.0 + 0.1 * (double)seed));
}

static void plant_curve(hvi_study_curve *c, const planted *p, size_t seed) {
  c->count = ROWS;
  c->rows = hvi_alloc(ROWS, sizeof *c->rows);
  c->diverged = p->diverged && seed == 0;
  const double end = p->end * wobble(seed, p->spread);
  for (size_t i = 0; i < ROWS; i++) {
    const double share = (double)i / (ROWS - 1);
    c->rows[i] = (hvi_evaluation_row){
        .outer = 100 * i,
        .inner = p->inner,
        .error = 1e6 * pow(end / 1e6, share),
        .gap = pow(p->gap * wobble(seed, p->spread), share),
        .ratio = i ? p->ratio : NAN,
        .grad_evals = 1000 * i,
        .seconds = 100.0 * (double)i * p->seconds,
        .seconds_collect = 50.0 * (double)i * p->seconds,
    };
  }
}

static void plant(garden *g, const char *id, const planted *p, size_t count) {
  *g = (garden){.experiment = {.id = id,
                               .contender_count = count,
                               .contenders = g->contenders,
                               .study = &g->plan},
                .plan = {.value.gamma = 0.99}};
  g->r = (hvi_study_results){.experiment = &g->experiment,
                             .places = 1,
                             .contenders = count,
                             .seeds = SEEDS,
                             .names = {"half_cheetah"},
                             .noise = {100.0},
                             .curves = hvi_alloc(count * SEEDS, sizeof(hvi_study_curve))};
  for (size_t m = 0; m < count; m++) {
    g->contenders[m] = (hvi_contender){.label = p[m].label, .settings = hvi_settings_defaults()};
    g->contenders[m].settings.inner_steps = p[m].inner;
    g->contenders[m].settings.alpha = p[m].alpha;
    for (size_t s = 0; s < SEEDS; s++) plant_curve(&g->r.curves[m * SEEDS + s], &p[m], s);
  }
}

static hvi_judgement judged(const garden *g, const char *id) {
  hvi_claims claims = {0};
  hvi_claims_study(&claims, &g->r);
  const hvi_claim *c = hvi_claims_find(&claims, id);
  if (!c) fail_msg("no claim '%s'", id);
  const hvi_judgement j = c->judgement;
  if (j != HVI_NOT_JUDGED) assert_true(c->measure_count > 0 && c->measure_count < 24);
  if (j == HVI_NOT_JUDGED) assert_true(c->note[0]);
  hvi_claims_clear(&claims);
  return j;
}

static void expect(const char *id, const planted *p, size_t count, const char *claim,
                   hvi_judgement wanted) {
  garden g;
  plant(&g, id, p, count);
  const hvi_judgement got = judged(&g, claim);
  hvi_study_results_free(&g.r);
  if (got != wanted)
    fail_msg("%s: %s, not %s", claim, hvi_judgement_name(got), hvi_judgement_name(wanted));
}

static const planted good[] = {
    {.label = "TD(0)", .inner = 1, .end = 1e4, .spread = 0.05, .gap = 1e-1, .seconds = 1},
    {.label = "Surr 10", .inner = 10, .end = 4e3, .spread = 0.04, .gap = 1e-2, .seconds = 1.1},
    {.label = "Surr 50", .inner = 50, .end = 2e3, .spread = 0.06, .gap = 1e-3, .seconds = 1.3},
};

static void more_steps(void **state) {
  (void)state;
  planted p[3];
  expect("half-cheetah", good, 3, "more-steps-half-cheetah", HVI_HOLDS);
  expect("ant-deep", good, 3, "deep-more-steps-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[2].end = 4e3; /* a tie: no worse, if it can be told */
  p[2].spread = 0.041;
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_HOLDS);
  p[2].spread = 1.0;
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_NOT_DECIDED);
  p[2].spread = 0.04;
  p[2].end = 6e3;
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_HOLDS_NOT);
  memcpy(p, good, sizeof p);
  p[1].end = p[2].end = 1e4; /* 10 is no better than TD(0) */
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_NOT_DECIDED);
  p[0].end = 1e3;
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_HOLDS_NOT);
}

static void lowest(void **state) {
  (void)state;
  planted p[3];
  expect("half-cheetah", good, 3, "lowest-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[0].end = 1e3;
  expect("half-cheetah", p, 3, "lowest-half-cheetah", HVI_HOLDS_NOT);
  p[0].end = 2e3;
  p[0].spread = 0.5;
  expect("half-cheetah", p, 3, "lowest-half-cheetah", HVI_NOT_DECIDED);
}

static void on_the_clock(void **state) {
  (void)state;
  planted p[3];
  expect("ant", good, 3, "clock-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[1].seconds = p[2].seconds = 10.0; /* far behind when TD(0) has ended */
  expect("ant", p, 3, "clock-half-cheetah", HVI_HOLDS_NOT);
}

static void offline(void **state) {
  (void)state;
  planted p[3];
  expect("offline-gap", good, 3, "gap-falls-half-cheetah", HVI_HOLDS);
  expect("offline-gap", good, 3, "gap-per-gradient-half-cheetah", HVI_HOLDS);
  expect("offline-gap", good, 3, "gap-per-second-half-cheetah", HVI_HOLDS);
  expect("offline-error", good, 3, "error-per-second-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[2].gap = 2e-2;
  expect("offline-gap", p, 3, "gap-falls-half-cheetah", HVI_HOLDS_NOT);
  p[2].gap = 1e-2;
  p[2].spread = 0.5;
  expect("offline-gap", p, 3, "gap-falls-half-cheetah", HVI_NOT_DECIDED);
  p[1].gap = 0.2;
  expect("offline-gap", p, 3, "gap-per-gradient-half-cheetah", HVI_HOLDS_NOT);
}

static void beyond(void **state) {
  (void)state;
  planted p[] = {{.label = "AdamW 50", .inner = 50, .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "LM 5", .inner = 5, .end = 1e3, .spread = 0.04, .seconds = 5}};
  expect("second-order", p, 2, "lm-per-data-half-cheetah", HVI_HOLDS);
  expect("second-order", p, 2, "lm-per-second-half-cheetah", HVI_HOLDS_NOT);
  planted q[] = {{.label = "50", .inner = 50, .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "50 mode", .inner = 50, .end = 4e3, .spread = 0.041, .seconds = 1}};
  expect("accelerated", q, 2, "mode-late-half-cheetah", HVI_HOLDS);
  expect("accelerated", q, 2, "mode-early-half-cheetah", HVI_NOT_DECIDED);
  q[1].end = 1e4;
  expect("accelerated", q, 2, "mode-late-half-cheetah", HVI_HOLDS_NOT);
  planted a[] = {
      {.label = "a", .inner = 9, .alpha = 0.5, .end = 4e3, .spread = 0.04, .ratio = 0.2},
      {.label = "b", .inner = 9, .alpha = 0.9, .end = 5e3, .spread = 0.04, .ratio = 0.9}};
  expect("alpha", a, 2, "threshold-matters-little-half-cheetah", HVI_HOLDS);
  a[1].end = 1e5;
  expect("alpha", a, 2, "threshold-matters-little-half-cheetah", HVI_HOLDS_NOT);
  a[1].end = 7.9e3; /* twice, without the noise of 100 */
  a[1].spread = 0.06;
  expect("alpha", a, 2, "threshold-matters-little-half-cheetah", HVI_NOT_DECIDED);
}

static void baselines(void **state) {
  (void)state;
  planted p[] = {{.label = "TD(0)", .inner = 1, .end = 1e4, .spread = 0.04, .seconds = 1},
                 {.label = "TDC", .inner = 1, .end = 2e4, .spread = 0.04, .seconds = 1},
                 {.label = "Surr 10", .inner = 10, .end = 3e3, .spread = 0.04, .seconds = 1},
                 {.label = "returns", .inner = 10, .end = 1e3, .spread = 0.04, .seconds = 1}};
  expect("baselines", p, 4, "returns-floor-half-cheetah", HVI_HOLDS);
  expect("baselines", p, 4, "below-baselines-half-cheetah", HVI_HOLDS);
  p[1].end = 1e3; /* one of them is better */
  expect("baselines", p, 4, "below-baselines-half-cheetah", HVI_HOLDS_NOT);
  p[1].end = 3e3;
  expect("baselines", p, 4, "below-baselines-half-cheetah", HVI_NOT_DECIDED);
  p[3].end = 9e3;
  expect("baselines", p, 4, "returns-floor-half-cheetah", HVI_HOLDS_NOT);
}

/* Returns are no surrogate method, and no other that it is compared with. */
static void returns_take_no_part(void **state) {
  (void)state;
  garden g;
  planted p[4] = {good[0], good[1], good[2], {.label = "returns", .inner = 10, .end = 1.0}};
  p[0].end = 1e3;
  plant(&g, "half-cheetah", p, 4);
  g.contenders[3].value.returns = true;
  assert_int_equal(judged(&g, "lowest-half-cheetah"), HVI_HOLDS_NOT);
  hvi_study_results_free(&g.r);
}

/* One diverged run of a method and it has lost; of both, and nothing is known. */
static void divergence_loses(void **state) {
  (void)state;
  planted p[3];
  memcpy(p, good, sizeof p);
  p[0].diverged = true;
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[1].diverged = true; /* and ahead of TD(0) on the other seeds */
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_NOT_DECIDED);
  p[1].end = 2e4;
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_HOLDS_NOT);
  p[0].diverged = p[2].diverged = true;
  expect("half-cheetah", p, 3, "more-steps-half-cheetah", HVI_NOT_DECIDED);
}

static void what_was_not_run_is_not_judged(void **state) {
  (void)state;
  static const char *const ids[][2] = {{"ant", "clock-half-cheetah"},
                                       {"ant-deep", "deep-lowest-half-cheetah"},
                                       {"offline-gap", "gap-falls-half-cheetah"},
                                       {"alpha", "threshold-matters-little-half-cheetah"}};
  for (size_t i = 0; i < 4; i++) {
    garden g;
    plant(&g, ids[i][0], good, 3);
    g.r.missing[0] = "needs data/policies/x.safetensors";
    assert_int_equal(judged(&g, ids[i][1]), HVI_NOT_JUDGED);
    hvi_study_results_free(&g.r);
  }
  expect("ant", good, 2, "clock-half-cheetah", HVI_NOT_JUDGED); /* a method is not there */
}

/* Against hand arithmetic: log ratios 0.1, 0.2, ..., 0.6 have mean 0.35, sd 0.187083, t 2.570582.
 */
static void ratios_have_the_right_interval(void **state) {
  (void)state;
  garden g;
  planted p[2] = {{.label = "a", .inner = 1, .end = 1.0, .gap = 1, .seconds = 1},
                  {.label = "b", .inner = 1, .end = 1.0, .gap = 1, .seconds = 1}};
  plant(&g, "x", p, 2);
  g.r.noise[0] = 0.5; /* is taken off: 1 over 1, e^.2 over 1, ... */
  for (size_t s = 0; s < SEEDS; s++) {
    g.r.curves[s].rows[ROWS - 1].error = 0.5 + exp(0.1 * (double)(s + 1));
    g.r.curves[SEEDS + s].rows[ROWS - 1].error = 1.5;
  }
  const hvi_study_ratio q = hvi_study_compare_ends(&g.r, 0, 0, 1, HVI_OF_ERROR);
  const double half = 2.570581836 * 0.1870828693 / sqrt(6.0);
  check_near(q.ratio, exp(0.35), 1e-9);
  check_near(q.low, exp(0.35 - half), 1e-7);
  check_near(q.high, exp(0.35 + half), 1e-7);
  assert_int_equal(q.less, -1);
  assert_int_equal(q.seeds, SEEDS);
  /* half way between two rows, on a line of the logarithm */
  check_near(hvi_study_value(&g.r.curves[SEEDS], HVI_BY_SECONDS, HVI_OF_ERROR, 50.0),
             pow(10.0, 6.0 * 7.0 / 8.0), 1e-6);
  hvi_study_results_free(&g.r);
}

/* A gap of 0 is as small as can be told, and must not widen the interval without end. */
static void a_gap_of_zero_counts_as_the_least(void **state) {
  (void)state;
  garden g;
  planted p[2] = {{.label = "a", .inner = 1, .end = 1.0, .gap = 1, .seconds = 1},
                  {.label = "b", .inner = 1, .end = 1.0, .gap = 1, .seconds = 1}};
  plant(&g, "x", p, 2);
  for (size_t s = 0; s < SEEDS; s++) {
    g.r.curves[s].rows[ROWS - 1].gap = s == 3 ? 0.0 : 1e-3;
    g.r.curves[SEEDS + s].rows[ROWS - 1].gap = s % 2 ? 1e-2 : 2e-2;
  }
  const hvi_study_ratio q = hvi_study_compare_ends(&g.r, 0, 0, 1, HVI_OF_GAP);
  check_near(q.ratio, 0.1 / sqrt(2.0), 1e-9);
  assert_int_equal(q.less, 1);
  hvi_study_results_free(&g.r);
}

/* One lost seed moves the mean a hundredfold, and the median not at all. */
static void ends_have_a_median_and_a_worst(void **state) {
  (void)state;
  garden g;
  planted p[1] = {{.label = "a", .inner = 1, .end = 1.0, .gap = 1, .seconds = 1}};
  plant(&g, "x", p, 1);
  for (size_t s = 0; s < SEEDS; s++)
    g.r.curves[s].rows[ROWS - 1].error = s == 2 ? 1e6 : (double)(s + 1);
  const hvi_study_spread q = hvi_study_spread_of(&g.r, 0, 0, HVI_OF_ERROR);
  check_near(q.median, 4.5, 1e-12); /* of 1, 2, 4, 5, 6, 1e6 */
  check_near(q.worst, 1e6, 1e-9);
  g.r.curves[0].diverged = true;
  const hvi_study_spread lost = hvi_study_spread_of(&g.r, 0, 0, HVI_OF_ERROR);
  check_near(lost.median, 5.5, 1e-12);
  g.r.curves[1].diverged = g.r.curves[3].diverged = g.r.curves[4].diverged = true;
  assert_true(isinf(hvi_study_spread_of(&g.r, 0, 0, HVI_OF_ERROR).median));
  assert_true(isinf(lost.worst));
  hvi_study_results_free(&g.r);
}

/* The fourth verdict survives the file and stands in the table. */
static void not_decided_is_written_and_read(void **state) {
  (void)state;
  hvi_claims c = {.experiment = "x", .title = "t", .mode = "quick", .settings_hash = "0"}, again;
  hvi_claim *claim = hvi_claims_add(&c, "one", "here", "A claim.");
  hvi_claim_measure(claim, "number", 1.0);
  hvi_claim_decide(claim, HVI_NOT_DECIDED);
  char path[] = "/tmp/hvi-claims-XXXXXX";
  const int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  close(descriptor);
  check_ok(hvi_claims_write(&c, path, NULL), NULL);
  check_ok(hvi_claims_read(&again, path, NULL), NULL);
  assert_int_equal(again.items[0]->judgement, HVI_NOT_DECIDED);
  char *table = hvi_claims_table(&again, 1, 0);
  assert_non_null(strstr(table, "1 claims: 0 hold, 0 do not hold, 1 not decided, 0 not judged\n"));
  hvi_free(table);
  unlink(path);
  hvi_claims_clear(&c);
  hvi_claims_clear(&again);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(more_steps),
      cmocka_unit_test(lowest),
      cmocka_unit_test(on_the_clock),
      cmocka_unit_test(offline),
      cmocka_unit_test(beyond),
      cmocka_unit_test(baselines),
      cmocka_unit_test(returns_take_no_part),
      cmocka_unit_test(divergence_loses),
      cmocka_unit_test(what_was_not_run_is_not_judged),
      cmocka_unit_test(ratios_have_the_right_interval),
      cmocka_unit_test(a_gap_of_zero_counts_as_the_least),
      cmocka_unit_test(ends_have_a_median_and_a_worst),
      cmocka_unit_test(not_decided_is_written_and_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
