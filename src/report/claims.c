/* The list, and claims.json: numbers in full, not-finite values as the strings "inf", "-inf" and
 * null. */
#include "report/claims.h"

#include "base/base.h"

#include <jansson.h>

enum { SCHEMA_VERSION = 1, MAX_BYTES = 16 << 20 };

const char *hvi_judgement_name(hvi_judgement j) {
  static const char *const names[HVI_JUDGEMENT_COUNT] = {[HVI_NOT_JUDGED] = "not judged",
                                                         [HVI_HOLDS] = "holds",
                                                         [HVI_HOLDS_NOT] = "does not hold",
                                                         [HVI_NOT_DECIDED] = "not decided",
                                                         [HVI_NEEDS_FULL] = "needs --full"};
  return (size_t)j < HVI_JUDGEMENT_COUNT ? names[j] : NULL;
}

hvi_claim *hvi_claims_add(hvi_claims *claims, const char *id, const char *where, const char *text) {
  hvi_claim *c = hvi_alloc(1, sizeof *c);
  const size_t n = claims->count;
  hvi_claim **items = c ? hvi_grow(claims->items, n * sizeof *items, n + 1, sizeof *items) : NULL;
  if (!items) {
    hvi_free(c);
    claims->failed = true;
    return NULL;
  }
  snprintf(c->id, sizeof c->id, "%s", id);
  snprintf(c->where, sizeof c->where, "%s", where);
  snprintf(c->text, sizeof c->text, "%s", text);
  claims->items = items;
  claims->items[claims->count++] = c;
  return c;
}

void hvi_claim_measure(hvi_claim *c, const char *name, double value) {
  if (!c || c->measure_count == HVI_CLAIM_MEASURES) return;
  hvi_measure *m = &c->measures[c->measure_count++];
  snprintf(m->name, sizeof m->name, "%s", name);
  m->value = value;
}

void hvi_claim_decide(hvi_claim *c, hvi_judgement judgement) {
  if (c) c->judgement = judgement;
}

void hvi_claim_note(hvi_claim *c, const char *format, ...) {
  if (!c) return;
  va_list args;
  va_start(args, format);
  vsnprintf(c->note, sizeof c->note, format, args);
  va_end(args);
}

void hvi_claims_figure(hvi_claims *claims, const char *name, const char *paper, const char *shows) {
  const size_t n = claims->figure_count;
  hvi_claim_figure *all = hvi_grow(claims->figures, n * sizeof *all, n + 1, sizeof *all);
  if (!all) {
    claims->failed = true;
    return;
  }
  claims->figures = all;
  hvi_claim_figure *f = &all[claims->figure_count++];
  snprintf(f->name, sizeof f->name, "%s", name);
  snprintf(f->paper, sizeof f->paper, "%s", paper ? paper : "");
  snprintf(f->shows, sizeof f->shows, "%s", shows ? shows : "");
}

static const char lower_end[] = ", lower end";

hvi_claim_number hvi_claim_number_at(const hvi_claim *c, size_t i) {
  const hvi_measure *m = &c->measures[i];
  hvi_claim_number n = {.value = m->value, .low = NAN, .high = NAN};
  memcpy(n.name, m->name, sizeof n.name);
  if (i + 2 >= c->measure_count || !hvi_ends_in(m[1].name, lower_end)) return n;
  n.low = m[1].value;
  n.high = m[2].value;
  return n;
}

hvi_claim_number hvi_claim_number_of(const hvi_claim *c) {
  size_t i = 1;
  if (*c->number.name || !c->measure_count) return c->number;
  while (i < c->measure_count && !hvi_ends_in(c->measures[i].name, lower_end)) i++;
  return hvi_claim_number_at(c, i < c->measure_count ? i - 1 : 0);
}

const hvi_claim *hvi_claims_find(const hvi_claims *claims, const char *id) {
  for (size_t i = 0; i < claims->count; i++)
    if (strcmp(claims->items[i]->id, id) == 0) return claims->items[i];
  return NULL;
}

size_t hvi_claims_tally(const hvi_claims *list, size_t count, bool theorem, hvi_judgement j) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < list[i].count; k++) {
      const hvi_claim *c = list[i].items[k];
      n += c->theorem == theorem && c->judgement == j;
    }
  return n;
}

void hvi_claims_clear(hvi_claims *claims) {
  for (size_t i = 0; i < claims->count; i++) hvi_free(claims->items[i]);
  hvi_free(claims->items);
  hvi_free(claims->figures);
  if (claims->full) hvi_claims_clear(claims->full);
  hvi_free(claims->full);
  *claims = (hvi_claims){0};
}

static json_t *json_number(double x) {
  if (isfinite(x)) return json_real(x);
  return isnan(x) ? json_null() : json_string(x > 0 ? "inf" : "-inf");
}

