/* claims.json: numbers in full, not-finite values as the strings "inf", "-inf" and null. */
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "report/claims.h"
#include "report/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_VERSION = 1, MAX_BYTES = 16 << 20 };

static json_t *json_number(double x) {
  if (isfinite(x)) return json_real(x);
  return isnan(x) ? json_null() : json_string(x > 0 ? "inf" : "-inf");
}

static double number_of(const json_t *v) {
  if (json_is_number(v)) return json_number_value(v);
  if (!json_is_string(v)) return NAN;
  return strcmp(json_string_value(v), "inf") == 0 ? INFINITY : -INFINITY;
}

static json_t *judgement_json(hvi_judgement j) {
  return j == HVI_HOLDS || j == HVI_HOLDS_NOT ? json_boolean(j == HVI_HOLDS) : json_null();
}

static json_t *claim_json(const hvi_claim *c) {
  json_t *measured = json_object();
  for (size_t i = 0; i < c->measure_count; i++)
    json_object_set_new(measured, c->measures[i].name, json_number(c->measures[i].value));
  return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:s}", "id", c->id, "where", c->where, "claim",
                   c->text, "measured", measured, "holds", judgement_json(c->judgement), "verdict",
                   hvi_judgement_name(c->judgement), "note", c->note);
}

static json_t *claims_json(const hvi_claims *claims) {
  json_t *list = json_array(), *figures = json_array();
  for (size_t i = 0; i < claims->count; i++)
    json_array_append_new(list, claim_json(claims->items[i]));
  for (size_t i = 0; i < claims->figure_count; i++)
    json_array_append_new(figures, json_string(claims->figures[i]));
  return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:o, s:o}", "schema_version",
                   SCHEMA_VERSION, "experiment", claims->experiment, "title", claims->title, "mode",
                   claims->mode, "settings_hash", claims->settings_hash, "level", claims->levels,
                   "seconds", claims->seconds, "figures", figures, "claims", list);
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
  json_t *root = claims->failed ? NULL : claims_json(claims);
  const bool good = root && print_checksum(digits, root) &&
                    json_object_set_new(root, "checksum", json_string(digits)) == 0;
  char *dump = good ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  if (!dump) return hvi_error_memory(err, path);
  hvi_text text = {0};
  hvi_text_add(&text, "%s\n", dump);
  free(dump);
  hvi_status status = hvi_text_write(&text, path, err);
  hvi_text_free(&text);
  return status;
}

/* Copies a string member, and says whether there was one. */
static bool take_string(char *out, size_t size, const json_t *object, const char *key) {
  const char *s = json_string_value(json_object_get(object, key));
  if (s) snprintf(out, size, "%s", s);
  return s != NULL;
}

static bool take_claim(hvi_claims *claims, json_t *item) {
  const char *id = json_string_value(json_object_get(item, "id"));
  const char *where = json_string_value(json_object_get(item, "where"));
  const char *text = json_string_value(json_object_get(item, "claim"));
  json_t *measured = json_object_get(item, "measured"), *holds = json_object_get(item, "holds");
  if (!id || !where || !text || !json_is_object(measured) || !holds) return false;
  hvi_claim *c = hvi_claims_add(claims, id, where, text);
  const char *name;
  json_t *value;
  json_object_foreach(measured, name, value) hvi_claim_measure(c, name, number_of(value));
  const char *verdict = json_string_value(json_object_get(item, "verdict"));
  if (json_is_boolean(holds)) hvi_claim_judge(c, json_is_true(holds));
  if (verdict && strcmp(verdict, hvi_judgement_name(HVI_NOT_DECIDED)) == 0)
    hvi_claim_decide(c, HVI_NOT_DECIDED);
  return c && take_string(c->note, sizeof c->note, item, "note");
}

static bool take_all(hvi_claims *claims, const json_t *root) {
  if (json_integer_value(json_object_get(root, "schema_version")) != SCHEMA_VERSION) return false;
  if (!take_string(claims->experiment, sizeof claims->experiment, root, "experiment") ||
      !take_string(claims->title, sizeof claims->title, root, "title") ||
      !take_string(claims->mode, sizeof claims->mode, root, "mode") ||
      !take_string(claims->settings_hash, sizeof claims->settings_hash, root, "settings_hash"))
    return false;
  take_string(claims->levels, sizeof claims->levels, root, "level");
  claims->seconds = json_number_value(json_object_get(root, "seconds"));
  const json_t *list = json_object_get(root, "claims"), *figures = json_object_get(root, "figures");
  if (!json_is_array(list) || !json_is_array(figures)) return false;
  for (size_t i = 0; i < json_array_size(figures); i++) {
    const char *name = json_string_value(json_array_get(figures, i));
    if (!name) return false;
    hvi_claims_figure(claims, name);
  }
  for (size_t i = 0; i < json_array_size(list); i++)
    if (!take_claim(claims, json_array_get(list, i))) return false;
  return true;
}

hvi_status hvi_claims_read(hvi_claims *claims, const char *path, hvi_error *err) {
  *claims = (hvi_claims){0};
  char *text = NULL;
  hvi_status status = hvi_file_read_text(&text, path, MAX_BYTES, err);
  if (status != HVI_OK) return status;
  json_error_t where;
  json_t *root = json_loads(text, 0, &where);
  hvi_free(text);
  if (!root)
    status = hvi_error_set(err, HVI_ERROR_INPUT, "'%s' line %d: %s", path, where.line, where.text);
  else if (!checksum_fits(claims, root))
    status = hvi_error_set(err, HVI_ERROR_INPUT,
                           "'%s' is damaged: its checksum does not fit its contents", path);
  else if (!take_all(claims, root))
    status = hvi_error_set(err, HVI_ERROR_INPUT, "'%s' is not a list of claims (schema %d)", path,
                           SCHEMA_VERSION);
  json_decref(root);
  if (status == HVI_OK && claims->failed) status = hvi_error_memory(err, "claims");
  if (status != HVI_OK) hvi_claims_clear(claims);
  return status;
}
