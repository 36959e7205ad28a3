/* The claims about policy evaluation, on planted curves: some hold, some do not, some are open. */
#include "study/planted.h"
#include "support/claims.h"

#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 5 };

/* The error and gap that a method ends at; from 1e6 and 1 on a line of the logarithm. */
typedef struct planted {
  const char *label;
  double end, spread;  /* seed k ends at end * exp(+-spread) */
  double gap, seconds; /* of an outer step */
  bool diverged;       /* on the first seed */
} planted;

static const planted *garden; /* ends in a NULL label; others end far above */
static const planted rest = {.end = 5e4, .spread = 0.05, .gap = 0.5, .seconds = 1.0};

static const planted *find(const char *label) {
  const planted *p = garden;
  while (p->label && strcmp(p->label, label) != 0) p++;
  return p->label ? p : &rest;
}

static double group_of(const hvi_arm *arm) {
  if (arm->value.returns) return 2.0;
  return arm->settings.baseline || (arm->settings.inner_steps <= 1 && !(arm->settings.alpha > 0.0))
             ? 1.0
             : 0.0;
}

static double value(const hvi_cell *c, const char *table, const char *column, size_t line) {
  const hvi_arm *arm = hvi_cell_method(c);
  const planted *p = find(arm->label);
  const size_t seed = hvi_cell_level(c, "seed");
  const double share = (double)line / (ROWS - 1), sign = seed % 2 ? 1.0 : -1.0;
  const double wobble = exp(p->spread * sign * (1.0 + 0.1 * (double)seed));
  const bool last = line + 1 == ROWS;
  (void)table;
  if (strcmp(column, "outer") == 0) return share * (double)c->part->scale.iterations;
  if (strcmp(column, "error") == 0) return 1e6 * pow(p->end * wobble / 1e6, share);
  if (strcmp(column, "gap") == 0) return pow(p->gap * wobble, share);
  if (strcmp(column, "ratio") == 0) return line ? 0.2 : NAN;
  if (strcmp(column, "grad_evals") == 0) return 1000.0 * (double)line;
  if (strcmp(column, "seconds") == 0) return 100.0 * (double)line * p->seconds;
  if (strcmp(column, "batches") == 0) return share * (double)c->part->scale.iterations;
  if (strcmp(column, "work") == 0) return 1000.0 * (double)line * p->seconds;
  if (strcmp(column, "seconds_inner") == 0) return 1000.0 * (double)line; /* a second a step */
  if (strcmp(column, "gap_relative") == 0) return pow(p->gap * wobble, share);
  if (strcmp(column, "seconds_collect") == 0) return 50.0 * (double)line * p->seconds;
  if (strcmp(column, "error_noise") == 0) return 100.0;
  if (strcmp(column, "threshold") == 0) return arm->settings.alpha * arm->settings.alpha;
  if (strcmp(column, "diverged") == 0) return last && p->diverged && seed == 0 ? 1.0 : NAN;
  if (strcmp(column, "group") == 0) return group_of(arm);
  return 1.0;
}

static size_t lines(const char *table) {
  (void)table;
  return ROWS;
}

static void expect(const char *id, const planted *p, const char *claim, hvi_judgement wanted) {
  hvi_claims claims;
  garden = p;
  judge_planted(&claims, id, value, lines, NULL);
  const hvi_claim *c = find_claim(&claims, claim);
  if (!c) fail_msg("no claim '%s'", claim);
  assert_true(c->measure_count > 0);
  assert_true(c->measure_count < HVI_CLAIM_MEASURES);
  if (c->judgement != wanted)
    fail_msg("%s: %s, not %s", claim, hvi_judgement_name(c->judgement), hvi_judgement_name(wanted));
  hvi_claims_clear(&claims);
}

static const planted good[] = {
    {.label = "TD(0)", .end = 1e4, .spread = 0.05, .gap = 1e-1, .seconds = 1},
    {.label = "10 steps, state reset", .end = 4e3, .spread = 0.04, .gap = 1e-2, .seconds = 1.1},
    {.label = "50 steps, state reset", .end = 2e3, .spread = 0.06, .gap = 1e-3, .seconds = 1.3},
    {0}};

