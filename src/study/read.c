/*
 * The file of a study.
 *
 *   id: pennies
 *   title: Hidden matching pennies
 *   kind: trajectory            # `hvi list` has the kinds
 *   problem: pennies            # a built-in name, or a game file beside this one
 *   options: {weight: 0.75}     # of a built-in problem
 *   grid: {eps: [0.3, 0.9]}     # what is varied besides methods, environments and seeds
 *   seed: 1
 *   quick: {iterations: 1000}
 *   full: {iterations: 10000, grid: {eps: [0.3, 0.6, 0.9]}}
 *   methods:
 *     - {label: PHGD, method: phgd, eta: 0.01}
 *   figures: ...                # figures.c; the kind's own where there are none
 *   claims: ...                 # claims.c
 *
 * Several runs in one study stand under `parts`, a list of maps with a name and the same keys; what a
 * part does not give is that of the whole.
 */
#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "experiments/fields.h"
#include "experiments/value_plan.h"
#include "report/text.h"
#include "study/study.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MOST_METHODS = 64 };

static const char *const ids[] = {
    "pennies",       "pennies-time", "pennies-random", "rps",         "rps-random", "theory",
    "linear",        "performative", "half-cheetah",   "ant",         "ant-deep",   "offline-gap",
    "offline-error", "second-order", "alpha",          "accelerated", "baselines",  NULL};

const char *const *hvi_study_ids(void) { return ids; }

/* Where a value is read, and into what. */
typedef struct reader {
  hvi_study *study;
  hvi_part *part;
  const char *origin;
  hvi_error *err;
} reader;

static hvi_status wrong(const reader *r, const hvi_node *n, const char *what) {
  return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: %s %s", r->origin, n->line,
                       n->key ? n->key : "this entry", what);
}

static hvi_status read_kind(reader *r, const hvi_node *n) {
  const char *name = NULL, *names[32] = {NULL};
  const hvi_status status = hvi_field_text(&name, n, r->origin, r->err);
  if (status) return status;
  for (size_t i = 0; hvi_kinds[i]; i++) {
    names[i] = hvi_kinds[i]->name;
    if (strcmp(name, names[i]) == 0) r->part->kind = hvi_kinds[i];
  }
  return r->part->kind ? HVI_OK : hvi_field_unknown(n, name, "kind", names, r->origin, r->err);
}

static bool is_path(const char *name) { return strpbrk(name, "/.") != NULL; }

/* A game file is looked for beside the experiment's. */
static hvi_status read_problem(reader *r, const hvi_node *n) {
  hvi_part *p = r->part;
  const hvi_status status = hvi_field_text(&p->problem, n, r->origin, r->err);
  if (status || !is_path(p->problem)) return status;
  const char *slash = strrchr(r->origin, '/');
  hvi_text path = {0};
  if (p->problem[0] != '/' && slash)
    hvi_text_add(&path, "%.*s", (int)(slash - r->origin + 1), r->origin);
  hvi_text_add(&path, "%s", p->problem);
  p->problem_path = hvi_text_take(&path);
  return p->problem_path ? HVI_OK : hvi_error_memory(r->err, "a path");
}

static hvi_status read_options(reader *r, const hvi_node *map) {
  if (map->kind != HVI_NODE_MAP) return wrong(r, map, "must be a map");
  r->part->options = hvi_alloc(map->count, sizeof *r->part->options);
  if (!r->part->options) return hvi_error_memory(r->err, "options");
  hvi_status status = HVI_OK;
  for (const hvi_node *n = map->first; n && !status; n = n->next) {
    hvi_option *o = &r->part->options[r->part->option_count++];
    o->key = n->key;
    status = hvi_field_text(&o->value, n, r->origin, r->err);
  }
  return status;
}

static hvi_status read_seed(reader *r, const hvi_node *n) {
  size_t seed = 0;
  const hvi_status status = hvi_field_count(&seed, n, 0, (size_t)1 << 53, r->origin, r->err);
  r->part->seed = seed;
  return status;
}

static hvi_status read_grid(reader *r, const hvi_node *n) {
  if (n->kind != HVI_NODE_MAP) return wrong(r, n, "must be a map of factors");
  r->part->grid = n;
  return HVI_OK;
}

static hvi_status read_quick(reader *r, const hvi_node *n) {
  r->part->quick_grid = hvi_node_get(n, "grid");
  return hvi_scale_parse(&r->part->quick, n, r->origin, r->err);
}

static hvi_status read_full(reader *r, const hvi_node *n) {
  r->part->full_grid = hvi_node_get(n, "grid");
  return hvi_scale_parse(&r->part->full, n, r->origin, r->err);
}

static hvi_status read_value(reader *r, const hvi_node *n) {
  return hvi_study_plan_parse(&r->part->value, n, r->origin, r->err);
}

