#include "problems/options.h"

#include "base/error.h"
#include "base/suggest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Place of word among "first|second|third"; -1 when it is not there. */
static int find_choice(const char *choices, const char *word) {
  size_t length = strlen(word);
  for (int place = 0;; place++) {
    size_t width = strcspn(choices, "|");
    if (width == length && strncmp(choices, word, width) == 0) return place;
    if (!choices[width]) return -1;
    choices += width + 1;
  }
}

static hvi_status complain_range(const char *problem, const hvi_key *key, const char *value,
                                 hvi_error *err) {
  const char *what = key->integer ? "a whole number" : "a number";
  if (isinf(key->low) && isinf(key->high))
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s: %s = %s is out of range; it must be %s",
                         problem, key->name, value, what);
  if (isinf(key->high))
    return hvi_error_set(err, HVI_ERROR_INPUT,
                         "%s: %s = %s is out of range; it must be %s of at least %g", problem,
                         key->name, value, what, key->low);
  return hvi_error_set(err, HVI_ERROR_INPUT,
                       "%s: %s = %s is out of range; it must be %s from %g to %g", problem,
                       key->name, value, what, key->low, key->high);
}

static hvi_status parse_value(double *number, const char *problem, const hvi_key *key,
                              const char *value, hvi_error *err) {
  if (key->text) return HVI_OK;
  if (key->choices) {
    int place = find_choice(key->choices, value);
    if (place < 0)
      return hvi_error_set(err, HVI_ERROR_INPUT, "%s: %s = %s is unknown; it must be one of %s",
                           problem, key->name, value, key->choices);
    *number = place;
    return HVI_OK;
  }
  char *end;
  errno = 0;
  double x = strtod(value, &end);
  if (end == value || *end)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s: %s = '%s' is not a number", problem, key->name,
                         value);
  bool whole = !key->integer || x == floor(x);
  if (!isfinite(x) || !(x >= key->low && x <= key->high) || !whole)
    return complain_range(problem, key, value, err);
  *number = x;
  return HVI_OK;
}

static hvi_status complain_key(const char *problem, const hvi_key *keys, const char *name,
                               hvi_error *err) {
  const char *names[HVI_OPTIONS_MAX + 1] = {NULL};
  for (size_t k = 0; keys[k].name; k++) names[k] = keys[k].name;
  if (!names[0])
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s: unknown key '%s'; it has no keys", problem,
                         name);
  const char *near = hvi_suggest(name, names);
  if (near)
    return hvi_error_set(err, HVI_ERROR_INPUT, "%s: unknown key '%s'; did you mean '%s'?", problem,
                         name, near);
  char list[256] = "";
  for (size_t k = 0; names[k] && strlen(list) + strlen(names[k]) + 3 < sizeof list; k++) {
    if (k) strcat(list, ", ");
    strcat(list, names[k]);
  }
  return hvi_error_set(err, HVI_ERROR_INPUT, "%s: unknown key '%s'; there are %s", problem, name,
                       list);
}

hvi_status hvi_options_parse(hvi_values *values, const char *problem, const hvi_key *keys,
                             const hvi_option *options, size_t count, hvi_error *err) {
  *values = (hvi_values){.number = {0}};
  hvi_status status = HVI_OK;
  for (size_t k = 0; keys[k].name && !status; k++)
    status = parse_value(&values->number[k], problem, &keys[k], keys[k].fallback, err);
  for (size_t i = 0; i < count && !status; i++) {
    if (!options[i].key || !options[i].value)
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%s: option %zu is a null pointer", problem, i);
    size_t k = 0;
    while (keys[k].name && strcmp(keys[k].name, options[i].key) != 0) k++;
    if (!keys[k].name) return complain_key(problem, keys, options[i].key, err);
    status = parse_value(&values->number[k], problem, &keys[k], options[i].value, err);
    values->text[k] = options[i].value;
    values->given[k] = true;
  }
  return status;
}
