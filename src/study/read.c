/*
 * The file of a study: docs/experiments.md has its keys. Several runs in one study stand under
 * `parts`, a list of maps with a name and the same keys; what a part does not give is that of the
 * whole.
 */
#include "base/base.h"
#include "base/embedded.h"
#include "problems/options.h"
#include "study/fields.h"
#include "study/grid.h"

#include <hvi/mdp.h>

enum { MAX_BYTES = 1 << 20, MOST_METHODS = 64 };

#define SIZE(member) .offset = offsetof(hvi_scale, member), .range = "[1,1e8]"
#define NONE         .flags = HVI_SETTING_ZERO_IS_NONE
HVI_TABLE(static const hvi_setting_table scale_table, "scale", hvi_scale,
    {"iterations", HVI_SETTING_COUNT, SIZE(iterations), .fallback = "1000", .help = "outer iterations of a run"},
    {"instances", HVI_SETTING_COUNT, SIZE(instances), .fallback = "1000", .help = "of an ensemble; seeds of kind value"},
    {"repeats", HVI_SETTING_COUNT, SIZE(repeats), .fallback = "5", .help = "timing: the fastest counts"},
    {"batch", HVI_SETTING_COUNT, NONE, SIZE(batch), .help = "value: transitions of an outer step"},
    {"offline", HVI_SETTING_COUNT, NONE, SIZE(offline), .help = "value: transitions of a fixed data set"},
    {"gradients", HVI_SETTING_COUNT, NONE, SIZE(gradients), .help = "value: that each method may compute, instead of iterations"},
    {"states", HVI_SETTING_COUNT, NONE, SIZE(states), .help = "value: of the test set; none: all"},
    {"width", HVI_SETTING_COUNT, NONE, SIZE(width), .help = "value: of all hidden layers, instead of those in `value`"},
    {"measures", HVI_SETTING_COUNT, NONE, SIZE(measures), .help = "evenly spaced; of kind value, trajectory and ensemble"},
    {"gamma", HVI_SETTING_REAL, NONE, .offset = offsetof(hvi_scale, gamma), .range = "[0,1)", .help = "value: discount, instead of that in `value`"},
    {0});

#define TEXT(member)  .offset = offsetof(hvi_study, member), .most = 160
#define WORDS(member) .offset = offsetof(hvi_study, member), .most = HVI_CLAIM_WORDS - 1
HVI_TABLE(static const hvi_setting_table study_table, "study", hvi_study,
    {"id", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, TEXT(id), .help = "name of its folder: a-z, 0-9 and '-'"},
    {"title", HVI_SETTING_TEXT, HVI_SETTING_REQUIRED, TEXT(title), .help = "of its figures"},
    {"runs", HVI_SETTING_TEXT, TEXT(runs), .help = "another study that makes the same cells"},
    {"paper", HVI_SETTING_TEXT, WORDS(paper), .help = "what the paper says: a sentence or two"},
    {"shows", HVI_SETTING_TEXT, WORDS(shows), .help = "what its figures show: two sentences"},
    {0});

#define AT(member) .offset = offsetof(hvi_part, member), .most = 160
HVI_TABLE(static const hvi_setting_table part_table, "part", hvi_part,
    {"name", HVI_SETTING_TEXT, AT(name), .fallback = "", .help = "of a part: begins the names of its files"},
    {"kind", HVI_SETTING_TEXT, AT(kind_name), .help = "trajectory, timing, ensemble, value, ..."},
    {"split", HVI_SETTING_TEXT, AT(split), .help = "factors with a CSV for each level, with blanks between; the kind's own"},
    {"problem", HVI_SETTING_TEXT, AT(problem), .help = "a built-in name, or a file beside this one: a game, a process, code"},
    {"seed", HVI_SETTING_SEED, AT(seed), .fallback = "1", .help = "of everything random"},
    {0});

const hvi_setting_table *hvi_study_table_at(size_t index) {
  static const hvi_setting_table *const own[] = {&study_table, &part_table, &scale_table};
  return index < 3 ? own[index] : hvi_plan_tables[index - 3];
}

/* As a reader of the paper meets them. */
HVI_ROWS(static const char *const ids[],
    "pennies", "pennies-time", "pennies-random", "rps", "rps-random", "theory", "linear",
    "performative", "half-cheetah", "ant", "ant-deep", "offline-gap", "offline-error", "plateau",
    "second-order", "alpha", "accelerated", "baselines", NULL);

const char *const *hvi_study_ids(void) { return ids; }

/* Where a value is read, and into what. */
typedef struct reader {
  hvi_study *study;
  hvi_part *part;
  const hvi_node *root;
  const char *origin;
  hvi_code_fn *load_code; /* NULL: the file may name none */
  hvi_error *err;
} reader;

