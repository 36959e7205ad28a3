#include "experiments/fields.h"

#include "base/error.h"
#include "base/suggest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 160 };

static const char *key_of(const hvi_node *node) { return node->key ? node->key : "this entry"; }

hvi_status hvi_field_unknown(const hvi_node *node, const char *word, const char *what,
                             const char *const *names, const char *origin, hvi_error *err) {
  const char *near = hvi_suggest(word, names);
  if (near)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: unknown %s '%.60s'; did you mean '%s'?",
                         origin, node->line, what, word, near);
  char list[300] = "";
  for (size_t i = 0; names[i]; i++) {
    size_t used = strlen(list);
    if (used + strlen(names[i]) + 3 > sizeof list) break;
    strcat(strcat(list, used ? ", " : ""), names[i]);
  }
  return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: unknown %s '%.60s'; there are %s", origin,
                       node->line, what, word, list);
}

static bool is_clean(const char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < ' ' || *s == 127) return false;
  return true;
}

hvi_status hvi_field_text(const char **out, const hvi_node *node, const char *origin,
                          hvi_error *err) {
  if (node->kind != HVI_NODE_SCALAR)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must be a single value", origin,
                         node->line, key_of(node));
  if (!node->text[0] || strlen(node->text) > LONGEST || !is_clean(node->text))
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must be one line of 1 to %d characters",
                         origin, node->line, key_of(node), LONGEST);
  *out = node->text;
  return HVI_OK;
}

static bool contains(hvi_interval r, double x) {
  return x >= r.low && x <= r.high && !(r.open_low && x == r.low) && !(r.open_high && x == r.high);
}

hvi_status hvi_field_real(double *out, const hvi_node *node, hvi_interval range, const char *origin,
                          hvi_error *err) {
  const char *text = NULL;
  hvi_status status = hvi_field_text(&text, node, origin, err);
  if (status != HVI_OK) return status;
  char *end;
  double x = strtod(text, &end);
  if (end == text || *end || !isfinite(x))
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must be a number, not '%.60s'", origin,
                         node->line, key_of(node), text);
  if (!contains(range, x))
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must lie in %c%g, %g%c, not %.60s",
                         origin, node->line, key_of(node), range.open_low ? '(' : '[', range.low,
                         range.high, range.open_high ? ')' : ']', text);
  *out = x;
  return HVI_OK;
}

static bool among(const double *x, size_t count, double y) {
  size_t i = 0;
  while (i < count && x[i] != y) i++;
  return i < count;
}

hvi_status hvi_field_rates(double *out, size_t *count, size_t most, const hvi_node *node,
                           const char *origin, hvi_error *err) {
  const hvi_interval positive = {0, INFINITY, true, true};
  hvi_status status = HVI_OK;
  if (node->kind != HVI_NODE_LIST || node->count == 0 || node->count > most)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must be a list of 1 to %zu numbers",
                         origin, node->line, key_of(node), most);
  *count = 0;
  for (const hvi_node *n = node->first; n && status == HVI_OK; n = n->next) {
    status = hvi_field_real(&out[*count], n, positive, origin, err);
    if (!status && among(out, *count, out[*count]))
      status = hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s has %s twice", origin, n->line,
                             key_of(node), n->text);
    ++*count;
  }
  return status;
}

hvi_status hvi_field_count(size_t *out, const hvi_node *node, size_t low, size_t high,
                           const char *origin, hvi_error *err) {
  double x = 0;
  hvi_interval range = {(double)low, (double)high, false, false};
  hvi_status status = hvi_field_real(&x, node, range, origin, err);
  if (status != HVI_OK) return status;
  if (x != floor(x))
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must be a whole number, not '%.60s'",
                         origin, node->line, key_of(node), node->text);
  *out = (size_t)x;
  return HVI_OK;
}

hvi_status hvi_field_choice(size_t *out, const hvi_node *node, const char *const *names,
                            const char *origin, hvi_error *err) {
  const char *text = NULL;
  hvi_status status = hvi_field_text(&text, node, origin, err);
  if (status != HVI_OK) return status;
  for (size_t i = 0; names[i]; i++)
    if (strcmp(names[i], text) == 0) return *out = i, HVI_OK;
  return hvi_field_unknown(node, text, key_of(node), names, origin, err);
}

hvi_status hvi_field_flag(bool *out, const hvi_node *node, const char *origin, hvi_error *err) {
  static const char *const words[] = {"false", "true", "no", "yes", NULL};
  size_t i = 0;
  hvi_status status = hvi_field_choice(&i, node, words, origin, err);
  if (status == HVI_OK) *out = i % 2 == 1;
  return status;
}

hvi_status hvi_field_keys(const hvi_node *map, const char *const *keys, const char *origin,
                          hvi_error *err) {
  if (map->kind != HVI_NODE_MAP)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s:%u: %s must be a map of keys and values", origin,
                         map->line, key_of(map));
  for (const hvi_node *child = map->first; child; child = child->next) {
    size_t i = 0;
    while (keys[i] && strcmp(keys[i], child->key) != 0) i++;
    if (!keys[i]) return hvi_field_unknown(child, child->key, "key", keys, origin, err);
  }
  return HVI_OK;
}
