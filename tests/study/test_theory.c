/* The experiment `theory`: its grids, its claims on measurements that violate a bound, and the same
 * bits on any number of threads and after a stop. */
#include "report/folder.h"
#include "support/check.h"
#include "support/claims.h"

#include "study/grid.h"

/* Measurements with which every claim holds: a table's name, its columns, its rows. */
static const char *const good[][3] = {
    {"rate", "alpha rho rho_sharp contraction steps", "0 0.9 0.9 0.9 10  0.5 0.95 0.94 0.93 10"},
    {"rate-theorem", "mu L contraction", "1 2 0.94  1 5 0.99"},
    {"step-bound", "bound exact_rate", "below 0.98  above 1.01  printed 3.5"},
    {"signs", "problem monotonicity exact_rate", "pennies -0.75 1.1  rps -0.2 1.01"},
    {"counterexample", "eta least_growth largest_growth alpha_error",
     "0.75 0.25 0.25 1e-12"}, /* sqrt(1 + 9 / 16) */
    {"counterexample-mended", "alpha bias rho contraction",
     "0.1 away 0.9 0.8  0.7 away 0.999 0.99"},
    {"sharp", "alpha eta least_growth largest_growth mu_over_L", /* by the closed form */
     "0.5 0.001 -0.00029239307244899315 -0.00029239307244899315 0.70710678118654752  "
     "0.70710678118654752 0.75 0.25 0.25 0.70710678118654752"},
    {"scalar", "function alpha steps excess last_over_first",
     "convex 0.5 9 1e-15 1e-9  valleys 0.5 9 -1e-3 1e-8"},
    {"lemma-box", "changes outside error gap", "10 5 1 1"},
    {"lemma-simplex", "changes outside error gap", "10 5 0.9 1"},
    {"lemma-solvers", "changes outside error gap", "10 5 0.5 0.5"},
    {"vanishing", "errors last_over_first recursion alpha_late mu_over_L",
     "harmonic 0.01 1 0.1 0.5  root 0.03 1 0.1 0.5  bursts 0.01 1 9 0.5  constant 0.3 1 0.1 0.5"},
    {"noise",
     "sigma eta_share alpha_share observed interval limit over_recursion last_over_first seeds "
     "coercive lipschitz",
     "0 1 0.5 1e-9 0 0 0.9 1e-9 40 0.6 0.9  0.1 1 0.5 0.001 1e-4 0.01 0.9 0.1 40 0.6 0.9  "
     "10 1 0.5 10 1 100 0.9 0.1 40 0.6 0.9"},
    {"noise-chance", "observed interval limit above_recursion seeds descent failing",
     "0.01 0.001 0.1 0.9 40 1.01 0.5  0.01 0.001 0.1 0.9 40 0.99 0.1"},
    {"noise-worst",
     "ratio alpha_share observed interval limit share above_recursion coercive lipschitz",
     "4 0 0.2 0.01 1 0.2 0.9 1 0.9  40 0.4 0.38 0.01 1 0.38 0.9 1 0.9"},
    {"pl", "loss ratio sigma2 largest2 smooth smooth_short norm_mended norm_printed",
     "square 2 1 4 0.9 1.5 -0.1 0.5  wavy 5 0 4 7 7 -0.1 -0.1"},
    {"inner", "over squeeze", "0.9 0.9  0.4 0.5"},
    {"unbounded", "far missed", "1 1e-16  1000000 1e-16"},
    {"bounded", "sigma_left squeeze", "0.1 0.2"},
    {"alpha",
     "problem step alpha alpha_worst alpha_eta alpha_max kappa2 reached outer_reached grad_evals "
     "inner outer",
     "pennies best 0.1 0.1 0.2 0.2 0.9 1 30 100 9000 30  "
     "pennies best 0.7 0.7 0.2 0.2 0.9 1 50 80 500 50  "
     "pennies theorem 0.7 0.7 0.2 0.2 0.9 1 50 80 500 50  "
     "pennies 0.1 0.1 0.1 -1 0.2 1.1 0 nan 500 9000 30  "
     "pennies 0.1 0.7 0.7 -1 0.2 1.1 1 50 80 500 50  rps best 0.7 0.7 0.2 0.3 0.9 1 50 80 500 50  "
     "rps theorem 0.7 0.7 0.2 0.3 0.9 1 50 80 500 50  rps 0.1 0.7 0.7 0.2 0.3 0.9 1 50 80 500 50  "
     "rps theorem 0.9 0.9 0.2 0.3 0.9 1 60 90 300 60"},
};
enum { TABLES = sizeof good / sizeof *good, CLAIMS = 24 };

