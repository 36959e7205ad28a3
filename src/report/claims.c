#include "report/claims.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hvi_judgement_name(hvi_judgement j) {
  static const char *const names[HVI_JUDGEMENT_COUNT] = {[HVI_NOT_JUDGED] = "not judged",
                                                         [HVI_HOLDS] = "holds",
                                                         [HVI_HOLDS_NOT] = "does not hold",
                                                         [HVI_NOT_DECIDED] = "not decided"};
  return (size_t)j < HVI_JUDGEMENT_COUNT ? names[j] : NULL;
}

/* A copy of old[count] with room for one more; old is freed. NULL, and old kept, without memory. */
static void *grow_by_one(void *old, size_t count, size_t size) {
  char *grown = hvi_alloc(count + 1, size);
  if (!grown) return NULL;
  if (count) memcpy(grown, old, count * size);
  hvi_free(old);
  return grown;
}

hvi_claim *hvi_claims_add(hvi_claims *claims, const char *id, const char *where, const char *text) {
  hvi_claim *c = hvi_alloc(1, sizeof *c);
  hvi_claim **items = c ? grow_by_one(claims->items, claims->count, sizeof *items) : NULL;
  if (!items) {
    hvi_free(c);
    claims->failed = true;
    return NULL;
  }
  snprintf(c->id, sizeof c->id, "%s", id);
  snprintf(c->where, sizeof c->where, "%s", where);
  snprintf(c->text, sizeof c->text, "%s", text);
  claims->items = items;
  claims->items[claims->count++] = c;
  return c;
}

void hvi_claim_measure(hvi_claim *c, const char *name, double value) {
  if (!c || c->measure_count == HVI_CLAIM_MEASURES) return;
  hvi_measure *m = &c->measures[c->measure_count++];
  snprintf(m->name, sizeof m->name, "%s", name);
  m->value = value;
}

void hvi_claim_judge(hvi_claim *c, bool holds) {
  if (c) c->judgement = holds ? HVI_HOLDS : HVI_HOLDS_NOT;
}

void hvi_claim_decide(hvi_claim *c, hvi_judgement judgement) {
  if (c) c->judgement = judgement;
}

void hvi_claim_note(hvi_claim *c, const char *format, ...) {
  if (!c) return;
  va_list args;
  va_start(args, format);
  vsnprintf(c->note, sizeof c->note, format, args);
  va_end(args);
}

void hvi_claims_figure(hvi_claims *claims, const char *name) {
  char(*figures)[64] = grow_by_one(claims->figures, claims->figure_count, sizeof *figures);
  if (!figures) {
    claims->failed = true;
    return;
  }
  snprintf(figures[claims->figure_count++], sizeof *figures, "%s", name);
  claims->figures = figures;
}

const hvi_claim *hvi_claims_find(const hvi_claims *claims, const char *id) {
  for (size_t i = 0; i < claims->count; i++)
    if (strcmp(claims->items[i]->id, id) == 0) return claims->items[i];
  return NULL;
}

size_t hvi_claims_tally(const hvi_claims *claims, hvi_judgement j) {
  size_t n = 0;
  for (size_t i = 0; i < claims->count; i++) n += claims->items[i]->judgement == j;
  return n;
}

void hvi_claims_clear(hvi_claims *claims) {
  for (size_t i = 0; i < claims->count; i++) hvi_free(claims->items[i]);
  hvi_free(claims->items);
  hvi_free(claims->figures);
  *claims = (hvi_claims){0};
}
