/*
 * The report as HTML: the tree of claims.json, with a few words more, in the templates of page/.
 *
 *   {{name}}               a member of the object at hand, or of one around it, escaped
 *   {{&name}}              the same as it is: only for what this program has made
 *   {{#name}}...{{/name}}  for each item of a list; once where there is such a thing
 *   {{^name}}...{{/name}}  once where there is none
 *   {{>name}}              another template
 *
 * All that comes from claims.json or a figure is escaped: anybody may have edited it. In an address
 * it is a step of a path below the page: what would lead elsewhere leads nowhere.
 */
#include "report/claims.h"

#include "base/base.h"
#include "base/embedded.h"
#include "report/text.h"

#include <jansson.h>

enum { MOST_DATA = 32 << 20, DIGITS = 6 };

typedef struct scope {
  const json_t *value;
  const struct scope *outer;
} scope;

static const char *embedded(const char *name) { return hvi_embedded_find(hvi_embedded_page, name); }

static void add_value(hvi_text *t, const json_t *v, bool raw) {
  static const char special[] = "&<>\"'";
  static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  if (json_is_real(v)) hvi_text_add(t, "%.1f", json_real_value(v));
  for (const char *s = json_is_string(v) ? json_string_value(v) : ""; *s;) {
    const size_t plain = raw ? strlen(s) : strcspn(s, special);
    hvi_text_bytes(t, s, plain);
    s += plain;
    if (*s) hvi_text_add(t, "%s", names[strchr(special, *s++) - special]);
  }
}

static bool is_there(const json_t *v) {
  return v && !json_is_null(v) && !json_is_false(v) && !(json_is_array(v) && !json_array_size(v)) &&
         !(json_is_string(v) && !json_string_length(v));
}

/* Fills in a template up to the end of the section that it is called in, and returns what follows;
 * without `show` it only looks for that. */
static const char *fill(hvi_text *t, const char *at, const scope *s, bool show) {
  for (const char *open; (open = strstr(at, "{{")); at += 2) {
    const char kind = open[2], *start = open + 2 + (strchr("#^/&>", kind) != NULL);
    char name[32];
    if (show) hvi_text_bytes(t, at, (size_t)(open - at));
    at = strstr(start, "}}");
    snprintf(name, sizeof name, "%.*s", (int)(at - start), start);
    if (kind == '/') return at + 2;
    const json_t *v = NULL;
    for (const scope *o = s; o && !v; o = o->outer) v = json_object_get(o->value, name);
    const bool section = kind == '#' || kind == '^', now = show && is_there(v) == (kind == '#');
    const size_t count = section && now && json_is_array(v) ? json_array_size(v) : 1;
    const char *body = at + 2;
    for (size_t i = 0; section && i < count; i++)
      at = fill(t, body, &(scope){json_is_array(v) ? json_array_get(v, i) : v, s}, now) - 2;
    if (kind == '>' && show) fill(t, embedded(name), s, true);
    if (!section && kind != '>' && show) add_value(t, v, kind == '&');
  }
  if (show) hvi_text_add(t, "%s", at);
  return at + strlen(at);
}

static void set(json_t *to, const char *name, const char *text) {
  json_object_set_new(to, name, json_string(text));
}

/* What a claim shows: its verdict, its number, its measures. */
static void describe_claim(json_t *to, const hvi_claim *c, const char *size) {
  static const char *const classes[] = {"open", "yes", "no", "open", "full"};
  char number[HVI_CLAIM_NUMBER];
  json_t *measures = json_array();
  for (size_t i = 0; i < c->measure_count; i++)
    json_array_append_new(measures, json_pack("{s:s, s:s}", "name", c->measures[i].name, "value",
                                              hvi_number_short(number, c->measures[i].value, 3)));
  json_object_set_new(to, "measures", measures);
  json_object_set_new(to, "measured", json_boolean(c->measure_count));
  set(to, "class", classes[c->judgement]);
  set(to, "verdict", hvi_claim_verdict(c));
  set(to, "size", size);
  set(to, "number", hvi_claim_number_show(number, c));
  set(to, "of", hvi_claim_number_of(c).name);
}

/* folder/path/name.ending, where it is there; hvi_free it. */
static char *find_file(const char *folder, const char *path, const char *name, const char *ending) {
  hvi_text t = {0};
  hvi_text_add(&t, "%s/%s/%s%s", folder, path, name, ending);
  char *found = hvi_text_take(&t);
  if (found && access(found, R_OK) == 0) return found;
  hvi_free(found);
  return NULL;
}