static const char *const words[] = {"below",  "above",   "printed",  "pennies", "rps",  "away",
                                    "convex", "valleys", "best",     "theorem", "0.1",  "harmonic",
                                    "root",   "bursts",  "constant", "square",  "wavy", NULL};

static bool is_wordy(const char *column) {
  static const char *const wordy[] = {"bound",  "problem", "bias", "function",
                                      "errors", "step",    "loss"};
  for (size_t i = 0; i < sizeof wordy / sizeof *wordy; i++)
    if (strcmp(wordy[i], column) == 0) return true;
  return false;
}

static double value_of(const char *text, bool word) {
  size_t i = 0;
  while (word && words[i] && strcmp(words[i], text) != 0) i++;
  return word ? (double)i : strtod(text, NULL);
}

/* Names of columns live in `text`, which is cut at its blanks. */
static void fill(hvi_table *t, char *text, const char *const from[3]) {
  hvi_column columns[16];
  double row[16];
  size_t count = 0, at = 0;
  char rows[1024], *next = NULL;
  strcpy(text, from[1]);
  strcpy(rows, from[2]);
  for (char *name = strtok_r(text, " ", &next); name; name = strtok_r(NULL, " ", &next))
    columns[count++] = (hvi_column){name, is_wordy(name) ? words : NULL};
  check_ok(hvi_table_new(t, from[0], columns, count, NULL), NULL);
  for (char *x = strtok_r(rows, " ", &next); x; x = strtok_r(NULL, " ", &next)) {
    row[at] = value_of(x, columns[at].words != NULL);
    if (++at < count) continue;
    check_ok(hvi_table_add(t, row, NULL), NULL);
    at = 0;
  }
  assert_int_equal(at, 0);
}

/* A value that is put into the good measurements, and the claim that it must turn. */
typedef struct plant {
  const char *table;
  size_t row;
  const char *column;
  double value;
  const char *claim;
} plant;

static void put(hvi_table *tables, const plant *p) {
  for (size_t i = 0; i < TABLES; i++) {
    hvi_table *t = &tables[i];
    if (strcmp(t->name, p->table) != 0) continue;
    const size_t c = hvi_table_find(t, p->column);
    assert_true(c < t->columns);
    assert_true(p->row < t->rows);
    t->at[p->row * t->columns + c] = p->value;
    return;
  }
  fail_msg("there is no table '%s'", p->table);
}

/* The claims of the shipped file on the good measurements with these in them. */
static void judge(hvi_claims *claims, const plant *plants, size_t count) {
  hvi_study *study;
  hvi_error err;
  const hvi_study_settings settings = {0};
  hvi_table tables[TABLES];
  char text[TABLES][256];
  check_ok(hvi_study_open(&study, "theory", NULL, &err), &err);
  for (size_t i = 0; i < TABLES; i++) fill(&tables[i], text[i], good[i]);
  for (size_t i = 0; i < count; i++) put(tables, &plants[i]);
  *claims = (hvi_claims){0};
  study->settings = &settings;
  study->claims = claims;
  study->tables = tables;
  study->table_count = TABLES;
  check_ok(hvi_study_judge(study, &err), &err);
  for (size_t i = 0; i < TABLES; i++) hvi_table_free(&tables[i]);
  study->tables = NULL;
  hvi_study_free(study);
  assert_int_equal(claims->count, CLAIMS);
}

/* All hold but this one; NULL: all do. */
static void check_only(const hvi_claims *claims, const char *broken, const char *why) {
  for (size_t i = 0; i < claims->count; i++) {
    const hvi_claim *c = claims->items[i];
    const bool expected = !broken || strcmp(c->id, broken) != 0;
    assert_true(c->measure_count > 0);
    if (c->judgement != (expected ? HVI_HOLDS : HVI_HOLDS_NOT))
      fail_msg("with %s '%s' is judged '%s'", why, c->id, hvi_judgement_name(c->judgement));
  }
}

