/* One method of an experiment: a name, and the settings that differ from its defaults. */
#include "base/error.h"
#include "experiments/experiment.h"
#include "experiments/fields.h"
#include "problems/value/value.h"
#include "report/methods.h"
#include "report/text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

typedef enum field_kind { REAL, COUNT, FLAG } field_kind;

/* A key, where its value goes, and what is allowed. */
typedef struct field {
  const char *key;
  field_kind kind;
  size_t offset; /* in hvi_settings */
  hvi_interval range;
} field;

#define AT(member) offsetof(hvi_settings, member)

static const field fields[] = {
    {"inner", COUNT, AT(inner_steps), {1, 1e9, false, false}},
    {"growth", REAL, AT(inner_growth), {0, 1e6, false, false}},
    {"eta_decay", REAL, AT(eta_decay), {0, INFINITY, false, true}},
    {"redraw_every", COUNT, AT(redraw_every), {1, 1e9, false, false}},
    {"trace_decay", REAL, AT(rule_settings.trace_decay), {0, 1, false, false}},
    {"second_rate", REAL, AT(rule_settings.second_rate), {0, INFINITY, true, true}},
    {"copy_every", COUNT, AT(rule_settings.copy_every), {1, 1e9, false, false}},
    {"adam", FLAG, AT(rule_settings.adam), {0, 0, false, false}},
    {"alpha", REAL, AT(alpha), {0, 1, true, true}},
    {"lr", REAL, AT(inner.lr), {0, INFINITY, true, true}},
    {"momentum", REAL, AT(inner.momentum), {0, 1, false, true}},
    {"beta1", REAL, AT(inner.beta1), {0, 1, false, true}},
    {"beta2", REAL, AT(inner.beta2), {0, 1, false, true}},
    {"weight_decay", REAL, AT(inner.weight_decay), {0, INFINITY, false, true}},
    {"rank_tol", REAL, AT(inner.rank_tol), {0, 1, false, false}},
    {"factor", REAL, AT(inner.factor), {0, 1, true, false}},
    {"line_search", FLAG, AT(inner.line_search), {0, 0, false, false}},
    {"damping", REAL, AT(inner.damping), {0, INFINITY, true, true}},
    {"adapt_damping", FLAG, AT(inner.adapt_damping), {0, 0, false, false}},
    {"average", COUNT, AT(average), {1, 1e6, false, false}},
    {"memory", COUNT, AT(memory), {1, 8, false, false}},
    {"alternating", FLAG, AT(alternating), {0, 0, false, false}},
    {"keep_state", FLAG, AT(keep_state), {0, 0, false, false}},
};

enum { FIELD_COUNT = sizeof fields / sizeof *fields };

static const char *const own_keys[] = {
    "label", "method",          "eta",   "target", "accelerate", "floor",   "highlight",
    "style", "double_sampling", "rates", "linear", "returns",    "rate_at", "lambda"};
static const char *const targets[] = {"plain", "optimistic", "averaged", NULL};
static const char *const accelerations[] = {"none", "mode", "anderson", NULL};
static const char *const floors[] = {"zero", "known", "estimated", NULL};
static const char *const solvers[] = {"auto", "dense", "matrix-free", "gram", NULL};

enum { OWN_COUNT = sizeof own_keys / sizeof *own_keys };

static hvi_status check_keys(const hvi_node *map, const char *origin, hvi_error *err) {
  const char *keys[OWN_COUNT + FIELD_COUNT + 1] = {0};
  for (size_t i = 0; i < OWN_COUNT; i++) keys[i] = own_keys[i];
  for (size_t i = 0; i < FIELD_COUNT; i++) keys[OWN_COUNT + i] = fields[i].key;
  return hvi_field_keys(map, keys, origin, err);
}

static hvi_status apply_method(hvi_settings *s, const hvi_node *node, const char *origin,
                               hvi_error *err) {
  const char *name = NULL, *names[HVI_MOST_NAMES];
  hvi_status status = hvi_field_text(&name, node, origin, err);
  if (status != HVI_OK || hvi_methods_apply(name, s)) return status;
  /* rules that only a network has; the others of that name are told apart by the kind */
  for (const hvi_rule *const *r = hvi_value_rule_list; *r; r++) {
    if (strcmp((*r)->name, name) != 0) continue;
    s->baseline = HVI_BASELINE_RULE;
    s->rule = *r;
    return HVI_OK;
  }
  hvi_methods_names(names);
  return hvi_field_unknown(node, name, "method", names, origin, err);
}

