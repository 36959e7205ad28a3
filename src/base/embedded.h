/* Text files compiled into the library or the program (cmake/embed.cmake). */
#pragma once

#include <string.h>

typedef struct hvi_embedded {
  const char *name; /* the file's name without its ending */
  const char *text;
} hvi_embedded;

/* NULL: there is none of that name. */
static inline const char *hvi_embedded_find(const hvi_embedded *table, const char *name) {
  while (table->name && strcmp(table->name, name) != 0) table++;
  return table->text;
}

extern const hvi_embedded hvi_embedded_problems[];    /* problems/(*).yaml */
extern const hvi_embedded hvi_embedded_theory[];      /* help/theory/(*).txt */
extern const hvi_embedded hvi_embedded_models[];      /* models/(*).xml; the module */
extern const hvi_embedded hvi_embedded_experiments[]; /* experiments/(*).yaml; the program only */
extern const hvi_embedded hvi_embedded_kinds[];       /* experiments/kinds/(*).yaml; likewise */
extern const hvi_embedded hvi_embedded_man[];         /* man/(*).roff; likewise */
extern const hvi_embedded hvi_embedded_help[];        /* help/(*).txt; likewise */
extern const hvi_embedded hvi_embedded_completion[];  /* completion/(*); likewise */
extern const hvi_embedded hvi_embedded_page[];        /* page/(*); likewise */
