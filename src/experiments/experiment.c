#include "experiments/experiment.h"

#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "experiments/fields.h"
#include "experiments/value_study.h"
#include "report/text.h"

#include <hvi/mdp.h>

#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 20, MOST_CONTENDERS = 64 };

static const char *const ids[] = {
    "pennies",       "pennies-time", "pennies-random", "rps",         "rps-random", "theory",
    "linear",        "performative", "half-cheetah",   "ant",         "ant-deep",   "offline-gap",
    "offline-error", "second-order", "alpha",          "accelerated", "baselines",  NULL};

const char *const *hvi_experiment_ids(void) { return ids; }

#define AT(member) .offset = offsetof(hvi_scale, member), .range = "[1,1e8]"
#define NONE       .flags = HVI_SETTING_ZERO_IS_NONE
/* clang-format off */
static const hvi_setting scale_rows[] = {
    {"iterations", HVI_SETTING_COUNT, AT(iterations), .fallback = "1000", .help = "outer iterations of a run"},
    {"instances", HVI_SETTING_COUNT, AT(instances), .fallback = "1000", .help = "of an ensemble, of rps's scan; seeds of kind value"},
    {"repeats", HVI_SETTING_COUNT, AT(repeats), .fallback = "5", .help = "timing: the fastest counts"},
    {"batch", HVI_SETTING_COUNT, NONE, AT(batch), .help = "value: transitions of an outer step"},
    {"offline", HVI_SETTING_COUNT, NONE, AT(offline), .help = "value: transitions of a fixed data set"},
    {"gradients", HVI_SETTING_COUNT, NONE, AT(gradients), .help = "value: that each method may compute, instead of iterations"},
    {"states", HVI_SETTING_COUNT, NONE, AT(states), .help = "value: of the test set; none: all"},
    {"width", HVI_SETTING_COUNT, NONE, AT(width), .help = "value: of all hidden layers, instead of those in `value`"},
    {"measures", HVI_SETTING_COUNT, NONE, AT(measures), .help = "value: evenly spaced"},
    {0},
};
#undef AT
#undef NONE

#define AT(member) .offset = offsetof(hvi_experiment, member), .most = 160
static const hvi_setting experiment_rows[] = {
    {"id", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(id), .help = "name of its folder: a-z, 0-9 and '-'"},
    {"title", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(title), .help = "of its figures"},
    {"kind", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, AT(kind), .help = "trajectory, timing, ensemble, value, ..."},
    {"problem", HVI_SETTING_TEXT, AT(problem), .help = "a built-in name, or a game file beside this one"},
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "of everything random"},
    {0},
};
#undef AT
/* clang-format on */

static const hvi_setting_table scale_table = {"scale", sizeof(hvi_scale), scale_rows};
static const hvi_setting_table experiment_table = {"experiment", sizeof(hvi_experiment),
                                                   experiment_rows};

const hvi_setting_table *hvi_experiment_table_at(size_t index) {
  const hvi_setting_table *const own[] = {&experiment_table, &scale_table, hvi_contender_table()};
  const size_t count = sizeof own / sizeof *own;
  return index < count ? own[index] : hvi_study_table_at(index - count);
}

static hvi_status read_scale(hvi_scale *s, const hvi_node *map, const char *origin,
                             hvi_error *err) {
  const hvi_field_part parts[] = {{.table = &scale_table, .settings = s}, {0}};
  return map ? hvi_field_map(parts, NULL, map, origin, err) : HVI_OK;
}

