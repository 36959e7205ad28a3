/*
 * The equations of LSTD on the last layer of a value network (src/outer/accelerate.c), from rows of all
 * the data that draws have gone through.
 *
 *   x_i = scale (phi(s_i), 1),   d_i = x_i - gamma f_i x(s'_i),   z_i = x_i + gamma lambda z_{i-1}
 *   A = sum w z_i d_i',   b = sum w z_i delta_i,   G = sum w x_i x_i',   R = G - gamma sum w m m'
 *
 * with TD errors delta, means m of x over chunks of rows, and the trace z starting anew where rows
 * do not follow each other.
 *
 * Features are those of theta as it is, so that a step costs a pass over its rows. A run may have
 * gone through more rows than a step is to look at. Chunks of them are then taken, in two strata.
 * The rarest (sample.c) are taken always, with weight 1; of the others every so manieth, not the same ones
 * at the next draw, with a weight that makes up for those that are not.
 */
#include "base/base.h"
#include "num/dense.h"
#include "problems/value/value.h"

enum { LONGEST = HVI_NET_ROWS };
enum { MOST_RARE = 1024 }; /* chunks */

typedef struct chunk {
  size_t first, count;
} chunk;

/* What the equations need while they are put together; its arrays lie in hvi_modes.work. */
typedef struct tableau {
  const hvi_value *v;
  const hvi_value_sample *s;
  const double *theta;
  const hvi_modes *m;
  double lambda;
  size_t k, length;    /* modes; rows of a chunk */
  double *x, *d, *z;   /* [LONGEST][k] */
  double *delta;       /* [LONGEST] */
  double *trace;       /* [k] z of the last row, */
  size_t last;         /* which this was */
  hvi_value_rare rare; /* [MOST_RARE] chunks */
  size_t chunks, rows; /* done; rows that the network was evaluated on */
} tableau;

static size_t place(tableau *t, double *base) {
  hvi_arena arena = {.base = base, .size = SIZE_MAX};
  t->k = t->v->net->layers[t->v->net->layer_count - 1].in + 1;
  t->x = hvi_arena_take(&arena, LONGEST * t->k);
  t->d = hvi_arena_take(&arena, LONGEST * t->k);
  t->z = hvi_arena_take(&arena, LONGEST * t->k);
  t->delta = hvi_arena_take(&arena, LONGEST);
  t->trace = hvi_arena_take(&arena, t->k);
  hvi_value_place_rare(t->v, &t->rare, MOST_RARE, &arena);
  return arena.used;
}

size_t hvi_value_modes(const hvi_problem *p, size_t *work) {
  tableau t = {.v = (const hvi_value *)p};
  *work = place(&t, NULL);
  return t.k;
}

/* x of states into to[count][k] */
static void put_features(tableau *t, double *to, const float *states, const size_t *index,
                         size_t count) {
  const size_t k = t->k;
  size_t stride;
  const float *phi = hvi_value_features(t->v, t->s->scratch, states, index, count, &stride);
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j + 1 < k; j++)
      to[i * k + j] = t->v->spec.scale * (double)phi[i * stride + j];
    to[i * k + k - 1] = t->v->spec.scale;
  }
  t->rows += count;
}

/* d and delta, x being known. Most successors are the states of the next row. */
static void put_differences(tableau *t, chunk c) {
  const hvi_value *v = t->v;
  const hvi_dataset *data = v->spec.data;
  const size_t k = t->k;
  const double *w = t->theta + v->net->dim - k;
  size_t other[LONGEST] = {0}, count = 0;
  for (size_t i = 0; i < c.count; i++)
    if (i + 1 == c.count || !hvi_value_follows(v, c.first + i + 1)) other[count++] = c.first + i;
  put_features(t, t->z, data->next, other, count);
  for (size_t i = 0, o = 0; i < c.count; i++) {
    const size_t row = c.first + i;
    const double *x = t->x + i * k, *next = other[o] == row ? t->z + o++ * k : x + k;
    const double on = data->terminated[row] ? 0.0 : v->spec.gamma;
    double *d = t->d + i * k;
    for (size_t j = 0; j < k; j++) d[j] = x[j] - on * next[j];
    t->delta[i] = (double)data->reward[row] - (1.0 - on) * v->spec.shift - hvi_vec_dot(w, d, k);
  }
}

