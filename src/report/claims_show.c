/* Claims for people: the closing table, wrapped to the width, and OUT/index.html, one static page
 * with everything it needs beside it and nothing from elsewhere. */
#include "base/base.h"
#include "base/number.h"
#include "report/claims.h"
#include "report/text.h"

#include <unistd.h>

enum { VERDICT = 13, GAP = 2, NARROWEST = 60, USUAL = 100 };

/* A theorem is verified, a claim holds. */
static const char *verdict_of(const hvi_claim *c) {
  if (c->theorem && c->judgement == HVI_HOLDS) return "verified";
  if (c->theorem && c->judgement == HVI_HOLDS_NOT) return "violated";
  return hvi_judgement_name(c->judgement);
}

/* "16 theorems verified, 0 violated; 81 claims: 67 hold, 3 do not hold, 11 not judged". What a
 * correct program cannot violate is counted apart. */
static void add_summary(hvi_text *t, const hvi_claims *list, size_t count) {
  size_t theorems[HVI_JUDGEMENT_COUNT], claims[HVI_JUDGEMENT_COUNT], verified = 0, all = 0;
  for (int j = 0; j < HVI_JUDGEMENT_COUNT; j++) {
    verified += theorems[j] = hvi_claims_tally(list, count, true, (hvi_judgement)j);
    all += claims[j] = hvi_claims_tally(list, count, false, (hvi_judgement)j);
  }
  if (verified) {
    hvi_text_add(t, "%zu theorems verified, %zu violated", theorems[HVI_HOLDS],
                 theorems[HVI_HOLDS_NOT]);
    const size_t open = theorems[HVI_NOT_DECIDED] + theorems[HVI_NOT_JUDGED];
    if (open) hvi_text_add(t, ", %zu not judged", open);
    hvi_text_add(t, "; ");
  }
  hvi_text_add(t, "%zu claims: %zu hold, %zu do not hold", all, claims[HVI_HOLDS],
               claims[HVI_HOLDS_NOT]);
  if (claims[HVI_NEEDS_FULL]) hvi_text_add(t, ", %zu need --full", claims[HVI_NEEDS_FULL]);
  if (claims[HVI_NOT_DECIDED]) hvi_text_add(t, ", %zu not decided", claims[HVI_NOT_DECIDED]);
  hvi_text_add(t, ", %zu not judged", claims[HVI_NOT_JUDGED]);
}

/* How many bytes of s go on a line of `width` columns: whole words, or a part of one too long. */
static size_t line_bytes(const char *s, size_t width) {
  size_t columns = 0, last_space = 0, i = 0;
  for (; s[i]; i++) {
    if (s[i] == ' ') last_space = i;
    bool starts = ((unsigned char)s[i] & 0xC0) != 0x80;
    if (starts && ++columns > width) return last_space ? last_space : i;
  }
  return i;
}

/* Adds one line of *s, padded to width and a gap unless that is 0, and moves *s past it. */
static void add_cell(hvi_text *t, const char **s, size_t width, size_t gap) {
  const size_t bytes = line_bytes(*s, width), before = t->length;
  hvi_text_add(t, "%.*s", (int)bytes, *s);
  if (gap && !t->failed) hvi_text_pad(t, ' ', width + gap - hvi_text_width(t->data + before));
  *s += bytes;
  *s += strspn(*s, " ");
}

static char *measures_text(const hvi_claim *c) {
  hvi_text t = {0};
  char number[HVI_NUMBER_SIZE];
  for (size_t i = 0; i < c->measure_count; i++)
    hvi_text_add(&t, "%s%s %s", i ? "; " : "", c->measures[i].name,
                 hvi_number_short(number, c->measures[i].value, 3));
  return hvi_text_take(&t);
}

