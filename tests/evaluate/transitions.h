/* Transitions of a little process that every test of evaluations can afford. */
#ifndef HVI_TESTS_EVALUATE_TRANSITIONS_H
#define HVI_TESTS_EVALUATE_TRANSITIONS_H

#include "support/check.h"

#include <hvi/evaluate.h>

enum { ROWS = 400, OBS = 3 };

typedef struct transitions {
  hvi_dataset data;
  float observation[ROWS][OBS], next[ROWS][OBS], action[ROWS], reward[ROWS];
  bool terminated[ROWS], truncated[ROWS];
} transitions;

/* s' = 0.8 s + noise, r = s1 - s2 / 2 + noise; every 50th row ends an episode, every 100th for
 * good.
 */
static inline void transitions_init(transitions *t) {
  hvi_rng rng = hvi_rng_new(3, "tests", 0);
  memset(t, 0, sizeof *t);
  for (size_t i = 0; i < ROWS; i++) {
    for (size_t j = 0; j < OBS; j++) {
      const bool begins = i % 50 == 0;
      t->observation[i][j] = begins ? (float)hvi_rng_normal(&rng) : t->next[i - 1][j];
      t->next[i][j] = 0.8F * t->observation[i][j] + 0.5F * (float)hvi_rng_normal(&rng);
    }
    t->reward[i] = t->observation[i][0] - 0.5F * t->observation[i][1] + 0.3F +
                   0.1F * (float)hvi_rng_normal(&rng);
    t->terminated[i] = i % 100 == 99;
    t->truncated[i] = i % 100 == 49;
  }
  t->data = (hvi_dataset){.count = ROWS,
                          .obs = OBS,
                          .act = 1,
                          .observation = t->observation[0],
                          .action = t->action,
                          .reward = t->reward,
                          .next = t->next[0],
                          .terminated = t->terminated,
                          .truncated = t->truncated};
}

#endif
