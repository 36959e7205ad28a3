/*
 * The claims of a study, as rows of its file: `claims` in docs/experiments.md. What `holds` looks at
 * is measured by itself (expression.h). Expressions in braces in a note are worked out.
 */
#include "base/base.h"
#include "study/expression.h"
#include "study/fields.h"
#include "study/grid.h"
#include "study/runs.h"

enum { OWN_CONSTANTS = 3, MOST_CONSTANTS = 16 };

/* A row's keys but for the maps `let` and `measures`, and `number`. */
typedef struct claim_keys {
  const char *id, *where, *text, *holds, *note, *each, *table;
  bool theorem;
  int needs; /* 1: the full size */
} claim_keys;

#define AT(member) HVI_SETTING_TEXT, .offset = offsetof(claim_keys, member)
HVI_ROWS(static const hvi_setting claim_rows[],
    {"id", AT(id), .flags = HVI_SETTING_REQUIRED, .most = 38},
    {"where", AT(where), .fallback = ""},
    {"text", AT(text), .flags = HVI_SETTING_REQUIRED},
    {"holds", AT(holds)}, {"note", AT(note)}, {"each", AT(each)}, {"table", AT(table)},
    {"theorem", HVI_SETTING_FLAG, .offset = offsetof(claim_keys, theorem)},
    {"needs", HVI_SETTING_CHOICE, .offset = offsetof(claim_keys, needs), .choices = "quick|full", .fallback = "quick"},
    {0});
static const hvi_setting_table claim_table = {"claim", sizeof(claim_keys), claim_rows};

typedef struct judge {
  claim_keys keys;
  hvi_study *study;
  hvi_scope scope;
  struct hvi_constant constants[MOST_CONSTANTS + 1]; /* sizes, then those of `let` */
  const char *level;                                 /* of `each`; NULL: none */
  const hvi_part *part;                              /* that the own table is of */
  hvi_error *err;
} judge;

#define fail(j, n, ...) hvi_error_line((j)->err, (j)->study->origin, (n)->line, __VA_ARGS__)

static hvi_status evaluate(hvi_quantity *q, const judge *j, const hvi_node *n, const char *text,
                           hvi_findings *findings) {
  char where[300];
  snprintf(where, sizeof where, "%.256s:%u", j->study->origin, n->line);
  return hvi_expression_eval(q, text, &j->scope, findings, where, j->err);
}

static hvi_status number(double *x, const judge *j, const hvi_node *n, const char *text) {
  hvi_quantity q = {0};
  const hvi_status status = evaluate(&q, j, n, text, NULL);
  *x = q.kind == HVI_QUANTITY_TRUTH ? (double)q.truth : q.number;
  hvi_quantity_free(&q);
  return status;
}

static hvi_status need_map(const judge *j, const hvi_node *n) {
  if (!n || n->kind == HVI_NODE_MAP) return HVI_OK;
  return fail(j, n, "%s must be a map of names and expressions", n->key);
}

static hvi_status name_numbers(judge *j, const hvi_node *map) {
  struct hvi_constant *c = &j->constants[OWN_CONSTANTS];
  HVI_TRY(need_map(j, map));
  for (const hvi_node *n = map ? map->first : NULL; n; n = n->next, c++) {
    if (c == &j->constants[MOST_CONSTANTS] || n->kind != HVI_NODE_SCALAR)
      return fail(j, n, "let takes at most %d numbers", MOST_CONSTANTS - OWN_CONSTANTS);
    HVI_TRY(number(&c->value, j, n, n->text));
    c[0].name = n->key;
    c[1].name = NULL;
  }
  return HVI_OK;
}

static hvi_status add_measures(hvi_claim *c, const judge *j, const hvi_node *map) {
  HVI_TRY(need_map(j, map));
  for (const hvi_node *n = map ? map->first : NULL; n; n = n->next) {
    double x;
    if (n->kind != HVI_NODE_SCALAR) return fail(j, n, "a measure is an expression");
    HVI_TRY(number(&x, j, n, n->text));
    hvi_claim_measure(c, n->key, x);
  }
  return HVI_OK;
}