/* Files are named after slugs, legends after labels: neither may repeat. */
static hvi_status check_labels(const reader *r, const hvi_node *n) {
  const hvi_contender *first = r->part->methods, *last = &first[r->part->method_count - 1];
  if (!last->slug[0])
    return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: label '%s' needs a letter or a digit",
                         r->origin, n->line, last->label);
  for (const hvi_contender *c = first; c < last; c++)
    if (strcmp(c->slug, last->slug) == 0)
      return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: labels '%s' and '%s' are too alike",
                           r->origin, n->line, c->label, last->label);
  return HVI_OK;
}

static hvi_status read_methods(reader *r, const hvi_node *list) {
  hvi_part *p = r->part;
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > MOST_METHODS)
    return wrong(r, list, "must be a list of 1 to 64 methods");
  p->methods = hvi_alloc(list->count, sizeof *p->methods);
  if (!p->methods) return hvi_error_memory(r->err, "methods");
  hvi_status status = HVI_OK;
  for (const hvi_node *n = list->first; n && !status; n = n->next) {
    p->methods[p->method_count].style = p->method_count;
    status = hvi_contender_parse(&p->methods[p->method_count++], n, r->origin, r->err);
    if (!status) status = check_labels(r, n);
  }
  return status;
}

static hvi_status read_name(reader *r, const hvi_node *n) {
  return hvi_field_text(&r->part->name, n, r->origin, r->err);
}

/* The keys of a part; those before the name are a study's own. */
static const struct key {
  const char *name;
  hvi_status (*read)(reader *r, const hvi_node *n);
} keys[] = {{"id", NULL},
            {"title", NULL},
            {"figures", NULL},
            {"claims", NULL},
            {"runs", NULL},
            {"parts", NULL},
            {"name", read_name},
            {"kind", read_kind},
            {"problem", read_problem},
            {"options", read_options},
            {"grid", read_grid},
            {"seed", read_seed},
            {"quick", read_quick},
            {"full", read_full},
            {"methods", read_methods},
            {"value", read_value}};
enum { KEYS = sizeof keys / sizeof *keys, OWN_KEYS = 6 };

/* What a part cannot do without. */
static hvi_status check_part(const reader *r, const hvi_node *map) {
  const hvi_part *p = r->part;
  const unsigned flags = p->kind ? p->kind->flags : 0;
  const char *lacks = !p->kind                                             ? "kind"
                      : (flags & HVI_KIND_PROBLEM) && !p->problem          ? "problem"
                      : (flags & HVI_KIND_METHODS) && p->method_count == 0 ? "methods"
                      : (flags & HVI_KIND_VALUE) && !p->value              ? "value"
                                                                           : NULL;
  if (!lacks) return HVI_OK;
  return hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: the key '%s' is missing%s%s", r->origin,
                       map->line, lacks, p->kind ? "; it belongs to kind " : "",
                       p->kind ? p->kind->name : "");
}

/* The key of a part, or else of the whole. */
static const hvi_node *key_of(const hvi_node *map, const hvi_node *root, const char *name) {
  const hvi_node *n = hvi_node_get(map, name);
  return n ? n : hvi_node_get(root, name);
}

static hvi_status read_part(reader *r, const hvi_node *map, const hvi_node *root) {
  hvi_part *p = r->part = &r->study->parts[r->study->part_count++];
  p->name = "";
  p->seed = 1;
  p->quick = p->full = (hvi_scale){.iterations = 1000, .instances = 1000, .repeats = 5};
  hvi_status status = HVI_OK;
  for (size_t i = OWN_KEYS; i < KEYS && !status; i++) {
    const hvi_node *n = key_of(map, root, keys[i].name);
    if (n) status = keys[i].read(r, n);
  }
  /* one size is enough: the other is the same */
  if (!key_of(map, root, "full")) p->full = p->quick, p->full_grid = p->quick_grid;
  if (!key_of(map, root, "quick")) p->quick = p->full, p->quick_grid = p->full_grid;
  return status ? status : check_part(r, map);
}

static hvi_status read_parts(reader *r, const hvi_node *root) {
  const char *names[KEYS + 1] = {NULL};
  for (size_t i = 0; i < KEYS; i++) names[i] = keys[i].name;
  const hvi_node *list = hvi_node_get(root, "parts");
  hvi_status status = hvi_field_keys(root, names, r->origin, r->err);
  if (status || !list) return status ? status : read_part(r, root, root);
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > HVI_MOST_PARTS)
    return wrong(r, list, "must be a list of 1 to 24 parts");
  for (const hvi_node *n = list->first; n && !status; n = n->next) {
    status = hvi_field_keys(n, names + OWN_KEYS, r->origin, r->err);
    if (!status) status = read_part(r, n, root);
    for (const hvi_part *p = r->study->parts; !status && p < r->part; p++)
      if (strcmp(p->name, r->part->name) == 0)
        status = hvi_error_set(r->err, HVI_ERROR_INPUT, "%s:%u: a part has the name '%s' already",
                               r->origin, n->line, p->name);
  }
  return status;
}

