/* Performative prediction: the shipped claims on planted results, and the two kinds it is made of. */
#include "report/folder.h"
#include "study/planted.h"

#include <stdatomic.h>

/* Results on which every claim holds. */
static double deployment_value(const hvi_cell *c, const char *part, const char *column,
                               size_t line) {
  const bool rir = strcmp(part, "rir") == 0;
  const double eps = hvi_cell_number(c, "eps"), delta = hvi_cell_number(c, "delta");
  const double gamma = hvi_cell_number(c, "gamma");
  if (strcmp(column, "deployment") == 0) return (double)line;
  if (strcmp(column, "dist2") == 0) return line < 2 ? 1.0 : 1e-20;
  if (strcmp(column, "dist2_end") == 0)
    return strcmp(part, "beyond") || is_at(c, "kind", "skew") ? 1e-18 : 1e4;
  if (strcmp(column, "gap_end") == 0)
    return rir ? (delta < 0.5 ? 0.9 : 0.2) : eps < 0.5 ? 1e-12 : INFINITY;
  if (strcmp(column, "growth") == 0) return 1.21;
  if (strcmp(column, "contraction") == 0 && !isnan(gamma)) return gamma * gamma;
  if (strcmp(column, "contraction") == 0) return strcmp(part, "linear") ? 0.99 : eps * eps;
  if (strcmp(column, "loss_end") == 0) return 0.1;
  if (strcmp(column, "dim") == 0) return hvi_cell_number(c, "rows");
  if (strcmp(column, "parameter_limit") == 0) return 0.9;
  return 1.0;
}

static double seeds_value(const hvi_cell *c, const char *column, size_t line) {
  const bool lazy = is_at(c, "method", "lazy");
  if (strcmp(column, "seeds") == 0) return 200.0;
  if (strcmp(column, "mean") == 0) return lazy ? 99.9995 : 100.001;
  if (strcmp(column, "standard_error") == 0) return lazy ? 0.0005 : 0.001;
  if (strcmp(column, "exponent") == 0) return lazy ? -0.55 : -0.95;
  if (strcmp(column, "deployment") == 0) return (lazy ? 70.0 : 1000.0) * (double)(line + 1);
  if (strcmp(column, "samples") == 0) return (lazy ? 25000.0 : 1000.0) * (double)(line + 1);
  return line ? 1e-4 : 1.0;
}

static double value(const hvi_cell *c, const char *table, const char *column, size_t line) {
  const char *part = c->part->name;
  (void)table;
  return strncmp(part, "mean", 4) == 0 ? seeds_value(c, column, line)
                                       : deployment_value(c, part, column, line);
}

static size_t lines(const char *table) { return strstr(table, "summary") ? 1 : 3; }