static hvi_status add_note(hvi_claim *c, const judge *j, const hvi_node *n) {
  char note[sizeof c->note] = "", expression[200];
  size_t used = 0;
  for (const char *at = n->text; *at && used + 32 < sizeof note; at++) {
    const size_t inside = *at == '{' ? strcspn(at + 1, "}") : 0;
    if (!inside || inside >= sizeof expression) {
      note[used++] = *at;
      continue;
    }
    double x;
    snprintf(expression, sizeof expression, "%.*s", (int)inside, at + 1);
    HVI_TRY(number(&x, j, n, expression));
    used += (size_t)snprintf(note + used, 32, "%.4g", x);
    at += inside + 1;
  }
  hvi_claim_note(c, "%s", note);
  return HVI_OK;
}

static hvi_status decide(hvi_claim *c, const judge *j, const hvi_node *holds) {
  static const hvi_judgement judgements[] = {
      [HVI_FALSE] = HVI_HOLDS_NOT, [HVI_TRUE] = HVI_HOLDS, [HVI_UNDECIDED] = HVI_NOT_DECIDED};
  HVI_OWN_BY(hvi_quantity_free) hvi_quantity q = {0};
  hvi_findings findings;
  HVI_TRY(evaluate(&q, j, holds, holds->text, &findings));
  if (q.kind != HVI_QUANTITY_TRUTH)
    return fail(j, holds, "'%s' is neither true nor false", holds->text);
  hvi_claim_decide(c, judgements[q.truth]);
  for (size_t i = 0; i < findings.count; i++)
    hvi_claim_measure(c, findings.items[i].name, findings.items[i].value);
  return HVI_OK;
}

/* An expression with its interval: that of a sample is Student's t. */
static hvi_status find_number(hvi_claim_number *to, const judge *j, const hvi_node *n) {
  HVI_OWN_BY(hvi_quantity_free) hvi_quantity q = {0};
  to->low = to->high = NAN;
  const hvi_node *first = n->kind == HVI_NODE_LIST ? n->first : n;
  const bool pair = n->kind == HVI_NODE_LIST && n->count == 3;
  if ((first != n && !pair) || first->kind != HVI_NODE_SCALAR)
    return fail(j, n, "number is an expression, or [value, low, high]");
  HVI_TRY(evaluate(&q, j, n, first->text, NULL));
  to->value = q.kind == HVI_QUANTITY_TRUTH ? (double)q.truth : q.number;
  if (q.kind == HVI_QUANTITY_SAMPLE) {
    const hvi_mean m = hvi_mean_of(q.sample, q.count, q.sample);
    to->value = m.value;
    to->low = m.value - m.half;
    to->high = m.value + m.half;
  }
  if (!pair) return HVI_OK;
  HVI_TRY(number(&to->low, j, n, first->next->text));
  return number(&to->high, j, n, first->next->next->text);
}

/* A measure by its name, with its interval where it has one; or an expression. */
static hvi_status add_number(hvi_claim *c, const judge *j, const hvi_node *n) {
  const bool map = n->kind == HVI_NODE_MAP && n->count == 1;
  const char *name = map ? n->first->key : n->kind == HVI_NODE_SCALAR ? n->text : c->id;
  snprintf(c->number.name, sizeof c->number.name, "%s", name);
  for (size_t i = 0; i < c->measure_count && !map; i++)
    if (strcmp(c->measures[i].name, name) == 0)
      return c->number = hvi_claim_number_at(c, i), HVI_OK;
  return find_number(&c->number, j, map ? n->first : n);
}

/* How many seeds it rests on, and how its methods' rates were chosen. */
static void tell_seeds(hvi_claim *c, const hvi_part *p) {
  const unsigned long long first = p->seed, count = p->scale.instances;
  if (p->kind->flags & HVI_KIND_SEEDS)
    snprintf(c->seeds, sizeof c->seeds, "%llu seeds, %llu to %llu", count, first,
             first + count - 1);
  else if (p->counts_instances)
    snprintf(c->seeds, sizeof c->seeds, "%llu instances, seed %llu", count, first);
  else
    snprintf(c->seeds, sizeof c->seeds, "seed %llu", first);
  if (p->value && p->value->tuned) snprintf(c->tuning, sizeof c->tuning, "%s", p->value->tuned);
}

static hvi_status check_id(const judge *j, const char *id, const hvi_node *row) {
  const hvi_claims *all = j->study->claims;
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->items[i]->id, id) == 0)
      return fail(j, row, "a claim has the id '%s' already", id);
  return HVI_OK;
}

