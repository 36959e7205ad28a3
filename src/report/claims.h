/*
 * Claims: what the paper says, what was measured, and whether it holds.
 *
 *   hvi_claim *c = hvi_claims_add(claims, "phgd-linear", "Section 5.1", "PHGD is linear.");
 *   hvi_claim_measure(c, "slope per iteration", slope);
 *   hvi_claim_decide(c, slope < 0 && r2 > 0.99 ? HVI_HOLDS : HVI_HOLDS_NOT);
 *   hvi_claim_note(c, "fit over iterations %zu to %zu", first, last);
 *
 * A claim is judged only from numbers that it lists. Running out of memory is remembered and
 * reported by hvi_claims_write, so that a list of claims reads as above; the calls on a NULL claim
 * do nothing.
 */
#pragma once

#include <hvi/error.h>

#include <stdbool.h>
#include <stddef.h>

typedef enum hvi_judgement {
  HVI_NOT_JUDGED, /* nothing to compare with, or not comparable; the note says why */
  HVI_HOLDS,
  HVI_HOLDS_NOT,
  HVI_NOT_DECIDED, /* the intervals leave it open */
  HVI_NEEDS_FULL,  /* not a question that the quick size can answer */
  HVI_JUDGEMENT_COUNT
} hvi_judgement;

/* "holds", "does not hold", "not judged", "not decided", "needs --full" */
const char *hvi_judgement_name(hvi_judgement j);

enum { HVI_CLAIM_MEASURES = 48 };

typedef struct hvi_measure {
  char name[64]; /* with its unit where it has one */
  double value;  /* NaN where there is none */
} hvi_measure;

/* The one number that a summary shows. */
typedef struct hvi_claim_number {
  char name[64];           /* empty: the claim has none */
  double value, low, high; /* the ends of its interval are NaN where there is none */
} hvi_claim_number;

typedef struct hvi_claim {
  char id[64];
  char where[96]; /* in the paper */
  char text[384]; /* the claim, in our words */
  char note[512];
  char seeds[64];   /* "20 seeds, 1 to 20" */
  char tuning[404]; /* how its rates were chosen; empty: nothing to choose, or not told */
  bool theorem;     /* verified: a correct program cannot violate it */
  hvi_claim_number number;
  hvi_judgement judgement;
  size_t measure_count;
  hvi_measure measures[HVI_CLAIM_MEASURES];
} hvi_claim;

enum { HVI_CLAIM_WORDS = 600 };

/* A figure that was drawn, or a whole experiment: what the paper says of it, what it shows. */
typedef struct hvi_claim_figure {
  char name[64]; /* without ending */
  char paper[HVI_CLAIM_WORDS], shows[HVI_CLAIM_WORDS];
} hvi_claim_figure;

/* By what a result was made. */
typedef struct hvi_made {
  char version[32], commit[64], command[256], date[32], machine[160];
} hvi_made;

/* The result of one experiment: its claims, and the figures it drew. */
typedef struct hvi_claims {
  char experiment[64];    /* its ID */
  char title[160];        /* one line */
  char mode[16];          /* "quick" or "full" */
  char settings_hash[32]; /* of everything that decides the result */
  char levels[96];        /* of instructions that it was computed with, '+' between */
  bool checked;           /* of what was read: it had a checksum, and the right one */
  double seconds;         /* the whole experiment took */
  size_t count;
  hvi_claim **items;
  hvi_made made;
  char paper[HVI_CLAIM_WORDS], shows[HVI_CLAIM_WORDS]; /* of all of it */
  size_t figure_count;
  hvi_claim_figure *figures;
  struct hvi_claims *full; /* the shipped result at full size, for comparison; NULL: none */
  char outdated[200];      /* why that one is out of date; empty: it is not */
  bool failed;             /* no memory: the list is incomplete */
} hvi_claims;

hvi_claim *hvi_claims_add(hvi_claims *claims, const char *id, const char *where, const char *text);
void hvi_claim_measure(hvi_claim *c, const char *name, double value);
void hvi_claim_decide(hvi_claim *c, hvi_judgement judgement);
void hvi_claim_note(hvi_claim *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Texts may be NULL. */
void hvi_claims_figure(hvi_claims *claims, const char *name, const char *paper, const char *shows);
/* A measure, with its interval where that was measured. */
hvi_claim_number hvi_claim_number_at(const hvi_claim *c, size_t measure);
/* The one that is given; otherwise the first ratio or difference that was measured with an interval,
 * otherwise the first measure. */
hvi_claim_number hvi_claim_number_of(const hvi_claim *c);
/* The claim with this id; NULL: none. */
const hvi_claim *hvi_claims_find(const hvi_claims *claims, const char *id);
/* How many theorems, or claims that are none, were judged so. */
size_t hvi_claims_tally(const hvi_claims *list, size_t count, bool theorem, hvi_judgement j);
/* Empties the list; the struct itself is the caller's. */
void hvi_claims_clear(hvi_claims *claims);

/* claims.json. Reading is for runs that resume: a file of another shape is HVI_ERROR_INPUT. */
hvi_status hvi_claims_write(const hvi_claims *claims, const char *path, hvi_error *err);
struct json_t *hvi_claims_json(const hvi_claims *claims); /* without its checksum */
hvi_status hvi_claims_read(hvi_claims *claims, const char *path, hvi_error *err);

/* The closing table: a line each, or all measures and notes; at most `width` columns wide (0: 100).
 * hvi_free it; NULL without memory. */
char *hvi_claims_table(const hvi_claims *list, size_t count, size_t width, bool details);
/* Adds "16 theorems verified, 0 violated; 81 claims: 67 hold, ...": what a correct program cannot
 * violate is counted apart. */
struct hvi_text;
void hvi_claims_summary(struct hvi_text *t, const hvi_claims *list, size_t count);
/* OUT/index.html: the report on all experiments. It stands alone: its style and its script (page/) are
 * in it, pictures and data lie below its folder, and nothing is from elsewhere. page.c */
hvi_status hvi_claims_page(const hvi_claims *list, size_t count, const char *folder,
                           hvi_error *err);
/* The judgement's name; a theorem is verified or violated. */
const char *hvi_claim_verdict(const hvi_claim *c);
/* "0.086 [0.061, 0.12]", empty where there is nothing to show. Returns text. */
enum { HVI_CLAIM_NUMBER = 112 };
char *hvi_claim_number_show(char text[HVI_CLAIM_NUMBER], const hvi_claim *c);
