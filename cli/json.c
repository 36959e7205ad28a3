#include "json.h"

#include "base/base.h"

static struct {
  size_t depth;
  bool filled; /* the innermost object or array has a member already */
  char brackets[16];
} json;

static void break_line(void) { printf("\n%*s", 2 * (int)json.depth, ""); }

/* The comma, the line and the name before a value. */
static void begin(const char *name) {
  if (json.filled) putchar(',');
  if (json.depth > 0) break_line();
  if (name) {
    hvi_value_write_text(stdout, name);
    fputs(": ", stdout);
  }
  json.filled = true;
}

void hvi_json_begin(void) {
  hvi_json_open(NULL, '{');
  hvi_json_put(V("schema_version", 1ul));
}

void hvi_json_open(const char *name, char bracket) {
  begin(name);
  putchar(bracket);
  json.brackets[json.depth++] = bracket;
  json.filled = false;
}

void hvi_json_close(void) {
  json.depth--;
  if (json.filled) break_line();
  putchar(json.brackets[json.depth] == '{' ? '}' : ']');
  json.filled = true;
}

void hvi_json_end(void) {
  while (json.depth > 0) hvi_json_close();
  putchar('\n');
}

void hvi_json_values(const hvi_value *v) {
  for (; v->kind != HVI_END; v++) {
    begin(v->name);
    hvi_value_write(stdout, v);
  }
}