#define fail(r, n, ...) hvi_error_line((r)->err, (r)->origin, (n)->line, __VA_ARGS__)

static hvi_status wrong(const reader *r, const hvi_node *n, const char *what) {
  return fail(r, n, "%s %s", n->key ? n->key : "this entry", what);
}

static hvi_status find_kind(reader *r) {
  const char *names[32] = {NULL}, *name = r->part->kind_name;
  if (!name) return fail(r, r->part->map, "the key 'kind' is missing");
  for (size_t i = 0; hvi_kinds[i]; i++) {
    names[i] = hvi_kinds[i]->name;
    if (strcmp(name, names[i]) == 0) r->part->kind = hvi_kinds[i];
  }
  if (r->part->kind) return HVI_OK;
  return hvi_error_place(r->err, hvi_suggest_refuse(r->err, NULL, "kind", name, names), r->origin,
                         r->part->map->line);
}

static bool is_path(const char *name) { return strpbrk(name, "/.") != NULL; }

/* A file that is looked for beside the experiment's; hvi_free it. */
static char *beside(const char *origin, const char *name, const char *ending) {
  const char *slash = *name == '/' ? NULL : strrchr(origin, '/');
  hvi_text path = {0};
  hvi_text_add(&path, "%.*s%s%s", slash ? (int)(slash - origin + 1) : 0, origin, name, ending);
  return hvi_text_take(&path);
}

const hvi_node *hvi_part_key(const hvi_study *study, const hvi_part *p, const char *key) {
  const hvi_node *n = hvi_node_get(p->map, key);
  return n ? n : hvi_node_get(study->tree->root, key);
}

static const hvi_node *key_of(const reader *r, const char *name) {
  return hvi_part_key(r->study, r->part, name);
}

/* Parts that name the same file have the same code. */
static hvi_status find_code(const reader *r) {
  hvi_part *p = r->part;
  if (!r->load_code)
    return hvi_error_line(r->err, r->origin, key_of(r, "problem")->line,
                          "problem: '%s' is code, and a file that names code is run with "
                          "--allow-code only",
                          p->problem);
  for (const hvi_part *q = r->study->parts; q < p && !p->code; q++)
    if (q->code && strcmp(q->problem_path, p->problem_path) == 0) p->code = q->code;
  return p->code ? HVI_OK : r->load_code(&p->code, p->problem_path, r->err);
}

static hvi_status find_problem(const reader *r) {
  hvi_part *p = r->part;
  if (!p->problem || !is_path(p->problem)) return HVI_OK;
  p->problem_path = beside(r->origin, p->problem, "");
  if (!p->problem_path) return hvi_error_memory(r->err, "a path");
  return hvi_names_code(p->problem) ? find_code(r) : HVI_OK;
}

static hvi_status read_options(const reader *r, const hvi_node *map) {
  hvi_part *p = r->part;
  if (map->kind != HVI_NODE_MAP) return wrong(r, map, "must be a map");
  HVI_TRY(hvi_new(&p->options, map->count, "options", r->err));
  for (const hvi_node *n = map->first; n; n = n->next) {
    const hvi_setting value = {n->key, HVI_SETTING_TEXT, .offset = offsetof(hvi_option, value),
                               .most = 160};
    hvi_option *option = &p->options[p->option_count++];
    option->key = n->key;
    HVI_TRY(hvi_field_read(&value, option, n, r->origin, r->err));
  }
  return HVI_OK;
}

static hvi_status check_grid(const reader *r, const hvi_node *grid) {
  return grid && grid->kind != HVI_NODE_MAP ? wrong(r, grid, "must be a map of factors") : HVI_OK;
}

static hvi_status read_size(const reader *r, hvi_scale *s, const hvi_node **grid,
                            const hvi_node *map) {
  const hvi_field_part parts[] = {{.table = &scale_table, .settings = s}, {0}};
  hvi_setting_defaults(&scale_table, s);
  if (!map) return HVI_OK;
  HVI_TRY(hvi_field_map(parts, "grid", map, r->origin, r->err));
  *grid = hvi_node_get(map, "grid");
  return check_grid(r, *grid);
}

/* One size is enough: the other is the same. */
static hvi_status read_sizes(const reader *r) {
  hvi_part *p = r->part;
  const hvi_node *quick = key_of(r, "quick"), *full = key_of(r, "full");
  p->counts_instances =
      (quick && hvi_node_get(quick, "instances")) || (full && hvi_node_get(full, "instances"));
  HVI_TRY(read_size(r, &p->quick, &p->quick_grid, quick ? quick : full));
  return read_size(r, &p->full, &p->full_grid, full ? full : quick);
}

