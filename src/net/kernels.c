/*
 * The kernels of networks in single precision, built once per level of instructions: what both
 * precisions have (net/kernels_body.h), and what the learner needs besides: Adam, averages of
 * weights, random numbers.
 */
#include "net/kernels_body.h"
#include "num/philox.h"

static void adam(float *theta, float *m, float *v, const float *g, size_t n,
                 const hvi_adam_step *step) {
  const hvi_adam_step s = *step;
  for (size_t i = 0; i < n; i += WIDTH) {
    const size_t count = lanes(n - i);
    const vf slope = load_some(g + i, count), at = load_some(theta + i, count);
    const vf first = s.beta1 * load_some(m + i, count) + (1.0f - s.beta1) * slope;
    const vf second = s.beta2 * load_some(v + i, count) + (1.0f - s.beta2) * (slope * slope);
    const vf moved = s.keep * at - s.rate * first / (root(s.scale * second) + s.epsilon);
    store_some(theta + i, moved, count);
    store_some(m + i, first, count);
    store_some(v + i, second, count);
  }
}

static void follow(float *target, const float *source, size_t n, float tau) {
  for (size_t i = 0; i < n; i += WIDTH) {
    const size_t count = lanes(n - i);
    const vf t = load_some(target + i, count);
    store_some(target + i, (load_some(source + i, count) - t) * tau + t, count);
  }
}

/*
 * Standard normals from Philox's blocks, WIDTH blocks at a time. Words (a, b) of a block give two
 * by Box and Muller:
 *
 *   radius = sqrt(-2 log u),  u = (a + 1/2) / 2^32 to 31 bits, never zero;   turn = b / 2^32
 *   radius cos(2 pi turn), radius sin(2 pi turn)
 *
 * The turn is split into quarters (the two top bits, rounded) and an angle within pi/4 in integers,
 * so that nothing is lost; sine and cosine there are minimax polynomials, off by less than 4e-9.
 */
/* The WIDTH blocks from the generator's counter on. */
static void draw_blocks(uint32_t out[4][WIDTH], const hvi_rng *rng) {
  const uint64_t first = (uint64_t)rng->counter[1] << 32 | rng->counter[0];
  for (size_t i = 0; i < WIDTH; i++) {
    const uint64_t at = first + i;
    const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), rng->counter[2],
                                 rng->counter[3]};
    uint32_t word[4];
    hvi_philox_block(word, counter, rng->key);
    for (size_t w = 0; w < 4; w++) out[w][i] = word[w];
  }
}

ALWAYS_INLINE void box_muller(vf *x, vf *y, vu a, vu b) {
  const vf u = __builtin_convertvector((vi)(a >> 1), vf) * 0x1p-31f + 0x1p-32f;
  const vf radius = root(log_of_positive(u) * -2.0f);
  const vu quarter = (b + 0x20000000u) >> 30;
  const vf angle = __builtin_convertvector((vi)(b - (quarter << 30)), vf) * 0x1.921fb6p-30f;
  const vf z = angle * angle;
  const vf s = angle * z * ((z * -0x1.994eb4p-13f + 0x1.11076p-7f) * z - 0x1.555546p-3f) + angle;
  const vf c =
      z * z * ((z * 0x1.9a025ap-16f - 0x1.6c0c8cp-10f) * z + 0x1.55554ap-5f) + (1.0f - 0.5f * z);
  const vi odd = (quarter & 1u) != 0u;
  const vf cosine = choose(odd, s, c), sine = choose(odd, c, s);
  *x = radius * (vf)((vu)cosine ^ ((quarter + 1u) << 30 & 0x80000000u));
  *y = radius * (vf)((vu)sine ^ (quarter << 30 & 0x80000000u));
}

/* out[4 * WIDTH] from the blocks at the counter */
static void normals_of_blocks(float *out, const hvi_rng *rng) {
  uint32_t word[4][WIDTH];
  draw_blocks(word, rng);
  float lane[4][WIDTH];
  for (size_t pair = 0; pair < 4; pair += 2) {
    vu words[2];
    vf x, y;
    memcpy(words, word[pair], sizeof words);
    box_muller(&x, &y, words[0], words[1]);
    store(lane[pair], x);
    store(lane[pair + 1], y);
  }
  for (size_t i = 0; i < WIDTH; i++)
    for (size_t w = 0; w < 4; w++) out[4 * i + w] = lane[w][i];
}

static void advance(hvi_rng *rng, size_t count) {
  const uint64_t at = ((uint64_t)rng->counter[1] << 32 | rng->counter[0]) + count;
  rng->counter[0] = (uint32_t)at;
  rng->counter[1] = (uint32_t)(at >> 32);
  rng->used = 4;
}

static void normals(float *out, size_t n, hvi_rng *rng) {
  size_t i = 0;
  for (; i + 4 * WIDTH <= n; i += 4 * WIDTH) {
    normals_of_blocks(out + i, rng);
    advance(rng, WIDTH);
  }
  if (i == n) return;
  float last[4 * WIDTH];
  normals_of_blocks(last, rng);
  advance(rng, (n - i + 3) / 4);
  memcpy(out + i, last, (n - i) * sizeof *out);
}

const hvi_net_kernels HVI_LEVEL_TABLE(hvi_net) = {SHARED_KERNELS, .adam = adam, .follow = follow,
                                                  .normals = normals};
