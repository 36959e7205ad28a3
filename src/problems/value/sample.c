/*
 * Draws of a value problem, and the returns that targets may be.
 *
 * Where targets are returns, "rows of the data" are those whose return is known. Draw t is the same
 * whoever asks for it: random rows come from the solver's generator with t in place of its counter,
 * so that a run which goes on after `first` draws ends in the same bits as one that was not
 * stopped.
 *
 * Discounted returns within the episodes of a data set,
 *
 *   G_i = r_i + gamma G_{i+1},   G = r where the episode ends,
 *
 * from the last row to the first. Where an episode is cut, by a time limit or because the next row
 * is of another, k steps after row i, G_i lacks gamma^k times the value there; such a row is of use
 * when gamma^k is at most 0.01.
 *
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

enum { LINE = 64, MOST_RARE = 16 }; /* bytes; chunks that rare rows are replayed from */
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

/* Places the arrays behind the struct, or counts their doubles when `base` is NULL. */
static size_t lay_out(const hvi_value *v, hvi_value_sample *s, double *base) {
  hvi_arena arena = {.base = base, .size = SIZE_MAX};
  s->row = (size_t *)(void *)hvi_arena_take(&arena, v->spec.batch);
  s->end = (size_t *)(void *)hvi_arena_take(&arena, v->spec.batch);
  s->x = (float *)(void *)hvi_arena_take(&arena, (v->rows * v->obs + 1) / 2);
  s->scratch = (float *)(void *)hvi_arena_take(&arena, (hvi_value_scratch(v) + 1) / 2);
  if (v->spec.replay_rare > 0.0) hvi_value_place_rare(v, &s->rare, MOST_RARE, &arena);
  s->batch = (hvi_mlp_batch){.x = s->x, .rows = v->rows};
  return arena.used;
}

/* From a whole line on, wherever the sample begins. */
size_t hvi_value_sample_bytes(const hvi_value *v) {
  hvi_value_sample s;
  return sizeof s + LINE + lay_out(v, &s, NULL) * sizeof(double);
}

size_t hvi_value_rows_seen(const hvi_value *v, const hvi_value_sample *s) {
  const size_t count = v->spec.data->count, fresh = v->spec.batch - v->spec.replay;
  const size_t draws = v->spec.first + s->draws;
  if (v->spec.draw != HVI_VALUE_FRESH || draws > count / fresh) return count;
  return draws * fresh;
}

/* The k-th of the rows to draw from. */
static size_t row_of(const hvi_value *v, size_t k) { return v->returns ? v->usable[k] : k; }

/* Rows of the rarest chunks so far: one in a hundred of all chunks, at random. How many: none before
 * there is a chunk. */
static size_t fresh_from_rare(const hvi_value *v, hvi_value_sample *s, size_t first, size_t count,
                              hvi_rng *rng) {
  s->draws++; /* with this one */
  const size_t rows = hvi_value_rows_seen(v, s), length = hvi_value_chunk(v);
  s->draws--;
  const size_t chunks = rows / length;
  if (chunks == 0) return 0;
  size_t most = 1 + chunks / 100;
  if (most > MOST_RARE) most = MOST_RARE;
  hvi_value_find_rarest(v, &s->rare, chunks * length, length, most);
  for (size_t i = 0; i < count; i++) {
    const size_t chunk = s->rare.chunk[(size_t)(hvi_rng_uniform(rng) * (double)most)];
    s->row[first + i] = chunk * length + (size_t)(hvi_rng_uniform(rng) * (double)length);
  }
  return count;
}