/* An ID becomes a folder's name. */
static hvi_status read_id(const char **id, reader *r, const hvi_node *n) {
  const hvi_status status = hvi_field_text(id, n, r->origin, r->err);
  if (status) return status;
  if (strspn(*id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(*id) && strlen(*id) < 60 &&
      **id != '-')
    return HVI_OK;
  return hvi_error_set(r->err, HVI_ERROR_INPUT,
                       "%s:%u: %s must be made of a-z, 0-9 and '-', not '%.60s'", r->origin,
                       n->line, n->key, *id);
}

/* Figures and claims are those of the kind of the first part where the file has none. */
static hvi_status read_defaults(reader *r) {
  hvi_study *s = r->study;
  const char *text = s->parts[0].kind->defaults;
  if (!text) return HVI_OK;
  const hvi_status status = hvi_tree_parse(&s->defaults, text, s->parts[0].kind->name, r->err);
  if (status) return status;
  const hvi_node *root = hvi_tree_root(s->defaults);
  if (!s->figures) s->figures = hvi_node_get(root, "figures");
  if (!s->claim_rows) s->claim_rows = hvi_node_get(root, "claims");
  return HVI_OK;
}

static hvi_status read_document(reader *r, const hvi_node *root) {
  hvi_study *s = r->study;
  const hvi_node *n;
  if (root->kind != HVI_NODE_MAP) return wrong(r, root, "must be a map of keys and values");
  hvi_status status = read_parts(r, root);
  static const char *const required[] = {"id", "title"};
  for (size_t i = 0; i < 2 && !status; i++)
    if (!hvi_node_get(root, required[i]))
      status = hvi_error_set(r->err, HVI_ERROR_INPUT, "%s: the key '%s' is missing", r->origin,
                             required[i]);
  if (!status) status = read_id(&s->id, r, hvi_node_get(root, "id"));
  if (!status) status = hvi_field_text(&s->title, hvi_node_get(root, "title"), r->origin, r->err);
  if (!status && (n = hvi_node_get(root, "runs"))) status = read_id(&s->runs, r, n);
  s->figures = hvi_node_get(root, "figures");
  s->claim_rows = hvi_node_get(root, "claims");
  return status ? status : read_defaults(r);
}

hvi_status hvi_study_parse(hvi_study **out, const char *text, const char *origin, hvi_error *err) {
  *out = NULL;
  hvi_study *s = hvi_alloc(1, sizeof *s);
  if (!s) return hvi_error_memory(err, "an experiment");
  s->text = hvi_copy_text(text);
  s->origin = hvi_copy_text(origin);
  reader r = {.study = s, .origin = s->origin, .err = err};
  hvi_status status = s->text && s->origin ? HVI_OK : hvi_error_memory(err, "an experiment");
  if (!status) status = hvi_tree_parse(&s->tree, text, origin, err);
  if (!status) status = read_document(&r, hvi_tree_root(s->tree));
  if (status)
    hvi_study_free(s);
  else
    *out = s;
  return status;
}

void hvi_study_free(hvi_study *s) {
  if (!s) return;
  for (size_t i = 0; i < s->part_count; i++) {
    hvi_free(s->parts[i].options);
    hvi_free(s->parts[i].methods);
    hvi_free(s->parts[i].value);
    hvi_free(s->parts[i].problem_path);
  }
  hvi_tree_free(s->tree);
  hvi_tree_free(s->defaults);
  hvi_free(s->text);
  hvi_free(s->origin);
  hvi_free(s);
}

static hvi_status parse_embedded(hvi_study **s, const char *name, hvi_error *err) {
  for (const hvi_embedded *f = hvi_embedded_experiments; f->name; f++) {
    if (strcmp(f->name, name) != 0) continue;
    const hvi_status status = hvi_study_parse(s, f->text, name, err);
    if (!status) (*s)->builtin = true;
    return status;
  }
  const char *near = hvi_suggest(name, ids);
  if (near)
    return hvi_error_set(err, HVI_ERROR_INPUT, "unknown experiment '%.60s'; did you mean '%s'?",
                         name, near);
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "unknown experiment '%.60s'; `hvi list` names them, and a file of your own "
                       "is given by its path",
                       name);
}

hvi_status hvi_study_new(hvi_study **s, const char *name, hvi_error *err) {
  *s = NULL;
  if (!is_path(name)) return parse_embedded(s, name, err);
  char *text = NULL;
  hvi_status status = hvi_file_read_text(&text, name, MAX_BYTES, err);
  if (!status) status = hvi_study_parse(s, text, name, err);
  hvi_free(text);
  return status;
}
