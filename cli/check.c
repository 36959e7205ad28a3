/* hvi check: what kind of problem it is, and whether it is what it says. */
#include <hvi/check.h>

#include "base/base.h"
#include "commands.h"
#include "model/stack.h"
#include "setup.h"

enum { MOST_SHOWN = 12 }; /* players, and numbers of a point, that are written out */

typedef struct subject {
  hvi_setup *setup;
  hvi_check_settings settings;
  hvi_check report;
} subject;

static const char *counted(size_t n, const char *thing) {
  return hvi_format("%zu %s%s", n, thing, n == 1 ? "" : "s");
}

/* What the outputs of a block are confined to. */
static const char *set_words(const hvi_problem *p, const hvi_block *b) {
  const hvi_set *first = NULL;
  size_t count = 0;
  for (const hvi_set *s = p->sets; s < p->sets + p->set_count; s++) {
    if (s->begin >= b->z + b->out || s->begin + s->len <= b->z) continue;
    if (!first) first = s;
    if (s->kind != first->kind) return "in sets of several kinds";
    count++;
  }
  if (first->kind == HVI_SET_SIMPLEX && count > 1) return hvi_format("on %zu simplices", count);
  if (first->kind == HVI_SET_SUBSPACE)
    return hvi_format("in a subspace of dimension %zu", first->rank);
  const size_t at = b->z > first->begin ? b->z - first->begin : 0;
  if (first->kind == HVI_SET_BOX)
    return hvi_format("in %s[%g, %g]", b->out > 1 ? "a box, the first in " : "", first->lower[at],
                      first->upper[at]);
  return first->kind == HVI_SET_SIMPLEX ? "on a simplex" : "unbounded";
}

static const char *model_words(const hvi_problem *p, size_t k) {
  const hvi_model *m = p->model->ops->player ? p->model->ops->player(p->model, k) : p->model;
  const hvi_stack *stack = hvi_stack_of(m);
  if (!stack) return m->ops->name ? m->ops->name : "a model of its own";
  size_t trained = 0;
  for (size_t l = 0; l < stack->layer_count; l++)
    trained += !stack->layers[l].matrix || stack->layers[l].train_bias;
  return hvi_format("%s, %zu trainable, %s", counted(stack->layer_count, "layer"), trained,
                    stack->input ? counted(stack->rows, "fixed input") : "theta is the input");
}

static const char *player_name(const hvi_problem *p, size_t k) {
  return p->players ? p->players[k] : hvi_format("player %zu", k + 1);
}

static void print_players(const hvi_problem *p) {
  const hvi_model *m = p->model;
  printf("players   %zu, %s, %s\n", m->block_count, counted(m->dim, "parameter"),
         counted(m->out, "output"));
  for (size_t k = 0; k < m->block_count && k < MOST_SHOWN; k++) {
    const hvi_block *b = &m->blocks[k];
    printf("          %s: %s, %s %s (%s)\n", player_name(p, k), counted(b->dim, "parameter"),
           counted(b->out, "output"), set_words(p, b), model_words(p, k));
  }
  if (m->block_count > MOST_SHOWN) printf("          ... %zu more\n", m->block_count - MOST_SHOWN);
}

/* By monotonicity: a word, and what it means for a solve. */
static const char *const kinds[][2] = {
    {"unknown", "the outputs do not move around the start"},
    {"not monotone", "no method is sure to converge: a solve may go round in circles, or end at a "
                     "point that is no solution"},
    {"monotone", "not strongly: there may be many solutions, and plain targets may go round them"},
    {"strongly monotone", "there is one solution, and the theorems apply: see 'hvi inspect'"}};

static void print_operator(const subject *s) {
  const hvi_check *r = &s->report;
  const hvi_constants *k = &r->constants;
  const hvi_problem *p = s->setup->problem;
  const size_t n = p->model->out;
  printf("F         %s%s%s, %s\n", r->affine ? "affine" : "not affine",
         r->theta_in_F ? ", reads theta" : "",
         r->zero_sum ? ", zero-sum but for players' own terms" : "",
         p->ops->draw ? "stochastic" : "without samples");
  printf("kind      %s: mu %s %.5g, L %s %.5g%s\n          %s\n", kinds[r->monotonicity][0],
         k->exact ? "=" : "<=", k->mu, k->exact ? "=" : ">=", k->lipschitz,
         k->exact ? "" : hvi_format(" over %zu pairs", k->pairs), kinds[r->monotonicity][1]);
  if (!(r->mu < 0.0 && r->monotonicity == HVI_NOT_MONOTONE && n <= MOST_SHOWN)) return;
  for (size_t i = 0; i < 2 * n; i++) {
    if (i % n == 0) printf("          %s", i ? "and y =" : "worst pair: x =");
    printf(" %.5g%s", s->settings.pair[i], i % n == n - 1 ? "\n" : "");
  }
}