static void put_traces(tableau *t, chunk c, double weight) {
  const size_t k = t->k;
  for (size_t i = 0; i < c.count; i++, t->last++) {
    const bool on = i > 0 || c.first == t->last + 1;
    if (i == 0) t->last = c.first - 1;
    const double fade =
        on && hvi_value_follows(t->v, c.first + i) ? t->v->spec.gamma * t->lambda : 0.0;
    for (size_t j = 0; j < k; j++) {
      t->trace[j] = t->x[i * k + j] + fade * t->trace[j];
      t->z[i * k + j] = weight * t->trace[j];
    }
  }
}

/* To every other chunk's half. */
static void add_chunk(tableau *t, chunk c, double weight) {
  const size_t k = t->k;
  const hvi_equations *half = &t->m->half[t->chunks++ % 2];
  put_features(t, t->x, t->v->spec.data->observation + c.first * t->v->obs, NULL, c.count);
  put_differences(t, c);
  put_traces(t, c, weight);
  hvi_dense_mul_t_add(half->b, t->z, t->delta, c.count, k);
  hvi_dense_matmul_t_add(half->A, t->z, t->d, c.count, k, k);
  double *sum = t->z;
  hvi_vec_zero(sum, k);
  for (size_t i = 0; i < c.count; i++) hvi_vec_add(sum, 1.0, t->x + i * k, k);
  const double share = t->v->spec.gamma * weight / (double)c.count;
  for (size_t i = 0; i < k; i++) hvi_vec_add(t->m->R + i * k, -share * sum[i], sum, k);
  hvi_vec_scale(t->x, sqrt(weight), c.count * k);
  hvi_dense_matmul_t_add(t->m->G, t->x, t->x, c.count, k, k);
}

static chunk chunk_at(const tableau *t, size_t rows, size_t index) {
  const size_t first = index * t->length, left = rows - first;
  return (chunk){first, left < t->length ? left : t->length};
}

static bool is_rare(const tableau *t, size_t c, size_t rare) {
  for (size_t i = 0; i < rare; i++)
    if (t->rare.chunk[i] == c) return true;
  return false;
}

/* The rarest chunks, and every so manieth of the others from a place that moves on with draws. */
static void add_some(tableau *t, size_t rows, size_t chunks, size_t most, size_t rare) {
  const size_t others = most - rare;
  const double stride = (double)chunks / (double)others;
  const double phase = fmod(0.6180339887498949 * (double)(t->v->spec.first + t->s->draws), 1.0);
  hvi_value_find_rarest(t->v, &t->rare, rows, t->length, rare);
  for (size_t i = 0; i < rare; i++) add_chunk(t, chunk_at(t, rows, t->rare.chunk[i]), 1.0);
  for (size_t i = 0; i < others; i++) {
    const size_t c = (size_t)(((double)i + phase) * stride);
    if (is_rare(t, c, rare)) continue;
    add_chunk(t, chunk_at(t, rows, c), (double)(chunks - rare) / (double)others);
  }
}

size_t hvi_value_equations(const hvi_problem *p, const void *sample, const double *theta,
                           const hvi_modes_settings *set, hvi_modes *m) {
  const hvi_value *v = (const hvi_value *)p;
  tableau t = {.v = v, .s = sample, .theta = theta, .m = m, .lambda = set->lambda};
  place(&t, m->work);
  for (size_t half = 0; half < 2; half++) {
    hvi_vec_zero(m->half[half].A, t.k * t.k);
    hvi_vec_zero(m->half[half].b, t.k);
  }
  hvi_vec_zero(m->G, t.k * t.k);
  hvi_vec_zero(m->R, t.k * t.k);
  hvi_value_prepare(v, t.s->scratch, theta);
  t.length = hvi_value_chunk(v);
  const size_t rows = hvi_value_rows_seen(v, t.s), chunks = (rows + t.length - 1) / t.length;
  const size_t most = (set->rows + t.length - 1) / t.length;
  const size_t rare = (size_t)(set->rare * (double)most);
  if (set->rows == 0 || chunks <= most || v->one.base.one_sample)
    for (size_t c = 0; c < chunks; c++) add_chunk(&t, chunk_at(&t, rows, c), 1.0);
  else
    add_some(&t, rows, chunks, most, rare < MOST_RARE ? rare : MOST_RARE);
  hvi_vec_add(m->R, 1.0, m->G, t.k * t.k);
  return t.rows;
}
