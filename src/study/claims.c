/*
 * The claims of a study, as rows of its file.
 *
 *   claims:
 *     - id: more-steps
 *       where: Section 5.2.2            # in the paper
 *       text: 50 inner steps are no worse than 10.
 *       let: {nearest: min(dist2)}      # numbers with a name, for the expressions below
 *       holds: end(error, "Surr 50") <= 1.05 * end(error, "Surr 10")
 *       measures: {share of collection: mean(end(seconds_collect, "TD(0)") / end(seconds, "TD(0)"))}
 *       note: judged at the last iteration, {outer} steps
 *       each: environment               # a claim for each level of a factor
 *       table: curves                   # that bare names mean; the study's first
 *       theorem: true                   # a correct program cannot violate it: verified, not found
 *
 * What `holds` looks at is measured by itself (expression.h). Expressions in braces in a note are
 * worked out.
 */
#include "base/base.h"
#include "study/expression.h"
#include "study/fields.h"
#include "study/grid.h"

enum { OWN_CONSTANTS = 3, MOST_CONSTANTS = 16 };

typedef struct judge {
  hvi_study *study;
  hvi_scope scope;
  struct hvi_constant constants[MOST_CONSTANTS + 1]; /* sizes, then those of `let` */
  hvi_table_filter level;
  const hvi_part *part; /* that the own table is of */
  hvi_error *err;
} judge;

static const char *text_of(const hvi_node *map, const char *key, const char *otherwise) {
  const hvi_node *n = hvi_node_get(map, key);
  return n && n->kind == HVI_NODE_SCALAR ? n->text : otherwise;
}

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

static hvi_status name_numbers(judge *j, const hvi_node *map) {
  size_t count = OWN_CONSTANTS;
  hvi_status status = HVI_OK;
  for (const hvi_node *n = map ? map->first : NULL; n && !status; n = n->next, count++) {
    struct hvi_constant *c = &j->constants[count];
    if (count == MOST_CONSTANTS || n->kind != HVI_NODE_SCALAR)
      return hvi_error_input(j->err, "%s:%u: let takes at most %d numbers", j->study->origin,
                             n->line, MOST_CONSTANTS - OWN_CONSTANTS);
    c->name = NULL;
    status = number(&c->value, j, n, n->text);
    c->name = n->key;
    c[1] = (struct hvi_constant){NULL, 0.0};
  }
  return status;
}

