/*
 * The report as HTML. page/page.html is the frame, in which {{name}} stands for one of the parts
 * below. All that comes from claims.json or a figure is escaped: anybody may have edited it.
 */
#include "report/page.h"

#include "base/base.h"
#include "base/embedded.h"
#include "base/file.h"
#include "base/number.h"
#include "report/text.h"

#include <jansson.h>
#include <unistd.h>

enum { MOST_DATA = 32 << 20, DIGITS = 6 };

typedef struct page {
  hvi_text text;
  const hvi_claims *list;
  size_t count;
  const char *folder;
} page;

static void add_escaped(hvi_text *t, const char *s) {
  static const char special[] = "&<>\"'";
  static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  for (; *s; s++) {
    const char *at = strchr(special, *s);
    if (at)
      hvi_text_add(t, "%s", names[at - special]);
    else
      hvi_text_pad(t, *s, 1);
  }
}

/* A text in which each '$' stands for `first` and each '@' for `second`, escaped. In an address
 * they are steps of a path below the page: what would lead elsewhere comes out as one that leads
 * nowhere. */
static void add_filled(hvi_text *t, const char *text, const char *first, const char *second) {
  hvi_text_fill(t, text, add_escaped, first, second);
}

/* Nothing where there is nothing to say. */
static void add_words(hvi_text *t, const char *text, const char *words) {
  if (*words) add_filled(t, text, words, "");
}

/* A cell with the verdict; `of` which size is said where columns have no heads, and then the number
 * stands below. */
static void add_verdict(hvi_text *t, const hvi_claim *c, const char *of, bool numbered) {
  static const char *const classes[] = {[HVI_NOT_JUDGED] = "open",
                                        [HVI_HOLDS] = "yes",
                                        [HVI_HOLDS_NOT] = "no",
                                        [HVI_NOT_DECIDED] = "open",
                                        [HVI_NEEDS_FULL] = "full"};
  char number[HVI_CLAIM_NUMBER] = "";
  add_filled(t, "<td class=\"v $\" data-of=\"@\">", classes[c->judgement], of);
  add_filled(t, "$", hvi_claim_verdict(c), "");
  if (numbered && *hvi_claim_number_show(number, c))
    add_filled(t, "<span class=\"of\">$<br>@</span>", number, hvi_claim_number_of(c).name);
  hvi_text_add(t, "</td>");
}

/* Begins a cell. */
static void add_number(hvi_text *t, const hvi_claim *c) {
  char number[HVI_CLAIM_NUMBER];
  const bool any = *hvi_claim_number_show(number, c) != '\0';
  hvi_text_add(t, "<td class=\"n%s\">", any || c->measure_count ? "" : " empty");
  if (any)
    add_filled(t, "<b>$</b><span class=\"of\">@</span>", number, hvi_claim_number_of(c).name);
}

static void add_statement(page *p, const hvi_claims *e, const hvi_claim *c) {
  hvi_text *t = &p->text;
  const hvi_claim *full = e->full ? hvi_claims_find(e->full, c->id) : NULL;
  add_filled(t, "<tr><td><a href=\"#$.@\">", e->experiment, c->id);
  add_filled(t, "$</a></td>", c->text, "");
  add_verdict(t, c, e->mode, false);
  add_number(t, c);
  hvi_text_add(t, "</td>");
  if (full)
    add_verdict(t, full, *e->outdated ? "full size, out of date" : "full size", true);
  else
    hvi_text_add(t, "<td class=\"empty\"></td>");
  hvi_text_add(t, "</tr>\n");
}

static void add_statements(page *p, bool theorem) {
  hvi_text *t = &p->text;
  hvi_text_add(t, "<table>\n<thead><tr><th>statement</th><th>verdict</th><th>number</th>"
                  "<th>at full size</th></tr></thead>\n");
  for (size_t i = 0; i < p->count; i++) {
    const hvi_claims *e = &p->list[i];
    size_t rows = 0;
    for (size_t k = 0; k < e->count; k++) {
      if (e->items[k]->theorem != theorem) continue;
      if (!rows++)
        add_filled(t, "<tbody><tr><th colspan=\"4\"><a href=\"#$\">@</a></th></tr>\n",
                   e->experiment, e->title);
      add_statement(p, e, e->items[k]);
    }
    if (rows) hvi_text_add(t, "</tbody>\n");
  }
  hvi_text_add(t, "</table>\n");
}

static void add_summary(page *p) {
  size_t all = 0;
  for (int j = 0; j < HVI_JUDGEMENT_COUNT; j++)
    all += hvi_claims_tally(p->list, p->count, true, (hvi_judgement)j);
  add_statements(p, false);
  if (!all) return;
  hvi_text_add(&p->text,
               "<details class=\"part\"><summary>Theorems: %zu verified of %zu, "
               "which a correct program cannot violate</summary>\n",
               hvi_claims_tally(p->list, p->count, true, HVI_HOLDS), all);
  add_statements(p, true);
  hvi_text_add(&p->text, "</details>\n");
}