static void add_row(hvi_text *t, const char *verdict, const char *claim, const char *measured,
                    size_t width) {
  const size_t rest = width - VERDICT - 3 * GAP;
  do {
    const size_t start = t->length;
    hvi_text_pad(t, ' ', GAP);
    add_cell(t, &verdict, VERDICT, GAP);
    add_cell(t, &claim, rest / 2, GAP);
    add_cell(t, &measured, rest - rest / 2, 0);
    while (!t->failed && t->length > start && t->data[t->length - 1] == ' ')
      t->data[--t->length] = '\0';
    hvi_text_add(t, "\n");
  } while (*claim || *measured);
}

static void add_note(hvi_text *t, const char *note, size_t width) {
  while (*note) {
    hvi_text_pad(t, ' ', VERDICT + 2 * GAP);
    add_cell(t, &note, width - VERDICT - 2 * GAP, 0);
    hvi_text_add(t, "\n");
  }
}

static void add_experiment(hvi_text *t, const hvi_claims *claims, size_t width) {
  hvi_text_add(t, "%s: %s (%s, %.1f s)\n", claims->experiment, claims->title, claims->mode,
               claims->seconds);
  if (!claims->count) hvi_text_add(t, "  no claims to judge; the figures are in its folder\n");
  for (size_t i = 0; i < claims->count; i++) {
    const hvi_claim *c = claims->items[i];
    HVI_OWN char *measured = measures_text(c);
    if (!measured) t->failed = true;
    add_row(t, verdict_of(c), c->text, measured ? measured : "", width);
    if (c->judgement != HVI_HOLDS) add_note(t, c->note, width);
  }
  hvi_text_add(t, "\n");
}

