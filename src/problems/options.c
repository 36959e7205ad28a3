#include "problems/options.h"

#include "base/error.h"

#include <stdio.h>

hvi_status hvi_options_parse(hvi_options *o, const hvi_setting_table *table,
                             const hvi_option *options, size_t count, hvi_error *err) {
  *o = (hvi_options){.given = {false}};
  hvi_setting_defaults(table, o->values);
  hvi_status status = HVI_OK;
  for (size_t i = 0; i < count && !status; i++) {
    const char *key = options[i].key, *value = options[i].value;
    if (!key || !value)
      return hvi_error_set(err, HVI_ERROR_ARGUMENT, "%s: option %zu is a null pointer", table->name,
                           i);
    const hvi_setting *row = hvi_setting_find(table, key);
    if (!row) return hvi_setting_set(table, o->values, key, value, err); /* refuses */
    char where[96];
    snprintf(where, sizeof where, "%s: %s", table->name, row->name);
    status = hvi_setting_parse(row, o->values, value, where, err);
    o->given[row - table->rows] = true;
  }
  return status;
}
