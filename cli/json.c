#include "json.h"

#include "base/base.h"
#include "talk.h"

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
  if (!hvi_talk.json) return;
  begin(name);
  putchar(bracket);
  json.brackets[json.depth++] = bracket;
  json.filled = false;
}

void hvi_json_close(void) {
  if (!hvi_talk.json) return;
  json.depth--;
  if (json.filled) break_line();
  putchar(json.brackets[json.depth] == '{' ? '}' : ']');
  json.filled = true;
}

void hvi_json_end(void) {
  while (json.depth > 0) hvi_json_close();
  if (hvi_talk.json) putchar('\n');
}

void hvi_json_values(const hvi_value *v) {
  for (; hvi_talk.json && v->kind != HVI_END; v++) {
    begin(v->name);
    hvi_value_write(stdout, v);
  }
}

static void put_members(const hvi_shown *s) {
  for (; s->value.kind != HVI_END; s++)
    if (s->value.name) hvi_json_values((const hvi_value[]){s->value, {0}});
}

/* NULL: there is nothing to tell. The next call writes over it. */
static const char *text_of(const hvi_shown *s) {
  static char text[HVI_NUMBER_SIZE + 64];
  const double x = s->value.kind == HVI_NUMBER ? s->value.number : 0.0;
  const double scaled = s->scale != 0.0 ? s->scale * x : x;
  if (s->value.kind == HVI_TEXT) return s->value.text;
  if (s->value.kind == HVI_COUNT)
    snprintf(text, sizeof text, "%" PRIu64, s->value.count);
  else if (s->digits > 0)
    snprintf(text, sizeof text, "%.*f", s->digits, scaled);
  else
    hvi_number_short(text, scaled, s->digits < 0 ? -s->digits : 6);
  return isfinite(x) ? text : NULL;
}

void hvi_show_lines(const hvi_shown *s) {
  if (hvi_talk.json) put_members(s);
  for (const char *text; !hvi_talk.json && s->value.kind != HVI_END; s++)
    if (s->title && (text = text_of(s))) printf("%-17s%s%s\n", s->title, text, s->unit);
}

static bool headed; /* the table under way has its line of titles */

void hvi_table_begin(const char *title) {
  if (!hvi_talk.json) puts(title);
  headed = false;
}

static void put_line(const hvi_shown *s, bool titles) {
  putchar(' ');
  for (; s->value.kind != HVI_END; s++) {
    const char *text = titles ? s->title : text_of(s);
    if (s->title) printf(" %*s", s->width, text ? text : "-");
  }
  putchar('\n');
}

void hvi_table_cells(const hvi_shown *s) {
  hvi_json_open(NULL, '{');
  put_members(s);
  hvi_json_close();
  if (hvi_talk.json) return;
  if (!headed) put_line(s, true);
  headed = true;
  put_line(s, false);
}
