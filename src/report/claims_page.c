/* OUT/index.html: one static page, everything it needs beside it, nothing from elsewhere. */
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "report/claims.h"
#include "report/text.h"

#include <string.h>
#include <unistd.h>

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
  for (; *s; s++) {
    switch (*s) {
    case '&':
      hvi_text_add(t, "&amp;");
      break;
    case '<':
      hvi_text_add(t, "&lt;");
      break;
    case '>':
      hvi_text_add(t, "&gt;");
      break;
    case '"':
      hvi_text_add(t, "&quot;");
      break;
    case '\'':
      hvi_text_add(t, "&#39;");
      break;
    default:
      hvi_text_pad(t, *s, 1);
    }
  }
}

/* A text in which each '$' stands for the experiment's ID and each '@' for the name, escaped. In an
 * address they are steps of a path below the page: what would lead elsewhere comes out as one that
 * leads nowhere. */
static void add_filled(hvi_text *t, const char *text, const char *id, const char *name) {
  for (; *text; text++) {
    if (*text == '$')
      add_escaped(t, id);
    else if (*text == '@')
      add_escaped(t, name);
    else
      hvi_text_pad(t, *text, 1);
  }
}

static void add_claim(hvi_text *t, const hvi_claim *c) {
  static const char *const classes[] = {[HVI_NOT_JUDGED] = "open",
                                        [HVI_HOLDS] = "yes",
                                        [HVI_HOLDS_NOT] = "no",
                                        [HVI_NOT_DECIDED] = "open"};
  hvi_text_add(t, "<tr><td class=\"v %s\">%s</td><td>", classes[c->judgement],
               hvi_judgement_name(c->judgement));
  add_escaped(t, c->text);
  hvi_text_add(t, "<div class=\"where\">");
  add_escaped(t, c->where);
  hvi_text_add(t, "</div>");
  if (c->note[0]) hvi_text_add(t, "<div class=\"note\">");
  add_escaped(t, c->note);
  if (c->note[0]) hvi_text_add(t, "</div>");
  hvi_text_add(t, "</td><td class=\"m\">");
  for (size_t i = 0; i < c->measure_count; i++) {
    char number[HVI_NUMBER_SIZE];
    hvi_text_add(t, "<div><span>");
    add_escaped(t, c->measures[i].name);
    hvi_text_add(t, "</span><span>%s</span></div>",
                 hvi_number_short(number, c->measures[i].value, 3));
  }
  hvi_text_add(t, "</td></tr>\n");
}

static bool exists(const char *folder, const char *id, const char *name, const char *ending) {
  hvi_text path = {0};
  hvi_text_add(&path, "%s/%s/%s%s", folder, id, name, ending);
  bool there = !path.failed && access(path.data, R_OK) == 0;
  hvi_text_free(&path);
  return there;
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
  for (size_t i = 0; i < c->figure_count; i++) add_figure(t, c, c->figures[i], folder);
  if (c->count)
    hvi_text_add(t, "<table>\n<tr><th>verdict</th><th>claim</th><th>measured</th></tr>\n");
  for (size_t i = 0; i < c->count; i++) add_claim(t, c->items[i]);
  hvi_text_add(t, "%s</section>\n", c->count ? "</table>\n" : "");
}

static void add_opening(hvi_text *t, const hvi_claims *list, size_t count) {
  size_t tally[HVI_JUDGEMENT_COUNT] = {0};
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < HVI_JUDGEMENT_COUNT; j++)
      tally[j] += hvi_claims_tally(&list[i], (hvi_judgement)j);
  hvi_text_add(t,
               "<h1>Hidden variational inequalities, reproduced</h1>\n<p class=\"lead\">"
               "<span class=\"yes\">%zu claims hold</span>, <span class=\"no\">%zu do not</span>, "
               "%zu are not decided, %zu not judged.</p>\n<nav>",
               tally[HVI_HOLDS], tally[HVI_HOLDS_NOT], tally[HVI_NOT_DECIDED],
               tally[HVI_NOT_JUDGED]);
  for (size_t i = 0; i < count; i++) add_filled(t, "<a href=\"#$\">$</a>", list[i].experiment, "");
  hvi_text_add(t, "</nav>\n");
}

hvi_status hvi_claims_page(const hvi_claims *list, size_t count, const char *folder,
                           hvi_error *err) {
  hvi_text t = {0};
  hvi_text_add(&t, "%s", head);
  add_opening(&t, list, count);
  for (size_t i = 0; i < count; i++) add_section(&t, &list[i], folder);
  hvi_text_add(&t, "</body>\n</html>\n");
  char *path = hvi_path_join(folder, "index.html", "");
  hvi_status status = path ? hvi_text_write(&t, path, err) : hvi_error_memory(err, "index.html");
  hvi_free(path);
  hvi_text_free(&t);
  return status;
}