/* Which files of a figure there are; its numbers, parsed and written again, so that they are JSON,
 * and end no element of the page. */
static void describe_figure(json_t *to, const char *folder, const char *path, const char *name) {
  static const char *const endings[] = {".svg", ".png", ".gp"};
  HVI_OWN char *data = find_file(folder, path, name, ".json"), *text = NULL;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    HVI_OWN char *file = find_file(folder, path, name, endings[i]);
    json_object_set_new(to, endings[i] + 1, json_boolean(file));
  }
  set(to, "data", "");
  if (!data || hvi_file_read_text(&text, data, MOST_DATA, NULL)) return;
  json_t *root = json_loads(text, 0, NULL);
  char *dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS));
  HVI_OWN_BY(hvi_text_free) hvi_text safe = {0};
  for (const char *at = dump ? dump : "", *end; *at; at = end + (*end != '\0')) {
    end = at + strcspn(at, "<");
    hvi_text_bytes(&safe, at, (size_t)(end - at));
    if (*end) hvi_text_add(&safe, "\\u003c");
  }
  if (safe.data) set(to, "data", safe.data);
  json_decref(root);
  free(dump);
}

static void set_tally(json_t *to, const hvi_claims *list, size_t count) {
  HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
  hvi_claims_summary(&t, list, count);
  if (t.data) set(to, "tally", t.data);
}

/* The tree of a result whose files lie at folder/path. */
static json_t *describe(const hvi_claims *e, const char *folder, const char *path) {
  json_t *root = hvi_claims_json(e), *statements = json_array(), *theorems = json_array();
  set(root, "path", path);
  set_tally(root, e, 1);
  for (size_t i = 0; i < e->count; i++) {
    const hvi_claim *c = e->items[i], *full = e->full ? hvi_claims_find(e->full, c->id) : NULL;
    json_t *claim = json_array_get(json_object_get(root, "claims"), i), *beside = json_object();
    describe_claim(claim, c, e->mode);
    if (full) describe_claim(beside, full, *e->outdated ? "full size, out of date" : "full size");
    json_object_set_new(claim, "beside", full ? json_incref(beside) : json_null());
    json_decref(beside);
    json_array_append(c->theorem ? theorems : statements, claim);
  }
  for (size_t i = 0; i < e->figure_count; i++)
    describe_figure(json_array_get(json_object_get(root, "figures"), i), folder, path,
                    e->figures[i].name);
  json_object_set_new(root, "claimed", json_boolean(e->count));
  json_object_set_new(root, "stated", json_boolean(json_array_size(statements)));
  json_object_set_new(root, "statements", statements);
  json_object_set_new(root, "theorems", theorems);
  HVI_OWN char *below = hvi_path_join(path, "full", "");
  json_object_set_new(root, "full",
                      e->full && below ? describe(e->full, folder, below) : json_null());
  if (e->full) set(root, "outdated", e->outdated);
  return root;
}

hvi_status hvi_claims_page(const hvi_claims *list, size_t count, const char *folder,
                           hvi_error *err) {
  json_t *experiments = json_array();
  char size[64], verified[64] = "";
  size_t theorems = 0;
  double seconds = 0.0;
  for (int j = 0; j < HVI_JUDGEMENT_COUNT; j++)
    theorems += hvi_claims_tally(list, count, true, (hvi_judgement)j);
  for (size_t i = 0; i < count; seconds += list[i++].seconds)
    json_array_append_new(experiments, describe(&list[i], folder, list[i].experiment));
  snprintf(size, sizeof size, "%s, %.0f s of experiments", count ? list->mode : "none", seconds);
  if (theorems)
    snprintf(verified, sizeof verified, "%zu verified of %zu",
             hvi_claims_tally(list, count, true, HVI_HOLDS), theorems);
  json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:o, s:O*}", "style", embedded("style"), "script",
                           embedded("curves"), "size", size, "verified", verified, "experiments",
                           experiments, "run", json_array_get(experiments, 0));
  set_tally(root, list, count);
  HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
  HVI_OWN char *path = hvi_path_join(folder, "index.html", "");
  const bool whole = root && json_array_size(json_object_get(root, "experiments")) == count;
  fill(&t, embedded("page"), &(scope){root, NULL}, true);
  json_decref(root);
  return path && whole ? hvi_text_write(&t, path, err) : hvi_error_memory(err, "index.html");
}