const hvi_setting_table *hvi_scale_table(void) { return &scale_table; }

/* Files are named after slugs, legends after labels: neither may repeat. */
static hvi_status check_labels(const reader *r, const hvi_node *n) {
  const hvi_arm *first = r->part->methods, *last = &first[r->part->method_count - 1];
  if (!last->slug[0]) return fail(r, n, "label '%s' needs a letter or a digit", last->label);
  for (const hvi_arm *c = first; c < last; c++)
    if (strcmp(c->slug, last->slug) == 0)
      return fail(r, n, "labels '%s' and '%s' are too alike", c->label, last->label);
  return HVI_OK;
}

static hvi_status read_methods(const reader *r, const hvi_node *list) {
  hvi_part *p = r->part;
  /* rules of networks and of chains share names: the kind tells which are meant */
  const hvi_rule *const *rules =
      p->kind->flags & HVI_KIND_VALUE ? hvi_value_rules() : hvi_trajectory_rules();
  HVI_TRY(hvi_field_list(list, "methods", MOST_METHODS, r->origin, r->err));
  HVI_TRY(hvi_new(&p->methods, list->count, "methods", r->err));
  for (const hvi_node *n = list->first; n; n = n->next) {
    hvi_arm *arm = &p->methods[p->method_count];
    arm->style = p->method_count++;
    HVI_TRY(hvi_arm_parse(arm, n, rules, r->origin, r->err));
    HVI_TRY(check_labels(r, n));
  }
  return HVI_OK;
}

/* What a part cannot do without. */
static hvi_status check_part(const reader *r) {
  const hvi_part *p = r->part;
  const unsigned flags = p->kind ? p->kind->flags : 0;
  const char *lacks = !p->kind                                             ? "kind"
                      : (flags & HVI_KIND_PROBLEM) && !p->problem          ? "problem"
                      : (flags & HVI_KIND_METHODS) && p->method_count == 0 ? "methods"
                      : (flags & HVI_KIND_VALUE) && !p->value              ? "value"
                                                                           : NULL;
  if (!lacks) return HVI_OK;
  return fail(r, r->part->map, "the key '%s' is missing%s%s", lacks,
              p->kind ? "; it belongs to kind " : "", p->kind ? p->kind->name : "");
}

/* Simple keys have been read, from the whole and then from the part. */
static hvi_status finish_part(reader *r, const hvi_node *map) {
  hvi_part *p = r->part;
  const hvi_node *n;
  p->map = map;
  HVI_TRY(find_kind(r));
  HVI_TRY(find_problem(r));
  if ((n = key_of(r, "options"))) HVI_TRY(read_options(r, n));
  HVI_TRY(read_sizes(r));
  if ((n = key_of(r, "methods"))) HVI_TRY(read_methods(r, n));
  if ((n = key_of(r, "value"))) HVI_TRY(hvi_value_plan_parse(&p->value, n, r->origin, r->err));
  p->grid = key_of(r, "grid");
  HVI_TRY(check_grid(r, p->grid));
  return check_part(r);
}

static const char part_keys[] = "options grid quick full methods value";

/* What becomes the name of a folder or a file: an id, a part, a figure. */
static hvi_status check_name(const reader *r, const hvi_node *map, const char *key) {
  const hvi_node *n = map->kind == HVI_NODE_MAP ? hvi_node_get(map, key) : NULL;
  if (!n) return HVI_OK;
  const char *name = n->kind == HVI_NODE_SCALAR ? n->text : "[...]";
  if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(name) && *name &&
      *name != '-' && strlen(name) < 60)
    return HVI_OK;
  return fail(r, n, "%s must be made of a-z, 0-9 and '-', not '%.60s'", key, name);
}

static hvi_status read_parts(reader *r, const hvi_part *whole) {
  const hvi_node *list = hvi_node_get(r->root, "parts");
  hvi_study *s = r->study;
  if (list) HVI_TRY(hvi_field_list(list, "parts", HVI_MOST_PARTS, r->origin, r->err));
  for (const hvi_node *n = list ? list->first : r->root; n; n = list ? n->next : NULL) {
    r->part = &s->parts[s->part_count++];
    *r->part = *whole;
    const hvi_field_part rows[] = {{.table = &part_table, .settings = r->part}, {0}};
    if (list) HVI_TRY(hvi_field_map(rows, part_keys, n, r->origin, r->err));
    if (list) HVI_TRY(check_name(r, n, "name"));
    HVI_TRY(finish_part(r, n));
    for (const hvi_part *p = s->parts; p < r->part; p++)
      if (strcmp(p->name, r->part->name) == 0)
        return fail(r, n, "a part has the name '%s' already", p->name);
  }
  return HVI_OK;
}