static void more_steps(void **state) {
  (void)state;
  planted p[4];
  expect("half-cheetah", good, "data-reset-half-cheetah", HVI_HOLDS);
  expect("half-cheetah", good, "inner-reset-half-cheetah", HVI_HOLDS);
  expect("half-cheetah", good, "data-kept-half-cheetah", HVI_HOLDS_NOT); /* others end far above */
  expect("ant-deep", good, "deep-data-reset-ant", HVI_HOLDS);
  expect("ant-deep", good, "deep-inner-reset-ant", HVI_HOLDS);
  expect("ant-deep", good, "deep-performance-reset-ant", HVI_HOLDS); /* the same with two layers */
  memcpy(p, good, sizeof p);
  p[2].end = 4e3;
  p[2].spread = 1.0;
  expect("half-cheetah", p, "inner-reset-half-cheetah", HVI_NOT_DECIDED);
  p[2].spread = 0.04;
  p[2].end = 6e3;
  expect("half-cheetah", p, "inner-reset-half-cheetah", HVI_HOLDS_NOT);
  p[1].end = p[2].end = 1e4; /* no better than TD(0) */
  expect("half-cheetah", p, "data-reset-half-cheetah", HVI_NOT_DECIDED);
  p[0].end = 1e3;
  expect("half-cheetah", p, "data-reset-half-cheetah", HVI_HOLDS_NOT);
}

/* TD(0) run on: to as many gradients, to as many seconds, to twenty times the data. */
static void run_on(void **state) {
  (void)state;
  planted p[] = {good[0],
                 good[1],
                 good[2],
                 {.label = "TD(0), 50 passes", .end = 3e3, .spread = 0.04, .seconds = 1},
                 {.label = "TD(0), 9 times the data", .end = 3e3, .spread = 0.04, .seconds = 1},
                 {0}};
  expect("half-cheetah", p, "lower-gradients-reset-half-cheetah", HVI_HOLDS);
  expect("half-cheetah", p, "lower-seconds-reset-half-cheetah", HVI_HOLDS);
  p[3].end = p[4].end = 1e3;
  expect("half-cheetah", p, "lower-gradients-reset-half-cheetah", HVI_HOLDS_NOT);
  expect("half-cheetah", p, "lower-seconds-reset-half-cheetah", HVI_HOLDS_NOT);
  planted q[] = {{.label = "TD(0)", .end = 3e3, .spread = 0.04, .seconds = 1},
                 {.label = "TD(0), rate decays", .end = 2e3, .spread = 0.04, .seconds = 1},
                 {.label = "100 steps, state kept", .end = 1e3, .spread = 0.04, .seconds = 1},
                 {0}};
  expect("plateau", q, "plateau-kept-half-cheetah", HVI_HOLDS);
  expect("plateau", q, "plateau-decay-half-cheetah", HVI_HOLDS_NOT);
  expect("plateau", q, "plateau-rest-half-cheetah", HVI_HOLDS_NOT);
  q[1].end = 1e3;
  expect("plateau", q, "plateau-decay-half-cheetah", HVI_HOLDS);
  q[0].end = 5e2;
  expect("plateau", q, "plateau-kept-half-cheetah", HVI_HOLDS_NOT);
}

