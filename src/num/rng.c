/*
 * Draw number k of a generator is word k mod 4 of the Philox block with counter (k div 4, index),
 * under a key made from seed and stream name.
 */
#include <hvi/rng.h>

#include "base/base.h"
#include "num/philox.h"

/* One step of splitmix64: neighbouring seeds give unrelated keys. */
static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9E3779B97F4A7C15);
  x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
  return x ^ (x >> 31);
}

hvi_rng hvi_rng_new(uint64_t seed, const char *stream, uint64_t index) {
  uint64_t key =
      mix(mix(seed) + hvi_hash_bytes(HVI_HASH_START, stream, stream ? strlen(stream) : 0));
  return (hvi_rng){.key = {(uint32_t)key, (uint32_t)(key >> 32)},
                   .counter = {0, 0, (uint32_t)index, (uint32_t)(index >> 32)},
                   .used = 4};
}

uint32_t hvi_rng_u32(hvi_rng *rng) {
  if (rng->used >= 4) {
    hvi_philox_block(rng->buffer, rng->counter, rng->key);
    if (++rng->counter[0] == 0) rng->counter[1]++;
    rng->used = 0;
  }
  return rng->buffer[rng->used++];
}

uint64_t hvi_rng_u64(hvi_rng *rng) {
  uint64_t low = hvi_rng_u32(rng);
  return low | (uint64_t)hvi_rng_u32(rng) << 32;
}

double hvi_rng_uniform(hvi_rng *rng) { return (double)(hvi_rng_u64(rng) >> 11) * 0x1p-53; }

double hvi_rng_range(hvi_rng *rng, double low, double high) {
  double x = low + (high - low) * hvi_rng_uniform(rng);
  /* rounding may reach the open end */
  return x < high || high <= low ? x : nextafter(high, low);
}

double hvi_rng_normal(hvi_rng *rng) {
  const double two_pi = 6.283185307179586477;
  double radius = sqrt(-2.0 * log(1.0 - hvi_rng_uniform(rng))); /* 1 - u is never zero */
  return radius * cos(two_pi * hvi_rng_uniform(rng));
}

void hvi_rng_fill_uniform(hvi_rng *rng, double low, double high, size_t n, double *x) {
  for (size_t i = 0; i < n; i++) x[i] = hvi_rng_range(rng, low, high);
}

void hvi_rng_fill_normal(hvi_rng *rng, double mean, double sd, size_t n, double *x) {
  for (size_t i = 0; i < n; i++) x[i] = mean + sd * hvi_rng_normal(rng);
}