static hvi_status add_measures(hvi_claim *c, const judge *j, const hvi_node *map) {
  hvi_status status = HVI_OK;
  for (const hvi_node *n = map ? map->first : NULL; n && !status; n = n->next) {
    double x = NAN;
    status = n->kind == HVI_NODE_SCALAR
                 ? number(&x, j, n, n->text)
                 : hvi_error_input(j->err, "%s:%u: a measure is an expression", j->study->origin,
                                   n->line);
    hvi_claim_measure(c, n->key, x);
  }
  return status;
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

static hvi_status decide(hvi_claim *c, const judge *j, const hvi_node *row) {
  static const hvi_judgement judgements[] = {
      [HVI_FALSE] = HVI_HOLDS_NOT, [HVI_TRUE] = HVI_HOLDS, [HVI_UNDECIDED] = HVI_NOT_DECIDED};
  const hvi_node *holds = hvi_node_get(row, "holds");
  hvi_quantity q = {0};
  hvi_findings findings = {0};
  hvi_status status = add_measures(c, j, hvi_node_get(row, "measures"));
  if (!status && holds) status = evaluate(&q, j, holds, holds->text, &findings);
  if (!status && holds && q.kind != HVI_QUANTITY_TRUTH)
    status = hvi_error_input(j->err, "%s:%u: '%s' is neither true nor false", j->study->origin,
                             holds->line, holds->text);
  if (!status && holds) hvi_claim_decide(c, judgements[q.truth]);
  for (size_t i = 0; i < findings.count; i++)
    hvi_claim_measure(c, findings.items[i].name, findings.items[i].value);
  hvi_quantity_free(&q);
  return status;
}

/* Why the level was not run; NULL: it was. */
static const char *missing(const judge *j) {
  return j->level.word && j->part->kind->missing ? j->part->kind->missing(j->part, j->level.word)
                                                 : NULL;
}

static hvi_status judge_row(judge *j, const hvi_node *row) {
  char id[64], text[384], slug[24] = "";
  const char *level = j->level.word;
  if (level) hvi_slug(slug, sizeof slug, level);
  snprintf(id, sizeof id, "%.38s%s%s", text_of(row, "id", ""), level ? "-" : "", slug);
  snprintf(text, sizeof text, "%s%s%s%s", text_of(row, "text", ""), level ? " (" : "",
           level ? level : "", level ? ")" : "");
  hvi_claim *c = hvi_claims_add(j->study->claims, id, text_of(row, "where", ""), text);
  if (!c) return hvi_error_memory(j->err, "a claim");
  c->theorem = strcmp(text_of(row, "theorem", "false"), "true") == 0;
  const char *why = missing(j);
  if (why) return hvi_claim_note(c, "Not run: %s.", why), HVI_OK;
  j->constants[OWN_CONSTANTS].name = NULL;
  hvi_status status = name_numbers(j, hvi_node_get(row, "let"));
  if (!status) status = decide(c, j, row);
  const hvi_node *note = hvi_node_get(row, "note");
  return status || !note ? status : add_note(c, j, note);
}

/* The table of a claim, and the part that it is of. */
static hvi_status choose_table(judge *j, const hvi_node *row) {
  hvi_study *s = j->study;
  const char *name = text_of(row, "table", NULL);
  j->scope.own = NULL;
  for (size_t i = 0; i < s->table_count && !j->scope.own; i++)
    if (!name || strcmp(s->tables[i].name, name) == 0) j->scope.own = &s->tables[i];
  if (!j->scope.own)
    return hvi_error_input(j->err, "%s:%u: unknown table '%.60s'", s->origin, row->line,
                           name ? name : "");
  j->part = &s->parts[j->scope.own->part];
  return HVI_OK;
}

static hvi_status judge_each(judge *j, const hvi_node *row) {
  const char *each = text_of(row, "each", NULL);
  j->level = (hvi_table_filter){0};
  j->scope.filter_count = 0;
  if (!each) return judge_row(j, row);
  hvi_status status = HVI_OK;
  for (size_t f = 0; f < j->part->factor_count; f++) {
    const hvi_factor *by = &j->part->factors[f];
    if (strcmp(by->name, each) != 0) continue;
    for (size_t k = 0; k < by->levels && !status; k++) {
      j->level = (hvi_table_filter){each, by->text[k], by->number[k]};
      hvi_table_filter filter = j->level;
      if (!by->words[0]) filter.word = NULL;
      j->scope.filters = &filter;
      j->scope.filter_count = 1;
      status = judge_row(j, row);
    }
    return status;
  }
  return hvi_error_input(j->err, "%s:%u: unknown factor '%.60s'", j->study->origin, row->line,
                         each);
}

hvi_status hvi_study_judge(hvi_study *study, hvi_error *err) {
  static const char keys[] = "id where text holds measures let note each table theorem";
  const hvi_part *first = &study->parts[0];
  judge j = {.study = study,
             .err = err,
             .scope = {.tables = study->tables, .table_count = study->table_count},
             .constants = {{"iterations", (double)first->scale.iterations},
                           {"instances", (double)first->scale.instances},
                           {"full", study->settings->full}}};
  j.scope.constants = j.constants;
  hvi_status status = HVI_OK;
  for (const hvi_node *n = study->claim_rows ? study->claim_rows->first : NULL; n && !status;
       n = n->next) {
    status = hvi_field_map(&(hvi_field_part){0}, keys, n, study->origin, err);
    if (!status) status = choose_table(&j, n);
    if (!status) status = judge_each(&j, n);
  }
  for (size_t i = 0; i < study->part_count && !status; i++)
    if (study->parts[i].kind->judge)
      status = study->parts[i].kind->judge(study, &study->parts[i], err);
  return status;
}