static void choose_rows(const hvi_value *v, hvi_value_sample *s, const hvi_rng *rng) {
  const size_t n = v->spec.batch, t = v->spec.first + s->draws;
  const size_t count = v->returns ? v->usable_count : v->spec.data->count;
  const size_t random = v->spec.draw == HVI_VALUE_RANDOM ? n : v->spec.replay, fresh = n - random;
  const size_t start = v->spec.draw == HVI_VALUE_ALL ? 0 : v->spec.buffer + t;
  /* draw t on its own */
  hvi_rng own = {.key = {rng->key[0], rng->key[1]},
                 .counter = {0, 0, (uint32_t)t, (uint32_t)((uint64_t)t >> 32)},
                 .used = 4};
  size_t next = start % count * fresh % count;
  for (size_t i = 0; i < fresh; i++) {
    s->row[i] = row_of(v, next);
    if (++next == count) next = 0;
  }
  size_t rare = (size_t)(v->spec.replay_rare * (double)v->spec.replay);
  if (rare > 0) rare = fresh_from_rare(v, s, fresh, rare, &own);
  const bool all = fresh == 0 || t >= count / fresh; /* otherwise those up to here */
  const double there = (double)(all ? count : (t + 1) * fresh);
  for (size_t i = fresh + rare; i < n; i++)
    s->row[i] = row_of(v, (size_t)(hvi_rng_uniform(&own) * there));
}

/* A batch of the buffer, behind the fresh one. */
static void put_buffer(const hvi_value *v, hvi_value_sample *s, size_t batch) {
  const size_t n = v->spec.batch;
  for (size_t i = 0; i < n; i++) {
    const size_t row = row_of(v, batch * n + i);
    hvi_value_scale_state(v, s->x + (n + i) * v->obs, v->spec.data->observation + row * v->obs);
  }
}

void hvi_value_draw_sample(const hvi_problem *p, const double *theta, void *sample, hvi_rng *rng) {
  (void)theta;
  const hvi_value *v = (const hvi_value *)p;
  hvi_value_sample *s = sample;
  if (v->spec.draw == HVI_VALUE_ALL && s->draws > 0) return;
  lay_out(v, s, (double *)(((uintptr_t)(s + 1) + LINE - 1) / LINE * LINE));
  choose_rows(v, s, rng);
  for (size_t i = 0; i < v->spec.batch; i++)
    hvi_value_scale_state(v, s->x + i * v->obs, v->spec.data->observation + s->row[i] * v->obs);
  if (v->spec.buffer > 0) put_buffer(v, s, 0);
  s->draws++;
}

/* The whole data set is the same draw always, and is laid out by the first. */
void hvi_value_seek(const hvi_problem *p, void *sample, size_t draws) {
  const hvi_value *v = (const hvi_value *)p;
  ((hvi_value_sample *)sample)->draws = v->spec.draw == HVI_VALUE_ALL ? 0 : draws;
}

void hvi_value_resample(const hvi_problem *p, void *sample, size_t m) {
  const hvi_value *v = (const hvi_value *)p;
  put_buffer(v, sample, m % v->spec.buffer);
}

static const double most_missing = 0.01;

hvi_status hvi_value_find_returns(hvi_value *v, hvi_error *err) {
  const hvi_dataset *d = v->spec.data;
  const double gamma = v->spec.gamma;
  v->one.owned[1] = v->returns = hvi_alloc_doubles(d->count);
  v->one.owned[2] = v->usable = hvi_alloc(d->count, sizeof *v->usable);
  if (!v->returns || !v->usable) return hvi_error_memory(err, "the returns of a data set");
  double G = 0.0, missing = 1.0;
  size_t first = d->count; /* usable rows fill their array from its end */
  for (size_t i = d->count; i-- > 0;) {
    if (d->terminated[i])
      G = missing = 0.0;
    else if (!hvi_dataset_continues(d, i))
      G = 0.0, missing = 1.0;
    v->returns[i] = G = (double)d->reward[i] + gamma * G;
    missing *= gamma;
    if (missing <= most_missing) v->usable[--first] = i;
  }
  v->usable_count = d->count - first;
  for (size_t i = 0; i < v->usable_count; i++) v->usable[i] = v->usable[first + i];
  if (v->usable_count > 0) return HVI_OK;
  return hvi_error_input(err,
                         "all %zu rows are cut off before gamma^k falls to %g: the data hold no "
                         "return to learn from",
                         d->count, most_missing);
}

size_t hvi_value_rows_of_returns(const hvi_value *v, size_t count) {
  const size_t all = v->spec.data->count;
  if (count >= v->usable_count) return all;
  if (count == 0) return 0;
  size_t end = v->usable[count - 1];
  for (double missing = v->spec.gamma; missing > most_missing; missing *= v->spec.gamma) {
    if (!hvi_dataset_continues(v->spec.data, end)) break;
    end++;
  }
  return end + 1;
}