static void print_report(const subject *s) {
  const hvi_settings *o = &s->setup->settings;
  const hvi_setting_table *t = hvi_settings_table();
  char target[32], eta[32];
  printf("problem   %s\n", s->setup->name);
  print_players(s->setup->problem);
  print_operator(s);
  printf("solution  %s\nauto      %s inside, %s targets, eta %s\n\n",
         s->setup->problem->solution ? "known" : "not known", o->optimizer->name,
         hvi_setting_format(hvi_setting_find(t, "target"), o, target, sizeof target),
         hvi_setting_format(hvi_setting_find(t, "eta"), o, eta, sizeof eta));
  for (size_t i = 0; i < HVI_CHECK_COUNT; i++) {
    const hvi_check_result *r = &s->report.results[i];
    printf("%-12s%-8s  %-10s%s\n", r->name, hvi_check_verdict_name(r->verdict),
           hvi_digits(r->worst, 3, "-"), r->what);
    if (*r->text) printf("            %s\n", r->text);
  }
  printf("\n%zu failed, %s\n", s->report.failed, counted(s->report.warned, "warning"));
}

static void print_json(const subject *s) {
  const hvi_problem *p = s->setup->problem;
  const hvi_check *c = &s->report;
  const size_t n = p->model->out;
  const bool shown = c->monotonicity == HVI_NOT_MONOTONE;
  hvi_json_begin();
  hvi_json_put(V("problem", s->setup->name), V("passed", (bool)(c->failed == 0)),
               V("failed", c->failed), V("warnings", c->warned), V("parameters", p->model->dim),
               V("outputs", n));
  hvi_json_open("players", '[');
  for (size_t k = 0; k < p->model->block_count; k++) {
    const hvi_block *b = &p->model->blocks[k];
    hvi_json_object(NULL, V("name", player_name(p, k)), V("parameters", b->dim),
                    V("outputs", b->out), V("set", set_words(p, b)), V("model", model_words(p, k)));
  }
  hvi_json_close();
  hvi_json_object("operator", V("affine", c->affine), V("reads_theta", c->theta_in_F),
                  V("zero_sum", c->zero_sum), V("stochastic", (bool)(p->ops->draw != NULL)),
                  V("kind", kinds[c->monotonicity][0]), V("mu", c->constants.mu),
                  V("lipschitz", c->constants.lipschitz), V("exact", c->constants.exact),
                  V("pairs", c->pairs), V("mu_pairs", c->mu), V("lipschitz_pairs", c->lipschitz),
                  hvi_value_numbers("x", shown ? s->settings.pair : NULL, n),
                  hvi_value_numbers("y", shown ? s->settings.pair + n : NULL, n));
  hvi_json_put(V("solution_known", (bool)(p->solution != NULL)));
  hvi_json_open("tests", '[');
  for (const hvi_check_result *r = c->results; r < c->results + HVI_CHECK_COUNT; r++)
    hvi_json_object(NULL, V("name", r->name), V("what", r->what),
                    V("verdict", hvi_check_verdict_name(r->verdict)), V("worst", r->worst),
                    V("limit", r->limit), V("text", *r->text ? r->text : NULL));
  hvi_json_close();
  hvi_json_open("settings", '{'); /* of a solve by method auto */
  hvi_setup_json(s->setup, s->setup->settings.eta);
  hvi_json_end();
}

static int check(subject *s) {
  hvi_problem *p = s->setup->problem;
  HVI_OWN double *pair = s->settings.pair = hvi_alloc_doubles(2 * p->model->out);
  if (!pair) return hvi_complain(HVI_EXIT_SYSTEM, "out of memory");
  s->settings.seed = s->setup->seed;
  if (s->setup->theta0) p->theta0 = s->setup->theta0;
  const hvi_status status = hvi_problem_check(&s->report, p, &s->settings, &hvi_fault);
  if (status && !s->report.failed) return hvi_complain_fault();
  (hvi_talk.json ? print_json : print_report)(s);
  return status ? hvi_complain_fault() : HVI_EXIT_DONE;
}

int hvi_cli_check(int argc, char **argv) {
  HVI_OWN_BY(hvi_setup_free) hvi_setup setup = hvi_setup_new();
  subject s = {.setup = &setup, .settings = hvi_check_defaults()};
  hvi_args args = {argv[0], "PROBLEM [OPTION]...", .operand = "problem", .also = "json"};
  hvi_setup_problem_options(&setup, &args);
  hvi_args_add(&args, {.name = "tests"});
  hvi_args_settings(&args, hvi_check_table(), &s.settings, "seed");
  HVI_STEP(hvi_args_parse(&args, argc, argv));
  HVI_STEP(hvi_setup_make(&setup, &args));
  return check(&s);
}