static double number_of(const json_t *v) {
  if (json_is_number(v)) return json_number_value(v);
  if (!json_is_string(v)) return NAN;
  return strcmp(json_string_value(v), "inf") == 0 ? INFINITY : -INFINITY;
}

/* Texts by the names that they have in the file, and where a struct has them. */
typedef struct text_row {
  const char *name;
  size_t offset, size;
  bool needed;
} text_row;
#define TEXT(type, name, member) name, offsetof(type, member), sizeof((type *)0)->member
HVI_ROWS(static const text_row claim_texts[],
    {TEXT(hvi_claim, "id", id), true}, {TEXT(hvi_claim, "where", where), true}, {TEXT(hvi_claim, "claim", text), true},
    {TEXT(hvi_claim, "note", note), true}, {TEXT(hvi_claim, "seeds", seeds), false}, {TEXT(hvi_claim, "tuning", tuning), false}, {0});
HVI_ROWS(static const text_row figure_texts[],
    {TEXT(hvi_claim_figure, "name", name), true}, {TEXT(hvi_claim_figure, "paper", paper), false},
    {TEXT(hvi_claim_figure, "shows", shows), false}, {0});
HVI_ROWS(static const text_row claims_texts[],
    {TEXT(hvi_claims, "experiment", experiment), true}, {TEXT(hvi_claims, "title", title), true},
    {TEXT(hvi_claims, "mode", mode), true}, {TEXT(hvi_claims, "settings_hash", settings_hash), true},
    {TEXT(hvi_claims, "level", levels), false}, {TEXT(hvi_claims, "version", made.version), false},
    {TEXT(hvi_claims, "commit", made.commit), false}, {TEXT(hvi_claims, "command", made.command), false},
    {TEXT(hvi_claims, "date", made.date), false}, {TEXT(hvi_claims, "machine", made.machine), false},
    {TEXT(hvi_claims, "paper", paper), false}, {TEXT(hvi_claims, "shows", shows), false}, {0});

static json_t *set_texts(json_t *to, const text_row *rows, const void *from) {
  for (; rows->name; rows++)
    json_object_set_new(to, rows->name, json_string((const char *)from + rows->offset));
  return to;
}

/* False where one is missing that is needed. */
static bool get_texts(void *to, const text_row *rows, const json_t *from) {
  for (; rows->name; rows++) {
    const char *text = json_string_value(json_object_get(from, rows->name));
    if (!text && rows->needed) return false;
    snprintf((char *)to + rows->offset, rows->size, "%s", text ? text : "");
  }
  return true;
}

static json_t *claim_json(const hvi_claim *c) {
  const bool judged = c->judgement == HVI_HOLDS || c->judgement == HVI_HOLDS_NOT;
  const hvi_claim_number *n = &c->number;
  json_t *claim = set_texts(json_object(), claim_texts, c), *measured = json_object();
  for (size_t i = 0; i < c->measure_count; i++)
    json_object_set_new(measured, c->measures[i].name, json_number(c->measures[i].value));
  json_object_set_new(claim, "measured", measured);
  json_object_set_new(claim, "holds",
                      judged ? json_boolean(c->judgement == HVI_HOLDS) : json_null());
  json_object_set_new(claim, "verdict", json_string(hvi_judgement_name(c->judgement)));
  if (c->theorem) json_object_set_new(claim, "theorem", json_true());
  if (*n->name)
    json_object_set_new(claim, "number",
                        json_pack("[s, o, o, o]", n->name, json_number(n->value),
                                  json_number(n->low), json_number(n->high)));
  return claim;
}

/* NULL without memory: what Jansson leaves out for want of it shows in errno alone. */
json_t *hvi_claims_json(const hvi_claims *claims) {
  errno = 0;
  json_t *list = json_array(), *figures = json_array();
  json_t *root =
      set_texts(json_pack("{s:i}", "schema_version", SCHEMA_VERSION), claims_texts, claims);
  for (size_t i = 0; i < claims->count; i++)
    json_array_append_new(list, claim_json(claims->items[i]));
  for (size_t i = 0; i < claims->figure_count; i++)
    json_array_append_new(figures, set_texts(json_object(), figure_texts, &claims->figures[i]));
  json_object_set_new(root, "seconds", json_real(claims->seconds));
  json_object_set_new(root, "figures", figures);
  json_object_set_new(root, "claims", list);
  if (errno != ENOMEM) return root;
  json_decref(root);
  return NULL;
}

/* The checksum of everything else in it; false without memory. */
static bool print_checksum(char digits[17], const json_t *root) {
  char *dump = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  if (dump) snprintf(digits, 17, "%016" PRIx64, hvi_checksum(HVI_HASH_START, dump, strlen(dump)));
  free(dump);
  return dump != NULL;
}