static void lowest(void **state) {
  (void)state;
  planted p[4];
  expect("half-cheetah", good, "lowest-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[0].end = 1e3;
  expect("half-cheetah", p, "lowest-half-cheetah", HVI_HOLDS_NOT);
  p[0].end = 2e3;
  p[0].spread = 0.5;
  expect("half-cheetah", p, "lowest-half-cheetah", HVI_NOT_DECIDED);
}

static void on_the_clock(void **state) {
  (void)state;
  planted p[] = {good[0], good[1], good[2], {0}};
  expect("ant", good, "clock-here-ant", HVI_HOLDS);
  p[1].seconds = p[2].seconds = 10.0; /* far behind when TD(0) has ended, unless data cost all */
  expect("ant", p, "clock-here-ant", HVI_HOLDS_NOT);
  expect("ant", p, "data-reset-ant", HVI_HOLDS);
}

static void offline(void **state) {
  (void)state;
  planted p[4];
  expect("offline-gap", good, "gap-falls-reset-half-cheetah", HVI_HOLDS);
  expect("offline-gap", good, "gap-per-gradient-reset-half-cheetah", HVI_HOLDS);
  expect("offline-gap", good, "gap-per-second-reset-half-cheetah", HVI_HOLDS);
  expect("offline-error", good, "error-per-gradient-half-cheetah", HVI_HOLDS);
  expect("offline-error", good, "error-per-second-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[2].gap = 0.2;
  expect("offline-gap", p, "gap-falls-reset-half-cheetah", HVI_HOLDS_NOT);
  p[2].gap = 0.1;
  p[2].spread = 0.5;
  expect("offline-gap", p, "gap-falls-reset-half-cheetah", HVI_NOT_DECIDED);
  p[1].gap = 0.2;
  expect("offline-gap", p, "gap-per-gradient-reset-half-cheetah", HVI_HOLDS_NOT);
}

static void beyond(void **state) {
  (void)state;
  planted p[] = {{.label = "AdamW, 50 steps", .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "LM, 5 steps", .end = 1e3, .spread = 0.04, .seconds = 5},
                 {0}};
  expect("second-order", p, "lm-per-data-half-cheetah", HVI_HOLDS);
  expect("second-order", p, "lm-per-second-half-cheetah", HVI_HOLDS_NOT);
  planted q[] = {{.label = "50", .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "50 mode", .end = 4e3, .spread = 0.041, .seconds = 1},
                 {0}};
  expect("accelerated", q, "mode-late-half-cheetah", HVI_HOLDS);
  expect("accelerated", q, "mode-early-half-cheetah", HVI_NOT_DECIDED);
  q[1].end = 1e4;
  expect("accelerated", q, "mode-late-half-cheetah", HVI_HOLDS_NOT);
}

static void thresholds(void **state) {
  (void)state;
  planted p[] = {{.label = "α² = 0.9", .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "α² = 0.7", .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "α² = 0.5", .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "α² = 0.25", .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "α² = 0.1", .end = 4e3, .spread = 0.04, .seconds = 1},
                 {.label = "α² = 0.05", .end = 5e3, .spread = 0.04, .seconds = 1},
                 {0}};
  expect("alpha", p, "threshold-matters-little-half-cheetah", HVI_HOLDS);
  p[5].end = 1e5;
  expect("alpha", p, "threshold-matters-little-half-cheetah", HVI_HOLDS_NOT);
  p[5].end = 7.9e3; /* twice, without the noise of 100 */
  p[5].spread = 0.06;
  expect("alpha", p, "threshold-matters-little-half-cheetah", HVI_NOT_DECIDED);
}

static void baselines(void **state) {
  (void)state;
  planted p[] = {{.label = "TD(0)", .end = 1e4, .spread = 0.04, .seconds = 1},
                 {.label = "TDC", .end = 2e4, .spread = 0.04, .seconds = 1},
                 {.label = "10 steps", .end = 3e3, .spread = 0.04, .seconds = 1},
                 {.label = "returns", .end = 1e3, .spread = 0.04, .seconds = 1},
                 {0}};
  expect("baselines", p, "returns-floor-half-cheetah", HVI_HOLDS);
  expect("baselines", p, "below-baselines-half-cheetah", HVI_HOLDS);
  p[1].end = 1e3; /* one of them is better */
  expect("baselines", p, "below-baselines-half-cheetah", HVI_HOLDS_NOT);
  p[1].end = 3e3;
  expect("baselines", p, "below-baselines-half-cheetah", HVI_NOT_DECIDED);
  p[3].end = 9e3;
  expect("baselines", p, "returns-floor-half-cheetah", HVI_HOLDS_NOT);
}

/* One diverged run of a method and it has lost; of both, and nothing is known. */
static void divergence_loses(void **state) {
  (void)state;
  planted p[4];
  memcpy(p, good, sizeof p);
  p[0].diverged = true;
  expect("half-cheetah", p, "data-reset-half-cheetah", HVI_HOLDS);
  memcpy(p, good, sizeof p);
  p[1].diverged = true; /* and ahead of TD(0) on the other seeds */
  expect("half-cheetah", p, "data-reset-half-cheetah", HVI_NOT_DECIDED);
  p[1].end = 2e4;
  expect("half-cheetah", p, "data-reset-half-cheetah", HVI_HOLDS_NOT);
  p[0].diverged = p[2].diverged = true;
  expect("half-cheetah", p, "data-reset-half-cheetah", HVI_NOT_DECIDED);
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
  unlink(path);
  check_ok(hvi_claims_write(&c, path, NULL), NULL);
  check_ok(hvi_claims_read(&again, path, NULL), NULL);
  assert_int_equal(again.items[0]->judgement, HVI_NOT_DECIDED);
  char *table = hvi_claims_table(&again, 1, 0, true);
  assert_non_null(strstr(table, "1 claims: 0 hold, 0 do not hold, 1 not decided, 0 not judged\n"));
  hvi_free(table);
  unlink(path);
  hvi_claims_clear(&c);
  hvi_claims_clear(&again);
}

int main(void) {
  planted_full = true;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(more_steps),       cmocka_unit_test(run_on),
      cmocka_unit_test(lowest),           cmocka_unit_test(on_the_clock),
      cmocka_unit_test(offline),          cmocka_unit_test(beyond),
      cmocka_unit_test(thresholds),       cmocka_unit_test(baselines),
      cmocka_unit_test(divergence_loses), cmocka_unit_test(not_decided_is_written_and_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