char *hvi_claims_table(const hvi_claims *list, size_t count, size_t width) {
  hvi_text t = {0};
  if (width == 0) width = USUAL;
  if (width < NARROWEST) width = NARROWEST;
  for (size_t i = 0; i < count; i++) add_experiment(&t, &list[i], width);
  add_summary(&t, list, count);
  hvi_text_add(&t, "\n");
  return hvi_text_take(&t);
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>hvi reproduce</title>\n<style>\n"
    ":root{color-scheme:light;--ink:#1c2430;--soft:#5c6675;--line:#e3e6ea;--yes:#00724d;"
    "--no:#b3400a;--open:#5c6675}\n"
    "*{box-sizing:border-box}\n"
    "body{font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif;"
    "color:var(--ink);background:#fafbfc;max-width:76rem;margin:0 auto;padding:2.5rem 1.5rem}\n"
    "h1{font-size:1.7rem;margin:0 0 .3rem}\nh2{font-size:1.25rem;margin:0}\n"
    ".lead,.meta{color:var(--soft);margin:.2rem 0 1rem}\n.meta{font-size:.88rem}\n"
    "nav a{margin-right:1.1rem}\na{color:#0059a3;text-decoration:none}\n"
    "a:hover{text-decoration:underline}\n"
    "section{background:#fff;border:1px solid var(--line);border-radius:10px;"
    "padding:1.4rem 1.6rem;margin:1.6rem 0}\n"
    "figure{margin:1rem 0;overflow-x:auto}\nfigure img{max-width:100%;height:auto}\n"
    "figcaption{font-size:.85rem;color:var(--soft)}\n"
    "table{border-collapse:collapse;width:100%;font-size:.93rem}\n"
    "th{text-align:left;color:var(--soft);font-weight:600;border-bottom:2px solid var(--line)}\n"
    "th,td{padding:.5rem .7rem .5rem 0;vertical-align:top}\n"
    "td{border-bottom:1px solid var(--line)}\ntd.v{white-space:nowrap;font-weight:600}\n"
    ".yes{color:var(--yes)}.no{color:var(--no)}.open{color:var(--open)}\n"
    ".where,.note{color:var(--soft);font-size:.87rem}\n"
    "td.m{font-variant-numeric:tabular-nums;min-width:18rem}\n"
    "td.m div{display:flex;justify-content:space-between;gap:1rem}\n"
    "</style>\n</head>\n<body>\n";

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

static void add_claim(hvi_text *t, const hvi_claim *c) {
  static const char *const classes[] = {[HVI_NOT_JUDGED] = "open",
                                        [HVI_HOLDS] = "yes",
                                        [HVI_HOLDS_NOT] = "no",
                                        [HVI_NOT_DECIDED] = "open",
                                        [HVI_NEEDS_FULL] = "open"};
  char number[HVI_NUMBER_SIZE];
  add_filled(t, "<tr><td class=\"v $\">@</td><td>", classes[c->judgement], verdict_of(c));
  add_filled(t, "$<div class=\"where\">@</div>", c->text, c->where);
  if (c->note[0]) add_filled(t, "<div class=\"note\">$</div>", c->note, "");
  hvi_text_add(t, "</td><td class=\"m\">");
  for (size_t i = 0; i < c->measure_count; i++)
    add_filled(t, "<div><span>$</span><span>@</span></div>", c->measures[i].name,
               hvi_number_short(number, c->measures[i].value, 3));
  hvi_text_add(t, "</td></tr>\n");
}

static bool exists(const char *folder, const char *id, const char *name, const char *ending) {
  HVI_OWN_BY(hvi_text_free) hvi_text path = {0};
  hvi_text_add(&path, "%s/%s/%s%s", folder, id, name, ending);
  return !path.failed && access(path.data, R_OK) == 0;
}

/* A picture that could not be drawn is named all the same: its script is there. */
static void add_figure(hvi_text *t, const hvi_claims *c, const char *name, const char *folder) {
  const char *id = c->experiment;
  hvi_text_add(t, "<figure>");
  if (exists(folder, id, name, ".svg"))
    add_filled(t, "<a href=\"./$/@.svg\"><img src=\"./$/@.svg\" alt=\"@\"></a>", id, name);
  add_filled(t, "<figcaption><a href=\"./$/@.gp\">@.gp</a>", id, name);
  if (exists(folder, id, name, ".png"))
    add_filled(t, " &middot; <a href=\"./$/@.png\">png</a>", id, name);
  hvi_text_add(t, "</figcaption></figure>\n");
}

static void add_section(hvi_text *t, const hvi_claims *c, const char *folder) {
  add_filled(t, "<section id=\"$\">\n<h2>@</h2>\n<p class=\"meta\">$ &middot; ", c->experiment,
             c->title);
  add_filled(t, "@ &middot; ", c->experiment, c->mode);
  hvi_text_add(t, "%.1f s", c->seconds);
  add_filled(t,
             " &middot; <a href=\"./$/\">data</a> &middot; <a "
             "href=\"./$/claims.json\">claims.json</a></p>\n",
             c->experiment, "");
  for (size_t i = 0; i < c->figure_count; i++) add_figure(t, c, c->figures[i].name, folder);
  if (c->count)
    hvi_text_add(t, "<table>\n<tr><th>verdict</th><th>claim</th><th>measured</th></tr>\n");
  for (size_t i = 0; i < c->count; i++) add_claim(t, c->items[i]);
  hvi_text_add(t, "%s</section>\n", c->count ? "</table>\n" : "");
}

hvi_status hvi_claims_page(const hvi_claims *list, size_t count, const char *folder,
                           hvi_error *err) {
  HVI_OWN_BY(hvi_text_free) hvi_text t = {0};
  hvi_text_add(&t, "%s<h1>Hidden variational inequalities, reproduced</h1>\n<p class=\"lead\">",
               head);
  add_summary(&t, list, count);
  hvi_text_add(&t, "</p>\n<nav>");
  for (size_t i = 0; i < count; i++) add_filled(&t, "<a href=\"#$\">$</a>", list[i].experiment, "");
  hvi_text_add(&t, "</nav>\n");
  for (size_t i = 0; i < count; i++) add_section(&t, &list[i], folder);
  hvi_text_add(&t, "</body>\n</html>\n");
  HVI_OWN char *path = hvi_path_join(folder, "index.html", "");
  return path ? hvi_text_write(&t, path, err) : hvi_error_memory(err, "index.html");
}