/* What a quick run cannot decide, by the file or as it turned out. */
static void ask_for_full(hvi_claim *c, const judge *j) {
  const size_t used = strlen(c->note);
  const bool open = c->judgement == HVI_NOT_DECIDED && j->study->builtin;
  if (!j->keys.needs && !open) return;
  hvi_claim_decide(c, HVI_NEEDS_FULL);
  if (open && !j->keys.needs)
    snprintf(c->note + used, sizeof c->note - used, "%sThis size leaves it open.", used ? " " : "");
}

static hvi_status judge_row(judge *j, const hvi_node *row) {
  char id[64], text[384], slug[24] = "";
  const char *level = j->level;
  if (level) hvi_slug(slug, sizeof slug, level);
  snprintf(id, sizeof id, "%.38s%s%s", j->keys.id, level ? "-" : "", slug);
  snprintf(text, sizeof text, "%s%s%s%s", j->keys.text, level ? " (" : "", level ? level : "",
           level ? ")" : "");
  HVI_TRY(check_id(j, id, row));
  hvi_claim *c = hvi_claims_add(j->study->claims, id, j->keys.where, text);
  if (!c) return hvi_error_memory(j->err, "a claim");
  c->theorem = j->keys.theorem;
  tell_seeds(c, j->part);
  const hvi_kind *kind = j->part->kind;
  const bool asked = level && kind->missing && !j->study->checking;
  const char *why = asked ? kind->missing(j->part, level) : NULL;
  if (why) return hvi_claim_note(c, "Not run: %s.", why), HVI_OK;
  j->constants[OWN_CONSTANTS].name = NULL;
  HVI_TRY(name_numbers(j, hvi_node_get(row, "let")));
  HVI_TRY(add_measures(c, j, hvi_node_get(row, "measures")));
  const hvi_node *holds = hvi_node_get(row, "holds"), *note = hvi_node_get(row, "note"),
                 *one = hvi_node_get(row, "number");
  if (holds) HVI_TRY(decide(c, j, holds));
  if (one) HVI_TRY(add_number(c, j, one));
  if (note) HVI_TRY(add_note(c, j, note));
  if (!j->study->settings->full) ask_for_full(c, j);
  return HVI_OK;
}

/* A claim, or one for each level of a factor, about the table that it names. */
static hvi_status judge_each(judge *j, const hvi_node *row) {
  hvi_study *s = j->study;
  const hvi_factor *by;
  const hvi_field_part keys[] = {{.table = &claim_table, .settings = &j->keys}, {0}};
  hvi_setting_defaults(&claim_table, &j->keys);
  HVI_TRY(hvi_field_map(keys, "let measures number", row, s->origin, j->err));
  if (!j->keys.holds && !hvi_node_get(row, "measures"))
    return fail(j, row, "claim '%s' needs holds, or measures", j->keys.id);
  const char *name = j->keys.table, *each = j->keys.each;
  j->scope.own = hvi_study_table_named(s, name);
  j->scope.filter_count = 0;
  j->level = NULL;
  if (!j->scope.own) return hvi_study_refuse_table(s, name, row, j->err);
  j->part = &s->parts[j->scope.own->part];
  if (!each) return judge_row(j, row);
  HVI_TRY(hvi_part_each(&by, j->part, each, row, s->origin, j->err));
  for (size_t k = 0; k < by->levels; k++) {
    const hvi_table_filter filter = hvi_factor_level(by, k);
    j->scope.filters = &filter;
    j->scope.filter_count = 1;
    j->level = by->text[k];
    HVI_TRY(judge_row(j, row));
  }
  return HVI_OK;
}

hvi_status hvi_study_judge(hvi_study *study, hvi_error *err) {
  const hvi_part *first = &study->parts[0];
  judge j = {.study = study,
             .err = err,
             .scope = {.tables = study->tables,
                       .table_count = study->table_count,
                       .empty = study->checking},
             .constants = {{"iterations", (double)first->scale.iterations},
                           {"instances", (double)first->scale.instances},
                           {"full", study->settings->full}}};
  j.scope.constants = j.constants;
  const hvi_node *list = study->claim_rows;
  if (list && list->kind != HVI_NODE_LIST)
    return hvi_error_line(err, study->origin, list->line, "claims must be a list of maps");
  for (const hvi_node *n = list ? list->first : NULL; n; n = n->next) HVI_TRY(judge_each(&j, n));
  return HVI_OK;
}