static void add_tally(page *p) { hvi_claims_summary(&p->text, p->list, p->count); }

static void add_run(page *p) {
  const hvi_claims *e = p->list;
  double seconds = 0.0;
  char size[64];
  for (size_t i = 0; i < p->count; i++) seconds += e[i].seconds;
  if (!p->count) return;
  snprintf(size, sizeof size, "%s, %.0f s of experiments", e->mode, seconds);
  hvi_text_add(&p->text, "<dl class=\"run\">");
  const char *const rows[][2] = {{"program", e->made.version}, {"commit", e->made.commit},
                                 {"command", e->made.command}, {"date", e->made.date},
                                 {"machine", e->made.machine}, {"size", size}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (*rows[i][1]) add_filled(&p->text, "<dt>$</dt><dd>@</dd>\n", rows[i][0], rows[i][1]);
  hvi_text_add(&p->text, "</dl>");
}

static void add_claim(hvi_text *t, const hvi_claim *c) {
  char number[HVI_NUMBER_SIZE];
  add_verdict(t, c, "", false);
  add_filled(t, "<td>$<div class=\"where\">@</div>", c->text, c->where);
  add_words(t, "<div class=\"note\">$</div>", c->note);
  hvi_text_add(t, "</td>");
  add_number(t, c);
  if (c->measure_count)
    hvi_text_add(t, "<details><summary>all measures</summary><dl class=\"measures\">");
  for (size_t i = 0; i < c->measure_count; i++)
    add_filled(t, "<dt>$</dt><dd>@</dd>", c->measures[i].name,
               hvi_number_short(number, c->measures[i].value, 3));
  hvi_text_add(t, "%s</td></tr>\n", c->measure_count ? "</dl></details>" : "");
}

/* Those of the run can be linked to; those at full size have the same ids. */
static void add_claims(hvi_text *t, const hvi_claims *e, bool anchors) {
  if (!e->count) return;
  hvi_text_add(t, "<table>\n<thead><tr><th>verdict</th><th>claim</th><th>measured</th></tr></thead>"
                  "\n<tbody>\n");
  for (size_t i = 0; i < e->count; i++) {
    if (anchors)
      add_filled(t, "<tr id=\"$.@\">", e->experiment, e->items[i]->id);
    else
      hvi_text_add(t, "<tr>");
    add_claim(t, e->items[i]);
  }
  hvi_text_add(t, "</tbody>\n</table>\n");
}

/* folder/path/name.ending, where it is there; hvi_free it. */
static char *find_file(const page *p, const char *path, const char *name, const char *ending) {
  hvi_text t = {0};
  hvi_text_add(&t, "%s/%s/%s%s", p->folder, path, name, ending);
  char *found = hvi_text_take(&t);
  if (found && access(found, R_OK) == 0) return found;
  hvi_free(found);
  return NULL;
}

/* The figure's numbers for the script: parsed and written again, so that they are numbers. */
static void add_data(page *p, const char *path, const char *name) {
  HVI_OWN char *file = find_file(p, path, name, ".json"), *text = NULL;
  if (!file || hvi_file_read_text(&text, file, MOST_DATA, NULL) != HVI_OK) return;
  json_t *root = json_loads(text, 0, NULL);
  char *dump = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS));
  hvi_text_add(&p->text, "<script type=\"application/json\">");
  for (const char *at = dump ? dump : "null", *end; *at; at = *end ? end + 1 : end) {
    end = at + strcspn(at, "<");
    hvi_text_bytes(&p->text, at, (size_t)(end - at));
    if (*end) hvi_text_add(&p->text, "\\u003c");
  }
  hvi_text_add(&p->text, "</script>");
  json_decref(root);
  free(dump);
}

/* A picture that could not be drawn is named all the same: its script is there. */
static void add_figure(page *p, const char *path, const hvi_claim_figure *f) {
  hvi_text *t = &p->text;
  HVI_OWN char *svg = find_file(p, path, f->name, ".svg"), *gp = find_file(p, path, f->name, ".gp"),
               *png = find_file(p, path, f->name, ".png");
  add_words(t, "<blockquote>$</blockquote>\n", f->paper);
  hvi_text_add(t, "<figure>");
  if (svg)
    add_filled(t, "<a class=\"still\" href=\"./$/@.svg\"><img src=\"./$/@.svg\" alt=\"@\"></a>",
               path, f->name);
  else if (png)
    add_filled(t, "<a class=\"still\" href=\"./$/@.png\"><img src=\"./$/@.png\" alt=\"@\"></a>",
               path, f->name);
  add_data(p, path, f->name);
  add_filled(t, "<figcaption>@", path, f->name);
  if (svg) add_filled(t, " &middot; <a href=\"./$/@.svg\">SVG</a>", path, f->name);
  if (png) add_filled(t, " &middot; <a href=\"./$/@.png\">PNG</a>", path, f->name);
  if (gp) add_filled(t, " &middot; <a href=\"./$/@.gp\">script</a>", path, f->name);
  hvi_text_add(t, "</figcaption></figure>\n");
  add_words(t, "<p>$</p>\n", f->shows);
}