static const plant violations[] = {
    {"rate", 1, "contraction", 0.95 * (1.0 + 1e-6), "rate"},
    {"rate-theorem", 0, "contraction", 0.951, "rate-theorem-step"},
    {"step-bound", 0, "exact_rate", 1.001, "step-bound"},
    {"step-bound", 1, "exact_rate", 0.99, "step-bound"},
    {"step-bound", 2, "exact_rate", 0.99, "step-bound"},
    {"signs", 1, "monotonicity", 0.2, "signs"},
    {"signs", 0, "exact_rate", 0.999, "signs"},
    {"counterexample", 0, "least_growth", -1e-3, "counterexample"},
    {"counterexample", 0, "largest_growth", 0.2500001, "counterexample"},
    {"counterexample", 0, "alpha_error", 1e-8, "counterexample"},
    {"counterexample-mended", 0, "contraction", 0.91, "counterexample-mended"},
    {"counterexample-mended", 1, "contraction", 1.0, "counterexample-mended"},
    {"sharp", 0, "largest_growth", 1e-6, "counterexample-sharp"},
    {"sharp", 1, "least_growth", -1e-7, "counterexample-sharp"},
    {"sharp", 0, "mu_over_L", 0.72, "counterexample-sharp"},
    {"sharp", 1, "largest_growth", 0.2500001, "counterexample-sharp"},
    {"scalar", 1, "excess", 1e-9, "scalar-descent"},
    {"scalar", 0, "last_over_first", 1e-3, "scalar-convergence"},
    {"lemma-simplex", 0, "error", 1.01, "lemma"},
    {"lemma-solvers", 0, "gap", 1.01, "lemma"},
    {"vanishing", 0, "recursion", 1.01, "vanishing-errors"},
    {"vanishing", 1, "last_over_first", 0.2, "vanishing-errors"},
    {"vanishing", 3, "last_over_first", 0.05, "vanishing-errors"},
    {"vanishing", 2, "alpha_late", 0.3, "vanishing-errors"},
    {"noise", 0, "over_recursion", 1.2, "neighbourhood"},
    {"noise", 1, "interval", 0.02, "neighbourhood"},
    {"noise", 2, "observed", 1.0, "neighbourhood-sigma"},
    {"noise", 0, "last_over_first", 0.1, "neighbourhood-sigma"},
    {"noise", 1, "coercive", 1.1, "co-coercivity"},
    {"noise-worst", 0, "coercive", 1.01, "co-coercivity"},
    {"noise-worst", 1, "lipschitz", 1.01, "co-coercivity"},
    {"noise-chance", 0, "descent", 1.2, "expected-descent"},
    {"noise-chance", 1, "failing", 0.0, "expected-descent"},
    {"noise-chance", 0, "above_recursion", 1.1, "expected-descent"},
    {"noise-chance", 0, "interval", 0.2, "expected-descent"},
    {"noise-worst", 1, "share", 0.3, "neighbourhood-worst"},
    {"noise-worst", 1, "observed", 2.0, "neighbourhood-worst"},
    {"noise-worst", 0, "above_recursion", 1.2, "neighbourhood-worst"},
    {"pl", 0, "smooth", 1.01, "smoothness"},
    {"pl", 0, "smooth_short", 0.9, "smoothness"},
    {"pl", 1, "norm_mended", 0.1, "smoothness"},
    {"pl", 0, "norm_printed", -0.1, "smoothness"},
    {"inner", 0, "over", 1.01, "inner-rate"},
    {"inner", 1, "squeeze", 1.1, "inner-rate"},
    {"unbounded", 1, "missed", 1e-3, "unbounded"},
    {"unbounded", 1, "far", 10.0, "unbounded"},
    {"bounded", 0, "sigma_left", 0.9, "unbounded"},
    {"bounded", 0, "squeeze", 1.5, "unbounded"},
    {"pl", 0, "sigma2", 2.1, "pl"},
    {"pl", 0, "largest2", 1.9, "pl"},
    {"alpha", 0, "reached", 0.0, "alpha-covered"},
    {"alpha", 0, "grad_evals", 10.0, "alpha-cost"},
    {"alpha", 5, "reached", 0.0, "alpha-cost"},
    {"alpha", 8, "inner", 900.0, "few-steps"},
    {"alpha", 0, "inner", 300.0, "few-steps"},
    {"alpha", 4, "outer_reached", NAN, "alpha-damping"},
};

