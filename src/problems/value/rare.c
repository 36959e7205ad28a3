/*
 * Which of the rows so far have rare states: chunks of rows that follow each other, by how far their
 * states are from the mean of all,
 *
 *   rarity = mean over the chunk's rows and the entries of a state of ((s - mean) / spread)^2.
 *
 * A class of states that is seldom visited and hardly left (a robot on its back, in one episode of a
 * hundred) fills whole chunks: on Ant these have 10 to 18, others up to 2. Means over chunks are what
 * tells them apart. The largest single states of ordinary chunks are as far off as theirs.
 */
#include "base/base.h"
#include "num/vec.h"
#include "problems/value/value.h"

enum { SHORTEST = 16, SPARSE = 4 }; /* rows of a chunk; every so manieth is looked at */

/* Four to a batch, within limits, so that the first one has several. */
size_t hvi_value_chunk(const hvi_value *v) {
  const size_t quarter = (v->spec.batch - v->spec.replay) / 4;
  return quarter < SHORTEST ? SHORTEST : quarter > HVI_NET_ROWS ? HVI_NET_ROWS : quarter;
}

void hvi_value_place_rare(const hvi_value *v, hvi_value_rare *r, size_t most, hvi_arena *arena) {
  r->rarity = hvi_arena_take(arena, most);
  r->chunk = (size_t *)(void *)hvi_arena_take(arena, most);
  r->mean = hvi_arena_take(arena, v->obs);
  r->unit = hvi_arena_take(arena, v->obs);
}

static void find_spread(const hvi_value *v, hvi_value_rare *r, size_t rows) {
  const size_t obs = v->obs;
  const double share = 1.0 / (double)((rows + SPARSE - 1) / SPARSE);
  hvi_vec_zero(r->mean, obs);
  hvi_vec_zero(r->unit, obs);
  for (size_t i = 0; i < rows; i += SPARSE)
    for (size_t j = 0; j < obs; j++) {
      const double x = (double)v->spec.data->observation[i * obs + j];
      r->mean[j] += share * x;
      r->unit[j] += share * x * x;
    }
  for (size_t j = 0; j < obs; j++) {
    const double variance = r->unit[j] - r->mean[j] * r->mean[j];
    r->unit[j] = variance > 1e-12 * r->unit[j] ? 1.0 / variance : 0.0;
  }
}

static double rarity_of(const hvi_value *v, const hvi_value_rare *r, size_t first, size_t end) {
  const size_t obs = v->obs;
  double sum = 0.0;
  for (size_t i = first; i < end; i += SPARSE)
    for (size_t j = 0; j < obs; j++) {
      const double away = (double)v->spec.data->observation[i * obs + j] - r->mean[j];
      sum += away * away * r->unit[j];
    }
  return sum / (double)((end - first + SPARSE - 1) / SPARSE);
}

/* By insertion into a list of `most`. */
void hvi_value_find_rarest(const hvi_value *v, hvi_value_rare *r, size_t rows, size_t length,
                           size_t most) {
  find_spread(v, r, rows);
  for (size_t c = 0; c * length < rows; c++) {
    const size_t end = (c + 1) * length < rows ? (c + 1) * length : rows;
    const double rarity = rarity_of(v, r, c * length, end);
    size_t at = c < most ? c : most;
    for (; at > 0 && rarity > r->rarity[at - 1]; at--) {
      if (at == most) continue;
      r->rarity[at] = r->rarity[at - 1];
      r->chunk[at] = r->chunk[at - 1];
    }
    if (at < most) r->rarity[at] = rarity, r->chunk[at] = c;
  }
}