/* Figures and claims are those of the kind of the first part where the file has none. */
static hvi_status read_defaults(reader *r) {
  hvi_study *s = r->study;
  const char *text = hvi_embedded_find(hvi_embedded_kinds, s->parts[0].kind->name);
  if (!text) return HVI_OK;
  HVI_TRY(hvi_tree_parse(&s->defaults, text, s->parts[0].kind->name, r->err));
  const hvi_node *root = s->defaults->root;
  s->default_figures = !s->figures && hvi_node_get(root, "figures");
  if (s->default_figures) s->figures = hvi_node_get(root, "figures");
  if (!s->claim_rows) s->claim_rows = hvi_node_get(root, "claims");
  return HVI_OK;
}

static hvi_status read_document(reader *r) {
  hvi_study *s = r->study;
  hvi_part whole = {0};
  char others[128];
  const hvi_field_part rows[] = {{.table = &study_table, .settings = s},
                                 {.table = &part_table, .settings = &whole, .not = "name"},
                                 {0}};
  hvi_setting_defaults(&part_table, &whole);
  snprintf(others, sizeof others, "figures claims parts %s", part_keys);
  HVI_TRY(hvi_field_map(rows, others, r->root, r->origin, r->err));
  HVI_TRY(check_name(r, r->root, "id"));
  HVI_TRY(check_name(r, r->root, "runs"));
  HVI_TRY(read_parts(r, &whole));
  s->figures = hvi_node_get(r->root, "figures");
  s->claim_rows = hvi_node_get(r->root, "claims");
  for (const hvi_node *n = s->figures ? s->figures->first : NULL; n; n = n->next)
    HVI_TRY(check_name(r, n, "name"));
  HVI_TRY(read_defaults(r));
  return hvi_study_check(s, r->err);
}

static hvi_status parse(hvi_study **out, const char *text, const char *origin, hvi_code_fn *load,
                        hvi_error *err) {
  HVI_MAKE(hvi_study, s, "an experiment", err);
  s->text = hvi_copy_text(text);
  s->origin = hvi_copy_text(origin);
  if (!s->text || !s->origin) return hvi_error_memory(err, "an experiment");
  HVI_TRY(hvi_tree_parse(&s->tree, text, origin, err));
  reader r = {
      .study = s, .root = s->tree->root, .origin = s->origin, .load_code = load, .err = err};
  HVI_TRY(read_document(&r));
  HVI_GIVE(out, s);
}

hvi_status hvi_study_parse(hvi_study **s, const char *text, const char *origin, hvi_error *err) {
  *s = NULL;
  return parse(s, text, origin, NULL, err);
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
  const char *text = hvi_embedded_find(hvi_embedded_experiments, name);
  if (text) {
    HVI_TRY(hvi_study_parse(s, text, name, err));
    (*s)->builtin = true;
    return HVI_OK;
  }
  const char *near = hvi_suggest(name, ids);
  if (near)
    return hvi_error_input(err, "unknown experiment '%.60s'; did you mean '%s'?", name, near);
  return hvi_error_input(err,
                         "unknown experiment '%.60s'; `hvi list` names them, and a file of your "
                         "own is given by its path",
                         name);
}

/* Whose cells a file runs: those of a built-in study, or of a file beside it. */
static hvi_status check_runs(const hvi_study *s, hvi_error *err) {
  const hvi_node *n = hvi_node_get(s->tree->root, "runs");
  const char *const *id = ids;
  while (n && *id && strcmp(*id, s->runs) != 0) id++;
  if (!n || *id) return HVI_OK;
  HVI_OWN char *path = beside(s->origin, s->runs, ".yaml");
  const char *near = hvi_suggest(s->runs, ids);
  if (path && access(path, F_OK) == 0) return HVI_OK;
  return hvi_error_line(
      err, s->origin, n->line, "runs: there is no experiment '%s', and no %s.yaml here%s%s%s",
      s->runs, s->runs, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

hvi_status hvi_study_open(hvi_study **out, const char *name, hvi_code_fn *load, hvi_error *err) {
  HVI_OWN_BY(hvi_study_release) hvi_study *s = NULL;
  HVI_OWN char *text = NULL;
  *out = NULL;
  if (!is_path(name)) return parse_embedded(out, name, err);
  HVI_TRY(hvi_file_read_text(&text, name, MAX_BYTES, err));
  HVI_TRY(parse(&s, text, name, load, err));
  HVI_TRY(check_runs(s, err));
  HVI_GIVE(out, s);
}