static hvi_status read_options(hvi_experiment *e, const hvi_node *map, const char *origin,
                               hvi_error *err) {
  if (map->kind != HVI_NODE_MAP)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: options must be a map", origin, map->line);
  e->options = hvi_alloc(map->count, sizeof *e->options);
  if (!e->options) return hvi_error_memory(err, "options");
  hvi_status status = HVI_OK;
  for (const hvi_node *n = map->first; n && status == HVI_OK; n = n->next) {
    const hvi_setting value = {n->key, HVI_SETTING_TEXT, .offset = offsetof(hvi_option, value),
                               .most = 160};
    e->options[e->option_count].key = n->key;
    status = hvi_field_read(&value, &e->options[e->option_count++], n, origin, err);
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
  /* rules of networks and of chains share names: the kind tells which are meant */
  const hvi_rule *const *rules =
      strcmp(e->kind, "value") == 0 ? hvi_value_rules() : hvi_trajectory_rules();
  hvi_status status = hvi_field_list(list, "methods", MOST_CONTENDERS, origin, err);
  if (status) return status;
  e->contenders = hvi_alloc(list->count, sizeof *e->contenders);
  if (!e->contenders) return hvi_error_memory(err, "methods");
  for (const hvi_node *n = list->first; n && status == HVI_OK; n = n->next) {
    e->contenders[e->contender_count].style = e->contender_count;
    status = hvi_contender_parse(&e->contenders[e->contender_count++], n, rules, origin, err);
    if (status == HVI_OK) status = check_labels(e, n, origin, err);
  }
  return status;
}

/* An ID becomes a folder's name. */
static hvi_status check_id(const hvi_experiment *e, const hvi_node *node, const char *origin,
                           hvi_error *err) {
  if (strspn(e->id, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(e->id) &&
      strlen(e->id) < 60 && e->id[0] != '-')
    return HVI_OK;
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "%s:%u: id must be made of a-z, 0-9 and '-', not '%.60s'", origin,
                       node->line, e->id);
}

static bool is_path(const char *name) { return strpbrk(name, "/.") != NULL; }

/* A game file is looked for beside the experiment's. */
static hvi_status find_problem(hvi_experiment *e, const char *origin, hvi_error *err) {
  if (!e->problem || !is_path(e->problem)) return HVI_OK;
  const char *slash = strrchr(origin, '/');
  hvi_text path = {0};
  if (e->problem[0] != '/' && slash) hvi_text_add(&path, "%.*s", (int)(slash - origin + 1), origin);
  hvi_text_add(&path, "%s", e->problem);
  e->problem_path = hvi_text_take(&path);
  return e->problem_path ? HVI_OK : hvi_error_memory(err, "a path");
}

static hvi_status read_document(hvi_experiment *e, const hvi_node *root, const char *origin,
                                hvi_error *err) {
  const hvi_field_part parts[] = {{.table = &experiment_table, .settings = e}, {0}};
  const hvi_node *node, *quick = NULL, *full = NULL;
  hvi_status status = hvi_field_map(parts, "options quick full methods value", root, origin, err);
  if (status) return status;
  status = check_id(e, hvi_node_get(root, "id"), origin, err);
  if (!status) status = find_problem(e, origin, err);
  if (!status && (node = hvi_node_get(root, "options")))
    status = read_options(e, node, origin, err);
  if (!status) status = read_scale(&e->quick, quick = hvi_node_get(root, "quick"), origin, err);
  if (!status) status = read_scale(&e->full, full = hvi_node_get(root, "full"), origin, err);
  if (!status && (node = hvi_node_get(root, "methods")))
    status = read_methods(e, node, origin, err);
  if (!status && (node = hvi_node_get(root, "value")))
    status = hvi_study_plan_parse(&e->study, node, origin, err);
  /* one scale is enough: the other is the same */
  if (!full) e->full = e->quick;
  if (!quick) e->quick = e->full;
  return status;
}

hvi_status hvi_experiment_parse(hvi_experiment **out, const char *text, const char *origin,
                                hvi_error *err) {
  *out = NULL;
  hvi_experiment *e = hvi_alloc(1, sizeof *e);
  if (!e) return hvi_error_memory(err, "an experiment");
  hvi_setting_defaults(&experiment_table, e);
  hvi_setting_defaults(&scale_table, &e->quick);
  e->full = e->quick;
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