/* Takes the checksum out and compares it; one that is not there fits. */
static bool checksum_fits(hvi_claims *claims, json_t *root) {
  char is[17], stated[17];
  const char *text = json_string_value(json_object_get(root, "checksum"));
  if (!text) return true;
  snprintf(stated, sizeof stated, "%s", text);
  json_object_del(root, "checksum");
  claims->checked = print_checksum(is, root) && strcmp(is, stated) == 0;
  return claims->checked;
}

hvi_status hvi_claims_write(const hvi_claims *claims, const char *path, hvi_error *err) {
  char digits[17];
  json_t *root = claims->failed ? NULL : hvi_claims_json(claims);
  const bool good = root && print_checksum(digits, root) &&
                    json_object_set_new(root, "checksum", json_string(digits)) == 0;
  char *dump = good ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  HVI_OWN char *text = dump ? hvi_join_texts(dump, "\n") : NULL;
  json_decref(root);
  free(dump);
  return text ? hvi_file_write_text(path, text, err) : hvi_error_memory(err, path);
}

static bool take_claim(hvi_claims *claims, json_t *item) {
  const char *verdict = "", *name;
  json_t *measured, *holds, *value, *number = NULL;
  int theorem = 0;
  hvi_claim *c = hvi_claims_add(claims, "", "", "");
  if (!c || !get_texts(c, claim_texts, item) ||
      json_unpack(item, "{s?s, s:o, s:o, s?b, s?o}", "verdict", &verdict, "measured", &measured,
                  "holds", &holds, "theorem", &theorem, "number", &number) ||
      !json_is_object(measured))
    return false;
  json_object_foreach(measured, name, value) {
    if (strlen(name) >= sizeof c->measures->name) return false; /* two might become one */
    hvi_claim_measure(c, name, number_of(value));
  }
  if (json_is_boolean(holds)) c->judgement = json_is_true(holds) ? HVI_HOLDS : HVI_HOLDS_NOT;
  for (hvi_judgement j = HVI_NOT_DECIDED; j < HVI_JUDGEMENT_COUNT; j++)
    if (strcmp(verdict, hvi_judgement_name(j)) == 0) c->judgement = j;
  c->theorem = theorem;
  c->number = (hvi_claim_number){.value = number_of(json_array_get(number, 1)),
                                 .low = number_of(json_array_get(number, 2)),
                                 .high = number_of(json_array_get(number, 3))};
  name = json_string_value(json_array_get(number, 0));
  snprintf(c->number.name, sizeof c->number.name, "%s", name ? name : "");
  return true;
}

/* A map, or, in older files, its name alone. */
static bool take_figure(hvi_claims *claims, const json_t *item) {
  const char *name = json_string_value(item);
  hvi_claims_figure(claims, name ? name : "", NULL, NULL);
  if (claims->failed || name) return !claims->failed;
  return get_texts(&claims->figures[claims->figure_count - 1], figure_texts, item);
}

static bool take_all(hvi_claims *claims, json_t *root) {
  json_t *list, *figures;
  int version;
  if (!get_texts(claims, claims_texts, root) ||
      json_unpack(root, "{s:i, s?F, s:o, s:o}", "schema_version", &version, "seconds",
                  &claims->seconds, "figures", &figures, "claims", &list) ||
      version != SCHEMA_VERSION || !json_is_array(list) || !json_is_array(figures))
    return false;
  for (size_t i = 0; i < json_array_size(figures); i++)
    if (!take_figure(claims, json_array_get(figures, i))) return false;
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!take_claim(claims, json_array_get(list, i))) return false;
  return true;
}

hvi_status hvi_claims_read(hvi_claims *claims, const char *path, hvi_error *err) {
  *claims = (hvi_claims){0};
  HVI_OWN char *text = NULL;
  HVI_TRY(hvi_file_read_text(&text, path, MAX_BYTES, err));
  hvi_status status = HVI_OK;
  json_error_t where;
  errno = 0;
  json_t *root = json_loads(text, 0, &where);
  const bool good = root && checksum_fits(claims, root), taken = good && take_all(claims, root);
  if (errno == ENOMEM) /* Jansson may drop a letter for want of it, and say nothing */
    status = hvi_error_memory(err, path);
  else if (!root)
    status = hvi_error_input(err, "'%s' line %d: %s", path, where.line, where.text);
  else if (!good)
    status = hvi_error_input(err, "'%s' is damaged: its checksum does not fit its contents", path);
  else if (!taken)
    status = hvi_error_input(err, "'%s' is not a list of claims (schema %d)", path, SCHEMA_VERSION);
  json_decref(root);
  if (status != HVI_OK) hvi_claims_clear(claims);
  return status;
}
