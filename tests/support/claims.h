/* A claim by its id. */
#pragma once

#include "report/claims.h"

#include <string.h>

/* NULL: there is none. */
static inline const hvi_claim *find_claim(const hvi_claims *claims, const char *id) {
  for (size_t i = 0; i < claims->count; i++)
    if (strcmp(claims->items[i]->id, id) == 0) return claims->items[i];
  return NULL;
}