static void violations_are_found(void **state) {
  (void)state;
  hvi_claims claims;
  judge(&claims, NULL, 0);
  check_only(&claims, NULL, "good measurements");
  hvi_claims_clear(&claims);
  for (size_t i = 0; i < sizeof violations / sizeof *violations; i++) {
    char why[128];
    const plant *p = &violations[i];
    snprintf(why, sizeof why, "%s = %g in %s", p->column, p->value, p->table);
    judge(&claims, p, 1);
    check_only(&claims, p->claim, why);
    hvi_claims_clear(&claims);
  }
}

/* Where a number is missing nothing holds because of it. */
static void nan_is_never_a_success(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof violations / sizeof *violations; i++) {
    hvi_claims claims;
    plant p = violations[i];
    if (strcmp(p.column, "reached") == 0) continue; /* a flag, never missing */
    p.value = NAN;
    judge(&claims, &p, 1);
    if (find_claim(&claims, p.claim)->judgement == HVI_HOLDS)
      fail_msg("without %s in %s '%s' holds", p.column, p.table, p.claim);
    hvi_claims_clear(&claims);
  }
}

/* A tight alpha that arrives, and sooner than the loose one. */
static void damping_is_compared(void **state) {
  (void)state;
  const plant sooner[] = {{"alpha", 3, "reached", 1.0, NULL},
                          {"alpha", 3, "outer_reached", 20.0, NULL}};
  const plant later[] = {sooner[0], {"alpha", 3, "outer_reached", 60.0, NULL}};
  hvi_claims claims;
  judge(&claims, sooner, 2);
  check_only(&claims, "alpha-damping", "a tight alpha ahead");
  hvi_claims_clear(&claims);
  judge(&claims, later, 2);
  check_only(&claims, NULL, "a tight alpha behind");
  hvi_claims_clear(&claims);
}

/* What is a theorem is marked as one, and what is only seen is not. */
static void theorems_are_marked(void **state) {
  (void)state;
  hvi_claims claims;
  judge(&claims, NULL, 0);
  for (size_t i = 0; i < claims.count; i++) {
    const char *id = claims.items[i]->id;
    const bool seen = strcmp(id, "alpha-cost") == 0 || strcmp(id, "few-steps") == 0 ||
                      strcmp(id, "alpha-damping") == 0 || strcmp(id, "neighbourhood-worst") == 0;
    assert_int_equal(claims.items[i]->theorem, !seen);
  }
  hvi_claims_clear(&claims);
}

static void grids_have_their_cells(void **state) {
  (void)state;
  static const size_t cells[2][TABLES] = {
      {600, 24, 9, 8, 21, 10, 60, 32, 180, 180, 18, 4, 24, 12, 6, 4, 30, 40, 10, 72},
      {9000, 90, 60, 8, 81, 10, 96, 64, 1200, 1200, 120, 4, 24, 12, 126, 4, 300, 400, 40, 132}};
  hvi_study *study;
  hvi_error err;
  check_ok(hvi_study_open(&study, "theory", NULL, &err), &err);
  assert_int_equal(study->part_count, TABLES);
  for (size_t full = 0; full < 2; full++)
    for (size_t i = 0; i < TABLES; i++) {
      hvi_part *p = &study->parts[i];
      assert_string_equal(p->name, good[i][0]);
      check_ok(hvi_part_lay_out(p, full, study->origin, &err), &err);
      assert_int_equal(p->cells, cells[full][i]);
      hvi_part_clear(p);
    }
  hvi_study_free(study);
}

