/* The closing table: verdict, claim and figures side by side, wrapped to the width. */
#include "base/memory.h"
#include "base/number.h"
#include "report/claims.h"
#include "report/text.h"

#include <string.h>

enum { VERDICT = 13, GAP = 2, NARROWEST = 60, USUAL = 100 };

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

/* Adds one line of *s, padded to width, and moves *s past it. */
static void add_cell(hvi_text *t, const char **s, size_t width, bool pad) {
  size_t bytes = line_bytes(*s, width);
  size_t before = t->length;
  hvi_text_add(t, "%.*s", (int)bytes, *s);
  if (pad && !t->failed) {
    size_t shown = hvi_text_width(t->data ? t->data + before : "");
    if (shown < width) hvi_text_pad(t, ' ', width - shown);
  }
  *s += bytes;
  while (**s == ' ') (*s)++;
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
  size_t claim_width = (width - VERDICT - 3 * GAP) / 2;
  size_t measured_width = width - VERDICT - 3 * GAP - claim_width;
  do {
    size_t start = t->length;
    hvi_text_pad(t, ' ', GAP);
    add_cell(t, &verdict, VERDICT, true);
    hvi_text_pad(t, ' ', GAP);
    add_cell(t, &claim, claim_width, true);
    hvi_text_pad(t, ' ', GAP);
    add_cell(t, &measured, measured_width, false);
    while (!t->failed && t->length > start && t->data[t->length - 1] == ' ')
      t->data[--t->length] = '\0';
    hvi_text_add(t, "\n");
  } while (*claim || *measured);
}

static void add_note(hvi_text *t, const char *note, size_t width) {
  while (*note) {
    hvi_text_pad(t, ' ', VERDICT + 2 * GAP);
    add_cell(t, &note, width - VERDICT - 2 * GAP, false);
    hvi_text_add(t, "\n");
  }
}

static void add_experiment(hvi_text *t, const hvi_claims *claims, size_t width) {
  hvi_text_add(t, "%s: %s (%s, %.1f s)\n", claims->experiment, claims->title, claims->mode,
               claims->seconds);
  if (!claims->count) hvi_text_add(t, "  no claims to judge; the figures are in its folder\n");
  for (size_t i = 0; i < claims->count; i++) {
    const hvi_claim *c = claims->items[i];
    char *measured = measures_text(c);
    if (!measured) t->failed = true;
    add_row(t, hvi_judgement_name(c->judgement), c->text, measured ? measured : "", width);
    if (c->judgement != HVI_HOLDS) add_note(t, c->note, width);
    hvi_free(measured);
  }
  hvi_text_add(t, "\n");
}

char *hvi_claims_table(const hvi_claims *list, size_t count, size_t width) {
  hvi_text t = {0};
  size_t tally[HVI_JUDGEMENT_COUNT] = {0}, all = 0;
  if (width == 0) width = USUAL;
  if (width < NARROWEST) width = NARROWEST;
  for (size_t i = 0; i < count; i++) {
    add_experiment(&t, &list[i], width);
    for (size_t j = 0; j < HVI_JUDGEMENT_COUNT; j++)
      tally[j] += hvi_claims_tally(&list[i], (hvi_judgement)j);
    all += list[i].count;
  }
  hvi_text_add(&t, "%zu claims: %zu hold, %zu do not hold", all, tally[HVI_HOLDS],
               tally[HVI_HOLDS_NOT]);
  if (tally[HVI_NOT_DECIDED]) hvi_text_add(&t, ", %zu not decided", tally[HVI_NOT_DECIDED]);
  hvi_text_add(&t, ", %zu not judged\n", tally[HVI_NOT_JUDGED]);
  return hvi_text_take(&t);
}
