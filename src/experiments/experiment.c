#include "experiments/experiment.h"

#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "experiments/fields.h"
#include "experiments/value_study.h"
#include "report/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MOST_CONTENDERS = 64 };

static const char *const ids[] = {
    "pennies",       "pennies-time", "pennies-random", "rps",         "rps-random", "theory",
    "linear",        "performative", "half-cheetah",   "ant",         "ant-deep",   "offline-gap",
    "offline-error", "second-order", "alpha",          "accelerated", "baselines",  NULL};

const char *const *hvi_experiment_ids(void) { return ids; }

hvi_status hvi_scale_parse(hvi_scale *s, const hvi_node *map, const char *origin, hvi_error *err) {
  static const char *const keys[] = {"iterations", "instances", "repeats", "batch",
                                     "offline",    "gradients", "states",  "width",
                                     "measures",   "grid",      NULL};
  size_t *const to[] = {&s->iterations, &s->instances, &s->repeats, &s->batch,   &s->offline,
                        &s->gradients,  &s->states,    &s->width,   &s->measures};
  hvi_status status = hvi_field_keys(map, keys, origin, err);
  for (size_t i = 0; i < sizeof to / sizeof *to && status == HVI_OK; i++) {
    const hvi_node *node = hvi_node_get(map, keys[i]);
    if (node) status = hvi_field_count(to[i], node, 1, 100000000, origin, err);
  }
  return status;
}

void hvi_scale_describe(hvi_text *t, const hvi_scale *s) {
  hvi_text_add(t,
               "; iterations %zu; batch %zu; offline %zu; gradients %zu; width %zu; measures %zu",
               s->iterations, s->batch, s->offline, s->gradients, s->width, s->measures);
}

static hvi_status read_options(hvi_experiment *e, const hvi_node *map, const char *origin,
                               hvi_error *err) {
  if (map->kind != HVI_NODE_MAP)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: options must be a map", origin, map->line);
  e->options = hvi_alloc(map->count, sizeof *e->options);
  if (!e->options) return hvi_error_memory(err, "options");
  hvi_status status = HVI_OK;
  for (const hvi_node *n = map->first; n && status == HVI_OK; n = n->next) {
    hvi_option *o = &e->options[e->option_count++];
    o->key = n->key;
    status = hvi_field_text(&o->value, n, origin, err);
  }
  return status;
}

/* Files are named after slugs, legends after labels: neither may repeat. */
static hvi_status check_labels(const hvi_experiment *e, const hvi_node *node, const char *origin,
                               hvi_error *err) {
  const hvi_contender *last = &e->contenders[e->contender_count - 1];
  if (!last->slug[0])
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: label '%s' needs a letter or a digit",
                         origin, node->line, last->label);
  for (const hvi_contender *c = e->contenders; c < last; c++)
    if (strcmp(c->slug, last->slug) == 0)
      return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: labels '%s' and '%s' are too alike",
                           origin, node->line, c->label, last->label);
  return HVI_OK;
}

static hvi_status read_methods(hvi_experiment *e, const hvi_node *list, const char *origin,
                               hvi_error *err) {
  if (list->kind != HVI_NODE_LIST || !list->count || list->count > MOST_CONTENDERS)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: methods must be a list of 1 to %d methods",
                         origin, list->line, MOST_CONTENDERS);
  e->contenders = hvi_alloc(list->count, sizeof *e->contenders);
  if (!e->contenders) return hvi_error_memory(err, "methods");
  hvi_status status = HVI_OK;
  for (const hvi_node *n = list->first; n && status == HVI_OK; n = n->next) {
    e->contenders[e->contender_count].style = e->contender_count;
    status = hvi_contender_parse(&e->contenders[e->contender_count++], n, origin, err);
    if (status == HVI_OK) status = check_labels(e, n, origin, err);
  }
  return status;
}

/* An ID becomes a folder's name. */
static hvi_status read_id(hvi_experiment *e, const hvi_node *node, const char *origin,
                          hvi_error *err) {
  hvi_status status = hvi_field_text(&e->id, node, origin, err);
  if (status != HVI_OK) return status;
  if (strspn(e->id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(e->id) &&
      strlen(e->id) < 60 && e->id[0] != '-')
    return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "%s:%u: id must be made of a-z, 0-9 and '-', not '%.60s'", origin,
                       node->line, e->id);
}

static bool is_path(const char *name) { return strpbrk(name, "/.") != NULL; }

/* A game file is looked for beside the experiment's. */
static hvi_status read_problem(hvi_experiment *e, const hvi_node *node, const char *origin,
                               hvi_error *err) {
  hvi_status status = hvi_field_text(&e->problem, node, origin, err);
  if (status != HVI_OK || !is_path(e->problem)) return status;
  const char *slash = strrchr(origin, '/');
  hvi_text path = {0};
  if (e->problem[0] != '/' && slash) hvi_text_add(&path, "%.*s", (int)(slash - origin + 1), origin);
  hvi_text_add(&path, "%s", e->problem);
  e->problem_path = hvi_text_take(&path);
  return e->problem_path ? HVI_OK : hvi_error_memory(err, "a path");
}

typedef hvi_status (*reader)(hvi_experiment *, const hvi_node *, const char *, hvi_error *);