/* All kinds, in small. */
static const char small[] =
    "id: small\ntitle: Small\nparts:\n"
    "  - {name: steps, kind: theory-steps, problem: quadratic, quick: {iterations: 30}, split: "
    "bias,\n"
    "     grid: {shape: [{mu: 1, L: 2, g: identity}, {mu: 1, L: 2, g: linear, d: 12}], instance: "
    "1..2,\n"
    "            bias: [aside, random], alpha_share: [0, 0.5], eta_share: 0.5}}\n"
    "  - {name: sets, kind: theory-steps, problem: quadratic, quick: {iterations: 30},\n"
    "     grid: {set: [box, simplex], stream: cell, bias: [random, over], alpha: 0.5, eta: 0.04}}\n"
    "  - {name: growth, kind: theory-steps, problem: counterexample, quick: {iterations: "
    "9},\n"
    "     grid: {method: adversary, alpha: 0.7071067811865475, eta: '10^-1..10^0, 3 levels'}}\n"
    "  - {name: descent, kind: theory-descent, problem: quadratic, options: {rotation: 0},\n"
    "     quick: {iterations: 99},\n"
    "     grid: {function: [convex, valleys], g: identity, alpha: 0.5, bias: [aside], stream: 1}}\n"
    "  - {name: vanishing, kind: theory-vanishing, problem: quadratic, quick: {iterations: 99},\n"
    "     grid: {shape: [{mu: 1, L: 2, g: identity, instance: 1, bias: away, step: best}],\n"
    "            errors: [harmonic, root, bursts, constant]}}\n"
    "  - {name: noise, kind: theory-noise, problem: quadratic, quick: {instances: 3},\n"
    "     grid: {shape: [{mu: 1, L: 2, g: identity}], sigma: [0, 1], eta_share: 1, alpha_share: "
    "0.5}}\n"
    "  - {name: worst, kind: theory-noise, problem: quadratic, quick: {instances: 3},\n"
    "     grid: {shape: [{mu: 1, L: 1, g: identity}], sigma: 1, eta_share: 1, alpha_share: 0.5,\n"
    "            ratio: 4, chance: [1, 0.2]}}\n"
    "  - {name: inner, kind: theory-inner, problem: quadratic, options: {n: 4, d: 6},\n"
    "     quick: {iterations: 20}, grid: {g: [celu, tanh], method: [gd, dgn], far: 3}}\n"
    "  - {name: pl, kind: theory-pl, problem: quadratic, options: {n: 4, d: 6}, quick: {instances: "
    "9},\n"
    "     grid: {g: [tanh, linear]}}\n"
    "  - {name: exact, kind: theory-exact, quick: {iterations: 200},\n"
    "     grid: {problem: [pennies, rps], signs: [mended, printed], eta: 0.1}}\n"
    "  - {name: alpha, kind: theory-alpha, quick: {iterations: 50},\n"
    "     grid: {problem: pennies, step: [best, theorem, 0.1], alpha: [0.7, 0.9]}}\n";

static hvi_status run_text(const char *text, const hvi_study_settings *s, bool *stopped,
                           hvi_error *err) {
  hvi_study *study = NULL;
  hvi_claims claims = {0};
  hvi_status status = hvi_study_parse(&study, text, "small.yaml", err);
  if (!status) status = hvi_study_run(&claims, stopped, study, s, err);
  hvi_claims_clear(&claims);
  hvi_study_free(study);
  return status;
}

static size_t same_files(const char *a, const char *b) {
  DIR *d = opendir(a);
  size_t count = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    if (!strstr(e->d_name, ".csv")) continue;
    char *x = slurp(in(a, e->d_name)), *y = slurp(in(b, e->d_name));
    if (strcmp(x, y) != 0) fail_msg("%s differs", e->d_name);
    hvi_free(x);
    hvi_free(y);
    count++;
  }
  closedir(d);
  return count;
}

static bool stop_halfway(void *context, const char *id, const char *doing, double share) {
  (void)context, (void)id, (void)doing;
  return share < 0.5;
}

static void threads_and_stops_change_no_bit(void **state) {
  hvi_error err;
  bool stopped;
  char one[256], three[256], resumed[256];
  snprintf(one, sizeof one, "%s/one", (char *)*state);
  snprintf(three, sizeof three, "%s/three", (char *)*state);
  snprintf(resumed, sizeof resumed, "%s/resumed", (char *)*state);
  check_ok(run_text(small, &(hvi_study_settings){.out = one, .threads = 1}, &stopped, &err), &err);
  check_ok(run_text(small, &(hvi_study_settings){.out = three, .threads = 3}, &stopped, &err),
           &err);
  hvi_study_settings s = {.out = resumed, .threads = 2, .progress = stop_halfway};
  check_ok(run_text(small, &s, &stopped, &err), &err);
  assert_true(stopped);
  assert_false(exists(in(resumed, "small/claims.json")));
  s.progress = NULL;
  s.resume = true;
  check_ok(run_text(small, &s, &stopped, &err), &err);
  assert_false(stopped);
  strcat(one, "/small");
  strcat(three, "/small");
  strcat(resumed, "/small");
  assert_int_equal(same_files(one, three), 23);
  assert_int_equal(same_files(one, resumed), 23);
}