static hvi_status read_eta(hvi_settings *s, const hvi_node *node, const char *origin,
                           hvi_error *err) {
  if (node->kind == HVI_NODE_SCALAR && strcmp(node->text, "theorem") == 0)
    return s->step_rule = HVI_STEP_THEOREM, HVI_OK;
  if (node->kind == HVI_NODE_SCALAR && strcmp(node->text, "best") == 0)
    return s->step_rule = HVI_STEP_BEST, HVI_OK;
  s->step_rule = HVI_STEP_FIXED;
  return hvi_field_real(&s->eta, node, (hvi_interval){0, INFINITY, true, true}, origin, err);
}

static hvi_status read_field(hvi_settings *s, const field *f, const hvi_node *node,
                             const char *origin, hvi_error *err) {
  void *to = (char *)s + f->offset;
  switch (f->kind) {
  case COUNT:
    return hvi_field_count(to, node, (size_t)f->range.low, (size_t)f->range.high, origin, err);
  case FLAG:
    return hvi_field_flag(to, node, origin, err);
  default:
    return hvi_field_real(to, node, f->range, origin, err);
  }
}

/* rate_at: {ENVIRONMENT: rate, ...} */
static hvi_status read_exceptions(hvi_contender *c, const hvi_node *map, const char *origin,
                                  hvi_error *err) {
  hvi_status status = HVI_OK;
  if (map->kind != HVI_NODE_MAP || !map->count || map->count > HVI_MOST_EXCEPTIONS)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: rate_at must be a map of 1 to %d rates",
                         origin, map->line, (int)HVI_MOST_EXCEPTIONS);
  for (const hvi_node *n = map->first; n && !status; n = n->next) {
    hvi_rate_at *at = &c->exceptions[c->exception_count++];
    at->environment = n->key;
    status = hvi_field_real(&at->rate, n, (hvi_interval){0, INFINITY, true, true}, origin, err);
  }
  return status;
}

static hvi_status read_words(hvi_contender *c, const hvi_node *map, const char *origin,
                             hvi_error *err) {
  const hvi_node *node;
  hvi_status status = HVI_OK;
  size_t i = 0;
  if ((node = hvi_node_get(map, "eta"))) {
    status = read_eta(&c->settings, node, origin, err);
    c->eta_given = true;
  }
  if (status == HVI_OK && (node = hvi_node_get(map, "target"))) {
    status = hvi_field_choice(&i, node, targets, origin, err);
    c->settings.target = (hvi_target)i;
  }
  if (status == HVI_OK && (node = hvi_node_get(map, "accelerate"))) {
    status = hvi_field_choice(&i, node, accelerations, origin, err);
    c->settings.accelerate = (hvi_acceleration)i;
  }
  if (status == HVI_OK && (node = hvi_node_get(map, "floor"))) {
    status = hvi_field_choice(&i, node, floors, origin, err);
    c->settings.floor = (hvi_floor)i;
  }
  if (status == HVI_OK && (node = hvi_node_get(map, "linear"))) {
    status = hvi_field_choice(&i, node, solvers, origin, err);
    c->settings.inner.linear = (hvi_linear_solver)i;
  }
  if (status == HVI_OK && (node = hvi_node_get(map, "highlight")))
    status = hvi_field_flag(&c->highlight, node, origin, err);
  if (status == HVI_OK && (node = hvi_node_get(map, "style")))
    status = hvi_field_count(&c->style, node, 0, 1000, origin, err);
  if (status == HVI_OK && (node = hvi_node_get(map, "double_sampling")))
    status = hvi_field_count(&c->double_sampling, node, 1, 100000, origin, err);
  if (status == HVI_OK && (node = hvi_node_get(map, "lambda")))
    status = hvi_field_real(&c->lambda, node, (hvi_interval){0, 1, false, false}, origin, err);
  if (status == HVI_OK && (node = hvi_node_get(map, "returns")))
    status = hvi_field_flag(&c->returns, node, origin, err);
  if (status == HVI_OK && (node = hvi_node_get(map, "rate_at")))
    status = read_exceptions(c, node, origin, err);
  if (status == HVI_OK && (node = hvi_node_get(map, "rates")))
    status = hvi_field_rates(c->rates, &c->rate_count, HVI_MOST_RATES, node, origin, err);
  return status;
}