static void add_result(page *p, const hvi_claims *e, const char *path, bool anchors) {
  hvi_text *t = &p->text;
  add_filled(t, "<p class=\"meta\">$ &middot; @", e->experiment, e->mode);
  hvi_text_add(t, " &middot; %.1f s", e->seconds);
  add_words(t, " &middot; $", e->made.date);
  add_words(t, " &middot; commit $", e->made.commit);
  add_filled(t, " &middot; <a href=\"./$/\">@</a>", path, anchors ? "CSV files" : "files");
  add_filled(t, " &middot; <a href=\"./$/claims.json\">claims.json</a></p>\n", path, "");
  for (size_t i = 0; i < e->figure_count; i++) add_figure(p, path, &e->figures[i]);
  if (anchors) add_words(t, "<p>$</p>\n", e->shows);
  add_claims(t, e, anchors);
}

static void add_section(page *p, const hvi_claims *e) {
  hvi_text *t = &p->text;
  add_filled(t, "<section id=\"$\">\n<h2>@</h2>\n", e->experiment, e->title);
  add_words(t, "<blockquote>$</blockquote>\n", e->paper);
  add_result(p, e, e->experiment, true);
  if (e->full) {
    HVI_OWN char *path = hvi_path_join(e->experiment, "full", "");
    hvi_text_add(t, "<details class=\"part\"><summary>The shipped result at full size: ");
    hvi_claims_summary(t, e->full, 1);
    hvi_text_add(t, "</summary>\n");
    add_words(t, "<p class=\"outdated\">Out of date: $</p>\n", e->outdated);
    add_result(p, e->full, path ? path : "", false);
    hvi_text_add(t, "</details>\n");
  }
  hvi_text_add(t, "</section>\n");
}

static void add_sections(page *p) {
  for (size_t i = 0; i < p->count; i++) add_section(p, &p->list[i]);
}

static void add_grounds(hvi_text *t, const hvi_claims *e) {
  for (size_t k = 0; k < e->count; k++) {
    const hvi_claim *c = e->items[k];
    add_filled(t, "<tr><td><a href=\"#$.@\">$: @</a></td>", e->experiment, c->id);
    add_filled(t, "<td>$</td><td>@</td>", c->seeds, c->tuning);
    add_filled(t, "<td>$</td><td>@</td></tr>\n", e->mode,
               *e->made.commit ? e->made.commit : "commit not told");
  }
}

static void add_statistics(page *p) {
  hvi_text_add(&p->text, "<table>\n<thead><tr><th>claim</th><th>seeds</th><th>tuning of rates</th>"
                         "<th>size</th><th>commit</th></tr></thead>\n<tbody>\n");
  for (size_t i = 0; i < p->count; i++) {
    add_grounds(&p->text, &p->list[i]);
    if (p->list[i].full) add_grounds(&p->text, p->list[i].full);
  }
  hvi_text_add(&p->text, "</tbody>\n</table>\n");
}

static const char *embedded(const char *name) {
  const hvi_embedded *f = hvi_embedded_page;
  while (f->name && strcmp(f->name, name) != 0) f++;
  return f->name ? f->text : "";
}

static void add_style(page *p) { hvi_text_add(&p->text, "%s", embedded("style")); }
static void add_script(page *p) { hvi_text_add(&p->text, "%s", embedded("curves")); }

static const struct {
  const char *name;
  void (*add)(page *p);
} parts[] = {{"style", add_style},     {"tally", add_tally},       {"run", add_run},
             {"summary", add_summary}, {"sections", add_sections}, {"statistics", add_statistics},
             {"script", add_script}};

hvi_status hvi_claims_page(const hvi_claims *list, size_t count, const char *folder,
                           hvi_error *err) {
  page p = {.list = list, .count = count, .folder = folder};
  for (const char *at = embedded("page"); *at;) {
    const char *end = strstr(at, "{{"), *close = end ? strstr(end, "}}") : NULL;
    hvi_text_add(&p.text, "%.*s", (int)(close ? (size_t)(end - at) : strlen(at)), at);
    for (size_t i = 0; close && i < sizeof parts / sizeof *parts; i++)
      if (strncmp(end + 2, parts[i].name, (size_t)(close - end - 2)) == 0) parts[i].add(&p);
    at = close ? close + 2 : "";
  }
  HVI_OWN char *path = hvi_path_join(folder, "index.html", "");
  const hvi_status status =
      path ? hvi_text_write(&p.text, path, err) : hvi_error_memory(err, "index.html");
  hvi_text_free(&p.text);
  return status;
}
