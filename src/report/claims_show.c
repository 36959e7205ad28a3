/* Claims for a terminal: a line each, cut to the width, or in full, wrapped to it. */
#include "base/base.h"
#include "report/claims.h"
#include "report/text.h"

enum { VERDICT = 13, GAP = 2, NARROWEST = 60, USUAL = 100 };

const char *hvi_claim_verdict(const hvi_claim *c) {
  if (c->theorem && c->judgement == HVI_HOLDS) return "verified";
  if (c->theorem && c->judgement == HVI_HOLDS_NOT) return "violated";
  return hvi_judgement_name(c->judgement);
}

char *hvi_claim_number_show(char text[HVI_CLAIM_NUMBER], const hvi_claim *c) {
  const hvi_claim_number n = hvi_claim_number_of(c);
  char value[HVI_NUMBER_SIZE], low[HVI_NUMBER_SIZE], high[HVI_NUMBER_SIZE];
  *text = '\0';
  if (!*n.name || c->judgement == HVI_NEEDS_FULL) return text;
  hvi_number_short(value, n.value, 3);
  if (isnan(n.low) && isnan(n.high))
    snprintf(text, HVI_CLAIM_NUMBER, "%s", value);
  else
    snprintf(text, HVI_CLAIM_NUMBER, "%s [%s, %s]", value, hvi_number_short(low, n.low, 3),
             hvi_number_short(high, n.high, 3));
  return text;
}

/* "16 theorems verified, 0 violated; 81 claims: 67 hold, 3 do not hold, 11 not judged". What a
 * correct program cannot violate is counted apart. */
void hvi_claims_summary(hvi_text *t, const hvi_claims *list, size_t count) {
  size_t theorems[HVI_JUDGEMENT_COUNT], claims[HVI_JUDGEMENT_COUNT], verified = 0, all = 0;
  for (int j = 0; j < HVI_JUDGEMENT_COUNT; j++) {
    verified += theorems[j] = hvi_claims_tally(list, count, true, (hvi_judgement)j);
    all += claims[j] = hvi_claims_tally(list, count, false, (hvi_judgement)j);
  }
  if (verified) {
    hvi_text_add(t, "%zu theorem%s verified, %zu violated", theorems[HVI_HOLDS],
                 theorems[HVI_HOLDS] == 1 ? "" : "s", theorems[HVI_HOLDS_NOT]);
    const size_t open = verified - theorems[HVI_HOLDS] - theorems[HVI_HOLDS_NOT];
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

/* One line: verdict, text, number; of what needs the full size, what that has shown. */
static void add_line(hvi_text *t, const hvi_claims *claims, const hvi_claim *c, size_t width) {
  char number[HVI_CLAIM_NUMBER];
  const char *verdict = hvi_claim_verdict(c), *text = c->text;
  const hvi_claim *full = claims->full ? hvi_claims_find(claims->full, c->id) : NULL;
  hvi_text end = {0};
  if (c->judgement == HVI_NEEDS_FULL && full)
    hvi_text_add(&end, "full: %s%s", hvi_claim_verdict(full), *claims->outdated ? " (old)" : "");
  hvi_text_add(&end, "%s%s", end.length ? " " : "",
               hvi_claim_number_show(number, full && end.length ? full : c));
  HVI_OWN char *last = hvi_text_take(&end);
  if (!last) t->failed = true;
  const size_t wide = last ? hvi_text_width(last) : 0, rest = width - VERDICT - 3 * GAP;
  const size_t room = rest > wide + 20 ? rest - wide : 20, before = t->length + VERDICT + 2 * GAP;
  const bool cut = hvi_text_width(text) > room;
  const char *level = strrchr(text, '('); /* of `each`: what tells such claims apart stays */
  if (!cut || !level || text[strlen(text) - 1] != ')' || 2 * strlen(level) > room) level = "";
  hvi_text_pad(t, ' ', GAP);
  add_cell(t, &verdict, VERDICT, GAP);
  add_cell(t, &text, cut ? room - 4 - hvi_text_width(level) : room, 0);
  if (cut) hvi_text_add(t, "...%s%s", *level ? " " : "", level);
  if (wide && !t->failed) hvi_text_pad(t, ' ', room + GAP - hvi_text_width(t->data + before));
  hvi_text_add(t, "%s\n", last ? last : "");
}

/* Theorems that are verified are counted, and listed with the details alone. */
static void add_experiment(hvi_text *t, const hvi_claims *claims, size_t width, bool details) {
  size_t verified = 0;
  hvi_text_add(t, "%s: %s (%s, %.1f s)\n", claims->experiment, claims->title, claims->mode,
               claims->seconds);
  if (!claims->count) hvi_text_add(t, "  no claims to judge; the figures are in its folder\n");
  for (size_t i = 0; i < claims->count; i++) {
    const hvi_claim *c = claims->items[i];
    const bool counted = !details && c->theorem && c->judgement == HVI_HOLDS;
    verified += counted;
    if (!details && !counted) add_line(t, claims, c, width);
    if (!details) continue;
    HVI_OWN char *measured = measures_text(c);
    if (!measured) t->failed = true;
    add_row(t, hvi_claim_verdict(c), c->text, measured ? measured : "", width);
    if (c->judgement != HVI_HOLDS) add_note(t, c->note, width);
  }
  if (verified) hvi_text_add(t, "  %zu theorem%s verified\n", verified, verified > 1 ? "s" : "");
  hvi_text_add(t, "\n");
}

char *hvi_claims_table(const hvi_claims *list, size_t count, size_t width, bool details) {
  hvi_text t = {0};
  if (width == 0) width = USUAL;
  if (width < NARROWEST) width = NARROWEST;
  for (size_t i = 0; i < count; i++) add_experiment(&t, &list[i], width, details);
  hvi_claims_summary(&t, list, count);
  hvi_text_add(&t, "\n");
  return hvi_text_take(&t);
}