/* "GD(10)" becomes "gd-10". */
static void make_slug(char *slug, size_t size, const char *label) {
  size_t n = 0;
  for (; *label && n + 1 < size; label++) {
    unsigned char ch = (unsigned char)*label;
    if (ch < 128 && isalnum(ch))
      slug[n++] = (char)tolower(ch);
    else if (ch == '.' && n)
      slug[n++] = 'p';
    else if (n && slug[n - 1] != '-')
      slug[n++] = '-';
  }
  while (n && slug[n - 1] == '-') n--;
  slug[n] = '\0';
}

hvi_status hvi_contender_parse(hvi_contender *c, const hvi_node *map, const char *origin,
                               hvi_error *err) {
  const hvi_node *label = NULL, *name = NULL;
  hvi_status status = check_keys(map, origin, err);
  if (status != HVI_OK) return status;
  if (!(label = hvi_node_get(map, "label")) || !(name = hvi_node_get(map, "method")))
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: a method needs the keys label and method",
                         origin, map->line);
  c->settings = hvi_settings_defaults();
  c->settings.stall_window = 0; /* curves run to the end, standing still or not */
  status = hvi_field_text(&c->label, label, origin, err);
  if (status == HVI_OK) status = apply_method(&c->settings, name, origin, err);
  if (status != HVI_OK) return status;
  make_slug(c->slug, sizeof c->slug, c->label);
  status = read_words(c, map, origin, err);
  for (size_t i = 0; i < FIELD_COUNT && status == HVI_OK; i++) {
    const hvi_node *node = hvi_node_get(map, fields[i].key);
    if (node) status = read_field(&c->settings, &fields[i], node, origin, err);
  }
  return status;
}

void hvi_contender_describe(hvi_text *t, const hvi_contender *c, const hvi_settings *s) {
  const bool rule = s->baseline == HVI_BASELINE_RULE;
  hvi_text_add(t, "%s, baseline %d, step rule %d, eta %.17g",
               rule ? s->rule->name : s->optimizer->name, (int)s->baseline, (int)s->step_rule,
               s->eta);
  hvi_text_add(
      t,
      ", target %s, accelerate %s, floor %s, linear %s, double_sampling %zu, lambda %.17g, "
      "returns %d",
      targets[s->target], accelerations[s->accelerate], floors[s->floor], solvers[s->inner.linear],
      c->double_sampling, c->lambda, (int)c->returns);
  for (size_t i = 0; i < FIELD_COUNT; i++) {
    const void *at = (const char *)s + fields[i].offset;
    double x = fields[i].kind == COUNT  ? (double)*(const size_t *)at
               : fields[i].kind == FLAG ? (double)*(const bool *)at
                                        : *(const double *)at;
    hvi_text_add(t, ", %s %.17g", fields[i].key, x);
  }
}

double *hvi_contender_rate(hvi_settings *s, const char **key) {
  const char *name = s->baseline ? "" : s->optimizer->name;
  const bool step = strcmp(name, "gd") == 0 || strcmp(name, "momentum") == 0 ||
                    strcmp(name, "adam") == 0 || strcmp(name, "adamw") == 0;
  const bool damped = strcmp(name, "lm") == 0;
  *key = step ? "lr" : damped ? "damping" : "eta";
  return step ? &s->inner.lr : damped ? &s->inner.damping : &s->eta;
}

hvi_settings hvi_contender_at(const hvi_contender *c, const char *environment) {
  hvi_settings s = c->settings;
  const char *key;
  for (size_t i = 0; i < c->exception_count; i++)
    if (strcmp(c->exceptions[i].environment, environment) == 0)
      *hvi_contender_rate(&s, &key) = c->exceptions[i].rate;
  return s;
}