static void violations_are_found(void **state) {
  (void)state;
  static const struct {
    const char *claim;
    violation v;
  } cases[] = {
      {"linear-stable", {"linear-summary", "dist2_end", "Surr-GD(10)", "eps", "0.6", 1e-3, 0}},
      {"linear-stable", {"linear-summary", "dist2_end", "RRM", "eps", "0.3", NAN, 0}},
      {"linear-rate", {"linear-summary", "contraction", "RRM", "eps", "0.3", 0.091, 0}},
      {"linear-rate", {"theorem-summary", "contraction", NULL, "eps", "0.9", 1.0001, 0}},
      {"linear-beyond",
       {"beyond-summary", "dist2_end", "optimistic, η = 0.3", "kind", "skew", 0.5, 0}},
      {"linear-beyond", {"beyond-summary", "dist2_end", "η = 0.45", "kind", "orthogonal", NAN, 0}},
      {"linear-beyond", {"beyond-summary", "growth", "RRM, η = 1", "kind", "orthogonal", 0.9, 0}},
      {"pbe", {"pbe-summary", "contraction", "RRM", "gamma", "0.9", 0.82, 0}},
      {"pbe", {"pbe-summary", "contraction", "RRM", "gamma", "0.5", 0.2, 0}},
      {"pbe", {"pbe-summary", "dist2_end", "RRM", "gamma", "0.99", 1.0, 0}},
      {"pbe", {"pbe-summary", "dist2_end", "RRM", "kind", "blocks", NAN, 0}},
      {NULL, {"pbe-summary", "contraction", "Surr-GD(10)", "gamma", "0.9", 0.9, 0}},
      {"mean-stable", {"mean-greedy-summary", "mean", NULL, NULL, NULL, 100.1, 0}},
      {"mean-greedy-lazy", {"mean-greedy", "samples", NULL, NULL, NULL, 30000, 0}},
      {"mean-greedy-lazy", {"mean-lazy-summary", "exponent", NULL, NULL, NULL, -1.0, 0}},
      {"mean-greedy-lazy", {"mean-lazy", "mean_square", NULL, NULL, NULL, 1.0, 0}},
      {"mean-greedy-lazy", {"mean-lazy", "mean_square", NULL, NULL, NULL, NAN, 0}},
      {"credit-rrm", {"credit", "dist2", "RRM", "eps", "1000", NAN, 0}},
      {"credit-rrm", {"credit", "dist2", "RRM", "eps", "1000", 19.0, 3}},
      {"credit-stable", {"credit-summary", "gap_end", "Surr-GD(20)", "eps", "0.01", 0.1, 0}},
      {"credit-stable", {"credit-summary", "parameter_limit", NULL, NULL, NULL, 0.001, 0}},
      {"rir-stable", {"rir-summary", "gap_end", "RRM (Adam)", "delta", "0.7", 0.3, 0}},
      {"rir-stable", {"rir-summary", "gap_start", "RRM (Adam)", "delta", "0.9", 0.2, 0}},
      {NULL, {"rir-summary", "gap_end", "RRM (Adam)", "delta", "0.4", 1.0, 0}},
  };
  check_planted("performative", value, lines, NULL, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    check_planted("performative", value, lines, &cases[i].v, cases[i].claim);
}

/* Rows over deployments, with what their claims say of them. */
static const char small[] =
    "id: small\n"
    "title: Small\n"
    "kind: deployment\n"
    "quick: {iterations: 3, instances: 5}\n"
    "parts:\n"
    "  - name: credit\n"
    "    problem: credit\n"
    "    options: {rows: 200}\n"
    "    grid: {instance: [0, 2]}\n"
    "    methods:\n"
    "      - {label: greedy, method: lm, eta: 4}\n"
    "      - {label: lazy, method: lm, eta: 4, redraw_every: 40}\n"
    "  - name: rir\n"
    "    problem: credit-rir\n"
    "    options: {rows: 400}\n"
    "    grid: {retrain_every: 3}\n"
    "    methods: [{label: LM, method: lm, eta: 1, inner: 5}]\n"
    "  - name: mean\n"
    "    kind: deployment-seeds\n"
    "    problem: performative-mean\n"
    "    grid: {batch: 10, growth: 1}\n"
    "    methods: [{label: lazy, method: gd, eta: 1}]\n"
    "claims:\n"
    "  - id: counted\n"
    "    text: a row a deployment, of the first instance\n"
    "    table: credit\n"
    "    holds: >-\n"
    "      count(deployment, method == 'lazy') == 4 and count(step, method == 'lazy') == 3\n"
    "      and min(instance) == 0 and max(instance) == 0 and max(deployment) == 3\n"
    "      and first(gap, method == 'lazy') > last(gap, method == 'lazy')\n"
    "      and first(gap, method == 'greedy') > last(gap, method == 'greedy')\n"
    "      and every(accuracy_after > 0.5, deployment == 3)\n"
    "  - id: summed-up\n"
    "    text: a summary of all instances, with what is in the rows\n"
    "    table: credit-summary\n"
    "    holds: >-\n"
    "      count(deployments, deployments == 3) == 4\n"
    "      and first(dist2_end, method == 'lazy') < 1e-3 * first(dist2_end, method == 'greedy')\n"
    "      and first(dist2_end, method == 'lazy') == last(credit.dist2, credit.method == 'lazy')\n"
    "      and first(gap_start) == first(credit.gap) and min(parameter_limit) > 0\n"
    "  - id: retrained\n"
    "    text: retraining from a trained network gains less than from the start\n"
    "    table: rir-retrained\n"
    "    holds: >-\n"
    "      count(gap) == 2 and last(deployment) == 3 and last(gap) > 0 and last(gap) < first(gap)\n"
    "      and first('rir-summary'.gap_end) == last(gap)\n"
    "  - id: observed\n"
    "    text: observations add up, and the error falls\n"
    "    table: mean\n"
    "    holds: >-\n"
    "      max(samples) == 60 and count(rms) == 3 and last(rms) < first(rms)\n"
    "      and first('mean-summary'.seeds) == 5\n";

typedef struct brake {
  atomic_int left; /* calls until it stops; negative: never */
} brake;

static bool go_on(void *context, const char *id, const char *doing, double share) {
  brake *b = context;
  (void)id, (void)doing, (void)share;
  return b->left < 0 || atomic_fetch_sub(&b->left, 1) > 0;
}

/* Runs the study into the folder; true: it was stopped. */
static bool run_small(const char *out, size_t threads, int calls) {
  brake b = {calls};
  const hvi_study_settings how = {
      .out = out, .threads = threads, .resume = true, .progress = go_on, .context = &b};
  hvi_error err;
  hvi_study *s;
  hvi_claims claims;
  bool stopped;
  check_ok(hvi_study_parse(&s, small, "small", &err), &err);
  check_ok(hvi_study_run(&claims, &stopped, s, &how, &err), &err);
  for (size_t i = 0; i < claims.count; i++)
    if (claims.items[i]->judgement != HVI_HOLDS) fail_msg("%s does not hold", claims.items[i]->id);
  assert_true(stopped || claims.count == 4);
  hvi_claims_clear(&claims);
  hvi_study_free(s);
  return stopped;
}

static void check_same_file(const char *a, const char *b, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/small/%s", a, name);
  char *x = slurp(path);
  snprintf(path, sizeof path, "%s/small/%s", b, name);
  char *y = slurp(path);
  assert_string_equal(x, y);
  hvi_free(x);
  hvi_free(y);
}

/* On one thread or two, and stopped again and again: the same bits. A stopped cell begins anew. A run
 * makes one call before its cells, a cell at most six, and each of two side by side five: after ten
 * calls one of the two has made all of its own, so that every run finishes a cell. With fewer, two
 * that keep step would never get anywhere. */
static void deployments_are_counted_right(void **state) {
  static const char *const files[] = {
      "credit-greedy.csv",    "credit-lazy.csv", "credit-summary.csv", "rir-lm.csv",
      "rir-retrained-lm.csv", "mean.csv",        "mean-summary.csv"};
  char one[128], two[128], often[128];
  snprintf(one, sizeof one, "%s/one", (char *)*state);
  snprintf(two, sizeof two, "%s/two", (char *)*state);
  snprintf(often, sizeof often, "%s/often", (char *)*state);
  assert_false(run_small(one, 1, -1));
  assert_false(run_small(two, 2, -1));
  enum { CALLS = 10, CELLS = 6 };
  int stops = 0;
  while (run_small(often, 2, CALLS)) assert_true(++stops < CELLS);
  assert_true(stops > 0);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    check_same_file(one, two, files[i]);
    check_same_file(one, often, files[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(violations_are_found),
      cmocka_unit_test(deployments_are_counted_right),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
