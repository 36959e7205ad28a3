#include "base/base.h"
#include "rl/sac.h"

/* How many rows ahead of the copy their cache lines are asked for. */
enum { AHEAD = 12, LINE_FLOATS = 16 };

hvi_status hvi_sac_replay_new(hvi_sac_replay *r, size_t obs, size_t act, size_t capacity,
                              hvi_error *err) {
  *r = (hvi_sac_replay){.obs = obs, .act = act, .row = 2 * obs + act + 2, .capacity = capacity};
  r->block_count = (capacity + HVI_SAC_BLOCK - 1) / HVI_SAC_BLOCK;
  r->blocks = hvi_alloc(r->block_count, sizeof *r->blocks);
  return r->blocks ? HVI_OK : hvi_error_memory(err, "the replay buffer");
}

void hvi_sac_replay_free(hvi_sac_replay *r) {
  for (size_t i = 0; r->blocks && i < r->block_count; i++) hvi_free(r->blocks[i]);
  hvi_free(r->blocks);
  *r = (hvi_sac_replay){0};
}

hvi_status hvi_sac_replay_reserve(hvi_sac_replay *r, size_t count, hvi_error *err) {
  for (size_t i = 0; i * HVI_SAC_BLOCK < count; i++) {
    if (r->blocks[i]) continue;
    const size_t left = r->capacity - i * HVI_SAC_BLOCK;
    const size_t rows = left < HVI_SAC_BLOCK ? left : HVI_SAC_BLOCK;
    r->blocks[i] = hvi_alloc(rows * r->row, sizeof **r->blocks);
    if (!r->blocks[i]) {
      return hvi_error_set(err, HVI_ERROR_MEMORY,
                           "no memory for %zu transitions; choose a smaller replay buffer",
                           (i + 1) * HVI_SAC_BLOCK);
    }
  }
  return HVI_OK;
}

float *hvi_sac_replay_row(const hvi_sac_replay *r, size_t i) {
  return r->blocks[i / HVI_SAC_BLOCK] + i % HVI_SAC_BLOCK * r->row;
}

static float *write_floats(float *to, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = (float)x[i];
  return to + n;
}

hvi_status hvi_sac_replay_add(hvi_sac_replay *r, const double *obs, const double *action,
                              double reward, const double *next, bool terminated, hvi_error *err) {
  if (!r->blocks[r->next / HVI_SAC_BLOCK]) HVI_TRY(hvi_sac_replay_reserve(r, r->next + 1, err));
  float *to = hvi_sac_replay_row(r, r->next);
  to = write_floats(to, obs, r->obs);
  to = write_floats(to, action, r->act);
  *to++ = (float)reward;
  to = write_floats(to, next, r->obs);
  *to = terminated ? 0.0F : 1.0F;
  r->next = r->next + 1 < r->capacity ? r->next + 1 : 0;
  if (r->count < r->capacity) r->count++;
  return HVI_OK;
}

static void ask_for(const hvi_sac_replay *r, size_t i) {
  const float *row = hvi_sac_replay_row(r, i);
  for (size_t at = 0; at < r->row; at += LINE_FLOATS) __builtin_prefetch(row + at);
  __builtin_prefetch(row + r->row - 1);
}

static void copy_row(const hvi_sac_replay *r, hvi_sac_batch *b, size_t to, size_t from) {
  const float *row = hvi_sac_replay_row(r, from);
  const size_t pair = r->obs + r->act;
  memcpy(b->x + to * b->x_row, row, pair * sizeof *row);
  b->reward[to] = row[pair];
  memcpy(b->next + to * b->x_row, row + pair + 1, r->obs * sizeof *row);
  b->future[to] = row[r->row - 1];
}

void hvi_sac_replay_draw(const hvi_sac_replay *r, hvi_sac_batch *b, size_t rows, hvi_rng *rng) {
  for (size_t i = 0; i < rows; i++)
    b->index[i] = (uint32_t)((uint64_t)hvi_rng_u32(rng) * r->count >> 32);
  for (size_t i = 0; i < rows && i < AHEAD; i++) ask_for(r, b->index[i]);
  for (size_t i = 0; i < rows; i++) {
    if (i + AHEAD < rows) ask_for(r, b->index[i + AHEAD]);
    copy_row(r, b, i, b->index[i]);
  }
}
