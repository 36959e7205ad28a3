/* The paper's statements about hidden rock-paper-scissors, judged on one game. */
#ifndef HVI_EXPERIMENTS_RPS_JUDGE_H
#define HVI_EXPERIMENTS_RPS_JUDGE_H

#include <stdbool.h>
#include <stddef.h>

enum { HVI_RPS_METHODS = 6, HVI_RPS_CLAIMS = 7, HVI_RPS_EVERY = 10 };

/* Labels of the methods, in the order of hvi_rps_game.dist2. */
extern const char *const hvi_rps_methods[HVI_RPS_METHODS];

typedef struct hvi_rps_claim {
  const char *id, *column; /* of the claim; of the scan's table */
  const char *text;
} hvi_rps_claim;

extern const hvi_rps_claim hvi_rps_claims[HVI_RPS_CLAIMS];

/* Squared distances of each method, every HVI_RPS_EVERY outer iterations. */
typedef struct hvi_rps_game {
  size_t rows;
  const double *dist2[HVI_RPS_METHODS];
} hvi_rps_game;

typedef struct hvi_rps_measures {
  double end[HVI_RPS_METHODS];   /* last squared distance */
  double slope[HVI_RPS_METHODS]; /* decades per outer iteration */
  double r2[HVI_RPS_METHODS];    /* of that line */
  double rise[HVI_RPS_METHODS];  /* largest factor by which it grew again */
} hvi_rps_measures;

hvi_rps_measures hvi_rps_measure(const hvi_rps_game *game);

/* Which claims hold. Where the claim says better or worse, the factor must be at least margin. */
void hvi_rps_judge(bool holds[HVI_RPS_CLAIMS], const hvi_rps_measures *m, double margin);

#endif