static hvi_status read_title(hvi_experiment *e, const hvi_node *n, const char *o, hvi_error *err) {
  return hvi_field_text(&e->title, n, o, err);
}
static hvi_status read_kind(hvi_experiment *e, const hvi_node *n, const char *o, hvi_error *err) {
  return hvi_field_text(&e->kind, n, o, err);
}
static hvi_status read_seed(hvi_experiment *e, const hvi_node *n, const char *o, hvi_error *err) {
  size_t seed = 0;
  hvi_status status = hvi_field_count(&seed, n, 0, (size_t)1 << 53, o, err);
  e->seed = seed;
  return status;
}
static hvi_status read_quick(hvi_experiment *e, const hvi_node *n, const char *o, hvi_error *err) {
  return hvi_scale_parse(&e->quick, n, o, err);
}
static hvi_status read_full(hvi_experiment *e, const hvi_node *n, const char *o, hvi_error *err) {
  return hvi_scale_parse(&e->full, n, o, err);
}

static hvi_status read_study(hvi_experiment *e, const hvi_node *n, const char *o, hvi_error *err) {
  return hvi_study_plan_parse(&e->study, n, o, err);
}

static hvi_status read_document(hvi_experiment *e, const hvi_node *root, const char *origin,
                                hvi_error *err) {
  static const char *const keys[] = {"id",    "title", "kind",    "problem", "options", "seed",
                                     "quick", "full",  "methods", "value",   NULL};
  static const reader readers[] = {read_id,   read_title, read_kind, read_problem, read_options,
                                   read_seed, read_quick, read_full, read_methods, read_study};
  static const char *const required[] = {"id", "title", "kind"};
  hvi_status status = hvi_field_keys(root, keys, origin, err);
  for (size_t i = 0; i < 3 && status == HVI_OK; i++)
    if (!hvi_node_get(root, required[i]))
      status =
          hvi_error_set(err, HVI_ERROR_INPUT, "%s: the key '%s' is missing", origin, required[i]);
  for (size_t i = 0; keys[i] && status == HVI_OK; i++) {
    const hvi_node *node = hvi_node_get(root, keys[i]);
    if (node) status = readers[i](e, node, origin, err);
  }
  /* one scale is enough: the other is the same */
  if (!hvi_node_get(root, "full")) e->full = e->quick;
  if (!hvi_node_get(root, "quick")) e->quick = e->full;
  return status;
}

hvi_status hvi_experiment_parse(hvi_experiment **out, const char *text, const char *origin,
                                hvi_error *err) {
  *out = NULL;
  hvi_experiment *e = hvi_alloc(1, sizeof *e);
  if (!e) return hvi_error_memory(err, "an experiment");
  e->seed = 1;
  e->quick = e->full = (hvi_scale){.iterations = 1000, .instances = 1000, .repeats = 5};
  e->text = hvi_copy_text(text);
  hvi_tree *tree = NULL;
  hvi_status status = e->text ? HVI_OK : hvi_error_memory(err, "an experiment");
  if (status == HVI_OK) status = hvi_tree_parse(&tree, text, origin, err);
  e->tree = tree;
  if (status == HVI_OK) status = read_document(e, hvi_tree_root(tree), origin, err);
  if (status != HVI_OK) {
    hvi_experiment_free(e);
    return status;
  }
  *out = e;
  return HVI_OK;
}

void hvi_experiment_free(hvi_experiment *e) {
  if (!e) return;
  hvi_free(e->options);
  hvi_free(e->contenders);
  hvi_free(e->study);
  hvi_free(e->text);
  hvi_free(e->problem_path);
  hvi_tree_free(e->tree);
  hvi_free(e);
}

static hvi_status parse_embedded(hvi_experiment **e, const char *name, hvi_error *err) {
  for (const hvi_embedded *f = hvi_embedded_experiments; f->name; f++) {
    if (strcmp(f->name, name) != 0) continue;
    hvi_status status = hvi_experiment_parse(e, f->text, name, err);
    if (status == HVI_OK) (*e)->builtin = true;
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

hvi_status hvi_experiment_new(hvi_experiment **e, const char *name, hvi_error *err) {
  *e = NULL;
  if (!is_path(name)) return parse_embedded(e, name, err);
  char *text = NULL;
  hvi_status status = hvi_file_read_text(&text, name, MAX_BYTES, err);
  if (status == HVI_OK) status = hvi_experiment_parse(e, text, name, err);
  hvi_free(text);
  return status;
}

const hvi_contender *hvi_experiment_contender(const hvi_experiment *e, const char *label) {
  for (size_t i = 0; i < e->contender_count; i++)
    if (strcmp(e->contenders[i].label, label) == 0) return &e->contenders[i];
  return NULL;
}

hvi_status hvi_experiment_problem(hvi_problem **p, const hvi_experiment *e, uint64_t instance,
                                  hvi_error *err) {
  *p = NULL;
  if (!e->problem)
    return hvi_error_set(err, HVI_ERROR_INPUT, "experiment '%s' names no problem", e->id);
  if (!e->problem_path)
    return hvi_builtin_new(p, e->problem, e->options, e->option_count, e->seed, instance, err);
  if (instance > 0)
    return hvi_error_set(err, HVI_ERROR_UNSUPPORTED,
                         "experiment '%s': a game file is one fixed game; an ensemble needs a "
                         "built-in problem, which can be drawn at random",
                         e->id);
  if (e->option_count)
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "experiment '%s': options are for built-in problems; change the game file",
                         e->id);
  return hvi_problem_load(p, e->problem_path, e->seed, 0, err);
}