static void check_refused(void **state, const char *part, const char *expected) {
  char text[512];
  hvi_error err = {HVI_OK, ""};
  bool stopped;
  snprintf(text, sizeof text, "id: small\ntitle: Small\nquick: {iterations: 9}\n%s\n", part);
  assert_int_not_equal(
      run_text(text, &(hvi_study_settings){.out = *state, .threads = 1}, &stopped, &err), HVI_OK);
  if (!strstr(err.text, expected)) fail_msg("'%s' says nothing of '%s'", err.text, expected);
}

static void wrong_cells_are_refused(void **state) {
  static const char *const wrong[][2] = {
      {"kind: theory-steps\nproblem: quadratic\ngrid: {bias: awy, g: identity, eta: 0.1}",
       "did you mean 'away'"},
      {"kind: theory-steps\nproblem: quadratic\ngrid: {bias: away, set: sphere, eta: 0.1}", "set"},
      {"kind: theory-steps\nproblem: quadratic\ngrid: {method: gdd, eta: 0.1}", "method"},
      {"kind: theory-steps\nproblem: quadratic\ngrid: {bias: away, g: identity, d: 12, eta: 0.1}",
       ""},
      {"kind: theory-descent\nproblem: quadratic\noptions: {n: 9}\n"
       "grid: {bias: away, g: identity, alpha: 0.5, function: convex}",
       "n: 8"},
      {"kind: theory-vanishing\nproblem: quadratic\n"
       "grid: {bias: away, g: identity, errors: rot, eta: 0.1}",
       "did you mean 'root'"},
      {"kind: theory-noise\nproblem: quadratic\ngrid: {sigma: 1}", "alpha_share"},
      {"kind: theory-noise\nproblem: quadratic\n"
       "grid: {mu: 1, L: 5, sigma: 1, eta_share: 1, alpha_share: 0, ratio: 2}",
       "ratio"},
      {"kind: theory-pl\nproblem: quadratic\noptions: {n: 8, d: 4}\ngrid: {g: linear}", "n <= d"},
      {"kind: theory-pl\nproblem: quadratic\ngrid: {g: relu}", "g"},
      {"kind: theory-inner\nproblem: quadratic\noptions: {n: 4}\ngrid: {g: celu, method: gdd}",
       "gdd"},
      {"kind: theory-alpha\nproblem: pennies\ngrid: {step: wide, alpha: 0.5}", "eta"},
      {"kind: theory-steps\nproblem: quadratic\ngrid: {eta: '10^-3..10^1, 0 levels'}", "levels"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    check_refused(state, wrong[i][0], wrong[i][1]);
}

/* The shipped experiment, as `hvi reproduce theory` runs it. */
static void every_claim_holds(void **state) {
  hvi_study *study;
  hvi_claims claims;
  hvi_error err;
  bool stopped;
  check_ok(hvi_study_open(&study, "theory", NULL, &err), &err);
  check_ok(hvi_study_run(&claims, &stopped, study, &(hvi_study_settings){.out = *state}, &err),
           &err);
  assert_int_equal(claims.count, CLAIMS);
  check_only(&claims, NULL, "what was measured");
  assert_true(exists(in(*state, "theory/rate-away.csv")));
  hvi_claims_clear(&claims);
  hvi_study_free(study);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(violations_are_found),    cmocka_unit_test(nan_is_never_a_success),
      cmocka_unit_test(damping_is_compared),     cmocka_unit_test(theorems_are_marked),
      cmocka_unit_test(grids_have_their_cells),  cmocka_unit_test(threads_and_stops_change_no_bit),
      cmocka_unit_test(wrong_cells_are_refused), cmocka_unit_test(every_claim_holds),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
